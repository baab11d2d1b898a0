"""What live objects of every Keras have in common, as types: none of their classes may be imported here."""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

if TYPE_CHECKING:  # Python 3.7 has none
    from typing import Protocol
else:
    Protocol = object


class LiveLayer(Protocol):
    """A layer, or an operation of Keras 3.  An operation has no weights."""

    name: str
    trainable: bool
    weights: List[Any]

    def get_weights(self) -> List[Any]:
        """Arrays, in the order of `weights`."""
        ...

    def set_weights(self, weights: List[Any]) -> None:
        """Takes arrays in the order of `weights`."""

    def get_config(self) -> Dict[str, Any]:
        """The settings that make a layer like this one."""
        ...

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The layer's tensors for these."""
        ...


class LiveModel(LiveLayer, Protocol):
    """A model with a graph of layers."""

    layers: List[LiveLayer]
    outputs: Sequence[object]
    trainable_weights: List[object]


class LiveNode(Protocol):
    """A call of a layer, up to Keras 2; which of these are there depends on the version."""

    input_tensors: object
    inbound_layers: object
    node_indices: object
    tensor_indices: object
    call_args: Sequence[object]
    call_kwargs: Dict[str, object]


# Where a tensor comes from: layer, number of the layer's node, place among the node's outputs
History = Tuple[LiveLayer, int, int]
