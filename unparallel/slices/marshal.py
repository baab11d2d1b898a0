"""Python code objects as bytes.

A Lambda layer's function is saved as a marshalled code object.  It is a stranger's code, so nothing here
loads or runs it: the bytes are taken apart by hand, within limits, into `Code` values.  The stream says nowhere
which Python wrote it, so all layouts are tried and those that fit are kept.
"""

import binascii
import struct
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Tuple, Union

from ..errors import BytecodeError

MAX_TEXT = 1 << 18
MAX_BYTES = 1 << 17
MAX_NESTING = 24
MAX_OBJECTS = 20000
LOCAL, CELL, FREE = 0x20, 0x40, 0x80
HINT = "the layer's code is damaged, or from a Python that this program does not know"


@dataclass(frozen=True)
class Other:
    """A constant whose value nobody here needs, such as a set."""

    kind: str


@dataclass(frozen=True)
class Constants:
    """A set, by its items: all that is asked of one is whether it holds something."""

    items: Tuple[object, ...]


@dataclass(frozen=True)
class Code:
    """One code object.

    Attributes
    ----------
    layout : str
        First Python version with this order of fields: "2.7", "3.4", "3.8" or "3.11".
    name : str
        The function's own name.
    argcount, kwonly, posonly : int
        Number of positional and of keyword-only parameters, and of those that no keyword can give.
    code : bytes
        The instructions.
    consts, names : tuple
        What instructions point into.
    variables : tuple of str
        All variables: locals (parameters first), then cells, then free ones.
    kinds : bytes
        One byte a variable: local, cell, free, or local and cell at once.
    nlocals : int
        Number of local variables; where cells start in layouts that count them apart.
    """

    layout: str
    name: str
    argcount: int
    kwonly: int
    flags: int
    code: bytes
    consts: Tuple[object, ...]
    names: Tuple[str, ...]
    variables: Tuple[str, ...]
    kinds: bytes
    nlocals: int
    lines: bytes = b""
    exceptions: bytes = b""
    posonly: int = 0

    @property
    def parameters(self) -> Tuple[str, ...]:
        """Names of the positional parameters, then of the keyword-only ones."""
        return self.variables[: self.argcount + self.kwonly]

    @property
    def free(self) -> Tuple[int, ...]:
        """Slots of the variables that come from a closure, in its order."""
        return tuple(slot for slot, kind in enumerate(self.kinds) if kind & FREE)

    @property
    def nested(self) -> Tuple["Code", ...]:
        """The code objects among the constants."""
        return tuple(const for const in self.consts if isinstance(const, Code))

    def walk(self) -> Iterator["Code"]:
        """This code object and all that it holds."""
        yield self
        for inner in self.nested:
            yield from inner.walk()


# Fields of a code object in the order of each layout, with the kind of value that must stand there.
_TAIL = " filename:text name:text"
_OLD = (
    " nlocals:int stacksize:int flags:int code:bytes consts:tuple names:names varnames:names freevars:names"
    " cellvars:names" + _TAIL + " firstlineno:int lines:bytes"
)
LAYOUTS: Dict[str, Tuple[Tuple[str, str], ...]] = {
    layout: tuple((field.split(":")[0], field.split(":")[1]) for field in fields.split())
    for layout, fields in (
        ("2.7", "argcount:int" + _OLD),
        ("3.4", "argcount:int kwonly:int" + _OLD),
        ("3.8", "argcount:int posonly:int kwonly:int" + _OLD),
        (
            "3.11",
            "argcount:int posonly:int kwonly:int stacksize:int flags:int code:bytes consts:tuple names:names"
            " variables:names kinds:bytes" + _TAIL + " qualname:text firstlineno:int lines:bytes exceptions:bytes",
        ),
    )
}
UNSET = Other("unset")
# Python never lets these take part in back references
_NEVER_SHARED = frozenset("NTFS.0rR")


