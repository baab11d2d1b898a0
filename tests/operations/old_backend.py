"""What Keras' old backend and TensorFlow give, in numpy, written from their documentation.

`K` and `tf` stand in for the modules in a Lambda's source, so that the very source that was compiled can be run.
Nothing of the package is used.  Arrays keep the type that they come with: with float64, a difference is one of meaning.
"""

import math

import numpy as np

FLOAT = "float64"
INT = "int64"


def _dtype(value):
    name = getattr(value, "name", value)
    return {"float32": FLOAT, "float16": FLOAT, "float64": FLOAT, "int32": INT, "bool": "bool"}.get(
        str(name), str(name)
    )


def _axis(axis):
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


def _over(function):
    def reduce(x, axis=None, keepdims=False, keep_dims=None, name=None):
        return function(np.asarray(x), axis=_axis(axis), keepdims=bool(keepdims or keep_dims))

    return reduce


def _mean(x, axis=None, keepdims=False):
    """Of whole numbers: the quotient is cut."""
    made = np.mean(x, axis=axis, keepdims=keepdims)
    return np.trunc(made).astype(INT) if x.dtype.kind in "iu" else made


def _k_mean(x, axis=None, keepdims=False):
    x = np.asarray(x)
    return _mean(x.astype(FLOAT) if x.dtype == bool else x, _axis(axis), keepdims)


def _logsumexp(x, axis=None, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True)
    made = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return made if keepdims else np.squeeze(made, axis=axis) if axis is not None else made.reshape(())


def _l2_normalize(x, axis=None, epsilon=1e-12, name=None):
    squares = np.sum(np.square(x), axis=_axis(axis), keepdims=True)
    return x / np.sqrt(np.maximum(squares, epsilon))


def _softmax(x, axis=-1, name=None):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def _relu(x, alpha=0.0, max_value=None, threshold=0.0):
    """Of Keras 2.2.4: f(x) = max_value above it, x from the threshold on, alpha * (x - threshold) below."""
    made = np.where(x >= threshold, x, alpha * (x - threshold))
    if threshold and not alpha:
        made = np.where(x > threshold, x, 0.0)
    return made if max_value is None else np.where(x >= max_value, float(max_value), made)


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _selu(x):
    return 1.0507009873554805 * _elu(x, 1.6732632423543772)


def _k_clip(x, low, high):
    high = max(high, low) if low is not None and high is not None else high
    return np.clip(x, low, high)


def _erf(x):
    return np.vectorize(math.erf)(x).astype(FLOAT)


def _arg(function, default):
    return lambda x, axis=default, output_type=None: function(x, axis=axis).astype(INT)


def _cumulated(function):
    return lambda x, axis=0: function(x, axis=axis)


def _exclusive(function, start):
    """Up to the number before, from the front or the back."""

    def cumulate(x, axis=0, exclusive=False, reverse=False):
        x = np.flip(x, axis) if reverse else x
        made = function(x, axis=axis)
        if exclusive:
            first = np.full_like(np.take(made, [0], axis), start)
            made = np.concatenate([first, np.take(made, range(x.shape[axis] - 1), axis)], axis)
        return np.flip(made, axis) if reverse else made

    return cumulate


def _clip_by_norm(x, norm, axes=None):
    size = np.sqrt(np.sum(np.square(x), axis=_axis(axes), keepdims=True))
    return np.where(size > norm, x * norm / np.where(size > 0, size, 1), x)


def _reshape(x, shape, name=None):
    return np.reshape(x, [int(length) for length in shape])


def _expand(default):
    return lambda x, axis=default: np.expand_dims(x, axis)


def _squeeze(x, axis=None):
    return np.squeeze(x, _axis(axis))


def _slice(x, begin, size):
    return x[tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size))]


def _split(x, parts, axis=0):
    if isinstance(parts, int):
        return np.split(x, parts, axis)
    return np.split(x, np.cumsum(parts)[:-1], axis)


def _unstack(x, num=None, axis=0):
    return [np.take(x, i, axis) for i in range(x.shape[axis])]


def _one_hot(x, depth, on_value=1.0, off_value=0.0, axis=-1, dtype=None):
    places = np.expand_dims(x, axis if axis != -1 else x.ndim)
    shape = [1] * places.ndim
    shape[axis if axis != -1 else x.ndim] = depth
    return (places == np.arange(depth).reshape(shape)).astype(FLOAT)


def _pad(x, paddings, mode="CONSTANT", name=None, constant_values=0):
    kind = mode.lower()
    more = {"constant_values": constant_values} if kind == "constant" else {}
    return np.pad(x, [tuple(pair) for pair in paddings], kind, **more)


