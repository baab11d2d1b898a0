"""Lambda layers in archives: models of operations, what is said of them, and what is refused by which name."""

import numpy as np
import pytest

from unparallel import convert, inspect
from unparallel.errors import Keras3Error, UnparallelWarning
from unparallel.keras3 import lambdas
from unparallel.keras3.values import Context

from .. import tiny
from ..operations.followed import saved
from .models import archive, archive_of, arrays, entries, file_of, layer, refs, source

T = {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32"}}


def function_layer(code, name="it", inputs=(("x",),), closure=None, defaults=None, **config):
    """A Lambda as Keras 2 writes it."""
    made = saved(code, defaults or (), closure)
    field = [made.text, list(made.defaults) or None, list(made.closure) or None]
    config = dict({"function": field, "function_type": "lambda", "arguments": {}}, **config)
    return layer("Lambda", config, name=name, inputs=inputs)


def tensor(name, call=0, port=0):
    return {"class_name": "__keras_tensor__", "config": dict(T["config"], keras_history=[name, call, port])}


def written(made, name="it"):
    """The entry of a layer in config.json."""
    return next(item for item in made.config["config"]["layers"] if item["config"]["name"] == name)


def inside(made, name="it"):
    """{name: entry} of the operations of a Lambda."""
    return {item["name"]: item for item in written(made, name)["config"]["layers"]}


def refused(code, match, version="2.2.4", shape=(None, 4), **more):
    with pytest.raises(Keras3Error, match=match):
        archive(source(shape=shape), function_layer(code, **more), version=version)


def test_a_lambda_becomes_a_model_under_its_name():
    made = archive(source(shape=(None, 4)), function_layer("lambda x: x / 127.5 - 1."))
    entry = written(made)
    assert entry["class_name"] == "Functional"
    assert entry["module"] == "keras.src.models.functional"
    assert entry["inbound_nodes"] == [{"args": [tensor("x")], "kwargs": {}}]
    assert entry["config"]["input_layers"] == ["input_1", 0, 0]
    assert entry["config"]["output_layers"] == ["step_2_subtract", 0, 0]
    operations = inside(made)
    assert operations["input_1"]["config"]["batch_shape"] == [None, 4]
    assert operations["step_1_true_divide"] == {
        "module": "keras.src.ops.numpy",
        "class_name": "TrueDivide",
        "registered_name": "TrueDivide",
        "name": "step_1_true_divide",
        "config": {"name": "step_1_true_divide"},
        "inbound_nodes": [{"args": [tensor("input_1"), 127.5], "kwargs": {}}],
    }
    # counted from 1 among the outputs of the whole, as every model in a model is
    assert made.config["config"]["output_layers"] == ["it", 1, 0]


def test_one_number_for_the_whole_batch_is_no_output():
    """Keras 2 repeats it for every row of a prediction; in Keras 3, predict() cannot concatenate it."""
    refused("lambda x: K.mean(x)", "layer 'it'.*one number for the whole batch")
    archive(source(shape=(None, 4)), function_layer("lambda x: x - K.mean(x)"))


def test_operations_with_arguments_bear_no_name():
    """Before Keras 3.11 their classes take none, and a layer called `mean` may stand elsewhere."""
    made = archive(source(shape=(None, 3, 4)), function_layer("lambda x: K.mean(x, axis=1)"))
    operation = inside(made)["step_1_mean"]
    assert operation["config"] == {"axis": [1], "keepdims": False}
    assert operation["name"] == "step_1_mean"


def test_arguments_are_written_as_keras_writes_them():
    made = archive(source(shape=(None, 3, 2)), function_layer("lambda x: x[:, -1, ..., None] * [1., 2.]"))
    taken, times = (entry for name, entry in inside(made).items() if name.startswith("step"))
    key = [
        {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}},
        -1,
        {"class_name": "__ellipsis__", "config": {}},
        None,
    ]
    assert taken["inbound_nodes"] == [{"args": [tensor("input_1"), key], "kwargs": {}}]
    numbers = {"class_name": "__numpy__", "config": {"value": [1.0, 2.0], "dtype": "float32"}}
    assert times["inbound_nodes"] == [{"args": [tensor(taken["name"]), numbers], "kwargs": {}}]


