"""What the functions of TensorFlow and Keras mean for tensors that are only names.

A tensor is its name, and the size of its batch a symbol (`sizes`).  `Rows` comes out only where it follows
for every batch; whatever is not known raises `Undecided`, or is `Unknown` where it may not matter.
Functions are rows of a table.  One thing has to be taken on trust: a file does not say what a global such as
`tf` or `K` was bound to, so the customary names of modules (`_MODULES`) count as these modules.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..model import TensorKey
from .bytecode import Other
from .interpreter import Domain, Items, Slice
from .sizes import (
    Dim,
    Range,
    Rank,
    Ratio,
    Size,
    Tail,
    Undecided,
    Vector,
    as_size,
    compute,
    compute_vector,
    fixed,
    is_number,
    plain,
)

MAX_ITEMS = 4096
MAX_PARTS = 128

# --------------------------------------------------------------------------------------------------
# What a call may give
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """A tensor of which only the name is known."""

    key: TensorKey


@dataclass(frozen=True)
class Rows:
    """Provably rows start .. stop - 1 of a tensor's first axis, and everything of the other axes.

    A stop beyond the end of the batch means its end, as in Python.
    """

    source: TensorKey
    start: Size
    stop: Size


@dataclass(frozen=True)
class Joined:
    """The parts one after the other along the first axis."""

    parts: Tuple[Any, ...]


@dataclass(frozen=True)
class Mean:
    """The mean of the parts, item by item.

    Attributes
    ----------
    parts : tuple
    layer : str
        Class of the layer where a layer does it; "" where a function does.
    reduces : bool
        True where the tensors' own axes are averaged over too, so that the result is one number.
    """

    parts: Tuple[Any, ...]
    layer: str = ""
    reduces: bool = False


@dataclass(frozen=True)
class Unknown:
    """A value that cannot be told, and why.

    Attributes
    ----------
    reason : str
        Continues "it is not known what ... does: ".
    function : str
        The code's own name, or the layer's class.
    names : tuple of str
        The globals and attributes that the code uses.
    """

    reason: str
    function: str = ""
    names: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum:
    """The sum of tensors, item by item."""

    parts: Tuple[Any, ...]


@dataclass(frozen=True)
class Stack:
    """Tensors stacked along a new first axis."""

    parts: Tuple[Any, ...]


@dataclass(frozen=True)
class Scalar:
    """A tensor without axes, its value unknown."""


@dataclass(frozen=True)
class Name:
    """A module or what it holds, by its dotted path."""

    path: Tuple[str, ...]


@dataclass(frozen=True)
class Method:
    """A method of a value."""

    owner: Any
    name: str


_TENSORS = (Tensor, Rows, Joined, Mean, Sum, Scalar)
# what others may be made of: results of results would grow without end
_PLAIN = (Tensor, Rows, Scalar)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of some kind."""
    return isinstance(value, _TENSORS)


def _all_tensors(items: Items) -> bool:
    return items.tail is None and bool(items.values) and all(isinstance(value, _PLAIN) for value in items.values)


# --------------------------------------------------------------------------------------------------
# Taking rows
# --------------------------------------------------------------------------------------------------


def _bounds(value: Any) -> Tuple[TensorKey, Size, Size]:
    """(source, first row, row after the last) of a tensor or of rows of one."""
    if isinstance(value, Tensor):
        return value.key, Size.constant(0), Size.batch(value.key)
    if isinstance(value, Rows):
        return value.source, value.start, value.stop
    raise Undecided("it slices something that is computed")


def _length(value: Any) -> Size:
    """The number of rows of a tensor or of rows of one."""
    source, start, stop = _bounds(value)
    # rows that reach beyond the end of their tensor are fewer than they say
    if not (start.never_above(stop) and stop.never_above(Size.batch(source))):
        raise Undecided("it uses a number of rows that is not known")
    return stop - start


def take_rows(value: Any, start: Any, stop: Any) -> Rows:
    """Rows start .. stop - 1 of a tensor, None being its end."""
    source, first, end = _bounds(value)
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


def _index_tensor(value: Any, index: Any) -> Rows:
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
    source = _bounds(value)[0]
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


def strided_slice(value: Any, begin: Any, end: Any, strides: Any, masks: Sequence[Any]) -> Any:
    """`tf.strided_slice`; masks: begin, end, ellipsis, new axis, shrink axis."""
    starts, stops = as_vector(begin), as_vector(end)
    steps = Vector((1,) * len(starts.items)) if strides is None else as_vector(strides)
    if starts.tail or stops.tail or steps.tail or not len(starts.items) == len(stops.items) == len(steps.items):
        raise Undecided("it slices an unknown number of axes")
    bits = [fixed(mask) for mask in masks]
    index: List[Any] = []
    for axis, (start, stop, step) in enumerate(zip(starts.items, stops.items, steps.items)):
        on = [bool(mask is None or mask >> axis & 1) for mask in bits]
        if on[3]:
            raise Undecided("it adds an axis")
        if on[4]:
            index.append(start)
        else:
            index.append(Ellipsis if on[2] else Slice(None if on[0] else start, None if on[1] else stop, step))
    return subscript(value, index[0] if len(index) == 1 else Items(index))


