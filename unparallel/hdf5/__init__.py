"""The only room that knows HDF5: safe opening, attributes with their exact type, object copy, atomic files.

Everything behind this door is text and plain values: h5py 2.10 and 3.x, bytes and str, whole and split
list attributes all come out in one form.  Nothing here knows what a layer is.

What a hostile file could use is refused when the file is opened, before anything is written: soft and
external links, external storage, virtual datasets, filters that come from plug-ins, references and types
that are not plain numbers, shapes that the file has no bytes for, groups nested without end.
"""

import contextlib
import errno
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import h5py
import numpy as np

from ..atomic import PARTIAL_SUFFIX, owner_mark
from ..errors import FileError, HostileFileError, NotKerasError, TargetExistsError, UnparallelError, WriteError
from . import chunks, heaps
from .disk import Disk, Sync, sync_folder, take_mode

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Keras splits list attributes above this many bytes, since an object header holds 64 KiB at most.
ATTRIBUTE_LIMIT = 64512
# A model_config of 30 MB exists; an attribute that claims more than this is not a config.
LONGEST_ATTRIBUTE = 32 * 2**20
# What 64 KiB, the most that an attribute of Keras' has, hold.
MOST_VARIABLE_TEXTS = 4096
# Up to here, a file's heaps are looked for in all of it, before HDF5 touches it.
SMALL_FILE = 64 * 2**20
MOST_OBJECTS = 300_000
# HDF5 follows groups in groups by recursion: some thousand levels end the process.
DEEPEST_GROUP = 64
MOST_PATH_BYTES = 48 * 2**20
BLOCK = 2**20
# Bytes of an open file's structure that HDF5 keeps in memory, and the most where a single piece is larger.
STRUCTURE_CACHE = 2**20
LARGEST_CACHE = 2**26
# Two of these, one of each file, stay in a core's cache while they are compared and scanned.
STORED_BLOCK = 2**18
# What h5py raises for damaged files, over its versions.
HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, SystemError)
HOSTILE = "Keras never writes those; do not trust this file"
FOREIGN = "its bytes lie in other files; do not trust this file"


@dataclass(frozen=True)
class Array:
    """What is known of a dataset without reading it.

    Parameters
    ----------
    shape : tuple of int
    dtype : str
        numpy's name.
    size : int
        Bytes in memory.
    problem : str
        Why it cannot be a Keras weight ("" where it can): no numbers, or more claimed than stored.
    code : str
        numpy's code for the type, byte order included ("" where there is none).
    offset : int or None
        Where its bytes lie in the file, as one piece; None where they lie in chunks or in a header.
    """

    shape: Tuple[int, ...]
    dtype: str
    size: int
    problem: str = ""
    code: str = ""
    offset: Optional[int] = field(default=None, compare=False)


def as_text(value: Any) -> str:
    """`value` as text: h5py 2.10 gives bytes where 3.x gives str."""
    if isinstance(value, (bytes, np.bytes_)):
        return bytes(value).decode("utf-8")
    return str(value)


