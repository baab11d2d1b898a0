"""Every object of an HDF5 file, looked at before any of it is read; what could bring in foreign bytes is refused."""

from typing import TYPE_CHECKING, Dict, NamedTuple, Optional, Tuple

import h5py
import numpy as np

from ..arrays import Array
from ..errors import HostileFileError
from . import chunks
from .checks import checked_array, link_name, plain_attributes
from .errors import HDF5_ERRORS, HOSTILE
from .kinds import File, FileID, LinkInfo, ObjectID

if TYPE_CHECKING:
    from ..arrays import Numbers

MOST_OBJECTS = 300_000
MOST_PATH_BYTES = 48 * 2**20
# HDF5 follows groups in groups by recursion: some thousand levels end the process.
DEEPEST_GROUP = 64
# An object's header holds 64 KiB.
LONGEST_LIST = 2**16
MOST_LIST_BYTES = 2**22
_LINKS = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "an external link"}


class Contents(NamedTuple):
    """The objects of a file by path, in the file's order.

    Attributes
    ----------
    arrays : dict of str to Array
    groups : dict of str to None
        A set that keeps its order; the root among them.
    lists : dict of (str, str) to numpy.ndarray
        Lists of fixed-length texts, by a group's path and their own names: all, or the first of many.
    """

    arrays: Dict[str, Array]
    groups: Dict[str, None]
    lists: Dict[Tuple[str, str], "Numbers"]


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
    look = _Survey(handle.id, file_size)
    look.group("/", h5py.h5g.open(handle.id, b"/"))
    problem = handle.id.links.visit(look.visit, info=True)
    if problem is not None:
        raise problem
    return Contents(look.arrays, look.groups, look.lists)


class _Survey:
    """What has been seen so far."""

    def __init__(self, root: FileID, file_size: int) -> None:
        self.arrays: Dict[str, Array] = {}
        self.groups: Dict[str, None] = {}
        self.lists: Dict[Tuple[str, str], Numbers] = {}
        self._root = root
        self._file_size = file_size
        self._path_bytes = 0
        self._stored_bytes = 0
        self._list_bytes = 0

    def visit(self, name: bytes, info: LinkInfo) -> Optional[BaseException]:
        """Look at one link; what is returned ends the visit."""
        # no exception must pass through HDF5's C code, a signal's neither
        try:
            path = "/" + link_name(name)
            self._check_link(path, info.type)
            self._record(path, self._opened(name))
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

    def _opened(self, name: bytes) -> object:
        """The object of that name."""
        if name.endswith(b":0"):  # a weight's name, and an array is opened for less where nothing else is expected
            try:
                return h5py.h5d.open(self._root, name)
            except HDF5_ERRORS:
                pass
        return h5py.h5o.open(self._root, name)

    def _record(self, path: str, item: object) -> None:
        if isinstance(item, h5py.h5g.GroupID):
            self.group(path, item)
        elif isinstance(item, h5py.h5d.DatasetID):
            # an object that has several names, and objects that share bytes, count each time: they are copied each time
            stored = item.get_storage_size()
            self._stored_bytes += stored
            self.arrays[path] = checked_array(path, item, stored, self._file_size)
            if self._stored_bytes > self._file_size:
                raise HostileFileError(f"{path} and those before claim more bytes than the file has", HOSTILE)
        else:
            raise HostileFileError(f"{path} is a named datatype", HOSTILE)

    def group(self, path: str, item: ObjectID) -> None:
        """Look at a group's attributes, and keep its lists of names: to ask for each once more would cost the same."""
        self.groups[path] = None
        for name, attribute, kind in plain_attributes(path, item):
            if not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
                continue
            shape = attribute.shape
            size = chunks.bytes_of(shape, kind.get_size())
            # one group may have a thousand names
            self._list_bytes += size
            if len(shape) == 1 and size <= LONGEST_LIST and self._list_bytes <= MOST_LIST_BYTES:
                texts = np.empty(shape, f"S{kind.get_size()}")
                attribute.read(texts)
                self.lists[path, name] = texts
