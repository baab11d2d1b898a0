"""Finds slices, replicas and merges in one model's graph, and proves that the replicas are one template.

From each merge, the N tensors that it joins are walked back in lockstep.  At every step the N tensors
must come from the same output of the same layer (other calls of it), or from separate layers without
weights that have equal configs; the walk ends where all N are the N parts of one tensor's batch, in order
and complete, each proven by what the slice computes.  Whatever does not fit is the reason that the user
reads.  Names, and the names of classes, are never evidence.

One rule covers a nested template (one call of one model a replica) and inlined towers (the template's
layers themselves called N times).  Time and memory grow with the number of edges.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from . import slices
from .graph import CallKey, call_graph, call_of, in_order
from .keras_config import shape_of_input
from .model import Layer, TensorKey, Topology
from .weights.assignment import is_weightless

Tensors = Tuple[TensorKey, ...]


@dataclass(frozen=True)
class Slice:
    """One part of a tensor's batch.

    Parameters
    ----------
    tensor : TensorKey
        The part.
    source : TensorKey
        The tensor that is cut.
    part : int
        Which part, from 0.
    proof : str
        "code" where the slice's code was followed, "trusted" where the user vouched for it.
    rows : str
        What it takes, in words.
    """

    tensor: TensorKey
    source: TensorKey
    part: int
    proof: str
    rows: str


@dataclass(frozen=True)
class Merge:
    """A call that joins the replicas' results: `kind` is "concatenate" or "mean"."""

    call: CallKey
    kind: str
    parts: Tensors


@dataclass(frozen=True)
class Match:
    """A data-parallel wrapper, proven.

    Parameters
    ----------
    replicas : int
        N.
    slices : tuple of Slice
    merges : tuple of Merge
    towers : tuple of tuple of (layer, call)
        For each call of the template, the N calls of it, part 0 first.
    """

    replicas: int
    slices: Tuple[Slice, ...]
    merges: Tuple[Merge, ...]
    towers: Tuple[Tuple[CallKey, ...], ...]

    @property
    def sources(self) -> Tuple[TensorKey, ...]:
        """The tensors that are cut, each once."""
        return tuple(dict.fromkeys(piece.source for piece in self.slices))


@dataclass(frozen=True)
class NearMiss:
    """Something that looks parallel and is not: the first condition that failed, in the user's words.

    `progress` orders near misses: how far the proof came.
    """

    reason: str
    progress: int
    trust: bool = False


@dataclass(frozen=True)
class SearchResult:
    """What one model's graph holds: wrappers, and what came near."""

    matches: Tuple[Match, ...] = ()
    near_misses: Tuple[NearMiss, ...] = ()


@dataclass
class _Proof:
    """What one walk back from a merge has established."""

    slices: Dict[TensorKey, Slice] = field(default_factory=dict)
    towers: Dict[Tuple[CallKey, ...], None] = field(default_factory=dict)
    seen: Set[Tensors] = field(default_factory=set)


