"""Weights that hold NaN or Inf: found, named, explained, refused or with_neutral, and otherwise left as they are."""

import json
import os

import h5py
import numpy as np
import pytest

import unparallel
from unparallel.cli import main
from unparallel.errors import NonFiniteError
from unparallel.weights import health

from .. import tiny
from ..same import differences

NAN, INF = float("nan"), float("inf")
MEAN = "norm/moving_mean:0"
VARIANCE = "norm/moving_variance:0"


def template():
    layers = (tiny.entry("x", 3), tiny.dense("first", "x"), tiny.batchnorm("norm", "first"))
    return tiny.TinyModel("net", layers, ("x",), ("norm",))


def save(path, model=None, replicas=2, **broken):
    """A parallel file, some of whose weights are set: `moving_mean=(0, NAN)` sets element 0."""
    path = tiny.save(path, tiny.parallel(model or template(), replicas))
    with h5py.File(path, "r+") as handle:
        for role, pairs in broken.items():
            layer = "first" if role in ("kernel", "bias") else "norm"
            array = handle[f"model_weights/net/{layer}/{role}:0"]
            data = array[()]
            for place, value in pairs:
                data.flat[place] = value
            array[...] = data
    return path


@pytest.fixture
def source(tmp_path):
    return save(tmp_path / "parallel.h5", moving_mean=[(0, NAN), (2, INF)], moving_variance=[(1, -INF)])


def arrays(path, layer="norm"):
    with h5py.File(str(path), "r") as handle:
        group = handle[f"model_weights/{layer}/{layer}"]
        return {name: group[name][()] for name in group}


def test_layer_weight_and_count_are_named(tmp_path, source):
    done = unparallel.convert(source, tmp_path / "clean.h5")
    found = (
        health.NonFinite("norm", MEAN, 1, 1, 3),
        health.NonFinite("norm", VARIANCE, 0, 1, 3),
    )
    assert done.non_finite == found
    assert done.reset == ()
    assert done.warnings[:2] == (
        "layer 'norm': weight 'norm/moving_mean:0' holds 1 NaN and 1 Inf in 3 values",
        "layer 'norm': weight 'norm/moving_variance:0' holds 0 NaN and 1 Inf in 3 values",
    )
    assert "had fewer rows than there were GPUs" in done.warnings[2]
    assert "--reset-batchnorm" in done.warnings[3]
    assert "full_batches" in done.warnings[3]
    assert len(done.warnings) == 4
    seen = unparallel.inspect(source)
    assert (seen.non_finite, seen.warnings) == (done.non_finite, done.warnings)


def test_bits_are_preserved(tmp_path):
    # NaNs have payloads, and zeros have signs
    odd = np.array([0x7FC12345, 0xFFA00001, 0x80000000], "u4").view("f4")
    source = save(tmp_path / "parallel.h5")
    with h5py.File(source, "r+") as handle:
        handle["model_weights/net/norm/moving_mean:0"].write_direct(odd)
    unparallel.convert(source, tmp_path / "clean.h5")
    assert arrays(tmp_path / "clean.h5")["moving_mean:0"].tobytes() == odd.tobytes()


def test_other_weights_are_not_blamed_on_the_wrapper(tmp_path):
    source = save(tmp_path / "parallel.h5", kernel=[(4, NAN)])
    done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
    assert [item.weight for item in done.non_finite] == ["first/kernel:0"]
    assert done.reset == ()
    assert "diverged" in done.warnings[-1]
    assert not any("--reset-batchnorm" in warning for warning in done.warnings)


@pytest.mark.parametrize("verify", [True, False])
def test_no_scan(tmp_path, source, verify):
    done = unparallel.convert(source, tmp_path / "clean.h5", scan=False, verify=verify)
    assert (done.non_finite, done.warnings) == ((), ())
    assert unparallel.inspect(source, scan=False).non_finite == ()


def test_scanning_needs_no_verification(tmp_path, source):
    assert len(unparallel.convert(source, tmp_path / "clean.h5", verify=False).non_finite) == 2


