"""Write down what Keras says of the shapes in small models of every kind: run in each old environment.

    python tests/keras3/make_shapes.py keras|tf.keras

The result, `shapes.json`, holds for each version the models' configs, without initializers and the like, and the shape
and type of each output of each call; other versions in it stay.
"""

import json
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes.json")

if sys.argv[1:] == ["tf.keras"]:
    from tensorflow import __version__ as tf_version
    from tensorflow import keras

    VERSION = "2.2.4-tf" if tf_version.startswith(("1.14", "1.15", "2.0", "2.1")) else keras.__version__
else:
    import keras

    VERSION = keras.__version__
L = keras.layers
MODELS = {}
OPEN = (None, None, 3)


def model(function):
    MODELS[function.__name__] = function
    return function


def entry(*shape, **more):
    return L.Input(shape=shape, **more)


def through(start, *layers):
    """Each layer by itself on one input."""
    outputs = []
    for layer in layers:
        made = layer(start)
        outputs += made if isinstance(made, list) else [made]
    return keras.Model(start, outputs)


@model
def convolutions():
    return through(
        entry(16, 12, 3),
        L.Conv2D(4, 3),
        L.Conv2D(4, (3, 2), strides=(2, 3), padding="same"),
        L.Conv2D(4, 3, dilation_rate=2),
        L.SeparableConv2D(5, 3, strides=2),
        L.DepthwiseConv2D(3, depth_multiplier=2),
        L.Conv2DTranspose(4, 3, strides=2),
        L.Conv2DTranspose(4, 3, strides=2, padding="same"),
        L.Conv2DTranspose(4, 3, strides=2, output_padding=1),
        L.Conv2DTranspose(4, (3, 4), strides=2, padding="same", output_padding=(0, 1)),
        L.LocallyConnected2D(2, (3, 2), strides=(1, 2)),
        L.ZeroPadding2D(),
        L.ZeroPadding2D(((1, 2), (3, 4))),
        L.Cropping2D(((1, 2), (3, 0))),
        L.UpSampling2D((2, 3)),
        L.MaxPooling2D(),
        L.AveragePooling2D((3, 2), strides=2, padding="same"),
        L.GlobalMaxPooling2D(),
        L.GlobalAveragePooling2D(),
        L.SpatialDropout2D(0.1),
        L.Flatten(),
    )


@model
def convolutions_of_open_length():
    return through(
        entry(None, 7, 3),
        L.Conv2D(4, 3, strides=2),
        L.Conv2DTranspose(4, 3, strides=2),
        L.MaxPooling2D(),
        L.ZeroPadding2D(1),
        L.UpSampling2D(),
        L.GlobalMaxPooling2D(),
    )


@model
def convolutions_channels_first():
    first = {"data_format": "channels_first"}
    return through(
        entry(3, 16, 12),
        L.ZeroPadding2D(2, **first),
        L.Cropping2D(1, **first),
        L.UpSampling2D(2, **first),
        L.GlobalMaxPooling2D(**first),
        L.Flatten(**first),
    )


@model
def convolutions_1d():
    return through(
        entry(20, 3),
        L.Conv1D(4, 3),
        L.Conv1D(4, 3, padding="causal", dilation_rate=2),
        L.SeparableConv1D(5, 3, strides=2),
        L.LocallyConnected1D(2, 3),
        L.ZeroPadding1D((1, 2)),
        L.Cropping1D(2),
        L.UpSampling1D(3),
        L.MaxPooling1D(),
        L.AveragePooling1D(3, strides=2, padding="same"),
        L.GlobalMaxPooling1D(),
        L.GlobalAveragePooling1D(),
    )


@model
def convolutions_3d():
    return through(
        entry(8, 9, 10, 2),
        L.Conv3D(4, (1, 2, 3), strides=(2, 1, 1)),
        L.Conv3DTranspose(4, 3, strides=2),
        L.ZeroPadding3D((1, 2, 3)),
        L.Cropping3D(((1, 0), (0, 2), (1, 1))),
        L.UpSampling3D((1, 2, 3)),
        L.MaxPooling3D(),
        L.GlobalAveragePooling3D(),
    )


@model
def shapes_and_activations():
    x = entry(6, 4)
    return through(
        x,
        L.Dense(7),
        L.Activation("relu"),
        L.LeakyReLU(),
        L.PReLU(shared_axes=[1]),
        L.ELU(),
        L.ReLU(6.0),
        L.ThresholdedReLU(),
        L.Softmax(),
        L.BatchNormalization(),
        L.Dropout(0.5),
        L.GaussianNoise(0.1),
        L.Masking(),
        L.Flatten(),
        L.Reshape((3, 8)),
        L.Reshape((-1, 2)),
        L.Permute((2, 1)),
        L.ActivityRegularization(0.1),
    )


