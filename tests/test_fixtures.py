"""Files that real Keras wrote, and what the same Keras saved for the template alone."""

import os
import shutil

import h5py
import pytest

import unparallel

from .same import differences

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")


def case(name, file):
    return os.path.join(FIXTURES, name, file)


def having(file):
    return sorted(name for name in os.listdir(FIXTURES) if os.path.exists(case(name, file)))


@pytest.mark.parametrize("name", having("parallel.h5"))
def test_full_file(tmp_path, name):
    made = str(tmp_path / "made.h5")
    done = unparallel.convert(case(name, "parallel.h5"), made)
    assert list(differences(case(name, "template.h5"), made)) == []
    assert done.verified


@pytest.mark.parametrize("name", having("parallel_weights.h5"))
def test_weights_file_with_its_architecture(tmp_path, name):
    made, full = str(tmp_path / "made.h5"), str(tmp_path / "full.h5")
    architecture = case(name, "architecture.json")
    unparallel.convert(case(name, "parallel_weights.h5"), made, architecture=architecture)
    # a weights file holds no training state: the gold file is compared without its own
    shutil.copy(case(name, "template.h5"), full)
    with h5py.File(full, "r+") as gold:
        gold.attrs.pop("training_config", None)
        gold.pop("optimizer_weights", None)
    assert list(differences(full, made)) == []
    unparallel.convert(
        case(name, "parallel_weights.h5"), made, architecture=architecture, weights_only=True, overwrite=True
    )
    assert list(differences(case(name, "template_weights.h5"), made)) == []
