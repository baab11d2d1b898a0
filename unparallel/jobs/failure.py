"""An error as an outcome: what of it is the file's fault, and what is said of it."""

import os
from typing import Optional

from .. import tensorflow
from ..errors import (
    FileError,
    HostileFileError,
    NotKerasError,
    TargetExistsError,
    UnparallelError,
    VerificationError,
    WorkerError,
)
from . import remote, worker
from .job import Job
from .outcome import FAILED, REFUSED, Outcome


def failure(job: Job, error: UnparallelError) -> Outcome:
    """The outcome for an error: "refused" where the file was read and judged, else "failed"."""
    if _lacked_memory(error):
        error = WorkerError(*worker.too_much(job.memory or 0))
    could_not = isinstance(error, (FileError, VerificationError, WorkerError))
    judged = isinstance(error, (NotKerasError, HostileFileError, TargetExistsError))
    return Outcome(
        FAILED if could_not and not judged else REFUSED,
        job.source,
        "",
        _reason(job, error),
        error.hint,
        bytes_before=0 if remote.is_url(job.source) else size_of(job.source),
    )


def _lacked_memory(error: BaseException) -> bool:
    """Whether an allocation failed below: HDF5 says so in words only."""
    step: Optional[BaseException] = error
    while step is not None:
        if isinstance(step, MemoryError) or "memory allocation failed" in str(step):
            return True
        step = step.__cause__ or step.__context__
    return False


def _reason(job: Job, error: UnparallelError) -> str:
    """The message, without the source's name, which the outcome has already."""
    return error.message if error.path in ("", job.source) else error.line


def first_line(error: BaseException) -> str:
    """The first line of what a library says."""
    return (str(error).splitlines() or [""])[0]


def size_of(path: str) -> int:
    """Bytes of a source, all files of a checkpoint together; 0 where it cannot be told."""
    try:
        return sum(os.path.getsize(name) for name in tensorflow.files(path))
    except OSError:
        return 0
