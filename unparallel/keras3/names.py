"""Keras 1 in the words of Keras 2: class names, argument names, and the arrays in Keras 2's order.

The table is that of Keras 2's own `legacy/interfaces.py` (2.2.4); the arrays are those of its
`preprocess_weights_for_loading` (`engine/saving.py`, 2.2.4), which turned Keras 1 files while loading them.
"""

from __future__ import annotations

from typing import Any, Callable

from ..weights.table import is_keras_1
from .arrays import changed, joined
from .values import Array, Config, Old

CLASSES: dict[str, str] = {
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "AtrousConv1D": "Conv1D",
    "AtrousConv2D": "Conv2D",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconv2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "Deconv3D": "Conv3DTranspose",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Convolution3DTranspose": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    "TimeDistributedDense": "Dense",
    "MaxPool1D": "MaxPooling1D",
    "MaxPool2D": "MaxPooling2D",
    "MaxPool3D": "MaxPooling3D",
    "AvgPool1D": "AveragePooling1D",
    "AvgPool2D": "AveragePooling2D",
    "AvgPool3D": "AveragePooling3D",
    "GlobalMaxPool1D": "GlobalMaxPooling1D",
    "GlobalMaxPool2D": "GlobalMaxPooling2D",
    "GlobalMaxPool3D": "GlobalMaxPooling3D",
    "GlobalAvgPool1D": "GlobalAveragePooling1D",
    "GlobalAvgPool2D": "GlobalAveragePooling2D",
    "GlobalAvgPool3D": "GlobalAveragePooling3D",
}

