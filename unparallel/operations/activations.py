"""Activations, as Keras' backend, TensorFlow and `keras.activations` name them."""

from __future__ import annotations

from typing import cast

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .elementwise import apply, binary, cast_to, clip, compared, one, tensor, unary
from .tape import Tape, checked, constant
from .values import Tensor, plain


def k_relu(tape: Tape, x: object, alpha: object = 0.0, max_value: object = None, threshold: object = 0.0) -> object:
    """`K.relu`, step by step as in `tensorflow_backend.py` of Keras 2.2.4."""
    x = tensor(x)
    alpha, threshold = (plain(constant(0.0 if value is None else value)) for value in (alpha, threshold))
    max_value = None if max_value is None else constant(max_value)
    if alpha == 0.0 and max_value is None and threshold == 0.0:
        return apply(tape, "nn.Relu", x)
    if max_value is None and threshold == 0.0:
        return apply(tape, "nn.LeakyRelu", x, negative_slope=checked(alpha))
    if threshold != 0.0:
        above = cast_to(tape, compared(tape, ">", x, threshold), x.dtype)
        kept = binary(tape, "*", x, above)
        below = apply(tape, "nn.Relu", cast(Tensor, binary(tape, "-", threshold, x)))
    else:
        kept = apply(tape, "nn.Relu", x)
        below = apply(tape, "nn.Relu", cast(Tensor, unary(tape, "-", x)))
    if max_value is not None:
        kept = clip(tape, kept, 0.0, max_value)
    return kept if alpha == 0.0 else binary(tape, "-", kept, binary(tape, "*", alpha, below))


def elu(tape: Tape, x: object, alpha: object = 1.0) -> object:
    """`K.elu`."""
    return apply(tape, "nn.Elu", tensor(x), alpha=checked(constant(1.0 if alpha is None else alpha)))


def leaky_relu(tape: Tape, x: object, alpha: object = 0.2) -> object:
    """`tf.nn.leaky_relu`, whose slope is 0.2 unless told otherwise."""
    return apply(tape, "nn.LeakyRelu", tensor(x), negative_slope=checked(constant(0.2 if alpha is None else alpha)))


def hard_sigmoid(tape: Tape, x: object) -> object:
    """`K.hard_sigmoid`: clip(0.2 x + 0.5, 0, 1); Keras 3's own has another slope."""
    return clip(tape, binary(tape, "+", binary(tape, "*", tensor(x), 0.2), 0.5), 0.0, 1.0)


def softmax(tape: Tape, x: object, axis: object = None) -> object:
    """Softmax along one axis."""
    return _along("nn.Softmax", tape, x, axis)


def log_softmax(tape: Tape, x: object, axis: object = None) -> object:
    """The logarithm of softmax."""
    return _along("nn.LogSoftmax", tape, x, axis)


def _along(kind: str, tape: Tape, x: object, axis: object) -> Tensor:
    x = tensor(x)
    axis = plain(-1 if axis is None else axis)
    if not isinstance(axis, int):
        raise Undecided("it names an axis that is not known")
    return apply(tape, kind, x, axis=x.axis(axis))


def gelu(tape: Tape, x: object, approximate: object = False) -> object:
    """`tf.nn.gelu`, which is exact unless told otherwise."""
    return apply(tape, "nn.Gelu", tensor(x), approximate=bool(plain(approximate)))


def sigmoid_loss(tape: Tape, labels: object, logits: object) -> object:
    """max(x, 0) - x z + log(1 + exp(-|x|)), as TensorFlow computes it."""
    x = tensor(logits)
    above = binary(tape, "-", apply(tape, "nn.Relu", x), binary(tape, "*", x, labels))
    small = unary(tape, "-", apply(tape, "numpy.Absolute", x))
    return binary(tape, "+", above, apply(tape, "nn.Softplus", tensor(small)))


ROWS: tuple[Row, ...] = (
    Row("K", "relu", "x alpha max_value threshold", k_relu),
    Row("K activations", "elu", "x alpha", elu),
    Row("tf", "elu", "features | name", elu),
    Row("tf", "leaky_relu", "features alpha | name", leaky_relu),
    Row("K activations", "hard_sigmoid", "x", hard_sigmoid),
    Row("K activations", "softmax", "x axis", softmax),
    Row("tf", "softmax", "logits axis | name", softmax),
    Row("tf", "log_softmax", "logits axis | name", log_softmax),
    Row("tf", "gelu", "features approximate | name", gelu),
    Row("tf", "sigmoid_cross_entropy_with_logits", "labels logits | name", sigmoid_loss),
    Row("activations", "relu", "x alpha max_value threshold", k_relu),
    Row("activations", "linear", "x", lambda tape, x: x),
    Row("activations", "exponential", "x", one("numpy.Exp")),
    *[
        Row("activations", name, "x", one(f"nn.{name.capitalize()}"))
        for name in ("sigmoid", "softplus", "softsign", "selu")
    ],
    Row("activations", "tanh", "x", one("numpy.Tanh")),
    Row("activations", "swish", "x", one("nn.Silu")),
)
