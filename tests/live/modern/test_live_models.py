"""Live look-alikes in tf_keras and Keras 3: the template inside, its files, and going on from them."""

import os
import warnings

import numpy
import pytest

import unparallel
from unparallel.live.checkpoint import TemplateCheckpoint, load_template, save_template
from unparallel.live.template import extract_template

from ...same import differences
from . import flavours
from .flavours import FLAVOURS, keras, tf_keras, unwrapped, wrap

pytestmark = pytest.mark.timeout(240)

both = pytest.mark.parametrize("flavour", [keras, tf_keras], ids=sorted(FLAVOURS))
every_slice = pytest.mark.parametrize("how", sorted(flavours.SLICES))


def chain(flavour):
    return flavour.Sequential(
        [flavour.Input((5,), name="in"), flavour.layers.Dense(4, name="wide"), flavour.layers.Dense(2, name="narrow")],
        name="line",
    )


def two_ends(flavour):
    layers = flavour.layers
    words, meta = flavour.Input((5,), name="words"), flavour.Input((3,), name="meta")
    trunk = layers.Concatenate(name="join")([layers.Dense(4, activation="tanh", name="encode")(words), meta])
    ends = [layers.Dense(1, name="price")(trunk), layers.Dense(3, name="kind")(trunk)]
    return flavour.Model([words, meta], ends, name="offers")


def deep(flavour):
    """A frozen layer, and a model inside."""
    layers = flavour.layers
    part = flavour.Input((4,), name="part")
    encoder = flavour.Model(part, layers.Dense(3, activation="relu", name="squeeze")(part), name="encoder")
    image = flavour.Input((6, 6, 2), name="image")
    x = layers.Conv2D(3, 3, name="stem", trainable=False)(image)
    x = layers.GlobalAveragePooling2D(name="pool")(layers.Conv2D(4, 2, name="body")(x))
    return flavour.Model(image, layers.Dense(2, name="label")(encoder(x)), name="digits")


TEMPLATES = [chain, two_ends, deep]


def trained(flavour, build, how="lambda", parallel=wrap, steps=2):
    flavour.backend.clear_session()
    template = build(flavour)
    model = parallel(flavour, template, how=how)
    flavours.set_weights(template)
    # objects, since Keras 3 cannot load the losses that it saves as "mse"
    mse, mae = flavour.losses.MeanSquaredError(), flavour.losses.MeanAbsoluteError()
    loss = {"price": mse, "kind": mae} if build is two_ends else mse
    model.compile(optimizer=flavour.optimizers.Adam(0.01), loss=loss)
    flavours.train(model, steps)
    return template, model


@both
@every_slice
@pytest.mark.parametrize("build", TEMPLATES)
def test_the_nested_template_is_the_very_layer_and_trained(flavour, how, build):
    template, model = trained(flavour, build, how)
    found = extract_template(model)
    assert found is template
    flavours.assert_same_predictions(found, model)


@both
def test_a_model_over_the_same_layers(flavour):
    flavour.backend.clear_session()
    template = chain(flavour)
    inner = flavour.layers.Dense(1, name="top")(wrap(flavour, template).output)
    model = flavour.Model(template.inputs[0], inner, name="whole")
    found = extract_template(model)
    assert [layer.name for layer in found.layers] == [template.inputs[0].name.split(":")[0], "line", "top"]
    assert {id(weight) for weight in found.weights} == {id(weight) for weight in model.weights}
    flavours.assert_same_predictions(found, model)


