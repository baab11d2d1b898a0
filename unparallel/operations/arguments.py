"""What functions are given: whole numbers, axes, lists, read as TensorFlow reads them, or `Undecided`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..slices.sizes import Undecided
from .tape import Tape, what_is
from .values import UNKNOWN_LENGTH, Array, Length, Tensor, plain

if TYPE_CHECKING:
    pass


def axes_of(value: object, x: Tensor) -> list[int]:
    """Axes as a list counted from the front; None: all of them."""
    if value is None:
        return list(range(x.rank))
    value = plain(value)
    if isinstance(value, Array):
        value = value.numbers.tolist()
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    items = [plain(item) for item in items]
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        raise Undecided("it names an axis that is not known")
    return sorted({x.axis(cast(int, item)) for item in items})


def whole_number(value: object, what: str) -> int:
    """A number that has to be whole."""
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Undecided(UNKNOWN_LENGTH if isinstance(value, Length) else f"it is given {what} that is not known")


def axis_of(value: object, x: Tensor) -> int:
    """One axis, counted from the front."""
    return x.axis(whole_number(value, "an axis"))


def numbers_of(value: object, what: str) -> list[int]:
    """A list of whole numbers."""
    return [whole_number(item, what) for item in items_of(value, what)]


def lengths_of(shape: object) -> list[int]:
    """A shape; one number is that of a vector."""
    number = plain(shape)
    return [number] if isinstance(number, int) else numbers_of(shape, "a shape")


def items_of(value: object, what: str) -> list[object]:
    """The items of a list, or of an array with one axis."""
    if isinstance(value, Array):
        return list(value.numbers.tolist())
    if isinstance(value, (list, tuple)):
        return list(value)
    raise Undecided(
        what_is(value) if not isinstance(value, (Tensor, int, float)) else f"it is given {what} that is not a list"
    )


def tensors_in(tape: Tape, value: object) -> list[Tensor]:
    """A list of tensors; numbers among them are an error that TensorFlow would have raised or made a constant of."""
    items = items_of(value, "tensors")
    if not items or not all(isinstance(item, Tensor) for item in items):
        raise Undecided("it joins something other than tensors")
    return cast("list[Tensor]", items)


def is_first(tape: Tape, data_format: object) -> bool:
    """Whether an argument says channels_first."""
    if data_format is None:
        image_data_format(tape)
        return False
    if data_format not in ("channels_first", "channels_last", "NHWC", "NCHW"):
        raise Undecided("it is given a data format that is not known")
    return data_format in ("channels_first", "NCHW")


def image_data_format(tape: Tape) -> object:
    """`K.image_data_format()`, where nothing in the file speaks against the usual."""
    if tape.environment.channels_first:
        raise Undecided("it asks for K.image_data_format(), and some layer of the file has channels_first")
    return "channels_last"
