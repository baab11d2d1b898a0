"""Weights files of a wrapper: with an architecture, and with nothing but names."""

import json
import os
import threading

import h5py
import numpy as np
import pytest

import unparallel
from unparallel import cli
from unparallel.errors import FileError, NeedsArchitectureError, UnparallelError, WeightsError

from . import tiny
from .same import differences


@pytest.fixture
def template():
    layers = (
        tiny.entry("x", 3),
        tiny.dense("dense_1", "x", 3, 4, seed=1),
        tiny.batchnorm("middle", "dense_1", 4, seed=2),
        tiny.dense("dense_2", "middle", 4, 2, seed=3),
    )
    return tiny.TinyModel("net", layers, ("x",), ("dense_2",))


@pytest.fixture
def weights_file(tmp_path, template):
    return tiny.save(tmp_path / "weights.h5", tiny.parallel(template, 2), form="weights")


def json_file(path, model):
    # what to_json() adds to the config
    path.write_text(json.dumps(dict(model.config(), keras_version="2.2.4", backend="tensorflow")))
    return path


def architectures(folder, template):
    wrapped = tiny.parallel(template, 2)
    yield template.config()
    yield json_file(folder / "template.json", template)
    yield json_file(folder / "parallel.json", wrapped)
    yield tiny.save(folder / "full_template.h5", template)
    yield tiny.save(folder / "full_parallel.h5", wrapped)
    # another session numbers the slices otherwise: the template inside is what counts
    yield json_file(folder / "other.json", tiny.parallel(template, 4))


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("weights_only", [False, True])
def test_with_an_architecture_of_any_kind(tmp_path, template, weights_file, which, weights_only):
    architecture = list(architectures(tmp_path, template))[which]
    made = str(tmp_path / "made.h5")
    unparallel.convert(weights_file, made, architecture=architecture, weights_only=weights_only)
    gold = tiny.save(tmp_path / "gold.h5", template, form="weights" if weights_only else "model")
    assert list(differences(gold, made)) == []


def test_names_alone_never_decide_in_silence(tmp_path, weights_file):
    read = (
        r"only names tell the layers of 'net': dense_1 \(2\), middle \(4\), dense_2 \(2\); names cannot show a nested"
    )
    with pytest.raises(NeedsArchitectureError, match=read) as caught:
        unparallel.convert(weights_file, tmp_path / "made.h5")
    assert "--architecture FILE" in caught.value.hint
    assert "--by-names (by_names=True) accepts this reading" in caught.value.hint
    assert not (tmp_path / "made.h5").exists()
    seen = unparallel.inspect(weights_file)
    assert (seen.verdict, seen.hint) == ("refused", caught.value.hint)
    assert unparallel.inspect(weights_file, by_names=True).verdict == "parallel"
    assert cli.main([weights_file, "-o", str(tmp_path / "made.h5")]) == 1
    assert cli.main([weights_file, "-o", str(tmp_path / "made.h5"), "--by-names"]) == 0


def test_with_names_alone(tmp_path, template, weights_file):
    made = str(tmp_path / "made.h5")
    done = unparallel.convert(weights_file, made, by_names=True)
    assert (done.form, done.template, done.layers) == ("weights", "", 3)
    (warning,) = done.warnings
    assert (
        "no layer is frozen, no model is nested in the template and each layer is called as its weights are" in warning
    )
    assert "as far as names tell; --architecture makes sure" in warning
    with h5py.File(made, "r") as handle:
        assert [bytes(name) for name in handle.attrs["layer_names"]] == [b"dense_1", b"middle", b"dense_2"]
        for layer in template.layers[1:]:
            names = [bytes(name).decode() for name in handle[layer.name].attrs["weight_names"]]
            assert names == [name for name, _ in layer.weights()]
            for name, array in layer.weights():
                assert np.array_equal(handle[layer.name][name][()], array)


@pytest.mark.parametrize("architecture", [False, True])
def test_weights_of_a_single_model_are_exit_3(tmp_path, template, architecture):
    source = tiny.save(tmp_path / "single.h5", template, form="weights")
    with pytest.raises(unparallel.AlreadySingleError, match="nothing to undo") as caught:
        unparallel.convert(source, tmp_path / "made.h5", architecture=template.config() if architecture else None)
    assert caught.value.exit_code == 3


