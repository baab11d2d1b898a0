"""Functions that make constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..model import element_count
from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import elementwise as each
from .arguments import lengths_of, whole_number
from .batch import for_each_row
from .chance import zeros_of
from .names import dtype as type_of
from .tape import Tape, constant, dtype_of_numpy
from .values import Length, Lengths, Tensor, is_number, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def make_constant(tape: Tape, value: object, dtype: object = None, shape: object = None) -> object:
    """`tf.constant`, `K.constant`: a number stays a number, a list becomes an array."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (Length, Lengths)):
        return value
    made = constant(value) if dtype is None else constant(each.cast_to(tape, value, dtype))
    if shape is None:
        return plain(made)
    wanted = lengths_of(shape)
    tape.spend(max(0, element_count(wanted)))
    try:
        array = np.asarray(cast("Numbers", made))
        return plain(np.broadcast_to(array, wanted) if array.ndim == 0 else array.reshape(wanted))
    except ValueError as error:
        raise Undecided("it makes a constant of a shape that does not fit") from error


def filled(number: float) -> Callable[..., object]:
    """`tf.zeros`, `tf.ones`."""

    def meaning(tape: Tape, shape: object, dtype: object = None) -> object:
        return full(tape, shape, number, dtype)

    return meaning


def full(tape: Tape, shape: object, value: object, dtype: object = None) -> object:
    """A constant of one number."""
    open_lengths = [isinstance(length, Length) for length in shape] if isinstance(shape, (list, tuple)) else []
    if open_lengths[:1] == [True] and any(open_lengths[1:]):
        return _like(tape, cast("Sequence[object]", shape), value, dtype)
    batch = shape[0] if isinstance(shape, (list, tuple)) and shape and isinstance(shape[0], Length) else None
    wanted = lengths_of(shape if batch is None else [1, *cast("Sequence[object]", shape)[1:]])
    if min(wanted, default=0) < 0:
        raise Undecided("it makes a constant of a shape that does not fit")
    tape.spend(element_count(wanted))
    kind = dtype_of_numpy(type_of(dtype, tape.environment.float_type))
    made = np.full(wanted, cast(float, constant(value)), kind)
    return plain(made) if batch is None else for_each_row(tape, batch, made)


def _like(tape: Tape, shape: Sequence[object], value: object, dtype: object) -> object:
    """A number in the shape of a tensor of which more than the number of rows is open."""
    source = next(length.source for length in shape if isinstance(length, Length))
    zeros = each.cast_to(tape, zeros_of(tape, source, shape), type_of(dtype, tape.environment.float_type))
    return each.binary(tape, "+", zeros, constant(value))


def counted(tape: Tape, start: object, stop: object = None, step: object = None, dtype: object = None) -> object:
    """`tf.range`, `K.arange`, `np.arange`."""
    given = [constant(value) for value in (start, stop, step) if value is not None]
    if not all(is_number(value) for value in given):
        raise Undecided("it counts by something other than numbers")
    values = cast("list[float]", given)
    first, last, by = (0, values[0], 1) if len(values) == 1 else (values + [1])[:3]
    if by == 0 or not abs((last - first) / by) < 1e6:
        raise Undecided("it counts too far")
    tape.spend(int(abs((last - first) / by)) + 1)
    made = np.arange(first, last, by)
    return plain(made if dtype is None else made.astype(type_of(dtype)))


def linspace(tape: Tape, start: object, stop: object, num: object = 50) -> object:
    """`tf.linspace`, `np.linspace`."""
    many = whole_number(num, "a number")
    if many < 1:
        raise Undecided("it makes an array of no numbers")
    tape.spend(many)
    return plain(np.linspace(cast(float, constant(start)), cast(float, constant(stop)), many))


def eye(tape: Tape, rows: object, columns: object = None, dtype: object = None) -> object:
    """`tf.eye`, `K.eye`, `np.eye`."""
    many = whole_number(rows, "a number")
    wide = many if columns is None else whole_number(columns, "a number")
    if many < 0 or wide < 0:
        raise Undecided("it makes a constant of a shape that does not fit")
    tape.spend(many * wide)
    return plain(np.eye(many, wide, dtype=dtype_of_numpy(type_of(dtype, tape.environment.float_type))))


ROWS: tuple[Row, ...] = (
    Row("K", "constant", "value dtype shape | name", make_constant),
    Row("K", "variable", "value dtype | name constraint", make_constant),
    Row("tf", "constant", "value dtype shape | name verify_shape", make_constant),
    Row("tf", "convert_to_tensor", "value dtype | name preferred_dtype dtype_hint", make_constant),
    Row("tf numpy", "zeros", "shape dtype | name", filled(0.0)),
    Row("tf numpy", "ones", "shape dtype | name", filled(1.0)),
    Row("K", "zeros", "shape dtype | name", filled(0.0)),
    Row("K", "ones", "shape dtype | name", filled(1.0)),
    Row("tf", "fill", "dims value | name", full),
    Row("numpy", "full", "shape fill_value dtype", full),
    Row("tf", "range", "start limit delta dtype | name", counted),
    Row("K", "arange", "start stop step dtype", counted),
    Row("numpy", "arange", "start stop step dtype", counted),
    Row("tf", "linspace lin_space", "start stop num | name axis", linspace),
    Row("numpy", "linspace", "start stop num", linspace),
    Row(
        "tf",
        "eye",
        "num_rows num_columns dtype | batch_shape name",
        lambda tape, rows, columns=None, dtype=None: eye(tape, rows, columns, dtype),
    ),
    Row("K", "eye", "size dtype | name", lambda tape, rows, dtype=None: eye(tape, rows, None, dtype)),
    Row("numpy", "eye identity", "N M", eye),
)
