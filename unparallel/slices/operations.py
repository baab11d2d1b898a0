"""What operations on numbers, shapes, lists and tensors give: those of Python, and those of TensorFlow."""

from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from .interpreter import TEXT
from .marshal import Other
from .rows import axis_length, index_tensor, row_bounds, row_count
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
from .values import (
    MAX_ITEMS,
    PLAIN,
    TENSORS,
    Joined,
    Mean,
    Method,
    Name,
    OpenTuple,
    Rows,
    Scalar,
    Stack,
    Sum,
    Tensor,
    Unknown,
    all_tensors,
    as_list,
    as_vector,
    is_tensor,
    is_vector,
    not_in_file,
)


def strided_slice(value: object, begin: object, end: object, strides: object, masks: Sequence[object]) -> object:
    """`tf.strided_slice`; masks: begin, end, ellipsis, new axis, shrink axis."""
    starts, stops = as_vector(begin), as_vector(end)
    steps = Vector((1,) * len(starts.items)) if strides is None else as_vector(strides)
    if starts.tail or stops.tail or steps.tail or not len(starts.items) == len(stops.items) == len(steps.items):
        raise Undecided("it slices an unknown number of axes")
    bits = [fixed(mask) for mask in masks]
    index: List[object] = []
    for axis, (start, stop, step) in enumerate(zip(starts.items, stops.items, steps.items)):
        on = [bool(mask is None or mask >> axis & 1) for mask in bits]
        if on[3]:
            raise Undecided("it adds an axis")
        if on[4]:
            index.append(start)
        else:
            index.append(Ellipsis if on[2] else slice(None if on[0] else start, None if on[1] else stop, step))
    return subscript(value, index[0] if len(index) == 1 else tuple(index))


def shape_of(value: object) -> Vector:
    """`tf.shape`."""
    rest = _other_lengths(value)
    if isinstance(rest, Tail):
        return Vector((row_count(value),), rest)
    return Vector((row_count(value),) + rest)


def shape_tuple(value: object) -> object:
    """`ops.shape` of Keras 3: a tuple, not a tensor."""
    shape = shape_of(value)
    return shape.items if shape.tail is None else OpenTuple(shape.items, shape.tail)


def static_shape(value: object) -> object:
    """The shape as Python knows it when the model is built: the batch is mostly None there."""
    batch = Unknown("it uses the batch size that was known when the model was built")
    rest = _other_lengths(value)
    return OpenTuple((batch,), rest) if isinstance(rest, Tail) else (batch,) + rest


def _other_lengths(value: object) -> Union[Tail, Tuple[object, ...]]:
    """The lengths of all axes but the batch; their number is known only where the file has the shape."""
    if not isinstance(value, (Tensor, Rows)):
        raise Undecided("it reads the shape of something that is computed")
    if value.shape is None:
        return Tail(row_bounds(value)[0], 1)
    return tuple([axis_length(value, axis) for axis in range(1, len(value.shape))])


def rank_of(value: object) -> object:
    """`tf.rank`."""
    if isinstance(value, (Tensor, Rows)):
        return Rank(row_bounds(value)[0]) if value.shape is None else len(value.shape)
    raise Undecided("it reads the number of axes of something that is computed")


def concat(values: object, axis: object) -> Union[Vector, Joined]:
    """`tf.concat` of shapes, or of tensors along the batch."""
    if isinstance(axis, (list, tuple)) and not isinstance(values, (list, tuple)):
        values, axis = axis, values  # the order of arguments before TensorFlow 1.0
    parts = as_list(values, "it joins an unknown number of tensors")
    if parts and all(is_vector(value) for value in parts):
        if fixed(axis) not in (0, -1):
            raise Undecided("it joins shapes along an unknown axis")
        return _join_vectors([as_vector(value) for value in parts])
    if not all_tensors(parts):
        raise Undecided("it joins something other than tensors")
    if fixed(axis) != 0:
        raise Undecided("it joins along an axis other than the batch")
    return Joined(tuple(parts))