class Source:
    """An HDF5 file open for reading, all its objects checked.

    Use `open_source`, which makes one.
    """

    def __init__(self, path: str, handle: Any) -> None:
        self.path = path
        self.handle = handle
        self.arrays: Dict[str, Array] = {}
        self.groups: Dict[str, None] = {"/": None}
        self._path_bytes = 0
        self._stored_bytes = 0
        self._unpacked: Set[str] = set()
        self._heap: Optional[heaps.Heap] = None
        # the file that HDF5 itself has open, where the system can read at a place of it
        plain = handle.driver == "sec2" and hasattr(os, "pread")
        self._number: Optional[int] = handle.id.get_vfd_handle() if plain else None
        with reading():
            self._file_size = os.path.getsize(path)
            if self._file_size <= SMALL_FILE:
                self._look_at_heaps([])
            _check_attributes("/", h5py.h5g.open(handle.id, b"/"))
            self._survey()

    def _survey(self) -> None:
        """Record every group and dataset; refuse what could bring in foreign bytes."""
        root = self.handle.id

        def visit(name: bytes, info: Any) -> Optional[BaseException]:
            # no exception must pass through HDF5's C code, a signal's neither: what is returned ends the visit
            try:
                self._look_at("/" + _link_name(name), info.type, root, name)
            except BaseException as error:  # noqa: BLE001
                return error
            return None

        problem = root.links.visit(visit, info=True)
        if problem is not None:
            raise problem

    def _look_at(self, path: str, link: int, root: Any, name: bytes) -> None:
        self._path_bytes += len(path)
        if len(self.groups) + len(self.arrays) > MOST_OBJECTS or self._path_bytes > MOST_PATH_BYTES:
            raise HostileFileError(
                "more than %d objects, or %d bytes of names" % (MOST_OBJECTS, MOST_PATH_BYTES), "this is no Keras file"
            )
        if path.count("/") > DEEPEST_GROUP:
            raise HostileFileError("groups nested more than %d deep" % DEEPEST_GROUP, "this is no Keras file")
        if link != h5py.h5l.TYPE_HARD:
            kind = {h5py.h5l.TYPE_SOFT: "soft", h5py.h5l.TYPE_EXTERNAL: "external"}.get(link, "user-defined")
            raise HostileFileError("%s is a link of the %s kind" % (path, kind), HOSTILE)
        if path in self.groups or path in self.arrays:
            raise HostileFileError("two objects are named %s" % path, HOSTILE)
        item = h5py.h5o.open(root, name)
        _check_attributes(path, item)
        self._record(path, item)

    def _record(self, path: str, item: Any) -> None:
        if isinstance(item, h5py.h5g.GroupID):
            self.groups[path] = None
        elif isinstance(item, h5py.h5d.DatasetID):
            # an object that has several names, and objects that share bytes, count each time: they are copied each time
            stored = item.get_storage_size()
            self._stored_bytes += stored
            self.arrays[path] = _checked_array(path, item, stored, self._file_size)
            if self._stored_bytes > self._file_size:
                raise HostileFileError("%s and those before claim more bytes than the file has" % path, HOSTILE)
        else:
            raise HostileFileError("%s is a named datatype" % path, HOSTILE)

    def array(self, path: str) -> Optional[Array]:
        """What is known of the dataset at `path`; None where there is none.

        Raises
        ------
        HostileFileError
            It cannot be a weight: it holds no numbers, or claims more bytes than the file has for it.
        """
        array = self.arrays.get(path)
        if array is not None and array.problem:
            raise HostileFileError(
                "%s %s" % (path, array.problem), "the save was interrupted, or the file is not to be trusted"
            )
        return array

    def attribute_names(self, path: str) -> List[str]:
        """Names of the attributes of the object at `path`, sorted."""
        owner = self.handle[path].id
        names = [_link_name(h5py.h5a.open(owner, index=i).name) for i in range(h5py.h5a.get_num_attrs(owner))]
        return sorted(names)

    def has_attribute(self, path: str, name: str) -> bool:
        """Whether the object at `path` has that attribute."""
        with reading():
            return bool(h5py.h5a.exists(self.handle.id, name.encode("utf-8"), obj_name=path.encode("utf-8")))

    def text(self, path: str, name: str) -> Optional[str]:
        """A scalar text attribute; None where it is absent.

        Raises
        ------
        NotKerasError
            The attribute is not one text.
        """
        if not self.has_attribute(path, name):
            return None
        value = self._attribute(path, name)
        with reading():
            _limit_cache(self.handle)  # a config is a large piece
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if not isinstance(value, (str, bytes)):
            raise NotKerasError("attribute %r of %s is no text" % (name, path), "the file is damaged or no Keras file")
        try:
            return as_text(value)
        except UnicodeDecodeError as error:
            raise NotKerasError("attribute %r of %s is not UTF-8" % (name, path), "the file is damaged") from error

    def names(self, path: str, name: str) -> Optional[List[str]]:
        """A list attribute, whole or split over name0, name1, ...; None where neither is there."""
        if self.has_attribute(path, name):
            return self._list(path, name)
        items: List[str] = []
        part = 0
        while self.has_attribute(path, "%s%d" % (name, part)):
            items += self._list(path, "%s%d" % (name, part))
            part += 1
            if len(items) > MOST_OBJECTS:
                raise HostileFileError("attribute %r of %s has too many parts" % (name, path), HOSTILE)
        return items if part else None

    def has_fixed_names(self, path: str, name: str) -> bool:
        """Whether a list attribute holds fixed-length texts; True for one that is split or empty."""
        if not self.has_attribute(path, name):
            return True
        kind = h5py.h5a.open(self.handle[path].id, name.encode("utf-8")).get_type()
        return not (isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str())

    def _list(self, path: str, name: str) -> List[str]:
        value = np.asarray(self._attribute(path, name))
        if value.ndim != 1 or (value.size and value.dtype.kind not in "SUO"):
            raise NotKerasError("attribute %r of %s is no list of names" % (name, path), "the file is damaged")
        try:
            return [as_text(item) for item in value]
        except UnicodeDecodeError as error:
            raise NotKerasError("attribute %r of %s is not UTF-8" % (name, path), "the file is damaged") from error

    def _attribute(self, path: str, name: str) -> Any:
        with reading():
            attribute = h5py.h5a.open(self.handle.id, name.encode("utf-8"), obj_name=path.encode("utf-8"))
            kind, shape = attribute.get_type(), attribute.shape
            self._check_attribute(path, name, kind, shape)
            if not shape or not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
                return self.handle[path].attrs[name]
            # a list of names, one a layer: h5py's own way takes twice as long
            value = np.empty(shape, "S%d" % kind.get_size())
            attribute.read(value)
            return value

    def _check_attribute(self, path: str, name: str, kind: Any, shape: Tuple[int, ...]) -> None:
        """Refuse an attribute whose shape claims more than a config or a list of names could need."""
        count = chunks.bytes_of(shape, 1)
        size = count * max(1, kind.get_size())
        if count > MOST_OBJECTS or size > min(LONGEST_ATTRIBUTE, self._file_size):
            raise HostileFileError(
                "attribute %r of %s claims %d elements" % (name, path, count), "do not trust this file"
            )
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            self._check_texts(path, name, count)

    def _check_texts(self, path: str, name: str, count: int) -> None:
        """Refuse texts of variable length that HDF5 could hang on, or that take more memory than a config does."""
        if count > MOST_VARIABLE_TEXTS:
            raise HostileFileError("attribute %r of %s holds %d texts" % (name, path, count), HOSTILE)
        if self._heap is None:
            arrays = self.arrays.values()
            self._look_at_heaps([(array.offset, array.size) for array in arrays if array.offset is not None])

    def _look_at_heaps(self, arrays: List[Tuple[int, int]]) -> None:
        """Refuse heaps that HDF5 would go round in, or that hold too much; what is in the arrays is not looked at."""
        with open(self.path, "rb") as file:
            self._heap = heaps.look_at(file, self._file_size, arrays, self.handle.userblock_size)
            if self._heap.problem:
                raise FileError("damaged HDF5: %s" % self._heap.problem, "get a fresh copy of the file")
            size = heaps.size_of_large_texts(file, self._heap) if self._heap.large else 0
        if size > 2 * LONGEST_ATTRIBUTE:
            raise HostileFileError("attributes hold texts of %d bytes" % size, HOSTILE)

    def below(self, path: str) -> List[str]:
        """Paths of all datasets below the group at `path`, in the file's order."""
        prefix = path.rstrip("/") + "/"
        return [name for name in self.arrays if name.startswith(prefix)]

    def stored_size(self) -> int:
        """Bytes of the whole file, when it was opened."""
        return self._file_size

    def blocks(self, path: str) -> Iterator[bytes]:
        """The array's elements as they lie in memory, in blocks of 1 MiB or less, unless its chunks are larger.

        In C order, unless the array is chunked: then a row of chunks, or a part of one, comes after another.

        Raises
        ------
        FileError
            It cannot be read.
        HostileFileError
            Its chunks unpack to something else than they should.
        """
        with reading():
            array = self.arrays[path]
            if array.offset is not None and self._number is not None:
                yield from self._stored(array.offset, array.size)
                return
            self.check_unpacking(path)
            dataset = self.handle[path]
            for block in array_blocks(dataset):
                yield block

    def _stored(self, offset: int, size: int) -> Iterator[bytes]:
        """A part of the file as it is: HDF5 would open a dataset for it, convert its type and copy it once more."""
        assert self._number is not None
        for start in range(offset, offset + size, STORED_BLOCK):
            wanted = min(STORED_BLOCK, offset + size - start)
            block = os.pread(self._number, wanted, start)
            if len(block) != wanted:
                raise FileError("the file is truncated", "copy it again: its end is missing")
            yield block

    def packed(self, path: str, ours: bool = False) -> Optional[Iterator[Any]]:
        """The chunks of a compressed array as they are stored; None for any other array.

        Two arrays for which all of it is equal are equal, and nothing had to be unpacked.  First come the facts by
        which they are read: type, shape, chunks and filters.  Unless the file is `ours`, its chunks are checked as
        for `blocks`.
        """
        with reading():
            dataset = self.handle[path]
            if not chunks.filters_of(dataset):
                return None
            if not ours:
                self.check_unpacking(path)
            return self._packed(dataset)

    def _packed(self, dataset: Any) -> Iterator[Any]:
        with reading():
            yield dataset.dtype.str, dataset.shape, dataset.chunks, chunks.filters_of(dataset)
            for corner in chunks.corners(dataset.shape, dataset.chunks):
                yield dataset.id.read_direct_chunk(corner)

    def check_unpacking(self, path: str) -> None:
        """Refuse an array whose chunks cannot be read, or unpack to something else than they should."""
        array = self.arrays.get(path)
        if array is None or array.offset is not None or path in self._unpacked:
            return
        with reading():
            dataset = self.handle[path]
            trouble = chunks.check_chunks(dataset) if dataset.chunks else ""
        if trouble:
            raise HostileFileError("%s %s" % (path, trouble), "the file is damaged, or not to be trusted")
        self._unpacked.add(path)


