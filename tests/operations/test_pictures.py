"""Images, diagonals and losses: what is recorded gives what numpy computes in another way."""

import numpy as np
import pytest

from unparallel.slices.sizes import Undecided

from .followed import gives, lines, recorded

RANDOM = np.random.RandomState(4)
IMAGE = RANDOM.uniform(0.1, 1, (2, 6, 5, 3)).astype("float32")
EVEN = RANDOM.uniform(0.1, 1, (2, 4, 6, 3)).astype("float32")
SQUARES = RANDOM.uniform(-2, 2, (2, 4, 4)).astype("float32")
WIDE = RANDOM.uniform(-2, 2, (2, 3, 5)).astype("float32")
ROWS = RANDOM.uniform(-2, 2, (3, 4)).astype("float32")


def open_shape(value):
    return (None,) + value.shape[1:]


def windows(x, size, step, rate=1):
    """Each window as a row of numbers, pixel by pixel."""
    reach = (size - 1) * rate + 1
    rows = range(0, x.shape[1] - reach + 1, step)
    columns = range(0, x.shape[2] - reach + 1, step)
    found = [[x[:, i : i + reach : rate, j : j + reach : rate].reshape(len(x), -1) for j in columns] for i in rows]
    return np.stack([np.stack(row, 1) for row in found], 1)


