"""The shape and the type of what each layer of an old model gives, from its config and from what it reads.

A rank is known wherever class and config decide it, a length where the file knows it.  None stands for a length that
is not known, and for a whole shape that is not: what stands here is never wrong, but need not be all.
Sources: `compute_output_shape` in `keras/layers` of Keras 2.2.4 and 2.3.1, and `get_output_shape_for` of 1.2.2; what
TensorFlow 2.3 infers is at least as much.
"""

from __future__ import annotations

from typing import Callable, List, Mapping, Optional, Sequence, Tuple, Union

from ..model import Json, element_count
from . import objects
from .layers import ALIASES
from .names import modern
from .values import NONSENSE, Config, Old, TensorSpec, words

Known = Tuple[Optional[int], ...]
Shape = Optional[Known]
Shapes = List[Shape]
#: Gives the shape of the one output from those of the inputs, the first of which is known; or those of all outputs.
Rule = Callable[[Config, Sequence[Shape]], Union[Shape, Shapes]]
UNKNOWN = TensorSpec()
# more than any tensor has; a hostile config must not make us count for ever
LONGEST = 2**48
MOST_AXES = 64


# -- lengths and axes -----------------------------------------------------------------------------------------


def product(lengths: Sequence[int | None]) -> int | None:
    """Number of elements; None where a length is unknown."""
    known = [n for n in lengths if n is not None]
    return element_count(tuple(known)) if len(known) == len(lengths) else None


def broadcast(first: Shape, second: Shape) -> Shape:
    """The shape of an operation on two tensors, element by element, axes counted from the last.

    >>> broadcast((None, 1, 3), (2, None))
    (None, 2, 3)
    """
    if first is None or second is None:
        return None
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    return tuple(_joined(n, m) for n, m in pairs)


def _joined(n: int | None, m: int | None) -> int | None:
    if n == 1 or n == m:
        return m
    if m == 1 or m is None:
        return n
    return m if n is None else _unequal(n, m)


def _unequal(n: int, m: int) -> int:
    raise ValueError(f"lengths {n} and {m} do not fit")


def agreed(specs: Sequence[TensorSpec]) -> TensorSpec:
    """What is true of each of several tensors.

    >>> agreed([TensorSpec((None, 3, 4), "float32"), TensorSpec((None, 5, 4), "float32")])
    TensorSpec(shape=(None, None, 4), dtype='float32')
    """
    first = specs[0]
    if all(spec == first for spec in specs):
        return first
    kinds = {spec.dtype for spec in specs}
    kind = first.dtype if len(kinds) == 1 else None
    shapes = [spec.shape for spec in specs]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) > 1:
        return TensorSpec(None, kind)
    return TensorSpec(tuple(n[0] if len(set(n)) == 1 else None for n in zip(*known)), kind)


def refined(spec: TensorSpec, other: TensorSpec) -> TensorSpec:
    """A tensor of which two things are true."""
    if spec.shape is None or other.shape is None or len(spec.shape) != len(other.shape):
        return spec if spec.shape is not None else TensorSpec(other.shape, spec.dtype)
    return TensorSpec(tuple(m if n is None else n for n, m in zip(spec.shape, other.shape)), spec.dtype)


def _channels_first(config: Config) -> bool:
    return config.get("data_format") == "channels_first"


def _parts(config: Config, shape: Known) -> tuple[Known, int | None]:
    """(lengths between batch and channels, number of channels)."""
    return (shape[2:], shape[1]) if _channels_first(config) else (shape[1:-1], shape[-1])


def _whole(config: Config, batch: int | None, lengths: Known, channels: int | None) -> Known:
    return (batch, channels) + lengths if _channels_first(config) else (batch,) + lengths + (channels,)


