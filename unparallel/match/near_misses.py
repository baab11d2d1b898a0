"""What looks like a slice and belongs to no wrapper: where a search may begin, and what it says when it finds none."""

from __future__ import annotations

from collections import Counter

from .. import slices
from ..graph import CallKey, call_of
from ..model import TensorKey
from .facts import GraphFacts
from .values import NearMiss


def slice_like(facts: GraphFacts) -> list[TensorKey]:
    """The tensors that are parts of a batch or look so; else those that hand a batch on whole, if there are several."""
    company = _company(facts)
    return [key for key in facts.first_outputs if _is_slice_like(facts, key, company)] or _whole_copies(facts)


def downstream(facts: GraphFacts, cut: list[TensorKey]) -> set[CallKey]:
    """The calls that depend on any of the tensors, those that make them included."""
    reached = {key[:2] for key in cut}
    for node in facts.order:
        if node not in reached and any(before in reached for before in facts.graph.predecessors(node)):
            reached.add(node)
    return reached


def unjoined(facts: GraphFacts, cut: list[TensorKey]) -> list[NearMiss]:
    """Slices that no merge answers to: a wrapper whose other replicas are not in the file."""
    for key in cut:
        value = facts.values.get(key)
        what = slices.describe(value) if isinstance(value, slices.Rows) else "what looks like a part of the batch"
        return [NearMiss(f"layer {key.layer!r} takes {what}, and {_joined_otherwise(facts, cut)}", 0)]
    return []


def _joined_otherwise(facts: GraphFacts, cut: list[TensorKey]) -> str:
    """What becomes of parts that are not joined along the batch: the first layer in which they come together."""
    reached = downstream(facts, cut)
    for name, number in facts.order:
        layer = facts.topology.layer(name)
        parts = [key for key in dict.fromkeys(layer.calls[number].inputs) if key[:2] in reached]
        if len(parts) > 1:
            axis = layer.config.get("axis") if isinstance(layer.config, dict) else None
            along = f"joins them along axis {axis}" if isinstance(axis, int) and axis != 0 else "takes them together"
            return f"{name!r} {along}, not along the batch"
    return "nothing joins the parts again"


def _is_slice_like(facts: GraphFacts, key: TensorKey, company: set[TensorKey]) -> bool:
    value = facts.values.get(key)
    if isinstance(value, slices.Rows):
        return bool(slices.check_partition([value]))
    return key in company


def _company(facts: GraphFacts) -> set[TensorKey]:
    """The tensors that look like one part of N, where another one of N of the same tensor is there as well.

    Alone, two numbers say nothing: `Lambda(resize, arguments={"height": 7, "width": 9})` is no seventh of nine.  The
    other may be the same part: functions that were made in a loop are all saved with the last one.
    """
    found: dict[tuple[TensorKey, int], list[TensorKey]] = {}
    for key in facts.first_outputs:
        piece = facts.looks_like_slice(key)
        if piece is not None and piece[1] > 1:
            source = call_of(facts.graph, key[:2]).inputs[0]
            found.setdefault((source, piece[1]), []).append(key)
    return {key for keys in found.values() if len(keys) > 1 for key in keys}


def _whole_copies(facts: GraphFacts) -> list[TensorKey]:
    """Lambdas that hand one batch on whole, two or more of them: replicas that all see everything."""
    whole = [(key, facts.values.get(key)) for key in facts.first_outputs]
    sources = [(key, value.source) for key, value in whole if isinstance(value, slices.Rows)]
    count = Counter(source for _, source in sources)
    return [key for key, source in sources if count[source] > 1]
