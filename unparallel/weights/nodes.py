"""A model as the tree that a flat list of weights is assigned to, and the list as the config's flags say it."""

from __future__ import annotations

import json
from typing import Iterator, NamedTuple, Sequence

from ..keras_config import containers
from ..model import Json, Layer, Topology, WeightRef
from .expected import specs_of
from .names import role_and_prefix
from .table import Dim, Slot, Spec


class Node:
    """A layer, or a nested model with its layers.

    Parameters
    ----------
    layer : Layer
    tf_keras : bool, optional
        Whether tf.keras wrote the config, where that is known.
    any_flags : bool
        Take the config's `trainable` flags for those of another time: any layer may have been frozen.

    Attributes
    ----------
    children : list of Node, or None
        None for a layer.
    specs : tuple of Spec
        All that a layer may own, the likeliest first; empty if the table does not know its class.
    size : int or None
        Number of its weights, where that is known.
    least : int
        The fewest that they may be.
    movable : bool
        A model whose weights would move if it was frozen, which no config of Keras 2 says.
    open : bool
        More than one reading is possible.
    twin : str
        The same text for layers of one class with the same config, apart from their names.
    """

    def __init__(self, layer: Layer, tf_keras: bool | None = None, any_flags: bool = False) -> None:
        self.name = layer.name
        self.children: list[Node] | None = None
        self.specs: tuple[Spec, ...] = ()
        self.names: frozenset[str] = frozenset([layer.name])
        self.twin = ""
        if layer.submodel is not None:
            self._read_model(layer.submodel, tf_keras, any_flags)
        else:
            self._read_layer(layer, tf_keras, any_flags)

    def _read_layer(self, layer: Layer, tf_keras: bool | None, any_flags: bool) -> None:
        self.specs = specs_of(layer.class_name, layer.config, tf_keras)
        self.frozen = isinstance(layer.config, dict) and layer.config.get("trainable") is False and not any_flags
        if any_flags:
            self.specs = _with_any_flag(layer, self.specs, tf_keras)
        self.names = self.names.union(_inner_names(layer.config))
        self.size: int | None = _size(self.specs[0]) if self.specs else None
        self.least: int = self.size or 0
        self.movable: bool = False
        self.open: bool = len(self.specs) != 1
        if not self.specs:
            nameless = {key: value for key, value in layer.config.items() if key != "name"}
            self.twin = layer.class_name + json.dumps(nameless, sort_keys=True)

    def _read_model(self, topology: Topology, tf_keras: bool | None, any_flags: bool) -> None:
        self.children = [Node(inner, tf_keras, any_flags) for inner in topology.layers]
        self.frozen = _model_flag(topology) is False and not any_flags
        self.names = all_names(self.children)
        sizes = [child.size for child in self.children]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)
        self.least = sum(child.least for child in self.children)
        self.movable = any(child.movable or _has_trainable(child) for child in self.children)
        self.open = self.movable or any(child.open for child in self.children)

    def leaves(self) -> Iterator[Node]:
        """The layer itself, or the layers of the model at any depth."""
        if self.children is None:
            yield self
        for child in self.children or ():
            yield from child.leaves()


def all_names(nodes: Sequence[Node]) -> frozenset[str]:
    """Every name that a weight of these nodes may be called after."""
    return frozenset(name for node in nodes for name in node.names)


def _size(spec: Spec) -> int:
    return len(spec.trainable) + len(spec.rest)


def _with_any_flag(layer: Layer, specs: tuple[Spec, ...], tf_keras: bool | None) -> tuple[Spec, ...]:
    """The specs by the layer's flag, then those by the other one."""
    if not specs or not isinstance(layer.config, dict):
        return specs
    free = specs_of(layer.class_name, dict(layer.config, trainable=True), tf_keras)
    every = specs + free + tuple(spec.frozen() for spec in specs + free)
    # by comparison: a damaged config's sizes may be lists, which have no hash
    return tuple(spec for i, spec in enumerate(every) if spec not in every[:i])


def _has_trainable(node: Node) -> bool:
    """Whether freezing the model around it could move weights of this layer."""
    return node.children is None and (not node.specs or any(spec.trainable for spec in node.specs))


def _model_flag(topology: Topology) -> bool | None:
    """A model's own `trainable` where its config has one (no old Keras writes it)."""
    inner = topology.config.get("config") if isinstance(topology.config, dict) else None
    flag = inner.get("trainable") if isinstance(inner, dict) else None
    return flag if isinstance(flag, bool) else None


