"""Names for files while they are being written, and the removal of those that a killed process left.

A name holds the machine and the process that writes it, so that whoever finds it can tell whether that is over.
Knows no HDF5.
"""

import contextlib
import functools
import os
import re
import shutil
import tempfile
import time
import zlib
from typing import Iterable

PARTIAL_SUFFIX = ".unparallel-part"
# .NAME.PID-HEX.unparallel-part, where the first eight digits of HEX stand for the machine
_PARTIAL = re.compile(r"\..*\.(\d+)-([0-9a-f]{8})[0-9a-f]{8}" + re.escape(PARTIAL_SUFFIX), re.DOTALL)
# Of another machine's process we cannot know; no conversion of one file goes on for longer than this.
OLD = 24 * 3600.0


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
    path = os.path.join(tempfile.gettempdir(), f".copy.{owner_mark()}{PARTIAL_SUFFIX}")
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
    import socket

    facts = [socket.gethostname()]
    with contextlib.suppress(OSError), open("/etc/machine-id", encoding="ascii") as handle:
        facts.append(handle.read())
    with contextlib.suppress(OSError):
        facts.append(os.readlink("/proc/self/ns/pid"))
    return "{:08x}".format(zlib.crc32("\n".join(facts).encode("utf-8", "surrogateescape")))
