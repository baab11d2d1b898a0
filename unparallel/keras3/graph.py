"""The order of a new model's layers, which decides the paths of their weights, as Keras 3 works it out.

Keras 3 sorts layers by depth and then by a walk back from the outputs (`map_graph` in `keras/src/ops/function.py`),
and its graph holds the operations that make masks: a layer before a Masking moves up.  Two layers of one class and
shape in the wrong order would swap their weights without an error, so that graph is built here node by node.
Which class does what to a mask: `compute_mask` and `call` in `keras/src/layers`, the same from 3.4.1 to 3.15.1.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Tuple, TypeVar

from ..errors import ConfigError
from ..graph import layer_order
from ..model import Call as OldCall
from ..model import Layer as OldLayer
from ..model import TensorKey, Topology
from .values import Array, Call, Layer, Model, words

#: Classes through which a mask goes.
PASSES = words("""Activation ActivityRegularization BatchNormalization Dense Dropout SpatialDropout1D SpatialDropout2D
    SpatialDropout3D GaussianNoise GaussianDropout AlphaDropout ELU LeakyReLU PReLU ReLU LayerNormalization
    GroupNormalization UnitNormalization Normalization Rescaling Softmax TimeDistributed Identity""")
#: Classes whose call takes `mask`: it is one more tensor that they read.
TAKES = words("""BatchNormalization Bidirectional GlobalAveragePooling1D SimpleRNN GRU LSTM ConvLSTM2D RNN Softmax
    TimeDistributed Attention AdditiveAttention Functional Sequential""")
RECURRENT = words("SimpleRNN GRU LSTM ConvLSTM2D RNN Bidirectional")
MERGES = words("Add Subtract Multiply Average Maximum Minimum")
ATTENTIONS = frozenset(["Attention", "AdditiveAttention"])

Node = Tuple[str, int]


def tensors_in(value: object) -> Iterator[TensorKey]:
    """All tensors in an argument, in order."""
    if isinstance(value, TensorKey):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def reads(call: Call) -> tuple[TensorKey, ...]:
    """All tensors that a call reads, positional ones first."""
    return call.inputs + tuple(tensors_in([value for _, value in call.kwargs])) if call.kwargs else call.inputs


def calls_in_order(layers: Mapping[str, Sequence[tuple[TensorKey, ...]]], ends: Sequence[TensorKey]) -> list[Node]:
    """The calls, each after those that it reads; those that `ends` need come first, then the rest.

    Parameters
    ----------
    layers : dict
        For each layer's name what each of its calls reads.

    Raises
    ------
    ConfigError
        The calls form a cycle, or one reads what is not there.
    """
    done: dict[Node, None] = {}
    entered: set[Node] = set()
    starts = [key[:2] for key in ends] + [(name, i) for name, calls in layers.items() for i in range(len(calls))]
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(starts)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            done[node] = None
        elif node in done:
            continue
        elif node in entered:
            raise ConfigError("the model's layers form a cycle", "the config is damaged")
        else:
            name, number = node
            if name not in layers or number >= len(layers[name]):
                raise ConfigError(f"an output of layer {name!r} is read that it does not have", "the config is damaged")
            entered.add(node)
            stack.append((node, True))
            stack.extend((key[:2], False) for key in reversed(layers[name][number]) if key[:2] not in done)
    return list(done)


Result = TypeVar("Result")


def _once(model: Model, what: str, make: Callable[[Model], Result]) -> Result:
    """What follows from a model, which never changes, worked out once: walks of thousands of calls."""
    found: Result | None = model.__dict__.get(what)
    if found is None:
        found = make(model)
        object.__setattr__(model, what, found)
    return found


def model_calls(model: Model) -> list[tuple[Layer, int, Call]]:
    """All calls of a new model in order."""
    return _once(model, "_calls", _model_calls)


def _model_calls(model: Model) -> list[tuple[Layer, int, Call]]:
    layers = {layer.name: [reads(call) for call in layer.calls] for layer in model.layers}
    known = model.by_name
    return [(known[name], i, known[name].calls[i]) for name, i in calls_in_order(layers, model.outputs)]


# -- the graph with its masks -----------------------------------------------------------------------------


class _Symbolic:
    """Keras 3's graph of one model while it is being built from its config: calls and what makes masks."""

    def __init__(self, model: Model, with_masks: bool = True) -> None:
        self.model = model
        self.with_masks = with_masks
        self.masks: dict[TensorKey, TensorKey | None] = {}
        self.calls: dict[str, list[OldCall]] = {}
        self.merged_masks = False
        self.kinds: set[str] = set()
        for layer, number, call in model_calls(model):
            self._add(layer, number, call)

    def topology(self) -> Topology:
        """The graph as a topology, operations as layers."""
        layers = tuple(OldLayer(name, "", None, tuple(calls)) for name, calls in self.calls.items())
        return Topology("", "", layers, self.model.inputs, self.model.outputs)

    def _node(self, kind: str, *inputs: TensorKey) -> TensorKey:
        name = f"\0{kind}{len(self.calls)}"
        self.kinds.add(kind)
        self.calls[name] = [OldCall(tuple(inputs))]
        return TensorKey(name, 0, 0)

    def _mask(self, key: TensorKey) -> TensorKey | None:
        return self.masks.get(key) if self.with_masks else None

    def _add(self, layer: Layer, number: int, call: Call) -> None:
        inputs = reads(call)
        taken: tuple[TensorKey, ...] = ()
        if layer.class_name in TAKES and not is_operation(layer) and len(inputs) == len(call.inputs):
            taken = tuple(mask for mask in map(self._mask, call.inputs) if mask is not None)
        calls = self.calls.setdefault(layer.name, [])
        while len(calls) <= number:
            calls.append(OldCall(()))
        calls[number] = OldCall(inputs + taken)
        out = TensorKey(layer.name, number, 0)
        for key, mask in self._made(layer, call, out):
            self.masks[key] = mask

    def _made(self, layer: Layer, call: Call, out: TensorKey) -> Iterator[tuple[TensorKey, TensorKey | None]]:
        """The masks of a call's outputs."""
        name, given = layer.class_name, [self._mask(key) for key in call.inputs]
        first = given[0] if given else None
        if not self.with_masks or not call.inputs or is_operation(layer):
            return  # an operation looks at no mask and hands none on, whatever layer has its name
        if name == "Masking":
            yield out, self._node("any", self._node("not_equal", call.inputs[0]))
        elif name == "Embedding" and layer.config.get("mask_zero"):
            yield out, self._node("not_equal", call.inputs[0])
        elif name in PASSES or name in ATTENTIONS:
            yield out, first
        elif name in RECURRENT:
            explicit = dict(call.kwargs).get("mask")
            mask = explicit if isinstance(explicit, TensorKey) else first
            if _sequences(layer):
                yield out, mask
                if name == "Bidirectional" and layer.config.get("merge_mode") is None:
                    yield out._replace(tensor=1), mask
        elif name in MERGES and given and None not in given:
            yield out, self._any_of([mask for mask in given if mask is not None])
        elif name == "Concatenate" and any(given):
            yield out, self._concatenated(call, given)

    def _any_of(self, masks: list[TensorKey]) -> TensorKey:
        self.merged_masks = True
        mask = masks[0]
        for other in masks[1:]:
            mask = self._node("logical_or", mask, other)
        return mask

    def _concatenated(self, call: Call, given: list[TensorKey | None]) -> TensorKey:
        self.merged_masks = True
        parts = []
        for key, mask in zip(call.inputs, given):
            if mask is None:
                parts.append(self._node("ones_like", key))
            else:
                wide = self._node("expand_dims", mask)
                parts.append(self._node("logical_or", wide, self._node("zeros_like", key)))
        return self._node("any", self._node("concatenate", *parts))


