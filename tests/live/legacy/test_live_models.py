"""Live models of the real `multi_gpu_model`: the template inside, its files, and going on from them."""

import contextlib
import glob
import json
import os

import numpy
import pytest

import unparallel
from unparallel.live.checkpoint import TemplateCheckpoint, load_template, save_template
from unparallel.live.template import extract_template

from ...same import differences
from . import scenarios, stack
from .stack import keras, multi_gpu_model, unwrapped

pytestmark = pytest.mark.timeout(240)

NESTED = [scenarios.offers, scenarios.line, scenarios.digits]
REBUILT = [scenarios.around, scenarios.head, scenarios.inlined]
if stack.CHAINS_MODELS:
    REBUILT.append(scenarios.chained)
OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01),
}


def trained(scenario, parallel=multi_gpu_model):
    """A scenario with fixed weights after two steps."""
    stack.fresh()
    built = scenario(parallel)
    for i, part in enumerate(built.parts):
        stack.set_weights(part, 10 * i)
    built.model.compile(**built.compile_arguments)
    stack.train(built.model)
    return built


def save_gold(scenario, built, target):
    """The file of the same code without the wrapper, with the parallel run's numbers in it.

    Batches that are cut in two do not round like whole ones, so the numbers are carried over.
    """
    parts = [part.get_weights() for part in built.parts]
    slots = stack.optimizer_arrays(built.model)
    single = trained(scenario, unwrapped)
    for part, weights in zip(single.parts, parts):
        part.set_weights(weights)
    single.model.optimizer.set_weights(slots)
    single.model.save(str(target))


@pytest.mark.parametrize("scenario", NESTED)
def test_the_nested_template_is_the_very_layer_and_trained(scenario):
    built = trained(scenario)
    found = extract_template(built.model)
    assert found is built.parts[0]
    stack.assert_same_predictions(found, built.model)


@pytest.mark.parametrize("scenario", REBUILT + [scenarios.copies])
def test_a_model_over_the_same_layers(scenario):
    built = trained(scenario)
    found = extract_template(built.model)
    stack.assert_same_predictions(found, built.model)
    assert {id(weight) for weight in found.weights} == {id(weight) for weight in built.model.weights}
    assert not [layer for layer in found.layers if type(layer).__name__ == "Lambda"]


@pytest.mark.skipif(stack.CHAINS_MODELS, reason="this Keras takes connected layers into a Sequential")
def test_a_model_that_this_keras_cannot_make():
    built = trained(scenarios.chained)
    with pytest.raises(unparallel.UnparallelError, match="'chain' can be made"):
        extract_template(built.model)


def test_a_wrapper_of_a_wrapper():
    built = trained(lambda parallel: scenarios.digits(lambda model, n: parallel(parallel(model, 2), 2)))
    assert extract_template(built.model) is built.parts[0]


@pytest.mark.skipif(not stack.RELOCATES, reason="no cpu_relocation in this Keras")
def test_cpu_relocation_gives_the_copy_that_trains(tmp_path):
    built = trained(lambda parallel: scenarios.digits(lambda model, n: parallel(model, n, cpu_relocation=True)))
    found = extract_template(built.model)
    assert found is not built.parts[0]
    assert found.name == built.parts[0].name
    stack.assert_same_predictions(found, built.model)
    path = str(tmp_path / "clean.h5")
    save_template(built.model, path)
    expected = stack.predictions(built.model)
    stack.fresh()
    numpy.testing.assert_allclose(stack.predictions(keras.models.load_model(path))[0], expected[0], rtol=1e-5)


@pytest.mark.parametrize("scenario", NESTED + REBUILT)
def test_the_file_is_what_the_same_code_without_the_wrapper_saves(scenario, tmp_path):
    built = trained(scenario)
    clean, gold = tmp_path / "clean.h5", tmp_path / "gold.h5"
    save_template(built.model, clean)
    assert os.listdir(str(tmp_path)) == ["clean.h5"]
    save_gold(scenario, built, gold)
    assert not list(differences(str(clean), str(gold)))


@pytest.mark.skipif(stack.CAN_SAVE_WRAPPER, reason="this Keras can save the wrapper")
def test_it_works_where_saving_the_wrapper_fails(tmp_path):
    built = trained(scenarios.line)
    with pytest.raises(TypeError):
        built.model.save(str(tmp_path / "parallel.h5"))
    save_template(built.model, tmp_path / "clean.h5")
    stack.assert_same_predictions(keras.models.load_model(str(tmp_path / "clean.h5")), built.model)


