"""The values that the interpreter walks a slice function over: tensors, sizes and lists of them."""

from typing import Any, Dict, Mapping, Optional, Sequence

from .functions import PURE, TABLE, apply, items_of, module_of
from .interpreter import Domain, Items
from .operations import binary, compare_values, static_shape, subscript, truth
from .sizes import (
    Size,
    Undecided,
    Vector,
)
from .values import Method, Name, Rows, Tensor, Unknown

_LITERALS: Dict[str, Any] = {"True": True, "False": False, "None": None, "Ellipsis": Ellipsis}


def _listed(value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, Items) else ()


class Tensors(Domain):
    """What Python's operations mean for tensors, sizes and lists of them.

    Parameters
    ----------
    known : mapping of str to value, optional
        What globals are bound to, where that is known: then custom has no say.
    """

    def __init__(self, known: Optional[Mapping[str, Any]] = None) -> None:
        self.known = known or {}

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        """See `Domain`."""
        return binary(symbol, left, right)

    def unary(self, symbol: str, value: Any) -> Any:
        """See `Domain`."""
        return binary("*", value, -1) if symbol == "-" else binary("+", value, 0)

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        """See `Domain`."""
        return compare_values(symbol, left, right)

    def truth(self, value: Any) -> bool:
        """See `Domain`."""
        return truth(value)

    def subscript(self, value: Any, index: Any) -> Any:
        """See `Domain`."""
        return subscript(value, index)

    def iterate(self, value: Any) -> Items:
        """See `Domain`."""
        return items_of(value)

    def global_name(self, name: str) -> Any:
        """See `Domain`."""
        if name in self.known:
            return self.known[name]
        return _LITERALS[name] if name in _LITERALS else Name((name,))

    def cost(self, value: Any) -> int:
        """See `Domain`."""
        if isinstance(value, Size):
            return len(value.values) // 8
        if isinstance(value, Rows):
            return 1 + self.cost(value.start) + self.cost(value.stop)
        if isinstance(value, Vector):
            return sum(self.cost(item) for item in value.items)
        # lists in lists cost nothing more: they were paid for when they were made
        return len(_listed(value)) + sum(self.cost(item) for item in _listed(value) if not isinstance(item, Items))

    def module(self, name: str, leaf: bool) -> Any:
        """See `Domain`."""
        path = tuple(name.split("."))
        return Name(path if leaf else path[:1])

    def attribute(self, value: Any, name: str) -> Any:
        """See `Domain`."""
        if isinstance(value, Name):
            if len(value.path) > 8:
                raise Undecided("it reads a long chain of attributes")
            return Name(value.path + (name,))
        if isinstance(value, Unknown):
            return value
        if isinstance(value, (Tensor, Rows)) and name in ("shape", "_keras_shape"):
            return static_shape(value)
        if isinstance(value, (Tensor, Rows, Items)):
            return Method(value, name)
        raise Undecided(f"it reads the attribute {name!r}")

    def call(self, function: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """See `Domain`."""
        if isinstance(function, Method):
            return _call_method(function, args, kwargs)
        if not isinstance(function, Name):
            raise Undecided("it calls something that is not known")
        module = module_of(function.path)
        row = TABLE.get((module, function.path[-1]))
        if row is not None:
            return apply(row, args, kwargs)
        reason = "it calls {}".format(".".join(function.path))
        if module in PURE:
            return Unknown(reason)
        raise Undecided(reason)


def _call_method(method: Method, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    owner, name = method.owner, method.name
    if isinstance(owner, (Tensor, Rows)) and name == "get_shape" and not args and not kwargs:
        return static_shape(owner)
    if isinstance(owner, Items) and not kwargs:
        if name == "as_list" and not args:
            return Items(owner.values, True, owner.tail)
        if name == "append" and len(args) == 1 and owner.mutable and owner.tail is None:
            owner.values.append(args[0])
            return None
    raise Undecided(f"it calls the method {name!r}")
