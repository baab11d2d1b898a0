"""What functions of old Keras are recorded as: the entries, written by hand, and their numbers against plain numpy."""

import base64
import math
import random

import numpy as np
import pytest

from unparallel.errors import BytecodeError
from unparallel.operations import table
from unparallel.operations.elementwise import binary
from unparallel.operations.names import module_of
from unparallel.operations.record import record
from unparallel.operations.table import ROWS
from unparallel.operations.tape import Tape
from unparallel.operations.values import Environment, Recorded
from unparallel.slices.lambdas import SavedFunction
from unparallel.slices.sizes import Undecided

from .followed import gives, lines, recorded, saved, tensors

RANDOM = np.random.RandomState(0)


def array(*shape):
    return RANDOM.uniform(-2, 2, shape).astype("float32")


def open_shape(value):
    return (None,) + value.shape[1:]


# -- entries


def test_entries_are_what_was_written_down():
    assert lines("lambda x: x / 127.5 - 1.", (None, 4)) == [
        "%0 = numpy.TrueDivide(x0, 127.5)",
        "%1 = numpy.Subtract(%0, 1.0)",
        "return %1",
    ]
    assert lines("lambda t: K.abs(t[0] - t[1])", (None, 4), (None, 4)) == [
        "%0 = numpy.Subtract(x0, x1)",
        "%1 = numpy.Absolute(%0)",
        "return %1",
    ]
    assert lines("lambda x: x[:, -1, ..., None]", (None, 3, 4)) == [
        "%0 = numpy.GetItem(x0, [:, -1, ..., None])",
        "return %0",
    ]
    assert lines("lambda x: K.concatenate([x, 1 - x])", (None, 4)) == [
        "%0 = numpy.Subtract(1, x0)",
        "%1 = numpy.Concatenate([x0, %0], axis=1)",
        "return %1",
    ]


def test_what_nothing_needs_is_left_out():
    assert lines("def f(x):\n    y = K.exp(x)\n    return x * 2", (None, 4)) == [
        "%0 = numpy.Multiply(x0, 2)",
        "return %0",
    ]


def test_an_input_that_comes_out_is_copied():
    assert lines("lambda t: [t[1], t[0]]", (None, 4), (None, 2)) == [
        "%0 = numpy.Copy(x1)",
        "%1 = numpy.Copy(x0)",
        "return [%0, %1]",
    ]


def test_arguments_defaults_and_closure_are_read():
    assert lines("lambda x, a, b: x * a + b", (None, 4), defaults=(0.5,), arguments={"a": 2.0}) == [
        "%0 = numpy.Multiply(x0, 2.0)",
        "%1 = numpy.Add(%0, 0.5)",
        "return %1",
    ]
    assert lines("lambda x: x - mean", (None, 2), closure={"mean": [0.5, -1.0]}) == [
        "%0 = numpy.Subtract(x0, float32[0.5, -1.0])",
        "return %0",
    ]
    written = {"type": "ndarray", "value": [1.0, 2.0]}
    assert lines("lambda x, a: x * a", (None, 2), arguments={"a": written})[0] == (
        "%0 = numpy.Multiply(x0, float32[1.0, 2.0])"
    )


def test_loops_functions_and_names_are_followed():
    source = (
        "def f(x):\n    with tf.name_scope('a'):\n        half = lambda v: v / 2.\n"
        "        return sum([half(x) * i for i in range(3)])"
    )
    x = array(2, 4)
    assert np.allclose(gives(recorded(source, open_shape(x)), x), x / 2 * 3)


# -- numbers

X, Y = array(3, 4), array(3, 4)
CUBE, IMAGE = array(3, 2, 4), array(2, 4, 6, 3)
WHOLE = RANDOM.randint(-9, 9, (3, 4)).astype("int32")
l2 = lambda x, axis: x / np.sqrt(np.maximum((x**2).sum(axis, keepdims=True), 1e-12))  # noqa: E731