@pytest.mark.skipif(not stack.CAN_SAVE_WRAPPER, reason="this Keras cannot save the wrapper")
@pytest.mark.parametrize("scenario", [scenarios.offers, scenarios.around])
def test_the_same_file_as_from_a_saved_wrapper(scenario, tmp_path):
    built = trained(scenario)
    parallel, clean, converted = (str(tmp_path / name) for name in ("parallel.h5", "clean.h5", "converted.h5"))
    built.model.save(parallel)
    save_template(built.model, clean)
    unparallel.convert(parallel, converted)
    assert not list(differences(clean, converted))


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_the_next_step_is_exactly_the_same(optimizer, tmp_path):
    """One-hot rows, so that cutting the batch in two changes no rounding."""
    stack.fresh()
    built = scenarios.single_terms(multi_gpu_model, OPTIMIZERS[optimizer]())
    stack.set_weights(built.parts[0])
    built.model.compile(**built.compile_arguments)
    if stack.STANDALONE:
        # Adam reads the count of steps while it is raised, before or after, as it happens: after so many it matters not
        stack.K.set_value(built.model.optimizer.iterations, 10**6)
    rows = [numpy.roll(numpy.eye(8, dtype="float32"), shift, axis=0) for shift in (1, 3)]

    def step(model, seed):
        model.train_on_batch(rows, stack.batch(model.outputs, 8, seed))

    step(built.model, 1)
    step(built.model, 2)
    path = str(tmp_path / "clean.h5")
    save_template(built.model, path)
    step(built.model, 3)
    weights, slots = built.parts[0].get_weights(), stack.optimizer_arrays(built.model)
    stack.fresh()
    resumed = keras.models.load_model(path)
    step(resumed, 3)
    pairs = list(zip(resumed.get_weights() + stack.optimizer_arrays(resumed), weights + slots))
    assert len(pairs) == len(weights) + len(slots) > 3
    for one, other in pairs:
        numpy.testing.assert_array_equal(one, other)


def fit(built, *callbacks, **options):
    x, y = stack.batch(built.model.inputs, 12, 1), stack.batch(built.model.outputs, 12, 2)
    return built.model.fit(x, y, batch_size=6, verbose=0, callbacks=list(callbacks), **options)


def test_checkpoints_of_every_epoch_can_be_loaded(tmp_path):
    built = trained(scenarios.digits)
    keep = TemplateCheckpoint(built.model, str(tmp_path / "at-{epoch:02d}.h5"))
    assert isinstance(keep, keras.callbacks.ModelCheckpoint)
    fit(built, keep, epochs=2)
    files = sorted(glob.glob(str(tmp_path / "*")))
    assert [os.path.basename(path) for path in files] == ["at-01.h5", "at-02.h5"]
    expected, slots = stack.predictions(built.model), stack.optimizer_arrays(built.model)
    for path in files:
        stack.fresh()
        loaded = keras.models.load_model(path)
        loaded.train_on_batch(stack.batch(loaded.inputs, 4, 1), stack.batch(loaded.outputs, 4, 2))
    stack.fresh()
    last = keras.models.load_model(files[-1])
    numpy.testing.assert_allclose(stack.predictions(last)[0], expected[0], rtol=1e-5)
    x, y = stack.batch(last.inputs, 4, 1), stack.batch(last.outputs, 4, 2)
    if not stack.tensorflow.__version__.startswith("2."):  # there the slots appear with the first step
        last._make_train_function()
        for one, other in zip(stack.optimizer_arrays(last), slots):
            numpy.testing.assert_array_equal(one, other)
    last.train_on_batch(x, y)


def test_the_best_epoch_alone(tmp_path):
    built = trained(scenarios.line)
    best, each = str(tmp_path / "best.h5"), str(tmp_path / "at-{epoch}.h5")
    keep = TemplateCheckpoint(built.model, best, monitor="loss", save_best_only=True)
    losses = fit(built, keep, TemplateCheckpoint(built.model, each), epochs=3).history["loss"]
    lowest = each.format(epoch=losses.index(min(losses)) + 1)
    assert keep.best == min(losses)
    assert not list(differences(best, lowest))


