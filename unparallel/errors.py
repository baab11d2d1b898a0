"""Every error and warning of the package, each with what to do next.

A message names the offender (file, layer, weight); the hint is the remedy, one line.
All of them survive pickling, since a batch hands them from one process to another.
"""

import contextlib
import errno
import os
from typing import Any, Iterator, Optional, Tuple

LONGEST_MESSAGE = 2000


def _shortened(message: str) -> str:
    """The message without the middle of what a stranger's file made too long: names have had megabytes."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    return f"{message[: LONGEST_MESSAGE - 200]} ... {message[-200:]}"


class UnparallelError(Exception):
    """What this package raises for bad input; `str()` gives `path: message`, and the hint on a line of its own.

    Parameters
    ----------
    message : str
        One line: what is wrong.
    hint : str, optional
        One line: what the user can do about it.
    path : str, optional
        The file that it is about, as the user named it; "" where it is about none, or about one that the caller knows.
    """

    exit_code = 1

    def __init__(self, message: str = "", hint: str = "", path: str = "") -> None:
        message = _shortened(message)
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path

    @property
    def line(self) -> str:
        """What is wrong, in one line, and with which file."""
        return f"{self.path}: {self.message}" if self.path else self.message

    def __str__(self) -> str:
        return f"{self.line}\nhint: {self.hint}" if self.hint else self.line

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self.message, self.hint, self.path))

    def about(self, path: str) -> "UnparallelError":
        """The same error, which is about that file unless it is about another one already."""
        self.path = self.path or path
        return self


class FileError(UnparallelError):
    """A file cannot be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no file of that name."""

    errno = errno.ENOENT


class AccessDeniedError(FileError, PermissionError):
    """The system's permissions forbid it."""

    errno = errno.EACCES


class NotKerasError(FileError):
    """The file is not a Keras HDF5 file."""


class WriteError(FileError):
    """The target cannot be written; what was there before is there still."""


class WriteDeniedError(WriteError, AccessDeniedError):
    """The system's permissions forbid to write the target."""


class MissingFolderError(WriteError, FileNotFoundError):
    """The folder of the target does not exist."""

    errno = errno.ENOENT


class HostileFileError(FileError):
    """The file uses an HDF5 feature that could bring in bytes of other files, or claims absurd sizes."""


class ConfigError(UnparallelError):
    """`model_config` is not a topology that this package can read."""


class WeightsError(UnparallelError):
    """The weights and the layers do not add up."""


class AmbiguousWeightsError(WeightsError):
    """More than one assignment of the weights to the layers fits."""


class NeedsArchitectureError(UnparallelError):
    """A weights-only file cannot be taken apart by names alone."""


class NotParallelError(UnparallelError):
    """The model is not data-parallel, or not provably so."""


class AlreadySingleError(NotParallelError):
    """The file holds a single model already: there is nothing to undo."""

    exit_code = 3


class Keras3Error(UnparallelError):
    """Keras 3 cannot express what the file holds; the message names layer, class and argument."""


class VerificationError(UnparallelError):
    """The written file is not what it should be."""


class NonFiniteError(UnparallelError):
    """Weights hold NaN or Inf, and the user wants none such."""


class TargetExistsError(FileError, FileExistsError):
    """The target is there already, and was not to be replaced."""

    errno = errno.EEXIST


class BytecodeError(UnparallelError):
    """A marshalled code object cannot be read, or holds more than is allowed."""


class WorkerError(UnparallelError):
    """The process that worked on a file crashed, was killed, or went over a limit."""


class UnparallelWarning(UserWarning):
    """Something that the user should know, and that did not stop the work."""

    def __init__(self, message: str = "", hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.hint = hint


@contextlib.contextmanager
def about(path: str) -> Iterator[None]:
    """Tell the errors that pass which file they are about; what a stranger's file ran into is one of ours."""
    try:
        yield
    except UnparallelError as error:
        error.about(path)
        raise
    except RecursionError as error:
        raise UnparallelError("the config is nested too deeply", "do not trust this file", path) from error
    except MemoryError as error:
        raise UnparallelError("needs more memory than there is", "do not trust this file", path) from error


def unreadable(error: BaseException, hint: str = "check the path and its permissions") -> FileError:
    """The error for a path that the system does not open (a `ValueError`: it holds a NUL)."""
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return MissingFileError(os.strerror(number), hint)
    if number in (errno.EACCES, errno.EPERM):
        return AccessDeniedError(os.strerror(number), hint)
    return FileError(os.strerror(number) if number else str(error), hint)
