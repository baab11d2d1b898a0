"""An abstract interpreter: steps through the instructions of a function, over values that need not be numbers.

`Machine` knows what Python's operations do to its stack, its variables and the flow of control.  Lists, tuples, slices
and plain constants are Python's own; what an operation means for any other value, it asks a `Domain`.  Nothing is
executed: where the domain has no answer, `Undecided` ends the walk, and so does a count of steps.  `instructions` has
made all versions of Python alike, so nothing here knows any.
"""

from typing import Dict, List, Mapping, Sequence

from .calls import CALLS
from .frame import (
    EXIT,
    GENERATOR,
    TEXT,
    UNSET,
    Budget,
    Cell,
    Domain,
    Frame,
    Function,
    Generator,
    Handler,
    Value,
    Walk,
)
from .handlers import HANDLERS as _OTHERS
from .instructions import unfit
from .sizes import Undecided

__all__ = ["TEXT", "Budget", "Cell", "Domain", "Function", "Machine", "Value"]

MAX_STEPS = 10_000
MAX_DEPTH = 8

HANDLERS: Dict[str, Handler] = {**_OTHERS, **CALLS}


class Machine(Walk):
    """Steps through one function over the values of a domain.

    Parameters
    ----------
    domain : Domain
    budget : Budget
    """

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
        if function is EXIT and not kwargs and all(arg is None for arg in args):
            return None
        if isinstance(function, Function):
            frame = Frame(self, function, args, kwargs)
            return Generator(frame) if frame.routine.code.flags & GENERATOR else self.run(frame)
        if self.domain.exhausts(function) and not kwargs:
            args = [self.read(arg) if isinstance(arg, Generator) else arg for arg in args]
        if any(isinstance(arg, Generator) for arg in (*args, *kwargs.values())):
            raise Undecided("it hands on a generator")
        self.spend(sum(self.domain.cost(arg) for arg in args))
        result = self.domain.call(function, args, kwargs)
        self.spend(self.domain.cost(result))
        return result

    def run(self, frame: Frame) -> Value:
        """What the call of a function returns."""
        if self.depth >= MAX_DEPTH:
            raise Undecided("its functions call each other too deeply")
        self.depth += 1
        try:
            return self._result(frame)
        finally:
            self.depth -= 1

    def read(self, generator: Generator) -> List[Value]:
        """All that a generator yields; the second time, nothing."""
        if generator.frame is None:
            return []
        frame, generator.frame = generator.frame, None
        self.reading += 1
        self.run(frame)
        self.reading -= 1
        return frame.yielded

    def _result(self, frame: Frame) -> Value:
        """Steps until a function returns."""
        if frame.routine.catches:
            raise Undecided("it handles exceptions")
        instructions, guards = frame.routine.instructions, frame.routine.guards
        while frame.result is UNSET:
            if frame.index >= len(instructions):
                raise unfit()
            if frame.index in guards and frame.stack[guards[frame.index] - 1 : guards[frame.index]] != [EXIT]:
                raise Undecided("it handles exceptions")
            instruction = instructions[frame.index]
            frame.index += 1
            self.spend(1)
            handler = HANDLERS.get(instruction.op)
            if handler is None:
                raise Undecided(f"it uses the operation {instruction.op}")
            handler(frame, instruction)
        return frame.result
