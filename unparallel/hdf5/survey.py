"""Every object of an HDF5 file, looked at before any of it is read; what could bring in foreign bytes is refused."""

from typing import Dict, NamedTuple, Optional

import h5py

from ..arrays import Array
from ..errors import HostileFileError
from .checks import check_attributes, checked_array, link_name
from .errors import HOSTILE
from .kinds import File, FileID, LinkInfo

MOST_OBJECTS = 300_000
MOST_PATH_BYTES = 48 * 2**20
# HDF5 follows groups in groups by recursion: some thousand levels end the process.
DEEPEST_GROUP = 64
_LINKS = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "an external link"}


class Contents(NamedTuple):
    """The objects of a file by path, in the file's order.

    Attributes
    ----------
    arrays : dict of str to Array
    groups : dict of str to None
        A set that keeps its order; the root among them.
    """

    arrays: Dict[str, Array]
    groups: Dict[str, None]


def survey(handle: File, file_size: int) -> Contents:
    """Look at every object once.

    Parameters
    ----------
    handle : h5py.File
    file_size : int
        Bytes.

    Raises
    ------
    HostileFileError
        It holds links, references, external or virtual storage, foreign filters, or more than any Keras file.
    """
    check_attributes("/", h5py.h5g.open(handle.id, b"/"))
    look = _Survey(handle.id, file_size)
    problem = handle.id.links.visit(look.visit, info=True)
    if problem is not None:
        raise problem
    return Contents(look.arrays, look.groups)


class _Survey:
    """What has been seen so far."""

    def __init__(self, root: FileID, file_size: int) -> None:
        self.arrays: Dict[str, Array] = {}
        self.groups: Dict[str, None] = {"/": None}
        self._root = root
        self._file_size = file_size
        self._path_bytes = 0
        self._stored_bytes = 0

    def visit(self, name: bytes, info: LinkInfo) -> Optional[BaseException]:
        """Look at one link; what is returned ends the visit."""
        # no exception must pass through HDF5's C code, a signal's neither
        try:
            path = "/" + link_name(name)
            self._check_link(path, info.type)
            item = h5py.h5o.open(self._root, name)
            check_attributes(path, item)
            self._record(path, item)
        except BaseException as error:  # noqa: BLE001
            return error
        return None

    def _check_link(self, path: str, link: int) -> None:
        self._path_bytes += len(path)
        if len(self.groups) + len(self.arrays) > MOST_OBJECTS or self._path_bytes > MOST_PATH_BYTES:
            limits = f"more than {MOST_OBJECTS} objects, or {MOST_PATH_BYTES} bytes of names"
            raise HostileFileError(limits, "not a Keras file")
        if path.count("/") > DEEPEST_GROUP:
            raise HostileFileError(f"groups nested more than {DEEPEST_GROUP} deep", "not a Keras file")
        if link != h5py.h5l.TYPE_HARD:
            kind = _LINKS.get(link, "a user-defined link")
            raise HostileFileError(f"{path} is {kind}", HOSTILE)
        if path in self.groups or path in self.arrays:
            raise HostileFileError(f"two objects are named {path}", HOSTILE)

    def _record(self, path: str, item: object) -> None:
        if isinstance(item, h5py.h5g.GroupID):
            self.groups[path] = None
        elif isinstance(item, h5py.h5d.DatasetID):
            # an object that has several names, and objects that share bytes, count each time: they are copied each time
            stored = item.get_storage_size()
            self._stored_bytes += stored
            self.arrays[path] = checked_array(path, item, stored, self._file_size)
            if self._stored_bytes > self._file_size:
                raise HostileFileError(f"{path} and those before claim more bytes than the file has", HOSTILE)
        else:
            raise HostileFileError(f"{path} is a named datatype", HOSTILE)
