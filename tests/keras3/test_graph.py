"""Names, numbers of calls, and the order of layers that decides where weights are looked for."""

import pytest

from unparallel.errors import ConfigError, Keras3Error
from unparallel.keras3.graph import order, snake_case
from unparallel.keras3.translate import translate

from .models import archive, archive_of, arrays, entries, file_of, functional, layer, model_file, refs, source

DENSE = {"units": 3, "use_bias": False}
SERIES = source(shape=(None, 6, 3))


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("Conv2D", "conv2d"),
        ("PReLU", "p_re_lu"),
        ("ReLU", "re_lu"),
        ("LSTM", "lstm"),
        ("InputLayer", "input_layer"),
        ("DepthwiseConv2D", "depthwise_conv2d"),
        ("BatchNormalization", "batch_normalization"),
        ("GlobalAveragePooling1D", "global_average_pooling1d"),
        ("StackedRNNCells", "stacked_rnn_cells"),
        ("Conv2DTranspose", "conv2d_transpose"),
    ],
)
def test_snake_case(name, snake):
    # dumped from the files of Keras 3.3 to 3.15
    assert snake_case(name) == snake


def two_branches():
    """Dense -> Masking -> LSTM beside Dense -> Dense -> LSTM: the mask's operations lift the first Dense."""
    rnn = {"units": 3, "use_bias": False, "activation": "tanh", "recurrent_activation": "sigmoid"}
    return [
        SERIES,
        layer("Dense", DENSE, ((3, 3),), "right_1"),
        layer("Dense", DENSE, ((3, 3),), "right_2", (("right_1",),)),
        layer("LSTM", rnn, ((3, 12), (3, 12)), "right_rnn", (("right_2",),)),
        layer("Dense", DENSE, ((3, 3),), "left"),
        layer("Masking", {"mask_value": 0.0}, (), "mask", (("left",),)),
        layer("LSTM", rnn, ((3, 12), (3, 12)), "left_rnn", (("mask",),)),
        layer("Add", {}, (), "it", (("right_rnn", "left_rnn"),)),
    ]


def test_masks_are_nodes_of_the_graph():
    model, _ = translate(model_file(two_branches()))
    # depths from the output: add 0, rnn 1, any 2, not_equal and mask 3, left 4; right_2 2, right_1 3
    names = order(model)
    assert names.index("left") < names.index("right_1") < names.index("right_2")
    made = dict((path, source[0][0]) for path, source, _ in arrays(archive(*two_branches())))
    assert made["layers/dense/vars/0"] == "left"
    assert (made["layers/dense_1/vars/0"], made["layers/dense_2/vars/0"]) == ("right_1", "right_2")


def test_numbers_of_a_class_follow_that_order():
    made = archive(
        SERIES,
        layer("Dense", DENSE, ((3, 3),), "b"),
        layer("Dense", DENSE, ((3, 3),), "a", (("b",),)),
        layer("Dense", DENSE, ((3, 3),), "it", (("a",),)),
    )
    assert [(path, item[0][0]) for path, item, _ in arrays(made)] == [
        ("layers/dense/vars/0", "b"),
        ("layers/dense_1/vars/0", "a"),
        ("layers/dense_2/vars/0", "it"),
    ]


def nested(class_name="Model"):
    inner = functional([source("y"), layer("Dense", DENSE, (), "fc", (("y",),))], ("fc",), "inner")
    entry = dict(layer(class_name, {}, (), "inner"), config=inner["config"], inputs=(("x",), ("x",)))
    return [source(), entry, layer("Add", {}, (), "it", ((("inner", 1), ("inner", 2)),))]


def test_calls_of_a_nested_model_count_from_0_between_layers_and_from_1_at_the_ends():
    model = file_of(functional(nested()), [("x", ()), ("inner", refs("inner", ((5, 3),))), ("it", ())])
    made = archive_of(model)
    node = entries(made)["it"]["inbound_nodes"][0]["args"][0]
    assert [tensor["config"]["keras_history"] for tensor in node] == [["inner", 0, 0], ["inner", 1, 0]]
    assert arrays(made) == [("layers/functional/layers/dense/vars/0", [["inner", "0"]], [])]
    layers = nested()[:2]
    config = functional(layers, (("inner", 1), ("inner", 2)))
    made = archive_of(file_of(config, [("x", ()), ("inner", refs("inner", ((5, 3),)))]))
    assert made.config["config"]["output_layers"] == [["inner", 1, 0], ["inner", 2, 0]]
    assert made.config["config"]["input_layers"] == ["x", 0, 0]


