"""Functions from their source, as a file holds them, and what recorded entries give in numpy."""

import base64
import marshal
import math

import numpy as np

from unparallel.operations.record import record
from unparallel.operations.values import Environment, Tensor
from unparallel.slices.lambdas import SavedFunction


def saved(source, defaults=(), closure=None):
    """The last function of a source, with the variables around it as its closure."""
    closure = closure or {}
    if closure:
        lines = "".join(f"    {name} = None\n" for name in closure)
        source = f"def around():\n{lines}    return {source}\n"
    code = compile(source, "made", "exec" if source.startswith("def ") else "eval")
    while not (code.co_flags & 0x2 and code.co_name != "around"):
        code = [inner for inner in code.co_consts if hasattr(inner, "co_code")][-1]
    text = base64.b64encode(marshal.dumps(code)).decode("ascii")
    return SavedFunction(text, tuple(defaults), tuple(closure[name] for name in code.co_freevars))


def tensors(*shapes, dtype="float32"):
    return [Tensor(tuple(shape), dtype, None, i) for i, shape in enumerate(shapes)]


def recorded(source, *shapes, defaults=(), closure=None, arguments=None, dtype="float32", **environment):
    """What a function of tensors is recorded as; shapes have the batch, None where it is open."""
    function = saved(source, defaults, closure)
    return record(function, tensors(*shapes, dtype=dtype), arguments or {}, Environment(**environment))


def lines(source, *shapes, **more):
    return recorded(source, *shapes, **more).lines()


# -- what entries give -------------------------------------------------------------------------------------


