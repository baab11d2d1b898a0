"""Functions that take parts of a tensor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from ..slices.values import MAX_ITEMS
from .arguments import axis_of, items_of, numbers_of, whole_number
from .elementwise import tensor, unary
from .joining import reverse
from .tape import Tape, checked, constant, dtype_of_numpy
from .values import UNKNOWN_LENGTH, Array, Tensor, TopK, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


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
            tape.mixes()
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
        if at == 0 and x.is_length(count, axis):
            index.append(slice(None))
            continue
        many = whole_number(count, "a size")
        index.append(slice(None) if at == 0 and many == -1 else slice(at, None if many == -1 else at + many))
    return subscript(tape, x, tuple(index))


def strided_slice(tape: Tape, x: object, begin: object, end: object, strides: object = None, *masks: object) -> object:
    """`tf.strided_slice`; masks: begin, end, ellipsis, new axis, shrink axis."""
    return subscript(tape, tensor(x), strided_index(begin, end, strides, masks))


def strided_index(begin: object, end: object, strides: object, masks: Sequence[object]) -> tuple[object, ...]:
    """What stands between the brackets in `x[...]` for a strided slice."""
    starts, stops = items_of(begin, "bounds"), items_of(end, "bounds")
    steps = [1] * len(starts) if strides is None else items_of(strides, "steps")
    if not len(starts) == len(stops) == len(steps):
        raise Undecided("it slices an unknown number of axes")
    bits = [whole_number(0 if mask is None else mask, "a mask") for mask in (tuple(masks) + (0,) * 5)[:5]]
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
    return tuple(index)


def gather(tape: Tape, x: object, indices: object, axis: object = 0) -> object:
    """`tf.gather` of constant places, or from a constant."""
    if isinstance(indices, Tensor):
        return _looked_up(tape, x, indices, axis)
    x = tensor(x)
    at = axis_of(0 if axis is None else axis, x)
    if at == 0:
        tape.mixes()
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


def _looked_up(tape: Tape, table: object, indices: Tensor, axis: object) -> object:
    """The rows of a constant table."""
    if isinstance(table, Tensor) or indices.dtype not in ("int32", "int64") or plain(axis or 0) != 0:
        raise Undecided("it calls tf.gather with places that are computed")
    numbers = np.asarray(cast("Numbers", constant(table)))
    kind = "int32" if numbers.dtype.kind in "iu" else dtype_of_numpy(tape.environment.float_type)
    if numbers.dtype.kind not in "iuf" or numbers.ndim == 0:
        raise Undecided("it looks up what is no number")
    tape.spend(numbers.size)
    found = checked(numbers.astype(kind))
    return tape.op("numpy.Take", [found, indices], indices.shape + numbers.shape[1:], kind, axis=0)


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
        tape.mixes()
    length = x.shape[at]
    if isinstance(plain(parts), int):
        many = cast(int, plain(parts))
        if not 0 < many <= MAX_ITEMS or (length is not None and length % many):
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


_STRIDED = "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask | var name"


def top_k(tape: Tape, x: object, k: object = 1, ordered: object = True) -> object:
    """`tf.nn.top_k`: the largest along the last axis, and where they are."""
    x = tensor(x)
    many = whole_number(1 if k is None else k, "a number")
    shape = x.shape[:-1] + (many,)
    found = tape.several("math.TopK", [x], [shape, shape], x.dtype, k=many, sorted=True)
    return TopK(found[0], replace(found[1], dtype="int32"))


def sort(tape: Tape, x: object, axis: object = -1, direction: object = None) -> object:
    """`tf.sort`."""
    x = tensor(x)
    at = axis_of(-1 if axis is None else axis, x)
    made = tape.op("numpy.Sort", [x], x.shape, x.dtype, axis=at)
    return made if direction in (None, "ASCENDING") else reverse(tape, made, [at])


def argsort(tape: Tape, x: object, axis: object = -1, direction: object = None) -> object:
    """`tf.argsort`."""
    x = tensor(x)
    at = axis_of(-1 if axis is None else axis, x)
    if direction not in (None, "ASCENDING"):
        x = unary(tape, "-", x)
    return tape.op("numpy.Argsort", [x], tensor(x).shape, "int32", axis=at)


ROWS: tuple[Row, ...] = (
    Row("tf", "slice", "input_ begin size | name", slice_of),
    Row("K", "slice", "x start size", slice_of),
    Row("tf", "strided_slice", _STRIDED, strided_slice),
    Row("K", "gather", "reference indices", gather),
    Row("tf", "gather", "params indices validate_indices name axis batch_dims", _tf_gather),
    Row("tf", "split", "value num_or_size_splits axis | num name", _split_any_order),
    Row("tf", "split_v", "value size_splits axis | num name", split),
    Row("tf", "unstack unpack", "value num axis | name", unstack),
    Row("tf", "top_k", "input k sorted | name", top_k),
    Row("tf", "sort", "values axis direction | name", sort),
    Row("tf", "argsort", "values axis direction | stable name", argsort),
)
