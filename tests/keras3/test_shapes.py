"""The shapes and types of all tensors against those that Keras itself gave, in models of every kind."""

import json
import os

import pytest

from unparallel import keras_config
from unparallel.keras3 import shapes
from unparallel.keras3.layers import REFUSED, ROWS
from unparallel.keras3.translate import Translator
from unparallel.keras3.values import Context, Old, TensorSpec

from .models import functional, layer, model_file, refs, source

with open(os.path.join(os.path.dirname(__file__), "shapes.json"), encoding="utf-8") as handle:
    GOLDEN = json.load(handle)
CASES = [(version, name) for version, models in GOLDEN.items() for name in models]


def specs_of(model, version):
    topology = keras_config.parse(model["config"])
    weights = {name: refs(name, arrays) for name, arrays in model["weights"].items()}
    return topology, Translator(Context(version, "tensorflow")).model(topology, weights, ()).specs


@pytest.mark.parametrize(("version", "name"), CASES)
def test_the_shapes_of_keras(version, name):
    model = GOLDEN[version][name]
    topology, specs = specs_of(model, version)
    count = 0
    for outer in topology.layers:
        wanted = model["shapes"].get(outer.name, [])
        for call, tensors in enumerate(wanted[: len(outer.calls)]):
            for i, (*shape, dtype) in enumerate(tensors):
                found = specs[outer.name, call, i]
                assert found.shape == tuple(shape), (outer.name, call, i)
                assert found.dtype == dtype, (outer.name, call, i)
                count += 1
    assert count


def old(class_name, config, *inputs, version="2.2.4"):
    specs = tuple(TensorSpec(shape, "float32") for shape in inputs)
    return Old("it", class_name, config, (), Context(version, "tensorflow"), specs)


# by hand, from `get_output_shape_for` of Keras 1.2.2
@pytest.mark.parametrize(
    ("class_name", "config", "inputs", "wanted"),
    [
        ("Convolution2D", {"nb_filter": 4, "nb_row": 3, "nb_col": 2, "subsample": [2, 1], "border_mode": "valid",
                           "dim_ordering": "th"}, [(None, 3, 9, 8)], (None, 4, 4, 7)),
        ("Convolution1D", {"nb_filter": 4, "filter_length": 3, "subsample_length": 2, "border_mode": "same"},
         [(None, 9, 2)], (None, 5, 4)),
        ("MaxPooling1D", {"pool_length": 3, "stride": 2, "border_mode": "valid"}, [(None, 9, 2)], (None, 4, 2)),
        ("LSTM", {"output_dim": 4, "return_sequences": True}, [(None, 9, 2)], (None, 9, 4)),
        ("Dense", {"output_dim": 4}, [(None, 9)], (None, 4)),
        ("MaxoutDense", {"output_dim": 4, "nb_feature": 3}, [(None, 9)], (None, 4)),
        ("Highway", {}, [(None, 9)], (None, 9)),
        ("TimeDistributedDense", {"output_dim": 4}, [(None, 9, 2)], (None, 9, 4)),
        ("Merge", {"mode": "concat", "concat_axis": 1}, [(None, 2, 3), (None, 4, 3)], (None, 6, 3)),
        ("Merge", {"mode": "dot", "dot_axes": [2, 2]}, [(None, 2, 3), (None, 4, 3)], (None, 2, 4)),
        ("Merge", {"mode": "dot", "dot_axes": [1, 1]}, [(None, 3), (None, 3)], (None, 1)),
        ("Merge", {"mode": "max"}, [(None, 3), (None, 3)], (None, 3)),
        ("ZeroPadding2D", {"padding": {"top_pad": 1, "bottom_pad": 2, "left_pad": 3, "right_pad": 4},
                           "dim_ordering": "tf"}, [(None, 5, 6, 2)], (None, 8, 13, 2)),
        ("Bidirectional", {"layer": {"class_name": "GRU", "config": {"output_dim": 4}}, "merge_mode": "concat"},
         [(None, 9, 2)], (None, 8)),
    ],
)  # fmt: skip
def test_keras_1(class_name, config, inputs, wanted):
    assert [spec.shape for spec in shapes.outputs(old(class_name, config, *inputs, version="1.2.2"))] == [wanted]


