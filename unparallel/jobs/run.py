"""Many files: each an outcome, none a reason to stop.

`convert_many` hands one job a file to an executor: threads here, or whatever the caller has (processes, a cluster).
Wherever a job arrives, `run_job` has it done in that thread's own worker process, with limits, so one road leads
through one job, eight jobs and a cluster, and a file that crashes the HDF5 library costs that file.
A job finds out for itself whether it was done before: from the last run's report, or by comparing the target.
"""

import concurrent.futures as futures
import contextlib
import math
import os
import secrets
import tempfile
import time
from dataclasses import replace
from importlib import import_module
from typing import Any, Dict, Generator, Iterable, Iterator, NamedTuple, Optional, Sequence, Union

from .. import atomic
from ..errors import FileError, UnparallelError, WorkerError, unreadable
from ..options import ConvertOptions, StrPath, absolute_path, path_text, takes_options
from . import remote, sources, worker
from .failure import failure, first_line
from .job import TIMEOUT, Job
from .outcome import FAILED, Outcome
from .report import BATCH, SURVEY, Report
from .sources import SourceFile

# By name: the process that hands out the jobs has no use for h5py, networkx and all that stands on them.
CONVERT_ONE = "unparallel.jobs.one:convert_one"
# How the names of targets end; "" keeps the source's own.
ENDINGS = {"h5": "", "keras": ".keras"}


@takes_options
def convert_many(
    sources: Union[StrPath, Iterable[StrPath]],
    target: StrPath,
    *,
    executor: Optional[futures.Executor] = None,
    jobs: int = 1,
    timeout: Optional[float] = TIMEOUT,
    memory: Optional[int] = None,
    overwrite: bool = False,
    report: Optional[StrPath] = None,
    to: str = "h5",
    copy_singles: bool = False,
    **options: Any,
) -> Generator[Outcome, None, None]:
    """Convert many files, each on its own; one that cannot be converted stops nothing.

    Parameters
    ----------
    sources : path, or iterable of path
        Files, folders (every Keras HDF5 file below), patterns, fsspec URLs.
    target : path
        A folder or URL, made if need be; the layout below folders and wildcards is kept.
    executor : concurrent.futures.Executor, optional
        What runs the jobs: a pool of threads or processes, dask's `Client.get_executor()`.  The caller closes it.
    jobs : int
        Number of files at a time, without an executor.
    timeout : float, optional
        Seconds for one file; None for no limit.
    memory : int, optional
        Bytes for one file; a fair share of the machine's by default.
    overwrite : bool
        Convert again what is done, and replace whatever has a target's name.
    report : path, optional
        A JSON file, or a page by the ending .html: what happened, kept up to date, and what the next run skips by.
    to : str
        "h5", or "keras" for archives of Keras 3.
    copy_singles : bool
        Copy what is a single model already, so that the target's folder is complete.
    **options
        The fields of `ConvertOptions`, as for `convert`.

    Yields
    ------
    Outcome
        One for each source, as they are done.  Closing the generator stops the run.

    Raises
    ------
    UnparallelError
        The target is no folder, or the architecture or the old report cannot be read.  Sources raise nothing:
        what is wrong with them is in their outcomes.

    Examples
    --------
    >>> import unparallel
    >>> for outcome in unparallel.convert_many("runs", "clean", jobs=4):     # doctest: +SKIP
    ...     print(outcome.status, outcome.source, outcome.reason)
    """
    settings = Settings(executor, jobs, timeout, memory, overwrite, report, to, copy_singles)
    return Batch(sources, target, ConvertOptions(**options), settings).run()


