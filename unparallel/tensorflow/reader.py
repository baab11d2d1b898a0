"""An open checkpoint or SavedModel -> `ModelFile`: what it holds, as values, no array read.

A SavedModel has its config and becomes a full model.  A checkpoint has none: its objects, or the variables of its
session, travel in the `ModelFile` until an architecture names the layers.
"""

from __future__ import annotations

import os
from typing import Mapping

from .. import keras_config
from ..errors import FileError, NotKerasError
from ..model import (
    Json,
    LayerWeights,
    ModelFile,
    Optimizer,
    Tracked,
    TrackedModel,
    WeightRef,
    empty_own_weights,
    has_fixed_names,
)
from ..weights.tracked import Assigned, assign
from . import optimizers, saved_model
from .objects import Node, checkpoint_objects
from .saved_model import SavedModel
from .session import read_session
from .source import Source

LARGEST_ARCHITECTURE = 32 * 2**20


def read(source: Source) -> ModelFile:
    """Read a SavedModel or a checkpoint.

    Returns
    -------
    ModelFile
        With `form` "model" for a SavedModel of Keras, else "weights" and the objects in `objects`.

    Raises
    ------
    UnparallelError
        It is damaged, or holds nothing of Keras.
    """
    if not source.found.folder:
        return _checkpoint(source)
    saved = saved_model.read(source)
    return _full(source, saved) if saved is not None else _checkpoint(source)


# -- SavedModels


def _full(source: Source, saved: SavedModel) -> ModelFile:
    metadata = saved.metadata
    config = metadata["model_config"]
    topology = keras_config.parse({key: config[key] for key in ("class_name", "config") if key in config})
    version = _text(metadata, "keras_version")
    assigned = assign(saved.tracked, 0, topology)
    for group in assigned.weights.values():
        _check_arrays(source, group.weights)
    training, optimizer, lost = _training(source, saved, assigned)
    return ModelFile(
        source.path,
        "model",
        version,
        _text(metadata, "backend"),
        topology,
        tuple(assigned.weights[(layer.name,)] for layer in topology.layers),
        training,
        optimizer,
        attributes_from=None,
        own_weights=empty_own_weights(version),
        fixed_names=has_fixed_names(version),
        by_path=assigned.weights,
        warnings=lost,
        notes=checksums(source),
        container="SavedModel",
    )


def _text(metadata: Mapping[str, Json], name: str) -> str | None:
    value = metadata.get(name)
    return value if isinstance(value, str) else None


def _check_arrays(source: Source, refs: tuple[WeightRef, ...]) -> None:
    for ref in refs:
        source.array(ref.path)


def _training(source: Source, saved: SavedModel, assigned: Assigned) -> tuple[Json, Optimizer | None, tuple[str, ...]]:
    """(training_config, the optimizer's arrays in Keras' order, why they were left out)."""
    training = saved.metadata.get("training_config")
    if not isinstance(training, dict):
        return None, None, ()
    root = saved.checkpoint[0].child("optimizer")
    if root is None:
        return training, None, ()
    settings = training.get("optimizer_config")
    name = str(settings.get("class_name")) if isinstance(settings, dict) else ""
    state = _state(source, saved, root, assigned, name)
    if state is None:
        return None, None, (f"the training state was left out: the order of {name or 'its optimizer'}'s is not known",)
    names = [ref.name for ref in state]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        why = f"two of the optimizer's arrays are named {twice[0]!r}, which HDF5 cannot hold"
        return None, None, (f"the training state was left out: {why}",)
    _check_arrays(source, tuple(state))
    if not state:
        return training, None, ()
    return training, Optimizer("", len(state), sum(ref.size for ref in state), tuple(state)), ()


def _state(source: Source, saved: SavedModel, root: int, assigned: Assigned, class_name: str) -> list[WeightRef] | None:
    """What the optimizer keeps, in its order; None where that is not known."""
    nodes = saved.checkpoint
    slots = {(slot.variable, slot.name): slot.value for slot in nodes[root].slots}
    own = {name: number for name, number in nodes[root].children if nodes[number].key}
    trained = [saved.numbers[number] for number in assigned.trained if number in saved.numbers]
    order = optimizers.ordered(class_name, slots, own, trained)
    return None if order is None else [source.ref(nodes[number].name, nodes[number].key) for number in order]


# -- checkpoints


def _checkpoint(source: Source) -> ModelFile:
    nodes = checkpoint_objects(source.bundle)
    tracked = _tracked(source, nodes) if nodes is not None else None
    if tracked is not None and not tracked.models():
        raise _no_model(source)
    groups = _groups(tracked) if tracked is not None else ()
    for group in groups:
        _check_arrays(source, group.weights)
    return ModelFile(
        source.path,
        "weights",
        None,
        None,
        None,
        groups,
        attributes_from=None,
        objects=tracked if tracked is not None else read_session(source),
        architecture=_own_architecture(source),
        notes=checksums(source),
        container="SavedModel" if source.found.folder else "checkpoint",
    )


def _no_model(source: Source) -> NotKerasError:
    if source.found.folder:
        return NotKerasError(
            "a SavedModel without Keras' metadata",
            "it keeps no config: look for a checkpoint or a .h5 file of the same model",
        )
    return NotKerasError(
        "a checkpoint with no functional or Sequential Keras model in it",
        "subclassed models have no graph in their files; load it with the code that built them",
    )


def _tracked(source: Source, nodes: tuple[Node, ...]) -> TrackedModel:
    found = [Tracked(node.children, source.ref(node.name, node.key) if node.key else None) for node in nodes]
    return TrackedModel(tuple(found), frozenset(slot.variable for node in nodes for slot in node.slots))


def _groups(tracked: TrackedModel) -> tuple[LayerWeights, ...]:
    """The first model's layers with their weights: their names are not in the file."""
    layers = tracked.layers(tracked.models()[0])
    return tuple(
        LayerWeights(f"layer-{i}", tuple(tracked.ref(number) for _, number in tracked.variables(layer)))
        for i, layer in enumerate(layers)
    )


def _own_architecture(source: Source) -> Json:
    """The config that `export_saved_model` wrote beside the variables; None where there is none in the folder."""
    folder = source.found.folder
    path = os.path.join(folder, saved_model.ARCHITECTURE)
    if not folder or not os.path.isfile(path):
        return None
    if not os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), "")):
        return None  # a link that leads out of the folder is not followed
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(LARGEST_ARCHITECTURE + 1)
    if len(text) > LARGEST_ARCHITECTURE:
        raise FileError(f"{saved_model.ARCHITECTURE} is too long", "do not trust this SavedModel")
    return keras_config.parse_json(text, saved_model.ARCHITECTURE)


def checksums(source: Source) -> tuple[str, ...]:
    """What to say of the arrays' checksums."""
    if source.bundle.checks_arrays:
        return ()
    return ("the arrays' checksums were not looked at: pip install 'unparallel-keras[checkpoints]' for that",)
