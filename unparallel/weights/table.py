"""The weights that each built-in layer of Keras 1, Keras 2 and tf.keras owns, as data.

One row a class: a short function from the layer's config to its weights, in the order of creation,
with whatever the config alone says of their shapes.  Classes that own nothing are names in a set.
How the rows are applied (wrappers, frozen layers, nested models) is `expected`'s business.
"""

from typing import Callable, Dict, FrozenSet, NamedTuple, Optional, Tuple, Union

from ..model import Json

Config = Dict[str, Json]

#: A known length, a letter that stands for the same length throughout one layer, or None: any length.
Dim = Union[int, str, None]


class Slot(NamedTuple):
    """A place for one weight of a layer.

    Attributes
    ----------
    role : str
        Last part of the weight's name, such as "kernel".
    shape : tuple of (int, str or None), or None
        As stored, no batch axis.  Equal letters are equal lengths within one layer; None is any length,
        and a shape of None is any shape.
    part : str
        Which inner layer of a wrapper owns it; the weights of one part have one prefix.
    """

    role: str
    shape: Optional[Tuple[Dim, ...]] = None
    part: str = ""


class Spec(NamedTuple):
    """What a layer owns: its trainable weights in order, then the others in order."""

    trainable: Tuple[Slot, ...] = ()
    rest: Tuple[Slot, ...] = ()

    def frozen(self) -> "Spec":
        """The same layer with `trainable` false: everything moves to the second list."""
        return Spec((), self.trainable + self.rest)


#: None where the count depends on more than the config says.
Row = Callable[[Config], Optional[Spec]]


def is_keras_1(config: Config) -> bool:
    """Whether a layer's config is in the words of Keras 1."""
    words = ("init", "inner_init", "gamma_init", "W_regularizer", "nb_filter", "consume_less", "dim_ordering", "mode")
    return any(word in config for word in words)


def _take(config: Config, *names: str) -> Json:
    """The value of the first of the names that the config has; None if it has none."""
    for name in names:
        if config.get(name) is not None:
            return config[name]
    return None


def _times(factor: int, length: Dim) -> Dim:
    return factor * length if isinstance(length, int) else None


def _biased(config: Config) -> bool:
    """`use_bias` (Keras 2) or `bias` (Keras 1); both default to true."""
    for name in ("use_bias", "bias"):
        if name in config:
            return bool(config[name])
    return True


def _owns(*slots: Optional[Slot]) -> Spec:
    return Spec(tuple(slot for slot in slots if slot is not None))


def _kernel_and_bias(config: Config, kernel: Slot, bias: Tuple[Dim, ...]) -> Spec:
    """A kernel with or without a bias, under the names of the config's dialect."""
    names = ("W", "b") if is_keras_1(config) else (kernel.role, "bias")
    return _owns(Slot(names[0], kernel.shape), Slot(names[1], bias) if _biased(config) else None)


def _dense(config: Config) -> Spec:
    units = _take(config, "units", "output_dim")
    return _kernel_and_bias(config, Slot("kernel", ("i", units)), (units,))


def _sizes(config: Config, rank: int) -> Tuple[Dim, ...]:
    size = config.get("kernel_size")
    if isinstance(size, int):
        return (size,) * rank
    if isinstance(size, (list, tuple)) and len(size) == rank:
        return tuple(size)
    return (None,) * rank


def _conv(rank: int) -> Row:
    def row(config: Config) -> Spec:
        filters = _take(config, "filters", "nb_filter")
        if is_keras_1(config):
            # its kernels turn with dim_ordering, and a 1-D kernel has four axes
            return _kernel_and_bias(config, Slot("W", (None,) * max(rank + 2, 4)), (filters,))
        return _kernel_and_bias(config, Slot("kernel", _sizes(config, rank) + ("i", filters)), (filters,))

    return row


def _conv_transpose(rank: int) -> Row:
    def row(config: Config) -> Spec:
        filters = _take(config, "filters", "nb_filter")
        if is_keras_1(config):
            return _kernel_and_bias(config, Slot("W", (None,) * (rank + 2)), (filters,))
        return _kernel_and_bias(config, Slot("kernel", _sizes(config, rank) + (filters, "i")), (filters,))

    return row


def _depthwise(rank: int) -> Row:
    def row(config: Config) -> Spec:
        shape = _sizes(config, rank) + (None, config.get("depth_multiplier"))
        return _kernel_and_bias(config, Slot("depthwise_kernel", shape), (None,))

    return row


def _separable(rank: int) -> Row:
    def row(config: Config) -> Spec:
        filters = _take(config, "filters", "nb_filter")
        old = is_keras_1(config)
        depthwise: Tuple[Dim, ...] = (None,) * (rank + 2)
        pointwise = depthwise
        if not old:
            depthwise = _sizes(config, rank) + (None, config.get("depth_multiplier"))
            pointwise = (1,) * rank + (None, filters)
        bias = Slot("b" if old else "bias", (filters,)) if _biased(config) else None
        return _owns(Slot("depthwise_kernel", depthwise), Slot("pointwise_kernel", pointwise), bias)

    return row


