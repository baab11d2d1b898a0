"""Live models without a Keras: objects that have what `live_graph` reads, as each flavour names it."""

import base64
import marshal
import os
import types

import h5py
import numpy as np
import pytest

from unparallel.errors import AlreadySingleError, FileError, NotParallelError, UnparallelError, WriteError
from unparallel.live.checkpoint import TemplateCheckpoint, load_template, save_template
from unparallel.live.template import extract_template
from unparallel.live.topology import LiveGraph, _captured, _saved_function, flat, keras_classes, map_structure
from unparallel.slices import Name, SavedFunction, Unknown

from .. import tiny
from ..tiny import save

tf = types.ModuleType("tensorflow")
other = types.ModuleType("numpy")


def rows(x, part, total):
    step = tf.shape(x)[0] // total
    if part == total - 1:
        return x[part * step :]
    return x[part * step : (part + 1) * step]


def strange(x, part, total):
    step = other.shape(x)[0] // total
    return x[part * step : (part + 1) * step]


class Tensor:
    def __init__(self, history):
        self._keras_history = history


class Node:
    """A call, as Keras 2.1.6 to TensorFlow 2.1 keep it."""

    def __init__(self, layer, tensors):
        histories = [tensor._keras_history for tensor in tensors]
        self.inbound_layers = [history[0] for history in histories]
        self.node_indices = [history[1] for history in histories]
        self.tensor_indices = [history[2] for history in histories]
        self.input_tensors = tensors
        self.arguments = {}
        layer._inbound_nodes.append(self)


class Layer:
    __module__ = "keras.engine.base_layer"

    def __init__(self, name, weights=(), **attributes):
        self.name = name
        self.weights = list(weights)
        self._inbound_nodes = []
        vars(self).update(attributes)

    def __call__(self, *tensors):
        Node(self, list(tensors))
        return Tensor((self, len(self._inbound_nodes) - 1, 0))

    def get_config(self):
        return {"name": self.name}


class InputLayer(Layer):
    __module__ = "keras.engine.input_layer"


class Lambda(Layer):
    __module__ = "keras.layers.core"

    def get_config(self):
        raise TypeError("can't pickle module objects")


class Concatenate(Layer):
    __module__ = "keras.layers.merge"

    def get_config(self):
        return {"name": self.name, "axis": 0}


class Dense(Layer):
    __module__ = "keras.layers.core"

    def __init__(self, name):
        super().__init__(name, [object()])


class Model(Layer):
    __module__ = "keras.engine.training"

    def __init__(self, name, inputs, outputs, layers):
        super().__init__(name, [weight for layer in layers for weight in layer.weights])
        self.layers = layers
        self.inputs, self.outputs = inputs, outputs
        self._input_coordinates = [tensor._keras_history for tensor in inputs]
        self._output_coordinates = [tensor._keras_history for tensor in outputs]
        nodes = [node for layer in layers for node in layer._inbound_nodes]
        self._nodes_by_depth = {0: [node for node in nodes if isinstance(node, Node)]}
        self._inbound_nodes = [object()]  # its own creation

    def get_config(self):
        raise AssertionError("the wrapper's config is never asked for")


def template(name="core"):
    source = InputLayer("source")
    start = source()
    body = Dense("body")
    return Model(name, [start], [body(start)], [source, body])


def parallel(inner, function=rows, numbers=((0, 2), (1, 2))):
    source = InputLayer("batch")
    start = source()
    slices = [
        Lambda(f"lambda_{i}", function=function, arguments={"part": part, "total": total})
        for i, (part, total) in enumerate(numbers)
    ]
    merge = Concatenate("joined")
    end = merge(*[inner(piece(start)) for piece in slices])
    return Model("wrapper", [start], [end], [source] + slices + [inner, merge])


def test_the_nested_template_is_the_very_object():
    inner = template()
    assert extract_template(parallel(inner)) is inner


def test_a_wrapper_inside_a_wrapper():
    inner = template()
    assert extract_template(parallel(parallel(inner))) is inner


def test_a_function_that_closes_over_a_module():
    def make():
        library, parts = tf, 2

        def inner(x, part, total):
            step = library.shape(x)[0] // parts
            return x[part * step :] if part == parts - 1 else x[part * step : (part + 1) * step]

        return inner

    inner = template()
    assert extract_template(parallel(inner, make())) is inner


def test_a_module_that_is_not_what_its_name_says():
    """`other` is customary for nothing; were it called `tf`, it would still be what it is."""
    with pytest.raises(NotParallelError, match="'wrapper' is not a data-parallel model"):
        extract_template(parallel(template(), types.FunctionType(rows.__code__, {"tf": other})))


def test_a_customary_name_is_not_needed():
    code = types.FunctionType(strange.__code__, {"other": tf})
    inner = template()
    assert extract_template(parallel(inner, code, ((0, 2), (1, 2)))) is inner


def test_trusting_slices():
    inner = template()
    model = parallel(inner, "not a function")
    with pytest.raises(NotParallelError) as caught:
        extract_template(model)
    assert "trust_slices=True" in caught.value.hint
    assert extract_template(model, trust_slices=True) is inner


def test_slices_that_are_not_all_there():
    with pytest.raises(NotParallelError, match="wrapper"):
        extract_template(parallel(template(), numbers=((0, 3), (1, 3))))


