"""Write down models whose layers are operations of TensorFlow, and what they predict: run in TensorFlow 1.15 to 2.15.

    python tests/keras3/make_operations.py

The result, `operations.json`, holds for each version of Keras the models' configs, inputs and predictions; other
versions in it stay.  None of them has weights.
"""

import json
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operations.json")
K = keras.backend
V, S, IMAGE, OPEN = (6,), (5, 4), (4, 6, 3), (None, 4)
RAMP = np.arange(6).astype("float32")
MODELS = {
    "numbers": ([V], lambda x: [1.0 - x * 2.0 / 3.0, 2.0 / (x + 9.0), x**2, -x]),
    "two_tensors": ([V, V], lambda x, y: [x + y, x - y, x * y, x / (y * y + 3.0)]),
    "broadcast": ([S, (4,)], lambda x, y: x * tf.expand_dims(y, 1)),
    "arrays": ([V], lambda x: [x * RAMP, tf.constant(RAMP) - x, tf.nn.bias_add(x, RAMP)]),
    "element_by_element": (
        [V],
        lambda x: [
            tf.abs(x),
            tf.exp(x),
            tf.math.log(x * x + 1.0),
            tf.sin(x),
            tf.tanh(x),
            tf.sigmoid(x),
            tf.floor(x),
            tf.math.ceil(x),
            tf.math.rsqrt(x * x + 1.0),
            tf.sqrt(tf.abs(x)),
            tf.square(x),
            tf.math.erf(x),
        ],
    ),
    "activations": (
        [V],
        lambda x: [tf.nn.relu(x), tf.nn.elu(x), tf.nn.softplus(x), tf.nn.softmax(x), tf.nn.log_softmax(x)],
    ),
    "leaky": ([V], lambda x: tf.nn.leaky_relu(x, 0.1)),
    "clipped": ([V, V], lambda x, y: [tf.maximum(x, y), tf.minimum(x, 0.5), tf.clip_by_value(x, -0.5, 0.5)]),
    "reductions": (
        [S],
        lambda x: [
            tf.reduce_mean(x, axis=1),
            tf.reduce_sum(x, axis=[1, 2]),
            tf.reduce_max(x, axis=-1, keepdims=True),
            tf.reduce_min(x, 1),
            tf.reduce_prod(x, 2),
            K.std(x, axis=1),
        ],
    ),
    "moments": ([S], lambda x: list(tf.nn.moments(x, [1]))),
    "l2_normalize": ([V], lambda x: tf.math.l2_normalize(x * 1e-8, axis=1)),
    "distance": ([V, V], lambda x, y: tf.sqrt(tf.reduce_sum(tf.square(x - y), axis=1, keepdims=True))),
    "norm": ([V], lambda x: tf.norm(x, axis=1)),
    "slices": ([S], lambda x: [x[:, 0], x[:, -1, :], x[:, 1:3], x[:, ::2, 1:], x[..., 0], x[:, :, tf.newaxis]]),
    "slice": ([IMAGE], lambda x: tf.slice(x, [0, 1, 1, 0], [-1, 2, 2, 3])),
    "axes": ([S], lambda x: [tf.expand_dims(x, -1), tf.squeeze(tf.expand_dims(x, 2), 2), tf.transpose(x, [0, 2, 1])]),
    "reshape": ([S], lambda x: [tf.reshape(x, [-1, 20]), tf.reshape(x, (-1, 2, 10)), K.batch_flatten(x)]),
    "reshape_by_shape": (
        [S],
        lambda x: [
            tf.reshape(x, [tf.shape(x)[0], 20]),
            tf.reshape(x, tf.stack([tf.shape(x)[0], tf.shape(x)[2], tf.shape(x)[1]])),
            K.reshape(x, (K.shape(x)[0], 2, 10)),
        ],
    ),
    "reshape_of_open_length": ([OPEN], lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], 2, 2])),
    "reshape_by_a_product": ([OPEN], lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * 4])),
    "rows_and_back": (
        [S],
        lambda x: tf.reshape(tf.nn.softmax(tf.reshape(x, [-1, 4])), [tf.shape(x)[0], 5, 4]),
    ),
    "heads": ([S], lambda x: tf.transpose(tf.reshape(x, (tf.shape(x)[0], -1, 2, 2)), [0, 2, 1, 3])),
    "attention": (
        [S, S],
        lambda q, k: tf.matmul(
            tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))), k
        ),
    ),
    "matrix": ([V], lambda x: tf.matmul(x, tf.constant(np.arange(12).reshape(6, 2).astype("float32")))),
    "joined": ([S, S], lambda x, y: [tf.concat([x, y], axis=1), tf.concat([x, y], -1), tf.stack([x, y], axis=1)]),
    "split": ([S], lambda x: tf.split(x, 2, axis=2)[::-1]),
    "split_sizes": ([(7,)], lambda x: tf.split(x, [2, 4, 1], axis=1)),
    "unstacked": ([S], lambda x: tf.unstack(x, axis=1)[3]),
    "repeated": ([S], lambda x: [tf.tile(x, [1, 2, 1]), K.repeat_elements(x, 2, 1)]),
    "padded": ([S], lambda x: [tf.pad(x, [[0, 0], [1, 2], [0, 1]]), tf.pad(x, [[0, 0], [1, 1], [0, 0]], "REFLECT")]),
    "gathered": ([S], lambda x: [tf.gather(x, [2, 0], axis=1), tf.reverse(x, [1])]),
    "types": ([V], lambda x: [tf.cast(x > 0.0, tf.float32), tf.cast(tf.cast(x * 3.0, tf.int32), tf.float32)]),
    "compared": (
        [V, V],
        lambda x, y: [
            tf.cast(tf.less_equal(x, y), tf.float32),
            tf.cast(tf.logical_and(x > 0.0, y > 0.0), tf.float32),
            tf.where(x > y, x, tf.zeros_like(x)),
        ],
    ),
    "largest": ([V], lambda x: [tf.cast(tf.argmax(x, axis=1), tf.float32), tf.nn.top_k(x, 3)[0]]),
    "one_hot": ([S], lambda x: tf.one_hot(tf.argmax(x, axis=-1), 4)),
    "ones": ([V], lambda x: tf.ones_like(x) + x),
    "sums": ([V], lambda x: tf.cumsum(x, axis=1)),
    "old_grid": ([IMAGE], lambda x: tf.compat.v1.image.resize_bilinear(x, (5, 4), align_corners=True)),
    "length_as_number": ([S], lambda x: x * tf.cast(tf.shape(x)[1], tf.float32)),
    "whole_batch": ([V], lambda x: x - tf.reduce_max(x)),
    "normalized": (
        [S],
        lambda x: (
            (x - tf.reduce_mean(x, -1, keepdims=True))
            * tf.math.rsqrt(
                tf.reduce_mean(tf.square(x - tf.reduce_mean(x, -1, keepdims=True)), -1, keepdims=True) + 1e-3
            )
        ),
    ),
    "preprocessed": ([IMAGE], lambda x: (x[..., ::-1] - np.array([103.9, 116.8, 123.7], "float32")) / 127.5),
    "nested": ([V], lambda x: nested()(x) + nested()(x * 2.0)),
    # those that cannot be said
    "size_of_another": ([(None, None, 3)], lambda x: tf.image.resize(x[:, ::2, ::2], tf.shape(x)[1:3])),
    "mean_by_hand": ([OPEN], lambda x: tf.reduce_sum(x, 1) / tf.cast(tf.shape(x)[1], tf.float32)),
    "convolution": ([IMAGE], lambda x: tf.nn.conv2d(x, np.ones((2, 2, 3, 2), "float32"), 1, "SAME")),
    "shape_itself": ([S], lambda x: tf.shape(x)),
}


