"""Pictures of a file's graph: what is cut, what is kept, what comes out.  Without any program outside Python."""

from __future__ import annotations

from ..errors import UnparallelError
from .scene import Subject, picture_of
from .svg import svg
from .text import dot, mermaid

FORMATS = {"svg": svg, "mmd": mermaid, "dot": dot}


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
    return FORMATS[kind](picture_of(subject))


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


__all__ = ["FORMATS", "Subject", "draw", "format_of", "picture_of", "svg"]