def test_several_inputs_and_outputs():
    made = archive(
        source("x", (None, 4)),
        source("y", (None, 4)),
        function_layer("lambda t: tf.split(K.concatenate(t), [2, 6], 1)", inputs=(("x", "y"),)),
        layer("Dense", {"units": 1}, ((2, 1), (1,)), "dense", (("it",),)),
        outputs=("dense",),
    )
    assert written(made)["inbound_nodes"] == [{"args": [[tensor("x"), tensor("y")]], "kwargs": {}}]
    operations = inside(made)
    assert operations["step_1_concatenate"]["inbound_nodes"][0]["args"] == [[tensor("input_1"), tensor("input_2")]]
    ends = written(made)["config"]["output_layers"]
    assert ends == [["step_2_split", 0, 0], ["step_2_split", 0, 1]]


def test_notes_say_how_many_what_is_trusted_and_what_differs():
    made = archive(source(shape=(None, 4)), function_layer("lambda x: x + K.random_normal(K.shape(x), 0., .1)"))
    said = [str(note) for note in made.notes]
    assert "layer 'it': written as 4 operations" in said
    assert sum("K is Keras' backend, tf is TensorFlow" in text for text in said) == 1
    assert any("random" in text for text in said)
    mixing = archive(source(shape=(None, 4)), function_layer("lambda x: K.reshape(x, (-1, 2))"))
    assert any("mixes the rows" in str(note) for note in mixing.notes)
    assert not any("mixes" in str(note) for note in made.notes)


def test_the_type_of_an_input_is_that_of_what_is_read():
    ids = source(shape=(None, 4), dtype="int32")
    made = archive(ids, function_layer("lambda x: tf.one_hot(x, 5)"), version="2.4.0")
    assert inside(made)["input_1"]["config"]["dtype"] == "int32"


def test_lengths_come_from_layers_before():
    """Where a shape is needed, tables say it: here the steps that a pooling leaves, and what a Lambda gives."""
    made = archive(
        source(shape=(None, 9, 2)),
        layer("MaxPooling1D", {"pool_size": 3, "strides": 3, "padding": "valid"}, name="pool"),
        function_layer("lambda x: K.concatenate([x, x], 1)", "twice", (("pool",),)),
        function_layer("lambda x: x / K.int_shape(x)[1]", inputs=(("twice",),)),
    )
    assert inside(made)["step_1_true_divide"]["inbound_nodes"][0]["args"][1] == 6


def test_a_lambda_of_two_calls_takes_what_is_true_of_both():
    made = archive(
        source("x", (None, 3, 4)),
        source("y", (None, 5, 4)),
        function_layer("lambda v: v * K.int_shape(v)[-1]", inputs=(("x",), ("y",))),
        outputs=(("it", 0), ("it", 1)),
    )
    assert inside(made)["input_1"]["config"]["batch_shape"] == [None, None, 4]
    with pytest.raises(Keras3Error, match="length of an axis"):
        archive(
            source("x", (None, 3, 4)),
            source("y", (None, 5, 4)),
            function_layer("lambda v: v * K.int_shape(v)[1]", inputs=(("x",), ("y",))),
            outputs=(("it", 0), ("it", 1)),
        )


def test_in_a_sequential_and_in_time_distributed():
    inner = function_layer("lambda x: K.sum(x, 1)", "inner")
    wrapped = {"class_name": "Lambda", "config": inner["config"]}
    dense = layer("Dense", {"units": 2}, ((4, 2), (2,)), "dense")
    entries = [
        {
            "class_name": "TimeDistributed",
            "config": {"name": "td", "layer": wrapped, "batch_input_shape": [None, 5, 3, 4]},
        },
        {"class_name": "Lambda", "config": function_layer("lambda x: x[:, -1]", "last")["config"]},
        {"class_name": "Dense", "config": dense["config"]},
    ]
    config = {"class_name": "Sequential", "config": {"name": "sequential", "layers": entries}}
    made = archive_of(file_of(config, [("td", ()), ("last", ()), ("dense", refs("dense", ((4, 2), (2,))))]))
    first, distributed, last, _ = made.config["config"]["layers"]
    assert first["class_name"] == "InputLayer"
    assert distributed["config"]["layer"]["class_name"] == "Functional"
    assert distributed["config"]["layer"]["config"]["layers"][0]["config"]["batch_shape"] == [None, 3, 4]
    assert last["class_name"] == "Functional"
    assert last["config"]["name"] == "last"
    assert [path for path, _ in made.arrays] == ["layers/dense/vars/0", "layers/dense/vars/1"]


