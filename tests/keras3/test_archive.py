"""The file itself: a zip of stored members that HDF5 reads too, equal bytes from equal input, whole or not at all."""

import contextlib
import dataclasses
import glob
import io
import json
import os
import zipfile

import h5py
import numpy as np
import pytest

import unparallel
from unparallel.cli import main
from unparallel.errors import Keras3Error, NeedsArchitectureError, UnparallelError, VerificationError
from unparallel.keras3 import archive as archives
from unparallel.keras3.values import Outlook

from .. import tiny
from .models import functional, layer, source

KERNEL = np.arange(15, dtype="float32").reshape(5, 3)
BIAS = np.array([0.5, -1, 2], dtype="float32")


def write_file(path, layers, arrays, outputs=("it",), version="2.2.4", **attributes):
    """A file as Keras 2.2.4 lays it out."""
    with h5py.File(str(path), "w") as handle:
        handle.attrs["model_config"] = json.dumps(functional(layers, outputs)).encode()
        for name, value in attributes.items():
            handle.attrs[name] = json.dumps(value).encode()
        for place in (handle, handle.require_group("model_weights")):
            place.attrs["keras_version"] = version.encode()
            place.attrs["backend"] = b"tensorflow"
        group = handle["model_weights"]
        group.attrs["layer_names"] = np.array([item["name"].encode() for item in layers])
        for item in layers:
            own = group.create_group(item["name"])
            names = [f"{item['name']}/{i}:0".encode() for i in range(len(arrays.get(item["name"], ())))]
            own.attrs["weight_names"] = np.array(names) if names else np.zeros(0)
            for name, array in zip(names, arrays.get(item["name"], ())):
                own[name.decode()] = array
    return str(path)


def dense(tmp_path, **config):
    it = layer("Dense", dict({"units": 3, "use_bias": True, "activation": "linear"}, **config))
    return write_file(tmp_path / "model.h5", [source(), it], {"it": (KERNEL, BIAS)})


def weights_of(path):
    with zipfile.ZipFile(path) as found, h5py.File(io.BytesIO(found.read("model.weights.h5")), "r") as handle:
        made = {}
        handle.visititems(lambda name, item: made.update({name: item[()]} if isinstance(item, h5py.Dataset) else {}))
        return made


def test_members_and_arrays(tmp_path):
    target = str(tmp_path / "clean.keras")
    done = unparallel.convert(dense(tmp_path), target)
    with zipfile.ZipFile(target) as found:
        assert found.testzip() is None
        assert {info.compress_type for info in found.infolist()} == {zipfile.ZIP_STORED}
        assert sorted(found.namelist()) == ["config.json", "metadata.json", "model.weights.h5"]
        assert json.loads(found.read("config.json"))["class_name"] == "Functional"
    made = weights_of(target)
    assert sorted(made) == ["layers/dense/vars/0", "layers/dense/vars/1"]
    np.testing.assert_array_equal(made["layers/dense/vars/0"], KERNEL)
    np.testing.assert_array_equal(made["layers/dense/vars/1"], BIAS)
    assert done.verified
    assert done.keras3.possible


def test_an_archive_as_source_is_named_as_what_it_is(tmp_path, capsys):
    # its weights begin at byte 512, where HDF5 looks too
    made = str(tmp_path / "clean.keras")
    assert main([os.path.join(FIXTURES, "k224-cnn", "parallel.h5"), "-o", made]) == 0
    capsys.readouterr()
    assert main([made]) == 1
    assert "a zip archive, such as the .keras file of Keras 3" in capsys.readouterr().err


def test_scaled_numbers_are_in_the_file(tmp_path):
    target = str(tmp_path / "clean.keras")
    unparallel.convert(dense(tmp_path, activation="hard_sigmoid"), target)
    np.testing.assert_allclose(weights_of(target)["layers/dense/vars/0"], KERNEL * np.float32(1.2), rtol=1e-7)


def test_a_parallel_file_gives_its_template(tmp_path):
    template = tiny.TinyModel("template", (tiny.entry("x", 3), tiny.dense("fc", "x", seed=4)), ("x",), ("fc",))
    old = tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2))
    done = unparallel.convert(old, str(tmp_path / "clean.keras"))
    assert (done.template, [wrapper.replicas for wrapper in done.wrappers]) == ("template", [2])
    kernel, bias = (array for _, array in template.layers[1].weights())
    made = weights_of(str(tmp_path / "clean.keras"))
    np.testing.assert_array_equal(made["layers/dense/vars/0"], kernel)
    np.testing.assert_array_equal(made["layers/dense/vars/1"], bias)