FORMULAS = [
    # element by element
    ("lambda x: -x", X, -X),
    ("lambda x: abs(x) + K.abs(x)", X, 2 * abs(X)),
    ("lambda x: 2.0 ** x", X, 2.0**X),
    ("lambda x: x // 0.25", X, np.floor(X / 0.25)),
    ("lambda x: x % 2.", X, np.mod(X, 2)),
    ("lambda x: K.sqrt(x)", X, np.sqrt(np.maximum(X, 0))),
    ("lambda x: tf.sqrt(tf.square(x))", X, abs(X)),
    ("lambda x: K.pow(x, 3)", X, X**3),
    ("lambda x: K.clip(x, 1.0, -1.0)", X, np.ones_like(X)),
    ("lambda x: K.clip(x, -.5, None)", X, np.maximum(X, -0.5)),
    ("lambda x: tf.clip_by_value(x, -.2, .2)", X, np.clip(X, -0.2, 0.2)),
    ("lambda x: K.hard_sigmoid(x)", X * 3, np.clip(0.2 * X * 3 + 0.5, 0, 1)),
    ("lambda x: K.relu(x, alpha=.1, max_value=1.)", X, np.minimum(np.maximum(X, 0), 1) - 0.1 * np.maximum(-X, 0)),
    ("lambda x: K.relu(x, threshold=.5)", X, X * (X > 0.5)),
    ("lambda x: K.relu(x, .5, None, .5)", X, X * (X > 0.5) - 0.5 * np.maximum(0.5 - X, 0)),
    ("lambda x: tf.nn.leaky_relu(x)", X, np.where(X > 0, X, 0.2 * X)),
    ("lambda x: K.elu(x, .5)", X, np.where(X > 0, X, 0.5 * (np.exp(X) - 1))),
    ("lambda x: K.softmax(x)", X, np.exp(X) / np.exp(X).sum(-1, keepdims=True)),
    ("lambda x: tf.nn.softmax(x, dim=1)", CUBE, np.exp(CUBE) / np.exp(CUBE).sum(1, keepdims=True)),
    ("lambda x: x * K.tanh(K.softplus(x))", X, X * np.tanh(np.log1p(np.exp(X)))),
    ("lambda x: .5 * x * (1. + tf.erf(x / tf.sqrt(2.)))", X, 0.5 * X * (1 + np.vectorize(math.erf)(X / math.sqrt(2)))),
    ("lambda x: K.ones_like(x) + K.zeros_like(x)", X, np.ones_like(X)),
    ("lambda x: K.switch(x > 0, x * 2., lambda: x * 3.)", X, np.where(X > 0, 2 * X, 3 * X)),
    ("lambda x: K.switch(x[:, 0, 0] > 0, x, -x)", CUBE, np.where(CUBE[:, :1, :1] > 0, CUBE, -CUBE)),
    ("lambda x: tf.where(tf.less(x, 0.), x, tf.zeros_like(x))", X, np.minimum(X, 0)),
    ("lambda x: K.cast(~(x > 0), 'float32')", X, (X <= 0).astype("f")),
    ("lambda x: K.cast(tf.logical_and(x > -1, x < 1), K.floatx())", X, ((X > -1) & (X < 1)).astype("f")),
    ("lambda x: K.cast(K.equal(x, x), 'float32')", X, np.ones_like(X)),
    ("lambda x: tf.cast(x * 10., tf.int32)", X, (X * 10).astype("i")),
    ("lambda x: x * np.sqrt(2.) + np.pi", X, X * math.sqrt(2) + math.pi),
    ("lambda x: x - np.array([1, 2, 3, 4])", X, X - np.arange(1, 5)),
    ("lambda x: x * K.constant([1., 2., 3., 4.])", X, X * np.arange(1, 5)),
    ("lambda x: x * tf.constant(2., dtype=tf.float32)", X, 2 * X),
    ("lambda x: K.in_train_phase(x * 2, lambda: x)", X, X),
    ("lambda x: K.batch_normalization(x, .5, 4., 1., 2., epsilon=0.)", X, (X - 0.5) / 2 * 2 + 1),
    ("lambda x: tf.nn.relu(features=x) + K.cast(x, x.dtype.base_dtype)", X, np.maximum(X, 0) + X),
    ("lambda x: x + K.learning_phase()", X, X),
    ("lambda x: sum(map(lambda v: v * 2, [x, x]))", X, 4 * X),
    # over axes
    ("lambda x: K.mean(x, axis=[1, -1])", CUBE, CUBE.mean((1, 2))),
    ("lambda x: K.mean(x > 0, -1)", X, (X > 0).mean(-1)),
    ("lambda x: K.sum(x, axis=1, keepdims=True)", CUBE, CUBE.sum(1, keepdims=True)),
    ("lambda x: tf.reduce_sum(x, 1, keep_dims=True)", CUBE, CUBE.sum(1, keepdims=True)),
    ("lambda x: tf.reduce_max(x, reduction_indices=None, axis=2)", CUBE, CUBE.max(2)),
    ("lambda x: K.std(x, axis=1) + K.var(x, axis=1)", CUBE, CUBE.std(1) + CUBE.var(1)),
    ("lambda x: K.cast(K.any(x > 1, -1), 'float32')", X, (X > 1).any(-1).astype("f")),
    ("lambda x: K.logsumexp(x, axis=1)", X, np.log(np.exp(X).sum(1))),
    ("lambda x: K.argmax(x)", CUBE, CUBE.argmax(-1)),
    ("lambda x: tf.argmax(x, 1)", CUBE, CUBE.argmax(1)),
    ("lambda x: K.l2_normalize(x, axis=1)", CUBE, l2(CUBE, 1)),
    ("lambda x: K.l2_normalize(x * 0. + 1e-8, -1)", X, np.full_like(X, 0.01)),
    (
        "lambda x: tf.nn.l2_normalize(x, dim=-1, epsilon=4.)",
        X,
        X / np.sqrt(np.maximum((X**2).sum(-1, keepdims=True), 4)),
    ),
    ("lambda x: tf.norm(x, axis=1)", X, np.sqrt((X**2).sum(1))),
    ("lambda x: tf.norm(x, ord=1, axis=1)", X, abs(X).sum(1)),
    ("lambda x: K.cumsum(x, axis=1)", X, X.cumsum(1)),
    ("lambda x: tf.nn.top_k(x, 2).values", X, np.sort(X, -1)[:, :-3:-1]),
    ("lambda x: tf.nn.moments(x, [1])[0]", X, X.mean(1)),
    ("lambda x: tf.nn.moments(x, [1], keep_dims=True)[1]", X, X.var(1, keepdims=True)),
    # shapes
    ("lambda x: K.expand_dims(x)", X, X[..., None]),
    ("lambda x: K.squeeze(K.expand_dims(x, 1), 1)", X, X),
    ("lambda x: tf.squeeze(x[:, :1, :1], [1, 2])", CUBE, CUBE[:, 0, 0]),
    ("lambda x: K.permute_dimensions(x, (0, 2, 1))", CUBE, CUBE.transpose(0, 2, 1)),
    ("lambda x: K.reshape(x, (-1, 8))", CUBE, CUBE.reshape(3, 8)),
    ("lambda x: tf.reshape(x, [tf.shape(x)[0], -1, 2])", CUBE, CUBE.reshape(3, 4, 2)),
    ("lambda x: K.reshape(x, (-1, K.int_shape(x)[1] * int(x.shape[2])))", CUBE, CUBE.reshape(3, 8)),
    ("lambda x: K.reshape(x, [-1] + x.get_shape().as_list()[2:] + [2])", CUBE, CUBE.reshape(3, 4, 2)),
    ("lambda x: K.batch_flatten(x)", IMAGE, IMAGE.reshape(2, -1)),
    ("lambda x: x / K.cast(K.shape(x)[1], 'float32')", CUBE, CUBE / 2),
    ("lambda x: x / len(x.get_shape())", CUBE, CUBE / 3),
    ("lambda x: x[:, ::-1]", X, X[:, ::-1]),
    ("lambda x: x[..., 1]", CUBE, CUBE[..., 1]),
    ("lambda x: x[:, tf.newaxis, 1:-1]", X, X[:, None, 1:-1]),
    ("lambda x: K.stack([x, x], axis=1)", X, np.stack([X, X], 1)),
    (
        "lambda x: tf.stack([x[:, 0], x[:, 1]], axis=-1)",
        X,
        X[:, :2],
    ),
    ("lambda x: tf.concat(tf.split(x, [1, 3], 1)[::-1], 1)", X, np.concatenate([X[:, 1:], X[:, :1]], 1)),
    ("lambda x: tf.split(1, 2, x)[1]", X, X[:, 2:]),
    ("lambda x: tf.split(x, 2, axis=-1)[1]", X, X[:, 2:]),
    ("lambda x: tf.unstack(x, axis=1)[1]", CUBE, CUBE[:, 1]),
    ("lambda x: tf.slice(x, [0, 1, 0], [-1, 1, 3])", CUBE, CUBE[:, 1:2, :3]),
    ("lambda x: tf.strided_slice(x, [0, 0], [0, 3], [1, 2], begin_mask=1, end_mask=1)", X, X[:, :3:2]),
    ("lambda x: tf.gather(x, [0, 2], axis=1)", X, X[:, [0, 2]]),
    ("lambda x: K.repeat(x, 3)", X, np.repeat(X[:, None], 3, 1)),
    ("lambda x: K.repeat_elements(x, 2, axis=1)", X, X.repeat(2, 1)),
    ("lambda x: K.tile(x, [1, 2])", X, np.tile(X, [1, 2])),
    ("lambda x: K.reverse(x, axes=[1, 2])", CUBE, CUBE[:, ::-1, ::-1]),
    ("lambda x: tf.pad(x, [[0, 0], [1, 2]])", X, np.pad(X, [(0, 0), (1, 2)], "constant")),
    ("lambda x: tf.pad(x, [[0, 0], [1, 2]], 'REFLECT')", X, np.pad(X, [(0, 0), (1, 2)], "reflect")),
    (
        "lambda x: K.spatial_2d_padding(x, ((1, 0), (2, 1)))",
        IMAGE,
        np.pad(IMAGE, [(0, 0), (1, 0), (2, 1), (0, 0)], "constant"),
    ),
    ("lambda x: K.one_hot(K.cast(x * 0 + 1, 'int32'), 3)", X, np.broadcast_to([0.0, 1.0, 0.0], (3, 4, 3))),
    # images
    ("lambda x: K.resize_images(x, 2, 3, 'channels_last')", IMAGE, IMAGE.repeat(2, 1).repeat(3, 2)),
    ("lambda x: tf.image.resize_nearest_neighbor(x, (5, 3))", IMAGE, IMAGE[:, [0, 0, 1, 2, 3]][:, :, [0, 2, 4]]),
    ("lambda x: tf.image.flip_left_right(x)", IMAGE, IMAGE[:, :, ::-1]),
    ("lambda x: tf.image.rgb_to_grayscale(x)", IMAGE, IMAGE @ np.array([[0.2989], [0.587], [0.114]])),
    ("lambda x: K.pool2d(x, (2, 2), strides=(2, 2))", IMAGE, IMAGE.reshape(2, 2, 2, 3, 2, 3).max((2, 4))),
    (
        "lambda x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID')",
        IMAGE,
        IMAGE.reshape(2, 2, 2, 3, 2, 3).mean((2, 4)),
    ),
    (
        "lambda x: tf.space_to_depth(x, 2)",
        IMAGE,
        IMAGE.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12),
    ),
    ("lambda x: tf.depth_to_space(tf.space_to_depth(x, 2), 2)", IMAGE, IMAGE),
    (
        "lambda x: K.tf.nn.relu(tf.compat.v1.squeeze(x[:, :1], 1)) + tf.keras.backend.relu(keras.backend.sum(x, 1))",
        CUBE,
        np.maximum(CUBE[:, 0], 0) + np.maximum(CUBE.sum(1), 0),
    ),
]