@pytest.mark.parametrize("call", [extract_template, lambda model: save_template(model, "x.h5")])
def test_what_is_no_model(call):
    with pytest.raises(UnparallelError, match="not a Keras model but dict") as caught:
        call({})
    assert "multi_gpu_model returned" in caught.value.hint


def test_a_path_is_no_model():
    with pytest.raises(UnparallelError, match="not a Keras model but str") as caught:
        extract_template("model.h5")
    assert "load_template" in caught.value.hint


def test_a_single_model():
    with pytest.raises(AlreadySingleError, match="'core' is a single model already"):
        extract_template(template())


def test_a_subclassed_model():
    model = template()
    del model._nodes_by_depth
    with pytest.raises(UnparallelError, match="model 'core' has no graph of layers"):
        extract_template(model)


def test_a_model_that_was_never_built():
    model = template()
    model.outputs = []
    with pytest.raises(UnparallelError, match="model 'core' was never built") as caught:
        extract_template(model)
    assert caught.value.hint


def test_a_checkpoint_looks_for_the_template_at_once():
    with pytest.raises(AlreadySingleError):
        TemplateCheckpoint(template(), "x.h5")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("", {}, "is a folder"),
        ("there.h5", {"overwrite": False}, "exists"),
        ("away/x.h5", {}, "does not exist"),
    ],
)
def test_targets_that_cannot_be(tmp_path, name, options, message):
    (tmp_path / "there.h5").write_text("kept")
    with pytest.raises(FileError, match=message) as caught:
        save_template(parallel(template()), tmp_path / name, **options)
    assert caught.value.hint
    assert (tmp_path / "there.h5").read_text() == "kept"


def test_a_full_disk_while_keras_writes(tmp_path):
    """h5py says it in its own words, of whatever kind."""
    resource = pytest.importorskip("resource")

    def write(self, path, include_optimizer):
        with h5py.File(path, "w") as handle:
            handle["kernel"] = np.zeros(2**18)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    Model.save = write
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, hard))
        with pytest.raises(WriteError) as caught:
            save_template(parallel(template()), tmp_path / "full.h5", optimizer=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        del Model.save
    assert caught.value.line == f"{tmp_path / 'full.h5'}: cannot write: File too large"
    assert os.listdir(str(tmp_path)) == []


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    def fails(self, path, include_optimizer):
        with open(path, "w") as handle:
            handle.write("half")
        raise RuntimeError("the session is closed")

    target = tmp_path / "there.h5"
    target.write_text("kept")
    Model.save = fails
    try:
        with pytest.raises(RuntimeError, match="the session is closed"):
            save_template(parallel(template()), target, optimizer=False)
    finally:
        del Model.save
    assert [path.name for path in tmp_path.iterdir()] == ["there.h5"]
    assert target.read_text() == "kept"


# -- loading ----------------------------------------------------------------------------------------------


def keras_that_loads(seen):
    def load_model(path, custom_objects=None, **options):
        seen.append((path, custom_objects, options))
        return "loaded"

    return types.SimpleNamespace(models=types.SimpleNamespace(load_model=load_model))


def tiny_template():
    layers = (tiny.entry("source", 3), tiny.dense("body", "source"))
    return tiny.TinyModel("core", layers, ("source",), ("body",))


def test_load_template_converts_first(tmp_path):
    path = save(tmp_path / "parallel.h5", tiny.parallel(tiny_template(), 2))
    seen = []
    custom = {"x": 1}
    assert load_template(path, custom, keras=keras_that_loads(seen), compile=False) == "loaded"
    ((clean, objects, options),) = seen
    assert clean != path
    assert (objects, options) == (custom, {"compile": False})
    assert [item.name for item in tmp_path.iterdir()] == ["parallel.h5"]


def test_load_template_of_a_single_model(tmp_path):
    path = save(tmp_path / "single.h5", tiny_template())
    with pytest.raises(AlreadySingleError):
        load_template(path, keras=keras_that_loads([]))


# -- parts ------------------------------------------------------------------------------------------------


def test_whose_class_it_is():
    mine = type("Mine", (Model,), {"__module__": "project.keras.models"})
    assert [cls.__name__ for cls in keras_classes(object.__new__(mine))] == ["Model", "Layer"]


def test_flat_and_map_go_the_same_way():
    value = {"a": [1, (2, {"b": 3})], "c": 4}
    assert flat(value) == [1, 2, 3, 4]
    seen = []
    assert map_structure({"a": [1, (2, slice(3, None))]}, lambda item: seen.append(item) or item) == {
        "a": [1, (2, slice(3, None))]
    }
    assert seen == [1, 2, 3, None, None]


def test_what_a_function_holds():
    found = _saved_function(rows)
    assert found == SavedFunction(found.text, (), (), {"tf": Name(("tensorflow",))})
    assert marshal.loads(base64.b64decode(found.text)) == rows.__code__
    assert _saved_function(len) == "len"


def test_what_a_variable_stands_for():
    assert _captured(types.ModuleType("tensorflow_core._api.v1.v1")) == Name(("tensorflow", "_api", "v1", "v1"))
    assert _captured([1, None]) == [1, None]
    assert isinstance(_captured(object()), Unknown)


def test_a_topology_that_is_read_is_not_asked_for_configs():
    topology = LiveGraph().topology(parallel(template()))
    assert [layer.name for layer in topology.layers] == ["batch", "lambda_0", "lambda_1", "core", "joined"]
    assert topology.layer("core").submodel.layer("body").calls[0].inputs[0].layer == "source"
    assert len(topology.layer("core").calls) == 2