def split(value: Any, sizes: Any, axis: Any, at: bool = False) -> Items:
    """`tf.split`; `at` where a list holds the rows to cut at instead of the parts' sizes."""
    if fixed(0 if axis is None else axis) != 0:
        raise Undecided("it splits an axis other than the batch")
    length = _length(value)
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
    if not (rows.start.never_above(rows.stop) and rows.stop.never_above(_length(value))):
        raise Undecided("it may gather rows beyond the end")
    return take_rows(value, rows.start, rows.stop)


# --------------------------------------------------------------------------------------------------
# Numbers, shapes, lists
# --------------------------------------------------------------------------------------------------


def shape_of(value: Any) -> Vector:
    """`tf.shape`."""
    if isinstance(value, (Tensor, Rows)):
        return Vector((_length(value),), Tail(_bounds(value)[0], 1))
    raise Undecided("it reads the shape of something that is computed")


def _static_shape(value: Any) -> Items:
    """The shape as Python knows it when the model is built: the batch is mostly None there."""
    if isinstance(value, (Tensor, Rows)):
        source = _bounds(value)[0]
        batch = Unknown("it uses the batch size that was known when the model was built")
        return Items([batch], False, Tail(source, 1))
    raise Undecided("it reads the shape of something that is computed")


def _rank(value: Any) -> Rank:
    if isinstance(value, (Tensor, Rows)):
        return Rank(_bounds(value)[0])
    raise Undecided("it reads the number of axes of something that is computed")


