"""The outcomes of a run together: the report that keeps them, and how they show themselves.

The report is JSON.  It is replaced as a whole, so that a run which is killed leaves one that can be read, and
it is what the next run knows of this one.
"""

import datetime
import json
import os
import time
from collections import Counter
from typing import Any, Dict, Iterable, List, Optional, Tuple

from .._version import __version__
from ..atomic import AtomicFile
from ..errors import FileError, unreadable
from ..options import absolute_path
from . import page, table
from .outcome import PARALLEL, STATUSES, SURVEYED, Outcome, count

BATCH, SURVEY = "batch", "survey"
FORMAT = 1
# The report is written again when that many seconds are over, and never takes more than a twentieth of the time.
INTERVAL = 2.0
MAX_REPORT_SHARE = 1 / 20
# Characters of a report: about a million outcomes.
LONGEST = 2**30


class Report:
    """The outcomes of a run, on disk as they come in.

    Parameters
    ----------
    path : str, optional
        None keeps them in memory only.  A name that ends in .html or .htm makes a page, anything else JSON.
    kind : str
        "batch" or "survey".

    Raises
    ------
    FileError
        `path` exists and is not a report.
    """

    def __init__(self, path: Optional[str], kind: str = BATCH) -> None:
        self.path = None if path is None else absolute_path(path)
        self.kind = kind
        self.earlier = {} if self.path is None else _read(self.path, kind)
        self._started = _now()
        self._finished: Optional[str] = None
        self._order: List[str] = []
        self._outcomes: Dict[str, Outcome] = {}
        self._next = 0.0

    def begin(self, sources: Iterable[str]) -> None:
        """Say what the run is about; what an earlier run knew of these sources stays until they are done again."""
        self._order = list(sources)
        self._outcomes = {source: self.earlier[source] for source in self._order if source in self.earlier}
        self.write()

    def add(self, outcome: Outcome) -> None:
        """Take in an outcome; it is on disk within seconds."""
        self._outcomes[outcome.source] = outcome
        if time.monotonic() >= self._next:
            self.write()

    def close(self, finished: bool) -> None:
        """Write what is known; `finished` when all sources had their turn."""
        self._finished = _now() if finished else None
        self.write()

    def to_json(self) -> Dict[str, Any]:
        """The whole report."""
        outcomes = [self._outcomes[source] for source in self._order if source in self._outcomes]
        counts = Counter(outcome.status for outcome in outcomes)
        return {
            "format": FORMAT,
            "kind": self.kind,
            "unparallel": __version__,
            "started": self._started,
            "finished": self._finished,
            "sources": len(self._order),
            "counts": {status: counts[status] for status in (STATUSES if self.kind == BATCH else SURVEYED)},
            "outcomes": [outcome.to_json() for outcome in outcomes],
        }

    @property
    def is_page(self) -> bool:
        """Whether people read it in a browser."""
        return self.path is not None and self.path.lower().endswith((".html", ".htm"))

    def write(self) -> None:
        """Replace the file on disk by what is known now.

        Raises
        ------
        FileError
            It cannot be written.
        """
        if self.path is None:
            return
        start = time.monotonic()
        with AtomicFile(self.path, overwrite=True) as out:
            if self.is_page:
                pictures = {source: outcome.picture for source, outcome in self._outcomes.items() if outcome.picture}
                with out.open("w", encoding="utf-8") as handle:
                    handle.write(page.page_html(self.to_json(), pictures))
            else:
                with out.open("w", encoding="ascii") as handle:
                    json.dump(self.to_json(), handle, indent=1)
            out.commit()
        end = time.monotonic()
        self._next = end + max(INTERVAL, (end - start) / MAX_REPORT_SHARE)


def _read(path: str, kind: str) -> Dict[str, Outcome]:
    """The outcomes of an earlier run, by source; none where there is no file."""
    try:
        # a pipe or a device would be waited for, and must not be replaced
        if os.path.lexists(path) and not os.path.isfile(path):
            raise FileError("not a regular file", "name another report", path)
        with open(path, encoding="utf-8") as handle:
            text = handle.read(LONGEST + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise unreadable(error, "check the report's path").about(path) from error
    except ValueError as error:
        raise _no_report(path) from error
    try:
        value = json.loads(page.data_of(text)) if len(text) <= LONGEST else None
        if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value["outcomes"], list):
            raise ValueError("no report")
        outcomes = [Outcome.from_json(item) for item in value["outcomes"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_report(path) from error
    if value.get("kind", BATCH) != kind:
        raise FileError(f"is the report of a {value['kind']}", "name another report", path)
    return {outcome.source: outcome for outcome in outcomes}


def _no_report(path: str) -> FileError:
    return FileError("exists, and is not a report that can be read", "name another report", path)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


class Outcomes(Tuple[Outcome, ...]):
    """Outcomes that show themselves, as text and in a notebook: `Outcomes(convert_many(...))`.

    Examples
    --------
    >>> print(Outcomes([Outcome("refused", "/runs/a.h5", reason="the file is truncated", bytes_before=2048)]))
    outcome      files       bytes       clean
    converted        0
    single           0
    skipped          0
    refused          1      2.0 KB
    failed           0
    <BLANKLINE>
    needs attention:
    refused   /runs/a.h5: the file is truncated
    """

    def __str__(self) -> str:
        return "\n".join(table.summary_lines(self))

    def _repr_html_(self) -> str:
        return page.outcomes_html([outcome.to_json() for outcome in self])

    def to_dict(self) -> Dict[str, Any]:
        """The outcomes as JSON values."""
        counts = count(self)
        kind = SURVEY if PARALLEL in counts else BATCH
        outcomes = [outcome.to_json() for outcome in self]
        return {"format": FORMAT, "kind": kind, "unparallel": __version__, "counts": counts, "outcomes": outcomes}