@both
@pytest.mark.parametrize("build", TEMPLATES)
def test_the_file_is_what_the_same_code_without_the_wrapper_saves(flavour, build, tmp_path):
    template, model = trained(flavour, build)
    clean, gold = str(tmp_path / "clean.h5"), str(tmp_path / "gold.h5")
    save_template(model, clean)
    assert os.listdir(str(tmp_path)) == ["clean.h5"]
    weights, slots = template.get_weights(), flavours.variables(model.optimizer)
    _, single = trained(flavour, build, parallel=unwrapped)
    single.set_weights(weights)
    found = single.optimizer.variables
    for variable, value in zip(found() if callable(found) else found, slots):
        variable.assign(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single.save(gold)
    assert not list(differences(clean, gold))


@both
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
def test_the_next_step_is_exactly_the_same(flavour, optimizer, tmp_path):
    """One-hot rows: every sum has one term that is not zero, so that cutting the batch changes no rounding."""
    flavour.backend.clear_session()
    source = flavour.Input((8,), name="source")
    hidden = flavour.layers.Dense(3, use_bias=False, name="code")(source)
    template = flavour.Model(source, hidden, name="terms")
    model = wrap(flavour, template)
    flavours.set_weights(template)
    options = dict({"momentum": 0.9} if optimizer == "SGD" else {}, learning_rate=0.01)
    made = getattr(flavour.optimizers, optimizer)(**options)
    model.compile(optimizer=made, loss=flavour.losses.MeanSquaredError())
    rows = numpy.roll(numpy.eye(8, dtype="float32"), 3, axis=0)
    for seed in (1, 2):
        model.train_on_batch(rows, flavours.numbers((8, 3), seed))
    # Keras 3 restores no optimizer from HDF5, not even from a single model's file
    path = str(tmp_path / ("clean.keras" if flavour is keras else "clean.h5"))
    save_template(model, path)
    resumed = flavour.models.load_model(path)
    for one in (model, resumed):
        one.train_on_batch(rows, flavours.numbers((8, 3), 3))
    expected = template.get_weights() + flavours.variables(model.optimizer)
    found = resumed.get_weights() + flavours.variables(resumed.optimizer)
    assert len(found) == len(expected) > 2
    for one, other in zip(found, expected):
        numpy.testing.assert_array_equal(one, other)


@both
def test_checkpoints_can_be_loaded(flavour, tmp_path):
    _, model = trained(flavour, two_ends)
    x, y = flavours.batch(model.inputs, 12, 1), flavours.batch(model.outputs, 12, 2)
    ending = ".keras" if flavour is keras else ".h5"
    every = TemplateCheckpoint(model, str(tmp_path / ("at-{epoch:02d}" + ending)))
    best = TemplateCheckpoint(model, str(tmp_path / "best.h5"), monitor="loss", save_best_only=True)
    light = TemplateCheckpoint(model, str(tmp_path / "light.weights.h5"), save_weights_only=True)
    assert isinstance(every, flavour.callbacks.ModelCheckpoint)
    model.fit(x, y, batch_size=6, epochs=2, verbose=0, callbacks=[every, best, light])
    assert sorted(os.listdir(str(tmp_path))) == [
        "at-01" + ending,
        "at-02" + ending,
        "best.h5",
        "light.weights.h5",
    ]
    last = flavour.models.load_model(str(tmp_path / ("at-02" + ending)))
    flavours.assert_same_predictions(last, model)
    flavours.train(last, 1)
    single = two_ends(flavour)
    single.load_weights(str(tmp_path / "light.weights.h5"))
    flavours.assert_same_predictions(single, model)


@both
def test_saving_takes_nothing_from_the_parallel_model(flavour, tmp_path):
    template, model = trained(flavour, two_ends)
    state, kept = dict(vars(model)), dict(vars(template))
    save_template(model, tmp_path / "one.h5")
    assert vars(template).keys() == kept.keys()
    assert vars(model).keys() == state.keys()
    save_template(model, tmp_path / "two.h5")
    assert not list(differences(str(tmp_path / "one.h5"), str(tmp_path / "two.h5")))


@both
@pytest.mark.parametrize("ending", [".h5", ".keras"])
def test_without_the_optimizer(flavour, ending, tmp_path):
    _, model = trained(flavour, deep)
    path = str(tmp_path / ("clean" + ending))
    save_template(model, path, optimizer=False)
    loaded = flavour.models.load_model(path)
    assert not getattr(loaded, "optimizer", None)
    flavours.assert_same_predictions(loaded, model)


@both
def test_rebuild_gives_weights_of_its_own(flavour):
    template, model = trained(flavour, deep)
    copy = extract_template(model, rebuild=True)
    assert type(copy) is type(template)
    assert len(copy._inbound_nodes) <= 1 < len(template._inbound_nodes)
    flavours.assert_same_predictions(copy, model)
    assert not {id(weight) for weight in copy.weights} & {id(weight) for weight in model.weights}


def test_load_template_never_loads_the_slices(tmp_path):
    """A function's code in a file is run by `load_model`; here it never gets there."""
    _, model = trained(tf_keras, two_ends, "global")
    path = str(tmp_path / "parallel.h5")
    model.save(path)
    expected = flavours.predictions(model)
    loaded = load_template(path, keras=tf_keras)
    assert "Lambda" not in [type(layer).__name__ for layer in loaded.layers]
    for one, other in zip(flavours.predictions(loaded), expected):
        numpy.testing.assert_allclose(one, other, rtol=1e-5)


@both
def test_refusals(flavour):
    with pytest.raises(unparallel.AlreadySingleError, match="'line' is a single model already"):
        extract_template(chain(flavour))
    with pytest.raises(unparallel.UnparallelError, match="was never built"):
        extract_template(flavour.Sequential([flavour.layers.Dense(2)]))
    subclassed = type("Mine", (flavour.Model,), {"call": lambda self, x: x})()
    with pytest.raises(unparallel.UnparallelError, match="subclassed"):
        extract_template(subclassed)


@both
def test_a_siamese_network_is_refused(flavour):
    layers = flavour.layers
    code = layers.Dense(3, name="code")
    pair = flavour.Input((2, 4), name="pair")
    sides = [layers.Lambda(lambda x, i: x[:, i], output_shape=(4,), arguments={"i": i})(pair) for i in range(2)]
    joined = layers.Concatenate(axis=-1)([code(side) for side in sides])
    with pytest.raises(unparallel.NotParallelError) as caught:
        extract_template(flavour.Model(pair, joined, name="twins"))
    assert caught.value.hint


def test_slices_of_a_name_that_is_no_module():
    """A file cannot say what `tf` was bound to; a live function can, and then custom has no say."""
    space = {"tf": object()}
    exec("def rows(x, i, parts):\n    step = tf.shape(x)[0] // parts\n    return x[i * step : (i + 1) * step]", space)
    source = tf_keras.Input((4,), name="source")
    space["tf"] = flavours.tf
    body = tf_keras.layers.Dense(2, name="body")
    pieces = [tf_keras.layers.Lambda(space["rows"], arguments={"i": i, "parts": 2})(source) for i in range(2)]
    model = tf_keras.Model(source, tf_keras.layers.Concatenate(axis=0)([body(piece) for piece in pieces]))
    space["tf"] = object()
    with pytest.raises(unparallel.NotParallelError):
        extract_template(model)