def concat_last(values: object, axis: object = None) -> Union[Vector, Joined]:
    """Keras joins along the last axis unless told otherwise."""
    return concat(values, -1 if axis is None else axis)


def _join_vectors(vectors: List[Vector]) -> Vector:
    items: Tuple[object, ...] = ()
    tail: Optional[Tail] = None
    for vector in vectors:
        if tail is not None:
            raise Undecided("it joins shapes of unknown length")
        items, tail = items + vector.items, vector.tail
    return Vector(items, tail)


def stack(values: object, axis: object) -> Union[Vector, Stack]:
    """`tf.stack` of numbers, or of tensors along a new first axis."""
    if isinstance(values, (list, tuple)) and fixed(0 if axis is None else axis) == 0:
        return Stack(tuple(values)) if all_tensors(values) else as_vector(values)
    raise Undecided("it stacks along an unknown axis")


def add_all(values: object) -> Sum:
    """`tf.add_n`."""
    if isinstance(values, (list, tuple)) and all_tensors(values):
        return Sum(tuple(values))
    raise Undecided("it adds an unknown number of tensors")


def reduce_with(mean: bool) -> Callable[..., Union[Mean, Scalar]]:
    """`reduce_mean` and its like, which end in one number when no axis is given."""

    def handle(value: object, axis: object = None, keepdims: object = None) -> Union[Mean, Scalar]:
        if keepdims not in (None, False):
            raise Undecided("it keeps the axes that it reduces")
        if isinstance(value, (list, tuple)):
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


def cast(value: object, kind: object) -> object:
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


def to_int(value: object) -> object:
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


