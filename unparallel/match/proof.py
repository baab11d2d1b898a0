"""The walk back from one merge, which proves that the replicas are one template."""

from __future__ import annotations

from typing import Sequence

from .. import slices
from ..graph import CallKey, call_of
from ..keras_config import shape_of_input
from ..model import Json, Layer, TensorKey
from .facts import GraphFacts
from .values import Merge, Slice, Tensors


class Disproof(Exception):
    """The proof failed: the reason, and whether slices that nobody can follow were all that was in the way."""

    def __init__(self, reason: str, trust: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.trust = trust


class Proof:
    """What one walk back from a merge has established.

    Attributes
    ----------
    slices : dict of TensorKey to Slice
    towers : dict
        For each call of the template, the N calls of it.
    seen : set of tuple of TensorKey
        What was shown to be the N tensors of one of the template.
    """

    def __init__(self, facts: GraphFacts, merge: Merge, trust_slices: bool) -> None:
        self.facts = facts
        self.merge = merge
        self.trust_slices = trust_slices
        self.slices: dict[TensorKey, Slice] = {}
        self.towers: dict[tuple[CallKey, ...], None] = {}
        self.seen: set[Tensors] = set()

    def walk(self, proven: set[Tensors]) -> None:
        """Walk back in lockstep, as far as what other walks have `proven`.

        Raises
        ------
        Disproof
            The first thing that does not fit.
        """
        stack = [self.merge.parts]
        while stack:
            tensors = stack.pop()
            if tensors in self.seen:
                continue
            self.seen.add(tensors)
            if self._parts_of_one(tensors):
                continue
            calls = self._same_call(tensors)
            self.towers[calls] = None
            if tensors in proven:  # another merge's walk has been here: what lies behind is known
                continue
            inputs = [call_of(self.facts.graph, call).inputs for call in calls]
            # the stack takes the last first, so that the first input is looked at first
            stack.extend(tuple(column) for column in reversed(list(zip(*inputs))))
        if self.merge.kind == "mean":
            self._check_mean(self.merge)

    def _parts_of_one(self, tensors: Tensors) -> bool:
        """Whether the tensors are the N parts of one batch; then they are recorded as slices."""
        values = [self.facts.values.get(key) for key in tensors]
        rows = [value for value in values if isinstance(value, slices.Rows)]
        if len(rows) == len(tensors) and len({value.source for value in rows}) == 1:
            reason = slices.check_partition(rows)
            if reason and self._bound_late(tensors):
                return self._take_on_trust(
                    tensors,
                    f"layers {_names(tensors)}: {reason} (functions made in a loop are all saved with the last part)",
                )
            if reason:
                raise Disproof(f"layers {_names(tensors)}: {reason}")
            for part, (key, value) in enumerate(zip(tensors, rows)):
                self.slices[key] = Slice(key, value.source, part, "code", slices.describe(value))
            return True
        return self._looks_cut(tensors, values)

    def _looks_cut(self, tensors: Tensors, values: Sequence[object]) -> bool:
        """Whether slices that cannot be followed look like the N parts of one batch."""
        pieces = [self.facts.looks_like_slice(key) for key in tensors]
        if pieces != [(part, len(tensors)) for part in range(len(tensors))]:
            return False
        sources = {call_of(self.facts.graph, key[:2]).inputs[0] for key in tensors}
        if len(sources) != 1:
            return False
        if any(isinstance(value, slices.Rows) for value in values):
            raise Disproof(f"layers {_names(tensors)}: some of these slices do something else than the others")
        return self._take_on_trust(tensors, self._unknown_slice(tensors[0], values[0]))

    def _bound_late(self, tensors: Tensors) -> bool:
        """Whether the slices are one function that is told its part by a closure alone, all with the same."""
        layers = [self.facts.topology.layer(key.layer) for key in tensors]
        configs = [_nameless(layer.config) for layer in layers]
        closures = [layer.config.get("function") for layer in layers if not layer.config.get("arguments")]
        closed = [field for field in closures if isinstance(field, list) and len(field) == 3 and field[2]]
        return len(closed) == len(tensors) and all(config == configs[0] for config in configs)

    def _take_on_trust(self, tensors: Tensors, reason: str) -> bool:
        """Record slices that nothing proves, where the user vouches for them; else refuse with the reason."""
        if not self.trust_slices:
            raise Disproof(reason, trust=True)
        source = call_of(self.facts.graph, tensors[0][:2]).inputs[0]
        self._check_input_shapes(tensors, source)
        for part, key in enumerate(tensors):
            self.slices[key] = Slice(key, source, part, "trusted", f"part {part + 1} of {len(tensors)}")
        return True

    def _check_input_shapes(self, tensors: Tensors, source: TensorKey) -> None:
        """A slice of the batch leaves all other axes alone: what reads it wants the shape of what is cut."""
        whole = shape_of_input(self.facts.topology.layer(source.layer))
        for reader in self.facts.graph.successors(tensors[0][:2]):
            model = self.facts.topology.layer(reader[0]).submodel
            inputs = call_of(self.facts.graph, reader).inputs
            if whole is None or model is None or len(model.inputs) != len(inputs):
                continue
            wanted = shape_of_input(model.layer(model.inputs[inputs.index(tensors[0])].layer))
            if wanted is not None and wanted[1:] != whole[1:]:
                raise Disproof(
                    f"{source.layer!r} has the shape {list(whole[1:])}, the model {reader[0]!r} takes "
                    f"{list(wanted[1:])}: layer {tensors[0].layer!r} cuts more than the batch"
                )

    def _unknown_slice(self, key: TensorKey, value: object) -> str:
        detail = ""
        if isinstance(value, slices.Unknown):
            used = ", ".join(value.names[:6])
            detail = ": function {!r}{}; {}".format(value.function, " uses " + used if used else "", value.reason)
        return f"layer {key.layer!r} looks like a slice of the batch, but what it does is not known{detail}"

    def _same_call(self, tensors: Tensors) -> tuple[CallKey, ...]:
        """The N calls that make the tensors, shown to be calls of one layer (or of equal ones)."""
        calls = tuple((key.layer, key.call) for key in tensors)
        if len(set(calls)) == 1:
            raise Disproof(f"{tensors[0].layer!r} goes whole into every replica, uncut")
        if len(set(calls)) != len(calls):
            raise Disproof(f"replicas share a call of layer {tensors[0].layer!r}")
        if len({key.tensor for key in tensors}) != 1:
            raise Disproof(f"the replicas' outputs of {tensors[0].layer!r} are mixed up")
        first = self.facts.topology.layer(tensors[0].layer)
        for key in tensors[1:]:
            self._check_same(first, self.facts.topology.layer(key.layer))
        if first.class_name == "InputLayer":
            raise Disproof(f"the model's input {first.name!r} goes into a replica uncut")
        nodes = [self._shape_of_node(call) for call in calls]
        if any(node != nodes[0] for node in nodes):
            raise Disproof(f"layer {first.name!r} is called with other arguments in other replicas")
        return calls

    def _check_same(self, first: Layer, other: Layer) -> None:
        """Raise unless the two are one layer, or equal ones without weights."""
        if first.name == other.name:
            return
        pair = f"{first.name!r} and {other.name!r}"
        if not (self.facts.weightless(first) and self.facts.weightless(other)):
            raise Disproof(f"replicas use different layers: {pair} do not share weights")
        if first.class_name != other.class_name or _nameless(first.config) != _nameless(other.config):
            raise Disproof(f"replicas differ: {pair} are not the same")

    def _shape_of_node(self, key: CallKey) -> Json:
        """What a call is given, whatever its tensors: number of inputs and arguments."""
        call = call_of(self.facts.graph, key)
        return (len(call.inputs), call.given)

    def _check_mean(self, merge: Merge) -> None:
        """A mean of replicas is the whole only where each result is one number: a loss."""
        for key in merge.parts:
            layer = self.facts.topology.layer(key.layer)
            if layer.submodel is not None:
                inner = layer.submodel.outputs[key.tensor] if key.tensor < len(layer.submodel.outputs) else None
                layer = layer.submodel.layer(inner.layer) if inner else layer
            if not slices.shape_is_scalar(layer, self.facts.context):
                raise Disproof(f"{merge.call[0]!r} averages replicas whose results are not provably single numbers")


def _nameless(config: Json) -> Json:
    """A config without the layer's own name, which separate copies never share."""
    return {key: value for key, value in config.items() if key != "name"} if isinstance(config, dict) else config


def _names(tensors: Tensors) -> str:
    names = list(dict.fromkeys(repr(key.layer) for key in tensors))
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