def _link_name(name: Any) -> str:
    try:
        text = name.decode("utf-8") if isinstance(name, bytes) else str(name)
        text.encode("utf-8")  # h5py gives undecodable bytes as lone surrogates
    except UnicodeError as error:
        raise HostileFileError("an object's name is not UTF-8: %r" % name, "the file is damaged") from error
    return text


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Turn what h5py raises for damaged files into errors of ours."""
    try:
        yield
    except HDF5_ERRORS as error:
        raise _damaged(error) from error


def _damaged(error: BaseException) -> FileError:
    number = _error_number(error)
    if number:
        return FileError("cannot be read: %s" % os.strerror(number), "the disk or the network may be failing")
    return FileError("damaged HDF5: %s" % _first_line(error), "get a fresh copy of the file")


def _error_number(error: BaseException) -> int:
    """The system's error number, which HDF5 hides in its message; 0 where there is none."""
    found = re.search(r"errno = (\d+)", str(error))
    return int(found.group(1)) if found else getattr(error, "errno", None) or 0


def _first_line(error: BaseException) -> str:
    text = str(error.args[0]) if error.args and isinstance(error, KeyError) else str(error)  # a KeyError quotes itself
    return (text.splitlines() or [type(error).__name__])[0]


def _check_attributes(path: str, owner: Any) -> None:
    """Refuse attributes that hold anything but texts and numbers: references would come along into the copy."""
    for index in range(h5py.h5a.get_num_attrs(owner)):
        attribute = h5py.h5a.open(owner, index=index)
        kind = attribute.get_type()
        if kind.committed() or not isinstance(kind, _PLAIN_TYPES):
            raise HostileFileError(
                "attribute %r of %s holds references or a type of its own" % (_link_name(attribute.name), path), HOSTILE
            )


