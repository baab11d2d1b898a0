"""A new model as the JSON of config.json, or as an object in a layer's config."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from ..model import Json, TensorKey
from .graph import is_operation
from .values import Call, Config, Layer, Model, Piece


def serialized(piece: Piece, name: str) -> Json:
    """A layer as an object of Keras 3."""
    custom = piece.module == ""
    return {
        "module": None if custom else piece.module,
        "class_name": piece.class_name,
        "config": dict({"name": name}, **piece.config),
        "registered_name": piece.class_name if custom else None,
    }


def render(model: Model) -> Json:
    """A model as config.json has it, or as an object in a layer's config."""
    config: Config = {"name": model.name, "trainable": True}
    if model.sequential:
        config["layers"] = [_entry(layer, {}, False) for layer in model.layers]
        return {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": None}
    known = model.by_name
    config["layers"] = [_entry(layer, known, True) for layer in model.layers]
    config["input_layers"] = _ends(model.inputs, known)
    config["output_layers"] = _ends(model.outputs, known)
    module = "keras.src.models.functional"
    return {"module": module, "class_name": "Functional", "config": config, "registered_name": "Functional"}


def _entry(layer: Layer, known: Mapping[str, Layer], with_nodes: bool) -> Json:
    if layer.submodel is not None:
        entry = render(replace(layer.submodel, name=layer.name))
    elif is_operation(layer):
        entry = {
            "module": layer.module,
            "class_name": layer.class_name,
            "config": layer.config,
            "registered_name": layer.class_name,
        }
    else:
        entry = serialized(Piece(layer.class_name, layer.config, module=layer.module), layer.name)
    if layer.build_shape is not None:
        entry["build_config"] = {"input_shape": list(layer.build_shape)}
    if with_nodes:
        entry["name"] = layer.name
        entry["inbound_nodes"] = [_node(call) for call in layer.calls if call.inputs]
    return entry


def _node(call: Call) -> Json:
    if call.args is not None:
        return {"args": [_argument(value) for value in call.args], "kwargs": {}}
    tensors = [_tensor(key) for key in call.inputs]
    args: list[Json] = [tensors] if call.as_list else tensors
    args += [value for key, value in call.kwargs if key == ""]
    return {"args": args, "kwargs": {key: _argument(value) for key, value in call.kwargs if key}}


def _argument(value: object) -> Json:
    if isinstance(value, TensorKey):
        return _tensor(value)
    return [_argument(item) for item in value] if isinstance(value, list) else value


def _tensor(key: TensorKey) -> Json:
    return {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": list(key)}}


def _ends(keys: Sequence[TensorKey], known: Mapping[str, Layer]) -> Json:
    """Inputs or outputs: there, and only there, the calls of a nested functional model are counted from 1."""
    rows = [[key.layer, key.call + _first(known[key.layer]), key.tensor] for key in keys]
    return rows[0] if len(rows) == 1 else rows


def _first(layer: Layer) -> int:
    return int(layer.submodel is not None and not layer.submodel.sequential)
