"""A trial of a written archive in the Keras 3 that is installed beside this package, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from ..errors import VerificationError

#: Seconds for starting a framework, loading, and one prediction.
LONGEST = 600.0
ABSENT, FAILED = 7, 8
# Keras is imported here and nowhere else: this text is the other process' whole program.
PROGRAM = """
import os, sys
try:
    import resource
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
except (ImportError, ValueError, OSError):
    pass
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
try:
    import keras
except Exception:
    sys.exit(7)
if int(keras.__version__.split(".")[0]) < 3:
    sys.exit(7)
import numpy as np
def shape(tensor, length):
    return [2 if i == 0 and n is None else length if n is None else n for i, n in enumerate(tensor.shape)]
def numbers(tensor, length):
    kind = keras.backend.standardize_dtype(tensor.dtype)
    values = np.random.default_rng(0).uniform(0, 1, shape(tensor, length))
    return (values > 0.5).astype(kind) if "int" in kind or kind == "bool" else values.astype(kind)
try:
    model = keras.models.load_model(sys.argv[1])
    problem = None
    # a length that the config leaves open has a least that only the model knows
    for length in (16, 64, 256) if model.inputs and sys.argv[2] == "predict" else ():
        try:
            made = model([numbers(tensor, length) for tensor in model.inputs], training=False)
        except Exception as error:
            problem = error
            continue
        problem = None
        for tensor, wanted in zip(keras.tree.flatten(made), model.outputs):
            values = keras.ops.convert_to_numpy(tensor)
            if not np.all(np.isfinite(values)):
                raise ValueError("it predicts NaN or Inf")
            if len(values.shape) != len(wanted.shape) or any(
                n is not None and n != m for n, m in zip(wanted.shape[1:], values.shape[1:])
            ):
                raise ValueError("it predicts the shape %s, not %s" % (values.shape, wanted.shape))
        break
    if problem is not None:
        raise problem
except Exception as error:
    print("%s: %s" % (type(error).__name__, " ".join(str(error).split())[:400]))
    sys.exit(8)
print("Keras %s on %s" % (keras.__version__, keras.backend.backend()))
"""


def trial(path: str, predict: bool = True) -> str | None:
    """Load an archive in Keras 3 and predict on random inputs.

    Parameters
    ----------
    path : str
        Its name ends in .keras, as Keras wants it.
    predict : bool
        Whether this machine can be expected to run it.

    Returns
    -------
    str or None
        What it was tried in; None where there is no Keras 3.

    Raises
    ------
    VerificationError
        It does not load, or predicts what is not finite or of another shape.
    """
    words = [sys.executable, "-c", PROGRAM, os.path.abspath(path), "predict" if predict else "load"]
    try:
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST,
            check=False,
            cwd=os.path.dirname(path),
        )
    except subprocess.TimeoutExpired as error:
        raise VerificationError(f"Keras 3 did not load it in {LONGEST:.0f} s", "try it without --check") from error
    said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
    if done.returncode == ABSENT:
        return None
    if done.returncode:
        reason = said[0] if said and done.returncode == FAILED else f"the process ended with {done.returncode}"
        raise VerificationError(f"Keras 3 does not take the result: {reason}", "please report this file's layout")
    return said[0] if said else "Keras 3"
