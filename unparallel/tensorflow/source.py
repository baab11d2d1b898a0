"""A checkpoint or SavedModel open for reading, as `ArraySource`: arrays by their key, read in blocks."""

from __future__ import annotations

import contextlib
import os
from typing import Iterator

import numpy as np

from ..arrays import Array, ArraySource
from ..errors import FileError, UnparallelError
from ..model import WeightRef
from .bundle import Bundle
from .places import Found, find

CHANGED = "wait until the program that writes it is done, and try again"


class Source(ArraySource):
    """An open checkpoint; use `open_source`, which makes one.

    Parameters
    ----------
    found : Found
    bundle : Bundle
    """

    def __init__(self, found: Found, bundle: Bundle) -> None:
        self.path = found.path
        self.found = found
        self.bundle = bundle
        self.arrays: dict[str, Array] = {}
        for key, entry in bundle.entries.items():
            code = np.dtype(entry.dtype).newbyteorder("<").str if entry.dtype else ""
            problem = f"is of {entry.problem}, no plain numbers" if entry.problem else ""
            self.arrays[key] = Array(entry.shape, entry.dtype, entry.size, problem, code)
        self._size = sum(os.path.getsize(name) for name in found.files)

    def array(self, path: str) -> Array | None:
        """What is known of the value at a key; None where there is none.

        Raises
        ------
        FileError
            It is of a type that no numpy array has.
        """
        found = self.arrays.get(path)
        if found is not None and found.problem:
            raise FileError(
                f"{path!r} {found.problem}", "in TensorFlow, load the model with the policy 'float32' and save it again"
            )
        return found

    def blocks(self, path: str) -> Iterator[bytes]:
        """The array's bytes in blocks; a wrong checksum shows after the last."""
        return self.bundle.blocks(path)

    def stored_size(self) -> int:
        """Bytes of all files of the checkpoint, or of the SavedModel."""
        return self._size

    def ref(self, name: str, key: str) -> WeightRef:
        """A reference to a value by its key.

        Raises
        ------
        FileError
            The checkpoint names it and does not hold it.
        """
        array = self.arrays.get(key)
        if array is None:
            raise FileError(f"damaged: {key!r} is named and is not there", "copy the whole checkpoint again")
        return WeightRef(f"{name}:0", key, array.shape, array.dtype, array.size)


@contextlib.contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open what a path names; all of its index is checked.

    Raises
    ------
    FileError
        It is missing, damaged, or changed meanwhile.
    HostileFileError
        It claims sizes that no checkpoint has.
    """
    with _system_errors():
        found = find(path)
        if found is None:
            raise FileError("neither a checkpoint nor a SavedModel", "check the path")
        before = stamp(found)
        try:
            with contextlib.closing(Bundle(found.prefix)) as bundle:
                yield Source(found, bundle)
            _check_unchanged(found, before)
        except UnparallelError as error:
            _check_unchanged(found, before, error)  # what is half-written looks damaged: say what is the matter
            raise


@contextlib.contextmanager
def _system_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(os.strerror(error.errno or 0), "check the path and its permissions") from error


def stamp(found: Found) -> tuple[tuple[str, int, int, int], ...]:
    """What changes when one of the files does."""
    facts = [(name, os.stat(name)) for name in found.files]
    return tuple((name, fact.st_ino, fact.st_size, fact.st_mtime_ns) for name, fact in facts)


def _check_unchanged(found: Found, before: object, error: UnparallelError | None = None) -> None:
    if stamp(found) != before:
        raise FileError("the checkpoint was changed while it was read", CHANGED) from error
