"""A plan, or a file that stays as it is -> a `Picture`: what is cut, what is kept, which rows each slice takes.

The wrapper's parts come from the very proof by which it is undone; nothing is guessed from names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence

from .. import match
from ..extract import clean
from ..graph import CallKey, call_graph, in_order
from ..model import Layer, Topology
from ..weights.assignment import is_weightless
from . import folding
from .folding import Node
from .subject import Subject
from .values import CUT, DOUBT, INPUT, KEPT, TEMPLATE, Panel, Picture, Section

if TYPE_CHECKING:
    import networkx as nx

# So many replicas are drawn one by one; of more, the first two and the last.
MOST_TOWERS = 4
MOST_SECTIONS = 4


class _Level(NamedTuple):
    """One model's graph with the wrappers that stand in it, and what becomes of it."""

    path: tuple[str, ...]
    before: Topology
    after: Topology
    matches: tuple[match.Match, ...]


def picture_of(subject: Subject) -> Picture:
    """The picture of a file."""
    levels = _levels(subject)
    if not levels:
        title = f"in the file: {_model_name(subject.topology)}"
        whole = _plain_panel(subject.topology, title, subject.reason)
        return Picture(subject.title, (Section("", whole),), (subject.reason,) if subject.reason else ())
    sections = tuple(_section(level) for level in levels[:MOST_SECTIONS])
    proof = [line for level in levels for line in _proof(level)]
    if len(levels) > MOST_SECTIONS:
        proof.append(f"and {len(levels) - MOST_SECTIONS} more models with a wrapper in them")
    return Picture(subject.title, sections, tuple(dict.fromkeys(proof)))


def _levels(subject: Subject) -> list[_Level]:
    """Every model in which a wrapper stands, the outermost first."""
    seen: dict[tuple[str, ...], tuple[Topology, match.SearchResult]] = {}

    def find(model: Topology, path: tuple[str, ...]) -> match.SearchResult:
        def weightless(layer: Layer) -> bool:
            return (not path and layer.name in subject.weightless) or is_weightless(layer)

        found = match.find(model, weightless, subject.trust_slices)
        seen[path] = (model, found)
        return found

    cleaned = clean(subject.topology, find)
    results: dict[tuple[str, ...], Topology] = {(): cleaned.topology}
    levels = []
    for path in sorted(seen, key=len):
        model, found = seen[path]
        if path:
            # the model around it has the clean one in the same place, perhaps under another name
            around = _original(subject.topology, path[:-1])
            place = [layer.name for layer in around.layers].index(path[-1])
            results[path] = seen[path[:-1]][0].layers[place].submodel or model
        if found.matches:
            levels.append(_Level(path, model, results[path], found.matches))
    return levels


def _original(topology: Topology, path: tuple[str, ...]) -> Topology:
    for name in path:
        inner = topology.layer(name).submodel
        assert inner is not None
        topology = inner
    return topology


def _model_name(topology: Topology) -> str:
    return f"model {topology.name!r}" if topology.name else "a model"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# -- words of the proof


def _proof(level: _Level) -> list[str]:
    lines = []
    for found in level.matches:
        trusted = any(piece.proof == "trusted" for piece in found.slices)
        rows = list(dict.fromkeys(piece.rows for piece in found.slices))
        if trusted:
            lines.append("the slices were accepted on your word (--trust-slices): their code is not known")
        elif found.replicas == 1:
            lines.append(f"one GPU: the slice takes {rows[0]}, which is the whole batch")
        else:
            shown = "; ".join(rows if len(rows) <= MOST_TOWERS else [*rows[:2], "...", rows[-1]])
            lines.append(f"the slices take {shown}: every row once and in order, by their code")
        joins = {merge.kind for merge in found.merges}
        if "concatenate" in joins:
            order = f"the {found.replicas} results are joined in that order"
            lines.append(f"every replica is the same template with the same weights; {order}")
    return lines


# -- panels


def _section(level: _Level) -> Section:
    title = f"inside model {'/'.join(level.path)!r}" if level.path else ""
    replicas = max(found.replicas for found in level.matches)
    wrapped = f"wrapped for {replicas} GPUs" if replicas > 1 else "wrapped for one GPU"
    before = _before_panel(level, "in the file", f"{_count(len(level.before.layers), 'layer')}, {wrapped}")
    after = level.after
    return Section(
        title,
        before,
        _after_panel(level, "after unparallel", f"{_model_name(after)}, {_count(len(after.layers), 'layer')}"),
    )


def _calls(topology: Topology) -> tuple[nx.DiGraph, list[CallKey]]:
    """(graph of numbered calls, the call of each number)."""
    import networkx as nx

    multi = call_graph(topology)
    order = in_order(multi)
    number = {key: i for i, key in enumerate(order)}
    graph = nx.DiGraph()
    for key, i in number.items():
        layer = topology.layer(key[0])
        role = INPUT if layer.class_name == "InputLayer" or (not multi.pred[key] and not topology.sequential) else KEPT
        graph.add_node(i, node=Node((layer.name,), (_class_name(layer),), role))
    graph.add_edges_from((number[start], number[end], {"cut": False}) for start, end in multi.edges())
    return graph, order


