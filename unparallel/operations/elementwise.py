"""Operators, and functions that look at one element of each tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import constants
from .names import dtype as type_of
from .tape import Tape, broadcast, checked, constant
from .values import Array, Length, Tensor, is_number, plain

if TYPE_CHECKING:
    from ..arrays import Numbers

_ARITHMETIC: dict[str, str] = {
    "+": "Add",
    "-": "Subtract",
    "*": "Multiply",
    "/": "TrueDivide",
    "//": "FloorDivide",
    "%": "Mod",
    "**": "Power",
}
_LOGIC = {"&": "LogicalAnd", "|": "LogicalOr", "^": "LogicalXor"}
_COMPARISONS = {
    "<": "Less",
    "<=": "LessEqual",
    ">": "Greater",
    ">=": "GreaterEqual",
    "==": "Equal",
    "!=": "NotEqual",
}


def tensor(value: object) -> Tensor:
    """The value, which has to be a tensor."""
    if isinstance(value, Tensor):
        return value
    constant(value)  # says why, where it is no constant either
    raise Undecided("it gives a constant where this program follows tensors only")


def binary(tape: Tape, symbol: str, left: object, right: object) -> object:
    """`left symbol right`."""
    like = left if isinstance(left, Tensor) else right
    if not isinstance(like, Tensor):
        return constants.binary(tape, symbol, left, right)
    if symbol == "old /":
        symbol = "/" if like.floating else "//"
    if symbol in _LOGIC:
        return logic(tape, _LOGIC[symbol], left, right)
    if symbol not in _ARITHMETIC:
        raise Undecided(f"it computes with {symbol!r}")
    result = like.dtype if symbol != "/" or like.floating else "float32"
    return together(tape, f"numpy.{_ARITHMETIC[symbol]}", left, right, result)


def together(tape: Tape, kind: str, left: object, right: object, dtype: str) -> Tensor:
    """An operation on two values of which one is a tensor; TensorFlow gives a constant the tensor's type."""
    like = left if isinstance(left, Tensor) else tensor(right)
    args = [tape.operand(side, like) for side in (left, right)]
    return tape.op(kind, args, broadcast(*[shape_of(arg) for arg in args]), dtype)


def shape_of(value: object) -> tuple[int | None, ...]:
    """The shape of a tensor, an array or a number."""
    return value.shape if isinstance(value, Tensor) else tuple(np.shape(cast("Numbers", value)))


def logic(tape: Tape, name: str, left: object, right: object) -> object:
    """And, or, of truths."""
    for side in (left, right):
        if isinstance(side, Tensor) and side.dtype != "bool":
            raise Undecided("it computes with the bits of numbers")
    return together(tape, f"numpy.{name}", left, right, "bool")


def compare(tape: Tape, symbol: str, left: object, right: object) -> object:
    """`left symbol right` as an operator."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return constants.compare(symbol, left, right)
    if symbol in ("is", "is not") or (symbol in ("==", "!=") and (left is None or right is None)):
        same = left is right
        return same == (symbol in ("is", "=="))
    if symbol in ("==", "!="):
        if tape.environment.tensorflow != 2:
            raise Undecided(
                f"it compares tensors with {symbol}, which asks whether they are one object in TensorFlow 1"
                + ("" if tape.environment.tensorflow else ", and the file does not say which TensorFlow it was")
            )
    elif symbol not in _COMPARISONS:
        raise Undecided(f"it compares a tensor with {symbol!r}")
    return compared(tape, symbol, left, right)


def compared(tape: Tape, symbol: str, left: object, right: object) -> object:
    """`tf.equal` and its like."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return constants.compare(symbol, left, right)
    return together(tape, f"numpy.{_COMPARISONS[symbol]}", left, right, "bool")


def unary(tape: Tape, symbol: str, value: object) -> object:
    """`-value`, `+value`, `~value`."""
    if not isinstance(value, Tensor):
        return constants.unary(symbol, value)
    if symbol == "-":
        return apply(tape, "numpy.Negative", value)
    if symbol == "~":
        if value.dtype != "bool":
            raise Undecided("it inverts the bits of numbers")
        return apply(tape, "numpy.LogicalNot", value)
    raise Undecided(f"it computes with {symbol!r} on a tensor")


def apply(tape: Tape, kind: str, value: Tensor, gives: str | None = None, **config: object) -> Tensor:
    """An operation on a tensor that keeps its shape."""
    return tape.op(kind, [value], value.shape, gives or value.dtype, **config)


# -- rows ---------------------------------------------------------------------------------------------------