_PLAIN_TYPES = (
    h5py.h5t.TypeStringID,
    h5py.h5t.TypeIntegerID,
    h5py.h5t.TypeFloatID,
    h5py.h5t.TypeEnumID,
    h5py.h5t.TypeBitfieldID,
    h5py.h5t.TypeOpaqueID,
)


def _checked_array(path: str, dataset: Any, stored: int, file_size: int) -> Array:
    """The facts of a dataset, or a refusal of what Keras never writes."""
    plist = dataset.get_create_plist()
    layout = plist.get_layout()
    if layout == h5py.h5d.VIRTUAL:
        raise HostileFileError("%s is a virtual dataset" % path, FOREIGN)
    if layout == h5py.h5d.CONTIGUOUS and plist.get_external_count():
        raise HostileFileError("%s has external storage" % path, FOREIGN)
    filters = tuple(plist.get_filter(i)[0] for i in range(plist.get_nfilters()))
    for code in filters:
        if code not in chunks.FILTERS:
            raise HostileFileError(
                "%s needs HDF5 filter %d, which is none of %s" % (path, code, ", ".join(chunks.FILTERS.values())),
                "rewrite the file with h5repack where that filter is installed",
            )
    kind = dataset.get_type()
    if kind.committed() or _holds_references(kind):
        raise HostileFileError("%s holds references or a type of its own" % path, HOSTILE)
    shape = tuple(map(int, dataset.shape or ()))
    number = _number(kind)
    if number is None:
        return Array(shape, "", 0, "holds no numbers")
    size = chunks.bytes_of(shape, number.size)
    problem = ""
    if layout == h5py.h5d.CHUNKED:
        problem = chunks.problem(shape, plist.get_chunk(), number.size, stored, filters)
    elif stored != size or size > file_size:
        problem = "claims %d bytes, the file holds %d for it" % (size, min(stored, file_size))
    offset = dataset.get_offset() if layout == h5py.h5d.CONTIGUOUS else None
    if offset is not None and offset + size > file_size:
        problem = problem or "lies beyond the end of the file"
    return Array(shape, number.name, size, problem, number.code, offset)