@pytest.mark.parametrize(
    ("version", "tensorflow"),
    [
        ("2.2.4", 1),
        ("2.3.1", None),
        ("2.1.6-tf", 1),
        ("2.2.4-tf", None),
        ("2.3.0-tf", 2),
        ("2.4.0", 2),
        ("1.2.2", 1),
    ],
)
def test_which_tensorflow_a_file_is_of(version, tensorflow):
    assert lambdas.environment(Context(version, "tensorflow")).tensorflow == tensorflow


IMAGE = (None, 4, 4, 3)


def test_resize_is_of_the_tensorflow_of_the_file():
    code = "lambda x: tf.image.resize(x, (6, 8))"

    def kinds(version):
        made = archive(source(shape=IMAGE), function_layer(code), version=version)
        return [item["class_name"] for item in inside(made).values()]

    assert kinds("2.4.0") == ["InputLayer", "Resize"]
    assert kinds("2.2.4") == ["InputLayer", "Einsum", "Einsum"]
    refused(code, "TensorFlow 1 or 2", "2.2.4-tf", IMAGE)
    refused(code, "TensorFlow 1 or 2", "2.3.1", IMAGE)


def test_equality_is_of_the_tensorflow_of_the_file():
    code = "lambda x: K.cast(x == 0., 'float32')"
    made = archive(source(shape=(None, 4)), function_layer(code), version="2.4.0")
    assert "step_1_equal" in inside(made)
    refused(code, "one object in TensorFlow 1")
    refused(code, "does not say which TensorFlow", "2.3.1")


def test_channels_first_anywhere_makes_the_data_format_unknown():
    code = "lambda x: x if K.image_data_format() == 'channels_last' else -x"
    assert written(archive(source(shape=IMAGE), function_layer(code)))
    pool = layer("MaxPooling2D", {"data_format": "channels_first", "pool_size": [1, 1], "strides": [1, 1]}, name="pool")
    with pytest.raises(Keras3Error, match="image_data_format"):
        archive(source(shape=IMAGE), pool, function_layer(code, inputs=(("pool",),)))
    wrapped = {"class_name": "MaxPooling2D", "config": dict(pool["config"])}
    steps = layer("TimeDistributed", {"layer": wrapped}, name="steps")
    with pytest.raises(Keras3Error, match="image_data_format"):
        archive(source(shape=(None, 2, *IMAGE[1:])), steps, function_layer(code, inputs=(("steps",),)))


REFUSED = [
    ("lambda x: x / T", r"layer 'it' \(Lambda\): .*'T', a global that is not in the file"),
    ("lambda x: decode(x)", "'decode', a global that is not in the file"),
    ("lambda x: tf.while_loop(None, None, x)", "tf.while_loop"),
    ("lambda x: K.map_fn(lambda v: v, x)", "K.map_fn"),
    ("lambda x: K.ctc_batch_cost(x, x, x, x)", "K.ctc_batch_cost"),
    ("lambda x: tf.abs(tf.fft(tf.cast(x, tf.complex64)))", "tf.complex64"),
    ("lambda x: tf.signal.fft(x)", "tf.signal.fft"),
    ("lambda x: tfp.math.foo(x)", "tfp.math.foo"),
    ("lambda x: K.random_uniform(K.shape(x))", "K.random_uniform"),
    ("lambda x: x + K.random_normal((3, 4))", "random numbers"),
    ("lambda x: tf.gather(x, K.argmax(x))", "tf.gather"),
    ("lambda x: x[:tf.shape(x)[0] // 2]", "length of an axis that is not in the file"),
    ("lambda x: x * K.cast(K.shape(x)[0], 'float32')", "length of an axis that is not in the file"),
    ("lambda x: x if x > 0 else -x", "a condition depends on the numbers"),
    ("lambda x: x * float('inf')", "not finite"),
    ("lambda x: tf.where(x)", "tf.where"),
    ("lambda x: 3.", "returns something that is not a tensor"),
    ("lambda x: K.batch_dot(x[:, :, None, None], x)", "K.batch_dot"),
    ("lambda x: keras.layers.Dense(3)(x)", "keras.layers.Dense"),
    ("lambda x: K.sum(x, axis=7)", "axis 7"),
    ("lambda x: K.relu(x, sloppy=1)", "unusual argument 'sloppy'"),
]


@pytest.mark.parametrize(("code", "match"), REFUSED, ids=[code for code, _ in REFUSED])
def test_what_cannot_be_said_is_refused_by_name(code, match):
    refused(code, match)


