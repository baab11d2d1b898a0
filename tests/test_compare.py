"""Two files side by side, against files that Keras wrote and differences that were put in by hand."""

import json
import math
import os
import shutil

import h5py
import numpy as np
import pytest

import unparallel
from unparallel.cli import main

from . import tiny

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")


def fixture(*names):
    return os.path.join(FIXTURES, *names)


@pytest.fixture
def pair(tmp_path):
    """The template's file of Keras 2.2.4, twice."""
    paths = [str(tmp_path / name) for name in ("a.h5", "b.h5")]
    for path in paths:
        shutil.copy(fixture("k224-cnn", "template.h5"), path)
    return paths


def with_config(path, change):
    with h5py.File(path, "r+") as handle:
        value = handle.attrs["model_config"]
        config = json.loads(value if isinstance(value, str) else value.decode())
        change(config)
        handle.attrs["model_config"] = json.dumps(config).encode()


@pytest.mark.parametrize(
    "name", ["k224-cnn", "k231-around", "k231-head", "k231-two-outputs", "tf115-nested", "tf23-sequential", "tf25-copy"]
)
def test_a_wrapped_file_is_what_it_would_become(name):
    found = unparallel.compare(fixture(name, "parallel.h5"), fixture(name, "template.h5"))
    assert found.equal
    assert found.a.replicas > 1
    assert found.b.replicas == 0


def test_counts_are_those_of_the_file(pair):
    found = unparallel.compare(*pair)
    # four layers with weights: 2 + 4 + 2 + 2 less the bias that 'stem' lacks; Adam: a count, two slots each, rest
    assert found.arrays == 9
    assert found.optimizer_arrays == 19
    assert not found


def test_a_weights_file_is_compared_by_its_weights(tmp_path):
    found = unparallel.compare(
        fixture("k231-two-outputs", "template.h5"), fixture("k231-two-outputs", "template_weights.h5")
    )
    assert found.equal
    assert found.arrays == 6
    assert found.notes == ("configs and training state are not compared: a weights file holds none",)


def test_values_that_differ_are_counted_and_measured(pair):
    with h5py.File(pair[1], "r+") as handle:
        kernel = handle["model_weights/label/label/kernel:0"]
        values = kernel[...]
        values[0, 0] += 0.5
        values[1, 2] -= 0.25
        kernel[...] = values
    found = unparallel.compare(*pair)
    (item,) = found.weights
    assert (item.layer, item.name, item.reason) == ("label", "label/kernel:0", "values")
    assert (item.different, item.elements) == (2, 12)
    assert item.largest == pytest.approx(0.5, abs=1e-6)
    assert not found.configs
    assert not found.optimizer


def test_nan_equals_nan_and_no_number(pair):
    for path in pair:
        with h5py.File(path, "r+") as handle:
            handle["model_weights/norm/norm/moving_mean:0"][...] = float("nan")
    assert unparallel.compare(*pair).equal
    with h5py.File(pair[1], "r+") as handle:
        handle["model_weights/norm/norm/moving_mean:0"][0] = 1.0
    (item,) = unparallel.compare(*pair).weights
    assert item.different == 1
    assert math.isnan(item.largest)


def test_a_config_value_is_named_by_layer_and_key(pair):
    def change(config):
        config["config"]["layers"][1]["config"]["strides"] = [2, 2]
        config["config"]["layers"][1]["config"]["kernel_initializer"]["config"]["scale"] = 2.0

    with_config(pair[1], change)
    found = unparallel.compare(*pair)
    assert [tuple(item) for item in found.configs] == [
        ("stem", "strides", "[1, 1]", "[2, 2]"),
        ("stem", "kernel_initializer.config.scale", "1.0", "2.0"),
    ]
    assert not found.weights


def test_1_and_1_0_are_one_value_and_true_is_another(pair):
    def change(value):
        return lambda config: config["config"]["layers"][1]["config"].update(odd=value)

    with_config(pair[0], change(1))
    with_config(pair[1], change(1.0))
    assert unparallel.compare(*pair).equal
    with_config(pair[1], change(True))
    assert [tuple(item) for item in unparallel.compare(*pair).configs] == [("stem", "odd", "1", "true")]


def chain(*names):
    layers = [tiny.entry("x", 3)]
    for seed, name in enumerate(names):
        layers.append(tiny.dense(name, layers[-1].name, seed=seed))
    return tiny.TinyModel("m", tuple(layers), ("x",), (names[-1],))


def test_layers_of_one_file_only(tmp_path):
    a = tiny.save(tmp_path / "a.h5", chain("one", "two"))
    b = tiny.save(tmp_path / "b.h5", chain("one", "two", "three"))
    found = unparallel.compare(a, b)
    assert (found.only_in_a, found.only_in_b) == ((), ("three",))


def test_layers_under_other_names_are_paired_in_order(tmp_path):
    a = tiny.save(tmp_path / "a.h5", chain("dense_1", "dense_2"))
    b = tiny.save(tmp_path / "b.h5", chain("dense_3", "dense_4"))
    found = unparallel.compare(a, b)
    assert found.renamed == (("dense_1", "dense_3"), ("dense_2", "dense_4"))
    assert found.arrays == 4
    assert not found.weights
    assert not found.configs
    assert not found.equal


