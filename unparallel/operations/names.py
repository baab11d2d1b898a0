"""Which module's function a dotted name means.

A file does not say what a global was bound to, so the customary names of modules count as these modules; where the user
says otherwise (`Environment.known`), that counts.
"""

from __future__ import annotations

import math

import numpy as np

from ..slices.sizes import Undecided

#: What a path may begin with.
ROOTS: dict[str, str] = {
    "tf": "tf",
    "tensorflow": "tf",
    "K": "K",
    "KB": "K",
    "KTF": "K",
    "ktf": "K",
    "backend": "K",
    "keras_backend": "K",
    "keras": "keras",
    "tf_keras": "keras",
    "np": "numpy",
    "numpy": "numpy",
    "math": "math",
    "array_ops": "tf",
    "math_ops": "tf",
    "gen_array_ops": "tf",
    "gen_math_ops": "tf",
    "nn_ops": "tf",
    "nn": "tf",
    "image_ops": "image",
    "activations": "activations",
    "layers": "layers",
    "losses": "losses",
    "metrics": "losses",
}
#: Where a path goes from there: (module, next part) -> module.
_BELOW: dict[tuple[str, str], str] = {
    ("tf", "nn"): "tf",
    ("tf", "math"): "tf",
    ("tf", "linalg"): "linalg",
    ("tf", "compat"): "tf",
    ("tf", "v1"): "tf1",
    ("tf", "v2"): "tf2",
    ("tf", "image"): "image",
    ("tf", "random"): "random",
    ("tf", "dtypes"): "tf",
    ("tf", "keras"): "keras",
    ("tf", "python"): "tf",
    ("tf", "ops"): "tf",
    ("tf", "array_ops"): "tf",
    ("tf", "math_ops"): "tf",
    ("tf", "nn_ops"): "tf",
    ("tf", "image_ops"): "image",
    ("tf", "signal"): "signal",
    ("tf", "losses"): "losses",
    ("tf", "metrics"): "losses",
    ("tf", "layers"): "layers",
    ("tf", "contrib"): "contrib",
    ("keras", "backend"): "K",
    ("keras", "K"): "K",
    ("keras", "activations"): "activations",
    ("keras", "layers"): "layers",
    ("keras", "losses"): "losses",
    ("keras", "metrics"): "losses",
    ("keras", "python"): "keras",
    ("keras", "keras"): "keras",
    ("K", "tf"): "tf",
    ("K", "tensorflow_backend"): "K",
    ("K", "np"): "numpy",
    ("K", "math_ops"): "tf",
    ("K", "array_ops"): "tf",
    ("numpy", "random"): "",
    ("numpy", "linalg"): "",
}
#: Modules that nothing below is part of: what they hold is not in the table, and is refused by its name.
_CLOSED = frozenset(["signal", "losses", "layers", "contrib", ""])

DTYPES = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ]
)
_DTYPE_NAMES = {"half": "float16", "double": "float64", "float": "float32", "float_": "float64", "bool_": "bool"}
_DTYPE_NAMES.update({"int": "int32", "single": "float32", "int_": "int64"})

_CONSTANTS: dict[tuple[str, str], object] = {
    ("numpy", "pi"): math.pi,
    ("numpy", "e"): math.e,
    ("numpy", "newaxis"): None,
    ("numpy", "inf"): math.inf,
    ("math", "pi"): math.pi,
    ("math", "e"): math.e,
    ("math", "inf"): math.inf,
    ("tf", "newaxis"): None,
}
UNSET = object()


def module_of(path: tuple[str, ...]) -> str:
    """The module that holds what a path names: "tf", "K", "python", ... or "" where it is not known.

    Paths through `v1` and `v2` give "tf1", "tf2", "image1", "image2".
    """
    if len(path) == 1:
        return "python"
    module, version = ROOTS.get(path[0], ""), ""
    for part in path[1:-1]:
        module = _BELOW.get((module, part), "")
        if module in ("tf1", "tf2"):
            module, version = "tf", module[-1]
    return module + version if module in ("tf", "image", "random") else module


def value_of(path: tuple[str, ...]) -> object:
    """The constant that a path names; `UNSET` where it is none."""
    module = module_of(path).rstrip("12")
    return _CONSTANTS.get((module, path[-1]), UNSET)


def dtype(value: object, default: str | None = None) -> str:
    """The name of a type, given as text or as `tf.float32` or `np.float32`.

    Raises
    ------
    Undecided
        If it is none that Keras 3 has.
    """
    if value is None and default is not None:
        return default
    path = getattr(value, "path", None)
    name = path[-1] if path else value
    if path and len(path) == 1 and name == "float":
        name = "float64" if default == "float64" else "float32"
    if isinstance(value, type) and issubclass(value, np.generic):
        name = np.dtype(value).name
    name = _DTYPE_NAMES.get(str(name), name) if path else name
    if not isinstance(name, str) or name not in DTYPES:
        shown = ".".join(path) if path else repr(value)
        raise Undecided(f"it uses the type {shown[:40]}, which Keras 3 has not")
    return name