KERNEL = array(4, 2)
FORMULAS += [
    (f"lambda x: K.dot(x, K.constant({KERNEL.tolist()}))", X, X @ KERNEL),
    (f"lambda x: x @ np.array({KERNEL.tolist()})", X, X @ KERNEL),
    (f"lambda x: tf.matmul(x, tf.constant({KERNEL.T.tolist()}), transpose_b=True)", CUBE, CUBE @ KERNEL),
    (f"lambda x: tf.tensordot(x, np.array({KERNEL.tolist()}), axes=[[2], [0]])", CUBE, CUBE @ KERNEL),
    (
        "lambda x: tf.squeeze(x[:, :1], squeeze_dims=[1]) + tf.reduce_sum(x, reduction_indices=[1])",
        CUBE,
        CUBE[:, 0] + CUBE.sum(1),
    ),
]


@pytest.mark.parametrize(("source", "x", "wanted"), FORMULAS, ids=[source for source, _, _ in FORMULAS])
def test_numbers_are_those_of_plain_numpy(source, x, wanted):
    found = gives(recorded(source, open_shape(x)), x)
    assert np.shape(found) == wanted.shape
    assert np.allclose(found, wanted, atol=1e-5)


TWO = [
    (
        "lambda t: tf.matmul(t[0], t[1], transpose_b=True)",
        CUBE,
        CUBE,
        CUBE @ CUBE.transpose(0, 2, 1),
    ),
    ("lambda t: t[0] @ K.permute_dimensions(t[1], (0, 2, 1))", CUBE, CUBE, CUBE @ CUBE.transpose(0, 2, 1)),
    ("lambda t: K.batch_dot(t[0], t[1], axes=1)", X, Y, (X * Y).sum(1, keepdims=True)),
    ("lambda t: K.batch_dot(t[0], t[1], axes=[2, 1])", CUBE, Y, np.einsum("abc,ac->ab", CUBE, Y)),
    ("lambda t: K.batch_dot(t[0], t[1], axes=2)", CUBE, CUBE, CUBE @ CUBE.transpose(0, 2, 1)),
    ("lambda t: tf.einsum('abc,ac->ab', t[0], t[1])", CUBE, Y, np.einsum("abc,ac->ab", CUBE, Y)),
    (
        "lambda t: K.sqrt(K.maximum(K.sum(K.square(t[0] - t[1]), axis=1, keepdims=True), K.epsilon()))",
        X,
        Y,
        np.sqrt(((X - Y) ** 2).sum(1, keepdims=True)),
    ),
    ("def f(t):\n    a, b = t\n    return a * b", X, Y, X * Y),
    (
        "lambda t: tf.nn.sigmoid_cross_entropy_with_logits(labels=t[1], logits=t[0])",
        X,
        Y,
        np.log1p(np.exp(-X)) + X * (1 - Y),
    ),
    (
        "lambda t: tf.nn.softmax_cross_entropy_with_logits_v2(logits=t[0], labels=t[1])",
        X,
        Y,
        -(Y * (X - np.log(np.exp(X).sum(-1, keepdims=True)))).sum(-1),
    ),
    ("lambda t: tf.add_n(t) + sum(t) + tf.squared_difference(*t)", X, Y, 2 * (X + Y) + (X - Y) ** 2),
]


