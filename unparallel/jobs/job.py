"""One file of a batch as plain data, and the decision what is to be done with it.  Touches no file."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from ..options import ConvertOptions
from .outcome import SINGLE, Outcome

# An unattended run must end: a file that takes longer than this hangs.
TIMEOUT = 3600.0


@dataclass(frozen=True)
class Job:
    """One file to convert: all that a worker anywhere needs to know.

    Parameters
    ----------
    source, target : str
        Absolute paths or URLs.
    named : bool
        Whether the user named the source; what was found in a folder need not be a Keras file.
    options : ConvertOptions
    options_digest : str
        Stands for those of the options that decide what is written.
    overwrite : bool
    previous : Outcome, optional
        What the last run's report says of this source.
    timeout : float, optional
        Seconds.
    memory : int, optional
        Bytes; None for a fair share of the machine's where `parts` jobs run at a time.
    parts : int
    run : str
        Tells the jobs of this run from others.
    survey : bool
        Look only, and write nothing; `target` is "" then.
    draw : bool
        Whether the outcome is to hold a picture.
    copy_singles : bool
        Whether a single model is copied to its target.
    """

    source: str
    target: str
    named: bool
    options: ConvertOptions
    options_digest: str
    overwrite: bool = False
    previous: Optional[Outcome] = None
    timeout: Optional[float] = TIMEOUT
    memory: Optional[int] = None
    parts: int = 1
    run: str = ""
    survey: bool = False
    draw: bool = False
    copy_singles: bool = False


@dataclass(frozen=True)
class Facts:
    """What is there when a job begins.

    Parameters
    ----------
    source, target : str
        Fingerprints of the two files; "" where there is none, or nothing tells.
    target_exists : bool
        Whether a file that is not the source itself has the target's name.
    """

    source: str
    target: str
    target_exists: bool


class Decision(Enum):
    """What is to be done with a source."""

    SKIP = "it was done before, and nothing has changed since"
    CONVERT = "convert it, and replace nothing"
    REPLACE = "convert it, and replace what has the target's name"
    COMPARE = "compare the file that has the target's name with what the source gives"


def decide(job: Job, facts: Facts) -> Decision:
    """What is to be done, by the last run's report and by what is there."""
    if not job.overwrite and _is_done(job, facts):
        return Decision.SKIP
    if job.overwrite or _is_ours(job, facts):
        return Decision.REPLACE
    return Decision.COMPARE if facts.target_exists else Decision.CONVERT


def _is_done(job: Job, facts: Facts) -> bool:
    """Whether neither the files nor the options are others since the source was done."""
    before = job.previous
    if before is None or not before.succeeded or before.options_digest != job.options_digest:
        return False
    if not facts.source or before.source_fingerprint != facts.source:
        return False
    if before.status == SINGLE and not job.copy_singles:
        return True
    if not before.target:  # found in a folder, and not a Keras file
        return not job.named
    return _is_ours(job, facts) and (before.verified or not job.options.verify)


def _is_ours(job: Job, facts: Facts) -> bool:
    """Whether the target is, untouched, what an earlier run wrote there, and so may be replaced."""
    before = job.previous
    if before is None or before.target != job.target:
        return False
    return bool(facts.target) and before.target_fingerprint == facts.target
