"""Whole conversions, compared with files that were written without the package."""

import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unparallel
from unparallel.errors import FileError, NotParallelError, TargetExistsError, VerificationError, WeightsError

from . import tiny
from .same import differences


@st.composite
def chains(draw, depth=0, prefix=""):
    """A model of 1 to 6 layers in a row, some frozen, some models themselves."""
    layers = [tiny.entry(prefix + "in", 3)]
    for i in range(draw(st.integers(1, 5))):
        name, before, seed = f"{prefix}l{i}", layers[-1].name, draw(st.integers(0, 999))
        kind = draw(st.sampled_from(["dense", "bn", "act"] + (["model"] if depth < 2 else [])))
        if kind == "dense":
            layers.append(tiny.dense(name, before, trainable=draw(st.booleans()), seed=seed))
        elif kind == "bn":
            layers.append(tiny.batchnorm(name, before, trainable=draw(st.booleans()), seed=seed))
        elif kind == "act":
            layers.append(tiny.activation(name, before))
        else:
            layers.append(tiny.nested(name, before, draw(chains(depth + 1, name))._replace(name=name)))
    outputs = [layer.name for layer in layers[1:] if draw(st.booleans())] or [layers[-1].name]
    if depth:
        outputs = [layers[-1].name]
    return tiny.TinyModel(prefix + "net", tuple(layers), (layers[0].name,), tuple(outputs))


def reachable(model):
    """Without the layers behind the last output: Keras would not list them."""
    last = max(i for i, layer in enumerate(model.layers) if layer.name in model.outputs)
    return model._replace(layers=model.layers[: last + 1])


@given(template=chains(), replicas=st.integers(2, 5), form=st.sampled_from(["model", "weights"]))
def test_wrapping_and_extracting_gives_the_template_back(tmp_path_factory, template, replicas, form):
    folder = tmp_path_factory.mktemp("property")
    template = reachable(template)
    source = tiny.save(folder / "parallel.h5", tiny.parallel(template, replicas))
    gold = tiny.save(folder / "gold.h5", template, form=form)
    unparallel.convert(source, folder / "made.h5", weights_only=form == "weights")
    assert list(differences(gold, str(folder / "made.h5"))) == []


@pytest.fixture
def template():
    layers = (
        tiny.entry("x", 3),
        tiny.dense("first", "x", trainable=False),
        tiny.batchnorm("middle", "first"),
        tiny.dense("last", "middle", seed=5),
    )
    return tiny.TinyModel("net", layers, ("x",), ("last",))


@pytest.fixture
def parallel_file(tmp_path, template):
    return tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2))


def test_the_facts_are_returned(tmp_path, parallel_file):
    done = unparallel.convert(parallel_file, tmp_path / "clean.h5")
    (wrapper,) = done.wrappers
    assert (wrapper.template, wrapper.replicas, wrapper.inside, wrapper.proof) == ("net", 2, (), "code")
    assert wrapper.slices == ("lambda_1", "lambda_2")
    assert wrapper.merges == ("last",)
    assert (done.layers, done.arrays, done.parameters) == (4, 8, 3 * 3 + 3 + 4 * 3 + 3 * 3 + 3)
    assert done.dropped == ("lambda_1", "lambda_2", "last")
    assert done.verified
    assert done.bytes_after == os.path.getsize(str(tmp_path / "clean.h5"))


def test_extracting_twice_says_that_there_is_nothing_to_undo(tmp_path, parallel_file):
    unparallel.convert(parallel_file, tmp_path / "clean.h5")
    with pytest.raises(unparallel.AlreadySingleError, match="clean.h5: a single model already"):
        unparallel.convert(tmp_path / "clean.h5", tmp_path / "again.h5")
    assert not (tmp_path / "again.h5").exists()


def test_equal_input_gives_equal_bytes(tmp_path, parallel_file):
    for name in ("one.h5", "two.h5"):
        unparallel.convert(parallel_file, tmp_path / name)
    assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "two.h5").read_bytes()


