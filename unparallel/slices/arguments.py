"""The arguments of a call with the values of its tensors."""

from typing import Dict, List, Sequence, Tuple

from ..model import Call, Input
from .sizes import Undecided
from .values import Unknown


def call_arguments(call: Call, inputs: Sequence[object]) -> Tuple[List[object], Dict[str, object]]:
    """Positional and keyword arguments of a call, `inputs` being the values of `call.inputs`."""
    given = call.given
    args = [_filled(value, inputs) for value in given.args]
    return args, {name: _filled(value, inputs) for name, value in given.kwargs.items()}


def first_argument(call: Call, inputs: Sequence[object]) -> object:
    """The one thing that a Lambda's function is called with: a tensor, or a list of them."""
    args, kwargs = call_arguments(call, inputs)
    # Keras gives these two to a layer that asks for them
    if len(args) != 1 or set(kwargs) - {"mask", "training"}:
        raise Undecided("it is called with unusual arguments")
    return args[0]


def _filled(value: object, inputs: Sequence[object]) -> object:
    """A value with those of its tensors; lists are made anew, since a function may change them."""
    if isinstance(value, Input):
        return inputs[value.index]
    if isinstance(value, list):
        return [_filled(item, inputs) for item in value]
    if isinstance(value, tuple):
        return tuple([_filled(item, inputs) for item in value])
    if isinstance(value, slice):
        return slice(*[_filled(part, inputs) for part in (value.start, value.stop, value.step)])
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, str)):
        return value
    return Unknown("it is given a value of an unknown kind")
