"""The compile state: what Keras 3 has too is carried, variable by variable; all else is left out, and said."""

import json
import os
import re
import shutil
import warnings
import zipfile

import h5py
import numpy as np
import pytest

from unparallel import convert
from unparallel.errors import UnparallelWarning
from unparallel.keras3.plan import compiled
from unparallel.keras3.translate import attempt
from unparallel.keras3.values import TensorSpec
from unparallel.model import Optimizer, WeightRef

from .models import archive_of, file_of, layer, model_file, refs, source

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fixtures")

SLOTS = [(5, 4), (4,), (4, 3), (3,)]
DENSE = [
    source(),
    layer("Dense", {"units": 4, "use_bias": True, "activation": "relu"}, SLOTS[:2], "one"),
    layer("Dense", {"units": 3, "use_bias": True, "activation": "linear"}, SLOTS[2:], "it", (("one",),)),
]
ADAM = {"lr": 0.01, "beta_1": 0.9, "beta_2": 0.999, "decay": 0.0, "epsilon": 1e-07, "amsgrad": False}


def state(shapes, first=True):
    shapes = ([()] if first else []) + list(shapes)
    kinds = ["int64" if shape == () else "float32" for shape in shapes]
    refs = tuple(WeightRef(f"v{i}:0", f"/o/v{i}", s, kind) for i, (s, kind) in enumerate(zip(shapes, kinds)))
    return Optimizer("/o", len(refs), 0, refs)


def made_of(name, config, optimizer, version="2.2.4", layers=DENSE, **settings):
    training = {"optimizer_config": {"class_name": name, "config": config}, "loss": "mse", "metrics": []}
    training.update(settings)
    return archive_of(model_file(list(layers), version=version, training_config=training, optimizer=optimizer))


def variables(made):
    found = {
        int(path.rsplit("/", 1)[1]): array.sources[0].name if array.sources else array.steps[0].name
        for path, array in made.arrays
        if path.startswith("optimizer/vars/")
    }
    assert sorted(found) == list(range(len(found)))
    return [found[i] for i in sorted(found)]


def test_adam_goes_weight_by_weight():
    stubs = [(1,)] * 4
    made = made_of("Adam", ADAM, state(SLOTS + SLOTS + stubs))
    # step count, learning rate, then m and v of each weight; the stubs that amsgrad leaves stay behind
    assert variables(made) == ["v0:0", "full", "v1:0", "v5:0", "v2:0", "v6:0", "v3:0", "v7:0", "v4:0", "v8:0"]
    config = made.config["compile_config"]
    assert config["optimizer"]["config"]["learning_rate"] == 0.01
    assert config["loss"] == "mean_squared_error"
    assert (made.compiled, made.optimizer) == (True, "Adam")


def test_amsgrad_comes_after_the_others():
    made = made_of("Adam", dict(ADAM, amsgrad=True), state(SLOTS * 3))
    assert variables(made)[-4:] == ["v9:0", "v10:0", "v11:0", "v12:0"]


@pytest.mark.parametrize(("momentum", "count"), [(0.0, 2), (0.9, 6)])
def test_sgd_has_momentums_only_with_momentum(momentum, count):
    config = {"lr": 0.1, "momentum": momentum, "decay": 0.0, "nesterov": False}
    assert len(variables(made_of("SGD", config, state(SLOTS)))) == count


def test_decay_is_a_schedule_and_has_no_variable():
    made = made_of("SGD", {"lr": 0.1, "momentum": 0.9, "decay": 0.5, "nesterov": True}, state(SLOTS))
    rate = made.config["compile_config"]["optimizer"]["config"]["learning_rate"]
    assert rate["class_name"] == "InverseTimeDecay"
    assert rate["config"] == {"initial_learning_rate": 0.1, "decay_steps": 1, "decay_rate": 0.5}
    assert variables(made) == ["v0:0", "v1:0", "v2:0", "v3:0", "v4:0"]


@pytest.mark.parametrize(("version", "argument"), [("2.2.4", "global_clipnorm"), ("2.4.0", "clipnorm")])
def test_clipnorm_was_over_all_gradients_in_standalone_keras(version, argument):
    made = made_of("Adam", dict(ADAM, clipnorm=2.0), state(SLOTS + SLOTS), version)
    assert made.config["compile_config"]["optimizer"]["config"][argument] == 2.0


def test_adagrad_of_standalone_keras_saves_no_step_count():
    made = made_of("Adagrad", {"lr": 0.1, "epsilon": None, "decay": 0.0}, state(SLOTS, first=False))
    assert variables(made) == ["integers", "full", "v0:0", "v1:0", "v2:0", "v3:0"]
    assert made.config["compile_config"]["optimizer"]["config"]["epsilon"] == 1e-7


def test_frozen_weights_have_no_variables():
    layers = [DENSE[0], dict(DENSE[1], config=dict(DENSE[1]["config"], trainable=False)), DENSE[2]]
    made = made_of("Adagrad", {"lr": 0.1, "epsilon": 1e-7}, state(SLOTS[2:]), layers=layers)
    assert variables(made) == ["v0:0", "full", "v1:0", "v2:0"]


def test_variables_follow_the_order_of_keras_3():
    """Masks lift a layer: its variables go before those of a layer that the old file lists first."""
    from .test_graph import two_branches

    shapes = [(3, 3), (3, 3), (3, 12), (3, 12), (3, 3), (3, 12), (3, 12)]
    made = made_of("Adagrad", {"lr": 0.1, "epsilon": 1e-7}, state(shapes), layers=two_branches())
    weights = [array.sources[0].name for path, array in sorted(made.arrays) if path.startswith("layers/")]
    assert weights[0] == "left/0:0"
    # left's kernel is the fifth trained weight in the old file
    assert variables(made)[2] == "v5:0"