def _each(value: Json, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _pairs(value: Json, count: int) -> list[list[int]]:
    """[[before, after], ...] of padding and cropping, however they are written down."""
    if isinstance(value, int):
        return [[value, value]] * count
    if count == 1 and not isinstance(value[0], (list, tuple)):
        return [list(value) * 2 if len(value) == 1 else list(value)]
    return [list(pair) if isinstance(pair, (list, tuple)) else [pair, pair] for pair in value]


# -- windows --------------------------------------------------------------------------------------------------


def _window(length: int | None, size: int, step: int, rate: int, padded: bool) -> int | None:
    if length is None:
        return None
    return (length - (1 if padded else (size - 1) * rate + 1)) // step + 1


def _slid(config: Config, lengths: Known, size: Json, step: Json) -> Known:
    count = len(lengths)
    rates = _each(config.get("dilation_rate", 1), count)
    padded = config.get("padding") in ("same", "causal")
    sizes, steps = _each(size, count), _each(step, count)
    return tuple(_window(n, k, s, r, padded) for n, k, s, r in zip(lengths, sizes, steps, rates))


def _convolution(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    lengths, channels = _parts(config, shape)
    lengths = _slid(config, lengths, config["kernel_size"], config.get("strides", 1))
    if "filters" in config:
        channels = config["filters"]
    else:  # a depthwise one
        channels = None if channels is None else channels * config.get("depth_multiplier", 1)
    return _whole(config, shape[0], lengths, channels)


def _depthwise(config: Config, shapes: Sequence[Shape]) -> Shape:
    # from tf.keras 2.3 on `filters` is there and None
    return _convolution({key: value for key, value in config.items() if key != "filters"}, shapes)


def _pooling(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    lengths, channels = _parts(config, shape)
    size = config.get("pool_size", 2)
    return _whole(config, shape[0], _slid(config, lengths, size, config.get("strides") or size), channels)


def _transposed(config: Config, shapes: Sequence[Shape]) -> Shape:
    """`deconv_length` of Keras 2's `utils/conv_utils.py`."""
    shape = _first(shapes)
    lengths, _ = _parts(config, shape)
    sizes = _each(config["kernel_size"], len(lengths))
    steps = _each(config.get("strides", 1), len(lengths))
    rates = _each(config.get("dilation_rate", 1), len(lengths))
    extra = config.get("output_padding")
    extras = [None] * len(lengths) if extra is None else _each(extra, len(lengths))
    same = config.get("padding") == "same"
    grown = tuple(_grown(n, (k - 1) * r + 1, s, e, same) for n, k, s, r, e in zip(lengths, sizes, steps, rates, extras))
    return _whole(config, shape[0], grown, config["filters"])


def _grown(length: int | None, size: int, step: int, extra: int | None, same: bool) -> int | None:
    if length is None:
        return None
    if extra is not None:
        return (length - 1) * step + size - 2 * (size // 2 if same else 0) + extra
    return length * step + (0 if same else max(size - step, 0))


def _global_pooling(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    lengths, channels = _parts(config, shape)
    return _whole(config, shape[0], (1,) * len(lengths), channels) if config.get("keepdims") else (shape[0], channels)


def _padding(key: str, sign: int) -> Rule:
    def rule(config: Config, shapes: Sequence[Shape]) -> Shape:
        shape = _first(shapes)
        lengths, channels = _parts(config, shape)
        pairs = _pairs(config[key], len(lengths))
        changed = tuple(None if n is None else n + sign * sum(pair) for n, pair in zip(lengths, pairs))
        return _whole(config, shape[0], changed, channels)

    return rule


def _up_sampling(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    lengths, channels = _parts(config, shape)
    sizes = _each(config.get("size", 2), len(lengths))
    return _whole(config, shape[0], tuple(None if n is None else n * k for n, k in zip(lengths, sizes)), channels)


# -- reshaping ------------------------------------------------------------------------------------------------


def _flatten(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    return shape[0], product(shape[1:])


def _reshape(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    target = [None if n is None else int(n) for n in config["target_shape"]]
    if -1 in target:
        rest, whole = product([n for n in target if n != -1]), product(shape[1:])
        target[target.index(-1)] = None if rest is None or whole is None else whole // max(1, rest)
    return (shape[0],) + tuple(target)


def _permute(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    return (shape[0],) + tuple(shape[i] for i in config["dims"])


def _repeat(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    return shape[0], config["n"], shape[1]


def _last(key: str) -> Rule:
    return lambda config, shapes: _first(shapes)[:-1] + (config[key],)


def _embedding(config: Config, shapes: Sequence[Shape]) -> Shape:
    return _first(shapes) + (config["output_dim"],)


def _sized(config: Config, shapes: Sequence[Shape]) -> Shape:
    """Images of a given size, one or a batch of them."""
    shape = _first(shapes)
    return shape[:-3] + (config["height"], config["width"], shape[-1])


def _stretched(axis: int) -> Rule:
    def rule(config: Config, shapes: Sequence[Shape]) -> Shape:
        shape = list(_first(shapes))
        shape[axis] = None
        return tuple(shape)

    return rule


# -- several inputs -------------------------------------------------------------------------------------------


def _merge(config: Config, shapes: Sequence[Shape]) -> Shape:
    """Element by element; those of fewer axes get the missing ones behind the batch."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or any(not shape for shape in known):
        return None
    inner: Shape = known[0][1:]
    for shape in known[1:]:
        inner = broadcast(inner, shape[1:])
    batches = {shape[0] for shape in known} - {None}
    return None if inner is None else (batches.pop() if len(batches) == 1 else None,) + inner


def _concatenate(config: Config, shapes: Sequence[Shape]) -> Shape:
    return _concatenated(shapes, config.get("axis", -1))


def _concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """Joined along an axis; a rank that is known of one is that of all."""
    known = [shape for shape in shapes if shape is not None]
    rank = len(known[0])
    at = range(rank)[axis]
    if any(len(shape) != rank for shape in known):
        raise ValueError("ranks differ")
    lengths = [next((shape[i] for shape in known if shape[i] is not None), None) for i in range(rank)]
    parts = [shape[at] if shape is not None else None for shape in shapes]
    lengths[at] = None if None in parts else sum(n or 0 for n in parts)
    return tuple(lengths)


def _dot(config: Config, shapes: Sequence[Shape]) -> Shape:
    return _dotted(shapes, config["axes"])


def _dotted(shapes: Sequence[Shape], axes: Json) -> Shape:
    first, second = shapes
    if first is None or second is None:
        return None
    pair = [axes, axes] if isinstance(axes, int) else axes
    one, other = range(len(first))[pair[0]], range(len(second))[pair[1]]
    kept = first[:one] + first[one + 1 :]
    kept += tuple(n for i, n in enumerate(second) if i not in (0, other))
    return kept if len(kept) > 1 else kept + (1,)


def _merge_of_keras_1(config: Config, shapes: Sequence[Shape]) -> Shape:
    mode = config.get("mode")
    if mode == "concat":
        return _concatenated(shapes, config.get("concat_axis", -1))
    if mode == "dot":
        return _dotted(shapes, config.get("dot_axes", -1))
    # that of "cos" is another than Keras 1 says
    return _merge(config, shapes) if mode in ("sum", "mul", "ave", "max") else None


def _attention(config: Config, shapes: Sequence[Shape]) -> Shapes:
    query, value = (list(shapes) + [None])[:2]
    if query is None:
        return [None, None]
    last = value[-1] if value is not None else None
    return [query[:-1] + (last,), query[:-1] + (value[-2] if value is not None else None,)]


def _multi_head_attention(config: Config, shapes: Sequence[Shape]) -> Shapes:
    query = _first(shapes)
    wanted = config.get("output_shape")
    axes = config.get("attention_axes")
    free = [n for i, n in enumerate(query[1:-1], 1)] if axes in (None, [1]) and len(query) == 3 else None
    last = (query[-1],) if not wanted else tuple(_each(wanted, 1))
    scores = (query[0], config["num_heads"], free[0], None) if free is not None else None
    return [query[:-1] + last, scores]


def _einsum(config: Config, shapes: Sequence[Shape]) -> Shape:
    shape = _first(shapes)
    terms, result = config["equation"].replace(" ", "").split("->")
    given = terms.split(",")[0]
    if "..." in given:
        at, more = given.index("..."), len(shape) - len(given) + 3
        inner = "".join(chr(0x100 + i) for i in range(more))  # letters that no equation has
        given, result = given[:at] + inner + given[at + 3 :], result.replace("...", inner)
    if len(given) != len(shape):
        return None
    lengths = dict(zip(given, shape))
    wanted = [None] * len(result) + list(_each(config["output_shape"], 1))
    wanted = wanted[len(wanted) - len(result) :]
    return tuple(lengths.get(letter) if n is None else n for letter, n in zip(result, wanted))


# -- layers that step through time ----------------------------------------------------------------------------


def _stepped(config: Config, shapes: Sequence[Shape], step: Shapes, states: Shapes) -> Shapes:
    """(what one step gives, its states) -> what a layer over time gives; each without the batch axis."""
    shape = _first(shapes)
    timed = bool(config.get("time_major"))
    batch = shape[1] if timed else shape[0]
    inner = step[0]
    outer = (shape[:2] if config.get("return_sequences") else (batch,)) + inner if inner is not None else None
    if not config.get("return_state"):
        return [outer]
    return [outer] + [(batch,) + state if state is not None else None for state in states]


_STATES = {"SimpleRNN": 1, "GRU": 1, "LSTM": 2, "CuDNNGRU": 1, "CuDNNLSTM": 2}


def _recurrent(count: int) -> Rule:
    def rule(config: Config, shapes: Sequence[Shape]) -> Shapes:
        units: Shape = (config["units"],)
        return _stepped(config, shapes, [units], [units] * count)

    return rule


def _convolutional(config: Config, shapes: Sequence[Shape]) -> Shapes:
    shape = _first(shapes)
    frame = _convolution(config, [shape[:1] + shape[2:]])
    assert frame is not None
    return _stepped(config, shapes, [frame[1:]], [frame[1:]] * 2)


def _cells(value: Json) -> list[Json]:
    """The cells of an RNN, one after the other."""
    if isinstance(value, list):
        return value
    if value["class_name"] == "StackedRNNCells":
        return list(value["config"]["cells"])
    return [value]


def _rnn(config: Config, shapes: Sequence[Shape]) -> Shapes | None:
    states: list[list[Shape]] = []
    for cell in _cells(config["cell"]):
        count = _STATES.get(str(cell["class_name"]).replace("Cell", ""))
        if count is None:
            return None
        states.append([(cell["config"]["units"],)] * count)
    if isinstance(config["cell"], dict) and config["cell"]["config"].get("reverse_state_order"):
        states.reverse()
        return _stepped(config, shapes, states[0][:1], sum(states, []))
    return _stepped(config, shapes, states[-1][:1], sum(states, []))


# -- the table ------------------------------------------------------------------------------------------------


def _first(shapes: Sequence[Shape]) -> Known:
    first = shapes[0]
    if first is None:
        raise ValueError("an unknown shape")
    return first


RULES: dict[str, Rule] = {
    "Dense": _last("units"),
    "MaxoutDense": _last("output_dim"),
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": _permute,
    "RepeatVector": _repeat,
    "Embedding": _embedding,
    "Concatenate": _concatenate,
    "Dot": _dot,
    "Merge": _merge_of_keras_1,
    "DepthwiseConv1D": _depthwise,
    "DepthwiseConv2D": _depthwise,
    "Attention": _attention,
    "AdditiveAttention": _attention,
    "MultiHeadAttention": _multi_head_attention,
    "EinsumDense": _einsum,
    "Resizing": _sized,
    "CenterCrop": _sized,
    "RandomCrop": _sized,
    "RandomHeight": _stretched(-3),
    "RandomWidth": _stretched(-2),
    "ConvLSTM2D": _convolutional,
    "RNN": _rnn,
}
RULES.update({name: _merge for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")})
RULES.update({name: _recurrent(count) for name, count in _STATES.items()})
RULES.update({f"Conv{n}D": _convolution for n in (1, 2, 3)})
RULES.update({f"SeparableConv{n}D": _convolution for n in (1, 2)})
RULES.update({f"LocallyConnected{n}D": _convolution for n in (1, 2)})
RULES.update({f"Conv{n}DTranspose": _transposed for n in (1, 2, 3)})
RULES.update({f"{kind}Pooling{n}D": _pooling for kind in ("Max", "Average") for n in (1, 2, 3)})
RULES.update({f"Global{kind}Pooling{n}D": _global_pooling for kind in ("Max", "Average") for n in (1, 2, 3)})
RULES.update({f"ZeroPadding{n}D": _padding("padding", 1) for n in (1, 2, 3)})
RULES.update({f"Cropping{n}D": _padding("cropping", -1) for n in (1, 2, 3)})
RULES.update({f"UpSampling{n}D": _up_sampling for n in (1, 2, 3)})
SAME = words("""
    Activation ActivityRegularization Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise
    GaussianDropout AlphaDropout Masking BatchNormalization LayerNormalization GroupNormalization UnitNormalization
    LeakyReLU ELU ReLU ThresholdedReLU Softmax PReLU SReLU ParametricSoftplus Highway Rescaling RandomFlip
    RandomRotation RandomZoom RandomTranslation RandomContrast Normalization""")
#: What they read has so many axes, whatever is before them.
RANKS = {name: 3 for name in ("SimpleRNN", "GRU", "LSTM", "CuDNNGRU", "CuDNNLSTM", "RNN", "SpatialDropout1D")}
RANKS.update({name: 2 for name in ("RepeatVector", "MaxoutDense", "Highway")})
RANKS.update({"ConvLSTM2D": 5, "SpatialDropout2D": 4, "SpatialDropout3D": 5})
RANKS.update({name: 2 + int(name[-2]) for name in RULES if name[-2:] in ("1D", "2D", "3D") and name not in RANKS})
RANKS.update({f"Conv{n}DTranspose": 2 + n for n in (1, 2, 3)})
# Theirs does not matter: what they give has a rank of its own.
ANY_RANK = frozenset(["Flatten", "Reshape"])


# -- types ----------------------------------------------------------------------------------------------------

#: What they give is of the type that they read, numbers of any kind.
KEEPS_TYPE = (
    words("Flatten Reshape Permute RepeatVector Concatenate Add Subtract Multiply Maximum Minimum Masking Dropout")
    | {name for name in RULES if name.startswith(("MaxPooling", "GlobalMax", "ZeroPadding", "Cropping"))}
    | {"UpSampling1D", "UpSampling3D"}
)
_POLICIES = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


def _type(name: str, config: Config, inputs: Sequence[TensorSpec], old: Old) -> str | None:
    own = objects.dtype(config.get("dtype"))
    own = own if own is not None and "float" in own else old.context.float_type
    own = _POLICIES.get(own, own)
    if name not in KEEPS_TYPE:
        return own
    kinds = {spec.dtype for spec in inputs}
    kind = kinds.pop() if len(kinds) == 1 else None
    # a layer of TensorFlow 2 turns what is float into its own type
    return kind if kind is None or "float" not in kind or kind == own else None


# -- layers ---------------------------------------------------------------------------------------------------


def outputs(old: Old) -> tuple[TensorSpec, ...]:
    """What a layer gives, from the table: shape and type of each output, as far as they are known.

    Parameters
    ----------
    old : Old
        The layer as the file has it, with the `inputs` of one call.

    Returns
    -------
    tuple of TensorSpec
        None of a layer of which nothing is known.
    """
    old = modern(old._replace(arrays=()))
    name = ALIASES.get(old.class_name, old.class_name)
    try:
        found = _outputs(name, old)
    except NONSENSE:  # a config that makes no sense, or one that does not fit what it reads
        return ()
    return tuple(spec if _makes_sense(spec.shape) else TensorSpec(None, spec.dtype) for spec in found)


def _outputs(name: str, old: Old) -> list[TensorSpec]:
    config, inputs = old.config, list(old.inputs) or [UNKNOWN]
    if name == "Lambda":
        return [TensorSpec(_declared(old), None)]
    if name in _WRAPPERS:
        return _WRAPPERS[name](old)
    if name not in RULES and name not in SAME:
        return []
    shapes = [spec.shape for spec in inputs]
    shapes[0] = _at_rank(name, config, shapes[0])
    kind = _type(name, config, inputs, old)
    if name in SAME:
        return [TensorSpec(shapes[0], kind)]
    if all(shape is None for shape in shapes):
        return [TensorSpec(None, kind)]
    if shapes[0] is None and name not in _OTHERS_WILL_DO:
        return [TensorSpec(None, kind)]
    made = RULES[name](config, shapes)
    return [TensorSpec(shape, kind) for shape in (made if isinstance(made, list) else [made])]


_OTHERS_WILL_DO = frozenset(["Concatenate", "Merge"])


def _at_rank(name: str, config: Config, shape: Shape) -> Shape:
    rank = RANKS.get(name)
    if name == "Permute":
        rank = len(config["dims"]) + 1
    if shape is None:
        return (None, None) if name in ANY_RANK else None if rank is None else (None,) * rank
    if rank is not None and len(shape) != rank:
        raise ValueError("it reads something of another rank")
    return shape


def _makes_sense(shape: Shape) -> bool:
    return shape is None or (len(shape) <= MOST_AXES and all(_is_length(n) for n in shape))


def _is_length(value: Json) -> bool:
    return value is None or (type(value) is int and 0 <= value < LONGEST)


def _declared(old: Old) -> Shape:
    """What the author of a Lambda says of it; tf.keras does not look at it."""
    shape = old.config.get("output_shape")
    if old.context.tf_keras or old.config.get("output_shape_type") not in ("raw", None):
        return None
    if not isinstance(shape, (list, tuple)) or not all(_is_length(n) for n in shape):
        return None
    return (old.inputs[0].shape[:1] if old.inputs and old.inputs[0].shape else (None,)) + tuple(shape)


def inside(value: Mapping[str, Json], old: Old, inputs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """What the layer in a wrapper's config gives."""
    config = value["config"]
    if not isinstance(config, dict) or "layers" in config:
        return ()  # a model
    return outputs(Old("", str(value["class_name"]), config, (), old.context, tuple(inputs)))


def step_of(spec: TensorSpec) -> TensorSpec:
    """One step of a sequence of tensors."""
    shape = spec.shape
    return TensorSpec((shape[0],) + shape[2:] if shape is not None and len(shape) > 2 else None, spec.dtype)


def sequence_of(steps: Sequence[TensorSpec], whole: TensorSpec) -> tuple[TensorSpec, ...]:
    """The sequences of which `steps` are what each step gives; as long as `whole`."""
    length = whole.shape[1] if whole.shape is not None and len(whole.shape) > 1 else None
    return tuple(
        TensorSpec(spec.shape[:1] + (length,) + spec.shape[1:] if spec.shape else None, spec.dtype) for spec in steps
    )


def _time_distributed(old: Old) -> list[TensorSpec]:
    whole = old.inputs[0] if old.inputs else UNKNOWN
    return list(sequence_of(inside(old.config["layer"], old, [step_of(whole)]), whole))


def _bidirectional(old: Old) -> list[TensorSpec]:
    config, inputs = old.config, old.inputs[:1] or (UNKNOWN,)
    first = inside(config["layer"], old, inputs)
    second = inside(config.get("backward_layer") or config["layer"], old, inputs)
    mode = config.get("merge_mode", "concat")
    if not first or not second:
        return []
    merged = [first[0], second[0]]
    if mode is not None:
        shape = _concatenated([spec.shape for spec in merged], -1) if mode == "concat" else first[0].shape
        merged = [TensorSpec(shape, first[0].dtype)]
    return merged + list(first[1:]) + list(second[1:])


_WRAPPERS: dict[str, Callable[[Old], list[TensorSpec]]] = {
    "TimeDistributed": _time_distributed,
    "Bidirectional": _bidirectional,
}
