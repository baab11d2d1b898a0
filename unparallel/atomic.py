"""Files that appear whole or not at all: written beside their place, brought to disk, and renamed.

While a file is being written its name holds the machine and the process that writes it, so that whoever finds it can
tell whether that is over: `remove_leftovers` removes what a killed process left.  Knows no format.
"""

import contextlib
import errno
import functools
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import zlib
from types import TracebackType
from typing import IO, Any, Iterable, Iterator, Optional, Type

from .errors import (
    FileError,
    MissingFolderError,
    TargetExistsError,
    UnparallelError,
    WriteDeniedError,
    WriteError,
)
from .options import absolute_path

PARTIAL_SUFFIX = ".unparallel-part"
# .NAME.PID-HEX.unparallel-part, where the first eight digits of HEX stand for the machine
_PARTIAL = re.compile(r"\..*\.(\d+)-([0-9a-f]{8})[0-9a-f]{8}" + re.escape(PARTIAL_SUFFIX), re.DOTALL)
# Of another machine's process we cannot know; no conversion of one file goes on for longer than this.
OLD = 24 * 3600.0
# A file name has 255 bytes at most on every file system that we know, and the mark takes its part.
LONGEST_STEM = 180
# What file systems answer that know no fsync of folders.
NO_FOLDER_SYNC = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF)
# Seconds between two times that the disk is told of what came since.
PAUSE = 0.01
OVERWRITE = "--overwrite (overwrite=True) replaces it"


