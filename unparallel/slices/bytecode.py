"""Python code objects as bytes: reading them, and telling which Python wrote them.

A Lambda layer's function is saved as a marshalled code object.  It is a stranger's code, so nothing here
loads or runs it: the bytes are taken apart by hand, within limits, into `Code` and `Instruction` values.
The marshal stream says nowhere which Python wrote it, so all versions are tried and those that fit are
kept.  What the instructions do is the business of `stepper`, what they mean that of `slicers`.
"""

import binascii
import struct
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Tuple

from ..errors import BytecodeError

MAX_TEXT = 1 << 18
MAX_BYTES = 1 << 17
MAX_CODE = 1 << 15
MAX_NESTING = 24
MAX_OBJECTS = 20000

LOCAL, CELL, FREE = 0x20, 0x40, 0x80

_HINT = "the layer's code is damaged, or from a Python that this program does not know"


@dataclass(frozen=True)
class Other:
    """A constant whose value nobody here needs, such as a set."""

    kind: str


# --------------------------------------------------------------------------------------------------
# The marshal stream
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Code:
    """One code object.

    Attributes
    ----------
    layout : str
        First Python version with this order of fields: "2.7", "3.4", "3.8" or "3.11".
    name : str
        The function's own name.
    argcount, kwonly : int
        Number of positional and of keyword-only parameters.
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
    consts: Tuple[Any, ...]
    names: Tuple[str, ...]
    variables: Tuple[str, ...]
    kinds: bytes
    nlocals: int
    lines: bytes = b""
    exceptions: bytes = b""

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
_LAYOUTS: Dict[str, Tuple[Tuple[str, str], ...]] = {
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
        self.shared: List[Tuple[Any, int, int]] = []
        self.interned: List[str] = []

    def take(self, size: int) -> bytes:
        """The next bytes, all of them."""
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise BytecodeError("the code object is cut short", _HINT)
        found = self.data[self.position : end]
        self.position = end
        return found

    def number(self, form: str = "<i") -> Any:
        """The next number, packed as the format says."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def spend(self, objects: int) -> None:
        """Counts objects; one that is referred to again counts again, with all that it holds."""
        self.count += objects
        if self.count > MAX_OBJECTS:
            raise BytecodeError(f"the code object holds more than {MAX_OBJECTS} objects", _HINT)

    def reach(self, depth: int) -> None:
        """Notes how deep an object lies; one that is referred to lies as deep as it is referred to."""
        self.deepest = max(self.deepest, depth)
        if depth > MAX_NESTING:
            raise BytecodeError(f"the code object is nested deeper than {MAX_NESTING} levels", _HINT)

    def value(self, depth: int) -> Any:
        """The next object, with everything in it."""
        byte = self.take(1)[0]
        kind, shares = chr(byte & 0x7F), bool(byte & 0x80)
        if kind not in _READERS or (shares and self.old):
            raise BytecodeError(f"the code object holds a value of unknown kind {chr(byte)!r}", _HINT)
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

    def whole(self) -> Any:
        """The one object that the bytes are."""
        found = self.value(0)
        if self.position != len(self.data):
            raise BytecodeError("there are bytes after the code object", _HINT)
        return found

    def items(self, size: int, depth: int) -> Tuple[Any, ...]:
        """So many objects in a row."""
        if size < 0 or size > len(self.data) - self.position:
            raise BytecodeError("the code object is cut short", _HINT)
        return tuple([self.value(depth) for _ in range(size)])

    def text(self, size: int, encoding: str) -> str:
        """Text of so many bytes."""
        try:
            return str(self.take(size), encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except UnicodeError as error:
            raise BytecodeError("the code object holds text that is none", _HINT) from error

    def names_kind(self) -> str:
        """How Python 2 and 3 encode interned names."""
        return "latin-1" if self.old else "utf-8"


def _read_reference(reader: _Reader, depth: int) -> Any:
    index = reader.number("<I")
    if index >= len(reader.shared) or reader.shared[index][0] is UNSET:
        raise BytecodeError("the code object refers to a value that it does not hold", _HINT)
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
        raise BytecodeError("the code object refers to a name that it does not hold", _HINT)
    return reader.interned[index]


def _read_long(reader: _Reader, depth: int) -> Any:
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
        raise BytecodeError("the code object holds a number that is none", _HINT) from error


def _read_complex(reader: _Reader, depth: int) -> Other:
    reader.take(16)
    return Other("complex")


def _read_complex_text(reader: _Reader, depth: int) -> Other:
    for _ in range(2):
        reader.take(reader.take(1)[0])
    return Other("complex")


def _read_group(kind: str) -> Callable[[_Reader, int], Other]:
    def read(reader: _Reader, depth: int) -> Other:
        reader.items(reader.number(), depth)
        return Other(kind)

    return read


def _read_dict(reader: _Reader, depth: int) -> Other:
    while reader.data[reader.position : reader.position + 1] != b"0":
        reader.items(2, depth)
    reader.take(1)
    return Other("dict")


def _read_code(reader: _Reader, depth: int) -> Code:
    found: Dict[str, Any] = {}
    for field, kind in _LAYOUTS[reader.layout]:
        value = reader.number() if kind == "int" else reader.value(depth)
        if reader.old:
            value = _as_kind(value, kind)
        if not _FITS[kind](value):
            raise BytecodeError(f"the code object's {field} is not what it should be", _HINT)
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
            raise BytecodeError("the code object miscounts its variables", _HINT)
    arguments = found["argcount"] + found.get("kwonly", 0)
    if len(variables) != len(kinds) or not all(kind & LOCAL for kind in kinds[:arguments]) or arguments > len(kinds):
        raise BytecodeError("the code object miscounts its variables", _HINT)
    return Code(
        reader.layout,
        found["name"],
        found["argcount"],
        found.get("kwonly", 0),
        found["flags"],
        found["code"],
        _as_text(found["consts"]) if reader.old else found["consts"],
        found["names"],
        variables,
        kinds,
        nlocals,
        found["lines"],
        found.get("exceptions", b""),
    )


def _as_kind(value: Any, kind: str) -> Any:
    """Python 2 has one type for text and bytes, and writes any of them as an interned name."""
    if kind == "bytes" and isinstance(value, str):
        return value.encode("latin-1")
    return _as_text(value) if kind in ("text", "names") else value


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, tuple):
        return tuple([_as_text(item) for item in value])
    return value