def test_training_state_is_kept_under_the_names_of_the_template(tmp_path, template):
    two = template._replace(outputs=("middle", "last"))
    wrapped = tiny.parallel(two, 2)
    merges = tuple(layer._replace(name=f"concatenate_{i}") for i, layer in enumerate(wrapped.layers[-2:]))
    wrapped = wrapped._replace(layers=wrapped.layers[:-2] + merges, outputs=("concatenate_0", "concatenate_1"))
    training = {
        "optimizer_config": {"class_name": "Adam", "config": {"lr": 0.001}},
        "loss": {"concatenate_0": "mse", "concatenate_1": "mae"},
        "metrics": {"concatenate_1": "accuracy"},
        "sample_weight_mode": None,
        "loss_weights": [1.0, 2.0],
    }
    slots = [("Adam/iterations:0", np.int64(7)), ("training/Adam/Variable:0", np.arange(6.0).reshape(2, 3))]
    source = tiny.save(tmp_path / "parallel.h5", wrapped, training, slots)
    wanted = dict(training, loss={"middle": "mse", "last": "mae"}, metrics={"last": "accuracy"})
    gold = tiny.save(tmp_path / "gold.h5", two, wanted, slots)
    done = unparallel.convert(source, tmp_path / "made.h5")
    assert list(differences(gold, str(tmp_path / "made.h5"))) == []
    assert done.optimizer == "Adam"
    assert done.renamed == (("concatenate_0", "middle"), ("concatenate_1", "last"))
    bare = tiny.save(tmp_path / "bare.h5", two)
    unparallel.convert(source, tmp_path / "without.h5", optimizer=False)
    assert list(differences(bare, str(tmp_path / "without.h5"))) == []


@pytest.mark.slow
def test_lists_above_64_kib_are_split_as_keras_splits_them(tmp_path):
    layers = [tiny.entry("x", 1)]
    for i in range(700):
        layers.append(tiny.dense(f"a_layer_with_a_long_name_{i:03}_" + "x" * 80, layers[-1].name, 1, 1))
    model = tiny.TinyModel("net", tuple(layers), ("x",), (layers[-1].name,))
    config = json.dumps(tiny.parallel(model, 2).config())
    source = str(tmp_path / "parallel.h5")
    with h5py.File(source, "w") as handle:
        tiny._texts(handle)
        tiny._text(handle, "model_config", config)
        group = handle.create_group("model_weights")
        tiny._texts(group)
        names = [layer.name for layer in tiny.parallel(model, 2).layers]
        halves = np.array_split(np.array([name.encode() for name in names]), 2)
        for i, half in enumerate(halves):
            group.attrs[f"layer_names{i}"] = half
        for layer in tiny.parallel(model, 2).layers:
            own = group.require_group(layer.name)
            weights = np.array([name.encode() for name, _ in layer.weights()], dtype="S" if layer.weights() else "d")
            parts = 1 + int(weights.nbytes // 64512) + (weights.nbytes > 64512)
            for i, part in enumerate(np.array_split(weights, parts)):
                own.attrs[f"weight_names{i}" if parts > 1 else "weight_names"] = part
            for name, array in layer.weights():
                own.create_dataset(name, data=array)
    unparallel.convert(source, tmp_path / "clean.h5")
    with h5py.File(str(tmp_path / "clean.h5"), "r") as made:
        group = made["model_weights"]
        # 701 names of 109 bytes are 76,409 bytes: two parts of 351 and 350, and no plain attribute
        assert [len(group.attrs[f"layer_names{i}"]) for i in (0, 1)] == [351, 350]
        assert sorted(group.attrs) == ["backend", "keras_version", "layer_names0", "layer_names1"]


class TestRefusals:
    def test_an_existing_target(self, tmp_path, parallel_file):
        (tmp_path / "clean.h5").write_bytes(b"mine")
        with pytest.raises(TargetExistsError, match="clean.h5: exists") as caught:
            unparallel.convert(parallel_file, tmp_path / "clean.h5")
        assert caught.value.hint == "--overwrite (overwrite=True) replaces it"
        assert (tmp_path / "clean.h5").read_bytes() == b"mine"
        unparallel.convert(parallel_file, tmp_path / "clean.h5", overwrite=True)
        assert (tmp_path / "clean.h5").read_bytes()[:4] == b"\x89HDF"

    def test_the_source_as_target(self, tmp_path, parallel_file):
        os.symlink(parallel_file, str(tmp_path / "link.h5"))
        for target in (parallel_file, str(tmp_path / "link.h5")):
            with pytest.raises(FileError, match="same file"):
                unparallel.convert(parallel_file, target, overwrite=True)

    def test_a_missing_folder(self, tmp_path, parallel_file):
        with pytest.raises(FileError, match="does not exist"):
            unparallel.convert(parallel_file, tmp_path / "nowhere" / "clean.h5")

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (
                lambda group: group.__delitem__("last/kernel:0"),
                "layer 'net': weight 'last/kernel:0' is not in the file",
            ),
            (lambda group: _reshape(group, "last/kernel:0", (3, 4)), "last.*kernel.*3, 4"),
            (lambda group: _drop_name(group, "last/bias:0"), "last"),
        ],
        ids=["missing", "other-shape", "unnamed"],
    )
    def test_weights_that_do_not_add_up(self, tmp_path, parallel_file, change, says):
        with h5py.File(parallel_file, "r+") as handle:
            change(handle["model_weights/net"])
        with pytest.raises(WeightsError, match=says):
            unparallel.convert(parallel_file, tmp_path / "clean.h5")
        assert os.listdir(str(tmp_path)) == ["parallel.h5"]

    def test_a_replica_of_another_model(self, tmp_path, template):
        wrapped = tiny.parallel(template, 2)
        other = tiny.nested("other", "lambda_2", template._replace(name="other"))
        layers = [
            layer._replace(inputs=layer.inputs[:1]) if layer.name == "net" else layer for layer in wrapped.layers[:-1]
        ]
        joined = tiny.merge("last", ["net", "other"])
        model = wrapped._replace(layers=tuple(layers) + (other, joined))
        source = tiny.save(tmp_path / "two.h5", model)
        with pytest.raises(NotParallelError, match="'net' and 'other' do not share weights"):
            unparallel.convert(source, tmp_path / "clean.h5")


