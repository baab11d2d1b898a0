"""A new HDF5 file: objects copied as they are, attributes as Keras writes them; whole, or not at all."""

import contextlib
import functools
import io
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import h5py
import numpy as np

from ..arrays import Array, ArraySource
from ..atomic import AtomicFile
from ..errors import FileError, UnparallelError
from ..model import element_count
from .disk import Disk
from .errors import HDF5_ERRORS, error_number, first_line, reading
from .kinds import File, GroupID, SpaceID, TypeID
from .opening import open_source
from .source import ATTRIBUTE_LIMIT, LONGEST_ATTRIBUTE, Source, limit_cache, parts_of

if TYPE_CHECKING:
    from ..arrays import Numbers

# The file made of a source up to this size is put together in memory, and written at once.
GATHERED = 2**24


class Target:
    """A new HDF5 file that is being written."""

    def __init__(self, handle: File, source: ArraySource, disk: Disk) -> None:
        self.handle = handle
        self.source = source
        self._disk = disk
        self._links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        self._links.set_create_intermediate_group(True)
        # Keras gives arrays no attributes: whatever hangs on one is not part of the model
        self._bare = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
        self._bare.set_copy_object(h5py.h5o.COPY_WITHOUT_ATTR_FLAG)
        # groups that were made last, each in the one before it: what is made in them next is named from there
        self._groups: List[Tuple[str, GroupID]] = []

    @property
    def _hdf5(self) -> Source:
        """The source as the HDF5 file that it must be for what is asked of it."""
        assert isinstance(self.source, Source)
        return self.source

    def group(self, path: str) -> None:
        """Make a group, with those above it; one that is there already stays."""
        # to ask first whether it is there costs twice as much as to make it
        with contextlib.suppress(ValueError):
            if path.isascii():
                owner, name = self._near(path)
                self._groups.append((path + "/", h5py.h5g.create(owner, name, lcpl=self._links)))
                return
        self.handle.require_group(path)

    def _near(self, path: str) -> Tuple[GroupID, bytes]:
        """An open group, and a path from there; what is found from the root goes through every group on the way."""
        while self._groups and not path.startswith(self._groups[-1][0]):
            self._groups.pop()
        if not self._groups:
            return self.handle.id, path.encode("utf-8")
        above, group = self._groups[-1]
        return group, path[len(above) :].encode("utf-8")

    def set_names(self, path: str, name: str, items: Sequence[str], fixed: bool = True) -> None:
        """A list attribute as Keras writes it: split, and then of fixed-length texts, above 64,512 bytes.

        A shorter list is one of fixed-length texts under h5py 2 and of variable-length ones under h5py 3.
        """
        encoded = [item.encode("utf-8") for item in items]
        if len(encoded) * max(map(len, encoded), default=0) > LONGEST_ATTRIBUTE:
            # the longest name sets the width of all
            raise FileError(f"{len(items)} names as long as the longest are too much", "no Keras could write this")
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
            self._set_list(path, name if len(parts) == 1 else f"{name}{i}", part)

    def _set_list(self, path: str, name: str, data: "Numbers") -> None:
        """What `attrs[name] = data` does, without opening the object as a Python one first."""
        owner, place = self._near(path.rstrip("/") + "/")
        kind, space = _kind_of(data.dtype), _space_of(data.shape)
        h5py.h5a.create(owner, name.encode("utf-8"), kind, space, obj_name=place or b".").write(data)

    def set_text(
        self, path: str, name: str, value: str, like: Optional[Tuple[str, str]] = None, charset: str = "ascii"
    ) -> None:
        """A text attribute of the type of the source's attribute `like` (path, name), else variable-length."""
        data = value.encode("utf-8")
        dtype = _text_type(self._hdf5, like, data) if like else h5py.string_dtype(charset)
        self.handle[path].attrs.create(name, data, shape=(), dtype=dtype)
        limit_cache(self.handle)

    def copy_attribute(self, source_path: str, path: str, name: str) -> None:
        """Carry a scalar text attribute over, type and all; one that is absent stays absent."""
        value = self._hdf5.text(source_path, name)
        if value is not None:
            self.set_text(path, name, value, like=(source_path, name))

    def copy(self, source_path: str, path: str) -> None:
        """Copy an array as an object, no byte decoded; from a source that is no HDF5 file, as `create` does."""
        if not isinstance(self.source, Source):
            self.create(path, self.source.arrays[source_path], self.source.blocks(source_path))
            return
        with reading():  # what the disk refuses is no error to HDF5
            # a chunk that cannot be copied leaves HDF5 2.0 with broken memory: it crashes when the file is closed
            self.source.check_places(source_path)
            origin = source_path.encode("utf-8")
            owner, place = self._near(path)
            h5py.h5o.copy(self.source.handle.id, origin, owner, place, copypl=self._bare, lcpl=self._links)
        self._disk.check()

    def create(self, path: str, array: Array, blocks: Iterable[bytes]) -> None:
        """Make a dataset as Keras does, contiguous and without attributes, of bytes that come in C order.

        Raises
        ------
        FileError
            They are fewer or more than the array has.
        """
        dataset = self.handle.create_dataset(path, array.shape, dtype=np.dtype(array.code), track_times=False)
        stream = _Stream(blocks)
        # consecutive selections of one block at most: what comes in is never whole in memory
        for part in (parts_of(dataset) if dataset.size else ()) if dataset.shape else [()]:
            dataset[part] = stream.take(_shape_of(array.shape, part), np.dtype(array.code))
        stream.end(path)
        self._disk.check()

    def put(self, path: str, values: "Numbers") -> None:
        """Write an array that comes from no file as it is."""
        space = h5py.h5s.create_simple(values.shape) if values.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_obj_track_times(False)  # equal input gives equal bytes
        kind = h5py.h5t.py_create(values.dtype)
        place = path.encode("utf-8")
        made = h5py.h5d.create(self.handle.id, place, kind, space, dcpl=settings, lcpl=self._links)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        self._disk.check()

    def replace_non_finite(self, path: str, neutral: float) -> None:
        """Put `neutral` in place of what is not finite in a copied array, a block at a time."""
        dataset = self.handle[path]
        for part in parts_of(dataset) if dataset.shape else [()]:
            values = dataset[part]
            dataset[part] = np.where(np.isfinite(values), values, values.dtype.type(neutral))
        self._disk.check()

    def copy_group(self, source_path: str, path: str, lists: Sequence[str]) -> None:
        """Copy the arrays at any depth below a group and its list attributes of these names, and nothing else.

        Copying the group as an object would bring along whatever a stranger's file has tied to it.
        """
        self.group(path)
        for name in lists:
            items = self._hdf5.names(source_path, name)
            if items is not None:
                self.set_names(path, name, items, self._hdf5.has_fixed_names(source_path, name))
        for array in self.source.below(source_path):
            self.copy(array, path + array[len(source_path) :])


