"""Taking rows of a tensor's first axis, exactly."""

from typing import Any, List, Tuple

from ..model import TensorKey
from .interpreter import Items, Slice
from .sizes import (
    Dim,
    Range,
    Size,
    Undecided,
    Vector,
    as_size,
    fixed,
)
from .values import MAX_PARTS, Rows, Tensor, as_vector


def row_bounds(value: Any) -> Tuple[TensorKey, Size, Size]:
    """(source, first row, row after the last) of a tensor or of rows of one."""
    if isinstance(value, Tensor):
        return value.key, Size.constant(0), Size.batch(value.key)
    if isinstance(value, Rows):
        return value.source, value.start, value.stop
    raise Undecided("it slices something that is computed")


def row_count(value: Any) -> Size:
    """The number of rows of a tensor or of rows of one."""
    source, start, stop = row_bounds(value)
    # rows that reach beyond the end of their tensor are fewer than they say
    if not (start.never_above(stop) and stop.never_above(Size.batch(source))):
        raise Undecided("it uses a number of rows that is not known")
    return stop - start


def take_rows(value: Any, start: Any, stop: Any) -> Rows:
    """Rows start .. stop - 1 of a tensor, None being its end."""
    source, first, end = row_bounds(value)
    low = as_size(start)
    if not low.never_negative:
        raise Undecided("it may count rows from the end")
    if stop is None:
        return Rows(source, first + low, end)
    high = as_size(stop)
    if not high.never_negative:
        raise Undecided("it may count rows from the end")
    return Rows(source, first + low, _earlier(first + high, end, Size.batch(source)))


def _earlier(high: Size, end: Size, whole: Size) -> Size:
    """The earlier of two ends, where it is the same one for every batch."""
    if end.never_above(high):
        return end
    # what lies beyond the end of the whole batch is cut off anyway
    if high.never_above(end) or whole.never_above(end):
        return high
    raise Undecided("it may take rows beyond the end of others")


def _is_all(index: Any) -> bool:
    """Whether an index takes all of an axis."""
    if index is Ellipsis:
        return True
    return (
        isinstance(index, Slice)
        and fixed(0 if index.start is None else index.start) == 0
        and index.stop is None
        and fixed(1 if index.step is None else index.step) == 1
    )


def index_tensor(value: Any, index: Any) -> Rows:
    """`tensor[index]`, where that takes rows."""
    parts = index.values if isinstance(index, Items) and index.tail is None else [index]
    if not parts or not all(_is_all(part) for part in parts[1:]):
        raise Undecided("it cuts an axis other than the batch")
    first = parts[0]
    if first is Ellipsis:
        return take_rows(value, 0, None)
    if not isinstance(first, Slice):
        raise Undecided("it takes single items of a tensor")
    if fixed(1 if first.step is None else first.step) != 1:
        raise Undecided("it takes rows in another step than 1")
    return take_rows(value, 0 if first.start is None else first.start, first.stop)


def slice_rows(value: Any, begin: Any, size: Any) -> Rows:
    """`tf.slice`: `begin` and `size` hold an item for each axis; a size of -1 goes to the end."""
    source = row_bounds(value)[0]
    begins, sizes = as_vector(begin), as_vector(size)
    if not begins.items or not sizes.items:
        raise Undecided("it slices an unknown axis")
    for vector, whole in ((begins, _starts_at_zero), (sizes, _takes_all)):
        rest = list(vector.items[1:])
        if vector.tail is not None:
            # how long it is is of no matter: a wrong length is an error in TensorFlow
            if vector.tail.scale and vector.tail.axis != len(vector.items):
                raise Undecided("it cuts an axis other than the batch")
            rest.append(vector.tail.item(0))
        if not all(whole(item, axis + 1, source) for axis, item in enumerate(rest)):
            raise Undecided("it cuts an axis other than the batch")
    start, count = as_size(begins.items[0]), as_size(sizes.items[0])
    if count.fixed == -1:
        return take_rows(value, start, None)
    if not count.never_negative:
        raise Undecided("it may count rows from the end")
    return take_rows(value, start, start + count)


def _starts_at_zero(item: Any, axis: int, source: TensorKey) -> bool:
    return fixed(item) == 0


def _takes_all(item: Any, axis: int, source: TensorKey) -> bool:
    return fixed(item) == -1 or item == Dim(source, axis)


def split(value: Any, sizes: Any, axis: Any, at: bool = False) -> Items:
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
    return Items([take_rows(value, start, stop) for start, stop in zip(cuts, cuts[1:])], True)


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


def gather(value: Any, rows: Any, axis: Any, batch_dims: Any = None) -> Rows:
    """`tf.gather` of a range of rows."""
    if fixed(0 if axis is None else axis) != 0 or fixed(0 if batch_dims is None else batch_dims) != 0:
        raise Undecided("it gathers along an axis other than the batch")
    if not isinstance(rows, Range):
        raise Undecided("it gathers rows that are not a plain range")
    # beyond the end some devices give zeros instead of an error
    if not (rows.start.never_above(rows.stop) and rows.stop.never_above(row_count(value))):
        raise Undecided("it may gather rows beyond the end")
    return take_rows(value, rows.start, rows.stop)