def test_code_that_is_not_in_the_file_is_refused_by_name():
    with pytest.raises(Keras3Error, match="names 'double' without its code"):
        archive(source(), layer("Lambda", {"function": "double", "function_type": "function"}))
    refused("lambda x: f(x) * 2", "'helper_of', a function whose code is not in the file", closure={"f": "helper_of"})


def test_another_backend_is_refused():
    with pytest.raises(Keras3Error, match="backend theano"):
        archive(source(), function_layer("lambda x: K.exp(x)"), backend="theano")


# -- limits


def test_entries_and_constants_are_bounded():
    many = "def f(x):\n    for i in range(401):\n        x = x + i\n    return x"
    refused(many, "more than 400 operations")
    wide = "lambda x: tf.image.resize_bilinear(x, (300, 300))"
    refused(wide, "262144 numbers", shape=(None, 900, 900, 3))
    refused("lambda x: x + np.zeros((1000, 1000))", "262144 numbers")
    refused("lambda x: x + np.zeros((600, 1)) * np.zeros((1, 600))", "262144 numbers")
    refused("lambda x: x * 10 ** 10 ** 10", "too large")
    doubling = "def f(x):\n    t = (1, 1)\n" + "    t = (t, t, t, t)\n" * 10 + "    return x + np.array(t)"
    refused(doubling, "262144 numbers")


def test_all_lambdas_of_a_file_share_the_budget(monkeypatch):
    from unparallel.slices import frame

    monkeypatch.setattr(frame.Budget.__init__, "__defaults__", (500,))
    loop = "def f(x):\n    for i in range(10):\n        x = x * 1.\n    return x"
    assert archive(source(), function_layer(loop))
    with pytest.raises(Keras3Error, match="more than 500 steps together"):
        archive(source(), function_layer(loop, "a"), function_layer(loop + " + 1", inputs=(("a",),)))


def test_a_matrix_of_the_old_grid_is_small_and_exact():
    made = archive(source(shape=(None, 2, 2, 1)), function_layer("lambda x: tf.image.resize_bilinear(x, (4, 2))"))
    matrix = inside(made)["step_1_einsum"]["inbound_nodes"][0]["args"][0]["config"]
    assert np.array_equal(matrix["value"], [[1, 0], [0.5, 0.5], [0, 1], [0, 1]])


# -- masks

MASKED_MEAN = (
    "def f(x, mask=None):\n    m = K.expand_dims(K.cast(mask, 'float32'), -1)\n"
    "    return K.sum(x * m, axis=1) / (K.sum(m, axis=1) + K.epsilon())"
)


def embedding(**config):
    config = dict({"input_dim": 4, "output_dim": 3}, **config)
    return layer("Embedding", config, ((4, 3),), "embedding", (("x",),))


def test_a_mask_that_the_code_asks_for_is_a_second_input():
    it = function_layer(MASKED_MEAN, inputs=(("embedding",),), defaults=(None,))
    made = archive(source(shape=(None, 5)), embedding(mask_zero=True), it)
    assert written(made)["inbound_nodes"] == [{"args": [[tensor("embedding"), tensor("x_not_equal")]], "kwargs": {}}]
    assert written(made)["config"]["input_layers"] == [["input_1", 0, 0], ["input_2", 0, 0]]
    assert inside(made)["input_2"]["config"] == {
        "name": "input_2",
        "batch_shape": [None, 5],
        "dtype": "bool",
        "sparse": False,
    }
    # Keras 3.4 and 3.6 know only what stands before
    names = [item["config"]["name"] for item in made.config["config"]["layers"]]
    assert names.index("x_not_equal") < names.index("it")
    compared = written(made, "x_not_equal")
    assert compared["class_name"] == "NotEqual"
    assert compared["inbound_nodes"] == [{"args": [tensor("x"), 0], "kwargs": {}}]


def test_without_a_mask_the_code_gets_none():
    optional = "def f(x, mask=None):\n    return x if mask is None else x * 2."
    for entry in (embedding(), embedding(mask_zero=True)):
        made = archive(source(shape=(None, 5)), entry, function_layer(optional, inputs=(("embedding",),)))
        kinds = [item["class_name"] for item in inside(made).values()]
        masked = entry["config"].get("mask_zero")
        assert kinds == (["InputLayer", "InputLayer", "Multiply"] if masked else ["InputLayer", "Copy"])
    with pytest.raises(Keras3Error, match="it computes with something that is no tensor"):
        archive(source(shape=(None, 5)), embedding(), function_layer(MASKED_MEAN, inputs=(("embedding",),)))