# In every class of Keras 1; None: dropped, since it says how to compute, or what the input is.
ARGUMENTS: dict[str, Any] = {
    "output_dim": "units",
    "init": "kernel_initializer",
    "inner_init": "recurrent_initializer",
    "W_regularizer": "kernel_regularizer",
    "U_regularizer": "recurrent_regularizer",
    "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint",
    "U_constraint": "recurrent_constraint",
    "b_constraint": "bias_constraint",
    "inner_activation": "recurrent_activation",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "bias": "use_bias",
    "nb_filter": "filters",
    "border_mode": "padding",
    "subsample": "strides",
    "subsample_length": "strides",
    "filter_length": "kernel_size",
    "atrous_rate": "dilation_rate",
    "dim_ordering": "data_format",
    "pool_length": "pool_size",
    "stride": "strides",
    "p": "rate",
    "sigma": "stddev",
    "length": "size",
    "beta_init": "beta_initializer",
    "gamma_init": "gamma_initializer",
    "consume_less": None,
    "forget_bias_init": None,
    "input_dim": None,
    "input_length": None,
    "input_dtype": None,
    "output_shape": None,
}
# Classes in which a word means something else than in the rest.
SPECIAL: dict[str, dict[str, Any]] = {
    "Embedding": {
        "input_dim": "input_dim",
        "output_dim": "output_dim",
        "init": "embeddings_initializer",
        "W_regularizer": "embeddings_regularizer",
        "W_constraint": "embeddings_constraint",
        "dropout": None,
    },
    "PReLU": {"init": "alpha_initializer", "weights": None},
    "AveragePooling2D": {},
    "Lambda": {"output_shape": "output_shape"},
    "Merge": {"output_shape": "output_shape"},
    "Highway": {},
    "MaxoutDense": {},
    "SpatialDropout1D": {},
}
# These keep their names: they are rewritten whole, see `rewrites`.
KEPT_WHOLE = frozenset(["Merge", "Highway", "MaxoutDense", "SReLU", "ParametricSoftplus", "Lambda"])
KERAS_1_ONLY = frozenset(["Highway", "MaxoutDense", "SReLU", "ParametricSoftplus"])
SIZES = (("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3"))
VALUES: dict[str, dict[Any, Any]] = {"data_format": {"tf": "channels_last", "th": "channels_first"}}
WORDS = frozenset(ARGUMENTS) - {"input_dim", "input_length", "output_dim", "length", "stride", "output_shape"}
# Their convolution kernels are kept the other way round by Theano: `_need_convert_kernel` in Keras 2.
THEANO = frozenset(["Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "ConvLSTM2D"])


def modern(old: Old) -> Old:
    """A layer of any Keras in the words of Keras 2."""
    words = _is_old(old.config) or old.context.version[0] == 1
    if words or old.class_name in KERAS_1_ONLY:
        old = _arrays(old)
    if words and old.class_name not in KEPT_WHOLE:
        old = old._replace(config=_config(old.class_name, old.config))
    old = old._replace(class_name=CLASSES.get(old.class_name, old.class_name))
    if old.context.backend == "theano" and old.class_name in THEANO and old.arrays:
        old = _from_theano(old)
    return old


def _is_old(config: Config) -> bool:
    return is_keras_1(config) or bool(WORDS & set(config) - {"p"}) or "p" in config or "length" in config


def _config(class_name: str, config: Config) -> Config:
    special = SPECIAL.get(class_name, {})
    new: Config = {}
    for key, value in config.items():
        name = special.get(key, ARGUMENTS.get(key, key))
        if name is not None:
            new[name] = VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value
    for names in SIZES:
        if names[0] in config:
            new["kernel_size"] = [config[name] for name in names if name in config]
            for name in names:
                new.pop(name, None)
    if "kernel_size" in new and class_name in ("Convolution1D", "AtrousConvolution1D", "LocallyConnected1D"):
        for name in ("kernel_size", "strides", "dilation_rate"):
            if isinstance(new.get(name), int):
                new[name] = [new[name]]
    if class_name == "ZeroPadding2D" and isinstance(new.get("padding"), list) and len(new["padding"]) == 4:
        top, bottom, left, right = new["padding"]
        new["padding"] = [[top, bottom], [left, right]]
    if class_name == "ZeroPadding2D" and isinstance(new.get("padding"), dict):
        sides = [int(new["padding"].get(f"{side}_pad", 0)) for side in ("top", "bottom", "left", "right")]
        new["padding"] = [sides[:2], sides[2:]]
    if class_name == "GRU" and "reset_after" not in new:
        new["reset_after"] = False
    if class_name == "Dropout" or class_name.startswith("SpatialDropout"):
        new.pop("noise_shape", None)
    return new


# -- arrays -----------------------------------------------------------------------------------------------


def _arrays(old: Old) -> Old:
    change = ARRAYS.get(old.class_name)
    return old if change is None or not old.arrays else old._replace(arrays=tuple(change(old)))


def _is_th(old: Old) -> bool:
    return old.config.get("dim_ordering") == "th"


def _convolution_1d(old: Old) -> list[Array]:
    kernel = old.arrays[0]  # (length, 1, input, filters)
    shape = kernel.shape
    if len(shape) != 4 or shape[1] != 1:
        raise old.refuse(f"its kernel has the shape {shape}", "an older Keras 1 wrote it; save it again in Keras 1.2")
    return [changed(kernel, "reshape", (shape[0], shape[2], shape[3]))] + list(old.arrays[1:])


def _convolution(old: Old) -> list[Array]:
    kernel = old.arrays[0]
    if _is_th(old):
        spatial = tuple(range(2, len(kernel.shape)))
        kernel = changed(kernel, "transpose", spatial + (1, 0))
    return [kernel] + list(old.arrays[1:])


def _deconvolution(old: Old) -> list[Array]:
    kernel = old.arrays[0]
    spatial = tuple(range(2, len(kernel.shape)))
    # both have the filters where a convolution has them, (filters, input, ...) and (..., input, filters);
    # Keras 2 has (..., filters, input)
    rank = len(kernel.shape)
    axes = spatial + (0, 1) if _is_th(old) else tuple(range(rank - 2)) + (rank - 1, rank - 2)
    return [changed(kernel, "transpose", axes)] + list(old.arrays[1:])


def _separable(old: Old) -> list[Array]:
    if not _is_th(old):
        return list(old.arrays)
    # (multiplier, channels, rows, columns) and (filters, channels x multiplier, 1, 1)
    return [changed(array, "transpose", (2, 3, 1, 0)) for array in old.arrays[:2]] + list(old.arrays[2:])


def _in_gates(order: tuple[int, ...]) -> Callable[[Old], list[Array]]:
    """Three arrays a gate -> three arrays; `order` is Keras 2's, in places of Keras 1's."""

    def change(old: Old) -> list[Array]:
        arrays = old.arrays
        if len(arrays) != 3 * len(order):
            return list(arrays)  # consume_less="gpu" has them together already
        if old.class_name == "ConvLSTM2D" and _is_th(old):
            arrays = tuple(
                changed(array, "transpose", (2, 3, 1, 0)) if i % 3 < 2 else array for i, array in enumerate(arrays)
            )
        return [joined([arrays[3 * gate + kind] for gate in order], "join", -1) for kind in range(3)]

    return change


ARRAYS: dict[str, Callable[[Old], list[Array]]] = {
    "Convolution1D": _convolution_1d,
    "AtrousConvolution1D": _convolution_1d,
    "Convolution2D": _convolution,
    "AtrousConvolution2D": _convolution,
    "Convolution3D": _convolution,
    "Deconvolution2D": _deconvolution,
    "SeparableConvolution2D": _separable,
    # i, c, f, o -> i, f, c, o
    "LSTM": _in_gates((0, 2, 1, 3)),
    "ConvLSTM2D": _in_gates((0, 2, 1, 3)),
    # z, r, h in both
    "GRU": _in_gates((0, 1, 2)),
}


def _from_theano(old: Old) -> Old:
    count = 2 if old.class_name == "ConvLSTM2D" else 1
    turned = [
        changed(array, "reverse", tuple(range(len(array.shape) - 2))) if i < count else array
        for i, array in enumerate(old.arrays)
    ]
    old.note("scaled", "its kernel is turned round: Theano kept it the other way")
    return old._replace(arrays=tuple(turned))