def inspect_many(
    sources: Union[StrPath, Iterable[StrPath]],
    *,
    executor: Optional[futures.Executor] = None,
    jobs: int = 1,
    timeout: Optional[float] = TIMEOUT,
    memory: Optional[int] = None,
    report: Optional[StrPath] = None,
    **options: Any,
) -> Generator[Outcome, None, None]:
    """Say what many files are, each on its own and in a process of its own; nothing is written but the report.

    Parameters
    ----------
    sources, executor, jobs, timeout, memory, report
        As for `convert_many`.
    **options
        `architecture`, `trust_slices`, `scan`, `by_names`, as for `inspect`.

    Yields
    ------
    Outcome
        One for each source; "parallel" is what `convert_many` would convert.

    Examples
    --------
    >>> import unparallel
    >>> print(unparallel.Outcomes(unparallel.inspect_many("runs", jobs=4)))     # doctest: +SKIP
    """
    settings = Settings(executor, jobs, timeout, memory, report=report)
    return Batch(sources, None, ConvertOptions(**options), settings).run()


class Settings(NamedTuple):
    """How a batch is run: the keywords of `convert_many`, which tells what they are."""

    executor: Optional[futures.Executor] = None
    jobs: int = 1
    timeout: Optional[float] = TIMEOUT
    memory: Optional[int] = None
    overwrite: bool = False
    report: Optional[StrPath] = None
    to: str = "h5"
    copy_singles: bool = False

    def check(self) -> None:
        """Raise a `ValueError` for what no batch can be run with."""
        if self.to not in ENDINGS:
            raise ValueError(f"to must be one of {', '.join(ENDINGS)}")
        if self.jobs < 1:
            raise ValueError("jobs must be 1 or more")
        if self.timeout is not None and not (self.timeout > 0 and math.isfinite(self.timeout)):
            raise ValueError("timeout must be more than 0 seconds")
        if self.memory is not None and self.memory <= 0:
            raise ValueError("memory must be more than 0 bytes")


