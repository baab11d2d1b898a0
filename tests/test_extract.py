"""What is left when the replicas are folded into one; the wanted configs are written by hand."""

import json

import pytest

from unparallel import keras_config
from unparallel.plan import clean_topology

from . import tiny
from .test_match import JOINED, NET, X, calls, cuts, net


def cleaned(layers, inputs=("x",), outputs=("out",)):
    return clean_topology(keras_config.parse(tiny.TinyModel("m", tuple(layers), inputs, outputs).config()))


def config(layers, inputs=("x",), outputs=("out",), name="m"):
    return json.dumps(tiny.TinyModel(name, tuple(layers), inputs, outputs).config())


def test_the_template_alone_is_the_result():
    result = cleaned([X, *cuts(2), net("cut0", "cut1"), JOINED])
    assert json.dumps(result.topology.config) == json.dumps(NET.config())
    assert dict(result.origins) == {"in": ("net", "in"), "d": ("net", "d")}


def test_layers_before_and_after_stay():
    before, after = tiny.dense("before", "x"), tiny.dense("after", "out")
    result = cleaned([X, before, *cuts(2, "before"), net("cut0", "cut1"), JOINED, after], outputs=("after",))
    wanted = [X, before, net("before"), tiny.dense("after", "net")]
    assert json.dumps(result.topology.config) == config(wanted, outputs=("after",))


def test_an_output_that_bypasses_the_wrapper_stays_in_its_place():
    aside = tiny.dense("aside", "x")
    result = cleaned([X, *cuts(2), net("cut0", "cut1"), aside, JOINED], outputs=("aside", "out"))
    wanted = [X, aside, net("x")]
    assert json.dumps(result.topology.config) == config(wanted, outputs=("aside", "net"))


def test_a_template_that_is_called_elsewhere_too():
    layers = [
        X,
        tiny.entry("y", 3),
        *cuts(2),
        net("cut0", "y", "cut1"),
        tiny.merge("out", [("net", 0, 0), ("net", 0, 2)]),
    ]
    result = cleaned(layers, ("x", "y"), ("out", ("net", 0, 1)))
    wanted = [X, tiny.entry("y", 3), net("x", "y")]
    assert json.dumps(result.topology.config) == config(wanted, ("x", "y"), ("net", ("net", 0, 1)))


def test_copies_give_way_to_the_next_free_name():
    layers = [
        X,
        *cuts(2),
        calls(tiny.dense("d", ""), "cut0", "cut1"),
        tiny.activation("activation_1", ("d", 0, 0)),
        tiny.activation("activation_2", ("d", 0, 1)),
        tiny.merge("out", ["activation_1", "activation_2"]),
    ]
    result = cleaned(layers)
    wanted = [X, tiny.dense("d", "x"), tiny.activation("activation_3", "d")]
    assert json.dumps(result.topology.config) == config(wanted, outputs=("activation_3",))
    assert result.renamed == (("activation_1", "activation_3"),)


def test_names_that_were_chosen_by_hand_stay():
    layers = [
        X,
        *cuts(2),
        calls(tiny.dense("d", ""), "cut0", "cut1"),
        tiny.activation("here", ("d", 0, 0)),
        tiny.activation("there", ("d", 0, 1)),
        tiny.merge("out", ["here", "there"]),
    ]
    assert [layer.name for layer in cleaned(layers).topology.layers] == ["x", "d", "here"]


def test_a_wrapper_of_a_wrapper():
    inner = tiny.parallel(NET, 2, "inner")
    outer = tiny.parallel(inner, 3, "outer")
    result = cleaned(outer.layers, ("in",), ("d",))
    assert json.dumps(result.topology.config) == json.dumps(NET.config())
    assert dict(result.origins) == {"in": ("inner", "net", "in"), "d": ("inner", "net", "d")}
    assert [(placed.path, placed.match.replicas) for placed in result.matches] == [((), 3), (("inner",), 2)]


def test_a_name_that_is_taken_outside_is_not_taken_again():
    # the template is named as another layer of the outer model: Keras refuses two layers of one name
    inner = tiny.parallel(NET, 2, "inner")
    layers = [X, tiny.dense("net", "x"), tiny.nested("inner", "net", inner), tiny.dense("out", "inner")]
    result = cleaned(layers)
    assert [layer.name for layer in result.topology.layers] == ["x", "net", "inner", "out"]
    assert result.topology.layer("inner").submodel.layers[1].name == "d"


