"""Operations of TensorFlow's graphs by their names, each as a call of the function in the table that means the same.

A `TensorFlowOpLayer` (tf.keras 1.15 to 2.3) holds a NodeDef: the operation's name, its inputs, of which some are
constants, and its attributes (`tensorflow/core/ops/*.cc`), as `MessageToDict` writes them down.
"""

from __future__ import annotations

import base64
import binascii
from typing import Callable, List, Mapping, NamedTuple, Sequence

from ..model import Json
from ..operations.values import Array
from ..slices.sizes import Undecided
from .values import words

Arrange = Callable[[Sequence[object], Mapping[str, object]], List[object]]


class NodeCall(NamedTuple):
    """A function of the table by its dotted path, and what it is given."""

    path: tuple[str, ...]
    args: list[object]
    kwargs: dict[str, object]


class Node(NamedTuple):
    """What an operation's name means.

    Attributes
    ----------
    function : str
        Dotted path.
    attributes : dict of str to str
        Attributes that are arguments, with the names of these.
    arrange : function, optional
        (inputs, attributes) -> positional arguments, where these are not the inputs as they are.
    takes : tuple of str
        Attributes that `arrange` looks at.
    """

    function: str
    attributes: dict[str, str] = {}
    arrange: Arrange | None = None
    takes: tuple[str, ...] = ()


#: Attributes that say nothing which the arguments do not, or nothing that matters to what comes out.
SILENT = words("""
    N Index Tidx Tdim Tshape Tperm Tlen Tmultiples Tpaddings Taxis Tshift Tparams Tindices TI SrcT Truncate index_type
    num num_split validate_indices use_cudnn_on_gpu seed seed2 dtype message sorted incompatible_shape_error _class
    _output_shapes""")
_KINDS = {
    "DT_HALF": "float16",
    "DT_BFLOAT16": "bfloat16",
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_BOOL": "bool",
}
_KINDS.update({f"DT_{sign}INT{bits}": f"{sign}int{bits}".lower() for sign in ("", "U") for bits in (8, 16, 32, 64)})


