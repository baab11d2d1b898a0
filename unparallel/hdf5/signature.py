"""By which bytes a file is known for HDF5, and for what else people take it; h5py is not needed for that."""

import os
import stat
from typing import Tuple

from ..errors import NotKerasError, unreadable

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# a zip archive begins with the header of its first member
ZIP = b"PK\x03\x04"


def check_signature(path: str, archived: bool = False) -> None:
    """Say what a file without the signature of HDF5 is, or one in which HDF5 is only a part."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise unreadable(error) from error
    if stat.S_ISDIR(mode):
        raise NotKerasError("a folder, not a file, and no SavedModel or checkpoint is in it", "name the .h5 file")
    if not stat.S_ISREG(mode):  # opening a pipe would wait for whoever writes to it
        raise NotKerasError("not a regular file", "name the .h5 file")
    try:
        with open(path, "rb") as handle:
            head = handle.read(512)
            size = handle.seek(0, os.SEEK_END)
            offset = 0
            # HDF5 looks for its signature at 0, 512, 1024, 2048, ... (a user block may come first)
            while offset + 8 <= size:
                handle.seek(offset)
                if handle.read(8) == SIGNATURE and (archived or not head.startswith(ZIP)):
                    return
                offset = 512 if not offset else offset * 2
    except OSError as error:
        raise unreadable(error) from error
    raise NotKerasError(*_what_else(path, head))


def _what_else(path: str, head: bytes) -> Tuple[str, str]:
    """(what a file is, what to do) for a file without the HDF5 signature."""
    if not head:
        return "the file is empty", "copy it again"
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself", "run `git lfs pull` to fetch it"
    if head.startswith(ZIP):
        return (
            "a zip archive, such as the .keras file of Keras 3, not HDF5",
            "a .keras file has no multi_gpu_model in it: keras.models.load_model(FILE) opens it",
        )
    if head.startswith(b"\x1f\x8b"):
        return "a gzip file, not HDF5", "run gunzip first"
    if b"\0" not in head and sum(byte > 127 for byte in head) * 4 < len(head):
        return "a text file, not HDF5", "this may be an error page: download the file again"
    return "not an HDF5 file", "only .h5 files that Keras saved can be read"


def is_hdf5(path: str) -> bool:
    """Whether a file begins as HDF5 files do.

    Raises
    ------
    OSError
        It cannot be read.
    """
    with open(path, "rb") as handle:
        return handle.read(len(SIGNATURE)) == SIGNATURE