def test_outputs_of_a_wrapper_inside_go_to_the_templates():
    two = tiny.TinyModel("two", (X, tiny.dense("a", "x"), tiny.dense("b", "x")), ("x",), ("a", "b"))
    wrapped = tiny.parallel(two, 2, "wrapped")
    # the wrapper gives only the template's second output
    wrapped = wrapped._replace(layers=wrapped.layers[:-2] + wrapped.layers[-1:], outputs=("b",))
    result = cleaned([X, tiny.nested("wrapped", "x", wrapped), tiny.dense("out", "wrapped")])
    wanted = [X, tiny.nested("two", "x", two), tiny.dense("out", ("two", 1))]
    assert json.dumps(result.topology.config) == config(wanted)


TWO = tiny.TinyModel("two", (X, tiny.dense("a", "x"), tiny.dense("b", "x")), ("x",), ("a", "b"))


@pytest.mark.parametrize(
    ("outputs", "wanted"),
    [
        (("b",), [("two", 1)]),
        (("a",), [("two", 0)]),
        (("b", "a"), [("two", 1), ("two", 0)]),
        (("a", "a"), [("two", 0), ("two", 0)]),
        (("a", "b", "b"), [("two", 0), ("two", 1), ("two", 1)]),
        (("a", "b", "x"), [("two", 0), ("two", 1), "x"]),
    ],
)
def test_a_model_that_was_cut_out_of_a_wrapper_gives_what_it_gave(outputs, wanted):
    layers = tiny.parallel(TWO, 2).layers
    used = [layer for layer in layers if layer.name in outputs or layer.name not in ("a", "b")]
    for given in (layers, used):  # the merges that nothing reads may be in the file or not
        result = cleaned(given, outputs=outputs)
        assert json.dumps(result.topology.config) == config([X, tiny.nested("two", "x", TWO)], outputs=wanted)
        assert result.outputs == tuple(range(len(outputs)))


def test_outputs_in_their_order_are_the_templates():
    assert json.dumps(cleaned(tiny.parallel(TWO, 2).layers, outputs=("a", "b")).topology.config) == (
        json.dumps(TWO.config())
    )
    # one tensor that is listed twice: both merges may read the one place or the other
    twice = TWO._replace(outputs=("a", "a"))
    layers = list(tiny.parallel(twice, 2).layers[:-2])
    layers += [tiny.merge(f"a_{place}", [("two", 1, i) for i in range(2)]) for place in (1, 2)]
    assert json.dumps(cleaned(layers, outputs=("a_1", "a_2")).topology.config) == json.dumps(twice.config())


@pytest.mark.parametrize("outputs", [("lambda_1",), ("a", "lambda_2"), (("two", 0, 0),), ("a", ("two", 1, 1))])
def test_what_gives_a_part_of_the_batch_is_refused(outputs):
    result = cleaned(tiny.parallel(TWO, 2).layers, outputs=outputs)
    assert result.matches == ()
    assert "single replica's" in result.near_misses[0].reason or "nothing joins" in result.near_misses[0].reason


def test_arguments_of_the_templates_calls_stay():
    wrapped = tiny.parallel(NET, 2).config()
    call = next(layer for layer in wrapped["config"]["layers"] if layer["name"] == "net")
    for node in call["inbound_nodes"]:
        node[0][3]["training"] = True
    result = clean_topology(keras_config.parse(wrapped))
    assert [layer.name for layer in result.topology.layers] == ["in", "net"]
    assert result.topology.layer("net").calls[0].node == [["lambda_1", 0, 0, {"training": True}]]


def test_a_wrapper_that_only_joined_the_first_outputs_is_its_template():
    # a wrapper has the number after its template's; a model cut out of it, one that comes later
    layers = tiny.parallel(TWO._replace(name="model_1"), 2).layers[:-1]
    for name, kept in (("model_2", ["x", "a", "b"]), ("model_3", ["x", "model_1"])):
        model = tiny.TinyModel(name, layers, ("x",), ("a",))
        result = clean_topology(keras_config.parse(model.config())).topology
        assert [layer.name for layer in result.layers] == kept


@pytest.mark.parametrize("beside", [False, True])
def test_a_wrapper_in_a_wrapped_layer_is_said_and_not_undone(beside):
    inside = dict(tiny.parallel(NET, 2, "wrapped").config())
    spread = tiny.TinyLayer("spread", "TimeDistributed", {"name": "spread", "layer": inside}, (("out",),))
    first = [*cuts(2), net("cut0", "cut1"), JOINED] if beside else [tiny.dense("out", "x")]
    result = cleaned([X, *first, spread], outputs=("spread",))
    assert bool(result.matches) is beside
    assert [miss.reason for miss in result.near_misses] == [
        "layer 'spread' wraps a parallel model, which is not undone there"
    ]
    assert result.topology.layer("spread").config["layer"] == inside
