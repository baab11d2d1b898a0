import json

import pytest

from unparallel import keras_config
from unparallel.errors import ConfigError
from unparallel.keras_config import arguments_of, has_arguments, references
from unparallel.model import Arguments, Call, Input, TensorKey

from . import tiny


def model(layers, outputs, inputs=(["x", 0, 0],), **more):
    return {
        "class_name": "Model",
        "config": dict({"name": "m", "layers": layers, "input_layers": list(inputs), "output_layers": outputs}, **more),
    }


def layer(name, nodes, class_name="Dense", **config):
    return {"name": name, "class_name": class_name, "config": dict(config, name=name), "inbound_nodes": nodes}


X = layer("x", [], "InputLayer")


def test_calls_of_a_nested_model_count_from_1_in_keras_2():
    inner = model([X], [["x", 0, 0]])["config"]
    nested = {
        "name": "inner",
        "class_name": "Model",
        "config": inner,
        "inbound_nodes": [[["x", 0, 0, {}]], [["inner", 1, 0, {}]]],
    }
    read = keras_config.parse(model([X, nested], [["inner", 2, 0]]))
    assert read.outputs == (TensorKey("inner", 1, 0),)
    assert read.layer("inner").calls[1].inputs == (TensorKey("inner", 0, 0),)
    assert read.layer("inner").first_call == 1


def test_calls_of_a_nested_model_count_from_0_in_keras_3():
    inner = model([X], [["x", 0, 0]])["config"]
    tensor = {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": ["x", 0, 0]}}
    nested = {
        "name": "inner",
        "class_name": "Functional",
        "config": inner,
        "inbound_nodes": [{"args": [tensor], "kwargs": {"mask": None}}],
    }
    read = keras_config.parse(model([X, nested], ["inner", 0, 0], ["x", 0, 0]))
    assert read.outputs == (TensorKey("inner", 0, 0),)
    assert read.layer("inner").calls[0].inputs == (TensorKey("x", 0, 0),)
    assert read.layer("inner").first_call == 0


def test_references_of_three_items_and_in_keyword_arguments():
    op = layer("add", [["x", 0, 0, {"y": ["d", 0, 0], "name": None}]], "TFOpLambda")
    read = keras_config.parse(model([X, layer("d", [[["x", 0, 0]]]), op], [["add", 0, 0]]))
    assert read.layer("d").calls[0].inputs == (TensorKey("x", 0, 0),)
    assert read.layer("add").calls[0].inputs == (TensorKey("x", 0, 0), TensorKey("d", 0, 0))


def test_a_constant_that_a_call_reads_is_no_layer():
    op = layer("add", [["_CONSTANT_VALUE", -1, 2, {"y": ["x", 0, 0]}]], "TFOpLambda")
    read = keras_config.parse(model([X, op], [["add", 0, 0]]))
    assert read.layer("add").calls[0].inputs == (TensorKey("x", 0, 0),)


def test_references_are_replaced_in_the_order_in_which_they_are_read():
    node = [["x", 0, 0, {"y": ["d", 0, 1], "z": [["x", 0, 2]]}], ["d", 3, 0]]
    known = {"x", "d"}
    read = list(keras_config.references(node, known))
    seen = []

    def new(reference):
        seen.append(reference)
        return ("d", len(seen), 0)

    written = keras_config.replace_references(node, known, new)
    assert seen == read == [("x", 0, 0), ("d", 0, 1), ("x", 0, 2), ("d", 3, 0)]
    assert written == [["d", 1, 0, {"y": ["d", 2, 0], "z": [["d", 3, 0]]}], ["d", 4, 0]]


@pytest.mark.parametrize("bare", [True, False])
def test_sequential_as_list_and_as_dict(bare):
    layers = [{"class_name": "Dense", "config": {"name": "a"}}, {"class_name": "Dense", "config": {"name": "b"}}]
    config = layers if bare else {"name": "s", "layers": layers}
    read = keras_config.parse({"class_name": "Sequential", "config": config})
    assert read.sequential
    assert [item.name for item in read.layers] == ["a", "b"]
    assert read.layer("b").calls[0].inputs == (TensorKey("a", 0, 0),)
    assert read.outputs == (TensorKey("b", 0, 0),)
    assert read.inputs == ()


def test_rendering_what_was_not_changed_gives_the_same_text():
    template = tiny.TinyModel("t", (tiny.entry("x", 3), tiny.dense("d", "x")), ("x",), ("d",))
    config = tiny.parallel(template, 3).config()
    read = keras_config.parse(config)
    assert json.dumps(keras_config.render(read, read)) == json.dumps(config)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (None, "no functional"),
        ({"class_name": "MyModel", "config": {}}, "MyModel"),
        (model([X, layer("d", [[["x", 3, 0, {}]]])], [["d", 0, 0]]), "layer 'd' reads call 3 of layer 'x'"),
        (model([X, X], [["x", 0, 0]]), "two layers named 'x'"),
        (
            model([X, layer("d", [[["y", 0, 0, {}]]])], [["d", 0, 0]]),
            'reads \\["y", 0, 0, {}\\], which names no tensor',
        ),
        (model([X], []), "no outputs"),
        (model([{"class_name": "Dense", "config": {"name": "d"}}], [["d", 0, 0]]), "'d' of model 'm' has no inbound"),
        (model([layer(7, [])], [["x", 0, 0]]), "not text"),
    ],
)
def test_what_is_no_model_is_named(config, says):
    with pytest.raises(ConfigError, match=says):
        keras_config.parse(config)


