"""About a hundred Lambdas as every Python from 2.7 on compiles them: one recording of each, and what it is.

`data/entries.txt` has the entries, one operation a line; that they are right is not taken from there, but from what the
source gives in numpy.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from unparallel.operations.record import record
from unparallel.operations.values import Environment, Tensor
from unparallel.slices.lambdas import SavedFunction

from .data import lambdas
from .followed import gives
from .test_compositions import SPACE, difference

DATA = Path(__file__).parent / "data"
CODE = json.loads((DATA / "lambdas.json").read_text())
VERSIONS = sorted(CODE, key=lambda version: tuple(map(int, version.split("."))))
CASES = {name: (shapes, source) for name, shapes, source in lambdas.cases()}


def entries():
    """The lines of each case in `entries.txt`."""
    found = {}
    for block in (DATA / "entries.txt").read_text().strip().split("\n\n"):
        name, *lines = block.split("\n")
        found[name] = lines
    return found


def inputs_of(shapes):
    """The tensors that a case is given."""
    found = []
    for port, words in enumerate(shapes.split(",")):
        whole = words.split()[0] == "int"
        lengths = [int(word) for word in words.split()[whole:]]
        found.append(Tensor((None, *lengths), "int32" if whole else "float32", None, port))
    return found


def arrays_for(tensors):
    """A batch of three for each."""
    draw = np.random.RandomState(3)
    shapes = [(3, *tensor.shape[1:]) for tensor in tensors]
    return [
        draw.randint(0, 8, shape) if tensor.dtype == "int32" else draw.normal(size=shape)
        for tensor, shape in zip(tensors, shapes)
    ]


def recorded(name, version):
    text, defaults, closure = CODE[version][name]
    function = SavedFunction(text, tuple(defaults or ()), tuple(closure or ()))
    return record(function, inputs_of(CASES[name][0]), {}, Environment())


def test_all_versions_have_all_cases():
    assert VERSIONS == ["2.7", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
    for version in VERSIONS:
        assert sorted(CODE[version]) == sorted(CASES)
    assert sorted(entries()) == sorted(CASES)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_gives_the_same_entries(version):
    wanted = entries()
    assert {name: recorded(name, version).lines() for name in CASES} == wanted


@pytest.mark.parametrize("name", CASES)
def test_entries_give_what_the_source_gives(name):
    made = recorded(name, "3.7")
    values = arrays_for(made.inputs)
    function = lambdas.function_of(CASES[name][1], dict(SPACE))
    wanted = function(values if len(values) > 1 else values[0])
    found = gives(made, *values)
    wanted, found = (list(item) if isinstance(item, (list, tuple)) else [item] for item in (wanted, found))
    assert difference([np.asarray(item) for item in wanted], found) < 1e-6