def _holds_references(kind: Any) -> bool:
    """Whether a type is a reference, or made of some."""
    if isinstance(kind, h5py.h5t.TypeCompoundID):
        return any(_holds_references(kind.get_member_type(i)) for i in range(kind.get_nmembers()))
    if isinstance(kind, (h5py.h5t.TypeArrayID, h5py.h5t.TypeVlenID)):
        return _holds_references(kind.get_super())
    return isinstance(kind, h5py.h5t.TypeReferenceID)


class _Number(NamedTuple):
    """A type of plain numbers: numpy's name and code for it, and the bytes of one."""

    name: str
    code: str
    size: int


# What nearly all weights are: to compare types is cheaper than to have one translated.
_FLOAT32 = _Number("float32", "<f4", 4)


def _number(kind: Any) -> Optional[_Number]:
    """The type as numpy has it; None for texts and the like."""
    if kind.equal(h5py.h5t.IEEE_F32LE):
        return _FLOAT32
    try:
        dtype = np.dtype(kind.dtype)
    except (TypeError, ValueError):  # a type that numpy lacks
        return None
    plain = dtype.kind in "iuf" and dtype.itemsize <= 8 and not isinstance(kind, h5py.h5t.TypeEnumID)
    if plain and not kind.equal(h5py.h5t.py_create(dtype)):
        return None  # a damaged type passes for the nearest that numpy has
    # bfloat16 is stored as bytes of no kind; a record is no number
    if dtype.kind not in "biufcV" or dtype.hasobject or dtype.fields:
        return None
    return _Number(dtype.name, dtype.str, dtype.itemsize)


def array_blocks(dataset: Any) -> Iterator[bytes]:
    """The elements of an open `h5py.Dataset`, a block at a time, with bounded memory."""
    if not dataset.shape:
        yield dataset[()].tobytes()
    elif dataset.size:
        for part in parts_of(dataset):
            yield dataset[part].tobytes()


def parts_of(dataset: Any) -> Iterator[Tuple[slice, ...]]:
    """Selections that together are the whole array, each of about one block, and whole chunks where it has chunks."""
    # of a part of a chunk, HDF5 would unpack the whole each time
    return _boxes(dataset.shape, dataset.chunks or (1,) * len(dataset.shape), dataset.dtype.itemsize)