def test_another_architecture_names_the_layer(tmp_path, template, weights_file):
    wide = template._replace(layers=template.layers[:3] + (tiny.dense("dense_2", "middle", 4, units=7),))
    with pytest.raises(WeightsError, match=r"weights.h5: .*'dense_2'.*7.*2"):
        unparallel.convert(weights_file, tmp_path / "made.h5", architecture=wide.config())
    more = template._replace(layers=(*template.layers, tiny.dense("extra", "dense_2", 2)), outputs=("extra",))
    with pytest.raises(WeightsError, match="extra"):
        unparallel.convert(weights_file, tmp_path / "made.h5", architecture=more.config())
    assert not (tmp_path / "made.h5").exists()


def test_what_is_no_architecture_is_named(tmp_path, weights_file):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "model.yaml").write_text("backend: tensorflow\nclass_name: Model\nconfig:\n  layers: []\n")
    (tmp_path / "printed.txt").write_text("{'class_name': 'Model', 'config': {}}")
    (tmp_path / "config.json").write_text('{"name": "m", "layers": [], "input_layers": [], "output_layers": []}')
    (tmp_path / "sequential.json").write_text('[{"class_name": "Dense", "config": {}}]')
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\0")
    (tmp_path / "other.json").write_text('{"class_name": "Dense", "config": {}}')
    for name, says in [
        ("broken.json", "broken.json: the architecture is not JSON"),
        ("model.yaml", "model.yaml: YAML, as to_yaml\\(\\) writes it"),
        ("printed.txt", "printed.txt: the text of a Python dict"),
        ("config.json", "config.json: get_config\\(\\) of a model"),
        ("sequential.json", "sequential.json: get_config\\(\\) of a model"),
        ("binary.json", "binary.json: neither JSON nor HDF5"),
        ("other.json", "no functional or Sequential model"),
        ("missing.json", "missing.json: No such file"),
        ("weights.h5", "weights only, no architecture in it"),
    ]:
        with pytest.raises(UnparallelError, match=says) as caught:
            unparallel.convert(weights_file, tmp_path / "made.h5", architecture=tmp_path / name)
        assert caught.value.hint


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_json_with_a_byte_order_mark_is_read(tmp_path, template, weights_file, encoding):
    text = json.dumps(template.config())
    text = "\ufeff" + text if encoding == "utf-16-le" else text
    (tmp_path / "model.json").write_bytes(text.encode(encoding))
    unparallel.convert(weights_file, tmp_path / "made.h5", architecture=tmp_path / "model.json")
    assert list(differences(tiny.save(tmp_path / "gold.h5", template), str(tmp_path / "made.h5"))) == []


def test_json_that_was_dumped_twice_is_read(tmp_path, template, weights_file):
    (tmp_path / "twice.json").write_text(json.dumps(json.dumps(template.config())))
    unparallel.convert(weights_file, tmp_path / "made.h5", architecture=tmp_path / "twice.json")
    assert list(differences(tiny.save(tmp_path / "gold.h5", template), str(tmp_path / "made.h5"))) == []


def test_a_frozen_layers_place_is_unknown_to_names_and_known_to_the_architecture(tmp_path, template):
    frozen = template._replace(
        layers=(template.layers[0], tiny.dense("dense_1", "x", 3, 4, trainable=False, seed=1), *template.layers[2:])
    )
    source = tiny.save(tmp_path / "weights.h5", tiny.parallel(frozen, 2), form="weights")
    with pytest.raises(NeedsArchitectureError, match="dense_1") as caught:
        unparallel.convert(source, tmp_path / "made.h5")
    assert "--architecture" in caught.value.hint
    unparallel.convert(source, tmp_path / "made.h5", architecture=frozen.config())
    assert list(differences(tiny.save(tmp_path / "gold.h5", frozen), str(tmp_path / "made.h5"))) == []


