"""Models, each built through `parallel`: the wrapper, or a function that leaves the model as it is."""

from .stack import NAMES_OUTPUTS, keras, unwrapped

layers = keras.layers


class Built:
    """A model, the parts of it that own weights, and what to hand to `compile`."""

    def __init__(self, model, parts, **compile_arguments):
        self.model = model
        self.parts = parts
        self.compile_arguments = compile_arguments


def by_output(wrapped, **values):
    """Settings by the names of the outputs, which are the merges' in a wrapper of Keras 2.0.9."""
    if wrapped and not NAMES_OUTPUTS:
        merges = {"price": "concatenate_1", "kind": "concatenate_2"}
        return {merges[name]: value for name, value in values.items()}
    return values


def offers(parallel):
    """Two inputs, two outputs, losses, weights and metrics by the outputs' names."""
    words, meta = layers.Input((5,), name="words"), layers.Input((3,), name="meta")
    trunk = layers.Concatenate(name="join")([layers.Dense(4, activation="tanh", name="encode")(words), meta])
    price = layers.Dense(1, name="price")(trunk)
    kind = layers.Dense(3, activation="softmax", name="kind")(trunk)
    template = keras.models.Model([words, meta], [price, kind], name="offers")
    wrapped = parallel is not unwrapped
    return Built(
        parallel(template, 3),
        [template],
        optimizer="rmsprop",
        loss=by_output(wrapped, price="mse", kind="categorical_crossentropy"),
        loss_weights=by_output(wrapped, price=0.5, kind=2.0),
        metrics=by_output(wrapped, kind="accuracy"),
    )


def line(parallel):
    """A Sequential."""
    template = keras.models.Sequential(
        [layers.Dense(4, input_shape=(5,), activation="relu", name="wide"), layers.Dense(2, name="narrow")],
        name="line",
    )
    return Built(parallel(template, 2), [template], optimizer=keras.optimizers.SGD(0.05, momentum=0.9), loss="mae")


def digits(parallel):
    """A convolution that is frozen, one that is not, and a model inside."""
    part = layers.Input((4,), name="part")
    encoder = keras.models.Model(part, layers.Dense(3, activation="relu", name="squeeze")(part), name="encoder")
    image = layers.Input((6, 6, 2), name="image")
    x = layers.Conv2D(3, 3, activation="relu", name="stem", trainable=False)(image)
    x = layers.Conv2D(4, 2, name="body")(x)
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    template = keras.models.Model(image, layers.Dense(2, name="label")(encoder(x)), name="digits")
    return Built(parallel(template, 2), [template], optimizer="adam", loss="mse", metrics=["mae"])


def around(parallel):
    """The parallel model is a layer of a larger one."""
    inner = layers.Input((4,), name="inner")
    template = keras.models.Model(inner, layers.Dense(3, activation="relu", name="work")(inner), name="core")
    outside = layers.Input((4,), name="outside")
    before, after = layers.Dense(4, name="before"), layers.Dense(1, name="after")
    model = keras.models.Model(outside, after(parallel(template, 2)(before(outside))), name="whole")
    return Built(model, [before, template, after], optimizer="adam", loss="mse")


def head(parallel):
    """A Dense straight after the merge, in the same graph as the slices."""
    inner = layers.Input((4,), name="inner")
    template = keras.models.Model(inner, layers.Dense(3, activation="relu", name="work")(inner), name="core")
    joined = parallel(template, 2)
    features = template(inner) if joined is template else joined.outputs[0]
    top = layers.Dense(1, name="top")
    return Built(keras.models.Model(inner, top(features), name="whole"), [template, top], optimizer="adam", loss="mse")


def _rows(x, part, total):
    step = keras.backend.shape(x)[0] // total
    return x[part * step :] if part == total - 1 else x[part * step : (part + 1) * step]


def inlined(parallel, relus=("act", "act")):
    """The template's layers themselves stand in the towers."""
    source = layers.Input((4,), name="source")
    one, two = layers.Dense(5, name="one"), layers.Dense(2, name="two")
    made = {name: layers.Activation("relu", name=name) for name in relus}
    if parallel is unwrapped:
        joined = two(made[relus[0]](one(source)))
    else:
        parts = [
            layers.Lambda(_rows, output_shape=(4,), arguments={"part": part, "total": 2})(source) for part in range(2)
        ]
        towers = [two(made[name](one(part))) for name, part in zip(relus, parts)]
        joined = layers.Concatenate(axis=0, name="joined")(towers)
    return Built(keras.models.Model(source, joined, name="flat"), [one, two], optimizer="adam", loss="mse")


def copies(parallel):
    """The same, with an Activation of its own in each tower."""
    return inlined(parallel, ("act_1", "act_2"))


def chained(parallel):
    """The parallel model is the first layer of a Sequential."""
    inner = layers.Input((4,), name="inner")
    template = keras.models.Model(inner, layers.Dense(3, activation="relu", name="work")(inner), name="core")
    top = layers.Dense(1, name="top")
    model = keras.models.Sequential([parallel(template, 2), top], name="chain")
    return Built(model, [template, top], optimizer="adam", loss="mse")


def twins(parallel):
    """No data parallelism: one encoder over the two sides of a pair."""
    side = layers.Input((4,), name="side")
    encoder = keras.models.Model(side, layers.Dense(3, name="code")(side), name="encoder")
    pair = layers.Input((2, 4), name="pair")
    codes = [
        encoder(layers.Lambda(lambda x, i, parts: x[:, i], output_shape=(4,), arguments={"i": i, "parts": 2})(pair))
        for i in range(2)
    ]
    same = layers.Dense(1, name="same")(layers.Concatenate(axis=-1, name="codes")(codes))
    return Built(keras.models.Model(pair, same, name="twins"), [], optimizer="adam", loss="mse")


def single_terms(parallel, optimizer):
    """Every sum in a step has one term that is not zero, where the rows are one-hot: no order of adding matters."""
    left, right = layers.Input((8,), name="left"), layers.Input((8,), name="right")
    a = layers.Dense(3, use_bias=False, name="a")(left)
    b = layers.Dense(2, use_bias=False, name="b")(right)
    template = keras.models.Model([left, right], [a, b], name="terms")
    return Built(parallel(template, 2), [template], optimizer=optimizer, loss="mse")