class _Disproof(Exception):
    """The proof failed: the reason, and whether slices that nobody can follow were all that was in the way."""

    def __init__(self, reason: str, trust: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.trust = trust


def find(
    topology: Topology,
    weightless: Callable[[Layer], bool] = is_weightless,
    trust_slices: bool = False,
    context: Optional[slices.Context] = None,
    outermost: bool = False,
) -> SearchResult:
    """Find the data-parallel wrappers among a model's own layers (not inside its nested models).

    Parameters
    ----------
    topology : Topology
    weightless : callable
        Whether a layer has no weights (from the file where it tells, else from the table of classes).
    trust_slices : bool
        Take layers that look like slices and cannot be followed for what they look like.
    context : slices.Context, optional
        Shared by all models of one file.
    outermost : bool
        Whether no other model calls this one, perhaps on larger samples: then the shapes of its InputLayers are
        those that its slices see.

    Returns
    -------
    SearchResult
    """
    if topology.sequential:
        return SearchResult()
    return _Search(topology, weightless, trust_slices, context or slices.Context(), outermost).run()


class _Search:
    """One model's graph under examination."""

    def __init__(
        self,
        topology: Topology,
        weightless: Callable[[Layer], bool],
        trust_slices: bool,
        context: slices.Context,
        outermost: bool,
    ) -> None:
        self.context = context
        self.shapes = _input_shapes(topology) if outermost else {}
        self.topology = topology
        self.weightless = weightless
        self.trust_slices = trust_slices
        self.graph = call_graph(topology)
        self.order = in_order(self.graph)
        self.values = self._evaluate()
        self.cut = [key for key in self._first_outputs() if self._is_slice_like(key)] or self._whole_copies()
        self.downstream = self._reached_from({key[:2] for key in self.cut})
        self.proven: Set[Tensors] = set()

    def _first_outputs(self) -> List[TensorKey]:
        return [TensorKey(name, number, 0) for name, number in self.order]

    def _reached_from(self, starts: Set[CallKey]) -> Set[CallKey]:
        """The calls that depend on any of `starts`, those themselves included."""
        reached = set(starts)
        for node in self.order:
            if node not in reached and any(before in reached for before in self.graph.predecessors(node)):
                reached.add(node)
        return reached

    def _evaluate(self) -> Dict[TensorKey, Any]:
        """What is known of each tensor that a slice, a merge or a helper of theirs makes."""
        values: Dict[TensorKey, Any] = {}
        for name, number in self.order:
            layer = self.topology.layer(name)
            if not slices.is_helper(layer):
                continue
            call = layer.calls[number]
            inputs = [values.get(key, slices.Tensor(key, self.shapes.get(key))) for key in call.inputs]
            for i, value in enumerate(slices.evaluate(layer, call, inputs, self.context)):
                values[TensorKey(name, number, i)] = value
        return values

    def run(self) -> SearchResult:
        """Prove what can be proven; keep the reasons for what cannot."""
        proofs: List[Tuple[Merge, _Proof]] = []
        near: List[NearMiss] = []
        for merge in self._merges():
            sliced = sum(1 for key in merge.parts if key[:2] in self.downstream)
            if not sliced:
                continue
            proof = _Proof()
            try:
                self._prove(merge, proof)
                proofs.append((merge, proof))
                self.proven.update(proof.seen)
            except _Disproof as failed:
                progress = 2 * len(proof.towers) + len(proof.slices) + sliced
                near.append(NearMiss(failed.reason, progress, failed.trust))
        matches: List[Match] = []
        for group in _groups(proofs):
            match = _as_match(group)
            reason = self._why_not(match)
            if reason:
                near.append(NearMiss(reason, 1000 + len(match.towers)))
            else:
                matches.append(match)
        if not matches:
            single = self._one_replica()
            matches = [single] if single else []
        if not matches and not near:
            near = self._unjoined_slices()
        return SearchResult(tuple(matches), tuple(sorted(near, key=lambda miss: -miss.progress)))

    # -- merges

    def _merges(self) -> List[Merge]:
        """All calls that join two or more tensors along the batch, or average them."""
        found = []
        for name, number in self.order:
            layer = self.topology.layer(name)
            parts = layer.calls[number].inputs
            if len(parts) < 2 or not slices.is_helper(layer):
                continue
            # what flows in does not matter here, only that it is joined as it is and in this order
            tensors = [slices.Tensor(key) for key in parts]
            (value, *_) = slices.evaluate(layer, layer.calls[number], tensors, self.context)
            if isinstance(value, (slices.Joined, slices.Mean)) and _keys(value.parts) == parts:
                kind = "mean" if isinstance(value, slices.Mean) else "concatenate"
                found.append(Merge((name, number), kind, parts))
        return found

    # -- the walk

    def _prove(self, merge: Merge, proof: _Proof) -> None:
        """Walk back from a merge in lockstep; raise _Disproof with the first thing that does not fit."""
        stack = [merge.parts]
        while stack:
            tensors = stack.pop()
            if tensors in proof.seen:
                continue
            proof.seen.add(tensors)
            if self._parts_of_one(tensors, proof):
                continue
            calls = self._same_call(tensors)
            proof.towers[calls] = None
            if tensors in self.proven:  # another merge's walk has been here: what lies behind is known
                continue
            inputs = [call_of(self.graph, call).inputs for call in calls]
            # the stack takes the last first, so that the first input is looked at first
            stack.extend(tuple(column) for column in reversed(list(zip(*inputs))))
        if merge.kind == "mean":
            self._check_mean(merge)

    def _parts_of_one(self, tensors: Tensors, proof: _Proof) -> bool:
        """Whether the tensors are the N parts of one batch; then they are recorded as slices."""
        values = [self.values.get(key) for key in tensors]
        rows = [value for value in values if isinstance(value, slices.Rows)]
        if len(rows) == len(tensors) and len({value.source for value in rows}) == 1:
            reason = slices.check_partition(rows)
            if reason and self._bound_late(tensors):
                return self._take_on_trust(
                    tensors,
                    proof,
                    f"layers {_names(tensors)}: {reason} (functions made in a loop are all saved with the last part)",
                )
            if reason:
                raise _Disproof(f"layers {_names(tensors)}: {reason}")
            for part, (key, value) in enumerate(zip(tensors, rows)):
                proof.slices[key] = Slice(key, value.source, part, "code", slices.describe(value))
            return True
        return self._looks_cut(tensors, values, proof)

    def _looks_cut(self, tensors: Tensors, values: Sequence[Any], proof: _Proof) -> bool:
        """Whether slices that cannot be followed look like the N parts of one batch."""
        pieces = [self._looks_like_slice(key) for key in tensors]
        if pieces != [(part, len(tensors)) for part in range(len(tensors))]:
            return False
        sources = {call_of(self.graph, key[:2]).inputs[0] for key in tensors}
        if len(sources) != 1:
            return False
        if any(isinstance(value, slices.Rows) for value in values):
            raise _Disproof(f"layers {_names(tensors)}: some of these slices do something else than the others")
        return self._take_on_trust(tensors, proof, self._unknown_slice(tensors[0], values[0]))

    def _bound_late(self, tensors: Tensors) -> bool:
        """Whether the slices are one function that is told its part by a closure alone, all with the same."""
        layers = [self.topology.layer(key.layer) for key in tensors]
        configs = [_nameless(layer.config) for layer in layers]
        closures = [layer.config.get("function") for layer in layers if not layer.config.get("arguments")]
        closed = [field for field in closures if isinstance(field, list) and len(field) == 3 and field[2]]
        return len(closed) == len(tensors) and all(config == configs[0] for config in configs)

    def _take_on_trust(self, tensors: Tensors, proof: _Proof, reason: str) -> bool:
        """Record slices that nothing proves, where the user vouches for them; else refuse with the reason."""
        if not self.trust_slices:
            raise _Disproof(reason, trust=True)
        source = call_of(self.graph, tensors[0][:2]).inputs[0]
        self._check_input_shapes(tensors, source)
        for part, key in enumerate(tensors):
            proof.slices[key] = Slice(key, source, part, "trusted", f"part {part + 1} of {len(tensors)}")
        return True

    def _check_input_shapes(self, tensors: Tensors, source: TensorKey) -> None:
        """A slice of the batch leaves all other axes alone: what reads it wants the shape of what is cut."""
        whole = shape_of_input(self.topology.layer(source.layer))
        for reader in self.graph.successors(tensors[0][:2]):
            model = self.topology.layer(reader[0]).submodel
            inputs = call_of(self.graph, reader).inputs
            if whole is None or model is None or len(model.inputs) != len(inputs):
                continue
            wanted = shape_of_input(model.layer(model.inputs[inputs.index(tensors[0])].layer))
            if wanted is not None and wanted[1:] != whole[1:]:
                raise _Disproof(
                    f"{source.layer!r} has the shape {list(whole[1:])}, the model {reader[0]!r} takes "
                    f"{list(wanted[1:])}: layer {tensors[0].layer!r} cuts more than the batch"
                )

    def _looks_like_slice(self, key: TensorKey) -> Optional[Tuple[int, int]]:
        layer = self.topology.layer(key.layer)
        if layer.submodel is not None or len(call_of(self.graph, key[:2]).inputs) != 1 or not self.weightless(layer):
            return None
        return slices.looks_like_slice(layer, layer.calls[key.call])

    def _unknown_slice(self, key: TensorKey, value: Any) -> str:
        detail = ""
        if isinstance(value, slices.Unknown):
            used = ", ".join(value.names[:6])
            detail = ": function {!r}{}; {}".format(value.function, " uses " + used if used else "", value.reason)
        return f"layer {key.layer!r} looks like a slice of the batch, but what it does is not known{detail}"

    def _same_call(self, tensors: Tensors) -> Tuple[CallKey, ...]:
        """The N calls that make the tensors, shown to be calls of one layer (or of equal ones)."""
        calls = tuple((key.layer, key.call) for key in tensors)
        if len(set(calls)) == 1:
            raise _Disproof(f"{tensors[0].layer!r} goes whole into every replica, uncut")
        if len(set(calls)) != len(calls):
            raise _Disproof(f"replicas share a call of layer {tensors[0].layer!r}")
        if len({key.tensor for key in tensors}) != 1:
            raise _Disproof(f"the replicas' outputs of {tensors[0].layer!r} are mixed up")
        first = self.topology.layer(tensors[0].layer)
        for key in tensors[1:]:
            self._check_same(first, self.topology.layer(key.layer))
        if first.class_name == "InputLayer":
            raise _Disproof(f"the model's input {first.name!r} goes into a replica uncut")
        nodes = [self._shape_of_node(call) for call in calls]
        if any(node != nodes[0] for node in nodes):
            raise _Disproof(f"layer {first.name!r} is called with other arguments in other replicas")
        return calls

    def _check_same(self, first: Layer, other: Layer) -> None:
        """Raise unless the two are one layer, or equal ones without weights."""
        if first.name == other.name:
            return
        pair = f"{first.name!r} and {other.name!r}"
        if not (self.weightless(first) and self.weightless(other)):
            raise _Disproof(f"replicas use different layers: {pair} do not share weights")
        if first.class_name != other.class_name or _nameless(first.config) != _nameless(other.config):
            raise _Disproof(f"replicas differ: {pair} are not the same")

    def _shape_of_node(self, key: CallKey) -> Any:
        """What a call is given, whatever its tensors: number of inputs and arguments."""
        call = call_of(self.graph, key)
        return (len(call.inputs), call.given)

    def _check_mean(self, merge: Merge) -> None:
        """A mean of replicas is the whole only where each result is one number: a loss."""
        for key in merge.parts:
            layer = self.topology.layer(key.layer)
            if layer.submodel is not None:
                inner = layer.submodel.outputs[key.tensor] if key.tensor < len(layer.submodel.outputs) else None
                layer = layer.submodel.layer(inner.layer) if inner else layer
            if not slices.shape_is_scalar(layer, self.context):
                raise _Disproof(f"{merge.call[0]!r} averages replicas whose results are not provably single numbers")

    # -- what is around it

    def _why_not(self, match: Match) -> str:
        """Why a wrapper that is proven inside does not stand alone in its graph; "" where it does."""
        if not match.towers:
            return f"the parts of {match.slices[0].source.layer!r} are joined again with nothing between"
        if all(merge.kind == "mean" for merge in match.merges):
            return f"{match.merges[0].call[0]!r} averages the replicas: nothing joins the batch again"
        owner: Dict[CallKey, Tuple[CallKey, ...]] = {}
        for calls in match.towers:
            for call in calls:
                if owner.setdefault(call, calls) != calls:
                    return f"replicas share a call of layer {call[0]!r}"
        inside = set(owner) | {merge.call for merge in match.merges}
        for piece in match.slices:
            if piece.tensor[:2] in inside:
                return f"layer {piece.tensor.layer!r} both cuts the batch and computes"
        return self._leaks(match, inside)

    def _leaks(self, match: Match, inside: Set[CallKey]) -> str:
        cut = {piece.tensor for piece in match.slices}
        cutters = {key[:2] for key in cut}
        makers = {call for calls in match.towers for call in calls} | cutters
        for maker in sorted(makers, key=lambda node: self.graph.nodes[node]["order"]):
            for reader in self.graph.successors(maker):
                if reader in inside:
                    continue
                ports = self.graph.get_edge_data(maker, reader).values()
                tensors = {TensorKey(maker[0], maker[1], edge["tensor"]) for edge in ports}
                if maker not in cutters or tensors & cut:
                    return f"layer {reader[0]!r} reads a single replica's {maker[0]!r} before it is merged"
        for key in self.topology.outputs:
            if key[:2] in makers:
                return f"an output of the model is a single replica's {key.layer!r}, not merged"
        return ""

    # -- one GPU

    def _one_replica(self) -> Optional[Match]:
        """A wrapper for one GPU: every input goes through one slice that provably takes it whole."""
        pieces: List[Slice] = []
        for key in self.topology.inputs:
            readers = list(self.graph.successors(key[:2]))
            if len(readers) != 1:
                return None
            tensor = TensorKey(readers[0][0], readers[0][1], 0)
            value = self.values.get(tensor)
            if not isinstance(value, slices.Rows) or slices.check_partition([value]):
                return None
            if self._looks_like_slice(tensor) != (0, 1):
                return None
            pieces.append(Slice(tensor, key, 0, "code", slices.describe(value)))
        inside = {piece.tensor[:2] for piece in pieces}
        if not pieces or any(key[:2] in inside for key in self.topology.outputs):
            return None
        import networkx as nx

        towers = tuple((node,) for node in nx.descendants(self.graph, pieces[0].tensor[:2]))
        return Match(1, tuple(pieces), (), tuple(sorted(towers)))

    # -- near misses without a merge

    def _is_slice_like(self, key: TensorKey) -> bool:
        value = self.values.get(key)
        if isinstance(value, slices.Rows):
            return bool(slices.check_partition([value]))
        piece = self._looks_like_slice(key)
        return piece is not None and piece[1] > 1

    def _whole_copies(self) -> List[TensorKey]:
        """Lambdas that hand one batch on whole, two or more of them: replicas that all see everything."""
        whole = [key for key in self._first_outputs() if isinstance(self.values.get(key), slices.Rows)]
        sources = [self.values[key].source for key in whole]
        count = Counter(sources)
        return [key for key, source in zip(whole, sources) if count[source] > 1]

    def _unjoined_slices(self) -> List[NearMiss]:
        """Slices that no merge answers to: a wrapper whose other replicas are not in the file."""
        for key in self.cut:
            value = self.values.get(key)
            what = slices.describe(value) if isinstance(value, slices.Rows) else "what looks like a part of the batch"
            return [NearMiss(f"layer {key.layer!r} takes {what}, and nothing joins the parts again", 0)]
        return []


def _input_shapes(topology: Topology) -> Dict[TensorKey, slices.Shape]:
    """The shapes of the tensors that come from InputLayers, where the file has them."""
    found: Dict[TensorKey, slices.Shape] = {}
    for layer in topology.layers:
        shape = shape_of_input(layer) if layer.class_name == "InputLayer" else None
        if shape and all(length is None or type(length) is int and length > 0 for length in shape):
            found[TensorKey(layer.name, 0, 0)] = shape
    return found


def _keys(values: Sequence[Any]) -> Tuple[Any, ...]:
    return tuple(getattr(value, "key", None) for value in values)


def _groups(proofs: Sequence[Tuple[Merge, _Proof]]) -> List[List[Tuple[Merge, _Proof]]]:
    """Merges of one wrapper together: those that share a slice, a call or a cut tensor, and N."""
    import networkx as nx

    links = nx.Graph()
    for i, (merge, proof) in enumerate(proofs):
        links.add_node(("merge", i))
        for item in list(proof.towers) + [piece.source for piece in proof.slices.values()]:
            links.add_edge(("merge", i), ("item", len(merge.parts), item))
    parts = nx.connected_components(links)
    found = sorted(sorted(number for kind, number, *_ in part if kind == "merge") for part in parts)
    return [[proofs[number] for number in numbers] for numbers in found]


def _as_match(group: Sequence[Tuple[Merge, _Proof]]) -> Match:
    slices: Dict[TensorKey, Slice] = {}
    towers: Dict[Tuple[CallKey, ...], None] = {}
    for _, proof in group:
        slices.update(proof.slices)
        towers.update(proof.towers)
    merges = tuple(merge for merge, _ in group)
    return Match(len(merges[0].parts), tuple(slices.values()), merges, tuple(towers))


def _nameless(config: Any) -> Any:
    """A config without the layer's own name, which separate copies never share."""
    return {key: value for key, value in config.items() if key != "name"} if isinstance(config, dict) else config


def _names(tensors: Tensors) -> str:
    names = list(dict.fromkeys(repr(key.layer) for key in tensors))
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