def as_vector(value: Any) -> Vector:
    """A list of whole numbers as TensorFlow takes it."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, Items) and all(is_number(item) for item in value.values):
        return Vector(tuple(value.values), value.tail)
    raise Undecided("it uses a shape that is not known")


def _is_vector(value: Any) -> bool:
    if isinstance(value, Items):
        return all(is_number(item) for item in value.values)
    return isinstance(value, Vector)


def concat(values: Any, axis: Any) -> Any:
    """`tf.concat` of shapes, or of tensors along the batch."""
    if isinstance(axis, Items) and not isinstance(values, Items):
        values, axis = axis, values  # the order of arguments before TensorFlow 1.0
    if not isinstance(values, Items) or values.tail is not None or not values.values:
        raise Undecided("it joins an unknown number of tensors")
    if all(_is_vector(value) for value in values.values):
        if fixed(axis) not in (0, -1):
            raise Undecided("it joins shapes along an unknown axis")
        return _join_vectors([as_vector(value) for value in values.values])
    if not _all_tensors(values):
        raise Undecided("it joins something other than tensors")
    if fixed(axis) != 0:
        raise Undecided("it joins along an axis other than the batch")
    return Joined(tuple(values.values))


def _concat_last(values: Any, axis: Any = None) -> Any:
    """Keras joins along the last axis unless told otherwise."""
    return concat(values, -1 if axis is None else axis)


def _join_vectors(vectors: List[Vector]) -> Vector:
    items: Tuple[Any, ...] = ()
    tail: Optional[Tail] = None
    for vector in vectors:
        if tail is not None:
            raise Undecided("it joins shapes of unknown length")
        items, tail = items + vector.items, vector.tail
    return Vector(items, tail)


def stack(values: Any, axis: Any) -> Any:
    """`tf.stack` of numbers, or of tensors along a new first axis."""
    if not isinstance(values, Items) or values.tail is not None or fixed(0 if axis is None else axis) != 0:
        raise Undecided("it stacks along an unknown axis")
    if _all_tensors(values):
        return Stack(tuple(values.values))
    return as_vector(values)


def add_all(values: Any) -> Any:
    """`tf.add_n`."""
    if isinstance(values, Items) and _all_tensors(values):
        return Sum(tuple(values.values))
    raise Undecided("it adds an unknown number of tensors")


def reduce_with(mean: bool) -> Callable[..., Any]:
    """`reduce_mean` and its like, which end in one number when no axis is given."""

    def handle(value: Any, axis: Any = None, *flags: Any) -> Any:
        if any(flag not in (None, False) for flag in flags):
            raise Undecided("it keeps the axes that it reduces")
        if isinstance(value, Items):
            value = stack(value, 0)
        if axis is not None and fixed(axis) != 0:
            raise Undecided("it reduces single axes")
        if isinstance(value, Stack) and mean:
            return Mean(value.parts, "", axis is None)
        if axis is not None:
            raise Undecided("it reduces single axes")
        if not is_tensor(value) and not isinstance(value, (Stack, Unknown)):
            raise Undecided("it reduces something other than a tensor")
        return Scalar()

    return handle


def cast(value: Any, kind: Any) -> Any:
    """`tf.cast` of numbers: to whole ones, or to ones that are divided next."""
    name = kind.path[-1] if isinstance(kind, Name) else kind
    if isinstance(value, Unknown):
        return value
    if name in ("int32", "int64"):
        return value if isinstance(value, Vector) else _to_int(value)
    if name in ("float32", "float64", "float") and isinstance(value, (int, Size)):
        # 24 bits hold every batch size, and their quotient by a number of parts is never rounded up
        return Ratio(as_size(value), 1)
    raise Undecided("it changes the type of a tensor")


def _to_int(value: Any) -> Any:
    if isinstance(value, Ratio):
        # towards zero, which is down where nothing is negative
        if not value.size.never_negative:
            raise Undecided("it rounds a number that may be negative")
        return plain(value.size // value.divisor)
    if isinstance(value, float) and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, (int, Size)):
        return plain(value)
    raise Undecided("it makes a whole number of something")


def floor(value: Any) -> Any:
    """The whole number below, still as a fraction."""
    if isinstance(value, Ratio):
        return Ratio(value.size // value.divisor, 1)
    raise Undecided("it rounds something")


def ceil(value: Any) -> Any:
    """The whole number above, still as a fraction."""
    if isinstance(value, Ratio):
        return Ratio((value.size.times(-1) // value.divisor).times(-1), 1)
    raise Undecided("it rounds something")


def extreme(smaller: bool) -> Callable[..., Any]:
    """The smaller or larger of two numbers, where it is the same one for every batch."""

    def handle(left: Any, right: Any) -> Any:
        if not (isinstance(left, (int, Size)) and isinstance(right, (int, Size))):
            raise Undecided("it compares something other than sizes")
        low, high = as_size(left), as_size(right)
        if high.never_above(low):
            low, high = high, low
        elif not low.never_above(high):
            raise Undecided("it takes the smaller of two sizes")
        return plain(low if smaller else high)

    return handle


def zeros_like(value: Any) -> Any:
    """A shape of zeros, as long as another."""
    return binary("*", value if isinstance(value, Vector) else as_vector(value), 0)


def _ones_like(value: Any) -> Any:
    return binary("+", zeros_like(value), 1)


def range_of(start: Any, stop: Any, step: Any) -> Range:
    """`tf.range`."""
    if fixed(1 if step is None else step) != 1:
        raise Undecided("it counts in another step than 1")
    if stop is None:
        start, stop = 0, start
    return Range(as_size(start), as_size(stop))


def expand(value: Any, axis: Any) -> Any:
    """A number as a shape of one item."""
    if is_number(value) and fixed(axis) in (0, -1):
        return Vector((value,))
    raise Undecided("it adds an axis")


def reshape(value: Any, shape: Any) -> Any:
    """A number as a shape of one item, or the other way round."""
    lengths = as_vector(shape)
    if isinstance(value, Vector) and value.tail is None and len(value.items) == 1:
        value = value.items[0]
    if not is_number(value) or lengths.tail is not None:
        raise Undecided("it reshapes a tensor")
    if not lengths.items:
        return value
    if len(lengths.items) == 1 and fixed(lengths.items[0]) in (1, -1):
        return Vector((value,))
    raise Undecided("it reshapes a tensor")


def squeeze(value: Any) -> Any:
    """A shape of one item as a number."""
    return reshape(value, Items([]))


def _constant(value: Any) -> Any:
    return as_vector(value) if isinstance(value, Items) else value


# --------------------------------------------------------------------------------------------------
# Python's operations
# --------------------------------------------------------------------------------------------------

_PYTHON: Dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "old /": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) else a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

_BIG = 1 << 62


def binary(symbol: str, left: Any, right: Any) -> Any:
    """`left symbol right`."""
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _plain_binary(symbol, left, right)
    if isinstance(left, Vector) or isinstance(right, Vector):
        return compute_vector(symbol, *[as_vector(side) if isinstance(side, Items) else side for side in (left, right)])
    if is_number(left) and is_number(right):
        return compute(symbol, left, right)
    if isinstance(left, Items) or isinstance(right, Items):
        return _binary_items(symbol, left, right)
    for kind, handle in _BINARY:
        if isinstance(left, kind) or isinstance(right, kind):
            return handle(symbol, left, right)
    raise Undecided(f"it computes with {symbol!r}")


def _plain_binary(symbol: str, left: Any, right: Any) -> Any:
    if symbol not in _PYTHON or abs(left) > _BIG or abs(right) > _BIG:
        raise Undecided(f"it computes with {symbol!r}")
    try:
        return _PYTHON[symbol](left, right)
    except (ArithmeticError, ValueError) as error:
        raise Undecided("it computes something impossible") from error


def _binary_items(symbol: str, left: Any, right: Any) -> Items:
    """Lists added or repeated."""
    if symbol == "+" and isinstance(left, Items) and isinstance(right, Items):
        if left.tail is None and len(left.values) + len(right.values) <= MAX_ITEMS:
            return Items(left.values + right.values, left.mutable, right.tail)
    elif symbol == "*" and isinstance(left, Items) and left.tail is None:
        if isinstance(right, Rank) and len(left.values) == 1 and isinstance(left.values[0], int) and right.shift <= 0:
            return Items([], left.mutable, Tail(right.source, -right.shift, 0, left.values[0]))
        if isinstance(right, int) and len(left.values) * right <= MAX_ITEMS:
            return Items(left.values * right, left.mutable)
    raise Undecided("it computes with lists")


def _binary_rank(symbol: str, left: Any, right: Any) -> Rank:
    if isinstance(left, Rank) and isinstance(right, int) and symbol in "+-":
        return Rank(left.source, left.shift + (right if symbol == "+" else -right))
    raise Undecided("it computes with a number of axes")


def _binary_range(symbol: str, left: Any, right: Any) -> Range:
    if symbol == "+":
        base, shift = (left, right) if isinstance(left, Range) else (right, left)
        return Range(base.start + as_size(shift), base.stop + as_size(shift))
    raise Undecided("it computes with a range")


def _binary_ratio(symbol: str, left: Any, right: Any) -> Ratio:
    if isinstance(left, Ratio) and symbol == "/" and isinstance(right, (int, float)) and right == int(right) >= 1:
        return Ratio(left.size, left.divisor * int(right))
    raise Undecided("it computes with fractions")


def _binary_tensor(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "+" and isinstance(left, _PLAIN + (Sum,)) and isinstance(right, _PLAIN + (Sum,)):
        summands = _summands(left) + _summands(right)
        if len(summands) <= MAX_ITEMS:
            return Sum(summands)
    if isinstance(left, Sum) and isinstance(right, (int, float)):
        if symbol in ("/", "old /") and right == len(left.parts):
            return Mean(left.parts)
        if symbol == "*" and right == 1.0 / len(left.parts):
            return Mean(left.parts)
    if isinstance(right, Sum) and symbol == "*" and isinstance(left, (int, float)):
        return _binary_tensor("*", right, left)
    sides = (left, right)
    if all(isinstance(side, (Scalar, int, float)) for side in sides):
        return Scalar()
    if any(is_tensor(side) for side in sides) and all(is_tensor(side) or is_number(side) for side in sides):
        return Unknown(f"it computes with {symbol.split()[-1]!r} on tensors")
    return Unknown(f"it computes with {symbol.split()[-1]!r}")


def _summands(value: Any) -> Tuple[Any, ...]:
    return value.parts if isinstance(value, Sum) else (value,)


_BINARY: Tuple[Tuple[Any, Callable[[str, Any, Any], Any]], ...] = (
    (Rank, _binary_rank),
    (Range, _binary_range),
    (Ratio, _binary_ratio),
    ((Stack,) + _TENSORS, _binary_tensor),
)


def _compare(symbol: str, left: Any, right: Any) -> Any:
    simple = (int, float, str, type(None))
    if symbol in ("is", "is not"):
        unknown = (Unknown, Name, Method, Other)
        if left is not None and right is not None or isinstance(left, unknown) or isinstance(right, unknown):
            raise Undecided("it compares what two things are")
        return (left is right) is (symbol == "is")
    if symbol in _PYTHON and isinstance(left, simple) and isinstance(right, simple):
        same = isinstance(left, (int, float)) and isinstance(right, (int, float))
        if same or symbol in ("==", "!="):
            return _PYTHON[symbol](left, right)
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
    return Unknown("it compares sizes that depend on the batch")


def truth(value: Any) -> bool:
    """Which way a condition goes."""
    if value is None or isinstance(value, (int, float, str)):
        return bool(value)
    if isinstance(value, Items) and value.tail is None:
        return bool(value.values)
    reason = "a condition depends on the batch"
    raise Undecided(value.reason if isinstance(value, Unknown) else reason)


def subscript(value: Any, index: Any) -> Any:
    """`value[index]`."""
    for part in (value, index):
        if isinstance(part, Unknown):
            return part
    if isinstance(value, (Tensor, Rows)):
        return _index_tensor(value, index)
    if isinstance(value, Vector):
        found = _part(value.items, value.tail, index)
        return Vector(tuple(found[0]), found[1]) if isinstance(found, tuple) else found
    if isinstance(value, Items):
        found = _part(tuple(value.values), value.tail, index)
        return Items(found[0], value.mutable, found[1]) if isinstance(found, tuple) else found
    raise Undecided("it indexes something that is not known")


def _part(items: Tuple[Any, ...], tail: Optional[Tail], index: Any) -> Any:
    """An item, or (items, tail) of a slice, of a list whose end may be unknown."""
    if isinstance(index, int):
        return _item(items, tail, index)
    if not isinstance(index, Slice) or fixed(1 if index.step is None else index.step) != 1:
        raise Undecided("it indexes a list in an unknown way")
    if tail is None:
        bounds = [None if bound is None else fixed(bound) for bound in (index.start, index.stop)]
        if bounds != [index.start, index.stop]:
            raise Undecided("it indexes a list in an unknown way")
        return items[bounds[0] : bounds[1]], None
    start = fixed(0 if index.start is None else index.start)
    stop = None if index.stop is None else fixed(index.stop)
    if start is None or start < 0 or (index.stop is not None and (stop is None or not 0 <= stop <= MAX_ITEMS)):
        raise Undecided("it counts the axes of a shape from the end")
    if stop is not None:
        return tuple([_item(items, tail, position) for position in range(start, stop)]), None
    over = max(0, start - len(items))
    return items[start:], Tail(tail.source, tail.axis + over, tail.scale, tail.shift)


def _item(items: Tuple[Any, ...], tail: Optional[Tail], index: int) -> Any:
    if tail is None and -len(items) <= index < len(items) or 0 <= index < len(items):
        return items[index]
    if tail is None or index < 0:
        raise Undecided("it counts the axes of a shape from the end" if tail else "it indexes beyond a list")
    return tail.item(index - len(items))


# --------------------------------------------------------------------------------------------------
# Functions, as rows of data
# --------------------------------------------------------------------------------------------------

# What the customary names of modules stand for.  A name counts only below one of the roots.
_MODULES: Dict[str, str] = {
    "tf": "tf",
    "tensorflow": "tf",
    "v1": "tf",
    "v2": "tf",
    "math": "tf",
    "array_ops": "tf",
    "math_ops": "tf",
    "gen_array_ops": "tf",
    "gen_math_ops": "tf",
    "K": "K",
    "KB": "K",
    "backend": "K",
    "keras_backend": "K",
    "tensorflow_backend": "K",
    "ops": "ops",
    "layers": "layers",
    "KL": "layers",
}
_ROOTS = frozenset(
    ("tf", "tensorflow", "K", "KB", "backend", "keras_backend", "array_ops", "math_ops", "keras", "tf_keras")
    + ("gen_array_ops", "gen_math_ops", "ops", "layers", "KL")
)
# modules of TensorFlow whose functions leave lists that they are given alone
_PURE = frozenset(("tf", "K", "ops", "layers"))


class Row(NamedTuple):
    """A function: the modules that hold it, its names, its parameters in order, and its meaning.

    A parameter with a question mark may be unknown without the result being so.  Parameters that the meaning
    does not look at stand after a bar; giving them anything but a default (None, False or text) makes the
    call unknown.
    """

    modules: str
    names: str
    parameters: str
    meaning: Callable[..., Any]


FUNCTIONS: Tuple[Row, ...] = (
    Row("tf", "shape", "input | name out_type", shape_of),
    Row("K", "shape", "x", shape_of),
    Row("ops", "shape", "x", lambda x: Items(shape_of(x).items, False, shape_of(x).tail)),
    Row("K", "int_shape", "x", _static_shape),
    Row("tf", "rank", "input | name", _rank),
    Row("K ops", "ndim", "x", _rank),
    Row("tf", "slice", "input_ begin size | name", slice_rows),
    Row("K", "slice", "x start size", slice_rows),
    Row("ops", "slice", "inputs start_indices shape", slice_rows),
    Row(
        "tf",
        "strided_slice",
        "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask | var name",
        lambda x, begin, end, strides=None, *masks: strided_slice(
            x, begin, end, strides, [0 if mask is None else mask for mask in masks + (0,) * 5][:5]
        ),
    ),
    Row("tf", "split", "value num_or_size_splits axis | num name", lambda *given: _split_any_order(*given)),
    Row("tf", "split_v", "value size_splits axis | num name", split),
    Row("ops", "split", "x indices_or_sections axis", lambda x, cuts, axis=None: split(x, cuts, axis, True)),
    Row(
        "tf",
        "gather",
        "params indices validate_indices name axis batch_dims",
        lambda *given: _gather_any_order(*given),
    ),
    Row("K", "gather", "reference indices", lambda x, rows: gather(x, rows, 0)),
    Row("ops", "take", "x indices axis", lambda x, rows, axis=Unknown("axis"): gather(x, rows, axis)),
    Row("tf", "range", "start limit delta | dtype name", lambda a, b=None, step=None: range_of(a, b, step)),
    Row("K ops", "arange", "start stop step | dtype", lambda a, b=None, step=None: range_of(a, b, step)),
    Row("tf", "concat", "values axis | name", concat),
    Row("tf", "concat_v2", "values axis | name", concat),
    Row("K", "concatenate", "tensors axis", _concat_last),
    Row("ops", "concatenate", "xs axis", lambda xs, axis=0: concat(xs, 0 if axis is None else axis)),
    Row("layers", "concatenate", "inputs axis | name", _concat_last),
    Row("tf", "stack pack", "values axis | name", lambda values, axis=None: stack(values, axis)),
    Row("K ops", "stack", "x axis", lambda values, axis=None: stack(values, axis)),
    Row("tf", "add_n", "inputs | name", add_all),
    Row("tf", "accumulate_n", "inputs | shape tensor_dtype name", add_all),
    Row("tf", "reduce_mean", "input_tensor? axis keepdims | name reduction_indices keep_dims", reduce_with(True)),
    Row("K ops", "mean", "x? axis keepdims", reduce_with(True)),
    Row(
        "tf",
        "reduce_sum reduce_max reduce_min reduce_prod",
        "input_tensor? axis keepdims | name reduction_indices keep_dims",
        reduce_with(False),
    ),
    Row("K ops", "sum max min prod", "x? axis keepdims", reduce_with(False)),
    Row("layers", "average", "inputs", lambda inputs: Mean(add_all(inputs).parts, "Average")),
    Row("tf", "cast", "x dtype | name", cast),
    Row("K ops", "cast", "x dtype", cast),
    Row("tf", "to_int32 ToInt32", "x | name", lambda x: cast(x, "int32")),
    Row("tf", "to_int64", "x | name", lambda x: cast(x, "int64")),
    Row("tf", "to_float", "x | name", lambda x: cast(x, "float32")),
    Row("tf ops", "floor", "x | name", floor),
    Row("tf ops", "ceil", "x | name", ceil),
    Row("tf ops", "minimum", "x y | name", extreme(True)),
    Row("tf ops", "maximum", "x y | name", extreme(False)),
    Row("K", "minimum", "x y", extreme(True)),
    Row("K", "maximum", "x y", extreme(False)),
    Row("tf", "zeros_like", "tensor | dtype name optimize", zeros_like),
    Row("tf", "ones_like", "tensor | dtype name optimize", _ones_like),
    Row("K", "zeros_like", "x | dtype name", zeros_like),
    Row("K", "ones_like", "x | dtype name", _ones_like),
    Row("tf", "expand_dims", "input axis | name dim", expand),
    Row("K", "expand_dims", "x axis", lambda x, axis=-1: expand(x, axis)),
    Row("tf", "reshape", "tensor shape | name", reshape),
    Row("K", "reshape", "x shape", reshape),
    Row("tf", "squeeze", "input | axis name squeeze_dims", squeeze),
    Row("tf", "constant", "value | dtype shape name verify_shape", _constant),
    Row("tf", "convert_to_tensor", "value | dtype name preferred_dtype dtype_hint", _constant),
    Row("K", "constant", "value | dtype shape name", _constant),
    Row("ops", "convert_to_tensor", "x | dtype", _constant),
    Row("tf", "identity", "input | name", lambda x: x),
    Row("K", "identity", "x | name", lambda x: x),
    Row("tf", "multiply mul scalar_mul", "x y | name", lambda x, y: binary("*", x, y)),
    Row("tf", "add", "x y | name", lambda x, y: binary("+", x, y)),
    Row("tf", "subtract sub", "x y | name", lambda x, y: binary("-", x, y)),
    Row("tf", "floordiv floor_div", "x y | name", lambda x, y: binary("//", x, y)),
    Row("tf", "div", "x y | name", lambda x, y: binary("old /", x, y)),
    Row("tf", "truediv divide realdiv", "x y | name", lambda x, y: binary("/", x, y)),
    Row("tf", "mod floormod", "x y | name", lambda x, y: binary("%", x, y)),
    Row("ops", "floor_divide", "x1 x2", lambda x, y: binary("//", x, y)),
    Row("ops", "multiply", "x1 x2", lambda x, y: binary("*", x, y)),
    Row("ops", "add", "x1 x2", lambda x, y: binary("+", x, y)),
    Row("ops", "subtract", "x1 x2", lambda x, y: binary("-", x, y)),
    Row("ops", "true_divide divide", "x1 x2", lambda x, y: binary("/", x, y)),
    Row("python", "int", "x", _to_int),
    Row("python", "float", "x", lambda x: _python_float(x)),
    Row("python", "len", "x", lambda x: _python_len(x)),
    Row("python", "range xrange", "a b c", lambda *given: _python_range(*given)),
    Row("python", "list", "x", lambda x: Items(_iterate(x).values, True, _iterate(x).tail)),
    Row("python", "tuple", "x", lambda x: Items(_iterate(x).values, False, _iterate(x).tail)),
    Row("python", "sum", "x", lambda x: _python_sum(_iterate(x))),
    Row("python", "min", "a b", extreme(True)),
    Row("python", "max", "a b", extreme(False)),
    Row("python", "slice", "a b c", lambda *given: _python_slice(*given)),
    Row("python", "enumerate", "x", lambda x: Items([Items(pair) for pair in enumerate(_all_of(x))])),
    Row("python", "zip", "a b", lambda a, b: Items([Items(pair) for pair in zip(_all_of(a), _all_of(b))])),
)


def _gather_any_order(value: Any, rows: Any, checked: Any = None, name: Any = None, *rest: Any) -> Rows:
    # the fourth argument is a name in TensorFlow 1 and the axis in TensorFlow 2
    if not (name is None or isinstance(name, str)):
        raise Undecided("it gives a function unusual arguments")
    return gather(value, rows, *(rest or (None,)))


def _split_any_order(value: Any, sizes: Any, axis: Any = None) -> Items:
    # before TensorFlow 1.0 the axis came first and the tensor last
    return split(axis, sizes, value) if fixed(value) is not None and is_tensor(axis) else split(value, sizes, axis)


def _python_float(value: Any) -> Any:
    if isinstance(value, (int, float)):
        return float(value)
    raise Undecided("it makes a fraction of something")


def _python_len(value: Any) -> Any:
    if not isinstance(value, Items):
        raise Undecided("it asks for the length of something")
    if value.tail is None:
        return len(value.values)
    return Rank(value.tail.source, len(value.values) - value.tail.axis)


def _python_range(*given: Any) -> Items:
    numbers = [fixed(number) for number in given]
    if None in numbers or not 1 <= len(numbers) <= 3 or numbers[2:] == [0]:
        raise Undecided("it counts up to something that is not known")
    found = range(*[number for number in numbers if number is not None])
    if len(found) > MAX_ITEMS:
        raise Undecided("it counts too far")
    return Items(list(found))


def _python_slice(*given: Any) -> Slice:
    start, stop, step = (None,) + given + (None,) if len(given) == 1 else (given + (None,))[:3]
    return Slice(start, stop, step)


def _python_sum(items: Items) -> Any:
    if _all_tensors(items):
        return Sum(tuple(items.values))
    total: Any = 0
    for value in _all_of(items):
        total = binary("+", total, value)
    return total


def _iterate(value: Any) -> Items:
    if isinstance(value, Items):
        return value
    raise Undecided(value.reason if isinstance(value, Unknown) else "it loops over something that is not a list")


def _all_of(value: Any) -> List[Any]:
    items = _iterate(value)
    if items.tail is not None:
        raise Undecided("it loops over a list of unknown length")
    return items.values


def _by_module() -> Dict[Tuple[str, str], Row]:
    found: Dict[Tuple[str, str], Row] = {}
    for row in FUNCTIONS:
        for module in row.modules.split():
            for name in row.names.split():
                found[module, name] = row
    return found


TABLE = _by_module()
ABSENT = Other("absent")

# Names of one parameter through the versions
_RENAMED: Dict[str, str] = {
    "input": "input x tensor",
    "x": "x tensor tensors inputs data",
    "value": "value input",
    "values": "values inputs",
    "num_or_size_splits": "num_or_size_splits num_split",
    "axis": "axis dim split_dim concat_dim",
    "input_": "input_ input",
    "params": "params reference",
    "keepdims": "keepdims keep_dims",
    "tensor": "tensor input x",
    "start": "start begin",
}


def module_of(path: Tuple[str, ...]) -> str:
    """Which module's function a dotted path names: "tf", "K", "ops", "layers", "python", or ""."""
    if len(path) == 1:
        return "python"
    if path[0] not in _ROOTS:
        return ""
    return _MODULES.get(path[-2], "")


