"""Functions that read shapes, and that give a tensor another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, cast

import numpy as np

from ..model import element_count
from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import elementwise as each
from .arguments import axes_of, items_of, lengths_of, numbers_of, whole_number
from .elementwise import tensor
from .tape import Tape, constant
from .values import UNKNOWN_LENGTH, Length, Lengths, StaticShape, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def static_shape(tape: Tape, x: object) -> object:
    """`K.int_shape`, `x.shape`."""
    x = constant(x) if not isinstance(x, Tensor) else x
    if not isinstance(x, Tensor):
        return StaticShape(np.shape(cast("Numbers", x)))
    return StaticShape([x.length(axis) for axis in range(x.rank)])


def lengths(tape: Tape, x: object) -> object:
    """`tf.shape`."""
    return Lengths(cast(StaticShape, static_shape(tape, x)))


def size(tape: Tape, x: object) -> object:
    """`tf.size`, where it is known."""
    return element_count(whole_number(length, "a length") for length in cast(StaticShape, static_shape(tape, x)))


def rank(tape: Tape, x: object) -> object:
    """How many axes."""
    return len(cast(StaticShape, static_shape(tape, x)))


def _row_size(x: Tensor) -> int | None:
    """How many numbers a row holds, where that is known."""
    known = [length for length in x.shape[1:] if length is not None]
    return element_count(known) if len(known) == x.rank - 1 else None


def reshape(tape: Tape, x: object, shape: object) -> object:
    """`tf.reshape`: a Reshape layer where rows stay rows."""
    if not isinstance(x, Tensor):
        return _reshape_constant(tape, x, shape)
    items = [plain(item) for item in items_of(shape, "a shape")]
    if not items:
        raise Undecided("it makes a number of a tensor")
    first, rest = items[0], [_wanted(item) for item in items[1:]]
    row = _row_size(x)
    if _keeps_rows(x, first, rest, row):
        if rest.count(-1) > 1:
            raise Undecided(UNKNOWN_LENGTH)
        return _layer_reshape(tape, x, rest, row)
    if isinstance(first, Length) and -1 in rest:
        raise Undecided(UNKNOWN_LENGTH)
    # as many numbers as before: one unknown length follows from the others
    target = [-1 if isinstance(first, Length) else whole_number(first, "a length"), *rest]
    if target.count(-1) > 1:
        raise Undecided(UNKNOWN_LENGTH)
    tape.mixes()
    made = tuple(None if length == -1 else length for length in target)
    return tape.op("numpy.Reshape", [x], made, x.dtype, newshape=target)


def _keeps_rows(x: Tensor, first: object, rest: Sequence[int], row: int | None) -> bool:
    """Whether each row becomes one row: it holds as many numbers, or there are as many rows."""
    if -1 not in rest and row is not None and row == element_count(rest):
        return first == -1 or isinstance(first, Length)
    return x.is_length(first, 0)


def _layer_reshape(tape: Tape, x: Tensor, rest: list[int], row: int | None) -> Tensor:
    known = element_count([length for length in rest if length != -1])
    open_length = row // known if row is not None and known else None
    if row is not None and (known == 0 or row % known or (-1 not in rest and known != row)):
        raise Undecided("it reshapes a tensor to a shape that does not fit")
    made = (x.shape[0],) + tuple(open_length if length == -1 else length for length in rest)
    if not rest:
        return squeeze_axes(tape, x, list(range(1, x.rank)))
    return tape.op("layers.Reshape", [x], made, x.dtype, target_shape=rest)


def _wanted(item: object) -> int:
    """A length in a target shape; one that the file does not know is whatever is left."""
    return -1 if isinstance(item, Length) and item.axis != 0 else whole_number(item, "a length")


def _reshape_constant(tape: Tape, x: object, shape: object) -> object:
    values = np.asarray(cast("Numbers", constant(x)))
    tape.spend(values.size)
    try:
        return plain(values.reshape(lengths_of(shape)))
    except ValueError as error:
        raise Undecided("it reshapes a constant to a shape that does not fit") from error


def flatten(tape: Tape, x: object) -> object:
    """`K.flatten`: rows and all."""
    return reshape(tape, x, [-1])


def batch_flatten(tape: Tape, x: object) -> object:
    """`K.batch_flatten`."""
    x = tensor(x)
    if not x.rank:
        raise Undecided("it flattens a number")
    row = _row_size(x)
    return tape.op("layers.Flatten", [x], (x.shape[0], row), x.dtype)


def expand_dims(tape: Tape, x: object, axis: object = -1) -> object:
    """A new axis of length 1."""
    at = whole_number(axis, "an axis")
    if not isinstance(x, Tensor):
        return each.folded(tape, lambda value: np.expand_dims(value, at), x)
    if not -x.rank - 1 <= at <= x.rank:
        raise Undecided(f"it names axis {at} of a tensor that has {x.rank}")
    at %= x.rank + 1
    if at == 0:
        tape.mixes()
    return tape.op("numpy.ExpandDims", [x], x.shape[:at] + (1,) + x.shape[at:], x.dtype, axis=at)


def squeeze(tape: Tape, x: object, axis: object = None) -> object:
    """Axes of length 1 away."""
    x = tensor(x)
    if axis is not None and axis != []:
        return squeeze_axes(tape, x, axes_of(axis, x))
    if None in x.shape[1:]:
        raise Undecided("it squeezes all axes of length 1, and the file does not say which those are")
    return squeeze_axes(tape, x, [i for i, length in enumerate(x.shape) if length == 1])


def squeeze_axes(tape: Tape, x: Tensor, axes: Sequence[int]) -> Tensor:
    """These axes away, the last first."""
    for axis in sorted(axes, reverse=True):
        if x.shape[axis] not in (1, None):
            raise Undecided("it squeezes an axis that is longer than 1")
        if axis == 0:
            tape.mixes()
        x = tape.op("numpy.Squeeze", [x], x.shape[:axis] + x.shape[axis + 1 :], x.dtype, axis=axis)
    return x


def transpose(tape: Tape, x: object, axes: object = None) -> object:
    """Axes in another order; none given: turned round."""
    if not isinstance(x, Tensor):
        turned = None if axes is None else numbers_of(axes, "axes")
        return each.folded(tape, lambda value: np.transpose(value, turned), x)
    order = list(range(x.rank))[::-1] if axes is None else [x.axis(i) for i in numbers_of(axes, "axes")]
    if sorted(order) != list(range(x.rank)):
        raise Undecided("it transposes other axes than a tensor has")
    if order[:1] not in ([], [0]):
        tape.mixes()
    return tape.op("numpy.Transpose", [x], tuple(x.shape[i] for i in order), x.dtype, axes=order)


def transpose_last(tape: Tape, x: object) -> object:
    """`tf.linalg.transpose`: the last two axes change places."""
    x = tensor(x)
    order = list(range(x.rank))
    if x.rank < 2:
        raise Undecided("it transposes a vector")
    order[-1], order[-2] = order[-2], order[-1]
    return transpose(tape, x, order)


ROWS: tuple[Row, ...] = (
    Row("K", "int_shape", "x", static_shape),
    Row("K", "shape", "x", lengths),
    Row("tf", "shape", "input | name out_type", lengths),
    Row("tf", "size", "input | name out_type", size),
    Row("tf", "rank", "input | name", rank),
    Row("K", "ndim", "x", rank),
    Row("K", "dtype", "x", lambda tape, x: tensor(x).dtype),
    Row("tf", "reshape", "tensor shape | name", reshape),
    Row("K", "reshape", "x shape", reshape),
    Row("K", "flatten", "x", flatten),
    Row("K", "batch_flatten", "x", batch_flatten),
    Row("K", "expand_dims", "x axis", lambda tape, x, axis=-1: expand_dims(tape, x, -1 if axis is None else axis)),
    Row("tf", "expand_dims", "input axis | name dim", expand_dims),
    Row("K", "squeeze", "x axis", squeeze),
    Row("tf", "squeeze", "input axis | name squeeze_dims", squeeze),
    Row("K", "permute_dimensions", "x pattern", transpose),
    Row("K", "transpose", "x", transpose),
    Row("tf", "transpose", "a perm | name conjugate", transpose),
    Row("tf", "matrix_transpose", "a | name conjugate", transpose_last),
    Row("numpy", "reshape", "a newshape", _reshape_constant),
    Row("numpy", "expand_dims", "a axis", expand_dims),
)