@pytest.mark.parametrize(
    ("name", "config", "settings", "says"),
    [
        ("RMSprop", {"lr": 0.1}, {}, "RMSprop.*root"),
        ("Mine", {"lr": 0.1}, {}, "'Mine'"),
        ("Adam", ADAM, {"loss": "my_loss"}, "'my_loss'"),
        ("Adam", dict(ADAM, lr={"class_name": "Mine", "config": {}}), {}, "learning rate 'Mine'"),
    ],
)
def test_what_is_not_the_same_is_left_out_and_said(name, config, settings, says):
    made = made_of(name, config, state(SLOTS + SLOTS), **settings)
    assert not made.compiled
    assert "compile_config" not in made.config
    (text,) = [note.text for note in made.notes if "uncompiled" in note.text]
    assert re.search(says, text)


def test_scaled_weights_lose_the_state():
    layers = [DENSE[0], dict(DENSE[1], config=dict(DENSE[1]["config"], activation="hard_sigmoid")), DENSE[2]]
    assert not made_of("Adam", ADAM, state(SLOTS + SLOTS), layers=layers).compiled


def test_wrong_number_of_variables():
    made = made_of("Adam", ADAM, state(SLOTS[:3]))
    assert not made.compiled
    assert any("3 variables for 4 trained weights" in note.text for note in made.notes)


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        ("mse", "mean_squared_error"),
        (["mse"], "mean_squared_error"),
        ({"it": "kld"}, "kl_divergence"),
        (
            {"class_name": "BinaryCrossentropy", "config": {"from_logits": True, "reduction": "auto", "name": "b"}},
            ("BinaryCrossentropy", {"from_logits": True, "reduction": "sum_over_batch_size"}),
        ),
    ],
)
def test_losses(loss, wanted):
    found = made_of("Adam", ADAM, None, loss=loss).config["compile_config"]["loss"]
    assert (found if isinstance(found, str) else (found["class_name"], found["config"])) == wanted


def test_one_loss_for_two_outputs_and_metrics_of_each():
    layers = DENSE[:2] + [dict(DENSE[2], name="a", config=dict(DENSE[2]["config"], name="a")), DENSE[2]]
    training = {
        "optimizer_config": {"class_name": "Adam", "config": ADAM},
        "loss": "mse",
        "loss_weights": {"a": 0.5, "it": 1.0},
        "metrics": ["accuracy", "their_own"],
    }
    made = archive_of(model_file(layers, ("a", "it"), training_config=training))
    config = made.config["compile_config"]
    assert config["loss"] == ["mean_squared_error"] * 2
    assert config["metrics"] == [["accuracy"]] * 2
    assert config["loss_weights"] == {"a": 0.5, "it": 1.0}
    assert any("'their_own'" in note.text for note in made.notes)


def test_never_trained_gets_variables_as_keras_makes_them():
    made = made_of("Adagrad", {"lr": 0.1, "epsilon": 1e-7}, None)
    slots = [array for path, array in made.arrays if path.startswith("optimizer/") and array.shape == (5, 4)]
    assert [array.steps[0].arguments for array in slots] == [((5, 4), 0.0)]
    assert np.prod(slots[0].shape) == 20


def a_sequential():
    """As Keras 2.2.4 writes one that began with an InputLayer: no layer says the shape of the input."""
    layers = [{"class_name": item["class_name"], "config": item["config"]} for item in DENSE[1:]]
    config = {"class_name": "Sequential", "config": {"name": "stacked", "layers": layers}}
    weights = [(item["name"], refs(item["name"], item["shapes"])) for item in DENSE[1:]]
    training = {"optimizer_config": {"class_name": "Adam", "config": ADAM}, "loss": "mse", "metrics": []}
    return file_of(config, weights, training_config=training, optimizer=state(SLOTS + SLOTS + [(1,)] * 4))


def test_a_sequential_of_unknown_input_comes_uncompiled():
    """Keras 3 loads it unbuilt, and an optimizer that is not built passes over its variables."""
    made = archive_of(a_sequential())
    assert not made.compiled
    assert "does not say the shape of the Sequential's input" in " ".join(str(note) for note in made.notes)


def test_a_sequential_of_known_input_keeps_its_optimizer():
    new, context = attempt(a_sequential(), inputs=[TensorSpec((None, 5))]).whole()
    made = compiled(a_sequential(), new, context)
    assert made.compiled
    assert made.config["config"]["layers"][0]["config"]["batch_shape"] == [None, 5]


def test_the_wrapper_knows_what_its_sequential_does_not(tmp_path):
    path = shutil.copy(os.path.join(FIXTURES, "tf23-sequential", "parallel.h5"), str(tmp_path / "parallel.h5"))
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        (inner,) = [item for item in config["config"]["layers"] if item["class_name"] == "Sequential"]
        shape = inner["config"]["layers"][0]["config"]["batch_input_shape"]
        inner["config"]["layers"] = [item for item in inner["config"]["layers"] if item["class_name"] != "InputLayer"]
        for item in inner["config"]["layers"]:
            item["config"].pop("batch_input_shape", None)
        file.attrs["model_config"] = json.dumps(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnparallelWarning)
        convert(path, tmp_path / "clean.keras")
    with zipfile.ZipFile(str(tmp_path / "clean.keras")) as archive:
        written = json.loads(archive.read("config.json"))
    assert written["config"]["layers"][0]["config"]["batch_shape"] == shape
    assert "compile_config" in written