@pytest.mark.parametrize("scan", [True, False])
def test_strict_refuses_and_writes_nothing(tmp_path, source, scan):
    with pytest.raises(NonFiniteError, match=r"parallel.h5: layer 'norm': .*1 NaN and 1 Inf.*\(and 1 more weights\)"):
        unparallel.convert(source, tmp_path / "clean.h5", strict=True, scan=scan)
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]
    assert unparallel.convert(save(tmp_path / "sound.h5"), tmp_path / "clean.h5", strict=True).non_finite == ()


class TestReset:
    def test_only_what_is_not_finite_becomes_neutral(self, tmp_path, source):
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        unparallel.convert(save(tmp_path / "sound.h5"), tmp_path / "gold.h5")
        gold, made = arrays(tmp_path / "gold.h5"), arrays(tmp_path / "clean.h5")
        gold["moving_mean:0"][[0, 2]] = 0
        gold["moving_variance:0"][1] = 1
        assert {name: data.tobytes() for name, data in made.items()} == {
            name: data.tobytes() for name, data in gold.items()
        }
        assert done.non_finite == ()
        assert [(item.layer, item.weight, item.nan, item.inf) for item in done.reset] == [
            ("norm", MEAN, 1, 1),
            ("norm", VARIANCE, 0, 1),
        ]
        (warning,) = done.warnings
        assert warning.startswith("RESET to neutral values (mean 0, variance 1)")
        assert "norm/moving_mean:0 (2 of 3)" in warning
        assert done.verified

    def test_all_else_is_verified(self, tmp_path, source, monkeypatch):
        from unparallel import hdf5

        real = hdf5.Target.replace_non_finite

        def spoiled(self, path, neutral):
            real(self, path, neutral)
            self.handle[path][1] += 1

        monkeypatch.setattr(hdf5.Target, "replace_non_finite", spoiled)
        with pytest.raises(unparallel.UnparallelError, match="was not copied faithfully"):
            unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert os.listdir(str(tmp_path)) == ["parallel.h5"]

    def test_a_sound_file_is_not_touched(self, tmp_path):
        source = save(tmp_path / "parallel.h5")
        unparallel.convert(source, tmp_path / "plain.h5")
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert (done.reset, done.warnings) == ((), ())
        assert (tmp_path / "plain.h5").read_bytes() == (tmp_path / "clean.h5").read_bytes()

    def test_trained_weights_are_never_reset(self, tmp_path):
        source = save(tmp_path / "parallel.h5", gamma=[(0, NAN)], beta=[(1, INF)], moving_mean=[(0, NAN)])
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert [item.weight for item in done.reset] == [MEAN]
        assert [item.weight for item in done.non_finite] == ["norm/gamma:0", "norm/beta:0"]
        assert np.isnan(arrays(tmp_path / "clean.h5")["gamma:0"][0])

    def test_with_strict(self, tmp_path, source):
        assert unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True, strict=True).reset

    def test_without_scan_and_verification(self, tmp_path, source):
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True, scan=False, verify=False)
        assert len(done.reset) == 2
        assert np.isfinite(arrays(tmp_path / "clean.h5")["moving_mean:0"]).all()

    def test_only_layers_that_are_batchnormalization_by_the_config(self, tmp_path):
        model = template()
        layers = model.layers[:-1] + (model.layers[-1]._replace(class_name="MyMoments"),)
        source = save(tmp_path / "parallel.h5", model._replace(layers=layers), moving_mean=[(0, NAN)])
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert done.reset == ()
        assert np.isnan(arrays(tmp_path / "clean.h5")["moving_mean:0"][0])

    @pytest.mark.parametrize("name", ["BatchNorm", "SyncBatchNormalization", "BatchNormalizationV1"])
    def test_offspring_of_batchnormalization(self, tmp_path, name):
        model = template()
        layers = model.layers[:-1] + (model.layers[-1]._replace(class_name=name),)
        source = save(tmp_path / "parallel.h5", model._replace(layers=layers), moving_mean=[(0, NAN)])
        assert len(unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True).reset) == 1

    def test_a_normalization_inside_a_model_that_stays(self, tmp_path):
        inner = template()
        outer = (tiny.entry("start", 3), tiny.nested("body", "start", inner._replace(name="body")))
        model = tiny.TinyModel("net", outer + (tiny.dense("last", "body"),), ("start",), ("last",))
        source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(model, 2))
        with h5py.File(source, "r+") as handle:
            handle["model_weights/net/norm/moving_mean:0"][1] = NAN
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert done.reset == (health.NonFinite("body/norm", MEAN, 1, 0, 3),)
        with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
            assert handle["model_weights/body/norm/moving_mean:0"][1] == 0

    def test_keras_1_names(self, tmp_path):
        """`running_std` holds the variance, and begins as ones: Keras 1 only named it so."""
        layers = (tiny.entry("x", 3), tiny.batchnorm("norm", "x"))
        names = ("norm_gamma", "norm_beta", "norm_running_mean", "norm_running_std")
        norm = layers[1]
        pairs = [(name, array) for name, (_, array) in zip(names, norm.trainable + norm.rest)]
        norm = norm._replace(
            config=dict(norm.config, mode=0, epsilon=1e-5), trainable=tuple(pairs[:2]), rest=tuple(pairs[2:])
        )
        model = tiny.TinyModel("net", (layers[0], norm), ("x",), ("norm",))
        source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(model, 2))
        with h5py.File(source, "r+") as handle:
            handle["model_weights/net/norm_running_mean"][0] = NAN
            handle["model_weights/net/norm_running_std"][0] = NAN
        unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
            assert handle["model_weights/norm/norm_running_mean"][0] == 0
            assert handle["model_weights/norm/norm_running_std"][0] == 1

    def test_a_weights_file(self, tmp_path):
        model = template()
        source = tiny.save(tmp_path / "weights.h5", tiny.parallel(model, 2), form="weights")
        with h5py.File(source, "r+") as handle:
            handle["net/norm/moving_variance:0"][2] = NAN
        architecture = tmp_path / "model.json"
        architecture.write_text(json.dumps(model.config()))
        options = {"architecture": architecture, "weights_only": True}
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True, **options)
        assert [item.weight for item in done.reset] == [VARIANCE]
        with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
            assert handle["norm/norm/moving_variance:0"][2] == 1

    def test_a_weights_file_alone(self, tmp_path):
        # two layers, so that names leave no doubt about what trains
        layers = (tiny.entry("x", 3), tiny.batchnorm("norm", "x"), tiny.dense("last", "norm", 3, 5))
        model = tiny.parallel(tiny.TinyModel("net", layers, ("x",), ("last",)), 2)
        source = tiny.save(tmp_path / "weights.h5", model, form="weights")
        with h5py.File(source, "r+") as handle:
            handle["net/norm/moving_mean:0"][2] = NAN
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True, by_names=True)
        assert done.reset == (health.NonFinite("norm", MEAN, 1, 0, 3),)

    @pytest.mark.parametrize("dtype", ["float16", "float64", ">f4", ">f8"])
    def test_other_types_and_byte_orders(self, tmp_path, dtype):
        model = template()
        norm = model.layers[-1]
        rest = tuple((name, np.array([NAN, 2, INF], dtype)) for name, _ in norm.rest)
        source = save(tmp_path / "parallel.h5", model._replace(layers=model.layers[:-1] + (norm._replace(rest=rest),)))
        seen = unparallel.inspect(source)
        assert [(item.nan, item.inf) for item in seen.non_finite] == [(1, 1), (1, 1)]
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        made = arrays(tmp_path / "clean.h5")
        assert made["moving_mean:0"].dtype == np.dtype(dtype)
        assert made["moving_mean:0"].tolist() == [0, 2, 0]
        assert made["moving_variance:0"].tolist() == [1, 2, 1]
        assert len(done.reset) == 2

    def test_compressed_statistics(self, tmp_path):
        source = save(tmp_path / "parallel.h5")
        with h5py.File(source, "r+") as handle:
            group = handle["model_weights/net/norm"]
            del group["moving_mean:0"]
            group.create_dataset("moving_mean:0", data=np.array([NAN, 5, 6], "f4"), compression="gzip")
        done = unparallel.convert(source, tmp_path / "clean.h5", reset_batchnorm=True)
        assert done.verified
        with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
            array = handle["model_weights/norm/norm/moving_mean:0"]
            assert (array[()].tolist(), array.compression) == ([0, 5, 6], "gzip")


