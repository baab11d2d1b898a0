"""What a picture shows, before anybody thinks of coordinates: boxes, arrows, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# What a box stands for.  Each output format has one table of how these look.
INPUT, KEPT, CUT, TEMPLATE, DOUBT, FOLDED = "input", "kept", "cut", "template", "doubt", "folded"


class Box(NamedTuple):
    """A layer's call, or several that were folded into one.

    Attributes
    ----------
    title, note : str
        First and second line.
    role : str
    detail : str
        What does not fit into the box.
    repeat : int
        Number of the repeated group that the box belongs to (an index into `Panel.repeats`), or -1.
    """

    title: str
    note: str
    role: str = KEPT
    detail: str = ""
    repeat: int = -1


class Arrow(NamedTuple):
    """From one box to another (indices into `Panel.boxes`); `cut` where a conversion removes it."""

    start: int
    end: int
    cut: bool = False


@dataclass(frozen=True)
class Panel:
    """One graph.

    Parameters
    ----------
    title, note : str
    boxes : tuple of Box
        Each after those that it reads.
    arrows : tuple of Arrow
    repeats : tuple of int
        How often each repeated group stands in the model.
    """

    title: str
    note: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    repeats: tuple[int, ...] = ()


@dataclass(frozen=True)
class Section:
    """One model's graph as it is and as it will be; `after` is None where nothing changes."""

    title: str
    before: Panel
    after: Panel | None = None


@dataclass(frozen=True)
class Picture:
    """All that is drawn; `proof` says in words why the wrapper may go, or why nothing is changed."""

    title: str
    sections: tuple[Section, ...]
    proof: tuple[str, ...] = ()
