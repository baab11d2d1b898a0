"""Whole numbers and shapes that depend on the size of a batch, exactly.

Every number that a slice function can make of the batch size n by adding, multiplying by constants and
dividing down is a line with a repeating pattern: f(n + period) = f(n) + rise for all n.  `Size` holds the
period's values and the rise, in lowest terms.  So two sizes are equal for all n exactly when they are
equal as values, and "never above" is decided as well.  Nothing here knows code or layers.
"""

import operator
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ..model import TensorKey

MAX_PERIOD = 512
MAX_VALUE = 1 << 62


class Undecided(Exception):
    """What a value is cannot be told; the message says what stood in the way."""


class Comparable:
    """What a frozen dataclass can do, once for all values: to generate it for each takes a tenth of a start."""

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        return hash((self.__class__, *self.__dict__.values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({values})"


@dataclass(frozen=True, eq=False, repr=False)
class Size(Comparable):
    """A whole number for each number of rows, n = 0, 1, 2, ...

    Use `constant`, `batch` and arithmetic; the fields are kept in lowest terms.

    Attributes
    ----------
    source : TensorKey or None
        The tensor whose number of rows is n; None for a constant.
    rise : int
        By how much the number grows from n to n + len(values).
    values : tuple of int
        The numbers for n = 0 .. period - 1.

    Examples
    --------
    >>> half = Size.batch(TensorKey("x", 0, 0)) // 2
    >>> [half.at(n) for n in range(6)], str(half)
    ([0, 0, 1, 1, 2, 2], 'n//2')
    """

    source: Optional[TensorKey]
    rise: int
    values: Tuple[int, ...]

    @classmethod
    def constant(cls, value: int) -> "Size":
        """The same number for every batch."""
        return _lowest(None, 0, (value,))

    @classmethod
    def batch(cls, source: TensorKey) -> "Size":
        """The number of rows of a tensor."""
        return cls(source, 1, (0,))

    @property
    def fixed(self) -> Optional[int]:
        """The number, where it is the same for every batch."""
        return self.values[0] if self.source is None else None

    def at(self, rows: int) -> int:
        """The number for a batch of so many rows."""
        times, rest = divmod(rows, len(self.values))
        return self.values[rest] + times * self.rise

    def never_above(self, other: "Size") -> bool:
        """Whether this is at most the other for every batch (False also where that is unknown)."""
        if self.source is not None and other.source is not None and self.source != other.source:
            return False
        period, mine, others = _aligned(self, other)
        return self.rise * (period // len(self.values)) <= other.rise * (period // len(other.values)) and all(
            map(operator.le, mine, others)
        )

    @property
    def never_negative(self) -> bool:
        """Whether this is at least 0 for every batch."""
        return self.rise >= 0 and min(self.values) >= 0

    def __add__(self, other: "Size") -> "Size":
        return _join(self, other, operator.add)

    def __sub__(self, other: "Size") -> "Size":
        return _join(self, other, operator.sub)

    def times(self, factor: int) -> "Size":
        """This number, so many times."""
        if not factor:
            return Size.constant(0)
        return _in_bounds(Size(self.source, self.rise * factor, tuple([value * factor for value in self.values])))

    def __floordiv__(self, divisor: int) -> "Size":
        return self._divided(divisor, self.rise, lambda value: value // divisor)

    def __mod__(self, divisor: int) -> "Size":
        return self._divided(divisor, 0, lambda value: value % divisor)

    def _divided(self, divisor: int, rise: int, part: Callable[[int], int]) -> "Size":
        # divisor * period rows further, the number has grown by divisor * rise: a whole multiple
        period = len(self.values) * divisor
        if divisor <= 0 or period > 4 * MAX_PERIOD:
            raise Undecided(f"it divides by {divisor}")
        return _lowest(self.source, rise, tuple([part(value) for value in _stretched(self, period)]))

    def __str__(self) -> str:
        return _text(self)


def _join(left: Size, right: Size, combine: Callable[[int, int], int]) -> Size:
    if left.source is not None and right.source is not None and left.source != right.source:
        raise Undecided("it mixes the sizes of two tensors")
    if right.source is None:
        # a constant moves the numbers and leaves the pattern in lowest terms
        shift = right.values[0]
        return _in_bounds(Size(left.source, left.rise, tuple([combine(value, shift) for value in left.values])))
    period, lefts, rights = _aligned(left, right)
    rise = combine(left.rise * (period // len(left.values)), right.rise * (period // len(right.values)))
    return _lowest(left.source or right.source, rise, tuple(map(combine, lefts, rights)))


def _aligned(left: Size, right: Size) -> Tuple[int, Sequence[int], Sequence[int]]:
    """A period of both, and the numbers of each for it."""
    period = _common(len(left.values), len(right.values))
    return period, _stretched(left, period), _stretched(right, period)


def _common(left: int, right: int) -> int:
    a, b = left, right
    while b:
        a, b = b, a % b
    period = left // a * right
    if period > 4 * MAX_PERIOD:
        raise Undecided("its sizes follow too long a pattern")
    return period


def _stretched(size: Size, period: int) -> Sequence[int]:
    if period == len(size.values):
        return size.values
    if not size.rise:
        return size.values * (period // len(size.values))
    if len(size.values) == 1:
        return range(size.values[0], size.values[0] + size.rise * period, size.rise)
    found: List[int] = []
    for times in range(period // len(size.values)):
        shift = times * size.rise
        found += [value + shift for value in size.values]
    return found


def _lowest(source: Optional[TensorKey], rise: int, values: Tuple[int, ...]) -> Size:
    """The one `Size` for these numbers: the shortest period that says the same."""
    length = len(values)
    for period in range(1, length // 2 + 1):
        if length % period or rise * period % length:
            continue
        step = rise * period // length
        # a number that breaks the pattern comes early, so nearly all periods cost next to nothing
        if values[period] != values[0] + step:
            continue
        if all(later == value + step for value, later in zip(values, values[period:])):
            rise, values = step, values[:period]
            break
    if len(values) > MAX_PERIOD:
        raise Undecided("its sizes follow too long a pattern")
    return _in_bounds(Size(source if rise or len(values) > 1 else None, rise, values))


def _in_bounds(size: Size) -> Size:
    if max(abs(size.rise), max(size.values), -min(size.values)) >= MAX_VALUE:
        raise Undecided("its numbers are too large")
    return size


def _text(size: Size) -> str:
    """The number as a formula in n, as a person would write it."""
    period, first = len(size.values), size.values[0]
    if size.source is None:
        return str(first)
    if period == 1:
        return _sum([(size.rise, "n"), (first, "")])
    slope = size.values[1] - first if period > 1 else 0
    if size.values == tuple([first + slope * i for i in range(period)]):
        return _sum([(slope, "n"), (size.rise - slope * period, f"n//{period}"), (first, "")])
    if size.values == tuple([size.rise * i // period for i in range(period)]):
        return "{}//{}".format("n" if size.rise == 1 else f"{size.rise}*n", period)
    shown = ", ".join(str(size.at(rows)) for rows in range(5))
    return f"f(n) with f(0), f(1), ... = {shown}, ..."


def _sum(terms: List[Tuple[int, str]]) -> str:
    text = ""
    for factor, name in terms:
        if factor:
            if abs(factor) != 1 and "/" in name:
                name = f"({name})"
            number = "" if abs(factor) == 1 and name else str(abs(factor)) + ("*" if name else "")
            sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
            text += sign + number + name
    return text or "0"


# --------------------------------------------------------------------------------------------------
# Shapes
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Ratio(Comparable):
    """A size divided by a whole number, before anything makes it whole again."""

    size: Size
    divisor: int


@dataclass(frozen=True, eq=False, repr=False)
class Dim(Comparable):
    """scale * (length of one axis of a tensor) + shift, the axis being other than the batch."""

    source: TensorKey
    axis: int
    scale: int = 1
    shift: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Tail(Comparable):
    """`Dim` for all of a tensor's axes from one on: the end of a vector of unknown length."""

    source: TensorKey
    axis: int
    scale: int = 1
    shift: int = 0

    def item(self, position: int) -> object:
        """The item so far behind the first."""
        return plain(Dim(self.source, self.axis + position, self.scale, self.shift))


@dataclass(frozen=True, eq=False, repr=False)
class Rank(Comparable):
    """A tensor's number of axes plus a whole number."""

    source: TensorKey
    shift: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Vector(Comparable):
    """A tensor of whole numbers with one axis: items, then perhaps a tail."""

    items: Tuple[object, ...]
    tail: Optional[Tail] = None


@dataclass(frozen=True, eq=False, repr=False)
class Range(Comparable):
    """The numbers from start up to, but without, stop."""

    start: Size
    stop: Size


def plain(value: object) -> object:
    """The value in its simplest form: a plain int where it is one."""
    if isinstance(value, Size) and value.source is None:
        return value.values[0]
    if isinstance(value, Dim) and not value.scale:
        return value.shift
    return value


def as_size(value: object) -> Size:
    """A whole number as a `Size`; Undecided where it is none."""
    if isinstance(value, Size):
        return value
    if isinstance(value, int):
        return Size.constant(int(value))
    raise Undecided("it uses a number that is not known")


def is_number(value: object) -> bool:
    """Whether the value is a whole number of a known kind (a bool counts, as in Python)."""
    return isinstance(value, (int, Size, Dim))


def compute(symbol: str, left: object, right: object) -> object:
    """`left symbol right` for two whole numbers, `Ratio` where the result need not be whole.

    Raises
    ------
    Undecided
        If the result is none of the kinds here.
    """
    if isinstance(left, Dim):
        return plain(_compute_dim(symbol, left, right))
    if isinstance(right, Dim):
        return plain(_compute_dim_last(symbol, left, right))
    if symbol in ("+", "-"):
        a, b = as_size(left), as_size(right)
        return plain(a + b if symbol == "+" else a - b)
    if symbol == "*":
        if isinstance(left, Size):
            left, right = right, left
        if isinstance(left, int):
            return plain(as_size(right).times(left))
    if symbol in _DIVISIONS and isinstance(right, int) and right > 0:
        return plain(_DIVISIONS[symbol](as_size(left), int(right)))
    raise Undecided(f"it computes {symbol.split()[-1]!r} of sizes")


# "old /" of Python 2 rounds down for whole numbers, tensors included
_DIVISIONS: Dict[str, Callable[[Size, int], object]] = {
    "//": lambda size, divisor: size // divisor,
    "old /": lambda size, divisor: size // divisor,
    "%": lambda size, divisor: size % divisor,
    "/": Ratio,
}


_OF_AN_AXIS = "it computes with the length of an axis"


def _compute_dim(symbol: str, left: Dim, right: object) -> Dim:
    if not isinstance(right, int):
        raise Undecided(_OF_AN_AXIS)
    if symbol == "*":
        return Dim(left.source, left.axis, left.scale * right, left.shift * right)
    if symbol in ("+", "-"):
        return Dim(left.source, left.axis, left.scale, left.shift + (right if symbol == "+" else -right))
    if symbol in ("//", "old /") and right == 1:
        return left
    raise Undecided(_OF_AN_AXIS)


def _compute_dim_last(symbol: str, left: object, right: Dim) -> Dim:
    if symbol == "-":
        return _compute_dim("+", _compute_dim("*", right, -1), left)
    if symbol in ("+", "*"):
        return _compute_dim(symbol, right, left)
    raise Undecided(_OF_AN_AXIS)


def compute_vector(symbol: str, left: object, right: object) -> Vector:
    """`left symbol right` item by item, where one or both are vectors."""
    if isinstance(left, Vector) and isinstance(right, Vector):
        if left.tail is None and right.tail is None and len(left.items) == len(right.items):
            return Vector(tuple([_whole(compute(symbol, a, b)) for a, b in zip(left.items, right.items)]))
        # a vector of one item counts as a single number
        if right.tail is None and len(right.items) == 1:
            return compute_vector(symbol, left, right.items[0])
        if left.tail is None and len(left.items) == 1:
            return compute_vector(symbol, left.items[0], right)
    elif isinstance(left, Vector):
        return _each(left, lambda item: compute(symbol, item, right))
    elif isinstance(right, Vector):
        return _each(right, lambda item: compute(symbol, left, item))
    raise Undecided("it computes with shapes of different lengths")


def _each(vector: Vector, change: Callable[[object], object]) -> Vector:
    tail = vector.tail
    if tail is not None:
        # the same is done to every axis, so what becomes of one stands for all
        changed = change(Dim(tail.source, tail.axis, tail.scale, tail.shift))
        if isinstance(changed, Dim):
            tail = Tail(tail.source, tail.axis, changed.scale, changed.shift)
        elif isinstance(changed, int):
            tail = Tail(tail.source, tail.axis, 0, changed)
        else:
            raise Undecided(_OF_AN_AXIS)
    return Vector(tuple([_whole(change(item)) for item in vector.items]), tail)


def _whole(value: object) -> object:
    if not is_number(value):
        raise Undecided("it makes a shape of numbers that are not whole")
    return value


def fixed(value: object) -> Optional[int]:
    """The value as a plain int, or None where it depends on a batch or is no whole number."""
    value = plain(value)
    return int(value) if isinstance(value, int) else None