class Batch:
    """A run that is prepared: its jobs are known, nothing is written.

    Parameters
    ----------
    named : path, or iterable of path
        The sources, as for `convert_many`.
    target : path, optional
        None for a survey: the sources are looked at, and nothing is written.
    options : ConvertOptions
    settings : Settings
    listed : sequence of str
        More sources, whose paths are kept below the target as they stand.
    exact : bool
        `target` is not a folder but the name for the only source's result.
    """

    def __init__(
        self,
        named: Union[StrPath, Iterable[StrPath]],
        target: Optional[StrPath],
        options: ConvertOptions,
        settings: Settings,
        listed: Sequence[str] = (),
        exact: bool = False,
    ) -> None:
        settings.check()
        survey = target is None
        root = path_text(target) if target is not None else ""
        root = root if survey or remote.is_url(root) else absolute_path(root)
        if not exact and os.path.exists(root) and not os.path.isdir(root):
            raise FileError("is a file", "more than one file needs a folder as target", root)
        self.executor = settings.executor
        self.width = settings.jobs
        self.root = os.path.dirname(root) if exact else root
        report = None if settings.report is None else path_text(settings.report)
        self.report = Report(report, SURVEY if survey else BATCH)
        options = _with_architecture(options)
        found = sources.find([named] if isinstance(named, (str, os.PathLike)) else named, listed, root)
        places = [root] if exact and len(found) == 1 else sources.targets(found, root, ENDINGS[settings.to])
        places = [""] * len(found) if survey else places
        common = Job(
            source="",
            target="",
            named=True,
            options=options,
            options_digest=options.digest() + ENDINGS[settings.to],
            overwrite=settings.overwrite,
            timeout=settings.timeout,
            memory=settings.memory,
            parts=settings.jobs if settings.executor is None else os.cpu_count() or 1,
            run=secrets.token_hex(8),
            survey=survey,
            draw=self.report.is_page,
            copy_singles=settings.copy_singles,
        )
        self.problems = [_problem(item) for item in found if item.reason]
        self.jobs = [
            replace(
                common,
                source=item.source,
                target=place,
                named=item.named,
                previous=self.report.earlier.get(item.source),
            )
            for item, place in zip(found, places)
            if not item.reason
        ]
        self.run_name = common.run

    @property
    def total(self) -> int:
        """How many outcomes there will be."""
        return len(self.jobs) + len(self.problems)

    def run(self) -> Generator[Outcome, None, None]:
        """Do the jobs; yield each outcome when it is known."""
        self.report.begin([item.source for item in self.problems] + [job.source for job in self.jobs])
        if self.root:
            _make_folder(self.root)
        finished = False
        try:
            for outcome in self._outcomes():
                self.report.add(outcome)
                yield outcome
            finished = True
        finally:
            self._sweep()
            self.report.close(finished)

    def _outcomes(self) -> Iterator[Outcome]:
        self._sweep()
        yield from self.problems
        executor = self.executor or futures.ThreadPoolExecutor(self.width)
        waiting: Dict[futures.Future[Outcome], Job] = {}
        try:
            for job in self.jobs:
                waiting[executor.submit(run_job, job)] = job
            for future in futures.as_completed(waiting):
                yield _result(future, waiting[future])
        finally:
            self._stop(executor, waiting)

    def _stop(self, executor: futures.Executor, waiting: "Iterable[futures.Future[Outcome]]") -> None:
        """End what is still going on, at once; what is done already is not touched."""
        for future in waiting:
            future.cancel()
        worker.stop(self.run_name)
        if self.executor is None:
            # a thread may have been about to begin with its next file
            while not all(future.done() for future in waiting):
                worker.stop(self.run_name)
                futures.wait(waiting, timeout=worker.POLL_SECONDS)
            executor.shutdown()

    def _sweep(self) -> None:
        """Remove what killed processes left beside the targets."""
        folders = {os.path.dirname(job.target) for job in self.jobs if job.target and not remote.is_url(job.target)}
        if self.report.path is not None:
            folders.add(os.path.dirname(self.report.path))
        atomic.remove_leftovers(sorted(folders) + [tempfile.gettempdir()])


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[futures.Executor]:
    """An executor on the dask cluster whose scheduler has that address.

    A job raises nothing, so nothing is to be tried again; the jobs of a worker that is lost are, by the scheduler.

    Raises
    ------
    UnparallelError
        dask.distributed is not installed, or nobody answers.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise UnparallelError("--dask needs dask.distributed", "pip install 'unparallel-keras[dask]'") from error
    try:
        client = distributed.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:  # its TimeoutError is one of these
        raise UnparallelError(f"no dask scheduler answers: {error}", "check the address", address) from error
    try:
        yield client.get_executor(pure=False, retries=0)
    finally:
        client.close()


# -- preparing


def _with_architecture(options: ConvertOptions) -> ConvertOptions:
    """The options with the architecture read, once: that it cannot be read is one error, and not one for each file."""
    if options.architecture is None:
        return options
    from ..architecture import with_architecture

    return with_architecture(options)


def _make_folder(root: str) -> None:
    """Make the targets' folder: that it cannot be made is one error, and not one for each file."""
    if remote.is_url(root):
        return
    try:
        os.makedirs(root, exist_ok=True)
    except OSError as error:
        raise unreadable(error, "choose another folder").about(root) from error


def _problem(found: SourceFile) -> Outcome:
    return Outcome(FAILED, found.source, "", found.reason, found.hint)


def _result(future: "futures.Future[Outcome]", job: Job) -> Outcome:
    """The outcome of a job, or of the executor's failure to do it."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001  each executor has errors of its own for a worker that is lost
        reason = f"the executor lost it: {type(error).__name__}: {first_line(error)}"
        return Outcome(FAILED, job.source, "", reason, "run it again: what is done is skipped")


# -- in the executor


def run_job(job: Job) -> Outcome:
    """Do one job in this thread's worker process; called by an executor, anywhere.

    Returns
    -------
    Outcome
        "failed" where the process crashed or went over a limit.
    """
    start = time.monotonic()
    memory = job.memory if job.memory is not None else worker.fair_share(job.parts)
    job = replace(job, memory=memory)
    try:
        return worker.isolated(CONVERT_ONE, job, timeout=job.timeout, memory=memory, run=job.run)
    except WorkerError as error:
        _clean_up_after(job)
        outcome = failure(job, error)
    return replace(outcome, seconds=time.monotonic() - start, options_digest=job.options_digest)


def _clean_up_after(job: Job) -> None:
    folders = [tempfile.gettempdir()]
    if job.target and not remote.is_url(job.target):
        folders.append(os.path.dirname(job.target))
    atomic.remove_leftovers(folders)
