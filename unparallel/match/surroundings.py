"""Whether a wrapper that is proven inside stands alone in its graph: nothing else reads a part of the batch."""

from __future__ import annotations

from ..graph import CallKey
from ..model import TensorKey
from .facts import GraphFacts
from .values import Match


def why_not_alone(facts: GraphFacts, match: Match) -> str:
    """Why a wrapper that is proven inside does not stand alone in its graph; "" where it does."""
    if not match.towers:
        return f"the parts of {match.slices[0].source.layer!r} are joined again with nothing between"
    if all(merge.kind == "mean" for merge in match.merges):
        return f"{match.merges[0].call[0]!r} averages the replicas: nothing joins the batch again"
    owner: dict[CallKey, tuple[CallKey, ...]] = {}
    for calls in match.towers:
        for call in calls:
            if owner.setdefault(call, calls) != calls:
                return f"replicas share a call of layer {call[0]!r}"
    inside = set(owner) | {merge.call for merge in match.merges}
    for piece in match.slices:
        if piece.tensor[:2] in inside:
            return f"layer {piece.tensor.layer!r} both cuts the batch and computes"
    return _leaks(facts, match, inside)


def _leaks(facts: GraphFacts, match: Match, inside: set[CallKey]) -> str:
    cut = {piece.tensor for piece in match.slices}
    cutters = {key[:2] for key in cut}
    makers = {call for calls in match.towers for call in calls} | cutters
    for maker in sorted(makers, key=lambda node: facts.graph.nodes[node]["order"]):
        for reader in facts.graph.successors(maker):
            if reader in inside:
                continue
            ports = facts.graph.get_edge_data(maker, reader).values()
            tensors = {TensorKey(maker[0], maker[1], edge["tensor"]) for edge in ports}
            if maker not in cutters or tensors & cut:
                return f"layer {reader[0]!r} reads a single replica's {maker[0]!r} before it is merged"
    for key in facts.topology.outputs:
        if key[:2] in makers:
            return f"an output of the model is a single replica's {key.layer!r}, not merged"
    return ""
