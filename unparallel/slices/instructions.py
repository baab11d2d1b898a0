"""The instructions of a code object, in terms that are the same for every Python that can have written it.

The marshal stream says nowhere which Python wrote it, so all versions are tried and those that fit are kept.
What differs between versions ends here: the interpreter sees one set of operations.  What these do is its business,
what they mean that of a domain.
"""

from dataclasses import dataclass
from typing import Dict, Iterator, List, NamedTuple, Tuple, cast

from ..errors import BytecodeError
from .marshal import CELL, HINT, Code
from .opcodes import (
    ABSOLUTE,
    COMPARISONS,
    CONSTANT,
    DEREF,
    ENDS,
    FAST,
    NAMED,
    NUMBERED_SYMBOLS,
    PAIRS,
    RELATIVE,
    SAME,
    SYMBOLS,
    VERSIONS,
    PythonVersion,
)

MAX_CODE = 1 << 15

# Where a call's empty place goes when a function is loaded for it, since 3.11
NO_NULL, NULL_BELOW, NULL_ABOVE = 0, 1, 2


class Star(NamedTuple):
    """What a call before 3.6 has beside single arguments."""

    positional: bool
    keywords: bool
    #: `*args` lies below the pairs of name and value, not above
    below: bool


class Instruction(NamedTuple):
    """One operation.

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
    value: object
    target: int

    @property
    def name(self) -> str:
        """The value of an operation that has a name or a symbol."""
        return cast(str, self.value)

    @property
    def slot(self) -> int:
        """The value of an operation on one variable."""
        return cast(int, self.value)

    @property
    def slots(self) -> Tuple[int, int]:
        """The value of an operation on two variables."""
        return cast(Tuple[int, int], self.value)


@dataclass(frozen=True, eq=False)
class Routine:
    """A code object as one or more versions of Python read it.

    Attributes
    ----------
    code : Code
    instructions : tuple of Instruction
        Code objects among their constants are `Routine` as well.
    cells : tuple of (int, int)
        Before 3.11 a call makes the cells of its own variables when it starts: the slot of each, and the slot of
        the parameter that it takes its first value from, or -1.
    guards : dict of int to int
        Instructions inside a `with` block whose handler stands in a table (3.11 on), and how many values lie on
        the stack when the handler takes over: the topmost of these is called.
    catches : bool
        Whether a handler in that table does more than clean up.
    ordered : bool
        Whether dicts keep their order, as since 3.6.
    """

    code: Code
    instructions: Tuple[Instruction, ...]
    cells: Tuple[Tuple[int, int], ...]
    guards: Dict[int, int]
    catches: bool
    ordered: bool = True

    def means_the_same(self, other: "Routine") -> bool:
        """Whether another reading of the same code object is no other to the interpreter."""
        mine, others = (
            (routine.instructions, routine.guards, routine.catches, routine.ordered) for routine in (self, other)
        )
        return mine == others


class _Raw(NamedTuple):
    """An instruction as it stands in the bytes: offset, operation, operand, end with the empty instructions."""

    start: int
    op: str
    arg: int
    end: int


def readings(code: Code) -> Dict[str, Routine]:
    """What a code object says, read as each Python version that can have written it and all in it.

    Parameters
    ----------
    code : Code

    Returns
    -------
    dict of str to Routine
        Versions such as "3.6", oldest first; versions to which the code means the same share one `Routine`.
    """
    found: Dict[str, Routine] = {}
    known: Dict[int, List[Routine]] = {}
    for name, version in VERSIONS.items():
        try:
            found[name] = _Decoder(version, known).routine(code)
        except BytecodeError:
            continue
    return found


def decode(code: Code, version: PythonVersion) -> Tuple[Instruction, ...]:
    """The instructions of one code object, if that version of Python can have written them.

    Parameters
    ----------
    code : Code
    version : PythonVersion

    Returns
    -------
    tuple of Instruction

    Raises
    ------
    BytecodeError
        If any operation, operand, jump or empty instruction is not as that version writes it.
    """
    return _Decoder(version, {}).routine(code).instructions


def unfit(version: str = "any known version") -> BytecodeError:
    """The error for code that a version of Python cannot have written."""
    return BytecodeError(f"the instructions are not those of Python {version}", HINT)


class _Decoder:
    """Reads a code object, and all in it, as one version's.

    Parameters
    ----------
    version : PythonVersion
    known : dict of int to list of Routine
        Readings of each code object, by its id, as other versions': equal ones are used again.
    """

    def __init__(self, version: PythonVersion, known: Dict[int, List[Routine]]) -> None:
        self.version = version
        self.known = known
        # a code object may be referred to many times over
        self.done: Dict[int, Routine] = {}

    def unfit(self) -> BytecodeError:
        """The error for code that this version cannot have written."""
        return unfit(self.version.name)

    def routine(self, code: Code) -> Routine:
        """The one reading of a code object as this version's."""
        if id(code) not in self.done:
            for inner in code.nested:
                self.routine(inner)
            found = self._read(code)
            same = [other for other in self.known.setdefault(id(code), []) if found.means_the_same(other)]
            self.known[id(code)] += [] if same else [found]
            self.done[id(code)] = same[0] if same else found
        return self.done[id(code)]

    def _read(self, code: Code) -> Routine:
        if code.layout != self.version.layout or len(code.code) > MAX_CODE or not self._lines_fit(code):
            raise self.unfit()
        sweep = list(self._sweep(code.code))
        self._check_maps(sweep)
        starts = {raw.start: index for index, raw in enumerate(sweep)}
        found = [self._instruction(code, raw, starts) for raw in sweep]
        if not found or found[-1].op not in ENDS:
            raise self.unfit()
        catches, guards = _handlers(code, sweep, starts)
        return Routine(code, tuple(found), _own_cells(code), guards, catches, self.version.number >= (3, 6))

    def _lines_fit(self, code: Code) -> bool:
        # 3.10 counts jumps in another unit than 3.8 and 3.9 but shares their layout.  Its table of lines
        # covers the code to its last byte; the older table ends where the last line begins.
        if code.layout != "3.8":
            return True
        covered = sum(code.lines[0::2])
        return covered == len(code.code) if self.version.name == "3.10" else covered < len(code.code)

    def _check_maps(self, sweep: List[_Raw]) -> None:
        # 3.5 builds a dict of what lies on the stack but shares the layout of 3.4, where an empty one is made for so
        # many entries, and each is stored
        if self.version.number < (3, 5):
            wanted = sum(raw.arg for raw in sweep if raw.op == "BUILD_MAP")
            if wanted != sum(1 for raw in sweep if raw.op == "STORE_MAP"):
                raise self.unfit()

    def _sweep(self, data: bytes) -> Iterator[_Raw]:
        """All instructions, in order."""
        position = 0
        start, high = 0, 0
        while position < len(data):
            op, arg, position = self._one(data, position)
            if op == "CACHE":
                raise self.unfit()
            arg |= high
            if op == "EXTENDED_ARG":
                high = arg << (8 if self.version.number >= (3, 6) else 16)
                if high >= 1 << 32:
                    raise self.unfit()
                continue
            empty = 2 * self.version.caches.get(op, 0)
            if data[position : position + empty] != b"\0" * empty:
                raise self.unfit()
            position += empty
            yield _Raw(start, op, arg, position)
            start, high = position, 0
        if start != position:
            raise self.unfit()

    def _one(self, data: bytes, position: int) -> Tuple[str, int, int]:
        """Operation, operand and end of the instruction at a position."""
        op = self.version.operations.get(data[position])
        if op is None:
            raise self.unfit()
        # before 3.6 operations below 90 had no operand
        size = 2 if self.version.number >= (3, 6) else 3 if data[position] >= 90 else 1
        operand = data[position + 1 : position + size]
        if len(operand) != size - 1:
            raise self.unfit()
        return op, int.from_bytes(operand, "little"), position + size

    def _instruction(self, code: Code, raw: _Raw, starts: Dict[int, int]) -> Instruction:
        target = -1
        if raw.op in RELATIVE or raw.op in ABSOLUTE or "JUMP_" in raw.op:
            target = starts.get(self._target(raw), -1)
            if target < 0:
                raise self.unfit()
        try:
            value = self._operand(code, raw.op, raw.arg)
        except IndexError as error:
            raise self.unfit() from error
        op, arg = self._common(raw.op, raw.arg)
        if op in ("MAKE_FUNCTION", "MAKE_FUNCTION_COUNTED", "MAKE_CLOSURE"):
            # whether the qualified name lies on the stack
            value = (3, 0) <= self.version.number < (3, 11)
        elif op == "CALL_PAIRS_AND_MORE":
            value = Star("VAR" in raw.op, "DICT" in raw.op, self.version.number >= (3, 5))
        elif op == "CALL_FUNCTION_EX":
            # whether the function takes two places
            value = self.version.number >= (3, 11)
        elif op == "MAP_ADD":
            # whether the key lies above the value
            value = self.version.number < (3, 8)
        return Instruction(op, arg, value, target)

    def _target(self, raw: _Raw) -> int:
        """Offset in bytes of the instruction that an operation jumps to."""
        unit = 2 if self.version.number >= (3, 10) else 1
        if raw.op in ABSOLUTE and self.version.number < (3, 11):
            return raw.arg * unit
        return raw.end - raw.arg * unit if "BACKWARD" in raw.op else raw.end + raw.arg * unit

    def _common(self, op: str, arg: int) -> Tuple[str, int]:
        """Operation and number under the name that all versions share."""
        number = self.version.number
        kind, _, rest = op.partition("_")
        if op == "BINARY_OP":
            op = "INPLACE" if arg >= len(NUMBERED_SYMBOLS) else "BINARY"
        elif kind in ("BINARY", "INPLACE") and rest in SYMBOLS:
            op = kind
        elif op == "CALL_FUNCTION" and number < (3, 6):
            op = "CALL_PAIRS"
        elif op in _WITH_STARS:
            op = "CALL_PAIRS_AND_MORE"
        elif op == "BUILD_MAP" and number < (3, 5):
            arg = 0  # only how much room to make
        elif op == "BUILD_MAP_UNPACK_WITH_CALL" and number < (3, 6):
            arg &= 255  # above it stands where the function lies
        elif op == "MAKE_FUNCTION" and number < (3, 6):
            op = "MAKE_FUNCTION_COUNTED"
        elif op == "MAKE_FUNCTION" and number >= (3, 13):
            arg = 0
        elif op == "LOAD_GLOBAL" and number >= (3, 11) or op == "LOAD_ATTR" and number >= (3, 12):
            arg = NO_NULL if not arg & 1 else NULL_ABOVE if number >= (3, 13) else NULL_BELOW
        elif op == "LOAD_GLOBAL" or op == "LOAD_ATTR":
            arg = NO_NULL
        elif op == "FOR_ITER":
            # how many instructions behind its target a loop that is over goes on: 3.12 steps over the one that
            # ends the loop, 3.13 over the one after it as well
            arg = 0 if number < (3, 12) else 1 if number < (3, 13) else 2
        elif op == "POP_BLOCK":
            # up to 3.7 whatever the block has left on the stack goes too
            arg = int(number < (3, 8))
        return SAME.get(op, op), arg

    def _operand(self, code: Code, op: str, arg: int) -> object:
        """What an operand stands for; IndexError where it stands for nothing."""
        kind, _, rest = op.partition("_")
        if op in NAMED:
            return code.names[arg >> self._name_shift(op)]
        if op in CONSTANT:
            constant = code.consts[arg]
            return self.done[id(constant)] if isinstance(constant, Code) else constant
        if op in FAST:
            return _slot(code, arg, True)
        if op in PAIRS:
            return _slot(code, arg >> 4, True), _slot(code, arg & 15, True)
        if op in DEREF:
            return _slot(code, arg, False)
        if op == "BINARY_OP":
            return (NUMBERED_SYMBOLS * 2)[arg]
        if op == "COMPARE_OP":
            return COMPARISONS[arg >> {(3, 12): 4, (3, 13): 5}.get(self.version.number, 0)]
        return SYMBOLS.get(rest) if kind in ("BINARY", "INPLACE") else None

    def _name_shift(self, op: str) -> int:
        """How many flags sit below the index of a name."""
        since = {"LOAD_GLOBAL": ((3, 11), 1), "LOAD_ATTR": ((3, 12), 1), "LOAD_SUPER_ATTR": ((3, 12), 2)}.get(op)
        return since[1] if since is not None and self.version.number >= since[0] else 0


