"""The immutable values that travel between the modules, and small pure helpers.

A file that is read and a model that is extracted are the same type, `ModelFile`, so that each step
can be tested alone.  Nothing here knows HDF5, JSON text, networkx or numpy.  JSON values (dict, list,
str, int, float, bool, None) are held as the parser gave them and are never changed in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from .errors import WeightsError

Json = Any

#: Name of the group of weights that are the model's own and no layer's.
OWN_WEIGHTS = "top_level_model_weights"

_LAYER = r"layer-([0-9]{1,6})"
# What hangs on a layer in a SavedModel without being a part of it, and the state of an RNN between two batches.
_BESIDE = frozenset(["keras_api", "variables", "trainable_variables", "regularization_losses", "states", "optimizer"])

#: What an architecture out of a file has beside `to_json()`: lists of its weights' names, a layer or a model each.
WEIGHT_NAMES = "weight_names"


class TensorKey(NamedTuple):
    """One output tensor of one call of a layer, counted from 0 whatever the file's dialect.

    Attributes
    ----------
    layer : str
        Name of the layer, unique in its topology.
    call : int
        Index into `Layer.calls`.
    tensor : int
        Which of the call's outputs.
    """

    layer: str
    call: int
    tensor: int


@dataclass(frozen=True)
class Input:
    """A tensor among the arguments of a call.

    Parameters
    ----------
    index : int
        Its place in `Call.inputs`.
    shape : tuple of (int or None), optional
        As Keras 3 notes it at the call.
    """

    index: int
    shape: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Arguments:
    """What a layer is called with: JSON values, `slice` and `Ellipsis`, and an `Input` for each tensor.

    Whatever reads a call knows these and not the file's way of writing them; and since an `Input` is a place, they
    stay the same when the tensors in `Call.inputs` are replaced.
    """

    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Call:
    """One application of a layer: one entry of its `inbound_nodes`.

    Parameters
    ----------
    inputs : tuple of TensorKey
        The tensors that the call reads, in the order in which the node lists them.
    node : JSON value
        The node as the file has it; references inside it are replaced, in the same order, when the node is written
        again.  None for the implied calls of a Sequential; of a live model, what it keeps of the call.
    arguments : Arguments or None
        What the node says, in terms that are the same for all files; None where there is no node.
    """

    inputs: tuple[TensorKey, ...]
    node: Json = None
    arguments: Arguments | None = None

    @property
    def given(self) -> Arguments:
        """The arguments; where there is no node, the one tensor, or all in a list."""
        tensors = [Input(index) for index in range(len(self.inputs))]
        return self.arguments or Arguments((tensors[0] if len(tensors) == 1 else tensors,))


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer with its calls; `submodel` is set where the layer is itself a model.

    `entry` is the layer's object in the file (`class_name`, `config`, often `name`, `inbound_nodes`);
    `first_call` is the number that the file gives to the first call: 1 for a nested model of Keras 2,
    whose call 0 is its own creation, else 0.
    """

    name: str
    class_name: str
    config: Json
    calls: tuple[Call, ...] = ()
    submodel: Topology | None = None
    entry: Json = None
    first_call: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A model's config without its weights.

    Parameters
    ----------
    name : str
        The model's own name ("" where an old Sequential has none).
    class_name : str
        "Model", "Functional", "Sequential" or a subclass' name.
    layers : tuple of Layer
        In the file's order.  A Sequential has implied calls, each reading the one before.
    inputs, outputs : tuple of TensorKey
        Of the model, in its order.  A Sequential without InputLayer has no inputs.
    config : JSON value
        The `{"class_name", "config"}` object of the file, as parsed.
    sequential : bool
        Whether the config lists layers without nodes.
    """

    name: str
    class_name: str
    layers: tuple[Layer, ...]
    inputs: tuple[TensorKey, ...]
    outputs: tuple[TensorKey, ...]
    config: Json = None
    sequential: bool = False

    def layer(self, name: str) -> Layer:
        """The layer of that name; KeyError where there is none."""
        return self.by_name[name]

    @property
    def by_name(self) -> dict[str, Layer]:
        """All layers by name (built once a topology)."""
        found = self.__dict__.get("_by_name")
        if found is None:
            found = {layer.name: layer for layer in self.layers}
            object.__setattr__(self, "_by_name", found)
        return found

    def walk(self) -> Iterator[Layer]:
        """All layers at every depth, a model before its own layers."""
        # a stack and not recursion: each layer would climb through a generator a level
        stack = list(reversed(self.layers))
        while stack:
            layer = stack.pop()
            yield layer
            if layer.submodel is not None:
                stack += reversed(layer.submodel.layers)


class WeightRef(NamedTuple):
    """Where a weight lies: never the array itself.

    Attributes
    ----------
    name : str
        Name in the layer's `weight_names`, such as "dense_1/kernel:0".
    path : str
        Absolute HDF5 path in the source file.
    shape : tuple of int
        As stored; weights have no batch axis.
    dtype : str
        numpy's name, such as "float32".
    size : int
        Bytes of the array as stored in memory.
    """

    name: str
    path: str
    shape: tuple[int, ...]
    dtype: str
    size: int = 0


@dataclass(frozen=True)
class LayerWeights:
    """One layer's group: its name and its weights in the order of `weight_names`."""

    layer: str
    weights: tuple[WeightRef, ...]


