"""Numbers: each step against what it stands for, written down another way."""

import numpy as np
import pytest

from unparallel.keras3.arrays import STEPS, changed, constant, evaluate, joined, whole
from unparallel.model import WeightRef

RANDOM = np.random.RandomState(7)


def array(shape):
    return whole(WeightRef("w:0", "/w", shape, "float32"))


def old_hard_sigmoid(x):
    return np.clip(0.2 * x + 0.5, 0, 1)


def new_hard_sigmoid(x):
    return np.clip(x / 6 + 0.5, 0, 1)


def test_hard_sigmoid_by_scaling():
    kernel, bias, x = RANDOM.randn(5, 4) * 3, RANDOM.randn(4), RANDOM.randn(50, 5)
    made = [evaluate(changed(array(v.shape), "times", 1.2), [v]) for v in (kernel, bias)]
    assert np.abs(old_hard_sigmoid(x @ kernel + bias) - new_hard_sigmoid(x @ made[0] + made[1])).max() < 1e-12


def test_gates_by_scaling():
    kernel = RANDOM.randn(3, 8)
    made = evaluate(changed(array((3, 8)), "times_blocks", 1.2, 4, (0, 1, 3)), [kernel])
    wanted = kernel.copy()
    wanted[:, [0, 1, 2, 3, 6, 7]] *= 1.2
    np.testing.assert_allclose(made, wanted, rtol=1e-15)


def test_cudnn_kernels():
    # `_convert_rnn_weights` of Keras 2.2.4: each gate's kernel transposed and read in the other memory order
    kernel = RANDOM.randn(3, 8)
    made = evaluate(changed(array((3, 8)), "cudnn_kernel", 4), [kernel])
    for gate in range(4):
        block = kernel[:, 2 * gate : 2 * gate + 2]
        wanted = np.empty((3, 2))
        for i, value in enumerate(block.ravel()):
            wanted[i % 3, i // 3] = value
        np.testing.assert_array_equal(made[:, 2 * gate : 2 * gate + 2], wanted)


def test_cudnn_recurrent_and_bias():
    recurrent, bias = RANDOM.randn(2, 8), RANDOM.randn(16)
    made = evaluate(changed(array((2, 8)), "cudnn_recurrent", 4), [recurrent])
    for gate in range(4):
        np.testing.assert_array_equal(made[:, 2 * gate : 2 * gate + 2], recurrent[:, 2 * gate : 2 * gate + 2].T)
    np.testing.assert_array_equal(evaluate(changed(array((16,)), "sum_halves"), [bias]), bias[:8] + bias[8:])


def test_patches_list_rows_columns_channels():
    kernel = evaluate(constant("patches", (2, 3), 2), [])
    image = RANDOM.randn(2, 3, 2)
    assert kernel.shape == (2, 3, 2, 12)
    np.testing.assert_allclose(np.einsum("rch,rchk->k", image, kernel), image.ravel(), rtol=1e-6)


def test_srelu():
    # SReLU.call of Keras 1.2.2
    left, a_left, right, a_right = (RANDOM.rand(5) for _ in range(4))
    x = RANDOM.randn(200, 5) * 3
    end = left + np.abs(right)
    wanted = np.where(x < left, left + a_left * (x - left), np.where(x < end, x, end + a_right * (x - end)))
    negative = evaluate(joined([array((5,)), array((5,))], "right_end"), [left, right])
    slope = evaluate(changed(array((5,)), "plus", -1.0), [a_right])
    minus = evaluate(changed(array((5,)), "times", -1.0), [left])
    centre = x + minus
    centre = np.where(centre > 0, centre, a_left * centre)
    made = centre + (np.maximum(x + negative, 0) * slope + left)
    np.testing.assert_allclose(made, wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "arguments", "shapes"),
    [
        ("times", (2.0,), [(2, 3)]),
        ("times_blocks", (1.2, 3, (0,)), [(2, 6)]),
        ("join", (-1,), [(2, 3), (2, 4)]),
        ("transpose", ((1, 0, 2),), [(2, 3, 4)]),
        ("reshape", ((6,),), [(2, 3)]),
        ("reverse", ((0, 1),), [(2, 3, 4)]),
        ("plus", (1.0,), [(2, 3)]),
        ("right_end", (), [(3,), (3,)]),
        ("cudnn_kernel", (4,), [(3, 8)]),
        ("cudnn_recurrent", (4,), [(2, 8)]),
        ("sum_halves", (), [(8,)]),
        ("full", ((2, 2), 0.5), []),
        ("integer", (1,), [()]),
        ("integers", (3,), []),
        ("patches", ((2, 2), 3), []),
    ],
)
def test_shapes_are_those_of_the_numbers(name, arguments, shapes):
    row = STEPS[name]
    values = [np.asarray(RANDOM.randn(*shape)) for shape in shapes]
    assert row.shape(shapes, *arguments) == np.shape(row.apply(values, *arguments))


def test_every_step_is_tested():
    assert set(STEPS) == {mark[0] for mark in test_shapes_are_those_of_the_numbers.pytestmark[0].args[1]}


def test_theano_kernels_are_turned_round():
    kernel = RANDOM.randn(2, 3, 4, 5)
    made = evaluate(changed(array(kernel.shape), "reverse", (0, 1)), [kernel])
    np.testing.assert_array_equal(made, kernel[::-1, ::-1])