def _class_name(layer: Layer) -> str:
    return (
        f"{layer.class_name} of {_count(len(layer.submodel.layers), 'layer')}" if layer.submodel else layer.class_name
    )


def _plain_panel(topology: Topology, title: str, reason: str) -> Panel:
    """A model that stays as it is; the layers that the reason speaks of are marked."""
    graph, order = _calls(topology)
    for i, key in enumerate(order):
        if repr(key[0]) in reason:
            graph.nodes[i]["node"] = graph.nodes[i]["node"]._replace(role=DOUBT)
    return folding.panel(graph, title, _count(len(topology.layers), "layer"))


def _before_panel(level: _Level, title: str, note: str) -> Panel:
    graph, order = _calls(level.before)
    number = {key: i for i, key in enumerate(order)}
    kept = {layer.name for layer in level.after.layers}
    groups: list[tuple[list[int], Node]] = []
    for found in level.matches:
        groups += _slice_groups(found, number)
        groups += _tower_groups(found, level.before, number)
        groups += [
            ([number[merge.call]], Node((merge.call[0],), (), CUT, note=_merge_note(merge))) for merge in found.merges
        ]
    inside = {i for members, _ in groups for i in members}
    for i in set(graph) - inside:
        node = graph.nodes[i]["node"]
        if node.role == KEPT and node.names[0] not in kept:
            graph.nodes[i]["node"] = node._replace(role=CUT)
    if _stays_acyclic(graph, groups):
        for members, node in groups:
            folding.contract(graph, members, node)
    else:
        for members, node in groups:
            for i in members:
                graph.nodes[i]["node"] = graph.nodes[i]["node"]._replace(role=node.role)
    cut = {i for i in graph if graph.nodes[i]["node"].role == CUT}
    for start, end in graph.edges():
        graph[start][end]["cut"] = start in cut or end in cut
    return folding.panel(graph, title, note)


def _stays_acyclic(graph: nx.DiGraph, groups: Sequence[tuple[list[int], Node]]) -> bool:
    import networkx as nx

    copy = nx.DiGraph(graph)
    for members, node in groups:
        folding.contract(copy, members, node)
    return bool(nx.is_directed_acyclic_graph(copy))


def _merge_note(merge: match.Merge) -> str:
    return "mean of the replicas" if merge.kind == "mean" else "joins the batch again"


def _columns(replicas: int) -> list[range]:
    """The parts that share a column, from the first GPU to the last."""
    if replicas <= MOST_TOWERS:
        return [range(i, i + 1) for i in range(replicas)]
    return [range(1), range(1, 2), range(2, replicas - 1), range(replicas - 1, replicas)]


def _slice_groups(found: match.Match, number: dict[CallKey, int]) -> list[tuple[list[int], Node]]:
    """One box for each column: whatever cuts these rows out of the inputs."""
    groups = []
    taken: set[int] = set()
    for parts in _columns(found.replicas):
        pieces = [piece for piece in found.slices if piece.part in parts]
        members = sorted({number[piece.tensor[:2]] for piece in pieces} - taken)
        if not members:  # one layer that gives all parts at once
            continue
        taken.update(members)
        names = tuple(dict.fromkeys(piece.tensor.layer for piece in pieces))
        rows = list(dict.fromkeys(piece.rows for piece in pieces))
        shared = len({piece.part for piece in found.slices if number[piece.tensor[:2]] in members}) > len(parts)
        if shared:
            rows = [f"all {found.replicas} parts of the batch"]
        # parts that follow each other: from the first one's start to the last one's end
        note = rows[0] if len(rows) == 1 else f"{rows[0].split(' to ')[0]} to {rows[-1].split(' to ')[-1]}"
        groups.append((members, Node(names, (), CUT, note=note)))
    return groups


def _tower_groups(found: match.Match, topology: Topology, number: dict[CallKey, int]) -> list[tuple[list[int], Node]]:
    layers = tuple(dict.fromkeys(calls[0][0] for calls in found.towers))
    whole = topology.layer(layers[0]).submodel if len(layers) == 1 else None
    what = layers[0] if whole is not None else "template"
    size = _count(len(whole.layers if whole is not None else layers), "layer")
    groups = []
    for parts in _columns(found.replicas):
        members = sorted({number[calls[part]] for calls in found.towers for part in parts})
        names = tuple(dict.fromkeys(calls[part][0] for calls in found.towers for part in parts))
        which = f"GPU {parts[0] + 1}" if len(parts) == 1 else f"GPUs {parts[0] + 1} to {parts[-1] + 1}"
        times = f", x {len(parts)}" if len(parts) > 1 else ""
        groups.append((members, Node(names, (), TEMPLATE, title=f"{what} on {which}", note=size + times)))
    return groups


def _after_panel(level: _Level, title: str, note: str) -> Panel:
    """The clean graph; what was in the towers is marked, where something else is beside it."""
    graph, order = _calls(level.after)
    inside = {call[0] for found in level.matches for calls in found.towers for call in calls[:1]}
    names = {layer.name for layer in level.after.layers}
    alone = not inside & names
    for i in graph:
        node = graph.nodes[i]["node"]
        if node.role != INPUT and (alone or node.names[0] in inside):
            graph.nodes[i]["node"] = node._replace(role=TEMPLATE)
    return folding.panel(graph, title, note)
