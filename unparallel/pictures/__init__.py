"""Pictures of a file's graph: what is cut, what is kept, what comes out.  Without any program outside Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UnparallelError
from .subject import Subject

if TYPE_CHECKING:
    from .scene import picture_of

# The module and the function for each; imported when something is drawn, which is seldom.
FORMATS = {"svg": ("svg", "svg"), "mmd": ("text", "mermaid"), "dot": ("text", "dot")}


def draw(subject: Subject, kind: str = "svg") -> str:
    """The picture of a file as text.

    Parameters
    ----------
    subject : Subject
    kind : str
        "svg", "mmd" (Mermaid) or "dot" (Graphviz).

    Raises
    ------
    UnparallelError
        There is no such format.
    """
    if kind not in FORMATS:
        raise UnparallelError(f"{kind!r} is not a picture format", "name a file that ends in .svg, .mmd or .dot")
    from .scene import picture_of

    module, function = FORMATS[kind]
    text: str = getattr(import_module("." + module, __name__), function)(picture_of(subject))
    return text


def format_of(path: str) -> str:
    """The format that a file's ending names.

    Raises
    ------
    UnparallelError
        It names none.
    """
    kind = path.rpartition(".")[2].lower()
    if kind not in FORMATS:
        raise UnparallelError("is not a picture format", "name a file that ends in .svg, .mmd or .dot", path)
    return kind


__all__ = ["FORMATS", "Subject", "draw", "format_of", "picture_of"]


def __getattr__(name: str) -> Any:
    if name != "picture_of":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".scene", __name__).picture_of