class AtomicFile:
    """A file that appears at its target whole, or not at all.

    `begin` gives the path to write to, which is beside the target, and `commit` puts the file in its place.  When the
    block ends without that, nothing is left of it and the target is as it was.

    Parameters
    ----------
    target : str
    overwrite : bool
        Replace a target that exists.  One that is a symbolic link stays one, and the file that it points to is
        replaced; the permissions stay as they are.
    source : str, optional
        A file that must not be the target.
    name : str, optional
        What the partial file is to be called, for a writer that looks at names: it is in a folder of its own then.
    parents : bool
        Make the target's folder, and those above it, when the file is begun.

    Attributes
    ----------
    partial : str
        Where the file is until it is committed.

    Raises
    ------
    FileError
        On entering: the target is a folder, a pipe, the source, or in a folder that does not exist.
    TargetExistsError
        On entering or in `commit`: the target is there, and is not to be replaced.

    Examples
    --------
    >>> with AtomicFile("facts.txt", overwrite=True) as out:      # doctest: +SKIP
    ...     with out.open("w", encoding="utf-8") as handle:
    ...         handle.write("whole")
    ...     out.commit()
    """

    def __init__(
        self, target: str, overwrite: bool = False, source: str = "", name: str = "", parents: bool = False
    ) -> None:
        self.target = target
        self.overwrite = overwrite
        self.source = source
        self.parents = parents
        # through a link, since a rename must not cross file systems
        self._path = os.path.realpath(target) if os.path.islink(target) else absolute_path(target)
        folder, base = os.path.split(self._path)
        self._made = os.path.join(folder, partial_name(base))
        self.partial = os.path.join(self._made, name) if name else self._made
        self._sync: Optional[Sync] = None

    def __enter__(self) -> "AtomicFile":
        check_target(self.target, self.overwrite, self.source, self.parents)
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        _remove(self._made)

    def begin(self) -> str:
        """Make what folders are needed; the path to write to, where nothing is yet.

        Raises
        ------
        WriteError
        """
        with self.writing():
            if self.parents:
                os.makedirs(os.path.dirname(self._made), exist_ok=True)
            if self.partial != self._made:
                os.mkdir(self._made)
        return self.partial

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """What the system refuses in the block is an error about the target.

        Raises
        ------
        WriteError
        """
        try:
            yield
        except UnparallelError:
            raise
        except OSError as error:
            raise self.error(error.errno or 0, str(error)) from error

    @contextlib.contextmanager
    def open(self, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
        """The partial file, open for writing, as `open` opens it."""
        with self.writing(), open(self.begin(), mode.replace("w", "x"), **options) as handle:
            yield handle

    def error(self, number: int, text: str) -> WriteError:
        """The error about the target for a number of the system's (0 where there is none) and a text."""
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            return MissingFolderError(
                f"cannot write: folder {folder} does not exist", "make the folder first", self.target
            )
        if number in (errno.EACCES, errno.EPERM):
            return WriteDeniedError(f"cannot write: no permission in {folder}", "choose another folder", self.target)
        cause = os.strerror(number) if number else text
        return WriteError(f"cannot write: {cause}", f"check space and permissions in {folder}", self.target)

    def synced_by(self, sync: "Sync") -> None:
        """Say what brings the file to disk; else `commit` opens it and does so."""
        self._sync = sync

    @property
    def size(self) -> int:
        """Bytes that are written."""
        return os.path.getsize(self.partial)

    def commit(self) -> None:
        """Give the file its name: on disk, name and all, when this returns.

        Raises
        ------
        WriteError
            The disk refused some of it.
        TargetExistsError
            The target has appeared meanwhile, and is not to be replaced.
        """
        with self.writing():
            if self._sync is not None:
                self._sync.wait()
            else:
                sync_file(self.partial)
            try:
                place = put_in_place(self.partial, self.target, self.overwrite)
            except FileExistsError as error:
                raise TargetExistsError("exists", OVERWRITE, self.target) from error
        try:
            if os.name == "posix":
                _sync_folder(os.path.dirname(place))
        except OSError as error:
            cause = os.strerror(error.errno or errno.EIO)
            raise WriteError(
                f"written, but the disk did not confirm it: {cause}", "check the disk, then the file", self.target
            ) from error


def check_target(target: str, overwrite: bool, source: str = "", parents: bool = False) -> None:
    """Refuse a target that cannot be written, or must not be, before any work is done: see `AtomicFile`."""
    folder = os.path.dirname(absolute_path(target))
    if source and os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        hint = "name another target: the input is never touched"
        raise FileError("target and source are the same file", hint, target)
    if os.path.isdir(target):
        inside = os.path.join(target, os.path.basename(source) or "model.h5")
        raise FileError("is a folder", f"name a file, such as {inside}", target)
    if os.path.lexists(target):
        if os.path.islink(target) and not os.path.exists(target):
            raise FileError("is a symbolic link to nothing", "name the file that it should lead to", target)
        if not os.path.isfile(target):
            raise FileError("not a regular file", "name another target", target)
        if not overwrite:
            raise TargetExistsError("exists", OVERWRITE, target)
    if not parents and not os.path.isdir(folder):
        raise MissingFolderError(f"folder {folder} does not exist", "make the folder first", target)


def put_in_place(partial: str, target: str, overwrite: bool) -> str:
    """Rename a finished file; the path where it is now, links resolved."""
    if not overwrite:
        _rename_new(partial, target)
        return absolute_path(target)
    place = os.path.realpath(target)
    _copy_permissions(partial, place)
    os.replace(partial, place)
    return place


def _rename_new(partial: str, target: str) -> None:
    """Rename without replacing: a file that appeared since the start is not lost."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.replace(partial, target)
        return
    with contextlib.suppress(OSError):
        os.unlink(partial)


def sync_file(path: str) -> None:
    """Bring a file to disk."""
    with open(path, "r+b") as handle:  # Windows syncs no file that is open for reading only
        os.fsync(handle.fileno())


def _sync_folder(path: str) -> None:
    """Bring a folder's names to disk, where the file system can do that for folders at all."""
    # some network file systems refuse to open or to sync a folder: their servers see to it
    with contextlib.suppress(PermissionError, IsADirectoryError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        except OSError as error:
            if error.errno not in NO_FOLDER_SYNC:
                raise
        finally:
            os.close(number)


def _copy_permissions(path: str, target: str) -> None:
    """Give a file the permissions of the one that it replaces, as if that had been written to."""
    with contextlib.suppress(OSError):
        os.chmod(path, stat.S_IMODE(os.stat(target).st_mode))


class Sync:
    """Brings a file to disk in a thread: while it is written, and while it is read again from memory.

    Parameters
    ----------
    number : int
        The descriptor by which it is written: a later one may miss an error that came before it was opened.
    """

    def __init__(self, number: int) -> None:
        self._number = os.dup(number)
        self._whole = threading.Event()
        self._wanted = True
        self._problem: Optional[OSError] = None
        # whoever ends the process before the file is on disk gives up the file
        self._thread: Optional[threading.Thread] = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # there may be no more threads
            self._thread = None

    def _run(self) -> None:
        try:
            while not self._whole.wait(PAUSE):
                getattr(os, "fdatasync", os.fsync)(self._number)
            if self._wanted:
                os.fsync(self._number)
        except OSError as error:
            self._problem = error
        finally:
            os.close(self._number)

    def finish(self) -> None:
        """The file is whole: what comes now is the last time."""
        self._whole.set()

    def give_up(self) -> None:
        """Nobody wants the file."""
        self._wanted = False
        self._whole.set()
        if self._thread is None:
            self._run()

    def wait(self) -> None:
        """Return when the disk has all of it; raise what the disk refused."""
        if self._thread is None:
            self._run()
        else:
            self._thread.join()
        if self._problem is not None:
            raise self._problem


# -- names of partial files, and what killed processes left


def partial_name(name: str) -> str:
    """A name for a file while it is being written; it tells whose it is."""
    # whole letters, in the encoding of the system's file names, which may have none of these
    short = os.fsencode(name)[:LONGEST_STEM].decode("utf-8", "ignore").encode("utf-8")
    return f".{os.fsdecode(short)}.{owner_mark()}{PARTIAL_SUFFIX}"


def owner_mark() -> str:
    """`PID-HEX` for a new name: this process, this machine, and chance."""
    return f"{os.getpid()}-{_machine()}{os.urandom(4).hex()}"


def remove_leftovers(folders: Iterable[str]) -> None:
    """Remove partial files of processes that are gone, directly in these folders."""
    for folder in folders:
        names = []
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
        for name in names:
            found = _PARTIAL.fullmatch(name)
            if found and _is_over(os.path.join(folder, name), int(found.group(1)), found.group(2)):
                _remove(os.path.join(folder, name))


def temporary_folder() -> str:
    """A new folder for temporary copies, whose name `remove_leftovers` knows too."""
    path = os.path.join(tempfile.gettempdir(), partial_name("copy"))
    os.mkdir(path, 0o700)
    return path


def _is_over(path: str, process: int, machine: str) -> bool:
    if machine == _machine():
        return not _is_alive(process)
    with contextlib.suppress(OSError):
        return time.time() - os.lstat(path).st_mtime > OLD
    return False


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # there, signal 0 is no question but a kill
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return not _is_zombie(process)


def _is_zombie(process: int) -> bool:
    """Whether it has ended and waits for a parent to take note, as orphans do for ever in many containers.

    The field after the name in parentheses, which may itself hold any character: proc(5).
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as handle:
            return handle.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):  # no /proc, or it has just gone
        return False


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # another run was faster, or it is another user's
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


@functools.lru_cache(maxsize=1)
def _machine() -> str:
    """Eight digits for this machine and, in it, this container's space of process numbers."""
    if hasattr(os, "uname"):
        facts = [os.uname().nodename]  # what `socket` would ask for, which takes longer to import than to ask
    else:
        import socket

        facts = [socket.gethostname()]
    with contextlib.suppress(OSError), open("/etc/machine-id", encoding="ascii") as handle:
        facts.append(handle.read())
    with contextlib.suppress(OSError):
        facts.append(os.readlink("/proc/self/ns/pid"))
    return "{:08x}".format(zlib.crc32("\n".join(facts).encode("utf-8", "surrogateescape")))