class _Reader:
    """One pass over a marshal stream, reading code objects by one layout."""

    def __init__(self, data: bytes, layout: str) -> None:
        self.data = data
        self.layout = layout
        self.old = layout == "2.7"
        self.position = 0
        self.count = 0
        self.deepest = 0
        self.shared: List[Tuple[object, int, int]] = []
        self.interned: List[str] = []

    def take(self, size: int) -> bytes:
        """The next bytes, all of them."""
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise BytecodeError("the code object is cut short", HINT)
        found = self.data[self.position : end]
        self.position = end
        return found

    def number(self, form: str = "<i") -> int:
        """The next whole number, packed as the format says."""
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def spend(self, objects: int) -> None:
        """Counts objects; one that is referred to again counts again, with all that it holds."""
        self.count += objects
        if self.count > MAX_OBJECTS:
            raise BytecodeError(f"the code object holds more than {MAX_OBJECTS} objects", HINT)

    def reach(self, depth: int) -> None:
        """Notes how deep an object lies; one that is referred to lies as deep as it is referred to."""
        self.deepest = max(self.deepest, depth)
        if depth > MAX_NESTING:
            raise BytecodeError(f"the code object is nested deeper than {MAX_NESTING} levels", HINT)

    def value(self, depth: int) -> object:
        """The next object, with everything in it."""
        byte = self.take(1)[0]
        kind, shares = chr(byte & 0x7F), bool(byte & 0x80)
        if kind not in _READERS or (shares and self.old):
            raise BytecodeError(f"the code object holds a value of unknown kind {chr(byte)!r}", HINT)
        self.spend(1)
        self.reach(depth)
        if not shares or kind in _NEVER_SHARED:
            return _READERS[kind](self, depth + 1)
        count, deepest, slot = self.count, self.deepest, len(self.shared)
        self.deepest = depth
        self.shared.append((UNSET, 0, 0))
        found = _READERS[kind](self, depth + 1)
        self.shared[slot] = (found, self.count - count, self.deepest - depth)
        self.deepest = max(deepest, self.deepest)
        return found

    def whole(self) -> Code:
        """The one code object that the bytes are."""
        found = self.value(0)
        if self.position != len(self.data) or not isinstance(found, Code):
            raise BytecodeError("there are bytes after the code object", HINT)
        return found

    def items(self, size: int, depth: int) -> Tuple[object, ...]:
        """So many objects in a row."""
        if size < 0 or size > len(self.data) - self.position:
            raise BytecodeError("the code object is cut short", HINT)
        return tuple([self.value(depth) for _ in range(size)])

    def text(self, size: int, encoding: str) -> str:
        """Text of so many bytes."""
        try:
            return str(self.take(size), encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except UnicodeError as error:
            raise BytecodeError("the code object holds text that is none", HINT) from error

    def names_kind(self) -> str:
        """How Python 2 and 3 encode interned names."""
        return "latin-1" if self.old else "utf-8"


def _read_reference(reader: _Reader, depth: int) -> object:
    index = reader.number("<I")
    if index >= len(reader.shared) or reader.shared[index][0] is UNSET:
        raise BytecodeError("the code object refers to a value that it does not hold", HINT)
    found, weight, height = reader.shared[index]
    reader.spend(weight)
    reader.reach(depth + height)
    return found


def _read_interned(reader: _Reader, depth: int) -> str:
    found = reader.text(reader.number(), reader.names_kind())
    reader.interned.append(found)
    return found


def _read_interned_again(reader: _Reader, depth: int) -> str:
    index: int = reader.number("<I")
    if not reader.old or index >= len(reader.interned):
        raise BytecodeError("the code object refers to a name that it does not hold", HINT)
    return reader.interned[index]


def _read_long(reader: _Reader, depth: int) -> Union[int, Other]:
    size = reader.number()
    digits = reader.take(2 * abs(size))
    if abs(size) > 64:
        return Other("long")
    total = 0
    for index in range(abs(size)):
        digit = struct.unpack_from("<H", digits, 2 * index)[0]
        total += digit << (15 * index)
    return -total if size < 0 else total


def _read_float_text(reader: _Reader, depth: int) -> float:
    try:
        return float(reader.text(reader.take(1)[0], "ascii"))
    except ValueError as error:
        raise BytecodeError("the code object holds a number that is none", HINT) from error


def _read_complex(reader: _Reader, depth: int) -> Other:
    reader.take(16)
    return Other("complex")


def _read_complex_text(reader: _Reader, depth: int) -> Other:
    for _ in range(2):
        reader.take(reader.take(1)[0])
    return Other("complex")


def _read_list(reader: _Reader, depth: int) -> Other:
    reader.items(reader.number(), depth)
    return Other("list")


def _read_set(reader: _Reader, depth: int) -> Constants:
    return Constants(reader.items(reader.number(), depth))


def _read_dict(reader: _Reader, depth: int) -> Other:
    while reader.data[reader.position : reader.position + 1] != b"0":
        reader.items(2, depth)
    reader.take(1)
    return Other("dict")


def _read_code(reader: _Reader, depth: int) -> Code:
    found: Dict[str, Any] = {}  # each of the kind that `_FITS` has seen
    for field, kind in LAYOUTS[reader.layout]:
        value: object = reader.number() if kind == "int" else reader.value(depth)
        if reader.old:
            value = _as_kind(value, kind)
        if not _FITS[kind](value):
            raise BytecodeError(f"the code object's {field} is not what it should be", HINT)
        found[field] = value
    return _build_code(reader, found)


def _build_code(reader: _Reader, found: Dict[str, Any]) -> Code:
    if reader.layout == "3.11":
        variables, kinds = found["variables"], found["kinds"]
        nlocals = sum(1 for kind in kinds if kind & LOCAL)
    else:
        parts = (found["varnames"], found["cellvars"], found["freevars"])
        variables = parts[0] + parts[1] + parts[2]
        kinds = b"".join(bytes([kind]) * len(part) for kind, part in zip((LOCAL, CELL, FREE), parts))
        nlocals = found["nlocals"]
        if nlocals != len(parts[0]):
            raise BytecodeError("the code object miscounts its variables", HINT)
    arguments = found["argcount"] + found.get("kwonly", 0)
    if len(variables) != len(kinds) or not all(kind & LOCAL for kind in kinds[:arguments]) or arguments > len(kinds):
        raise BytecodeError("the code object miscounts its variables", HINT)
    return Code(
        reader.layout,
        found["name"],
        found["argcount"],
        found.get("kwonly", 0),
        found["flags"],
        found["code"],
        tuple([_as_text(item) for item in found["consts"]]) if reader.old else found["consts"],
        found["names"],
        variables,
        kinds,
        nlocals,
        found["lines"],
        found.get("exceptions", b""),
        found.get("posonly", 0),
    )


def _as_kind(value: object, kind: str) -> object:
    """Python 2 has one type for text and bytes, and writes any of them as an interned name."""
    if kind == "bytes" and isinstance(value, str):
        return value.encode("latin-1")
    return _as_text(value) if kind in ("text", "names") else value


def _as_text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, tuple):
        return tuple([_as_text(item) for item in value])
    return value


