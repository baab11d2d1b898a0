"""What is proven of a slice's bytecode, against what the code gives in the Python that wrote it.

    python -m fuzz.bytecode --count 2000 --seed 7

Each Python that can be found (2.7, 3.4 and later: on the PATH, or pyenv's) makes so many random functions and runs
them; see `write_slices`.  A proof that the code does not keep, for any size of the batch, is an error.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
from collections import Counter

from unparallel.model import Call, Layer, TensorKey
from unparallel.slices import Rows, Tensor, evaluate

WRITER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "write_slices.py")
VERSIONS = ("2.7", *(f"3.{minor}" for minor in range(4, 14)))
X = TensorKey("x", 0, 0)


def pythons():
    """The interpreter of each version that is there."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for version in VERSIONS:
        own = sorted(glob.glob(os.path.join(root, "versions", version + ".*", "bin", "python")))
        path = own[-1] if own else shutil.which("python" + version)
        if path:
            found[version] = path
    return found


def functions(python, seed, count):
    """What one Python wrote."""
    done = subprocess.run([python, WRITER, str(seed), str(count)], stdout=subprocess.PIPE, check=True, timeout=600)
    return [json.loads(line) for line in done.stdout.decode("ascii").splitlines()]


def check(case):
    """How a function ended: "proven" or "unknown".

    Raises
    ------
    AssertionError
        It was proven to take other rows than it takes.
    """
    config = {"function": [case["code"], None, None], "arguments": case["arguments"]}
    layer = Layer("l", "Lambda", config, (Call((X,)),))
    values = evaluate(layer, layer.calls[0], [Tensor(X)])
    if not all(isinstance(value, Rows) for value in values):
        return "unknown"
    for n, expected in enumerate(case["rows"]):
        if expected != "error":
            told = [list(range(min(value.start.at(n), n), min(value.stop.at(n), n))) for value in values]
            assert told == expected, "{arguments}\n{source}a batch of {n}: {told}, not {expected}".format(
                n=n, told=told, expected=expected, **case
            )
    return "proven"


def run(count, seed=0, versions=None):
    """Compare so many functions of each Python.

    Returns
    -------
    Counter
        How many ended how.
    """
    counts = Counter()
    for version, python in (versions or pythons()).items():
        for case in functions(python, seed, count):
            try:
                counts[check(case)] += 1
            except AssertionError as error:
                raise AssertionError(f"Python {version}: {error}") from error
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="functions of each Python")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = pythons()
    counts = run(options.count, options.seed, found)
    text = ", ".join("{} {}".format(*item) for item in sorted(counts.items()))
    print(sum(counts.values()), "functions of Python", ", ".join(found), "-", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
