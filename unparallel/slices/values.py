"""What a call may give, and what slice functions handle on the way.

Numbers that do not depend on the batch, lists, tuples and slices are Python's own; what depends on it is in `sizes`.
"""

from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Tuple, Union

from ..model import TensorKey
from .sizes import Comparable, Dim, Range, Rank, Ratio, Size, Tail, Undecided, Vector, is_number

MAX_ITEMS = 4096
MAX_PARTS = 128

# Lengths of a tensor's axes, the batch first, as the file has them; None where it does not say.
Shape = Tuple[Optional[int], ...]

# --------------------------------------------------------------------------------------------------
# Tensors
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """A tensor of which only the name is known, and perhaps the shape."""

    key: TensorKey
    shape: Optional[Shape] = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Rows:
    """Provably rows start .. stop - 1 of a tensor's first axis, and everything of the other axes.

    A stop beyond the end of the batch means its end, as in Python.
    """

    source: TensorKey
    start: Size
    stop: Size
    shape: Optional[Shape] = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Comparable):
    """The parts one after the other along the first axis."""

    parts: Tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Comparable):
    """The mean of the parts, item by item.

    Attributes
    ----------
    parts : tuple
    layer : str
        Class of the layer where a layer does it; "" where a function does.
    reduces : bool
        True where the tensors' own axes are averaged over too, so that the result is one number.
    """

    parts: Tuple[object, ...]
    layer: str = ""
    reduces: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Comparable):
    """The sum of tensors, item by item."""

    parts: Tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Comparable):
    """Tensors stacked along a new first axis."""

    parts: Tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Scalar(Comparable):
    """A tensor without axes, its value unknown."""


@dataclass(frozen=True, eq=False, repr=False)
class Unknown(Comparable):
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


# What `evaluate` gives for an output of a layer's call; a number, a shape or a sum only other calls read.
Output = Union[Tensor, Rows, Joined, Mean, Sum, Stack, Scalar, Unknown, int, Size, Dim, Ratio, Rank, Vector, Range]

TENSORS = (Tensor, Rows, Joined, Mean, Sum, Scalar)
# what others may be made of: results of results would grow without end
PLAIN = (Tensor, Rows, Scalar)

# --------------------------------------------------------------------------------------------------
# On the way
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Name(Comparable):
    """A module or what it holds, by its dotted path."""

    path: Tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Method(Comparable):
    """A method of a value."""

    owner: object
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Scope(Comparable):
    """A context manager that changes nothing but the names or places of operations."""


@dataclass(frozen=True, eq=False, repr=False)
class OpenTuple(Comparable):
    """A tuple or list whose end is the lengths of a tensor's axes, their number being unknown."""

    items: Tuple[object, ...]
    tail: Tail


def not_in_file(name: Name) -> Unknown:
    """A value that only the Python that saved the file had."""
    what = "a global that" if len(name.path) == 1 else "which"
    return Unknown(f"it uses {'.'.join(name.path)!r}, {what} is not in the file")


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of some kind."""
    return isinstance(value, TENSORS)


def all_tensors(items: Sequence[object]) -> bool:
    """Whether a list holds tensors and nothing else, one at least."""
    return bool(items) and all(isinstance(value, PLAIN) for value in items)


def as_vector(value: object) -> Vector:
    """A list of whole numbers as TensorFlow takes it."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, (list, tuple)) and all(is_number(item) for item in value):
        return Vector(tuple(value))
    if isinstance(value, OpenTuple) and all(is_number(item) for item in value.items):
        return Vector(value.items, value.tail)
    raise Undecided("it uses a shape that is not known")


def is_vector(value: object) -> bool:
    """Whether TensorFlow would take a value for a vector of whole numbers."""
    if isinstance(value, (list, tuple, OpenTuple)):
        items = value.items if isinstance(value, OpenTuple) else value
        return all(is_number(item) for item in items)
    return isinstance(value, Vector)


def as_list(value: object, otherwise: str) -> List[object]:
    """The items of a list or tuple; Undecided, with the reason, where the value is neither."""
    if isinstance(value, (list, tuple)):
        return list(value)
    raise Undecided(otherwise)
