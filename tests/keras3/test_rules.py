"""What each rule makes of a layer: config, and (path, source array, steps), by hand from Keras' sources."""

import pytest

from unparallel.errors import Keras3Error, WeightsError

from .models import archive, archive_of, arrays, entries, layer, model_file, source

VECTOR = source(shape=(None, 5))
SERIES = source(shape=(None, 6, 3))
IMAGE = source(shape=(None, 8, 8, 3))
LSTM = {"units": 4, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True}
GRU = dict(LSTM)
CONV = {"filters": 2, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "use_bias": True}
OF_LSTM = ((3, 16), (4, 16), (16,))
OF_GRU = ((3, 12), (4, 12), (12,))

# (input, old layer, version, {new layer: (class, {argument: value})}, [(path, place of the source, steps)])
RULES = {
    "dense": (
        VECTOR,
        layer("Dense", {"units": 2, "activation": "relu", "use_bias": True, "trainable": True}, ((5, 2), (2,))),
        "2.2.4",
        {"it": ("Dense", {"units": 2, "activation": "relu", "trainable": True})},
        [("layers/dense/vars/0", "0", []), ("layers/dense/vars/1", "1", [])],
    ),
    "dense with hard_sigmoid": (
        VECTOR,
        layer("Dense", {"units": 2, "activation": "hard_sigmoid", "use_bias": True}, ((5, 2), (2,))),
        "2.3.1",
        {"it": ("Dense", {"activation": "hard_sigmoid"})},
        [("layers/dense/vars/0", "0", [("times", 1.2)]), ("layers/dense/vars/1", "1", [("times", 1.2)])],
    ),
    "separable convolution with hard_sigmoid: the pointwise kernel makes the sum": (
        IMAGE,
        layer("SeparableConv2D", dict(CONV, activation="hard_sigmoid"), ((3, 3, 3, 1), (1, 1, 3, 2), (2,))),
        "2.2.4",
        {"it": ("SeparableConv2D", {"activation": "hard_sigmoid"})},
        [
            ("layers/separable_conv2d/vars/0", "0", []),
            ("layers/separable_conv2d/vars/1", "1", [("times", 1.2)]),
            ("layers/separable_conv2d/vars/2", "2", [("times", 1.2)]),
        ],
    ),
    "normalization by an adapted mean: one axis, which TensorFlow kept as a vector": (
        IMAGE,
        layer("Normalization", {"axis": [3], "mean": None, "variance": None}, ((3,), (3,), ())),
        "2.6.0",
        {"it": ("Normalization", {"axis": [3], "mean": None, "variance": None})},
        [
            ("layers/normalization/vars/0", "0", [("reshape", (3,))]),
            ("layers/normalization/vars/1", "1", [("reshape", (3,))]),
            ("layers/normalization/vars/2", "2", []),
        ],
    ),
    "activation hard_sigmoid": (
        VECTOR,
        layer("Activation", {"activation": "hard_sigmoid"}),
        "2.2.4",
        {"it_part_1": ("Rescaling", {"scale": 0.2, "offset": 0.5}), "it": ("ReLU", {"max_value": 1.0})},
        [],
    ),
    "lstm with hard gates: i, f, o": (
        SERIES,
        layer("LSTM", dict(LSTM, recurrent_activation="hard_sigmoid", implementation=1), OF_LSTM),
        "2.2.4",
        {"it": ("LSTM", {"recurrent_activation": "hard_sigmoid"})},
        [(f"layers/lstm/cell/vars/{i}", str(i), [("times_blocks", 1.2, 4, (0, 1, 3))]) for i in range(3)],
    ),
    "gru with hard gates: z, r; before reset_after there was none": (
        SERIES,
        layer("GRU", dict(GRU, recurrent_activation="hard_sigmoid"), OF_GRU),
        "2.1.6",
        {"it": ("GRU", {"reset_after": False})},
        [(f"layers/gru/cell/vars/{i}", str(i), [("times_blocks", 1.2, 3, (0, 1))]) for i in range(3)],
    ),
    "gru with a hard candidate": (
        SERIES,
        layer("GRU", dict(GRU, activation="hard_sigmoid"), OF_GRU),
        "2.2.4",
        {"it": ("GRU", {"activation": "hard_sigmoid"})},
        [(f"layers/gru/cell/vars/{i}", str(i), [("times_blocks", 1.2, 3, (2,))]) for i in range(3)],
    ),
    "cuDNN lstm": (
        SERIES,
        layer("CuDNNLSTM", {"units": 4, "return_sequences": True}, ((3, 16), (4, 16), (32,))),
        "2.2.4",
        {"it": ("LSTM", {"activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True})},
        [
            ("layers/lstm/cell/vars/0", "0", [("cudnn_kernel", 4)]),
            ("layers/lstm/cell/vars/1", "1", [("cudnn_recurrent", 4)]),
            ("layers/lstm/cell/vars/2", "2", [("sum_halves",)]),
        ],
    ),
    "cuDNN gru": (
        SERIES,
        layer("CuDNNGRU", {"units": 4}, ((3, 12), (4, 12), (24,))),
        "2.2.4",
        {"it": ("GRU", {"reset_after": True, "recurrent_activation": "sigmoid"})},
        [
            ("layers/gru/cell/vars/0", "0", [("cudnn_kernel", 3)]),
            ("layers/gru/cell/vars/1", "1", [("cudnn_recurrent", 3)]),
            ("layers/gru/cell/vars/2", "2", [("reshape", (2, 12))]),
        ],
    ),
    "keras 1 convolution in one dimension": (
        SERIES,
        layer(
            "Convolution1D",
            {"nb_filter": 4, "filter_length": 2, "border_mode": "same", "subsample_length": 1, "bias": True},
            ((2, 1, 3, 4), (4,)),
        ),
        "1.2.2",
        {"it": ("Conv1D", {"filters": 4, "kernel_size": [2], "padding": "same", "strides": [1]})},
        [("layers/conv1d/vars/0", "0", [("reshape", (2, 3, 4))]), ("layers/conv1d/vars/1", "1", [])],
    ),
    "keras 1 convolution in Theano's order": (
        source(shape=(None, 3, 8, 8)),
        layer(
            "Convolution2D",
            {"nb_filter": 2, "nb_row": 3, "nb_col": 2, "dim_ordering": "th", "subsample": [1, 1], "bias": False},
            ((2, 3, 3, 2),),
        ),
        "1.2.2",
        {"it": ("Conv2D", {"data_format": "channels_first", "kernel_size": [3, 2]})},
        [("layers/conv2d/vars/0", "0", [("transpose", (2, 3, 1, 0))])],
    ),
    "keras 1 deconvolution": (
        IMAGE,
        layer(
            "Deconvolution2D",
            {"nb_filter": 5, "nb_row": 3, "nb_col": 3, "dim_ordering": "tf", "bias": False, "output_shape": [None]},
            ((3, 3, 3, 5),),
        ),
        "1.2.2",
        {"it": ("Conv2DTranspose", {"filters": 5})},
        [("layers/conv2d_transpose/vars/0", "0", [("transpose", (0, 1, 3, 2))])],
    ),
    "keras 1 maxout": (
        VECTOR,
        layer("MaxoutDense", {"output_dim": 4, "nb_feature": 3, "bias": True, "init": "one"}, ((3, 5, 4), (3, 4))),
        "1.2.2",
        {
            "it_part_1": ("Dense", {"units": 12}),
            "it_part_2": ("Reshape", {"target_shape": [3, 4]}),
            "it": ("GlobalMaxPooling1D", {}),
        },
        [
            ("layers/dense/vars/0", "0", [("transpose", (1, 0, 2)), ("reshape", (5, 12))]),
            ("layers/dense/vars/1", "1", [("reshape", (12,))]),
        ],
    ),
    "prelu of keras 1: shared axes by the weight": (
        IMAGE,
        layer("PReLU", {"init": "zero"}, ((1, 1, 3),)),
        "1.2.2",
        {"it": ("PReLU", {"shared_axes": [1, 2]})},
        [("layers/p_re_lu/vars/0", "0", [])],
    ),
    "virtual batches: five axes to one": (
        IMAGE,
        layer(
            "BatchNormalizationV1",
            {"axis": [4], "virtual_batch_size": 2, "scale": True, "center": True},
            ((1, 1, 1, 1, 3),) * 4,
        ),
        "2.2.4-tf",
        {"it": ("BatchNormalization", {"axis": 3})},
        [(f"layers/batch_normalization/vars/{i}", str(i), [("reshape", (3,))]) for i in range(4)],
    ),
    "leaky": (
        VECTOR,
        layer("LeakyReLU", {"alpha": 0.25}),
        "2.2.4",
        {"it": ("LeakyReLU", {"negative_slope": 0.25})},
        [],
    ),
    "threshold": (VECTOR, layer("ThresholdedReLU", {"theta": 0.5}), "2.2.4", {"it": ("ReLU", {"threshold": 0.5})}, []),
    "a number that Keras 2.2 wrapped": (
        VECTOR,
        layer("ELU", {"alpha": {"type": "ndarray", "value": 0.3}}),
        "2.2.4",
        {"it": ("ELU", {"alpha": 0.3})},
        [],
    ),
    "softmax of the last axis ignores masks": (
        VECTOR,
        layer("Softmax", {"axis": -1}),
        "2.2.4",
        {"it": ("Activation", {"activation": "softmax"})},
        [],
    ),
    "bilinear by two, standalone": (
        IMAGE,
        layer("UpSampling2D", {"size": [2, 2], "interpolation": "bilinear", "data_format": "channels_last"}),
        "2.2.4",
        {
            "it_part_1": ("UpSampling2D", {"size": [2, 2], "interpolation": "nearest"}),
            "it": ("AveragePooling2D", {"pool_size": [2, 2], "strides": [1, 1], "padding": "same"}),
        },
        [],
    ),
    "bilinear of tf.keras": (
        IMAGE,
        layer("UpSampling2D", {"size": [2, 2], "interpolation": "bilinear", "data_format": "channels_last"}),
        "2.2.4-tf",
        {"it": ("UpSampling2D", {"interpolation": "bilinear"})},
        [],
    ),
    "attention": (
        source(shape=(None, 4, 3)),
        layer("Attention", {"use_scale": True, "causal": False, "dropout": 0.0}, ((),), inputs=(("x", "x"),)),
        "2.4.0",
        {"it": ("Attention", {"use_scale": True, "dropout": 0.0})},
        [("layers/attention/vars/0", "0", [])],
    ),
    "bidirectional: both layers, each with its half": (
        SERIES,
        layer(
            "Bidirectional",
            {"merge_mode": "sum", "layer": {"class_name": "LSTM", "config": dict(LSTM, name="lstm_3")}},
            OF_LSTM + OF_LSTM,
        ),
        "2.2.4",
        {"it": ("Bidirectional", {"merge_mode": "sum"})},
        [(f"layers/bidirectional/backward_layer/cell/vars/{i}", str(i + 3), []) for i in range(3)]
        + [(f"layers/bidirectional/forward_layer/cell/vars/{i}", str(i), []) for i in range(3)],
    ),
    "stacked cells": (
        SERIES,
        layer(
            "RNN",
            {
                "cell": {
                    "class_name": "StackedRNNCells",
                    "config": {
                        "cells": [
                            {"class_name": "SimpleRNNCell", "config": {"units": 2, "use_bias": False, "name": "a"}},
                            {"class_name": "SimpleRNNCell", "config": {"units": 4, "use_bias": False, "name": "b"}},
                        ]
                    },
                }
            },
            ((3, 2), (2, 2), (2, 4), (4, 4)),
        ),
        "2.2.4",
        {"it": ("RNN", {})},
        [
            ("layers/rnn/cell/cells/simple_rnn_cell/vars/0", "0", []),
            ("layers/rnn/cell/cells/simple_rnn_cell/vars/1", "1", []),
            ("layers/rnn/cell/cells/simple_rnn_cell_1/vars/0", "2", []),
            ("layers/rnn/cell/cells/simple_rnn_cell_1/vars/1", "3", []),
        ],
    ),
    "locally connected": (
        SERIES,
        layer(
            "LocallyConnected1D",
            {"filters": 4, "kernel_size": [2], "strides": [1], "padding": "valid", "activation": "linear"},
            ((5, 6, 4), (5, 4)),
        ),
        "2.2.4",
        {
            "it_part_1": ("Conv1D", {"filters": 6, "kernel_size": [2], "use_bias": False, "trainable": False}),
            "it": ("EinsumDense", {"equation": "aby,byz->abz", "output_shape": [5, 4], "bias_axes": "bz"}),
        },
        [
            ("layers/conv1d/vars/0", None, [("patches", (2,), 3)]),
            ("layers/einsum_dense/vars/0", "0", [("reshape", (5, 6, 4))]),
            ("layers/einsum_dense/vars/1", "1", []),
        ],
    ),
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule(rule):
    entry, old, version, wanted, paths = RULES[rule]
    made = archive(entry, old, version=version)
    found = entries(made)
    assert [name for name in found if name != "x"] == list(wanted)
    for name, (class_name, config) in wanted.items():
        assert found[name]["class_name"] == class_name
        assert {key: found[name]["config"].get(key) for key in config} == config
    steps = [
        (
            path,
            array.sources[0].path.rsplit("/", 1)[1] if array.sources else None,
            [tuple(_flat(s)) for s in array.steps],
        )
        for path, array in made.arrays
    ]
    assert steps == paths


def _flat(step):
    return (step.name, *step.arguments)


def test_keras_1_gates_are_joined_in_the_order_of_keras_2():
    config = {"output_dim": 2, "inner_activation": "sigmoid", "activation": "tanh", "consume_less": "cpu"}
    made = archive(SERIES, layer("LSTM", config, ((3, 2), (2, 2), (2,)) * 4), version="1.2.2")
    kernel, recurrent, bias = (array for _, array in made.arrays)
    # i, c, f, o in the file; i, f, c, o in Keras 2 and 3
    assert [ref.path[-2:].strip("/") for ref in kernel.sources] == ["0", "6", "3", "9"]
    assert [ref.path[-2:].strip("/") for ref in recurrent.sources] == ["1", "7", "4", "10"]
    assert [array.shape for array in (kernel, recurrent, bias)] == [(3, 8), (2, 8), (8,)]


def test_backward_goes_the_other_way_and_both_are_named():
    inner = {"class_name": "GRU", "config": dict(GRU, name="forward_g", go_backwards=True, reset_after=False)}
    made = archive(SERIES, layer("Bidirectional", {"layer": inner}, OF_GRU + OF_GRU))
    config = entries(made)["it"]["config"]
    assert (config["layer"]["config"]["name"], config["layer"]["config"]["go_backwards"]) == ("forward_g", True)
    assert (config["backward_layer"]["config"]["name"], config["backward_layer"]["config"]["go_backwards"]) == (
        "backward_g",
        False,
    )


@pytest.mark.parametrize(
    ("old", "version", "says"),
    [
        (
            layer("Lambda", {"function": ["x", None, None]}),
            "2.2.4",
            r"layer 'it' \(Lambda\): its Python code cannot be read",
        ),
        (layer("BatchNormalization", {"mode": 1}, ((5,),) * 4), "1.2.2", r"BatchNormalization.*mode=1"),
        (layer("BatchNormalization", {"axis": [1, 2]}, ((5, 1),) * 4), "2.4.0", r"axes \[1, 2\]"),
        (layer("RNN", {"cell": {}, "time_major": True}), "2.4.0", "time_major=True"),
        (layer("Dense", {"units": 2, "activation": "mine", "use_bias": False}, ((5, 2),)), "2.2.4", "'mine'"),
        (layer("Dense", {"units": 2, "odd": 3, "use_bias": False}, ((5, 2),)), "2.2.4", r"Dense.*odd=3"),
        (layer("RandomCrop", {"height": 2, "width": 2}), "2.4.0", "RandomCrop"),
        (layer("Merge", {"mode": "concat", "layers": [{}]}), "1.2.2", "Merge.*its own layers"),
        (layer("TFOpLambda", {"function": "math.add"}), "2.4.0", "TFOpLambda"),
        (layer("TensorFlowOpLayer", {"node_def": {"op": "Igamma", "input": ["x"]}}), "2.4.0", "'Igamma'"),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_name(old, version, says):
    with pytest.raises(Keras3Error, match=says) as caught:
        archive(VECTOR, old, version=version)
    assert caught.value.hint


def test_too_few_weights_are_damage():
    with pytest.raises(WeightsError, match="has 1 weights, and needs 2"):
        archive(VECTOR, layer("Dense", {"units": 2, "use_bias": True}, ((5, 2),)))


def test_a_foreign_activation_by_what_the_user_says():
    old = layer("Dense", {"units": 2, "activation": "<lambda>", "use_bias": False}, ((5, 2),))
    model = model_file([VECTOR, old])
    by_name = entries(archive_of(model, **{"<lambda>": "relu6"}))
    assert by_name["it"]["config"]["activation"] == "relu6"
    as_layer = archive_of(model, **{"<lambda>": {"class_name": "ReLU", "config": {"max_value": 20}}})
    assert entries(as_layer)["it"]["class_name"] == "ReLU"
    assert entries(as_layer)["it"]["config"]["max_value"] == 20
    assert entries(as_layer)["it_part_1"]["config"]["activation"] == "linear"
    assert any("as you said" in note.text for note in as_layer.notes)


def test_a_custom_class_is_carried_with_the_order_of_its_weights():
    made = archive(VECTOR, layer("OddScale", {"units": 2, "batch_input_shape": [None, 5]}, ((5, 2), (2,))))
    entry = entries(made)["it"]
    assert (entry["module"], entry["registered_name"], entry["config"]["units"]) == (None, "OddScale", 2)
    assert made.custom == ("OddScale",)
    assert arrays(made) == [
        ("layers/odd_scale/vars/0", [["it", "0"]], []),
        ("layers/odd_scale/vars/1", [["it", "1"]], []),
    ]
    assert any("it/0:0, it/1:0" in note.text for note in made.notes)


@pytest.mark.parametrize(
    ("value", "class_name", "config"),
    [
        (
            {"class_name": "VarianceScaling", "config": {"distribution": "normal", "dtype": "float32"}},
            "VarianceScaling",
            {"distribution": "truncated_normal"},
        ),
        (
            {"class_name": "RandomUniform", "config": {"minval": 0, "maxval": None, "seed": 3}},
            "RandomUniform",
            {"seed": 3},
        ),
        ({"class_name": "Orthogonal", "config": {"gain": 1.0}}, "OrthogonalInitializer", {"gain": 1.0}),
        ("glorot_uniform", "GlorotUniform", {}),
        ({"class_name": "Mine", "config": {}}, "Zeros", {}),
    ],
)
def test_initializers(value, class_name, config):
    made = archive(VECTOR, layer("Dense", {"units": 2, "use_bias": False, "kernel_initializer": value}, ((5, 2),)))
    found = entries(made)["it"]["config"]["kernel_initializer"]
    assert (found["class_name"], found["config"]) == (class_name, config)


@pytest.mark.parametrize(
    ("value", "config"),
    [
        ({"name": "WeightRegularizer", "l1": 0.0, "l2": 0.5}, {"l1": 0.0, "l2": 0.5}),
        ({"class_name": "L2", "config": {"l2": 0.25}}, {"l1": 0.0, "l2": 0.25}),
        ("l1", {"l1": 0.01, "l2": 0.0}),
    ],
)
def test_regularizers(value, config):
    made = archive(VECTOR, layer("Dense", {"units": 2, "use_bias": False, "kernel_regularizer": value}, ((5, 2),)))
    assert entries(made)["it"]["config"]["kernel_regularizer"]["config"] == config


def test_dtypes():
    policy = {"class_name": "Policy", "config": {"name": "mixed_float16"}}
    old = layer("Dense", {"units": 2, "use_bias": False, "dtype": policy}, ((5, 2),))
    assert entries(archive(VECTOR, old, version="2.4.0"))["it"]["config"]["dtype"] == "mixed_float16"
    old = layer("Dense", {"units": 2, "use_bias": False}, ((5, 2),))
    made = archive(VECTOR, old, dtype="float64")
    assert {item["config"]["dtype"] for item in entries(made).values()} == {"float64"}
    old["config"]["dtype"] = {"class_name": "Policy", "config": {"name": "infer"}}
    assert "dtype" not in entries(archive(VECTOR, old, version="2.2.4-tf"))["it"]["config"]
