"""One model's graph of calls, and what is known of the tensors that slices and merges make."""

from __future__ import annotations

from typing import Callable

from .. import slices
from ..graph import call_graph, in_order
from ..keras_config import shape_of_input
from ..model import Layer, TensorKey, Topology


class GraphFacts:
    """One model's graph under examination.

    Parameters
    ----------
    topology : Topology
    weightless : callable
        Whether a layer has no weights.
    context : slices.Context
        Shared by all models of one file.
    outermost : bool
        Whether the shapes of its InputLayers are those that its slices see.

    Attributes
    ----------
    graph : networkx.MultiDiGraph
    order : list of (layer, call)
        Each after those that it reads.
    values : dict of TensorKey to object
        What a slice, a merge or a helper of theirs makes, as far as it was followed.
    """

    def __init__(
        self,
        topology: Topology,
        weightless: Callable[[Layer], bool],
        context: slices.Context,
        outermost: bool,
    ) -> None:
        self.topology = topology
        self.weightless = weightless
        self.context = context
        self.graph = call_graph(topology)
        self.order = in_order(self.graph)
        self.values = self._evaluated(_input_shapes(topology) if outermost else {})

    def _evaluated(self, shapes: dict[TensorKey, slices.Shape]) -> dict[TensorKey, object]:
        """What is known of each tensor that a slice, a merge or a helper of theirs makes."""
        values: dict[TensorKey, object] = {}
        for name, number in self.order:
            layer = self.topology.layer(name)
            if not slices.is_helper(layer):
                continue
            call = layer.calls[number]
            inputs = [values.get(key, slices.Tensor(key, shapes.get(key))) for key in call.inputs]
            for i, value in enumerate(slices.evaluate(layer, call, inputs, self.context)):
                values[TensorKey(name, number, i)] = value
        return values

    @property
    def first_outputs(self) -> list[TensorKey]:
        """The first output of each call."""
        return [TensorKey(name, number, 0) for name, number in self.order]

    def looks_like_slice(self, key: TensorKey) -> tuple[int, int] | None:
        """(which part, of how many) where a tensor looks like a slice; names of arguments are no proof."""
        layer = self.topology.layer(key.layer)
        piece = slices.looks_like_slice(layer, layer.calls[key.call])
        return piece if piece is not None and self.weightless(layer) else None


def _input_shapes(topology: Topology) -> dict[TensorKey, slices.Shape]:
    """The shapes of the tensors that come from InputLayers, where the file has them."""
    found: dict[TensorKey, slices.Shape] = {}
    for layer in topology.layers:
        shape = shape_of_input(layer) if layer.class_name == "InputLayer" else None
        if shape and all(length is None or type(length) is int and length > 0 for length in shape):
            found[TensorKey(layer.name, 0, 0)] = shape
    return found
