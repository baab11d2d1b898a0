"""Old models as values, a few words each: a chain of layers with the shapes of their weights."""

from unparallel import keras_config
from unparallel.keras3.plan import compiled
from unparallel.keras3.translate import translate
from unparallel.model import LayerWeights, ModelFile, WeightRef


def layer(class_name, config=None, shapes=(), name="it", inputs=(("x",),), kwargs=None):
    return {
        "class_name": class_name,
        "config": dict(config or {}, name=name),
        "name": name,
        "shapes": shapes,
        "inputs": inputs,
        "kwargs": kwargs or {},
    }


def source(name="x", shape=(None, 5), **config):
    return layer("InputLayer", dict(config, batch_input_shape=list(shape)), name=name, inputs=())


def functional(layers, outputs=("it",), name="model"):
    """A functional model's config; an input of a call is a layer's name, or (name, call)."""
    inputs = [item["name"] for item in layers if item["class_name"] == "InputLayer"]

    def row(end, kwargs=None):
        layer_name, call = (end, 0) if isinstance(end, str) else end
        return [layer_name, call, 0] + ([kwargs] if kwargs is not None else [])

    def node(item, ends):
        rows = [row(end, item["kwargs"]) for end in ends]
        # a list of one tensor is a list to a function
        return rows[0] if len(rows) == 1 and item["class_name"].endswith("OpLambda") else rows

    entries = [
        {
            "class_name": item["class_name"],
            "config": item["config"],
            "name": item["name"],
            "inbound_nodes": [node(item, ends) for ends in item["inputs"]],
        }
        for item in layers
    ]
    config = {
        "name": name,
        "layers": entries,
        "input_layers": [row(end) for end in inputs],
        "output_layers": [row(end) for end in outputs],
    }
    return {"class_name": "Model", "config": config}


def refs(name, shapes, dtype="float32"):
    return tuple(
        WeightRef(f"{name}/{i}:0", f"/model_weights/{name}/{i}", tuple(s), dtype) for i, s in enumerate(shapes)
    )


def file_of(config, weights, version="2.2.4", backend="tensorflow", **more):
    topology = keras_config.parse(config)
    groups = tuple(LayerWeights(name, shapes) for name, shapes in weights)
    return ModelFile("model.h5", "model", version, backend, topology, groups, **more)


def model_file(layers, outputs=("it",), version="2.2.4", dtype="float32", **more):
    weights = [(item["name"], refs(item["name"], item["shapes"], dtype)) for item in layers]
    return file_of(functional(layers, outputs), weights, version, **more)


def archive_of(model, defined=None, **activations):
    new, context = translate(model, activations, defined)
    return compiled(model, new, context)


def archive(*layers, outputs=("it",), version="2.2.4", defined=None, **more):
    """The archive of a functional model."""
    return archive_of(model_file(list(layers), outputs, version, **more), defined)


def entries(made):
    """The layers of config.json by name."""
    return {item["config"]["name"]: item for item in made.config["config"]["layers"]}


def arrays(made):
    """[(path, source names, step names)] of an archive."""
    return [
        (path, [ref.path.rsplit("/", 2)[1:] for ref in array.sources], [step.name for step in array.steps])
        for path, array in made.arrays
    ]
