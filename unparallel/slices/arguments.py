"""The arguments of a call, out of the node that a file has of it."""

from typing import Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from ..model import Call, Json
from .functions import ABSENT
from .lambdas import MAX_NESTING
from .sizes import Undecided
from .values import Unknown


def first_argument(call: Call, inputs: Sequence[object]) -> object:
    """The first argument of a call: one tensor, or a list of them."""
    if isinstance(call.node, dict):
        args = call_arguments(call, inputs)[0]
        if len(args) != 1:
            raise Undecided("it is called with unusual arguments")
        return args[0]
    return inputs[0] if len(inputs) == 1 else list(inputs)


class _Given(NamedTuple):
    """A reference to a tensor in a node, already replaced by that tensor's value."""

    value: object


def call_arguments(call: Call, inputs: Sequence[object]) -> Tuple[List[object], Dict[str, object]]:
    """Positional and keyword arguments of a call, its tensors being `inputs` in the node's order."""
    tensors = iter(inputs)
    node = _filled(call.node, {key.layer for key in call.inputs}, tensors, 0)
    if next(tensors, ABSENT) is not ABSENT:
        raise Undecided("its arguments are not known")
    if not isinstance(node, dict):
        return _old_arguments(node)
    args, kwargs = node.get("args"), node.get("kwargs")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise Undecided("its arguments are not known")
    return [_argument(arg) for arg in args], {name: _argument(value) for name, value in kwargs.items()}


def _filled(node: Json, known: Set[str], tensors: Iterator[object], depth: int) -> object:
    """The node with `_Given` for each reference; a reference comes before what stands inside it."""
    if depth > MAX_NESTING:
        raise Undecided("its arguments are nested too deeply")
    if isinstance(node, dict):
        if node.get("class_name") == "__keras_tensor__":
            return _next_given(tensors)
        return {name: _filled(value, known, tensors, depth + 1) for name, value in node.items()}
    if not isinstance(node, list):
        return node
    if len(node) in (3, 4) and isinstance(node[0], str) and node[0] in known and isinstance(node[1], int):
        given = _next_given(tensors)
        return [given] + [_filled(value, known, tensors, depth + 1) for value in node[1:]]
    return [_filled(value, known, tensors, depth + 1) for value in node]


def _next_given(tensors: Iterator[object]) -> _Given:
    value = next(tensors, ABSENT)
    if value is ABSENT:
        raise Undecided("its arguments are not known")
    return _Given(value)


def _old_arguments(node: Json) -> Tuple[List[object], Dict[str, object]]:
    """Of a node such as ["x", 0, 0, {"axis": 0}], or a list of such, or a constant in the tensor's place."""
    alone = isinstance(node, list) and bool(node) and isinstance(node[0], (str, _Given))
    entries = [node] if alone else node
    if not isinstance(entries, list) or not all(isinstance(entry, list) and len(entry) in (3, 4) for entry in entries):
        raise Undecided("its arguments are not known")
    values: List[object] = []
    kwargs: Dict[str, Json] = {}
    for entry in entries:
        if entry[:2] == ["_CONSTANT_VALUE", -1]:
            values.append(_argument(entry[2]))
        elif isinstance(entry[0], _Given):
            values.append(entry[0].value)
        else:
            raise Undecided("its arguments are not known")
        kwargs.update(entry[3] if len(entry) == 4 else {})
    first = values[0] if alone else values
    return [first], {name: _argument(value) for name, value in kwargs.items()}


def _argument(value: object) -> object:
    """One argument as a value."""
    if isinstance(value, _Given):
        return value.value
    if isinstance(value, dict):
        kind, config = value.get("class_name"), value.get("config")
        if kind == "__ellipsis__":
            return Ellipsis
        bounds = config if kind == "__slice__" and isinstance(config, dict) else value
        if set(bounds) == {"start", "stop", "step"}:
            return slice(*[_argument(bounds[part]) for part in ("start", "stop", "step")])
        return Unknown("it is given a value of an unknown kind")
    if isinstance(value, list):
        if len(value) == 3 and isinstance(value[0], _Given):
            return value[0].value
        return [_argument(item) for item in value]
    return value


def call_keywords(node: Json) -> Dict[str, Json]:
    """The keyword arguments of a call, as they stand in its node."""
    if isinstance(node, dict):
        kwargs = node.get("kwargs")
        return kwargs if isinstance(kwargs, dict) else {}
    found: Dict[str, Json] = {}
    entries = [node] if isinstance(node, list) and node and isinstance(node[0], str) else node
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, list) and len(entry) == 4 and isinstance(entry[3], dict):
            found.update(entry[3])
    return found