@model
def vectors():
    return through(entry(4), L.RepeatVector(3), L.Reshape((2, 2)), L.Dense(3))


@model
def integers():
    ids = entry(9, dtype="int32")
    embedded = L.Embedding(10, 4)(ids)
    return keras.Model(ids, [embedded, L.Reshape((3, 3))(ids), L.RepeatVector(2)(ids), L.Flatten()(embedded)])


@model
def merges():
    a, b, c = entry(5, 4), entry(5, 4), entry(1, 4)
    return keras.Model(
        [a, b, c],
        [
            L.Add()([a, b]),
            L.Add()([a, c]),
            L.Subtract()([a, b]),
            L.Multiply()([c, a, b]),
            L.Average()([a, b]),
            L.Maximum()([a, b]),
            L.Minimum()([a, b]),
            L.Concatenate()([a, b]),
            L.Concatenate(axis=1)([a, c, b]),
            L.Dot(axes=2)([a, b]),
            L.Dot(axes=(1, 1))([a, b]),
            L.Dot(axes=-1, normalize=True)([a, c]),
        ],
    )


@model
def merges_of_ranks_and_open_lengths():
    a, b, c, v = entry(None, 4), entry(5, 4), entry(None, 4), entry(4)
    return keras.Model(
        [a, b, c, v],
        [L.Add()([a, c]), L.Concatenate(axis=1)([a, b]), L.Concatenate()([a, c]), L.Dot(axes=1)([v, v])],
    )


@model
def recurrent():
    x = entry(7, 3)
    return through(
        x,
        L.SimpleRNN(4),
        L.GRU(4, return_sequences=True),
        L.LSTM(4, return_state=True),
        L.GRU(4, return_sequences=True, return_state=True),
        L.LSTM(5, go_backwards=True, return_sequences=True, return_state=True),
        L.RNN(L.GRUCell(4)),
        L.RNN([L.LSTMCell(4), L.LSTMCell(4)], return_sequences=True),
        L.RNN(L.LSTMCell(4), return_state=True),
    )


@model
def recurrent_with_states():
    x = entry(None, 3)
    _, h, c = L.LSTM(4, return_state=True)(x)
    y = L.LSTM(4, return_sequences=True)(x, initial_state=[h, c])
    return keras.Model(x, [y, h])


@model
def recurrent_stateful():
    x = L.Input(batch_shape=(2, 7, 3))
    return keras.Model(x, [L.LSTM(4, stateful=True, return_state=True)(x)[1], L.Dense(3)(x)])


@model
def bidirectional():
    return through(
        entry(7, 3),
        L.Bidirectional(L.GRU(4)),
        L.Bidirectional(L.LSTM(4, return_sequences=True)),
        L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode="sum"),
        L.Bidirectional(L.LSTM(4), merge_mode=None),
        L.Bidirectional(L.LSTM(4, return_state=True)),
    )


@model
def convolutional_recurrent():
    return through(
        entry(4, 9, 8, 2),
        L.ConvLSTM2D(3, 3),
        L.ConvLSTM2D(3, (2, 3), strides=2, padding="same", return_sequences=True),
        L.TimeDistributed(L.Conv2D(3, 3)),
        L.TimeDistributed(L.Flatten()),
    )


@model
def time_distributed_model():
    inner = keras.Sequential([L.Conv1D(2, 3, input_shape=(6, 3)), L.Flatten()])
    x = entry(None, 6, 3)
    return keras.Model(x, [L.TimeDistributed(inner)(x), L.TimeDistributed(L.Dense(2))(x)])


@model
def shared():
    dense, pool = L.Dense(4), L.GlobalMaxPooling1D()
    a, b = entry(5, 3), entry(7, 3)
    one, other = dense(a), dense(b)
    return keras.Model([a, b], [one, other, pool(one), pool(other)])


@model
def called_on_its_own_output():
    dense = L.Dense(3)
    x = entry(5, 3)
    return keras.Model(x, dense(L.MaxPooling1D()(dense(x))))


@model
def nested():
    x = L.Input(shape=(None, 3))
    inner = keras.Model(x, [L.Conv1D(4, 3)(x), L.GlobalMaxPooling1D()(x)], name="inner")
    a = entry(9, 3)
    one, other = inner(a)
    return keras.Model(a, [L.Dense(2)(one), L.Dense(2)(other)])


