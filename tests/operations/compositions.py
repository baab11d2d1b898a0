"""Random functions of one or two tensors, made of the functions that the table knows, as source.

Every value has a known shape, so that none of these may be refused.  What jumps (rounding, comparisons, places of the
largest) is moved by an odd number first, so that two ways of computing one number cannot fall on two sides of a jump.
"""

from typing import NamedTuple

from hypothesis import strategies as st

SHAPES = [(6,), (4, 6), (3, 4), (4, 4, 4), (2, 4, 3), (1, 6)]
MOST_NUMBERS = 600


class Composition(NamedTuple):
    """A function's text, and the shapes of its inputs without the batch."""

    source: str
    shapes: tuple


_ODD = "({} * 1.7 + 0.12345)"
SAME = (
    """
K.abs({}) | K.exp(K.clip({}, -3., 3.)) | K.log(K.abs({}) + 0.5) | K.square(K.tanh({})) | K.sqrt({}) | K.sin({})
K.cos({}) | K.tanh({}) | K.sigmoid({}) | K.softplus({}) | K.softsign({}) | K.hard_sigmoid({}) | K.elu({}, 0.7)
K.relu({})
K.relu({}, alpha=0.3) | K.relu({}, max_value=0.8) | K.relu({}, alpha=0.1, max_value=1.5) | K.relu({}, threshold=0.37)
K.clip({}, -0.4, 0.6) | K.clip({}, 0.6, -0.4) | K.pow({}, 2) | K.zeros_like({}) | K.ones_like({}) | K.identity({})
K.stop_gradient({}) | K.l2_normalize({}, axis=-1) | K.l2_normalize({}, 1) | K.softmax({}) | K.softmax({}, axis=1)
K.cumsum({}, axis=1) | K.cumsum({}, -1) | K.cumprod(K.tanh({}), axis=1) | K.reverse({}, 1) | K.reverse({}, axes=[-1])
tf.abs({}) | tf.expm1(tf.clip_by_value({}, -2.0, 2.0)) | tf.log1p(tf.abs({})) | tf.sqrt(tf.abs({}) + 0.1)
tf.math.rsqrt(tf.square({}) + 1.) | tf.math.erf({}) | tf.nn.relu({}) | tf.nn.relu6({} * 5.) | tf.nn.elu({})
tf.nn.selu({}) | tf.nn.leaky_relu({}) | tf.nn.leaky_relu({}, alpha=0.05) | tf.nn.swish({}) | tf.nn.softplus({})
tf.nn.softmax({}, axis=-1) | tf.nn.log_softmax({}) | tf.math.log_sigmoid({}) | tf.negative({}) | tf.sinh(K.tanh({}))
tf.cosh(K.tanh({})) | tf.tan(K.tanh({})) | tf.asin(K.tanh({}) * 0.9) | tf.acos(K.tanh({}) * 0.9) | tf.atan({})
tf.asinh({}) | tf.acosh(tf.abs({}) + 1.5) | tf.atanh(K.tanh({}) * 0.9) | tf.reciprocal(tf.abs({}) + 0.5)
tf.nn.l2_normalize({}, -1) | tf.math.l2_normalize({}, axis=1, epsilon=0.01) | tf.identity({}) | tf.sort({}, axis=-1)
tf.cumsum({}, axis=1) | tf.reverse({}, [1]) | tf.divide({}, 3.) | tf.math.divide_no_nan({}, 4.) | -{} | 1. - {}
2.5 * {} | {} / 3 | {} - 0.25 | ({} + 1) * 0.5 | K.tanh({}) ** 3 | 2. ** K.tanh({}) | (lambda y: y * y - y)(K.tanh({}))
(lambda y, *more: y * len(more))({}, 1, 2) | (lambda y, **more: y * more['k'])({}, k=3)
tf.cumsum({}, axis=1, exclusive=True) | tf.cumsum({}, axis=-1, reverse=True) | tf.clip_by_norm({}, 1.5, axes=[1])
tf.cumprod(K.tanh({}), axis=-1, exclusive=True, reverse=True)
{{'a': {}, 'b': 1.}}['a'] | [{}, 0][0] | tf.to_float({}) | K.cast({}, 'float32')
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
JUMPS = (
    """
K.round(@) | K.sign(@) | tf.floor(@) | tf.math.ceil(@) | @ // 0.7 | @ % 0.7 | K.cast(K.greater(@, 0.), 'float32')
tf.cast(@ > 0.3, tf.float32) | tf.cast(~(@ < 0.3), tf.float32) | tf.cast((@ > -0.5) & (@ < 0.9), tf.float32)
K.cast(K.less_equal(@, 0.4), K.floatx()) | tf.where(@ > 0., @, 0.1 * @) | K.switch(@ > 0.2, @, K.tanh(@))
K.switch(@ > 0.2, lambda: K.exp(K.tanh(@)), lambda: -@) | tf.cast(tf.logical_or(@ > 1., @ < 0.), tf.float32)
tf.cast(tf.logical_not(tf.greater_equal(@, 0.5)), 'float32') | tf.mod(@, 0.9) | tf.math.floordiv(@, 0.9)
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
TWO = (
    """
{} + {} | {} - {} | {} * {} | {} / (K.abs({}) + 0.5) | K.maximum({}, {}) | tf.minimum({}, {}) | tf.multiply({}, {})
tf.math.squared_difference(K.tanh({}), {}) | tf.subtract({}, {}) | tf.add_n([{}, {}]) | sum([{}, {}])
(lambda a, b: a + 2. * b)(*[{}, {}]) | tf.atan2({}, tf.abs({}) + 1.) | tf.math.divide_no_nan({}, K.abs({}) + 0.5)
sum(a * 0.5 for a in ({}, {})) | K.pow(K.abs({}) + 0.5, K.tanh({}))
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
REDUCED = [
    "K.sum",
    "K.mean",
    "K.max",
    "K.min",
    "K.std",
    "K.var",
    "K.logsumexp",
    "tf.reduce_sum",
    "tf.reduce_mean",
    "tf.reduce_max",
    "tf.reduce_min",
]
REDUCED += ["tf.reduce_logsumexp", "tf.norm", "tf.math.reduce_std", "tf.math.reduce_variance"]


def _product(lengths):
    made = 1
    for length in lengths:
        made *= length
    return made


@st.composite
def _axis(draw, shape):
    """An axis that is not the batch, counted from either end; (text, number)."""
    axis = draw(st.integers(1, len(shape)))
    return (axis if draw(st.booleans()) else axis - len(shape) - 1), axis


@st.composite
def _reduction(draw, name, shape):
    given_axis, axis = draw(_axis(shape))
    keep = draw(st.booleans())
    function = draw(st.sampled_from(REDUCED))
    argument = (
        f"axis={given_axis}"
        if function == "tf.norm"
        else draw(st.sampled_from([f"axis={given_axis}", str(given_axis)]))
    )
    if function.startswith("K.") and draw(st.booleans()):
        argument = f"axis=[{given_axis}]"
    text = f"{function}({name}, {argument}{', keepdims=True' if keep else ''})"
    rest = shape[: axis - 1] + ((1,) if keep else ()) + shape[axis:]
    return (text, rest) if rest else (f"{function}({name}, axis={given_axis}, keepdims=True)", (1,))


@st.composite
def _cut(draw, name, shape):
    """A part by an index."""
    items, rest = [":"], []
    for place, length in enumerate(shape):
        kind = draw(st.sampled_from(["all", "all", "one", "part", "step", "back"]))
        if kind == "one" and (rest or place < len(shape) - 1):
            items.append(str(draw(st.integers(-length, length - 1))))
        elif kind == "part" and length > 1:
            start = draw(st.integers(0, length - 1))
            stop = draw(st.integers(start + 1, length))
            first = start if draw(st.booleans()) else start - length
            items.append(f"{first}:{stop if stop < length else ''}")
            rest.append(stop - start)
        elif kind == "step" and length > 1:
            items.append("::2")
            rest.append(-(-length // 2))
        else:
            items.append("::-1" if kind == "back" else ":")
            rest.append(length)
        if draw(st.integers(0, 9)) == 0 and len(rest) < 4:
            items.append(draw(st.sampled_from(["None", "tf.newaxis"])))
            rest.append(1)
    if items[-1] == ":" and len(items) > 2 and draw(st.booleans()):
        items[-1] = "..."
    return f"{name}[{', '.join(items)}]", tuple(rest)


def _moved(name, shape):
    """(text, shape) of what moves, joins and cuts, where it fits."""
    rank = len(shape)
    whole = _product(shape)
    yield f"K.expand_dims({name})", (*shape, 1)
    yield f"K.expand_dims({name}, axis=1)", (1, *shape)
    yield f"tf.expand_dims({name}, -1)", (*shape, 1)
    yield f"K.batch_flatten({name})", (whole,)
    yield f"K.reshape({name}, (-1, {whole}, 1))", (whole, 1)
    yield f"tf.reshape({name}, [tf.shape({name})[0], -1])", (whole,)
    yield f"K.reshape({name}, (-1, 1) + K.int_shape({name})[1:])", (1, *shape)
    if whole % 2 == 0:
        yield f"K.reshape({name}, [-1, 2, {whole // 2}])", (2, whole // 2)
    yield f"K.concatenate([{name}, {name}], axis=-1)", (*shape[:-1], shape[-1] * 2)
    yield f"tf.concat([{name}, 2. * {name}], 1)", (shape[0] * 2, *shape[1:])
    yield f"K.stack([{name}, -{name}], axis=1)", (2, *shape)
    yield f"tf.stack([{name}, {name}], axis=-1)", (*shape, 2)
    yield (
        f"tf.unstack({name}, axis=1)[0]" if rank > 1 else f"tf.stack(tf.unstack({name}, axis=1), 1)",
        shape[rank > 1 :],
    )
    yield f"K.stack([{name}[:, i] for i in range({shape[0]})], axis=1)", shape
    yield f"K.repeat_elements({name}, 2, 1)", (shape[0] * 2, *shape[1:])
    yield f"K.tile({name}, [1{', 1' * (rank - 1)}, 2])", (*shape[:-1], shape[-1] * 2)
    yield f"tf.pad({name}, [[0, 0]{', [1, 0]' * rank}])", tuple(length + 1 for length in shape)
    yield (
        f"{name} * K.tile(K.constant([[{'[' * (rank - 1)}0.5{']' * (rank - 1)}]]), [K.shape({name})[0]{', 1' * rank}])",
        shape,
    )
    yield f"{name} + tf.ones([tf.shape({name})[0]{', 1' * rank}])", shape
    yield f"tf.gather({name}, [0, {shape[-1] - 1}], axis={rank})", (*shape[:-1], 2)
    order = [0, *range(rank, 0, -1)]
    yield f"K.permute_dimensions({name}, {tuple(order)})", tuple(shape[i - 1] for i in order[1:])
    yield f"tf.transpose({name}, {order})", tuple(shape[i - 1] for i in order[1:])
    if shape[-1] % 2 == 0:
        yield f"tf.split({name}, 2, axis=-1)[1]", (*shape[:-1], shape[-1] // 2)
    if shape[-1] > 2:
        yield f"tf.split({name}, [2, {shape[-1] - 2}], {rank})[0]", (*shape[:-1], 2)
        yield f"tf.nn.top_k({name}, 2)[0]", (*shape[:-1], 2)
        yield f"K.one_hot(K.argmax({name} * 1.7), {shape[-1]})", shape
        yield f"K.cast(K.argmin(K.expand_dims({name}, 1) * 1.7, axis=-1), 'float32')", (1, *shape[:-1])
    if rank == 1:
        yield f"K.repeat({name}, 3)", (3, *shape)
        yield f"K.batch_dot({name}, {name}, axes=1)", (1,)
    if rank == 2:
        yield f"K.batch_dot({name}, {name}, axes=[2, 2])", (shape[0], shape[0])
        yield f"K.batch_dot({name}, {name}, axes=(1, 1))", (shape[1], shape[1])
        yield f"tf.matmul({name}, {name}, transpose_b=True)", (shape[0], shape[0])
        yield f"tf.matmul(K.permute_dimensions({name}, [0, 2, 1]), {name})", (shape[1], shape[1])
        yield f"tf.einsum('bij,bkj->bik', {name}, {name})", (shape[0], shape[0])
        yield f"K.temporal_padding({name}, (1, 2))", (shape[0] + 3, shape[1])
        if shape[0] == 1:
            yield f"K.squeeze({name}, 1)", shape[1:]
    if rank == 3:
        yield f"tf.reduce_mean({name}, axis=[1, 2])", shape[2:]
        yield f"K.mean({name}, axis=(1, 2), keepdims=True)", (1, 1, shape[2])
        yield f"K.spatial_2d_padding({name}, ((1, 0), (0, 2)))", (shape[0] + 1, shape[1] + 2, shape[2])
        yield f"K.resize_images({name}, 2, 1, 'channels_last')", (shape[0] * 2, *shape[1:])
        yield f"tf.image.flip_left_right({name})", shape
        yield f"tf.image.flip_up_down({name})", shape
        yield f"tf.nn.lrn({name}, 1, 1.0, 0.5, 0.75)", shape
        yield f"tf.einsum('bijc,bijd->bcd', {name}, {name})", (shape[2], shape[2])
        yield f"tf.nn.moments({name}, [1, 2])[1]", shape[2:]
        if shape[0] % 2 == shape[1] % 2 == 0:
            yield f"tf.space_to_depth({name}, 2)", (shape[0] // 2, shape[1] // 2, shape[2] * 4)
        if shape[2] % 4 == 0:
            yield f"tf.depth_to_space({name}, 2)", (shape[0] * 2, shape[1] * 2, shape[2] // 4)


@st.composite
def _step(draw, known):
    """One more value, of those that are known by name: its text and shape."""
    names = list(known)
    # mostly of the last one, so that they build on each other
    name = draw(st.sampled_from([*names, *names[-1:] * len(names)]))
    shape = known[name]
    kind = draw(st.sampled_from(["same", "same", "jump", "two", "reduced", "cut", "moved", "moved"]))
    if kind == "two":
        others = [other for other in sorted(known) if known[other] == shape]
        text = draw(st.sampled_from(TWO)).replace("{}", name, 1)
        return text.replace("{}", draw(st.sampled_from(others))), shape
    if kind == "jump":
        return draw(st.sampled_from(JUMPS)).replace("@", _ODD.format(name)), shape
    if kind == "reduced":
        return draw(_reduction(name, shape))
    if kind == "cut":
        return draw(_cut(name, shape))
    if kind == "moved":
        return draw(st.sampled_from(list(_moved(name, shape))))
    return draw(st.sampled_from(SAME)).format(name), shape


@st.composite
def compositions(draw, shapes=None):
    """A function of one or two tensors."""
    shapes = shapes or tuple(draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2)))
    known = {f"x{i}": shape for i, shape in enumerate(shapes)}
    lines = ["x0, x1 = t" if len(shapes) == 2 else "x0 = t"]
    for i in range(draw(st.integers(1, 6))):
        text, shape = draw(_step(known))
        if _product(shape) <= MOST_NUMBERS and len(shape) <= 4:
            lines.append(f"v{i} = {text}")
            known[f"v{i}"] = shape
    made = [name for name in known if name.startswith("v")] or ["x0"]
    last = made[-1]
    results = draw(st.sampled_from([last, f"[{last}, {made[0]}]"]))
    lines.append(f"return {results}")
    return Composition("def f(t):\n    " + "\n    ".join(lines) + "\n", tuple(shapes))
