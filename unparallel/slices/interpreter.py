"""Stepping through the instructions of a code object, over values that need not be numbers.

`Machine` knows what Python's operations do to its stack, its variables and the flow of control, in every
version.  What an operation on values means, it asks a `Domain`.  Nothing is executed: where the domain has
no answer, `Undecided` ends the walk, and so does a count of steps.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

from .instructions import Instruction, decode, handlers_only_clean_up, unfit
from .marshal import CELL, Code, Other
from .opcodes import Dialect
from .sizes import Undecided

MAX_STEPS = 10000
MAX_DEPTH = 8

_UNSET = Other("unset")
_VARARGS, _VARKEYWORDS = 0x04, 0x08
# generators and coroutines: calling one runs nothing of its body
_LAZY = 0x20 | 0x80 | 0x100 | 0x200


class Items:
    """A Python list or tuple, perhaps with an end of unknown length.

    Parameters
    ----------
    values : sequence
    mutable : bool
        A list; the machine appends to it in place, as Python does.
    tail : object
        What is known of the items after `values`, or None where there are none.
    """

    def __init__(self, values: Sequence[Any], mutable: bool = False, tail: Any = None) -> None:
        self.values: List[Any] = list(values)
        self.mutable = mutable
        self.tail = tail


@dataclass(frozen=True)
class Slice:
    """What `start:stop:step` stands for in an index."""

    start: Any
    stop: Any
    step: Any = None


class Cell:
    """A variable that functions share."""

    def __init__(self, value: Any = _UNSET) -> None:
        self.value = value


@dataclass(frozen=True)
class Function:
    """A function made while stepping, or the one that a file holds."""

    code: Code
    defaults: Tuple[Any, ...] = ()
    closure: Tuple[Cell, ...] = ()


class _Iteration:
    """A position in a list that may still grow."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self.position = 0