def _local(rank: int) -> Row:
    def row(config: Config) -> Spec:
        filters = _take(config, "filters", "nb_filter")
        dense = config.get("implementation", 1) == 1
        kernel = Slot("kernel", (None, None, filters) if dense else None)
        return _kernel_and_bias(config, kernel, (None,) * rank + (filters,))

    return row


def _along(axis: Json) -> Optional[Tuple[Dim, ...]]:
    """Shape of a weight along one axis; over several axes it has the input's rank, which is not known."""
    several = isinstance(axis, (list, tuple)) and len(axis) > 1
    return None if several else ("c",)


def _scale_and_center(config: Config, shape: Optional[Tuple[Dim, ...]]) -> Tuple[Slot, ...]:
    names = [name for name, key in (("gamma", "scale"), ("beta", "center")) if config.get(key, True)]
    return tuple(Slot(name, shape) for name in names)


def _batch_normalization(config: Config) -> Optional[Spec]:
    if config.get("renorm"):
        return None  # three weights more or four, depending on the TensorFlow version
    shape = _along(config.get("axis"))
    if is_keras_1(config):
        names = ("gamma", "beta"), ("running_mean", "running_std")
        return Spec(*(tuple(Slot(name, shape) for name in half) for half in names))
    rest = Slot("moving_mean", shape), Slot("moving_variance", shape)
    return Spec(_scale_and_center(config, shape), rest)


def _layer_normalization(config: Config) -> Spec:
    return Spec(_scale_and_center(config, _along(config.get("axis"))))


def _group_normalization(config: Config) -> Spec:
    return Spec(_scale_and_center(config, ("c",)))


def _embedding(config: Config) -> Spec:
    role = "W" if is_keras_1(config) else "embeddings"
    return _owns(Slot(role, (config.get("input_dim"), config.get("output_dim"))))


def _gates(config: Config, letters: str, shapes: Tuple[Optional[Tuple[Dim, ...]], ...]) -> Spec:
    """Keras 1: input, recurrent and bias weights of each gate in turn, or of all gates in one."""
    roles = [kind + ("_" + letter if letter else "") for letter in letters.split(",") for kind in "WUb"]
    return _owns(*(Slot(role, shapes[k % 3]) for k, role in enumerate(roles)))


def _recurrent(gates: int, letters: str) -> Callable[[Config], Spec]:
    def row(config: Config) -> Spec:
        units = _take(config, "units", "output_dim")
        if is_keras_1(config):
            together = config.get("consume_less") == "gpu"
            width = _times(gates, units) if together else units
            return _gates(config, "" if together else letters, (("i", width), (units, width), (width,)))
        width = _times(gates, units)
        bias: Tuple[Dim, ...] = (2, width) if config.get("reset_after") else (width,)
        return _owns(
            Slot("kernel", ("i", width)),
            Slot("recurrent_kernel", (units, width)),
            Slot("bias", bias) if _biased(config) else None,
        )

    return row


def _peephole_lstm(config: Config) -> Spec:
    gates = ("input", "forget", "output")
    peepholes = [Slot(gate + "_gate_peephole_weights", (config.get("units"),)) for gate in gates]
    return _owns(*_recurrent(4, "i,c,f,o")(config).trainable, *peepholes)


def _cudnn(gates: int) -> Row:
    def row(config: Config) -> Spec:
        units = config.get("units")
        width = _times(gates, units)
        bias = Slot("bias", (_times(2 * gates, units),))  # one for the input, one for the state
        return _owns(Slot("kernel", ("i", width)), Slot("recurrent_kernel", (units, width)), bias)

    return row


def _conv_lstm(rank: int) -> Row:
    def row(config: Config) -> Spec:
        filters = _take(config, "filters", "nb_filter")
        if is_keras_1(config):
            any_kernel = (None,) * (rank + 2)
            return _gates(config, "i,c,f,o", (any_kernel, any_kernel, (filters,)))
        sizes, width = _sizes(config, rank), _times(4, filters)
        return _owns(
            Slot("kernel", sizes + ("i", width)),
            Slot("recurrent_kernel", sizes + (filters, width)),
            Slot("bias", (width,)) if _biased(config) else None,
        )

    return row


def _prelu(config: Config) -> Spec:
    return _owns(Slot("alphas" if is_keras_1(config) else "alpha"))


def _highway(config: Config) -> Spec:
    kernels = Slot("W", ("i", "i")), Slot("W_carry", ("i", "i"))
    biases = Slot("b", ("i",)), Slot("b_carry", ("i",))
    return _owns(*kernels, *(biases if _biased(config) else ()))


def _maxout_dense(config: Config) -> Spec:
    units, features = config.get("output_dim"), config.get("nb_feature")
    bias = Slot("b", (features, units)) if _biased(config) else None
    return _owns(Slot("W", (features, "i", units)), bias)


def _attention(config: Config) -> Spec:
    scale = Slot("scale", ()) if config.get("use_scale") else None
    concat = Slot("concat_score_weight", ()) if config.get("score_mode") == "concat" else None
    return _owns(scale, concat)


