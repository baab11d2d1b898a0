"""Weights that a graph of objects ties to their layers, as TensorFlow's checkpoints and SavedModels do.

There is no flat list to deal out: the model's object holds its layers' (`layer-0`, `layer-1`, ... in the order of
`model.layers`), and a layer's object its variables.  Layers are found by walking, never by a key or a name.  What is
left to tell is the order of a layer's weights, which HDF5 files keep and positional loading needs: those that are
trained first, then the others.  A SavedModel lists both; in a checkpoint the class of the layer tells (`table`), or
else which variables the optimizer has slots for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Iterator, List, Sequence, Tuple

from .. import keras_config
from ..errors import ConfigError, WeightsError
from ..model import Json, Layer, LayerWeights, Topology, TrackedModel
from .expected import expected_weights
from .nodes import shape_misfit

Path = Tuple[str, ...]

_OTHER_MODEL = "the checkpoint and the architecture must be of one model"
#: Wrapper classes (tf.keras 1.12 to 2.3: layers/wrappers.py, recurrent.py): for each config key of a wrapped layer,
#: the names of the objects that stand for it.
_WRAPPED: dict[str, tuple[tuple[str, str], ...]] = {
    "TimeDistributed": (("layer", "layer"),),
    "Bidirectional": (("layer", "forward_layer"), ("layer", "backward_layer")),
    "RNN": (("cell", "cell"),),
    "ConvRNN2D": (("cell", "cell"),),
    "StackedRNNCells": (("cells", "cells"),),
}
DEEPEST = 50


@dataclass(frozen=True, eq=False, repr=False)
class Assigned:
    """The weights of a model by path of layers.

    Parameters
    ----------
    weights : dict of path to LayerWeights
        For every layer at every depth, a nested model's flat list included.
    trained : tuple of int
        The numbers of the model's trainable variables, in Keras' order.
    """

    weights: dict[Path, LayerWeights] = field(default_factory=dict)
    trained: tuple[int, ...] = ()


def assign(model: TrackedModel, number: int, topology: Topology) -> Assigned:
    """Give each layer of a topology the weights that the object `number` holds for it.

    Raises
    ------
    WeightsError
        The object is not that model: the numbers of layers, or a layer's weights, differ.
    """
    walk = _Walk(model)
    lists = walk.model(number, topology, ())
    return Assigned(walk.weights, tuple(lists[0]))


Lists = Tuple[List[int], List[int]]


def assignments(
    candidates: Iterable[tuple[TrackedModel, int]], topology: Topology
) -> tuple[list[Assigned], WeightsError | None]:
    """What each of several objects gives a topology, equal ones once; and why the first that does not fit does not."""
    found: list[Assigned] = []
    trouble: WeightsError | None = None
    for model, number in candidates:
        try:
            assigned = assign(model, number, topology)
        except WeightsError as error:
            trouble = trouble or error
            continue
        if all(other.weights != assigned.weights for other in found):
            found.append(assigned)
    return found, trouble


class _Walk:
    """Walks the topology and the objects side by side."""

    def __init__(self, model: TrackedModel) -> None:
        self.tracked = model
        self.weights: dict[Path, LayerWeights] = {}

    def model(self, number: int, topology: Topology, path: Path) -> Lists:
        """A model's (trained variables, others); all its layers' go into `weights` on the way."""
        trained: list[int] = []
        others: list[int] = []
        for layer, child in self._pairs(number, topology):
            if child is None:
                self.weights[path + (layer.name,)] = LayerWeights(layer.name, ())
                continue
            first, second = self.layer(child, layer, path + (layer.name,))
            trained += first
            others += second
        listed = self.tracked.nodes[number].lists
        if listed is not None:
            if sorted(listed[0] + listed[1]) != sorted(set(trained + others)):
                raise WeightsError(f"model {topology.name!r} lists other weights than its layers have", _OTHER_MODEL)
            return list(listed[0]), list(listed[1])
        return _unique(trained), _unique(others)

    def _pairs(self, number: int, topology: Topology) -> Iterator[tuple[Layer, int | None]]:
        """Each layer with its object.

        A Sequential's InputLayer is in its config and no object in TensorFlow 2.3, and the other way before.
        """
        objects: list[int | None] = list(self.tracked.layers(number))
        layers = topology.layers
        if topology.sequential and layers and len(objects) != len(layers):
            if layers[0].class_name == "InputLayer":
                objects.insert(0, None)
            elif objects and not self.tracked.variables(objects[0] or 0):
                objects = objects[1:]
        if len(objects) != len(layers):
            raise WeightsError(
                f"model {topology.name!r} has {len(layers)} layers, that of the checkpoint has {len(objects)}",
                _OTHER_MODEL,
            )
        return zip(layers, objects)

    def layer(self, number: int, layer: Layer, path: Path) -> Lists:
        """A layer's or nested model's lists, put into `weights`."""
        if layer.submodel is not None:
            lists = self.model(number, layer.submodel, path)
            flag = layer.config.get("trainable") if isinstance(layer.config, dict) else None
            if flag is False and self.tracked.nodes[number].lists is None:
                lists = [], lists[0] + lists[1]
        else:
            lists = self._leaf(number, layer, "/".join(path), 0)
        refs = tuple(self.tracked.ref(variable) for variable in lists[0] + lists[1])
        self.weights[path] = LayerWeights(layer.name, refs)
        return lists

    def _leaf(self, number: int, layer: Layer, label: str, depth: int) -> Lists:
        node = self.tracked.nodes[number]
        if node.lists is not None:
            lists = list(node.lists[0]), list(node.lists[1])
            self._check(layer, lists, label)
            return lists
        inside = list(self._wrapped(number, layer, label)) if depth < DEEPEST else []
        if inside:
            parts = [self._inner(child, entry, label, depth + 1) for child, entry in inside]
            lists = [i for first, _ in parts for i in first], [i for _, second in parts for i in second]
        else:
            lists = self._own(number, layer, label)
        return ([], lists[0] + lists[1]) if _is_frozen(layer) else lists

    def _wrapped(self, number: int, layer: Layer, label: str) -> Iterator[tuple[int, Json]]:
        """(object, `{"class_name", "config"}`) of each layer that a wrapper wraps."""
        config = layer.config if isinstance(layer.config, dict) else {}
        for key, name in _WRAPPED.get(layer.class_name, ()):
            child, entries = self.tracked.nodes[number].child(name), config.get(key)
            if name == "backward_layer":
                entries = config.get(name) or entries
            if child is None or entries is None:
                raise WeightsError(f"layer {label!r} has no {name} in the checkpoint", _OTHER_MODEL)
            if not isinstance(entries, list):
                yield child, entries
                continue
            for i, entry in enumerate(entries):
                inner = self.tracked.nodes[child].child(str(i))
                if inner is None:
                    raise WeightsError(f"layer {label!r} has no {name}/{i} in the checkpoint", _OTHER_MODEL)
                yield inner, entry

    def _inner(self, number: int, entry: Json, label: str, depth: int) -> Lists:
        """Lists of a wrapped layer or model, which has no group of its own."""
        if not isinstance(entry, dict) or "class_name" not in entry:
            raise WeightsError(f"layer {label!r} wraps something that is no layer", _OTHER_MODEL)
        if keras_config.is_model(entry):
            try:
                topology = keras_config.parse(entry)
            except ConfigError as error:
                raise WeightsError(f"layer {label!r}: {error.message}", error.hint) from error
            return _Walk(self.tracked).model(number, topology, (label,))
        return self._leaf(number, Layer("", str(entry["class_name"]), entry.get("config")), label, depth)

    def _own(self, number: int, layer: Layer, label: str) -> Lists:
        """Lists of a layer that wraps none: by the table, or by what the file tells of each variable."""
        found = self.tracked.variables(number)
        spec = expected_weights(_unfrozen(layer), True)
        if spec is None:
            return self._by_flags(found, layer, label)
        lists: Lists = ([], [])
        left = list(found)
        for half, slots in zip(lists, spec):
            for slot in slots:
                place = next((place for place in left if place[0] == slot.role), None)
                if place is None:
                    raise WeightsError(f"layer {label!r} has no {slot.role} in the checkpoint", _OTHER_MODEL)
                left.remove(place)
                half.append(place[1])
        if left:
            raise WeightsError(f"no layer is left for {self.tracked.ref(left[0][1]).name} of {label!r}", _OTHER_MODEL)
        self._check(layer, lists, label)
        return lists

    def _check(self, layer: Layer, lists: Lists, label: str) -> None:
        """Refuse weights of numbers or shapes that the layer's class and config cannot have."""
        spec = expected_weights(_unfrozen(layer), True) if layer.class_name not in _WRAPPED else None
        if spec is None:
            return
        refs = [self.tracked.ref(variable) for variable in lists[0] + lists[1]]
        trouble = shape_misfit(spec.trainable + spec.rest, refs)
        if trouble:
            raise WeightsError(f"layer {label!r} {trouble}", _OTHER_MODEL)

    def _by_flags(self, found: Sequence[tuple[str, int]], layer: Layer, label: str) -> Lists:
        """Lists of a layer of an unknown class."""
        numbers = [number for _, number in found]
        nodes = self.tracked.nodes
        slotted = self.tracked.slotted.intersection(numbers)
        if len(numbers) < 2:
            trained = set(numbers)
        elif all(nodes[number].trainable is not None for number in numbers):
            trained = {number for number in numbers if nodes[number].trainable}
        elif slotted:
            trained = set(slotted)
        else:
            return self._by_known_order(numbers, layer, label)
        return [i for i in numbers if i in trained], [i for i in numbers if i not in trained]

    def _by_known_order(self, numbers: list[int], layer: Layer, label: str) -> Lists:
        """Lists of a layer of which nothing tells what is trained, in the order that another file has."""
        names = {self.tracked.ref(number).name: number for number in numbers}
        for order in self.tracked.known_orders:
            if len(names) == len(numbers) and names.keys() <= set(order):
                return [names[name] for name in order if name in names], []
        raise WeightsError(
            f"layer {label!r}: class {layer.class_name!r} is not known, and nothing here tells the order of "
            f"its {len(numbers)} weights",
            "--architecture with a full .h5 file of the same model, whatever its weights are, tells it",
        )


def _unfrozen(layer: Layer) -> Layer:
    """The layer with its own flag up: what is frozen keeps its order, all of it among the others."""
    if not _is_frozen(layer):
        return layer
    return Layer(layer.name, layer.class_name, dict(layer.config, trainable=True))


def _is_frozen(layer: Layer) -> bool:
    return isinstance(layer.config, dict) and layer.config.get("trainable") is False


def _unique(numbers: Sequence[int]) -> list[int]:
    """Each number once: Keras lists a shared variable at its first place."""
    return list(dict.fromkeys(numbers))
