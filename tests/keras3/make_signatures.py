"""Write down which arguments Keras 3's classes take: run in an environment with Keras 3, once for each version.

    python tests/keras3/make_signatures.py

The result, `signatures.json`, holds a version's classes by name; other versions in it stay.
"""

import importlib
import inspect
import json
import os
import pathlib
import re

import keras
from keras.src.ops.operation import Operation

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("operations", "keras3")
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "signatures.json")


def arguments(cls):
    names = set()
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is None or base is object:
            continue
        parameters = inspect.signature(init).parameters.values()
        names |= {item.name for item in parameters if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)}
        if not any(item.kind == item.VAR_KEYWORD for item in parameters):
            break
    return sorted(names - {"self"})


def classes(module):
    found = {name: getattr(module, name) for name in dir(module)}
    return {name: arguments(item) for name, item in sorted(found.items()) if isinstance(item, type)}


def operations():
    """Classes of operations, by module, that stand in models of Lambda layers."""
    source = "".join(path.read_text() for path in (ROOT / "unparallel").glob("*/*.py") if path.parent.name in PARTS)
    written = set(re.findall(r"\b(?:numpy|nn|math|core|image)\.[A-Z]\w+", source))
    found = {}
    for module in ("numpy", "nn", "math", "core", "image"):
        whole = vars(importlib.import_module(f"keras.src.ops.{module}"))
        kinds = {name: item for name, item in whole.items() if isinstance(item, type) and issubclass(item, Operation)}
        found.update((f"{module}.{name}", arguments(item)) for name, item in sorted(kinds.items()))
    return {kind: names for kind, names in found.items() if kind in written}


def main():
    known = {}
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as handle:
            known = json.load(handle)
    known[keras.__version__] = {
        "layers": classes(keras.layers),
        "initializers": classes(keras.initializers),
        "regularizers": classes(keras.regularizers),
        "constraints": classes(keras.constraints),
        "optimizers": classes(keras.optimizers),
        "losses": classes(keras.losses),
        "operations": operations(),
        "activations": {name: [] for name in dir(keras.activations) if not name.startswith("_")},
    }
    with open(PATH, "w", encoding="utf-8") as handle:
        json.dump(known, handle, indent=0, sort_keys=True)
        handle.write("\n")


if __name__ == "__main__":
    main()