def _reshape(group, name, shape):
    del group[name]
    group.create_dataset(name, data=np.zeros(shape, "float32"))


def _drop_name(group, name):
    names = [item for item in group.attrs["weight_names"] if bytes(item) != name.encode()]
    group.attrs["weight_names"] = np.array(names)


def test_verification_sees_a_single_changed_byte(tmp_path, parallel_file, monkeypatch):
    from unparallel import hdf5

    real = hdf5.Target.copy

    def spoiled(self, source_path, path):
        real(self, source_path, path)
        if path.endswith("last/kernel:0"):
            data = self.handle[path][()]
            data[2, 1] = np.nextafter(data[2, 1], np.float32(2))
            self.handle[path][...] = data

    monkeypatch.setattr(hdf5.Target, "copy", spoiled)
    with pytest.raises(VerificationError, match="last/kernel:0 was not copied faithfully"):
        unparallel.convert(parallel_file, tmp_path / "clean.h5")
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]
    unparallel.convert(parallel_file, tmp_path / "clean.h5", verify=False)


def test_a_wrapper_inside_a_model_is_replaced_under_its_own_name(tmp_path, template):
    inner = tiny.parallel(template, 2, "wrapped")
    around = (tiny.entry("start", 3), tiny.dense("before", "start", seed=7))
    outer = tiny.TinyModel(
        "outer",
        around + (tiny.nested("wrapped", "before", inner), tiny.dense("after", "wrapped", seed=8)),
        ("start",),
        ("after",),
    )
    gold = tiny.TinyModel(
        "outer",
        around + (tiny.nested("net", "before", template), tiny.dense("after", "net", seed=8)),
        ("start",),
        ("after",),
    )
    source = tiny.save(tmp_path / "parallel.h5", outer)
    done = unparallel.convert(source, tmp_path / "made.h5")
    assert list(differences(tiny.save(tmp_path / "gold.h5", gold), str(tmp_path / "made.h5"))) == []
    assert done.wrappers[0].inside == ("wrapped",)


def three_outputs(names):
    """A wrapper around a layer with three outputs, as Keras and tf.keras name its merges, and the template."""
    cell = tiny.TinyLayer("lstm", "LSTM", {"name": "lstm", "trainable": True, "units": 2}, (("x",),))
    template = tiny.TinyModel("net", (tiny.entry("x", 3), cell), ("x",), tuple(("lstm", k) for k in range(3)))
    wrapped = tiny.parallel(template, 2)
    merges = tuple(tiny.merge(name, [("net", k, i) for i in range(2)]) for k, name in enumerate(names))
    return wrapped._replace(layers=wrapped.layers[:-3] + merges, outputs=tuple(names)), template


LSTM_WEIGHTS = [("lstm/kernel:0", (3, 8)), ("lstm/recurrent_kernel:0", (2, 8)), ("lstm/bias:0", (8,))]


