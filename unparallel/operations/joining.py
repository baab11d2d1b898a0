"""Functions that join tensors, repeat them, pad them, turn them round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..model import element_count
from ..slices.functions import Row
from ..slices.interpreter import TEXT
from ..slices.sizes import Undecided
from .arguments import axes_of, axis_of, is_first, items_of, numbers_of, tensors_in, whole_number
from .batch import for_each_row
from .elementwise import apply, cast_to, compared, tensor, unary
from .names import dtype as type_of
from .tape import Tape, array_of, broadcast, constant, dtype_of_numpy
from .values import UNKNOWN_LENGTH, Length, Lengths, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def concatenate(tape: Tape, values: object, axis: object = -1) -> object:
    """Along an axis that is there."""
    if isinstance(plain(values), int) and isinstance(axis, (list, tuple)):
        values, axis = axis, values  # the order of arguments before TensorFlow 1.0
    items = items_of(values, "tensors")
    if items and not any(isinstance(item, Tensor) for item in items):
        return _join_constants(tape, items, axis)
    parts = tensors_in(tape, items)
    at = axis_of(axis, parts[0])
    if any(part.rank != parts[0].rank for part in parts):
        raise Undecided("it joins tensors whose shapes do not fit")
    if len(parts) == 1:
        return parts[0]
    if at == 0:
        tape.mixes()
    along = [part.shape[at] for part in parts]
    total = None if None in along else sum(length or 0 for length in along)
    others = broadcast(*[part.shape[:at] + (1,) + part.shape[at + 1 :] for part in parts])
    shape = others[:at] + (total,) + others[at + 1 :]
    return tape.op("numpy.Concatenate", [parts], shape, parts[0].dtype, axis=at)


def _join_constants(tape: Tape, items: Sequence[object], axis: object) -> object:
    if all(isinstance(item, (list, tuple)) for item in items) and plain(axis) in (0, -1):
        joined = [part for item in items for part in cast("Sequence[object]", item)]
        return Lengths(joined) if any(isinstance(item, Lengths) for item in items) else joined
    values = [np.asarray(cast("Numbers", constant(item))) for item in items]
    tape.spend(sum(value.size for value in values))
    try:
        return plain(np.concatenate(values, whole_number(axis, "an axis")))
    except ValueError as error:
        raise Undecided("it joins constants that do not fit") from error


def stack(tape: Tape, values: object, axis: object = 0) -> object:
    """Along a new axis."""
    items = items_of(values, "tensors")
    if items and not any(isinstance(item, Tensor) for item in items):
        return Lengths(items) if any(isinstance(item, Length) for item in items) else _stack_constants(items, axis)
    parts = tensors_in(tape, items)
    rank = parts[0].rank
    at = whole_number(0 if axis is None else axis, "an axis")
    if not -rank - 1 <= at <= rank or any(part.rank != rank for part in parts):
        raise Undecided("it joins tensors whose shapes do not fit")
    at %= rank + 1
    if at == 0:
        tape.mixes()
    inner = broadcast(*[part.shape for part in parts])
    return tape.op("numpy.Stack", [parts], inner[:at] + (len(parts),) + inner[at:], parts[0].dtype, axis=at)


def _stack_constants(items: Sequence[object], axis: object) -> object:
    made = array_of(items)
    at = whole_number(0 if axis is None else axis, "an axis")
    if not -made.ndim <= at < made.ndim:
        raise Undecided(f"it names axis {at} of constants that have {made.ndim - 1}")
    return plain(np.moveaxis(made, 0, at))


def repeat(tape: Tape, x: object, count: object) -> object:
    """`K.repeat`: a matrix becomes a sequence of itself."""
    x = tensor(x)
    many = whole_number(count, "a number")
    if x.rank != 2 or many < 1:
        raise Undecided("it calls K.repeat on something other than a matrix")
    return tape.op("layers.RepeatVector", [x], (x.shape[0], many, x.shape[1]), x.dtype, n=many)


def repeat_elements(tape: Tape, x: object, rep: object, axis: object) -> object:
    """`K.repeat_elements`: each element so many times."""
    x = tensor(x)
    at, many = axis_of(axis, x), whole_number(rep, "a number")
    if at == 0:
        tape.mixes()
    length = x.shape[at]
    shape = x.shape[:at] + (None if length is None else length * many,) + x.shape[at + 1 :]
    return tape.op("numpy.Repeat", [x], shape, x.dtype, repeats=many, axis=at)


def tile(tape: Tape, x: object, multiples: object) -> object:
    """The whole tensor so many times along each axis."""
    if not isinstance(x, Tensor):
        return _tile_constant(tape, np.asarray(cast("Numbers", constant(x))), items_of(multiples, "numbers"))
    given = [multiples] if isinstance(plain(multiples), int) else items_of(multiples, "numbers")
    times = [whole_number(item, "a number") for item in given]
    if len(times) != x.rank:
        raise Undecided("it tiles an unknown number of axes")
    if times[0] != 1:
        tape.mixes()
    shape = tuple(None if length is None else length * many for length, many in zip(x.shape, times))
    return tape.op("numpy.Tile", [x], shape, x.dtype, repeats=times)


def _tile_constant(tape: Tape, values: Numbers, times: Sequence[object]) -> object:
    """A constant so many times; as often as there are rows in a batch, where the first of the numbers is its length."""
    batch = times[0] if times and isinstance(times[0], Length) else None
    many = [whole_number(number, "a number") for number in (times if batch is None else [1, *times[1:]])]
    if batch is not None and (values.ndim != len(many) or values.shape[0] != 1):
        raise Undecided(UNKNOWN_LENGTH)
    tape.spend(values.size * max(0, element_count(many)))
    made = np.tile(values, many)
    return plain(made) if batch is None else for_each_row(tape, batch, made)


def reverse(tape: Tape, x: object, axes: object) -> object:
    """Turned round along axes."""
    x = tensor(x)
    for axis in axes_of(axes, x):
        if axis == 0:
            tape.mixes()
        x = tape.op("numpy.Flip", [x], x.shape, x.dtype, axis=axis)
    return x


_MODES = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


def pad(tape: Tape, x: object, paddings: object, mode: object = "CONSTANT", value: object = 0) -> object:
    """`tf.pad`."""
    x = tensor(x)
    pairs = [numbers_of(pair, "widths") for pair in items_of(paddings, "widths")]
    if len(pairs) != x.rank or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise Undecided("it pads an unknown number of axes")
    kind = _MODES.get(str(mode or "CONSTANT").upper())
    if kind is None:
        raise Undecided(f"it pads in the mode {str(mode)[:20]}")
    if pairs[0] != [0, 0]:
        tape.mixes()
    shape = tuple(None if length is None else length + sum(pair) for length, pair in zip(x.shape, pairs))
    args: list[object] = [x]
    if kind == "constant" and plain(value) not in (0, None):
        args.append(tape.operand(value, x))
    return tape.op("numpy.Pad", args, shape, x.dtype, pad_width=pairs, mode=kind)


def _k_padding(spatial: int) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, padding: object = None, data_format: object = None) -> object:
        x = tensor(x)
        if padding is None:
            padding = (1, 1) if spatial == 1 else ((1, 1),) * spatial
        pairs = [padding] if spatial == 1 else items_of(padding, "widths")
        if x.rank != spatial + 2 or len(pairs) != spatial:
            raise Undecided("it pads an unknown number of axes")
        first = is_first(tape, data_format)
        whole: list[object] = [(0, 0), (0, 0), *pairs] if first else [(0, 0), *pairs, (0, 0)]
        return pad(tape, x, whole)

    return meaning


def one_hot(
    tape: Tape,
    x: object,
    depth: object,
    on: object = None,
    off: object = None,
    axis: object = None,
    dtype: object = None,
) -> object:
    """A new axis, 1 at each index."""
    many = whole_number(depth, "a depth")
    at = whole_number(-1 if axis is None else axis, "an axis")
    values = [plain(default if value is None else value) for value, default in ((on, 1), (off, 0))]
    if not all(isinstance(value, (bool, int, float)) for value in values) or not many > 0:
        raise Undecided("it calls tf.one_hot in an unusual way")
    if dtype is None and not (on is None and off is None):
        # whose type is that of the values
        dtype = "float32" if any(isinstance(value, float) for value in values) else "int32"
    if not isinstance(x, Tensor):
        return _one_hot_constant(tape, x, many, values, at, type_of(dtype, tape.environment.float_type))
    made = _one_hot(tape, x, many, at, "float32" if values != [1, 0] else dtype)
    if values == [1, 0]:
        return made
    chosen = tape.op("numpy.Where", [compared(tape, ">", made, 0), *values], made.shape, "float32")
    return cast_to(tape, chosen, type_of(dtype, tape.environment.float_type))


def _one_hot_constant(tape: Tape, x: object, many: int, values: Sequence[object], at: int, dtype: str) -> object:
    places = np.asarray(cast("Numbers", constant(x)))
    if places.dtype.kind not in "iu" or not -1 <= at <= places.ndim:
        raise Undecided("it calls tf.one_hot in an unusual way")
    tape.spend(places.size * many)
    found = places[..., None] == np.arange(many)
    made = np.where(np.moveaxis(found, -1, at), *cast("Sequence[Numbers]", values))
    return plain(made.astype(dtype_of_numpy(dtype)))


def _one_hot(tape: Tape, x: Tensor, many: int, at: int, dtype: object) -> Tensor:
    if x.floating:
        raise Undecided("it calls tf.one_hot in an unusual way")
    if not -1 <= at <= x.rank:
        raise Undecided(f"it names axis {at} of a tensor that has {x.rank}")
    at = x.rank if at == -1 else at
    wanted = type_of(dtype, tape.environment.float_type)
    shape = x.shape[:at] + (many,) + x.shape[at:]
    return tape.op("nn.OneHot", [x], shape, wanted, num_classes=many, axis=-1 if at == x.rank else at, dtype=wanted)


def roll(tape: Tape, x: object, shift: object, axis: object) -> object:
    """`tf.roll` along one axis."""
    x = tensor(x)
    at = axis_of(axis, x)
    if at == 0:
        tape.mixes()
    return tape.op("numpy.Roll", [x], x.shape, x.dtype, shift=whole_number(shift, "a number"), axis=at)


def _tf_pad(
    tape: Tape, x: object, paddings: object, mode: object = None, name: object = None, value: object = 0
) -> object:
    if not (name is None or isinstance(name, str) or name == TEXT):
        raise Undecided("it gives tf.pad an unusual argument")
    return pad(tape, x, paddings, mode, value)


def _crelu(tape: Tape, x: object) -> object:
    x = tensor(x)
    both = concatenate(tape, [x, unary(tape, "-", x)], -1)
    return apply(tape, "nn.Relu", tensor(both))


ROWS: tuple[Row, ...] = (
    Row(
        "K", "concatenate", "tensors axis", lambda tape, x, axis=-1: concatenate(tape, x, -1 if axis is None else axis)
    ),
    Row("tf", "concat concat_v2", "values axis | name", concatenate),
    Row("K", "stack", "x axis", stack),
    Row("tf", "stack pack", "values axis | name", stack),
    Row("K", "repeat", "x n", repeat),
    Row("K", "repeat_elements", "x rep axis", repeat_elements),
    Row("tf", "repeat", "input repeats axis | name", repeat_elements),
    Row("K", "tile", "x n", tile),
    Row("tf", "tile", "input multiples | name", tile),
    Row("K", "reverse", "x axes", reverse),
    Row("tf", "reverse reverse_v2", "tensor axis | name", reverse),
    Row("tf", "pad", "tensor paddings mode name constant_values", lambda *given: _tf_pad(*given)),
    Row("K", "temporal_padding", "x padding", _k_padding(1)),
    Row("K", "spatial_2d_padding", "x padding data_format", _k_padding(2)),
    Row("K", "spatial_3d_padding", "x padding data_format", _k_padding(3)),
    Row("K", "one_hot", "indices num_classes", one_hot),
    Row("tf", "one_hot", "indices depth on_value off_value axis dtype | name", one_hot),
    Row("tf", "roll", "input shift axis | name", roll),
    Row("numpy", "concatenate", "arrays axis", lambda tape, arrays, axis=0: concatenate(tape, arrays, axis)),
    Row("numpy", "stack", "arrays axis", stack),
    Row("tf", "crelu", "features | name axis", _crelu),
)