def _axes(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def _over(function):
    return lambda x, axis, keepdims: function(x, axis=_axes(axis), keepdims=keepdims)


def _softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _log_sum_exp(x, axis, keepdims):
    top = np.max(x, _axes(axis), keepdims=True)
    found = np.log(np.sum(np.exp(x - top), _axes(axis), keepdims=True)) + top
    return found if keepdims else np.squeeze(found, _axes(axis))


def _top(x, k, sorted):
    at = np.argsort(-x, -1, kind="stable")[..., :k]
    return [np.take_along_axis(x, at, -1), at]


def _pool(function):
    def pool(x, pool_size, strides, padding, data_format):
        assert padding == "valid"
        (high, wide), (down, right) = pool_size, strides
        rows = range(0, x.shape[1] - high + 1, down)
        columns = range(0, x.shape[2] - wide + 1, right)
        return np.stack(
            [np.stack([function(x[:, i : i + high, j : j + wide], (1, 2)) for j in columns], 1) for i in rows], 1
        )

    return pool


def _convolved(x, kernel, strides, padding, data_format, dilation_rate):
    assert (strides, dilation_rate, data_format) == (1, 1, "channels_last")
    if padding == "same":
        more = [((size - 1) // 2, size // 2) for size in kernel.shape[:-2]]
        x = np.pad(x, [(0, 0), *more, (0, 0)])
    sizes = kernel.shape[:-2]
    lengths = [n - size + 1 for n, size in zip(x.shape[1:-1], sizes)]
    total = np.zeros((len(x), *lengths, kernel.shape[-1]))
    for place in np.ndindex(*sizes):
        part = x[(slice(None), *[slice(i, i + n) for i, n in zip(place, lengths)])]
        total = total + part @ kernel[place]
    return total.astype(x.dtype)


GIVES = {
    "numpy.Absolute": np.abs,
    "numpy.Add": np.add,
    "numpy.All": _over(np.all),
    "numpy.Any": _over(np.any),
    "numpy.Arccos": np.arccos,
    "numpy.Arccosh": np.arccosh,
    "numpy.Arcsin": np.arcsin,
    "numpy.Arcsinh": np.arcsinh,
    "numpy.Arctan": np.arctan,
    "numpy.Arctanh": np.arctanh,
    "numpy.Arctan2": np.arctan2,
    "numpy.Argmax": lambda x, axis, keepdims: np.argmax(x, axis),
    "numpy.Argmin": lambda x, axis, keepdims: np.argmin(x, axis),
    "numpy.Ceil": np.ceil,
    "numpy.Clip": lambda x, x_min, x_max: np.clip(x, x_min, x_max),
    "numpy.Concatenate": lambda xs, axis: np.concatenate(xs, axis),
    "numpy.Copy": np.copy,
    "numpy.Cos": np.cos,
    "numpy.Cosh": np.cosh,
    "numpy.Cumsum": lambda x, axis: np.cumsum(x, axis),
    "numpy.Cumprod": lambda x, axis: np.cumprod(x, axis),
    "numpy.DivideNoNan": lambda x, y: np.where(np.equal(y, 0), 0.0, np.divide(x, y)),
    "numpy.Einsum": lambda *parts, subscripts: np.einsum(subscripts, *parts),
    "numpy.Equal": np.equal,
    "numpy.Exp": np.exp,
    "numpy.Expm1": np.expm1,
    "numpy.ExpandDims": lambda x, axis: np.expand_dims(x, axis),
    "numpy.Flip": lambda x, axis: np.flip(x, axis),
    "numpy.Floor": np.floor,
    "numpy.FloorDivide": np.floor_divide,
    "numpy.GetItem": lambda x, key: x[tuple(key)],
    "numpy.Greater": np.greater,
    "numpy.GreaterEqual": np.greater_equal,
    "numpy.Isfinite": np.isfinite,
    "numpy.Isinf": np.isinf,
    "numpy.Isnan": np.isnan,
    "numpy.Less": np.less,
    "numpy.LessEqual": np.less_equal,
    "numpy.Log": np.log,
    "numpy.Log1p": np.log1p,
    "numpy.LogicalAnd": np.logical_and,
    "numpy.LogicalNot": np.logical_not,
    "numpy.LogicalOr": np.logical_or,
    "numpy.Matmul": np.matmul,
    "numpy.Max": _over(np.max),
    "numpy.Maximum": np.maximum,
    "numpy.Mean": _over(np.mean),
    "numpy.Min": _over(np.min),
    "numpy.Minimum": np.minimum,
    "numpy.Mod": np.mod,
    "numpy.Multiply": np.multiply,
    "numpy.Negative": np.negative,
    "numpy.NotEqual": np.not_equal,
    "numpy.Pad": lambda x, value=0, pad_width=(), mode="": np.pad(
        x, pad_width, mode, **({"constant_values": value} if mode == "constant" else {})
    ),
    "numpy.Power": np.power,
    "numpy.Prod": _over(np.prod),
    "numpy.Reciprocal": np.reciprocal,
    "numpy.Repeat": lambda x, repeats, axis: np.repeat(x, repeats, axis),
    "numpy.Reshape": lambda x, newshape: np.reshape(x, newshape),
    "numpy.Round": np.round,
    "numpy.Sign": np.sign,
    "numpy.Sin": np.sin,
    "numpy.Sinh": np.sinh,
    "numpy.Sort": lambda x, axis: np.sort(x, axis),
    "numpy.Split": lambda x, indices_or_sections, axis: np.split(x, indices_or_sections, axis),
    "numpy.Sqrt": np.sqrt,
    "numpy.Square": np.square,
    "numpy.Squeeze": lambda x, axis: np.squeeze(x, axis),
    "numpy.Stack": lambda xs, axis: np.stack(xs, axis),
    "numpy.Std": _over(np.std),
    "numpy.Subtract": np.subtract,
    "numpy.Sum": _over(np.sum),
    "numpy.Take": lambda x, indices, axis: np.take(x, indices, axis),
    "numpy.Tan": np.tan,
    "numpy.Tanh": np.tanh,
    "numpy.Tile": lambda x, repeats: np.tile(x, repeats),
    "numpy.Transpose": lambda x, axes: np.transpose(x, axes),
    "numpy.TrueDivide": np.true_divide,
    "numpy.Var": _over(np.var),
    "numpy.Where": np.where,
    "math.Erf": np.vectorize(math.erf),
    "math.Logsumexp": _log_sum_exp,
    "math.Rsqrt": lambda x: 1 / np.sqrt(x),
    "math.TopK": _top,
    "nn.Conv": _convolved,
    "numpy.Argsort": lambda x, axis: np.argsort(x, axis, kind="stable").astype("int32"),
    "nn.Elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "nn.LeakyRelu": lambda x, negative_slope: np.where(x > 0, x, negative_slope * x),
    "nn.LogSigmoid": lambda x: -np.logaddexp(-x, 0),
    "nn.LogSoftmax": lambda x, axis: x - np.logaddexp.reduce(x, axis, keepdims=True),
    "nn.OneHot": lambda x, num_classes, axis, dtype: np.moveaxis(np.eye(num_classes)[x], -1, axis).astype(dtype),
    "nn.Relu": lambda x: np.maximum(x, 0),
    "nn.Relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "nn.Selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "nn.Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "nn.Silu": lambda x: x / (1 + np.exp(-x)),
    "nn.Softmax": _softmax,
    "nn.Softplus": lambda x: np.logaddexp(x, 0),
    "nn.Softsign": lambda x: x / (1 + np.abs(x)),
    "core.Cast": lambda x, dtype: x.astype(dtype),
    "core.StopGradient": np.copy,
    "layers.Flatten": lambda x: x.reshape(len(x), -1),
    "layers.RepeatVector": lambda x, n: np.repeat(x[:, None], n, 1),
    "layers.Reshape": lambda x, target_shape: x.reshape([len(x)] + target_shape),
    "layers.UpSampling2D": lambda x, size, interpolation, data_format: x.repeat(size[0], 1).repeat(size[1], 2),
    "layers.MaxPooling2D": _pool(np.max),
    "layers.AveragePooling2D": _pool(np.mean),
}  # fmt: skip


def _value(arg, known, arrays):
    if isinstance(arg, Tensor):
        if arg.entry is None:
            return arrays[arg.port]
        found = known[id(arg.entry)]
        return found[arg.port] if isinstance(found, list) else found
    return [_value(item, known, arrays) for item in arg] if isinstance(arg, list) else arg


def gives(found, *arrays):
    """What recorded entries make of arrays, one line of numpy for each; and that shapes and types are as said."""
    known = {}
    with np.errstate(all="ignore"):
        for entry in found.entries:
            args = [_value(arg, known, arrays) for arg in entry.args]
            known[id(entry)] = GIVES[entry.kind](*args, **entry.config)
    outputs = [_value(tensor, known, arrays) for tensor in found.outputs]
    for tensor, output in zip(found.outputs, outputs):
        assert len(tensor.shape) == np.ndim(output)
        assert all(said in (None, length) for said, length in zip(tensor.shape, np.shape(output)))
        assert (tensor.dtype == "bool") == (np.asarray(output).dtype == bool)
        assert tensor.floating == (np.asarray(output).dtype.kind == "f")
    return outputs if found.as_list else outputs[0]
