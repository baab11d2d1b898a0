"""Losses of the backend, each row's, as the versions computed them.

Standalone Keras up to 2.2 and tf.keras up to TensorFlow 1.12 (`tensorflow_backend.py`, `keras/backend.py`) turn clipped
probabilities back into logits.  From TensorFlow 2.0 on they add the epsilon once more, and look at what made the
probabilities: the numbers before a sigmoid or a softmax are taken instead, where a function has called one itself.
"""

from __future__ import annotations

from typing import cast

from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import elementwise as each
from .activations import sigmoid_loss
from .arguments import axis_of
from .elementwise import apply, binary, tensor
from .reductions import reduce, softmax_loss
from .tape import Tape, constant
from .values import Tensor

EPSILON = 1e-7


def binary_crossentropy(tape: Tape, target: object, output: object, from_logits: object = False) -> object:
    """`K.binary_crossentropy`."""
    output = tensor(output)
    logits = output if _truth(from_logits) else _logits(tape, output, "binary_crossentropy", "nn.Sigmoid")
    if logits is not None:
        return sigmoid_loss(tape, target, logits)
    kept = tensor(each.clip(tape, output, EPSILON, 1 - EPSILON))
    rest = binary(tape, "-", 1, kept)
    if tape.environment.tensorflow == 1:
        return sigmoid_loss(tape, target, _log(tape, binary(tape, "/", kept, rest)))
    yes = binary(tape, "*", target, _log(tape, binary(tape, "+", kept, EPSILON)))
    no = binary(tape, "*", binary(tape, "-", 1, target), _log(tape, binary(tape, "+", rest, EPSILON)))
    return each.unary(tape, "-", binary(tape, "+", yes, no))


def categorical_crossentropy(
    tape: Tape, target: object, output: object, from_logits: object = False, axis: object = -1
) -> object:
    """`K.categorical_crossentropy`."""
    output = tensor(output)
    at = axis_of(-1 if axis is None else axis, output)
    given = _truth(from_logits)
    if given and at != output.rank - 1 and tape.environment.tensorflow != 2:
        raise Undecided("it calls K.categorical_crossentropy with an axis that TensorFlow 1 does not look at")
    logits = output if given else _logits(tape, output, "categorical_crossentropy", "nn.Softmax")
    if logits is not None:
        return softmax_loss(tape, target, logits, at)
    total = reduce(tape, "numpy.Sum", output, at, True)
    kept = each.clip(tape, binary(tape, "/", output, total), EPSILON, 1 - EPSILON)
    weighed = tensor(binary(tape, "*", target, _log(tape, kept)))
    return each.unary(tape, "-", reduce(tape, "numpy.Sum", weighed, at, False))


def _truth(value: object) -> bool:
    found = False if value is None else constant(value)
    if not isinstance(found, bool):
        raise Undecided("it says neither that it has logits nor that it has none")
    return found


def _log(tape: Tape, x: object) -> Tensor:
    return apply(tape, "numpy.Log", tensor(x))


def _logits(tape: Tape, output: Tensor, name: str, kind: str) -> Tensor | None:
    """What probabilities were made of, where the version takes that instead."""
    if tape.environment.tensorflow == 1:
        return None
    if tape.environment.tensorflow is None:
        raise Undecided(f"it calls K.{name}, and the file does not say whether that was of TensorFlow 1 or 2")
    if output.entry is None:
        raise Undecided(f"it calls K.{name}, which in TensorFlow 2 looks at the layer before")
    if output.entry.kind != kind:
        return None
    # `softmax` of other tensors than matrices is several operations in some versions
    if kind == "nn.Softmax" and (output.rank != 2 or output.entry.config.get("axis") != 1):
        raise Undecided(f"it calls K.{name}, which in TensorFlow 2 looks at the softmax before")
    return cast(Tensor, output.entry.args[0])


ROWS: tuple[Row, ...] = (
    Row("K", "binary_crossentropy", "target output from_logits", binary_crossentropy),
    Row("K", "categorical_crossentropy", "target output from_logits axis", categorical_crossentropy),
)
