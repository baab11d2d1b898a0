"""The variables of a session that `tf.train.Saver` saved, by name; and, with its `.meta` graph, what reads them where.

Format: MetaGraphDef with a GraphDef (tensorflow/core/framework/graph.proto, node_def.proto).  Only names, kinds and
inputs of operations are looked at.
"""

from __future__ import annotations

import os
from typing import BinaryIO, Iterator

from ..errors import HostileFileError
from ..model import Session
from . import wire
from .bundle import UNTRUSTED
from .source import Source

GRAPH, COLLECTION, NODE = 2, 4, 1
VARIABLES = ("VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable")
# What hands a variable, or its value, on as it is.
FORWARDING = ("Identity", "ReadVariableOp", "Enter", "RefEnter", "Switch", "RefSwitch", "Cast")
MOST_OPERATIONS = 2_000_000
LARGEST_NAMES = 256 * 2**20
LARGEST_COLLECTION = 64 * 2**20
LONGEST_NAME = 2**16


def read_session(source: Source) -> Session:
    """The session's variables, and the readers of each where a `.meta` file lies beside the checkpoint.

    Raises
    ------
    FileError, HostileFileError
        The graph is damaged, or claims more than one has.
    """
    refs = {key: source.ref(key, key) for key, entry in source.bundle.entries.items() if entry.dtype}
    path = source.bundle.prefix + ".meta"
    if not os.path.isfile(path):
        return Session(refs)
    made, readers = _readers(path, set(refs))
    trained = _trained(path).intersection(refs)
    # standalone Keras makes all of its variables as if they were trained: then this tells nothing
    known = trained if any(name in readers and name not in trained for name in made) else None
    return Session({name: refs[name] for name in [*made, *sorted(set(refs) - set(made))]}, readers, known)


def _trained(path: str) -> frozenset[str]:
    """The variables in the collection `trainable_variables`, where TensorFlow 1 registers what is trained."""
    found: list[str] = []
    with open(path, "rb") as file:
        for part in wire.places(file, 0, os.path.getsize(path)):
            if part.number != COLLECTION or part.stop - part.start > LARGEST_COLLECTION:
                continue
            entry = wire.grouped(wire.content(file, part, LARGEST_COLLECTION))
            if 1 not in entry or 2 not in entry or wire.text(entry[1][-1]) != "trainable_variables":
                continue
            for kind, content in wire.fields(wire.piece(entry[2][-1])):
                # a list of VariableDef, whose first field is the name of a tensor
                for _, value in wire.fields(wire.piece(content)) if kind == 2 else ():
                    names = wire.grouped(wire.piece(value)).get(1, [])
                    found += [wire.text(name).split(":")[0] for name in names]
    return frozenset(found)


def _readers(path: str, names: set[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """(variables in the order of their making, the names of the operations that read each, directly or handed on)."""
    passes: dict[str, str] = {}
    made: list[str] = []
    for name, kind, inputs in _operations(path):
        if kind in FORWARDING and inputs:
            passes[name] = inputs[0]
        elif kind in VARIABLES and name in names:
            made.append(name)
    found: dict[str, list[str]] = {}
    for name, kind, inputs in _operations(path):
        if kind in VARIABLES:
            continue
        for read in inputs:
            variable = _origin(read, passes)
            if variable in names:
                found.setdefault(variable, []).append(name)
    return list(dict.fromkeys(made)), {name: tuple(readers) for name, readers in found.items()}


def _origin(name: str, passes: dict[str, str]) -> str:
    """The operation from which a value comes that was handed on; a ring leads nowhere."""
    seen: set[str] = set()
    while name in passes and name not in seen:
        seen.add(name)
        name = passes[name]
    return name


def _operations(path: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(name, kind, inputs) of each operation of the graph."""
    size = os.path.getsize(path)
    count = spent = 0
    with open(path, "rb") as file:
        for part in wire.places(file, 0, size):
            if part.number != GRAPH:
                continue
            for place in wire.places(file, part.start, part.stop):
                if place.number != NODE:
                    continue
                operation = _operation(wire.places(file, place.start, place.stop), file)
                count += 1
                spent += len(operation[0]) + sum(map(len, operation[2]))
                if count > MOST_OPERATIONS or spent > LARGEST_NAMES:
                    raise HostileFileError(f"{os.path.basename(path)} has too many operations", UNTRUSTED)
                yield operation


def _operation(places: Iterator[wire.Place], file: BinaryIO) -> tuple[str, str, tuple[str, ...]]:
    """The name, kind and inputs of a NodeDef; its attributes, constants among them, are stepped over."""
    name = kind = ""
    inputs: list[str] = []
    for place in places:
        if place.number == 1:
            name = wire.text(wire.content(file, place, LONGEST_NAME))
        elif place.number == 2:
            kind = wire.text(wire.content(file, place, LONGEST_NAME))
        elif place.number == 3:
            text = wire.text(wire.content(file, place, LONGEST_NAME))
            if not text.startswith("^"):  # waits for another and reads nothing of it
                inputs.append(text.split(":")[0])
    return name, kind, tuple(inputs)