def test_weights_alone(tmp_path):
    built = trained(scenarios.digits)
    path = str(tmp_path / "weights.h5")
    fit(built, TemplateCheckpoint(built.model, path, save_weights_only=True), epochs=1)
    expected = stack.predictions(built.model)
    stack.fresh()
    single = scenarios.digits(unwrapped).model
    single.load_weights(path)
    numpy.testing.assert_allclose(stack.predictions(single)[0], expected[0], rtol=1e-5)


@pytest.mark.skipif(not stack.CAN_SAVE_WRAPPER, reason="this Keras cannot save the wrapper")
def test_load_template_gives_the_single_model(tmp_path):
    built = trained(scenarios.offers)
    path = str(tmp_path / "parallel.h5")
    built.model.save(path)
    expected = stack.predictions(built.model)
    stack.fresh()
    loaded = load_template(path, keras=keras)
    assert "Lambda" not in [type(layer).__name__ for layer in loaded.layers]
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]
    for one, other in zip(stack.predictions(loaded), expected):
        numpy.testing.assert_allclose(one, other, rtol=1e-5)
    stack.train(loaded, 1)


def test_without_the_optimizer(tmp_path):
    built = trained(scenarios.line)
    path = str(tmp_path / "clean.h5")
    save_template(built.model, path, optimizer=False)
    with unparallel_file(path) as handle:
        assert "training_config" not in handle.attrs
        assert sorted(handle) == ["model_weights"]


@contextlib.contextmanager
def unparallel_file(path):
    import h5py

    with h5py.File(path, "r") as handle:
        yield handle


def test_settings_are_by_the_templates_outputs(tmp_path):
    built = trained(scenarios.offers)
    path = str(tmp_path / "clean.h5")
    save_template(built.model, path)
    with unparallel_file(path) as handle:
        settings = json.loads(handle.attrs["training_config"])
    assert sorted(settings["loss"]) == sorted(settings["loss_weights"]) == ["kind", "price"]


def test_rebuild_gives_one_inbound_node_and_weights_of_its_own():
    built = trained(scenarios.digits)
    copy = extract_template(built.model, rebuild=True)
    assert len(stack.inbound_nodes(copy)) <= 1 < len(stack.inbound_nodes(built.parts[0]))
    assert type(copy) is type(built.parts[0])
    stack.assert_same_predictions(copy, built.model)
    before = copy.get_weights()
    stack.train(built.model, 1)
    for one, other in zip(copy.get_weights(), before):
        numpy.testing.assert_array_equal(one, other)


def test_rebuild_copies_by_layer_where_a_whole_model_is_frozen():
    """Standalone Keras writes a model's own flag nowhere, and lists the weights of a frozen one in another order."""
    stack.fresh()
    built = scenarios.digits(unwrapped)
    built.model.get_layer("encoder").trainable = False
    parallel = multi_gpu_model(built.model, 2)
    stack.set_weights(built.model)
    copy = extract_template(parallel, rebuild=True)
    stack.assert_same_predictions(copy, parallel)


def test_no_session_and_no_devices(monkeypatch):
    """Looking needs neither: not even the devices are counted."""
    built = trained(scenarios.offers)

    def never(*args, **kwargs):
        raise AssertionError("called")

    for module in stack.MODULES:
        monkeypatch.setattr(module, "_get_available_devices", never)
    stack.K.clear_session()
    sessions = [stack.tensorflow.compat.v1, stack.K]
    for owner in sessions:
        for name in ("Session", "get_session"):
            if hasattr(owner, name):
                monkeypatch.setattr(owner, name, never)
    monkeypatch.setattr(built.model, "get_config", never, raising=False)
    assert extract_template(built.model) is built.parts[0]


def test_a_siamese_network_is_refused_with_the_reason():
    stack.fresh()
    with pytest.raises(unparallel.NotParallelError, match="'twins'") as caught:
        extract_template(scenarios.twins(unwrapped).model)
    assert caught.value.hint


def test_a_single_model_has_nothing_to_undo():
    stack.fresh()
    with pytest.raises(unparallel.AlreadySingleError, match="'line' is a single model already"):
        extract_template(scenarios.line(unwrapped).model)


def test_a_model_that_was_never_built():
    stack.fresh()
    with pytest.raises(unparallel.UnparallelError, match="was never built"):
        extract_template(keras.models.Sequential())
