"""Python's own functions, numpy's and math's on constants, and what the backend says of itself."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.interpreter import TEXT
from ..slices.sizes import Undecided
from ..slices.values import MAX_ITEMS, Name
from . import constants
from . import elementwise as each
from .arguments import image_data_format, whole_number
from .elementwise import apply, binary
from .names import dtype as type_of
from .reductions import _fold
from .tape import Tape, constant, what_is
from .values import Array, Length, Tensor, is_number, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


# text that means a number in every Python
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_FRACTION = re.compile(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(e[+-]?[0-9]{1,2})?", re.IGNORECASE)


def iterate(tape: Tape, value: object) -> Sequence[object]:
    """What a loop over a value sees."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, Array):
        tape.spend(value.numbers.size)
        return [plain(item) for item in value.numbers]
    if isinstance(value, Tensor):
        raise Undecided("it loops over a tensor")
    raise Undecided(what_is(value))


def length(tape: Tape, value: object) -> object:
    """`len`."""
    if isinstance(value, (str, dict)):
        return len(value)
    return len(iterate(tape, value))


def to_int(tape: Tape, value: object) -> object:
    """`int`."""
    value = plain(value)
    if isinstance(value, Length):
        return value
    if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    raise Undecided("it makes a whole number of something")


def to_float(tape: Tape, value: object) -> object:
    """`float`."""
    value = plain(value)
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError as error:
            raise Undecided("it makes a number that is too large") from error
    if isinstance(value, str) and value.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if value.startswith("-") else math.inf
    if isinstance(value, str) and _FRACTION.fullmatch(value.strip()):
        return float(value)
    raise Undecided("it makes a fraction of something")


def count(tape: Tape, *given: object) -> object:
    """`range`."""
    numbers = [whole_number(value, "a number") for value in given if value is not None]
    if not 1 <= len(numbers) <= 3 or numbers[2:] == [0]:
        raise Undecided("it counts up to something that is not known")
    found = range(*numbers)
    if len(found) > MAX_ITEMS:
        raise Undecided("it counts too far")
    return list(found)


def total(tape: Tape, values: object, start: object = 0) -> object:
    """`sum`."""
    made: object = 0 if start is None else start
    for value in iterate(tape, values):
        made = (
            value
            if made == 0 and not isinstance(made, Tensor) and not isinstance(made, Array)
            else binary(tape, "+", made, value)
        )
    return made


def _extreme(pick: Callable[..., object]) -> Callable[..., object]:
    def meaning(tape: Tape, *given: object) -> object:
        values = [value for value in given if value is not None]
        items = iterate(tape, values[0]) if len(values) == 1 else values
        if any(isinstance(item, Tensor) for item in items):
            raise Undecided("it asks whether one tensor is larger than another")
        numbers = [plain(constant(item)) for item in items]
        if not numbers or not all(is_number(number) for number in numbers):
            raise Undecided("it looks for the largest of what are not numbers")
        return pick(numbers)

    return meaning


