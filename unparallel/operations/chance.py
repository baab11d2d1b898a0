"""Functions that draw numbers, and those that are different in training: each says so."""

from __future__ import annotations

from typing import Sequence

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import items_of
from .elementwise import apply, binary, branch, tensor, zeros_like
from .tape import Tape, constant
from .values import Length, Tensor, plain

SAMPLING = "it draws random numbers: here they are drawn in training, and prediction gives their mean"
DROPS = "it drops random numbers: here in training alone, in the old Keras in prediction too"
PREDICTION = "what it did in training is left out"


def random_normal(tape: Tape, shape: object, mean: object = 0.0, stddev: object = 1.0) -> object:
    """Noise of a tensor's shape: GaussianNoise on zeros.

    Raises
    ------
    Undecided
        If no tensor of that shape is at hand, whose zeros to take.
    """
    items = items_of(shape, "a shape")
    source = next((item.source for item in items if isinstance(item, Length)), None)
    if source is None:
        raise Undecided("it draws random numbers, which are the same for a batch of any size")
    zeros = zeros_of(tape, source, items)
    spread = plain(1.0 if stddev is None else stddev)
    # the layer takes no larger one, and only numbers
    within = isinstance(spread, (int, float)) and 0 <= spread <= 1
    tape.note(SAMPLING)
    noise: object = apply(tape, "layers.GaussianNoise", zeros, stddev=spread if within else 1.0)
    noise = noise if within else binary(tape, "*", noise, spread)
    mean = plain(0.0 if mean is None else mean)
    return noise if mean == 0 else binary(tape, "+", noise, mean)


def zeros_of(tape: Tape, source: Tensor, items: Sequence[object]) -> Tensor:
    """Zeros of a shape: those of a tensor that has it."""
    fits = len(items) == source.rank
    for axis, item in enumerate(items):
        if isinstance(item, Length):
            fits = fits and source.is_length(item, axis)
        else:
            fits = fits and axis < source.rank and source.shape[axis] == plain(item)
    if not fits:
        raise Undecided("it makes a tensor of a shape that none of its tensors has")
    return tensor(zeros_like(tape, source, None if source.floating else tape.environment.float_type))


def dropout(tape: Tape, x: object, level: object) -> object:
    """`K.dropout`."""
    rate = plain(constant(level))
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise Undecided("it drops an unknown part")
    x = tensor(x)
    tape.note(DROPS)
    # a layer that passes masks on must not see that of an input
    x = apply(tape, "numpy.Copy", x) if x.entry is None else x
    return apply(tape, "layers.Dropout", x, rate=rate)


def _tf_dropout(
    tape: Tape,
    x: object,
    keep: object = None,
    shape: object = None,
    seed: object = None,
    name: object = None,
    rate: object = None,
) -> object:
    if shape is not None:
        raise Undecided("it calls tf.nn.dropout with noise_shape")
    if rate is None and tape.environment.tensorflow == 2:
        return dropout(tape, x, keep)
    if rate is None and tape.environment.tensorflow is None:
        raise Undecided("it calls tf.nn.dropout, whose number is kept in TensorFlow 1 and dropped in TensorFlow 2")
    return dropout(tape, x, rate if rate is not None else binary(tape, "-", 1.0, keep))


def in_train_phase(tape: Tape, x: object, alt: object) -> object:
    """`K.in_train_phase`: what prediction takes."""
    tape.note(PREDICTION)
    return branch(tape, alt)


def in_test_phase(tape: Tape, x: object, alt: object) -> object:
    """`K.in_test_phase`: what prediction takes."""
    tape.note(PREDICTION)
    return branch(tape, x)


def learning_phase(tape: Tape) -> object:
    """`K.learning_phase()`: 0, that of prediction."""
    tape.note(PREDICTION)
    return 0


ROWS: tuple[Row, ...] = (
    Row("K", "random_normal", "shape mean stddev | dtype seed", random_normal),
    Row("tf", "random_normal", "shape mean stddev | dtype seed name", random_normal),
    Row("random", "normal", "shape mean stddev | dtype seed name", random_normal),
    Row("K", "dropout", "x level | noise_shape seed", dropout),
    Row("tf", "dropout", "x keep_prob noise_shape seed name rate", _tf_dropout),
    Row("K", "learning_phase", "", learning_phase),
    Row("K", "in_train_phase", "x alt training?", lambda tape, x, alt, training=None: in_train_phase(tape, x, alt)),
    Row("K", "in_test_phase", "x alt training?", lambda tape, x, alt, training=None: in_test_phase(tape, x, alt)),
)