class Optimizer(NamedTuple):
    """The optimizer's state in a file: `/optimizer_weights`.

    Attributes
    ----------
    path : str
        HDF5 path of the group; "" where the arrays lie in a file of another format.
    arrays : int
        Number of arrays in it.
    size : int
        Their bytes.
    weights : tuple of WeightRef
        The arrays in Keras' order, where they lie in a file of another format.
    listed : tuple of WeightRef
        The arrays in Keras' order, as the group's `weight_names` lists them.
    """

    path: str
    arrays: int
    size: int
    weights: tuple[WeightRef, ...] = ()
    listed: tuple[WeightRef, ...] = ()


class Tracked(NamedTuple):
    """An object of a checkpoint.

    Attributes
    ----------
    children : tuple of (str, int)
        Names and numbers of the objects that it holds, in the order in which they came to be.
    ref : WeightRef or None
        Where the value lies, if it is a variable.
    trainable : bool or None
        Of a variable, where the file tells.
    lists : tuple of (tuple of int, tuple of int), or None
        Of a layer or a model, where the file tells: the variables that are trained and the others, in Keras' order.
    """

    children: tuple[tuple[str, int], ...] = ()
    ref: WeightRef | None = None
    trainable: bool | None = None
    lists: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def child(self, name: str) -> int | None:
        """The number of the object of that name."""
        return next((number for local, number in self.children if local == name), None)


@dataclass(frozen=True, eq=False, repr=False)
class TrackedModel:
    """All objects of a checkpoint; number 0 is the root.

    Parameters
    ----------
    nodes : tuple of Tracked
    slotted : frozenset of int
        Variables for which an optimizer keeps something: they are trained.
    known_orders : tuple of tuple of str
        Names of weights in Keras' order, from another file of the same model.
    """

    nodes: tuple[Tracked, ...]
    slotted: frozenset[int] = frozenset()
    known_orders: tuple[tuple[str, ...], ...] = ()

    def models(self) -> list[int]:
        """The outermost objects that have layers, nearest to the root first."""
        found: list[int] = []
        seen = {0}
        level = [0]
        while level:
            found += [number for number in level if self.layers(number)]
            inner = [child for number in level if number not in found for _, child in self.nodes[number].children]
            level = [number for number in dict.fromkeys(inner) if number not in seen]
            seen.update(level)
        return found

    def layers(self, number: int) -> list[int]:
        """A model's layers in order; none where it is no model, or its layers are not numbered through."""
        found: dict[int, int] = {}
        for name, child in self.nodes[number].children:
            match = re.fullmatch(_LAYER, name)
            if match:
                found[int(match.group(1))] = child
        return [found[i] for i in range(len(found))] if set(found) == set(range(len(found))) else []

    def variables(self, number: int) -> list[tuple[str, int]]:
        """(name, number) of all variables in an object, each once: its own before those of the layers in it.

        That is the order of Keras' `trainable_weights`, those that are not trained left out.
        """
        found: list[tuple[str, int]] = []
        seen = {number}
        stack = [number]
        while stack:
            inner = []
            for name, child in self.nodes[stack.pop()].children:
                if child in seen or name in _BESIDE:
                    continue
                seen.add(child)
                if self.nodes[child].ref is not None:
                    found.append((name, child))
                else:
                    inner.append(child)
            stack += reversed(inner)
        return found

    def ref(self, number: int) -> WeightRef:
        """The reference of a variable.

        Raises
        ------
        WeightsError
            The object is none.
        """
        found = self.nodes[number].ref
        if found is None:
            raise WeightsError("a list of variables holds something else", "the file is damaged")
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Session:
    """The variables that a Saver saved.

    Parameters
    ----------
    variables : dict of str to WeightRef
        By name; in the order of their making where the graph is there.
    readers : dict of str to tuple of str, or None
        The operations that read each variable; None without a graph.
    trainable : frozenset of str, or None
        Variables that are trained, as far as the graph tells; None where it does not.
    known_orders : tuple of tuple of str
        Names of weights in Keras' order, from another file of the same model.
    """

    variables: Mapping[str, WeightRef]
    readers: Mapping[str, tuple[str, ...]] | None = None
    trainable: frozenset[str] | None = None
    known_orders: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class ModelFile:
    """A Keras HDF5 file as it is, or as it is to be.

    Parameters
    ----------
    source : str
        Path of the file that holds the weights.
    form : str
        "model" (config and weights) or "weights".
    keras_version, backend : str or None
        As the file has them; Keras 1 wrote no backend.
    topology : Topology or None
        None where the file has no config.
    weights : tuple of LayerWeights
        One for each saved layer, in order.
    training_config : JSON value
        None where the model was not compiled.
    optimizer : Optimizer or None
    attributes_from : str or None
        HDF5 path of the object whose `keras_version` and `backend` are carried over; None where the source is no
        HDF5 file, and both are written as tf.keras writes them.
    own_weights : LayerWeights or None
        Weights of the model itself, beside its layers': a group that tf.keras has from 2.6 on.
    fixed_names : bool
        Whether lists of names are fixed-length texts, as h5py 2 wrote them, or variable-length ones.
    training_damage : str
        Why the training state cannot be read, "" where it can (or is not there).
    bare_weights : bool
        Whether the weights' group lacks `keras_version` and `backend`: Keras 1 wrote them at a full file's root only.
    by_path : mapping of tuple of str to LayerWeights
        The weights of layers at every depth, by the names on the way, where the file itself tells them apart.
    objects : TrackedModel, Session or None
        Variables that are tied to no layer's name yet: a checkpoint has no config.
    architecture : JSON value
        The `to_json()` that a checkpoint has beside it.
    warnings, notes : tuple of str
        What the reader has to say.
    container : str
        What kind of file it is: "HDF5", "SavedModel" or "checkpoint".
    """

    source: str
    form: str
    keras_version: str | None
    backend: str | None
    topology: Topology | None
    weights: tuple[LayerWeights, ...]
    training_config: Json = None
    optimizer: Optimizer | None = None
    attributes_from: str | None = "/"
    own_weights: LayerWeights | None = None
    fixed_names: bool = True
    training_damage: str = ""
    bare_weights: bool = False
    by_path: Mapping[tuple[str, ...], LayerWeights] = field(default_factory=dict)
    objects: TrackedModel | Session | None = None
    architecture: Json = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    container: str = "HDF5"

    @property
    def groups(self) -> dict[str, LayerWeights]:
        """The layers' weights by name."""
        return {group.layer: group for group in self.weights}

    @property
    def parameters(self) -> int:
        """Number of weight elements."""
        return sum(element_count(ref.shape) for group in self.weights for ref in group.weights)

    @property
    def size(self) -> int:
        """Bytes of all weights."""
        return sum(ref.size for group in self.weights for ref in group.weights)