_FITS: Dict[str, Callable[[Any], bool]] = {
    "int": lambda value: 0 <= value < 1 << 31,
    "bytes": lambda value: isinstance(value, bytes),
    "text": lambda value: isinstance(value, str),
    "tuple": lambda value: isinstance(value, tuple),
    "names": lambda value: isinstance(value, tuple) and all(isinstance(item, str) for item in value),
}

_READERS: Dict[str, Callable[[_Reader, int], Any]] = {
    "N": lambda reader, depth: None,
    "T": lambda reader, depth: True,
    "F": lambda reader, depth: False,
    ".": lambda reader, depth: Ellipsis,
    "S": lambda reader, depth: Other("stop"),
    "i": lambda reader, depth: reader.number(),
    "I": lambda reader, depth: reader.number("<q"),
    "l": _read_long,
    "g": lambda reader, depth: reader.number("<d"),
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
    "[": _read_group("list"),
    "<": _read_group("set"),
    ">": _read_group("set"),
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
        raise BytecodeError(f"the code object is larger than {MAX_BYTES} bytes", _HINT)
    if data[:1] not in _STARTS:
        raise BytecodeError("the bytes are no code object", _HINT)
    found: List[Code] = []
    problems: List[Tuple[int, BytecodeError]] = []
    for layout in _LAYOUTS:
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
        raise BytecodeError(f"the code object is no text, or longer than {MAX_TEXT} characters", _HINT)
    found: Tuple[Code, ...] = ()
    problem = BytecodeError("the code object is neither base64 nor raw-unicode-escape text", _HINT)
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


# --------------------------------------------------------------------------------------------------
# Instructions
# --------------------------------------------------------------------------------------------------

# Every operation that a version's compiler can emit: number and name.  A number that is not here proves
# that another Python wrote the code.  The second item names the version whose table is the base ("-"
# takes an operation away).
# fmt: off
_OPERATIONS: Tuple[Tuple[str, str, str], ...] = (
    ("2.7", "", """
    1:POP_TOP 2:ROT_TWO 3:ROT_THREE 4:DUP_TOP 5:ROT_FOUR 9:NOP 10:UNARY_POSITIVE 11:UNARY_NEGATIVE 12:UNARY_NOT
    13:UNARY_CONVERT 15:UNARY_INVERT 19:BINARY_POWER 20:BINARY_MULTIPLY 21:BINARY_DIVIDE 22:BINARY_MODULO
    23:BINARY_ADD 24:BINARY_SUBTRACT 25:BINARY_SUBSCR 26:BINARY_FLOOR_DIVIDE 27:BINARY_TRUE_DIVIDE
    28:INPLACE_FLOOR_DIVIDE 29:INPLACE_TRUE_DIVIDE 30:SLICE+0 31:SLICE+1 32:SLICE+2 33:SLICE+3 40:STORE_SLICE+0
    41:STORE_SLICE+1 42:STORE_SLICE+2 43:STORE_SLICE+3 50:DELETE_SLICE+0 51:DELETE_SLICE+1 52:DELETE_SLICE+2
    53:DELETE_SLICE+3 54:STORE_MAP 55:INPLACE_ADD 56:INPLACE_SUBTRACT 57:INPLACE_MULTIPLY 58:INPLACE_DIVIDE
    59:INPLACE_MODULO 60:STORE_SUBSCR 61:DELETE_SUBSCR 62:BINARY_LSHIFT 63:BINARY_RSHIFT 64:BINARY_AND
    65:BINARY_XOR 66:BINARY_OR 67:INPLACE_POWER 68:GET_ITER 70:PRINT_EXPR 71:PRINT_ITEM 72:PRINT_NEWLINE
    73:PRINT_ITEM_TO 74:PRINT_NEWLINE_TO 75:INPLACE_LSHIFT 76:INPLACE_RSHIFT 77:INPLACE_AND 78:INPLACE_XOR
    79:INPLACE_OR 80:BREAK_LOOP 81:WITH_CLEANUP 82:LOAD_LOCALS 83:RETURN_VALUE 84:IMPORT_STAR 85:EXEC_STMT
    86:YIELD_VALUE 87:POP_BLOCK 88:END_FINALLY 89:BUILD_CLASS 90:STORE_NAME 91:DELETE_NAME 92:UNPACK_SEQUENCE
    93:FOR_ITER 94:LIST_APPEND 95:STORE_ATTR 96:DELETE_ATTR 97:STORE_GLOBAL 98:DELETE_GLOBAL 99:DUP_TOPX
    100:LOAD_CONST 101:LOAD_NAME 102:BUILD_TUPLE 103:BUILD_LIST 104:BUILD_SET 105:BUILD_MAP 106:LOAD_ATTR
    107:COMPARE_OP 108:IMPORT_NAME 109:IMPORT_FROM 110:JUMP_FORWARD 111:JUMP_IF_FALSE_OR_POP
    112:JUMP_IF_TRUE_OR_POP 113:JUMP_ABSOLUTE 114:POP_JUMP_IF_FALSE 115:POP_JUMP_IF_TRUE 116:LOAD_GLOBAL
    119:CONTINUE_LOOP 120:SETUP_LOOP 121:SETUP_EXCEPT 122:SETUP_FINALLY 124:LOAD_FAST 125:STORE_FAST
    126:DELETE_FAST 130:RAISE_VARARGS 131:CALL_FUNCTION 132:MAKE_FUNCTION 133:BUILD_SLICE 134:MAKE_CLOSURE
    135:LOAD_CLOSURE 136:LOAD_DEREF 137:STORE_DEREF 140:CALL_FUNCTION_VAR 141:CALL_FUNCTION_DICT
    142:CALL_FUNCTION_VAR_DICT 143:SETUP_WITH 145:EXTENDED_ARG 146:SET_ADD 147:MAP_ADD
    """),
    ("3.6", "", """
    1:POP_TOP 2:ROT_TWO 3:ROT_THREE 4:DUP_TOP 5:DUP_TOP_TWO 9:NOP 10:UNARY_POSITIVE 11:UNARY_NEGATIVE
    12:UNARY_NOT 15:UNARY_INVERT 16:BINARY_MATRIX_MULTIPLY 17:INPLACE_MATRIX_MULTIPLY 19:BINARY_POWER
    20:BINARY_MULTIPLY 22:BINARY_MODULO 23:BINARY_ADD 24:BINARY_SUBTRACT 25:BINARY_SUBSCR 26:BINARY_FLOOR_DIVIDE
    27:BINARY_TRUE_DIVIDE 28:INPLACE_FLOOR_DIVIDE 29:INPLACE_TRUE_DIVIDE 50:GET_AITER 51:GET_ANEXT
    52:BEFORE_ASYNC_WITH 55:INPLACE_ADD 56:INPLACE_SUBTRACT 57:INPLACE_MULTIPLY 59:INPLACE_MODULO
    60:STORE_SUBSCR 61:DELETE_SUBSCR 62:BINARY_LSHIFT 63:BINARY_RSHIFT 64:BINARY_AND 65:BINARY_XOR 66:BINARY_OR
    67:INPLACE_POWER 68:GET_ITER 69:GET_YIELD_FROM_ITER 70:PRINT_EXPR 71:LOAD_BUILD_CLASS 72:YIELD_FROM
    73:GET_AWAITABLE 75:INPLACE_LSHIFT 76:INPLACE_RSHIFT 77:INPLACE_AND 78:INPLACE_XOR 79:INPLACE_OR
    80:BREAK_LOOP 81:WITH_CLEANUP_START 82:WITH_CLEANUP_FINISH 83:RETURN_VALUE 84:IMPORT_STAR
    85:SETUP_ANNOTATIONS 86:YIELD_VALUE 87:POP_BLOCK 88:END_FINALLY 89:POP_EXCEPT 90:STORE_NAME 91:DELETE_NAME
    92:UNPACK_SEQUENCE 93:FOR_ITER 94:UNPACK_EX 95:STORE_ATTR 96:DELETE_ATTR 97:STORE_GLOBAL 98:DELETE_GLOBAL
    100:LOAD_CONST 101:LOAD_NAME 102:BUILD_TUPLE 103:BUILD_LIST 104:BUILD_SET 105:BUILD_MAP 106:LOAD_ATTR
    107:COMPARE_OP 108:IMPORT_NAME 109:IMPORT_FROM 110:JUMP_FORWARD 111:JUMP_IF_FALSE_OR_POP
    112:JUMP_IF_TRUE_OR_POP 113:JUMP_ABSOLUTE 114:POP_JUMP_IF_FALSE 115:POP_JUMP_IF_TRUE 116:LOAD_GLOBAL
    119:CONTINUE_LOOP 120:SETUP_LOOP 121:SETUP_EXCEPT 122:SETUP_FINALLY 124:LOAD_FAST 125:STORE_FAST
    126:DELETE_FAST 127:STORE_ANNOTATION 130:RAISE_VARARGS 131:CALL_FUNCTION 132:MAKE_FUNCTION 133:BUILD_SLICE
    135:LOAD_CLOSURE 136:LOAD_DEREF 137:STORE_DEREF 138:DELETE_DEREF 141:CALL_FUNCTION_KW 142:CALL_FUNCTION_EX
    143:SETUP_WITH 144:EXTENDED_ARG 145:LIST_APPEND 146:SET_ADD 147:MAP_ADD 148:LOAD_CLASSDEREF
    149:BUILD_LIST_UNPACK 150:BUILD_MAP_UNPACK 151:BUILD_MAP_UNPACK_WITH_CALL 152:BUILD_TUPLE_UNPACK
    153:BUILD_SET_UNPACK 154:SETUP_ASYNC_WITH 155:FORMAT_VALUE 156:BUILD_CONST_KEY_MAP 157:BUILD_STRING
    158:BUILD_TUPLE_UNPACK_WITH_CALL
    """),
    ("3.5", "3.6", """
    85:- 127:- 134:MAKE_CLOSURE 140:CALL_FUNCTION_VAR 141:CALL_FUNCTION_DICT 142:CALL_FUNCTION_VAR_DICT 155:-
    156:- 157:- 158:-
    """),
    ("3.4", "3.5", """
    16:- 17:- 50:- 51:- 52:- 54:STORE_MAP 69:- 73:- 81:WITH_CLEANUP 82:- 149:- 150:- 151:- 152:- 153:- 154:-
    """),
    ("3.7", "3.6", """
    127:- 160:LOAD_METHOD 161:CALL_METHOD
    """),
    ("3.8", "3.7", """
    6:ROT_FOUR 53:BEGIN_FINALLY 54:END_ASYNC_FOR 80:- 119:- 120:- 121:- 162:CALL_FINALLY 163:POP_FINALLY
    """),
    ("3.9", "3.8", """
    48:RERAISE 49:WITH_EXCEPT_START 53:- 74:LOAD_ASSERTION_ERROR 81:- 82:LIST_TO_TUPLE 88:- 117:IS_OP
    118:CONTAINS_OP 121:JUMP_IF_NOT_EXC_MATCH 149:- 150:- 151:- 152:- 153:- 158:- 162:LIST_EXTEND 163:SET_UPDATE
    164:DICT_MERGE 165:DICT_UPDATE
    """),
    ("3.10", "3.9", """
    30:GET_LEN 31:MATCH_MAPPING 32:MATCH_SEQUENCE 33:MATCH_KEYS 34:COPY_DICT_WITHOUT_KEYS 48:- 99:ROT_N
    119:RERAISE 129:GEN_START 152:MATCH_CLASS
    """),
    ("3.11", "", """
    0:CACHE 1:POP_TOP 2:PUSH_NULL 9:NOP 10:UNARY_POSITIVE 11:UNARY_NEGATIVE 12:UNARY_NOT 15:UNARY_INVERT
    25:BINARY_SUBSCR 30:GET_LEN 31:MATCH_MAPPING 32:MATCH_SEQUENCE 33:MATCH_KEYS 35:PUSH_EXC_INFO
    36:CHECK_EXC_MATCH 37:CHECK_EG_MATCH 49:WITH_EXCEPT_START 50:GET_AITER 51:GET_ANEXT 52:BEFORE_ASYNC_WITH
    53:BEFORE_WITH 54:END_ASYNC_FOR 60:STORE_SUBSCR 61:DELETE_SUBSCR 68:GET_ITER 69:GET_YIELD_FROM_ITER
    70:PRINT_EXPR 71:LOAD_BUILD_CLASS 74:LOAD_ASSERTION_ERROR 75:RETURN_GENERATOR 82:LIST_TO_TUPLE
    83:RETURN_VALUE 84:IMPORT_STAR 85:SETUP_ANNOTATIONS 86:YIELD_VALUE 87:ASYNC_GEN_WRAP 88:PREP_RERAISE_STAR
    89:POP_EXCEPT 90:STORE_NAME 91:DELETE_NAME 92:UNPACK_SEQUENCE 93:FOR_ITER 94:UNPACK_EX 95:STORE_ATTR
    96:DELETE_ATTR 97:STORE_GLOBAL 98:DELETE_GLOBAL 99:SWAP 100:LOAD_CONST 101:LOAD_NAME 102:BUILD_TUPLE
    103:BUILD_LIST 104:BUILD_SET 105:BUILD_MAP 106:LOAD_ATTR 107:COMPARE_OP 108:IMPORT_NAME 109:IMPORT_FROM
    110:JUMP_FORWARD 111:JUMP_IF_FALSE_OR_POP 112:JUMP_IF_TRUE_OR_POP 114:POP_JUMP_FORWARD_IF_FALSE
    115:POP_JUMP_FORWARD_IF_TRUE 116:LOAD_GLOBAL 117:IS_OP 118:CONTAINS_OP 119:RERAISE 120:COPY 122:BINARY_OP
    123:SEND 124:LOAD_FAST 125:STORE_FAST 126:DELETE_FAST 128:POP_JUMP_FORWARD_IF_NOT_NONE
    129:POP_JUMP_FORWARD_IF_NONE 130:RAISE_VARARGS 131:GET_AWAITABLE 132:MAKE_FUNCTION 133:BUILD_SLICE
    134:JUMP_BACKWARD_NO_INTERRUPT 135:MAKE_CELL 136:LOAD_CLOSURE 137:LOAD_DEREF 138:STORE_DEREF
    139:DELETE_DEREF 140:JUMP_BACKWARD 142:CALL_FUNCTION_EX 144:EXTENDED_ARG 145:LIST_APPEND 146:SET_ADD
    147:MAP_ADD 148:LOAD_CLASSDEREF 149:COPY_FREE_VARS 151:RESUME 152:MATCH_CLASS 155:FORMAT_VALUE
    156:BUILD_CONST_KEY_MAP 157:BUILD_STRING 160:LOAD_METHOD 162:LIST_EXTEND 163:SET_UPDATE 164:DICT_MERGE
    165:DICT_UPDATE 166:PRECALL 171:CALL 172:KW_NAMES 173:POP_JUMP_BACKWARD_IF_NOT_NONE
    174:POP_JUMP_BACKWARD_IF_NONE 175:POP_JUMP_BACKWARD_IF_FALSE 176:POP_JUMP_BACKWARD_IF_TRUE
    """),
    ("3.12", "3.11", """
    3:INTERPRETER_EXIT 4:END_FOR 5:END_SEND 10:- 17:RESERVED 26:BINARY_SLICE 27:STORE_SLICE 55:CLEANUP_THROW
    70:- 82:- 84:- 86:- 87:LOAD_LOCALS 88:- 111:- 112:- 114:POP_JUMP_IF_FALSE 115:POP_JUMP_IF_TRUE
    121:RETURN_CONST 127:LOAD_FAST_CHECK 128:POP_JUMP_IF_NOT_NONE 129:POP_JUMP_IF_NONE 141:LOAD_SUPER_ATTR
    143:LOAD_FAST_AND_CLEAR 148:- 150:YIELD_VALUE 160:- 166:- 173:CALL_INTRINSIC_1 174:CALL_INTRINSIC_2
    175:LOAD_FROM_DICT_OR_GLOBALS 176:LOAD_FROM_DICT_OR_DEREF
    """),
    ("3.13", "", """
    0:CACHE 1:BEFORE_ASYNC_WITH 2:BEFORE_WITH 4:BINARY_SLICE 5:BINARY_SUBSCR 6:CHECK_EG_MATCH 7:CHECK_EXC_MATCH
    8:CLEANUP_THROW 9:DELETE_SUBSCR 10:END_ASYNC_FOR 11:END_FOR 12:END_SEND 13:EXIT_INIT_CHECK 14:FORMAT_SIMPLE
    15:FORMAT_WITH_SPEC 16:GET_AITER 17:RESERVED 18:GET_ANEXT 19:GET_ITER 20:GET_LEN 21:GET_YIELD_FROM_ITER
    22:INTERPRETER_EXIT 23:LOAD_ASSERTION_ERROR 24:LOAD_BUILD_CLASS 25:LOAD_LOCALS 26:MAKE_FUNCTION
    27:MATCH_KEYS 28:MATCH_MAPPING 29:MATCH_SEQUENCE 30:NOP 31:POP_EXCEPT 32:POP_TOP 33:PUSH_EXC_INFO
    34:PUSH_NULL 35:RETURN_GENERATOR 36:RETURN_VALUE 37:SETUP_ANNOTATIONS 38:STORE_SLICE 39:STORE_SUBSCR
    40:TO_BOOL 41:UNARY_INVERT 42:UNARY_NEGATIVE 43:UNARY_NOT 44:WITH_EXCEPT_START 45:BINARY_OP
    46:BUILD_CONST_KEY_MAP 47:BUILD_LIST 48:BUILD_MAP 49:BUILD_SET 50:BUILD_SLICE 51:BUILD_STRING 52:BUILD_TUPLE
    53:CALL 54:CALL_FUNCTION_EX 55:CALL_INTRINSIC_1 56:CALL_INTRINSIC_2 57:CALL_KW 58:COMPARE_OP 59:CONTAINS_OP
    60:CONVERT_VALUE 61:COPY 62:COPY_FREE_VARS 63:DELETE_ATTR 64:DELETE_DEREF 65:DELETE_FAST 66:DELETE_GLOBAL
    67:DELETE_NAME 68:DICT_MERGE 69:DICT_UPDATE 70:ENTER_EXECUTOR 71:EXTENDED_ARG 72:FOR_ITER 73:GET_AWAITABLE
    74:IMPORT_FROM 75:IMPORT_NAME 76:IS_OP 77:JUMP_BACKWARD 78:JUMP_BACKWARD_NO_INTERRUPT 79:JUMP_FORWARD
    80:LIST_APPEND 81:LIST_EXTEND 82:LOAD_ATTR 83:LOAD_CONST 84:LOAD_DEREF 85:LOAD_FAST 86:LOAD_FAST_AND_CLEAR
    87:LOAD_FAST_CHECK 88:LOAD_FAST_LOAD_FAST 89:LOAD_FROM_DICT_OR_DEREF 90:LOAD_FROM_DICT_OR_GLOBALS
    91:LOAD_GLOBAL 92:LOAD_NAME 93:LOAD_SUPER_ATTR 94:MAKE_CELL 95:MAP_ADD 96:MATCH_CLASS 97:POP_JUMP_IF_FALSE
    98:POP_JUMP_IF_NONE 99:POP_JUMP_IF_NOT_NONE 100:POP_JUMP_IF_TRUE 101:RAISE_VARARGS 102:RERAISE
    103:RETURN_CONST 104:SEND 105:SET_ADD 106:SET_FUNCTION_ATTRIBUTE 107:SET_UPDATE 108:STORE_ATTR
    109:STORE_DEREF 110:STORE_FAST 111:STORE_FAST_LOAD_FAST 112:STORE_FAST_STORE_FAST 113:STORE_GLOBAL
    114:STORE_NAME 115:SWAP 116:UNPACK_EX 117:UNPACK_SEQUENCE 118:YIELD_VALUE 149:RESUME
    """),
)
# fmt: on

# Empty instructions that follow an operation since 3.11.  They are zero in a file, and a wrong count
# gives away a wrong version.
_CACHES: Dict[str, str] = {
    "3.11": "BINARY_SUBSCR:4 STORE_SUBSCR:1 UNPACK_SEQUENCE:1 STORE_ATTR:4 LOAD_ATTR:4 COMPARE_OP:2 LOAD_GLOBAL:5"
    " BINARY_OP:1 LOAD_METHOD:10 PRECALL:1 CALL:4",
    "3.12": "BINARY_SUBSCR:1 STORE_SUBSCR:1 UNPACK_SEQUENCE:1 FOR_ITER:1 STORE_ATTR:4 LOAD_ATTR:9 COMPARE_OP:1"
    " LOAD_GLOBAL:4 BINARY_OP:1 SEND:1 LOAD_SUPER_ATTR:1 CALL:3",
    "3.13": "LOAD_GLOBAL:4 BINARY_OP:1 UNPACK_SEQUENCE:1 COMPARE_OP:1 CONTAINS_OP:1 BINARY_SUBSCR:1 FOR_ITER:1"
    " LOAD_SUPER_ATTR:1 LOAD_ATTR:9 STORE_ATTR:4 CALL:3 STORE_SUBSCR:1 SEND:1 JUMP_BACKWARD:1 TO_BOOL:3"
    " POP_JUMP_IF_TRUE:1 POP_JUMP_IF_FALSE:1 POP_JUMP_IF_NONE:1 POP_JUMP_IF_NOT_NONE:1",
}

# One name for operations that do the same under several names
_SAME: Dict[str, str] = {
    "JUMP_FORWARD": "JUMP",
    "JUMP_ABSOLUTE": "JUMP",
    "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "CONTINUE_LOOP": "JUMP",
    "LOAD_FAST_CHECK": "LOAD_FAST",
    "INPLACE_DIVIDE": "BINARY_DIVIDE",
}
for _when in ("FALSE", "TRUE", "NONE", "NOT_NONE"):
    for _way in ("FORWARD", "BACKWARD"):
        _SAME[f"POP_JUMP_{_way}_IF_{_when}"] = f"POP_JUMP_IF_{_when}"


def _words(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


_NAMED = _words(
    "LOAD_GLOBAL LOAD_ATTR LOAD_METHOD LOAD_NAME LOAD_SUPER_ATTR IMPORT_NAME IMPORT_FROM STORE_NAME STORE_GLOBAL"
    " STORE_ATTR DELETE_NAME DELETE_GLOBAL DELETE_ATTR LOAD_FROM_DICT_OR_GLOBALS STORE_ANNOTATION"
)
_CONSTANT = frozenset(("LOAD_CONST", "RETURN_CONST", "KW_NAMES"))
_FAST = _words("LOAD_FAST STORE_FAST DELETE_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR")
_PAIRS = _words("LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST")
_DEREF = _words("LOAD_DEREF STORE_DEREF DELETE_DEREF LOAD_CLOSURE LOAD_CLASSDEREF MAKE_CELL LOAD_FROM_DICT_OR_DEREF")
_ABSOLUTE = _words(
    "JUMP_ABSOLUTE CONTINUE_LOOP POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP"
    " JUMP_IF_NOT_EXC_MATCH"
)
_RELATIVE = _words(
    "JUMP_FORWARD FOR_ITER SETUP_LOOP SETUP_EXCEPT SETUP_FINALLY SETUP_WITH SETUP_ASYNC_WITH CALL_FINALLY SEND"
)
_ENDS = _words("RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE JUMP END_FINALLY")

_SYMBOLS: Dict[str, str] = {
    "POWER": "**", "MULTIPLY": "*", "MODULO": "%", "ADD": "+", "SUBTRACT": "-", "FLOOR_DIVIDE": "//",
    "TRUE_DIVIDE": "/", "DIVIDE": "old /", "LSHIFT": "<<", "RSHIFT": ">>", "AND": "&", "XOR": "^", "OR": "|",
    "MATRIX_MULTIPLY": "@",
}  # fmt: skip
_NUMBERED_SYMBOLS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=", "in", "not in", "is", "is not", "exception match")


class Instruction(NamedTuple):
    """One operation, in terms that are the same for all Python versions.

    Attributes
    ----------
    op : str
        The operation's name; arithmetic is "BINARY" or "INPLACE".
    arg : int
        Its operand as a number (a flag, a count).
    value : object
        What the operand stands for: a name, a constant, a variable's slot, a symbol.
    target : int
        Index of the instruction to jump to, or -1.
    """

    op: str
    arg: int
    value: Any
    target: int


@dataclass(frozen=True)
class Dialect:
    """The instructions of one Python version."""

    version: str
    layout: str
    operations: Dict[int, str]
    caches: Dict[str, int]

    @property
    def number(self) -> Tuple[int, int]:
        """The version as numbers, for comparing."""
        major, minor = self.version.split(".")
        return int(major), int(minor)


def _pairs(text: str) -> List[Tuple[str, str]]:
    return [(item.split(":")[0], item.split(":")[1]) for item in text.split()]


def _dialects() -> Dict[str, Dialect]:
    tables: Dict[str, Dict[int, str]] = {"": {}}
    found: Dict[str, Dialect] = {}
    for version, base, text in _OPERATIONS:
        table = dict(tables[base])
        table.update((int(number), name) for number, name in _pairs(text))
        tables[version] = {number: name for number, name in table.items() if name != "-"}
        layout = [known for known in _LAYOUTS if _numbers(known) <= _numbers(version)][-1]
        caches = {name: int(count) for name, count in _pairs(_CACHES.get(version, ""))}
        found[version] = Dialect(version, layout, tables[version], caches)
    return {version: found[version] for version in sorted(found, key=_numbers)}


def _numbers(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


DIALECTS: Dict[str, Dialect] = _dialects()


def decode(code: Code, dialect: Dialect) -> Tuple[Instruction, ...]:
    """The instructions of one code object, if that version of Python can have written them.

    Parameters
    ----------
    code : Code
    dialect : Dialect

    Returns
    -------
    tuple of Instruction

    Raises
    ------
    BytecodeError
        If any operation, operand, jump or empty instruction is not as that version writes it.
    """
    if code.layout != dialect.layout or len(code.code) > MAX_CODE or not _lines_fit(code, dialect):
        raise unfit(dialect)
    sweep = list(_sweep(code.code, dialect))
    starts = {start: index for index, (start, _, _, _) in enumerate(sweep)}
    found = []
    for _, op, arg, end in sweep:
        target = -1
        if _jumps(op, dialect):
            target = starts.get(_target(op, arg, end, dialect), -1)
            if target < 0:
                raise unfit(dialect)
        found.append(_instruction(code, dialect, op, arg, target))
    if not found or found[-1].op not in _ENDS:
        raise unfit(dialect)
    return tuple(found)


def unfit(dialect: Dialect) -> BytecodeError:
    """The error for code that a version of Python cannot have written."""
    return BytecodeError(f"the instructions are not those of Python {dialect.version}", _HINT)


def _lines_fit(code: Code, dialect: Dialect) -> bool:
    # 3.10 counts jumps in another unit than 3.8 and 3.9 but shares their layout.  Its table of lines
    # covers the code to its last byte; the older table ends where the last line begins.
    if code.layout != "3.8":
        return True
    covered = sum(code.lines[0::2])
    return covered == len(code.code) if dialect.version == "3.10" else covered < len(code.code)


def _sweep(data: bytes, dialect: Dialect) -> Iterator[Tuple[int, str, int, int]]:
    """(start, operation, operand, end with the empty instructions) of all instructions, in order."""
    position = 0
    start, high = 0, 0
    while position < len(data):
        name, arg, position = _one(data, position, dialect)
        if name == "CACHE":
            raise unfit(dialect)
        arg |= high
        if name == "EXTENDED_ARG":
            high = arg << (8 if dialect.number >= (3, 6) else 16)
            if high >= 1 << 32:
                raise unfit(dialect)
            continue
        empty = 2 * dialect.caches.get(name, 0)
        if data[position : position + empty] != b"\0" * empty:
            raise unfit(dialect)
        position += empty
        yield start, name, arg, position
        start, high = position, 0
    if start != position:
        raise unfit(dialect)


def _one(data: bytes, position: int, dialect: Dialect) -> Tuple[str, int, int]:
    """Operation, operand and end of the instruction at a position."""
    name = dialect.operations.get(data[position])
    if name is None:
        raise unfit(dialect)
    # before 3.6 operations below 90 had no operand
    size = 2 if dialect.number >= (3, 6) else 3 if data[position] >= 90 else 1
    operand = data[position + 1 : position + size]
    if len(operand) != size - 1:
        raise unfit(dialect)
    return name, int.from_bytes(operand, "little"), position + size


def _jumps(op: str, dialect: Dialect) -> bool:
    return op in _RELATIVE or op in _ABSOLUTE or "JUMP_" in op


def _target(op: str, arg: int, end: int, dialect: Dialect) -> int:
    """Offset in bytes of the instruction that an operation jumps to."""
    unit = 2 if dialect.number >= (3, 10) else 1
    if op in _ABSOLUTE and dialect.number < (3, 11):
        return arg * unit
    return end - arg * unit if "BACKWARD" in op else end + arg * unit


def _instruction(code: Code, dialect: Dialect, op: str, arg: int, target: int) -> Instruction:
    try:
        value = _operand(code, dialect, op, arg)
    except IndexError as error:
        raise unfit(dialect) from error
    if op == "BINARY_OP":
        return Instruction("INPLACE" if arg >= len(_NUMBERED_SYMBOLS) else "BINARY", arg, value, target)
    kind, _, rest = op.partition("_")
    if kind in ("BINARY", "INPLACE") and rest in _SYMBOLS:
        return Instruction(kind, arg, value, target)
    if op == "CALL_FUNCTION" and dialect.number < (3, 6):
        op = "CALL_PAIRS"
    if op == "MAKE_FUNCTION":
        value = dialect.number
    flagged = op == "LOAD_GLOBAL" and dialect.number >= (3, 11) or op == "LOAD_ATTR" and dialect.number >= (3, 12)
    return Instruction(_SAME.get(op, op), arg & 1 if flagged else arg, value, target)


def _operand(code: Code, dialect: Dialect, op: str, arg: int) -> Any:
    """What an operand stands for; IndexError where it stands for nothing."""
    kind, _, rest = op.partition("_")
    if op in _NAMED:
        return code.names[arg >> _name_shift(op, dialect)]
    if op in _CONSTANT:
        return code.consts[arg]
    if op in _FAST:
        return _slot(code, arg, True)
    if op in _PAIRS:
        return _slot(code, arg >> 4, True), _slot(code, arg & 15, True)
    if op in _DEREF:
        return _slot(code, arg, False)
    if op == "BINARY_OP":
        return (_NUMBERED_SYMBOLS * 2)[arg]
    if op == "COMPARE_OP":
        return _COMPARISONS[arg >> {(3, 12): 4, (3, 13): 5}.get(dialect.number, 0)]
    return _SYMBOLS.get(rest) if kind in ("BINARY", "INPLACE") else None


def _name_shift(op: str, dialect: Dialect) -> int:
    """How many flags sit below the index of a name."""
    since = {"LOAD_GLOBAL": ((3, 11), 1), "LOAD_ATTR": ((3, 12), 1), "LOAD_SUPER_ATTR": ((3, 12), 2)}.get(op)
    return since[1] if since is not None and dialect.number >= since[0] else 0


def _slot(code: Code, arg: int, local: bool) -> int:
    """Index into `code.variables`; since 3.11 that is the operand itself."""
    if code.layout == "3.11":
        slot, end = arg, len(code.variables)
    else:
        slot, end = (arg, code.nlocals) if local else (arg + code.nlocals, len(code.variables))
    if slot >= end:
        raise IndexError(slot)
    return slot


def versions(code: Code) -> Tuple[str, ...]:
    """The Python versions, oldest first, that can have written this code object and all in it.

    Parameters
    ----------
    code : Code

    Returns
    -------
    tuple of str
        Such as ("3.6", "3.7"); empty where none can.
    """
    found = []
    for version, dialect in DIALECTS.items():
        try:
            for inner in code.walk():
                decode(inner, dialect)
        except BytecodeError:
            continue
        found.append(version)
    return tuple(found)


def handlers_only_clean_up(code: Code, dialect: Dialect) -> bool:
    """Whether an exception would leave the function whatever its table of handlers says.

    A comprehension inside a function (3.12 on) has a handler that restores a variable and raises again.
    """
    sweep = list(_sweep(code.code, dialect))
    starts = {start: index for index, (start, _, _, _) in enumerate(sweep)}
    for offset in _handler_offsets(code.exceptions):
        index = starts.get(offset, len(sweep))
        while index < len(sweep) and sweep[index][1] in ("SWAP", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST"):
            index += 1
        if index >= len(sweep) or sweep[index][1] != "RERAISE":
            return False
    return True


def _handler_offsets(table: bytes) -> List[int]:
    """Offsets in bytes of the handlers of an exception table (start, length, target, depth; 6 bits a byte)."""
    numbers: List[int] = []
    more = False
    for byte in table:
        numbers.append((numbers.pop() << 6 | byte & 63) if more else byte & 63)
        more = bool(byte & 64)
    return [2 * target for target in numbers[2::4]]