def _batch_dot(x, y, axes=None):
    if axes is None:
        return np.matmul(x, y)
    one, other = (axes, axes) if isinstance(axes, int) else axes
    rows = [np.tensordot(a, b, ((one % x.ndim - 1,), (other % y.ndim - 1,))) for a, b in zip(x, y)]
    made = np.stack(rows)
    return made[:, None] if made.ndim == 1 else made


def _k_dot(x, y):
    return np.dot(x, y)


def _matmul(a, b, transpose_a=False, transpose_b=False):
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    return np.matmul(a, np.swapaxes(b, -1, -2) if transpose_b else b)


def _switch(condition, then, otherwise):
    then, otherwise = (side() if callable(side) else side for side in (then, otherwise))
    while np.ndim(condition) < np.ndim(then):
        condition = np.expand_dims(condition, -1)
    return np.where(condition, then, otherwise)


def _resize_images(x, height, width, data_format, interpolation="nearest"):
    assert (data_format, interpolation) == ("channels_last", "nearest")
    return x.repeat(height, axis=1).repeat(width, axis=2)


def _depth_to_space(x, block, name=None):
    n, h, w, c = x.shape
    made = x.reshape(n, h, w, block, block, c // block**2).transpose(0, 1, 3, 2, 4, 5)
    return made.reshape(n, h * block, w * block, c // block**2)


def _space_to_depth(x, block, name=None):
    n, h, w, c = x.shape
    made = x.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
    return made.reshape(n, h // block, w // block, block**2 * c)


def _norm(x, ord="euclidean", axis=None, keepdims=False, name=None):
    if ord == 1:
        return np.sum(np.abs(x), axis=_axis(axis), keepdims=keepdims)
    return np.sqrt(np.sum(np.square(x), axis=_axis(axis), keepdims=keepdims))


def _moments(x, axes, name=None):
    return np.mean(x, axis=_axis(axes)), np.var(x, axis=_axis(axes))


def _top_k(x, k=1, sorted=True):
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places


def _div_no_nan(x, y):
    return np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))


def _permute(x, axes=None):
    return np.transpose(x, axes)


def _reverse(x, axes):
    return np.flip(x, _axis(axes))


def _lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    total = np.zeros_like(x)
    for channel in range(x.shape[-1]):
        around = slice(max(0, channel - depth_radius), channel + depth_radius + 1)
        total[..., channel] = np.sum(np.square(x[..., around]), axis=-1)
    return x / (bias + alpha * total) ** beta


def _gather(params, indices, axis=0):
    return np.take(params, indices, axis)


def _cast(x, dtype):
    return np.asarray(x).astype(dtype)


class Namespace:
    """A module."""

    def __init__(self, **held):
        self.__dict__.update(held)


_SAME = dict(
    abs=np.abs, exp=np.exp, log=np.log, square=np.square, sign=np.sign, round=np.round, sin=np.sin, cos=np.cos,
    tanh=np.tanh, sigmoid=_sigmoid, softplus=_softplus, softsign=lambda x: x / (1 + np.abs(x)), cast=_cast,
    maximum=np.maximum, minimum=np.minimum, equal=np.equal, not_equal=np.not_equal, greater=np.greater,
    greater_equal=np.greater_equal, less=np.less, less_equal=np.less_equal, zeros_like=np.zeros_like,
    ones_like=np.ones_like, cumsum=_cumulated(np.cumsum), cumprod=_cumulated(np.cumprod), stop_gradient=lambda x: x,
    identity=lambda x: x, tile=np.tile, reshape=_reshape, l2_normalize=_l2_normalize, softmax=_softmax,
    one_hot=_one_hot, stack=lambda x, axis=0: np.stack(x, axis), reverse=_reverse,
    constant=lambda value, dtype=None, shape=None: np.array(value, dtype),
    pow=lambda x, y: np.power(x, y), shape=lambda x: np.array(x.shape), slice=_slice, gather=_gather,
)  # fmt: skip
_REDUCTIONS = dict(sum=np.sum, max=np.max, min=np.min, prod=np.prod, any=np.any, all=np.all, std=np.std, var=np.var)
K = Namespace(
    **_SAME,
    **{name: _over(function) for name, function in _REDUCTIONS.items()},
    mean=_k_mean,
    logsumexp=_over(_logsumexp),
    sqrt=lambda x: np.sqrt(np.maximum(x, 0)),
    clip=_k_clip,
    relu=_relu,
    elu=_elu,
    hard_sigmoid=lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    argmax=_arg(np.argmax, -1),
    argmin=_arg(np.argmin, -1),
    concatenate=lambda x, axis=-1: np.concatenate(x, axis),
    expand_dims=_expand(-1),
    squeeze=lambda x, axis: np.squeeze(x, axis),
    permute_dimensions=_permute,
    batch_flatten=lambda x: x.reshape(len(x), -1),
    flatten=lambda x: x.reshape(-1),
    repeat=lambda x, n: np.repeat(x[:, None], n, axis=1),
    repeat_elements=lambda x, rep, axis: np.repeat(x, rep, axis),
    batch_dot=_batch_dot,
    dot=_k_dot,
    switch=_switch,
    resize_images=_resize_images,
    temporal_padding=lambda x, padding=(1, 1): np.pad(x, ((0, 0), tuple(padding), (0, 0)), "constant"),
    spatial_2d_padding=lambda x, padding=((1, 1), (1, 1)): np.pad(x, ((0, 0), *padding, (0, 0)), "constant"),
    epsilon=lambda: 1e-7,
    floatx=lambda: "float32",
    image_data_format=lambda: "channels_last",
    int_shape=lambda x: (None,) + x.shape[1:],
    ndim=np.ndim,
)
_NN = dict(
    relu=lambda x: np.maximum(x, 0), relu6=lambda x: np.clip(x, 0, 6), elu=_elu, selu=_selu,
    leaky_relu=lambda x, alpha=0.2: np.where(x > 0, x, alpha * x), l2_normalize=_l2_normalize, softmax=_softmax,
    log_softmax=lambda x, axis=-1: np.log(_softmax(x, axis)), sigmoid=_sigmoid, softplus=_softplus, tanh=np.tanh,
    softsign=lambda x: x / (1 + np.abs(x)), moments=_moments, top_k=_top_k, lrn=_lrn,
    swish=lambda x: x * _sigmoid(x), depth_to_space=_depth_to_space, space_to_depth=_space_to_depth,
)  # fmt: skip
_MATH = dict(
    expm1=np.expm1, log1p=np.log1p, sqrt=np.sqrt, floor=np.floor, ceil=np.ceil, tan=np.tan, asin=np.arcsin,
    acos=np.arccos, atan=np.arctan, sinh=np.sinh, cosh=np.cosh, asinh=np.arcsinh, acosh=np.arccosh, atanh=np.arctanh,
    negative=np.negative, reciprocal=np.reciprocal, rsqrt=lambda x: 1 / np.sqrt(x), erf=_erf,
    log_sigmoid=lambda x: -_softplus(-x), is_nan=np.isnan, is_inf=np.isinf, is_finite=np.isfinite,
    add=np.add, subtract=np.subtract, multiply=lambda x, y, name=None: np.multiply(x, y), divide=np.divide,
    truediv=np.divide,
    floordiv=np.floor_divide, mod=np.mod, squared_difference=lambda x, y: np.square(x - y), divide_no_nan=_div_no_nan,
    logical_and=np.logical_and, logical_or=np.logical_or, logical_not=np.logical_not, atan2=np.arctan2,
    argmax=_arg(np.argmax, 0), argmin=_arg(np.argmin, 0), l2_normalize=_l2_normalize, add_n=lambda x: sum(x[1:], x[0]),
    reduce_mean=_over(_mean), reduce_logsumexp=_over(_logsumexp), reduce_std=_over(np.std),
    reduce_variance=_over(np.var),
    **{f"reduce_{name}": _over(function) for name, function in _REDUCTIONS.items() if name not in ("std", "var")},
)  # fmt: skip
_MATH.update(cumsum=_exclusive(np.cumsum, 0), cumprod=_exclusive(np.cumprod, 1))
tf = Namespace(
    **dict(_SAME, **_MATH),
    clip_by_norm=_clip_by_norm,
    nn=Namespace(**_NN),
    math=Namespace(**dict(_SAME, **_MATH)),
    image=Namespace(flip_left_right=lambda x: x[..., ::-1, :], flip_up_down=lambda x: x[..., ::-1, :, :]),
    linalg=Namespace(matmul=_matmul, norm=_norm, l2_normalize=_l2_normalize),
    clip_by_value=np.clip,
    concat=lambda values, axis: np.concatenate(values, axis),
    expand_dims=_expand(None),
    squeeze=_squeeze,
    transpose=lambda a, perm=None: np.transpose(a, perm),
    split=_split,
    unstack=_unstack,
    matmul=_matmul,
    norm=_norm,
    pad=_pad,
    where=np.where,
    einsum=lambda equation, *parts: np.einsum(equation, *parts),
    tensordot=lambda a, b, axes: np.tensordot(a, b, axes),
    sort=lambda x, axis=-1: np.sort(x, axis),
    space_to_depth=_space_to_depth,
    depth_to_space=_depth_to_space,
    to_float=lambda x: np.asarray(x).astype("float32"),
    range=lambda *given: np.arange(*given),
    ones=lambda shape: np.ones(shape),
    zeros=lambda shape: np.zeros(shape),
    float32="float32",
    int32="int32",
    bool="bool",
    newaxis=None,
    name_scope=lambda name: __import__("contextlib").suppress(),
)