@pytest.mark.parametrize(("source", "x", "y", "wanted"), TWO, ids=[case[0] for case in TWO])
def test_two_tensors(source, x, y, wanted):
    found = gives(recorded(source, open_shape(x), open_shape(y)), x, y)
    assert np.shape(found) == wanted.shape
    assert np.allclose(found, wanted, atol=1e-4)


def test_the_batch_of_another_tensor_is_not_that_of_this_one():
    """Rows put together and taken apart again: what is behind may hold any number of rows of each."""
    merged = "def f(x):\n    y = K.reshape(x, (-1, 4))\n    return tf.reshape(y, [tf.shape({})[0], -1, 2])"
    assert gives(recorded(merged.format("y"), (None, 2, 4)), CUBE).shape == (6, 2, 2)
    with pytest.raises(Undecided, match="length of an axis"):
        recorded(merged.format("x"), (None, 2, 4))
    assert "it mixes the rows" in recorded(merged.format("y"), (None, 2, 4)).notes[0]
    assert not recorded("lambda x: K.dot(x, np.eye(4))", (None, 4)).notes


def test_noise_of_any_spread():
    """The layer takes a spread of at most 1."""
    assert lines("lambda x: x + K.random_normal(K.shape(x), stddev=3.)", (None, 4))[:4] == [
        "%0 = numpy.Less(x0, x0)",
        "%1 = core.Cast(%0, dtype='float32')",
        "%2 = layers.GaussianNoise(%1, stddev=1.0)",
        "%3 = numpy.Multiply(%2, 3.0)",
    ]
    assert lines("lambda x: K.random_normal((K.shape(x)[0], 4), 0., .5)", (None, 4))[2] == (
        "%2 = layers.GaussianNoise(%1, stddev=0.5)"
    )
    with pytest.raises(Undecided, match="shape that none of its tensors has"):
        recorded("lambda x: K.random_normal((K.shape(x)[0], 3))", (None, 4))