TENSOR = {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": ["x", 0]}}


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "does not list 'x'"),
        ([["x", 0, 0], ["x", 0, 0]], "lists 'x' 2 times"),
        ([["nowhere", 0, 0]], "input_layers of model 'm': \\[\"nowhere\", 0, 0\\] is not one"),
        ([["x", 0, 0.0]], "is not one of the model's tensors"),
        ([["x", 0, False]], "is not one of the model's tensors"),
        ([["x", 0]], "is not one of the model's tensors"),
        ([["x", 0, 0, {}]], "is not one of the model's tensors"),
        ("x", "is not one of the model's tensors"),
        (None, "is not one of the model's tensors"),
        ([["x", 0, 0], None], "is not one of the model's tensors"),
        ([["x", 1, 0]], "reads call 1 of layer 'x', which has none such"),
        ([["x", 0, 1]], "reads output 1 of input 'x', which is one tensor"),
        ([["x", 0, 0], ["d", 0, 0]], "lists 'd', which is computed"),
    ],
)
def test_inputs_that_no_keras_could_have_written(inputs, says):
    config = model([X, layer("d", [[["x", 0, 0, {}]]])], [["d", 0, 0]])
    config["config"]["input_layers"] = inputs
    with pytest.raises(ConfigError, match=says):
        keras_config.parse(config)
    # nor inside a larger model
    nested = {"name": "m", "class_name": "Model", "config": config["config"], "inbound_nodes": [[["x", 0, 0, {}]]]}
    with pytest.raises(ConfigError, match=says):
        keras_config.parse(model([X, nested], [["m", 1, 0]]))


@pytest.mark.parametrize("outputs", [[["d", 0, 0], ["nowhere", 0, 0]], [["d", 0, True]], "d", None, [7], [["d", 0]]])
def test_outputs_that_no_keras_could_have_written(outputs):
    with pytest.raises(ConfigError, match="output_layers of model 'm': .* is not one of the model's tensors"):
        keras_config.parse(model([X, layer("d", [[["x", 0, 0, {}]]])], outputs))


@pytest.mark.parametrize(
    "node",
    [
        [["nowhere", 0, 0]],
        [["nowhere", 0, 0, {}]],
        [["x", 0, 0, {}], ["x", 0, None, {}]],
        [["x", 0, 0, []]],
        [["x", True, 0]],
        [["x", 0]],
        ["x"],
        [3],
        {"args": [TENSOR], "kwargs": {}},
    ],
)
def test_calls_that_no_keras_could_have_written(node):
    with pytest.raises(ConfigError, match="layer 'd' reads|reads a tensor without"):
        keras_config.parse(model([X, layer("d", [node])], [["d", 0, 0]]))


def test_inputs_and_outputs_keep_the_structure_by_which_keras_3_calls_a_model():
    config = model([X, layer("y", [], "InputLayer"), layer("d", [[["x", 0, 0, {}], ["y", 0, 0, {}]]])], ["d", 0, 0])
    config["config"]["input_layers"] = {"first": ["y", 0, 0], "second": [["x", 0, 0]]}
    read = keras_config.parse(config)
    assert [key.layer for key in read.inputs] == ["y", "x"]
    assert keras_config.render(read, read) == config