def test_a_wire_that_goes_elsewhere_is_seen(tmp_path):
    other = chain("one", "two")
    layers = (*other.layers[:2], other.layers[2]._replace(inputs=(("x",),)))
    a = tiny.save(tmp_path / "a.h5", chain("one", "two"))
    b = tiny.save(tmp_path / "b.h5", other._replace(layers=layers))
    assert [tuple(item) for item in unparallel.compare(a, b).configs] == [
        ("two", "inputs.0.0", '["one", 0, 0]', '["x", 0, 0]')
    ]


def restored(path, target, **options):
    """A copy of a file with every array stored anew."""
    shutil.copy(path, target)
    with h5py.File(target, "r+") as handle:
        names = []
        handle.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            data = handle[name][...]
            del handle[name]
            handle.create_dataset(name, data=data, **(options if data.ndim == 2 else {}))
    return str(target)


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(700, 30), (7, 1024), (1500, 1024)])
def test_storage_in_chunks_changes_nothing(tmp_path, chunks):
    # a row of chunks is larger than a block, so that one file's blocks come in another order than the other's
    numbers = np.random.RandomState(3)
    weights = (("wide/kernel:0", numbers.rand(1500, 1024).astype("float32")),)
    config = {"name": "wide", "trainable": True, "units": 1024, "use_bias": False}
    layer = tiny.TinyLayer("wide", "Dense", config, (("x",),), weights)
    model = tiny.TinyModel("m", (tiny.entry("x", 1500), layer), ("x",), ("wide",))
    a = tiny.save(tmp_path / "a.h5", model)
    b = restored(a, tmp_path / "b.h5", chunks=chunks, compression="gzip", compression_opts=1)
    assert unparallel.compare(a, b).equal
    with h5py.File(b, "r+") as handle:
        handle["model_weights/wide/wide/kernel:0"][1499, 1023] += 1
    (item,) = unparallel.compare(a, b).weights
    assert (item.different, item.elements) == (1, 1500 * 1024)


def test_byte_order_is_no_difference_and_precision_is_one(pair):
    path = "model_weights/label/label/bias:0"
    with h5py.File(pair[1], "r+") as handle:
        data = handle[path][...]
        del handle[path]
        handle.create_dataset(path, data=data.astype(">f4"))
    assert unparallel.compare(*pair).equal
    with h5py.File(pair[1], "r+") as handle:
        del handle[path]
        handle.create_dataset(path, data=data.astype("float64"))
    (item,) = unparallel.compare(*pair).weights
    assert (item.reason, item.detail) == ("type", "float32 against float64")


def test_the_optimizer_counts(pair):
    with h5py.File(pair[1], "r+") as handle:
        handle["optimizer_weights/training/Adam/Variable_1:0"][...] += 1
    found = unparallel.compare(*pair)
    assert [item.reason for item in found.optimizer] == ["values"]
    with h5py.File(pair[1], "r+") as handle:
        del handle["optimizer_weights"]
    found = unparallel.compare(*pair)
    (item,) = found.optimizer
    assert item.detail == "19 arrays against 0"
    assert str(found).splitlines()[-1] == "verdict:   different in the training state only"


def test_versions_decide_nothing(pair):
    with h5py.File(pair[1], "r+") as handle:
        handle.attrs["keras_version"] = b"2.3.1"
    found = unparallel.compare(*pair)
    assert found.equal
    assert "versions:  2.2.4 (tensorflow) and 2.3.1 (tensorflow), which decides nothing" in str(found)


@pytest.mark.slow
def test_differences_without_end_are_cut(tmp_path):
    a = tiny.save(tmp_path / "a.h5", chain(*[f"a{i}" for i in range(600)]))
    b = tiny.save(tmp_path / "b.h5", chain(*[f"b{i}" for i in range(601)]))
    found = unparallel.compare(a, b)
    assert len(found.only_in_a) == len(found.only_in_b) == 500
    # of 600 and 601 layers that have no partner; the ends of the graph are among the configs
    assert found.left_out == 100 + 101


# -- the command


def test_equal_is_0_and_different_is_1(pair, capsys):
    assert main(["--diff", *pair]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "verdict:   the same model"
    with h5py.File(pair[1], "r+") as handle:
        handle["model_weights/label/label/bias:0"][0] += 1
    assert main(["--diff", *pair]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("--- ")
    assert said[1].startswith("+++ ")
    assert " weight label, label/bias:0: 1 of 3 values differ, by at most 1" in said
    assert said[-1] == "verdict:   different"


def test_json_of_a_comparison(pair, capsys):
    assert main(["--diff", "--json", *pair]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["format"], facts["kind"], facts["equal"], facts["arrays"]) == (1, "comparison", True, 9)


@pytest.mark.parametrize("words", [["a.h5"], ["a.h5", "b.h5", "c.h5"], ["a.h5", "b.h5", "-o", "c.h5"]])
def test_two_files_and_no_target(words):
    with pytest.raises(SystemExit) as caught:
        main(["--diff", *words])
    assert caught.value.code == 2


def test_a_missing_file_is_named(pair, capsys):
    assert main(["--diff", pair[0], "nowhere.h5"]) == 1
    assert "nowhere.h5: No such file" in capsys.readouterr().err
