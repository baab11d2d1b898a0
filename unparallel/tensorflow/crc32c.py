"""CRC-32C (Castagnoli, RFC 3720 B.4), as TensorFlow's checkpoints have it: masked.

The `crc32c` package does gigabytes a second; without it only what is small is checked, by a table, at about a
megabyte a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

POLYNOMIAL = 0x82F63B78  # with its bits reversed
MASK = 0xA282EAD8


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def by_table(data: ReadableBuffer, crc: int = 0) -> int:
    """The checksum of bytes, going on from that of the bytes before."""
    table, crc = _TABLE, crc ^ 0xFFFFFFFF
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def fast() -> Callable[[ReadableBuffer, int], int] | None:
    """The package's function; None where it is not installed."""
    try:
        found: Callable[[ReadableBuffer, int], int] = import_module("crc32c").crc32c
    except (ImportError, AttributeError):
        return None
    return found


def checksum(data: ReadableBuffer) -> int:
    """The checksum of something small."""
    return (fast() or by_table)(data, 0)


def masked(crc: int) -> int:
    """What is stored for a checksum: LevelDB turns it, lest checksums of texts with checksums in them be weak."""
    return ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF
