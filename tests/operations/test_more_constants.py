"""Constants of other kinds: numbers from text, lists in order, arrays' own methods, one-hot; and cubic weights."""

import numpy as np
import pytest

from unparallel.operations import bicubic
from unparallel.slices.sizes import Undecided

from .followed import gives, lines, recorded

X = np.random.RandomState(0).uniform(-2, 2, (2, 3, 4)).astype("float32")
WHOLE = np.array([[-7, 7, 6, 0], [-1, 1, -6, 8]], "int32")


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("divmod(7, 3)[1] + divmod(-7, 3)[0]", -2),
        ("sorted([3., 1., 2.])[0]", 1),
        ("sorted([3, 1, 2], reverse=True)[0]", 3),
        ("sorted([-3, 1, 2], key=lambda v: v * v)[2]", -3),
        ("len(list(filter(lambda v: v > 1, [1, 2, 3])))", 2),
        ("float('2.5') + float('-1e1')", -7.5),
        ("int(' 3 ')", 3),
        ("sum([1, 2], 10)", 13),
        ("max(1, 4, 2, 3) + min([5, 6])", 9),
        ("np.array([[1., 2.], [3., 4.]]).mean()", 2.5),
        ("np.array([[1., 2.], [3., 4.]]).sum(axis=1)[1]", 7),
        ("np.array([[1., 2.], [3., 4.]]).max(0)[0]", 3),
        ("np.array([[1., 2.], [3., 4.]]).flatten()[2]", 3),
        ("np.array([[1., 2.], [3., 4.]]).T.tolist()[0][1]", 3),
        ("np.stack([[1., 2.], [3., 4.]], axis=1)[0, 1]", 3),
        ("tf.stack([[1., 2.], [3., 4.]], axis=1)[0][1]", 3),
    ],
)
def test_numbers(source, number):
    assert np.allclose(gives(recorded(f"lambda x: x * ({source})", (None, 3, 4)), X), X * number)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("K.one_hot(K.arange(3), 4)", np.eye(4)[:3]),
        ("tf.one_hot([2, 0, 9], 4, on_value=5., off_value=-1.)", [[-1, -1, 5, -1], [5, -1, -1, -1], [-1] * 4]),
        ("tf.one_hot([0, 1, 1, 0], 3, axis=0)", [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]]),
        ("tf.meshgrid(tf.range(4.), tf.range(3.))[0]", [[0, 1, 2, 3]] * 3),
        ("tf.meshgrid(tf.range(3.), tf.range(4.), indexing='ij')[0]", [[0] * 4, [1] * 4, [2] * 4]),
    ],
)
def test_arrays(source, wanted):
    assert np.allclose(gives(recorded(f"lambda x: x + {source}", (None, 3, 4)), X), X + np.array(wanted))


def test_one_hot_of_other_numbers():
    found = gives(recorded("lambda x: tf.one_hot(x, 3, 2., 0.1)", (None,), dtype="int32"), np.array([2, 0], "int32"))
    assert np.allclose(found, [[0.1, 0.1, 2], [2, 0.1, 0.1]])
    assert recorded("lambda x: tf.one_hot(x, 3, 5, -1)", (None,), dtype="int32").outputs[0].dtype == "int32"


def test_quotients_are_cut_towards_zero():
    for divisor in (3, -3):
        found = gives(recorded(f"lambda x: tf.truncatediv(x, {divisor})", (None, 4), dtype="int32"), WHOLE)
        assert (found == np.trunc(WHOLE / divisor)).all()
    with pytest.raises(Undecided, match="other than whole numbers"):
        recorded("lambda x: tf.truncatediv(x, 3.)", (None, 4))


def test_zeros_are_zeros_of_what_is_no_number():
    odd = np.array([[np.nan, np.inf, -np.inf, 1.0]], "float32")
    source = "lambda x: tf.where(tf.is_nan(x), tf.zeros_like(x), tf.ones_like(x))"
    assert gives(recorded(source, (None, 4)), odd).tolist() == [[0, 1, 1, 1]]


def test_a_number_in_the_shape_of_a_tensor():
    for source in (
        "tf.zeros(tf.shape(x)) + 2.",
        "tf.fill(tf.shape(x), 2.)",
        "tf.ones((K.shape(x)[0], K.shape(x)[1], 4)) * 2.",
    ):
        assert (gives(recorded(f"lambda x: {source}", (None, None, 4)), X) == np.full((2, 3, 4), 2)).all()


def test_a_global_in_a_comparison_is_named():
    with pytest.raises(Undecided, match="it uses 'stack', a global that is not in the file"):
        recorded("lambda x: x if stack == 'k' else -x", (None, 4))


@pytest.mark.parametrize(
    "source",
    [
        "lambda x: x * float('nan')",
        "lambda x: x * float('1_0')",
        "lambda x: x * int('9' * 5000)",
        "lambda x: sorted([x, x])[0]",
        "lambda x: tf.one_hot(K.arange(1000), 10 ** 9) + x",
        "lambda x: tf.stack([[1.], [2.]], axis=3) + x",
        "lambda x: tf.image.resize_bicubic(K.reshape(x, (-1, 2, 2, 1)), (10 ** 6, 10 ** 6))",
    ],
)
def test_what_is_not_a_number_or_too_many(source):
    with pytest.raises(Undecided):
        recorded(source, (None, 4))


def test_cubic_weights():
    """Half-way between two pixels: (-1, 9, 9, -1) / 16 with a = -0.5, and (-3, 19, 19, -3) / 32 with a = -0.75."""
    assert np.allclose(bicubic.matrix(6, 12, False, False)[5], np.array([0, -3, 19, 19, -3, 0]) / 32)
    # the border is repeated
    assert np.allclose(bicubic.matrix(6, 12, False, False)[1], np.array([16, 19, -3, 0, 0, 0]) / 32)
    assert np.allclose(bicubic.matrix(6, 3, False, True)[1], np.array([0, -1, 9, 9, -1, 0]) / 16)
    # or left out, and the others count for more
    assert np.allclose(bicubic.matrix(6, 3, False, True)[0], np.array([9, 9, -1, 0, 0, 0]) / 17)
    assert np.allclose(bicubic.matrix(5, 9, True, False)[::2], np.eye(5))


def test_cubic_resizing_reads_rows_and_columns():
    found = lines("lambda x: tf.image.resize_bicubic(x, (4, 3))", (None, 2, 3, 1))
    assert len(found) == 2  # the width stays
    assert "ij,bjkc->bikc" in found[0]
