"""Where boxes and arrows of a panel lie: rows by the longest way from an input, few crossings, straight lines.

Rows are networkx's topological generations; within a row, barycentres order the boxes and an isotonic regression
places them as near to their neighbours as their widths allow.  A library was weighed: fast-sugiyama (Rust, wheels for
Python 3.11 and later and new glibc only) rules out Python 3.7, grandalf is little kept up and GPL, Graphviz is a
program outside Python and exchanges the order of equal replicas.  What is left to do here is short, since folding
keeps graphs small; and the same graph gives the same numbers everywhere.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from .values import Box, Panel

if TYPE_CHECKING:
    import networkx as nx

HEIGHT = 36.0
ROW_GAP = 30.0
BOX_GAP = 20.0
# An arrow that passes a row takes this much room in it.
LANE = 6.0
LONGEST_TEXT = 40
LONGEST_NOTE = 48
SWEEPS = 6


class Rect(NamedTuple):
    """Left, top, width and height in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The horizontal centre."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Layout:
    """Places for all that a panel shows, from (0, 0).

    Parameters
    ----------
    boxes : tuple of Rect
        One for each box of the panel.
    routes : tuple of tuple of (x, y)
        For each arrow, the points that it passes, from the lower edge of a box to the upper edge of another.
    frames : tuple of Rect
        Around each repeated group.
    width, height : float
    """

    boxes: tuple[Rect, ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    frames: tuple[Rect, ...]
    width: float
    height: float


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """A text of at most that many characters, its middle left out."""
    return text if len(text) <= most else f"{text[: most - 12]}…{text[-11:]}"


def text_width(text: str, size: float) -> float:
    """About the width of a text in pixels, rather too large, for a common sans serif font of that size."""
    return sum(_char_width(char) for char in text) * size


def _char_width(char: str) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in "iljtfrI.,:;'|![]() ":
        return 0.38
    return 0.9 if char in "mwMW@%" else 0.72 if char.isupper() else 0.63


def box_width(box: Box) -> float:
    """The width that a box needs for its two lines."""
    return max(48.0, text_width(shortened(box.title), 12), text_width(shortened(box.note, LONGEST_NOTE), 10)) + 20


def place(panel: Panel, heights: Mapping[int, float] | None = None) -> Layout:
    """Lay a panel out.

    Parameters
    ----------
    panel : Panel
    heights : mapping of int to float, optional
        Heights of boxes that are taller than others.
    """
    graph = _with_lanes(panel)
    rows = _ordered(graph, _rows(graph))
    widths = {key: box_width(panel.boxes[key[0]]) if len(key) == 1 else LANE for key in graph}
    centres = _centres(graph, rows, widths)
    left = min((centres[key] - widths[key] / 2 for key in graph), default=0.0)
    rects: dict[tuple[int, ...], Rect] = {}
    top = 0.0
    for row in rows:
        own: dict[tuple[int, ...], float] = {key: (heights or {}).get(key[0], HEIGHT) for key in row if len(key) == 1}
        tallest = max(own.values(), default=HEIGHT)
        for key in row:
            height = own.get(key, tallest)
            rects[key] = Rect(round(centres[key] - widths[key] / 2 - left, 1), top, round(widths[key], 1), height)
        top += tallest + ROW_GAP
    boxes = tuple(rects[(i,)] for i in range(len(panel.boxes)))
    routes = tuple(_route(rects, i, arrow.start, arrow.end) for i, arrow in enumerate(panel.arrows))
    frames = tuple(_frame(panel, boxes, number) for number in range(len(panel.repeats)))
    width = max([rect.x + rect.width for rect in (*rects.values(), *frames)] or [0.0])
    return Layout(boxes, routes, frames, width, max(0.0, top - ROW_GAP))


# Nodes are (box,), and (arrow, start, row) where an arrow passes a row.


def _with_lanes(panel: Panel) -> nx.DiGraph:
    """The panel's graph with a node in each row that an arrow passes."""
    import networkx as nx

    plain = nx.DiGraph()
    plain.add_nodes_from(range(len(panel.boxes)))
    plain.add_edges_from((arrow.start, arrow.end) for arrow in panel.arrows)
    row_of = {key: row for row, keys in enumerate(nx.topological_generations(plain)) for key in keys}
    graph = nx.DiGraph()
    graph.add_nodes_from(((key,), {"row": row_of[key]}) for key in sorted(plain))
    for i, arrow in enumerate(panel.arrows):
        before: tuple[int, ...] = (arrow.start,)
        for row in range(row_of[arrow.start] + 1, row_of[arrow.end]):
            lane = (i, arrow.start, row)
            graph.add_node(lane, row=row)
            graph.add_edge(before, lane)
            before = lane
        graph.add_edge(before, (arrow.end,))
    return graph


def _rows(graph: nx.DiGraph) -> list[list[tuple[int, ...]]]:
    rows: dict[int, list[tuple[int, ...]]] = {}
    for key in graph:
        rows.setdefault(graph.nodes[key]["row"], []).append(key)
    return [rows[row] for row in sorted(rows)]


def _ordered(graph: nx.DiGraph, rows: list[list[tuple[int, ...]]]) -> list[list[tuple[int, ...]]]:
    """The rows in an order with few crossings; what is equal keeps its order, so that GPU 2 follows GPU 1."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        place = {key: i for row in rows for i, key in enumerate(row)}
        for at in range(len(rows)) if down else range(len(rows) - 1, -1, -1):
            neighbours = graph.pred if down else graph.succ

            def barycentre(key: tuple[int, ...]) -> float:
                beside = [place[other] for other in neighbours[key]]  # noqa: B023  used before the loop goes on
                return sum(beside) / len(beside) if beside else place[key]  # noqa: B023

            rows[at] = sorted(rows[at], key=barycentre)
            place.update((key, i) for i, key in enumerate(rows[at]))
    return rows


def _centres(
    graph: nx.DiGraph, rows: Sequence[Sequence[tuple[int, ...]]], widths: Mapping[tuple[int, ...], float]
) -> dict[tuple[int, ...], float]:
    """The horizontal centre of each node."""
    centres: dict[tuple[int, ...], float] = {}
    offsets: dict[tuple[int, ...], float] = {}
    for row in rows:
        at = 0.0
        for i, key in enumerate(row):
            if i:
                at += (widths[row[i - 1]] + widths[key]) / 2 + BOX_GAP
            offsets[key] = at
        centres.update((key, offsets[key] - at / 2) for key in row)
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = []
            for key in row:
                beside = [centres[other] for other in (*graph.pred[key], *graph.succ[key])]
                wanted.append((sum(beside) / len(beside) if beside else centres[key]) - offsets[key])
            centres.update((key, offsets[key] + shift) for key, shift in zip(row, _not_falling(wanted)))
    return centres


def _not_falling(values: Sequence[float]) -> list[float]:
    """The nearest sequence (least squares) that never falls: pool adjacent violators."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, size = value, 1
        while pools and pools[-1][0] / pools[-1][1] > total / size:
            before, number = pools.pop()
            total, size = total + before, size + number
        pools.append((total, size))
    return [total / size for total, size in pools for _ in range(size)]


def _route(rects: Mapping[tuple[int, ...], Rect], number: int, start: int, end: int) -> tuple[tuple[float, float], ...]:
    first, last = rects[(start,)], rects[(end,)]
    points = [(round(first.middle, 1), first.bottom)]
    for lane in sorted(key for key in rects if len(key) == 3 and key[0] == number):
        middle = round(rects[lane].middle, 1)
        points += [(middle, rects[lane].y), (middle, rects[lane].bottom)]
    return (*points, (round(last.middle, 1), last.y))


def _frame(panel: Panel, boxes: Sequence[Rect], number: int) -> Rect:
    """The frame around a repeated group, with room for its label at the right."""
    inside = [rect for box, rect in zip(panel.boxes, boxes) if box.repeat == number]
    left, top = min(rect.x for rect in inside) - 10, min(rect.y for rect in inside) - 9
    right, bottom = max(rect.x + rect.width for rect in inside) + 10, max(rect.bottom for rect in inside) + 9
    return Rect(left, top, right - left, bottom - top)