def floor(value: object) -> object:
    """The whole number below, still as a fraction."""
    if isinstance(value, Ratio):
        return Ratio(value.size // value.divisor, 1)
    raise Undecided("it rounds something")


def ceil(value: object) -> object:
    """The whole number above, still as a fraction."""
    if isinstance(value, Ratio):
        return Ratio((value.size.times(-1) // value.divisor).times(-1), 1)
    raise Undecided("it rounds something")


def extreme(smaller: bool) -> Callable[[object, object], object]:
    """The smaller or larger of two numbers, where it is the same one for every batch."""

    def handle(left: object, right: object) -> object:
        if not (isinstance(left, (int, Size)) and isinstance(right, (int, Size))):
            raise Undecided("it compares something other than sizes")
        low, high = as_size(left), as_size(right)
        if high.never_above(low):
            low, high = high, low
        elif not low.never_above(high):
            raise Undecided("it takes the smaller of two sizes")
        return plain(low if smaller else high)

    return handle


def zeros_like(value: object) -> object:
    """A shape of zeros, as long as another."""
    return binary("*", value if isinstance(value, Vector) else as_vector(value), 0)


def ones_like(value: object) -> object:
    """A shape of ones, as long as another."""
    return binary("+", zeros_like(value), 1)


def range_of(start: object, stop: object, step: object) -> Range:
    """`tf.range`."""
    if fixed(1 if step is None else step) != 1:
        raise Undecided("it counts in another step than 1")
    if stop is None:
        start, stop = 0, start
    return Range(as_size(start), as_size(stop))


def expand(value: object, axis: object) -> object:
    """A number as a shape of one item."""
    if is_number(value) and fixed(axis) in (0, -1):
        return Vector((value,))
    raise Undecided("it adds an axis")


def reshape(value: object, shape: object) -> object:
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


def squeeze(value: object) -> object:
    """A shape of one item as a number."""
    return reshape(value, ())


def as_constant(value: object) -> object:
    """`tf.constant`: a list becomes a vector."""
    return as_vector(value) if isinstance(value, (list, tuple, OpenTuple)) else value


_PYTHON: Dict[str, Callable[[float, float], float]] = {
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


def binary(symbol: str, left: object, right: object) -> object:
    """`left symbol right`."""
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Name):
            return not_in_file(value)
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _binary_plain(symbol, left, right)
    if isinstance(left, Vector) or isinstance(right, Vector):
        sides = [as_vector(side) if isinstance(side, (list, tuple, OpenTuple)) else side for side in (left, right)]
        return compute_vector(symbol, *sides)
    if is_number(left) and is_number(right):
        return compute(symbol, left, right)
    if isinstance(left, str) or isinstance(right, str):
        return _binary_text(symbol, left)
    for kind, handle in _BINARY:
        if isinstance(left, kind) or isinstance(right, kind):
            return handle(symbol, left, right)
    raise Undecided(f"it computes with {symbol!r}")


def _binary_plain(symbol: str, left: float, right: float) -> float:
    if symbol not in _PYTHON or abs(left) > _BIG or abs(right) > _BIG:
        raise Undecided(f"it computes with {symbol!r}")
    try:
        return _PYTHON[symbol](left, right)
    except (ArithmeticError, ValueError) as error:
        raise Undecided("it computes something impossible") from error


def _binary_text(symbol: str, left: object) -> Other:
    # what it says is of no matter: names and messages are all that it is good for
    if symbol == "+" or symbol == "%" and isinstance(left, str):
        return TEXT
    raise Undecided(f"it computes with {symbol!r}")


def _binary_list(symbol: str, left: object, right: object) -> object:
    """Lists added or repeated."""
    if symbol == "*" and isinstance(right, (list, tuple)):
        left, right = right, left
    if symbol == "*" and isinstance(left, (list, tuple)):
        if isinstance(right, Rank) and len(left) == 1 and isinstance(left[0], int) and right.shift <= 0:
            return OpenTuple((), Tail(right.source, -right.shift, 0, left[0]))
        if isinstance(right, int) and len(left) * right <= MAX_ITEMS:
            return left * right
    if symbol == "+" and isinstance(left, (list, tuple)):
        if isinstance(right, OpenTuple) and len(left) + len(right.items) <= MAX_ITEMS:
            return OpenTuple(tuple(left) + right.items, right.tail)
        if isinstance(right, (list, tuple)) and len(left) + len(right) <= MAX_ITEMS:
            # a list and TensorFlow's own kind of shape can be added; Python's list and tuple cannot, so nobody saves it
            return [*left, *right] if isinstance(left, list) else (*left, *right)
    raise Undecided("it computes with lists")


def _binary_rank(symbol: str, left: object, right: object) -> Rank:
    if isinstance(left, Rank) and isinstance(right, int) and symbol in "+-":
        return Rank(left.source, left.shift + (right if symbol == "+" else -right))
    raise Undecided("it computes with a number of axes")


def _binary_range(symbol: str, left: object, right: object) -> Range:
    base, shift = (left, right) if isinstance(left, Range) else (right, left)
    if symbol == "+" and isinstance(base, Range):
        return Range(base.start + as_size(shift), base.stop + as_size(shift))
    raise Undecided("it computes with a range")


def _binary_ratio(symbol: str, left: object, right: object) -> Ratio:
    if isinstance(left, Ratio) and symbol == "/" and isinstance(right, (int, float)) and right == int(right) >= 1:
        return Ratio(left.size, left.divisor * int(right))
    raise Undecided("it computes with fractions")


def _binary_tensor(symbol: str, left: object, right: object) -> object:
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


def _summands(value: object) -> Tuple[object, ...]:
    return value.parts if isinstance(value, Sum) else (value,)


# the first kind that either side is of decides
_BINARY: Tuple[Tuple[Union[type, Tuple[type, ...]], Callable[[str, object, object], object]], ...] = (
    ((list, tuple, OpenTuple), _binary_list),
    (Rank, _binary_rank),
    (Range, _binary_range),
    (Ratio, _binary_ratio),
    ((Stack,) + TENSORS, _binary_tensor),
)


def compare_values(symbol: str, left: object, right: object) -> object:
    """`left symbol right` for comparisons."""
    if symbol in ("is", "is not"):
        # the length of an axis is None where it was not known when the model was built
        vague = (Unknown, Name, Method, Other, Dim)
        if left is not None and right is not None or isinstance(left, vague) or isinstance(right, vague):
            raise Undecided("it compares what two things are")
        return (left is right) is (symbol == "is")
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and symbol in _PYTHON:
        return _PYTHON[symbol](left, right)
    simple = (int, float, str, type(None))
    if isinstance(left, simple) and isinstance(right, simple) and symbol in ("==", "!="):
        return (left == right) is (symbol == "==")
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Name):
            return not_in_file(value)
    return Unknown("it compares sizes that depend on the batch")


def truth(value: object) -> bool:
    """Which way a condition goes."""
    if value is None or isinstance(value, (int, float, str, list, tuple)):
        return bool(value)
    value = not_in_file(value) if isinstance(value, Name) else value
    raise Undecided(value.reason if isinstance(value, Unknown) else "a condition depends on the batch")


def subscript(value: object, index: object) -> object:
    """`value[index]`."""
    for part in (value, *_bounds(index)):
        if isinstance(part, Unknown):
            return part
        if isinstance(part, Name):
            return not_in_file(part)
    if isinstance(value, (Tensor, Rows)):
        return index_tensor(value, index)
    if isinstance(value, (list, tuple)):
        return _list_part(value, index)
    if isinstance(value, Vector):
        if value.tail is not None:
            found = _open_part(value.items, value.tail, index)
            return Vector(found.items, found.tail) if isinstance(found, OpenTuple) else _as_vector_if_list(found)
        return _as_vector_if_list(_list_part(value.items, index))
    if isinstance(value, OpenTuple):
        return _open_part(value.items, value.tail, index)
    raise Undecided("it indexes something that is not known")


def _bounds(index: object) -> List[object]:
    """An index, and what it is made of."""
    parts = [index, *index] if isinstance(index, tuple) else [index]
    return parts + [bound for part in parts if isinstance(part, slice) for bound in (part.start, part.stop, part.step)]


def _as_vector_if_list(value: object) -> object:
    return Vector(value) if isinstance(value, tuple) else value


def _list_part(items: Union[List[object], Tuple[object, ...]], index: object) -> object:
    """An item, or a part, of Python's own list."""
    if isinstance(index, int):
        if -len(items) <= index < len(items):
            return items[index]
        raise Undecided("it indexes beyond a list")
    plain_bounds = isinstance(index, slice) and all(
        bound is None or isinstance(bound, int) for bound in (index.start, index.stop)
    )
    if isinstance(index, slice) and plain_bounds and fixed(1 if index.step is None else index.step) == 1:
        return items[index.start : index.stop]
    raise Undecided("it indexes a list in an unknown way")


def _open_part(items: Tuple[object, ...], tail: Tail, index: object) -> object:
    """An item, a tuple or an `OpenTuple`, of a list whose end is unknown."""
    if isinstance(index, int):
        return _item(items, tail, index)
    if not isinstance(index, slice) or fixed(1 if index.step is None else index.step) != 1:
        raise Undecided("it indexes a list in an unknown way")
    start = fixed(0 if index.start is None else index.start)
    stop = None if index.stop is None else fixed(index.stop)
    if start is None or start < 0 or (index.stop is not None and (stop is None or not 0 <= stop <= MAX_ITEMS)):
        raise Undecided("it counts the axes of a shape from the end")
    if stop is not None:
        return tuple([_item(items, tail, position) for position in range(start, stop)])
    over = max(0, start - len(items))
    return OpenTuple(items[start:], Tail(tail.source, tail.axis + over, tail.scale, tail.shift))


def _item(items: Tuple[object, ...], tail: Tail, index: int) -> object:
    if 0 <= index < len(items):
        return items[index]
    if index < 0:
        raise Undecided("it counts the axes of a shape from the end")
    return tail.item(index - len(items))
