import pytest

from unparallel import keras_config
from unparallel.errors import ConfigError
from unparallel.graph import call_graph, in_order, layer_order

from . import tiny


def topology(layers, inputs, outputs):
    return keras_config.parse(tiny.TinyModel("m", tuple(layers), inputs, outputs).config())


def test_edges_hold_which_output_goes_to_which_input():
    read = topology([tiny.entry("a", 3), tiny.entry("b", 3), tiny.merge("c", ["b", "a"])], ("a", "b"), ("c",))
    edges = sorted(call_graph(read).edges(data=True))
    assert edges == [
        (("a", 0), ("c", 0), {"tensor": 0, "port": 1}),
        (("b", 0), ("c", 0), {"tensor": 0, "port": 0}),
    ]


def test_a_cycle_is_refused():
    read = topology([tiny.dense("d", "e"), tiny.dense("e", "d")], (), ("e",))
    with pytest.raises(ConfigError, match="cycle"):
        in_order(call_graph(read))


def test_layers_stand_in_the_order_of_keras():
    # what Keras 2.2.4 lists for: x -> a -> b -> out, x -> c -> out, y -> out (read as y, b, c)
    layers = [
        tiny.merge("out", ["y", "b", "c"]),
        tiny.dense("c", "x"),
        tiny.dense("b", "a"),
        tiny.dense("a", "x"),
        tiny.entry("y", 3),
        tiny.entry("x", 3),
    ]
    assert layer_order(topology(layers, ("x", "y"), ("out",))) == ["x", "a", "y", "b", "c", "out"]


def test_an_input_that_nothing_needs_stays():
    read = topology([tiny.entry("x", 3), tiny.entry("idle", 3), tiny.dense("d", "x")], ("x", "idle"), ("d",))
    assert layer_order(read) == ["x", "idle", "d"]