# from TensorFlow 2.4 on this function takes no symbolic tensor
LATER_UNBUILT = ("old_grid",)
OLD = keras.__version__ in ("2.2.4-tf", "2.3.0-tf", "2.4.0")


def nested():
    inner = keras.Input(V)
    return keras.Model(inner, tf.abs(inner) * 0.5)


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def bare(config):
    """A config without what says nothing here."""
    if isinstance(config, dict):
        silent = ("trainable", "sparse", "ragged", "backend", "keras_version")
        return {key: bare(value) for key, value in config.items() if key not in silent}
    return [bare(item) for item in config] if isinstance(config, list) else config


def rounded(array):
    return [rounded(item) for item in array] if isinstance(array, list) else float(f"{array:.6g}")


def described(name):
    keras.backend.clear_session()
    shapes, function = MODELS[name]
    inputs = [keras.Input(shape) for shape in shapes]
    made = keras.Model(inputs, listed(function(*inputs)))
    numbers = np.random.RandomState(len(name))
    arrays = [
        numbers.normal(size=[2] + [6 if n is None else n for n in shape]).astype("float32").round(3) for shape in shapes
    ]
    outputs = [array.tolist() for array in listed(made.predict(arrays))]
    return {
        "config": bare(json.loads(made.to_json())),
        "inputs": rounded([array.tolist() for array in arrays]),
        "outputs": rounded(outputs),
    }


def main():
    known = {}
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as handle:
            known = json.load(handle)
    known[keras.__version__] = {name: described(name) for name in MODELS if name not in LATER_UNBUILT or OLD}
    with open(PATH, "w", encoding="utf-8") as handle:
        rows = []
        for version in sorted(known):
            models = ",\n".join(f'"{name}": {json.dumps(known[version][name])}' for name in known[version])
            rows.append(f'"{version}": {{\n{models}\n}}')
        handle.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
