"""What the recorder handles: tensors that are only described, what made them, and lengths that no file says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..slices.sizes import Undecided

if TYPE_CHECKING:
    from ..arrays import Numbers

#: Lengths of a tensor's axes, the batch first; None where the file does not say.
Shape = Tuple[Optional[int], ...]
FLOATS = frozenset(["float16", "bfloat16", "float32", "float64"])


@dataclass(frozen=True, eq=False)
class Entry:
    """One operation of Keras 3, or one layer among operations.

    Attributes
    ----------
    kind : str
        The last part of its module and its class: "numpy.Add", "nn.Softmax", "layers.Reshape".
    args : tuple
        What it is called on: `Tensor`, numbers, arrays, slices, None, `Ellipsis`, and lists of these.
    config : dict
        Arguments of its class.
    """

    kind: str
    args: tuple[object, ...]
    config: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor, by what made it.

    Attributes
    ----------
    shape : tuple of (int or None)
    dtype : str
    entry : Entry or None
        None for an input.
    port : int
        Which of the entry's outputs, or which input.
    rows : object
        Stands for its number of rows: tensors with one of these have as many.
    """

    shape: Shape
    dtype: str
    entry: Entry | None = None
    port: int = 0
    rows: object = field(default_factory=object, repr=False)

    @property
    def rank(self) -> int:
        """How many axes it has, the batch included."""
        return len(self.shape)

    @property
    def floating(self) -> bool:
        """Whether it holds fractions."""
        return self.dtype in FLOATS

    def axis(self, axis: int) -> int:
        """An axis counted from the front.

        Raises
        ------
        Undecided
            If there is no such axis.
        """
        if not -self.rank <= axis < self.rank:
            raise Undecided(f"it names axis {axis} of a tensor that has {self.rank}")
        return axis % self.rank

    def is_length(self, value: object, axis: int) -> bool:
        """Whether a value is the length of one of its axes that is not known."""
        if not isinstance(value, Length) or value.axis != axis:
            return False
        return value.source is self or (axis == 0 and value.source.rows is self.rows)

    def length(self, axis: int) -> object:
        """A number, or the `Length` that stands for it."""
        known = self.shape[self.axis(axis)]
        return Length(self, self.axis(axis)) if known is None else known


@dataclass(frozen=True, eq=False)
class Array:
    """Numbers that are known, with axes; an array itself would compare number by number."""

    numbers: Numbers


@dataclass(frozen=True, eq=False)
class Length:
    """The length of an axis of which the file says nothing, such as the batch."""

    source: Tensor
    axis: int


UNKNOWN_LENGTH = "it computes with the length of an axis that is not in the file"


class StaticShape(Tuple[object, ...]):
    """`x.shape` or `K.int_shape(x)`: a tuple of numbers and of `Length`."""


class Lengths(Tuple[object, ...]):
    """`tf.shape(x)`: a vector of which some numbers may be `Length`."""


class TopK(NamedTuple):
    """What `tf.nn.top_k` gives."""

    values: object
    indices: object


class Moments(NamedTuple):
    """What `tf.nn.moments` gives."""

    mean: object
    variance: object


@dataclass(frozen=True)
class Environment:
    """What a function's meaning depends on beside its code.

    Attributes
    ----------
    tensorflow : int or None
        Major version; None where the file fits both.
    tf_keras : bool
        Whether `K` is the backend of tf.keras rather than that of standalone Keras.
    float_type : str
        What `K.floatx()` gives.
    channels_first : bool
        Whether some layer of the file says so, so that `K.image_data_format()` cannot be taken for granted.
    known : dict
        Globals and their attributes that the user gave, by dotted name.
    """

    tensorflow: int | None = 1
    tf_keras: bool = False
    float_type: str = "float32"
    channels_first: bool = False
    known: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recorded:
    """A function as operations.

    Attributes
    ----------
    inputs : tuple of Tensor
    entries : tuple of Entry
        What the outputs need, each after what it reads.
    outputs : tuple of Tensor
    as_list : bool
        Whether the function returned a list, be it of one.
    notes : tuple of str
        What differs, and where it matters.
    defined : tuple of str
        Of the globals that the user gave, those that the code uses.
    """

    inputs: tuple[Tensor, ...]
    entries: tuple[Entry, ...]
    outputs: tuple[Tensor, ...]
    as_list: bool
    notes: tuple[str, ...] = ()
    defined: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Each operation in readable form, then what comes out.

        `["%0 = numpy.Multiply(x0, 2.0)", "return %0"]`
        """
        names: dict[int, str] = {id(entry): f"%{i}" for i, entry in enumerate(self.entries)}
        lines = [f"{names[id(entry)]} = {_said(entry, names)}" for entry in self.entries]
        ends = ", ".join(text(output, names) for output in self.outputs)
        return lines + [f"return [{ends}]" if self.as_list else f"return {ends}"]


def _said(entry: Entry, names: Mapping[int, str]) -> str:
    args = [text(arg, names) for arg in entry.args]
    args += [f"{key}={text(value, names)}" for key, value in entry.config.items()]
    return f"{entry.kind}({', '.join(args)})"


def text(value: object, names: Mapping[int, str]) -> str:
    """An argument in readable form."""
    if isinstance(value, Tensor):
        if value.entry is None:
            return f"x{value.port}"
        return names[id(value.entry)] + (f".{value.port}" if value.port else "")
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.tolist()}"
    if isinstance(value, slice):
        parts = [value.start, value.stop] + ([value.step] if value.step is not None else [])
        return ":".join("" if part is None else str(part) for part in parts)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(item, names) for item in value) + "]"
    return "..." if value is Ellipsis else repr(value)


def tensors_of(value: object) -> Iterable[Tensor]:
    """The tensors among arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)


def needed(outputs: Sequence[Tensor]) -> tuple[Entry, ...]:
    """The entries that outputs need, each after those that it reads."""
    done: dict[int, Entry] = {}
    stack: list[tuple[Entry, bool]] = [(key.entry, False) for key in reversed(outputs) if key.entry is not None]
    while stack:
        entry, leaving = stack.pop()
        if id(entry) in done:
            continue
        if leaving:
            done[id(entry)] = entry
            continue
        stack.append((entry, True))
        read = [tensor.entry for tensor in tensors_of(entry.args) if tensor.entry is not None]
        stack.extend((before, False) for before in reversed(read))
    return tuple(done.values())


def plain(value: Any) -> object:
    """A number of numpy's as Python's own, an array without axes too; any other array as an `Array`."""
    if isinstance(value, Array):
        value = value.numbers
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return Array(value) if isinstance(value, np.ndarray) else value


def is_number(value: object) -> bool:
    """Whether it is a number, and not a truth."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