def _boxes(shape: Tuple[int, ...], steps: Tuple[int, ...], itemsize: int) -> Iterator[Tuple[slice, ...]]:
    """Consecutive parts of an array, of one block at most where a step in each direction is no more."""
    row = chunks.bytes_of((steps[0],) + shape[1:], itemsize)
    if row > BLOCK and len(shape) > 1:
        for i in range(0, shape[0], steps[0]):
            for rest in _boxes(shape[1:], steps[1:], itemsize * steps[0]):
                yield (slice(i, i + steps[0]),) + rest
        return
    step = steps[0] * max(1, BLOCK // row)
    for i in range(0, shape[0], step):
        yield (slice(i, i + step),)


@contextlib.contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file for reading and check everything in it.

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
    _check_signature(path)
    handle = _open_for_reading(path)
    try:
        with reading():
            _limit_cache(handle)
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
        raise _unreadable(error) from error
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _check_unchanged(path: str, before: Tuple[int, ...], error: Optional[UnparallelError] = None) -> None:
    if os.path.exists(path) and _stamp(path) == before:
        return
    raise FileError(
        "the file was changed while it was read", "wait until the program that writes it is done, and try again"
    ) from error


def _unreadable(error: BaseException) -> FileError:
    """The error for a path that the system does not open (a `ValueError`: it holds a NUL)."""
    number = getattr(error, "errno", None)
    return FileError(os.strerror(number) if number else str(error), "check the path and its permissions")


# Network file systems without locks: what Linux, macOS and NFS clients answer there.
_NO_LOCKS = frozenset((errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, 524))
_LOCKING = "HDF5_USE_FILE_LOCKING"


def _open_for_reading(path: str) -> Any:
    try:
        return _opened(path)
    except HDF5_ERRORS as error:
        raise _opening_error(error) from error


def _limit_cache(handle: Any) -> None:
    """Take HDF5's cache back to its least; it grows again for large pieces, and for nothing else.

    By itself it takes up to 32 MiB, for what is looked at once.  All names in a group are one piece, which would be
    read or written again with every name if it found no room.
    """
    config = handle.id.get_mdc_config()
    config.set_initial_size = True
    config.initial_size = config.min_size = STRUCTURE_CACHE
    config.max_size = LARGEST_CACHE
    # not by the share of what is found in it, but for a piece that is larger than all of it
    config.incr_mode = config.decr_mode = 0
    config.flash_threshold = 1.0
    handle.id.set_mdc_config(config)


def _opened(path: str) -> Any:
    """The open file; without HDF5's lock where the file system knows none."""
    options = {"rdcc_nbytes": 0}  # no cache of unpacked chunks, since each is read once, and whole
    try:
        return h5py.File(path, "r", **options)
    except OSError as error:
        if "lock" not in str(error) or _error_number(error) not in _NO_LOCKS:
            raise
    try:
        return h5py.File(path, "r", locking=False, **options)
    except TypeError:  # h5py before 3.5, whose HDF5 looks at the environment each time
        before = os.environ.get(_LOCKING)
        os.environ[_LOCKING] = "FALSE"
        try:
            return h5py.File(path, "r", **options)
        finally:
            del os.environ[_LOCKING]
            if before is not None:
                os.environ[_LOCKING] = before


def _opening_error(error: BaseException) -> FileError:
    text = str(error)
    number = _error_number(error)
    if "truncated" in text:
        return FileError("the file is truncated", "copy it again: its end is missing")
    if "lock" in text:
        return FileError(
            "another process has the file open for writing (%s)" % (os.strerror(number) if number else text),
            "wait until it is written; on a network disk without locks, set %s=FALSE" % _LOCKING,
        )
    if "already open for write" in text:
        return FileError(
            "another process is writing the file, or crashed while it was",
            "wait until it is written; after a crash, h5clear -s FILE makes it readable",
        )
    return _unreadable(OSError(number, "")) if number else _damaged(error)


def _check_signature(path: str) -> None:
    """Say what a file is that is no HDF5 file."""
    if os.path.isdir(path):
        if os.path.exists(os.path.join(path, "saved_model.pb")):
            raise NotKerasError("a SavedModel folder, not an HDF5 file", "load it with TensorFlow and save it as .h5")
        raise NotKerasError("a folder, not a file", "name the .h5 file")
    if not os.path.isfile(path):  # opening a pipe would wait for whoever writes to it
        raise NotKerasError("no regular file", "name the .h5 file")
    try:
        with open(path, "rb") as handle:
            head = handle.read(512)
            size = handle.seek(0, os.SEEK_END)
            offset = 0
            # HDF5 looks for its signature at 0, 512, 1024, 2048, ... (a user block may come first)
            while offset + 8 <= size:
                handle.seek(offset)
                if handle.read(8) == SIGNATURE:
                    return
                offset = 512 if not offset else offset * 2
    except OSError as error:
        raise _unreadable(error) from error
    raise NotKerasError(*_what_else(path, head))


def _what_else(path: str, head: bytes) -> Tuple[str, str]:
    """(what a file is, what to do) for a file without the HDF5 signature."""
    if not head:
        return "the file is empty", "copy it again"
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself", "run `git lfs pull` to fetch it"
    if head.startswith(b"PK\x03\x04"):
        return "a zip archive (a .keras file?), not HDF5", "Keras 3 archives are never multi_gpu_model files"
    if head.startswith(b"\x1f\x8b"):
        return "a gzip file, not HDF5", "run gunzip first"
    if _is_checkpoint(path):
        return "a TensorFlow checkpoint, not HDF5", "load it with TensorFlow and save it as .h5"
    if b"\0" not in head and sum(byte > 127 for byte in head) * 4 < len(head):
        return "a text file, not HDF5", "this may be an error page: download the file again"
    return "not an HDF5 file", "only .h5 files that Keras saved can be read"


def _is_checkpoint(path: str) -> bool:
    base = os.path.basename(path)
    return base.endswith(".index") or ".data-0000" in base or base == "checkpoint" or os.path.exists(path + ".index")


class Target:
    """A new HDF5 file that is being written."""

    def __init__(self, handle: Any, source: Source, disk: Disk) -> None:
        self.handle = handle
        self.source = source
        self._disk = disk
        self.sync: Optional[Sync] = None
        self._links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        self._links.set_create_intermediate_group(True)
        # Keras gives arrays no attributes: whatever hangs on one is not part of the model
        self._bare = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
        self._bare.set_copy_object(h5py.h5o.COPY_WITHOUT_ATTR_FLAG)

    def group(self, path: str) -> None:
        """Make a group, with those above it; one that is there already stays."""
        # to ask first whether it is there costs twice as much as to make it
        with contextlib.suppress(ValueError):
            if path.isascii():
                h5py.h5g.create(self.handle.id, path.encode("utf-8"), lcpl=self._links)
                return
        self.handle.require_group(path)

    def set_names(self, path: str, name: str, items: Sequence[str], fixed: bool = True) -> None:
        """A list attribute as Keras writes it: split, and then of fixed-length texts, above 64,512 bytes.

        A shorter list is one of fixed-length texts under h5py 2 and of variable-length ones under h5py 3.
        """
        encoded = [item.encode("utf-8") for item in items]
        if len(encoded) * max(map(len, encoded), default=0) > LONGEST_ATTRIBUTE:
            # the longest name sets the width of all
            raise FileError("%d names as long as the longest are too much" % len(items), "no Keras could write this")
        data = np.array(encoded, dtype="S" if items else "float64")
        parts = [data]
        while any(part.nbytes > ATTRIBUTE_LIMIT for part in parts):
            if len(parts) >= len(data):
                raise FileError("a name is longer than an HDF5 attribute can hold", "no Keras could write this file")
            # fewer parts than these would not do; Keras tries all numbers from 1 on
            parts = np.array_split(data, max(len(parts) + 1, data.nbytes // ATTRIBUTE_LIMIT))
        if len(parts) == 1 and len(data) and not fixed:
            self.handle[path].attrs.create(name, list(data), dtype=h5py.string_dtype("ascii"))
            return
        for i, part in enumerate(parts):
            self._set_list(path, name if len(parts) == 1 else "%s%d" % (name, i), part)

    def _set_list(self, path: str, name: str, data: "np.ndarray[Any, Any]") -> None:
        """What `attrs[name] = data` does, without opening the object as a Python one first."""
        kind = h5py.h5t.py_create(data.dtype, logical=True)
        space = h5py.h5s.create_simple(data.shape)
        owner = path.encode("utf-8")
        h5py.h5a.create(self.handle.id, name.encode("utf-8"), kind, space, obj_name=owner).write(data)

    def set_text(
        self, path: str, name: str, value: str, like: Optional[Tuple[str, str]] = None, charset: str = "ascii"
    ) -> None:
        """A text attribute of the type of the source's attribute `like` (path, name), else variable-length."""
        data = value.encode("utf-8")
        dtype = _text_type(self.source, like, data) if like else h5py.string_dtype(charset)
        self.handle[path].attrs.create(name, data, shape=(), dtype=dtype)
        _limit_cache(self.handle)

    def copy_attribute(self, source_path: str, path: str, name: str) -> None:
        """Carry a scalar text attribute over, type and all; one that is absent stays absent."""
        value = self.source.text(source_path, name)
        if value is not None:
            self.set_text(path, name, value, like=(source_path, name))

    def copy(self, source_path: str, path: str) -> None:
        """Copy an array as an object: no byte is decoded."""
        with reading():  # what the disk refuses is no error to HDF5
            # a chunk that cannot be copied leaves HDF5 2.0 with broken memory: it crashes when the file is closed
            self.source.check_unpacking(source_path)
            h5py.h5o.copy(
                self.source.handle.id,
                source_path.encode("utf-8"),
                self.handle.id,
                path.encode("utf-8"),
                copypl=self._bare,
                lcpl=self._links,
            )
        self._disk.check()

    def mend(self, path: str, neutral: float) -> None:
        """Put `neutral` in place of what is not finite in a copied array, a block at a time."""
        dataset = self.handle[path]
        for part in parts_of(dataset) if dataset.shape else [()]:
            values = dataset[part]
            dataset[part] = np.where(np.isfinite(values), values, values.dtype.type(neutral))
        self._disk.check()

    def wait(self) -> None:
        """Wait until the disk has all of the file.

        Raises
        ------
        WriteError
            The disk refused some of it.
        """
        assert self.sync is not None
        try:
            self.sync.wait()
        except OSError as error:
            raise _write_error(self._disk.path, error) from error

    def copy_group(self, source_path: str, path: str, lists: Sequence[str]) -> None:
        """Copy the arrays at any depth below a group and its list attributes of these names, and nothing else.

        Copying the group as an object would bring along whatever a stranger's file has tied to it.
        """
        self.group(path)
        for name in lists:
            items = self.source.names(source_path, name)
            if items is not None:
                self.set_names(path, name, items, self.source.has_fixed_names(source_path, name))
        for array in self.source.below(source_path):
            self.copy(array, path + array[len(source_path) :])


def _text_type(source: Source, like: Tuple[str, str], data: bytes) -> "np.dtype[Any]":
    """The type for a text attribute: that of an attribute of the source."""
    kind = h5py.h5a.open(source.handle[like[0]].id, like[1].encode("utf-8")).get_type()
    charset = "utf-8" if kind.get_cset() == h5py.h5t.CSET_UTF8 else "ascii"
    length = None if kind.is_variable_str() else max(1, len(data))
    return h5py.string_dtype(charset, length)  # type: ignore[no-any-return]


def partial_name(target: str) -> str:
    """A name beside `target` for the file while it is being written; it tells whose it is."""
    # through a link, since a rename must not cross file systems
    folder, base = os.path.split(os.path.realpath(target) if os.path.islink(target) else os.path.abspath(target))
    # a file name has 255 bytes at most on every file system that we know
    short = os.fsencode(base)[:180].decode("utf-8", "ignore")
    return os.path.join(folder, ".%s.%s%s" % (short, owner_mark(), PARTIAL_SUFFIX))


@contextlib.contextmanager
def new_file(partial: str, source: Source) -> Iterator[Target]:
    """An HDF5 file at `partial`, whole when the block ends; its `wait` tells when it is on disk."""
    disk: Optional[Disk] = None
    try:
        disk = Disk(partial)
        handle = h5py.File(disk, "w", libver="earliest")
        target = Target(handle, source, disk)
        try:
            _limit_cache(handle)
            yield target
        finally:
            handle.close()
        target.sync = disk.sync()
    except HDF5_ERRORS as error:
        problem = disk.problem if disk is not None and disk.problem is not None else error
        if isinstance(problem, HDF5_ERRORS):
            raise _write_error(partial, problem) from error
        raise problem from None  # a signal's
    finally:
        if disk is not None:
            disk.close()


def _write_error(partial: str, error: BaseException) -> WriteError:
    """What went wrong while writing, in the user's words."""
    folder = os.path.dirname(partial)
    number = _error_number(error)
    if number == errno.ENOENT or not os.path.isdir(folder):
        return WriteError("cannot write: there is no folder %s" % folder, "make the folder first")
    if number in (errno.EACCES, errno.EPERM):
        return WriteError("cannot write: no permission in %s" % folder, "choose another folder")
    cause = os.strerror(number) if number else _first_line(error)
    return WriteError("cannot write: %s" % cause, "check space and permissions in %s" % folder)


def _sync(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def finish(path: str, texts: Mapping[str, str]) -> None:
    """Give a file that Keras wrote new root texts, each of the type that the old one has, and bring it to disk."""
    try:
        if texts:
            with open_source(path) as source:
                kinds = {name: _text_type(source, ("/", name), text.encode("utf-8")) for name, text in texts.items()}
            with h5py.File(path, "r+") as handle:
                for name, text in texts.items():
                    handle.attrs.create(name, text.encode("utf-8"), shape=(), dtype=kinds[name])
        _sync(path)
    except (OSError, RuntimeError) as error:
        raise _write_error(path, error) from error


def put_in_place(partial: str, target: str, overwrite: bool) -> None:
    """Give a finished file its name: whole or not at all, on disk when this returns.

    A target that is replaced gives its permissions to the new file; one that is a symbolic link stays one, and
    the file that it points to is replaced.

    Raises
    ------
    TargetExistsError
        `target` is there and `overwrite` is False.
    """
    place = os.path.realpath(target) if overwrite else target
    try:
        if overwrite:
            take_mode(partial, place)
            os.replace(partial, place)
        else:
            _rename_new(partial, target)
    except FileExistsError as error:
        raise TargetExistsError("exists", "--overwrite replaces it") from error
    except OSError as error:
        raise _write_error(partial, error) from error
    if os.name == "posix":
        try:
            sync_folder(os.path.dirname(os.path.abspath(place)))
        except OSError as error:
            raise WriteError(
                "written, but the disk did not confirm it: %s" % os.strerror(error.errno or errno.EIO),
                "check the disk, then the file",
            ) from error


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


def root_names(path: str) -> List[str]:
    """Names of the root's attributes and members: enough to tell whether a file is one of Keras.

    What lies below is not looked at, so what `open_source` refuses may be asked too.
    """
    handle = _open_for_reading(path)
    try:
        return [as_text(name) for name in handle.attrs] + [as_text(name) for name in handle]
    finally:
        handle.close()


def library_versions() -> Dict[str, str]:
    """Versions of h5py and of the HDF5 library."""
    return {"h5py": str(h5py.version.version), "hdf5": str(h5py.version.hdf5_version)}
