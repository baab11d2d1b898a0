"""What a call may give, and what slice functions handle on the way."""

from dataclasses import dataclass
from typing import Any, Tuple

from ..model import TensorKey
from .interpreter import Items
from .sizes import (
    Size,
    Undecided,
    Vector,
    is_number,
)

MAX_ITEMS = 4096
MAX_PARTS = 128


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


TENSORS = (Tensor, Rows, Joined, Mean, Sum, Scalar)
# what others may be made of: results of results would grow without end
PLAIN = (Tensor, Rows, Scalar)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of some kind."""
    return isinstance(value, TENSORS)


def all_tensors(items: Items) -> bool:
    """Whether a list holds tensors and nothing else, one at least."""
    return items.tail is None and bool(items.values) and all(isinstance(value, PLAIN) for value in items.values)


def as_vector(value: Any) -> Vector:
    """A list of whole numbers as TensorFlow takes it."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, Items) and all(is_number(item) for item in value.values):
        return Vector(tuple(value.values), value.tail)
    raise Undecided("it uses a shape that is not known")


def is_vector(value: Any) -> bool:
    """Whether TensorFlow would take a value for a vector of whole numbers."""
    if isinstance(value, Items):
        return all(is_number(item) for item in value.values)
    return isinstance(value, Vector)
