"""What a slice is: which rows of which tensor a layer's call gives, proven from what the file says.

A slice function is a stranger's code, so it is never run: `bytecode` reads it, `stepper` walks through its
instructions, `tensor_functions` says what they mean.  Layers are rows of a table.  A call is `Rows` only if
that follows for every batch; all else is `Unknown`, with the reason.  The names of the function itself, of
its parameters and of the layer are never evidence.
"""

from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..errors import BytecodeError
from ..model import Call, Json, Layer, is_operation
from . import functions as ops
from .bytecode import DIALECTS, Code, read_text, versions
from .functions import ABSENT, MAX_ITEMS, Joined, Mean, Name, Row, Rows, Scalar, Stack, Sum, Tensor, Tensors, Unknown
from .interpreter import Cell, Function, Items, Machine, Slice
from .sizes import Dim, Range, Rank, Ratio, Size, Undecided, Vector, as_size, fixed

__all__ = [
    "CodeInfo",
    "Joined",
    "Mean",
    "Rows",
    "Tensor",
    "Unknown",
    "check_partition",
    "code_of",
    "describe",
    "evaluate",
    "is_helper",
    "looks_like_slice",
    "shape_is_scalar",
]


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

# what a config of an unforeseen shape trips: the call stays unknown, whatever it was
_DAMAGE = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)

# values that are not rows, but that rows are cut by
_NUMBERS = (int, Size, Dim, Ratio, Rank, Vector, Range)

# --------------------------------------------------------------------------------------------------
# Lambda layers
# --------------------------------------------------------------------------------------------------


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


def _saved_function(field: Json) -> Optional[_Saved]:
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


def _from_json(value: Json, depth: int = 0) -> Any:
    """An argument as the function would get it."""
    if isinstance(value, list) and depth < MAX_NESTING:
        return Items([_from_json(item, depth + 1) for item in value], True)
    if value is None or isinstance(value, (bool, int, float, str, Name, Unknown)):
        return value  # the last two only in a live function's closure
    return Unknown("it is given a value of an unknown kind")


def _names(code: Code) -> Tuple[str, ...]:
    found: Dict[str, None] = {}
    for inner in code.walk():
        found.update(dict.fromkeys(inner.names))
    return tuple(found)


def _run(saved: _Saved, args: Sequence[Any], kwargs: Dict[str, Json]) -> Any:
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
    defaults = tuple([_from_json(value) for value in saved.defaults])
    closure = tuple([Cell(_from_json(value)) for value in saved.closure])
    given = {name: _from_json(value) for name, value in kwargs.items()}
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
        return tuple([_single(item) for item in value.values])
    return _single(value)


def _single(value: Any) -> Any:
    if ops.is_tensor(value) or isinstance(value, (Unknown, Stack) + _NUMBERS):
        return value
    raise Undecided("it returns something that is not a part of the batch")


