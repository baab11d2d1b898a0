"""The Keras model that a SavedModel describes: its config, its training settings, and its objects.

Format: tensorflow/core/protobuf/saved_model.proto, meta_graph.proto, saved_object_graph.proto; Keras' part is JSON in
the objects' metadata (up to TensorFlow 2.4), or in `keras_metadata.pb` (saved_metadata.proto, from 2.5 on).  The
graph of operations, nearly all of the file, is stepped over.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO, Sequence

from .. import keras_config
from ..errors import ConfigError, FileError
from ..model import Json, Tracked, TrackedModel
from . import wire
from .objects import LARGEST_NODE, Node, SavedNode, checkpoint_objects, saved_objects
from .places import SAVED_MODEL
from .source import Source

META_GRAPHS, OBJECT_GRAPH = 2, 7
KERAS_METADATA = "keras_metadata.pb"
ARCHITECTURE = os.path.join("assets", "saved_model.json")
MOST_META_GRAPHS = 16
WHAT = "the SavedModel's metadata"


@dataclass(frozen=True)
class SavedModel:
    """What a SavedModel says of the Keras model that it was.

    Parameters
    ----------
    metadata : dict
        Of the root: `model_config`, `training_config`, `keras_version`, `backend`.
    tracked : TrackedModel
        Its objects, with their arrays.
    saved : tuple of SavedNode
        The same objects as the SavedModel numbers them.
    checkpoint : tuple of Node
        The objects as the checkpoint in it numbers them.
    numbers : dict of int to int
        From a SavedModel's number to the checkpoint's.
    """

    metadata: dict[str, Json]
    tracked: TrackedModel
    checkpoint: tuple[Node, ...]
    numbers: dict[int, int]


def read(source: Source) -> SavedModel | None:
    """The Keras model in an open SavedModel; None where it has no such metadata.

    Raises
    ------
    FileError, ConfigError
        It is damaged.
    """
    path = os.path.join(source.found.folder, SAVED_MODEL)
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        saved = _objects(file, os.path.getsize(path))
    checkpoint = checkpoint_objects(source.bundle)
    if not saved or checkpoint is None:
        return None
    text = saved[0].metadata or _newer_metadata(source.found.folder)
    if not text:
        return None
    metadata = plain(keras_config.parse_json(text, WHAT))
    if not isinstance(metadata, dict) or not isinstance(metadata.get("model_config"), dict):
        return None
    numbers = _numbers(saved, checkpoint)
    return SavedModel(metadata, _tracked(source, saved, checkpoint, numbers), checkpoint, numbers)


def _objects(file: BinaryIO, size: int) -> tuple[SavedNode, ...]:
    """The objects of the first graph that has some: a file of `export_saved_model` has several graphs and none."""
    graphs = 0
    for part in wire.places(file, 0, size):
        if part.number != META_GRAPHS:
            continue
        graphs += 1
        if graphs > MOST_META_GRAPHS:
            raise FileError(f"more than {MOST_META_GRAPHS} graphs", "do not trust this SavedModel")
        for inner in wire.places(file, part.start, part.stop):
            if inner.number == OBJECT_GRAPH:
                return saved_objects(file, inner)
    return ()


def _newer_metadata(folder: str) -> str:
    """The root's metadata as TensorFlow 2.5 and later keep it; "" where there is none."""
    path = os.path.join(folder, KERAS_METADATA)
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        for part in wire.places(file, 0, os.path.getsize(path)):
            if part.number == 1:
                found = wire.grouped(wire.content(file, part, LARGEST_NODE))
                # node_id 2, metadata 5; the root is number 0, which the format leaves out
                if 5 in found and (2 not in found or found[2][-1] == 0):
                    return wire.text(found[5][-1])
    return ""


def plain(value: Json) -> Json:
    """JSON as an HDF5 file has it: a SavedModel marks what was a tuple or a TensorShape, and HDF5 lists them."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"class_name", "items"} and value["class_name"] in ("__tuple__", "TensorShape"):
            return plain(value["items"])
        return {key: plain(item) for key, item in value.items()}
    return value


def _numbers(saved: Sequence[SavedNode], checkpoint: Sequence[Node]) -> dict[int, int]:
    """The checkpoint's number for each object of a SavedModel, by the names on the way to it."""
    found = {0: 0}
    stack = [0]
    while stack:
        number = stack.pop()
        there = dict(checkpoint[found[number]].children)
        for name, child in saved[number].children:
            if child not in found and name in there:
                found[child] = there[name]
                stack.append(child)
    return found


def _tracked(
    source: Source, saved: Sequence[SavedNode], checkpoint: Sequence[Node], numbers: dict[int, int]
) -> TrackedModel:
    nodes: list[Tracked] = []
    for number, node in enumerate(saved):
        twin = checkpoint[numbers[number]] if number in numbers else None
        ref = None
        if twin is not None and twin.key and node.trainable is not None:
            # a variable of a distribution strategy has no name in the checkpoint
            if node.name and twin.name and twin.name != node.name:
                raise ConfigError(f"{node.name!r} has the value of {twin.name!r}", "the SavedModel is damaged")
            ref = source.ref(twin.name or node.name, twin.key)
        nodes.append(Tracked(node.children, ref, node.trainable, _lists(saved, number)))
    return TrackedModel(tuple(nodes))


def _lists(saved: Sequence[SavedNode], number: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The variables that a layer listed, trained and others; None where one of the lists is not there."""
    keras = dict(saved[number].children).get("keras_api")
    if keras is None:
        return None
    names = dict(saved[keras].children)
    lists = [names.get(name) for name in ("trainable_variables", "non_trainable_variables")]
    if lists[0] is None or lists[1] is None:
        return None
    return _listed(saved, lists[0]), _listed(saved, lists[1])


def _listed(saved: Sequence[SavedNode], number: int) -> tuple[int, ...]:
    items = {int(name): child for name, child in saved[number].children if name.isdigit() and len(name) < 7}
    return tuple(items[i] for i in sorted(items))
