"""A `Picture` as SVG: one file, light and dark, no script, no link, nothing that a stranger's names could add.

Before and after stand side by side, and the towers' upper edge is the upper edge of what comes out of them.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .layout import HEIGHT, LONGEST_NOTE, ROW_GAP, Layout, Rect, place, shortened, text_width
from .values import TEMPLATE, Arrow, Panel, Picture, Section

MARGIN = 16.0
PANEL_GAP = 72.0
HEAD = 46.0
# A tower is drawn as tall as what is in it, up to here.
TALLEST_TOWER = 180.0
LONGEST_LINE = 150

STYLE = """\
.un{font-family:"DejaVu Sans",Verdana,system-ui,sans-serif;--ink:#1d2433;--dim:#5d6880;--line:#8a94a6;--box:#fff;\
--in:#eef1f6;--fold:#f6f7fa;--amber:#b97900;--amberbox:#fff4d6;--blue:#1667b7;--bluebox:#e3f1ff;--beam:#1667b714;\
--red:#c0392b;--redbox:#fdeceb;--paper:#fff}
.un .paper{fill:var(--paper)}.un text{font-size:12px;fill:var(--ink)}.un text.k{font-size:10px;fill:var(--dim)}
.un text.h{font-size:13px;font-weight:bold}.un rect.b{fill:var(--box);stroke:var(--line)}
.un .input rect.b{fill:var(--in)}.un .folded rect.b{fill:var(--fold)}
.un .cut rect.b{fill:var(--amberbox);stroke:var(--amber);stroke-dasharray:4 3}
.un .template rect.b{fill:var(--bluebox);stroke:var(--blue)}.un .doubt rect.b{fill:var(--redbox);stroke:var(--red)}
.un path.e{fill:none;stroke:var(--line)}.un path.e.gone{stroke:var(--amber);stroke-dasharray:4 3}
.un path.a{fill:var(--line)}.un path.a.gone{fill:var(--amber)}.un .beam{fill:var(--beam)}
.un rect.f{fill:none;stroke:var(--line);stroke-dasharray:1 3}
@media (prefers-color-scheme:dark){.un{--ink:#e8ecf4;--dim:#a4aec2;--line:#8a94a6;--box:#1d2433;--in:#2a3242;\
--fold:#232b3a;--amber:#e0a83a;--amberbox:#3a2f12;--blue:#5aa9f0;--bluebox:#10314f;--beam:#5aa9f01f;--red:#ff8a7a;\
--redbox:#47201c;--paper:#141924}}"""

LEGEND = (("cut", "cut away"), ("template", "kept, once a GPU in the file"))


class _Placed(NamedTuple):
    """A panel with its layout and the offset of its boxes; rows from `sunk_from` down are lowered by `sunk`."""

    panel: Panel
    layout: Layout
    x: float
    y: float
    sunk_from: float = 0.0
    sunk: float = 0.0

    def rect(self, number: int) -> Rect:
        """Where a box is in the whole picture."""
        own = self.layout.boxes[number]
        return own._replace(x=own.x + self.x, y=self.lowered(own.y))

    def lowered(self, y: float) -> float:
        """A height of the layout in the whole picture."""
        return y + self.y + (self.sunk if y >= self.sunk_from else 0.0)

    @property
    def bottom(self) -> float:
        return max((self.rect(i).bottom for i in range(len(self.panel.boxes))), default=self.y)


def svg(picture: Picture) -> str:
    """The picture as the text of an SVG file; the same picture gives the same bytes."""
    body: list[str] = []
    top = width = 0.0
    top += MARGIN
    if picture.title:
        body.append(_text(MARGIN, top + 12, "h", picture.title, 90))
        width = text_width(shortened(picture.title, 90), 14) + 2 * MARGIN
        top += 26
    for section in picture.sections:
        lines, right, top = _section(section, top)
        body += lines
        width = max(width, right)
    for line in _wrapped(picture.proof, max(width, 560.0) - 2 * MARGIN):
        body.append(_text(MARGIN, top + 10, "k", line, LONGEST_LINE))
        width = max(width, text_width(shortened(line, LONGEST_LINE), 10) + 2 * MARGIN)
        top += 15
    if any(section.after is not None for section in picture.sections):
        legend, right = _legend(top + 6)
        body += legend
        width = max(width, right)
        top += 24
    return _document(body, width, top + MARGIN, picture)


def _document(body: Sequence[str], width: float, height: float, picture: Picture) -> str:
    w, h = _n(width), _n(height)
    label = _escape(f"unparallel: {shortened(picture.title, 90)}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="un" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">'
    )
    paper = f'<rect class="paper" width="{w}" height="{h}"/>'
    return "\n".join([head, f"<title>{label}</title>", f"<style>{STYLE}</style>", paper, *body, "</svg>", ""])


# -- a section


def _section(section: Section, top: float) -> tuple[list[str], float, float]:
    """(lines, right edge, lower edge) of a model's graph before and after."""
    body = []
    if section.title:
        body.append(_text(MARGIN, top + 12, "h", section.title, 90))
        top += 24
    panels = _side_by_side(section, top + HEAD)
    if len(panels) > 1:
        body.append(_beam(*panels))
    for placed in panels:
        body.append(_text(placed.x, top + 12, "h", placed.panel.title, 60))
        body.append(_text(placed.x, top + 28, "k", placed.panel.note, 80))
        body += _panel(placed)
    right = max(max(placed.x + _panel_width(placed.panel, placed.layout) for placed in panels), 0.0) + MARGIN
    return body, right, max(placed.bottom for placed in panels) + 26


def _side_by_side(section: Section, top: float) -> list[_Placed]:
    if section.after is None:
        return [_Placed(section.before, place(section.before), MARGIN, top)]
    after = place(section.after)
    first = _first_inside(section.after, after)
    inside = [rect for box, rect in zip(section.after.boxes, after.boxes) if box.role == TEMPLATE] or list(after.boxes)
    extent = max(rect.bottom for rect in inside) - first
    tall = min(TALLEST_TOWER, max(HEIGHT, extent))
    towers = {i: tall for i, box in enumerate(section.before.boxes) if box.role == TEMPLATE}
    before = place(section.before, towers)
    edge = min((before.boxes[i].y for i in towers), default=0.0)
    right = MARGIN + _panel_width(section.before, before) + PANEL_GAP
    return [
        _Placed(section.before, before, MARGIN, top),
        _Placed(section.after, after, right, top, first, max(0.0, edge - first)),
    ]


def _first_inside(panel: Panel, layout: Layout) -> float:
    """The upper edge of the first layer that came out of a tower (the second row, where all of them did)."""
    tops = [rect.y for box, rect in zip(panel.boxes, layout.boxes) if box.role == TEMPLATE]
    return min(tops, default=HEIGHT + ROW_GAP)


def _panel_width(panel: Panel, layout: Layout) -> float:
    label = max([text_width(f"x {times:,}", 12) + 8 if times > 1 else 0.0 for times in panel.repeats] or [0.0])
    head = max(text_width(shortened(panel.title, 60), 14), text_width(shortened(panel.note, 80), 10))
    return max(layout.width + label, head)


def _beam(before: _Placed, after: _Placed) -> str:
    """What links the towers with what comes out of them, as under a magnifying glass."""
    towers = [before.rect(i) for i, box in enumerate(before.panel.boxes) if box.role == TEMPLATE]
    inside = [after.rect(i) for i, box in enumerate(after.panel.boxes) if box.role == TEMPLATE]
    if not towers or not inside:
        return ""
    left = max(rect.x + rect.width for rect in towers)
    start, end = min(rect.x for rect in inside) - 14, max(rect.x + rect.width for rect in inside) + 14
    top, bottom = min(rect.y for rect in towers), max(rect.bottom for rect in towers)
    first, last = min(rect.y for rect in inside), max(rect.bottom for rect in inside) + 8
    points = [(left, top), (start, first), (end, first), (end, last), (start, last), (left, bottom)]
    return f'<path class="beam" d="M{" ".join(f"{_n(x)},{_n(y)}" for x, y in points)}z"/>'


def _panel(placed: _Placed) -> list[str]:
    lines = [_arrow(placed, i, arrow) for i, arrow in enumerate(placed.panel.arrows)]
    for times, frame in zip(placed.panel.repeats, placed.layout.frames):
        x, y = frame.x + placed.x, placed.lowered(frame.y + 9) - 9
        lines.append(f'<rect class="f" {_size(x, y, frame.width, frame.height)} rx="8"/>')
        lines.append(_text(x + frame.width + 6, y + frame.height / 2 + 4, "h", f"x {times:,}", 20))
    for i, box in enumerate(placed.panel.boxes):
        rect = placed.rect(i)
        middle, centre = _n(rect.middle), rect.y + rect.height / 2
        title, note = shortened(box.title), shortened(box.note, LONGEST_NOTE)
        words = [(_n(centre - 3), "", title), (_n(centre + 11), ' class="k"', note)]
        if not note:
            words = [(_n(centre + 4), "", title)]
        texts = "".join(
            f'<text{kind} x="{middle}" y="{y}" text-anchor="middle">{_escape(text)}</text>' for y, kind, text in words
        )
        detail = f"<title>{_escape(shortened(box.detail, 200))}</title>" if box.detail else ""
        shape = f'<rect class="b" {_size(*rect)} rx="6"/>'
        lines.append(f'<g class="{box.role}">{detail}{shape}{texts}</g>')
    return lines


def _arrow(placed: _Placed, number: int, arrow: Arrow) -> str:
    """A line through the route's points, and its head: a path of its own, since a marker would need an id."""
    points = [(x + placed.x, y) for x, y in placed.layout.routes[number]]
    first, last = placed.rect(arrow.start), placed.rect(arrow.end)
    points = [(x, placed.lowered(y)) for x, y in points]
    points[0] = (points[0][0], first.bottom)
    points[-1] = (points[-1][0], last.y - 5)
    path = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        middle = (y0 + y1) / 2
        path += f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}" if x0 != x1 else f"V{_n(y1)}"
    gone = " gone" if arrow.cut else ""
    x, y = points[-1]
    head = f'<path class="a{gone}" d="M{_n(x - 4)} {_n(y - 2)}H{_n(x + 4)}L{_n(x)} {_n(y + 5)}z"/>'
    return f'<path class="e{gone}" d="{path}"/>{head}'


def _legend(y: float) -> tuple[list[str], float]:
    lines, x = [], MARGIN
    for role, words in LEGEND:
        lines.append(f'<g class="{role}"><rect class="b" {_size(x, y, 22, 12)} rx="3"/></g>')
        lines.append(_text(x + 28, y + 10, "k", words, 60))
        x += 28 + text_width(words, 10) + 24
    return lines, x


# -- text


def _wrapped(lines: Sequence[str], width: float) -> list[str]:
    """Lines broken at blanks, so that a long reason does not make the picture wide."""
    broken = []
    for line in lines:
        words = shortened(line, 600).split(" ")
        at = ""
        for word in words:
            if at and text_width(f"{at} {word}", 10) > width:
                broken.append(at)
                at = word
            else:
                at = f"{at} {word}" if at else word
        broken.append(at)
    return broken


def _text(x: float, y: float, kind: str, text: str, most: int) -> str:
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{_escape(shortened(text, most))}</text>'


def _escape(text: str) -> str:
    """Text that is text to every XML parser: controls, which XML forbids, and direction marks are shown as escapes."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _size(x: float, y: float, width: float, height: float) -> str:
    return f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'


def _n(number: float) -> str:
    """A coordinate: a tenth of a pixel is enough, and equal on every machine."""
    text = f"{number:.1f}"
    return text[:-2] if text.endswith(".0") else text