def test_whole_numbers():
    def made(source):
        return gives(recorded(source, (None, 4), dtype="int32"), WHOLE)

    # a mean is cut towards zero, `/` of Python 3 gives fractions, `//` goes down
    assert (made("lambda x: K.mean(x, 1)") == np.trunc(WHOLE.sum(1) / 4)).all()
    assert np.allclose(made("lambda x: x / 3"), WHOLE / 3)
    assert (made("lambda x: x // 2") == np.floor(WHOLE / 2)).all()
    assert (made("lambda x: tf.div(x, 2)") == np.floor(WHOLE / 2)).all()


def test_lrn():
    around = [np.sum(IMAGE[..., max(0, i - 5) : i + 6] ** 2, -1) for i in range(3)]
    wanted = IMAGE / (1 + 1e-4 * np.stack(around, -1)) ** 0.75
    found = gives(recorded("lambda x: tf.nn.lrn(x, alpha=1e-4, beta=.75)", open_shape(IMAGE)), IMAGE)
    assert np.allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("align", [False, True])
def test_bilinear_grids_of_tensorflow_1(align):
    """Against the loop that the kernel runs for each pixel."""
    ramp = IMAGE[:, :, :, :1]
    size = (7, 3)
    wanted = np.zeros((2, *size, 1))
    for i in range(size[0]):
        for j in range(size[1]):
            y = i * ((4 - 1) / (7 - 1) if align else 4 / 7)
            x = j * ((6 - 1) / (3 - 1) if align else 6 / 3)
            top, left = int(y), int(x)
            low, right = min(top + 1, 3), min(left + 1, 5)
            dy, dx = y - top, x - left
            above = ramp[:, top, left] * (1 - dx) + ramp[:, top, right] * dx
            below = ramp[:, low, left] * (1 - dx) + ramp[:, low, right] * dx
            wanted[:, i, j] = above * (1 - dy) + below * dy
    source = f"lambda x: tf.image.resize_bilinear(x, (7, 3), align_corners={align})"
    assert np.allclose(gives(recorded(source, open_shape(ramp)), ramp), wanted, atol=1e-5)


