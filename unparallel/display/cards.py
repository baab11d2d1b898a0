"""HTML for notebooks and reports: facts as a table, warnings, layers and a picture, without any script.

Everything that comes out of a file is escaped here.  Colours follow the reader's light or dark setting.
"""

from __future__ import annotations

import html
from typing import Iterable, NamedTuple, Sequence

from .text import shown

MOST_LAYERS = 200
MOST_WARNINGS = 6
LONGEST_TEXT = 600

# One rule set for cards and reports; a notebook shows each card with its own copy, which is the same.
STYLE = """\
.unc{font:13px/1.45 "DejaVu Sans",Verdana,system-ui,sans-serif;color:#1d2433;--dim:#5d6880;--rule:#dfe3ea;
--good:#157a2e;--doubt:#a85100;--bad:#b3261e;text-align:left}
.unc table{border-collapse:collapse;margin:.3em 0;border:0}.unc td,.unc th{padding:.1em 1em .1em 0;text-align:left;
vertical-align:top;border:0;background:none;font-weight:normal}.unc td.n{text-align:right;white-space:nowrap}
.unc th{color:var(--dim);white-space:nowrap}.unc .v,.unc .p{overflow-wrap:anywhere}.unc .v{font-weight:bold}
.unc .good{color:var(--good)}.unc .doubt{color:var(--doubt)}.unc .bad{color:var(--bad)}.unc .dim{color:var(--dim)}
.unc .w{color:var(--doubt);margin:.1em 0;overflow-wrap:anywhere}.unc .pic{overflow-x:auto;max-width:100%}
.unc details{margin:.2em 0}.unc summary{cursor:pointer;color:var(--dim)}
@media (prefers-color-scheme:dark){.unc{color:#e8ecf4;--dim:#a4aec2;--rule:#3a4356;--good:#6fd08a;--doubt:#f0b45a;
--bad:#ff8a7a}}"""


class Card(NamedTuple):
    """What a card shows.

    Attributes
    ----------
    verdict, kind : str
        One word, and how it looks: "good", "doubt", "bad" or "dim".
    title : str
    facts : sequence of (str, str)
    warnings : sequence of str
    layers : sequence of (name, class name, parameters)
    picture : str
        SVG; "" for none.
    """

    verdict: str
    kind: str
    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str] = ()
    layers: Sequence[tuple[str, str, int]] = ()
    picture: str = ""


def escape(text: str) -> str:
    """A stranger's text, as text: shortened, controls shown, nothing for a browser to obey."""
    short = text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 40]} … {text[-36:]}"
    return html.escape(shown(short))


def escape_all(text: str) -> str:
    """A long text of our own making, line by line, with strangers' names in it."""
    return html.escape("\n".join(map(shown, text.split("\n"))))


def card_html(card: Card, style: bool = True) -> str:
    """A card as a fragment of HTML."""
    parts = [f"<style>{STYLE}</style>"] if style else []
    parts.append(
        f'<div class="unc"><div class="p"><span class="v {card.kind}">{escape(card.verdict)}</span> '
        f"{escape(card.title)}</div>"
    )
    parts.append(facts_html(card.facts))
    parts += warnings_html(card.warnings)
    if card.picture:
        parts.append(f'<details open><summary>picture</summary><div class="pic">{card.picture}</div></details>')
    if card.layers:
        parts.append(_layers_html(card.layers))
    return "\n".join([*parts, "</div>"])


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table; what has no value is left out."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left" class="p">{escape(value)}</td></tr>'
        for name, value in facts
        if value
    )
    return f"<table>{rows}</table>"


def warnings_html(warnings: Sequence[str]) -> list[str]:
    """A line for each warning."""
    lines = [f'<div class="w">{escape(warning)}</div>' for warning in warnings[:MOST_WARNINGS]]
    if len(warnings) > MOST_WARNINGS:
        lines.append(f'<div class="w">and {len(warnings) - MOST_WARNINGS} more in .warnings</div>')
    return lines


def _layers_html(layers: Sequence[tuple[str, str, int]]) -> str:
    rows = [
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:left" class="dim">'
        f'{escape(class_name)}</td><td class="n">{parameters:,}</td></tr>'
        for name, class_name, parameters in layers[:MOST_LAYERS]
    ]
    if len(layers) > MOST_LAYERS:
        rows.append(f'<tr><td class="dim">and {len(layers) - MOST_LAYERS:,} more in .layers</td></tr>')
    count = f"{len(layers):,} layer{'' if len(layers) == 1 else 's'}"
    return f"<details><summary>{count}</summary><table>{''.join(rows)}</table></details>"


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left" class="p">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
