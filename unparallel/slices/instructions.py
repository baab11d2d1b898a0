"""The instructions of a code object, in terms that are the same for every Python that can have written it.

The marshal stream says nowhere which Python wrote it, so all versions are tried and those that fit are kept.
What the instructions do is the business of `interpreter`, what they mean that of a domain.
"""

from typing import Any, Iterator, List, NamedTuple, Tuple

from ..errors import BytecodeError
from .marshal import HINT, Code
from .opcodes import (
    ABSOLUTE,
    COMPARISONS,
    CONSTANT,
    DEREF,
    DIALECTS,
    ENDS,
    FAST,
    NAMED,
    NUMBERED_SYMBOLS,
    PAIRS,
    RELATIVE,
    SAME,
    SYMBOLS,
    Dialect,
)

MAX_CODE = 1 << 15


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
    if not found or found[-1].op not in ENDS:
        raise unfit(dialect)
    return tuple(found)


def unfit(dialect: Dialect) -> BytecodeError:
    """The error for code that a version of Python cannot have written."""
    return BytecodeError(f"the instructions are not those of Python {dialect.version}", HINT)


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
    return op in RELATIVE or op in ABSOLUTE or "JUMP_" in op


def _target(op: str, arg: int, end: int, dialect: Dialect) -> int:
    """Offset in bytes of the instruction that an operation jumps to."""
    unit = 2 if dialect.number >= (3, 10) else 1
    if op in ABSOLUTE and dialect.number < (3, 11):
        return arg * unit
    return end - arg * unit if "BACKWARD" in op else end + arg * unit


def _instruction(code: Code, dialect: Dialect, op: str, arg: int, target: int) -> Instruction:
    try:
        value = _operand(code, dialect, op, arg)
    except IndexError as error:
        raise unfit(dialect) from error
    if op == "BINARY_OP":
        return Instruction("INPLACE" if arg >= len(NUMBERED_SYMBOLS) else "BINARY", arg, value, target)
    kind, _, rest = op.partition("_")
    if kind in ("BINARY", "INPLACE") and rest in SYMBOLS:
        return Instruction(kind, arg, value, target)
    if op == "CALL_FUNCTION" and dialect.number < (3, 6):
        op = "CALL_PAIRS"
    if op == "MAKE_FUNCTION":
        value = dialect.number
    flagged = op == "LOAD_GLOBAL" and dialect.number >= (3, 11) or op == "LOAD_ATTR" and dialect.number >= (3, 12)
    return Instruction(SAME.get(op, op), arg & 1 if flagged else arg, value, target)


def _operand(code: Code, dialect: Dialect, op: str, arg: int) -> Any:
    """What an operand stands for; IndexError where it stands for nothing."""
    kind, _, rest = op.partition("_")
    if op in NAMED:
        return code.names[arg >> _name_shift(op, dialect)]
    if op in CONSTANT:
        return code.consts[arg]
    if op in FAST:
        return _slot(code, arg, True)
    if op in PAIRS:
        return _slot(code, arg >> 4, True), _slot(code, arg & 15, True)
    if op in DEREF:
        return _slot(code, arg, False)
    if op == "BINARY_OP":
        return (NUMBERED_SYMBOLS * 2)[arg]
    if op == "COMPARE_OP":
        return COMPARISONS[arg >> {(3, 12): 4, (3, 13): 5}.get(dialect.number, 0)]
    return SYMBOLS.get(rest) if kind in ("BINARY", "INPLACE") else None


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
