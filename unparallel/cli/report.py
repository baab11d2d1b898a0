"""What the command prints besides results: JSON and versions."""

import sys
from importlib import import_module

from .. import __version__


def json_text(value: object) -> str:
    """JSON values as text."""
    import json

    return json.dumps(value, indent=2)


def versions_line() -> str:
    """The versions of what matters for a bug report."""
    libraries = [f"{name} {_installed(name)}" for name in ("h5py", "networkx")]
    python = "Python {}.{}.{}".format(*sys.version_info[:3])
    return "unparallel {} ({})".format(__version__, ", ".join([*libraries, python]))


def _installed(name: str) -> str:
    """A library's version, without importing it where Python (from 3.8 on) knows how."""
    try:
        metadata = import_module("importlib.metadata")
    except ImportError:
        return str(import_module(name).__version__)
    return str(metadata.version(name))