# of `np.linalg.inv` of what TensorFlow writes down for the other way
TO_YUV = np.linalg.inv([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])
BORDER = np.pad(IMAGE, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
DOWN = sum(w * (BORDER[:, 2:, j : j + 5] - BORDER[:, :-2, j : j + 5]) for j, w in enumerate((1, 2, 1)))
RIGHT = sum(w * (BORDER[:, i : i + 6, 2:] - BORDER[:, i : i + 6, :-2]) for i, w in enumerate((1, 2, 1)))
MEAN = IMAGE.mean((1, 2), keepdims=True)

CASES = [
    ("lambda x: tf.image.rgb_to_yuv(x)", IMAGE, IMAGE @ TO_YUV),
    ("lambda x: tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x))", IMAGE, IMAGE),
    ("lambda x: tf.image.adjust_gamma(x, 2., 3.)", IMAGE, 3 * IMAGE**2),
    ("lambda x: tf.image.adjust_brightness(x, .2)", IMAGE, IMAGE + 0.2),
    ("lambda x: tf.image.convert_image_dtype(x, tf.float32)", IMAGE, IMAGE),
    ("lambda x: tf.image.rot90(x)", IMAGE, np.rot90(IMAGE, 1, (1, 2))),
    ("lambda x: tf.image.rot90(x, k=2)", IMAGE, np.rot90(IMAGE, 2, (1, 2))),
    ("lambda x: tf.image.rot90(x, -1)", IMAGE, np.rot90(IMAGE, 3, (1, 2))),
    ("lambda x: tf.image.rot90(x, 4)", IMAGE, IMAGE),
    ("lambda x: tf.image.transpose(x)", IMAGE, IMAGE.swapaxes(1, 2)),
    # (6 - 3) / 2 and (5 - 2.5) / 2 are cut: 1 of each side
    ("lambda x: tf.image.central_crop(x, 0.5)", IMAGE, IMAGE[:, 1:5, 1:4]),
    ("lambda x: tf.image.central_crop(x, 1.0)", IMAGE, IMAGE),
    ("lambda x: tf.image.resize_image_with_crop_or_pad(x, 4, 4)", IMAGE, IMAGE[:, 1:5, :4]),
    (
        "lambda x: tf.image.resize_with_crop_or_pad(x, 3, 8)",
        IMAGE,
        np.pad(IMAGE[:, 1:4], [(0, 0), (0, 0), (1, 2), (0, 0)]),
    ),
    ("lambda x: tf.image.extract_patches(x, [1,2,2,1], [1,2,2,1], [1,1,1,1], 'VALID')", EVEN, windows(EVEN, 2, 2)),
    ("lambda x: tf.image.extract_patches(x, [1,2,2,1], [1,2,2,1], [1,1,1,1], 'VALID')", IMAGE, windows(IMAGE, 2, 2)),
    ("lambda x: tf.extract_image_patches(x, [1,3,3,1], [1,1,1,1], [1,1,1,1], 'VALID')", IMAGE, windows(IMAGE, 3, 1)),
    ("lambda x: tf.extract_image_patches(x, [1,2,2,1], [1,1,1,1], [1,2,2,1], 'VALID')", IMAGE, windows(IMAGE, 2, 1, 2)),
    (
        "lambda x: tf.image.extract_patches(x, [1,2,2,1], [1,2,2,1], [1,1,1,1], 'SAME')",
        IMAGE,
        windows(np.pad(IMAGE, [(0, 0), (0, 0), (0, 1), (0, 0)]), 2, 2),
    ),
    (
        "lambda x: tf.image.extract_patches(x, [1,3,3,1], [1,1,1,1], [1,1,1,1], padding='SAME')",
        IMAGE,
        windows(np.pad(IMAGE, [(0, 0), (1, 1), (1, 1), (0, 0)]), 3, 1),
    ),
    ("lambda x: tf.image.sobel_edges(x)", IMAGE, np.stack([DOWN, RIGHT], -1)),
    # matrices
    ("lambda x: tf.matrix_band_part(x, -1, 0)", SQUARES, np.tril(SQUARES)),
    ("lambda x: tf.linalg.band_part(x, 0, -1)", WIDE, np.triu(WIDE)),
    ("lambda x: tf.linalg.band_part(x, 1, 2)", WIDE, np.triu(np.tril(WIDE, 2), -1)),
    ("lambda x: x * tf.linalg.band_part(tf.ones((4, 4)), -1, 0)", SQUARES, np.tril(SQUARES)),
    ("lambda x: tf.linalg.diag_part(x)", WIDE, np.diagonal(WIDE, axis1=1, axis2=2)),
    ("lambda x: tf.trace(x)", SQUARES, np.trace(SQUARES, axis1=1, axis2=2)),
    ("lambda x: tf.matrix_diag(x)", ROWS, np.stack([np.diag(row) for row in ROWS])),
]


@pytest.mark.parametrize(("source", "x", "wanted"), CASES, ids=[source for source, _, _ in CASES])
def test_numbers_are_those_of_plain_numpy(source, x, wanted):
    found = gives(recorded(source, open_shape(x)), x)
    assert np.shape(found) == wanted.shape
    assert np.allclose(found, wanted, atol=1e-5)


def test_yiq_and_back():
    """As near as TensorFlow's own numbers, of which one has four digits."""
    found = gives(recorded("lambda x: tf.image.yiq_to_rgb(tf.image.rgb_to_yiq(x))", open_shape(IMAGE)), IMAGE)
    assert np.allclose(found, IMAGE, atol=1e-4)
    luma = gives(recorded("lambda x: tf.image.rgb_to_yiq(x)[..., 0]", open_shape(IMAGE)), IMAGE)
    assert np.allclose(luma, IMAGE @ [0.299, 0.587, 0.114], atol=1e-5)


def test_what_is_infinite_stays_out_of_bands_and_diagonals():
    x = np.where(np.eye(4) == 1, SQUARES, np.inf).astype("float32")
    for source in ("tf.linalg.diag_part(x)", "tf.linalg.trace(x)", "tf.linalg.band_part(x, 0, 0)"):
        assert np.isfinite(gives(recorded(f"lambda x: {source}", (None, 4, 4)), x)).all()


def test_whole_numbers_become_fractions_of_the_largest():
    assert lines("lambda x: tf.image.convert_image_dtype(x, tf.float32)", (None, 2, 2, 3), dtype="uint8") == [
        "%0 = core.Cast(x0, dtype='float32')",
        f"%1 = numpy.Multiply(%0, {1 / 255})",
        "return %1",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "lambda x: tf.image.extract_patches(x, [1,7,7,1], [1,1,1,1], [1,1,1,1], 'VALID')",
        "lambda x: tf.image.extract_patches(x, [2,2,2,1], [1,1,1,1], [1,1,1,1], 'VALID')",
        "lambda x: tf.image.extract_patches(x, [1,999999,999999,1], [1,1,1,1], [1,1,1,1], 'SAME')",
        "lambda x: tf.image.adjust_gamma(x, -1.)",
        "lambda x: tf.image.central_crop(x, 0.)",
        "lambda x: tf.image.convert_image_dtype(x, tf.uint8)",
        "lambda x: tf.linalg.band_part(tf.zeros((1, 10 ** 9)), 0, 0) + x",
        "lambda x: tf.linalg.diag(tf.tile(x, [1, 1, 1, 10 ** 6]))",
    ],
)
def test_what_makes_no_sense_or_too_much_is_refused(source):
    with pytest.raises(Undecided):
        recorded(source, (None, 6, 5, 3))


