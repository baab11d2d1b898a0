"""The heaps of an HDF5 file, where its names and texts lie: looked at before HDF5 is asked for one.

HDF5 (2.0 and before) goes round without end in a damaged heap.  Nothing tells the size of a text of variable length
without reading it whole, and a list may name one long text thousands of times.  So the file is searched for heaps,
each is walked through, and the places that refer to large texts are counted.  Imports no h5py.
"""

from typing import BinaryIO, Dict, Iterable, Iterator, List, NamedTuple, Tuple

from ..errors import FileError, HostileFileError
from .errors import HOSTILE

# Of a collection of texts (the global heap), and of the names of one group (a local heap).
SIGNATURE = b"GCOL\x01\0\0\0"
LOCAL = b"HEAP\0\0\0\0"
HEAD = len(SIGNATURE) + 8
# "No more free blocks", and the least size of one: its own next and size.
NO_MORE = 1
LEAST_BLOCK = 16
# Length, address and number: what stands where a text is referred to.
REFERENCE = 16
# number, count of references, size
OBJECT_HEAD = 16
# HDF5 makes collections of 4 KiB, and larger ones for single texts that are.
LARGE = 2**16
MOST_LARGE = 1000
# Bytes of large texts, each as often as something refers to it: twice the longest attribute that is read.
MOST_TEXT = 64 * 2**20
BLOCK = 2**20


class Heap(NamedTuple):
    """What the search found.

    Attributes
    ----------
    problem : str
        Why HDF5 should not be asked to read it; "" where it may.
    large : dict of int to int
        Size of each large collection by its address.
    regions : list of (start, stop)
        What of the file is no array.
    """

    problem: str
    large: Dict[int, int]
    regions: List[Tuple[int, int]]


class HeapGuard:
    """Refuses, once, heaps that HDF5 would go round in without end, or that hold too much."""

    def __init__(self, path: str, file_size: int, base: int) -> None:
        self._path = path
        self._file_size = file_size
        self._base = base
        self._checked = False

    def check(self, arrays: Iterable[Tuple[int, int]]) -> None:
        """Look through all of the file but what is in these arrays (offset, size)."""
        if self._checked:
            return
        self._checked = True
        with open(self._path, "rb") as file:
            heap = look_at(file, self._file_size, arrays, self._base)
            if heap.problem:
                raise FileError(f"damaged HDF5: {heap.problem}", "get a fresh copy of the file")
            size = size_of_large_texts(file, heap) if heap.large else 0
        if size > MOST_TEXT:
            raise HostileFileError(f"attributes hold texts of {size} bytes", HOSTILE)


def look_at(file: BinaryIO, size: int, arrays: Iterable[Tuple[int, int]], base: int) -> Heap:
    """Find the heaps, and what is wrong with them.

    Parameters
    ----------
    file : binary file
    size : int
        Its bytes.
    arrays : iterable of (offset, size)
        Where the contiguous arrays lie: what is in them is no part of the file's structure.
    base : int
        Where the HDF5 data begin, which addresses are counted from.
    """
    regions = list(_between(arrays, size))
    large: Dict[int, int] = {}
    for place in list(_places(file, regions, LOCAL)):
        if not _ends(file, place, base):
            return Heap(f"a group's names are damaged at byte {place}", large, regions)
    for place in list(_places(file, regions, SIGNATURE)):
        file.seek(place + len(SIGNATURE))
        length = int.from_bytes(file.read(8), "little")
        if length > size - place or not _is_sound(file, place, length):
            return Heap(f"its heap of texts is damaged at byte {place}", large, regions)
        if length > LARGE:
            large[place - base] = length
        if len(large) > MOST_LARGE:
            return Heap(f"it holds more than {MOST_LARGE} large texts", large, regions)
    return Heap("", large, regions)


def size_of_large_texts(file: BinaryIO, heap: Heap) -> int:
    """Bytes of the large collections, each as often as something refers to it."""
    wanted = {address: address.to_bytes(8, "little") for address in heap.large if address > 0}
    total = 0
    for _, data in _blocks(file, heap.regions):
        total += sum(heap.large[address] * _references(data, text) for address, text in wanted.items())
    return total


def _references(data: bytes, address: bytes) -> int:
    """How often the bytes refer to an object of the collection at an address.

    A reference is the text's length, the address, and the object's number, which has 16 bits of 32.  The address
    alone, a small number such as 2048, is in a large file thousands of times and means other things.
    """
    count = 0
    place = data.find(address)
    while place >= 0:
        length, number = data[max(0, place - 4) : place], data[place + 8 : place + 12]
        count += any(length) and any(number[:2]) and not any(number[2:])
        place = data.find(address, place + 1)
    return count


def _is_sound(file: BinaryIO, place: int, length: int) -> bool:
    """Whether the objects of a collection follow each other to its end."""
    at = HEAD
    while at + OBJECT_HEAD <= length:
        file.seek(place + at)
        head = file.read(OBJECT_HEAD)
        number, size = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:], "little")
        # number 0 is what is free, its head included; other sizes are without theirs, and rounded up
        step = OBJECT_HEAD + (size + 7) // 8 * 8 if number else size
        if not 0 < step <= length - at:
            return False
        at += step
    return True


def _ends(file: BinaryIO, place: int, base: int) -> bool:
    """Whether the list of free blocks of a local heap comes to an end."""
    file.seek(place + len(LOCAL))
    size, free, address = (int.from_bytes(file.read(8), "little") for _ in range(3))
    seen = set()
    while free != NO_MORE and free + LEAST_BLOCK <= size:  # what lies outside, HDF5 sees itself
        if free in seen:
            return False
        seen.add(free)
        file.seek(min(base + address + free, 2**62))
        free = int.from_bytes(file.read(8) or b"\1", "little")
    return True


def _places(file: BinaryIO, regions: List[Tuple[int, int]], signature: bytes) -> Iterator[int]:
    for start, data in _blocks(file, regions):
        place = data.find(signature)
        while place >= 0:
            yield start + place
            place = data.find(signature, place + 1)


def _between(arrays: Iterable[Tuple[int, int]], size: int) -> Iterator[Tuple[int, int]]:
    """(start, stop) of what lies between the arrays."""
    at = 0
    for offset, length in sorted(arrays):
        if offset > at:
            yield at, min(offset, size)
        at = max(at, offset + length)
    if at < size:
        yield at, size


def _blocks(file: BinaryIO, regions: List[Tuple[int, int]]) -> Iterator[Tuple[int, bytes]]:
    """(place, bytes) of blocks of the regions, each with the first bytes of the next."""
    for start, stop in regions:
        for at in range(start, stop, BLOCK):
            file.seek(at)
            yield at, file.read(min(BLOCK, stop - at) + REFERENCE - 1)
