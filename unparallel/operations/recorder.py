"""The domain that records: what Python's operations mean for tensors of which only shape and type are known."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, cast

from ..model import element_count
from ..slices.domain import SCOPES
from ..slices.functions import EXHAUSTING
from ..slices.interpreter import TEXT, Domain, Machine
from ..slices.sizes import Undecided
from ..slices.values import Method, Name, Scope, Unknown
from . import arguments, constants, cutting, elementwise, linear, plain, shaping
from .names import DTYPES, UNSET, module_of, value_of
from .table import record
from .tape import Tape, what_is
from .values import Array, Length, Lengths, Moments, StaticShape, Tensor, TopK
from .values import plain as plain_number

_LITERALS: dict[str, object] = {"True": True, "False": False, "None": None, "Ellipsis": Ellipsis}
_MOST_ATTRIBUTES = 8
#: Methods of arrays, by the function of numpy that does the same.
_ARRAY_METHODS = {name: name for name in ("dot", "max", "mean", "min", "prod", "std", "sum", "var", "ravel", "squeeze")}
_ARRAY_METHODS.update(flatten="ravel", copy="array", transpose="transpose", repeat="repeat")


class Recorder(Domain):
    """See `Domain`.

    Parameters
    ----------
    tape : Tape
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def follow(self, machine: Machine) -> None:
        """Lets functions that are arguments be called by the machine that steps through this one."""
        self.tape.invoke = lambda function, args: machine.call(function, args, {})

    def binary(self, symbol: str, left: object, right: object) -> object:  # noqa: D102
        if symbol == "@" and (isinstance(left, Tensor) or isinstance(right, Tensor)):
            return linear.matmul(self.tape, left, right)
        return elementwise.binary(self.tape, symbol, left, right)

    def unary(self, symbol: str, value: object) -> object:  # noqa: D102
        return elementwise.unary(self.tape, symbol, value)

    def compare(self, symbol: str, left: object, right: object) -> object:  # noqa: D102
        return elementwise.compare(self.tape, symbol, left, right)

    def truth(self, value: object) -> bool:  # noqa: D102
        if isinstance(value, Tensor):
            raise Undecided("a condition depends on the numbers in a tensor")
        return constants.truth(value)

    def iterate(self, value: object) -> Sequence[object]:  # noqa: D102
        return plain.iterate(self.tape, value)

    def cost(self, value: object) -> int:  # noqa: D102
        if isinstance(value, (list, tuple)):
            return len(value)
        return value.numbers.size // 64 if isinstance(value, Array) else 0

    def exhausts(self, function: object) -> bool:  # noqa: D102
        return isinstance(function, Name) and function.path in EXHAUSTING

    def enter(self, manager: object) -> object:  # noqa: D102
        if isinstance(manager, Scope):
            return TEXT  # the name of a scope
        raise Undecided("it uses a context manager that is not known")

    # -- names

    def global_name(self, name: str) -> object:  # noqa: D102
        found = self.tape.definition(name)
        if found is not UNSET:
            return found
        return _LITERALS[name] if name in _LITERALS else Name((name,))

    def module(self, name: str, leaf: bool) -> object:  # noqa: D102
        path = tuple(name.split("."))
        return Name(path if leaf else path[:1])

    def attribute(self, value: object, name: str) -> object:  # noqa: D102
        if isinstance(value, Name):
            if len(value.path) > _MOST_ATTRIBUTES:
                raise Undecided("it reads a long chain of attributes")
            path = value.path + (name,)
            found = self.tape.definition(".".join(path))
            found = value_of(path) if found is UNSET else found
            return Name(path) if found is UNSET else found
        if isinstance(value, Tensor):
            return self._of_tensor(value, name)
        if isinstance(value, (TopK, Moments)) and name in value._fields:
            return getattr(value, name)
        if isinstance(value, str) and value in DTYPES and name in ("base_dtype", "as_numpy_dtype", "name"):
            return value
        if name == "value" and isinstance(value, (int, Length)):
            return value  # of a Dimension
        if isinstance(value, StaticShape) and name in ("ndims", "rank"):
            return len(value)
        if isinstance(value, Array) and name in ("shape", "size", "ndim", "T"):
            found = getattr(value.numbers, name)
            return StaticShape(found) if name == "shape" else plain_number(found)
        if isinstance(value, (list, tuple, str, Array)) or value == TEXT:
            return Method(value, name)
        raise Undecided(what_is(value) if isinstance(value, Unknown) else f"it reads the attribute {name!r}")

    def _of_tensor(self, value: Tensor, name: str) -> object:
        if name in ("shape", "_keras_shape"):
            return shaping.static_shape(self.tape, value)
        if name == "dtype":
            return value.dtype
        if name == "name":
            return TEXT
        if name in ("get_shape", "set_shape"):
            return Method(value, name)
        raise Undecided(f"it reads the attribute {name!r} of a tensor")

    # -- parts and calls

    def subscript(self, value: object, index: object) -> object:  # noqa: D102
        if isinstance(value, Tensor):
            return cutting.subscript(self.tape, value, index)
        if isinstance(value, (list, tuple)):
            return _part(value, index)
        if isinstance(value, Array):
            return _array_part(value, index)
        raise Undecided(what_is(value))

    def call(self, function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:  # noqa: D102
        if isinstance(function, Method):
            return self._method(function, args, kwargs)
        if isinstance(function, Unknown):
            raise Undecided("it calls a function whose code is not in the file")
        if isinstance(function, str):
            # Keras writes the name of what a closure held that is no number
            raise Undecided(f"it calls {function!r}, a function whose code is not in the file")
        if not isinstance(function, Name):
            raise Undecided("it calls something that is not known")
        if function.path[-1] in SCOPES and module_of(function.path) in ("tf", "tf1", "tf2", "K"):
            return Scope()
        return record(self.tape, function.path, args, kwargs)

    def _method(self, method: Method, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        owner, name = method.owner, method.name
        if isinstance(owner, Tensor):
            return shaping.static_shape(self.tape, owner) if name == "get_shape" else None
        if isinstance(owner, (list, tuple)) and not kwargs:
            found = _list_method(owner, name, args)
            if found is not UNSET:
                return found
        if isinstance(owner, str) and name in ("lower", "upper", "strip") and not args:
            return str(getattr(owner, name)())
        if isinstance(owner, str) and name in ("startswith", "endswith") and isinstance(args[0], str):
            return bool(getattr(owner, name)(args[0]))
        if (isinstance(owner, str) or owner == TEXT) and name in ("format", "join", "lower", "upper", "strip"):
            return TEXT
        if isinstance(owner, Array) and name == "astype" and len(args) == 1:
            return elementwise.cast_to(self.tape, owner, args[0])
        if isinstance(owner, Array) and name == "reshape":
            return shaping.reshape(self.tape, owner, args[0] if len(args) == 1 else list(args))
        if isinstance(owner, Array) and name in _ARRAY_METHODS:
            return record(self.tape, ("np", _ARRAY_METHODS[name]), [owner, *args], kwargs)
        if isinstance(owner, Array) and name == "tolist" and not args and not kwargs:
            return owner.numbers.tolist()
        raise Undecided(f"it calls the method {name!r}")


def _part(value: Sequence[object], index: object) -> object:
    index = plain_number(index)
    if isinstance(index, slice):
        parts = [
            None if part is None else arguments.whole_number(part, "a bound")
            for part in (index.start, index.stop, index.step)
        ]
        if parts[2] == 0:
            raise Undecided("it slices in steps of 0")
        found = value[slice(*parts)]
        return type(value)(found) if isinstance(value, (StaticShape, Lengths)) else found
    at = arguments.whole_number(index, "an index")
    if not -len(value) <= at < len(value):
        raise Undecided("it takes an item that a list has not")
    return value[at]


def _array_part(value: Array, index: object) -> object:
    parts = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(plain_number(part), (int, slice, type(Ellipsis), type(None))) for part in parts):
        raise Undecided("it takes parts of an array by a list")
    try:
        return plain_number(value.numbers[cast(Any, index)])
    except (IndexError, TypeError, ValueError) as error:
        raise Undecided("it takes a part that an array has not") from error


def _list_method(owner: Sequence[object], name: str, args: Sequence[object]) -> object:
    if name == "as_list" and not args:
        return list(owner)
    if name == "num_elements" and not args and isinstance(owner, StaticShape):
        return element_count(arguments.whole_number(length, "a length") for length in owner)
    return UNSET
