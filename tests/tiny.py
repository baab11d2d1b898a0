"""Keras files without Keras: a few lines that lay a model out in HDF5 as Keras 2.2.4 does.

Written from the format, apart from the package: what the package reads and writes is compared with this.
The wrapper is built as `multi_gpu_model` builds it, with a slice function of our own.
"""

import base64
import json
import marshal
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import h5py
import numpy as np


class TinyLayer(NamedTuple):
    """A layer: its weights as (name, array) pairs, those that train and those that never do."""

    name: str
    class_name: str
    config: Dict[str, Any]
    inputs: Tuple[Tuple[str, ...], ...] = ()
    trainable: Tuple[Tuple[str, Any], ...] = ()
    rest: Tuple[Tuple[str, Any], ...] = ()
    submodel: "Optional[TinyModel]" = None

    @property
    def frozen(self) -> bool:
        return self.config.get("trainable") is False

    def split(self) -> Tuple[List[Any], List[Any]]:
        """(what trains, what does not) as Keras sees it now."""
        if self.submodel is not None:
            return self.submodel.split()
        if self.frozen:
            return [], list(self.trainable) + list(self.rest)
        return list(self.trainable), list(self.rest)

    def weights(self) -> List[Any]:
        return sum(self.split(), [])


class TinyModel(NamedTuple):
    """A functional model; `inputs` and `outputs` are layer names, or (layer, tensor) for a model's output."""

    name: str
    layers: Tuple[TinyLayer, ...]
    inputs: Tuple[str, ...]
    outputs: Tuple[Any, ...]

    def split(self) -> Tuple[List[Any], List[Any]]:
        """All that trains in layer order, then all else in layer order."""
        halves = [layer.split() for layer in self.layers]
        return sum((half[0] for half in halves), []), sum((half[1] for half in halves), [])

    def config(self) -> Dict[str, Any]:
        models = {layer.name for layer in self.layers if layer.submodel is not None}

        def row(end: Any, call: int = 0) -> List[Any]:
            name, tensor = (end, 0) if isinstance(end, str) else end[:2]
            call = end[2] if not isinstance(end, str) and len(end) == 3 else call
            return [name, call + (name in models), tensor]

        layers = []
        for layer in self.layers:
            nodes = [[row(end) + [{}] for end in ends] for ends in layer.inputs]
            config = layer.submodel.config()["config"] if layer.submodel is not None else dict(layer.config)
            layers.append(
                {"name": layer.name, "class_name": layer.class_name, "config": config, "inbound_nodes": nodes}
            )
        return {
            "class_name": "Model",
            "config": {
                "name": self.name,
                "layers": layers,
                "input_layers": [row(end) for end in self.inputs],
                "output_layers": [row(end) for end in self.outputs],
            },
        }


def entry(name: str, *shape: int) -> TinyLayer:
    config = {"batch_input_shape": [None, *shape], "dtype": "float32", "sparse": False, "name": name}
    return TinyLayer(name, "InputLayer", config)


def dense(name: str, before: Any, size: int = 3, units: int = 3, trainable: bool = True, seed: int = 0) -> TinyLayer:
    numbers = np.random.RandomState(seed)
    weights = (
        (name + "/kernel:0", numbers.rand(size, units).astype("float32")),
        (name + "/bias:0", numbers.rand(units).astype("float32")),
    )
    config = {"name": name, "trainable": trainable, "units": units, "activation": "linear", "use_bias": True}
    return TinyLayer(name, "Dense", config, ((before,),), weights)


def batchnorm(name: str, before: Any, size: int = 3, trainable: bool = True, seed: int = 0) -> TinyLayer:
    numbers = np.random.RandomState(seed + 1000)
    arrays = [
        (name + "/" + role + ":0", numbers.rand(size).astype("float32"))
        for role in ("gamma", "beta", "moving_mean", "moving_variance")
    ]
    config = {"name": name, "trainable": trainable, "axis": -1, "momentum": 0.99, "center": True, "scale": True}
    return TinyLayer(name, "BatchNormalization", config, ((before,),), tuple(arrays[:2]), tuple(arrays[2:]))


def activation(name: str, before: Any, kind: str = "relu") -> TinyLayer:
    return TinyLayer(name, "Activation", {"name": name, "trainable": True, "activation": kind}, ((before,),))


