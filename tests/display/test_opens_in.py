"""What is said of where a clean file opens; `tests/live/modern` compares it with what Keras 3 and tf_keras do."""

import os

import pytest

import unparallel
from unparallel import hdf5
from unparallel.display.opens_in import opens_in
from unparallel.reader import read

from .. import tiny
from ..operations.followed import saved

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fixtures")


def said_of(path):
    with hdf5.open_source(path) as opened:
        return opens_in(read(opened))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("k224-cnn", "Keras 2.2.4, tf_keras (pip install tf_keras), Keras 3 with compile=False"),
        ("k231-around", "Keras 2.3.1, tf_keras (pip install tf_keras); not in Keras 3: a model inside the model"),
        (
            "tf115-nested",
            "TensorFlow 1.15 or 2.0, tf_keras (pip install tf_keras); not in Keras 3: a model inside the model, "
            "initializers with a dtype, as TensorFlow 1 wrote them",
        ),
        ("keras3-copy", "Keras 3.15.1"),
    ],
)
def test_what_is_said_of_the_fixtures(name, said):
    assert said_of(os.path.join(FIXTURES, name, "template.h5")) == said


def test_it_is_said_of_what_is_written_and_not_of_the_wrapper(tmp_path):
    source = os.path.join(FIXTURES, "k224-cnn", "parallel.h5")
    expected = "Keras 2.2.4, tf_keras (pip install tf_keras), Keras 3 with compile=False"
    assert unparallel.inspect(source).opens_in == expected
    done = unparallel.convert(source, tmp_path / "clean.h5")
    assert done.opens_in == expected
    assert str(done).splitlines()[-1] == f"opens in:  {expected}"
    without = unparallel.convert(source, tmp_path / "other.h5", optimizer=False)
    assert without.opens_in == "Keras 2.2.4, tf_keras (pip install tf_keras), Keras 3"


def test_nothing_is_said_of_weights_and_of_refusals(tmp_path):
    weights = os.path.join(FIXTURES, "k231-two-outputs", "template_weights.h5")
    assert unparallel.inspect(weights).opens_in == ""
    assert unparallel.inspect(os.path.join(FIXTURES, "k224-siamese", "model.h5")).opens_in == ""


def test_own_classes_and_code_are_named(tmp_path):
    own = tiny.TinyLayer("odd", "OddScale", {"name": "odd", "trainable": True}, (("x",),))
    path = tiny.save(tmp_path / "a.h5", tiny.TinyModel("m", (tiny.entry("x", 3), own), ("x",), ("odd",)))
    assert "; with custom_objects={'OddScale': ...}" in said_of(path)
    code = tiny.piece("cut", "x", 0, 2)
    path = tiny.save(tmp_path / "b.h5", tiny.TinyModel("m", (tiny.entry("x", 3), code), ("x",), ("cut",)))
    said = said_of(path)
    assert said.startswith("Keras 2.2.4; only under Python 3.")
    assert said.endswith("; not in tf_keras and Keras 3: layer 'cut' holds Python code")
    # an archive holds operations in place of the code
    with hdf5.open_source(path) as opened:
        said = opens_in(read(opened), archive=True)
    assert said.startswith("Keras 2.2.4, Keras 3 as .keras (-o NAME.keras); as .h5 only under Python 3.")


def test_code_that_can_be_written_as_operations_is_told_from_other_code(tmp_path):
    config = {"name": "twice", "trainable": True, "function": [saved("lambda x: x * 2").text, None, None]}
    twice = tiny.TinyLayer("twice", "Lambda", dict(config, function_type="lambda", arguments={}), (("x",),))
    path = tiny.save(tmp_path / "a.h5", tiny.TinyModel("m", (tiny.entry("x", 3), twice), ("x",), ("twice",)))
    said = unparallel.inspect(path).opens_in
    assert said.startswith("Keras 2.2.4, Keras 3 as .keras (-o NAME.keras); as .h5 only under Python 3.")
    assert "; as .h5 not in tf_keras and Keras 3: " in said
    assert said.endswith("layer 'twice' holds Python code (operations in the .keras)")
