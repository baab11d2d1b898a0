"""What is said of outcomes, line by line: a table, and what needs a person, grouped by the reason."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from ..display.text import shown, size_text
from .outcome import CONVERTED, PARALLEL, SKIPPED, Outcome, count, short_path

# So many files with one reason share a line, and so many of them are listed.
SHARING, LISTED = 3, 10


def summary_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """The table, and what needs a person."""
    lines = attention_lines(outcomes)
    return [*_table(outcomes), *(["", "needs attention:", *lines] if lines else [])]


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    """What happened, one line a status."""
    counts = count(outcomes)
    survey = PARALLEL in counts
    row = "{:<10} {:>7} {:>11} {:>11}".format
    lines = [row("verdict" if survey else "outcome", "files", "bytes", "" if survey else "clean").rstrip()]
    for status, number in counts.items():
        of_it = [outcome for outcome in outcomes if outcome.status == status]
        before = size_text(sum(outcome.bytes_before for outcome in of_it)) if of_it else ""
        after = size_text(sum(outcome.bytes_after for outcome in of_it)) if status in (CONVERTED, SKIPPED) else ""
        lines.append(row(status, number, before, after if of_it and not survey else "").rstrip())
    return lines


def attention_lines(outcomes: Iterable[Outcome]) -> list[str]:
    """The lines on files that somebody should look at; a reason that many share is said once."""
    groups: dict[tuple[str, str], list[tuple[Outcome, str, str]]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.source):
        for kind, reason, hint in needs(outcome):
            groups.setdefault((kind, reason_kind(reason)), []).append((outcome, reason, hint))
    lines = []
    for (kind, _), group in groups.items():
        lines += _group_lines(kind, group)
    return [shown(line) for line in lines]


def _group_lines(kind: str, group: Sequence[tuple[Outcome, str, str]]) -> list[str]:
    if len(group) < SHARING:
        lines = []
        for outcome, reason, hint in group:
            lines.append(f"{kind:<9} {short_path(outcome.source)}: {reason}")
            lines += [f"          hint: {hint}"] if hint else []
        return lines
    _, reason, hint = group[0]
    lines = [f"{kind:<9} {len(group):,} files: {reason}"]
    lines += [f"          hint: {hint}"] if hint else []
    lines += [f"            {short_path(outcome.source)}" for outcome, _, _ in group[:LISTED]]
    rest = len(group) - LISTED
    return [*lines, f"            and {rest:,} more (--report lists all)"] if rest > 0 else lines


def needs(outcome: Outcome) -> list[tuple[str, str, str]]:
    """(kind, reason, hint) of all that somebody should look at."""
    if outcome.succeeded:
        return [("warning", warning, "") for warning in outcome.warnings]
    return [(outcome.status, outcome.reason, outcome.hint)]


def reason_kind(reason: str) -> str:
    """What reasons have in common that differ in names and numbers only."""
    return re.sub(r"\d+", "0", re.sub(r"'[^']*'", "''", reason))
