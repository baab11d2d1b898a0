"""Constants: once for each row of a batch, and numpy's functions of them, bounded before they are made."""

import numpy as np
import pytest

from unparallel.slices.sizes import Undecided

from .followed import gives, lines, recorded

X = np.random.RandomState(0).uniform(-2, 2, (3, 4, 2)).astype("float32")
ODD = np.array([[[np.nan, 1], [2, 3]], [[np.inf, 1], [2, 3]]], "float32")
OPEN = (None, 4, 2)


def test_a_constant_for_each_row():
    assert lines("lambda x: K.tile(K.constant([[1., 2.]]), [K.shape(x)[0], 1])", OPEN) == [
        "%0 = numpy.GetItem(x0, [:, 0, 0])",
        "%1 = numpy.Less(%0, %0)",
        "%2 = core.Cast(%1, dtype='float32')",
        "%3 = numpy.GetItem(%2, [:, None])",
        "%4 = numpy.Add(%3, float32[[1.0, 2.0]])",
        "return %4",
    ]


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("lambda x: K.tile(K.constant([[1., 2.]]), [K.shape(x)[0], 2])", [1, 2, 1, 2]),
        ("lambda x: tf.tile(tf.constant([[5, 6]]), [tf.shape(x)[0], 1])", [5, 6]),
        ("lambda x: tf.ones([tf.shape(x)[0], 3])", [1, 1, 1]),
        ("lambda x: tf.zeros((K.shape(x)[0], 2))", [0, 0]),
        ("lambda x: tf.fill([tf.shape(x)[0], 2], 0.5)", [0.5, 0.5]),
    ],
)
def test_what_stands_in_each_row(source, row):
    for values in (X[:, :2], ODD):  # neither infinite numbers nor those that are none get into it
        found = gives(recorded(source, (None, 2, 2)), values)
        assert found.tolist() == [row] * len(values)


def test_a_constant_for_each_row_needs_a_batch():
    for source in (
        "lambda x: tf.ones([4, tf.shape(x)[0]])",
        "lambda x: K.tile(K.constant([1., 2.]), [K.shape(x)[0]])",
        "lambda x: K.tile(K.constant([[1.], [2.]]), [K.shape(x)[0], 1])",
    ):
        with pytest.raises(Undecided, match="length of an axis that is not in the file"):
            lines(source, OPEN)


@pytest.mark.parametrize(
    "source",
    [
        "np.tile(np.array([1., 2.]), (2, 1))",
        "np.tile([1, 2], 3)",
        "np.repeat([1, 2], 2)",
        "np.repeat(np.ones((2, 2)), 2, axis=1)",
        "np.tril(np.ones((3, 3)))",
        "np.triu(np.ones((3, 3)), k=1)",
        "np.meshgrid(np.arange(3), np.arange(2))[0]",
        "np.meshgrid(np.arange(3), np.arange(2), indexing='ij')[1]",
        "np.outer([1, 2], [3, 4])",
        "np.flip(np.arange(3), 0)",
        "np.cumsum([1, 2, 3])",
        "np.maximum([1, 5], [[2], [3]])",
        "np.ones_like([1., 2.])",
    ],
)
def test_functions_of_numpy(source):
    wanted = eval(source, {"np": np})
    found = gives(recorded(f"lambda x: tf.reduce_sum(x) * 0 + tf.constant({source}, dtype=tf.float32)", (3, 4, 2)), X)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    "source",
    [
        "np.tile([1], 10 ** 9)",
        "np.tile([1], [10 ** 5, 10 ** 5])",
        "np.repeat([1], 10 ** 9)",
        "np.outer(np.zeros(10 ** 4), np.zeros(10 ** 4))",
        "np.meshgrid(np.zeros(10 ** 4), np.zeros(10 ** 4))[0]",
        "np.maximum(np.zeros((10 ** 4, 1)), np.zeros(10 ** 4))",
    ],
)
def test_what_grows_too_large_is_never_made(source):
    with pytest.raises(Undecided, match="its constants hold more than 262144 numbers"):
        lines(f"lambda x: x * {source}", (None, 1))


def test_functions_of_numpy_take_no_tensors():
    with pytest.raises(Undecided, match="it gives a tensor to a function of numpy"):
        lines("lambda x: np.tile(x, 2)", OPEN)
    with pytest.raises(Undecided, match="it gives a function of numpy arguments that do not fit"):
        lines("lambda x: x * np.repeat([1, 2], 2, axis=3)", OPEN)


# -- sums up to a place, lengths, norms


def test_sums_up_to_a_place():
    before = gives(recorded("lambda x: tf.cumsum(x, axis=1, exclusive=True)", OPEN), X)
    assert np.allclose(before, np.cumsum(X, 1) - X, atol=1e-6)
    back = gives(recorded("lambda x: tf.cumprod(x, 1, exclusive=True, reverse=True)", OPEN), X)
    assert np.allclose(back[:, 0], X[:, 1] * X[:, 2] * X[:, 3], atol=1e-6)
    assert np.array_equal(back[:, 3], np.ones((3, 2)))


def test_places_below_a_length():
    made = recorded("lambda x: tf.sequence_mask(x, 4, dtype=tf.float32)", (None,), dtype="int32")
    assert gives(made, np.array([0, 3, 9])).tolist() == [[0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    with pytest.raises(Undecided, match="sequence_mask"):
        lines("lambda x: tf.sequence_mask(x, 4)", (None,))


def test_a_norm_that_is_bounded():
    values = np.array([[3.0, 4.0], [0.3, 0.4], [0, 0]], "float32")
    found = gives(recorded("lambda x: tf.clip_by_norm(x, 1.0, axes=[1])", (None, 2)), values)
    assert np.allclose(found, [[0.6, 0.8], [0.3, 0.4], [0, 0]])


# -- images


def test_grey_as_colours_and_contrast():
    grey = X[:, :, None, :1]
    assert np.array_equal(
        gives(recorded("lambda x: tf.image.grayscale_to_rgb(x)", (None, 4, 1, 1)), grey), grey.repeat(3, -1)
    )
    with pytest.raises(Undecided, match="more|other than one channel"):
        lines("lambda x: tf.image.grayscale_to_rgb(x)", (None, 4, 1, 2))
    image = X[:, :, None, :]
    middle = image.mean((1, 2), keepdims=True)
    found = gives(recorded("lambda x: tf.image.adjust_contrast(x, 1.5)", (None, 4, 1, 2)), image)
    assert np.allclose(found, (image - middle) * 1.5 + middle, atol=1e-6)
