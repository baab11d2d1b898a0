"""Makes a large graph small enough to look at: runs, equal branches and repeated blocks are drawn once.

Every step contracts nodes of a directed acyclic graph so that it stays one: a run has one way in and one way out,
equal branches begin and end at the same nodes, and what is cut from the middle is a piece of a topological order.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Iterable, NamedTuple

from .values import FOLDED, INPUT, KEPT, TEMPLATE, Arrow, Box, Panel

if TYPE_CHECKING:
    import networkx as nx

# Up to here every layer has its own box.
FEW = 16
# No picture has more boxes: beyond, nobody looks, and a stranger's file must not fill the disk.
MOST = 120
LONGEST_PERIOD = 12
MOST_LISTED = 34


class Node(NamedTuple):
    """What is known of a node while it is folded: names and class names of the layers in it, in order."""

    names: tuple[str, ...]
    classes: tuple[str, ...]
    role: str = KEPT
    copies: int = 1
    title: str = ""
    note: str = ""


def panel(graph: nx.DiGraph, title: str, note: str, few: int = FEW) -> Panel:
    """The panel for a graph whose nodes have an attribute `node` (a `Node`) and, on each edge, `cut`.

    Parameters
    ----------
    graph : networkx.DiGraph
        Nodes are integers in topological order; it is changed.
    title, note : str
    few : int
        Fold only what has more nodes than that.
    """
    repeats: dict[int, tuple[int, int]] = {}
    if len(graph) > few:
        _fold_until_stable(graph)
        repeats = _fold_repeats(graph)
    if len(graph) > MOST:
        repeats = {}
        _drop_middle(graph)
    return _as_panel(graph, title, note, repeats)


def contract(graph: nx.DiGraph, members: Iterable[int], node: Node) -> int:
    """Replace nodes by one, which takes the place of the first; return it."""
    inside = set(members)
    kept = min(inside)
    into = [(start, graph[start][member]["cut"]) for member in inside for start in graph.pred[member]]
    out = [(end, graph[member][end]["cut"]) for member in inside for end in graph.succ[member]]
    graph.remove_nodes_from(inside)
    graph.add_node(kept, node=node)
    graph.add_edges_from((start, kept, {"cut": cut}) for start, cut in into if start not in inside)
    graph.add_edges_from((kept, end, {"cut": cut}) for end, cut in out if end not in inside)
    return kept


def _fold_until_stable(graph: nx.DiGraph) -> None:
    for _ in range(4):
        before = len(graph)
        _fold_runs(graph)
        _fold_branches(graph)
        if len(graph) == before:
            return


def _fold_runs(graph: nx.DiGraph) -> None:
    """Fold chains of two or more layers that nothing enters or leaves on the way."""
    for chain in _chains(graph):
        nodes = [graph.nodes[key]["node"] for key in chain]
        if len(chain) > 1:
            names = tuple(name for node in nodes for name in node.names)
            classes = tuple(name for node in nodes for name in node.classes)
            contract(graph, chain, Node(names, classes, _common_role(nodes)))


def _chains(graph: nx.DiGraph) -> list[list[int]]:
    def goes_on(key: int) -> bool:
        """Whether a node continues the chain of its only predecessor."""
        if graph.in_degree(key) != 1 or not _is_plain(graph, key):
            return False
        (before,) = graph.pred[key]
        same = graph.nodes[before]["node"].role in (graph.nodes[key]["node"].role, FOLDED)
        return bool(same and graph.out_degree(before) == 1 and _is_plain(graph, before))

    chains = []
    for start in sorted(graph):
        if not _is_plain(graph, start) or goes_on(start):
            continue
        chain = [start]
        while graph.out_degree(chain[-1]) == 1:
            (following,) = graph.succ[chain[-1]]
            if not goes_on(following):
                break
            chain.append(following)
        chains.append(chain)
    return chains


def _is_plain(graph: nx.DiGraph, key: int) -> bool:
    """Whether a node may vanish in a run: a layer that stands for itself and is nothing special."""
    node = graph.nodes[key]["node"]
    return node.role in (KEPT, FOLDED, TEMPLATE) and node.copies == 1 and not node.title


def _common_role(nodes: list[Node]) -> str:
    return FOLDED if nodes[0].role == KEPT else nodes[0].role


def _fold_branches(graph: nx.DiGraph) -> None:
    """Fold nodes of equal kind between the same neighbours: a fan-out of 300 is one box."""
    alike: dict[object, list[int]] = {}
    for key in sorted(graph):
        node = graph.nodes[key]["node"]
        # inputs are few, and each has a meaning of its own
        if node.role != INPUT and not node.title:
            place = (frozenset(graph.pred[key]), frozenset(graph.succ[key]), node.classes, node.role, node.note)
            alike.setdefault(place, []).append(key)
    for keys in alike.values():
        if len(keys) > 2:
            nodes = [graph.nodes[key]["node"] for key in keys]
            names = tuple(name for node in nodes for name in node.names)
            copies = sum(node.copies for node in nodes)
            contract(graph, keys, Node(names, nodes[0].classes, _common_role(nodes), copies, note=nodes[0].note))


# -- repeated blocks


def _fold_repeats(graph: nx.DiGraph) -> dict[int, tuple[int, int]]:
    """Draw blocks that follow each other and are built alike once; {node: (group, times)} for what is drawn.

    A block is what lies between two nodes that every way through the model passes; networks are mostly sequences
    of such blocks, and repeat one, or a group of them.
    """
    blocks = _blocks(graph)
    kinds = [_kind(graph, block) for block in blocks]
    repeats: dict[int, tuple[int, int]] = {}
    for group, (at, period, times) in enumerate(_repeated(kinds)):
        first = [key for block in blocks[at : at + period] for key in block]
        others = [key for block in blocks[at + period : at + period * times] for key in block]
        _splice(graph, first, others)
        repeats.update({key: (group, times) for key in first})
    return repeats


def _blocks(graph: nx.DiGraph) -> list[list[int]]:
    """The nodes in topological order, cut after each node that every way passes."""
    import networkx as nx

    order = list(nx.lexicographical_topological_sort(graph))
    place = {key: i for i, key in enumerate(order)}
    blocks: list[list[int]] = [[]]
    farthest = 0
    for i, key in enumerate(order):
        blocks[-1].append(key)
        if farthest <= i:  # no arrow leads over this node
            blocks.append([])
        farthest = max([farthest] + [place[after] for after in graph.succ[key]])
    return [block for block in blocks if block]


def _kind(graph: nx.DiGraph, block: list[int]) -> object:
    """Equal for blocks that are built alike: classes, roles, and arrows within the block and into it."""
    place = {key: i for i, key in enumerate(block)}
    nodes = [graph.nodes[key]["node"] for key in block]
    if any(node.role == INPUT or node.title for node in nodes):
        return object()
    return tuple(
        (node.classes, node.role, node.copies, tuple(sorted(place.get(before, -1) for before in graph.pred[key])))
        for key, node in zip(block, nodes)
    )


def _repeated(kinds: list[object]) -> list[tuple[int, int, int]]:
    """(first block, number of blocks, times) of each repeat; the shortest patterns first, so that stages stay apart."""
    found = []
    free = [True] * len(kinds)
    for period in range(1, LONGEST_PERIOD + 1):
        at = 0
        while at + 2 * period <= len(kinds):
            times = 1
            while _follows(kinds, free, at, at + period * times, period):
                times += 1
            if times > 1:
                free[at : at + period * times] = [False] * (period * times)
                found.append((at, period, times))
            at += period * times if times > 1 else 1
    return sorted(found)


def _follows(kinds: list[object], free: list[bool], first: int, other: int, period: int) -> bool:
    """Whether the blocks from `other` on are built as those from `first` on, and no repeat has taken any of them."""
    same = kinds[first : first + period] == kinds[other : other + period]
    return same and all(free[first : first + period]) and all(free[other : other + period])


def _splice(graph: nx.DiGraph, first: list[int], others: list[int]) -> None:
    """Take the later copies of a repeated group out; what read the last of them reads the first copy's end."""
    inside = set(others)
    after = [end for key in others for end in graph.succ[key] if end not in inside]
    graph.remove_nodes_from(others)
    graph.add_edges_from((first[-1], end, {"cut": False}) for end in after)


