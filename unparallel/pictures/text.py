"""A `Picture` as text that other programs draw: Mermaid (GitHub, GitLab, JupyterLab) and DOT (Graphviz)."""

from __future__ import annotations

from typing import Iterator

from .layout import shortened
from .values import CUT, DOUBT, INPUT, TEMPLATE, Box, Panel, Picture

# (role, fill, stroke), as in the SVG's light colours; cut boxes are dashed besides
COLOURS = (
    (INPUT, "#eef1f6", "#8a94a6"),
    (CUT, "#fff4d6", "#b97900"),
    (TEMPLATE, "#e3f1ff", "#1667b7"),
    (DOUBT, "#fdeceb", "#c0392b"),
)
# Mermaid and HTML read these; written as numbers they are text to both.
SPECIAL = frozenset('#&;<>"`\\$')


def mermaid(picture: Picture) -> str:
    """The picture as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for name, panel in _panels(picture):
        lines.append(f'  subgraph {name}["{_entities(_head(panel))}"]')
        lines += [f'    {name}n{i}["{_mermaid_label(panel, box)}"]' for i, box in enumerate(panel.boxes)]
        for arrow in panel.arrows:
            line = "-.->" if arrow.cut else "-->"
            lines.append(f"    {name}n{arrow.start} {line} {name}n{arrow.end}")
        lines.append("  end")
        for role, _, _ in COLOURS:
            of_it = [f"{name}n{i}" for i, box in enumerate(panel.boxes) if box.role == role]
            if of_it:
                lines.append(f"  class {','.join(of_it)} {role}")
    for role, fill, stroke in COLOURS:
        dashes = ",stroke-dasharray:4 3" if role == CUT else ""
        lines.append(f"  classDef {role} fill:{fill},stroke:{stroke},color:#1d2433{dashes}")
    return "\n".join([*lines, ""])


def dot(picture: Picture) -> str:
    """The picture in Graphviz' language."""
    looks = {role: (fill, stroke) for role, fill, stroke in COLOURS}
    lines = [
        "digraph unparallel {",
        f'  graph [rankdir=TB, labelloc=t, fontname="Helvetica", label="{_quoted(picture.title)}"];',
        '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#8a94a6", fontname="Helvetica"];',
        '  edge [color="#8a94a6"];',
    ]
    for name, panel in _panels(picture):
        lines.append(f'  subgraph "cluster_{name}" {{')
        lines.append(f'    label="{_quoted(_head(panel))}"; color="#8a94a6";')
        for i, box in enumerate(panel.boxes):
            fill, stroke = looks.get(box.role, ("#ffffff", "#8a94a6"))
            style = "rounded,filled,dashed" if box.role == CUT else "rounded,filled"
            label = "\\n".join(_quoted(text) for text in _words(panel, box))
            lines.append(f'    {name}n{i} [label="{label}", style="{style}", fillcolor="{fill}", color="{stroke}"];')
        for arrow in panel.arrows:
            dashed = ' [style=dashed, color="#b97900"]' if arrow.cut else ""
            lines.append(f"    {name}n{arrow.start} -> {name}n{arrow.end}{dashed};")
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


def _panels(picture: Picture) -> Iterator[tuple[str, Panel]]:
    for i, section in enumerate(picture.sections):
        yield f"before{i}", section.before
        if section.after is not None:
            yield f"after{i}", section.after


def _head(panel: Panel) -> str:
    return f"{panel.title}: {panel.note}" if panel.note else panel.title


def _words(panel: Panel, box: Box) -> list[str]:
    times = [f"in a group that is there x {panel.repeats[box.repeat]:,}"] if box.repeat >= 0 else []
    return [text for text in (box.title, box.note, *times) if text]


def _mermaid_label(panel: Panel, box: Box) -> str:
    return "<br/>".join(_entities(text) for text in _words(panel, box))


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in shortened(text, 80)
    )


def _entities(text: str) -> str:
    return "".join(f"#{ord(char)};" if char in SPECIAL else char for char in _printable(text))


def _quoted(text: str) -> str:
    return _printable(text).replace("\\", "\\\\").replace('"', '\\"')
