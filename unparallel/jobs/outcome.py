"""What became of each file of a batch, as values, and the report that keeps them.

The report is JSON.  It is replaced as a whole, so that a run which is killed leaves one that can be read, and
it is what the next run knows of this one.
"""

import datetime
import json
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any, Dict, Iterable, List, Optional, Tuple

from .._version import __version__
from ..atomic import AtomicFile
from ..errors import FileError, unreadable

CONVERTED, SINGLE, SKIPPED, REFUSED, FAILED = STATUSES = ("converted", "single", "skipped", "refused", "failed")
FORMAT = 1
# The report is written again when that many seconds are over, and never takes more than a twentieth of the time.
INTERVAL = 2.0
SHARE = 20


@dataclass(frozen=True)
class Outcome:
    """What became of one source.

    Parameters
    ----------
    status : str
        "converted"; "single" (there was nothing to undo, and nothing was written); "skipped" (it was done before,
        or a file found in a folder is not a Keras file); "refused" (the file was read, and `reason` says why it is
        not converted); "failed" (it could not be read or written, or its process crashed or went over a limit).
    source, target : str
        Absolute paths, or URLs; `target` is "" where nothing is there.
    reason, hint : str
        For all but "converted": why, and what to do.
    seconds : float
    bytes_before, bytes_after : int
    warnings : tuple of str
        What the user should know, weights with NaN or Inf among it.
    verified : bool
        Whether every weight of the target was compared with the source.
    keras_version : str
        Of the Keras that wrote the source ("" where the file does not tell).
    versions : tuple of (str, str)
        Names and versions of what did the work.
    options_digest : str
        Stands for the options that decide what is written.
    source_fingerprint, target_fingerprint : str
        Change when the file does.
    """

    status: str
    source: str
    target: str = ""
    reason: str = ""
    hint: str = ""
    seconds: float = 0.0
    bytes_before: int = 0
    bytes_after: int = 0
    warnings: Tuple[str, ...] = ()
    verified: bool = False
    keras_version: str = ""
    versions: Tuple[Tuple[str, str], ...] = ()
    options_digest: str = ""
    source_fingerprint: str = ""
    target_fingerprint: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the source is converted or needs no conversion."""
        return self.status not in (REFUSED, FAILED)

    def to_json(self) -> Dict[str, Any]:
        """The outcome as JSON has it."""
        return dict(asdict(self), versions=dict(self.versions), warnings=list(self.warnings))

    @classmethod
    def from_json(cls, value: Dict[str, Any]) -> "Outcome":
        """The outcome that `to_json` gave; what a later version added is left out."""
        known = {field.name: value[field.name] for field in fields(cls) if field.name in value}
        versions, warnings = dict(known.get("versions") or {}), known.get("warnings") or ()
        return cls(**dict(known, versions=tuple(versions.items()), warnings=tuple(map(str, warnings))))


class Report:
    """The outcomes of a run, on disk as they come in.

    Parameters
    ----------
    path : str, optional
        None keeps them in memory only.

    Raises
    ------
    FileError
        `path` is there and is no report.
    """

    def __init__(self, path: Optional[str]) -> None:
        self.path = None if path is None else os.path.abspath(path)
        self.earlier = {} if self.path is None else _read(self.path)
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
            "unparallel": __version__,
            "started": self._started,
            "finished": self._finished,
            "sources": len(self._order),
            "counts": {status: counts[status] for status in STATUSES},
            "outcomes": [outcome.to_json() for outcome in outcomes],
        }

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
            with out.open("w", encoding="ascii") as handle:
                json.dump(self.to_json(), handle, indent=1)
            out.commit()
        end = time.monotonic()
        self._next = end + max(INTERVAL, SHARE * (end - start))


def _read(path: str) -> Dict[str, Outcome]:
    """The outcomes of an earlier run, by source; none where there is no file."""
    try:
        with open(path, encoding="utf-8") as handle:
            value = json.load(handle)
        if value["format"] != FORMAT:
            raise ValueError
        outcomes = [Outcome.from_json(item) for item in value["outcomes"]]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise unreadable(error, "check the report's path").about(path) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError("exists, and is not a report that can be read", "name another report", path) from error
    return {outcome.source: outcome for outcome in outcomes}


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def count(outcomes: Iterable[Outcome]) -> Dict[str, int]:
    """How many outcomes there are of each status, in a fixed order."""
    counts = Counter(outcome.status for outcome in outcomes)
    return {status: counts[status] for status in STATUSES}
