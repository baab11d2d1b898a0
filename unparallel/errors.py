"""Every error and warning of the package, each with what to do next.

A message names the offender (file, layer, weight); the hint is the remedy, one line.
All of them survive pickling, since a batch hands them from one process to another.
"""

from typing import Any, Optional, Tuple

LONGEST_MESSAGE = 2000


def _shortened(message: str) -> str:
    """The message without the middle of what a stranger's file made too long: names have had megabytes."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    return f"{message[: LONGEST_MESSAGE - 200]} ... {message[-200:]}"


class UnparallelError(Exception):
    """What this package raises for bad input; `hint` says what to do next.

    Parameters
    ----------
    message : str
        One line: what is wrong, and where.
    hint : str, optional
        One line: what the user can do about it.
    """

    exit_code = 1
    # whether the message begins with a file's name
    placed = False

    def __init__(self, message: str = "", hint: str = "") -> None:
        message = _shortened(message)
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self.message, self.hint))

    def about(self, source: object) -> "UnparallelError":
        """The same error with the file that it is about in front of its message."""
        if self.placed or str(source) in self.message:
            return self
        placed = type(self)(f"{source}: {self.message}", self.hint)
        placed.placed = True
        return placed


class FileError(UnparallelError):
    """A file cannot be opened, read or written."""


class NotKerasError(FileError):
    """The file is not a Keras HDF5 file."""


class WriteError(FileError):
    """The target cannot be written; what was there before is there still."""


class HostileFileError(FileError):
    """The file uses an HDF5 feature that could bring in bytes of other files, or claims absurd sizes."""


class ConfigError(UnparallelError):
    """`model_config` is not a topology that this package can read."""


class WeightsError(UnparallelError):
    """The weights and the layers do not add up."""


class AmbiguousWeightsError(WeightsError):
    """The weights can be dealt out to the layers in more than one way."""


class NeedsArchitectureError(UnparallelError):
    """A weights-only file cannot be taken apart by names alone."""


class NotParallelError(UnparallelError):
    """The model is not data-parallel, or not provably so."""


class AlreadySingleError(NotParallelError):
    """The file holds a single model already: there is nothing to undo."""

    exit_code = 3


class VerificationError(UnparallelError):
    """The written file is not what it should be."""


class NonFiniteError(UnparallelError):
    """Weights hold NaN or Inf, and the user wants none such."""


class TargetExistsError(FileError):
    """The target is there already, and was not to be replaced."""


class BytecodeError(UnparallelError):
    """A marshalled code object cannot be read, or holds more than is allowed."""


class WorkerError(UnparallelError):
    """The process that worked on a file crashed, was killed, or went over a limit."""


class UnparallelWarning(UserWarning):
    """Something that the user should know, and that did not stop the work."""

    def __init__(self, message: str = "", hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.hint = hint
