"""The report as a page: one file without script and network, what needs a person first.

The page holds the report's JSON too, as text that browsers do not show, so that the next run can go on from it.
Everything that comes out of a model file or a path is escaped.
"""

from __future__ import annotations

import hashlib
import html
import json
from typing import Any, Mapping, Sequence

from ..display.cards import STYLE as CARD_STYLE
from ..display.cards import escape, facts_html, table_html
from ..display.text import count_text, size_text, written_by
from .table import reason_kind

# A page must open in a browser: so many pictures, and so many files in a list.
MOST_PICTURES = 40
MOST_PICTURE_BYTES = 4_000_000
MOST_LISTED = 500
START, END = '<template id="unparallel-report">', "</template>"
Outcome = Mapping[str, Any]

STYLE = (
    CARD_STYLE
    + """
body{margin:0;background:#fff}main{max-width:1100px;margin:0 auto;padding:1em}
.unc h1{font-size:1.35em;overflow-wrap:anywhere}.unc h2{font-size:1.1em;margin:1.6em 0 .3em}
.unc .chips{display:flex;flex-wrap:wrap;gap:.6em;margin:.8em 0}
.unc .chip{border:1px solid var(--rule);border-radius:8px;padding:.4em .9em}.unc .chip b{font-size:1.4em;display:block}
.unc section{border-top:1px solid var(--rule);padding:.5em 0}.unc ul{margin:.3em 0;padding-left:1.2em}
.unc li{overflow-wrap:anywhere}.unc .wide{overflow-x:auto;max-width:100%}
@media (prefers-color-scheme:dark){body{background:#141924}}"""
)
KINDS = {"converted": "good", "parallel": "good", "refused": "doubt", "failed": "bad"}


