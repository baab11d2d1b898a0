"""No argument is written that Keras 3.4 or the newest does not know: their signatures are kept as data."""

import json
import os

import pytest

from unparallel.keras3 import objects, training
from unparallel.keras3.lambdas import NAMED
from unparallel.keras3.layers import ROWS

from ..operations.followed import recorded
from ..operations.test_recorded import FORMULAS
from .test_rules import RULES, archive

with open(os.path.join(os.path.dirname(__file__), "signatures.json"), encoding="utf-8") as _handle:
    SIGNATURES = json.load(_handle)
VERSIONS = sorted(SIGNATURES)
# what their rewrites take apart: none of it is written
REWRITTEN = {"local", "merge", "highway", "maxout", "srelu", "parametric_softplus"}


def test_the_oldest_and_a_new_version_are_there():
    assert VERSIONS[-1].startswith("3.4.")
    assert len(VERSIONS) >= 2


@pytest.mark.parametrize("version", VERSIONS)
def test_operations_that_bear_a_name_take_one(version):
    known = SIGNATURES[version]["operations"]
    assert {kind for kind in NAMED if "name" not in known[kind]} == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_of_operations(version):
    """Of all that the recorded formulas make: with what each class is made, in the oldest Keras 3 and in a new one."""
    known = SIGNATURES[version]["operations"]
    made = [entry for source, x, _ in FORMULAS for entry in recorded(source, (None,) + x.shape[1:]).entries]
    for entry in made:
        classes = SIGNATURES[version]["layers"] if entry.kind.startswith("layers.") else known
        kind = entry.kind.replace("layers.", "")
        assert kind in classes
        assert set(entry.config) <= set(classes[kind])
    assert len({entry.kind for entry in made}) > 50


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sorted(set(ROWS) - {"Lambda"}))  # which becomes a model
def test_arguments_of_a_row(name, version):
    row = ROWS[name]
    assert row.to in SIGNATURES[version]["layers"]
    if row.rewrite not in REWRITTEN:
        known = set(SIGNATURES[version]["layers"][row.to])
        assert set(row.keeps) <= known


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_arguments_that_are_written(rule, version):
    entry, old, keras, _, _ = RULES[rule]
    for item in _objects(archive(entry, old, version=keras).config):
        kind = item["module"].rsplit(".", 1)[-1]
        if kind in SIGNATURES[version]:
            assert set(item["config"]) <= set(SIGNATURES[version][kind][item["class_name"]]), item["class_name"]


def _objects(value):
    if isinstance(value, dict):
        if isinstance(value.get("config"), dict) and isinstance(value.get("module"), str):
            yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


@pytest.mark.parametrize("version", VERSIONS)
def test_small_objects(version):
    known = SIGNATURES[version]
    for table, kind in ((objects.INITIALIZERS, "initializers"), (objects.CONSTRAINTS, "constraints")):
        for name, arguments in table.items():
            assert set(arguments) <= set(known[kind][name]), name
    assert objects.ACTIVATIONS - {"swish"} <= set(known["activations"])
    for name, arguments in training.LOSS_CLASSES.items():
        assert set(arguments) | {"reduction"} <= set(known["losses"][name]), name
    for name, rule in training.RULES.items():
        assert set(rule.keeps) | {"learning_rate", "clipnorm", "global_clipnorm"} <= set(known["optimizers"][name])
