"""The command for many files: its arguments, progress, last table and exit codes; `batch` does the work."""

import argparse
import contextlib
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence

from ..errors import UnparallelError
from ..options import ConvertOptions
from .text import complain, say, tell, tell_error

# `unparallel --help` and a file by itself need not wait for what only many files need
if TYPE_CHECKING:
    from ..jobs.outcome import Outcome
    from ..jobs.run import Batch
from .signals import Signals, Stopped

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
FILE_SUFFIXES = (".h5", ".hdf5", ".hdf")


def run(options: argparse.Namespace) -> int:
    """Convert what the options name.

    Returns
    -------
    int
        0 all done, 1 something failed or was refused, 2 usage, 128 + N stopped by signal N.
    """
    outcomes: List[Outcome] = []
    total = 0
    try:
        with Signals(), contextlib.ExitStack() as stack:
            batch = _prepared(options, stack)
            total = batch.total
            work = stack.enter_context(contextlib.closing(batch.run()))
            show = stack.enter_context(_progress(options, total))
            for outcome in work:
                outcomes.append(outcome)
                show(outcome)
    except Stopped as stop:
        _say_stopped(outcomes, total)
        return stop.exit_code
    except UnparallelError as error:
        complain(error)
        return error.exit_code
    _print_end(options, batch, outcomes)
    bad = _is_bad if options.output is not None else _is_unreadable
    return 1 if any(bad(outcome, options.strict) for outcome in outcomes) else 0


def is_wanted(options: argparse.Namespace) -> bool:
    """Whether the options are for many files; one file keeps to its own road."""
    flags = (options.files_from, options.jobs, options.timeout, options.memory, options.report, options.dask)
    if len(options.sources) != 1 or options.copy_singles or any(flag is not None for flag in flags):
        return True
    (only,) = options.sources
    if options.to is not None and options.output is not None:
        return not (_is_one(only) and options.output.lower().endswith("." + options.to))
    if "://" in only or "://" in (options.output or ""):
        return True
    if os.path.isdir(only):
        # a checkpoint's folder is meant by itself where a file is to come of it, or nothing
        aimed = options.output is None or options.output.lower().endswith((*FILE_SUFFIXES, ".keras"))
        return not (aimed and _is_one(only)) and not _is_saved_model(only)
    return any(char in only for char in "*?[") and not os.path.lexists(only)


def _is_one(source: str) -> bool:
    """Whether a local path is one file, or a checkpoint or SavedModel by whatever names it."""
    from .. import tensorflow

    return os.path.isfile(source) or tensorflow.is_tensorflow(source)


def _is_saved_model(folder: str) -> bool:
    from .. import tensorflow

    return tensorflow.is_saved_model(folder)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for many files."""
    group = parser.add_argument_group(
        "many files", "several sources, patterns and folders; TARGET is a folder; without -o, a survey"
    )
    group.add_argument("--files-from", metavar="LIST", help="more sources, one a line (- for standard input)")
    group.add_argument("-j", "--jobs", metavar="N", type=_positive, help="files at a time (1)")
    group.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="the longest that a file may take (3600)")
    group.add_argument(
        "--memory", metavar="SIZE", type=_bytes, help="the most memory a file may take, such as 4G (a fair share)"
    )
    group.add_argument(
        "--report",
        metavar="FILE",
        help="write what became of each file, as JSON, or as a page (.html); the next run reads it",
    )
    group.add_argument("--to", choices=["h5", "keras"], help="what to write (h5); keras is for Keras 3")
    group.add_argument(
        "--copy-singles", action="store_true", help="copy single models too, so that the folder is complete"
    )
    group.add_argument("--dask", metavar="ADDRESS", help="run on the dask cluster with that scheduler")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0 seconds")
    return number


def _bytes(text: str) -> int:
    import re

    found = re.fullmatch(r"([0-9.]+) *([kmgt]?i?)b?", text.strip().lower())
    try:
        size = float(found.group(1)) * UNITS[found.group(2)] if found else 0.0
    except (ValueError, KeyError):
        size = 0.0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 500M or 4G")
    return int(size)


def _prepared(options: argparse.Namespace, stack: contextlib.ExitStack) -> "Batch":
    """The batch that the options describe; what it needs is closed with the stack."""
    from ..jobs import run, sources
    from ..jobs.job import TIMEOUT

    listed = sources.read_list(options.files_from) if options.files_from is not None else []
    executor = stack.enter_context(run.dask_executor(options.dask)) if options.dask is not None else None
    settings = run.Settings(
        executor,
        options.jobs or 1,
        options.timeout or TIMEOUT,
        options.memory,
        options.overwrite,
        options.report,
        options.to or "h5",
        options.copy_singles,
    )
    full = ConvertOptions.of(vars(options))
    return run.Batch(options.sources, options.output, full, settings, listed, _is_exact(options))


def _is_exact(options: argparse.Namespace) -> bool:
    """Whether the target is the name for one URL's result (or one URL the target), as for a single local file."""
    if len(options.sources) != 1 or options.files_from is not None:
        return False
    urls = [name for name in (options.sources[0], options.output or "") if "://" in name]
    return bool(urls) and (options.output or "").lower().endswith((*FILE_SUFFIXES, ".keras"))


@contextlib.contextmanager
def _progress(options: argparse.Namespace, total: int) -> "Iterator[Callable[[Outcome], None]]":
    """A function that shows an outcome: in a bar on a terminal, else as a line; not at all with -q or --json."""
    bar = None if options.quiet or options.json else _bar(total)
    if bar is None:
        done: List[Outcome] = []

        def line(outcome: "Outcome") -> None:
            done.append(outcome)
            if not options.quiet and not options.json:
                say([f"[{len(done)}/{total}] {outcome}"])

        yield line
        return
    troubles: List[Outcome] = []

    def step(outcome: "Outcome") -> None:
        if not outcome.succeeded:
            troubles.append(outcome)
            bar.set_postfix_str(f"{len(troubles)} not converted", refresh=False)
        bar.update()

    with contextlib.closing(bar):
        yield step


def _bar(total: int) -> Optional[Any]:
    """A progress bar; None where nobody would see it, or tqdm is not installed."""
    if not sys.stderr.isatty():
        return None
    try:
        tqdm = import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(total=total, unit="file", dynamic_ncols=True, file=sys.stderr)


def _print_end(options: argparse.Namespace, batch: "Batch", outcomes: "Sequence[Outcome]") -> None:
    import json

    from ..jobs.table import attention_lines, summary_lines

    if options.json:
        tell(json.dumps(batch.report.to_json(), indent=1))
    elif options.quiet:
        for line in attention_lines(outcomes):
            tell_error(line)
    else:
        say(["", *summary_lines(outcomes)])


def _say_stopped(outcomes: "Sequence[Outcome]", total: int) -> None:
    from ..jobs.outcome import count

    counts: Dict[str, int] = count(outcomes)
    facts = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    facts = f" ({facts})" if facts else ""
    tell_error(f"stopped: {len(outcomes)} of {total} files are done{facts}")
    tell_error("hint: run the same command again to continue")


def _is_bad(outcome: "Outcome", strict: bool) -> bool:
    return not outcome.succeeded or (strict and bool(outcome.warnings))


def _is_unreadable(outcome: "Outcome", strict: bool) -> bool:
    """What makes a survey fail: a verdict is no failure."""
    return outcome.status == "failed" or (strict and bool(outcome.non_finite))