_KINDS: dict[str, tuple[type, ...]] = {
    "list": (list,),
    "tuple": (tuple,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
}


def is_instance(tape: Tape, value: object, kinds: object) -> object:
    """`isinstance`, for Python's own kinds."""
    wanted = kinds if isinstance(kinds, (list, tuple)) else [kinds]
    names = [kind.path[0] if isinstance(kind, Name) and len(kind.path) == 1 else "" for kind in wanted]
    if isinstance(value, Length) or not all(name in _KINDS for name in names):
        raise Undecided("it asks for the kind of a value")
    return any(isinstance(value, _KINDS[name]) for name in names)


def absolute(tape: Tape, value: object) -> object:
    """`abs`."""
    return apply(tape, "numpy.Absolute", value) if isinstance(value, Tensor) else each.folded(tape, np.abs, value)


def power(tape: Tape, x: object, y: object) -> object:
    """`pow`."""
    return binary(tape, "**", x, y)


def rounded(tape: Tape, value: object, digits: object = None) -> object:
    """`round`, of a number."""
    places = None if digits is None else whole_number(digits, "a number")
    return each.folded(tape, lambda number: round(number, places), value)


def enumerated(tape: Tape, values: object, start: object = 0) -> object:
    """`enumerate`."""
    return list(enumerate(iterate(tape, values), whole_number(start, "a number")))


def mapped(tape: Tape, function: object, values: object) -> object:
    """`map` over one list."""
    return [tape.invoke(function, [value]) for value in iterate(tape, values)]


def pairs(tape: Tape, *given: object) -> object:
    """`zip`."""
    lists = [iterate(tape, value) for value in given if value is not None]
    return [tuple(items) for items in zip(*lists)]


def divided(tape: Tape, x: object, y: object) -> object:
    """`divmod` of numbers."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        raise Undecided("it gives a tensor to divmod")
    return (binary(tape, "//", x, y), binary(tape, "%", x, y))


def in_order(tape: Tape, values: object, key: object = None, back: object = False) -> object:
    """`sorted`, of numbers, or by numbers that a function gives."""
    items = list(iterate(tape, values))
    keys = [plain(item if key is None else tape.invoke(key, [item])) for item in items]
    if not all(is_number(number) and number == number for number in keys):
        raise Undecided("it sorts what are not numbers")
    order = sorted(range(len(items)), key=lambda i: cast(float, keys[i]), reverse=constants.truth(back))
    return [items[i] for i in order]


def filtered(tape: Tape, function: object, values: object) -> object:
    """`filter`."""
    items = iterate(tape, values)
    kept = [item if function is None else tape.invoke(function, [item]) for item in items]
    if any(isinstance(item, Tensor) for item in kept):
        raise Undecided("a condition depends on the numbers in a tensor")
    return [item for item, keep in zip(items, kept) if constants.truth(keep)]


# -- numpy ---------------------------------------------------------------------------------------------------


def array(tape: Tape, value: object, dtype: object = None) -> object:
    """`np.array`."""
    if isinstance(value, Tensor):
        raise Undecided("it makes an array of a tensor")
    made = np.asarray(cast("Numbers", constant(value)))
    tape.spend(made.size)
    return plain(made if dtype is None else made.astype(type_of(dtype, "float64")))


def _typed(name: str) -> Callable[..., object]:
    return lambda tape, value: each.cast_to(tape, value, name) if not isinstance(value, Tensor) else _no_tensor()


def _no_tensor() -> object:
    raise Undecided("it gives a tensor to a function of numpy")


def _numpy(function: Callable[..., object]) -> Callable[..., object]:
    """A function of one array of constants."""

    def meaning(tape: Tape, value: object) -> object:
        return _no_tensor() if isinstance(value, Tensor) else each.folded(tape, function, value)

    return meaning


def _numpy_two(symbol: str) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, y: object) -> object:
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            return _no_tensor()
        return constants.binary(tape, symbol, constant(x), constant(y))

    return meaning


def _numpy_over(function: Callable[..., object]) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
        return _no_tensor() if isinstance(x, Tensor) else _fold(function, tape, x, axis, keepdims)

    return meaning


def _math(function: Callable[[float], float]) -> Callable[..., object]:
    def meaning(tape: Tape, value: object) -> object:
        number = plain(value)
        if isinstance(value, Tensor) or not is_number(number):
            raise Undecided("it gives a function of math something other than a number")
        try:
            return function(cast(float, number))
        except (ValueError, OverflowError) as error:
            raise Undecided("it gives a function a number that does not fit") from error

    return meaning


def _backend(tape: Tape) -> object:
    return "tensorflow"


_PYTHON_ITEMS = "x"
ROWS: tuple[Row, ...] = (
    Row("python", "len", "x", length),
    Row("python", "int", "x", to_int),
    Row("python", "float", "x", to_float),
    Row("python", "bool", "x", lambda tape, x: constants.truth(x)),
    Row("python", "abs", "x", absolute),
    Row("python", "pow", "x y", power),
    Row("python", "round", "x digits", rounded),
    Row("python", "range xrange", "a b c", count),
    Row("python", "sum", "x start", total),
    Row("python", "min", "a b c d", _extreme(min)),
    Row("python", "max", "a b c d", _extreme(max)),
    Row("python", "list", "x", lambda tape, x=(): list(iterate(tape, x))),
    Row("python", "tuple", "x", lambda tape, x=(): tuple(iterate(tape, x))),
    Row("python", "reversed", "x", lambda tape, x: list(iterate(tape, x))[::-1]),
    Row("python", "enumerate", "x start", enumerated),
    Row("python", "divmod", "x y", divided),
    Row("python", "sorted", "x key reverse", in_order),
    Row("python", "filter", "function x", filtered),
    Row("python", "map", "function x", mapped),
    Row("python", "any", "x", lambda tape, x: any(constants.truth(item) for item in iterate(tape, x))),
    Row("python", "all", "x", lambda tape, x: all(constants.truth(item) for item in iterate(tape, x))),
    Row("python", "zip", "a b c d", pairs),
    Row("python", "slice", "a b c", lambda tape, *given: slice(*given)),
    Row("python", "str repr", "x?", lambda tape, x=None: TEXT),
    Row("python", "print", "a? b? c? d?", lambda tape, *given: None),
    Row("python", "isinstance", "x kinds", is_instance),
    Row("K", "epsilon", "", lambda tape: 1e-7),
    Row("K", "floatx", "", lambda tape: tape.environment.float_type),
    Row("K", "image_data_format image_dim_ordering", "", image_data_format),
    Row("K", "backend", "", _backend),
    Row("numpy", "array asarray", "object dtype", array),
    *[Row("numpy", name, "x", _typed(name)) for name in ("float32", "float64", "float16", "int32", "int64")],
    *[
        Row("numpy", name, "x", _numpy(function))
        for name, function in (
            ("sqrt", np.sqrt), ("exp", np.exp), ("log", np.log), ("log2", np.log2), ("log10", np.log10),
            ("abs", np.abs), ("square", np.square), ("sin", np.sin), ("cos", np.cos), ("tanh", np.tanh),
            ("floor", np.floor), ("ceil", np.ceil), ("round", np.round), ("transpose", np.transpose),
            ("ravel", np.ravel), ("squeeze", np.squeeze),
        )
    ],
    *[
        Row("numpy", name, "x y", _numpy_two(symbol))
        for name, symbol in (
            ("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("true_divide", "/"), ("power", "**"),
            ("matmul", "@"), ("dot", "@"),
        )
    ],
    *[
        Row("numpy", name, "x axis keepdims", _numpy_over(function))
        for name, function in (
            ("sum", np.sum), ("mean", np.mean), ("std", np.std), ("var", np.var), ("max", np.max), ("min", np.min),
            ("prod", np.prod),
        )
    ],
    *[
        Row("math", name, "x", _math(function))
        for name, function in (
            ("sqrt", math.sqrt), ("exp", math.exp), ("log", math.log), ("sin", math.sin), ("cos", math.cos),
            ("floor", math.floor), ("ceil", math.ceil), ("tanh", math.tanh), ("log2", math.log2), ("fabs", math.fabs),
        )
    ],
)  # fmt: skip
