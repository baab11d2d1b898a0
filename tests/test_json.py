"""Every JSON that is printed or written keeps to schema.json, which is in the package."""

import json
import os
import shutil

import h5py
import pytest

import unparallel
from unparallel.cli import main

jsonschema = pytest.importorskip("jsonschema")

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")
with open(os.path.join(os.path.dirname(unparallel.__file__), "schema.json"), encoding="utf-8") as _handle:
    SCHEMA = json.load(_handle)
CNN = os.path.join(FIXTURES, "k224-cnn", "parallel.h5")
SIAMESE = os.path.join(FIXTURES, "k224-siamese", "model.h5")


def strict(text):
    """The document, if it is JSON as all programs read it, and as the schema has it."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    value = json.loads(text, parse_constant=refuse)
    jsonschema.validate(value, SCHEMA)
    return value


def printed(capsys, *words):
    code = main([*words, "--json"])
    return code, strict(capsys.readouterr().out)


@pytest.fixture
def broken(tmp_path):
    path = str(tmp_path / "broken.h5")
    shutil.copy(CNN, path)
    with h5py.File(path, "r+") as handle:
        handle["model_weights/digits/norm/moving_mean:0"][...] = float("nan")
    return path


def test_the_schema_is_one():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(os.listdir(FIXTURES)))
def test_inspections(name, capsys):
    folder = os.path.join(FIXTURES, name)
    for path in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if path.endswith(".h5"):
            _, value = printed(capsys, os.path.join(folder, path))
            assert value["kind"] == "inspection"


def test_a_conversion(tmp_path, broken, capsys):
    code, value = printed(capsys, broken, "-o", str(tmp_path / "clean.h5"), "--reset-batchnorm")
    assert (code, value["kind"], len(value["reset"])) == (0, "conversion", 1)


@pytest.mark.parametrize(
    ("source", "error", "exit_code"),
    [
        (SIAMESE, "NotParallelError", 1),
        (os.path.join(FIXTURES, "k224-plain", "model.h5"), "AlreadySingleError", 3),
        ("nowhere.h5", "MissingFileError", 1),
    ],
)
def test_a_refusal_is_on_standard_output_too(tmp_path, capsys, source, error, exit_code):
    code = main([source, "-o", str(tmp_path / "clean.h5"), "--json"])
    said = capsys.readouterr()
    value = strict(said.out)
    assert code == value["exit_code"] == exit_code
    assert (value["kind"], value["error"], value["source"]) == ("failure", error, source)
    assert f"unparallel: {source}: {value['reason']}\nhint: {value['hint']}\n" == said.err


def test_a_batch_and_its_report(tmp_path, capsys):
    report = str(tmp_path / "report.json")
    words = [CNN, SIAMESE, "-o", str(tmp_path / "clean"), "--report", report]
    code, value = printed(capsys, *words)
    assert (code, value["kind"]) == (1, "batch")
    with open(report, encoding="utf-8") as handle:
        assert strict(handle.read()) == value
    facts = {outcome["status"]: outcome for outcome in value["outcomes"]}
    assert (facts["converted"]["template"], facts["converted"]["replicas"], facts["converted"]["layers"]) == (
        "digits",
        2,
        7,
    )
    assert facts["refused"]["parameters"] == 22
    # what is done before keeps its facts
    _, again = printed(capsys, *words)
    (skipped,) = [outcome for outcome in again["outcomes"] if outcome["status"] == "skipped"]
    assert (skipped["template"], skipped["parameters"]) == ("digits", 133)


def test_a_survey(broken, capsys):
    code, value = printed(capsys, broken, SIAMESE)
    assert (code, value["kind"]) == (0, "survey")
    assert [outcome["non_finite"] for outcome in value["outcomes"] if outcome["status"] == "parallel"] == [1]


def test_a_comparison(tmp_path, broken, capsys):
    code, value = printed(capsys, "--diff", CNN, broken)
    assert (code, value["equal"], value["weights"][0]["largest"]) == (1, False, None)


def test_collected_outcomes(tmp_path):
    outcomes = unparallel.Outcomes(unparallel.convert_many([CNN, SIAMESE], tmp_path / "clean"))
    value = strict(json.dumps(outcomes.to_dict()))
    assert value["counts"] == {"converted": 1, "single": 0, "skipped": 0, "refused": 1, "failed": 0}