def nested(name: str, before: Any, submodel: TinyModel) -> TinyLayer:
    return TinyLayer(name, "Model", {}, ((before,),), submodel=submodel)


def rows_of(x, part, total):  # type: ignore[no-untyped-def]
    """One part of the batch: the last one takes the rest."""
    step = K.shape(x)[0] // total  # type: ignore[name-defined]  # noqa: F821
    if part == total - 1:
        return x[part * step :]
    return x[part * step : (part + 1) * step]


def dumped(function: Any) -> List[Any]:
    """A function as Keras dumps it, without this machine's path in it."""
    code = function.__code__
    code = code.replace(co_filename="rows.py") if hasattr(code, "replace") else code
    text = base64.encodebytes(marshal.dumps(code)).decode("ascii")
    return [text, list(function.__defaults__) if function.__defaults__ else None, None]


def piece(name: str, before: Any, part: int, total: int, function: Any = rows_of) -> TinyLayer:
    config = {
        "name": name,
        "trainable": True,
        "function": dumped(function),
        "function_type": "lambda",
        "output_shape": None,
        "output_shape_type": "raw",
        "arguments": {"part": part, "total": total},
    }
    return TinyLayer(name, "Lambda", config, ((before,),))


def merge(name: str, parts: Any, axis: int = 0) -> TinyLayer:
    return TinyLayer(name, "Concatenate", {"name": name, "trainable": True, "axis": axis}, (tuple(parts),))


def parallel(template: TinyModel, replicas: int, name: str = "wrapper") -> TinyModel:
    """The template wrapped as `multi_gpu_model` wraps it."""
    inputs = tuple(layer for layer in template.layers if layer.name in template.inputs)
    slices = [
        piece("lambda_%s" % (part * len(inputs) + i + 1), end, part, replicas)
        for part in range(replicas)
        for i, end in enumerate(template.inputs)
    ]
    width = len(template.inputs)
    calls = tuple(tuple(layer.name for layer in slices[i * width : (i + 1) * width]) for i in range(replicas))
    body = TinyLayer(template.name, "Model", {}, calls, submodel=template)
    merges = [
        merge(output if isinstance(output, str) else output[0], [(template.name, k, i) for i in range(replicas)])
        for k, output in enumerate(template.outputs)
    ]
    ends = tuple(layer.name for layer in merges)
    return TinyModel(name, inputs + tuple(slices) + (body,) + tuple(merges), template.inputs, ends)


def save(path: Any, model: TinyModel, training: Any = None, slots: Any = (), form: str = "model") -> str:
    """Write the file that `model.save()` (or `save_weights()`) would write."""
    with h5py.File(str(path), "w") as handle:
        group = handle
        if form == "model":
            _texts(handle)
            _text(handle, "model_config", json.dumps(model.config()))
            group = handle.create_group("model_weights")
        _texts(group)
        _names(group, "layer_names", [layer.name for layer in model.layers])
        for layer in model.layers:
            own = group.require_group(layer.name)
            _names(own, "weight_names", [name for name, _ in layer.weights()])
            for name, array in layer.weights():
                own.create_dataset(name, data=array)
        if training is not None:
            _text(handle, "training_config", json.dumps(training))
        if slots:
            state = handle.create_group("optimizer_weights")
            _names(state, "weight_names", [name for name, _ in slots])
            for name, array in slots:
                state.create_dataset(name, data=array)
    return str(path)


def _texts(group: Any) -> None:
    _text(group, "keras_version", "2.2.4")
    _text(group, "backend", "tensorflow")


def _text(group: Any, name: str, value: str) -> None:
    group.attrs.create(name, value.encode("ascii"), shape=(), dtype=h5py.special_dtype(vlen=bytes))


def _names(group: Any, name: str, items: List[str]) -> None:
    data = np.array([item.encode("utf-8") for item in items], dtype="S" if items else "float64")
    count = data.nbytes // 64512 + 1
    while any(part.nbytes > 64512 for part in np.array_split(data, count)):
        count += 1
    for i, part in enumerate(np.array_split(data, count)):
        group.attrs[name if count == 1 else f"{name}{i}"] = part
