"""The fuzzers on some hundred inputs, and what they once found; `python -m fuzz.config` goes on for hours."""

import copy
import json
import math
import os
import sys
from collections import Counter

import pytest

import unparallel
from fuzz import bytecode, checkpoints, config, container, keras3

from .processes import ROOT

# counted in inputs and not in seconds, so that a busy machine tries the same ones
INPUTS = int(os.environ.get("UNPARALLEL_FUZZ_INPUTS", 200))
SEED = int(os.environ.get("UNPARALLEL_FUZZ_SEED", 0))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux")]

with open(os.path.join(ROOT, "fuzz", "reproducers.json"), encoding="utf-8") as handle:
    FOUND = json.load(handle)


@pytest.mark.timeout(INPUTS + 120)
def test_damaged_files(tmp_path):
    counts = container.run(math.inf, SEED, str(tmp_path / "found"), INPUTS)
    print(counts)
    told = ["{}: {}".format(name, (tmp_path / "found" / name).read_text()) for name in _texts(tmp_path / "found")]
    assert set(counts) <= {"refused", "converted", "crash"}, "\n".join(told)
    assert sum(counts.values()) == INPUTS
    assert counts["refused"] > INPUTS // 10
    assert counts["converted"] > INPUTS // 50


@pytest.mark.timeout(INPUTS + 120)
def test_damaged_checkpoints(tmp_path):
    counts = checkpoints.run(INPUTS, SEED, str(tmp_path / "found"))
    told = ["{}: {}".format(name, (tmp_path / "found" / name).read_text()) for name in _texts(tmp_path / "found")]
    assert set(counts) <= {"refused", "converted"}, "\n".join(told)
    assert counts["refused"] > INPUTS // 10
    assert counts["converted"] > INPUTS // 50


def _texts(folder):
    names = sorted(os.listdir(str(folder))) if folder.exists() else []
    return [name for name in names if name.endswith(".txt") and not name.startswith("crash")]


@pytest.mark.timeout(INPUTS + 120)
def test_changed_configs():
    counts = config.run(math.inf, SEED, most=INPUTS)
    print(dict(counts))
    assert sum(counts.values()) == INPUTS
    assert counts["refused"] > INPUTS // 10
    assert counts["converted"] > INPUTS // 50


@pytest.mark.timeout(INPUTS + 120)
def test_changed_configs_on_their_way_to_keras_3():
    counts = keras3.run(5 * INPUTS, SEED, list(keras3.made_models()), math.inf)
    print(dict(counts))
    assert counts["refused"] > INPUTS
    assert counts["planned"] > INPUTS


def test_bytecode_does_what_is_proven_of_it():
    versions = bytecode.pythons()
    here = {"{}.{}".format(*sys.version_info[:2]): sys.executable}
    counts = bytecode.run(INPUTS, SEED, {**versions, **here})
    print(dict(counts), *versions)
    assert counts["proven"] > INPUTS // 10
    assert counts["unknown"] > INPUTS // 10


def test_a_proof_that_the_code_does_not_keep_is_seen():
    case = next(case for case in bytecode.functions(sys.executable, SEED, INPUTS) if bytecode.check(case) == "proven")
    case["rows"][-1] = [[number + 1 for number in case["rows"][-1][0]]]
    with pytest.raises(AssertionError, match="a batch of 13"):
        bytecode.check(case)


def no_class_name(config):
    del config["class_name"]


def a_name_that_is_no_text(config):
    config["config"]["name"] = {"name": "x"}


def a_layer_config_that_is_a_list(config):
    template = next(layer for layer in config["config"]["layers"] if layer["class_name"] == "Model")
    template["config"]["layers"][1]["config"] = [template["config"]["layers"][1]["config"]]


def a_batch_size_that_is_a_list(config):
    template = next(layer for layer in config["config"]["layers"] if layer["class_name"] == "Model")
    template["config"]["layers"][0]["config"]["batch_input_shape"] = [[None], 8, 8, 3]


def an_output_that_is_not_there(config):
    config["config"]["output_layers"] = [["label", 0, 2]]


def an_input_that_is_the_merge(config):
    config["config"]["input_layers"] = [["image", 0, 0], ["label", 0, 0]]


def a_tensor_object_without_a_config(config):
    config["config"]["layers"][1]["inbound_nodes"] = [[{"class_name": "__keras_tensor__", "config": []}]]


def an_output_of_the_template_that_is_not_there(config):
    config["config"]["layers"][-1]["inbound_nodes"] = [[["digits", 1, 9, {}], ["digits", 2, 9, {}]]]


CHANGES = [
    no_class_name,
    a_layer_config_that_is_a_list,
    a_name_that_is_no_text,
    a_batch_size_that_is_a_list,
    an_output_that_is_not_there,
]
CHANGES += [an_input_that_is_the_merge, a_tensor_object_without_a_config, an_output_of_the_template_that_is_not_there]


@pytest.mark.parametrize("change", CHANGES)
def test_configs_that_were_foreign_exceptions_once(tmp_path, change):
    (file,) = [file for file in config.FILES if "k224-cnn" in file.path]
    changed = copy.deepcopy(file.config)
    change(changed)
    config.check(file, changed, str(tmp_path), Counter())


@pytest.mark.parametrize("case", FOUND, ids=lambda case: "{}-{}".format(case["how"], min(case["bytes"])))
def test_what_broke_hdf5_costs_one_file_at_most(tmp_path, case):
    with open(os.path.join(ROOT, case["from"]), "rb") as handle:
        data = bytearray(handle.read())
    for place, value in case["bytes"].items():
        data[int(place)] = value
    (tmp_path / "damaged.h5").write_bytes(bytes(data))
    with open(os.path.join(ROOT, case["from"]), "rb") as handle:
        (tmp_path / "sound.h5").write_bytes(handle.read())
    files = [tmp_path / "damaged.h5", tmp_path / "sound.h5"]
    outcomes = {os.path.basename(found.source): found for found in unparallel.convert_many(files, tmp_path / "out")}
    assert outcomes["sound.h5"].status == "converted"
    damaged = outcomes["damaged.h5"]
    if case["how"] == "hang":  # this we see coming; crashes are HDF5's to mend, and newer ones have
        assert "damaged HDF5" in damaged.reason
    if damaged.status != "converted":
        assert damaged.status in ("failed", "refused")
        assert damaged.hint
        assert os.listdir(str(tmp_path / "out")) == ["sound.h5"]
