"""What real stacks wrote where a path has no `.h5`, and what the same stack saved for the template alone."""

import lzma
import os
import shutil

import h5py
import pytest

import unparallel

from ..same import differences

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fixtures")


def having(what):
    return sorted(name for name in os.listdir(FIXTURES) if os.path.isdir(os.path.join(FIXTURES, name, what)))


@pytest.fixture
def unpacked(tmp_path):
    """A function that copies a case's folder, and unpacks what is kept compressed in it."""

    def unpack(name, what):
        target = str(tmp_path / what)
        shutil.copytree(os.path.join(FIXTURES, name, what), target)
        for place, _, files in os.walk(target):
            for file in files:
                if file.endswith(".xz"):
                    path = os.path.join(place, file)
                    with lzma.open(path) as packed, open(path[:-3], "wb") as made:
                        shutil.copyfileobj(packed, made)
                    os.unlink(path)
        return target

    return unpack


def gold(name, folder, optimizer=True):
    """The template's file, without its training state where the source has none."""
    path = str(folder / "gold.h5")
    shutil.copy(os.path.join(FIXTURES, name, "template.h5"), path)
    with h5py.File(path, "r+") as file:
        if not optimizer:
            file.attrs.pop("training_config", None)
            file.pop("optimizer_weights", None)
    return path


def arrays(path):
    """[(layer, [array])] as Keras reads it."""
    with h5py.File(path, "r") as file:
        base = file["model_weights"]
        return [
            (layer, [base[layer][name][()].tolist() for name in base[layer].attrs["weight_names"]])
            for layer in base.attrs["layer_names"]
        ]


@pytest.mark.parametrize("name", having("saved_model"))
class TestSavedModel:
    def test_with_training_state(self, tmp_path, unpacked, name):
        target = str(tmp_path / "clean.h5")
        done = unparallel.convert(unpacked(name, "saved_model"), target)
        assert list(differences(gold(name, tmp_path), target)) == []
        assert (done.template, done.optimizer, done.verified) == ("pair", "Ftrl", True)

    def test_without(self, tmp_path, unpacked, name):
        target = str(tmp_path / "clean.h5")
        unparallel.convert(unpacked(name, "saved_model"), target, optimizer=False)
        assert list(differences(gold(name, tmp_path, optimizer=False), target)) == []

    def test_what_is_left_without_the_graph_is_a_checkpoint(self, tmp_path, unpacked, name):
        folder = unpacked(name, "saved_model")
        os.unlink(os.path.join(folder, "saved_model.pb"))
        target = str(tmp_path / "clean.h5")
        with pytest.raises(unparallel.UnparallelError, match="no config"):
            unparallel.convert(folder, target)
        assert not os.path.exists(target)
        unparallel.convert(folder, target, architecture=os.path.join(FIXTURES, name, "architecture.json"))
        assert list(differences(gold(name, tmp_path, optimizer=False), target)) == []

    @pytest.mark.slow
    def test_it_is_one_source_in_a_folder(self, tmp_path, unpacked, name):
        unpacked(name, "saved_model")
        shutil.rmtree(str(tmp_path / "out"), ignore_errors=True)
        (found,) = unparallel.convert_many(str(tmp_path), str(tmp_path / "out"))
        assert (found.status, found.target) == ("converted", str(tmp_path / "out" / "saved_model.h5"))
        assert list(differences(gold(name, tmp_path), found.target)) == []


@pytest.mark.parametrize("architecture", ["architecture.json", "parallel_architecture.json"])
@pytest.mark.parametrize("name", having("checkpoint"))
def test_checkpoint(tmp_path, unpacked, name, architecture):
    target = str(tmp_path / "clean.h5")
    source = os.path.join(unpacked(name, "checkpoint"), "weights.03")
    done = unparallel.convert(source, target, architecture=os.path.join(FIXTURES, name, architecture))
    assert list(differences(gold(name, tmp_path, optimizer=False), target)) == []
    assert any("optimizer's arrays do not come along" in note for note in done.notes)


@pytest.mark.parametrize("name", having("saver"))
def test_saver(tmp_path, unpacked, name):
    target = str(tmp_path / "clean.h5")
    source = os.path.join(unpacked(name, "saver"), "model.ckpt")
    unparallel.convert(source, target, architecture=os.path.join(FIXTURES, name, "architecture.json"))
    # by order: the gold file is of a run without the wrapper, where a clone's weights bear other names
    assert arrays(target) == arrays(gold(name, tmp_path, optimizer=False))


def test_names_alone_do_not_decide_between_a_model_and_its_clone(tmp_path, unpacked):
    folder = unpacked("k231-saver", "saver")
    os.unlink(os.path.join(folder, "model.ckpt.meta"))
    architecture = os.path.join(FIXTURES, "k231-saver", "architecture.json")
    with pytest.raises(unparallel.UnparallelError, match="is no layer's") as caught:
        unparallel.convert(os.path.join(folder, "model.ckpt"), str(tmp_path / "c.h5"), architecture=architecture)
    assert ".meta" in caught.value.hint


def test_names_alone_do_where_nothing_is_left_over(tmp_path, unpacked):
    folder = unpacked("tf115-formats", "saver")
    os.unlink(os.path.join(folder, "model.ckpt.meta"))
    target = str(tmp_path / "c.h5")
    architecture = os.path.join(FIXTURES, "tf115-formats", "architecture.json")
    unparallel.convert(os.path.join(folder, "model.ckpt"), target, architecture=architecture)
    assert list(differences(gold("tf115-formats", tmp_path, optimizer=False), target)) == []
