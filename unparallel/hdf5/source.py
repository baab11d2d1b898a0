"""An HDF5 file open for reading: attributes, arrays, and their bytes in blocks."""

import itertools
import os
from typing import TYPE_CHECKING, Callable, Iterator, List, Optional, Set, Tuple

import h5py
import numpy as np

from ..arrays import STORED_BLOCK, ArraySource
from ..errors import FileError, HostileFileError, NotKerasError
from . import chunks, heaps
from .checks import link_name
from .errors import HOSTILE, reading
from .kinds import Dataset, File, TypeID
from .survey import MOST_OBJECTS, survey

if TYPE_CHECKING:
    from ..arrays import Numbers

# Keras splits list attributes above this many bytes, since an object header holds 64 KiB at most.
ATTRIBUTE_LIMIT = 64512
# A model_config of 30 MB exists; an attribute that claims more than this is not a config.
LONGEST_ATTRIBUTE = 32 * 2**20
# What 64 KiB, the most that an attribute of Keras' has, hold.
MOST_VARIABLE_TEXTS = 4096
# Up to here, a file's heaps are looked for in all of it, before HDF5 touches it.
SMALL_FILE = 64 * 2**20
# Of more chunks than this, a larger file is searched for heaps as if they were part of its structure.
MOST_PIECES = 2**17
BLOCK = 2**20
# Bytes of an open file's structure that HDF5 keeps in memory, and the most where a single piece is larger.
STRUCTURE_CACHE = 2**20
LARGEST_CACHE = 2**26


def as_text(value: object) -> str:
    """`value` as text: h5py 2.10 gives bytes where 3.x gives str."""
    if isinstance(value, (bytes, np.bytes_)):
        return bytes(value).decode("utf-8")
    return str(value)


