"""Layers that are one operation of TensorFlow or of Keras 3."""

from typing import Callable, Dict, List, NamedTuple, NoReturn, Sequence

from ..model import Call, Input, Json, Layer
from . import functions, rows
from . import operations as ops
from .arguments import call_arguments
from .functions import ABSENT, Row
from .lambdas import Context, from_json
from .sizes import Undecided, as_size, fixed
from .values import Rows, as_vector


class _Node(NamedTuple):
    """A NodeDef: its operation's inputs, and its attributes as plain values."""

    inputs: List[object]
    attributes: Dict[str, object]

    def number(self, name: str) -> object:
        """A whole number among the attributes, 0 where it is absent."""
        return self.attributes.get(name, 0)

    @property
    def masks(self) -> List[object]:
        """The masks of a strided slice, in the order of `strided_slice`."""
        return [self.number(kind + "_mask") for kind in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")]


def _refuse(reason: str) -> NoReturn:
    raise Undecided(reason)


_DTYPES = {"DT_INT32": "int32", "DT_INT64": "int64", "DT_FLOAT": "float32", "DT_DOUBLE": "float64"}
_OPS: Dict[str, Callable[[_Node], object]] = {
    "Shape": lambda node: ops.shape_of(*node.inputs),
    "StridedSlice": lambda node: ops.strided_slice(
        node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[3], node.masks
    ),
    "Slice": lambda node: rows.slice_rows(*node.inputs),
    "Split": lambda node: rows.split(node.inputs[1], node.number("num_split"), node.inputs[0]),
    "SplitV": lambda node: rows.split(node.inputs[0], node.inputs[1], node.inputs[2]),
    "GatherV2": lambda node: _refuse("it gathers by batch") if node.number("batch_dims") else rows.gather(*node.inputs),
    "Gather": lambda node: rows.gather(node.inputs[0], node.inputs[1], 0),
    "Range": lambda node: ops.range_of(*node.inputs),
    "ConcatV2": lambda node: ops.concat(node.inputs[:-1], node.inputs[-1]),
    "Concat": lambda node: ops.concat(node.inputs[1:], node.inputs[0]),
    "Pack": lambda node: ops.stack(node.inputs, node.number("axis")),
    "AddN": lambda node: ops.add_all(node.inputs),
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


def evaluate_op(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    """`TensorFlowOpLayer` of TensorFlow 1.15 to 2.3: a NodeDef with constants in some places."""
    definition = layer.config.get("node_def")
    if not isinstance(definition, dict) or not isinstance(definition.get("input"), list):
        raise Undecided("its operation is not known")
    op = definition.get("op")
    if op not in _OPS:
        raise Undecided(f"it is the operation {op}")
    constants = layer.config.get("constants") or {}
    places: List[object] = []
    tensors = iter(inputs)
    for place in range(len(definition["input"])):
        constant = constants.get(str(place), constants.get(place, ABSENT))
        places.append(next(tensors, ABSENT) if constant is ABSENT else from_json(constant))
    if ABSENT in places or next(tensors, ABSENT) is not ABSENT:
        raise Undecided("its operation is given an unknown number of tensors")
    found = _OPS[op](_Node(places, _attributes(definition.get("attr") or {})))
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def _attributes(attributes: Dict[str, Json]) -> Dict[str, object]:
    """Attributes of a NodeDef as plain values: {"i": "3"} is 3, since JSON has no 64-bit numbers."""
    found: Dict[str, object] = {}
    for name, value in attributes.items():
        if not isinstance(value, dict):
            continue
        if "i" in value:
            found[name] = int(value["i"])
        elif "type" in value:
            found[name] = value["type"]
    return found


def evaluate_tf_function(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    """`TFOpLambda` of TensorFlow 2.4 on: a function by its dotted name, arguments in the node."""
    function = layer.config.get("function")
    if not isinstance(function, str):
        raise Undecided("its function is not known")
    args, kwargs = call_arguments(call, inputs)
    path = function.split(".")
    if path[:-1] == ["__operators__"]:
        row = _OPERATORS.get(path[-1])
    else:
        row = functions.TABLE.get(("tf", path[-1])) if functions.module_of(("tf",) + tuple(path)) == "tf" else None
    if row is None:
        raise Undecided(f"it calls tf.{function}")
    found = functions.apply(row, args, kwargs)
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


_OPERATORS: Dict[str, Row] = {
    "getitem": Row("", "getitem", "tensor slice_spec | var", ops.subscript),
    "add": Row("", "add", "x y | name", lambda x, y: ops.binary("+", x, y)),
}


def evaluate_keras3(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    """An operation of Keras 3: some arguments in the config, some in the node."""
    args, kwargs = call_arguments(call, inputs)
    kwargs.update((name, from_json(value)) for name, value in layer.config.items() if name != "name")
    if layer.class_name == "Slice":
        return (_keras3_slice(call, args, kwargs),)
    found = functions.apply(KERAS3[layer.class_name], args, kwargs)
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def _keras3_slice(call: Call, args: List[object], settings: Dict[str, object]) -> Rows:
    """Lengths stand in the config as numbers: the node tells which are those of the whole axis."""
    tensor = call.given.args[0] if call.given.args else None
    whole = tensor.shape if isinstance(tensor, Input) else None
    if whole is None:
        raise Undecided("the shape of its tensor is not in the file")
    sizes = as_vector(settings.get("shape")).items
    starts = as_vector(args[1] if len(args) > 1 else settings.get("start_indices")).items
    if len(whole) != len(sizes) or len(starts) != len(sizes) or not sizes:
        raise Undecided("it slices an unknown number of axes")
    if any(fixed(start) != 0 or size != length for start, size, length in zip(starts[1:], sizes[1:], whole[1:])):
        raise Undecided("it cuts an axis other than the batch")
    return rows.take_rows(args[0], starts[0], as_size(starts[0]) + as_size(sizes[0]))


KERAS3: Dict[str, Row] = {
    class_name: functions.TABLE["ops", function]
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
KERAS3["GetItem"] = _OPERATORS["getitem"]