def _evaluate_lambda(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    try:
        saved = _saved_function(layer.config.get("function"))
    except BytecodeError as error:
        return (Unknown(error.message, layer.class_name),)
    if saved is None:
        return (Unknown("the file names a function without holding its code", str(layer.config.get("function"))),)
    code = saved.readings[0]
    arguments = layer.config.get("arguments") or {}
    try:
        if not isinstance(arguments, dict) or set(_call_keywords(call.node)) - {"mask", "training"}:
            raise Undecided("it is called with unusual arguments")
        shape = _structure(call, inputs)
        result = _run(saved, [shape], arguments)
    except Undecided as error:
        result = Unknown(str(error))
    if isinstance(result, Unknown):
        result = Unknown(result.reason, code.name, _names(code))
    return result if isinstance(result, tuple) and result else (result,)


def _structure(call: Call, inputs: Sequence[Any]) -> Any:
    """The first argument of a call: one tensor, or a list of them."""
    if isinstance(call.node, dict):
        args = _arguments(call, inputs)[0]
        if len(args) != 1:
            raise Undecided("it is called with unusual arguments")
        return args[0]
    return inputs[0] if len(inputs) == 1 else Items(list(inputs), True)


# --------------------------------------------------------------------------------------------------
# Nodes: the arguments of a call
# --------------------------------------------------------------------------------------------------


class _Given(NamedTuple):
    """A reference to a tensor in a node, already replaced by that tensor's value."""

    value: Any


def _arguments(call: Call, inputs: Sequence[Any]) -> Tuple[List[Any], Dict[str, Any]]:
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


def _filled(node: Json, known: Set[str], tensors: Iterator[Any], depth: int) -> Any:
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


def _next_given(tensors: Iterator[Any]) -> _Given:
    value = next(tensors, ABSENT)
    if value is ABSENT:
        raise Undecided("its arguments are not known")
    return _Given(value)


def _old_arguments(node: Json) -> Tuple[List[Any], Dict[str, Any]]:
    """Of a node such as ["x", 0, 0, {"axis": 0}], or a list of such, or a constant in the tensor's place."""
    alone = isinstance(node, list) and bool(node) and isinstance(node[0], (str, _Given))
    entries = [node] if alone else node
    if not isinstance(entries, list) or not all(isinstance(entry, list) and len(entry) in (3, 4) for entry in entries):
        raise Undecided("its arguments are not known")
    values: List[Any] = []
    kwargs: Dict[str, Json] = {}
    for entry in entries:
        if entry[:2] == ["_CONSTANT_VALUE", -1]:
            values.append(_argument(entry[2]))
        elif isinstance(entry[0], _Given):
            values.append(entry[0].value)
        else:
            raise Undecided("its arguments are not known")
        kwargs.update(entry[3] if len(entry) == 4 else {})
    first = values[0] if alone else Items(values, True)
    return [first], {name: _argument(value) for name, value in kwargs.items()}


def _argument(value: Any) -> Any:
    """One argument as a value."""
    if isinstance(value, _Given):
        return value.value
    if isinstance(value, dict):
        kind, config = value.get("class_name"), value.get("config")
        if kind == "__ellipsis__":
            return Ellipsis
        bounds = config if kind == "__slice__" and isinstance(config, dict) else value
        if set(bounds) == {"start", "stop", "step"}:
            return Slice(*[_argument(bounds[part]) for part in ("start", "stop", "step")])
        return Unknown("it is given a value of an unknown kind")
    if isinstance(value, list):
        if len(value) == 3 and isinstance(value[0], _Given):
            return value[0].value
        return Items([_argument(item) for item in value], True)
    return value


def _call_keywords(node: Json) -> Dict[str, Json]:
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


# --------------------------------------------------------------------------------------------------
# Layers that join
# --------------------------------------------------------------------------------------------------


def _axis(config: Dict[str, Json], name: str) -> Optional[int]:
    axis = config.get(name)
    return axis if isinstance(axis, int) and not isinstance(axis, bool) else None


def _evaluate_concatenate(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    return (ops.concat(Items(list(inputs)), _axis(layer.config, "axis")),)


def _evaluate_merge(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    """Keras 1: one class for all ways to merge."""
    if layer.config.get("mode_type", "raw") != "raw":
        raise Undecided("it merges by a function")
    mode = layer.config.get("mode")
    if mode == "ave":
        return (Mean(tuple(inputs), layer.class_name),)
    if mode != "concat":
        raise Undecided(f"it merges by {mode!r}")
    return (ops.concat(Items(list(inputs)), _axis(layer.config, "concat_axis")),)


def _evaluate_average(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    return (Mean(tuple(inputs), layer.class_name),)


# --------------------------------------------------------------------------------------------------
# Layers that are one operation of TensorFlow
# --------------------------------------------------------------------------------------------------


class _Node(NamedTuple):
    """A NodeDef: its operation's inputs, and its attributes as plain values."""

    inputs: List[Any]
    attributes: Dict[str, Any]

    def number(self, name: str) -> Any:
        """A whole number among the attributes, 0 where it is absent."""
        return self.attributes.get(name, 0)

    @property
    def masks(self) -> List[Any]:
        """The masks of a strided slice, in the order of `strided_slice`."""
        return [self.number(kind + "_mask") for kind in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")]


def _refuse(reason: str) -> Any:
    raise Undecided(reason)


_DTYPES = {"DT_INT32": "int32", "DT_INT64": "int64", "DT_FLOAT": "float32", "DT_DOUBLE": "float64"}

_OPS: Dict[str, Callable[[_Node], Any]] = {
    "Shape": lambda node: ops.shape_of(*node.inputs),
    "StridedSlice": lambda node: ops.strided_slice(*(node.inputs + [node.masks])),
    "Slice": lambda node: ops.slice_rows(*node.inputs),
    "Split": lambda node: ops.split(node.inputs[1], node.number("num_split"), node.inputs[0]),
    "SplitV": lambda node: ops.split(*node.inputs),
    "GatherV2": lambda node: _refuse("it gathers by batch") if node.number("batch_dims") else ops.gather(*node.inputs),
    "Gather": lambda node: ops.gather(node.inputs[0], node.inputs[1], 0),
    "Range": lambda node: ops.range_of(*node.inputs),
    "ConcatV2": lambda node: ops.concat(Items(node.inputs[:-1]), node.inputs[-1]),
    "Concat": lambda node: ops.concat(Items(node.inputs[1:]), node.inputs[0]),
    "Pack": lambda node: ops.stack(Items(node.inputs), node.number("axis")),
    "AddN": lambda node: ops.add_all(Items(node.inputs)),
    "Add": lambda node: ops.binary("+", *node.inputs),
    "AddV2": lambda node: ops.binary("+", *node.inputs),
    "Sub": lambda node: ops.binary("-", *node.inputs),
    "Mul": lambda node: ops.binary("*", *node.inputs),
    "FloorDiv": lambda node: ops.binary("//", *node.inputs),
    "FloorMod": lambda node: ops.binary("%", *node.inputs),
    "RealDiv": lambda node: ops.binary("/", *node.inputs),
    "Cast": lambda node: ops.cast(node.inputs[0], _DTYPES.get(str(node.attributes.get("DstT")))),
    "Floor": lambda node: ops.floor(*node.inputs),
    "Ceil": lambda node: ops.ceil(*node.inputs),
    "Minimum": lambda node: ops.extreme(True)(*node.inputs),
    "Maximum": lambda node: ops.extreme(False)(*node.inputs),
    "Neg": lambda node: ops.binary("*", node.inputs[0], -1),
    "ZerosLike": lambda node: ops.zeros_like(*node.inputs),
    "ExpandDims": lambda node: ops.expand(*node.inputs),
    "Reshape": lambda node: ops.reshape(*node.inputs),
    "Squeeze": lambda node: ops.squeeze(*node.inputs),
    "Identity": lambda node: node.inputs[0],
}


def _evaluate_op(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    """`TensorFlowOpLayer` of TensorFlow 1.15 to 2.3: a NodeDef with constants in some places."""
    definition = layer.config.get("node_def")
    if not isinstance(definition, dict) or not isinstance(definition.get("input"), list):
        raise Undecided("its operation is not known")
    op = definition.get("op")
    if op not in _OPS:
        raise Undecided(f"it is the operation {op}")
    constants = layer.config.get("constants") or {}
    places: List[Any] = []
    tensors = iter(inputs)
    for place in range(len(definition["input"])):
        constant = constants.get(str(place), constants.get(place, ABSENT))
        places.append(next(tensors, ABSENT) if constant is ABSENT else _from_json(constant))
    if ABSENT in places or next(tensors, ABSENT) is not ABSENT:
        raise Undecided("its operation is given an unknown number of tensors")
    found = _OPS[op](_Node(places, _attributes(definition.get("attr") or {})))
    return tuple(found.values) if isinstance(found, Items) else (found,)


def _attributes(attributes: Dict[str, Json]) -> Dict[str, Any]:
    """Attributes of a NodeDef as plain values: {"i": "3"} is 3, since JSON has no 64-bit numbers."""
    found: Dict[str, Any] = {}
    for name, value in attributes.items():
        if not isinstance(value, dict):
            continue
        if "i" in value:
            found[name] = int(value["i"])
        elif "type" in value:
            found[name] = value["type"]
    return found


def _evaluate_function(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    """`TFOpLambda` of TensorFlow 2.4 on: a function by its dotted name, arguments in the node."""
    function = layer.config.get("function")
    if not isinstance(function, str):
        raise Undecided("its function is not known")
    args, kwargs = _arguments(call, inputs)
    path = function.split(".")
    if path[:-1] == ["__operators__"]:
        row = _OPERATORS.get(path[-1])
    else:
        row = ops.TABLE.get(("tf", path[-1])) if ops.module_of(("tf",) + tuple(path)) == "tf" else None
    if row is None:
        raise Undecided(f"it calls tf.{function}")
    found = ops.apply(row, args, kwargs)
    return tuple(found.values) if isinstance(found, Items) else (found,)


_OPERATORS: Dict[str, Row] = {
    "getitem": Row("", "getitem", "tensor slice_spec | var", ops.subscript),
    "add": Row("", "add", "x y | name", lambda x, y: ops.binary("+", x, y)),
}


def _evaluate_keras3(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    """An operation of Keras 3: some arguments in the config, some in the node."""
    args, kwargs = _arguments(call, inputs)
    kwargs.update((name, _from_json(value)) for name, value in layer.config.items() if name != "name")
    if layer.class_name == "Slice":
        return (_keras3_slice(call, args, kwargs),)
    found = ops.apply(_KERAS3[layer.class_name], args, kwargs)
    return tuple(found.values) if isinstance(found, Items) else (found,)


def _keras3_slice(call: Call, args: List[Any], settings: Dict[str, Any]) -> Rows:
    """Lengths stand in the config as numbers: the node tells which are those of the whole axis."""
    whole = _saved_shape(call.node)
    sizes = ops.as_vector(settings.get("shape")).items
    starts = ops.as_vector(args[1] if len(args) > 1 else settings.get("start_indices")).items
    if len(whole) != len(sizes) or len(starts) != len(sizes) or not sizes:
        raise Undecided("it slices an unknown number of axes")
    if any(fixed(start) != 0 or size != length for start, size, length in zip(starts[1:], sizes[1:], whole[1:])):
        raise Undecided("it cuts an axis other than the batch")
    return ops.take_rows(args[0], starts[0], as_size(starts[0]) + as_size(sizes[0]))


def _saved_shape(node: Json) -> Sequence[Any]:
    try:
        shape = node["args"][0]["config"]["shape"]
    except (KeyError, IndexError, TypeError) as error:
        raise Undecided("the shape of its tensor is not in the file") from error
    return shape if isinstance(shape, list) else ()


_KERAS3: Dict[str, Row] = {
    class_name: ops.TABLE["ops", function]
    for class_name, function in (
        ("Split", "split"),
        ("Take", "take"),
        ("Concatenate", "concatenate"),
        ("Stack", "stack"),
        ("Mean", "mean"),
        ("Sum", "sum"),
        ("Add", "add"),
        ("TrueDivide", "true_divide"),
        ("Divide", "divide"),
    )
}
_KERAS3["GetItem"] = _OPERATORS["getitem"]

_Evaluate = Callable[[Layer, Call, Sequence[Any]], Tuple[Any, ...]]

_LAYERS: Dict[str, _Evaluate] = {
    "Lambda": _evaluate_lambda,
    "Concatenate": _evaluate_concatenate,
    "Merge": _evaluate_merge,
    "Average": _evaluate_average,
    "TensorFlowOpLayer": _evaluate_op,
    "TFOpLambda": _evaluate_function,
    "SlicingOpLambda": _evaluate_function,
}


def _handler(layer: Layer) -> Optional[_Evaluate]:
    """Who evaluates a layer's calls.  Keras 3 has operations and layers of one name."""
    if is_operation(layer):
        return _evaluate_keras3 if layer.class_name in _KERAS3 or layer.class_name == "Slice" else None
    return _LAYERS.get(layer.class_name)


# --------------------------------------------------------------------------------------------------
# For the others
# --------------------------------------------------------------------------------------------------


# settings that every layer has
_COMMON = frozenset(("name", "trainable", "dtype", "batch_input_shape", "batch_shape", "input_dtype"))
# layers of Keras that hold two whole numbers and nothing else
_NOT_SLICES = frozenset(("CenterCrop", "RandomCrop", "Resizing", "Embedding"))


def is_helper(layer: Layer) -> bool:
    """Whether `evaluate` has something to say on the layer's calls.

    Parameters
    ----------
    layer : Layer

    Returns
    -------
    bool
        False for layers whose outputs are nothing but tensors.
    """
    if layer.submodel is not None or not isinstance(layer.config, dict):
        return False
    return _handler(layer) is not None or len(_custom_numbers(layer)) == 2


def evaluate(layer: Layer, call: Call, inputs: Sequence[Any]) -> Tuple[Any, ...]:
    """What one call of a layer gives.

    Parameters
    ----------
    layer : Layer
        One for which `is_helper` is true.
    call : Call
        One of its calls.
    inputs : sequence
        A value for each of `call.inputs`: what `evaluate` gave for it, or `Tensor`.

    Returns
    -------
    tuple
        A value for each output: `Tensor`, `Rows`, `Joined`, `Mean`, `Unknown`, or a number, a shape or a sum,
        which only other calls of `evaluate` read.  It never raises.

    Examples
    --------
    >>> from unparallel.model import TensorKey
    >>> layer = Layer("join", "Concatenate", {"axis": 0})
    >>> call = Call((TensorKey("a", 0, 0), TensorKey("a", 1, 0)))
    >>> evaluate(layer, call, [Tensor(key) for key in call.inputs])[0].parts == tuple(map(Tensor, call.inputs))
    True
    """
    handler = _handler(layer)
    if handler is None or not isinstance(layer.config, dict):
        return (Unknown("it is a layer of a class that is not known", layer.class_name),)
    kept = (Tensor, Rows, Sum, Stack) + _NUMBERS
    # what is known neither as rows nor as a number is a tensor of its own
    known = [value if isinstance(value, kept) else Tensor(key) for key, value in zip(call.inputs, inputs)]
    try:
        values = [_single(value) for value in handler(layer, call, known)]
    except Undecided as error:
        values = [Unknown(str(error))]
    except _DAMAGE:
        values = [Unknown("its settings are damaged")]
    return tuple([_named(value, layer.class_name) for value in values])


def _named(value: Any, function: str) -> Any:
    """The value; an unknown one bears at least the name of its layer's class."""
    return Unknown(value.reason, function) if isinstance(value, Unknown) and not value.function else value


def check_partition(parts: Sequence[Rows]) -> str:
    """Why the parts, in this order, are not one batch cut into pieces; "" where they are.

    Parameters
    ----------
    parts : sequence of Rows

    Returns
    -------
    str
        "" where the first part begins at row 0, each begins where the one before ends, and the last one ends
        with the batch, or short of it only by the rows that do not divide (or where its end is fixed).
    """
    if not parts or len({part.source for part in parts}) != 1:
        return "the parts are not those of one tensor"
    try:
        return _partition_problem(parts)
    except Undecided as error:
        return f"the sizes of the parts cannot be compared: {error}"


def _partition_problem(parts: Sequence[Rows]) -> str:
    whole = Size.batch(parts[0].source)
    pieces = [(part.start, whole if whole.never_above(part.stop) else part.stop) for part in parts]
    for second, piece in enumerate(pieces):
        first = pieces.index(piece)
        if first != second and piece[0] != piece[1]:
            return f"parts {first + 1} and {second + 1} are the same rows"
    reason = _gap(pieces)
    if reason:
        return "the parts are not in order" if not _gap(_chained(pieces)) else reason
    for number, (start, stop) in enumerate(pieces):
        if not (start.never_above(stop) or whole.never_above(stop)):
            return "part %s may end before it begins" % (number + 1)
    return "" if _reaches_end(pieces, whole) else "the slices do not reach the end of the batch"


_Piece = Tuple[Size, Size]


def _gap(pieces: Sequence[_Piece]) -> str:
    """The first place where a part does not begin where the one before ends."""
    position = Size.constant(0)
    for number, (start, stop) in enumerate(pieces):
        if start != position:
            if position.never_above(start):
                return f"rows {position} to {start} are in no part{_missing(pieces, position)}"
            if start.never_above(position):
                return f"part {number + 1} begins at row {start}, before row {position} where it should"
            return f"part {number + 1} begins at row {start}, not at row {position}"
        position = stop
    return ""


def _missing(pieces: Sequence[_Piece], position: Size) -> str:
    """Which of N equal parts it is that begins at a row and is not there."""
    sizes = {stop - start for start, stop in pieces}
    size = min(sizes, key=lambda each: (each.at(10**6), each.values))
    for number in range(len(pieces) + 1):
        if size.times(number) == position and size != Size.constant(0):
            return ": part %s is missing" % (number + 1)
    return ""


def _chained(pieces: Sequence[_Piece]) -> List[_Piece]:
    """The parts in the order in which they follow each other, as far as they do."""
    left, found = list(pieces), []
    position = Size.constant(0)
    while left:
        following = [piece for piece in left if piece[0] == position] or left[:1]
        left.remove(following[0])
        found.append(following[0])
        position = following[0][1]
    return found


def _reaches_end(pieces: Sequence[_Piece], whole: Size) -> bool:
    end = pieces[-1][1]
    if whole.never_above(end) or end.fixed is not None:
        return True
    # short of it only by the few rows that are left over when the batch is dealt out in equal shares
    shares = len(end.values)
    share = whole // shares
    sizes = [stop - start for start, stop in pieces]
    return shares > 1 and end == share.times(shares) and all(size == share.times(size.at(shares)) for size in sizes)


def describe(rows: Rows) -> str:
    """Which rows these are, in terms of the batch size n.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    str
        Such as "rows n//2 to n".
    """
    return f"rows {rows.start} to {rows.stop}"


def shape_is_scalar(layer: Layer) -> bool:
    """Whether all that a layer gives provably is single numbers, without a batch axis.

    Parameters
    ----------
    layer : Layer

    Returns
    -------
    bool
        True where the function ends in a mean or sum over all axes, or the layer's own output shape is a
        function that gives (), whatever it is given.  A fixed output shape of () has a batch axis before it.
    """
    if not is_helper(layer):
        return False
    if layer.class_name == "Lambda" and layer.config.get("output_shape_type") == "lambda":
        try:
            saved = _saved_function(layer.config.get("output_shape"))
            if saved is not None and _run(saved, [Unknown("a shape")], {}) == ():
                return True
        except (BytecodeError,) + _DAMAGE:
            pass
    for call in layer.calls[:1]:
        values = evaluate(layer, call, [Tensor(key) for key in call.inputs])
        return all(isinstance(value, Scalar) or isinstance(value, Mean) and value.reduces for value in values)
    return False


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
        saved = _saved_function(field)
    except BytecodeError:
        return CodeInfo("unknown", "", ())
    if saved is None:
        return None
    known = list(DIALECTS)
    found = sorted({version for code in saved.readings for version in versions(code)}, key=known.index)
    text = "unknown" if not found else found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
    return CodeInfo(text, saved.readings[0].name, _names(saved.readings[0]))


def looks_like_slice(layer: Layer, call: Call) -> Optional[Tuple[int, int]]:
    """(index, count) where a layer's numbers can mean one part of N, whatever they are called.

    It proves nothing, and serves only who has said that slices are to be trusted.

    Parameters
    ----------
    layer : Layer
    call : Call

    Returns
    -------
    tuple of int or None
        None unless the call reads one tensor and there are exactly two numbers, one below the other.
    """
    if len(call.inputs) != 1 or layer.submodel is not None or not isinstance(layer.config, dict):
        return None
    numbers = _lambda_numbers(layer.config) if layer.class_name == "Lambda" else _custom_numbers(layer)
    if len(numbers) != 2 or not 0 <= min(numbers) < max(numbers):
        return None
    return min(numbers), max(numbers)


def _whole_numbers(values: Sequence[Json]) -> List[int]:
    return [value for value in values if isinstance(value, int) and not isinstance(value, bool)]


def _lambda_numbers(config: Dict[str, Json]) -> List[int]:
    """The numbers among the arguments; with fewer than two there, those of the defaults and the closure too."""
    arguments = config.get("arguments")
    numbers = _whole_numbers(list(arguments.values())) if isinstance(arguments, dict) else []
    try:
        saved = _saved_function(config.get("function"))
    except BytecodeError:
        saved = None
    if len(numbers) < 2 and saved is not None:
        numbers += _whole_numbers(saved.defaults) + _whole_numbers(saved.closure)
    return numbers


def _custom_numbers(layer: Layer) -> List[int]:
    """The settings of a layer of the user's own, where they are nothing but two whole numbers."""
    if _handler(layer) is not None or layer.class_name in _NOT_SLICES or layer.submodel is not None:
        return []
    own = [value for name, value in layer.config.items() if name not in _COMMON]
    numbers = _whole_numbers(own)
    return numbers if len(numbers) == len(own) == 2 else []
