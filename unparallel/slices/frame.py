"""The state of a function that is stepped through: its variables, its stack, and whom it asks what things mean."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .containers import mutable
from .instructions import Instruction, Routine, unfit
from .marshal import Other
from .opcodes import words
from .sizes import Undecided

if TYPE_CHECKING:  # Python 3.7 has none
    from typing import Protocol
else:
    Protocol = object

# Of all functions of a file together.  A step takes one or two microseconds; a slice of 2 replicas takes about a
# hundred steps, one of 500 replicas about 700, since sizes are longer there.
MAX_FILE_STEPS = 2_000_000

# Whatever a function may handle: Python's own plain values, and those of a domain, which narrows them
Value = object

UNSET = Other("unset")
# what a `with` block will call when it is left
EXIT = Other("exit")
TEXT = Other("text")
_VARARGS, _VARKEYWORDS = 0x04, 0x08
# calling one of these runs nothing of its body
GENERATOR, _COROUTINE = 0x20, 0x80 | 0x100 | 0x200
# what makes the message of an error is shorter than this
_LONGEST_RAISE = 64


class Cell:
    """A variable that functions share.

    Parameters
    ----------
    value : value, optional
    given : bool
        Whether the variable outlives the call: what is written to it would be read by the next one.
    """

    def __init__(self, value: Value = UNSET, given: bool = False) -> None:
        self.value = value
        self.given = given


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function made while stepping, or the one that a file holds."""

    routine: Routine
    defaults: Tuple[Value, ...] = ()
    closure: Tuple[Cell, ...] = ()
    keyword_defaults: Mapping[str, Value] = field(default_factory=dict)


class Iteration:
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
        """`-value`, `+value` or `~value`."""

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

    def exhausts(self, function: Value) -> bool:
        """Whether a function reads all of what it is given, as a loop would, and nothing but that: `sum`, `list`."""
        return False

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


class Walk:
    """What the calls of one walk share.

    Parameters
    ----------
    domain : Domain
    budget : Budget

    Attributes
    ----------
    steps, depth : int
    reading : int
        How many generators are being read.  A function may stop reading one early, so that nothing may change in it.
    gone_through : dict of int to dict
        Dicts that were gone through, by id: one that changes meanwhile would show the change.
    """

    def __init__(self, domain: Domain, budget: Budget) -> None:
        self.domain = domain
        self.budget = budget
        self.steps = 0
        self.depth = 0
        self.reading = 0
        self.gone_through: Dict[int, Value] = {}

    def spend(self, steps: int) -> None:
        """Counts work."""
        raise NotImplementedError

    def call(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """The value of a call."""
        raise NotImplementedError

    def read(self, generator: "Generator") -> List[Value]:
        """All that a generator yields."""
        raise NotImplementedError


def bind(function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]) -> List[Value]:
    """Values of the parameters, in order, by Python's rules."""
    code = function.routine.code
    names = code.parameters
    found: List[Value] = [UNSET] * len(names)
    first = code.argcount - len(function.defaults)
    own, more = args[: code.argcount], tuple(args[code.argcount :])
    others: Dict[str, Value] = {}
    if first < 0 or more and not code.flags & _VARARGS:
        raise Undecided("its arguments do not fit its parameters")
    found[first : code.argcount] = function.defaults
    for name, value in function.keyword_defaults.items():
        found[names.index(name, code.argcount)] = value
    found[: len(own)] = own
    for name, value in kwargs.items():
        place = names.index(name) if name in names[code.posonly :] else -1
        if place < len(own) if place >= 0 else not code.flags & _VARKEYWORDS:
            raise Undecided("its arguments do not fit its parameters")
        if place >= 0:
            found[place] = value
        else:
            others[name] = value
    for name, value in zip(names, found):
        if value is UNSET:
            raise Undecided(f"its arguments do not fit its parameters: {name!r} has no value in the file")
    found += [more] if code.flags & _VARARGS else []
    found += [others] if code.flags & _VARKEYWORDS else []
    return found


class Block(NamedTuple):
    """A loop, or a `with`, of a Python that keeps a stack of these (up to 3.10)."""

    end: int
    height: int
    manager: bool


