"""The new file as HDF5 sees it: bytes go to disk through here, and what the disk refuses is kept for us.

HDF5 cannot be trusted with a disk that fails: a library that could not write what it holds raises while it
closes, tries again when the interpreter ends, and sometimes crashes there.  So it never hears of a failure.  The
first one is remembered, everything after it is thrown away, and the caller asks with `check`.  Knows no HDF5.
"""

import io
import os
from typing import TYPE_CHECKING, Optional

from ..atomic import Sync

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# From so many bytes on, the disk begins while the rest is still being written.
EARLY = 2**25


class Disk(io.RawIOBase):
    """A new file for `h5py.File(disk, "w")`; its mode follows the umask.

    Parameters
    ----------
    path : str
        Must not exist: whoever put it there would be written through.
    head : int
        So many bytes at its beginning are not HDF5's: it knows nothing of them.
    """

    def __init__(self, path: str, head: int = 0) -> None:
        self.path = path
        self._head = head
        self.problem: Optional[BaseException] = None
        self._number = -1
        self._written = 0
        self._sync: Optional[Sync] = None
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        self._number = os.open(path, flags, 0o666)
        if head:
            os.ftruncate(self._number, head)
            self.seek(0)

    def check(self) -> None:
        """Raise what has gone wrong so far."""
        if self.problem is not None:
            raise self.problem

    def write(self, data: "ReadableBuffer") -> int:
        """All of the data, or nothing that anyone will rely on."""
        view = memoryview(data).cast("B")
        if self.problem is None:
            try:
                done = 0
                while done < len(view):
                    done += os.write(self._number, view[done:])
                self._written += done
                if self._written > EARLY and self._sync is None:
                    self._sync = Sync(self._number)
            except BaseException as error:  # noqa: BLE001  a signal's exception must not pass through C code either
                self.problem = error
        return len(view)

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """What was written, zeros beyond it and after a failure."""
        view = memoryview(buffer).cast("B")
        done = 0
        try:
            while self.problem is None and done < len(view):
                data = os.read(self._number, len(view) - done)
                if not data:
                    break
                view[done : done + len(data)] = data
                done += len(data)
        except BaseException as error:  # noqa: BLE001  as in write
            self.problem = self.problem or error
        view[done:] = bytes(len(view) - done)
        return len(view)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file."""
        at = offset + self._head if whence == os.SEEK_SET else offset
        return os.lseek(self._number, at, whence) - self._head

    def tell(self) -> int:
        """As of any file."""
        return os.lseek(self._number, 0, os.SEEK_CUR) - self._head

    def truncate(self, size: Optional[int] = None) -> int:
        """Set the file's length."""
        length = self.tell() if size is None else size
        if self.problem is None:
            try:
                os.ftruncate(self._number, self._head + length)
            except BaseException as error:  # noqa: BLE001  as in write
                self.problem = error
        return length

    def readable(self) -> bool:
        """True: HDF5 reads its own structures again."""
        return True

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def sync(self) -> "Sync":
        """All is written: bring it to disk, to the last byte."""
        self.check()
        sync, self._sync = self._sync or Sync(self._number), None
        sync.finish()
        return sync

    def close(self) -> None:
        """Let go of the file; a failure is remembered like any other."""
        if self._sync is not None:
            self._sync.give_up()
        number, self._number = self._number, -1
        if number >= 0:
            try:
                os.close(number)
            except OSError as error:
                self.problem = self.problem or error
        super().close()
