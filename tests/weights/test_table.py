"""The table of built-in layers against a real Keras, where one is installed (in a process of its own).

Run as a script, this file is that process: it builds each layer and prints what the layer owns.
"""

import importlib
import json
import subprocess
import sys

#: Each layer: class, shape of its input without the batch axis, arguments.  "@" builds a layer inside a layer.
ZOO = [
    ("Dense", (4,), {"units": 3}),
    ("Dense", (4,), {"units": 3, "use_bias": False}),
    ("Dense", (4,), {"units": 3, "trainable": False}),
    ("Conv1D", (9, 4), {"filters": 3, "kernel_size": 2}),
    ("Conv2D", (9, 8, 4), {"filters": 3, "kernel_size": (2, 3), "use_bias": False}),
    ("Conv2D", (9, 8, 4), {"filters": 3, "kernel_size": 2, "trainable": False}),
    ("Conv3D", (9, 8, 7, 4), {"filters": 3, "kernel_size": 2}),
    ("Conv1DTranspose", (9, 4), {"filters": 3, "kernel_size": 2}),
    ("Conv2DTranspose", (9, 8, 4), {"filters": 3, "kernel_size": 2}),
    ("Conv3DTranspose", (9, 8, 7, 4), {"filters": 3, "kernel_size": 2}),
    ("DepthwiseConv2D", (9, 8, 4), {"kernel_size": 2, "depth_multiplier": 2}),
    ("DepthwiseConv2D", (9, 8, 4), {"kernel_size": 2, "use_bias": False}),
    ("SeparableConv1D", (9, 4), {"filters": 3, "kernel_size": 2}),
    ("SeparableConv2D", (9, 8, 4), {"filters": 3, "kernel_size": 2, "depth_multiplier": 2}),
    ("SeparableConv2D", (9, 8, 4), {"filters": 3, "kernel_size": 2, "use_bias": False}),
    ("LocallyConnected1D", (9, 4), {"filters": 3, "kernel_size": 2}),
    ("LocallyConnected2D", (9, 8, 4), {"filters": 3, "kernel_size": 2}),
    ("LocallyConnected2D", (9, 8, 4), {"filters": 3, "kernel_size": 2, "implementation": 2}),
    ("BatchNormalization", (4,), {}),
    ("BatchNormalization", (9, 4), {"axis": 1}),
    ("BatchNormalization", (9, 8, 4), {"scale": False}),
    ("BatchNormalization", (9, 8, 4), {"center": False}),
    ("BatchNormalization", (9, 8, 4), {"center": False, "scale": False}),
    ("BatchNormalization", (9, 8, 4), {"trainable": False}),
    ("BatchNormalization", (9, 8, 4), {"axis": [1, 3]}),
    ("LayerNormalization", (9, 4), {}),
    ("LayerNormalization", (9, 4), {"axis": [1, 2], "scale": False}),
    ("GroupNormalization", (9, 4), {"groups": 2}),
    ("Embedding", (9,), {"input_dim": 7, "output_dim": 3}),
    ("SimpleRNN", (9, 4), {"units": 3}),
    ("GRU", (9, 4), {"units": 3}),
    ("GRU", (9, 4), {"units": 3, "reset_after": True}),
    ("GRU", (9, 4), {"units": 3, "use_bias": False}),
    ("LSTM", (9, 4), {"units": 3}),
    ("LSTM", (9, 4), {"units": 3, "trainable": False}),
    ("CuDNNGRU", (9, 4), {"units": 3}),
    ("CuDNNLSTM", (9, 4), {"units": 3}),
    ("ConvLSTM1D", (5, 9, 4), {"filters": 3, "kernel_size": 2}),
    ("ConvLSTM2D", (5, 9, 8, 4), {"filters": 3, "kernel_size": 2}),
    ("ConvLSTM2D", (5, 9, 8, 4), {"filters": 3, "kernel_size": 2, "use_bias": False}),
    ("RNN", (9, 4), {"cell": ("@", "GRUCell", {"units": 3})}),
    ("RNN", (9, 4), {"cell": [("@", "LSTMCell", {"units": 3}), ("@", "SimpleRNNCell", {"units": 5})]}),
    ("Bidirectional", (9, 4), {"layer": ("@", "LSTM", {"units": 3})}),
    ("Bidirectional", (9, 4), {"layer": ("@", "GRU", {"units": 3, "use_bias": False}), "merge_mode": "sum"}),
    ("Bidirectional", (9, 4), {"layer": ("@", "LSTM", {"units": 3}), "trainable": False}),
    ("TimeDistributed", (9, 4), {"layer": ("@", "Dense", {"units": 3})}),
    ("TimeDistributed", (5, 9, 4), {"layer": ("@", "BatchNormalization", {})}),
    ("TimeDistributed", (9, 4), {"layer": ("@", "Dense", {"units": 3, "trainable": False})}),
    ("PReLU", (9, 4), {}),
    ("PReLU", (9, 8, 4), {"shared_axes": [1, 2]}),
    ("LeakyReLU", (4,), {}),
    ("ELU", (4,), {}),
    ("ThresholdedReLU", (4,), {}),
    ("Softmax", (4,), {}),
    ("ReLU", (4,), {}),
    ("Activation", (4,), {"activation": "relu"}),
    ("ActivityRegularization", (4,), {"l2": 0.1}),
    ("Dropout", (4,), {"rate": 0.5}),
    ("SpatialDropout1D", (9, 4), {"rate": 0.5}),
    ("SpatialDropout2D", (9, 8, 4), {"rate": 0.5}),
    ("GaussianNoise", (4,), {"stddev": 0.5}),
    ("GaussianDropout", (4,), {"rate": 0.5}),
    ("AlphaDropout", (4,), {"rate": 0.5}),
    ("Masking", (9, 4), {}),
    ("Flatten", (9, 4), {}),
    ("Reshape", (4,), {"target_shape": (2, 2)}),
    ("Permute", (9, 4), {"dims": (2, 1)}),
    ("RepeatVector", (4,), {"n": 2}),
    ("MaxPooling1D", (9, 4), {}),
    ("MaxPooling2D", (9, 8, 4), {}),
    ("AveragePooling2D", (9, 8, 4), {}),
    ("GlobalAveragePooling2D", (9, 8, 4), {}),
    ("GlobalMaxPooling1D", (9, 4), {}),
    ("UpSampling2D", (9, 8, 4), {}),
    ("ZeroPadding2D", (9, 8, 4), {}),
    ("Cropping1D", (9, 4), {}),
]