class Source(ArraySource):
    """An HDF5 file open for reading, all its objects checked.

    Use `open_source`, which makes one.
    """

    def __init__(self, path: str, handle: File) -> None:
        self.path = path
        self.handle = handle
        self._unpacked: Set[str] = set()
        # the file that HDF5 itself has open, where the system can read at a place of it
        plain = handle.driver == "sec2" and hasattr(os, "pread")
        self._number: Optional[int] = handle.id.get_vfd_handle() if plain else None
        with reading():
            self._file_size = os.path.getsize(path)
            self._heaps = heaps.HeapGuard(path, self._file_size, handle.userblock_size)
            if self._file_size <= SMALL_FILE:
                self._heaps.check([])
            contents = survey(handle, self._file_size)
        self.arrays = contents.arrays
        self.groups = contents.groups
        self._lists = contents.lists

    def attribute_names(self, path: str) -> List[str]:
        """Names of the attributes of the object at `path`, sorted."""
        owner = self.handle[path].id
        names = [link_name(h5py.h5a.open(owner, index=i).name) for i in range(h5py.h5a.get_num_attrs(owner))]
        return sorted(names)

    def has_attribute(self, path: str, name: str) -> bool:
        """Whether the object at `path` has that attribute."""
        if (path, name) in self._lists:
            return True
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
            limit_cache(self.handle)  # a config is a large piece
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if not isinstance(value, (str, bytes)):
            raise NotKerasError(
                f"attribute {name!r} of {path} is not a text", "the file is damaged, or not a Keras file"
            )
        try:
            return as_text(value)
        except UnicodeDecodeError as error:
            raise NotKerasError(f"attribute {name!r} of {path} is not UTF-8", "the file is damaged") from error

    def names(self, path: str, name: str) -> Optional[List[str]]:
        """A list attribute, whole or split over name0, name1, ...; None where neither is there."""
        if self.has_attribute(path, name):
            return self._list(path, name)
        items: List[str] = []
        part = 0
        while self.has_attribute(path, f"{name}{part}"):
            items += self._list(path, f"{name}{part}")
            part += 1
            if len(items) > MOST_OBJECTS:
                raise HostileFileError(f"attribute {name!r} of {path} has too many parts", HOSTILE)
        return items if part else None

    def has_fixed_names(self, path: str, name: str) -> bool:
        """Whether a list attribute holds fixed-length texts; True for one that is split or empty."""
        if (path, name) in self._lists or not self.has_attribute(path, name):
            return True
        kind = h5py.h5a.open(self.handle[path].id, name.encode("utf-8")).get_type()
        return not (isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str())

    def _list(self, path: str, name: str) -> List[str]:
        value = np.asarray(self._attribute(path, name))
        if value.ndim != 1 or (value.size and value.dtype.kind not in "SUO"):
            raise NotKerasError(f"attribute {name!r} of {path} is not a list of names", "the file is damaged")
        try:
            return [as_text(item) for item in value]
        except UnicodeDecodeError as error:
            raise NotKerasError(f"attribute {name!r} of {path} is not UTF-8", "the file is damaged") from error

    def _attribute(self, path: str, name: str) -> object:
        known = self._lists.get((path, name))
        if known is not None:
            return known
        with reading():
            attribute = h5py.h5a.open(self.handle.id, name.encode("utf-8"), obj_name=path.encode("utf-8"))
            kind, shape = attribute.get_type(), attribute.shape
            self._check_attribute(path, name, kind, shape)
            if not shape or not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
                return self.handle[path].attrs[name]
            # a list of names, one a layer: h5py's own way takes twice as long
            value = np.empty(shape, f"S{kind.get_size()}")
            attribute.read(value)
            return value

    def _check_attribute(self, path: str, name: str, kind: TypeID, shape: Tuple[int, ...]) -> None:
        """Refuse an attribute whose shape claims more than a config or a list of names could need."""
        count = chunks.bytes_of(shape, 1)
        size = count * max(1, kind.get_size())
        if count > MOST_OBJECTS or size > min(LONGEST_ATTRIBUTE, self._file_size):
            raise HostileFileError(f"attribute {name!r} of {path} claims {count} elements", "do not trust this file")
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            self._check_texts(path, name, count)

    def _check_texts(self, path: str, name: str, count: int) -> None:
        """Refuse texts of variable length that HDF5 could hang on, or that take more memory than a config does."""
        if count > MOST_VARIABLE_TEXTS:
            raise HostileFileError(f"attribute {name!r} of {path} holds {count} texts", HOSTILE)
        self._heaps.check(self._storage())

    def _storage(self) -> Iterator[Tuple[int, int]]:
        """(offset, bytes) of all pieces of the file that hold elements of arrays, and nothing of its structure."""
        left = MOST_PIECES
        for path, array in self.arrays.items():
            if array.offset is not None:
                yield array.offset, array.size
                continue
            chunked = self._chunks(path) if not array.problem else None
            for place in itertools.islice(chunked.places(), left) if chunked is not None else ():
                left -= 1
                yield place

    def stored_size(self) -> int:
        """Bytes of the whole file, when it was opened."""
        return self._file_size

    def blocks(self, path: str) -> Iterator[bytes]:
        """The array's elements as they lie in memory, in blocks of 1 MiB or less, unless its chunks are larger.

        In C order, unless the array is chunked: then a chunk, or a row of them, or a part of one, comes after another.

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
            chunked = self._chunks(path)
            if chunked is not None and chunked.readable:
                yield from map(chunked.elements, chunked)
                return
            self.check_unpacking(path)
            dataset = self.handle[path]
            yield from array_blocks(dataset)

    def whole(self, path: str) -> Optional[bytes]:
        """As `ArraySource.whole`: of arrays that lie in the file in one piece."""
        array = self.arrays[path]
        if array.offset is None or array.size > STORED_BLOCK or self._number is None:
            return None
        with reading():
            return self._piece(array.offset, array.size)

    def ordered(self, path: str) -> Iterator[bytes]:
        """As `ArraySource.ordered`; of an array in chunks, all chunks side by side are in memory at a time."""
        if self.arrays[path].offset is not None:
            yield from self.blocks(path)
            return
        with reading():
            self.check_unpacking(path)
            dataset = self.handle[path]
            if not dataset.shape:
                yield dataset[()].tobytes()
            elif dataset.size:
                row = chunks.bytes_of(dataset.shape[1:], dataset.dtype.itemsize)
                step = max(dataset.chunks[0] if dataset.chunks else 1, BLOCK // max(1, row))
                for start in range(0, dataset.shape[0], step):
                    yield dataset[start : start + step].tobytes()

    def _stored(self, offset: int, size: int) -> Iterator[bytes]:
        """A part of the file as it is: HDF5 would open a dataset for it, convert its type and copy it once more."""
        for start in range(offset, offset + size, STORED_BLOCK):
            yield self._piece(start, min(STORED_BLOCK, offset + size - start))

    def _piece(self, offset: int, size: int) -> bytes:
        assert self._number is not None
        block = os.pread(self._number, size, offset)
        if len(block) != size:
            raise FileError("the file is truncated", "copy it again: its end is missing")
        return block

    def numbers(self, path: str) -> "Numbers":
        """The whole array, in memory; its chunks are checked as for `blocks`."""
        with reading():
            self.check_unpacking(path)
            return np.asarray(self.handle[path][()])

    def packed(
        self, path: str, see: Optional[Callable[[bytes], None]] = None, ours: bool = False
    ) -> Optional[Iterator[object]]:
        """The chunks of a compressed array as they are stored; None for any other array.

        Two arrays for which all of it is equal are equal, and only one of them need be unpacked.  First come the facts
        by which they are read: type, shape, chunks and filters.  Unless the file is `ours`, each chunk is checked as
        for `blocks`, and its elements are shown to `see`.
        """
        with reading():
            chunked = self._chunks(path)
            return self._packed(path, chunked, see, ours) if chunked is not None and chunked.filters else None

    def _packed(
        self, path: str, chunked: chunks.StoredChunks, see: Optional[Callable[[bytes], None]], ours: bool
    ) -> Iterator[object]:
        array = self.arrays[path]
        with reading():
            yield array.code, array.shape, chunked.shape, chunked.filters
            for chunk in chunked:
                if see is not None and chunked.readable:
                    see(chunked.elements(chunk))
                elif not ours:
                    chunked.unpacked(chunk)
                yield chunk
            if see is not None and not chunked.readable:
                for block in array_blocks(self.handle[path]):
                    see(block)

    def _chunks(self, path: str) -> Optional[chunks.StoredChunks]:
        """The chunks of an array; None where it has none."""
        array = self.arrays[path]
        if array.offset is not None:
            return None
        dataset = h5py.h5d.open(self.handle.id, path.encode("utf-8"))
        if dataset.get_create_plist().get_layout() != h5py.h5d.CHUNKED:
            return None
        # of a file with a user block, HDF5's versions do not agree what a chunk's place is counted from
        number = self._number if not self.handle.userblock_size else None
        return chunks.StoredChunks(path, dataset, array, number, self._file_size)

    def check_places(self, path: str) -> None:
        """Refuse an array that is no weight, or has chunks that cannot be copied as they are stored."""
        with reading():
            self.array(path)
            chunked = self._chunks(path)
            if chunked is not None:
                chunked.check_places()

    def check_unpacking(self, path: str) -> None:
        """Refuse an array whose chunks cannot be read, or unpack to something else than they should."""
        if path in self._unpacked:
            return
        with reading():
            chunked = self._chunks(path)
            if chunked is not None:
                chunked.check()
        self._unpacked.add(path)


def array_blocks(dataset: Dataset) -> Iterator[bytes]:
    """The elements of an open `h5py.Dataset`, a block at a time, with bounded memory."""
    if not dataset.shape:
        yield dataset[()].tobytes()
    elif dataset.size:
        for part in parts_of(dataset):
            yield dataset[part].tobytes()


def parts_of(dataset: Dataset) -> Iterator[Tuple[slice, ...]]:
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


def limit_cache(handle: File) -> None:
    """Take HDF5's cache back to its least; it grows again for large pieces, and for nothing else.

    By itself it takes up to 32 MiB, for what is looked at once.  All names in a group are one piece, which would be
    read or written again with every name if they did not fit.
    """
    config = handle.id.get_mdc_config()
    config.set_initial_size = True
    config.initial_size = config.min_size = STRUCTURE_CACHE
    config.max_size = LARGEST_CACHE
    # not by the share of what is found in it, but for a piece that is larger than all of it
    config.incr_mode = config.decr_mode = 0
    config.flash_threshold = 1.0
    handle.id.set_mdc_config(config)
