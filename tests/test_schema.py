"""The schema names every field of what is printed: who adds a field must say so to programs."""

import json
import os
from dataclasses import fields

import pytest

import unparallel
from unparallel import comparison, results
from unparallel.jobs.outcome import Outcome
from unparallel.keras3.values import LayerOutlook, Note, Outlook
from unparallel.weights.health import NonFinite

with open(os.path.join(os.path.dirname(unparallel.__file__), "schema.json"), encoding="utf-8") as _handle:
    DEFINITIONS = json.load(_handle)["definitions"]

HEAD = {"format", "kind", "unparallel"}
# (definition, class, what the document has besides, what it leaves out)
DOCUMENTS = [
    ("inspection", results.Inspection, HEAD, {"drawn"}),
    ("conversion", results.Conversion, HEAD, {"drawn"}),
    ("comparison", comparison.Comparison, HEAD | {"equal"}, set()),
    ("outcome", Outcome, set(), {"picture"}),
    ("wrapper", results.WrapperFacts, set(), set()),
    ("layer", results.LayerFacts, set(), set()),
    ("non_finite", NonFinite, set(), set()),
    ("compared_file", comparison.ComparedFile, set(), set()),
    ("difference", comparison.Difference, set(), set()),
    ("array_difference", comparison.ArrayDifference, set(), set()),
    ("outlook", Outlook, set(), set()),
    ("note", Note, set(), set()),
    ("layer_outlook", LayerOutlook, set(), set()),
]


@pytest.mark.parametrize(("name", "kind", "more", "less"), DOCUMENTS, ids=[item[0] for item in DOCUMENTS])
def test_every_field_is_in_the_schema(name, kind, more, less):
    names = set(getattr(kind, "_fields", None) or [item.name for item in fields(kind)])
    assert set(DEFINITIONS[name]["properties"]) == (names - less) | more
    assert DEFINITIONS[name]["additionalProperties"] is False
