"""An abstract interpreter: steps through the instructions of a function, over values that need not be numbers.

`Machine` knows what Python's operations do to its stack, its variables and the flow of control.  Lists, tuples, slices
and plain constants are Python's own; what an operation means for any other value, it asks a `Domain`.  Nothing is
executed: where the domain has no answer, `Undecided` ends the walk, and so does a count of steps.  `instructions` has
made all versions of Python alike, so nothing here knows any.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from .instructions import NO_NULL, NULL_ABOVE, Instruction, Routine, unfit
from .marshal import Other
from .sizes import Undecided

if TYPE_CHECKING:  # Python 3.7 has none
    from typing import Protocol
else:
    Protocol = object

MAX_STEPS = 10_000
# Of all functions of a file together.  A step takes one or two microseconds; a slice of 2 replicas takes about a
# hundred steps, one of 500 replicas about 700, since sizes are longer there.
MAX_FILE_STEPS = 2_000_000
MAX_DEPTH = 8

# Whatever a function may handle: Python's own plain values, and those of a domain, which narrows them
Value = object

_UNSET = Other("unset")
# what a `with` block will call when it is left
_EXIT = Other("exit")
TEXT = Other("text")
_VARARGS, _VARKEYWORDS = 0x04, 0x08
# generators and coroutines: calling one runs nothing of its body
_LAZY = 0x20 | 0x80 | 0x100 | 0x200


class Cell:
    """A variable that functions share."""

    def __init__(self, value: Value = _UNSET) -> None:
        self.value = value


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function made while stepping, or the one that a file holds."""

    routine: Routine
    defaults: Tuple[Value, ...] = ()
    closure: Tuple[Cell, ...] = ()


class _Iteration:
    """A position in a list that may still grow."""

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = items
        self.position = 0


