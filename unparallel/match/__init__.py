"""Finds slices, replicas and merges in one model's graph, and proves that the replicas are one template.

From each merge, the N tensors that it joins are walked back in lockstep.  At every step the N tensors
must come from the same output of the same layer (other calls of it), or from separate layers without
weights that have equal configs; the walk ends where all N are the N parts of one tensor's batch, in order
and complete, each proven by what the slice computes.  Whatever does not fit is the reason that the user
reads.  Names, and the names of classes, are never evidence.

One rule covers a nested template (one call of one model a replica) and inlined towers (the template's
layers themselves called N times).  Time and memory grow with the number of edges.
"""

from __future__ import annotations

from typing import Callable, Sequence

from .. import slices
from ..graph import CallKey
from ..model import Layer, TensorKey, Topology
from ..weights.assignment import is_weightless
from .facts import GraphFacts
from .near_misses import downstream, slice_like, unjoined
from .proof import Disproof, Proof
from .surroundings import why_not_alone
from .values import Match, Merge, NearMiss, SearchResult, Slice, Tensors

__all__ = ["Match", "Merge", "NearMiss", "SearchResult", "Slice", "find"]


def find(
    topology: Topology,
    weightless: Callable[[Layer], bool] = is_weightless,
    trust_slices: bool = False,
    context: slices.Context | None = None,
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
    facts = GraphFacts(topology, weightless, context or slices.Context(), outermost)
    cut = slice_like(facts)
    proofs, near = _walks(facts, downstream(facts, cut), trust_slices)
    matches: list[Match] = []
    for group in _groups(proofs):
        match = _as_match(group)
        reason = why_not_alone(facts, match)
        if reason:
            near.append(NearMiss(reason, 1000 + len(match.towers)))
        else:
            matches.append(match)
    if not matches:
        single = _one_replica(facts)
        matches = [single] if single else []
    if not matches and not near:
        near = unjoined(facts, cut)
    return SearchResult(tuple(matches), tuple(sorted(near, key=lambda miss: -miss.progress)))


def _walks(facts: GraphFacts, sliced: set[CallKey], trust_slices: bool) -> tuple[list[Proof], list[NearMiss]]:
    """What can be proven of each merge of what was sliced, and the reasons for what cannot."""
    proofs: list[Proof] = []
    near: list[NearMiss] = []
    proven: set[Tensors] = set()
    for merge in _merges(facts):
        parts = sum(1 for key in merge.parts if key[:2] in sliced)
        if not parts:
            continue
        proof = Proof(facts, merge, trust_slices)
        try:
            proof.walk(proven)
        except Disproof as failed:
            progress = 2 * len(proof.towers) + len(proof.slices) + parts
            near.append(NearMiss(failed.reason, progress, failed.trust))
        else:
            proofs.append(proof)
            proven.update(proof.seen)
    return proofs, near


def _merges(facts: GraphFacts) -> list[Merge]:
    """All calls that join two or more tensors along the batch, or average them."""
    found = []
    for name, number in facts.order:
        layer = facts.topology.layer(name)
        parts = layer.calls[number].inputs
        if len(parts) < 2 or not slices.is_helper(layer):
            continue
        # what flows in does not matter here, only that it is joined as it is and in this order
        tensors = [slices.Tensor(key) for key in parts]
        (value, *_) = slices.evaluate(layer, layer.calls[number], tensors, facts.context)
        if isinstance(value, (slices.Joined, slices.Mean)) and _keys(value.parts) == parts:
            kind = "mean" if isinstance(value, slices.Mean) else "concatenate"
            found.append(Merge((name, number), kind, parts))
    return found


def _groups(proofs: Sequence[Proof]) -> list[list[Proof]]:
    """Merges of one wrapper together: those that share a slice, a call or a cut tensor, and N."""
    import networkx as nx

    links = nx.Graph()
    for i, proof in enumerate(proofs):
        links.add_node(("merge", i))
        for item in list(proof.towers) + [piece.source for piece in proof.slices.values()]:
            links.add_edge(("merge", i), ("item", len(proof.merge.parts), item))
    parts = nx.connected_components(links)
    found = sorted(sorted(number for kind, number, *_ in part if kind == "merge") for part in parts)
    return [[proofs[number] for number in numbers] for numbers in found]


def _as_match(group: Sequence[Proof]) -> Match:
    pieces: dict[TensorKey, Slice] = {}
    towers: dict[tuple[CallKey, ...], None] = {}
    for proof in group:
        pieces.update(proof.slices)
        towers.update(proof.towers)
    merges = tuple(proof.merge for proof in group)
    return Match(len(merges[0].parts), tuple(pieces.values()), merges, tuple(towers))


def _one_replica(facts: GraphFacts) -> Match | None:
    """A wrapper for one GPU: every input goes through one slice that provably takes it whole."""
    pieces: list[Slice] = []
    for key in facts.topology.inputs:
        readers = list(facts.graph.successors(key[:2]))
        if len(readers) != 1:
            return None
        tensor = TensorKey(readers[0][0], readers[0][1], 0)
        value = facts.values.get(tensor)
        if not isinstance(value, slices.Rows) or slices.check_partition([value]):
            return None
        if facts.looks_like_slice(tensor) != (0, 1):
            return None
        pieces.append(Slice(tensor, key, 0, "code", slices.describe(value)))
    inside = {piece.tensor[:2] for piece in pieces}
    if not pieces or any(key[:2] in inside for key in facts.topology.outputs):
        return None
    import networkx as nx

    towers = tuple((node,) for node in nx.descendants(facts.graph, pieces[0].tensor[:2]))
    return Match(1, tuple(pieces), (), tuple(sorted(towers)))


def _keys(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(getattr(value, "key", None) for value in values)