# -- defaults that differ from module to module, and what rows they mix

DEFAULTS = [
    ("lambda x: K.stack([x, x])", "numpy.Stack([x0, x0], axis=0)", True),
    ("lambda x: tf.stack([x, x])", "numpy.Stack([x0, x0], axis=0)", True),
    ("lambda x: K.cumsum(x)", "numpy.Cumsum(x0, axis=0)", True),
    ("lambda x: tf.cumsum(x, 1)", "numpy.Cumsum(x0, axis=1)", False),
    ("lambda x: tf.argmax(x)", "numpy.Argmax(x0, axis=0, keepdims=False)", True),
    ("lambda x: tf.split(x, [1, 1])[0]", "numpy.Split(x0, indices_or_sections=[1], axis=0)", True),
    ("lambda x: K.l2_normalize(x)", "numpy.Square(x0)", True),
    ("lambda x: K.permute_dimensions(x, (1, 0))", "numpy.Transpose(x0, axes=[1, 0])", True),
    ("lambda x: tf.transpose(x)", "numpy.Transpose(x0, axes=[1, 0])", True),
    ("lambda x: K.softmax(x)", "nn.Softmax(x0, axis=1)", False),
    ("lambda x: tf.nn.log_softmax(x)", "nn.LogSoftmax(x0, axis=1)", False),
    ("lambda x: K.sum(x)", "numpy.Sum(x0, axis=[0, 1], keepdims=False)", True),
    ("lambda x: x[0]", "numpy.GetItem(x0, [0])", True),
    ("lambda x: x[:, 0]", "numpy.GetItem(x0, [:, 0])", False),
    ("lambda x: K.dropout(x * 1, .5)", "numpy.Multiply(x0, 1)", False),
]