FRAMEWORKS = ["keras", "tensorflow.keras", "tf_keras"]


def make(layers, spec):
    """A layer from ("@", class, arguments), through lists."""
    if isinstance(spec, list):
        return [make(layers, item) for item in spec]
    if isinstance(spec, tuple) and spec[:1] == ("@",):
        return getattr(layers, spec[1])(**spec[2])
    return spec


def describe(keras, name, shape, arguments):
    layer_class = getattr(keras.layers, name)
    layer = layer_class(**{key: make(keras.layers, value) for key, value in arguments.items()})
    output = layer(keras.layers.Input(shape))
    trainable = [[weight.name, weight.shape.as_list()] for weight in layer.trainable_weights]
    rest = [[weight.name, weight.shape.as_list()] for weight in layer.non_trainable_weights]
    assert output is not None
    return {"class_name": type(layer).__name__, "config": layer.get_config(), "trainable": trainable, "rest": rest}


def probe(framework):
    keras = importlib.import_module(framework)
    if int(str(getattr(keras, "__version__", "2")).split(".")[0]) != 2:
        return None
    found = []
    for name, shape, arguments in ZOO:
        if not hasattr(keras.layers, name):
            continue
        try:
            found.append(describe(keras, name, shape, arguments))
        except Exception as error:  # noqa: BLE001  (an argument that this version does not know, an op without a GPU)
            found.append({"class_name": name, "error": str(error)[:80]})
    return {"version": getattr(keras, "__version__", ""), "layers": found}


def plain(value):
    """JSON for what Keras leaves in configs: arrays, shapes, sets."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


if __name__ == "__main__":
    print("PROBE " + json.dumps(probe(sys.argv[1]), default=plain))
    sys.exit()


import pytest  # noqa: E402  (the script above runs where pytest is not)

from unparallel.model import Layer  # noqa: E402
from unparallel.weights.assignment import expected_weights, is_weightless  # noqa: E402
from unparallel.weights.names import role_and_prefix  # noqa: E402
from unparallel.weights.table import ROLES, ROWS, WEIGHTLESS  # noqa: E402


def probed(framework):
    if importlib.util.find_spec(framework.split(".")[0]) is None:
        pytest.skip(f"no {framework} here")
    done = subprocess.run([sys.executable, __file__, framework], capture_output=True)
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("PROBE ")]
    if not lines:
        pytest.skip(f"{framework} does not run here: {done.stderr.decode()[-200:]}")
    found = json.loads(lines[0][6:])
    if found is None:
        pytest.skip(f"{framework} is not Keras 2")
    return found


def matches(slot, name, shape):
    """Whether a real weight has the slot's role and what is known of its shape."""
    same_role = role_and_prefix(name)[0] == slot.role
    if slot.shape is None:
        return same_role
    lengths = zip(slot.shape, shape)
    return same_role and len(shape) == len(slot.shape) and all(not isinstance(a, int) or a == b for a, b in lengths)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_table_says_what_keras_builds(framework):
    found = probed(framework)
    real = [item for item in found["layers"] if "error" not in item]
    assert len(real) > 40
    old = found["version"].startswith(("2.0", "2.1.")) and framework == "keras"
    for item in real:
        if old and item["config"].get("trainable") is False:
            continue  # the flag of recurrent layers froze nothing then
        layer = Layer("it", item["class_name"], item["config"])
        spec = expected_weights(layer, tf_keras=framework != "keras")
        assert spec is not None, item["class_name"]
        for slots, weights in ((spec.trainable, item["trainable"]), (spec.rest, item["rest"])):
            assert len(slots) == len(weights), item
            for slot, (name, shape) in zip(slots, weights):
                assert matches(slot, name, shape), (item["class_name"], slot, name, shape)
        assert is_weightless(layer) == (not item["trainable"] and not item["rest"])


def test_no_class_is_in_both_halves_of_the_table():
    assert not WEIGHTLESS & set(ROWS)


@pytest.mark.parametrize("dialect", [{}, {"init": "uniform"}, {"init": "uniform", "consume_less": "gpu"}])
@pytest.mark.parametrize("class_name", sorted(ROWS))
def test_every_role_is_a_known_word(class_name, dialect):
    spec = ROWS[class_name](dialect)
    assert {slot.role for slot in spec.trainable + spec.rest} <= ROLES
