"""Layers that are one operation of TensorFlow: what they become, computed in numpy, gives what TensorFlow gave."""

import json
import os

import numpy as np
import pytest

from unparallel import keras_config
from unparallel.errors import Keras3Error
from unparallel.keras3 import nodedefs, oplayers
from unparallel.keras3.graph import model_calls
from unparallel.keras3.plan import compiled
from unparallel.keras3.translate import Translator, attempt, translate
from unparallel.keras3.values import Context, TensorSpec
from unparallel.model import TensorKey
from unparallel.operations.table import find

from ..operations.followed import GIVES
from .models import file_of, functional, layer, source

with open(os.path.join(os.path.dirname(__file__), "operations.json"), encoding="utf-8") as handle:
    GOLDEN = json.load(handle)
REFUSED = {
    "size_of_another": "length of an axis that is not in the file",
    "mean_by_hand": "length of an axis that is not in the file",
    "shape_itself": "gives out its number or shape",
}
CASES = [(version, name) for version, models in GOLDEN.items() for name in models]


def model_of(version, name):
    return file_of(GOLDEN[version][name]["config"], (), version)


# -- what a new model gives, in numpy ----------------------------------------------------------------------


def value_of(arg, known):
    """An argument of an operation's call, as config.json has it, tensors replaced."""
    if isinstance(arg, TensorKey):
        return known[arg]
    if isinstance(arg, list):
        return [value_of(item, known) for item in arg]
    if not isinstance(arg, dict):
        return arg
    config = arg["config"]
    if arg["class_name"] == "__numpy__":
        return np.array(config["value"], config["dtype"])
    return slice(config["start"], config["stop"], config["step"]) if arg["class_name"] == "__slice__" else Ellipsis


def computed(model, arrays):
    """What a model of operations, and of models of these, makes of arrays."""
    known = {key: array for key, array in zip(model.inputs, arrays)}
    for made, number, call in model_calls(model):
        key = TensorKey(made.name, number, 0)
        if made.class_name == "InputLayer":
            continue
        if made.submodel is not None:
            found = computed(made.submodel, [known[read] for read in call.inputs])
        else:
            kind = f"{made.module.rpartition('.')[2]}.{made.class_name}"
            config = {name: value for name, value in made.config.items() if name != "name"}
            found = GIVES[kind](*[value_of(arg, known) for arg in call.args], **config)
        for i, array in enumerate(found if isinstance(found, list) else [found]):
            known[key._replace(tensor=i)] = array
    return [known[key] for key in model.outputs]