def apply(row: Row, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """The meaning of a call of a known function."""
    used, _, unused = row.parameters.partition("|")
    names = used.split() + unused.split()
    given: List[Any] = [ABSENT] * len(names)
    if len(args) > len(names):
        raise Undecided("it gives a function too many arguments")
    given[: len(args)] = args
    for keyword, value in kwargs.items():
        given[_position(names, given, keyword)] = value
    wanted, others = given[: len(used.split())], given[len(used.split()) :]
    if not all(value is None or value is False or isinstance(value, (Other, str, Name)) for value in others):
        raise Undecided("it gives a function unusual arguments")
    while wanted and wanted[-1] is ABSENT:
        wanted.pop()
    for name, value in zip(names, wanted):
        if isinstance(value, Unknown) and not name.endswith("?"):
            return value
    try:
        return row.meaning(*[None if value is ABSENT else value for value in wanted])
    except TypeError as error:
        raise Undecided("it gives a function too few arguments") from error


def _position(names: List[str], given: List[Any], keyword: str) -> int:
    """Which parameter a keyword means; it must not have been given before."""
    for position, name in enumerate(names):
        name = name.rstrip("?")
        if keyword in _RENAMED.get(name, name).split() and given[position] is ABSENT:
            return position
    raise Undecided(f"it gives a function an unusual argument {keyword!r}")


# --------------------------------------------------------------------------------------------------
# The domain of the walk through a function
# --------------------------------------------------------------------------------------------------

_LITERALS: Dict[str, Any] = {"True": True, "False": False, "None": None, "Ellipsis": Ellipsis}


def _listed(value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, Items) else ()


class Tensors(Domain):
    """What Python's operations mean for tensors, sizes and lists of them.

    Parameters
    ----------
    known : mapping of str to value, optional
        What globals are bound to, where that is known: then custom has no say.
    """

    def __init__(self, known: Optional[Mapping[str, Any]] = None) -> None:
        self.known = known or {}

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        """See `Domain`."""
        return binary(symbol, left, right)

    def unary(self, symbol: str, value: Any) -> Any:
        """See `Domain`."""
        return binary("*", value, -1) if symbol == "-" else binary("+", value, 0)

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        """See `Domain`."""
        return _compare(symbol, left, right)

    def truth(self, value: Any) -> bool:
        """See `Domain`."""
        return truth(value)

    def subscript(self, value: Any, index: Any) -> Any:
        """See `Domain`."""
        return subscript(value, index)

    def iterate(self, value: Any) -> Items:
        """See `Domain`."""
        return _iterate(value)

    def global_name(self, name: str) -> Any:
        """See `Domain`."""
        if name in self.known:
            return self.known[name]
        return _LITERALS[name] if name in _LITERALS else Name((name,))

    def cost(self, value: Any) -> int:
        """See `Domain`."""
        if isinstance(value, Size):
            return len(value.values) // 8
        if isinstance(value, Rows):
            return 1 + self.cost(value.start) + self.cost(value.stop)
        if isinstance(value, Vector):
            return sum(self.cost(item) for item in value.items)
        # lists in lists cost nothing more: they were paid for when they were made
        return len(_listed(value)) + sum(self.cost(item) for item in _listed(value) if not isinstance(item, Items))

    def module(self, name: str, leaf: bool) -> Any:
        """See `Domain`."""
        path = tuple(name.split("."))
        return Name(path if leaf else path[:1])

    def attribute(self, value: Any, name: str) -> Any:
        """See `Domain`."""
        if isinstance(value, Name):
            if len(value.path) > 8:
                raise Undecided("it reads a long chain of attributes")
            return Name(value.path + (name,))
        if isinstance(value, Unknown):
            return value
        if isinstance(value, (Tensor, Rows)) and name in ("shape", "_keras_shape"):
            return _static_shape(value)
        if isinstance(value, (Tensor, Rows, Items)):
            return Method(value, name)
        raise Undecided(f"it reads the attribute {name!r}")

    def call(self, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """See `Domain`."""
        if isinstance(function, Method):
            return _call_method(function, args, kwargs)
        if not isinstance(function, Name):
            raise Undecided("it calls something that is not known")
        module = module_of(function.path)
        row = TABLE.get((module, function.path[-1]))
        if row is not None:
            return apply(row, args, kwargs)
        reason = "it calls {}".format(".".join(function.path))
        if module in _PURE:
            return Unknown(reason)
        raise Undecided(reason)


def _call_method(method: Method, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    owner, name = method.owner, method.name
    if isinstance(owner, (Tensor, Rows)) and name == "get_shape" and not args and not kwargs:
        return _static_shape(owner)
    if isinstance(owner, Items) and not kwargs:
        if name == "as_list" and not args:
            return Items(owner.values, True, owner.tail)
        if name == "append" and len(args) == 1 and owner.mutable and owner.tail is None:
            owner.values.append(args[0])
            return None
    raise Undecided(f"it calls the method {name!r}")
