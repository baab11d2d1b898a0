"""What an HDF5 object may be: plain arrays of numbers, with all their bytes in the file."""

from typing import Iterator, NamedTuple, Optional, Tuple

import h5py
import numpy as np

from ..arrays import Array
from ..errors import HostileFileError
from . import chunks
from .errors import FOREIGN, HOSTILE
from .kinds import AttributeID, DatasetID, ObjectID, TypeID


def link_name(name: object) -> str:
    """The name of a link or an attribute as text."""
    try:
        text = name.decode("utf-8") if isinstance(name, bytes) else str(name)
        text.encode("utf-8")  # h5py gives undecodable bytes as lone surrogates
    except UnicodeError as error:
        raise HostileFileError(f"an object's name is not UTF-8: {name!r}", "the file is damaged") from error
    return text


def plain_attributes(path: str, owner: ObjectID) -> Iterator[Tuple[str, AttributeID, TypeID]]:
    """An object's attributes with names and types; those that hold anything but texts and numbers are refused.

    References would come along into the copy.
    """
    for index in range(h5py.h5a.get_num_attrs(owner)):
        attribute = h5py.h5a.open(owner, index=index)
        name = link_name(attribute.name)
        kind = attribute.get_type()
        if kind.committed() or not isinstance(kind, _PLAIN_TYPES):
            raise HostileFileError(f"attribute {name!r} of {path} holds references or a type of its own", HOSTILE)
        yield name, attribute, kind


_PLAIN_TYPES = (
    h5py.h5t.TypeStringID,
    h5py.h5t.TypeIntegerID,
    h5py.h5t.TypeFloatID,
    h5py.h5t.TypeEnumID,
    h5py.h5t.TypeBitfieldID,
    h5py.h5t.TypeOpaqueID,
)


# Messages of an object's header, as bits: "external data files", "filter pipeline", "attribute", "attribute info".
_EXTERNAL, _FILTERS, _ATTRIBUTES = 1 << 7, 1 << 11, 1 << 12 | 1 << 21


def checked_array(path: str, dataset: DatasetID, stored: int, file_size: int) -> Array:
    """The facts of a dataset, or a refusal of what Keras never writes."""
    # one question for what the header holds: each of the others costs as much, and how it is stored three times that
    header = h5py.h5o.get_info(dataset).hdr.mesg.present
    if header & _ATTRIBUTES:
        for _ in plain_attributes(path, dataset):
            pass
    # HDF5 names the place only of what is stored in one piece
    offset = dataset.get_offset()
    storage = _storage(path, dataset) if offset is None or header & (_EXTERNAL | _FILTERS) else None
    kind = dataset.get_type()
    number = _FLOAT32 if kind.equal(h5py.h5t.IEEE_F32LE) else None
    if kind.committed() or (number is None and _holds_references(kind)):
        raise HostileFileError(f"{path} holds references or a type of its own", HOSTILE)
    shape = dataset.shape or ()
    number = number or _number(kind)
    if number is None:
        return Array(shape, "", 0, "holds no numbers")
    size = chunks.bytes_of(shape, number.size)
    problem = ""
    if storage is not None and storage.chunk:
        problem = chunks.problem(shape, storage.chunk, number.size, stored, storage.filters)
    elif stored != size or size > file_size:
        problem = f"claims {size} bytes, the file holds {min(stored, file_size)} for it"
    if offset is not None and offset + size > file_size:
        problem = problem or "lies beyond the end of the file"
    return Array(shape, number.name, size, problem, number.code, offset)


class _Storage(NamedTuple):
    """How an array is stored: the shape of its chunks, if there are any, and the codes of their filters."""

    chunk: Tuple[int, ...]
    filters: Tuple[int, ...]


def _storage(path: str, dataset: DatasetID) -> _Storage:
    """How an array is stored, or a refusal of what lies in other files or needs a plug-in."""
    plist = dataset.get_create_plist()
    layout = plist.get_layout()
    if layout == h5py.h5d.VIRTUAL:
        raise HostileFileError(f"{path} is a virtual dataset", FOREIGN)
    if layout == h5py.h5d.CONTIGUOUS and plist.get_external_count():
        raise HostileFileError(f"{path} has external storage", FOREIGN)
    filters = tuple(plist.get_filter(i)[0] for i in range(plist.get_nfilters()))
    for code in filters:
        if code not in chunks.FILTERS:
            raise HostileFileError(
                "{} needs HDF5 filter {}; supported are {}".format(path, code, ", ".join(chunks.FILTERS.values())),
                "rewrite the file with h5repack where that filter is installed",
            )
    return _Storage(plist.get_chunk() if layout == h5py.h5d.CHUNKED else (), filters)


def _holds_references(kind: TypeID) -> bool:
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


def _number(kind: TypeID) -> Optional[_Number]:
    """The type as numpy has it; None for texts and the like."""
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
