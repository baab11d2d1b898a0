"""A checkpoint's arrays: the index of a TensorBundle, and the shards that hold the bytes.

Format: tensorflow/core/util/tensor_bundle (BundleHeaderProto, BundleEntryProto in tensor_bundle.proto).  The key ""
is the header, every other key an array: raw, little-endian, unpadded, in C order.  Names of shards are made from the
prefix and two numbers, never taken from the data.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any, Iterator, NamedTuple

from ..errors import FileError, HostileFileError
from . import table
from .crc32c import by_table, fast, masked
from .wire import fields, grouped, number, piece

# tensorflow/core/framework/types.proto
TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64",
    10: "bool", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
SIZES = {
    "float32": 4, "float64": 8, "int32": 4, "uint8": 1, "int16": 2, "int8": 1, "complex64": 8, "int64": 8,
    "bool": 1, "uint16": 2, "complex128": 16, "float16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip
OTHER_TYPES = {7: "texts", 14: "bfloat16", 20: "resources", 21: "variants"}
TEXT = 7
LITTLE_ENDIAN = 0
MOST_SHARDS = 99_999  # five digits in their names
DEEPEST_SHAPE = 32  # numpy has no more axes
BLOCK = 2**18
LARGEST_TEXT = 16 * 2**20
UNTRUSTED = "do not trust this checkpoint"
AGAIN = "copy the whole checkpoint again"


class Entry(NamedTuple):
    """One array: its type (numpy's name, "" where it has none), shape, and where its bytes lie."""

    dtype: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc: int
    problem: str = ""


@dataclass(frozen=True)
class Header:
    """What the index says of all of it."""

    shards: int = 1
    endianness: int = LITTLE_ENDIAN


class Bundle:
    """A checkpoint open for reading.

    Parameters
    ----------
    prefix : str
        What `save` was given: the path without `.index` and `.data-00000-of-00001`.

    Raises
    ------
    FileError
        The index is missing or damaged, a shard is missing or too short.
    HostileFileError
        Sizes that no checkpoint has.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._open: dict[int, Any] = {}
        self._crc32c = fast()
        entries = table.read(prefix + ".index")
        header = entries.pop(b"", None)
        if header is None:
            raise FileError("its index has no header", "this is no checkpoint of TensorFlow's")
        self.header = _header(header)
        self.entries = _entries(entries)
        self._sizes = [_shard_size(self._shard_path(i)) for i in range(self.header.shards)]
        self._check_sizes()

    @property
    def checks_arrays(self) -> bool:
        """Whether the arrays' checksums are looked at."""
        return self._crc32c is not None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return os.path.getsize(self.prefix + ".index") + sum(self._sizes)

    @property
    def files(self) -> list[str]:
        """Paths of the index and of the shards."""
        return [self.prefix + ".index"] + [self._shard_path(i) for i in range(self.header.shards)]

    def close(self) -> None:
        """Close the shards."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _shard_path(self, shard: int) -> str:
        return f"{self.prefix}.data-{shard:05d}-of-{self.header.shards:05d}"

    def _check_sizes(self) -> None:
        """Refuse arrays that lie outside their shard, or that share bytes: each is copied."""
        spent = [0] * self.header.shards
        for key, entry in self.entries.items():
            if entry.shard >= self.header.shards:
                raise HostileFileError(f"{key!r} lies in shard {entry.shard} of {self.header.shards}", UNTRUSTED)
            spent[entry.shard] += entry.size
            if entry.offset + entry.size > self._sizes[entry.shard]:
                raise FileError(f"{os.path.basename(self._shard_path(entry.shard))} is too short for {key!r}", AGAIN)
            if spent[entry.shard] > self._sizes[entry.shard]:
                raise HostileFileError(f"{key!r} and those before claim more bytes than there are", UNTRUSTED)

    def blocks(self, key: str) -> Iterator[bytes]:
        """The bytes of an array, in blocks of 256 KiB or less.

        Raises
        ------
        FileError
            They cannot be read, or their checksum is wrong (which shows after the last block).
        """
        entry = self.entries[key]
        crc = 0
        for start in range(entry.offset, entry.offset + entry.size, BLOCK):
            block = self._read(entry.shard, start, min(BLOCK, entry.offset + entry.size - start))
            if self._crc32c is not None:
                crc = self._crc32c(block, crc)
            yield block
        if self._crc32c is not None and masked(crc) != entry.crc:
            raise _wrong_checksum(key)

    def _read(self, shard: int, start: int, size: int) -> bytes:
        if shard not in self._open:
            self._open[shard] = open(self._shard_path(shard), "rb")  # noqa: SIM115  closed with the bundle
        file = self._open[shard]
        file.seek(start)
        data: bytes = file.read(size)
        if len(data) != size:
            raise FileError(f"{os.path.basename(self._shard_path(shard))}: its end is missing", AGAIN)
        return data

    def text(self, key: str) -> memoryview | None:
        """The bytes of a scalar text; None where there is no such key.

        Its length comes first, then the checksum of that length, then the text; the entry's checksum goes over
        the length as four or eight bytes, that checksum, and the text.
        """
        entry = self.entries.get(key)
        if entry is None:
            return None
        if entry.problem != OTHER_TYPES[TEXT] or entry.shape or entry.size > LARGEST_TEXT:
            raise HostileFileError(f"{key!r} is no text, or too large", UNTRUSTED)
        data = memoryview(self._read(entry.shard, entry.offset, entry.size))
        size, at = _length(data)
        if at + 4 + size != len(data):
            raise FileError(f"damaged: {key!r} is not as long as it says", AGAIN)
        width = struct.pack("<I", size) if size < 2**32 else struct.pack("<Q", size)
        crc = self._crc32c or by_table
        if masked(crc(bytes(data[at:]), crc(width, 0))) != entry.crc:
            raise _wrong_checksum(key)
        return data[at + 4 :]


def _length(data: memoryview) -> tuple[int, int]:
    from .wire import varint

    return varint(data, 0, len(data))


def _wrong_checksum(key: str) -> FileError:
    return FileError(f"damaged: the checksum of {key!r} is wrong", AGAIN)


def _shard_size(path: str) -> int:
    name = os.path.basename(path)
    if not os.path.exists(path):
        raise FileError(
            f"{name} is missing", f"put it beside the index: a checkpoint is all files of its name ({AGAIN})"
        )
    if not os.path.isfile(path):
        raise FileError(f"{name} is no regular file", AGAIN)
    return os.path.getsize(path)


def _header(data: memoryview) -> Header:
    found = grouped(data)
    shards = number(found[1][-1]) if 1 in found else 0
    endianness = number(found[2][-1]) if 2 in found else LITTLE_ENDIAN
    version = grouped(piece(found[3][-1])) if 3 in found else {}
    if endianness != LITTLE_ENDIAN:
        raise FileError("written on a big-endian machine", "load it there, save the weights as .h5, and convert that")
    if number(version[2][-1]) > 1 if 2 in version else False:
        raise FileError("a newer TensorFlow wrote it, in a form of its own", "convert it where it was written")
    if not 1 <= shards <= MOST_SHARDS:
        raise HostileFileError(f"{shards} shards", UNTRUSTED)
    return Header(shards, endianness)


def _entries(raw: dict[bytes, memoryview]) -> dict[str, Entry]:
    found = {}
    for key, value in raw.items():
        try:
            name = key.decode("utf-8")
        except UnicodeDecodeError:
            name = ""
        entry = _entry(name, value)
        # a part of an array has a key that is no text: the array's own entry comes first
        if not name or "\0" in name:
            raise FileError(
                "a key of its index is no name", "the checkpoint is damaged, or of a kind that Keras never wrote"
            )
        found[name] = entry
    return found


def _entry(key: str, data: memoryview) -> Entry:
    values = {1: 0, 3: 0, 4: 0, 5: 0, 6: 0}
    shape: tuple[int, ...] = ()
    for field, value in fields(data):
        if field == 2:
            shape = _shape(piece(value))
        elif field == 7:
            raise FileError(
                f"{key!r} was saved in parts, of a partitioned variable",
                "in TensorFlow, restore it and save it again without partitioner",
            )
        elif field in values:
            values[field] = number(value)
    dtype = TYPES.get(values[1], "")
    problem = "" if dtype else OTHER_TYPES.get(values[1], f"type {values[1]}")
    if dtype and _bytes_of(shape, SIZES[dtype]) != values[5]:
        raise HostileFileError(f"{key!r} claims shape {shape} of {dtype} and {values[5]} bytes", UNTRUSTED)
    return Entry(dtype, shape, values[3], values[4], values[5], values[6], problem)


def _shape(data: memoryview) -> tuple[int, ...]:
    """A TensorShapeProto, whose dimensions are messages with a size each."""
    lengths = []
    for field, value in fields(data):
        if field == 2:
            sizes = [number(size) for name, size in fields(piece(value)) if name == 1]
            lengths.append(sizes[-1] if sizes else 0)
        if len(lengths) > DEEPEST_SHAPE:
            raise HostileFileError(f"a shape of more than {DEEPEST_SHAPE} axes", UNTRUSTED)
    return tuple(lengths)


def _bytes_of(shape: tuple[int, ...], itemsize: int) -> int:
    size = itemsize
    for length in shape:
        size *= length
    return size