def test_slashes_in_names_make_way():
    made = archive(
        source("a/x"),
        layer("Dense", {"units": 5, "use_bias": False}, ((5, 5),), "a_x", (("a/x",),)),
        layer("Dense", DENSE, ((5, 3),), "it", (("a_x",),)),
    )
    assert set(entries(made)) == {"a_x_1", "a_x", "it"}
    assert made.config["config"]["input_layers"] == ["a_x_1", 0, 0]
    assert any(note.kind == "renamed" and note.layer == "a/x" for note in made.notes)


def test_a_cycle_is_damage():
    layers = [
        SERIES,
        layer("Add", {}, (), "one", (("x", "it"),)),
        layer("Dense", DENSE, ((3, 3),), "it", (("one",),)),
    ]
    with pytest.raises(ConfigError, match="cycle"):
        archive(*layers)


def test_alike_layers_that_versions_may_list_otherwise_are_refused():
    # a merge of equal masks stands between: which operations it makes differs between versions
    layers = two_branches()
    layers[6:7] = [
        layer("Add", {}, (), "sum", (("mask", "mask"),)),
        layer("LSTM", layers[6]["config"], ((3, 12), (3, 12)), "left_rnn", (("sum",),)),
    ]
    layers[2] = layer("Dense", DENSE, ((3, 3),), "right_2", (("right_1",),))
    layers.insert(3, layer("Dense", DENSE, ((3, 3),), "right_3", (("right_2",),)))
    layers[4] = layer("LSTM", layers[4]["config"], ((3, 12), (3, 12)), "right_rnn", (("right_3",),))
    with pytest.raises(Keras3Error, match="are alike"):
        archive(*layers)


# -- Sequentials


def sequential(items, version="2.2.4", name="seq", as_list=False, **more):
    entries_ = [{"class_name": item["class_name"], "config": item["config"]} for item in items]
    config = entries_ if as_list else dict({"name": name, "layers": entries_}, **more)
    weights = [(item["name"], refs(item["name"], item["shapes"])) for item in items]
    return file_of({"class_name": "Sequential", "config": config}, weights, version)


@pytest.mark.parametrize("as_list", [True, False])
def test_a_sequential_gets_the_input_that_its_first_layer_tells(as_list):
    config = {"input_dim": 9, "output_dim": 3, "batch_input_shape": [None, 4], "dtype": "int32"}
    first = layer("Embedding", config, ((9, 3),), "emb")
    made = archive_of(sequential([first, layer("Dense", DENSE, ((3, 3),), "fc")], as_list=as_list))
    layers = made.config["config"]["layers"]
    assert [item["class_name"] for item in layers] == ["InputLayer", "Embedding", "Dense"]
    assert layers[0]["config"]["batch_shape"] == [None, 4]
    assert layers[0]["config"]["dtype"] == "int32"
    assert "dtype" not in layers[1]["config"]
    assert "batch_input_shape" not in layers[1]["config"]
    assert [path for path, _, _ in arrays(made)] == ["layers/dense/vars/0", "layers/embedding/vars/0"]


def test_a_sequential_without_one_is_built_by_its_weights():
    items = [
        layer("Conv2D", {"filters": 2, "kernel_size": [3, 3], "use_bias": False}, ((3, 3, 4, 2),), "conv"),
        layer("BatchNormalization", {"axis": -1}, ((2,),) * 4, "norm"),
        layer("Flatten", {}, (), "flat"),
        layer("Dense", DENSE, ((8, 3),), "fc"),
    ]
    layers = archive_of(sequential(items)).config["config"]["layers"]
    assert [item.get("build_config") for item in layers] == [
        {"input_shape": [None, None, None, 4]},
        {"input_shape": [None, None, None, 2]},
        None,
        {"input_shape": [None, 8]},
    ]


def test_a_branch_in_a_sequential_is_a_model():
    config = {"activation": "relu", "bias": False, "init": "one", "batch_input_shape": [None, 5]}
    made = archive_of(sequential([layer("Highway", config, ((5, 5), (5, 5)), "high")], "1.2.2"))
    assert [item["class_name"] for item in made.config["config"]["layers"]] == ["InputLayer", "Functional"]
    assert [(path, item[0][1]) for path, item, _ in arrays(made)] == [
        ("layers/functional/layers/dense/vars/0", "1"),
        ("layers/functional/layers/dense_1/vars/0", "0"),
    ]