def test_integers_hold_no_nan(tmp_path):
    model = template()
    layer = model.layers[1]._replace(
        trainable=(("first/kernel:0", np.full((3, 3), 0x7FC00000, "int32")), model.layers[1].trainable[1])
    )
    source = save(tmp_path / "parallel.h5", model._replace(layers=(model.layers[0], layer, model.layers[2])))
    assert unparallel.inspect(source).non_finite == ()


def test_many_broken_layers_are_not_many_pages(tmp_path):
    layers = [tiny.entry("x", 3)]
    for number in range(30):
        layers.append(tiny.batchnorm(f"norm{number}", layers[-1].name))
    model = tiny.TinyModel("net", tuple(layers), ("x",), (layers[-1].name,))
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(model, 2))
    with h5py.File(source, "r+") as handle:
        for number in range(30):
            handle[f"model_weights/net/norm{number}/moving_mean:0"][...] = NAN
    done = unparallel.convert(source, tmp_path / "clean.h5")
    assert len(done.non_finite) == 30
    # 30 layers of three features each; then what broke them, and what to do
    assert len(done.warnings) == 3
    assert done.warnings[0] == (
        "30 x 'moving_mean': 90 of 90 values are NaN or Inf; in norm0, norm1, norm2, norm3, norm4, norm5, norm6, norm7 "
        "and 22 more"
    )


