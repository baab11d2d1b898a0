"""Chunked arrays: nothing is handed to a decompressor before it is known how much will come out.

HDF5 inflates a chunk until the stream ends, however large the chunk was said to be: a file of 1 MB can ask for
1 GB of memory to give an array of 4 KB, and a stream that ends early leaves HDF5 reading past its buffer.
So each compressed chunk is inflated here, within bounds, and must come out at its exact size, before anything else
reads it; mostly nothing else need.  Imports no h5py: an open dataset is handed in.
"""

from __future__ import annotations

import itertools
import os
import zlib
from typing import TYPE_CHECKING, Callable, Iterator, NamedTuple, Tuple

import numpy as np

from ..errors import HostileFileError

if TYPE_CHECKING:
    from ..arrays import Array
    from .kinds import ChunkInfo, DatasetID

# The codes that the HDF5 Group gave to the filters, and the one of h5py's own.
DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
# Filters that every h5py holds.  Others would load a plug-in; szip, nbit and scaleoffset are compiled in, and have
# had more memory errors than users.
FILTERS = {DEFLATE: "deflate", SHUFFLE: "shuffle", FLETCHER32: "fletcher32", LZF: "lzf"}
# h5repack makes chunks of up to 32 MB; while one is read, HDF5 holds three times its size.
LARGEST_CHUNK = 32 * 2**20
# Neither zlib (1032:1) nor lzf (88:1) can shrink by more.
LARGEST_RATIO = 1100
MOST_CHUNKS = 1_000_000
CHECKSUM = 4

# Code, flags and settings
Filter = Tuple[int, int, Tuple[int, ...]]


def bytes_of(shape: tuple[int, ...], itemsize: int) -> int:
    """Bytes of an array in memory."""
    size = itemsize
    for length in shape:
        size *= length
    return size


def problem(
    shape: tuple[int, ...], chunk: tuple[int, ...], itemsize: int, stored: int, filters: tuple[int, ...]
) -> str:
    """Why a chunked array cannot be what it claims, before anything of it is read; "" where it can.

    Parameters
    ----------
    shape, chunk : tuple of int
    itemsize : int
        Bytes of an element.
    stored : int
        Bytes that the file has for it.
    filters : tuple of int
        Codes of its filters.
    """
    size, each = bytes_of(shape, itemsize), bytes_of(chunk, itemsize)
    if not size:
        return ""
    if each > LARGEST_CHUNK:
        return f"has chunks of {each} bytes (up to {LARGEST_CHUNK} are read)"
    if len(set(filters)) != len(filters) or (DEFLATE in filters and LZF in filters):
        return "is compressed twice"
    count = number_of(shape, chunk)
    if count * each > stored * (LARGEST_RATIO if filters else 1) or count > stored:
        return f"claims {size} bytes, the file holds {stored} for it"
    if count > MOST_CHUNKS:
        return f"has {count} chunks"
    return ""


