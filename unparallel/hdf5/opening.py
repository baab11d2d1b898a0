"""Opening a file that may be damaged, locked, hostile or something else than HDF5."""

import contextlib
import errno
import os
import re
from typing import Callable, Dict, Iterator, List, Optional, Tuple

import h5py

from ..errors import FileError, UnparallelError, unreadable
from .errors import HDF5_ERRORS, damaged, error_number, reading
from .kinds import File
from .signature import check_signature
from .source import Source, as_text, limit_cache


@contextlib.contextmanager
def open_source(path: str, archived: bool = False) -> Iterator[Source]:
    """Open a file for reading and check everything in it.

    Parameters
    ----------
    path : str
    archived : bool
        Whether it may stand in a zip archive, uncompressed, as the weights of a `.keras` file that we wrote do.

    Raises
    ------
    FileError
        It is missing, unreadable, truncated, locked or damaged, or it was changed meanwhile.
    NotKerasError
        It is something else than HDF5; the message says what.
    HostileFileError
        It uses links, references, external or virtual storage, foreign filters or absurd shapes.
    """
    before = _stamp(path)
    check_signature(path, archived)
    handle = _open_for_reading(path)
    try:
        with reading():
            limit_cache(handle)
        yield Source(path, handle)
        _check_unchanged(path, before)
    except UnparallelError as error:
        # half-written files look damaged: say what is the matter
        _check_unchanged(path, before, error)
        raise
    finally:
        handle.close()


def _stamp(path: str) -> Tuple[int, ...]:
    """What changes when a file does."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError) as error:
        raise unreadable(error) from error
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _check_unchanged(path: str, before: Tuple[int, ...], error: Optional[UnparallelError] = None) -> None:
    if os.path.exists(path) and _stamp(path) == before:
        return
    raise FileError(
        "the file was changed while it was read", "wait until the program that writes it is done, and try again"
    ) from error


# Network file systems without locks: what Linux, macOS and NFS clients answer there.
_NO_LOCKS = frozenset((errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, 524))
_LOCKING = "HDF5_USE_FILE_LOCKING"


def _open_for_reading(path: str) -> File:
    try:
        return _opened(path)
    except HDF5_ERRORS as error:
        raise _opening_error(error) from error


def _opened(path: str) -> File:
    """The open file; without HDF5's lock where the file system knows none."""
    open_file: Callable[..., File] = h5py.File
    options = {"rdcc_nbytes": 0}  # no cache of unpacked chunks, since each is read once, and whole
    try:
        return open_file(path, "r", **options)
    except OSError as error:
        if not _speaks_of_locks(str(error)) or error_number(error) not in _NO_LOCKS:
            raise
    try:
        return open_file(path, "r", locking=False, **options)
    except TypeError:  # h5py before 3.5, whose HDF5 looks at the environment each time
        before = os.environ.get(_LOCKING)
        os.environ[_LOCKING] = "FALSE"
        try:
            return open_file(path, "r", **options)
        finally:
            del os.environ[_LOCKING]
            if before is not None:
                os.environ[_LOCKING] = before


def _speaks_of_locks(text: str) -> bool:
    """Whether an error of HDF5's is about locks; one about the superblock is not."""
    return re.search(r"\block", text) is not None


def _opening_error(error: BaseException) -> FileError:
    text = str(error)
    number = error_number(error)
    if "truncated" in text:
        return FileError("the file is truncated", "copy it again: its end is missing")
    if _speaks_of_locks(text):
        return FileError(
            "another process has the file open for writing (%s)" % (os.strerror(number) if number else text),
            f"wait until it is written; on a network disk without locks, set {_LOCKING}=FALSE",
        )
    if "already open for write" in text:
        return FileError(
            "another process is writing the file, or crashed while it was",
            "wait until it is written; after a crash, h5clear -s FILE makes it readable",
        )
    return unreadable(OSError(number, "")) if number else damaged(error)


def root_names(path: str) -> List[str]:
    """Names of the root's attributes and members: enough to tell whether a file is one of Keras.

    What lies below is not looked at, so what `open_source` refuses may be asked too.

    Raises
    ------
    NotKerasError
        It is not an HDF5 file, or a pipe or a device, which to open could wait for ever.
    """
    check_signature(path)
    handle = _open_for_reading(path)
    try:
        return [as_text(name) for name in handle.attrs] + [as_text(name) for name in handle]
    finally:
        handle.close()


def library_versions() -> Dict[str, str]:
    """Versions of h5py and of the HDF5 library."""
    return {"h5py": str(h5py.version.version), "hdf5": str(h5py.version.hdf5_version)}