@pytest.mark.parametrize(
    ("version", "settings", "wanted", "left_out"),
    [
        ("2.2.4", {"loss": {"a": "mse", "b": "mae", "c": "mse"}}, {"loss": ["mse", "mae", "mse"]}, ""),
        ("2.2.4", {"loss": {"a": "mse", "c": "mae"}}, {"loss": ["mse", None, "mae"]}, ""),
        ("2.2.4", {"loss_weights": {"c": 0.25}}, {"loss_weights": [1.0, 1.0, 0.25]}, ""),
        ("2.2.4", {"sample_weight_mode": {"a": "temporal"}}, {"sample_weight_mode": ["temporal", None, None]}, ""),
        ("2.2.4", {"metrics": {"a": "mae", "b": ["mae"], "c": "mae"}}, {"metrics": ["mae"]}, ""),
        ("2.2.4", {"metrics": {"a": ["mae"]}}, {"metrics": []}, "metrics left out"),
        (
            "2.3.1",
            {"metrics": {"a": ["mae"], "c": "mse"}, "weighted_metrics": None},
            {"metrics": [["mae"], [], ["mse"]], "weighted_metrics": None},
            "",
        ),
        # tf.keras counts the names of outputs that repeat, so that each setting keeps a name of its own
        (
            "2.4.0",
            {"loss": {"a": "mse", "b": "mae", "c": "mse"}},
            {"loss": {"lstm": "mse", "lstm_1": "mae", "lstm_2": "mse"}},
            "",
        ),
        ("2.2.4", {"loss": "mse", "loss_weights": [1, 2, 3]}, {"loss": "mse", "loss_weights": [1, 2, 3]}, ""),
    ],
)
def test_settings_of_outputs_that_share_a_name_are_kept_by_position(tmp_path, version, settings, wanted, left_out):
    wrapped, template = three_outputs("abc")
    given = [(name, np.ones(shape, "float32")) for name, shape in LSTM_WEIGHTS]
    wrapped = wrapped._replace(
        layers=tuple(
            layer._replace(submodel=_filled(layer.submodel, given)) if layer.submodel else layer
            for layer in wrapped.layers
        )
    )
    optimizer = {"class_name": "SGD", "config": {}}
    source = tiny.save(tmp_path / "parallel.h5", wrapped, dict(settings, optimizer_config=optimizer))
    gold = tiny.save(tmp_path / "gold.h5", _filled(template, given), dict(wanted, optimizer_config=optimizer))
    for path in (source, gold):
        with h5py.File(path, "r+") as handle:
            for owner in (handle, handle["model_weights"]):
                kind = h5py.special_dtype(vlen=str if version == "2.4.0" else bytes)
                owner.attrs.create("keras_version", version, shape=(), dtype=kind)
    done = unparallel.convert(source, tmp_path / "made.h5")
    assert list(differences(gold, str(tmp_path / "made.h5"))) == []
    assert [text for text in done.warnings if "training_config" in text] == [
        text for text in done.warnings if left_out and left_out in text
    ]


def _filled(model, weights):
    layers = [layer._replace(trainable=tuple(weights)) if layer.name == "lstm" else layer for layer in model.layers]
    return model._replace(layers=tuple(layers))


class TestHalfWritten:
    """A save that fails while it writes the training state, which Keras writes last."""

    @pytest.fixture(params=["array", "names", "settings"])
    def half(self, request, tmp_path, template):
        training = {"optimizer_config": {"class_name": "Adam", "config": {}}, "loss": "mse"}
        slots = [("training/Adam/Variable:0", np.arange(6.0)), ("training/Adam/Variable_1:0", np.arange(6.0))]
        source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2), training, slots)
        with h5py.File(source, "r+") as handle:
            if request.param == "array":
                del handle["optimizer_weights/training/Adam/Variable_1:0"]
            elif request.param == "names":
                del handle["optimizer_weights"].attrs["weight_names"]
            else:
                kind = h5py.special_dtype(vlen=bytes)
                handle.attrs.create("training_config", b'{"loss": ', shape=(), dtype=kind)
        return source

    def test_is_refused_with_the_remedy(self, tmp_path, half):
        with pytest.raises(WeightsError, match="the model is whole, its training state is not") as caught:
            unparallel.convert(half, tmp_path / "made.h5")
        assert "--no-optimizer" in caught.value.hint
        seen = unparallel.inspect(half)
        assert (seen.verdict, seen.hint) == ("refused", caught.value.hint)

    def test_is_whole_for_who_wants_the_model(self, tmp_path, half, template):
        for form, options in (("model", {"optimizer": False}), ("weights", {"weights_only": True})):
            unparallel.convert(half, tmp_path / "made.h5", overwrite=True, **options)
            gold = tiny.save(tmp_path / "gold.h5", template, form=form)
            assert list(differences(gold, str(tmp_path / "made.h5"))) == []


