"""Functions that take axes together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import elementwise as each
from .activations import log_softmax
from .arguments import axes_of
from .elementwise import apply, as_float, binary, tensor
from .joining import pad, reverse
from .names import dtype as type_of
from .tape import Tape, checked, constant
from .values import UNKNOWN_LENGTH, Moments, Shape, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def reduced(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape after axes were taken together."""
    if keepdims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def reduce(tape: Tape, kind: str, x: Tensor, axis: object, keepdims: object, dtype: str | None = None) -> Tensor:
    """An operation over axes."""
    axes = axes_of(axis, x)
    if not axes:
        return x
    if 0 in axes:
        tape.mixes()
    keep = bool(plain(keepdims))
    return tape.op(kind, [x], reduced(x.shape, axes, keep), dtype or x.dtype, axis=axes, keepdims=keep)


def count(x: Tensor, axes: Sequence[int]) -> int:
    """How many numbers are taken together."""
    size = 1
    for axis in axes:
        length = x.shape[axis]
        if length is None:
            raise Undecided(UNKNOWN_LENGTH)
        size *= length
    return size


def mean(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
    """The mean; that of whole numbers is cut to one, as TensorFlow does."""
    if not isinstance(x, Tensor):
        return _fold(np.mean, tape, x, axis, keepdims)
    if x.floating:
        return reduce(tape, "numpy.Mean", x, axis, keepdims)
    total = reduce(tape, "numpy.Sum", x, axis, keepdims)
    quotient = binary(tape, "/", total, count(x, axes_of(axis, x)))
    return each.cast_to(tape, quotient, x.dtype)


def _fold(function: Callable[..., object], tape: Tape, x: object, axis: object, keepdims: object) -> object:
    values = np.asarray(cast("Numbers", constant(x)))
    axes = axis if axis is None or isinstance(axis, int) else tuple(cast("Sequence[int]", axis))
    tape.spend(values.size)
    if not values.size:
        raise Undecided("it takes no numbers together")
    try:
        return plain(function(values, axis=axes, keepdims=bool(keepdims)))
    except (TypeError, ValueError) as error:
        raise Undecided("it gives a function constants that do not fit") from error


def _reducing(kind: str, fold: Callable[..., object], dtype: str | None = None) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
        if not isinstance(x, Tensor):
            return _fold(fold, tape, x, axis, keepdims)
        return reduce(tape, kind, x, axis, keepdims, dtype)

    return meaning


def _k_mean(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
    """`K.mean` makes fractions of truths first."""
    return mean(tape, as_float(tape, x) if isinstance(x, Tensor) else x, axis, keepdims)


def _spread_of(kind: str, fold: Callable[..., object]) -> Callable[..., object]:
    reducing = _reducing(kind, fold)

    def meaning(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
        return reducing(tape, as_float(tape, x) if isinstance(x, Tensor) else x, axis, keepdims)

    return meaning


def _arg(kind: str, default: int) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, axis: object = None, dtype: object = None) -> object:
        x = tensor(x)
        axis = plain(default if axis is None else axis)
        if not isinstance(axis, int):
            raise Undecided("it names an axis that is not known")
        at = x.axis(axis)
        if at == 0:
            tape.mixes()
        found = tape.op(kind, [x], reduced(x.shape, [at], False), "int32", axis=at, keepdims=False)
        return each.cast_to(tape, found, type_of(dtype, "int64"))

    return meaning


def logsumexp(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
    """`Logsumexp` takes a list of axes in every version."""
    return reduce(tape, "math.Logsumexp", tensor(x), axis, keepdims)


def l2_normalize(tape: Tape, x: object, axis: object = None, epsilon: object = 1e-12) -> object:
    """x / sqrt(max(sum(x²), epsilon)); without an axis over all of them, the batch too."""
    x = tensor(x)
    epsilon = plain(1e-12 if epsilon is None else epsilon)
    total = reduce(tape, "numpy.Sum", apply(tape, "numpy.Square", x), axis, True)
    largest = cast(Tensor, each.maximum(tape, total, checked(constant(epsilon))))
    return binary(tape, "*", x, apply(tape, "math.Rsqrt", largest))


def norm(tape: Tape, x: object, order: object = "euclidean", axis: object = None, keepdims: object = False) -> object:
    """`tf.norm` of vectors."""
    x = tensor(x)
    order = plain("euclidean" if order is None else order)
    flat = axis is None or not isinstance(plain(axis), (list, tuple)) or len(cast("Sequence[object]", axis)) == 1
    if order in ("euclidean", 2) and (flat or order == "euclidean"):
        squares = reduce(tape, "numpy.Sum", apply(tape, "numpy.Square", x), axis, keepdims)
        return apply(tape, "numpy.Sqrt", squares)
    if order == 1 and flat:
        return reduce(tape, "numpy.Sum", apply(tape, "numpy.Absolute", x), axis, keepdims)
    if order == float("inf") and flat:
        return reduce(tape, "numpy.Max", apply(tape, "numpy.Absolute", x), axis, keepdims)
    raise Undecided(f"it calls tf.norm of the order {str(order)[:40]}")


def moments(
    tape: Tape, x: object, axes: object, shift: object = None, fourth: object = None, keepdims: object = None
) -> object:
    """`tf.nn.moments`."""
    if keepdims is None:  # which comes before the name in TensorFlow 2, and after it in TensorFlow 1
        keepdims = fourth is True
    x = tensor(x)
    return Moments(reduce(tape, "numpy.Mean", x, axes, keepdims), reduce(tape, "numpy.Var", x, axes, keepdims))


def cumulated(kind: str, start: float) -> Callable[..., object]:
    """Cumulated along an axis, the first unless told otherwise; `exclusive`: up to the number before, from `start`."""

    def meaning(tape: Tape, x: object, axis: object = None, exclusive: object = False, back: object = False) -> object:
        x = tensor(x)
        axis = plain(0 if axis is None else axis)
        if not isinstance(axis, int):
            raise Undecided("it names an axis that is not known")
        at = x.axis(axis)
        if at == 0:
            tape.mixes()
        x = tensor(reverse(tape, x, at)) if plain(back) else x
        if plain(exclusive):
            widths = [[1, 0] if axis == at else [0, 0] for axis in range(x.rank)]
            wide = tensor(pad(tape, x, widths, "CONSTANT", start))
            place = [slice(None)] * at + [slice(None, -1)]
            x = tape.op("numpy.GetItem", [wide, place], x.shape, x.dtype)
        made = apply(tape, kind, x, axis=at)
        return reverse(tape, made, at) if plain(back) else made

    return meaning


def count_nonzero(tape: Tape, x: object, axis: object = None, keepdims: object = False) -> object:
    """How many are not 0."""
    found = each.cast_to(tape, each.compared(tape, "!=", tensor(x), 0), "int64")
    return reduce(tape, "numpy.Sum", tensor(found), axis, keepdims)


def softmax_loss(tape: Tape, labels: object, logits: object, axis: object = -1) -> object:
    """-sum(labels * log_softmax(logits))."""
    logs = log_softmax(tape, logits, axis)
    weighed = binary(tape, "*", labels, logs)
    return each.unary(tape, "-", reduce(tape, "numpy.Sum", tensor(weighed), -1 if axis is None else axis, False))


def clip_by_norm(tape: Tape, x: object, norm: object, axes: object = None) -> object:
    """x * norm / max(norm, the norm of x), as in `clip_ops.py`."""
    x = tensor(x)
    squares = reduce(tape, "numpy.Sum", apply(tape, "numpy.Square", x), axes, True)
    largest = each.maximum(tape, apply(tape, "numpy.Sqrt", squares), norm)
    return binary(tape, "/", binary(tape, "*", x, norm), largest)


def l2_loss(tape: Tape, x: object) -> object:
    """sum(x²) / 2."""
    return binary(tape, "/", reduce(tape, "numpy.Sum", apply(tape, "numpy.Square", tensor(x)), None, False), 2.0)


_TF = "input_tensor axis keepdims | name reduction_indices keep_dims"
_K = "x axis keepdims"
_NAMES: Sequence[tuple[str, str, Callable[..., object], str | None]] = (
    ("sum", "numpy.Sum", np.sum, None),
    ("max", "numpy.Max", np.max, None),
    ("min", "numpy.Min", np.min, None),
    ("prod", "numpy.Prod", np.prod, None),
    ("any", "numpy.Any", np.any, "bool"),
    ("all", "numpy.All", np.all, "bool"),
)


def normalize(tape: Tape, x: object, order: object = None, axis: object = None) -> object:
    """`tf.linalg.normalize`: divided by its norm, and that."""
    length = norm(tape, x, order, axis, True)
    return [binary(tape, "/", tensor(x), length), length]


ROWS: tuple[Row, ...] = (
    *[Row("tf", f"reduce_{name}", _TF, _reducing(kind, fold, dtype)) for name, kind, fold, dtype in _NAMES],
    *[Row("K", name, _K, _reducing(kind, fold, dtype)) for name, kind, fold, dtype in _NAMES],
    Row("tf", "reduce_mean", _TF, mean),
    Row("K", "mean", _K, _k_mean),
    Row("tf", "reduce_std", _TF, _spread_of("numpy.Std", np.std)),
    Row("tf", "reduce_variance", _TF, _spread_of("numpy.Var", np.var)),
    Row("K", "std", _K, _spread_of("numpy.Std", np.std)),
    Row("K", "var", _K, _spread_of("numpy.Var", np.var)),
    Row("tf", "reduce_logsumexp", _TF, logsumexp),
    Row("K", "logsumexp", _K, logsumexp),
    Row("tf", "argmax arg_max", "input axis output_type | name dimension", _arg("numpy.Argmax", 0)),
    Row("tf", "argmin arg_min", "input axis output_type | name dimension", _arg("numpy.Argmin", 0)),
    Row("K", "argmax", "x axis", _arg("numpy.Argmax", -1)),
    Row("K", "argmin", "x axis", _arg("numpy.Argmin", -1)),
    Row("K", "l2_normalize", "x axis", l2_normalize),
    Row("tf", "l2_normalize", "x axis epsilon | name", l2_normalize),
    Row("tf", "norm", "tensor ord axis keepdims | name", norm),
    Row("tf", "normalize", "tensor ord axis | name", normalize),
    Row(
        "tf",
        "reduce_euclidean_norm",
        _TF,
        lambda tape, x, axis=None, keepdims=False: norm(tape, x, "euclidean", axis, keepdims),
    ),
    Row("tf", "moments", "x axes shift name keepdims", moments),
    Row("tf", "cumsum", "x axis exclusive reverse | name", cumulated("numpy.Cumsum", 0)),
    Row("tf", "cumprod", "x axis exclusive reverse | name", cumulated("numpy.Cumprod", 1)),
    Row("K", "cumsum", "x axis", cumulated("numpy.Cumsum", 0)),
    Row("K", "cumprod", "x axis", cumulated("numpy.Cumprod", 1)),
    Row("tf", "count_nonzero", "input axis keepdims | dtype name", count_nonzero),
    Row(
        "tf",
        "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2",
        "labels logits axis | name",
        softmax_loss,
    ),
    Row("tf", "clip_by_norm", "t clip_norm axes | name", clip_by_norm),
    Row("tf", "l2_loss", "t | name", l2_loss),
)
