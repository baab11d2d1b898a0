"""Names of a package that are imported when they are first used (PEP 562)."""

import sys
from importlib import import_module
from typing import Any, Callable, Mapping


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    homes : mapping of str to str
        The module in the package, for each name.
    """

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module("." + homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return imported
