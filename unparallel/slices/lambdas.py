"""Lambda layers: the functions that a file holds, and what they give."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..errors import BytecodeError
from ..model import Json
from .containers import Given, GivenDict
from .domain import RowDomain
from .instructions import Routine, readings
from .interpreter import Budget, Cell, Function, Machine
from .marshal import Code, read_text
from .opcodes import VERSIONS
from .sizes import Dim, Range, Rank, Ratio, Size, Undecided, Vector
from .values import MAX_ITEMS, Joined, Mean, Name, Output, Rows, Scalar, Stack, Sum, Tensor, Unknown

MAX_NESTING = 32
# Honest functions take less than 2 KiB; longer ones are read each time, since their instructions fill memory.
MAX_KEPT_TEXT = 1 << 13

# values that are not rows, but that rows are cut by
NUMBERS = (int, Size, Dim, Ratio, Rank, Vector, Range)


@dataclass(frozen=True)
class SavedFunction:
    """A Python function as a layer holds it, in a file or in memory.

    Attributes
    ----------
    text : str
        The marshalled code as Keras writes it into JSON.
    defaults, closure : tuple of JSON values
        Of a live function also `Name` for a module and `Unknown`.
    globals : dict or None
        What globals are bound to, the same kinds of values; None where nobody says, as in a file.
    """

    text: str
    defaults: Tuple[Json, ...] = ()
    closure: Tuple[Json, ...] = ()
    globals: Optional[Mapping[str, object]] = None

    @classmethod
    def from_config(cls, field: Json) -> "Optional[SavedFunction]":
        """The function in a layer's config; None where the field only names one.

        Raises
        ------
        BytecodeError
            If the field is neither.
        """
        if field is None or isinstance(field, (str, cls)):
            return field if isinstance(field, cls) else None
        if isinstance(field, dict):
            inner = field.get("config") if field.get("class_name") == "__lambda__" else field
            if not isinstance(inner, dict):
                return None
            # Keras 2.12 and later write the list of old as an object's value
            value = inner.get("value")
            if inner is field and not isinstance(value, list):
                return None
            parts = (
                value if isinstance(value, list) else [inner.get("code"), inner.get("defaults"), inner.get("closure")]
            )
        else:
            parts = list(field) if isinstance(field, list) else [None]
        text, defaults, closure = (parts + [None] * 3)[:3]
        if not all(part is None or isinstance(part, list) for part in (defaults, closure)):
            raise BytecodeError("a function's defaults or closure are no list")
        return cls(text if isinstance(text, str) else "", tuple(defaults or ()), tuple(closure or ()))


class Program(NamedTuple):
    """What the text of a function says.

    Attributes
    ----------
    code : Code
        The code object, by the first reading.
    routines : tuple of Routine
        All that it can mean: nearly always one, for all the versions that can have written it.
    versions : tuple of str
        These versions, oldest first.
    """

    code: Code
    routines: Tuple[Routine, ...]
    versions: Tuple[str, ...]

    @property
    def names(self) -> Tuple[str, ...]:
        """The globals and attributes that the code uses, those of inner functions included."""
        return tuple(dict.fromkeys(name for inner in self.code.walk() for name in inner.names))


def read_program(text: str) -> Program:
    """Read the text of a function; the replicas of a model hold the same text many times.

    Raises
    ------
    BytecodeError
        If it is no code object.
    """
    return _kept_program(text) if len(text) <= MAX_KEPT_TEXT else _program(text)


def _program(text: str) -> Program:
    codes = read_text(text)
    found = [readings(code) for code in codes]
    versions = {version for reading in found for version in reading}
    routines = [routine for reading in found for routine in dict.fromkeys(reading.values())]
    return Program(codes[0], tuple(routines), tuple([version for version in VERSIONS if version in versions]))


_kept_program = lru_cache(maxsize=64)(_program)


class Context:
    """What all proofs for one file share: a budget of steps.

    Parameters
    ----------
    budget : Budget, optional
    """

    def __init__(self, budget: Optional[Budget] = None) -> None:
        self.budget = budget or Budget()
        self._read: Set[str] = set()

    def program(self, function: SavedFunction) -> Program:
        """What a function's text says; a byte that was not read before counts for a step.

        Raises
        ------
        BytecodeError
            If it is no code object.
        Undecided
            If there was too much to read.
        """
        if function.text not in self._read:
            self._read.add(function.text)
            self.budget.spend(len(function.text))
        return read_program(function.text)

    def follow(self, function: SavedFunction, args: Sequence[object], kwargs: Mapping[str, Json]) -> object:
        """What a function gives: all that its code can mean must agree."""
        results: List[object] = []
        for routine in self.program(function).routines:
            try:
                results.append(_frozen(_walk(routine, function, args, kwargs, self.budget)))
            except Undecided as error:
                results.append(Unknown(str(error)))
            except BytecodeError:
                continue
        return _agreed(results)


def _walk(
    routine: Routine, saved: SavedFunction, args: Sequence[object], kwargs: Mapping[str, Json], budget: Budget
) -> object:
    """What a function gives by one reading; lists are made anew, since it may change them."""
    defaults = tuple([from_json(value) for value in saved.defaults])
    closure = tuple([Cell(from_json(value), given=True) for value in saved.closure])
    given = {name: from_json(value) for name, value in kwargs.items()}
    for name in ("mask", "training"):
        # Keras itself gives these to a function that asks for them
        if name in routine.code.parameters:
            given[name] = Unknown(f"it depends on its argument {name!r}")
    values = [list(arg) if isinstance(arg, list) else arg for arg in args]
    return Machine(RowDomain(saved.globals), budget).call(Function(routine, defaults, closure), values, given)


def from_json(value: Json, depth: int = 0) -> object:
    """An argument as the function would get it."""
    if isinstance(value, list) and depth < MAX_NESTING:
        return Given([from_json(item, depth + 1) for item in value])
    if isinstance(value, dict) and depth < MAX_NESTING:
        if value.get("type") == "ndarray":
            return _array(value.get("value"))
        return GivenDict({key: from_json(item, depth + 1) for key, item in value.items()})
    if value is None or isinstance(value, (bool, int, float, str, Name, Unknown)):
        return value  # the last two only in a live function's closure
    return Unknown("it is given a value of an unknown kind")


def _array(items: Json) -> object:
    """A numpy array, which Keras before 2.2.4 wrote as `{"type": "ndarray", "value": [...]}`."""
    numbers = whole_numbers(items) if isinstance(items, list) else []
    if 0 < len(numbers) <= MAX_ITEMS and numbers == items:
        return Vector(tuple(numbers))
    return Unknown("it is given an array")


def _agreed(results: Sequence[object]) -> object:
    if not results:
        return Unknown("its code is not that of a known version of Python")
    for result in results:
        if isinstance(result, Unknown):
            return result
    if any(result != results[0] for result in results):
        return Unknown("its code means different things in different versions of Python")
    return results[0]


def _frozen(value: object) -> object:
    """A result that can be kept and compared: lists become tuples."""
    if isinstance(value, (list, tuple)) and len(value) <= MAX_ITEMS:
        return tuple([checked_result(item) for item in value])
    return checked_result(value)


def checked_result(value: object) -> Output:
    """A result, where it is of a kind that another layer can be given."""
    if isinstance(value, (Tensor, Rows, Joined, Mean, Sum, Scalar, Unknown, Stack, int, Size, Dim, Ratio, Rank)):
        return value
    if isinstance(value, (Vector, Range)):
        return value
    raise Undecided("it returns something that is not a part of the batch")


class CodeInfo(NamedTuple):
    """What can be said of a layer's Python code without running it.

    Attributes
    ----------
    version : str
        Such as "2.7", "3.6 to 3.7" or "unknown".
    function : str
        The code's own name.
    names : tuple of str
        The globals and attributes that it uses.
    """

    version: str
    function: str
    names: Tuple[str, ...]


def code_of(config: Json) -> Optional[CodeInfo]:
    """What can be said of the Python code in a Lambda layer's config.

    Parameters
    ----------
    config : JSON value
        The layer's config.

    Returns
    -------
    CodeInfo or None
        None where there is no code.  Damaged code has the version "unknown"; nothing is raised.
    """
    field = config.get("function") if isinstance(config, dict) else None
    try:
        saved = SavedFunction.from_config(field)
        program = read_program(saved.text) if saved is not None else None
    except BytecodeError:
        return CodeInfo("unknown", "", ())
    if program is None:
        return None
    found = program.versions
    text = "unknown" if not found else found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
    return CodeInfo(text, program.code.name, program.names)


def whole_numbers(values: Sequence[Json]) -> List[int]:
    """Those of the values that are whole numbers."""
    return [value for value in values if isinstance(value, int) and not isinstance(value, bool)]


def lambda_numbers(config: Dict[str, Json]) -> List[int]:
    """The numbers among the arguments; with fewer than two there, those of the defaults and the closure too."""
    arguments = config.get("arguments")
    numbers = whole_numbers(list(arguments.values())) if isinstance(arguments, dict) else []
    if len(numbers) < 2:
        try:
            saved = SavedFunction.from_config(config.get("function"))
        except BytecodeError:
            saved = None
        numbers += whole_numbers(saved.defaults + saved.closure) if saved is not None else []
    return numbers
