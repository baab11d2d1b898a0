"""Topology -> networkx graph of calls, in a deterministic order.

A node is `(layer, call)`; an edge runs from the call that makes a tensor to the call that reads it and
holds which output (`tensor`) goes to which input (`port`).  The topology's own order breaks every tie,
so that the same file always gives the same answer.

networkx takes a tenth of a second to import: it is, where a graph is made, and not for files that need none.
"""

from typing import TYPE_CHECKING, Dict, List, Mapping, Sequence, Set, Tuple

from .errors import ConfigError
from .model import Call, TensorKey, Topology

if TYPE_CHECKING:
    import networkx as nx

CallKey = Tuple[str, int]


def call_graph(topology: Topology) -> "nx.MultiDiGraph":
    """The calls of one model (not of the models inside it) as a graph.

    Returns
    -------
    networkx.MultiDiGraph
        Node attributes: `call` (a `Call`), `order` (int).  Edge attributes: `tensor`, `port`.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    order = 0
    for layer in topology.layers:
        for number, call in enumerate(layer.calls):
            graph.add_node((layer.name, number), call=call, order=order)
            order += 1
    for node in list(graph):
        call = graph.nodes[node]["call"]
        graph.add_edges_from(
            (key[:2], node, {"tensor": key.tensor, "port": port}) for port, key in enumerate(call.inputs)
        )
    return graph


def in_order(graph: "nx.MultiDiGraph") -> List[CallKey]:
    """The calls, each after those that it reads.

    Raises
    ------
    ConfigError
        The graph has a cycle.
    """
    import networkx as nx

    try:
        return list(nx.lexicographical_topological_sort(graph, key=lambda node: graph.nodes[node]["order"]))
    except nx.NetworkXUnfeasible as error:
        raise ConfigError("the model's layers form a cycle", "the config is damaged") from error


def call_of(graph: "nx.MultiDiGraph", key: CallKey) -> Call:
    """The call at a node."""
    call: Call = graph.nodes[key]["call"]
    return call


def reachable(inputs: Mapping[CallKey, Tuple[TensorKey, ...]], ends: Sequence[TensorKey]) -> Set[CallKey]:
    """The calls that the tensors `ends` depend on; `inputs` says what each call reads.

    Raises
    ------
    ConfigError
        `inputs` does not say it of a call that is read.
    """
    seen: Set[CallKey] = set()
    stack = [key[:2] for key in ends]
    while stack:
        node = stack.pop()
        if node not in inputs:
            raise ConfigError(f"an output of layer {node[0]!r} is read that it does not have", "the config is damaged")
        if node not in seen:
            seen.add(node)
            stack.extend(key[:2] for key in inputs[node])
    return seen


def layer_order(topology: Topology) -> List[str]:
    """The layers' names in the order in which Keras lists them.

    Every Keras up to 2.15 sorts a functional model's layers by depth (the longest way to an output, the
    farthest first) and, at equal depth, by when a walk back from the outputs first meets them
    (`_map_graph_network`; Keras 1: `Container.__init__`).
    """
    met, finished = _walk_back(topology)
    depths: Dict[str, int] = {}
    call_depths: Dict[CallKey, int] = {}
    for node in reversed(finished):
        depth = max(call_depths.get(node, 0), depths.get(node[0], 0))
        depths[node[0]] = call_depths[node] = depth
        for before, number, _ in topology.layer(node[0]).calls[node[1]].inputs:
            key = (before, number)
            call_depths[key] = max(depth + 1, call_depths.get(key, 0))
    for layer, _, _ in topology.inputs:
        # an input that no output depends on comes first among those of depth 0
        depths.setdefault(layer, 0)
    return sorted(depths, key=lambda name: (-depths[name], met.get(name, -1)))


def _walk_back(topology: Topology) -> Tuple[Dict[str, int], List[CallKey]]:
    """(when a depth-first walk back from the outputs first meets each layer, calls as it leaves them)."""
    met: Dict[str, int] = {}
    finished: Dict[CallKey, None] = {}
    stack: List[Tuple[CallKey, bool]] = [(key[:2], False) for key in reversed(topology.outputs)]
    entered: Set[CallKey] = set()
    while stack:
        node, leaving = stack.pop()
        if leaving:
            finished[node] = None
        elif node not in entered:
            entered.add(node)
            met.setdefault(node[0], len(met))
            stack.append((node, True))
            inputs = topology.layer(node[0]).calls[node[1]].inputs
            stack.extend((key[:2], False) for key in reversed(inputs))
    return met, list(finished)