# -- the command ------------------------------------------------------------------------------------------


def test_the_command_says_what_is_wrong_and_how_to_mend_it(tmp_path, source, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([source, "-o", target]) == 0
    said = capsys.readouterr()
    assert "health:    2 arrays hold NaN or Inf" in said.out
    lines = said.err.splitlines()
    assert all(line.startswith("warning: ") for line in lines)
    assert "weight 'norm/moving_mean:0' holds 1 NaN and 1 Inf in 3 values" in lines[0]
    assert "--reset-batchnorm" in lines[-1]
    assert main([source, "-o", target, "--overwrite", "--no-scan"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_the_command_resets(tmp_path, source, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([source, "-o", target, "--reset-batchnorm"]) == 0
    said = capsys.readouterr()
    assert "reset:     2 arrays, mean 0 and variance 1" in said.out
    assert said.err.startswith("warning: RESET to neutral values")
    assert main([source, "-o", target, "--overwrite", "--reset-batchnorm", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [item["weight"] for item in facts["reset"]] == [MEAN, VARIANCE]
    assert facts["non_finite"] == []


def test_the_command_is_strict(tmp_path, source, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([source, "-o", target, "--strict"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.split(":")[0] for line in said.err.splitlines()] == ["unparallel", "hint"]
    assert not os.path.exists(target)
    assert main([source, "--strict"]) == 1
    assert main([save(tmp_path / "sound.h5"), "--strict"]) == 0


@pytest.mark.slow
def test_many_files_with_reset(tmp_path):
    (tmp_path / "runs").mkdir()
    save(tmp_path / "runs" / "a.h5", moving_mean=[(0, NAN)])
    words = [str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*words, "--strict"]) == 1
    assert not (tmp_path / "out" / "a.h5").exists()
    assert main([*words, "--reset-batchnorm"]) == 0
    made = arrays(tmp_path / "out" / "a.h5")
    assert made["moving_mean:0"][0] == 0
    # compared with the source, neutral values included
    assert main([*words, "--reset-batchnorm"]) == 0
    assert main([*words]) == 1
    assert list(differences(str(tmp_path / "out" / "a.h5"), str(tmp_path / "out" / "a.h5"))) == []