# -- losses

SURE = np.array([[0.0, 1.0, 0.3, 0.5], [1e-9, 0.999, 0.1, 0.2]], "float32")
TRUE = np.array([[1.0, 0.0, 0.25, 1.0], [1.0, 1.0, 0.0, 0.5]], "float32")
NUMBERS = np.array([[30.0, -30.0, 2.0, -1.0], [0.0, 18.0, -0.5, 1.0]], "float32")


def loss(source, x, **environment):
    return gives(recorded(source, (None, 4), (None, 4), **environment), TRUE, x)


def test_binary_crossentropy_of_keras_1_and_2():
    """-(t log p + (1 - t) log(1 - p)) of what is clipped; an epsilon more in TensorFlow 2."""
    source = "lambda t: K.binary_crossentropy(t[0], t[1])"
    p = np.clip(SURE, np.float32(1e-7), np.float32(1 - 1e-7)).astype("float64")
    wanted = -(TRUE * np.log(p) + (1 - TRUE) * np.log(1 - p))
    assert np.allclose(loss(source, SURE), wanted, rtol=1e-5, atol=1e-5)
    behind = "lambda t: K.binary_crossentropy(t[0], t[1] * 1.)"
    wanted = -(TRUE * np.log(p + 1e-7) + (1 - TRUE) * np.log(1 - p + 1e-7))
    assert np.allclose(loss(behind, SURE, tensorflow=2, tf_keras=True), wanted, rtol=1e-5, atol=1e-5)


def test_tensorflow_2_takes_the_numbers_before_a_sigmoid():
    wanted = np.logaddexp(0, NUMBERS) - TRUE * NUMBERS
    source = "lambda t: K.binary_crossentropy(t[0], K.sigmoid(t[1]))"
    assert np.allclose(loss(source, NUMBERS, tensorflow=2), wanted, atol=1e-5)
    # the 30 away from what is true is 16.1, the logarithm of 1e-7, in the old one
    assert np.allclose(loss(source, NUMBERS)[0, 1], -np.log1p(-1e-7), atol=1e-5)
    assert np.allclose(loss("lambda t: K.binary_crossentropy(t[0], t[1], True)", NUMBERS), wanted, atol=1e-5)


def test_categorical_crossentropy():
    q = SURE.astype("float64") / SURE.sum(-1, keepdims=True)
    wanted = -(TRUE * np.log(np.clip(q, 1e-7, 1 - 1e-7))).sum(-1)
    assert np.allclose(loss("lambda t: K.categorical_crossentropy(t[0], t[1])", SURE), wanted, rtol=1e-5)
    logs = NUMBERS - np.log(np.exp(NUMBERS.astype("float64")).sum(-1, keepdims=True))
    wanted = -(TRUE * logs).sum(-1)
    for source, version in (("t[1], from_logits=True", 1), ("K.softmax(t[1])", 2)):
        found = loss(f"lambda t: K.categorical_crossentropy(t[0], {source})", NUMBERS, tensorflow=version)
        assert np.allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "environment", "says"),
    [
        ("K.binary_crossentropy(t[0], t[1])", {"tensorflow": None}, "does not say whether that was of TensorFlow"),
        ("K.categorical_crossentropy(t[0], t[1])", {"tensorflow": None}, "does not say whether"),
        ("K.binary_crossentropy(t[0], t[1])", {"tensorflow": 2}, "looks at the layer before"),
        ("K.sparse_categorical_crossentropy(t[0], t[1])", {}, "K.sparse_categorical_crossentropy"),
    ],
)
def test_losses_that_depend_on_what_is_not_known(source, environment, says):
    with pytest.raises(Undecided, match=says):
        recorded(f"lambda t: {source}", (None, 4), (None, 4), **environment)
