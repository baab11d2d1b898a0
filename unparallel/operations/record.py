"""A saved function -> `Recorded`: followed over tensors of known shape, by every reading of its code."""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np

from ..errors import BytecodeError
from ..model import Json
from ..slices.instructions import Routine
from ..slices.interpreter import Cell, Function, Machine
from ..slices.lambdas import Context, SavedFunction, from_json
from ..slices.sizes import Undecided
from .recorder import Recorder
from .tape import Tape, constant, what_is
from .values import Environment, Recorded, Tensor, needed, plain

#: What Keras itself gives to a function that asks for it.
GIVEN = ("mask", "training")
#: An output for each is a list in a config.
MAX_OUTPUTS = 64


def record(
    function: SavedFunction,
    inputs: Sequence[Tensor],
    arguments: Mapping[str, Json],
    environment: Environment,
    context: Context | None = None,
    as_list: bool | None = None,
) -> Recorded:
    """What a function makes of tensors, as operations of Keras 3.

    Parameters
    ----------
    function : SavedFunction
    inputs : sequence of Tensor
        Without entries, numbered by their ports.
    arguments : mapping of str to JSON value
        Given by name; values that are no JSON, such as a `Tensor`, are passed on as they are.
    environment : Environment
    context : Context, optional
        The budget of the file.
    as_list : bool, optional
        Whether the function gets a list; that is what it gets of several tensors unless said otherwise.

    Raises
    ------
    Undecided
        If it cannot be told, or not be said in Keras 3; the message continues "it cannot be written as operations: ".
    BytecodeError
        If the text is no code object.
    """
    context = context or Context()
    found: list[Recorded] = []
    given: object = list(inputs) if (len(inputs) > 1 if as_list is None else as_list) else inputs[0]
    for routine in context.program(function).routines:
        try:
            found.append(_followed(routine, function, inputs, given, arguments, environment, context))
        except BytecodeError:
            continue
    if not found:
        raise Undecided("its code is not that of a known version of Python")
    if any(other.lines() != found[0].lines() for other in found[1:]):
        raise Undecided("its code means different things in different versions of Python")
    return found[0]


def _followed(
    routine: Routine,
    saved: SavedFunction,
    inputs: Sequence[Tensor],
    given: object,
    arguments: Mapping[str, Json],
    environment: Environment,
    context: Context,
) -> Recorded:
    tape = Tape(environment)
    domain = Recorder(tape)
    machine = Machine(domain, context.budget)
    domain.follow(machine)
    defaults = tuple([_given(value) for value in saved.defaults])
    closure = tuple([Cell(_given(value), given=True) for value in saved.closure])
    kwargs = {name: _given(value) for name, value in arguments.items()}
    for name in GIVEN:
        if name in kwargs and name not in routine.code.parameters:
            del kwargs[name]
    first = list(given) if isinstance(given, list) else given
    result = machine.call(Function(routine, defaults, closure), [first], kwargs)
    outputs, several = _outputs(result)
    outputs = [_own(tape, output) for output in outputs]
    return Recorded(tuple(inputs), needed(outputs), tuple(outputs), several, tuple(tape.notes), tuple(tape.defined))


def _given(value: object) -> object:
    """A default, a closure's variable or an argument, as the function gets it."""
    numbers = value.get("value") if isinstance(value, dict) and value.get("type") == "ndarray" else None
    if isinstance(numbers, (list, float, int)):
        return plain(np.asarray(constant(numbers)))  # how Keras 2 writes an array down
    return value if isinstance(value, Tensor) else from_json(value)


def _outputs(result: object) -> tuple[list[Tensor], bool]:
    items = list(result) if isinstance(result, (list, tuple)) else [result]
    if not items or len(items) > MAX_OUTPUTS:
        raise Undecided("it returns no tensors, or too many")
    outputs: list[Tensor] = []
    for item in items:
        if not isinstance(item, Tensor):
            raise Undecided(_no_tensor(item))
        outputs.append(item)
    return outputs, isinstance(result, (list, tuple))


def _no_tensor(item: object) -> str:
    reason = what_is(item)
    return reason if reason.startswith("it uses") else "it returns something that is not a tensor"


def _own(tape: Tape, output: Tensor) -> Tensor:
    """An output that is an input goes through an operation that copies: a layer would pass the input's mask on."""
    if output.entry is not None:
        return output
    return tape.op("numpy.Copy", [output], output.shape, output.dtype)