class Domain(Protocol):
    """What operations mean; each raises `Undecided` where that is not known.

    This is all that the interpreter asks, so that another domain (one that records operations, say) can take the place
    of the one that follows rows.
    """

    def binary(self, symbol: str, left: Value, right: Value) -> Value:
        """`left symbol right`; "old /" is the division of Python 2."""

    def unary(self, symbol: str, value: Value) -> Value:
        """`-value` or `+value`."""

    def compare(self, symbol: str, left: Value, right: Value) -> Value:
        """`left symbol right`, where the symbol may be a word."""

    def truth(self, value: Value) -> bool:
        """Which way a condition goes."""
        ...

    def attribute(self, value: Value, name: str) -> Value:
        """`value.name`."""

    def subscript(self, value: Value, index: Value) -> Value:
        """`value[index]`."""

    def call(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """`function(*args, **kwargs)`."""

    def enter(self, manager: Value) -> Value:
        """What `with manager as value` binds, where entering and leaving do nothing to values or exceptions."""

    def iterate(self, value: Value) -> Sequence[Value]:
        """What a loop over the value would see."""
        ...

    def global_name(self, name: str) -> Value:
        """A global or builtin of that name."""

    def module(self, name: str, leaf: bool) -> Value:
        """What `import name` gives: the leaf of a dotted name, or its first part."""

    def cost(self, value: Value) -> int:
        """How many steps a value counts for: more where working with it takes longer."""
        ...


class Budget:
    """The steps that all functions of a file may take together.

    Parameters
    ----------
    steps : int, optional
    """

    def __init__(self, steps: int = MAX_FILE_STEPS) -> None:
        self.steps = steps
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Counts work; once it is too much, it stays so."""
        self.spent += steps
        if self.spent > self.steps:
            raise Undecided(f"the functions in this file take more than {self.steps} steps together")


class Machine:
    """Steps through one function over the values of a domain.

    Parameters
    ----------
    domain : Domain
    budget : Budget
    """

    def __init__(self, domain: Domain, budget: Budget) -> None:
        self.domain = domain
        self.budget = budget
        self.steps = 0
        self.depth = 0

    def spend(self, steps: int) -> None:
        """Counts work, so that no loop goes on for ever."""
        self.steps += steps
        self.budget.spend(steps)
        if self.steps > MAX_STEPS:
            raise Undecided(f"it takes more than {MAX_STEPS} steps")

    def call(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """The value of a call.

        Raises
        ------
        Undecided
            If it cannot be told.
        BytecodeError
            If no Python can have written the code.
        """
        if function is _EXIT and not kwargs and all(arg is None for arg in args):
            return None
        if not isinstance(function, Function):
            self.spend(sum(self.domain.cost(arg) for arg in args))
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


def _bind(function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]) -> List[Value]:
    """Values of the parameters, in order, by Python's rules."""
    code = function.routine.code
    if code.flags & _LAZY:
        raise Undecided("it is a generator or coroutine")
    names = code.parameters
    found: List[Value] = [_UNSET] * len(names)
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
        found.append(())
    if code.flags & _VARKEYWORDS:
        found.append(Other("dict"))
    return found


class _Block(NamedTuple):
    """A loop, or a `with`, of a Python that keeps a stack of these (up to 3.10)."""

    end: int
    height: int
    manager: bool


class _Frame:
    """One call of one function."""

    def __init__(
        self, machine: Machine, function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> None:
        self.machine = machine
        self.domain = machine.domain
        self.routine = function.routine
        self.index = 0
        self.stack: List[Value] = []
        self.blocks: List[_Block] = []
        self.keywords: Tuple[str, ...] = ()
        self.result: Value = _UNSET
        values = _bind(function, args, kwargs)
        code = function.routine.code
        self.slots: List[Value] = values + [_UNSET] * (len(code.variables) - len(values))
        if len(function.closure) != len(code.free) or len(self.slots) != len(code.variables):
            raise Undecided("the variables of its closure are not in the file")
        for slot, cell in zip(code.free, function.closure):
            self.slots[slot] = cell
        for slot, parameter in self.routine.cells:
            self.slots[slot] = Cell(self.slots[parameter] if parameter >= 0 else _UNSET)

    def run(self) -> Value:
        """Steps until the function returns."""
        if self.routine.catches:
            raise Undecided("it handles exceptions")
        instructions, guards = self.routine.instructions, self.routine.guards
        while self.result is _UNSET:
            if self.index >= len(instructions):
                raise unfit()
            if self.index in guards and self.stack[guards[self.index] - 1 : guards[self.index]] != [_EXIT]:
                raise Undecided("it handles exceptions")
            instruction = instructions[self.index]
            self.index += 1
            self.machine.spend(1)
            handler = _HANDLERS.get(instruction.op)
            if handler is None:
                raise Undecided(f"it uses the operation {instruction.op}")
            handler(self, instruction)
        return self.result

    def push(self, value: Value) -> None:
        """Puts a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Value:
        """Takes the top value off the stack."""
        if not self.stack:
            raise unfit()
        return self.stack.pop()

    def popn(self, count: int) -> List[Value]:
        """Takes so many values off the stack, in the order in which they were pushed."""
        if count > len(self.stack):
            raise unfit()
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def peek(self, depth: int) -> Value:
        """The value so far down the stack; 1 is the top."""
        if not 1 <= depth <= len(self.stack):
            raise unfit()
        return self.stack[-depth]

    def load(self, slot: int) -> Value:
        """The value of a variable."""
        value = self.slots[slot]
        if value is _UNSET:
            raise Undecided("it reads a variable before it is set")
        return value

    def clear(self, slot: int) -> None:
        """Takes a variable's value away."""
        self.load(slot)
        self.slots[slot] = _UNSET

    def cell(self, slot: int) -> Cell:
        """The cell in a slot."""
        value = self.slots[slot]
        if not isinstance(value, Cell):
            raise unfit()
        return value

    def list_at(self, depth: int) -> List[Value]:
        """The list so far down the stack, to be added to."""
        value = self.peek(depth)
        if not isinstance(value, list):
            raise Undecided("it adds to something other than a list")
        return value


_Handler = Callable[[_Frame, Instruction], None]

_NULL = Other("null")


def _pop(frame: _Frame, it: Instruction) -> None:
    frame.pop()


def _load_constant(frame: _Frame, it: Instruction) -> None:
    # a tuple that is made anew each time would have taken as many steps
    frame.machine.spend(len(it.value) if isinstance(it.value, tuple) else 0)
    frame.push(it.value)


def _push_function(frame: _Frame, value: Value, null: int) -> None:
    """Pushes what is called next, since 3.11 with the empty place beside it."""
    frame.stack += [value] if null == NO_NULL else [value, _NULL] if null == NULL_ABOVE else [_NULL, value]


def _load_global(frame: _Frame, it: Instruction) -> None:
    _push_function(frame, frame.domain.global_name(it.name), it.arg)


def _load_attr(frame: _Frame, it: Instruction) -> None:
    _push_function(frame, frame.domain.attribute(frame.pop(), it.name), it.arg)


def _load_method(frame: _Frame, it: Instruction) -> None:
    # a method is kept whole, so that the place for its object stays empty
    frame.stack += [_NULL, frame.domain.attribute(frame.pop(), it.name)]


def _load_cell(frame: _Frame, it: Instruction) -> None:
    value = frame.cell(it.slot).value
    if value is _UNSET:
        raise Undecided("it reads a variable before it is set")
    frame.push(value)


def _load_and_clear(frame: _Frame, it: Instruction) -> None:
    frame.push(frame.slots[it.slot])
    frame.slots[it.slot] = _UNSET


def _load_two(frame: _Frame, it: Instruction) -> None:
    frame.stack += [frame.load(slot) for slot in it.slots]


def _store(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.slot] = frame.pop()


def _store_and_load(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.slots[0]] = frame.pop()
    frame.push(frame.load(it.slots[1]))


def _store_two(frame: _Frame, it: Instruction) -> None:
    for slot in it.slots:
        frame.slots[slot] = frame.pop()


def _store_cell(frame: _Frame, it: Instruction) -> None:
    frame.cell(it.slot).value = frame.pop()


def _make_cell(frame: _Frame, it: Instruction) -> None:
    frame.slots[it.slot] = Cell(frame.slots[it.slot])


def _rotate(count: int) -> _Handler:
    """The top value goes down to the place so many from the top; 0: as many as the operand says."""

    def handle(frame: _Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group[-1:] + group[:-1]

    return handle


def _duplicate(count: int) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group + group

    return handle


def _swap(frame: _Frame, it: Instruction) -> None:
    value = frame.peek(it.arg)
    frame.stack[-it.arg], frame.stack[-1] = frame.stack[-1], value


def _binary(frame: _Frame, it: Instruction) -> None:
    left, right = frame.popn(2)
    if isinstance(left, Cell) or isinstance(right, Cell) or _NULL in (left, right):
        raise unfit()
    if it.op == "INPLACE" and isinstance(left, list):
        raise Undecided("it changes a list in place")
    result = frame.domain.binary(it.name, left, right)
    frame.machine.spend(frame.domain.cost(result))
    frame.push(result)


def _compare(symbols: Sequence[str] = ()) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        left, right = frame.popn(2)
        frame.push(frame.domain.compare(symbols[it.arg & 1] if symbols else it.name, left, right))

    return handle


def _unary(symbol: str) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        frame.push(frame.domain.unary(symbol, frame.pop()))

    return handle


def _subscript(frame: _Frame, it: Instruction) -> None:
    value, index = frame.popn(2)
    _push_part(frame, value, index)


def _push_part(frame: _Frame, value: Value, index: Value) -> None:
    result = frame.domain.subscript(value, index)
    frame.machine.spend(frame.domain.cost(result))
    frame.push(result)


def _subscript_slice(has_start: bool, has_stop: bool) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        stop = frame.pop() if has_stop else None
        start = frame.pop() if has_start else None
        _push_part(frame, frame.pop(), slice(start, stop))

    return handle


def _build_tuple(frame: _Frame, it: Instruction) -> None:
    frame.push(tuple(frame.popn(it.arg)))


def _build_list(frame: _Frame, it: Instruction) -> None:
    frame.push(frame.popn(it.arg))


def _unpacked(frame: _Frame, it: Instruction) -> List[Value]:
    """The items of so many lists, up to 3.8."""
    found: List[Value] = []
    for value in frame.popn(it.arg):
        found.extend(frame.domain.iterate(value))
    frame.machine.spend(len(found))
    return found


def _build_slice(frame: _Frame, it: Instruction) -> None:
    if it.arg not in (2, 3):
        raise unfit()
    frame.push(slice(*frame.popn(it.arg)))


def _extend(frame: _Frame, it: Instruction) -> None:
    added = frame.domain.iterate(frame.pop())
    frame.machine.spend(len(added))
    frame.list_at(it.arg).extend(added)


def _append(frame: _Frame, it: Instruction) -> None:
    value = frame.pop()
    frame.list_at(it.arg).append(value)


def _to_tuple(frame: _Frame, it: Instruction) -> None:
    value = frame.pop()
    if not isinstance(value, list):
        raise Undecided("it makes a tuple of something other than a list")
    frame.push(tuple(value))


def _intrinsic(frame: _Frame, it: Instruction) -> None:
    if it.arg == 6:
        _to_tuple(frame, it)
    elif it.arg == 5:
        frame.push(frame.domain.unary("+", frame.pop()))
    else:
        raise Undecided("it uses an operation of the interpreter")


def _unpack(frame: _Frame, it: Instruction) -> None:
    items = frame.domain.iterate(frame.pop())
    if len(items) != it.arg:
        raise Undecided("it unpacks a list of another length")
    frame.stack += reversed(items)


def _make_text(count: int) -> _Handler:
    """Text, which nobody reads, of so many values; 0: of as many as the operand says."""

    def handle(frame: _Frame, it: Instruction) -> None:
        frame.popn(count or it.arg)
        frame.push(TEXT)

    return handle


def _format_value(frame: _Frame, it: Instruction) -> None:
    # 3.6 to 3.12: a flag tells whether a format lies on the value
    frame.popn(2 if it.arg & 4 else 1)
    frame.push(TEXT)


def _pop_jump(when: bool) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        if frame.domain.truth(frame.pop()) is when:
            frame.index = it.target

    return handle


def _pop_jump_none(when: bool) -> _Handler:
    def handle(frame: _Frame, it: Instruction) -> None:
        if frame.domain.truth(frame.domain.compare("is", frame.pop(), None)) is when:
            frame.index = it.target

    return handle


def _jump_or_pop(when: bool) -> _Handler:
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
        raise unfit()
    if iteration.position < len(iteration.items):
        frame.push(iteration.items[iteration.position])
        iteration.position += 1
    else:
        frame.pop()
        frame.index = it.target + it.arg


def _setup_loop(frame: _Frame, it: Instruction) -> None:
    frame.blocks.append(_Block(it.target, len(frame.stack), False))


def _pop_block(frame: _Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit()
    block = frame.blocks.pop()
    if it.arg:
        del frame.stack[block.height :]


def _break_loop(frame: _Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit()
    if frame.blocks[-1].manager:
        raise Undecided("it leaves a loop and a block at once")
    block = frame.blocks.pop()
    frame.index = block.end
    del frame.stack[block.height :]


def _continue_loop(frame: _Frame, it: Instruction) -> None:
    if not frame.blocks or frame.blocks[-1].manager:
        raise Undecided("it goes on with a loop from within a block")
    frame.index = it.target


# -- with


# what a handler begins with that asks the context manager, and raises again unless that says otherwise
_ASKING = (
    ("WITH_CLEANUP_START", "END_FINALLY"),
    ("WITH_CLEANUP_START", "WITH_CLEANUP_FINISH", "END_FINALLY"),
    ("WITH_EXCEPT_START", "POP_JUMP_IF_TRUE", "RERAISE"),
)


def _before_with(frame: _Frame, it: Instruction) -> None:
    value = frame.domain.enter(frame.pop())
    frame.stack += [_EXIT, value]


def _setup_with(frame: _Frame, it: Instruction) -> None:
    ops = tuple(instruction.op for instruction in frame.routine.instructions[it.target : it.target + 3])
    if not any(ops[: len(asking)] == asking for asking in _ASKING):
        raise Undecided("it handles exceptions")
    value = frame.domain.enter(frame.pop())
    frame.push(_EXIT)
    frame.blocks.append(_Block(it.target, len(frame.stack), True))
    frame.push(value)


def _leave_with(frame: _Frame, it: Instruction) -> None:
    # nothing was raised, so the manager's answer is dropped, and the None stays for what ends the block
    nothing, manager = frame.pop(), frame.pop()
    if nothing is not None or manager is not _EXIT:
        raise unfit()
    frame.push(None)


def _end_finally(frame: _Frame, it: Instruction) -> None:
    if it.arg or frame.pop() is not None:
        raise Undecided("it handles exceptions")


def _return(frame: _Frame, it: Instruction) -> None:
    for block in frame.blocks:
        # up to 3.7 the blocks that are left this way are ended first
        if block.manager and frame.stack[block.height - 1 : block.height] != [_EXIT]:
            raise Undecided("it handles exceptions")
    frame.result = frame.pop()


def _return_constant(frame: _Frame, it: Instruction) -> None:
    frame.result = it.value


def _import_name(frame: _Frame, it: Instruction) -> None:
    level, wanted = frame.popn(2)
    # -1 is Python 2's "here first, then everywhere"
    if level not in (0, -1):
        raise Undecided("it imports from its own package")
    frame.push(frame.domain.module(it.name, wanted is not None))


def _import_from(frame: _Frame, it: Instruction) -> None:
    frame.push(frame.domain.attribute(frame.peek(1), it.name))


# -- calls


def _keyword_names(frame: _Frame, names: Value) -> Tuple[str, ...]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise unfit()
    return tuple(names)


def _set_keywords(frame: _Frame, it: Instruction) -> None:
    frame.keywords = _keyword_names(frame, it.value)


def _do_call(frame: _Frame, function: Value, args: List[Value], names: Tuple[str, ...]) -> None:
    if len(names) > len(args):
        raise unfit()
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


def _call_two_places(frame: _Frame, args: List[Value], names: Tuple[str, ...]) -> None:
    """A call whose function takes two places: one of them is empty, or holds the object of a method."""
    first, second = frame.popn(2)
    if first is _NULL:
        _do_call(frame, second, args, names)
    elif second is _NULL:
        _do_call(frame, first, args, names)
    else:
        _do_call(frame, first, [second] + args, names)


def _routine(frame: _Frame, it: Instruction) -> Routine:
    """The code of a function that is made; `it.value` tells whether its qualified name lies on it."""
    if it.value:
        frame.pop()
    code = frame.pop()
    if not isinstance(code, Routine):
        raise unfit()
    return code


def _make_function(frame: _Frame, it: Instruction) -> None:
    routine = _routine(frame, it)
    if it.arg not in (0, 1, 8, 9):
        raise Undecided("it makes a function in an unusual way")
    closure = _cells(frame.pop()) if it.arg & 8 else ()
    defaults = _tuple(frame.pop()) if it.arg & 1 else ()
    frame.push(Function(routine, defaults, closure))


def _make_function_counted(frame: _Frame, it: Instruction) -> None:
    routine = _routine(frame, it)
    closure = _cells(frame.pop()) if it.op == "MAKE_CLOSURE" else ()
    if it.arg >= 256:  # defaults of keyword-only parameters, annotations
        raise Undecided("it makes a function in an unusual way")
    frame.push(Function(routine, tuple(frame.popn(it.arg)), closure))


def _set_function_attribute(frame: _Frame, it: Instruction) -> None:
    value, function = frame.popn(2)
    if not isinstance(function, Function):
        raise unfit()
    if it.arg == 8:
        frame.push(replace(function, closure=_cells(value)))
    elif it.arg == 1:
        frame.push(replace(function, defaults=_tuple(value)))
    else:
        raise Undecided("it makes a function in an unusual way")


def _tuple(value: Value) -> Tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise unfit()
    return value


def _cells(value: Value) -> Tuple[Cell, ...]:
    cells = tuple(cell for cell in _tuple(value) if isinstance(cell, Cell))
    if len(cells) != len(_tuple(value)):
        raise unfit()
    return cells


def _nothing(frame: _Frame, it: Instruction) -> None:
    """No meaning for values."""


_HANDLERS: Dict[str, _Handler] = {
    "NOP": _nothing,
    "RESUME": _nothing,
    "PRECALL": _nothing,
    "COPY_FREE_VARS": _nothing,
    "POP_TOP": _pop,
    "PUSH_NULL": lambda frame, it: frame.push(_NULL),
    "LOAD_CONST": _load_constant,
    "LOAD_FAST": lambda frame, it: frame.push(frame.load(it.slot)),
    "LOAD_FAST_AND_CLEAR": _load_and_clear,
    "LOAD_FAST_LOAD_FAST": _load_two,
    "STORE_FAST": _store,
    "DELETE_FAST": lambda frame, it: frame.clear(it.slot),
    "STORE_FAST_LOAD_FAST": _store_and_load,
    "STORE_FAST_STORE_FAST": _store_two,
    "LOAD_DEREF": _load_cell,
    "STORE_DEREF": _store_cell,
    "LOAD_CLOSURE": lambda frame, it: frame.push(frame.cell(it.slot)),
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
    "UNARY_NEGATIVE": _unary("-"),
    "UNARY_POSITIVE": _unary("+"),
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
    "BUILD_TUPLE": _build_tuple,
    "BUILD_LIST": _build_list,
    "BUILD_TUPLE_UNPACK": lambda frame, it: frame.push(tuple(_unpacked(frame, it))),
    "BUILD_LIST_UNPACK": lambda frame, it: frame.push(_unpacked(frame, it)),
    "BUILD_STRING": _make_text(0),
    "FORMAT_VALUE": _format_value,
    "FORMAT_SIMPLE": _make_text(1),
    "FORMAT_WITH_SPEC": _make_text(2),
    "CONVERT_VALUE": _make_text(1),
    "PRINT_ITEM": _pop,
    "PRINT_NEWLINE": _nothing,
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
    "CONTINUE_LOOP": _continue_loop,
    "BEFORE_WITH": _before_with,
    "SETUP_WITH": _setup_with,
    "BEGIN_FINALLY": lambda frame, it: frame.push(None),
    "WITH_CLEANUP_START": _leave_with,
    "WITH_CLEANUP_FINISH": _nothing,
    "END_FINALLY": _end_finally,
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
    "MAKE_FUNCTION_COUNTED": _make_function_counted,
    "MAKE_CLOSURE": _make_function_counted,
    "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
}
