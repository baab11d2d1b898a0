"""One job from end to end, in a worker process: what is there, what is to be done, and the outcome.

Everything that opens files is imported here, once a worker, and not by the process that hands out the jobs.
"""

import contextlib
import filecmp
import os
import platform
import shutil
import time
from dataclasses import replace
from typing import Iterator, List, Tuple

import networkx

from .. import atomic, conversion, hdf5, tensorflow, verify
from .._version import __version__
from ..errors import (
    AlreadySingleError,
    FileError,
    HostileFileError,
    NotKerasError,
    NotParallelError,
    TargetExistsError,
    UnparallelError,
    VerificationError,
    WorkerError,
)
from ..results import Conversion, Inspection
from . import remote, worker
from .failure import failure, first_line, size_of
from .job import Decision, Facts, Job, decide
from .outcome import CONVERTED, FAILED, SINGLE, SKIPPED, Outcome


def convert_one(job: Job) -> Outcome:
    """Convert one file, if it is not done.

    Returns
    -------
    Outcome
        Whatever happens: nothing is raised.
    """
    start = time.monotonic()
    try:
        outcome = _work(job)
    except UnparallelError as error:
        outcome = failure(job, error)
    except MemoryError:
        outcome = failure(job, WorkerError(*worker.too_much(job.memory or 0)))
    except OSError as error:
        outcome = failure(job, FileError(first_line(error), "check the disk, and the file: it may be damaged"))
    except Exception as error:  # noqa: BLE001  a defect here must cost one file, not the night
        reason = f"internal error: {type(error).__name__}: {error}"
        outcome = failure(job, WorkerError(reason, verify.RETRY))
    return replace(outcome, seconds=time.monotonic() - start, versions=_versions(), options_digest=job.options_digest)


def _work(job: Job) -> Outcome:
    if job.survey:
        return _surveyed(job)
    facts = _facts(job)
    decision = decide(job, facts)
    if decision is Decision.SKIP and job.previous is not None:
        done = job.previous
        if job.draw and not remote.is_url(job.source):
            done = replace(done, picture=_picture(job, job.source))
        return replace(done, status=SKIPPED, reason="done before") if done.target else done
    with remote.fetched(job.source) as local, _by_its_name(job, local):
        try:
            outcome = _carried_out(job, decision, local)
        except AlreadySingleError as error:
            outcome = Outcome(SINGLE, job.source, "", error.message, error.hint, bytes_before=size_of(local))
            outcome = _with_facts(job, outcome, local)
            outcome = _copied(job, outcome, local, decision) if job.copy_singles else outcome
        except NotParallelError as error:
            outcome = _with_facts(job, failure(job, error), local)
        except (NotKerasError, HostileFileError) as error:
            if job.named or not _is_foreign(local, error):
                raise
            outcome = Outcome(SKIPPED, job.source, "", "not a Keras file", bytes_before=size_of(local))
    target = remote.fingerprint(job.target) if outcome.target else ""
    return replace(outcome, source_fingerprint=facts.source, target_fingerprint=target)


def _facts(job: Job) -> Facts:
    target = remote.fingerprint(job.target)
    there = bool(target) or remote.exists(job.target)
    if there and not remote.is_url(job.target):
        # what is no file, and the source itself, `convert` has words for
        there = os.path.isfile(job.target) and not _is_same(job.source, job.target)
    return Facts(remote.fingerprint(job.source), target, there)


def _is_same(source: str, target: str) -> bool:
    return not remote.is_url(source) and os.path.exists(source) and os.path.samefile(source, target)


@contextlib.contextmanager
def _by_its_name(job: Job, copy: str) -> Iterator[None]:
    """Let errors name the source and not its temporary copy."""
    try:
        yield
    except UnparallelError as error:
        if error.path == copy:
            error.path = job.source
        raise


def _carried_out(job: Job, decision: Decision, local: str) -> Outcome:
    if decision is Decision.COMPARE:
        return _compared(job, local)
    try:
        return _converted(job, local, decision is Decision.REPLACE)
    except TargetExistsError:  # another process was faster
        if decision is Decision.REPLACE:
            raise
        return _compared(job, local)


def _converted(job: Job, local: str, overwrite: bool) -> Outcome:
    with remote.delivered(job.target) as new:
        done = conversion.run(local, new, job.options, overwrite, parents=True)
    return _outcome(job, CONVERTED, done)