class Domain:
    """What operations mean; each raises `Undecided` where that is not known."""

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        """`left symbol right`; "old /" is the division of Python 2."""
        raise Undecided(f"it computes with {symbol!r}")

    def unary(self, symbol: str, value: Any) -> Any:
        """`-value` or `+value`."""
        raise Undecided(f"it computes with {symbol!r}")

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        """`left symbol right`, where the symbol may be a word."""
        raise Undecided(f"it compares with {symbol!r}")

    def truth(self, value: Any) -> bool:
        """Which way a condition goes."""
        raise Undecided("what it does depends on a condition")

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        raise Undecided(f"it reads {name!r}")

    def subscript(self, value: Any, index: Any) -> Any:
        """`value[index]`."""
        raise Undecided("it indexes something")

    def call(self, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """`function(*args, **kwargs)`."""
        raise Undecided("it calls something")

    def iterate(self, value: Any) -> Items:
        """What a loop over the value would see."""
        raise Undecided("it loops over something")

    def global_name(self, name: str) -> Any:
        """A global or builtin of that name."""
        raise Undecided(f"it uses the global {name!r}")

    def cost(self, value: Any) -> int:
        """How many steps a value counts for: more where working with it takes longer."""
        return 0

    def module(self, name: str, leaf: bool) -> Any:
        """What `import name` gives: the leaf of a dotted name, or its first part."""
        raise Undecided(f"it imports {name!r}")


class Machine:
    """Steps through code objects of one Python version over the values of a domain.

    Parameters
    ----------
    dialect : Dialect
    domain : Domain
    """

    def __init__(self, dialect: Dialect, domain: Domain) -> None:
        self.dialect = dialect
        self.domain = domain
        self.steps = 0
        self.depth = 0
        self.decoded: Dict[int, Tuple[Instruction, ...]] = {}

    def instructions(self, code: Code) -> Tuple[Instruction, ...]:
        """The decoded instructions, made once."""
        found = self.decoded.get(id(code))
        if found is None:
            if code.exceptions and not handlers_only_clean_up(code, self.dialect):
                raise Undecided("it handles exceptions")
            found = self.decoded[id(code)] = decode(code, self.dialect)
        return found

    def spend(self, steps: int) -> None:
        """Counts work, so that no loop goes on for ever."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise Undecided(f"it takes more than {MAX_STEPS} steps")

    def call(self, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """The value of a call.

        Raises
        ------
        Undecided
            If it cannot be told.
        BytecodeError
            If this version of Python cannot have written the code.
        """
        if not isinstance(function, Function):
            result = self.domain.call(function, args, kwargs)
            self.spend(self.domain.cost(result))
            return result
        if self.depth >= MAX_DEPTH:
            raise Undecided("its functions call each other too deeply")
        self.depth += 1
        try:
            return _Frame(self, function, args, kwargs).run()
        finally:
            self.depth -= 1


def _bind(function: Function, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
    """Values of the parameters, in order, by Python's rules."""
    code = function.code
    if code.flags & _LAZY:
        raise Undecided("it is a generator or coroutine")
    names = code.parameters
    found: List[Any] = [_UNSET] * len(names)
    first = code.argcount - len(function.defaults)
    if first < 0 or len(args) > code.argcount:
        raise Undecided("its arguments do not fit its parameters")
    found[first : code.argcount] = function.defaults
    found[: len(args)] = args
    for name, value in kwargs.items():
        if name not in names or names.index(name) < len(args):
            raise Undecided("its arguments do not fit its parameters")
        found[names.index(name)] = value
    if any(value is _UNSET for value in found):
        raise Undecided("its arguments do not fit its parameters")
    if code.flags & _VARARGS:
        found.append(Items(()))
    if code.flags & _VARKEYWORDS:
        found.append(Other("dict"))
    return found


class _Frame:
    """One call of one function."""

    def __init__(self, machine: Machine, function: Function, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        code = function.code
        self.machine = machine
        self.domain = machine.domain
        self.instructions = machine.instructions(code)
        self.index = 0
        self.stack: List[Any] = []
        self.blocks: List[Tuple[int, int]] = []
        self.keywords: Tuple[str, ...] = ()
        self.result: Any = _UNSET
        values = _bind(function, args, kwargs)
        self.slots: List[Any] = values + [_UNSET] * (len(code.variables) - len(values))
        self.fill_cells(code, function.closure)

    def fill_cells(self, code: Code, closure: Tuple[Cell, ...]) -> None:
        """Puts the closure's cells into their slots; before 3.11 the function's own cells too."""
        if len(closure) != len(code.free) or len(self.slots) != len(code.variables):
            raise Undecided("the variables of its closure are not in the file")
        for slot, cell in zip(code.free, closure):
            self.slots[slot] = cell
        if code.layout == "3.11":
            return
        for slot in range(code.nlocals, len(code.variables)):
            if code.kinds[slot] == CELL:
                name = code.variables[slot]
                held = self.slots[code.variables.index(name)] if name in code.variables[: code.nlocals] else _UNSET
                self.slots[slot] = Cell(held)

    def run(self) -> Any:
        """Steps until the function returns."""
        while self.result is _UNSET:
            if self.index >= len(self.instructions):
                raise unfit(self.machine.dialect)
            instruction = self.instructions[self.index]
            self.index += 1
            self.machine.spend(1)
            handler = _HANDLERS.get(instruction.op)
            if handler is None:
                raise Undecided(f"it uses the operation {instruction.op}")
            handler(self, instruction)
        return self.result

    def push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Any:
        """Takes the top value off the stack."""
        if not self.stack:
            raise unfit(self.machine.dialect)
        return self.stack.pop()

    def popn(self, count: int) -> List[Any]:
        """Takes so many values off the stack, in the order in which they were pushed."""
        if count > len(self.stack):
            raise unfit(self.machine.dialect)
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def peek(self, depth: int) -> Any:
        """The value so far down the stack; 1 is the top."""
        if not 1 <= depth <= len(self.stack):
            raise unfit(self.machine.dialect)
        return self.stack[-depth]

    def load(self, slot: int) -> Any:
        """The value of a variable."""
        value = self.slots[slot]
        if value is _UNSET:
            raise Undecided("it reads a variable before it is set")
        return value

    def cell(self, slot: int) -> Cell:
        """The cell in a slot."""
        value = self.slots[slot]
        if not isinstance(value, Cell):
            raise unfit(self.machine.dialect)
        return value

    def list_at(self, depth: int) -> Items:
        """The list so far down the stack, to be added to."""
        value = self.peek(depth)
        if not isinstance(value, Items) or not value.mutable or value.tail is not None:
            raise Undecided("it adds to something other than a list")
        return value


_NULL = Other("null")


def _constant(frame: _Frame, value: Any) -> Any:
    """A constant as a value of the machine."""
    frame.machine.spend(1)
    return Items([_constant(frame, item) for item in value]) if isinstance(value, tuple) else value


def _load_global(frame: _Frame, it: Instruction) -> None:
    value = frame.domain.global_name(it.value)
    if not it.arg & 1 or frame.machine.dialect.number < (3, 11):
        frame.push(value)
    elif frame.machine.dialect.number >= (3, 13):
        frame.stack += [value, _NULL]
    else:
        frame.stack += [_NULL, value]


def _load_attr(frame: _Frame, it: Instruction) -> None:
    value = frame.domain.attribute(frame.pop(), it.value)
    if not it.arg & 1 or frame.machine.dialect.number < (3, 12):
        frame.push(value)
    elif frame.machine.dialect.number >= (3, 13):
        frame.stack += [value, _NULL]
    else:
        frame.stack += [_NULL, value]


def _load_method(frame: _Frame, it: Instruction) -> None:
    # a method is kept whole, so that the place for its object stays empty
    frame.stack += [_NULL, frame.domain.attribute(frame.pop(), it.value)]


def _load_cell(frame: _Frame, it: Instruction) -> None:
    value = frame.cell(it.value).value
    if value is _UNSET:
        raise Undecided("it reads a variable before it is set")
    frame.push(value)


def _load_and_clear(frame: _Frame, it: Instruction) -> None:
    frame.push(frame.slots[it.value])
    frame.slots[it.value] = _UNSET


def _load_two(frame: _Frame, it: Instruction) -> None:
    frame.stack += [frame.load(slot) for slot in it.value]


def _store(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.value] = frame.pop()


def _store_and_load(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.value[0]] = frame.pop()
    frame.push(frame.load(it.value[1]))


def _store_two(frame: _Frame, it: Instruction) -> None:
    for slot in it.value:
        frame.slots[slot] = frame.pop()


def _store_cell(frame: _Frame, it: Instruction) -> None:
    frame.cell(it.value).value = frame.pop()


def _make_cell(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.value] = Cell(frame.slots[it.value])


def _rotate(count: int) -> Callable[[_Frame, Instruction], None]:
    """The top value goes down to the place so many from the top; 0: as many as the operand says."""

    def handle(frame: _Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group[-1:] + group[:-1]

    return handle


def _duplicate(count: int) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group + group

    return handle


def _swap(frame: _Frame, it: Instruction) -> None:
    value = frame.peek(it.arg)
    frame.stack[-it.arg], frame.stack[-1] = frame.stack[-1], value


def _binary(frame: _Frame, it: Instruction) -> None:
    left, right = frame.popn(2)
    if it.op == "INPLACE" and isinstance(left, Items) and left.mutable:
        raise Undecided("it changes a list in place")
    if isinstance(left, Cell) or isinstance(right, Cell) or _NULL in (left, right):
        raise unfit(frame.machine.dialect)
    result = frame.domain.binary(it.value, left, right)
    frame.machine.spend(frame.domain.cost(result))
    frame.push(result)


def _compare(symbols: Sequence[str] = ()) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        left, right = frame.popn(2)
        frame.push(frame.domain.compare(symbols[it.arg & 1] if symbols else it.value, left, right))

    return handle


def _subscript(frame: _Frame, it: Instruction) -> None:
    value, index = frame.popn(2)
    frame.push(frame.domain.subscript(value, index))


def _subscript_slice(has_start: bool, has_stop: bool) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        stop = frame.pop() if has_stop else None
        start = frame.pop() if has_start else None
        frame.push(frame.domain.subscript(frame.pop(), Slice(start, stop)))

    return handle


def _build(mutable: bool) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        frame.push(Items(frame.popn(it.arg), mutable))

    return handle


def _build_slice(frame: _Frame, it: Instruction) -> None:
    if it.arg not in (2, 3):
        raise unfit(frame.machine.dialect)
    frame.push(Slice(*frame.popn(it.arg)))


def _extend(frame: _Frame, it: Instruction) -> None:
    added = frame.domain.iterate(frame.pop())
    if added.tail is not None:
        raise Undecided("it adds items of unknown number to a list")
    frame.machine.spend(len(added.values))
    frame.list_at(it.arg).values.extend(added.values)


def _append(frame: _Frame, it: Instruction) -> None:
    value = frame.pop()
    frame.list_at(it.arg).values.append(value)


def _to_tuple(frame: _Frame, it: Instruction) -> None:
    value = frame.pop()
    if not isinstance(value, Items):
        raise Undecided("it makes a tuple of something other than a list")
    frame.push(Items(value.values, False, value.tail))


def _intrinsic(frame: _Frame, it: Instruction) -> None:
    if it.arg == 6:
        _to_tuple(frame, it)
    elif it.arg == 5:
        frame.push(frame.domain.unary("+", frame.pop()))
    else:
        raise Undecided("it uses an operation of the interpreter")


def _unpack(frame: _Frame, it: Instruction) -> None:
    items = frame.domain.iterate(frame.pop())
    if items.tail is not None or len(items.values) != it.arg:
        raise Undecided("it unpacks a list of another length")
    frame.stack += reversed(items.values)


def _pop_jump(when: bool) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        if frame.domain.truth(frame.pop()) is when:
            frame.index = it.target

    return handle


def _pop_jump_none(when: bool) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        if frame.domain.truth(frame.domain.compare("is", frame.pop(), None)) is when:
            frame.index = it.target

    return handle


def _jump_or_pop(when: bool) -> Callable[[_Frame, Instruction], None]:
    def handle(frame: _Frame, it: Instruction) -> None:
        if frame.domain.truth(frame.peek(1)) is when:
            frame.index = it.target
        else:
            frame.pop()

    return handle


def _jump(frame: _Frame, it: Instruction) -> None:
    frame.index = it.target


def _iterate(frame: _Frame, it: Instruction) -> None:
    value = frame.pop()
    frame.push(value if isinstance(value, _Iteration) else _Iteration(frame.domain.iterate(value)))


def _next(frame: _Frame, it: Instruction) -> None:
    iteration = frame.peek(1)
    if not isinstance(iteration, _Iteration):
        raise unfit(frame.machine.dialect)
    if iteration.position < len(iteration.items.values):
        frame.push(iteration.items.values[iteration.position])
        iteration.position += 1
        return
    if iteration.items.tail is not None:
        raise Undecided("it loops over a list of unknown length")
    frame.pop()
    frame.index = it.target
    # 3.12 steps over the instruction that ends the loop, 3.13 over the one after it as well
    if frame.machine.dialect.number >= (3, 12):
        frame.index += 2 if frame.machine.dialect.number >= (3, 13) else 1


def _setup_loop(frame: _Frame, it: Instruction) -> None:
    frame.blocks.append((it.target, len(frame.stack)))


def _pop_block(frame: _Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit(frame.machine.dialect)
    frame.blocks.pop()


def _break_loop(frame: _Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit(frame.machine.dialect)
    frame.index, height = frame.blocks.pop()
    del frame.stack[height:]


def _return(frame: _Frame, it: Instruction) -> None:
    frame.result = frame.pop()


def _return_constant(frame: _Frame, it: Instruction) -> None:
    frame.result = _constant(frame, it.value)


def _import_name(frame: _Frame, it: Instruction) -> None:
    level, wanted = frame.popn(2)
    # -1 is Python 2's "here first, then everywhere"
    if level not in (0, -1):
        raise Undecided("it imports from its own package")
    frame.push(frame.domain.module(it.value, wanted is not None))


def _import_from(frame: _Frame, it: Instruction) -> None:
    frame.push(frame.domain.attribute(frame.peek(1), it.value))


def _keyword_names(frame: _Frame, names: Any) -> Tuple[str, ...]:
    values = names.values if isinstance(names, Items) else names
    if not isinstance(values, (list, tuple)) or not all(isinstance(name, str) for name in values):
        raise unfit(frame.machine.dialect)
    return tuple(values)


def _set_keywords(frame: _Frame, it: Instruction) -> None:
    frame.keywords = _keyword_names(frame, it.value)


def _do_call(frame: _Frame, function: Any, args: List[Any], names: Tuple[str, ...]) -> None:
    if len(names) > len(args):
        raise unfit(frame.machine.dialect)
    split = len(args) - len(names)
    kwargs = dict(zip(names, args[split:]))
    frame.push(frame.machine.call(function, args[:split], kwargs))


def _call_function(frame: _Frame, it: Instruction) -> None:
    args = frame.popn(it.arg)
    _do_call(frame, frame.pop(), args, ())


def _call_pairs(frame: _Frame, it: Instruction) -> None:
    # before 3.6 the low byte counts positional arguments, the next byte pairs of name and value
    pairs = frame.popn(2 * (it.arg >> 8 & 255))
    args = frame.popn(it.arg & 255)
    names = _keyword_names(frame, pairs[0::2])
    _do_call(frame, frame.pop(), args + pairs[1::2], names)


def _call_with_names(frame: _Frame, it: Instruction) -> None:
    names = _keyword_names(frame, frame.pop())
    args = frame.popn(it.arg)
    _do_call(frame, frame.pop(), args, names)


def _call(frame: _Frame, it: Instruction) -> None:
    names, frame.keywords = frame.keywords, ()
    _call_two_places(frame, frame.popn(it.arg), names)


def _call_names_on_top(frame: _Frame, it: Instruction) -> None:
    names = _keyword_names(frame, frame.pop())
    _call_two_places(frame, frame.popn(it.arg), names)


def _call_two_places(frame: _Frame, args: List[Any], names: Tuple[str, ...]) -> None:
    """A call whose function takes two places: one of them is empty, or holds the object of a method."""
    first, second = frame.popn(2)
    if first is _NULL:
        _do_call(frame, second, args, names)
    elif second is _NULL:
        _do_call(frame, first, args, names)
    else:
        _do_call(frame, first, [second] + args, names)


def _make_function(frame: _Frame, it: Instruction) -> None:
    version: Tuple[int, int] = it.value
    if (3, 0) <= version < (3, 11):
        frame.pop()  # the qualified name
    code = frame.pop()
    if not isinstance(code, Code):
        raise unfit(frame.machine.dialect)
    if version < (3, 6):
        defaults: Tuple[Any, ...] = tuple(frame.popn(it.arg)) if it.arg < 256 else (_UNSET,)
        flags, closure = 0, Items(())
    else:
        flags = it.arg if version < (3, 13) else 0
        closure = frame.pop() if flags & 8 else Items(())
        defaults = tuple(_only_items(frame, frame.pop())) if flags == 1 or flags == 9 else ()
    if flags not in (0, 1, 8, 9) or _UNSET in defaults:
        raise Undecided("it makes a function in an unusual way")
    frame.push(Function(code, defaults, _cells(frame, closure)))


def _make_closure(frame: _Frame, it: Instruction) -> None:
    if it.arg >= 256:
        raise Undecided("it makes a function in an unusual way")
    if frame.machine.dialect.number >= (3, 0):
        frame.pop()  # the qualified name
    code = frame.pop()
    closure = frame.pop()
    if not isinstance(code, Code):
        raise unfit(frame.machine.dialect)
    frame.push(Function(code, tuple(frame.popn(it.arg)), _cells(frame, closure)))


def _set_function_attribute(frame: _Frame, it: Instruction) -> None:
    value, function = frame.popn(2)
    if not isinstance(function, Function):
        raise unfit(frame.machine.dialect)
    if it.arg == 8:
        frame.push(Function(function.code, function.defaults, _cells(frame, value)))
    elif it.arg == 1:
        frame.push(Function(function.code, tuple(_only_items(frame, value)), function.closure))
    else:
        raise Undecided("it makes a function in an unusual way")


def _only_items(frame: _Frame, value: Any) -> List[Any]:
    if not isinstance(value, Items) or value.tail is not None:
        raise unfit(frame.machine.dialect)
    return value.values


def _cells(frame: _Frame, value: Any) -> Tuple[Cell, ...]:
    cells = _only_items(frame, value)
    if not all(isinstance(cell, Cell) for cell in cells):
        raise unfit(frame.machine.dialect)
    return tuple(cells)


def _nothing(frame: _Frame, it: Instruction) -> None:
    """No meaning for values."""


_Handler = Callable[[_Frame, Instruction], None]

_HANDLERS: Dict[str, _Handler] = {
    "NOP": _nothing,
    "RESUME": _nothing,
    "PRECALL": _nothing,
    "COPY_FREE_VARS": _nothing,
    "POP_TOP": lambda frame, it: frame.pop() and None,
    "PUSH_NULL": lambda frame, it: frame.push(_NULL),
    "LOAD_CONST": lambda frame, it: frame.push(_constant(frame, it.value)),
    "LOAD_FAST": lambda frame, it: frame.push(frame.load(it.value)),
    "LOAD_FAST_AND_CLEAR": _load_and_clear,
    "LOAD_FAST_LOAD_FAST": _load_two,
    "STORE_FAST": _store,
    "STORE_FAST_LOAD_FAST": _store_and_load,
    "STORE_FAST_STORE_FAST": _store_two,
    "LOAD_DEREF": _load_cell,
    "STORE_DEREF": _store_cell,
    "LOAD_CLOSURE": lambda frame, it: frame.push(frame.cell(it.value)),
    "MAKE_CELL": _make_cell,
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_METHOD": _load_method,
    "ROT_TWO": _rotate(2),
    "ROT_THREE": _rotate(3),
    "ROT_FOUR": _rotate(4),
    "ROT_N": _rotate(0),
    "DUP_TOP": _duplicate(1),
    "DUP_TOP_TWO": _duplicate(2),
    "DUP_TOPX": _duplicate(0),
    "COPY": lambda frame, it: frame.push(frame.peek(it.arg)),
    "SWAP": _swap,
    "BINARY": _binary,
    "INPLACE": _binary,
    "UNARY_NEGATIVE": lambda frame, it: frame.push(frame.domain.unary("-", frame.pop())),
    "UNARY_POSITIVE": lambda frame, it: frame.push(frame.domain.unary("+", frame.pop())),
    "UNARY_NOT": lambda frame, it: frame.push(not frame.domain.truth(frame.pop())),
    "TO_BOOL": lambda frame, it: frame.push(frame.domain.truth(frame.pop())),
    "COMPARE_OP": _compare(),
    "IS_OP": _compare(("is", "is not")),
    "CONTAINS_OP": _compare(("in", "not in")),
    "BINARY_SUBSCR": _subscript,
    "BINARY_SLICE": _subscript_slice(True, True),
    "SLICE+0": _subscript_slice(False, False),
    "SLICE+1": _subscript_slice(True, False),
    "SLICE+2": _subscript_slice(False, True),
    "SLICE+3": _subscript_slice(True, True),
    "BUILD_TUPLE": _build(False),
    "BUILD_LIST": _build(True),
    "BUILD_SLICE": _build_slice,
    "LIST_EXTEND": _extend,
    "LIST_APPEND": _append,
    "LIST_TO_TUPLE": _to_tuple,
    "CALL_INTRINSIC_1": _intrinsic,
    "UNPACK_SEQUENCE": _unpack,
    "JUMP": _jump,
    "POP_JUMP_IF_TRUE": _pop_jump(True),
    "POP_JUMP_IF_FALSE": _pop_jump(False),
    "POP_JUMP_IF_NONE": _pop_jump_none(True),
    "POP_JUMP_IF_NOT_NONE": _pop_jump_none(False),
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True),
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
    "GET_ITER": _iterate,
    "FOR_ITER": _next,
    "SETUP_LOOP": _setup_loop,
    "POP_BLOCK": _pop_block,
    "BREAK_LOOP": _break_loop,
    "RETURN_VALUE": _return,
    "RETURN_CONST": _return_constant,
    "IMPORT_NAME": _import_name,
    "IMPORT_FROM": _import_from,
    "KW_NAMES": _set_keywords,
    "CALL_FUNCTION": _call_function,
    "CALL_FUNCTION_KW": _call_with_names,
    "CALL_PAIRS": _call_pairs,
    "CALL_METHOD": _call,
    "CALL": _call,
    "CALL_KW": _call_names_on_top,
    "MAKE_FUNCTION": _make_function,
    "MAKE_CLOSURE": _make_closure,
    "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
}