def one(kind: str, fold: Callable[[Numbers], object] | None = None, dtype: str | None = None) -> Callable[..., object]:
    """A function of one tensor; of constants, what numpy gives."""

    def meaning(tape: Tape, x: object) -> object:
        if isinstance(x, Tensor):
            return apply(tape, kind, x, dtype)
        return folded(tape, fold, x)

    return meaning


def folded(tape: Tape, fold: Callable[..., object] | None, *args: object) -> object:
    """What numpy makes of constants."""
    values = [constant(arg) for arg in args]
    if fold is None:
        raise Undecided("it gives a constant to a function that this program knows for tensors only")
    size = max(int(np.size(cast("Numbers", value))) for value in values)
    tape.spend(size)
    try:
        with np.errstate(all="ignore"):
            return plain(fold(*values))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Undecided("it gives a function constants that do not fit") from error


def _two(symbol: str) -> Callable[..., object]:
    return lambda tape, x, y: binary(tape, symbol, x, y)


def _extreme(kind: str, fold: Callable[..., object]) -> Callable[..., object]:
    def meaning(tape: Tape, x: object, y: object) -> object:
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            like = x if isinstance(x, Tensor) else tensor(y)
            return together(tape, kind, x, y, like.dtype)
        return folded(tape, fold, x, y)

    return meaning


maximum = _extreme("numpy.Maximum", np.maximum)
minimum = _extreme("numpy.Minimum", np.minimum)


def k_sqrt(tape: Tape, x: object) -> object:
    """`K.sqrt` takes what is below 0 for 0."""
    if isinstance(x, Tensor):
        return apply(tape, "numpy.Sqrt", cast(Tensor, maximum(tape, x, 0.0)))
    return folded(tape, lambda value: np.sqrt(np.maximum(value, 0)), x)


def clip(tape: Tape, x: object, low: object, high: object) -> object:
    """`tf.clip_by_value`."""
    if not isinstance(x, Tensor):
        return folded(tape, np.clip, x, low, high)
    low, high = plain(low), plain(high)
    if is_number(low) and is_number(high) and cast(float, low) <= cast(float, high):
        return apply(tape, "numpy.Clip", x, x_min=checked(low), x_max=checked(high))
    return maximum(tape, minimum(tape, x, high), low)


def k_clip(tape: Tape, x: object, low: object, high: object) -> object:
    """`K.clip`: the upper bound is at least the lower one."""
    low, high = plain(low), plain(high)
    if is_number(low) and is_number(high):
        high = max(cast(float, low), cast(float, high))
    if low is None or (isinstance(low, float) and low == -math.inf):
        return x if high is None else minimum(tape, x, high)
    if high is None or (isinstance(high, float) and high == math.inf):
        return maximum(tape, x, low)
    return clip(tape, x, low, high)


def cast_to(tape: Tape, x: object, dtype: object) -> object:
    """`tf.cast`."""
    name = type_of(dtype)
    if isinstance(x, Tensor):
        return x if x.dtype == name else apply(tape, "core.Cast", x, name, dtype=name)
    if isinstance(x, Length):
        return x
    if name == "bfloat16":
        raise Undecided("it makes a constant of the type bfloat16")
    return folded(tape, lambda value: np.asarray(value).astype(name), x)


def as_float(tape: Tape, x: Tensor) -> Tensor:
    """Truths as fractions, as `K.mean` takes them."""
    return cast(Tensor, cast_to(tape, x, tape.environment.float_type)) if x.dtype == "bool" else x


def where(tape: Tape, condition: object, x: object = None, y: object = None) -> object:
    """`tf.where` with all three of one rank: with fewer axes, TensorFlow 1 picks rows and TensorFlow 2 broadcasts."""
    condition = tensor(condition)
    if x is None or y is None:
        raise Undecided("it calls tf.where for the places of what is true")
    like = x if isinstance(x, Tensor) else y
    if not isinstance(like, Tensor):
        if tape.environment.tensorflow != 2:
            raise Undecided("it calls tf.where on constants, which TensorFlow 1 and 2 take otherwise")
        sides = [tape.operand(side, Tensor((), "float32")) for side in (x, y)]
        result = "float32" if any(_fraction(side) for side in sides) else "int32"
    else:
        sides = [tape.operand(side, like) for side in (x, y)]
        result = like.dtype
    ranks = {len(shape_of(side)) for side in sides if isinstance(side, Tensor)} | {condition.rank}
    if len(ranks) > 1:
        raise Undecided("it calls tf.where on a condition with other axes than its values")
    shape = broadcast(condition.shape, *[shape_of(side) for side in sides])
    return tape.op("numpy.Where", [condition, *sides], shape, result)


