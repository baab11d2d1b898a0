"""The immutable values that travel between the rooms, and small pure helpers.

A file that is read and a model that is extracted are the same type, `ModelFile`, so that each step
can be tested alone.  Nothing here knows HDF5, JSON text, networkx or numpy.  JSON values (dict, list,
str, int, float, bool, None) are held as the parser gave them and are never changed in place.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

Json = Any


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
class Call:
    """One application of a layer: one entry of its `inbound_nodes`.

    Parameters
    ----------
    inputs : tuple of TensorKey
        The tensors that the call reads, in the order in which the node lists them.
    node : JSON value
        The node as the file has it (arguments included); references inside it are replaced, in the
        same order, when the node is written again.  None for the implied calls of a Sequential.
    """

    inputs: Tuple[TensorKey, ...]
    node: Json = None


@dataclass(frozen=True)
class Layer:
    """A layer with its calls; `submodel` is set where the layer is itself a model.

    `entry` is the layer's object in the file (`class_name`, `config`, often `name`, `inbound_nodes`).
    """

    name: str
    class_name: str
    config: Json
    calls: Tuple[Call, ...] = ()
    submodel: Optional["Topology"] = None
    entry: Json = None


@dataclass(frozen=True)
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
    layers: Tuple[Layer, ...]
    inputs: Tuple[TensorKey, ...]
    outputs: Tuple[TensorKey, ...]
    config: Json = None
    sequential: bool = False

    def layer(self, name: str) -> Layer:
        """The layer of that name; KeyError where there is none."""
        return self.by_name[name]

    @property
    def by_name(self) -> Dict[str, Layer]:
        """All layers by name (built once a topology)."""
        found = self.__dict__.get("_by_name")
        if found is None:
            found = {layer.name: layer for layer in self.layers}
            object.__setattr__(self, "_by_name", found)
        return found

    def walk(self) -> Iterator[Layer]:
        """All layers at every depth, a model before its own layers."""
        for layer in self.layers:
            yield layer
            if layer.submodel is not None:
                for inner in layer.submodel.walk():
                    yield inner


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
    shape: Tuple[int, ...]
    dtype: str
    size: int = 0


@dataclass(frozen=True)
class LayerWeights:
    """One layer's group: its name and its weights in the order of `weight_names`."""

    layer: str
    weights: Tuple[WeightRef, ...]
