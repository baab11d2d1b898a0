"""Checkpoints of parallel models from end to end: what comes of them, and what is refused."""

import json
import os
import shutil
import zipfile

import h5py
import numpy as np
import pytest

import unparallel
from unparallel.cli import main
from unparallel.errors import FileError, NeedsArchitectureError, NotKerasError, UnparallelError, WeightsError
from unparallel.tensorflow import crc32c

from . import made


def text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else value


def contents(path):
    """{layer: [(name, array)]} of a file's weights, as Keras reads them."""
    with h5py.File(path, "r") as file:
        base = file.get("model_weights", file)
        return {
            text(layer): [(text(name), base[layer][name][()].tolist()) for name in base[layer].attrs["weight_names"]]
            for layer in base.attrs["layer_names"]
        }


WANTED = {
    "x": [],
    "d": [("other_name/kernel:0", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), ("other_name/bias:0", [7.0, 8.0, 9.0])],
}


class TestWhatComesOfIt:
    @pytest.mark.parametrize("name", ["ckpt", "ckpt.index", "ckpt.data-00000-of-00001", ""])
    def test_each_way_to_name_it(self, tmp_path, name):
        folder = tmp_path / "in"
        made.checkpoint(folder / "ckpt")
        target = str(tmp_path / "clean.h5")
        done = unparallel.convert(str(folder / name), target, architecture=made.architecture(tmp_path))
        assert contents(target) == WANTED
        assert done.verified
        assert done.form == "model"
        with h5py.File(target, "r") as file:
            assert text(file.attrs["keras_version"]) == "2.2.4-tf"
            config = json.loads(text(file.attrs["model_config"]))
            assert "keras_version" not in config
            assert "training_config" not in file.attrs

    def test_weights_only(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt")
        target = str(tmp_path / "clean.h5")
        unparallel.convert(prefix, target, architecture=made.architecture(tmp_path), weights_only=True)
        assert contents(target) == WANTED
        with h5py.File(target, "r") as file:
            assert "model_config" not in file.attrs
            assert text(file.attrs["backend"]) == "tensorflow"

    def test_an_optimizers_slots_are_said(self, tmp_path):
        nodes = made.nodes()
        nodes[9] = ({"iter": 10}, "", "", ((7, "m", 10),))
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        done = unparallel.convert(prefix, str(tmp_path / "c.h5"), architecture=made.architecture(tmp_path))
        assert any("optimizer's arrays do not come along" in note for note in done.notes)

    def test_below_a_checkpoint_object(self, tmp_path):
        nodes = [({"net": 1, "save_counter": 2}, "", "", ())]
        for children, key, name, slots in made.nodes():
            moved = {local: number + 1 if number else 1 for local, number in children.items()}
            nodes.append((moved, key, name, slots))
        nodes[0] = ({"net": 1}, "", "", ())
        prefix = made.write(str(tmp_path / "ckpt-1"), made.arrays(), made.graph(nodes))
        target = str(tmp_path / "clean.h5")
        unparallel.convert(prefix, target, architecture=made.architecture(tmp_path))
        assert contents(target) == WANTED

    def test_nan_is_found(self, tmp_path):
        arrays = made.arrays()
        arrays[made.BIAS_KEY] = np.array([1, np.nan, 2], "float32")
        prefix = made.write(str(tmp_path / "ckpt"), arrays, made.graph(made.nodes()))
        with pytest.warns(unparallel.UnparallelWarning, match="1 NaN"):
            done = unparallel.convert(prefix, str(tmp_path / "c.h5"), architecture=made.architecture(tmp_path))
        assert [(item.layer, item.nan) for item in done.non_finite] == [("d", 1)]

    def test_checksums_that_are_not_looked_at_are_said(self, tmp_path, monkeypatch):
        prefix = made.checkpoint(tmp_path / "ckpt")
        architecture = made.architecture(tmp_path)
        monkeypatch.setattr("unparallel.tensorflow.bundle.fast", lambda: None)
        seen = unparallel.inspect(prefix, architecture=architecture)
        assert any("[checkpoints]" in note for note in seen.notes)
        monkeypatch.setattr("unparallel.tensorflow.bundle.fast", lambda: crc32c.by_table)
        assert unparallel.inspect(prefix, architecture=architecture).notes == ()

    def test_an_architecture_without_a_version(self, tmp_path):
        config = made.template_config()
        del config["keras_version"]
        prefix = made.checkpoint(tmp_path / "ckpt")
        with pytest.warns(unparallel.UnparallelWarning, match="names no keras_version"):
            done = unparallel.convert(prefix, str(tmp_path / "c.h5"), architecture=config)
        assert done.keras_version == "2.2.4-tf"  # without one, Keras takes a file for one of Keras 1
        assert any("names no keras_version" in warning for warning in done.warnings)

    @pytest.mark.parametrize(
        ("version", "kind", "own"), [("2.4.0", "S", False), ("2.5.0", "O", False), ("2.6.0", "O", True)]
    )
    def test_what_versions_of_tf_keras_write(self, tmp_path, version, kind, own):
        """h5py 3 came with TensorFlow 2.5, a group for the model's own weights with 2.6."""
        config = dict(made.template_config(), keras_version=version)
        target = str(tmp_path / "c.h5")
        unparallel.convert(made.checkpoint(tmp_path / "ckpt"), target, architecture=config)
        with h5py.File(target, "r") as file:
            assert file["model_weights"].attrs["layer_names"].dtype.kind == kind
            assert ("top_level_model_weights" in file["model_weights"]) == own

    def test_another_file_tells_the_order_of_an_unknown_class(self, tmp_path):
        layer = made.dense()
        layer["class_name"] = "Odd"
        prefix = made.checkpoint(tmp_path / "ckpt")
        full, target = str(tmp_path / "full.h5"), str(tmp_path / "c.h5")
        with h5py.File(full, "w") as file:
            config = made.template_config(layer=layer)
            file.attrs["model_config"] = json.dumps({key: config[key] for key in ("class_name", "config")})
            file.attrs["keras_version"] = "2.2.4-tf"
            group = file.create_group("model_weights")
            group.attrs["layer_names"] = np.array([b"x", b"d"])
            group.create_group("x").attrs["weight_names"] = np.zeros(0)
            group.create_group("d").attrs["weight_names"] = np.array([b"other_name/bias:0", b"other_name/kernel:0"])
            group["d/other_name/bias:0"], group["d/other_name/kernel:0"] = made.BIAS * 0, made.KERNEL * 0
        unparallel.convert(prefix, target, architecture=full)
        assert contents(target) == {"x": [], "d": WANTED["d"][::-1]}

    def test_slots_tell_what_an_unknown_class_trains(self, tmp_path):
        layer = made.dense()
        layer["class_name"] = "Odd"
        nodes = made.nodes()
        nodes[9] = ({"iter": 10}, "", "", ((8, "m", 10),))  # the second variable is trained, the first is not
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        target = str(tmp_path / "c.h5")
        done = unparallel.convert(prefix, target, architecture=made.template_config(layer=layer))
        assert [name for name, _ in contents(target)["d"]] == ["other_name/bias:0", "other_name/kernel:0"]
        assert done.warnings == ()


class TestRefused:
    def refused(self, tmp_path, source, kind=UnparallelError, **options):
        target = tmp_path / "out" / "clean.h5"
        target.parent.mkdir()
        with pytest.raises(kind) as caught:
            unparallel.convert(str(source), str(target), **options)
        assert list(target.parent.iterdir()) == []
        assert caught.value.hint
        assert "\n" not in caught.value.message + caught.value.hint
        return caught.value

    def test_without_an_architecture(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt")
        error = self.refused(tmp_path, prefix, NeedsArchitectureError)
        assert "--architecture" in error.hint

    def test_a_single_models(self, tmp_path):
        """As MirroredStrategy writes them: several layers with weights, no wrapper."""
        nodes = made.nodes({"layer-0": 1, "layer-1": 6, "layer-2": 4})
        nodes[4] = ({"kernel": 10}, "", "", ())
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        error = self.refused(tmp_path, prefix)
        assert error.exit_code == 3
        assert "MirroredStrategy" in error.message
        assert "load_weights" in error.hint

    def test_a_single_models_with_its_architecture(self, tmp_path):
        nodes = made.nodes({"layer-0": 1, "layer-1": 6})
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        error = self.refused(tmp_path, prefix, architecture=made.template_config())
        assert error.exit_code == 3
        assert "single model already" in error.message

    @pytest.mark.parametrize(
        "root",
        [
            {"layer-0": 1, "layer-1": 4},
            {"layer-0": 1, "layer-1": 2, "layer-2": 4, "layer-3": 5},
            {"layer-0": 1, "layer-1": 2, "layer-2": 3, "layer-3": 4},
            {"layer-0": 1, "layer-1": 2, "layer-2": 3, "layer-4": 4},
        ],
        ids=["nested", "one slice", "no merge", "a gap"],
    )
    def test_a_part_of_another_model_is_no_template(self, tmp_path, root):
        """The architecture of a transfer model's base, given for the checkpoint of the whole."""
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(made.nodes(root)))
        self.refused(tmp_path, prefix, architecture=made.template_config())

    def test_another_architecture(self, tmp_path):
        layer = made.dense()
        layer["config"]["units"] = 4
        prefix = made.checkpoint(tmp_path / "ckpt")
        error = self.refused(tmp_path, prefix, WeightsError, architecture=made.template_config(layer=layer))
        assert "needs kernel of shape (2, 4), the file has other_name/kernel:0 (2, 3)" in error.message

    def test_the_order_of_an_unknown_class(self, tmp_path):
        layer = made.dense()
        layer["class_name"] = "Odd"
        prefix = made.checkpoint(tmp_path / "ckpt")
        error = self.refused(tmp_path, prefix, WeightsError, architecture=made.template_config(layer=layer))
        assert "layer 'd'" in error.message
        assert ".h5 file of the same model" in error.hint

    def test_several_in_a_folder(self, tmp_path):
        for name in ("ckpt-1", "ckpt-2"):
            made.checkpoint(tmp_path / "in" / name)
        os.utime(str(tmp_path / "in" / "ckpt-1.index"), (2_000_000_000, 2_000_000_000))
        error = self.refused(tmp_path, tmp_path / "in", FileError)
        assert "2 checkpoints: ckpt-1, ckpt-2" in error.message
        assert error.hint.endswith("ckpt-1")

    def test_the_list_of_checkpoints_is_not_followed(self, tmp_path):
        made.checkpoint(tmp_path / "elsewhere" / "ckpt")
        folder = tmp_path / "in"
        folder.mkdir()
        (folder / "checkpoint").write_text(f'model_checkpoint_path: "{tmp_path}/elsewhere/ckpt"\n')
        error = self.refused(tmp_path, folder / "checkpoint", FileError)
        assert "not followed" in error.message

    def test_v1(self, tmp_path):
        (tmp_path / "model.ckpt").write_bytes(made.table([(b"", b"h")]))
        error = self.refused(tmp_path, tmp_path / "model.ckpt", FileError)
        assert "V1" in error.message
        assert "write_version" in error.hint

    @pytest.mark.parametrize("name", ["ckpt.meta", "ckpt.data-00000-of-00001"])
    def test_a_part_alone(self, tmp_path, name):
        (tmp_path / name).write_bytes(b"x")
        error = self.refused(tmp_path, tmp_path / name, FileError)
        assert "without its .index" in error.message

    def test_bfloat16(self, tmp_path):
        def changed(key, options):
            if key == made.BIAS_KEY:
                options.update(dtype=made.BFLOAT16)

        prefix = made.checkpoint(tmp_path / "ckpt", change=changed)
        error = self.refused(tmp_path, prefix, architecture=made.template_config())
        assert "bfloat16" in error.message

    def test_no_keras_in_it(self, tmp_path):
        nodes = [({"w": 1}, "", "", ()), ({}, made.KERNEL_KEY, "w", ())]
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        error = self.refused(tmp_path, prefix, NotKerasError)
        assert "no functional or Sequential" in error.message

    def test_an_object_that_is_not_there(self, tmp_path):
        nodes = [({"layer-0": 7}, "", "", ())]
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        error = self.refused(tmp_path, prefix, FileError, architecture=made.template_config())
        assert "damaged" in error.message

    def test_a_value_that_is_not_there(self, tmp_path):
        arrays = made.arrays()
        del arrays[made.BIAS_KEY]
        prefix = made.write(str(tmp_path / "ckpt"), arrays, made.graph(made.nodes()))
        error = self.refused(tmp_path, prefix, FileError, architecture=made.template_config())
        assert "is named and is not there" in error.message

    def test_objects_in_a_ring_end(self, tmp_path):
        nodes = made.nodes({"layer-0": 0, "model": 0})
        prefix = made.write(str(tmp_path / "ckpt"), made.arrays(), made.graph(nodes))
        self.refused(tmp_path, prefix, architecture=made.template_config())

    def test_a_wrong_checksum_leaves_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr("unparallel.tensorflow.bundle.fast", lambda: crc32c.by_table)

        def changed(key, options):
            options.update(crc=1)

        prefix = made.checkpoint(tmp_path / "ckpt", change=changed)
        error = self.refused(tmp_path, prefix, FileError, architecture=made.template_config())
        assert "checksum" in error.message

    def test_the_source_is_no_target(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt")
        before = (tmp_path / "ckpt.index").read_bytes()
        with pytest.raises(FileError, match="part of the source"):
            unparallel.convert(prefix, prefix + ".index", architecture=made.template_config(), overwrite=True)
        assert (tmp_path / "ckpt.index").read_bytes() == before

    def test_one_that_changes_meanwhile(self, tmp_path, monkeypatch):
        prefix = made.checkpoint(tmp_path / "ckpt")
        from unparallel.tensorflow import bundle

        blocks = bundle.Bundle.blocks

        def touched(self, key):
            os.utime(prefix + ".index", (1, 1))
            return blocks(self, key)

        monkeypatch.setattr(bundle.Bundle, "blocks", touched)
        error = self.refused(tmp_path, prefix, FileError, architecture=made.template_config())
        assert "changed while it was read" in error.message


@pytest.mark.slow
class TestManyFiles:
    def folder(self, tmp_path):
        root = tmp_path / "runs"
        made.checkpoint(root / "a" / "ckpt-1")
        made.checkpoint(root / "a" / "ckpt-2")
        made.checkpoint(root / "b" / "weights.03", shards=2)
        (root / "a" / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
        (root / "b" / "weights.03.meta").write_bytes(b"")
        return root

    def test_each_checkpoint_is_one_source(self, tmp_path):
        root = self.folder(tmp_path)
        found = list(unparallel.convert_many(str(root), str(tmp_path / "out"), architecture=made.template_config()))
        assert sorted((item.status, os.path.relpath(item.target, str(tmp_path))) for item in found) == [
            ("converted", os.path.join("out", "a", "ckpt-1.h5")),
            ("converted", os.path.join("out", "a", "ckpt-2.h5")),
            ("converted", os.path.join("out", "b", "weights.03.h5")),
        ]
        assert contents(str(tmp_path / "out" / "b" / "weights.03.h5")) == WANTED

    def test_a_second_run_skips_them_until_a_shard_changes(self, tmp_path):
        root = self.folder(tmp_path)
        arguments = {"architecture": made.template_config(), "report": str(tmp_path / "report.json")}
        for wanted in ("converted", "skipped"):
            found = list(unparallel.convert_many(str(root), str(tmp_path / "out"), **arguments))
            assert {item.status for item in found} == {wanted}
        assert {item.reason for item in found} == {"done before"}
        made.write(
            str(root / "a" / "ckpt-1"), dict(made.arrays(), **{made.BIAS_KEY: made.BIAS + 1}), made.graph(made.nodes())
        )
        found = list(unparallel.convert_many(str(root), str(tmp_path / "out"), **arguments))
        again = [os.path.basename(item.source) for item in found if item.status == "converted"]
        assert again == ["ckpt-1"]

    def test_a_pattern_means_each_checkpoint_once(self, tmp_path):
        root = self.folder(tmp_path)
        pattern = str(root / "a" / "ckpt*")
        found = list(unparallel.convert_many(pattern, str(tmp_path / "out"), architecture=made.template_config()))
        assert [os.path.basename(item.source) for item in found] == ["ckpt-1", "ckpt-2"]

    def test_urls(self, tmp_path):
        pytest.importorskip("fsspec")
        root = self.folder(tmp_path)
        single = made.nodes({"layer-0": 1, "layer-1": 6})
        made.write(str(root / "c" / "single"), made.arrays(), made.graph(single))
        out = tmp_path / "out"
        found = list(unparallel.convert_many("file://" + str(root), str(out), architecture=made.template_config()))
        assert sorted(os.path.relpath(item.target, str(out)) for item in found if item.status == "converted") == [
            os.path.join("a", "ckpt-1.h5"),
            os.path.join("a", "ckpt-2.h5"),
            os.path.join("b", "weights.03.h5"),
        ]
        # no word of the temporary copy
        (reason,) = [item.reason for item in found if item.status == "single"]
        assert reason == "a checkpoint of a single model already: there is nothing to undo"

    def test_what_is_not_keras_is_skipped_in_a_folder(self, tmp_path):
        nodes = [({"w": 1}, "", "", ()), ({}, made.KERNEL_KEY, "w", ())]
        made.write(str(tmp_path / "in" / "bert"), made.arrays(), made.graph(nodes))
        (found,) = unparallel.convert_many(str(tmp_path / "in"), str(tmp_path / "out"))
        assert (found.status, found.reason) == ("skipped", "not a Keras file")


class TestCommand:
    def test_a_folder_with_one_and_a_file_as_target(self, tmp_path, capsys):
        folder = tmp_path / "in"
        made.checkpoint(folder / "weights.03")
        target = str(tmp_path / "clean.h5")
        assert main([str(folder), "--architecture", made.architecture(tmp_path), "-o", target]) == 0
        assert contents(target) == WANTED

    @pytest.mark.parametrize("more", [[], ["--to", "keras"]])
    def test_a_folder_with_one_and_an_archive_as_target(self, tmp_path, capsys, more):
        made.checkpoint(tmp_path / "in" / "weights.03")
        target = str(tmp_path / "clean.keras")
        arguments = [str(tmp_path / "in"), "--architecture", made.architecture(tmp_path), "-o", target]
        assert main(arguments + more) == 0
        with zipfile.ZipFile(target) as archive:
            assert "model.weights.h5" in archive.namelist()

    def test_a_prefix_is_looked_at(self, tmp_path, capsys):
        prefix = made.checkpoint(tmp_path / "ckpt")
        assert main([prefix]) == 1
        printed = capsys.readouterr().out
        assert "a checkpoint of TensorFlow" in printed
        assert "--architecture" in printed
        assert main([prefix, "--architecture", made.architecture(tmp_path), "--json"]) == 0
        seen = json.loads(capsys.readouterr().out)
        assert (seen["verdict"], seen["template"], seen["parameters"]) == ("parallel", "net", 9)

    def test_hdf5_beside_a_checkpoint_of_its_name(self, tmp_path, capsys):
        """Keras 2.3.1 and tf.keras 1.15 write HDF5 files without an ending."""
        prefix = made.checkpoint(tmp_path / "ckpt")
        with h5py.File(prefix, "w"):
            pass
        assert main([prefix]) == 1
        assert "HDF5, but no Keras model" in capsys.readouterr().err
        shutil.copy(prefix, str(tmp_path / "other"))
