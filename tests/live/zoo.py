"""What a real Keras builds: a script that makes each layer and prints the weights that it owns.

    python tests/live/zoo.py tensorflow.keras

It runs in a process of its own, since two kinds of Keras in one process disturb each other.
"""

import importlib
import json
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