class Frame:
    """One call of one function."""

    def __init__(self, machine: Walk, function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        self.machine = machine
        self.domain = machine.domain
        self.routine = function.routine
        self.index = 0
        self.stack: List[Value] = []
        self.blocks: List[Block] = []
        self.keywords: Tuple[str, ...] = ()
        self.result: Value = UNSET
        self.yielded: List[Value] = []
        code = function.routine.code
        if code.flags & _COROUTINE:
            raise Undecided("it is a coroutine")
        values = bind(function, args, kwargs)
        self.slots: List[Value] = values + [UNSET] * (len(code.variables) - len(values))
        if len(function.closure) != len(code.free) or len(self.slots) != len(code.variables):
            raise Undecided("the variables of its closure are not in the file")
        for slot, cell in zip(code.free, function.closure):
            self.slots[slot] = cell
        for slot, parameter in self.routine.cells:
            self.slots[slot] = Cell(self.slots[parameter] if parameter >= 0 else UNSET)

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
        if value is UNSET:
            raise Undecided("it reads a variable before it is set")
        return value

    def clear(self, slot: int) -> None:
        """Takes a variable's value away."""
        self.load(slot)
        self.slots[slot] = UNSET

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

    def dict_at(self, depth: int) -> Dict[object, Value]:
        """The dict so far down the stack, to be added to."""
        value = self.peek(depth)
        if not isinstance(value, dict):
            raise Undecided("it adds to something other than a dict")
        return value

    def may_change(self, value: Value) -> None:
        """Undecided, unless a list or dict was made in this very call, and nothing else sees how it was before."""
        if self.machine.reading or not mutable(value) or id(value) in self.machine.gone_through:
            raise Undecided("it changes a list or dict that others may read")

    def iterate(self, value: Value) -> Sequence[Value]:
        """What a loop over the value would see."""
        if isinstance(value, Generator):
            return self.machine.read(value)
        if not isinstance(value, dict):
            return self.domain.iterate(value)
        self.spend_on(value)
        return list(value)

    def spend_on(self, value: Dict[object, Value]) -> None:
        """Counts the entries of a dict that is read from end to end; before Python 3.6 it had no order."""
        self.machine.spend(len(value))
        self.machine.gone_through[id(value)] = value
        if len(value) > 1 and not self.routine.ordered:
            raise Undecided("it depends on the order of a dict")

    def truth(self, value: Value) -> bool:
        """Which way a condition goes."""
        return bool(value) if isinstance(value, dict) else self.domain.truth(value)

    def jumps(self, value: Value, when: bool, it: Instruction) -> bool:
        """Whether a condition's jump is taken.

        Where that cannot be told and one of the ways raises an error, it is the other: a function that raised left no
        model behind.
        """
        try:
            return self.truth(value) is when
        except Undecided:
            if self._raises(self.index) and not self._raises(it.target):
                return True
            if self._raises(it.target) and not self._raises(self.index):
                return False
            raise

    def _raises(self, index: int) -> bool:
        """Whether what follows from an instruction on does nothing but raise an error."""
        if self.machine.reading:
            return False  # in a generator, StopIteration is no error
        for it in self.routine.instructions[index : index + _LONGEST_RAISE]:
            if it.op == "RAISE_VARARGS":
                return True
            if it.op not in _BEFORE_RAISE:
                return False
        return False


class Generator:
    """What a call of a generator function gives: nothing of it has been run."""

    def __init__(self, frame: Frame) -> None:
        self.frame: Optional[Frame] = frame


Handler = Callable[[Frame, Instruction], None]

NULL = Other("null")
# What makes an error before it is raised: it goes straight on, and leaves the function nowhere
_BEFORE_RAISE = words(
    "NOP PRECALL KW_NAMES PUSH_NULL LOAD_ASSERTION_ERROR LOAD_GLOBAL LOAD_FAST LOAD_FAST_LOAD_FAST LOAD_DEREF"
    " LOAD_CONST LOAD_ATTR LOAD_METHOD BINARY BINARY_SUBSCR BUILD_TUPLE BUILD_LIST BUILD_STRING FORMAT_VALUE"
    " FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE COMPARE_OP CALL_FUNCTION CALL_FUNCTION_KW CALL_PAIRS CALL_METHOD"
    " CALL CALL_KW"
)