def _drop_middle(graph: nx.DiGraph) -> None:
    """Put what is too much into one box, in the middle of the topological order."""
    import networkx as nx

    order = list(nx.lexicographical_topological_sort(graph))
    middle = order[MOST // 2 : len(order) - MOST // 2 + 1]
    layers = sum(len(graph.nodes[key]["node"].names) for key in middle)
    contract(graph, middle, Node((), (), FOLDED, title="...", note=f"{layers:,} more layers"))


# -- words


def _as_panel(graph: nx.DiGraph, title: str, note: str, repeats: dict[int, tuple[int, int]]) -> Panel:
    import networkx as nx

    order = list(nx.lexicographical_topological_sort(graph))
    place = {key: i for i, key in enumerate(order)}
    boxes = tuple(_box(graph.nodes[key]["node"], repeats.get(key, (-1, 1))[0]) for key in order)
    arrows = tuple(
        sorted(Arrow(place[start], place[end], cut) for start, end, cut in graph.edges(data="cut", default=False))
    )
    times = dict(repeats.values())
    return Panel(title, note, boxes, arrows, tuple(times[group] for group in sorted(times)))


def _box(node: Node, repeat: int) -> Box:
    names = node.names
    title = node.title or (", ".join(names) if len(names) < 3 and node.copies == 1 else f"{names[0]} … {names[-1]}")
    note = node.note or _listed(
        name if number == 1 else f"{name} x {number:,}" for name, number in Counter(node.classes).items()
    )
    if node.copies > 1:
        note = f"{note}; x {node.copies:,}"
    return Box(title, note, node.role, ", ".join(node.names[:12]), repeat)


def _listed(parts: Iterable[str]) -> str:
    """As many of the parts as fit into a box."""
    shown, *rest = list(parts) or [""]
    for i, part in enumerate(rest):
        if len(shown) + len(part) > MOST_LISTED:
            return f"{shown}, {len(rest) - i} more"
        shown = f"{shown}, {part}"
    return shown
