"""Weights of a session's variables, which `tf.train.Saver` saves by name.

Names alone mislead: a session holds whatever was built in it, and with `cpu_relocation` the untrained original bears
the layers' names while its clone was trained.  The graph tells: the operations of a layer stand below
`replica_0/TEMPLATE/LAYER/`, and what they read is the layer's.  Where there is no graph, names are taken only if no
other variable is left over but an optimizer's.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, Sequence

from ..errors import AlreadySingleError, NeedsArchitectureError, WeightsError
from ..model import Layer, Session, Topology, Tracked, TrackedModel
from .names import role_and_prefix
from .tracked import Assigned, Path, assign, assignments

# What optimizers, metrics and counters call theirs: tf.keras and Keras 2.2 on, then TensorFlow's own optimizers.
_BESIDE = re.compile(
    r"(training(_[0-9]+)?|metrics|loss|(SGD|RMSprop|Adagrad|Adadelta|Adam|Adamax|Nadam|Ftrl|TFOptimizer)(_[0-9]+)?)/.*"
    r"|(global_step|save_counter|step|count|total|beta[12]_power|iterations|lr|decay)(_[0-9]+)?"
)
_SLOT = re.compile(r"(Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl|AdaMax)(_[0-9]+)?")
_WITH_GRAPH = "put the .meta file of the same checkpoint beside it, or save again with model.save_weights()"


def assign_session(session: Session, template: Topology) -> Assigned:
    """Give each layer of a template the variables of its replicas.

    Raises
    ------
    AlreadySingleError
        The graph has no replicas.
    WeightsError
        Layers and variables do not add up, or more than one model of the session fits.
    """
    leaves = dict(_leaves(template, ()))
    if session.readers is None:
        return assign(_objects(session, template, _by_names(session, leaves)), 0, template)
    scopes = _by_readers(session.readers, template.name, leaves)
    if not any("replica_0" in name for names in session.readers.values() for name in names):
        raise AlreadySingleError(
            "the session has no replicas of a wrapper: there is nothing to undo", "restore it with tf.train.Saver"
        )
    found, trouble = assignments(((_objects(session, template, owners), 0) for owners in scopes), template)
    if len(found) > 1:
        raise WeightsError(
            f"the session holds {len(found)} parallel models of {template.name!r}", "save the one that is meant alone"
        )
    if not found:
        raise trouble or WeightsError(
            f"no replica of a model {template.name!r} is in the session's graph",
            "check that the architecture is that of this checkpoint",
        )
    return found[0]


def _leaves(topology: Topology, path: Path) -> Iterator[tuple[Path, Layer]]:
    for layer in topology.layers:
        if layer.submodel is not None:
            yield from _leaves(layer.submodel, path + (layer.name,))
        else:
            yield path + (layer.name,), layer


# -- by the graph

Owners = Dict[Path, List[str]]


def _by_readers(readers: Mapping[str, tuple[str, ...]], template: str, leaves: Mapping[Path, Layer]) -> list[Owners]:
    """For each place where the template was built as a first replica: the variables that each layer reads there."""
    place = re.compile(rf"(?:.*/)?replica_0(?:_[0-9]+)?/{re.escape(template)}/")
    labels = {"/".join(path): path for path in leaves}
    found: dict[str, dict[str, set[Path]]] = {}
    for variable, names in readers.items():
        for name in names:
            scope = place.match(name)
            owner = _longest(name[scope.end() :], labels) if scope else None
            if scope and owner is not None:
                found.setdefault(scope.group(), {}).setdefault(variable, set()).add(owner)
    result = []
    for variables in found.values():
        # a variable that two layers read is nobody's for sure
        owners: Owners = {}
        for variable, paths in variables.items():
            for path in paths if len(paths) == 1 else ():
                owners.setdefault(path, []).append(variable)
        result.append(owners)
    return result


def _longest(name: str, labels: Mapping[str, Path]) -> Path | None:
    """The layer below whose scope an operation stands; the longest, since names may hold slashes."""
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        path = labels.get("/".join(parts[:count]))
        if path is not None:
            return path
    return None


# -- by names


def _by_names(session: Session, leaves: Mapping[Path, Layer]) -> Owners:
    labels: dict[str, Path] = {}
    for path in leaves:
        if path[-1] in labels:
            raise NeedsArchitectureError(f"two layers are named {path[-1]!r}, and names are all there is", _WITH_GRAPH)
        labels[path[-1]] = path
    owners: Owners = {}
    for name in session.variables:
        if _BESIDE.fullmatch(name) or _SLOT.fullmatch(name.rsplit("/", 1)[-1]):
            continue
        owner = _longest(name, labels)
        if owner is None:
            raise WeightsError(
                f"variable {name!r} is no layer's: the session held more than this model, and names do not tell which "
                "of it was trained",
                _WITH_GRAPH,
            )
        owners.setdefault(owner, []).append(name)
    return owners


# -- as objects


def _objects(session: Session, template: Topology, owners: Owners) -> TrackedModel:
    """The template as a graph of objects, so that one walk serves both kinds of checkpoints."""
    nodes: list[Tracked] = []
    order = {name: place for place, name in enumerate(session.variables)}
    _model(nodes, session, template, owners, (), order)
    return TrackedModel(tuple(nodes), known_orders=session.known_orders)


def _model(
    nodes: list[Tracked],
    session: Session,
    topology: Topology,
    owners: Owners,
    path: Path,
    order: Mapping[str, int],
) -> int:
    """Add a model's object; its number."""
    number = len(nodes)
    nodes.append(Tracked())
    children = []
    for i, layer in enumerate(topology.layers):
        inner = path + (layer.name,)
        if layer.submodel is not None:
            child = _model(nodes, session, layer.submodel, owners, inner, order)
        else:
            names = sorted(owners.get(inner, ()), key=lambda name: order[name])
            child = _layer(nodes, layer.class_name, [_variable(session, name) for name in names])
        children.append((f"layer-{i}", child))
    nodes[number] = Tracked(tuple(children))
    return number


def _variable(session: Session, name: str) -> Tracked:
    known = session.trainable
    return Tracked((), session.variables[name], None if known is None else name in known)


def _layer(nodes: list[Tracked], class_name: str, variables: Sequence[Tracked]) -> int:
    """Add a layer's object, and those of the layers that it wraps; its number."""
    inner: list[tuple[str, list[Tracked]]] = []
    if class_name == "Bidirectional":
        for name in ("forward", "backward"):
            inner.append((f"{name}_layer", [item for item in variables if f"/{name}_" in _name(item)]))
    elif class_name in ("TimeDistributed", "RNN", "ConvRNN2D"):
        inner.append(("layer" if class_name == "TimeDistributed" else "cell", list(variables)))
    children = []
    if inner and sum(len(part) for _, part in inner) == len(variables):
        children = [(name, _layer(nodes, "", part)) for name, part in inner]
    else:
        for item in variables:
            children.append((role_and_prefix(_name(item))[0] or _name(item).rsplit("/", 1)[-1], len(nodes)))
            nodes.append(item)
    nodes.append(Tracked(tuple(children)))
    return len(nodes) - 1


def _name(item: Tracked) -> str:
    return item.ref.name.split(":")[0] if item.ref is not None else ""