@pytest.mark.parametrize(("source", "first", "mixes"), DEFAULTS, ids=[source for source, _, _ in DEFAULTS])
def test_axes_are_spelled_out_and_mixed_rows_are_said(source, first, mixes):
    found = recorded(source, (2, 4))
    assert found.lines()[0] == f"%0 = {first}"
    assert any("mixes the rows" in note for note in found.notes) == mixes


def test_division_of_python_2():
    tape = Tape(Environment())
    whole, fraction = tensors((None, 4), dtype="int32")[0], tensors((None, 4))[0]
    assert binary(tape, "old /", whole, 2).entry.kind == "numpy.FloorDivide"
    assert binary(tape, "old /", fraction, 2).entry.kind == "numpy.TrueDivide"
    assert binary(tape, "old /", 7, 2) == 3
    assert binary(tape, "old /", 7.0, 2) == 3.5


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("lambda x: K.switch(K.sum(x) > 0, x, -x)", "condition that is one number"),
        ("lambda x: tf.where(x[:, 0] > 0, x, -x)", "condition with other axes"),
        ("lambda x: K.resize_images(x[:, None, None], 2, 2, 'channels_first')", "channels_first"),
        ("lambda x: K.batch_dot(x, x)", "K.batch_dot without axes"),
        ("lambda x: tf.nn.dropout(x, .5, [1])", "noise_shape"),
    ],
)
def test_what_is_not_the_same_is_refused(source, match):
    with pytest.raises(Undecided, match=match):
        recorded(source, (None, 4))


def test_what_drops_in_prediction_too_says_so():
    assert any("in prediction too" in note for note in recorded("lambda x: K.dropout(x, .5)", (None, 4)).notes)
    kept = recorded("lambda x: tf.nn.dropout(x, .9)", (None, 4)).lines()[1]
    assert kept.startswith("%1 = layers.Dropout(%0, rate=0.09999")
    dropped = recorded("lambda x: tf.nn.dropout(x, .25)", (None, 4), tensorflow=2).lines()[1]
    assert dropped == "%1 = layers.Dropout(%0, rate=0.25)"
    with pytest.raises(Undecided, match="kept in TensorFlow 1 and dropped in TensorFlow 2"):
        recorded("lambda x: tf.nn.dropout(x, .9)", (None, 4), tensorflow=None)


# -- the table


def test_each_function_has_one_row():
    rows = [(module, name) for row in ROWS for module in row.modules.split() for name in row.names.split()]
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("tf.nn.relu", "tf"),
        ("tf.compat.v1.image.resize", "image1"),
        ("tf.linalg.diag", "linalg"),
        ("tf.compat.v2.image.resize", "image2"),
        ("tf.keras.backend.mean", "K"),
        ("K.tf.image.resize_images", "image"),
        ("tensorflow.python.keras.backend.mean", "K"),
        ("keras.layers.Dense", "layers"),
        ("np.random.normal", ""),
        ("my.nn.relu", ""),
        ("relu", "python"),
    ],
)
def test_a_dotted_name_is_of_a_module_by_custom_alone(path, module):
    assert module_of(tuple(path.split("."))) == module


def test_a_function_is_found_without_bytecode():
    """What other kinds of layers call: a name, tensors and arguments."""
    tape = Tape(Environment())
    made = table.record(tape, ("tf", "math", "multiply"), tensors((None, 4)), {"y": 2.0})
    assert made.entry.kind == "numpy.Multiply"


def test_hostile_sizes_are_refused_at_once():
    for source in (
        "lambda x: tf.split(x, 10 ** 12, 1)",
        "lambda x: tf.unstack(x, axis=1)",
        "lambda x: K.arange(10 ** 12) + x",
        "lambda x: tf.linspace(0., 1., 10 ** 9) + x",
        "lambda x: tf.eye(10 ** 6) + x",
        "lambda x: tf.fill([10 ** 9], 1.) + x",
        "lambda x: [x] * 10 ** 9",
        "lambda x: tf.tile([1.], [10 ** 9]) + x",
        "def f(x):\n    for v in np.zeros(1000):\n        for w in np.zeros(1000):\n            x = x\n    return x",
    ):
        with pytest.raises(Undecided):
            recorded(source, (None, 10**12))