def _inner_names(config: Json) -> Iterator[str]:
    """Names of the layers inside a wrapper's config."""
    for value in containers(config):
        if isinstance(value, dict) and "class_name" in value and value is not config:
            inner = value.get("config")
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                yield inner["name"]


# -- one weight in one slot -------------------------------------------------------------------------------


class Fit:
    """Weights of one layer, added one by one; `why` tells what the last one lacked."""

    def __init__(self) -> None:
        self.lengths: dict[tuple[str, str], int] = {}
        self.prefixes: dict[str, str] = {}
        self.why = ""

    def add(self, slot: Slot, ref: WeightRef) -> bool:
        """Whether a weight can stand in a slot, beside those that were added before."""
        role, prefix = role_and_prefix(ref.name)
        if role and role != slot.role:
            self.why = f"its name says {role}"
        elif not self.has_shape(slot, ref.shape):
            self.why = f"its shape is {ref.shape}"
        elif role and self.prefixes.setdefault(slot.part, prefix) != prefix:
            self.why = f"its layer's other weights are named {self.prefixes[slot.part]}/..."
        else:
            return True
        return False

    def has_shape(self, slot: Slot, shape: tuple[int, ...]) -> bool:
        """Whether a slot can have that shape, the lengths known of the layer's other weights respected."""
        if slot.shape is None:
            return True
        if len(slot.shape) != len(shape):
            return False
        return all(self._same_length(slot.part, want, have) for want, have in zip(slot.shape, shape))

    def _same_length(self, part: str, want: Dim, have: int) -> bool:
        if want is None:
            return True
        if isinstance(want, str):
            return self.lengths.setdefault((part, want), have) == have
        return want == have

    def needs(self, slot: Slot) -> str:
        """The shape that a slot wants, as far as it is known."""
        if slot.shape is None:
            return slot.role
        dims = [self.lengths.get((slot.part, dim), "?") if isinstance(dim, str) else dim for dim in slot.shape]
        texts = ["?" if dim is None else str(dim) for dim in dims]
        return "{} of shape ({})".format(slot.role, ", ".join(texts) + ("," if len(texts) == 1 else ""))


def shape_misfit(slots: Sequence[Slot], refs: Sequence[WeightRef]) -> str:
    """What is wrong with weights that are known to be one layer's, their names aside; "" if nothing is."""
    if len(slots) != len(refs):
        return f"has {len(slots)} weights, the file has {len(refs)} for it"
    fit = Fit()
    for slot, ref in zip(slots, refs):
        if not fit.has_shape(slot, ref.shape):
            return f"needs {fit.needs(slot)}, the file has {ref.name} {ref.shape}"
    return ""


# -- the list as the flags say it -------------------------------------------------------------------------


class Place(NamedTuple):
    """One slot of the flat list.

    Attributes
    ----------
    top : int
        Which node of the outermost model it belongs to.
    leaf : Node
        The layer itself.
    slot : Slot
    """

    top: int
    leaf: Node
    slot: Slot


def places_by_flags(nodes: Sequence[Node]) -> list[Place]:
    """The whole flat list, as the flags of the config say it; every class must be known."""
    pairs = [_places(node, top) for top, node in enumerate(nodes)]
    return [place for half in (0, 1) for pair in pairs for place in pair[half]]


def _places(node: Node, top: int) -> tuple[list[Place], list[Place]]:
    """A node's trainable slots and its other slots."""
    if node.children is None:
        spec = node.specs[0]
        first, second = ([Place(top, node, slot) for slot in half] for half in spec)
        return first, second
    trainable: list[Place] = []
    rest: list[Place] = []
    for child in node.children:
        first, second = _places(child, top)
        trainable += first
        rest += second
    return ([], trainable + rest) if node.frozen else (trainable, rest)


def misfit(places: Sequence[Place], refs: Sequence[WeightRef]) -> str:
    """What is wrong with a list, as the message of an error; empty if nothing is."""
    fits: dict[int, Fit] = {}
    for place, ref in zip(places, refs):
        fit = fits.setdefault(id(place.leaf), Fit())
        if not fit.add(place.slot, ref):
            need = f"layer {place.leaf.name!r} needs {fit.needs(place.slot)}"
            return f"{need}, but the file has {ref.name} {ref.shape} in its place ({fit.why})"
    if len(places) > len(refs):
        place = places[len(refs)]
        need = Fit().needs(place.slot)
        return f"layer {place.leaf.name!r} lacks {need}: the list of weights ends after {len(refs)}"
    if len(places) < len(refs):
        ref = refs[len(places)]
        return f"no layer is left for {ref.name} {ref.shape}"
    return ""