def test_a_mask_that_is_made_of_others_is_refused():
    a = layer("Masking", {"mask_value": 0.0}, name="a")
    b = layer("Masking", {"mask_value": 1.0}, name="b")
    joined = layer("Concatenate", {"axis": -1}, name="joined", inputs=(("a", "b"),))
    with pytest.raises(Keras3Error, match="takes a mask that cannot be expressed"):
        archive(source(shape=(None, 5, 2)), a, b, joined, function_layer(MASKED_MEAN, inputs=(("joined",),)))


def test_operations_hand_no_mask_on():
    """What is called as a merge of Keras is not one: a layer behind the Lambda sees no mask, as ever."""
    it = function_layer("lambda x: x * x", inputs=(("embedding",),))
    behind = layer("LSTM", {"units": 2}, ((3, 8), (2, 8), (8,)), "lstm", (("it",),))
    made = archive(source(shape=(None, 5)), embedding(mask_zero=True), it, behind, outputs=("lstm",))
    assert written(made, "lstm")["inbound_nodes"] == [{"args": [tensor("it")], "kwargs": {}}]


# -- globals that the user gives


def test_a_global_that_is_given():
    made = archive(
        source(shape=(None, 4)), function_layer("lambda x: x / T + MEAN"), defined={"T": 4, "MEAN": [1, 2, 3, 4]}
    )
    steps = inside(made)
    assert steps["step_1_true_divide"]["inbound_nodes"][0]["args"][1] == 4
    assert steps["step_2_add"]["inbound_nodes"][0]["args"][1]["config"]["value"] == [1, 2, 3, 4]
    said = [str(note) for note in made.notes]
    assert any("T is 4, as you said" in note for note in said)
    assert any("MEAN is [1, 2, 3, 4], as you said" in note for note in said)


def test_an_attribute_that_is_given():
    made = archive(source(shape=(None, 4)), function_layer("lambda x: x * cfg.scale"), defined={"cfg.scale": 0.5})
    assert inside(made)["step_1_multiply"]["inbound_nodes"][0]["args"][1] == 0.5


def test_a_global_that_is_missing_can_be_given():
    with pytest.raises(Keras3Error) as refusal:
        archive(source(shape=(None, 4)), function_layer("lambda x: x / T"))
    assert "--define T=VALUE" in refusal.value.hint
    with pytest.raises(Keras3Error) as refusal:
        archive(source(shape=(None, 4)), function_layer("lambda x: tf.py_func(x)"))
    assert "--define" not in refusal.value.hint


def test_what_is_given_and_nothing_uses_is_said(tmp_path):
    config = dict(function_layer("lambda x: x / T")["config"], name="it")
    model = tiny.TinyModel(
        "m", (tiny.entry("x", 4), tiny.TinyLayer("it", "Lambda", config, (("x",),))), ("x",), ("it",)
    )
    path = tiny.save(tmp_path / "m.h5", model)
    with pytest.warns(UnparallelWarning, match="--define U: no code in this file uses it"):
        done = convert(path, tmp_path / "m.keras", define={"T": 4, "U": 5})
    assert "layer 'it': T is 4, as you said" in " ".join(done.notes)
    assert any("--define U" in text for text in done.to_dict()["warnings"])
    assert inspect(path, define={"T": 4}).keras3.possible
    assert not inspect(path).keras3.possible


def test_code_that_became_operations_is_not_said_to_be_there(tmp_path):
    config = dict(function_layer("lambda x: x / 2.0")["config"], name="it")
    net = tiny.TinyModel(
        "net", (tiny.entry("in", 3), tiny.TinyLayer("it", "Lambda", config, (("in",),))), ("in",), ("it",)
    )
    path = tiny.save(tmp_path / "m.h5", tiny.parallel(net, 2))
    with_code = " ".join(convert(path, tmp_path / "m.h5.h5").notes)
    without = " ".join(convert(path, tmp_path / "m.keras").notes)
    assert "layer 'it' holds Python code" in with_code
    assert "holds Python code" not in without
    assert "layer 'it': written as 1 operation" in without


