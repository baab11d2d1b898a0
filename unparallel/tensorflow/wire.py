"""The wire format of protocol buffers, read in bounds: fields as numbers and slices, no schema, nothing copied.

Format: https://protobuf.dev/programming-guides/encoding.  Why not the `protobuf` package: generated classes must fit
the major version of the runtime, over Python 3.7 to 3.13 several of them, and they parse all of a file, graph and all.
"""

from __future__ import annotations

from typing import BinaryIO, Iterator, NamedTuple

from ..errors import FileError

DAMAGED = "get a fresh copy of it"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT = 10


class Field(NamedTuple):
    """One field of a message: its number, and a number or the bytes of what it holds."""

    number: int
    value: int | memoryview


def varint(data: memoryview, at: int, stop: int) -> tuple[int, int]:
    """(number, place after it) of a varint.

    Raises
    ------
    FileError
        It does not end before `stop`, or has more bytes than 64 bits take.
    """
    value = 0
    for i in range(min(LONGEST_VARINT, stop - at)):
        byte = data[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + i + 1
    raise _damaged("a number does not end")


def fields(data: memoryview) -> Iterator[Field]:
    """The fields of a message, in the order of the file.

    Raises
    ------
    FileError
        It is no message.
    """
    at, stop = 0, len(data)
    while at < stop:
        tag, at = varint(data, at, stop)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = varint(data, at, stop)
            yield Field(number, value)
            continue
        size, at = _size(kind, data, at, stop)
        if not number or size > stop - at:
            raise _damaged("a field is longer than what holds it")
        piece = data[at : at + size]
        yield Field(number, piece if kind == BYTES else int.from_bytes(piece, "little"))
        at += size


def _size(kind: int, data: memoryview, at: int, stop: int) -> tuple[int, int]:
    """(bytes of a field that is no varint, where they begin)."""
    if kind == BYTES:
        return varint(data, at, stop)
    if kind in (FIXED32, FIXED64):
        return (4 if kind == FIXED32 else 8), at
    raise _damaged(f"fields of kind {kind} are not known")


def grouped(data: memoryview) -> dict[int, list[int | memoryview]]:
    """All values of a small message by the number of their field."""
    found: dict[int, list[int | memoryview]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def number(value: int | memoryview) -> int:
    """The value of a field that should be a number."""
    if not isinstance(value, int):
        raise _damaged("text where a number should be")
    return value


def piece(value: int | memoryview) -> memoryview:
    """The value of a field that should be bytes."""
    if isinstance(value, int):
        raise _damaged("a number where text should be")
    return value


def text(value: int | memoryview) -> str:
    """The value of a field that should be a text."""
    try:
        return str(piece(value), "utf-8")
    except UnicodeDecodeError as error:
        raise _damaged("a text is not UTF-8") from error


class Place(NamedTuple):
    """A field of bytes in a file: its number, and where they begin and end."""

    number: int
    start: int
    stop: int


def places(file: BinaryIO, start: int, stop: int) -> Iterator[Place]:
    """The fields of bytes of a message in a file, stepped over and not read; other fields are passed by.

    Raises
    ------
    FileError
        It is no message.
    """
    at = start
    while at < stop:
        file.seek(at)
        head = memoryview(file.read(min(2 * LONGEST_VARINT, stop - at)))
        tag, used = varint(head, 0, len(head))
        if tag & 7 == VARINT:
            _, used = varint(head, used, len(head))
            at += used
            continue
        size, used = _size(tag & 7, head, used, len(head))
        if size > stop - at - used:
            raise _damaged("a field is longer than what holds it")
        if tag & 7 == BYTES:
            yield Place(tag >> 3, at + used, at + used + size)
        at += used + size


def content(file: BinaryIO, place: Place, most: int) -> memoryview:
    """The bytes of a field in a file.

    Raises
    ------
    FileError
        They are more than `most`, or the file ends before them.
    """
    if place.stop - place.start > most:
        raise FileError(f"a part of it claims {place.stop - place.start} bytes", "do not trust this file")
    file.seek(place.start)
    data = file.read(place.stop - place.start)
    if len(data) != place.stop - place.start:
        raise _damaged("its end is missing")
    return memoryview(data)


def _damaged(why: str) -> FileError:
    return FileError(f"damaged: {why}", DAMAGED)
