"""The shape of what a layer gives, from its config and the shape of what it reads, as far as it is plain.

None stands for a length that is not known, and for a whole shape that is not.  Only a few translations ask.
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence, Tuple

from ..model import Json, element_count
from .values import Config, words

Shape = Optional[Tuple[Optional[int], ...]]
Rule = Callable[[Config, Tuple[Optional[int], ...]], Shape]


def _last(config: Config, shape: tuple[int | None, ...]) -> Shape:
    return shape[:-1] + (config.get("units"),)


def _channels_first(config: Config) -> bool:
    return config.get("data_format") == "channels_first"


def _windows(size_key: str, filters: bool) -> Rule:
    """Convolution and pooling: windows along the axes between batch and channels."""

    def rule(config: Config, shape: tuple[int | None, ...]) -> Shape:
        first = _channels_first(config)
        spatial = shape[2:] if first else shape[1:-1]
        channels = shape[1] if first else shape[-1]
        sizes = _each(config.get(size_key, 2), len(spatial))
        steps = _each(config.get("strides") or config.get(size_key, 2), len(spatial))
        rates = _each(config.get("dilation_rate", 1), len(spatial))
        padded = config.get("padding") in ("same", "causal")
        lengths = tuple(_length(n, k, s, r, padded) for n, k, s, r in zip(spatial, sizes, steps, rates))
        channels = config.get("filters") if filters else channels
        return (shape[0], channels) + lengths if first else (shape[0],) + lengths + (channels,)

    return rule


def _each(value: Json, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _length(length: int | None, size: int, step: int, rate: int, padded: bool) -> int | None:
    if length is None:
        return None
    window = 1 if padded else (size - 1) * rate + 1
    return (length - window) // step + 1


def _flatten(config: Config, shape: tuple[int | None, ...]) -> Shape:
    return shape[0], None if None in shape[1:] else element_count(tuple(n or 0 for n in shape[1:]))


def _reshape(config: Config, shape: tuple[int | None, ...]) -> Shape:
    target = [None if n is None else int(n) for n in config["target_shape"]]
    if -1 in target:
        known = [n for n in target if n != -1]
        whole = None if None in shape[1:] else element_count(tuple(n or 0 for n in shape[1:]))
        rest = whole // max(1, element_count(tuple(n or 0 for n in known))) if whole is not None else None
        target[target.index(-1)] = rest
    return (shape[0],) + tuple(target)


def _recurrent(config: Config, shape: tuple[int | None, ...]) -> Shape:
    units = config.get("units")
    return shape[:2] + (units,) if config.get("return_sequences") else (shape[0], units)


def _pooled(config: Config, shape: tuple[int | None, ...]) -> Shape:
    if config.get("keepdims"):
        return None
    return shape[0], shape[1] if _channels_first(config) else shape[-1]


def _padded(config: Config, shape: tuple[int | None, ...]) -> Shape:
    key, sign = ("padding", 1) if "padding" in config else ("cropping", -1)
    value = config[key]
    pairs = [[value, value]] * (len(shape) - 2) if isinstance(value, int) else list(value)
    if len(shape) == 3 and len(pairs) == 2 and not isinstance(pairs[0], (list, tuple)):
        pairs = [pairs]
    sums = [sum(pair) if isinstance(pair, (list, tuple)) else 2 * pair for pair in pairs]
    at = 2 if _channels_first(config) else 1
    lengths = [None if n is None else n + sign * more for n, more in zip(shape[at:], sums)]
    return shape[:at] + tuple(lengths) + shape[at + len(lengths) :]


def _enlarged(config: Config, shape: tuple[int | None, ...]) -> Shape:
    at = 2 if _channels_first(config) else 1
    sizes = _each(config.get("size", 2), len(shape) - 2)
    lengths = [None if n is None else n * k for n, k in zip(shape[at:], sizes)]
    return shape[:at] + tuple(lengths) + shape[at + len(lengths) :]


RULES: dict[str, Rule] = {
    "Dense": _last,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": lambda config, shape: (shape[0],) + tuple(shape[i] for i in config["dims"]),
    "RepeatVector": lambda config, shape: (shape[0], config["n"], shape[1]),
    "Embedding": lambda config, shape: shape + (config.get("output_dim"),),
    "Highway": lambda config, shape: shape,
    "MaxoutDense": lambda config, shape: shape[:-1] + (config.get("output_dim"),),
    "SimpleRNN": _recurrent,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "CuDNNGRU": _recurrent,
    "CuDNNLSTM": _recurrent,
}
RULES.update({f"Conv{n}D": _windows("kernel_size", True) for n in (1, 2, 3)})
RULES.update({f"SeparableConv{n}D": _windows("kernel_size", True) for n in (1, 2)})
RULES.update({f"LocallyConnected{n}D": _windows("kernel_size", True) for n in (1, 2)})
RULES.update({f"{kind}Pooling{n}D": _windows("pool_size", False) for kind in ("Max", "Average") for n in (1, 2, 3)})
RULES.update({f"Global{kind}Pooling{n}D": _pooled for kind in ("Max", "Average") for n in (1, 2, 3)})
RULES.update({f"ZeroPadding{n}D": _padded for n in (1, 2, 3)})
RULES.update({f"Cropping{n}D": _padded for n in (1, 2, 3)})
RULES.update({f"UpSampling{n}D": _enlarged for n in (1, 2, 3)})
SAME = words("""
    Activation ActivityRegularization Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise
    GaussianDropout AlphaDropout Masking BatchNormalization LayerNormalization LeakyReLU ELU ReLU ThresholdedReLU
    Softmax PReLU SReLU ParametricSoftplus Rescaling Lambda_""")
MERGES = words("Add Subtract Multiply Average Maximum Minimum")
# more than any tensor has; a hostile config must not make us count for ever
LONGEST = 2**48


def output_shape(class_name: str, config: Config, inputs: Sequence[Shape]) -> Shape:
    """The shape of a layer's first output; None where it is not known."""
    if not inputs or inputs[0] is None:
        return None
    first = inputs[0]
    if class_name in SAME:
        return first
    if class_name in MERGES:
        return first if all(shape == first for shape in inputs) else None
    rule = RULES.get(class_name)
    if rule is None:
        return None
    try:
        shape = rule(config, first)
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):  # a config that makes no sense
        return None
    return shape if shape is None or all(_is_length(n) for n in shape) else None


def _is_length(value: Json) -> bool:
    return value is None or (isinstance(value, int) and 0 <= value < LONGEST)