def _copied(job: Job, outcome: Outcome, local: str, decision: Decision) -> Outcome:
    """The outcome for a single model that is copied, since the folder is to be complete."""
    # a SavedModel's folder is left where it is, and no file gets the name of another format
    if not os.path.isfile(local) or job.target.endswith(".keras") != job.source.endswith(".keras"):
        return outcome
    with remote.delivered(job.target) as new:
        if os.path.isfile(new) and filecmp.cmp(local, new, shallow=False):
            return replace(outcome, target=job.target, bytes_after=size_of(local))
        with atomic.AtomicFile(new, decision is Decision.REPLACE, local, parents=True) as out:
            with out.open("wb") as copy, open(local, "rb") as handle:
                shutil.copyfileobj(handle, copy, 2**20)
            out.commit()
    return replace(outcome, target=job.target, bytes_after=size_of(local), reason=f"{outcome.reason}; copied")


def _compared(job: Job, local: str) -> Outcome:
    """The outcome for a target that is there: skipped where it is, byte for byte, what the source gives.

    Raises
    ------
    TargetExistsError
        It is something else.
    """
    with remote.fetched(job.target) as new:
        try:
            done = conversion.compare(local, new, job.options)
        except VerificationError as error:
            raise TargetExistsError(
                f"exists, and is not what this file gives: {error.message}",
                "--overwrite (overwrite=True) replaces it",
                job.target,
            ) from error
    return replace(_outcome(job, SKIPPED, done), reason="done before, and compared with the source now")


def _outcome(job: Job, status: str, done: Conversion) -> Outcome:
    return Outcome(
        status,
        job.source,
        job.target,
        bytes_before=done.bytes_before,
        bytes_after=done.bytes_after,
        warnings=done.warnings,
        verified=done.verified,
        keras_version=done.keras_version or "",
        template=done.template,
        replicas=max([wrapper.replicas for wrapper in done.wrappers] or [0]),
        layers=done.layers,
        parameters=done.parameters,
        optimizer=done.optimizer or "",
        non_finite=len(done.non_finite),
        opens_in=done.opens_in,
        picture=done.picture("svg", title=False) if job.draw and done.drawn is not None else "",
    )


def _surveyed(job: Job) -> Outcome:
    """What a source is, by `inspect`."""
    with remote.fetched(job.source) as local, _by_its_name(job, local):
        try:
            seen = conversion.look(local, job.options)
        except UnparallelError as error:
            if not job.named and isinstance(error, (NotKerasError, HostileFileError)) and _is_foreign(local, error):
                return Outcome(SKIPPED, job.source, "", "not a Keras file", bytes_before=size_of(local))
            return replace(failure(job, error), status=FAILED)  # what cannot be read has no verdict
    return _seen(job, Outcome(seen.verdict, job.source, "", seen.reason, seen.hint), seen)


def _seen(job: Job, outcome: Outcome, seen: Inspection) -> Outcome:
    """The outcome with the facts of an inspection."""
    return replace(
        outcome,
        bytes_before=seen.bytes_before,
        warnings=seen.warnings,
        keras_version=seen.keras_version or "",
        template=seen.template,
        replicas=max([wrapper.replicas for wrapper in seen.wrappers] or [0]),
        layers=len(seen.layers),
        parameters=seen.parameters,
        optimizer=seen.optimizer or "",
        non_finite=len(seen.non_finite),
        opens_in=seen.opens_in,
        picture=seen.picture("svg", title=False) if job.draw and seen.drawn is not None else "",
    )


def _with_facts(job: Job, outcome: Outcome, local: str) -> Outcome:
    """The outcome of a file that is left as it is, with what can be read of it without its weights."""
    try:
        seen = conversion.look(local, replace(job.options, scan=False, strict=False))
    except UnparallelError:
        return outcome  # it has been judged already
    return replace(_seen(job, outcome, seen), warnings=outcome.warnings)


def _picture(job: Job, local: str) -> str:
    """The picture for a source that is not converted again; none is no reason to fail."""
    try:
        seen = conversion.look(local, replace(job.options, scan=False, strict=False))
        return seen.picture("svg", title=False) if seen.drawn is not None else ""
    except UnparallelError:
        return ""


def _is_foreign(path: str, error: UnparallelError) -> bool:
    """Whether a file has nothing that Keras writes: other people's data, not a damaged model."""
    if tensorflow.is_tensorflow(path):
        return isinstance(error, NotKerasError)
    try:
        names = hdf5.root_names(path)
    except (UnparallelError, OSError, RuntimeError, ValueError):
        return False
    signs = ("model_config", "model_weights", "layer_names", "keras_version", "optimizer_weights")
    return not any(name.startswith(sign) for name in names for sign in signs)


def _versions() -> Tuple[Tuple[str, str], ...]:
    libraries: List[Tuple[str, str]] = [("unparallel", __version__), *hdf5.library_versions().items()]
    return (*libraries, ("networkx", str(networkx.__version__)), ("python", platform.python_version()))
