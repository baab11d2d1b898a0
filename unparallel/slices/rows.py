"""Taking rows of a tensor's first axis, exactly."""

from typing import Dict, List, Optional, Sequence, Tuple

from ..model import TensorKey
from .sizes import Dim, Range, Size, Undecided, Vector, as_size, fixed
from .values import MAX_PARTS, Rows, Shape, Tensor, as_vector

_OTHER_AXIS = "it cuts an axis other than the batch"


def row_bounds(value: object) -> Tuple[TensorKey, Size, Size]:
    """(source, first row, row after the last) of a tensor or of rows of one."""
    if isinstance(value, Tensor):
        return value.key, Size.constant(0), Size.batch(value.key)
    if isinstance(value, Rows):
        return value.source, value.start, value.stop
    raise Undecided("it slices something that is computed")


def row_count(value: object) -> Size:
    """The number of rows of a tensor or of rows of one."""
    source, start, stop = row_bounds(value)
    # rows that reach beyond the end of their tensor are fewer than they say
    if not (start.never_above(stop) and stop.never_above(Size.batch(source))):
        raise Undecided("it uses a number of rows that is not known")
    return stop - start


def shape_in_file(value: object) -> Optional[Shape]:
    """The lengths of a tensor's axes where the file has them; rows have those of their tensor, but for the first."""
    return value.shape if isinstance(value, (Tensor, Rows)) else None


def axis_length(value: object, axis: int) -> object:
    """The length of an axis other than the batch: a number where the file has it."""
    shape = shape_in_file(value)
    known = shape[axis] if shape is not None and axis < len(shape) else None
    return Dim(row_bounds(value)[0], axis) if known is None else known


def take_rows(value: object, start: object, stop: object) -> Rows:
    """Rows start .. stop - 1 of a tensor, None being its end."""
    source, first, end = row_bounds(value)
    low = as_size(start)
    if not low.never_negative:
        raise Undecided("it may count rows from the end")
    shape = shape_in_file(value)
    if stop is None:
        return Rows(source, first + low, end, shape)
    high = as_size(stop)
    if not high.never_negative:
        raise Undecided("it may count rows from the end")
    return Rows(source, first + low, _earlier(first + high, end, Size.batch(source)), shape)


def _earlier(high: Size, end: Size, whole: Size) -> Size:
    """The earlier of two ends, where it is the same one for every batch."""
    if end.never_above(high):
        return end
    # what lies beyond the end of the whole batch is cut off anyway
    if high.never_above(end) or whole.never_above(end):
        return high
    raise Undecided("it may take rows beyond the end of others")


def _is_whole(value: object, index: object, axis: Optional[int]) -> bool:
    """Whether an index takes all of an axis; its number is None where an ellipsis stands before it."""
    if index is Ellipsis:
        return True
    if not isinstance(index, slice) or fixed(0 if index.start is None else index.start) != 0:
        return False
    if fixed(1 if index.step is None else index.step) != 1:
        return False
    if index.stop is None:
        return True
    length = None if axis is None else axis_length(value, axis)
    stop = fixed(index.stop)
    return index.stop == length if stop is None or not isinstance(length, int) else stop >= length


def index_tensor(value: object, index: object) -> Rows:
    """`tensor[index]`, where that takes rows."""
    parts: Sequence[object] = index if isinstance(index, (tuple, list)) else (index,)
    open_end = [axis for axis, part in enumerate(parts) if part is Ellipsis][:1]
    for axis, part in enumerate(parts):
        if axis and not _is_whole(value, part, None if open_end and axis > open_end[0] else axis):
            raise Undecided(_OTHER_AXIS)
    first = parts[0] if parts else None
    if first is Ellipsis:
        return take_rows(value, 0, None)
    if not isinstance(first, slice):
        raise Undecided("it takes single items of a tensor")
    if fixed(1 if first.step is None else first.step) != 1:
        raise Undecided("it takes rows in another step than 1")
    return take_rows(value, 0 if first.start is None else first.start, first.stop)


def slice_rows(value: object, begin: object, size: object) -> Rows:
    """`tf.slice`: `begin` and `size` hold an item for each axis; a size of -1 goes to the end."""
    begins, sizes = as_vector(begin), as_vector(size)
    if not begins.items or not sizes.items:
        raise Undecided("it slices an unknown axis")
    for item in _other_axes(begins).values():
        if fixed(item) != 0:
            raise Undecided(_OTHER_AXIS)
    for axis, item in _other_axes(sizes).items():
        if fixed(item) != -1 and item != axis_length(value, axis):
            raise Undecided(_OTHER_AXIS)
    start, count = as_size(begins.items[0]), as_size(sizes.items[0])
    if count.fixed == -1:
        return take_rows(value, start, None)
    if not count.never_negative:
        raise Undecided("it may count rows from the end")
    return take_rows(value, start, start + count)


def _other_axes(vector: Vector) -> Dict[int, object]:
    """The items for the axes behind the batch; of an unknown number of axes one stands for all."""
    found = dict(enumerate(vector.items[1:], 1))
    if vector.tail is not None:
        # how long it is is of no matter: a wrong length is an error in TensorFlow
        if vector.tail.scale and vector.tail.axis != len(vector.items):
            raise Undecided(_OTHER_AXIS)
        found[len(vector.items)] = vector.tail.item(0)
    return found


def split(value: object, sizes: object, axis: object, at: bool = False) -> List[object]:
    """`tf.split`; `at` where a list holds the rows to cut at instead of the parts' sizes."""
    if fixed(0 if axis is None else axis) != 0:
        raise Undecided("it splits an axis other than the batch")
    length = row_count(value)
    count = fixed(sizes)
    if count is not None:
        if not 1 <= count <= MAX_PARTS:
            raise Undecided(f"it splits into {count} parts")
        # TensorFlow refuses a batch that does not divide, so rounding down changes nothing
        each = length // count
        cuts = [each.times(part) for part in range(count + 1)]
    else:
        cuts = _cuts(as_vector(sizes), length, at)
    return [take_rows(value, start, stop) for start, stop in zip(cuts, cuts[1:])]


def _cuts(numbers: Vector, length: Size, at: bool) -> List[Size]:
    if numbers.tail is not None or len(numbers.items) > MAX_PARTS:
        raise Undecided("it splits into an unknown number of parts")
    sizes = [as_size(item) for item in numbers.items]
    if at:
        return [Size.constant(0)] + sizes + [length]
    given = [size for size in sizes if size.fixed != -1]
    total = sum(given, Size.constant(0))
    rest = length - total
    if len(sizes) - len(given) > 1 or not all(size.never_negative for size in given):
        raise Undecided("it splits into parts of unknown size")
    cuts = [Size.constant(0)]
    for size in sizes:
        cuts.append(cuts[-1] + (rest if size.fixed == -1 else size))
    if len(given) < len(sizes) and not rest.never_negative and total.fixed is None:
        raise Undecided("it splits into parts of unknown size")
    return cuts


def gather(value: object, rows: object, axis: object, batch_dims: object = None) -> Rows:
    """`tf.gather` of a range of rows."""
    if fixed(0 if axis is None else axis) != 0 or fixed(0 if batch_dims is None else batch_dims) != 0:
        raise Undecided("it gathers along an axis other than the batch")
    if not isinstance(rows, Range):
        raise Undecided("it gathers rows that are not a plain range")
    # beyond the end some devices give zeros instead of an error
    if not (rows.start.never_above(rows.stop) and rows.stop.never_above(row_count(value))):
        raise Undecided("it may gather rows beyond the end")
    return take_rows(value, rows.start, rows.stop)
