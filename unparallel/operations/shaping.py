"""Functions that move, cut and join what is in tensors, and that read their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.interpreter import TEXT
from ..slices.sizes import Undecided
from . import elementwise as each
from .elementwise import tensor
from .names import dtype as type_of
from .reductions import axes_of
from .tape import MIXES, Tape, array_of, broadcast, constant, dtype_of_numpy, what_is
from .values import UNKNOWN_LENGTH, Array, Length, Lengths, Shape, StaticShape, Tensor, TopK, is_number, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


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


# -- shapes --------------------------------------------------------------------------------------------------


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
    made = 1
    for length in cast(StaticShape, static_shape(tape, x)):
        made *= whole_number(length, "a length")
    return made


def _fits(known: Shape, wanted: Sequence[int]) -> int | None:
    """How many numbers a row holds, where that is known."""
    made = 1
    for length in known:
        if length is None:
            return None
        made *= length
    return made


def reshape(tape: Tape, x: object, shape: object) -> object:
    """`tf.reshape`: a Reshape layer where rows stay rows."""
    if not isinstance(x, Tensor):
        return _reshape_constant(tape, x, shape)
    items = [plain(item) for item in items_of(shape, "a shape")]
    if not items:
        raise Undecided("it makes a number of a tensor")
    first, rest = items[0], [_wanted(item) for item in items[1:]]
    row = _fits(x.shape[1:], ())
    keeps = isinstance(first, Length) and first.axis == 0
    if keeps or (first == -1 and -1 not in rest and row is not None and row == _product(rest)):
        if rest.count(-1) > 1:
            raise Undecided(UNKNOWN_LENGTH)
        return _layer_reshape(tape, x, rest, row)
    if isinstance(first, Length):
        raise Undecided(UNKNOWN_LENGTH)
    target = [whole_number(first, "a length"), *rest]
    if target.count(-1) > 1:
        raise Undecided(UNKNOWN_LENGTH)
    tape.note(MIXES)
    made = tuple(None if length == -1 else length for length in target)
    return tape.op("numpy.Reshape", [x], made, x.dtype, newshape=target)


def _layer_reshape(tape: Tape, x: Tensor, rest: list[int], row: int | None) -> Tensor:
    known = _product([length for length in rest if length != -1])
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


def _product(lengths: Sequence[int]) -> int:
    made = 1
    for length in lengths:
        made *= length
    return made


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
    row = _fits(x.shape[1:], ())
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
        tape.note(MIXES)
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
            tape.note(MIXES)
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
    if order[0] != 0:
        tape.note(MIXES)
    return tape.op("numpy.Transpose", [x], tuple(x.shape[i] for i in order), x.dtype, axes=order)


def transpose_last(tape: Tape, x: object) -> object:
    """`tf.linalg.transpose`: the last two axes change places."""
    x = tensor(x)
    order = list(range(x.rank))
    if x.rank < 2:
        raise Undecided("it transposes a vector")
    order[-1], order[-2] = order[-2], order[-1]
    return transpose(tape, x, order)


# -- cutting -------------------------------------------------------------------------------------------------


def subscript(tape: Tape, x: Tensor, index: object) -> object:
    """`x[index]` of a tensor."""
    items = list(index) if isinstance(index, tuple) else [index]
    kept = [_index(item) for item in items]
    used = sum(1 for item in kept if item is not None and item is not Ellipsis)
    if kept.count(Ellipsis) > 1 or used > x.rank:
        raise Undecided("it names more axes than a tensor has")
    whole: list[object] = [slice(None)] * (x.rank - used)
    at = kept.index(Ellipsis) if Ellipsis in kept else len(kept)
    full = kept[:at] + whole + kept[at + 1 :]
    shape: list[int | None] = []
    axis = 0
    for item in full:
        if item is None:
            shape.append(1)
            continue
        length = x.shape[axis]
        if isinstance(item, slice):
            shape.append(_cut(length, item))
        else:
            _check_inside(length, cast(int, item))
        if axis == 0 and item != slice(None):
            tape.note(MIXES)
        axis += 1
    if all(isinstance(item, slice) and item == slice(None) for item in full):
        return x
    return tape.op("numpy.GetItem", [x, kept], tuple(shape), x.dtype)


def _index(item: object) -> object:
    item = plain(item)
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        parts = [None if part is None else _bound(part) for part in (item.start, item.stop, item.step)]
        if parts[2] == 0:
            raise Undecided("it slices in steps of 0")
        return slice(*parts)
    if isinstance(item, (Tensor, list, Array)):
        raise Undecided("it takes parts of a tensor by a list or another tensor")
    return whole_number(item, "an index")


def _bound(part: object) -> int:
    return whole_number(part, "a bound of a slice")


def _cut(length: int | None, item: slice) -> int | None:
    if item == slice(None):
        return length
    if length is not None:
        return len(range(*item.indices(length)))
    return None


def _check_inside(length: int | None, item: int) -> None:
    if length is not None and not -length <= item < length:
        raise Undecided("it takes a part that a tensor has not")


def slice_of(tape: Tape, x: object, begin: object, size: object) -> object:
    """`tf.slice`: from where, and how many; -1: to the end."""
    x = tensor(x)
    starts, sizes = items_of(begin, "bounds"), items_of(size, "sizes")
    if len(starts) != x.rank or len(sizes) != x.rank:
        raise Undecided("it slices an unknown number of axes")
    index = []
    for axis, (start, count) in enumerate(zip(starts, sizes)):
        at = whole_number(start, "a bound of a slice")
        if isinstance(count, Length) and at == 0 and count.axis == axis:
            index.append(slice(None))
            continue
        many = whole_number(count, "a size")
        index.append(slice(None) if at == 0 and many == -1 else slice(at, None if many == -1 else at + many))
    return subscript(tape, x, tuple(index))


def strided_slice(tape: Tape, x: object, begin: object, end: object, strides: object = None, *masks: object) -> object:
    """`tf.strided_slice`; masks: begin, end, ellipsis, new axis, shrink axis."""
    starts, stops = items_of(begin, "bounds"), items_of(end, "bounds")
    steps = [1] * len(starts) if strides is None else items_of(strides, "steps")
    if not len(starts) == len(stops) == len(steps):
        raise Undecided("it slices an unknown number of axes")
    bits = [whole_number(0 if mask is None else mask, "a mask") for mask in (masks + (0,) * 5)[:5]]
    index: list[object] = []
    for axis, (start, stop, step) in enumerate(zip(starts, stops, steps)):
        on = [bool(mask >> axis & 1) for mask in bits]
        if on[2]:
            index.append(Ellipsis)
        elif on[3]:
            index.append(None)
        elif on[4]:
            index.append(start)
        else:
            index.append(slice(None if on[0] else start, None if on[1] else stop, step))
    return subscript(tape, tensor(x), tuple(index))


def gather(tape: Tape, x: object, indices: object, axis: object = 0) -> object:
    """`tf.gather` of constant places."""
    x = tensor(x)
    if isinstance(indices, Tensor):
        raise Undecided("it calls tf.gather with places that are computed")
    at = axis_of(0 if axis is None else axis, x)
    if at == 0:
        tape.note(MIXES)
    places = np.asarray(cast("Numbers", constant(indices)))
    if places.dtype.kind not in "iu":
        raise Undecided("it gathers by something other than whole numbers")
    if places.ndim == 0:
        return subscript(tape, x, (slice(None),) * at + (places.item(),))
    tape.spend(places.size)
    length = x.shape[at]
    if places.size and (places.min() < 0 or (length is not None and places.max() >= length)):
        raise Undecided("it gathers places that a tensor has not")
    shape = x.shape[:at] + places.shape + x.shape[at + 1 :]
    return tape.op("numpy.Take", [x, places.astype("int32")], shape, x.dtype, axis=at)


def _tf_gather(
    tape: Tape,
    x: object,
    indices: object,
    checked: object = None,
    fourth: object = None,
    fifth: object = None,
    dims: object = None,
) -> object:
    # the fourth argument is a name in TensorFlow 1 and the axis in TensorFlow 2
    axis = fifth if fifth is not None else None if isinstance(fourth, str) else fourth
    if dims not in (None, 0):
        raise Undecided("it calls tf.gather with batch_dims")
    return gather(tape, x, indices, axis)


def split(tape: Tape, x: object, parts: object, axis: object = 0) -> object:
    """`tf.split`: how many equal parts, or the size of each."""
    x = tensor(x)
    at = axis_of(0 if axis is None else axis, x)
    if at == 0:
        tape.note(MIXES)
    length = x.shape[at]
    if isinstance(plain(parts), int):
        many = cast(int, plain(parts))
        if many <= 0 or (length is not None and length % many):
            raise Undecided("it splits an axis into parts that do not fit")
        if length is None and at == 0:
            raise Undecided(UNKNOWN_LENGTH)
        each_length = None if length is None else length // many
        shapes = [x.shape[:at] + (each_length,) + x.shape[at + 1 :]] * many
        return tape.several("numpy.Split", [x], shapes, x.dtype, indices_or_sections=many, axis=at)
    sizes = numbers_of(parts, "sizes")
    if sizes.count(-1) == 1 and length is not None:
        sizes[sizes.index(-1)] = length - sum(size for size in sizes if size != -1)
    if min(sizes, default=-1) < 0 or (length is not None and sum(sizes) != length):
        raise Undecided("it splits an axis into parts that do not fit")
    cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    shapes = [x.shape[:at] + (size,) + x.shape[at + 1 :] for size in sizes]
    if not cuts:
        return [x]
    return tape.several("numpy.Split", [x], shapes, x.dtype, indices_or_sections=cuts, axis=at)


def _split_any_order(tape: Tape, value: object, parts: object, axis: object = None) -> object:
    # before TensorFlow 1.0 the axis came first and the tensor last
    if isinstance(axis, Tensor) and not isinstance(value, Tensor):
        return split(tape, axis, parts, value)
    return split(tape, value, parts, axis)


def unstack(tape: Tape, x: object, num: object = None, axis: object = 0) -> object:
    """Each part along an axis, without it."""
    x = tensor(x)
    at = axis_of(0 if axis is None else axis, x)
    length = x.shape[at] if x.shape[at] is not None else num
    many = whole_number(length, "a number of parts") if length is not None else None
    if many is None:
        raise Undecided(UNKNOWN_LENGTH)
    tape.spend(many)
    return [subscript(tape, x, (slice(None),) * at + (i,)) for i in range(many)]


# -- joining -------------------------------------------------------------------------------------------------


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
    if at == 0:
        tape.note(MIXES)
    if len(parts) == 1:
        return parts[0]
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
        return Lengths(items) if any(isinstance(item, Length) for item in items) else plain(array_of(items))
    parts = tensors_in(tape, items)
    rank = parts[0].rank
    at = whole_number(0 if axis is None else axis, "an axis")
    if not -rank - 1 <= at <= rank or any(part.rank != rank for part in parts):
        raise Undecided("it joins tensors whose shapes do not fit")
    at %= rank + 1
    if at == 0:
        tape.note(MIXES)
    inner = broadcast(*[part.shape for part in parts])
    return tape.op("numpy.Stack", [parts], inner[:at] + (len(parts),) + inner[at:], parts[0].dtype, axis=at)


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
        tape.note(MIXES)
    length = x.shape[at]
    shape = x.shape[:at] + (None if length is None else length * many,) + x.shape[at + 1 :]
    return tape.op("numpy.Repeat", [x], shape, x.dtype, repeats=many, axis=at)


def tile(tape: Tape, x: object, multiples: object) -> object:
    """The whole tensor so many times along each axis."""
    if not isinstance(x, Tensor):
        times = numbers_of(multiples, "numbers")
        values = np.asarray(cast("Numbers", constant(x)))
        tape.spend(values.size * max(0, _product(times)))
        return plain(np.tile(values, times))
    given = [multiples] if isinstance(plain(multiples), int) else items_of(multiples, "numbers")
    times = [whole_number(item, "a number") for item in given]
    if len(times) != x.rank:
        raise Undecided("it tiles an unknown number of axes")
    if times[0] != 1:
        tape.note(MIXES)
    shape = tuple(None if length is None else length * many for length, many in zip(x.shape, times))
    return tape.op("numpy.Tile", [x], shape, x.dtype, repeats=times)


def reverse(tape: Tape, x: object, axes: object) -> object:
    """Turned round along axes."""
    x = tensor(x)
    for axis in axes_of(axes, x):
        if axis == 0:
            tape.note(MIXES)
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
        tape.note(MIXES)
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
    x = tensor(x)
    many = whole_number(depth, "a depth")
    at = whole_number(-1 if axis is None else axis, "an axis")
    if x.floating or not many > 0 or plain(on) not in (None, 1) or plain(off) not in (None, 0):
        raise Undecided("it calls tf.one_hot in an unusual way")
    if not -1 <= at <= x.rank:
        raise Undecided(f"it names axis {at} of a tensor that has {x.rank}")
    at = x.rank if at == -1 else at
    wanted = type_of(dtype, tape.environment.float_type)
    shape = x.shape[:at] + (many,) + x.shape[at:]
    return tape.op("nn.OneHot", [x], shape, wanted, num_classes=many, axis=-1 if at == x.rank else at, dtype=wanted)


def top_k(tape: Tape, x: object, k: object = 1, ordered: object = True) -> object:
    """`tf.nn.top_k`: the largest along the last axis, and where they are."""
    x = tensor(x)
    many = whole_number(1 if k is None else k, "a number")
    shape = x.shape[:-1] + (many,)
    found = tape.several("math.TopK", [x], [shape, shape], x.dtype, k=many, sorted=True)
    return TopK(found[0], Tensor(shape, "int32", found[1].entry, 1))


def roll(tape: Tape, x: object, shift: object, axis: object) -> object:
    """`tf.roll` along one axis."""
    x = tensor(x)
    at = axis_of(axis, x)
    if at == 0:
        tape.note(MIXES)
    return tape.op("numpy.Roll", [x], x.shape, x.dtype, shift=whole_number(shift, "a number"), axis=at)


def sort(tape: Tape, x: object, axis: object = -1, direction: object = None) -> object:
    """`tf.sort`."""
    x = tensor(x)
    at = axis_of(-1 if axis is None else axis, x)
    made = tape.op("numpy.Sort", [x], x.shape, x.dtype, axis=at)
    return made if direction in (None, "ASCENDING") else reverse(tape, made, [at])


# -- constants ---------------------------------------------------------------------------------------------


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
    tape.spend(max(0, _product(wanted)))
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
    wanted = lengths_of(shape)
    if min(wanted, default=0) < 0:
        raise Undecided("it makes a constant of a shape that does not fit")
    tape.spend(_product(wanted))
    kind = dtype_of_numpy(type_of(dtype, tape.environment.float_type))
    return plain(np.full(wanted, cast(float, constant(value)), kind))


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


def rank(tape: Tape, x: object) -> object:
    """How many axes."""
    return len(cast(StaticShape, static_shape(tape, x)))


_STRIDED = "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask | var name"
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
    Row("tf", "slice", "input_ begin size | name", slice_of),
    Row("K", "slice", "x start size", slice_of),
    Row("tf", "strided_slice", _STRIDED, strided_slice),
    Row("K", "gather", "reference indices", gather),
    Row("tf", "gather", "params indices validate_indices name axis batch_dims", _tf_gather),
    Row("tf", "split", "value num_or_size_splits axis | num name", _split_any_order),
    Row("tf", "split_v", "value size_splits axis | num name", split),
    Row("tf", "unstack unpack", "value num axis | name", unstack),
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
    Row("tf", "top_k", "input k sorted | name", top_k),
    Row("tf", "roll", "input shift axis | name", roll),
    Row("tf", "sort", "values axis direction | name", sort),
    Row("K", "constant", "value dtype shape | name", make_constant),
    Row("K", "variable", "value dtype | name constraint", make_constant),
    Row("tf", "constant", "value dtype shape | name verify_shape", make_constant),
    Row("tf", "convert_to_tensor", "value dtype | name preferred_dtype dtype_hint", make_constant),
    Row("tf numpy", "zeros", "shape dtype | name", filled(0.0)),
    Row("tf numpy", "ones", "shape dtype | name", filled(1.0)),
    Row("K", "zeros", "shape dtype | name", filled(0.0)),
    Row("K", "ones", "shape dtype | name", filled(1.0)),
    Row("tf", "fill", "dims value | name", full),
    Row("numpy", "reshape", "a newshape", _reshape_constant),
    Row("numpy", "expand_dims", "a axis", expand_dims),
    Row("numpy", "concatenate", "arrays axis", lambda tape, arrays, axis=0: concatenate(tape, arrays, axis)),
    Row("numpy", "stack", "arrays axis", stack),
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


def _tf_pad(
    tape: Tape, x: object, paddings: object, mode: object = None, name: object = None, value: object = 0
) -> object:
    if not (name is None or isinstance(name, str) or name == TEXT):
        raise Undecided("it gives tf.pad an unusual argument")
    return pad(tape, x, paddings, mode, value)