def _fraction(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def switch(tape: Tape, condition: object, then: object, otherwise: object) -> object:
    """`K.switch`: branches may be functions, and a condition with fewer axes counts for the last ones."""
    if not isinstance(condition, Tensor):
        chosen = then if constants.truth(condition) else otherwise
        return branch(tape, chosen)
    then, otherwise = branch(tape, then), branch(tape, otherwise)
    rank = max(len(shape_of(constant_or_tensor(side))) for side in (then, otherwise))
    if condition.rank == 0:
        raise Undecided("it calls K.switch on a condition that is one number")
    if condition.rank > rank:
        raise Undecided("it calls K.switch on a condition with more axes than its values")
    while condition.rank < rank:
        condition = tape.op("numpy.ExpandDims", [condition], condition.shape + (1,), condition.dtype, axis=-1)
    if condition.dtype != "bool":
        condition = cast(Tensor, cast_to(tape, condition, "bool"))
    return where(tape, condition, then, otherwise)


def constant_or_tensor(value: object) -> object:
    """Either, or why it is neither."""
    return value if isinstance(value, Tensor) else constant(value)


def branch(tape: Tape, value: object) -> object:
    """A branch: a value, or a function that gives it."""
    if isinstance(value, (Tensor, bool, int, float, Array, list, tuple)):
        return value
    return tape.invoke(value, ())


def sequence_mask(tape: Tape, lengths: object, longest: object, dtype: object = None) -> object:
    """`tf.sequence_mask`: of each row, which of the first places are below its length."""
    lengths = tensor(lengths)
    many = constant(longest)
    if lengths.floating or not isinstance(many, int):
        raise Undecided("it calls tf.sequence_mask without a length that is known")
    tape.spend(max(0, many))
    wide = tape.op("numpy.ExpandDims", [lengths], lengths.shape + (1,), lengths.dtype, axis=lengths.rank)
    return cast_to(tape, compared(tape, ">", wide, Array(np.arange(many))), "bool" if dtype is None else dtype)


def add_all(tape: Tape, values: object) -> object:
    """`tf.add_n`."""
    if not isinstance(values, (list, tuple)) or not values:
        raise Undecided("it adds up something that is not a list")
    total = values[0]
    for value in values[1:]:
        total = binary(tape, "+", total, value)
    return total


def _square(tape: Tape, x: object) -> object:
    return apply(tape, "numpy.Square", x) if isinstance(x, Tensor) else folded(tape, np.square, x)


def _truediv(tape: Tape, x: object, y: object) -> object:
    return binary(tape, "/", x, y)


def _not(tape: Tape, x: object) -> object:
    return unary(tape, "~", tensor(x))


def batch_normalization(
    tape: Tape, x: object, mean: object, var: object, beta: object, gamma: object, epsilon: object = 1e-3
) -> object:
    """(x - mean) / sqrt(var + epsilon) * gamma + beta."""
    scale: object = _rsqrt(tape, binary(tape, "+", var, epsilon))
    if gamma is not None:
        scale = binary(tape, "*", scale, gamma)
    made = binary(tape, "*", binary(tape, "-", x, mean), scale)
    return made if beta is None else binary(tape, "+", made, beta)


def _rsqrt(tape: Tape, x: object) -> object:
    if isinstance(x, Tensor):
        return apply(tape, "math.Rsqrt", x)
    return folded(tape, lambda value: 1.0 / np.sqrt(value), x)


def _k_batch_normalization(
    tape: Tape,
    x: object,
    mean: object,
    var: object,
    beta: object = None,
    gamma: object = None,
    axis: object = -1,
    epsilon: object = 1e-3,
) -> object:
    """`K.batch_normalization`, over the last axis, or with statistics that have all axes."""
    x = tensor(x)
    ranks = {len(shape_of(constant_or_tensor(part))) for part in (mean, var, beta, gamma) if part is not None}
    if plain(-1 if axis is None else axis) not in (-1, x.rank - 1) and ranks != {x.rank}:
        raise Undecided("it calls K.batch_normalization over an axis that is not the last")
    return batch_normalization(tape, x, mean, var, beta, gamma, 1e-3 if epsilon is None else epsilon)


def ones_like(tape: Tape, x: object, dtype: object = None) -> object:
    """Zeros and 1: `OnesLike` takes its dtype in different places."""
    return binary(tape, "+", zeros_like(tape, x, dtype), 1)


def zeros_like(tape: Tape, x: object, dtype: object = None) -> object:
    """Whether x is less than x, as numbers: never, be it infinite or no number, whose product with 0 is no number."""
    if not isinstance(x, Tensor):
        return folded(tape, np.zeros_like, x)
    wanted = type_of(dtype, x.dtype)
    x = cast(Tensor, cast_to(tape, x, "int32")) if x.dtype == "bool" else x
    return cast_to(tape, compared(tape, "<", x, x), wanted)


def truncatediv(tape: Tape, x: object, y: object) -> object:
    """`tf.truncatediv` of whole numbers: towards 0."""
    if not isinstance(x, Tensor) or x.dtype not in ("int32", "int64"):
        raise Undecided("it calls tf.truncatediv on something other than whole numbers")
    number = constant(y)
    if not isinstance(number, int) or not number:
        raise Undecided("it divides by a number that is not known")
    size = binary(tape, "//", apply(tape, "numpy.Absolute", x), abs(number))
    return binary(tape, "*", apply(tape, "numpy.Sign", x), size if number > 0 else unary(tape, "-", size))


def _squared_difference(tape: Tape, x: object, y: object) -> object:
    return _square(tape, binary(tape, "-", x, y))


def _pick(value: object, *_: object) -> object:
    return value


# name in `tf`, in `K`, operation, what numpy makes of constants
_PLAIN: Sequence[tuple[str, str, str, Callable[..., object] | None]] = (
    ("abs", "abs", "numpy.Absolute", np.abs),
    ("exp", "exp", "numpy.Exp", np.exp),
    ("expm1", "", "numpy.Expm1", np.expm1),
    ("log log_", "log", "numpy.Log", np.log),
    ("log1p", "", "numpy.Log1p", np.log1p),
    ("sqrt", "", "numpy.Sqrt", np.sqrt),
    ("square", "square", "numpy.Square", np.square),
    ("sign", "sign", "numpy.Sign", np.sign),
    ("floor", "", "numpy.Floor", np.floor),
    ("ceil", "", "numpy.Ceil", np.ceil),
    ("round rint", "round", "numpy.Round", np.round),
    ("sin", "sin", "numpy.Sin", np.sin),
    ("cos", "cos", "numpy.Cos", np.cos),
    ("tan", "", "numpy.Tan", np.tan),
    ("asin", "", "numpy.Arcsin", np.arcsin),
    ("acos", "", "numpy.Arccos", np.arccos),
    ("atan", "", "numpy.Arctan", np.arctan),
    ("sinh", "", "numpy.Sinh", np.sinh),
    ("cosh", "", "numpy.Cosh", np.cosh),
    ("tanh", "tanh", "numpy.Tanh", np.tanh),
    ("asinh", "", "numpy.Arcsinh", np.arcsinh),
    ("acosh", "", "numpy.Arccosh", np.arccosh),
    ("atanh", "", "numpy.Arctanh", np.arctanh),
    ("negative neg", "", "numpy.Negative", np.negative),
    ("reciprocal", "", "numpy.Reciprocal", lambda value: 1.0 / value),
    ("rsqrt", "", "math.Rsqrt", lambda value: 1.0 / np.sqrt(value)),
    ("erf", "", "math.Erf", None),
    ("sigmoid", "sigmoid", "nn.Sigmoid", None),
    ("log_sigmoid", "", "nn.LogSigmoid", None),
    ("softplus", "softplus", "nn.Softplus", None),
    ("softsign", "softsign", "nn.Softsign", None),
    ("relu", "", "nn.Relu", None),
    ("relu6", "", "nn.Relu6", None),
    ("selu", "", "nn.Selu", None),
    ("swish silu", "", "nn.Silu", None),
)
_TRUTHS: Sequence[tuple[str, str]] = (
    ("is_nan", "numpy.Isnan"),
    ("is_inf", "numpy.Isinf"),
    ("is_finite", "numpy.Isfinite"),
)
_COMPARED: Sequence[tuple[str, str]] = (
    ("equal", "=="),
    ("not_equal", "!="),
    ("greater", ">"),
    ("greater_equal", ">="),
    ("less", "<"),
    ("less_equal", "<="),
)


def _comparing(symbol: str) -> Callable[..., object]:
    return lambda tape, x, y: compared(tape, symbol, x, y)


ROWS: tuple[Row, ...] = (
    *[Row("tf", names, "x | name", one(kind, fold)) for names, _, kind, fold in _PLAIN],
    *[Row("K", name, "x", one(kind, fold)) for _, name, kind, fold in _PLAIN if name],
    *[Row("tf", name, "x | name", one(kind, None, "bool")) for name, kind in _TRUTHS],
    *[Row("tf K", name, "x y | name", _comparing(symbol)) for name, symbol in _COMPARED],
    Row("K", "sqrt", "x", k_sqrt),
    Row("K", "pow", "x a", _two("**")),
    Row("tf", "pow", "x y | name", _two("**")),
    Row("tf", "add", "x y | name", _two("+")),
    Row("tf", "subtract sub", "x y | name", _two("-")),
    Row("tf", "multiply mul", "x y | name", _two("*")),
    Row("tf", "scalar_mul", "scalar x | name", _two("*")),
    Row("tf", "divide truediv realdiv", "x y | name", _truediv),
    Row("tf", "div", "x y | name", _two("old /")),
    Row("tf", "floordiv floor_div", "x y | name", _two("//")),
    Row("tf", "truncatediv truncate_div", "x y | name", truncatediv),
    Row("tf", "mod floormod", "x y | name", _two("%")),
    Row(
        "tf",
        "div_no_nan divide_no_nan",
        "x y | name",
        lambda tape, x, y: together(tape, "numpy.DivideNoNan", x, y, tensor(x).dtype),
    ),
    Row("tf", "atan2", "y x | name", lambda tape, y, x: together(tape, "numpy.Arctan2", y, x, tensor(y).dtype)),
    Row("tf", "squared_difference", "x y | name", _squared_difference),
    Row("tf K", "maximum", "x y | name", maximum),
    Row("tf K", "minimum", "x y | name", minimum),
    Row("tf", "clip_by_value", "t clip_value_min clip_value_max | name", clip),
    Row("K", "clip", "x min_value max_value", k_clip),
    Row("tf", "cast", "x dtype | name", cast_to),
    Row("K", "cast", "x dtype", cast_to),
    Row("tf", "to_float", "x | name", lambda tape, x: cast_to(tape, x, "float32")),
    Row("tf", "to_double", "x | name", lambda tape, x: cast_to(tape, x, "float64")),
    Row("tf", "to_int32", "x | name", lambda tape, x: cast_to(tape, x, "int32")),
    Row("tf", "to_int64", "x | name", lambda tape, x: cast_to(tape, x, "int64")),
    Row("tf", "logical_and", "x y | name", lambda tape, x, y: logic(tape, "LogicalAnd", x, y)),
    Row("tf", "logical_or", "x y | name", lambda tape, x, y: logic(tape, "LogicalOr", x, y)),
    Row("tf", "logical_xor", "x y | name", lambda tape, x, y: logic(tape, "LogicalXor", x, y)),
    Row("tf", "logical_not", "x | name", _not),
    Row("tf", "where", "condition x y | name", where),
    Row("K", "switch", "condition then_expression else_expression", switch),
    Row("tf", "sequence_mask", "lengths maxlen dtype | name", sequence_mask),
    Row("tf", "add_n accumulate_n", "inputs | shape tensor_dtype name", add_all),
    Row("K", "stop_gradient", "variables", lambda tape, x: apply(tape, "core.StopGradient", tensor(x))),
    Row("tf", "stop_gradient", "input | name", lambda tape, x: apply(tape, "core.StopGradient", tensor(x))),
    Row("tf", "identity", "input | name", lambda tape, x: x),
    Row("K", "identity", "x | name", lambda tape, x: x),
    Row("K", "print_tensor", "x | message", lambda tape, x: x),
    Row("tf", "Print", "input_ data? message? first_n summarize | name", lambda tape, x, *shown: x),
    Row("K tf", "zeros_like", "x dtype | name optimize", zeros_like),
    Row("K tf", "ones_like", "x dtype | name optimize", ones_like),
    Row("tf", "bias_add", "value bias | data_format name", _two("+")),
    Row(
        "tf",
        "batch_normalization",
        "x mean variance offset scale variance_epsilon | name",
        lambda tape, x, mean, var, offset, scale, epsilon: batch_normalization(
            tape, x, mean, var, offset, scale, epsilon
        ),
    ),
    Row(
        "K",
        "batch_normalization",
        "x mean var beta gamma axis epsilon",
        _k_batch_normalization,
    ),
    Row("K", "bias_add", "x bias | data_format", _two("+")),
    Row("K", "cast_to_floatx", "x", lambda tape, x: cast_to(tape, x, tape.environment.float_type)),
)