class _Stream:
    """Bytes that come in blocks of any size, given out in pieces of any other."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._left = bytearray()

    def take(self, shape: Tuple[int, ...], dtype: "np.dtype[Any]") -> "Numbers":
        """The next elements, as many as the shape has."""
        size = dtype.itemsize * element_count(shape)
        while len(self._left) < size:
            block = next(self._blocks, None)
            if block is None:
                raise FileError("an array ends too early", "get a fresh copy of the source")
            self._left += block
        piece = bytes(self._left[:size])
        del self._left[:size]
        return np.frombuffer(piece, dtype).reshape(shape)

    def end(self, path: str) -> None:
        """Refuse bytes that are left; the source has its say on the checksum when it is asked for what is none."""
        if self._left or next(self._blocks, None) is not None:
            raise FileError(f"{path}: an array is longer than it says", "get a fresh copy of the source")


@functools.lru_cache(maxsize=64)
def _kind_of(dtype: "np.dtype[Any]") -> TypeID:
    return h5py.h5t.py_create(dtype, logical=True)  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=64)
def _space_of(shape: Tuple[int, ...]) -> SpaceID:
    return h5py.h5s.create_simple(shape)  # type: ignore[no-any-return]


def _shape_of(shape: Tuple[int, ...], part: Tuple[slice, ...]) -> Tuple[int, ...]:
    """The shape of a selection of leading axes."""
    lengths = tuple(min(cut.stop, length) - cut.start for cut, length in zip(part, shape))
    return lengths + shape[len(part) :]


def _text_type(source: Source, like: Tuple[str, str], data: bytes) -> "np.dtype[Any]":
    """The type for a text attribute: that of an attribute of the source."""
    kind = h5py.h5a.open(source.handle[like[0]].id, like[1].encode("utf-8")).get_type()
    charset = "utf-8" if kind.get_cset() == h5py.h5t.CSET_UTF8 else "ascii"
    length = None if kind.is_variable_str() else max(1, len(data))
    return h5py.string_dtype(charset, length)  # type: ignore[no-any-return]


@contextlib.contextmanager
def new_file(out: AtomicFile, source: ArraySource, head: int = 0) -> Iterator[Target]:
    """A new HDF5 file, whole when the block ends; the disk has it all when `out` is committed.

    The first `head` bytes are left free: 512, or twice that any number of times, for HDF5 to find its own behind them.

    Raises
    ------
    WriteError
        It cannot be written.
    """
    disk: Optional[Disk] = None
    try:
        disk = Disk(out.begin(), head)
        # HDF5 writes each piece of a file's structure by itself, and each would be a call of Python and of the system
        memory = io.BytesIO() if source.stored_size() <= GATHERED else None
        handle = h5py.File(disk if memory is None else memory, "w", libver="earliest")
        target = Target(handle, source, disk)
        try:
            limit_cache(handle)
            yield target
        finally:
            handle.close()
        if memory is not None:
            disk.write(memory.getvalue())
        out.synced_by(disk.sync())
    except HDF5_ERRORS as error:
        problem = disk.problem if disk is not None and disk.problem is not None else error
        if isinstance(problem, UnparallelError):
            raise
        if isinstance(problem, HDF5_ERRORS):
            raise out.error(error_number(problem), first_line(problem)) from error
        raise problem from None  # a signal's
    finally:
        if disk is not None:
            disk.close()


@contextlib.contextmanager
def writing(out: AtomicFile) -> Iterator[None]:
    """What h5py raises in the block because the disk refused something is an error about the target."""
    try:
        yield
    except HDF5_ERRORS as error:
        if isinstance(error, UnparallelError) or not (isinstance(error, OSError) or error_number(error)):
            raise
        raise out.error(error_number(error), first_line(error)) from error


def set_texts(out: AtomicFile, texts: Mapping[str, str]) -> None:
    """Give a file that Keras wrote new root texts, each of the type that the old one has."""
    if not texts:
        return
    with open_source(out.partial) as source:
        kinds = {name: _text_type(source, ("/", name), text.encode("utf-8")) for name, text in texts.items()}
    with writing(out), h5py.File(out.partial, "r+") as handle:
        for name, text in texts.items():
            handle.attrs.create(name, text.encode("utf-8"), shape=(), dtype=kinds[name])