def test_a_model_in_a_model_without_end_is_refused():
    config = model([X], [["x", 0, 0]])
    for _ in range(keras_config.DEEPEST + 1):
        config = model([dict(config, name="n", inbound_nodes=[])], [["n", 0, 0]], [])
    with pytest.raises(ConfigError, match="nested more than"):
        keras_config.parse(config)


def test_json_that_is_nested_too_deeply_is_refused():
    with pytest.raises(ConfigError, match="nested too deeply"):
        keras_config.parse_json("[" * 100_000 + "]" * 100_000, "model_config")


# -- the arguments of a call


def tensor(layer, shape=(None, 4)):
    config = {"shape": list(shape), "dtype": "float32", "keras_history": [layer, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


@pytest.mark.parametrize(
    ("node", "keep", "expected"),
    [
        # Keras 1 and 2: a list of tensors, keyword arguments behind them
        ([["a", 0, 0]], False, Arguments((Input(0),))),
        ([["a", 0, 0, {"training": True}]], False, Arguments((Input(0),), {"training": True})),
        ([["a", 0, 0, {}], ["b", 0, 1, {}]], False, Arguments(([Input(0), Input(1)],))),
        ([["a", 0, 0, {"state": ["b", 0, 0]}], ["c", 0, 0, {}]], False,
         Arguments(([Input(0), Input(2)],), {"state": Input(1)})),
        # tf.keras 2.4 on: a tensor alone, a list of one, a constant, a slice
        (["a", 0, 0, {"y": ["b", 0, 0], "axis": 0}], True, Arguments((Input(0),), {"y": Input(1), "axis": 0})),
        ([["a", 0, 0, {}]], True, Arguments(([Input(0)],))),
        ([["_CONSTANT_VALUE", -1, 2, {}], ["a", 0, 0, {}]], True, Arguments(([2, Input(0)],))),
        (["a", 0, 0, {"slice_spec": [{"start": None, "stop": ["b", 0, 0], "step": None}]}], True,
         Arguments((Input(0),), {"slice_spec": [slice(None, Input(1), None)]})),
        # Keras 3
        ({"args": [tensor("a")], "kwargs": {"mask": None}}, False, Arguments((Input(0, (None, 4)),), {"mask": None})),
        ({"args": [[tensor("a"), tensor("b", [8])], {"class_name": "__ellipsis__", "config": {}}], "kwargs": {}}, False,
         Arguments(([Input(0, (None, 4)), Input(1, (8,))], Ellipsis))),
        ({"args": [tensor("a"), {"class_name": "__slice__", "config": {"start": 1, "stop": 2, "step": None}}],
          "kwargs": {}}, False, Arguments((Input(0, (None, 4)), slice(1, 2, None)))),
        # nothing that anybody could read
        ({"args": 3}, False, Arguments()),
        (None, False, Arguments(([],))),
    ],
)  # fmt: skip
def test_arguments_of_a_call(node, keep, expected):
    found = arguments_of(node, {"a", "b", "c"}, keep)
    assert found == expected
    # an Input's place is that of the reference
    order = [layer for layer, _, _ in references(node, {"a", "b", "c"})]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ([["a", 0, 0, {}]], False),
        ([["a", 0, 0, {"training": None}]], True),
        ({"args": [tensor("a")], "kwargs": {"training": None, "mask": [None, None]}}, False),
        ({"args": [tensor("a")], "kwargs": {"training": True, "mask": None}}, True),
        ({"args": [tensor("a")], "kwargs": {"mask": [None, tensor("b")]}}, True),
    ],
)
def test_arguments_besides_the_tensors(node, expected):
    assert has_arguments(Call((), node, arguments_of(node, {"a", "b"}))) is expected


def test_keras_1_may_list_a_layer_that_returned_its_input():
    # ActivityRegularization(l1=.1) on an Input, as Keras 1.2.2 saves it
    nodes = [[["in", 0, 0]]]
    layers = [
        {"name": "in", "class_name": "InputLayer", "config": {"name": "in"}, "inbound_nodes": []},
        {"name": "act", "class_name": "ActivityRegularization", "config": {"name": "act"}, "inbound_nodes": nodes},
    ]
    ends = {"input_layers": [["act", 0, 0]], "output_layers": [["act", 0, 0]]}
    topology = keras_config.parse({"class_name": "Model", "config": dict(ends, name="m", layers=layers)})
    assert [key.layer for key in topology.inputs] == ["act"]
