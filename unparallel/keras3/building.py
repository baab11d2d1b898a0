"""What the layers of a Sequential are built on, where the file does not say: read off their weights."""

from __future__ import annotations

from dataclasses import replace

from .values import Layer

_RANKS = {
    "Flatten": 2,
    "GlobalMaxPooling1D": 2,
    "GlobalMaxPooling2D": 2,
    "GlobalMaxPooling3D": 2,
    "GlobalAveragePooling1D": 2,
    "GlobalAveragePooling2D": 2,
    "GlobalAveragePooling3D": 2,
    "RepeatVector": 3,
    "Embedding": 3,
}


def with_build_shape(layer: Layer, rank: int | None, wanted: bool) -> tuple[int | None, Layer]:
    """(rank of what the layer gives, the layer with the shape that it is to be built with)."""
    rank_in = _rank_in(layer, rank)
    shape = _build_shape(layer, rank_in) if wanted else None
    return _rank_out(layer, rank_in), replace(layer, build_shape=shape)


def _rank_in(layer: Layer, rank: int | None) -> int | None:
    for suffix, number in (("1D", 3), ("2D", 4), ("3D", 5)):
        if layer.class_name.endswith((suffix, suffix + "Transpose")):
            return 5 if layer.class_name == "ConvLSTM2D" else number
    if layer.class_name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"):
        return 3
    return 2 if layer.class_name == "Embedding" else rank


def _rank_out(layer: Layer, rank: int | None) -> int | None:
    if layer.class_name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D") and rank is not None:
        inner = layer.config.get("layer")
        config = inner["config"] if isinstance(inner, dict) else layer.config
        return rank if config.get("return_sequences") else rank - 1
    if layer.class_name in ("Reshape",):
        return len(layer.config["target_shape"]) + 1
    return _RANKS.get(layer.class_name, rank)


def _build_shape(layer: Layer, rank: int | None) -> tuple[int | None, ...] | None:
    """What the layer's weights say of its input."""
    if not layer.arrays or layer.custom:
        return None
    kernel = layer.arrays[0][1].shape
    name = layer.class_name
    if name == "Embedding":
        return (None, None)
    if name in ("BatchNormalization", "LayerNormalization", "PReLU"):
        axis = layer.config.get("axis", -1)
        if name == "PReLU":
            return (None,) + tuple(None if n == 1 else n for n in kernel)
        size = rank if rank is not None else (axis + 1 if isinstance(axis, int) and axis > 0 else 2)
        shape: list[int | None] = [None] * size
        shape[axis if isinstance(axis, int) else -1] = kernel[0]
        return tuple(shape)
    if name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"):
        return (None, None, kernel[0])
    if name == "Dense":
        return (None,) * ((rank or 2) - 1) + (kernel[0],)
    if name.endswith("Transpose"):
        return (None,) * (len(kernel) - 1) + (kernel[-1],)
    if name.startswith(("Conv", "Depthwise", "Separable")) and name != "ConvLSTM2D":
        channels = kernel[-2] * layer.config.get("groups", 1)
        whole_shape = (None,) * (len(kernel) - 1) + (channels,)
        if layer.config.get("data_format") == "channels_first":
            return (None, channels) + (None,) * (len(kernel) - 2)
        return whole_shape
    if name == "TimeDistributed" and layer.config["layer"]["class_name"] == "Dense":
        return (None, None, kernel[0])
    return None