def _slot(code: Code, arg: int, local: bool) -> int:
    """Index into `code.variables`; since 3.11 that is the operand itself."""
    if code.layout == "3.11":
        slot, end = arg, len(code.variables)
    else:
        slot, end = (arg, code.nlocals) if local else (arg + code.nlocals, len(code.variables))
    if slot >= end:
        raise IndexError(slot)
    return slot


def _own_cells(code: Code) -> Tuple[Tuple[int, int], ...]:
    if code.layout == "3.11":
        return ()
    names = code.variables[: code.nlocals]
    own = [slot for slot in range(code.nlocals, len(code.variables)) if code.kinds[slot] == CELL]
    held = [names.index(code.variables[slot]) if code.variables[slot] in names else -1 for slot in own]
    return tuple(zip(own, held))


# -- the table of exception handlers, since 3.11


class _Entry(NamedTuple):
    """A row of the table, offsets in bytes."""

    start: int
    end: int
    handler: int
    depth: int


# What a handler may consist of so that an exception leaves the function after all: a comprehension inside a function
# (3.12 on) restores variables, a `with` asks the context manager, and both have handlers for their handlers.
_WITH_STARS = ("CALL_FUNCTION_VAR", "CALL_FUNCTION_DICT", "CALL_FUNCTION_VAR_DICT")
_RESTORE = ("SWAP", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST")
_AGAIN = ["COPY", "POP_EXCEPT", "RERAISE"]
# a generator (3.12 on) makes another error of a StopIteration
_STOPPED = ["CALL_INTRINSIC_1", "RERAISE"]
_ASK = ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]