def _additive_attention(config: Config) -> Spec:
    return _owns(Slot("scale", (None,)) if config.get("use_scale", True) else None)


def _named(*slots: Slot) -> Row:
    def row(config: Config) -> Spec:
        return Spec(slots)

    return row


ROWS: Dict[str, Row] = {
    "Dense": _dense,
    "TimeDistributedDense": _dense,
    "MaxoutDense": _maxout_dense,
    "Highway": _highway,
    "Conv1D": _conv(1),
    "Conv2D": _conv(2),
    "Conv3D": _conv(3),
    "Convolution1D": _conv(1),
    "Convolution2D": _conv(2),
    "Convolution3D": _conv(3),
    "AtrousConv1D": _conv(1),
    "AtrousConv2D": _conv(2),
    "AtrousConvolution1D": _conv(1),
    "AtrousConvolution2D": _conv(2),
    "Conv1DTranspose": _conv_transpose(1),
    "Conv2DTranspose": _conv_transpose(2),
    "Conv3DTranspose": _conv_transpose(3),
    "Convolution2DTranspose": _conv_transpose(2),
    "Convolution3DTranspose": _conv_transpose(3),
    "Deconv2D": _conv_transpose(2),
    "Deconv3D": _conv_transpose(3),
    "Deconvolution2D": _conv_transpose(2),
    "Deconvolution3D": _conv_transpose(3),
    "DepthwiseConv1D": _depthwise(1),
    "DepthwiseConv2D": _depthwise(2),
    "SeparableConv1D": _separable(1),
    "SeparableConv2D": _separable(2),
    "SeparableConvolution1D": _separable(1),
    "SeparableConvolution2D": _separable(2),
    "LocallyConnected1D": _local(1),
    "LocallyConnected2D": _local(2),
    "BatchNormalization": _batch_normalization,
    "BatchNormalizationV1": _batch_normalization,
    "BatchNormalizationV2": _batch_normalization,
    "SyncBatchNormalization": _batch_normalization,
    "LayerNormalization": _layer_normalization,
    "GroupNormalization": _group_normalization,
    "Embedding": _embedding,
    "SimpleRNN": _recurrent(1, ""),
    "SimpleRNNCell": _recurrent(1, ""),
    "GRU": _recurrent(3, "z,r,h"),
    "GRUV2": _recurrent(3, "z,r,h"),
    "GRUCell": _recurrent(3, "z,r,h"),
    "LSTM": _recurrent(4, "i,c,f,o"),
    "LSTMV2": _recurrent(4, "i,c,f,o"),
    "LSTMCell": _recurrent(4, "i,c,f,o"),
    "UnifiedLSTM": _recurrent(4, "i,c,f,o"),
    "UnifiedGRU": _recurrent(3, "z,r,h"),
    "PeepholeLSTMCell": _peephole_lstm,
    "CuDNNGRU": _cudnn(3),
    "CuDNNLSTM": _cudnn(4),
    "ConvLSTM1D": _conv_lstm(1),
    "ConvLSTM2D": _conv_lstm(2),
    "ConvLSTM3D": _conv_lstm(3),
    "ConvLSTM2DCell": _conv_lstm(2),
    "PReLU": _prelu,
    "ParametricSoftplus": _named(Slot("alphas"), Slot("betas")),
    "SReLU": _named(Slot("t_left"), Slot("a_left"), Slot("t_right"), Slot("a_right")),
    "Attention": _attention,
    "AdditiveAttention": _additive_attention,
}

_WEIGHTLESS = """
    InputLayer Activation ActivityRegularization Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D
    GaussianNoise GaussianDropout AlphaDropout Masking Lambda Flatten Reshape Permute RepeatVector
    LeakyReLU ELU ThresholdedReLU Softmax ReLU
    Merge Add Subtract Multiply Average Maximum Minimum Concatenate Dot
    MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D
    MaxPool1D MaxPool2D MaxPool3D AvgPool1D AvgPool2D AvgPool3D
    GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
    GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D
    UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D
    Cropping1D Cropping2D Cropping3D
    TensorFlowOpLayer TFOpLambda SlicingOpLambda ClassMethod InstanceMethod InstanceProperty
    AddMetric AddLoss UnitNormalization Rescaling
"""

#: Classes that own no weight in any version.
WEIGHTLESS: FrozenSet[str] = frozenset(_WEIGHTLESS.split())

_ROLES = """
    kernel bias recurrent_kernel depthwise_kernel pointwise_kernel embeddings gamma beta
    moving_mean moving_variance running_mean running_std alpha alphas betas
    W b U W_i U_i b_i W_c U_c b_c W_f U_f b_f W_o U_o b_o W_z U_z b_z W_r U_r b_r W_h U_h b_h W_carry b_carry
    t_left a_left t_right a_right scale concat_score_weight
    input_gate_peephole_weights forget_gate_peephole_weights output_gate_peephole_weights
"""

#: Every word that is a weight's role in some row: another row's word in a slot is a contradiction.
ROLES: FrozenSet[str] = frozenset(_ROLES.split())