@pytest.mark.parametrize(("version", "name"), [case for case in CASES if case[1] not in REFUSED])
def test_the_numbers_of_tensorflow(version, name):
    case = GOLDEN[version][name]
    model, _ = translate(model_of(version, name))
    with np.errstate(all="ignore"):
        found = computed(model, [np.array(array, "float32") for array in case["inputs"]])
    assert len(found) == len(case["outputs"])
    for mine, wanted in zip(found, case["outputs"]):
        assert np.shape(mine) == np.shape(wanted)
        np.testing.assert_allclose(mine, wanted, rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize(("version", "name"), [case for case in CASES if case[1] in REFUSED])
def test_what_cannot_be_said_is_refused_by_name(version, name):
    with pytest.raises(Keras3Error, match=REFUSED[name]) as caught:
        translate(model_of(version, name))
    assert "layer '" in str(caught.value)


def test_shapes_flow_through_operations():
    model = model_of("2.4.0", "attention")
    looks = {look.name: look for look in attempt(model).layers}
    becomes = [look.becomes for look in looks.values() if look.class_name == "TensorFlowOpLayer" and look.becomes]
    assert becomes == [("Transpose", "Matmul"), ("TrueDivide",), ("Softmax",), ("Matmul",)]
    carried = [look for look in looks.values() if look.class_name == "TensorFlowOpLayer" and not look.becomes]
    assert [note.text for look in carried for note in look.notes] == [oplayers.CARRIED] * len(carried)
    assert len(carried) == 4  # shape, its last, as a float, its root


def test_one_note_for_all_that_is_not_written():
    model = model_of("2.6.0", "heads")
    archive = compiled(model, *translate(model))
    assert [str(note) for note in archive.notes if note.kind == "dropped"] == [
        "not written: 'tf.compat.v1.shape' and 1 more, of which operations read a number or a shape, "
        "which they have in them"
    ]
    names = [item["config"]["name"] for item in archive.config["config"]["layers"]]
    assert names == ["input_1", "tf.reshape", "tf.compat.v1.transpose"]


def test_each_operation_means_a_function_of_the_table():
    special = set(oplayers._SPECIAL)
    for op, node in nodedefs.NODES.items():
        path = tuple(node.function.split("."))
        assert path[-1] in special or find(path) is not None, op


# -- single layers, by hand --------------------------------------------------------------------------------


def node(op, *inputs, constants=None, attr=None, name="it"):
    """A TensorFlowOpLayer on "x"."""
    definition = {"name": name, "op": op, "input": list(inputs), "attr": attr or {}}
    return layer("TensorFlowOpLayer", {"node_def": definition, "constants": constants or {}}, name=name)


def single(old, shape=(None, 5), version="2.4.0", **more):
    return file_of(functional([source(shape=shape), old]), (), version, **more)


def refused(old, **more):
    with pytest.raises(Keras3Error) as caught:
        translate(single(old, **more))
    return caught.value.message


def test_an_unknown_operation():
    assert "it is the operation 'Betainc', which this program does not know" in refused(node("Betainc", "x"))


def test_an_attribute_that_no_row_knows():
    assert "the attribute axis=3" in refused(node("Softmax", "x", attr={"axis": {"i": "3"}}))


def test_a_damaged_attribute():
    assert "damaged" in refused(
        node("MirrorPad", "x", "p", constants={"1": [[0, 0], [1, 1]]}, attr={"mode": {"s": "?"}})
    )


@pytest.mark.parametrize("config", [{}, {"node_def": 3}, {"node_def": {"op": ["Abs"], "input": ["x"]}},
                                    {"node_def": {"op": "Abs", "input": []}}, {"node_def": {"op": "Abs", "input": 1}},
                                    {"node_def": {"op": "Add", "input": ["x"]}, "constants": {"0": 1.0}}])  # fmt: skip
def test_a_damaged_node(config):
    assert "layer 'it' (TensorFlowOpLayer)" in refused(layer("TensorFlowOpLayer", config))


def test_rank_unknown():
    own = layer("Own", {}, name="own", shapes=((5,),))
    old = layer("TFOpLambda", {"function": "math.abs"}, inputs=(("own",),))
    file = file_of(functional([source(), own, old]), (), "2.6.0")
    assert "how many axes its input has is not in the file" in attempt(file).error.message


def test_a_layer_that_reads_a_shape():
    shape = layer("TFOpLambda", {"function": "shape"}, name="shape")
    dense = layer("Activation", {"activation": "relu"}, inputs=(("shape",),))
    error = attempt(file_of(functional([source(), shape, dense]), (), "2.6.0")).error
    assert error.message == "layer 'it' (Activation): it reads 'shape', which gives a number or a shape and no tensor"


@pytest.mark.parametrize(("shape", "fits"), [((None, 5), True), ((None, 7), False), ((None, 5, 1), False)])
def test_an_operation_called_twice(shape, fits):
    calls = layer("TFOpLambda", {"function": "math.abs"}, inputs=(("a",), ("b",)))
    layers = [source("a", (None, 5)), source("b", shape), calls]
    tried = attempt(file_of(functional(layers, (("it", 0), ("it", 1))), (), "2.6.0"))
    if fits:
        assert [len(made.calls) for made in tried.model.layers] == [1, 1, 2]
    else:
        assert "it is called on tensors of different shapes" in tried.error.message


def test_methods_of_other_tensors_are_refused_by_name():
    old = layer("InstanceProperty", {"cls_symbol": "tf.RaggedTensor", "attr_name": "row_lengths"})
    assert "it reads 'row_lengths' of tf.RaggedTensor" in refused(old, version="2.6.0")


def test_constants_have_one_budget_a_file(monkeypatch):
    monkeypatch.setattr(oplayers, "MAX_NUMBERS", 7)
    old = node("Mul", "x", "y", constants={"1": [1.0, 2.0, 3.0, 4.0, 5.0]})
    translate(single(old))
    layers = [source(), old, dict(old, name="two", config=dict(old["config"], name="two"))]
    error = attempt(file_of(functional(layers, ("it", "two")), (), "2.4.0")).error
    assert "hold more than 7 numbers" in error.message


def test_rows_of_something_mixed_are_not_those_of_the_batch():
    """The first length of what was mixed is not how many rows another tensor has."""
    lambdas = [
        layer("TFOpLambda", {"function": "reshape"}, name="flat", kwargs={"shape": [-1]}),
        layer("TFOpLambda", {"function": "shape"}, name="shape", inputs=(("flat",),)),
        layer("SlicingOpLambda", {"function": "__operators__.getitem"}, name="rows", inputs=(("shape",),),
              kwargs={"slice_spec": 0}),
        layer("TFOpLambda", {"function": "reshape"}, kwargs={"shape": [["rows", 0, 0], -1]}),
    ]  # fmt: skip
    error = attempt(file_of(functional([source(), *lambdas]), (), "2.6.0")).error
    assert "length of an axis that is not in the file" in error.message


def test_the_shape_of_what_an_operation_gives():
    mean = node("Mean", "x", "axis", constants={"1": 1}, attr={"keep_dims": {"b": True}})
    flat = layer("Flatten", name="flat", inputs=(("it",),))
    topology = keras_config.parse(functional([source(shape=(None, 5, 4)), mean, flat], ("flat",)))
    made = Translator(Context("2.4.0", "tensorflow")).model(topology, {}, ())
    assert made.specs["it", 0, 0] == TensorSpec((None, 1, 4), "float32")
    assert made.outputs == (TensorSpec((None, 4), "float32"),)