def element_count(shape: Iterable[int]) -> int:
    """Number of elements of an array."""
    count = 1
    for length in shape:
        count *= length
    return count


def is_tf_keras(keras_version: str | None) -> bool:
    """Whether tf.keras wrote a file: "2.2.4-tf", or 2.4 and later, which standalone Keras never had."""
    if not keras_version:
        return False
    return keras_version.endswith("-tf") or version_of(keras_version) >= (2, 4)


def has_fixed_names(keras_version: str | None) -> bool:
    """Whether the tf.keras of that version came with h5py 2, whose lists of names are fixed-length texts.

    TensorFlow 2.5 is the first with h5py 3 (its setup.py).
    """
    return version_of(keras_version) < (2, 5)


def empty_own_weights(keras_version: str | None) -> LayerWeights | None:
    """The group of a model's own weights, which tf.keras writes from 2.6 on, there being none; None before that."""
    return LayerWeights(OWN_WEIGHTS, ()) if version_of(keras_version) >= (2, 6) else None


def version_of(keras_version: str | None) -> tuple[int, int]:
    """(major, minor) of a version text; (0, 0) where there is none."""
    numbers = (keras_version or "").split("-")[0].split(".")
    if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        return (0, 0)
    return int(numbers[0]), int(numbers[1])


def saved_layers(topology: Topology, keras_version: str | None) -> tuple[Layer, ...]:
    """The layers that get a group in the file.

    A Sequential's InputLayer has none from Keras 2.2 on, where `Sequential.layers` leaves it out; nor has
    an operation of Keras 3, which is listed among the layers without being one.
    """
    skip_input = topology.sequential and version_of(keras_version) >= (2, 2)
    return tuple(
        layer
        for layer in topology.layers
        if not (skip_input and layer.class_name == "InputLayer") and not is_operation(layer)
    )


def is_operation(layer: Layer) -> bool:
    """Whether a layer of a Keras 3 file is an operation: `.keras` names its module, `.h5` only its arguments.

    A layer's config, a custom one's too, has `trainable` and `dtype` from its base class.
    """
    entry = layer.entry if isinstance(layer.entry, dict) else {}
    module = entry.get("module")
    if isinstance(module, str):
        return ".ops." in module
    nodes = entry.get("inbound_nodes")
    keras3 = isinstance(nodes, list) and bool(nodes) and isinstance(nodes[0], dict) and "args" in nodes[0]
    return keras3 and isinstance(layer.config, dict) and not {"trainable", "dtype", "layers"} & set(layer.config)
