"""Einsums with ellipses, and names that mean other things elsewhere."""

import numpy as np
import pytest

from unparallel.slices.sizes import Undecided

from .followed import gives, recorded

X = np.random.RandomState(0).uniform(-2, 2, (2, 3, 4)).astype("float32")


def test_ellipses_of_einsum():
    wanted = np.einsum("bij,bkj->bik", X, X)
    assert np.allclose(gives(recorded("lambda x: tf.einsum('...ij,...kj->...ik', x, x)", (None, 3, 4)), X), wanted)
    with pytest.raises(Undecided, match="equation"):
        recorded("lambda x: tf.einsum('...ij,...j->...i', x, x)", (None, 3, 4))


def test_names_that_mean_something_else():
    row = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
    wanted = [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    assert gives(recorded("lambda x: tf.linalg.diag(x)", (None, 2)), row).tolist() == wanted
    for source in ("tf.diag(x)", "tf.diag_part(x)"):
        with pytest.raises(Undecided, match="does not know as an operation"):
            recorded(f"lambda x: {source}", (None, 2))
    with pytest.raises(Undecided, match="it calls stack.run, and 'stack' is a global that is not in the file"):
        recorded("lambda x: stack.run(x)", (None, 2))


def test_the_fifth_of_a_convolution_is_the_data_format_in_tensorflow_2():
    call = "lambda x: tf.nn.conv2d(x, np.ones((1, 1, 3, 1)), [1, 1, 1, 1], 'SAME', {})"
    assert recorded(call.format("'NHWC'"), (None, 3, 3, 3)).outputs[0].shape == (None, 3, 3, 1)
    with pytest.raises(Undecided, match="it convolves"):
        recorded(call.format("'NCHW'"), (None, 3, 3, 3))