@model
def nested_sequential_twice():
    inner = keras.Sequential([L.Dense(4, input_shape=(5,)), L.RepeatVector(3)], name="inner")
    a, b = entry(5), entry(5)
    return keras.Model([a, b], L.Concatenate(axis=1)([inner(a), inner(b)]))


@model
def sequential():
    return keras.Sequential([L.Conv1D(4, 3, input_shape=(9, 2)), L.MaxPooling1D(), L.Flatten(), L.Dense(3)])


@model
def sequential_of_integers():
    return keras.Sequential([L.Embedding(10, 4, input_length=6), L.LSTM(3, return_sequences=True), L.Dense(2)])


@model
def sequential_of_models():
    inner = keras.Sequential([L.Dense(4, input_shape=(5,)), L.RepeatVector(3)])
    return keras.Sequential([inner, L.GRU(2)])


if hasattr(L, "LayerNormalization"):

    @model
    def normalizations_and_attention():
        x, y = entry(6, 4), entry(3, 4)
        return keras.Model([x, y], [L.LayerNormalization()(x), L.Attention()([x, y]), L.AdditiveAttention()([x, y])])


if hasattr(getattr(L, "experimental", None), "preprocessing"):
    P = L.experimental.preprocessing
    if hasattr(P, "RandomZoom"):

        @model
        def images():
            return through(
                entry(12, 10, 3),
                P.Rescaling(1 / 255.0),
                P.Resizing(5, 6),
                P.CenterCrop(4, 5),
                P.RandomFlip(),
                P.RandomRotation(0.1),
                P.RandomZoom(0.1),
                P.RandomHeight(0.1),
                P.RandomWidth(0.1),
            )


if hasattr(L, "EinsumDense") or hasattr(getattr(L, "experimental", None), "EinsumDense"):
    EinsumDense = getattr(L, "EinsumDense", None) or L.experimental.EinsumDense

    @model
    def einsum_dense():
        return through(
            entry(6, 4),
            EinsumDense("abc,cd->abd", output_shape=(None, 5)),
            EinsumDense("abc,cde->abde", output_shape=(None, 2, 3)),
            EinsumDense("...x,xy->...y", output_shape=5),
        )


if hasattr(L, "MultiHeadAttention"):

    @model
    def heads():
        x, y = entry(6, 4), entry(3, 4)
        made, scores = L.MultiHeadAttention(2, 3)(x, y, return_attention_scores=True)
        return keras.Model([x, y], [made, scores, L.MultiHeadAttention(2, 3, output_shape=7)(x, x)])


def bare(config):
    """A config without what makes no shape."""
    if isinstance(config, dict):
        ends = ("_initializer", "_regularizer", "_constraint")
        return {key: bare(value) for key, value in config.items() if not key.endswith(ends)}
    return [bare(item) for item in config] if isinstance(config, list) else config


def listed(value):
    return value if isinstance(value, list) else [value]


def of_call(layer, number):
    shapes = listed(layer.get_output_shape_at(number))
    tensors = listed(layer.get_output_at(number))
    kinds = [str(keras.backend.dtype(tensor)) for tensor in tensors]
    return [[None if n is None else int(n) for n in shape] + [kind] for shape, kind in zip(shapes, kinds)]


def calls_of(made, layer):
    """The calls in this model: a model's first node is its own making."""
    nodes = getattr(layer, "_inbound_nodes", [])
    first = 1 if hasattr(layer, "layers") and len(nodes) > 1 else 0
    return [of_call(layer, number) for number in range(first, len(nodes))]


def described(function):
    keras.backend.clear_session()
    made = function()
    layers = {layer.name: calls_of(made, layer) for layer in made.layers}
    weights = {layer.name: [list(map(int, array.shape)) for array in layer.get_weights()] for layer in made.layers}
    weights = {name: arrays for name, arrays in weights.items() if arrays}
    return {"config": bare(json.loads(made.to_json())), "shapes": layers, "weights": weights}


def main():
    known = {}
    if os.path.exists(PATH):
        with open(PATH) as handle:
            known = json.load(handle)
    known[VERSION] = {name: described(MODELS[name]) for name in MODELS}
    with open(PATH, "w") as handle:
        rows = []
        for version in sorted(known):
            models = ",\n".join(
                f'"{name}": {json.dumps(known[version][name], sort_keys=True)}' for name in known[version]
            )
            rows.append(f'"{version}": {{\n{models}\n}}')
        handle.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
