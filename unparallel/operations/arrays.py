"""numpy's functions of arrays, on constants alone: what they make is bounded before it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, cast

import numpy as np

from ..model import element_count
from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import numbers_of, whole_number
from .tape import Tape, constant
from .values import Array, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def _array(tape: Tape, value: object) -> Numbers:
    """A constant as an array."""
    if isinstance(value, Tensor):
        raise Undecided("it gives a tensor to a function of numpy")
    made = np.asarray(cast("Numbers", constant(value)))
    tape.spend(made.size)
    return made


def _made(function: Callable[..., object], *args: object, **more: object) -> object:
    try:
        return plain(function(*args, **more))
    except (TypeError, ValueError, IndexError) as error:
        raise Undecided("it gives a function of numpy arguments that do not fit") from error


def _of_one(function: Callable[..., object], default: int) -> Callable[..., object]:
    """A function of an array and a whole number."""

    def meaning(tape: Tape, value: object, number: object = None) -> object:
        return _made(function, _array(tape, value), default if number is None else whole_number(number, "a number"))

    return meaning


def _of_two(function: Callable[..., object]) -> Callable[..., object]:
    """A function of two arrays, element by element."""

    def meaning(tape: Tape, x: object, y: object) -> object:
        one, other = _array(tape, x), _array(tape, y)
        tape.spend(element_count(np.broadcast(one, other).shape))
        return _made(function, one, other)

    return meaning


def tile(tape: Tape, value: object, times: object) -> object:
    """`np.tile`."""
    many = [times] if isinstance(plain(times), int) else numbers_of(times, "numbers")
    numbers = [whole_number(number, "a number") for number in many]
    array = _array(tape, value)
    tape.spend(array.size * element_count(max(0, number) for number in numbers))
    return _made(np.tile, array, numbers)


def repeat(tape: Tape, value: object, times: object, axis: object = None) -> object:
    """`np.repeat`: each number so many times."""
    many, array = whole_number(times, "a number"), _array(tape, value)
    tape.spend(array.size * max(0, many))
    return _made(np.repeat, array, many, axis=None if axis is None else whole_number(axis, "an axis"))


def meshgrid(tape: Tape, x: object, y: object, indexing: object = None) -> object:
    """`np.meshgrid` of two arrays."""
    one, other = _array(tape, x), _array(tape, y)
    if indexing not in (None, "xy", "ij") or one.ndim > 1 or other.ndim > 1:
        raise Undecided("it calls np.meshgrid in an unusual way")
    tape.spend(2 * one.size * other.size)
    return [Array(made) for made in np.meshgrid(one, other, indexing="ij" if indexing == "ij" else "xy")]


def outer(tape: Tape, x: object, y: object) -> object:
    """`np.outer`."""
    one, other = _array(tape, x), _array(tape, y)
    tape.spend(one.size * other.size)
    return _made(np.outer, one, other)


ROWS: tuple[Row, ...] = (
    Row("numpy", "tile", "A reps", tile),
    Row("numpy", "repeat", "a repeats axis", repeat),
    Row("numpy", "meshgrid", "x y indexing", meshgrid),
    Row("tf", "meshgrid", "x y indexing | name", meshgrid),
    Row("numpy", "outer", "a b", outer),
    Row("numpy", "tril", "m k", _of_one(np.tril, 0)),
    Row("numpy", "triu", "m k", _of_one(np.triu, 0)),
    Row("numpy", "flip", "m axis", _of_one(np.flip, 0)),
    Row("numpy", "cumsum", "a axis", _of_one(np.cumsum, 0)),
    Row("numpy", "maximum", "x1 x2", _of_two(np.maximum)),
    Row("numpy", "minimum", "x1 x2", _of_two(np.minimum)),
    Row("numpy", "ones_like", "a", lambda tape, value: plain(np.ones_like(_array(tape, value)))),
    Row("numpy", "zeros_like", "a", lambda tape, value: plain(np.zeros_like(_array(tape, value)))),
)
