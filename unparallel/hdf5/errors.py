"""What h5py raises for damaged files, over its versions, and what is said of it."""

import os
import re
from typing import Optional

from ..errors import FileError, UnparallelError

# What h5py raises for damaged files, over its versions.
HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, SystemError)
HOSTILE = "Keras never writes those; do not trust this file"
FOREIGN = "its bytes lie in other files; do not trust this file"


class reading:  # noqa: N801  a function to whoever uses it; a generator would take longer than much of what is read
    """Turn what h5py raises for damaged files into errors of ours."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> None:
        if isinstance(error, HDF5_ERRORS) and not isinstance(error, UnparallelError):
            raise damaged(error) from error


def damaged(error: BaseException) -> FileError:
    """The error of ours for one that h5py raised while reading."""
    number = error_number(error)
    if number:
        return FileError(f"cannot be read: {os.strerror(number)}", "the disk or the network may be failing")
    return FileError(f"damaged HDF5: {first_line(error)}", "get a fresh copy of the file")


def error_number(error: BaseException) -> int:
    """The system's error number, which HDF5 hides in its message; 0 where there is none."""
    found = re.search(r"errno = (\d+)", str(error))
    return int(found.group(1)) if found else getattr(error, "errno", None) or 0


def first_line(error: BaseException) -> str:
    """The first line of what h5py says."""
    text = str(error.args[0]) if error.args and isinstance(error, KeyError) else str(error)  # a KeyError quotes itself
    return (text.splitlines() or [type(error).__name__])[0]
