"""The order of layers against Keras 3 itself: random functional models with masks, and the file it writes for them."""

import io
import random
import zipfile

import h5py
import keras
import pytest

from unparallel.graph import layer_order
from unparallel.keras3.graph import _Symbolic, order, places
from unparallel.keras3.values import Call, Layer, Model
from unparallel.model import TensorKey

RECURRENT = ("LSTM", "GRU", "SimpleRNN")
STEPWISE = ("Dense", "Dropout", "Activation", "BatchNormalization", "LeakyReLU", "LayerNormalization")


class Maker:
    """A random functional model of Keras 3: sequences of width 4, masked now and then."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def layer(self, name, *args, **kwargs):
        self.count += 1
        return getattr(keras.layers, name)(*args, name=f"{name.lower()}_{self.count}", **kwargs)

    def step(self, x):
        name = self.random.choice(STEPWISE + RECURRENT + ("Masking", "TimeDistributed", "Bidirectional"))
        if name == "Dense":
            return self.layer("Dense", 4)(x)
        if name == "Dropout":
            return self.layer("Dropout", 0.5)(x)
        if name == "Activation":
            return self.layer("Activation", "relu")(x)
        if name in RECURRENT:
            return self.layer(name, 4, return_sequences=True)(x)
        if name == "TimeDistributed":
            return self.layer("TimeDistributed", keras.layers.Dense(4))(x)
        if name == "Bidirectional":
            return self.layer("Bidirectional", keras.layers.LSTM(4, return_sequences=True), merge_mode="sum")(x)
        return self.layer(name)(x)

    def branch(self, x):
        # Dense-Masking-RNN beside Dense-Dense-RNN: where masks decide the order of equal layers
        kind = self.random.random()
        if kind < 0.4:
            for _ in range(self.random.randint(1, 2)):
                x = self.layer("Dense", 4)(x)
            x = self.layer("Masking")(x)
        elif kind < 0.8:
            for _ in range(self.random.randint(1, 4)):
                x = self.layer("Dense", 4)(x)
        else:
            for _ in range(self.random.randint(1, 4)):
                x = self.step(x)
        return self.layer(self.random.choice(RECURRENT), 4, return_sequences=self.random.random() < 0.5)(x)

    def model(self):
        inputs = [keras.Input((5, 4), name="first"), keras.Input((5,), name="second")]
        embedded = self.layer("Embedding", 7, 4, mask_zero=self.random.random() < 0.5)(inputs[1])
        ends = []
        for _ in range(self.random.randint(2, 4)):
            x = self.branch(self.random.choice([inputs[0], embedded]))
            ends.append(self.layer("GlobalAveragePooling1D")(x) if len(x.shape) == 3 else x)
        x = self.layer(self.random.choice(["Add", "Concatenate", "Multiply"]))(ends)
        return keras.Model(inputs, [self.layer("Dense", 2)(x)] + ends[:1])


def ours(config):
    """The new model's value for Keras 3's own config, without the masks that it found."""
    layers = []
    for entry in config["layers"]:
        if ".ops." not in entry["module"]:
            calls = tuple(_call(node) for node in entry["inbound_nodes"]) or (Call(()),)
            layers.append(Layer(entry["name"], entry["class_name"], entry["config"], calls=calls))
    return Model("", False, tuple(layers), _ends(config["input_layers"]), _ends(config["output_layers"]))


def _call(node):
    (inputs,) = node["args"]
    inputs = inputs if isinstance(inputs, list) else [inputs]
    return Call(tuple(TensorKey(*item["config"]["keras_history"]) for item in inputs))


def _ends(value):
    rows = [value] if isinstance(value[0], str) else value
    return tuple(TensorKey(*row) for row in rows)


@pytest.mark.parametrize("seed", range(150))
def test_order_of_a_random_model(seed):
    keras.backend.clear_session()
    model = Maker(seed).model()
    assert order(ours(model.get_config())) == [layer.name for layer in model.layers]


def test_without_masks_the_order_would_be_another():
    """The models above can tell: the same walk without what makes masks fails on some of them."""
    different = 0
    for seed in range(60):
        keras.backend.clear_session()
        model = Maker(seed).model()
        plain = layer_order(_Symbolic(ours(model.get_config()), with_masks=False).topology())
        names = [layer.name for layer in model.layers]
        dense = [[name for name in found if name.startswith("dense_")] for found in (plain, names)]
        different += dense[0] != dense[1]
    assert different >= 3


def test_paths_of_a_file_that_keras_wrote(tmp_path):
    model = Maker(5).model()
    path = str(tmp_path / "model.keras")
    model.save(path)
    with zipfile.ZipFile(path) as found, h5py.File(io.BytesIO(found.read("model.weights.h5")), "r") as handle:
        layers = handle["layers"]
        groups = {name for name in layers if any(len(layers[f"{name}/{part}"]) for part in layers[name])}
    assert groups <= {place.path[len("layers/") :] for place in places(ours(model.get_config()))}
