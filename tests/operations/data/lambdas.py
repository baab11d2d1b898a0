"""About a hundred Lambdas as they are written, in syntax that every Python from 2.7 on knows.

A case is a name, the shapes of the inputs ("8", "4 4 3", "8, 8"; the batch comes before them; "int" for whole numbers),
and what `Lambda` was given: a lambda, or a function's text.  `make_lambdas.py` compiles them.
"""

TEXT = """
scale | 8 | lambda x: x / 127.5 - 1.
scale_by_whole_numbers | 8 | lambda x: x * 2 + 1 - 3
scale_left | 8 | lambda x: 1. - 0.5 * x
power | 8 | lambda x: x ** 2 + 2. ** x
negative | 8 | lambda x: -x
floor_and_rest | 8 | lambda x: x // 0.5 + x % 0.5
mean_and_std | 4 4 3 | lambda x: (x - [103.939, 116.779, 123.68]) / [0.229, 0.224, 0.225]
default_scale | 8 | lambda x, scale=0.17: x * scale
closure_scale | 8 | (lambda scale, shift: lambda x: x * scale + shift)(0.25, 3)
identity | 8 | lambda x: x
picks_one | 8, 4 | lambda args: args[1]
two_outputs | 8, 8 | lambda args: [args[0] + args[1], args[0] - args[1]]
difference | 8, 8 | lambda t: K.abs(t[0] - t[1])
residual | 8, 8 | lambda inputs, scale=0.1: inputs[0] + inputs[1] * scale
product | 8, 8 | lambda x: x[0] * x[1]
three_way | 8, 8, 8 | lambda t: K.maximum(t[0], t[1]) - t[2]
expand | 8 | lambda x: K.expand_dims(x)
expand_first | 8 | lambda x: K.expand_dims(x, axis=1)
squeeze | 1 8 | lambda x: K.squeeze(x, 1)
squeeze_all | 1 8 1 | lambda x: tf.squeeze(x, axis=[1, 3])
reshape | 4 6 | lambda x: K.reshape(x, (-1, 24))
reshape_with_shape | 4 6 | lambda x: tf.reshape(x, [tf.shape(x)[0], 3, -1])
flat | 4 6 | lambda x: K.batch_flatten(x)
permute | 4 6 | lambda x: K.permute_dimensions(x, (0, 2, 1))
transpose | 4 6 2 | lambda x: tf.transpose(x, [0, 3, 1, 2])
last_step | 5 8 | lambda x: x[:, -1, :]
first_step | 5 8 | lambda x: x[:, 0]
one_channel | 4 4 3 | lambda x: x[:, :, :, 1:2]
backwards_channels | 4 4 3 | lambda x: x[..., ::-1]
every_other | 6 8 | lambda x: x[:, ::2]
new_axis | 8 | lambda x: x[:, None, :]
crop | 6 6 2 | lambda x: x[:, 1:-1, 1:-1, :]
slice_function | 6 8 | lambda x: K.slice(x, [0, 1, 0], [-1, 3, -1])
tf_slice | 6 8 | lambda x: tf.slice(x, [0, 0, 2], [-1, 6, 4])
mean | 5 8 | lambda x: K.mean(x, axis=1)
mean_of_all_axes | 4 4 3 | lambda x: K.mean(x, axis=[1, 2], keepdims=True)
sum_last | 5 8 | lambda x: K.sum(x, axis=-1)
max_of_time | 5 8 | lambda x: tf.reduce_max(x, axis=1)
min_and_max | 5 8 | lambda x: (x - K.min(x, axis=1, keepdims=True)) / (K.max(x, axis=1, keepdims=True) + K.epsilon())
logsumexp | 5 8 | lambda x: tf.reduce_logsumexp(x, axis=2)
variance | 5 8 | lambda x: K.var(x, axis=-1, keepdims=True)
standardized | 5 8 | lambda x: (x - K.mean(x, axis=-1, keepdims=True)) / (K.std(x, axis=-1, keepdims=True) + 1e-5)
normalize | 8 | lambda x: K.l2_normalize(x, axis=1)
tf_normalize | 8 | lambda x: tf.nn.l2_normalize(x, -1, epsilon=1e-10)
norm | 5 8 | lambda x: tf.norm(x, axis=-1)
root | 8 | lambda x: K.sqrt(K.sum(K.square(x), axis=-1, keepdims=True))
clip | 8 | lambda x: K.clip(x, -0.5, 0.5)
tf_clip | 8 | lambda x: tf.clip_by_value(x, 0.0, 1.0)
relu | 8 | lambda x: K.relu(x, alpha=0.1, max_value=1.)
leaky | 8 | lambda x: tf.nn.leaky_relu(x)
elu | 8 | lambda x: K.elu(x, 0.5)
hard_sigmoid | 8 | lambda x: K.hard_sigmoid(x)
softmax | 5 8 | lambda x: K.softmax(x)
softmax_of_time | 5 8 | lambda x: tf.nn.softmax(x, axis=1)
mish | 8 | lambda x: x * K.tanh(K.softplus(x))
gelu | 8 | lambda x: 0.5 * x * (1 + K.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
swish | 8 | lambda x: x * K.sigmoid(1.5 * x)
log | 8 | lambda x: K.log(K.abs(x) + K.epsilon())
exp | 8 | lambda x: K.exp(-x / 2)
angles | 8 | lambda x: K.concatenate([K.sin(x), K.cos(x)])
rounded | 8 | lambda x: K.round(x * 3)
signed_root | 8 | lambda x: K.sign(x) * K.sqrt(K.abs(x) + 1e-9)
compare | 8 | lambda x: K.cast(K.greater(x, 0.), 'float32')
compare_operator | 8 | lambda x: tf.cast(x > 0.25, tf.float32)
inverted | 8 | lambda x: tf.cast(~(x > 0.25), tf.float32)
both_conditions | 8, 8 | lambda t: tf.cast((t[0] > 0) & (t[1] < 0), tf.float32)
masked | 5 8, 5 | lambda t: t[0] * K.expand_dims(t[1], -1)
mask_of_ids | int 6 | lambda x: K.cast(K.not_equal(x, 0), K.floatx())
one_hot | int 6 | lambda x: K.one_hot(K.cast(x, 'int32'), 9)
argmax | 5 8 | lambda x: K.cast(K.argmax(x, axis=-1), 'float32')
where | 8 | lambda x: tf.where(x > 0, x, x * 0.25)
switch | 8 | lambda x: K.switch(x > 0, lambda: x, lambda: K.exp(x) - 1.)
concatenate | 8, 4 | lambda t: K.concatenate(t, axis=-1)
stack | 8, 8 | lambda t: K.stack(t, axis=1)
concat | 5 8, 5 4 | lambda t: tf.concat(t, axis=2)
split | 9 | lambda x: tf.split(x, 3, axis=1)
split_sizes | 9 | lambda x: tf.split(x, [2, 7], 1)[1]
unstack | 3 8 | lambda x: tf.unstack(x, axis=1)
repeat | 8 | lambda x: K.repeat(x, 3)
repeat_elements | 4 6 | lambda x: K.repeat_elements(x, 2, 1)
tile | 1 8 | lambda x: K.tile(x, [1, 3, 1])
pad | 4 4 2 | lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]])
reflect | 4 4 2 | lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT')
pad_time | 5 8 | lambda x: K.temporal_padding(x, (2, 1))
reverse | 5 8 | lambda x: K.reverse(x, 1)
flip | 4 4 2 | lambda x: tf.image.flip_left_right(x)
upsample | 3 3 2 | lambda x: K.resize_images(x, 2, 2, 'channels_last')
pixel_shuffle | 3 3 8 | lambda x: tf.depth_to_space(x, 2)
to_blocks | 4 4 2 | lambda x: tf.space_to_depth(x, 2)
grey | 4 4 3 | lambda x: K.sum(x * K.constant([0.299, 0.587, 0.114]), axis=-1, keepdims=True)
gram | 4 4 3 | lambda x: tf.einsum('bijc,bijd->bcd', x, x) / 16.
dot_products | 5 8, 5 8 | lambda t: K.batch_dot(t[0], t[1], axes=[2, 2])
attention | 5 8, 5 | lambda t: K.batch_dot(t[1], t[0], axes=(1, 1))
matmul | 4 6, 6 3 | lambda t: tf.matmul(t[0], t[1])
scaled_scores | 5 8, 5 8 | lambda t: tf.matmul(t[0], t[1], transpose_b=True) / np.sqrt(8.)
cumulated | 5 8 | lambda x: K.cumsum(x, axis=1)
neighbours | 5 5 3 | lambda x: tf.nn.lrn(x, 1, 1.0, 0.0001, 0.75)
by_shape | 4 6 | lambda x: x / K.int_shape(x)[1] + len(K.int_shape(x))
by_static_shape | 4 6 | lambda x: K.reshape(x, (-1,) + K.int_shape(x)[1:] + (1,))
half | 9 | lambda x: x[:, :K.int_shape(x)[-1] // 2]
ones | 8 | lambda x: K.ones_like(x) - x
gathered | 5 8 | lambda x: tf.gather(x, [0, 3, 3], axis=1)
"""

