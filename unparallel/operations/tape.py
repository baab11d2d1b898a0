"""Where operations are recorded: what they are, how large it may all get, and what has to be said."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Sequence

import numpy as np

from ..slices.lambdas import from_json
from ..slices.sizes import Undecided
from ..slices.values import Name, not_in_file
from .names import UNSET
from .values import UNKNOWN_LENGTH, Array, Entry, Environment, Length, Shape, Tensor, plain, tensors_of

if TYPE_CHECKING:
    from ..arrays import Numbers

#: Honest functions record a few, and a normalization over a few hundred channels not more than these.
MAX_ENTRIES = 400
#: Numbers in all constants of a function: a matrix that resizes an image is written down as text.
MAX_CONSTANTS = 262_144
MAX_RANK = 16

MIXES = "it mixes the rows of a batch: what it gives depends on how many there are"


class Tape:
    """What one function records.

    Attributes
    ----------
    environment : Environment
    python2 : bool
        Whether `/` of whole numbers is that of Python 2.
    invoke : function
        Calls a function that the recorded one was made of, or was given.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.notes: dict[str, None] = {}
        self.defined: dict[str, None] = {}
        self.entries = 0
        self._mixed = False
        self.numbers = 0
        self.invoke: Callable[[object, Sequence[object]], object] = _nobody

    def note(self, text: str) -> None:
        """Says something once."""
        self.notes[text] = None

    def mixes(self) -> None:
        """Says of the operation that comes next that its rows are not those of what it reads."""
        self._mixed = True
        self.note(MIXES)

    def definition(self, name: str) -> object:
        """What the user says that a name means; `UNSET` where nothing."""
        if name not in self.environment.known:
            return UNSET
        self.defined[name] = None
        return from_json(self.environment.known[name])

    def op(self, kind: str, args: Sequence[object], shape: Shape, gives: str, **config: object) -> Tensor:
        """Records an operation with one output, of the type that it gives."""
        return self.several(kind, args, [shape], gives, **config)[0]

    def several(
        self, kind: str, args: Sequence[object], shapes: Sequence[Shape], gives: str, **config: object
    ) -> list[Tensor]:
        """Records an operation with an output for each shape."""
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            raise Undecided(f"it takes more than {MAX_ENTRIES} operations")
        if any(len(shape) > MAX_RANK for shape in shapes):
            raise Undecided(f"it makes a tensor of more than {MAX_RANK} axes")
        if not _is_json(list(config.values())):
            raise Undecided("it gives a function a list, or what is not known, where that takes a number")
        entry = Entry(kind, tuple(args), config)
        rows = object() if self._mixed else _rows(entry)
        self._mixed = False
        return [Tensor(shape, gives, entry, port, rows) for port, shape in enumerate(shapes)]

    def spend(self, numbers: int) -> None:
        """Counts numbers in constants before they are made.

        Raises
        ------
        Undecided
            If there are too many.
        """
        self.numbers += numbers
        if self.numbers > MAX_CONSTANTS:
            raise Undecided(f"its constants hold more than {MAX_CONSTANTS} numbers")

    def operand(self, value: object, like: Tensor) -> object:
        """What an operation with another tensor takes: a tensor, a number, or an array of that tensor's type."""
        if isinstance(value, Tensor):
            return value
        value = constant(value)
        if isinstance(value, np.ndarray):
            self.spend(value.size)
            checked(value)
            with np.errstate(all="ignore"):  # what becomes infinite is refused
                return checked(value.astype(dtype_of_numpy(like.dtype)))
        return checked(value)


def _rows(entry: Entry) -> object:
    """As many rows as the first tensor that has all axes, and not one row for all."""
    read = list(tensors_of(entry.args))
    most = max([tensor.rank for tensor in read], default=0)
    found = [tensor.rows for tensor in read if tensor.rank == most and tensor.shape[:1] != (1,)]
    return found[0] if found else object()


def _is_json(value: object) -> bool:
    """Whether a config can hold it: plain numbers, text, and lists of these."""
    if isinstance(value, (list, tuple)):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _nobody(function: object, args: Sequence[object]) -> object:
    raise Undecided("it calls something that is not known")


def dtype_of_numpy(name: str) -> str:
    """numpy has no bfloat16."""
    return "float32" if name == "bfloat16" else name


def constant(value: object) -> object:
    """A number, or an array; lists of numbers become arrays.

    Raises
    ------
    Undecided
        If it is neither.
    """
    value = plain(value)
    if isinstance(value, Array):
        return value.numbers
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Length):
        raise Undecided(UNKNOWN_LENGTH)
    if isinstance(value, (list, tuple)):
        return array_of(value)
    raise Undecided(what_is(value))


def what_is(value: object) -> str:
    """Why a value is of no use in arithmetic; names the global that is not there."""
    if isinstance(value, Name):
        return not_in_file(value).reason
    if isinstance(value, Length):
        return UNKNOWN_LENGTH
    reason = getattr(value, "reason", "")
    return str(reason) if reason else "it computes with something that is no tensor and no number"


def array_of(value: Sequence[object]) -> Numbers:
    """Numbers in lists as an array."""
    try:
        made = np.array(_items(value, [0], 0))
    except (ValueError, OverflowError) as error:
        raise Undecided("it makes an array of lists of different lengths") from error
    if made.dtype.kind not in "biuf":
        raise Undecided("it makes an array of something other than numbers")
    return made


def _items(value: Sequence[object], seen: list[int], depth: int) -> list[object]:
    """The numbers in lists; lists that hold one list many times are small, and their numbers are many."""
    seen[0] += len(value)
    if seen[0] > MAX_CONSTANTS or depth > MAX_RANK:
        raise Undecided(f"its constants hold more than {MAX_CONSTANTS} numbers")
    return [_number(item, seen, depth) for item in value]


def _number(item: object, seen: list[int], depth: int) -> object:
    item = plain(item)
    if isinstance(item, (list, tuple)):
        return _items(item, seen, depth + 1)
    if isinstance(item, Array):
        seen[0] += item.numbers.size
        return item.numbers
    if isinstance(item, (bool, int, float)):
        return item
    raise Undecided(what_is(item))


def checked(value: object) -> object:
    """A constant that JSON can hold.

    Raises
    ------
    Undecided
        If it is not finite.
    """
    finite = np.isfinite(value).all() if isinstance(value, np.ndarray) else math.isfinite(value)  # type: ignore[arg-type]
    if not finite:
        raise Undecided("it uses a number that is not finite, which a config cannot hold")
    return value


def broadcast(*shapes: Shape) -> Shape:
    """The shape of what is computed element by element."""
    rank = max(len(shape) for shape in shapes)
    full = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(_together(lengths) for lengths in zip(*full))


def _together(lengths: Sequence[int | None]) -> int | None:
    wide = {length for length in lengths if length != 1}
    if wide - {None} and len(wide - {None}) > 1:
        raise Undecided("it joins tensors whose shapes do not fit")
    known = [length for length in wide if length is not None]
    return known[0] if known else None if wide else 1
