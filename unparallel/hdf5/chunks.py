"""Chunked arrays: nothing is handed to a decompressor before it is known how much will come out.

HDF5 inflates a chunk until the stream ends, however large the chunk was said to be: a file of 1 MB can ask for
1 GB of memory to give an array of 4 KB, and a stream that ends early leaves HDF5 reading past its buffer.
So each compressed chunk is inflated here first, within bounds, and must come out at its exact size.  Imports no
h5py: an open `h5py.Dataset` is handed in.
"""

import itertools
import zlib
from typing import Iterator, List, Tuple

from .kinds import Dataset

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


def bytes_of(shape: Tuple[int, ...], itemsize: int) -> int:
    """Bytes of an array in memory."""
    size = itemsize
    for length in shape:
        size *= length
    return size


def problem(
    shape: Tuple[int, ...], chunk: Tuple[int, ...], itemsize: int, stored: int, filters: Tuple[int, ...]
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


def number_of(shape: Tuple[int, ...], chunk: Tuple[int, ...]) -> int:
    """How many chunks an array has."""
    count = 1
    for length, step in zip(shape, chunk):
        count *= -(-length // step)
    return count


def corners(shape: Tuple[int, ...], chunk: Tuple[int, ...]) -> Iterator[Tuple[int, ...]]:
    """Where each chunk begins, in C order."""
    return itertools.product(*(range(0, length, step) for length, step in zip(shape, chunk)))


def filters_of(dataset: Dataset) -> List[Filter]:
    """Codes, flags and settings of an array's filters."""
    if not dataset.chunks:
        return []
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[:3] for i in range(plist.get_nfilters())]


def check_chunks(dataset: Dataset) -> str:
    """What is wrong with an array's chunks; "" where all can be read and unpack to what they should.

    Parameters
    ----------
    dataset : h5py.Dataset
        One for which `problem` is "".
    """
    if not dataset.chunks:
        return ""
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    wanted = bytes_of(dataset.chunks, dataset.dtype.itemsize)
    for corner in corners(dataset.shape, dataset.chunks):
        if _stored_size(dataset, corner) > wanted + wanted // 8 + 1024:
            return f"has a chunk at {corner} that is stored in more bytes than it has"
        skipped, data = dataset.id.read_direct_chunk(corner)
        used = [code for i, code in enumerate(filters) if not skipped >> i & 1]
        if not _comes_out(data, used, wanted):
            return f"has a chunk at {corner} that does not unpack to {wanted} bytes"
    return ""


def _stored_size(dataset: Dataset, corner: Tuple[int, ...]) -> int:
    """Bytes that a chunk takes in the file; 0 where h5py cannot tell (before 3.0)."""
    ask = getattr(dataset.id, "get_chunk_info_by_coord", None)
    return int(ask(corner).size) if ask is not None else 0


def _comes_out(data: bytes, filters: List[int], wanted: int) -> bool:
    """Whether stored bytes give just `wanted` bytes when the filters are undone, the last one first."""
    for i, code in reversed(list(enumerate(filters))):
        # checksums that come before this filter are inside what it gives
        size = wanted + CHECKSUM * filters[:i].count(FLETCHER32)
        if code == FLETCHER32:
            data = data[:-CHECKSUM]
        elif code == DEFLATE:
            data = _inflated(data, size)
        elif code == LZF:
            return bool(_lzf_size(data, size) == size)
    return len(data) == wanted


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
