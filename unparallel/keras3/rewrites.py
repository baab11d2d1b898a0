"""The few translations that need arrays or several layers, each named in a row of `layers`.

A rewrite gets the old layer, the new class and the new config, and returns the layers that stand for it; the last one
bears the old name.  Each is exact, or says in a note what differs.
"""

from __future__ import annotations

from typing import Callable, List, Sequence

from ..model import Json, TensorKey, element_count
from .arrays import changed, constant, joined
from .lambdas import function, of_activation
from .objects import CODE, HARD_SIGMOID, activation, plain, serialized_layer
from .shapes import outputs
from .values import AS_LAYER, Array, Call, Config, Layer, Model, Old, Piece, TensorSpec

Rewrite = Callable[[Old, str, Config], List[Piece]]
# clip(0.2 x + 0.5, 0, 1) was hard_sigmoid until Keras 3, which has clip(x / 6 + 0.5, 0, 1)
SLOPE, OFFSET, FACTOR = 0.2, 0.5, 1.2
LETTERS = "bcdefgh"


def numbered(arrays: Sequence[Array], prefix: str = "vars") -> tuple[tuple[str, Array], ...]:
    """Arrays by their place among a layer's variables."""
    return tuple((f"{prefix}/{i}", array) for i, array in enumerate(arrays))


def one(old: Old, to: str, config: Config, prefix: str = "vars") -> list[Piece]:
    """The layer itself, its arrays as they are."""
    return [Piece(to, config, numbered(old.arrays, prefix))]


# -- activations ------------------------------------------------------------------------------------------

# which arrays make what is activated: all but these
_UNSCALED = {"SeparableConv1D": (0,), "SeparableConv2D": (0,)}


def hard_sigmoid(old: Old, to: str, config: Config) -> list[Piece]:
    """A layer with an activation: hard_sigmoid by scaling, a layer as activation behind it."""
    function = config.get("activation")
    if isinstance(function, dict):
        return _activated_behind(old, to, config, function)
    if function != HARD_SIGMOID:
        return one(old, to, config)
    spared = _UNSCALED.get(to, ())
    arrays = [array if i in spared else changed(array, "times", FACTOR) for i, array in enumerate(old.arrays)]
    old.note("scaled", _said("its kernel and bias"))
    return [Piece(to, config, numbered(arrays))]


def _said(what: str) -> str:
    return (
        f"{what} times {FACTOR}: hard_sigmoid is clip(x / 6 + 0.5, 0, 1) in Keras 3, and was clip(0.2 x + 0.5, 0, 1); "
        "further training takes other steps"
    )


def _activated_behind(old: Old, to: str, config: Config, function: Json) -> list[Piece]:
    first = Piece(to, dict(config, activation="linear"), numbered(old.arrays))
    linear = old._replace(config=dict(old.config, activation="linear"))
    second = _activation_of(old, function, outputs(linear)[:1])
    old.note("expanded", f"its activation is a layer of its own, {second.class_name}")
    return [first, second]


def _activation_of(old: Old, function: Json, inputs: Sequence[TensorSpec]) -> Piece:
    """An activation as a layer: one of Keras 3's, or the operations that its code was followed to."""
    if function["class_name"] == CODE:
        return of_activation(old, function["config"]["function"], tuple(inputs))
    return Piece(str(function["class_name"]), dict(function["config"]))


def activation_layer(old: Old, to: str, config: Config) -> list[Piece]:
    """Activation."""
    function = config["activation"]
    if isinstance(function, dict):
        return [_activation_of(old, function, old.inputs)]
    if function != HARD_SIGMOID:
        return [Piece(to, config)]
    old.note("expanded", "hard_sigmoid was clip(0.2 x + 0.5, 0, 1): written as Rescaling and ReLU")
    return [Piece("Rescaling", {"scale": SLOPE, "offset": OFFSET}), Piece("ReLU", {"max_value": 1.0})]