def test_code_that_stays_in_a_class_of_somebodys_own_is_said(tmp_path):
    config = dict(function_layer("lambda x: x / 2.0")["config"], name="it")
    net = tiny.TinyModel(
        "net", (tiny.entry("in", 3), tiny.TinyLayer("it", "Mine", config, (("in",),))), ("in",), ("it",)
    )
    path = tiny.save(tmp_path / "m.h5", tiny.parallel(net, 2))
    with pytest.warns(UnparallelWarning, match="custom_objects"):
        assert "layer 'it' holds Python code" in " ".join(convert(path, tmp_path / "m.keras").notes)


def test_a_definition_is_of_no_use_in_a_h5(tmp_path):
    net = tiny.TinyModel("net", (tiny.entry("in", 3), tiny.dense("d", "in")), ("in",), ("d",))
    path = tiny.save(tmp_path / "m.h5", tiny.parallel(net, 2))
    with pytest.warns(UnparallelWarning, match="--define is for .keras targets"):
        convert(path, tmp_path / "clean.h5", define={"T": 4})


def test_the_batch_is_one_until_a_layer_mixes_its_rows():
    apart = "lambda t: tf.reshape(t[0], [tf.shape(t[1])[0], -1, 2])"
    dense = layer("Dense", {"units": 4}, ((4, 4), (4,)), "other")
    both = function_layer(apart, inputs=(("other", "x"),))
    assert "step_1_reshape" in inside(archive(source(shape=(None, 4)), dense, both))
    merged = function_layer("lambda x: K.reshape(x, (-1, 2))", "other")
    with pytest.raises(Keras3Error, match="length of an axis that is not in the file"):
        archive(source(shape=(None, 4)), merged, both)


# -- activations whose code is in the file, as tf.keras 2.12 and later and tf_keras write them


def code(source):
    made = saved(source)
    return {"value": [made.text, list(made.defaults) or None, list(made.closure) or None]}


def test_an_activation_with_its_code():
    dense = layer("Dense", {"units": 2, "activation": code("lambda x: x * K.sigmoid(x)")}, ((3, 2), (2,)))
    made = archive(source(shape=(None, 5, 3)), dense, version="2.15.0")
    assert entries(made)["it_part_1"]["config"]["activation"] == "linear"
    assert [item["class_name"] for item in inside(made).values()] == ["InputLayer", "Sigmoid", "Multiply"]
    assert inside(made)["input_1"]["config"]["batch_shape"] == [None, 5, 2]
    assert arrays(made)[0][0].startswith("layers/dense/")
    again = layer("Activation", {"activation": {"class_name": "__lambda__", "config": code("lambda x: 0.5 * x")}})
    made = archive(source(shape=(None, 4)), again, version="2.15.0")
    assert inside(made)["step_1_multiply"]["inbound_nodes"][0]["args"][0] == 0.5


def test_an_activation_with_its_code_inside_a_recurrent_layer():
    lstm = layer("LSTM", {"units": 1, "activation": code("lambda x: x")}, ((3, 4), (1, 4), (4,)))
    with pytest.raises(Keras3Error, match="its activation is a function, and is applied within the layer"):
        archive(source(shape=(None, 5, 3)), lstm, version="2.15.0")
    lstm["config"].update(activation="tanh", recurrent_activation=code("lambda x: x"))
    with pytest.raises(Keras3Error, match="its recurrent_activation is a function"):
        archive(source(shape=(None, 5, 3)), lstm, version="2.15.0")


def test_operations_in_place_of_an_activation_lose_the_mask():
    act = layer("Activation", {"activation": code("lambda x: 0.5 * x")}, inputs=(("embedding",),))
    behind = layer("LSTM", {"units": 2}, ((3, 8), (2, 8), (8,)), "lstm", (("it",),))
    archive(source(shape=(None, 5)), embedding(), act, behind, outputs=("lstm",), version="2.15.0")
    with pytest.raises(Keras3Error, match=r"'lstm' \(LSTM\): it would see another mask"):
        archive(source(shape=(None, 5)), embedding(mask_zero=True), act, behind, outputs=("lstm",), version="2.15.0")


def test_an_activation_whose_code_cannot_be_written():
    act = layer("Activation", {"activation": code("lambda x: x / T")})
    with pytest.raises(Keras3Error, match=r"layer 'it' \(Activation\): .*'T', a global that is not in the file"):
        archive(source(shape=(None, 4)), act, version="2.15.0")
    made = archive(source(shape=(None, 4)), act, version="2.15.0", defined={"T": 4})
    assert inside(made)["step_1_true_divide"]["inbound_nodes"][0]["args"][1] == 4