def _all_first(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    """All inputs are one argument."""
    return [list(inputs)]


def _axis_last(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [[_listed(item) for item in inputs[:-1]], inputs[-1]]


def _axis_first(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [[_listed(item) for item in inputs[1:]], inputs[0]]


def _listed(value: object) -> object:
    """A vector of numbers as a list, which lengths that nobody knows may join."""
    if isinstance(value, Array) and value.numbers.ndim == 1:
        return list(value.numbers.tolist())
    return value


def _split(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [inputs[1], attributes.get("num_split"), inputs[0]]


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _strided(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [*inputs, *(attributes.get(name, 0) for name in _MASKS)]


def _einsum(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [attributes.get("equation"), *inputs]


def _window(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [*inputs, attributes.get("ksize"), attributes.get("strides")]


def _first_only(inputs: Sequence[object], attributes: Mapping[str, object]) -> list[object]:
    return [inputs[0]]


_SAME = {"keep_dims": "keepdims"}
_CENTERS = {"align_corners": "align_corners", "half_pixel_centers": "half_pixel_centers"}
_WORDS = ("strides", "padding", "data_format", "dilations")
_CONVOLUTION = Node("", {name: name for name in _WORDS})
NODES: dict[str, Node] = {
    "Add": Node("tf.add"),
    "AddV2": Node("tf.add"),
    "Sub": Node("tf.subtract"),
    "Mul": Node("tf.multiply"),
    "RealDiv": Node("tf.realdiv"),
    "DivNoNan": Node("tf.div_no_nan"),
    "FloorDiv": Node("tf.floordiv"),
    "FloorMod": Node("tf.floormod"),
    "Pow": Node("tf.pow"),
    "Maximum": Node("tf.maximum"),
    "Minimum": Node("tf.minimum"),
    "SquaredDifference": Node("tf.squared_difference"),
    "Atan2": Node("tf.atan2"),
    "Greater": Node("tf.greater"),
    "GreaterEqual": Node("tf.greater_equal"),
    "Less": Node("tf.less"),
    "LessEqual": Node("tf.less_equal"),
    "Equal": Node("tf.equal"),
    "NotEqual": Node("tf.not_equal"),
    "LogicalAnd": Node("tf.logical_and"),
    "LogicalOr": Node("tf.logical_or"),
    "LogicalNot": Node("tf.logical_not"),
    "Select": Node("tf.where"),
    "SelectV2": Node("tf.where"),
    "ClipByValue": Node("tf.clip_by_value"),
    "AddN": Node("tf.add_n", {}, _all_first),
    "BiasAdd": Node("tf.bias_add", {"data_format": "data_format"}),
    "Cast": Node("tf.cast", {"DstT": "dtype"}),
    "LeakyRelu": Node("tf.nn.leaky_relu", {"alpha": "alpha"}),
    "Softmax": Node("tf.nn.softmax"),
    "LogSoftmax": Node("tf.nn.log_softmax"),
    "Elu": Node("tf.nn.elu"),
    "StopGradient": Node("tf.stop_gradient"),
    "PreventGradient": Node("tf.stop_gradient"),
    "ZerosLike": Node("tf.zeros_like"),
    "OnesLike": Node("tf.ones_like"),
    "ArgMax": Node("tf.argmax", {"output_type": "output_type"}),
    "ArgMin": Node("tf.argmin", {"output_type": "output_type"}),
    "Cumsum": Node("tf.cumsum", {"exclusive": "exclusive", "reverse": "reverse"}),
    "Cumprod": Node("tf.cumprod", {"exclusive": "exclusive", "reverse": "reverse"}),
    "L2Loss": Node("tf.nn.l2_loss"),
    "MatMul": Node("tf.matmul", {"transpose_a": "transpose_a", "transpose_b": "transpose_b"}),
    "BatchMatMul": Node("tf.matmul", {"adj_x": "transpose_a", "adj_y": "transpose_b"}),
    "BatchMatMulV2": Node("tf.matmul", {"adj_x": "transpose_a", "adj_y": "transpose_b"}),
    "Einsum": Node("tf.einsum", {}, _einsum, ("equation",)),
    "Shape": Node("tf.shape", {"out_type": "out_type"}),
    "Size": Node("tf.size", {"out_type": "out_type"}),
    "Rank": Node("tf.rank"),
    "Reshape": Node("tf.reshape"),
    "ExpandDims": Node("tf.expand_dims"),
    "Squeeze": Node("tf.squeeze", {"squeeze_dims": "axis"}),
    "Transpose": Node("tf.transpose"),
    "Pack": Node("tf.stack", {"axis": "axis"}, _all_first),
    "Unpack": Node("tf.unstack", {"axis": "axis", "num": "num"}),
    "ConcatV2": Node("tf.concat", {}, _axis_last),
    "Concat": Node("tf.concat", {}, _axis_first),
    "Split": Node("tf.split", {}, _split, ("num_split",)),
    "SplitV": Node("tf.split"),
    "StridedSlice": Node("tf.strided_slice", {}, _strided, _MASKS),
    "Slice": Node("tf.slice"),
    "Gather": Node("tf.gather"),
    "GatherV2": Node(
        "tf.gather",
        {"batch_dims": "batch_dims"},
        lambda inputs, attributes: [*inputs[:2], None, None, *inputs[2:]],
    ),
    "Tile": Node("tf.tile"),
    "Pad": Node("tf.pad"),
    "PadV2": Node("tf.pad", {}, lambda inputs, attributes: [*inputs[:2], "CONSTANT", None, *inputs[2:]]),
    "MirrorPad": Node("tf.pad", {"mode": "mode"}),
    "ReverseV2": Node("tf.reverse"),
    "OneHot": Node("tf.one_hot", {"axis": "axis"}),
    "TopKV2": Node("tf.nn.top_k"),
    "Range": Node("tf.range"),
    "Fill": Node("tf.fill"),
    "BroadcastTo": Node("tf.broadcast_to"),
    "LRN": Node("tf.nn.lrn", {"depth_radius": "depth_radius", "bias": "bias", "alpha": "alpha", "beta": "beta"}),
    "MaxPool": Node(
        "tf.nn.max_pool", {"padding": "padding", "data_format": "data_format"}, _window, ("ksize", "strides")
    ),
    "AvgPool": Node(
        "tf.nn.avg_pool", {"padding": "padding", "data_format": "data_format"}, _window, ("ksize", "strides")
    ),
    "ResizeBilinear": Node("tf.image.resize_bilinear", _CENTERS),
    "ResizeNearestNeighbor": Node("tf.image.resize_nearest_neighbor", _CENTERS),
    "Conv2D": _CONVOLUTION._replace(function="tf.nn.conv2d"),
    "DepthwiseConv2dNative": _CONVOLUTION._replace(function="tf.nn.depthwise_conv2d"),
    "Roll": Node("tf.roll"),
    "SpaceToDepth": Node("tf.nn.space_to_depth", {"block_size": "block_size", "data_format": "data_format"}),
    "DepthToSpace": Node("tf.nn.depth_to_space", {"block_size": "block_size", "data_format": "data_format"}),
    "RandomStandardNormal": Node("tf.random.normal"),
}
NODES.update(
    {
        name: Node(f"tf.{function}", _SAME)
        for name, function in (
            ("Mean", "reduce_mean"),
            ("Sum", "reduce_sum"),
            ("Max", "reduce_max"),
            ("Min", "reduce_min"),
            ("Prod", "reduce_prod"),
            ("All", "reduce_all"),
            ("Any", "reduce_any"),
            ("EuclideanNorm", "math.reduce_euclidean_norm"),
        )
    }
)
#: One input, one output, and the function has the operation's name.
NODES.update(
    {
        name: Node(f"tf.{function or name.lower()}")
        for name, function in (
            *[
                (name, "")
                for name in ("Abs", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Square", "Sign", "Floor")
            ],
            *[(name, "") for name in ("Ceil", "Round", "Rint", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh")],
            *[(name, "") for name in ("Cosh", "Asinh", "Acosh", "Atanh", "Tanh", "Erf", "Sigmoid", "Identity")],
            *[(name, f"nn.{name.lower()}") for name in ("Relu", "Relu6", "Selu", "Softplus", "Softsign")],
            ("Neg", "negative"),
            ("Reciprocal", ""),
            ("Inv", "reciprocal"),
            ("IsNan", "math.is_nan"),
            ("IsInf", "math.is_inf"),
            ("IsFinite", "math.is_finite"),
            ("CheckNumerics", "identity"),
            ("Snapshot", "identity"),
        )
    }
)


def node_call(definition: Json, places: Sequence[object]) -> NodeCall:
    """The function that a NodeDef means, with its arguments.

    Parameters
    ----------
    definition : JSON value
    places : sequence
        The value of each of its inputs.

    Raises
    ------
    Undecided
        If no row knows the operation, or not with such attributes.
    """
    op = definition.get("op")
    node = NODES.get(op) if isinstance(op, str) else None
    if node is None:
        raise Undecided(f"it is the operation {str(op)[:60]!r}, which this program does not know in Keras 3")
    attributes = attributes_of(definition)
    kwargs: dict[str, object] = {}
    for name, value in attributes.items():
        if name in node.attributes:
            kwargs[node.attributes[name]] = value
        elif name not in node.takes and name not in SILENT and name != "T" and value not in (False, 0, "", []):
            raise Undecided(f"its operation {op} has the attribute {name[:40]}={str(value)[:40]}")
    args = list(places) if node.arrange is None else node.arrange(places, attributes)
    return NodeCall(tuple(node.function.split(".")), args, kwargs)


def attributes_of(definition: Json) -> dict[str, object]:
    """A NodeDef's attributes as plain values: {"i": "3"} is 3, since JSON has no 64-bit numbers."""
    found = definition.get("attr") or {}
    return {str(name): _plain(value) for name, value in found.items() if isinstance(value, dict)}


def _plain(value: Mapping[str, Json]) -> object:
    for kind, item in value.items():
        if kind == "i":
            return int(item)
        if kind in ("b", "f"):
            return item
        if kind == "type":
            return _KINDS.get(str(item), str(item))
        if kind == "s":
            return _text(item)
        if kind == "list" and isinstance(item, dict):
            return [_plain({one: part}) for one, parts in item.items() for part in parts]
    return None


def _text(value: Json) -> str:
    """Bytes, which JSON has as base64."""
    try:
        return base64.b64decode(str(value), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise Undecided("an attribute of its operation is damaged") from error
