"""How the command speaks: streams that may be full or closed, and what goes to which.

What cannot be printed is no reason to stop: the work goes on, and whoever needs to know is told by what these
functions return.
"""

import contextlib
import os
import sys
from typing import Iterable, TextIO

from ..display.text import printable
from ..errors import UnparallelError


def tell(text: str, end: str = "\n") -> bool:
    """Print a text to standard output as it is; whether it got there."""
    try:
        if sys.stdout is not None:
            print(text, end=end, file=sys.stdout, flush=True)
    except OSError as error:
        cannot_print(error)
        return False
    return True


def cannot_print(error: OSError) -> None:
    """Say, once, that standard output takes nothing; from then on it takes all, and nothing comes of it."""
    _silence(sys.stdout)
    # `unparallel model.h5 | head` closes the pipe: no reason for a word
    if not isinstance(error, BrokenPipeError):
        tell_error(f"unparallel: cannot print: {error.strerror}")


def tell_rest() -> bool:
    """Print what others have left to be printed; whether it got there."""
    return tell("", end="")


def say(lines: Iterable[str]) -> bool:
    """Print lines to standard output, made printable; whether they got there."""
    return tell("\n".join(map(printable, lines)))


def tell_error(text: str) -> None:
    """Print a line to standard error, made printable."""
    try:
        if sys.stderr is not None:
            print(printable(text), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def complain(error: UnparallelError) -> None:
    """Print an error and what to do about it."""
    tell_error(f"unparallel: {error.line}")
    if error.hint:
        tell_error(f"hint: {error.hint}")


def warn(warnings: Iterable[str]) -> None:
    """Print warnings."""
    for warning in warnings:
        tell_error(f"warning: {warning}")


def _silence(stream: TextIO) -> None:
    """Send what a stream holds, and will get, nowhere: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_streams() -> None:
    """Fill in the standard streams that are closed: the next file to be opened would get a closed one's number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)