_FITS: Dict[str, Callable[[object], bool]] = {
    "int": lambda value: isinstance(value, int) and 0 <= value < 1 << 31,
    "bytes": lambda value: isinstance(value, bytes),
    "text": lambda value: isinstance(value, str),
    "tuple": lambda value: isinstance(value, tuple),
    "names": lambda value: isinstance(value, tuple) and all(isinstance(item, str) for item in value),
}
_READERS: Dict[str, Callable[[_Reader, int], object]] = {
    "N": lambda reader, depth: None,
    "T": lambda reader, depth: True,
    "F": lambda reader, depth: False,
    ".": lambda reader, depth: Ellipsis,
    "S": lambda reader, depth: Other("stop"),
    "i": lambda reader, depth: reader.number(),
    "I": lambda reader, depth: reader.number("<q"),
    "l": _read_long,
    "g": lambda reader, depth: float(struct.unpack("<d", reader.take(8))[0]),
    "f": _read_float_text,
    "y": _read_complex,
    "x": _read_complex_text,
    "s": lambda reader, depth: reader.take(reader.number()),
    "u": lambda reader, depth: reader.text(reader.number(), "utf-8"),
    "t": _read_interned,
    "R": _read_interned_again,
    "a": lambda reader, depth: reader.text(reader.number(), "latin-1"),
    "A": lambda reader, depth: reader.text(reader.number(), "latin-1"),
    "z": lambda reader, depth: reader.text(reader.take(1)[0], "latin-1"),
    "Z": lambda reader, depth: reader.text(reader.take(1)[0], "latin-1"),
    "(": lambda reader, depth: reader.items(reader.number(), depth),
    ")": lambda reader, depth: reader.items(reader.take(1)[0], depth),
    "[": _read_list,
    "<": _read_set,
    ">": _read_set,
    "{": _read_dict,
    "r": _read_reference,
    "c": _read_code,
}
# a code object, and one that may be referred to
_STARTS = (b"c", b"\xe3")


def read_bytes(data: bytes) -> Tuple[Code, ...]:
    """All readings of marshalled bytes as one code object, one a layout that fits.

    Parameters
    ----------
    data : bytes
        The whole stream: a code object and nothing after it.

    Returns
    -------
    tuple of Code
        Never empty; nearly always one.

    Raises
    ------
    BytecodeError
        If no layout fits, or the stream is larger, deeper or fuller than is allowed.
    """
    if len(data) > MAX_BYTES:
        raise BytecodeError(f"the code object is larger than {MAX_BYTES} bytes", HINT)
    if data[:1] not in _STARTS:
        raise BytecodeError("the bytes are no code object", HINT)
    found: List[Code] = []
    problems: List[Tuple[int, BytecodeError]] = []
    for layout in LAYOUTS:
        reader = _Reader(data, layout)
        try:
            found.append(reader.whole())
        except BytecodeError as error:
            problems.append((reader.position, error))
    if not found:
        # the layout that went farthest is most likely the right one
        raise max(problems, key=lambda problem: problem[0])[1]
    return tuple(found)


def read_text(text: str) -> Tuple[Code, ...]:
    """All readings of a code object as Keras writes it into JSON.

    Parameters
    ----------
    text : str
        base64 with line breaks, or (Keras before 2.1.6) the bytes as raw-unicode-escape text.

    Returns
    -------
    tuple of Code
        Never empty; nearly always one.

    Raises
    ------
    BytecodeError
        If the text is no code object either way.
    """
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise BytecodeError(f"the code object is no text, or longer than {MAX_TEXT} characters", HINT)
    found: Tuple[Code, ...] = ()
    problem = BytecodeError("the code object is neither base64 nor raw-unicode-escape text", HINT)
    for data in (_from_base64(text), text.encode("raw_unicode_escape")):
        if data[:1] in _STARTS:
            try:
                found += read_bytes(data)
            except BytecodeError as error:
                problem = error
    if not found:
        raise problem
    return found


def _from_base64(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text.encode("ascii"))
    except ValueError:
        return b""
