"""A row for each layer class of Keras 1.2 to 2.3 and of tf.keras 1.8 to 2.15: what it is in Keras 3.

A row names the new class, the arguments that carry over, those that get another name, and those that are dropped
because they say nothing any more (or, with values, are dropped where they have one of these and refused otherwise).
Arguments ending in _initializer, _regularizer, _constraint and activations go through `objects`.  `rewrite` names a
function of `rewrites` for what needs arrays or several layers.  An argument that no row knows is refused by name.

Sources, by the letter in each row: K = `keras/layers/*.py` of Keras 2.2.4 and 2.3.1, T = `tensorflow/python/keras/
layers/*.py` of TensorFlow 1.15 and 2.3, 1 = Keras 1.2.2 with Keras 2's `legacy/interfaces.py`; against `keras/src/
layers` of Keras 3.4.1 and 3.15.1.  Every row was tried: the old Keras' predictions are those of the new file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .values import words

ANY: tuple[Any, ...] = ()


class Row(NamedTuple):
    """What becomes of a class.

    Attributes
    ----------
    to : str
        Class in Keras 3.
    keeps : tuple of str
        Arguments that carry over.
    renames : dict
        Arguments under another name.
    drops : dict
        Arguments that are left out, each with the values for which that is right; none: any value.
    rewrite : str
        A function of `rewrites`, "" for none.
    weights : str
        Path of its own variables below the layer's.
    masks : str
        How masks went through it: "pass", "stop", or the name of a rule of `masks`.
    source : str
        Where the facts are from.
    """

    to: str
    keeps: tuple[str, ...]
    renames: dict[str, str]
    drops: dict[str, tuple[Any, ...]]
    rewrite: str = ""
    weights: str = "vars"
    masks: str = "stop"
    source: str = ""


_KIND = "{0}_initializer {0}_regularizer {0}_constraint"
_KERNEL, _BIAS, _RECURRENT = (_KIND.format(name) for name in ("kernel", "bias", "recurrent"))
_DENSE = f"activation use_bias {_KERNEL} {_BIAS} activity_regularizer"
_CONV = f"filters kernel_size strides padding data_format dilation_rate {_DENSE}"
_RNN = "return_sequences return_state go_backwards stateful unroll zero_output_for_mask"
_CELL = f"units activation use_bias {_KERNEL} {_RECURRENT} {_BIAS} dropout recurrent_dropout"
_POOL = "pool_size strides padding data_format"
_NORM = f"axis epsilon center scale {_KIND.format('beta')} {_KIND.format('gamma')}"
# How to compute, and what the input is: nothing that a layer of Keras 3 is told.
_HOW = {
    "implementation": ANY,
    "time_major": (False, None),
    "input_dim": ANY,
    "input_length": ANY,
    "num_constants": (None, 0),
    "seed": ANY,
    "data_format": ("channels_last",),
}


def _row(
    to: str,
    keeps: str = "",
    source: str = "KT",
    rewrite: str = "",
    weights: str = "vars",
    masks: str = "stop",
    renames: dict[str, str] = {},  # noqa: B006  never changed
    drops: dict[str, tuple[Any, ...]] = {},  # noqa: B006
) -> Row:
    return Row(to, tuple(keeps.split()), renames, drops, rewrite, weights, masks, source)


ROWS: dict[str, Row] = {
    # core
    "Dense": _row("Dense", f"units {_DENSE}", "KT1", "hard_sigmoid", masks="pass"),
    "Activation": _row("Activation", "activation", "KT1", "activation_layer", masks="pass"),
    "ActivityRegularization": _row("ActivityRegularization", "l1 l2", "KT1", masks="pass"),
    "Dropout": _row("Dropout", "rate noise_shape seed", "KT1", masks="pass"),
    "SpatialDropout1D": _row(
        "SpatialDropout1D", "rate seed", "KT1", "bare", masks="pass", drops={"noise_shape": ANY, "data_format": ANY}
    ),
    "SpatialDropout2D": _row(
        "SpatialDropout2D", "rate seed data_format", "KT1", "bare", masks="pass", drops={"noise_shape": ANY}
    ),
    "SpatialDropout3D": _row(
        "SpatialDropout3D", "rate seed data_format", "KT1", "bare", masks="pass", drops={"noise_shape": ANY}
    ),
    "GaussianNoise": _row("GaussianNoise", "stddev seed", "KT1", masks="pass"),
    "GaussianDropout": _row("GaussianDropout", "rate seed", "KT1", masks="pass"),
    "AlphaDropout": _row("AlphaDropout", "rate noise_shape seed", "KT", masks="pass"),
    "Masking": _row("Masking", "mask_value", "KT1", masks="masking"),
    "Flatten": _row("Flatten", "data_format", "KT1"),
    "Reshape": _row("Reshape", "target_shape", "KT1"),
    "Permute": _row("Permute", "dims", "KT1"),
    "RepeatVector": _row("RepeatVector", "n", "KT1"),
    "Embedding": _row(
        "Embedding",
        f"input_dim output_dim mask_zero {_KIND.format('embeddings')}",
        "KT1",
        masks="embedding",
        drops={"input_length": ANY, "activity_regularizer": (None,), "sparse": ANY},
    ),
    # convolutions; `groups` is written for all of them from tf.keras 2.3 on
    "Conv1D": _row("Conv1D", f"{_CONV} groups", "KT1", "hard_sigmoid"),
    "Conv2D": _row("Conv2D", f"{_CONV} groups", "KT1", "hard_sigmoid"),
    "Conv3D": _row("Conv3D", f"{_CONV} groups", "KT1", "hard_sigmoid"),
    "Conv1DTranspose": _row(
        "Conv1DTranspose", f"{_CONV} output_padding", "T", "hard_sigmoid", drops={"groups": (1, None)}
    ),
    "Conv2DTranspose": _row(
        "Conv2DTranspose", f"{_CONV} output_padding", "KT1", "hard_sigmoid", drops={"groups": (1, None)}
    ),
    "Conv3DTranspose": _row(
        "Conv3DTranspose", f"{_CONV} output_padding", "KT1", "hard_sigmoid", drops={"groups": (1, None)}
    ),
    "DepthwiseConv1D": _row(
        "DepthwiseConv1D",
        "kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias "
        f"{_KIND.format('depthwise')} {_BIAS} activity_regularizer",
        "T",
        "hard_sigmoid",
        drops={
            "groups": ANY,
            "filters": ANY,
            "kernel_initializer": ANY,
            "kernel_regularizer": ANY,
            "kernel_constraint": ANY,
        },
    ),
    "DepthwiseConv2D": _row(
        "DepthwiseConv2D",
        "kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias "
        f"{_KIND.format('depthwise')} {_BIAS} activity_regularizer",
        "KT",
        "hard_sigmoid",
        # those of the convolution that it derives from; it has no such weight
        drops={
            "groups": ANY,
            "filters": ANY,
            "kernel_initializer": ANY,
            "kernel_regularizer": ANY,
            "kernel_constraint": ANY,
        },
    ),
    "SeparableConv1D": _row(
        "SeparableConv1D",
        "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
        f"{_KIND.format('depthwise')} {_KIND.format('pointwise')} {_BIAS} activity_regularizer",
        "KT",
        "hard_sigmoid",
        drops={"groups": ANY, "kernel_initializer": ANY, "kernel_regularizer": ANY, "kernel_constraint": ANY},
    ),
    "SeparableConv2D": _row(
        "SeparableConv2D",
        "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
        f"{_KIND.format('depthwise')} {_KIND.format('pointwise')} {_BIAS} activity_regularizer",
        "KT1",
        "hard_sigmoid",
        drops={"groups": ANY, "kernel_initializer": ANY, "kernel_regularizer": ANY, "kernel_constraint": ANY},
    ),
    "LocallyConnected1D": _row(
        "EinsumDense", f"filters kernel_size strides padding data_format implementation {_DENSE}", "KT1", "local"
    ),
    "LocallyConnected2D": _row(
        "EinsumDense", f"filters kernel_size strides padding data_format implementation {_DENSE}", "KT1", "local"
    ),
    "Cropping1D": _row("Cropping1D", "cropping", "KT1"),
    "Cropping2D": _row("Cropping2D", "cropping data_format", "KT1"),
    "Cropping3D": _row("Cropping3D", "cropping data_format", "KT1"),
    "ZeroPadding1D": _row("ZeroPadding1D", "padding", "KT1", drops={"data_format": ("channels_last", None)}),
    "ZeroPadding2D": _row("ZeroPadding2D", "padding data_format", "KT1"),
    "ZeroPadding3D": _row("ZeroPadding3D", "padding data_format", "KT1"),
    "UpSampling1D": _row("UpSampling1D", "size", "KT1"),
    "UpSampling2D": _row("UpSampling2D", "size data_format interpolation", "KT1", "up_sampling"),
    "UpSampling3D": _row("UpSampling3D", "size data_format", "KT1"),
    # pooling
    "MaxPooling1D": _row("MaxPooling1D", _POOL, "KT1"),
    "MaxPooling2D": _row("MaxPooling2D", _POOL, "KT1"),
    "MaxPooling3D": _row("MaxPooling3D", _POOL, "KT1"),
    "AveragePooling1D": _row("AveragePooling1D", _POOL, "KT1"),
    "AveragePooling2D": _row("AveragePooling2D", _POOL, "KT1"),
    "AveragePooling3D": _row("AveragePooling3D", _POOL, "KT1"),
    "GlobalMaxPooling1D": _row("GlobalMaxPooling1D", "data_format keepdims", "KT1"),
    "GlobalMaxPooling2D": _row("GlobalMaxPooling2D", "data_format keepdims", "KT1"),
    "GlobalMaxPooling3D": _row("GlobalMaxPooling3D", "data_format keepdims", "KT"),
    "GlobalAveragePooling1D": _row("GlobalAveragePooling1D", "data_format keepdims", "KT1", masks="average"),
    "GlobalAveragePooling2D": _row("GlobalAveragePooling2D", "data_format keepdims", "KT1"),
    "GlobalAveragePooling3D": _row("GlobalAveragePooling3D", "data_format keepdims", "KT"),
    # activations with arguments
    "LeakyReLU": _row("LeakyReLU", "negative_slope", "KT1", masks="pass", renames={"alpha": "negative_slope"}),
    "ELU": _row("ELU", "alpha", "KT1", masks="pass"),
    "ReLU": _row("ReLU", "max_value negative_slope threshold", "KT", masks="pass"),
    "ThresholdedReLU": _row("ReLU", "threshold", "KT1", masks="pass", renames={"theta": "threshold"}),
    "Softmax": _row("Softmax", "axis", "KT", "softmax", masks="pass"),
    "PReLU": _row("PReLU", f"{_KIND.format('alpha')} shared_axes", "KT1", "prelu", masks="pass"),
    # normalization
    "BatchNormalization": _row(
        "BatchNormalization",
        f"{_NORM} momentum moving_mean_initializer moving_variance_initializer synchronized",
        "KT1",
        "batch_normalization",
        masks="pass",
        drops={
            "fused": ANY,
            "mode": (0, None),
            "adjustment": (None,),
            "renorm": ANY,
            "renorm_clipping": ANY,
            "renorm_momentum": ANY,
            "virtual_batch_size": ANY,
        },
    ),
    "LayerNormalization": _row("LayerNormalization", _NORM, "T", "layer_normalization", masks="pass"),
    "GroupNormalization": _row("GroupNormalization", f"groups {_NORM}", "T", masks="pass"),
    # its variables, which no training changes, are the mean, the variance, and how many numbers it was adapted to
    "Normalization": _row("Normalization", "axis mean variance invert", "T", "normalization"),
    "UnitNormalization": _row("UnitNormalization", "axis", "T", "layer_normalization", masks="pass"),
    # merging
    "Add": _row("Add", "", "KT", masks="merge"),
    "Subtract": _row("Subtract", "", "KT", masks="merge"),
    "Multiply": _row("Multiply", "", "KT", masks="merge"),
    "Average": _row("Average", "", "KT", masks="merge"),
    "Maximum": _row("Maximum", "", "KT", masks="merge"),
    "Minimum": _row("Minimum", "", "KT", masks="merge"),
    "Concatenate": _row("Concatenate", "axis", "KT", masks="concatenate"),
    "Dot": _row("Dot", "axes normalize", "KT"),
    # recurrent
    "SimpleRNN": _row(
        "SimpleRNN", f"{_CELL} {_RNN} activity_regularizer", "KT1", "simple_rnn", "cell/vars", "rnn", drops=_HOW
    ),
    "GRU": _row(
        "GRU",
        f"{_CELL} recurrent_activation reset_after {_RNN} activity_regularizer",
        "KT1",
        "gru",
        "cell/vars",
        "rnn",
        drops=_HOW,
    ),
    "LSTM": _row(
        "LSTM",
        f"{_CELL} recurrent_activation unit_forget_bias {_RNN} activity_regularizer",
        "KT1",
        "lstm",
        "cell/vars",
        "rnn",
        drops=_HOW,
    ),
    "SimpleRNNCell": _row("SimpleRNNCell", _CELL, "KT", "simple_rnn", drops=_HOW),
    "GRUCell": _row("GRUCell", f"{_CELL} recurrent_activation reset_after", "KT", "gru", drops=_HOW),
    "LSTMCell": _row("LSTMCell", f"{_CELL} recurrent_activation unit_forget_bias", "KT", "lstm", drops=_HOW),
    "ConvLSTM2D": _row(
        "ConvLSTM2D",
        f"{_CONV} {_RECURRENT} recurrent_activation unit_forget_bias dropout recurrent_dropout {_RNN}",
        "KT1",
        "lstm",
        "cell/vars",
        "rnn",
        drops=_HOW,
    ),
    "CuDNNLSTM": _row(
        "LSTM",
        f"units {_KERNEL} {_RECURRENT} {_BIAS} unit_forget_bias {_RNN} activity_regularizer",
        "KT",
        "cudnn_lstm",
        "cell/vars",
        "cudnn",
        drops=_HOW,
    ),
    "CuDNNGRU": _row(
        "GRU",
        f"units {_KERNEL} {_RECURRENT} {_BIAS} {_RNN} activity_regularizer",
        "KT",
        "cudnn_gru",
        "cell/vars",
        "cudnn",
        drops=_HOW,
    ),
    "RNN": _row("RNN", f"cell {_RNN}", "KT", "rnn", masks="rnn", drops=_HOW),
    "StackedRNNCells": _row("StackedRNNCells", "cells", "KT", "stacked", drops={"reverse_state_order": (False, None)}),
    "Bidirectional": _row(
        "Bidirectional", "layer backward_layer merge_mode", "KT1", "bidirectional", masks="bidirectional"
    ),
    "TimeDistributed": _row("TimeDistributed", "layer", "KT1", "time_distributed", masks="time_distributed"),
    # attention
    "Attention": _row(
        "Attention", "use_scale score_mode dropout", "T", "attention", masks="attention", drops={"causal": ANY}
    ),
    "AdditiveAttention": _row(
        "AdditiveAttention", "use_scale dropout", "T", "attention", masks="attention", drops={"causal": ANY}
    ),
    "MultiHeadAttention": _row(
        "MultiHeadAttention",
        f"num_heads key_dim value_dim dropout use_bias output_shape attention_axes {_KERNEL} {_BIAS} "
        "activity_regularizer",
        "T",
        "multi_head_attention",
        masks="attention",
        drops={"query_shape": ANY, "key_shape": ANY, "value_shape": ANY},
    ),
    "EinsumDense": _row(
        "EinsumDense",
        f"output_shape equation bias_axes activation {_KERNEL} {_BIAS} activity_regularizer",
        "T",
        "hard_sigmoid",
    ),
    # preprocessing; Random* do nothing in prediction
    "Rescaling": _row("Rescaling", "scale offset", "T", masks="pass"),
    "Resizing": _row("Resizing", "height width interpolation crop_to_aspect_ratio", "T", "resizing"),
    "CenterCrop": _row("CenterCrop", "height width", "T"),
    "RandomFlip": _row("RandomFlip", "mode seed", "T"),
    "RandomRotation": _row("RandomRotation", "factor fill_mode fill_value interpolation seed", "T"),
    "RandomZoom": _row("RandomZoom", "height_factor width_factor fill_mode fill_value interpolation seed", "T"),
    "RandomTranslation": _row(
        "RandomTranslation", "height_factor width_factor fill_mode fill_value interpolation seed", "T"
    ),
    "RandomContrast": _row("RandomContrast", "factor seed", "T"),
    "RandomHeight": _row("Activation", "", "T", "nothing", drops={"factor": ANY, "interpolation": ANY, "seed": ANY}),
    "RandomWidth": _row("Activation", "", "T", "nothing", drops={"factor": ANY, "interpolation": ANY, "seed": ANY}),
    # Keras 1
    "Merge": _row("Add", "mode concat_axis dot_axes", "1", "merge", masks="merge"),
    "Highway": _row("Add", "init activation bias", "1", "highway"),
    "MaxoutDense": _row("Dense", "output_dim nb_feature bias", "1", "maxout"),
    "SReLU": _row("Add", "shared_axes", "1", "srelu", masks="pass"),
    "ParametricSoftplus": _row("EinsumDense", "shared_axes", "1", "parametric_softplus", masks="pass"),
    # Python code
    "Lambda": _row(
        "Functional",
        "",
        "KT1",
        "function",
        drops={
            "function": ANY,
            "function_type": ANY,
            "module": ANY,
            "output_shape": ANY,
            "output_shape_type": ANY,
            "output_shape_module": ANY,
            "arguments": ANY,
            "mask": ANY,
            "mask_type": ANY,
            "mask_module": ANY,
        },
    ),
}

#: The same under other names, of some versions.
ALIASES: dict[str, str] = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization",
    "LSTMV2": "LSTM",
    "GRUV2": "GRU",
    "UnifiedLSTM": "LSTM",
    "UnifiedGRU": "GRU",
    "ConvLSTM2DCell": "ConvLSTM2DCell",
    "DenseFeatures": "DenseFeatures",
}

#: Classes of Keras that Keras 3 cannot express, with the reason and what to do.
REFUSED: dict[str, tuple[str, str]] = {
    "RandomCrop": ("Keras 3's crops otherwise in prediction", "cut the images before the model"),
    "StridedSlice": ("there is no such layer in Keras 3", ""),
    **{
        name: ("it is an operation of TensorFlow inside another layer, where only a layer may stand", "")
        for name in (
            "TensorFlowOpLayer",
            "TFOpLambda",
            "SlicingOpLambda",
            "ClassMethod",
            "InstanceMethod",
            "InstanceProperty",
        )
    },
    "AddLoss": ("its loss is in Python code that is not in the file", ""),
    "AddMetric": ("its metric is in Python code that is not in the file", ""),
    "DenseFeatures": ("feature columns are TensorFlow's alone", ""),
    "ConvRNN2D": ("there is no such layer in Keras 3", ""),
    "ConvLSTM2DCell": ("there is no such public cell in Keras 3", ""),
    "PeepholeLSTMCell": ("there is no such cell in Keras 3", ""),
    "DropoutWrapper": ("there are no wrappers of cells in Keras 3", ""),
    "ResidualWrapper": ("there are no wrappers of cells in Keras 3", ""),
    "DeviceWrapper": ("there are no wrappers of cells in Keras 3", ""),
    "RNNCellDropoutWrapper": ("there are no wrappers of cells in Keras 3", ""),
    "RNNCellResidualWrapper": ("there are no wrappers of cells in Keras 3", ""),
    "RNNCellDeviceWrapper": ("there are no wrappers of cells in Keras 3", ""),
}

#: In any layer's config: what the input is, and how it is built.  Each with the values for which that is right.
GENERAL_DROPS: dict[str, tuple[Any, ...]] = {
    "name": ANY,
    "trainable": ANY,
    "dtype": ANY,
    "batch_input_shape": ANY,
    "input_dtype": ANY,
    "input_shape": ANY,
    "dynamic": (False, None),
    "ragged": (False, None),
    "sparse": (False, None),
    "build_input_shape": ANY,
    "weights": (None,),
    "experimental_autocast": ANY,
    "autocast": ANY,
    "activity_regularizer": (None,),
}

#: Layers that take `training` in their call.
TRAINING: frozenset[str] = (
    words("""Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout AlphaDropout
    BatchNormalization SimpleRNN GRU LSTM ConvLSTM2D RNN Bidirectional TimeDistributed Attention AdditiveAttention
    MultiHeadAttention Functional Sequential RandomFlip RandomRotation RandomZoom RandomTranslation
    RandomContrast""")
)

#: Backends of which some run nothing else on a CPU: what is said where it is met.
CHANNELS_FIRST: frozenset[str] = (
    words("""Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose DepthwiseConv2D SeparableConv1D
    SeparableConv2D MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D
    ConvLSTM2D""")
)