def number_of(shape: tuple[int, ...], chunk: tuple[int, ...]) -> int:
    """How many chunks an array has."""
    count = 1
    for length, step in zip(shape, chunk):
        count *= -(-length // step)
    return count


def corners(shape: tuple[int, ...], chunk: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where each chunk begins, in C order."""
    return itertools.product(*(range(0, length, step) for length, step in zip(shape, chunk)))


class Chunk(NamedTuple):
    """A chunk as it is stored.

    Attributes
    ----------
    corner : tuple of int
        Where it begins in the array.
    skipped : int
        The filters that it did not go through, as bits.
    data : bytes
    """

    corner: tuple[int, ...]
    skipped: int
    data: bytes


class StoredChunks:
    """The chunks of an open array in C order: as they are stored, checked, and unpacked.

    Parameters
    ----------
    path : str
        Of the array, for errors.
    dataset : h5py.h5d.DatasetID
    array : Array
        What is known of it, which is no problem.
    number : int, optional
        Descriptor of the file, where it can be read at the places that HDF5 names: that is cheaper than HDF5 itself.
    file_size : int
        Bytes.

    Attributes
    ----------
    filters : list of Filter
        In the order in which they were applied.
    shape : tuple of int
        Of one chunk.
    """

    def __init__(self, path: str, dataset: DatasetID, array: Array, number: int | None, file_size: int) -> None:
        plist = dataset.get_create_plist()
        self.filters: list[Filter] = [plist.get_filter(i)[:3] for i in range(plist.get_nfilters())]
        self.shape = plist.get_chunk()
        self._path = path
        self._id = dataset
        self._whole = array.shape
        self._dtype = np.dtype(array.code)
        self._number = number
        self._file_size = file_size
        self._wanted = bytes_of(self.shape, self._dtype.itemsize)
        # h5py before 3.0 does not tell where a chunk lies
        self._ask: Callable[[tuple[int, ...]], ChunkInfo] | None = getattr(dataset, "get_chunk_info_by_coord", None)

    @property
    def readable(self) -> bool:
        """Whether `elements` can be asked for: of lzf and checksums only HDF5 knows all."""
        plain = self._dtype.kind in "iuf" and self._dtype.itemsize <= 8
        return plain and all(code in (DEFLATE, SHUFFLE) for code, _, _ in self.filters)

    def places(self) -> Iterator[tuple[int, int]]:
        """(offset, bytes) of the chunks in the file, as far as that can be told."""
        for corner in corners(self._whole, self.shape) if self._ask is not None and self._number is not None else ():
            place = self._place(corner)
            if place is not None:
                yield place.byte_offset, place.size

    def check_places(self) -> None:
        """Refuse chunks that are not in the file; nothing is unpacked.

        Raises
        ------
        HostileFileError
            One takes more bytes than it has.
        OSError, ...
            HDF5 cannot read one.
        """
        for corner in corners(self._whole, self.shape):
            if self._place(corner) is None:
                self._id.read_direct_chunk(corner)

    def __iter__(self) -> Iterator[Chunk]:
        for corner in corners(self._whole, self.shape):
            place = self._place(corner)
            if place is not None and self._number is not None:
                yield Chunk(corner, place.filter_mask, os.pread(self._number, place.size, place.byte_offset))
            else:
                yield Chunk(corner, *self._id.read_direct_chunk(corner))

    def check(self) -> None:
        """Refuse chunks that cannot be read, or do not unpack to what they should."""
        for chunk in self:
            self.unpacked(chunk)

    def unpacked(self, chunk: Chunk) -> bytes:
        """What a chunk holds; without meaning where it is not `readable`, but checked.

        Raises
        ------
        HostileFileError
            It does not unpack to its exact size.
        """
        used = [item for i, item in enumerate(self.filters) if not chunk.skipped >> i & 1]
        data = _undone(chunk.data, used, self._wanted)
        if data is None:
            raise self._error(chunk.corner, f"does not unpack to {self._wanted} bytes")
        return data

    def elements(self, chunk: Chunk) -> bytes:
        """As `unpacked`, without what stands for elements beyond the array's end."""
        data = self.unpacked(chunk)
        cut = tuple(slice(0, length - start) for length, start in zip(self._whole, chunk.corner))
        if all(part.stop >= step for part, step in zip(cut, self.shape)):
            return data
        return np.frombuffer(data, self._dtype).reshape(self.shape)[cut].tobytes()

    def _place(self, corner: tuple[int, ...]) -> ChunkInfo | None:
        """Where a chunk lies, if it is in the file and can be read there."""
        if self._ask is None:
            return None
        place = self._ask(corner)
        if place.size > self._wanted + self._wanted // 8 + 1024:
            raise self._error(corner, "is stored in more bytes than it has")
        known = self._number is not None and place.size > 0
        return place if known and place.byte_offset + place.size <= self._file_size else None

    def _error(self, corner: tuple[int, ...], what: str) -> HostileFileError:
        return HostileFileError(
            f"{self._path} has a chunk at {corner} that {what}", "the file is damaged, or not to be trusted"
        )


def _undone(data: bytes, filters: list[Filter], wanted: int) -> bytes | None:
    """What stored bytes give when the filters are undone, the last one first; None where not just `wanted` bytes.

    lzf is not unpacked but counted, and gives nothing.
    """
    codes = [code for code, _, _ in filters]
    for i, (code, _, settings) in reversed(list(enumerate(filters))):
        # checksums that come before this filter are inside what it gives
        size = wanted + CHECKSUM * codes[:i].count(FLETCHER32)
        if code == FLETCHER32:
            data = data[:-CHECKSUM]
        elif code == DEFLATE:
            data = _inflated(data, size)
        elif code == SHUFFLE:
            data = _in_order(data, settings)
        elif code == LZF:
            return b"" if _lzf_size(data, size) == size else None
    return data if len(data) == wanted else None


def _in_order(data: bytes, settings: tuple[int, ...]) -> bytes:
    """Elements whose first bytes, second bytes and so on stood together; nothing where their size is none."""
    if len(settings) != 1 or not settings[0]:
        return b""
    count = len(data) // settings[0]
    whole = count * settings[0]
    # bytes that make no whole element stay where they are
    return np.frombuffer(data[:whole], "u1").reshape(settings[0], count).T.tobytes() + data[whole:]


def _inflated(data: bytes, size: int) -> bytes:
    """The first `size` + 1 bytes at most of what a zlib stream holds; nothing where it is damaged."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, size + 1)
    except zlib.error:
        return b""
    return found if stream.eof or len(found) > size else b""


def _lzf_size(data: bytes, most: int) -> int:
    """How many bytes lzf data stands for, counted up to `most` and a little; -1 where it is damaged."""
    at = size = 0
    end = len(data)
    while at < end and size <= most:
        control = data[at]
        if control < 32:  # so many bytes as they are, and one
            at += control + 2
            size += control + 1
            continue
        # bytes from before, again: seven or more are counted on in the next byte
        length = control >> 5
        if length == 7:
            if at + 1 >= end:
                return -1
            length += data[at + 1]
            at += 1
        at += 2
        size += length + 2
    return size if at <= end else -1
