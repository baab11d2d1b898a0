"""The domain of rows: what Python's operations mean for tensors, sizes and lists of them."""

from typing import Dict, Mapping, Optional, Sequence

from .containers import Bound
from .functions import EXHAUSTING, PURE, TABLE, apply, items_of, module_of
from .interpreter import TEXT, Domain, Function
from .marshal import Other
from .operations import binary, compare_values, static_shape, subscript, truth
from .sizes import Size, Undecided, Vector
from .values import Method, Name, OpenTuple, Rows, Scope, Tensor, Unknown

_MOST_LOOKED_AT = 64

_LITERALS: Dict[str, object] = {"True": True, "False": False, "None": None, "Ellipsis": Ellipsis}

# Functions that only say something: they leave whatever they are given alone
_MESSAGES = frozenset(("print", "log", "logger", "logging", "glog", "warnings", "LOG", "LOGGER", "_logger", "pprint"))

# Context managers of TensorFlow and Keras that change the names or places of operations and nothing else.  They let
# exceptions pass.
SCOPES = frozenset(("name_scope", "variable_scope", "device", "control_dependencies", "colocate_with"))


class RowDomain(Domain):
    """See `Domain`.

    Parameters
    ----------
    known : mapping of str to value, optional
        What globals are bound to, where that is known: then custom has no say.
    """

    def __init__(self, known: Optional[Mapping[str, object]] = None) -> None:
        self.known = known or {}

    def binary(self, symbol: str, left: object, right: object) -> object:  # noqa: D102
        return binary(symbol, left, right)

    def unary(self, symbol: str, value: object) -> object:  # noqa: D102
        if symbol == "~":  # of a whole number; all else is as unknown as its negative
            return binary("-", binary("*", value, -1), 1) if isinstance(value, int) else binary("~", value, 0)
        return binary("*", value, -1) if symbol == "-" else binary("+", value, 0)

    def compare(self, symbol: str, left: object, right: object) -> object:  # noqa: D102
        return compare_values(symbol, left, right)

    def truth(self, value: object) -> bool:  # noqa: D102
        return truth(value)

    def subscript(self, value: object, index: object) -> object:  # noqa: D102
        return subscript(value, index)

    def iterate(self, value: object) -> Sequence[object]:  # noqa: D102
        return items_of(value)

    def global_name(self, name: str) -> object:  # noqa: D102
        if name in self.known:
            return self.known[name]
        return _LITERALS[name] if name in _LITERALS else Name((name,))

    def module(self, name: str, leaf: bool) -> object:  # noqa: D102
        path = tuple(name.split("."))
        return Name(path if leaf else path[:1])

    def cost(self, value: object) -> int:  # noqa: D102
        if isinstance(value, Size):
            return len(value.values) // 8
        if isinstance(value, Rows):
            return 1 + self.cost(value.start) + self.cost(value.stop)
        if isinstance(value, Vector):
            return sum(self.cost(item) for item in value.items)
        if isinstance(value, dict):
            return len(value)
        if isinstance(value, (list, tuple)):
            # lists in lists cost nothing more: they were paid for when they were made
            return len(value) + sum(self.cost(item) for item in value if not isinstance(item, (list, tuple)))
        return 0

    def attribute(self, value: object, name: str) -> object:  # noqa: D102
        if isinstance(value, Name):
            if len(value.path) > 8:
                raise Undecided("it reads a long chain of attributes")
            return Name(value.path + (name,))
        if isinstance(value, Unknown):
            return value
        if isinstance(value, (Tensor, Rows)) and name in ("shape", "_keras_shape"):
            return static_shape(value)
        if isinstance(value, (Tensor, Rows)) and name in ("name", "dtype"):
            return TEXT
        if isinstance(value, (Tensor, Rows, list, tuple, OpenTuple, str)) or value == TEXT:
            return Method(value, name)
        raise Undecided(f"it reads the attribute {name!r}")

    def call(self, function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:  # noqa: D102
        if isinstance(function, Method):
            return _call_method(function, args, kwargs)
        if isinstance(function, Unknown) and not _can_change([*args, *kwargs.values()]):
            return function
        if not isinstance(function, Name):
            raise Undecided("it calls something that is not known")
        module = module_of(function.path)
        row = TABLE.get((module, function.path[-1]))
        if row is not None:
            return apply(row, args, kwargs)
        if module in PURE and function.path[-1] in SCOPES:
            return Scope()
        reason = "it calls {}".format(".".join(function.path))
        # the result is not known, which is of no matter where it is dropped, unless the call changes what it is given
        if module in PURE or function.path[0] in _MESSAGES or not _can_change([*args, *kwargs.values()]):
            return Unknown(reason)
        raise Undecided(reason)

    def exhausts(self, function: object) -> bool:  # noqa: D102
        return isinstance(function, Name) and function.path in EXHAUSTING

    def enter(self, manager: object) -> object:  # noqa: D102
        if isinstance(manager, Scope):
            return TEXT  # the name of a scope
        raise Undecided("it uses a context manager that is not known")


def _can_change(values: Sequence[object]) -> bool:
    """Whether a function that is given these values can change any: a list, or the variables of another function."""
    stack = list(values)
    # tuples of tuples grow without end, and what is long enough is not looked through
    for _ in range(_MOST_LOOKED_AT):
        if not stack:
            return False
        value = stack.pop()
        if isinstance(value, (list, dict, Bound, Function)):
            return True
        if isinstance(value, tuple):
            stack.extend(value[:_MOST_LOOKED_AT])
        elif isinstance(value, Method):
            stack.append(value.owner)
    return True


def _call_method(method: Method, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    owner, name = method.owner, method.name
    if isinstance(owner, (Tensor, Rows)):
        if name == "get_shape" and not args and not kwargs:
            return static_shape(owner)
        if name == "set_shape":
            return None  # what was not known when the model was built, or an error
    if isinstance(owner, (list, tuple, OpenTuple)) and name == "as_list" and not args and not kwargs:
        return owner if isinstance(owner, OpenTuple) else list(owner)
    if isinstance(owner, (str, Other)) and name in ("format", "join", "lower", "upper", "strip"):
        return TEXT
    raise Undecided(f"it calls the method {name!r}")