FUNCTIONS = {
    "euclidean": (
        "8, 8",
        """
def f(vects):
    x, y = vects
    sum_square = K.sum(K.square(x - y), axis=1, keepdims=True)
    return K.sqrt(K.maximum(sum_square, K.epsilon()))
""",
    ),
    "squash": (
        "6 4",
        """
def f(vectors, axis=-1):
    s_squared_norm = K.sum(K.square(vectors), axis, keepdims=True)
    scale = s_squared_norm / (1 + s_squared_norm) / K.sqrt(s_squared_norm + K.epsilon())
    return scale * vectors
""",
    ),
    "channel_shuffle": (
        "4 4 6",
        """
def f(x, groups=3):
    height, width, channels = K.int_shape(x)[1:]
    x = K.reshape(x, [-1, height, width, groups, channels // groups])
    x = K.permute_dimensions(x, (0, 1, 2, 4, 3))
    return K.reshape(x, [-1, height, width, channels])
""",
    ),
    "loop": (
        "9",
        """
def f(x):
    parts = []
    for i in range(3):
        parts.append(x[:, i * 3:(i + 1) * 3])
    parts += [parts[0] * 2.]
    return K.concatenate(parts, axis=-1)
""",
    ),
    "comprehension": ("9", "def f(x):\n    return K.stack([x[:, i] for i in range(9) if i % 2], axis=1)\n"),
    "sum_of_generator": ("5 8", "def f(x):\n    return sum(x[:, i] * (i + 1.) for i in range(5))\n"),
    "helpers": (
        "8, 8",
        """
def f(t, p=2):
    def distance(a, b, *more, **options):
        return K.pow(K.abs(a - b), options.get('p', 1) + len(more))
    return distance(*t, **{'p': p})
""",
    ),
    "box_decoding": (
        "4 4 10",
        """
def f(feats):
    anchors = [(10., 13.), (16., 30.)]
    grid = 4
    columns = K.reshape(K.constant([float(i % grid) for i in range(grid * grid)]), (1, grid, grid, 1))
    rows = K.reshape(K.constant([float(i // grid) for i in range(grid * grid)]), (1, grid, grid, 1))
    boxes = []
    for k, (width, height) in enumerate(anchors):
        one = feats[..., k * 5:(k + 1) * 5]
        x = (K.sigmoid(one[..., 0:1]) + columns) / grid
        y = (K.sigmoid(one[..., 1:2]) + rows) / grid
        size = K.exp(one[..., 2:4]) * [width / 416., height / 416.]
        boxes.append(K.concatenate([x, y, size, K.sigmoid(one[..., 4:5])], axis=-1))
    return K.stack(boxes, axis=3)
""",
    ),
    "spatial_softmax": (
        "4 4 3",
        """
def f(x):
    height, width, channels = K.int_shape(x)[1:]
    flat = K.reshape(K.permute_dimensions(x, (0, 3, 1, 2)), (-1, channels, height * width))
    weights = K.softmax(flat)
    places = np.linspace(-1., 1., 4)
    columns = K.constant([places[i % 4] for i in range(16)])
    rows = K.constant([places[i // 4] for i in range(16)])
    return K.concatenate([K.sum(weights * columns, axis=-1), K.sum(weights * rows, axis=-1)], axis=-1)
""",
    ),
    "checked": (
        "4 4 3",
        """
def f(x, scale=2):
    assert K.ndim(x) == 4, 'images, not %s' % (K.int_shape(x),)
    if K.int_shape(x)[-1] not in (1, 3):
        raise ValueError('channels: {}'.format(K.int_shape(x)[-1]))
    settings = {'scale': scale, 'shift': 0.5}
    return x * settings['scale'] + settings.get('shift', 0.) + settings.get('more', 1.)
""",
    ),
    "in_a_scope": (
        "8",
        """
def f(x):
    with tf.name_scope('scaled'):
        y = tf.multiply(x, 3.0, name='times_%d' % 3)
    return y
""",
    ),
    "moments": (
        "4 4 3",
        """
def f(x):
    mean, variance = tf.nn.moments(x, [1, 2])
    return tf.concat([mean, tf.sqrt(variance + 1e-8)], axis=-1)
""",
    ),
    "triplet": (
        "8, 8, 8",
        """
def f(x, alpha=0.2):
    anchor, positive, negative = x
    near = K.sum(K.square(anchor - positive), axis=-1, keepdims=True)
    far = K.sum(K.square(anchor - negative), axis=-1, keepdims=True)
    return K.maximum(near - far + alpha, 0.)
""",
    ),
    "generalized_mean": (
        "4 4 3",
        """
def f(x, p=3.0):
    return K.pow(K.mean(K.pow(K.maximum(x, 1e-6), p), axis=[1, 2]), 1. / p)
""",
    ),
}


def cases():
    """(name, shapes, source of one expression or function) of each case."""
    found = []
    for line in TEXT.strip().split("\n"):
        name, shapes, source = line.split(" | ", 2)
        found.append((name, shapes, source))
    for name in sorted(FUNCTIONS):
        found.append((name,) + FUNCTIONS[name])
    return found


def function_of(source, space):
    """The function that a source stands for, compiled by the Python that runs this."""
    if source.lstrip().startswith("def "):
        made = dict(space)
        exec(compile(source, "lambdas.py", "exec", 0, True), made)
        return made["f"]
    return eval(compile(source, "lambdas.py", "eval", 0, True), space)