def test_an_architecture_with_other_flags_than_the_save_had(tmp_path, template):
    # the first layer was frozen when the weights were saved
    first = tiny.dense("dense_1", "x", 3, 4, trainable=False, seed=1)
    frozen = template._replace(layers=(template.layers[0], first, *template.layers[2:]))
    source = tiny.save(tmp_path / "weights.h5", tiny.parallel(frozen, 2), form="weights")
    layers = (template.layers[0], first._replace(config=template.layers[1].config), *template.layers[2:])
    thawed = template._replace(layers=layers)
    done = unparallel.convert(source, tmp_path / "made.h5", architecture=thawed.config())
    assert list(differences(tiny.save(tmp_path / "gold.h5", thawed), str(tmp_path / "made.h5"))) == []
    assert any("other layers were frozen when the weights were saved" in note for note in done.notes)
    done = unparallel.convert(source, tmp_path / "own.h5", architecture=frozen.config())
    assert not any("frozen" in note for note in done.notes)


def test_names_that_were_swapped_are_not_believed(tmp_path, weights_file):
    with h5py.File(weights_file, "r+") as handle:
        names = list(handle["net"].attrs["weight_names"])
        one, other = names.index(b"dense_1/kernel:0"), names.index(b"dense_2/kernel:0")
        names[one], names[other] = names[other], names[one]
        handle["net"].attrs["weight_names"] = np.array(names)
    with pytest.raises(UnparallelError, match="dense_1|dense_2"):
        unparallel.convert(weights_file, tmp_path / "made.h5")


def test_a_file_without_versions_is_read(tmp_path, template, weights_file):
    with h5py.File(weights_file, "r+") as handle:
        del handle.attrs["keras_version"]
        del handle.attrs["backend"]
    unparallel.convert(weights_file, tmp_path / "made.h5", architecture=template.config())
    with h5py.File(str(tmp_path / "made.h5"), "r") as made:
        assert sorted(made.attrs) == ["model_config"]


def test_keras_1_names(tmp_path):
    """Keras 1 joins layer and role with an underscore, and has its own roles."""
    weights = [("fc_1_W:0", (3, 4)), ("fc_1_b:0", (4,)), ("out_W:0", (4, 2)), ("out_b:0", (2,))]
    source = str(tmp_path / "weights.h5")
    with h5py.File(source, "w") as handle:
        names = ["input_1", "lambda_1", "lambda_2", "model_1", "merge_1"]
        handle.attrs["layer_names"] = np.array(names, dtype="S")
        for name in names:
            group = handle.create_group(name)
            own = weights if name == "model_1" else []
            group.attrs["weight_names"] = np.array([n for n, _ in own], dtype="S" if own else "float64")
            for weight, shape in own:
                group.create_dataset(weight, data=np.ones(shape, "float32"))
    unparallel.convert(source, tmp_path / "made.h5", by_names=True)
    with h5py.File(str(tmp_path / "made.h5"), "r") as made:
        assert [bytes(name) for name in made.attrs["layer_names"]] == [b"fc_1", b"out"]
        assert [bytes(name) for name in made["fc_1"].attrs["weight_names"]] == [b"fc_1_W:0", b"fc_1_b:0"]


def test_a_file_without_any_weights_needs_its_architecture(tmp_path):
    model = tiny.TinyModel("net", (tiny.entry("x", 3), tiny.activation("relu", "x")), ("x",), ("relu",))
    source = tiny.save(tmp_path / "weights.h5", tiny.parallel(model, 2), form="weights")
    with pytest.raises(NeedsArchitectureError, match="no weights at all"):
        unparallel.convert(source, tmp_path / "made.h5")
    unparallel.convert(source, tmp_path / "made.h5", architecture=model.config())


def test_an_architecture_is_an_error_where_it_cannot_be_read(tmp_path, weights_file):
    with pytest.raises(FileError):
        unparallel.convert(weights_file, tmp_path / "made.h5", architecture=tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_json_from_a_pipe(tmp_path, template, weights_file):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    text = json.dumps(tiny.parallel(template, 2).config())
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,))
    writer.start()
    assert unparallel.convert(weights_file, tmp_path / "clean.h5", architecture=pipe).template == template.name
    writer.join()