def _handlers(code: Code, sweep: List[_Raw], starts: Dict[int, int]) -> Tuple[bool, Dict[int, int]]:
    """Whether any handler does more than clean up, and the guards of those that ask a context manager."""
    guards: Dict[int, int] = {}
    for entry in _entries(code.exceptions):
        ops = [SAME.get(raw.op, raw.op) for raw in sweep[starts.get(entry.handler, len(sweep)) :]]
        if ops[:2] == _ASK and _asks_only(ops[2:5]):
            for index, raw in enumerate(sweep):
                if entry.start <= raw.start < entry.end:
                    guards[index] = entry.depth
        elif (
            ops[:3] != _AGAIN
            and ops[:2] != _STOPPED
            and next((op for op in ops if op not in _RESTORE), "") != "RERAISE"
        ):
            return True, {}
    return False, guards


def _raises_again(ops: List[str]) -> bool:
    """Whether a handler does nothing but clean up, or raise another error."""
    if ops[:3] == _AGAIN or ops[:2] == _STOPPED:
        return True
    return next((op for op in ops if op not in _RESTORE), "") == "RERAISE"


def _asks_only(ops: List[str]) -> bool:
    """Whether what follows the question to the context manager raises again unless that says otherwise."""
    ops = [op for op in ops if op != "TO_BOOL"]
    return ops[:2] == ["POP_JUMP_IF_TRUE", "RERAISE"]


def _entries(table: bytes) -> List[_Entry]:
    """The rows (start, length, handler, depth; 6 bits a byte, in units of two bytes)."""
    numbers: List[int] = []
    more = False
    for byte in table:
        numbers.append((numbers.pop() << 6 | byte & 63) if more else byte & 63)
        more = bool(byte & 64)
    rows = zip(numbers[0::4], numbers[1::4], numbers[2::4], numbers[3::4])
    return [_Entry(2 * start, 2 * (start + size), 2 * handler, depth >> 1) for start, size, handler, depth in rows]
