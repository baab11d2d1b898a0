"""Lambda layers: the functions that a file holds, and what they give."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import BytecodeError
from ..model import Json
from .domain import Tensors
from .instructions import versions
from .interpreter import Cell, Function, Items, Machine
from .marshal import Code, read_text
from .opcodes import DIALECTS
from .sizes import Dim, Range, Rank, Ratio, Size, Undecided, Vector
from .values import MAX_ITEMS, Name, Stack, Unknown, is_tensor


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


MAX_NESTING = 32
# values that are not rows, but that rows are cut by
NUMBERS = (int, Size, Dim, Ratio, Rank, Vector, Range)


class Bound(Dict[str, Any]):
    """What the globals of a live function are bound to: `Name` for a module, a number, `Unknown`.

    No file can say this, so no JSON value is a `Bound`: it is the fourth item of a live function's field.
    """


class _Saved(NamedTuple):
    """A function as a layer's config holds it; of a live function `known` has the globals."""

    readings: Tuple[Code, ...]
    defaults: Tuple[Json, ...]
    closure: Tuple[Json, ...]
    known: Mapping[str, Any]


def saved_function(field: Json) -> Optional[_Saved]:
    """A dumped function; None where the field only names one.

    Raises
    ------
    BytecodeError
        If the field is neither.
    """
    if field is None or isinstance(field, str):
        return None
    if isinstance(field, dict):
        inner = field.get("config")
        if field.get("class_name") != "__lambda__" or not isinstance(inner, dict):
            return None
        parts = [inner.get("code"), inner.get("defaults"), inner.get("closure")]
    else:
        parts = list(field) if isinstance(field, list) else [None]
    text, defaults, closure, known = (parts + [None] * 4)[:4]
    for part in (defaults, closure):
        if not (part is None or isinstance(part, list)):
            raise BytecodeError("a function's defaults or closure are no list")
    known = known if isinstance(known, Bound) else {}
    return _Saved(read_text(text if isinstance(text, str) else ""), tuple(defaults or ()), tuple(closure or ()), known)


def from_json(value: Json, depth: int = 0) -> Any:
    """An argument as the function would get it."""
    if isinstance(value, list) and depth < MAX_NESTING:
        return Items([from_json(item, depth + 1) for item in value], True)
    if value is None or isinstance(value, (bool, int, float, str, Name, Unknown)):
        return value  # the last two only in a live function's closure
    return Unknown("it is given a value of an unknown kind")


def used_names(code: Code) -> Tuple[str, ...]:
    """The globals and attributes that a code object uses, those of inner functions included."""
    found: Dict[str, None] = {}
    for inner in code.walk():
        found.update(dict.fromkeys(inner.names))
    return tuple(found)


def follow(saved: _Saved, args: Sequence[Any], kwargs: Dict[str, Json]) -> Any:
    """What a saved function gives: all readings and versions that are possible must agree."""
    results: List[Any] = []
    for code in saved.readings:
        for version in versions(code):
            try:
                results.append(_frozen(_walk(code, version, saved, args, kwargs)))
            except Undecided as error:
                results.append(Unknown(str(error)))
            except BytecodeError:
                continue
    return _agreed(results)


def _walk(code: Code, version: str, saved: _Saved, args: Sequence[Any], kwargs: Dict[str, Json]) -> Any:
    """What a function gives, read as one version's code; lists are made anew, since it may change them."""
    defaults = tuple([from_json(value) for value in saved.defaults])
    closure = tuple([Cell(from_json(value)) for value in saved.closure])
    given = {name: from_json(value) for name, value in kwargs.items()}
    for name in ("mask", "training"):
        # Keras itself gives these to a function that asks for them
        if name in code.parameters:
            given[name] = Unknown(f"it depends on its argument {name!r}")
    values = [Items(arg.values, arg.mutable) if isinstance(arg, Items) else arg for arg in args]
    return Machine(DIALECTS[version], Tensors(saved.known)).call(Function(code, defaults, closure), values, given)


def _agreed(results: List[Any]) -> Any:
    if not results:
        return Unknown("its code is not that of a known version of Python")
    for result in results:
        if isinstance(result, Unknown):
            return result
    if any(result != results[0] for result in results):
        return Unknown("its code means different things in different versions of Python")
    return results[0]


def _frozen(value: Any) -> Any:
    """A result that can be kept and compared: lists become tuples."""
    if isinstance(value, Items):
        if value.tail is not None or len(value.values) > MAX_ITEMS:
            raise Undecided("it returns a list of unknown length")
        return tuple([checked_result(item) for item in value.values])
    return checked_result(value)


def checked_result(value: Any) -> Any:
    """A result, where it is of a kind that another layer can be given."""
    if is_tensor(value) or isinstance(value, (Unknown, Stack) + NUMBERS):
        return value
    raise Undecided("it returns something that is not a part of the batch")


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
        saved = saved_function(field)
    except BytecodeError:
        return CodeInfo("unknown", "", ())
    if saved is None:
        return None
    known = list(DIALECTS)
    found = sorted({version for code in saved.readings for version in versions(code)}, key=known.index)
    text = "unknown" if not found else found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
    return CodeInfo(text, saved.readings[0].name, used_names(saved.readings[0]))


def whole_numbers(values: Sequence[Json]) -> List[int]:
    """Those of the values that are whole numbers."""
    return [value for value in values if isinstance(value, int) and not isinstance(value, bool)]


def lambda_numbers(config: Dict[str, Json]) -> List[int]:
    """The numbers among the arguments; with fewer than two there, those of the defaults and the closure too."""
    arguments = config.get("arguments")
    numbers = whole_numbers(list(arguments.values())) if isinstance(arguments, dict) else []
    try:
        saved = saved_function(config.get("function"))
    except BytecodeError:
        saved = None
    if len(numbers) < 2 and saved is not None:
        numbers += whole_numbers(saved.defaults) + whole_numbers(saved.closure)
    return numbers