def test_equal_bytes_from_equal_input(tmp_path):
    made = [str(tmp_path / name) for name in ("a.keras", "b.keras")]
    old = dense(tmp_path, activation="hard_sigmoid")
    for target in made:
        unparallel.convert(old, target)
    with open(made[0], "rb") as one, open(made[1], "rb") as other:
        assert one.read() == other.read()


def test_the_command_and_its_facts(tmp_path, capsys):
    old = dense(tmp_path, activation="hard_sigmoid")
    assert main([old, "-o", str(tmp_path / "clean.keras"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["keras3"]
    assert [note["kind"] for note in facts["notes"]] == ["scaled"]
    assert facts["notes"][0]["layer"] == "it"
    assert main([old, "-o", str(tmp_path / "clean.keras")]) == 1
    assert "exists" in capsys.readouterr().err


def test_inspect_says_it_layer_by_layer(tmp_path, capsys):
    layers = [
        source(),
        layer("Dense", {"units": 3, "use_bias": True, "activation": "linear"}, name="fc"),
        layer("Lambda", {"function": ["4wE=", None, None], "function_type": "lambda"}, (), "odd", (("fc",),)),
        layer("ThresholdedReLU", {"theta": 1.0}, (), "it", (("odd",),)),
    ]
    old = write_file(tmp_path / "model.h5", layers, {"fc": (KERNEL, BIAS)})
    assert main([old, "--json"]) == 3
    far = json.loads(capsys.readouterr().out)["keras3"]
    assert not far["possible"]
    assert "'odd'" in far["problem"]
    assert [(item["name"], item["becomes"], bool(item["problem"])) for item in far["layers"]] == [
        ("x", ["InputLayer"], False),
        ("fc", ["Dense"], False),
        ("odd", [], True),
        ("it", ["ReLU"], False),
    ]
    assert main([old]) == 3
    said = capsys.readouterr().out
    assert "keras 3:   no: layer 'odd' (Lambda)" in said
    (line,) = [line for line in said.splitlines() if line.startswith("  odd: ")]
    assert line.startswith("  odd: no: ")
    assert "layer 'odd'" not in line
    assert "it: ThresholdedReLU becomes ReLU" in said
    with pytest.raises(Keras3Error, match="'odd'"):
        unparallel.convert(old, str(tmp_path / "clean.keras"))
    assert os.listdir(str(tmp_path)) == ["model.h5"]


FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fixtures")
FILES = sorted(glob.glob(os.path.join(FIXTURES, "*", "*.h5")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: os.path.relpath(path, FIXTURES))
@pytest.mark.filterwarnings("ignore::unparallel.UnparallelWarning")
def test_inspect_says_what_convert_will_say(tmp_path, path):
    far = unparallel.inspect(path).keras3
    try:
        converted = unparallel.convert(path, str(tmp_path / "clean.keras")).keras3
    except UnparallelError as error:
        converted = Outlook(False, error.message, error.hint)
    with h5py.File(path, "r") as handle:
        without_config = "model_config" not in handle.attrs
    assert (far is None) == without_config
    assert without_config or dataclasses.replace(far, layers=()) == converted


def test_one_line_where_only_the_archive_opens_in_keras_3(capsys):
    main([os.path.join(FIXTURES, "k231-around", "parallel.h5")])
    *_, last = capsys.readouterr().out.splitlines()
    assert last == (
        "opens in:  Keras 2.3.1, tf_keras (pip install tf_keras), Keras 3 as .keras (-o NAME.keras); "
        "as .h5 not in Keras 3: a model inside the model"
    )


def test_of_what_is_refused_the_reason_is_said_once(capsys):
    main([os.path.join(FIXTURES, "k224-siamese", "model.h5")])
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "keras 3:   no, for the same reason"


def test_a_weights_file_needs_its_architecture(tmp_path):
    full = dense(tmp_path)
    weights = str(tmp_path / "weights.h5")
    with h5py.File(full, "r") as old, h5py.File(weights, "w") as new:
        for name in old["model_weights"]:
            old.copy(f"model_weights/{name}", new)
        for name, value in old["model_weights"].attrs.items():
            new.attrs[name] = value
    with pytest.raises(NeedsArchitectureError, match="config"):
        unparallel.convert(weights, str(tmp_path / "clean.keras"))
    unparallel.convert(weights, str(tmp_path / "clean.keras"), architecture=full)
    np.testing.assert_array_equal(weights_of(str(tmp_path / "clean.keras"))["layers/dense/vars/0"], KERNEL)
    other = functional([source(), layer("Dense", {"units": 4}, name="another")], ("another",))
    with pytest.raises(UnparallelError, match="'another'"):
        unparallel.convert(weights, str(tmp_path / "other.keras"), architecture=other)


def test_strict_refuses_what_only_its_owner_has(tmp_path):
    old = write_file(tmp_path / "model.h5", [source(), layer("OddScale", {"units": 3})], {"it": (KERNEL, BIAS)})
    with pytest.raises(Keras3Error, match="OddScale"):
        unparallel.convert(old, str(tmp_path / "clean.keras"), strict=True)
    done = unparallel.convert(old, str(tmp_path / "clean.keras"))
    assert any('custom_objects={"OddScale": OddScale}' in warning for warning in done.warnings)


def test_activation_on_the_command_line(tmp_path, capsys):
    old = dense(tmp_path, activation="<lambda>")
    target = str(tmp_path / "clean.keras")
    assert main([old, "-o", target]) == 1
    assert "--activation '<lambda>=NAME'" in capsys.readouterr().err
    meaning = '<lambda>={"class_name": "ReLU", "config": {"max_value": 20}}'
    assert main([old, "-o", target, "--activation", meaning]) == 0
    assert "as you said" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([old, "-o", target, "--activation", "nonsense"])


@pytest.mark.slow
def test_a_batch(tmp_path, capsys):
    (tmp_path / "old" / "deep").mkdir(parents=True)
    dense(tmp_path / "old")
    dense(tmp_path / "old" / "deep", activation="tanh")
    words = [str(tmp_path / "old"), "-o", str(tmp_path / "new"), "--to", "keras", "--report", str(tmp_path / "r.json")]
    assert main(words) == 0
    assert zipfile.is_zipfile(str(tmp_path / "new" / "model.keras"))
    assert zipfile.is_zipfile(str(tmp_path / "new" / "deep" / "model.keras"))
    capsys.readouterr()
    assert main(words) == 0
    assert "done before" in capsys.readouterr().out


def test_a_changed_byte_is_found(tmp_path, monkeypatch):
    finish = archives._finish

    def spoil(path, archive):
        with open(path, "r+b") as handle:
            data = handle.read()
            handle.seek(data.index(KERNEL[2].tobytes()))
            handle.write(b"\xff")
        finish(path, archive)

    monkeypatch.setattr(archives, "_finish", spoil)
    with pytest.raises(VerificationError, match="not copied faithfully"):
        unparallel.convert(dense(tmp_path), str(tmp_path / "clean.keras"))
    assert os.listdir(str(tmp_path)) == ["model.h5"]


def test_a_changed_number_that_was_made_is_found(tmp_path, monkeypatch):
    put = archives.hdf5.Target.put
    monkeypatch.setattr(archives.hdf5.Target, "put", lambda self, path, values: put(self, path, values * 2))
    with pytest.raises(VerificationError, match="is not what was to be made"):
        unparallel.convert(dense(tmp_path, activation="hard_sigmoid"), str(tmp_path / "clean.keras"))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_numbers_that_json_has_not(tmp_path, value):
    old = write_file(tmp_path / "model.h5", [source(), layer("LeakyReLU", {"alpha": "@"})], {})
    with h5py.File(old, "r+") as handle:
        text = handle.attrs["model_config"]
        text = text.encode() if isinstance(text, str) else text
        handle.attrs["model_config"] = text.replace(b'"@"', value.encode())
    with pytest.raises(UnparallelError, match="not a finite number|makes no sense"):
        unparallel.convert(old, str(tmp_path / "clean.keras"))
    assert os.listdir(str(tmp_path)) == ["model.h5"]


HOSTILE = {
    "a shape of nonsense": layer("Conv2D", {"filters": 3, "kernel_size": "no", "use_bias": False}),
    "a kernel of a great size": layer(
        "LocallyConnected1D",
        {"filters": 3, "kernel_size": [10**12], "strides": [1], "padding": "valid", "use_bias": True},
    ),
    "an axis of another kind": layer("BatchNormalization", {"axis": {"deep": []}}),
    "a size of nonsense": layer("UpSampling2D", {"size": [10**9, -1], "interpolation": "bilinear"}),
    "a wrapper of nothing": layer("TimeDistributed", {"layer": None}),
    "a wrapper of a number": layer("Bidirectional", {"layer": 7}),
    "cells of nonsense": layer("RNN", {"cell": {"class_name": "StackedRNNCells", "config": {"cells": [7]}}}),
    "an activation of another kind": layer("Dense", {"units": 3, "activation": [1]}),
    "a list of reshapes": layer("Reshape", {"target_shape": "x"}),
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_hostile_configs(tmp_path, kind):
    it = HOSTILE[kind]
    arrays = {"it": ()} if it["class_name"] in ("UpSampling2D", "Reshape") else {"it": (KERNEL[None], BIAS)}
    old = write_file(tmp_path / "model.h5", [source(shape=(None, 5, 3)), it], arrays)
    target = str(tmp_path / "clean.keras")
    with contextlib.suppress(UnparallelError):
        unparallel.convert(old, target)
    made = sorted(os.listdir(str(tmp_path)))
    assert made == ["model.h5"] or (made == ["clean.keras", "model.h5"] and zipfile.is_zipfile(target))
    unparallel.inspect(old)


#: /layers/time_distributed, a group for each layer in it, vars and 0: paths of 64 names are the longest that are read.
MOST_WRAPPERS = 60


@pytest.mark.parametrize("depth", [MOST_WRAPPERS, MOST_WRAPPERS + 1, 140])
def test_deep_wrappers(tmp_path, depth):
    inner = {"class_name": "Dense", "config": {"units": 3, "name": "d"}}
    for i in range(depth):
        inner = {"class_name": "TimeDistributed", "config": {"layer": inner, "name": f"t{i}"}}
    layers = [source(), dict(layer("TimeDistributed"), config=inner["config"], name=f"t{depth - 1}")]
    old = write_file(tmp_path / "model.h5", layers, {f"t{depth - 1}": (KERNEL, BIAS)}, (f"t{depth - 1}",))
    if depth <= MOST_WRAPPERS:
        unparallel.convert(old, str(tmp_path / "clean.keras"))
    else:
        with pytest.raises(Keras3Error, match="layers inside each other"):
            unparallel.convert(old, str(tmp_path / "clean.keras"))
        assert not unparallel.inspect(old).keras3.possible


@pytest.mark.parametrize(
    ("activation", "since"), [("tanh", "3.4"), ("hard_sigmoid", "3.11"), ({"class_name": "LeakyReLU"}, "3.11")]
)
def test_where_it_opens(tmp_path, activation, since):
    arrays = (np.zeros((3, 8), "f"), np.zeros((2, 8), "f"), np.zeros(8, "f"))
    it = layer("LSTM", {"units": 2, "activation": activation, "recurrent_activation": "sigmoid", "use_bias": True})
    old = write_file(tmp_path / "model.h5", [source(shape=(None, 5, 3)), it], {"it": arrays})
    done = unparallel.convert(old, str(tmp_path / "clean.keras"))
    assert done.opens_in == f"Keras {since} and later, on any of its backends"
    assert any("Keras 3.11 and later" in warning for warning in done.warnings) == (since == "3.11")


def test_check_without_keras_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("unparallel.keras3.trial.PROGRAM", "raise SystemExit(7)")
    done = unparallel.convert(dense(tmp_path), str(tmp_path / "clean.keras"), check=True)
    assert "not checked: Keras 3 is not installed here" in done.notes


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("print('ValueError: no'); raise SystemExit(8)", "ValueError: no"),
        ("import os; os.abort()", "the process ended with"),
    ],
)
def test_a_failed_check_leaves_nothing(tmp_path, monkeypatch, program, says):
    monkeypatch.setattr("unparallel.keras3.trial.PROGRAM", program)
    with pytest.raises(VerificationError, match=says):
        unparallel.convert(dense(tmp_path), str(tmp_path / "clean.keras"), check=True)
    assert os.listdir(str(tmp_path)) == ["model.h5"]


def test_check_is_for_keras_3(tmp_path):
    with pytest.raises(UnparallelError, match="--check is for .keras"):
        unparallel.convert(dense(tmp_path), str(tmp_path / "clean.h5"), check=True)
