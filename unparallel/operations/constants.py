"""Arithmetic on what is no tensor: Python's numbers, text and lists, and numpy's arrays, folded within limits."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..model import element_count
from ..slices.interpreter import TEXT
from ..slices.sizes import Undecided
from ..slices.values import MAX_ITEMS, Name
from .tape import Tape, broadcast, constant, what_is
from .values import Array, Length, Lengths, Shape, is_number, plain

if TYPE_CHECKING:
    from ..arrays import Numbers

#: What `**` and `*` of whole numbers may make.
LARGEST = 2**63

_BINARY: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}  # fmt: skip
_COMPARE: dict[str, Callable[..., object]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def is_text(value: object) -> bool:
    """Whether it is text, known or not."""
    return isinstance(value, str) or value == TEXT


def binary(tape: Tape, symbol: str, left: object, right: object) -> object:
    """`left symbol right` where neither is a tensor."""
    if is_text(left):
        if symbol in ("+", "%", "*"):
            return TEXT
        raise Undecided(f"it computes with {symbol!r} on text")
    if isinstance(left, Lengths) or isinstance(right, Lengths):
        return _each_length(tape, symbol, left, right)
    if isinstance(left, (list, tuple)) and not isinstance(right, Array):
        return _lists(symbol, left, right)
    if isinstance(right, (list, tuple)) and is_number(left):
        return _lists(symbol, right, left)
    return _numbers(tape, symbol, constant(left), constant(right))


def _each_length(tape: Tape, symbol: str, left: object, right: object) -> Lengths:
    size = len(left) if isinstance(left, Lengths) else len(cast(Lengths, right))
    pairs = zip(_spread(left, size), _spread(right, size))
    return Lengths([binary(tape, symbol, one, other) for one, other in pairs])


def _spread(value: object, size: int) -> Sequence[object]:
    if isinstance(value, Array):
        value = value.numbers.tolist()
    if not isinstance(value, (list, tuple)):
        return [value] * size
    if len(value) != size:
        raise Undecided("it computes with lists of different lengths")
    return value


def _lists(symbol: str, left: Sequence[object], right: object) -> object:
    """Joining and repeating lists."""
    made: Sequence[object]
    kind = list if isinstance(left, list) else tuple
    if symbol == "+" and isinstance(right, (list, tuple)):
        made = [*left, *right]
    elif symbol == "*" and isinstance(right, int) and len(left) * max(0, right) <= MAX_ITEMS:
        made = list(left) * right
    else:
        raise Undecided(f"it computes with {symbol!r} on a list")
    if len(made) > MAX_ITEMS:
        raise Undecided(f"it makes a list of more than {MAX_ITEMS} items")
    return kind(made)


def _numbers(tape: Tape, symbol: str, left: object, right: object) -> object:
    if symbol == "old /":
        symbol = "//" if _whole(left) and _whole(right) else "/"
    if symbol not in _BINARY:
        raise Undecided(f"it computes with {symbol!r}")
    shapes = [np.shape(cast("Numbers", value)) for value in (left, right)]
    if any(shapes):
        tape.spend(element_count(length or 0 for length in _result(symbol, *shapes)))
    elif symbol == "**" and _whole(left) and _whole(right):
        _check_power(cast(int, left), cast(int, right))
    try:
        with np.errstate(all="ignore"):
            made = plain(_BINARY[symbol](left, right))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Undecided(f"it computes with {symbol!r} on constants that do not fit") from error
    if isinstance(made, int) and abs(made) >= LARGEST:
        raise Undecided("it makes a number that is too large")
    if isinstance(made, complex):
        raise Undecided("it makes a complex number")
    return made


def _whole(value: object) -> bool:
    return value.dtype.kind in "biu" if isinstance(value, np.ndarray) else isinstance(value, int)


def _check_power(base: int, exponent: int) -> None:
    if abs(exponent) * max(1, abs(base).bit_length()) > 1024:
        raise Undecided("it makes a number that is too large")


def _result(symbol: str, left: Shape, right: Shape) -> Shape:
    if symbol != "@":
        return broadcast(left, right)
    if len(left) > 2 or len(right) > 2 or not left or not right:
        raise Undecided("it multiplies constants of more than two axes")
    return left[:-1] + right[1:]


def compare(symbol: str, left: object, right: object) -> object:
    """`left symbol right` where neither is a tensor."""
    if symbol in ("is", "is not"):
        return _same(left, right) == (symbol == "is")
    left, right = plain(left), plain(right)
    if symbol in ("in", "not in"):
        if not isinstance(right, (list, tuple)) or not all(_comparable(item) for item in [left, *right]):
            raise Undecided("it looks for something in what is not a list of numbers or text")
        return (left in right) == (symbol == "in")
    if symbol not in _COMPARE:
        raise Undecided(f"it compares with {symbol!r}")
    if (
        symbol in ("==", "!=")
        and (left is None or right is None)
        and not isinstance(left if right is None else right, Length)
    ):
        return (left is right) == (symbol == "==")
    if symbol in ("==", "!=") and all(isinstance(side, (list, tuple)) for side in (left, right)):
        if not all(_comparable(item) for item in [*cast(Sequence[object], left), *cast(Sequence[object], right)]):
            raise Undecided("it compares lists of something other than numbers")
        return (list(cast(Sequence[object], left)) == list(cast(Sequence[object], right))) == (symbol == "==")
    if isinstance(left, str) and isinstance(right, str):
        return _COMPARE[symbol](left, right)
    for side in (left, right):
        if isinstance(side, Name):  # a global that the file does not hold: its name helps more
            raise Undecided(what_is(side))
    if is_text(left) or is_text(right):
        raise Undecided("it compares text that is not known")
    left, right = constant(left), constant(right)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        raise Undecided("it compares arrays")
    return _COMPARE[symbol](left, right)


def _same(left: object, right: object) -> bool:
    for value, other in ((left, right), (right, left)):
        if isinstance(value, Length):
            raise Undecided("it asks whether a length is known that is not in the file")
        if other is None or isinstance(other, bool):
            return value is other
    raise Undecided("it compares with 'is'")


def _comparable(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def unary(symbol: str, value: object) -> object:
    """`-value`, `+value`, `~value` where it is no tensor."""
    value = constant(value)
    if symbol == "-":
        return plain(np.negative(value)) if isinstance(value, np.ndarray) else -cast(float, value)
    if symbol == "~" and isinstance(value, int):
        return ~value
    if symbol == "+":
        return plain(value)
    raise Undecided(f"it computes with {symbol!r}")


def truth(value: object) -> bool:
    """Which way a condition on a constant goes."""
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return bool(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, Lengths):
        return bool(value)
    raise Undecided(what_is(value) if not isinstance(value, Array) else "a condition is an array")