def _sequences(layer: Layer) -> bool:
    inner = layer.config.get("layer")
    config = inner["config"] if isinstance(inner, dict) else layer.config
    return bool(config.get("return_sequences"))


def is_operation(layer: Layer) -> bool:
    """Whether it is an operation, which is not among a model's layers."""
    return ".ops." in layer.module


def mask_operations(model: Model) -> set[str]:
    """What Keras 3 calls the operations that make a model's masks, without their numbers."""
    return set() if model.sequential else _symbolic(model).kinds


def order(model: Model) -> list[str]:
    """The names of a model's layers in the order in which Keras 3 lists them.

    Raises
    ------
    ConfigError
        The calls form a cycle.
    """
    if model.sequential:
        return [layer.name for layer in model.layers if layer.class_name != "InputLayer"]
    return _once(model, "_order", _order)


def _order(model: Model) -> list[str]:
    known = {layer.name for layer in model.layers if not is_operation(layer)}
    return [name for name in layer_order(_symbolic(model).topology()) if name in known]


def _symbolic(model: Model) -> _Symbolic:
    return _once(model, "_graph", _Symbolic)


def doubtful(model: Model) -> tuple[str, str] | None:
    """Two layers whose weights could change places between versions of Keras 3, or None.

    What a merge makes of masks differs between versions.  Where such masks decide the order of two layers that
    nothing else tells apart, nobody could say which weights a version gives to which.
    """
    if model.sequential:
        return None
    graph = _symbolic(model)
    if not graph.merged_masks:
        return None
    orders = [layer_order(graph.topology()), layer_order(_Symbolic(model, False).topology())]
    alike: dict[Any, list[str]] = {}
    for layer in model.layers:
        shapes = tuple(array.shape for _, array in _all_arrays(layer))
        if shapes:
            alike.setdefault((snake_case(layer.class_name), shapes), []).append(layer.name)
    for names in alike.values():
        first, second = ([name for name in found if name in set(names)] for found in orders)
        for one, other in zip(first, second):
            if one != other:
                return one, other
    return None


# -- paths ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)  # a model has thousands of layers, and few classes
def snake_case(class_name: str) -> str:
    """`to_snake_case` of `keras/src/utils/naming.py`."""
    name = re.sub(r"\W+", "", class_name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


class Place(NamedTuple):
    """Where a layer's group lies in the archive's HDF5 file."""

    path: str
    layer: Layer


def places(model: Model, base: str = "") -> Iterator[Place]:
    """Every layer with its path, models before their own layers."""
    counts: dict[str, int] = {}
    known = model.by_name
    for name in order(model):
        layer = known[name]
        snake = snake_case(layer.class_name)
        number = counts.get(snake, 0)
        counts[snake] = number + 1
        path = f"{base}layers/{snake}_{number}" if number else f"{base}layers/{snake}"
        yield Place(path, layer)
        if layer.submodel is not None:
            yield from places(layer.submodel, path + "/")


def weight_paths(model: Model, base: str = "") -> Iterator[tuple[str, Array]]:
    """Every array of a model with its path."""
    for place in places(model, base):
        for inner, array in place.layer.arrays:
            yield f"{place.path}/{inner}", array


def _all_arrays(layer: Layer) -> Iterator[tuple[str, Array]]:
    yield from layer.arrays
    if layer.submodel is not None:
        yield from weight_paths(layer.submodel)
