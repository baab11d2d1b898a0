"""A table file of LevelDB, as the index of a checkpoint is one: sorted keys in blocks, each with its checksum.

Format: github.com/google/leveldb, doc/table_format.md; TensorFlow's copy of it (tensorflow/core/lib/io) differs in
the magic number's place in nothing.  The writer of checkpoints has never compressed its blocks.
"""

from __future__ import annotations

import os
import struct
from typing import Iterator

from ..errors import FileError, HostileFileError
from .crc32c import checksum, masked
from .wire import DAMAGED, varint

MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
FOOTER = 48
TRAILER = 5  # a byte for the kind of compression, four for the checksum
# A name and some numbers for each array: a thousandth of this is usual.  Its checksum takes a second a megabyte.
LARGEST = 16 * 2**20
MOST_KEYS = 300_000
LONGEST_KEY = 2**16
UNPACKED = 0


def is_table(path: str) -> bool:
    """Whether a file ends as a table does."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(MAGIC)))
            return size >= FOOTER and file.read() == MAGIC
    except OSError:
        return False


def read(path: str) -> dict[bytes, memoryview]:
    """All keys of a table with their values.

    Raises
    ------
    FileError
        It is damaged, compressed or no table.
    HostileFileError
        It is larger than an index can be.
    """
    size = os.path.getsize(path)
    if size > LARGEST:
        raise HostileFileError(f"{size} bytes are too much for an index", "do not trust this file")
    with open(path, "rb") as file:
        data = memoryview(file.read(LARGEST + 1))
    if len(data) < FOOTER or bytes(data[-len(MAGIC) :]) != MAGIC:
        raise FileError("no index of a checkpoint, or its end is missing", "copy the checkpoint again")
    at = len(data) - FOOTER
    for _ in range(2):  # the first of two handles is that of a block about the table, which holds nothing
        _, at = varint(data, at, len(data))
    found: dict[bytes, memoryview] = {}
    last = b""
    spent = 0
    for _, place in _entries(_block(data, *_handle(data[at:]))):
        block = _block(data, *_handle(place))
        spent += len(block)
        if spent > len(data):
            raise HostileFileError("its blocks overlap", "do not trust this file")
        for key, value in _entries(block):
            if found and key <= last:
                raise FileError("damaged: its keys are not in order", DAMAGED)
            found[key], last = value, key
            if len(found) > MOST_KEYS:
                raise HostileFileError(f"more than {MOST_KEYS} arrays", "do not trust this file")
    return found


def _handle(data: memoryview) -> tuple[int, int]:
    """(offset, size) of a block."""
    offset, at = varint(data, 0, len(data))
    size, _ = varint(data, at, len(data))
    return offset, size


def _block(data: memoryview, offset: int, size: int) -> memoryview:
    """The content of a block whose checksum is right."""
    if offset + size + TRAILER > len(data) - FOOTER:
        raise FileError("damaged: a block lies beyond its end", DAMAGED)
    kind = data[offset + size]
    (stored,) = struct.unpack_from("<I", data, offset + size + 1)
    if masked(checksum(data[offset : offset + size + 1])) != stored:
        raise FileError("damaged: a checksum of the index is wrong", DAMAGED)
    if kind != UNPACKED:
        name = "snappy" if kind == 1 else f"kind {kind}"
        raise FileError(
            f"its index is compressed ({name}), which TensorFlow does not do",
            "read it with the program that wrote it, and save it with tf.train.Checkpoint or Saver",
        )
    return data[offset : offset + size]


def _entries(block: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Keys and values of a block; each key shares its beginning with the one before."""
    if len(block) < 4:
        raise FileError("damaged: an empty block", DAMAGED)
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    stop = len(block) - 4 - 4 * restarts
    if stop < 0:
        raise FileError("damaged: a block is too short", DAMAGED)
    at, key = 0, b""
    while at < stop:
        shared, at = varint(block, at, stop)
        unshared, at = varint(block, at, stop)
        size, at = varint(block, at, stop)
        if shared > len(key) or unshared + size > stop - at or shared + unshared > LONGEST_KEY:
            raise FileError("damaged: an entry is longer than its block", DAMAGED)
        key = key[:shared] + bytes(block[at : at + unshared])
        at += unshared
        yield key, block[at : at + size]
        at += size