@pytest.mark.parametrize("slope", ["[0.1, 0.2]", "[]", "[[1.0]]"])
def test_a_list_where_a_function_takes_a_number(slope):
    with pytest.raises(Undecided, match="takes a number"):
        lines(f"lambda x: tf.nn.leaky_relu(x, {slope})", (None, 3))


def test_functions_of_constants_and_tensors():
    x = np.array([[2, 0, 1]], "int32")
    table = "[[1., 2.], [3., 4.], [5., 6.]]"
    found = recorded(f"lambda x: tf.gather({table}, x)", (None, 3), dtype="int32")
    assert gives(found, x).tolist() == [[[5.0, 6.0], [1.0, 2.0], [3.0, 4.0]]]
    image = np.arange(9, dtype="float32").reshape(1, 3, 3, 1)
    found = recorded("lambda x: tf.nn.conv2d(x, [[[[1.]], [[-1.]]]], 1, 'VALID')", (None, 3, 3, 1))
    assert gives(found, image)[0, :, :, 0].tolist() == [[-1.0, -1.0]] * 3
    assert lines("lambda x: K.conv1d(x, [[[1.]]], padding='same')", (None, 5, 1)) == [
        "%0 = nn.Conv(x0, float32[[[1.0]]], strides=1, padding='same', data_format='channels_last', dilation_rate=1)",
        "return %0",
    ]
    numbers = np.array([[0.3, -0.5, 0.1]], "float32")
    assert gives(recorded("lambda x: tf.argsort(x)", (None, 3)), numbers).tolist() == [[1, 2, 0]]
    assert gives(recorded("lambda x: tf.argsort(x, direction='DESCENDING')", (None, 3)), numbers).tolist() == [
        [0, 2, 1]
    ]
    unit, length = gives(recorded("lambda x: tf.linalg.normalize(x, axis=1)", (None, 2)), np.array([[3.0, 4.0]]))
    assert (unit.tolist(), length.tolist()) == ([[pytest.approx(0.6), pytest.approx(0.8)]], [[5.0]])


@pytest.mark.parametrize(
    "source",
    [
        "lambda x: tf.nn.conv2d(x, x, 1, 'SAME')",
        "lambda x: tf.nn.conv2d(x, [[[[1.]]]], [1, 2, 2, 1], 'SAME', dilations=2)",
        "lambda x: tf.nn.conv2d(x, [[[[1.]]]], 1, [[0, 0], [1, 1], [1, 1], [0, 0]])",
        "lambda x: tf.nn.conv2d(x, [[[[1.]], [[1.]]]], 1, 'SAME', data_format='NCHW')",
        "lambda x: tf.nn.depthwise_conv2d(x, [[[[1.]]]], [1, 1, 2, 1], 'SAME')",
        "lambda x: tf.gather([1., 2.], x)",
    ],
)
def test_unusual_convolutions_and_places_are_refused(source):
    with pytest.raises(Undecided):
        recorded(source, (None, 4, 4, 1))


def test_damaged_code_is_refused_and_raises_nothing_else():
    """Code with other bytes, over tensors of other shapes: an answer, or one of two errors."""
    picked = random.Random(0)
    shapes = [(), (None,), (None, 4), (3, 2), (None, 2, 4), (1, 0, 3), (2, 4, None, 3), (None, 10**9, 1, 3, 2)]
    outcomes = set()
    for _ in range(1500):
        source, _, _ = picked.choice(FORMULAS)
        code = bytearray(base64.b64decode(saved(source).text))
        for _ in range(picked.randrange(4)):
            code[picked.randrange(len(code))] = picked.choice(code) if picked.random() < 0.5 else picked.randrange(256)
        function = SavedFunction(base64.b64encode(bytes(code)).decode("ascii"))
        inputs = tensors(
            *picked.choices(shapes, k=picked.randrange(1, 3)), dtype=picked.choice(["float32", "int32", "bool"])
        )
        try:
            outcomes.add(type(record(function, inputs, {}, Environment(tensorflow=picked.choice([1, 2, None])))))
        except (Undecided, BytecodeError) as error:
            outcomes.add(type(error))
    assert outcomes == {Recorded, Undecided, BytecodeError}