def test_the_weights_of_a_full_file_of_keras_1(tmp_path, template):
    # which has its version at the root alone, and a weights file that has none
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2))
    gold = tiny.save(tmp_path / "gold.h5", template, form="weights")
    with h5py.File(source, "r+") as handle, h5py.File(gold, "r+") as wanted:
        for owner in (handle["model_weights"], wanted):
            del owner.attrs["keras_version"]
            del owner.attrs["backend"]
    unparallel.convert(source, tmp_path / "made.h5", weights_only=True)
    assert list(differences(gold, str(tmp_path / "made.h5"))) == []


def test_a_save_that_failed_over_two_weights_of_one_name_is_said(tmp_path, parallel_file):
    with h5py.File(parallel_file, "r+") as handle:
        group = handle["model_weights/net"]
        names = [bytes(name) for name in group.attrs["weight_names"]]
        group.attrs["weight_names"] = np.array([*names, names[0]])
    with pytest.raises(WeightsError, match="twice: Keras' own save fails there, half-way") as caught:
        unparallel.convert(parallel_file, tmp_path / "made.h5")
    assert "earlier checkpoint" in caught.value.hint


@pytest.mark.parametrize("loss", [["mse"], ["mse", "mae", "mse"], {"last": "mse", "nowhere": "mae"}])
def test_training_settings_for_other_outputs_are_left_out(tmp_path, template, loss):
    two = template._replace(outputs=("middle", "last"))
    training = {"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": loss}
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(two, 2), training)
    done = unparallel.convert(source, tmp_path / "made.h5")
    assert list(differences(tiny.save(tmp_path / "gold.h5", two), str(tmp_path / "made.h5"))) == []
    assert [text for text in done.warnings if "left out: loss is not set for the outputs" in text]


def test_a_wrapper_that_joins_the_first_output_alone_gives_the_template_and_says_so(tmp_path, template):
    two = template._replace(name="model_1", outputs=("middle", "last"))
    wrapped = tiny.parallel(two, 2, "model_2")
    wrapped = wrapped._replace(layers=wrapped.layers[:-1], outputs=("middle",))
    training = {"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": "mse"}
    source = tiny.save(tmp_path / "parallel.h5", wrapped, training)
    done = unparallel.convert(source, tmp_path / "made.h5")
    assert list(differences(tiny.save(tmp_path / "gold.h5", two), str(tmp_path / "made.h5"))) == []
    assert [text for text in done.warnings if "only the first 1 of the template's 2 outputs" in text]
    assert [text for text in done.warnings if "left out: it is for 1 of the template's 2 outputs" in text]


def test_outputs_in_another_order_keep_the_outer_model(tmp_path, template):
    two = template._replace(outputs=("middle", "last"))
    wrapped = tiny.parallel(two, 2)
    source = tiny.save(tmp_path / "parallel.h5", wrapped._replace(outputs=("last", "middle")))
    unparallel.convert(source, tmp_path / "made.h5")
    gold = tiny.TinyModel(
        "wrapper", (template.layers[0], tiny.nested("net", "x", two)), ("x",), (("net", 1), ("net", 0))
    )
    assert list(differences(tiny.save(tmp_path / "gold.h5", gold), str(tmp_path / "made.h5"))) == []


def test_no_framework_is_imported(tmp_path, parallel_file):
    code = (
        "import sys, unparallel; unparallel.convert(sys.argv[1], sys.argv[2]);"
        "bad = {'tensorflow', 'keras', 'tf_keras', 'pickle5'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code, parallel_file, str(tmp_path / "o.h5")], check=True, timeout=60)


def test_inspection_agrees_with_the_conversion(tmp_path, parallel_file):
    seen = unparallel.inspect(parallel_file)
    done = unparallel.convert(parallel_file, tmp_path / "clean.h5")
    assert seen.verdict == "parallel"
    assert (seen.template, seen.parameters, seen.wrappers) == (done.template, done.parameters, done.wrappers)
    assert [(layer.name, layer.class_name, layer.parameters) for layer in seen.layers] == [
        ("x", "InputLayer", 0),
        ("first", "Dense", 12),
        ("middle", "BatchNormalization", 12),
        ("last", "Dense", 12),
    ]


def test_the_source_is_never_touched(tmp_path, parallel_file):
    before = shutil.copy(parallel_file, str(tmp_path / "before.h5"))
    os.chmod(parallel_file, 0o444)
    unparallel.inspect(parallel_file)
    unparallel.convert(parallel_file, tmp_path / "clean.h5")
    with open(before, "rb") as one, open(parallel_file, "rb") as other:
        assert one.read() == other.read()