def page_html(report: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """The whole page.

    Parameters
    ----------
    report : mapping
        As `Report.to_json` gives it.
    pictures : mapping of str to str
        SVG by source.
    """
    outcomes: Sequence[Outcome] = report["outcomes"]
    survey = report["kind"] == "survey"
    title = f"unparallel: {'survey' if survey else 'conversion'} of {count_text(report['sources'], 'file')}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>",
        f'<body><main class="unc"><h1>{escape(title)}</h1>',
        f'<div class="dim">{escape(_when(report))}</div>',
        _chips(report["counts"]),
        _attention(outcomes),
        _models(outcomes, pictures),
        _rest(outcomes),
        "</main>",
        START + html.escape(json.dumps(report, ensure_ascii=True)) + END,
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def outcomes_html(outcomes: Sequence[Outcome]) -> str:
    """Outcomes as a table for a notebook."""
    heads = ("outcome", "source", "model", "size", "reason")
    rows = [
        (item["status"], item["source"], _model(item), size_text(item["bytes_before"]), item["reason"])
        for item in outcomes[:MOST_LISTED]
    ]
    more = len(outcomes) - MOST_LISTED
    note = f'<div class="dim">and {more:,} more</div>' if more > 0 else ""
    return f'<style>{CARD_STYLE}</style><div class="unc wide">{table_html(heads, rows)}{note}</div>'


def data_of(text: str) -> str:
    """The JSON in a page; a text that is no page as it is."""
    if not text.lstrip().startswith("<!DOCTYPE html>"):
        return text
    start = text.rfind(START)
    if start < 0:
        raise ValueError("no report")
    return html.unescape(text[start + len(START) : text.find(END, start)])


def _when(report: Mapping[str, Any]) -> str:
    end = f"finished {report['finished']}" if report["finished"] else "not finished"
    return f"started {report['started']}, {end}, unparallel {report['unparallel']}"


def _chips(counts: Mapping[str, int]) -> str:
    chips = [
        f'<div class="chip"><b>{number:,}</b><span class="{KINDS.get(status, "dim")}">{escape(status)}</span></div>'
        for status, number in counts.items()
    ]
    return f'<div class="chips">{"".join(chips)}</div>'


# -- what needs a person


def _attention(outcomes: Sequence[Outcome]) -> str:
    groups: dict[tuple[str, str], list[tuple[Outcome, str, str]]] = {}
    for item in sorted(outcomes, key=lambda item: (item["status"] != "failed", item["status"] != "refused")):
        for kind, reason, hint in _needs(item):
            groups.setdefault((kind, reason_kind(reason)), []).append((item, reason, hint))
    if not groups:
        return ""
    return "<h2>needs attention</h2>" + "".join(_group(kind, group) for (kind, _), group in groups.items())


def _needs(item: Outcome) -> list[tuple[str, str, str]]:
    if item["status"] in ("refused", "failed"):
        return [(item["status"], item["reason"], item["hint"])]
    return [("warning", warning, "") for warning in item["warnings"]]


def _group(kind: str, group: Sequence[tuple[Outcome, str, str]]) -> str:
    _, reason, hint = group[0]
    advice = f'<div class="dim">{escape(hint)}</div>' if hint else ""
    look = KINDS.get(kind, "doubt")
    head = f'<div class="p"><span class="v {look}">{escape(kind)}</span> {count_text(len(group), "file")}: '
    return f"<section>{head}{escape(reason)}</div>{advice}{_files([item for item, _, _ in group])}</section>"


def _files(items: Sequence[Outcome]) -> str:
    rows = "".join(
        f'<li>{escape(item["source"])} <span class="dim">{size_text(item["bytes_before"])}</span></li>'
        for item in items[:MOST_LISTED]
    )
    more = f"<li>and {len(items) - MOST_LISTED:,} more</li>" if len(items) > MOST_LISTED else ""
    return f"<ul>{rows}{more}</ul>"


# -- models, each with its files


def _models(outcomes: Sequence[Outcome], pictures: Mapping[str, str]) -> str:
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for item in outcomes:
        if item["status"] in ("converted", "parallel", "skipped") and item["replicas"]:
            drawn = hashlib.sha1(pictures.get(item["source"], "").encode("utf-8")).hexdigest()
            groups.setdefault((item["template"], item["replicas"], item["layers"], drawn), []).append(item)
    if not groups:
        return ""
    parts, room, left = ["<h2>models</h2>"], MOST_PICTURE_BYTES, MOST_PICTURES
    for group in groups.values():
        picture = pictures.get(group[0]["source"], "")
        if len(picture) > room or not left:
            picture = ""
        room, left = room - len(picture), left - bool(picture)
        parts.append(_model_section(group, picture))
    return "".join(parts)


def _model_section(group: Sequence[Outcome], picture: str) -> str:
    first = group[0]
    facts = [
        ("template", first["template"]),
        ("replicas", f"{first['replicas']:,}"),
        ("layers", f"{first['layers']:,}"),
        ("parameters", f"{first['parameters']:,}"),
        ("written by", written_by(first["keras_version"] or None)),
        ("optimizer", first["optimizer"]),
        ("opens in", first["opens_in"]),
    ]
    drawing = f'<details open><summary>picture</summary><div class="pic">{picture}</div></details>' if picture else ""
    heads = ("file", "to", "size", "NaN or Inf in")
    rows = [
        (
            f"{item['status']} {item['source']}",
            item["target"],
            size_text(item["bytes_after"] or item["bytes_before"]),
            count_text(item["non_finite"], "array") if item["non_finite"] else "",
        )
        for item in group[:MOST_LISTED]
    ]
    more = f'<div class="dim">and {len(group) - MOST_LISTED:,} more</div>' if len(group) > MOST_LISTED else ""
    table = f'<div class="wide">{table_html(heads, rows)}</div>'
    return f"<section>{facts_html(facts)}{drawing}{table}{more}</section>"


def _rest(outcomes: Sequence[Outcome]) -> str:
    """Files that need nothing."""
    items = [item for item in outcomes if item["status"] in ("single", "skipped") and not item["replicas"]]
    if not items:
        return ""
    heads = ("file", "model", "size", "why")
    rows = [
        (item["source"], _model(item), size_text(item["bytes_before"]), item["reason"]) for item in items[:MOST_LISTED]
    ]
    more = f'<div class="dim">and {len(items) - MOST_LISTED:,} more</div>' if len(items) > MOST_LISTED else ""
    return f'<h2>nothing to do</h2><section class="wide">{table_html(heads, rows)}{more}</section>'


def _model(item: Outcome) -> str:
    parts = [item["template"], f"{item['parameters']:,} parameters" if item["parameters"] else "", item["optimizer"]]
    return ", ".join(part for part in parts if part)