@pytest.mark.parametrize(
    ("class_name", "config", "wanted"),
    [
        ("Flatten", {}, (None, None)),
        ("Reshape", {"target_shape": [3, -1]}, (None, 3, None)),
        ("Conv2D", {"filters": 4, "kernel_size": [3, 3]}, (None, None, None, 4)),
        ("LSTM", {"units": 4}, (None, 4)),
        ("Permute", {"dims": [3, 1, 2]}, (None, None, None, None)),
        ("RepeatVector", {"n": 3}, (None, 3, None)),
        ("GlobalMaxPooling2D", {"keepdims": True}, (None, 1, 1, None)),
        ("Dense", {"units": 4}, None),
    ],
)
def test_a_rank_is_known_wherever_the_class_decides_it(class_name, config, wanted):
    assert shapes.outputs(old(class_name, config, None))[0].shape == wanted


@pytest.mark.parametrize(
    ("class_name", "config", "shape"),
    [
        ("Reshape", {"target_shape": [2**60]}, (None, 4)),
        ("RepeatVector", {"n": True}, (None, 4)),
        ("RepeatVector", {"n": "many"}, (None, 4)),
        ("Conv2D", {"filters": 4, "kernel_size": [9, 9]}, (None, 3, 3, 1)),
        ("UpSampling2D", {"size": -2}, (None, 3, 3, 1)),
    ],
)
def test_lengths_that_no_tensor_has_are_unknown(class_name, config, shape):
    assert all(spec.shape is None for spec in shapes.outputs(old(class_name, config, shape)))


@pytest.mark.parametrize("config", [{}, {"layer": 1}, {"kernel_size": "x", "filters": []}, {"layer": {"config": 3}}])
@pytest.mark.parametrize("class_name", sorted(ROWS))
def test_a_damaged_config_gives_nothing_worse_than_nothing(class_name, config):
    for spec in shapes.outputs(old(class_name, config, (None, 4, 5))):
        assert spec.shape is None or all(n is None or isinstance(n, int) for n in spec.shape)


def test_each_class_has_a_rule():
    inner = {"SimpleRNNCell", "GRUCell", "LSTMCell", "StackedRNNCells"}  # these are in an RNN
    known = set(shapes.RULES) | shapes.SAME | {"TimeDistributed", "Bidirectional"}
    assert set(ROWS) - known - inner - set(REFUSED) == {"Lambda"}


def test_a_layer_is_told_what_is_true_of_all_its_calls():
    a, b = source("a", (None, 5, 3)), source("b", (None, 7, 3))
    it = layer("UpSampling1D", {"size": 2}, inputs=(("a",), ("b",)))
    seen = []

    class Watching(Translator):
        def pieces(self, old):
            seen.append(old.inputs)
            return super().pieces(old)

    model = model_file([a, b, it], (("it", 0), ("it", 1)))
    made = Watching(Context("2.2.4", "tensorflow")).model(model.topology, {}, ())
    assert seen == [(TensorSpec((None, None, 3), "float32"),)]
    assert [spec.shape for spec in made.outputs] == [(None, 10, 3), (None, 14, 3)]


def grown_twice(inner):
    """A model that enlarges, called on an input and on what itself has made of it."""
    nested = dict(layer("Model", {}, name="inner", inputs=(("x",), (("inner", 1),))), config=inner["config"])
    config = functional([source("x", (None, 4, 3)), nested], (("inner", 2),), "outer")
    return keras_config.parse(config)


def test_a_model_that_is_called_on_its_own_output_is_told_of_both_calls():
    inside = functional([source("a", (None, None, 3)), layer("UpSampling1D", {"size": 2}, inputs=(("a",),))])
    inside["config"]["name"] = "inner"
    translator = Translator(Context("2.2.4", "tensorflow"))
    made = translator.model(grown_twice(inside), {}, ())
    # each of the two calls reads another length
    assert [spec.shape for spec in made.outputs] == [(None, None, 3)]
    assert translator.repeats == 1


def test_broadcast_of_lengths_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        shapes.broadcast((None, 2), (None, 3))
