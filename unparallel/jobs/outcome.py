"""What became of each file of a batch, as values."""

import os
from collections import Counter
from dataclasses import MISSING, Field, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Dict, Iterable, Tuple

from ..display.text import count_text, shown, size_text, written_by

if TYPE_CHECKING:
    from ..model import Json

CONVERTED, SINGLE, SKIPPED, REFUSED, FAILED = STATUSES = ("converted", "single", "skipped", "refused", "failed")
# What a survey calls a file that a conversion would convert.
PARALLEL = "parallel"
SURVEYED = (PARALLEL, *STATUSES[1:])
# What no file has the bytes of, and no run the seconds.
LARGEST = 2**63


@dataclass(frozen=True)
class Outcome:
    """What became of one source.

    Parameters
    ----------
    status : str
        "converted"; "single" (there was nothing to undo, and nothing was written); "skipped" (it was done before,
        or a file found in a folder is not a Keras file); "refused" (the file was read, and `reason` says why it is
        not converted); "failed" (it could not be read or written, or its process crashed or went over a limit).
        Of a survey "parallel" in place of "converted".
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
    template : str
        Name of the clean model ("" where the file does not tell).
    replicas, layers, parameters : int
        Of the wrapper, and of the clean model; 0 where there is none, or nothing could be read.
    optimizer : str
        Its class ("" where the file holds none).
    non_finite : int
        Number of arrays that hold NaN or Inf.
    opens_in : str
        In which Keras the clean file opens.
    picture : str
        SVG, for an HTML report; never in JSON.
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
    template: str = ""
    replicas: int = 0
    layers: int = 0
    parameters: int = 0
    optimizer: str = ""
    non_finite: int = 0
    opens_in: str = ""
    picture: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the source is converted or needs no conversion."""
        return self.status not in (REFUSED, FAILED)

    def to_json(self) -> Dict[str, Any]:
        """The outcome as JSON has it."""
        value = dict(asdict(self), versions=dict(self.versions), warnings=list(self.warnings))
        del value["picture"]
        return value

    def __str__(self) -> str:
        """One line on what became of the source, or what it is."""
        text = f"{self.status:<9} {short_path(self.source)}"
        if self.status == CONVERTED:
            sizes = f"{size_text(self.bytes_before)} -> {size_text(self.bytes_after)}"
            return shown(f"{text} -> {short_path(self.target)} ({sizes}, {self.seconds:.2f} s)")
        return shown(f"{text}: {_model_text(self) if self.status == PARALLEL else self.reason}")

    @classmethod
    def from_json(cls, value: "Json") -> "Outcome":
        """The outcome that `to_json` gave; what a later version added is left out.

        Raises
        ------
        ValueError
            It is not what `to_json` gives: a report is a file like any other.
        """
        if not isinstance(value, dict) or value.get("status") not in (PARALLEL, *STATUSES):
            raise ValueError("no outcome")
        # a picture in a report is a stranger's: it is drawn anew
        known = [item for item in fields(cls) if item.name in value and item.name != "picture"]
        return cls(**{item.name: _checked(item, value[item.name]) for item in known})


def _checked(item: "Field[Any]", value: Any) -> Any:
    """The value of a field, if it is of the field's type, which the default shows."""
    if item.name == "versions" and isinstance(value, dict):
        return tuple((name, _text(version)) for name, version in value.items())
    if item.name == "warnings" and isinstance(value, list):
        return tuple(map(_text, value))
    kind = str if item.default is MISSING else type(item.default)
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind in (int, float) and type(value) in (int, kind) and 0 <= value < LARGEST:
        return value
    raise ValueError(f"{item.name} is of another type")


def _text(value: "Json") -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def count(outcomes: Iterable[Outcome]) -> Dict[str, int]:
    """How many outcomes there are of each status, in a fixed order."""
    counts = Counter(outcome.status for outcome in outcomes)
    return {status: counts[status] for status in (SURVEYED if counts[PARALLEL] else STATUSES)}


def _model_text(outcome: Outcome) -> str:
    """The facts of a model in a few words."""
    parts = [written_by(outcome.keras_version or None)]
    if outcome.replicas:
        of = f"template {outcome.template!r}, " if outcome.template else ""
        parts.append(of + count_text(outcome.replicas, "replica"))
    if outcome.parameters:
        parts.append(count_text(outcome.parameters, "parameter"))
    if outcome.optimizer:
        parts.append(outcome.optimizer)
    if outcome.non_finite:
        parts.append(f"NaN or Inf in {count_text(outcome.non_finite, 'array')}")
    return ", ".join(parts)


def short_path(path: str) -> str:
    """A path below the current folder as the user would type it."""
    try:
        here = os.path.join(os.getcwd(), "")
    except FileNotFoundError:
        return path
    return path[len(here) :] if path.startswith(here) and "://" not in path else path
