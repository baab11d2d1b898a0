"""The graph of objects in a checkpoint and in a SavedModel: which object holds which, and where its value lies.

Formats: tensorflow/core/protobuf/trackable_object_graph.proto and saved_object_graph.proto.  What the objects are
(models, layers, optimizers) is for those who walk the graph.
"""

from __future__ import annotations

from typing import BinaryIO, Iterator, NamedTuple, Tuple

from ..errors import FileError, HostileFileError
from . import wire
from .bundle import UNTRUSTED, Bundle

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"
MOST_OBJECTS = 300_000
MOST_EDGES = 2_000_000
LARGEST_NODE = 32 * 2**20

Children = Tuple[Tuple[str, int], ...]


class Slot(NamedTuple):
    """An optimizer's value for a variable: the variable's number, the slot's name, and the number of its value."""

    variable: int
    name: str
    value: int


class Node(NamedTuple):
    """An object: its children by name, in the order in which they came to be, and its value if it is a variable.

    `key` is the value's in the checkpoint, `name` the variable's in its program ("dense/kernel").
    """

    children: Children
    key: str = ""
    name: str = ""
    slots: tuple[Slot, ...] = ()

    def child(self, name: str) -> int | None:
        """The number of the child of that name."""
        return next((number for local, number in self.children if local == name), None)


class SavedNode(NamedTuple):
    """An object of a SavedModel; `trainable` is None where it is no variable."""

    children: Children
    identifier: str = ""
    metadata: str = ""
    trainable: bool | None = None
    name: str = ""


def checkpoint_objects(bundle: Bundle) -> tuple[Node, ...] | None:
    """The objects of a checkpoint; None where it holds variables by name only, as `tf.train.Saver` saves them.

    Raises
    ------
    FileError, HostileFileError
        The graph is damaged.
    """
    data = bundle.text(GRAPH_KEY)
    if data is None:
        return None
    nodes: list[Node] = []
    edges = 0
    for field, value in wire.fields(data):
        if field == 1:
            node = _node(wire.piece(value))
            nodes.append(node)
            edges += len(node.children) + len(node.slots)
            _check_size(len(nodes), edges)
    _check_numbers(len(nodes), (node.children for node in nodes))
    for node in nodes:
        if any(max(slot.variable, slot.value) >= len(nodes) for slot in node.slots):
            raise _damaged("a slot is of an object that is not there")
    return tuple(nodes)


def _node(data: memoryview) -> Node:
    children: list[tuple[str, int]] = []
    slots: list[Slot] = []
    key = name = ""
    for field, value in wire.fields(data):
        if field == 1:
            children.append(_reference(wire.piece(value)))
        elif field == 2:
            found = wire.grouped(wire.piece(value))
            if 1 in found and wire.text(found[1][-1]) == VALUE:
                name = wire.text(found[2][-1]) if 2 in found else ""
                key = wire.text(found[3][-1]) if 3 in found else ""
        elif field == 3:
            found = wire.grouped(wire.piece(value))
            numbers = [wire.number(found[at][-1]) if at in found else 0 for at in (1, 3)]
            slots.append(Slot(numbers[0], wire.text(found[2][-1]) if 2 in found else "", numbers[1]))
    return Node(tuple(children), key, name, tuple(slots))


def _reference(data: memoryview) -> tuple[str, int]:
    """An ObjectReference: (local name, number of the node)."""
    found = wire.grouped(data)
    return (wire.text(found[2][-1]) if 2 in found else "", wire.number(found[1][-1]) if 1 in found else 0)


def saved_objects(file: BinaryIO, place: wire.Place) -> tuple[SavedNode, ...]:
    """The objects of a SavedModel's SavedObjectGraph, read one at a time."""
    nodes: list[SavedNode] = []
    edges = 0
    for part in wire.places(file, place.start, place.stop):
        if part.number == 1:
            nodes.append(_saved_node(wire.content(file, part, LARGEST_NODE)))
            edges += len(nodes[-1].children)
            _check_size(len(nodes), edges)
    _check_numbers(len(nodes), (node.children for node in nodes))
    return tuple(nodes)


def _saved_node(data: memoryview) -> SavedNode:
    children: list[tuple[str, int]] = []
    facts: dict[str, str] = {}
    trainable: bool | None = None
    for field, value in wire.fields(data):
        if field == 1:
            children.append(_reference(wire.piece(value)))
        elif field == 4:
            found = wire.grouped(wire.piece(value))
            facts = {name: wire.text(found[at][-1]) for at, name in ((1, "identifier"), (3, "metadata")) if at in found}
        elif field == 7:
            found = wire.grouped(wire.piece(value))
            trainable = bool(found[3][-1]) if 3 in found else False
            facts = {"name": wire.text(found[6][-1])} if 6 in found else {}
    return SavedNode(tuple(children), trainable=trainable, **facts)


def _check_size(nodes: int, edges: int) -> None:
    if nodes > MOST_OBJECTS or edges > MOST_EDGES:
        raise HostileFileError(f"more than {MOST_OBJECTS} objects", UNTRUSTED)


def _check_numbers(count: int, children: Iterator[Children]) -> None:
    for found in children:
        if any(number >= count for _, number in found):
            raise _damaged("an object is named that is not there")


def _damaged(why: str) -> FileError:
    return FileError(f"damaged: {why}", wire.DAMAGED)
