"""What operations on numbers, shapes, lists and tensors give: those of Python, and those of TensorFlow."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .interpreter import Items, Slice
from .marshal import Other
from .rows import index_tensor, row_bounds, row_count
from .sizes import (
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
from .values import (
    MAX_ITEMS,
    PLAIN,
    TENSORS,
    Joined,
    Mean,
    Method,
    Name,
    Rows,
    Scalar,
    Stack,
    Sum,
    Tensor,
    Unknown,
    all_tensors,
    as_vector,
    is_tensor,
    is_vector,
)


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


def shape_of(value: Any) -> Vector:
    """`tf.shape`."""
    if isinstance(value, (Tensor, Rows)):
        return Vector((row_count(value),), Tail(row_bounds(value)[0], 1))
    raise Undecided("it reads the shape of something that is computed")


def static_shape(value: Any) -> Items:
    """The shape as Python knows it when the model is built: the batch is mostly None there."""
    if isinstance(value, (Tensor, Rows)):
        source = row_bounds(value)[0]
        batch = Unknown("it uses the batch size that was known when the model was built")
        return Items([batch], False, Tail(source, 1))
    raise Undecided("it reads the shape of something that is computed")


def rank_of(value: Any) -> Rank:
    """`tf.rank`."""
    if isinstance(value, (Tensor, Rows)):
        return Rank(row_bounds(value)[0])
    raise Undecided("it reads the number of axes of something that is computed")


def concat(values: Any, axis: Any) -> Any:
    """`tf.concat` of shapes, or of tensors along the batch."""
    if isinstance(axis, Items) and not isinstance(values, Items):
        values, axis = axis, values  # the order of arguments before TensorFlow 1.0
    if not isinstance(values, Items) or values.tail is not None or not values.values:
        raise Undecided("it joins an unknown number of tensors")
    if all(is_vector(value) for value in values.values):
        if fixed(axis) not in (0, -1):
            raise Undecided("it joins shapes along an unknown axis")
        return _join_vectors([as_vector(value) for value in values.values])
    if not all_tensors(values):
        raise Undecided("it joins something other than tensors")
    if fixed(axis) != 0:
        raise Undecided("it joins along an axis other than the batch")
    return Joined(tuple(values.values))


def concat_last(values: Any, axis: Any = None) -> Any:
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
    if all_tensors(values):
        return Stack(tuple(values.values))
    return as_vector(values)


def add_all(values: Any) -> Any:
    """`tf.add_n`."""
    if isinstance(values, Items) and all_tensors(values):
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
        return value if isinstance(value, Vector) else to_int(value)
    if name in ("float32", "float64", "float") and isinstance(value, (int, Size)):
        # 24 bits hold every batch size, and their quotient by a number of parts is never rounded up
        return Ratio(as_size(value), 1)
    raise Undecided("it changes the type of a tensor")


def to_int(value: Any) -> Any:
    """`int` of a number, `tf.cast` to whole ones: both round towards zero."""
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


def ones_like(value: Any) -> Any:
    """A shape of ones, as long as another."""
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


def as_constant(value: Any) -> Any:
    """`tf.constant`: a list becomes a vector."""
    return as_vector(value) if isinstance(value, Items) else value


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
    if symbol == "+" and isinstance(left, PLAIN + (Sum,)) and isinstance(right, PLAIN + (Sum,)):
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
    ((Stack,) + TENSORS, _binary_tensor),
)


def compare_values(symbol: str, left: Any, right: Any) -> Any:
    """`left symbol right` for comparisons."""
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
        return index_tensor(value, index)
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