def _old_hard_sigmoid() -> Json:
    layers = [
        dict(serialized_layer("Rescaling", {"scale": SLOPE, "offset": OFFSET})),
        dict(serialized_layer("ReLU", {"max_value": 1.0})),
    ]
    config = {"name": "hard_sigmoid", "trainable": True, "layers": layers}
    return {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": None}


def softmax(old: Old, to: str, config: Config) -> list[Piece]:
    """Softmax: Keras 3's applies the incoming mask, the old one did not."""
    axis = config.get("axis", -1)
    if axis == -1 or (old.shape is not None and axis == len(old.shape) - 1):
        return [Piece("Activation", {"activation": "softmax"})]
    return [Piece(to, config)]


def prelu(old: Old, to: str, config: Config) -> list[Piece]:
    """PReLU: Keras 1 forgot `shared_axes`; they are those where the weight is of length 1."""
    if "shared_axes" not in config and old.arrays:
        shared = [i + 1 for i, length in enumerate(old.arrays[0].shape) if length == 1]
        if shared:
            old.note("assumed", f"shared_axes {shared}, by its weight's shape: Keras 1 did not write them down")
        config = dict(config, shared_axes=shared or None)
    return one(old, to, config)


# -- normalization ----------------------------------------------------------------------------------------


def batch_normalization(old: Old, to: str, config: Config) -> list[Piece]:
    """BatchNormalization: one axis; what renorm and virtual batches add is for training."""
    axis = plain(config.get("axis", -1))
    if isinstance(axis, list):
        if len(axis) != 1:
            raise old.refuse(f"it normalizes over the axes {axis}, Keras 3 over one")
        axis = axis[0]
    arrays = list(old.arrays)
    if old.config.get("renorm"):
        arrays = arrays[: 2 + bool(config.get("scale", True)) + bool(config.get("center", True))]
        old.note("differs", "training differs: Keras 3.4 has no renorm, whose variables are left out")
    if old.config.get("virtual_batch_size"):
        old.note("differs", "training differs: Keras 3 has no virtual batches")
        arrays = [changed(array, "reshape", (element_count(array.shape),)) for array in arrays]
        axis = axis - 1 if axis > 0 else axis
    if any(len(array.shape) != 1 for array in arrays):
        raise old.refuse("its weights are no vectors")
    return [Piece(to, dict(config, axis=axis), numbered(arrays))]


def layer_normalization(old: Old, to: str, config: Config) -> list[Piece]:
    """LayerNormalization: a list of one axis is that axis."""
    axis = config.get("axis", -1)
    if isinstance(axis, list) and len(axis) == 1:
        config = dict(config, axis=axis[0])
    return one(old, to, config)


def normalization(old: Old, to: str, config: Config) -> list[Piece]:
    """Normalization of TensorFlow 2.3 on: a mean and a variance for each place along the axes that are kept."""
    if len(old.arrays) not in (0, 3):
        raise old.refuse(f"it has {len(old.arrays)} weights, not a mean, a variance and a count", "the file is damaged")
    flat = [changed(array, "reshape", (element_count(array.shape),)) for array in old.arrays[:2]]
    axes = plain(config.get("axis", -1))
    single = not isinstance(axes, list) or len(axes) == 1
    return [Piece(to, config, numbered([*flat, *old.arrays[2:]] if single else old.arrays))]


# -- recurrent layers -------------------------------------------------------------------------------------


def _prefix(to: str) -> str:
    return "vars" if to.endswith("Cell") else "cell/vars"


def _scaled_gates(old: Old, arrays: Sequence[Array], count: int, wanted: tuple[int, ...]) -> list[Array]:
    if any(not array.shape or array.shape[-1] % count for array in arrays):
        raise old.refuse("its weights do not fit its gates", "the file is damaged")
    return [changed(array, "times_blocks", FACTOR, count, wanted) for array in arrays]


def simple_rnn(old: Old, to: str, config: Config) -> list[Piece]:
    """SimpleRNN: what is activated is a sum of products, so its factor goes into them."""
    arrays = list(old.arrays)
    if config.get("activation") == HARD_SIGMOID:
        arrays = [changed(array, "times", FACTOR) for array in arrays]
        old.note("scaled", _said("its weights"))
    _say_layers(old, config)
    return [Piece(to, config, numbered(arrays, _prefix(to)))]


def gru(old: Old, to: str, config: Config) -> list[Piece]:
    """GRU: gates z, r, and the candidate."""
    config.setdefault("reset_after", False)  # Keras 3's default is true
    arrays = list(old.arrays)
    wanted: tuple[int, ...] = (0, 1) if config.get("recurrent_activation") == HARD_SIGMOID else ()
    wanted += (2,) if config.get("activation") == HARD_SIGMOID else ()
    if wanted:
        arrays = _scaled_gates(old, arrays, 3, wanted)
        old.note("scaled", _said("the gates' weights"))
    _say_layers(old, config)
    return [Piece(to, config, numbered(arrays, _prefix(to)))]


def lstm(old: Old, to: str, config: Config) -> list[Piece]:
    """LSTM and ConvLSTM2D: gates i, f, o around the candidate c."""
    arrays = list(old.arrays)
    if config.get("recurrent_activation") == HARD_SIGMOID:
        arrays = _scaled_gates(old, arrays, 4, (0, 1, 3))
        old.note("scaled", _said("the gates' weights"))
    if config.get("activation") == HARD_SIGMOID:
        # it is applied to the state too, which no factor reaches
        config = dict(config, activation=_old_hard_sigmoid())
    _say_layers(old, config)
    return [Piece(to, config, numbered(arrays, _prefix(to)))]


def _say_layers(old: Old, config: Config) -> None:
    """Say that an activation is a layer, which cannot stand behind: it is applied in each step."""
    for key in ("activation", "recurrent_activation"):
        if isinstance(config.get(key), dict):
            old.note("differs", f"its {key} is written as {config[key]['class_name']}, {AS_LAYER}")


def cudnn_lstm(old: Old, to: str, config: Config) -> list[Piece]:
    """CuDNNLSTM: what cuDNN keeps transposed is turned, its two biases are added (`_convert_rnn_weights`)."""
    config.update(activation="tanh", recurrent_activation="sigmoid", use_bias=True)
    kernel, recurrent, bias = _three(old)
    old.note("scaled", "weights turned from cuDNN's order to that of LSTM; its two biases are added up")
    arrays = [
        changed(kernel, "cudnn_kernel", 4),
        changed(recurrent, "cudnn_recurrent", 4),
        changed(bias, "sum_halves"),
    ]
    return [Piece(to, config, numbered(arrays, "cell/vars"))]


def cudnn_gru(old: Old, to: str, config: Config) -> list[Piece]:
    """CuDNNGRU: GRU with `reset_after`, which has both biases."""
    config.update(activation="tanh", recurrent_activation="sigmoid", use_bias=True, reset_after=True)
    kernel, recurrent, bias = _three(old)
    old.note("scaled", "weights turned from cuDNN's order to that of GRU with reset_after")
    arrays = [
        changed(kernel, "cudnn_kernel", 3),
        changed(recurrent, "cudnn_recurrent", 3),
        changed(bias, "reshape", (2, bias.shape[0] // 2)),
    ]
    return [Piece(to, config, numbered(arrays, "cell/vars"))]


def _three(old: Old) -> tuple[Array, Array, Array]:
    if [len(array.shape) for array in old.arrays] != [2, 2, 1]:
        raise old.refuse("its weights are not those of a cuDNN layer", "the file is damaged")
    return old.arrays[0], old.arrays[1], old.arrays[2]


DENSE = (
    "activation",
    "use_bias",
    "kernel_initializer",
    "kernel_regularizer",
    "kernel_constraint",
    "bias_initializer",
    "bias_regularizer",
    "bias_constraint",
    "activity_regularizer",
)


# -- convolutions -----------------------------------------------------------------------------------------


def local(old: Old, to: str, config: Config) -> list[Piece]:
    """LocallyConnected1D and 2D, which are no more: a convolution lists the patches, EinsumDense weighs them.

    The kernel of implementation 1 is (places, patch, filters), `keras/layers/local.py`.
    """
    if config.get("implementation", 1) != 1:
        raise old.refuse(f"implementation {config['implementation']} keeps its kernel otherwise")
    if config.get("data_format") == "channels_first":
        raise old.refuse("data_format 'channels_first' cannot be expressed")
    if config.get("padding", "valid") != "valid":
        raise old.refuse(f"padding {config['padding']!r} cannot be expressed")
    kernel = old.arrays[0]
    size = tuple(config["kernel_size"])
    channels = kernel.shape[1] // max(1, element_count(size))
    filters = kernel.shape[2]
    places = _places(old, size, tuple(config["strides"]))
    patch = Piece(
        f"Conv{len(size)}D",
        {
            "filters": kernel.shape[1],
            "kernel_size": list(size),
            "strides": config["strides"],
            "padding": "valid",
            "use_bias": False,
            "trainable": False,
        },
        numbered([constant("patches", size, channels)]),
    )
    letters = LETTERS[: len(size)]
    arrays = [changed(kernel, "reshape", places + kernel.shape[1:])] + list(old.arrays[1:])
    dense = {key: config[key] for key in DENSE if key in config}
    dense.update(
        equation=f"a{letters}y,{letters}yz->a{letters}z",
        output_shape=list(places) + [filters],
        bias_axes=letters + "z" if dense.pop("use_bias", True) else None,
    )
    old.note("expanded", f"written as {patch.class_name}, which lists the patches, and EinsumDense")
    inner = hard_sigmoid(old._replace(arrays=tuple(arrays)), "EinsumDense", dense)
    return [patch] + inner


def _places(old: Old, size: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """How many patches there are along each axis."""
    if len(size) == 1:
        return (old.arrays[0].shape[0],)
    if len(old.arrays) > 1:
        return old.arrays[1].shape[:-1]
    lengths = old.shape[1:-1] if old.shape is not None else (None,)
    if None in lengths:
        raise old.refuse("without a bias, the size of its input must be known")
    return tuple((int(length or 0) - k) // s + 1 for length, k, s in zip(lengths, size, strides))


def up_sampling(old: Old, to: str, config: Config) -> list[Piece]:
    """UpSampling2D: the bilinear one of standalone Keras has the grid of TensorFlow 1, without half-pixel centres.

    `keras/backend/tensorflow_backend.py` of 2.2.3 to 2.3.1 calls `tf.image.resize_bilinear`.  Repeated s times and
    averaged over windows of s, an image is interpolated on that very grid.
    """
    if config.get("interpolation", "nearest") == "nearest" or old.context.tf_keras:
        return [Piece(to, config)]
    if config["interpolation"] != "bilinear":
        raise old.refuse(f"interpolation {config['interpolation']!r}")
    size = config.get("size", 2)
    sizes = [size, size] if isinstance(size, int) else list(size)
    layout = {"data_format": config.get("data_format", "channels_last")}
    old.note("expanded", "bilinear without half-pixel centres: written as repetition and averages")
    if all(number in (1, 2, 4, 8, 16) for number in sizes):
        return _by_twos(sizes, layout)
    return [Piece("Functional", {}, submodel=_interpolation(sizes, layout))]


def _by_twos(sizes: list[int], layout: Config) -> list[Piece]:
    pieces: list[Piece] = []
    while max(sizes) > 1 or not pieces:
        step = [min(2, number) for number in sizes]
        sizes = [number // 2 if number > 1 else 1 for number in sizes]
        pieces.append(Piece("UpSampling2D", dict(layout, size=step, interpolation="nearest")))
        pieces.append(Piece("AveragePooling2D", dict(layout, pool_size=step, strides=[1, 1], padding="same")))
    return pieces


def _interpolation(sizes: list[int], layout: Config) -> Model:
    """A model of its own, since only a model may hold operations.

    An operation such as Pad takes no `name` before Keras 3.11.
    """
    last = layout["data_format"] == "channels_last"
    ends = [[0, number - 1] for number in sizes]
    widths = [[0, 0]] + (ends + [[0, 0]] if last else [[0, 0]] + ends)
    pooled = dict(layout, pool_size=sizes, strides=[1, 1], padding="valid")
    chain = [
        ("image", "InputLayer", {"batch_shape": [None] * 4, "dtype": "float32", "sparse": False}, "keras.layers"),
        ("repeated", "UpSampling2D", dict(layout, size=sizes, interpolation="nearest"), "keras.layers"),
        ("padded", "Pad", {"pad_width": widths, "mode": "symmetric"}, "keras.src.ops.numpy"),
        ("averaged", "AveragePooling2D", pooled, "keras.layers"),
    ]
    layers = []
    for i, (name, class_name, config, module) in enumerate(chain):
        calls = (Call((TensorKey(chain[i - 1][0], 0, 0),)),) if i else (Call(()),)
        layers.append(Layer(name, class_name, config, module, calls=calls))
    return Model("", False, tuple(layers), (TensorKey("image", 0, 0),), (TensorKey("averaged", 0, 0),))


def resizing(old: Old, to: str, config: Config) -> list[Piece]:
    """Resizing: the same words, without antialiasing in both."""
    return [Piece(to, config)]


# -- Keras 1's own ----------------------------------------------------------------------------------------

_MERGES = {"sum": "Add", "mul": "Multiply", "ave": "Average", "max": "Maximum"}


def merge(old: Old, to: str, config: Config) -> list[Piece]:
    """Merge of Keras 1 (`engine/topology.py`)."""
    if old.config.get("layers"):
        raise old.refuse("it holds its own layers", "build it with the functional API and save it again")
    mode = config.get("mode")
    if mode in _MERGES:
        return [Piece(_MERGES[mode], {})]
    if mode == "concat":
        return [Piece("Concatenate", {"axis": config.get("concat_axis", -1)})]
    if mode == "dot":
        return [Piece("Dot", {"axes": config.get("dot_axes", -1), "normalize": False})]
    if mode == "cos" and old.shape is not None and len(old.shape) == 2:
        return [
            Piece("Dot", {"axes": config.get("dot_axes", -1), "normalize": True}),
            Piece("Reshape", {"target_shape": [1, -1]}),
        ]
    raise old.refuse(f"mode {mode!r} cannot be expressed" if isinstance(mode, str) else "its mode is Python code")


def highway(old: Old, to: str, config: Config) -> list[Piece]:
    """Highway: t * f(x W + b) + (1 - t) * x with t = sigmoid(x W_carry + b_carry)."""
    if len(old.arrays) not in (2, 4) or any(len(array.shape) != 2 for array in old.arrays[:2]):
        raise old.refuse("its weights are not those of a Highway layer", "the file is damaged")
    biased = len(old.arrays) == 4
    units = old.arrays[0].shape[1]
    function = activation(old, config.get("activation"))
    plain_arrays, carry = [old.arrays[i::2] for i in (0, 1)]
    base = {"units": units, "use_bias": biased}
    transform = hard_sigmoid(old._replace(arrays=plain_arrays), "Dense", dict(base, activation=function))
    if len(transform) != 1:
        raise old.refuse("its activation is a layer")
    old.note("expanded", "written as Dense, Dense, Multiply, Rescaling, Multiply, Add")
    return [
        Piece("Dense", dict(base, activation="sigmoid"), numbered(carry), (-1,)),
        transform[0]._replace(inputs=(-1,)),
        Piece("Multiply", {}, (), (0, 1)),
        Piece("Rescaling", {"scale": -1.0, "offset": 1.0}, (), (0,)),
        Piece("Multiply", {}, (), (3, -1)),
        Piece("Add", {}, (), (2, 4)),
    ]


def maxout(old: Old, to: str, config: Config) -> list[Piece]:
    """MaxoutDense: the largest of several Dense; W is (features, input, units), b (features, units)."""
    kernel = old.arrays[0]
    if len(kernel.shape) != 3:
        raise old.refuse("its kernel has not three axes", "the file is damaged")
    features, width, units = kernel.shape
    arrays = [changed(changed(kernel, "transpose", (1, 0, 2)), "reshape", (width, features * units))]
    arrays += [changed(bias, "reshape", (features * units,)) for bias in old.arrays[1:]]
    old.note("expanded", "written as Dense, Reshape, GlobalMaxPooling1D")
    return [
        Piece("Dense", {"units": features * units, "use_bias": len(arrays) > 1}, numbered(arrays)),
        Piece("Reshape", {"target_shape": [features, units]}),
        Piece("GlobalMaxPooling1D", {}),
    ]


def _weighed(old: Old, kernel: Array, bias: tuple[Array, ...] = (), **config: Json) -> Piece:
    """Element times element: EinsumDense over the axes along which the weight has a length."""
    shape = kernel.shape
    wide = [i for i, length in enumerate(shape) if length != 1] or [len(shape) - 1]
    letters = LETTERS[: len(shape)]
    used = "".join(letters[i] for i in wide)
    arrays = [changed(array, "reshape", tuple(shape[i] for i in wide)) for array in (kernel,) + bias]
    config.update(
        equation=f"a{letters},{used}->a{letters}",
        output_shape=[length if i in wide else None for i, length in enumerate(shape)],
        bias_axes=used if bias else None,
    )
    return Piece("EinsumDense", config, numbered(arrays), (-1,))


def srelu(old: Old, to: str, config: Config) -> list[Piece]:
    """SReLU: t_left + PReLU(x - t_left) + (a_right - 1) relu(x - t_left - |t_right|), from `SReLU.call` of 1.2.2."""
    if len(old.arrays) != 4:
        raise old.refuse("its weights are not those of a SReLU", "the file is damaged")
    t_left, a_left, t_right, a_right = old.arrays
    ones = constant("full", t_left.shape, 1.0)
    shared = [i + 1 for i, length in enumerate(a_left.shape) if length == 1] or None
    old.note("expanded", "written as EinsumDense, PReLU, ReLU, Add")
    return [
        _weighed(old, ones, (changed(t_left, "times", -1.0),)),
        Piece("PReLU", {"shared_axes": shared}, numbered([a_left])),
        _weighed(old, ones, (joined([t_left, t_right], "right_end"),)),
        Piece("ReLU", {}),
        _weighed(old, changed(a_right, "plus", -1.0), (t_left,))._replace(inputs=(3,)),
        Piece("Add", {}, (), (1, 4)),
    ]


def parametric_softplus(old: Old, to: str, config: Config) -> list[Piece]:
    """ParametricSoftplus: alpha softplus(beta x)."""
    if len(old.arrays) != 2:
        raise old.refuse("its weights are not those of a ParametricSoftplus", "the file is damaged")
    alphas, betas = old.arrays
    old.note("expanded", "written as two EinsumDense")
    return [_weighed(old, betas, activation="softplus"), _weighed(old, alphas)._replace(inputs=(0,))]


# -- the rest ---------------------------------------------------------------------------------------------


def bare(old: Old, to: str, config: Config) -> list[Piece]:
    """SpatialDropout: its class takes no `trainable`."""
    config.pop("trainable", None)
    return [Piece(to, config)]


def nothing(old: Old, to: str, config: Config) -> list[Piece]:
    """What is gone, and did nothing in prediction."""
    old.note("differs", f"training differs: Keras 3 has no {old.class_name}, which did nothing in prediction")
    return [Piece(to, dict(config, activation="linear"))]


def attention(old: Old, to: str, config: Config) -> list[Piece]:
    """Attention, AdditiveAttention: `causal` is an argument of the call."""
    kwargs = (("use_causal_mask", True),) if old.config.get("causal") else ()
    config.setdefault("use_scale", to == "AdditiveAttention")
    return [Piece(to, config, numbered(old.arrays), kwargs=kwargs)]


_HEADS = ("query_dense", "key_dense", "value_dense", "output_dense")


def multi_head_attention(old: Old, to: str, config: Config) -> list[Piece]:
    """MultiHeadAttention of tf.keras 2.4 and later: four EinsumDense inside, in the same order."""
    each = 2 if config.get("use_bias", True) else 1
    if len(old.arrays) != 4 * each:
        raise old.refuse(f"it has {len(old.arrays)} weights, not {4 * each}", "the file is damaged")
    arrays = [(f"{_HEADS[i // each]}/vars/{i % each}", array) for i, array in enumerate(old.arrays)]
    return [Piece(to, config, tuple(arrays))]


REWRITES: dict[str, Rewrite] = {
    rewrite.__name__: rewrite
    for rewrite in (
        hard_sigmoid,
        activation_layer,
        softmax,
        prelu,
        batch_normalization,
        layer_normalization,
        normalization,
        simple_rnn,
        gru,
        lstm,
        cudnn_lstm,
        cudnn_gru,
        local,
        up_sampling,
        resizing,
        merge,
        highway,
        maxout,
        srelu,
        parametric_softplus,
        bare,
        nothing,
        attention,
        multi_head_attention,
        function,
    )
}
