"""What is one template, and what only looks like it.  The graphs are built by hand, the slices' code is real."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unparallel import keras_config, match
from unparallel.errors import AlreadySingleError, NotParallelError
from unparallel.plan import clean_topology, not_parallel

from . import tiny


def parsed(layers, inputs=("x",), outputs=("out",)):
    return keras_config.parse(tiny.TinyModel("m", tuple(layers), inputs, outputs).config())


def found(layers, inputs=("x",), outputs=("out",), **options):
    return match.find(parsed(layers, inputs, outputs), **options)


def reason(layers, inputs=("x",), outputs=("out",)):
    """The first reason why a graph is not parallel; it must not be extracted."""
    cleaned = clean_topology(parsed(layers, inputs, outputs))
    assert cleaned.matches == ()
    with pytest.raises(NotParallelError) as caught:
        raise not_parallel(cleaned)
    return caught.value.message


NET = tiny.TinyModel("net", (tiny.entry("in", 3), tiny.dense("d", "in")), ("in",), ("d",))
X = tiny.entry("x", 3)


def cuts(count, source="x", total=None, name="cut%d"):
    return [tiny.piece(name % i, source, i, total or count) for i in range(count)]


def calls(layer, *inputs):
    """One layer called once for each input: a layer's name, (name, tensor, call), or a tuple of several of these."""
    one = [isinstance(end, str) or isinstance(end[1], int) for end in inputs]
    return layer._replace(inputs=tuple((end,) if single else tuple(end) for end, single in zip(inputs, one)))


def net(*inputs):
    return calls(tiny.nested("net", "x", NET), *inputs)


def test_a_nested_template():
    (one,) = found(
        [X, *cuts(3), net("cut0", "cut1", "cut2"), tiny.merge("out", [("net", 0, i) for i in range(3)])]
    ).matches
    assert one.replicas == 3
    assert [piece.tensor.layer for piece in one.slices] == ["cut0", "cut1", "cut2"]
    assert [merge.call for merge in one.merges] == [("out", 0)]
    assert one.towers == ((("net", 0), ("net", 1), ("net", 2)),)
    assert [key.layer for key in one.sources] == ["x"]


def test_calls_in_another_order_than_the_parts():
    # the second call reads the first part: edges count, not the order of the nodes
    layers = [X, *cuts(2), net("cut1", "cut0"), tiny.merge("out", [("net", 0, 1), ("net", 0, 0)])]
    (one,) = found(layers).matches
    assert one.towers == ((("net", 1), ("net", 0)),)


def test_inlined_towers_with_layers_without_weights_of_their_own():
    layers = [
        X,
        *cuts(2),
        calls(tiny.dense("d", ""), "cut0", "cut1"),
        tiny.activation("relu_a", ("d", 0, 0)),
        tiny.activation("relu_b", ("d", 0, 1)),
        calls(tiny.dense("e", ""), "relu_a", "relu_b"),
        tiny.merge("out", [("e", 0, 0), ("e", 0, 1)]),
    ]
    (one,) = found(layers).matches
    assert set(one.towers) == {(("e", 0), ("e", 1)), (("relu_a", 0), ("relu_b", 0)), (("d", 0), ("d", 1))}


def test_two_wrappers_side_by_side_are_two():
    other = calls(tiny.nested("other", "x", NET._replace(name="other")), "b0", "b1", "b2")
    layers = [
        X,
        tiny.entry("y", 3),
        *cuts(2, name="a%d"),
        *cuts(3, "y", name="b%d"),
        net("a0", "a1"),
        other,
        tiny.merge("out", [("net", 0, 0), ("net", 0, 1)]),
        tiny.merge("more", [("other", 0, i) for i in range(3)]),
    ]
    both = found(layers, ("x", "y"), ("out", "more")).matches
    assert [one.replicas for one in both] == [2, 3]


def start_stop(x, start, stop):  # type: ignore[no-untyped-def]
    return x[start:stop]


def test_uneven_shares_that_meet():
    def piece(name, start, stop):
        layer = tiny.piece(name, "x", 0, 1, start_stop)
        return layer._replace(config=dict(layer.config, arguments={"start": start, "stop": stop}))

    joined = tiny.merge("out", [("net", 0, 0), ("net", 0, 1)])
    (one,) = found([X, piece("a", 0, 5), piece("b", 5, None), net("a", "b"), joined]).matches
    assert one.replicas == 2
    assert found([X, piece("a", 0, 5), piece("b", 6, None), net("a", "b"), joined]).matches == ()


JOINED = tiny.merge("out", [("net", 0, 0), ("net", 0, 1)])
NEAR = {
    "a part twice": (
        [X, tiny.piece("a", "x", 0, 2), tiny.piece("b", "x", 0, 2), net("a", "b"), JOINED],
        "parts 1 and 2 are the same",
    ),
    "parts joined in another order": (
        [X, *cuts(2), net("cut0", "cut1"), tiny.merge("out", [("net", 0, 1), ("net", 0, 0)])],
        "order",
    ),
    "a part missing": ([X, *cuts(2, total=3), net("cut0", "cut1"), JOINED], "end|missing|reach"),
    "the first part missing": (
        [X, tiny.piece("a", "x", 1, 3), tiny.piece("b", "x", 2, 3), net("a", "b"), JOINED],
        "part 1|start|missing",
    ),
    "joined along the features": (
        [X, *cuts(2), net("cut0", "cut1"), tiny.merge("out", [("net", 0, 0), ("net", 0, 1)], axis=-1)],
        "'out' joins them along axis -1, not along the batch",
    ),
    "an input whole in each replica": (
        [
            X,
            *cuts(2),
            calls(tiny.merge("pair", []), ("cut0", "x"), ("cut1", "x")),
            tiny.merge("out", [("pair", 0, 0), ("pair", 0, 1)]),
        ],
        "'x' goes whole into every replica",
    ),
    "an activation in one replica only": (
        [
            X,
            *cuts(2),
            net("cut0", "cut1"),
            tiny.activation("act", ("net", 0, 1)),
            tiny.merge("out", [("net", 0, 0), "act"]),
        ],
        "'net' and 'act'",
    ),
    "other activations": (
        [
            X,
            *cuts(2),
            net("cut0", "cut1"),
            tiny.activation("a", ("net", 0, 0)),
            tiny.activation("b", ("net", 0, 1), "tanh"),
            tiny.merge("out", ["a", "b"]),
        ],
        "'a' and 'b' are not the same",
    ),
    "weights of their own": (
        [X, *cuts(2), tiny.dense("a", "cut0"), tiny.dense("b", "cut1"), tiny.merge("out", ["a", "b"])],
        "'a' and 'b' do not share weights",
    ),
    "one replica reads the other": (
        [
            X,
            *cuts(2),
            net("cut0", "sum"),
            tiny.TinyLayer("sum", "Add", {"name": "sum"}, (("cut1", ("net", 0, 0)),)),
            JOINED,
        ],
        "replicas differ|'cut0' and 'sum'",
    ),
    "a layer reads one part": (
        [X, *cuts(2), net("cut0", "cut1"), JOINED, tiny.dense("spy", "cut1")],
        "'spy' reads a single replica's 'cut1'",
    ),
    "nothing between": ([X, *cuts(2), tiny.merge("out", ["cut0", "cut1"])], "joined again with nothing between"),
    "averaged": (
        [
            X,
            *cuts(2),
            net("cut0", "cut1"),
            tiny.TinyLayer("out", "Average", {"name": "out"}, ((("net", 0, 0), ("net", 0, 1)),)),
        ],
        "averages",
    ),
}


@pytest.mark.parametrize("name", NEAR)
def test_near_miss(name):
    layers, says = NEAR[name]
    outputs = ("out", "spy") if any(layer.name == "spy" for layer in layers) else ("out",)
    assert re.search(says, reason(layers, outputs=outputs)), reason(layers, outputs=outputs)


def test_a_replica_that_is_an_output_of_its_own():
    layers = [X, *cuts(2), net("cut0", "cut1"), JOINED]
    assert "single replica's 'net'" in reason(layers, outputs=("out", ("net", 0, 1)))


def columns(x, part, total):  # type: ignore[no-untyped-def]
    width = K.shape(x)[1] // total  # type: ignore[name-defined]  # noqa: F821
    return x[:, part * width : (part + 1) * width]


def backwards(x, part, total):  # type: ignore[no-untyped-def]
    step = K.shape(x)[0] // total  # type: ignore[name-defined]  # noqa: F821
    return x[part * step : (part + 1) * step][::-1]


@pytest.mark.parametrize("function", [columns, backwards])
def test_code_that_does_something_else_is_seen_and_only_trust_overrides(function):
    pieces = [tiny.piece(f"cut{i}", "x", i, 2, function) for i in range(2)]
    layers = [X, *pieces, net("cut0", "cut1"), JOINED]
    assert f"what it does is not known: function {function.__name__!r}" in reason(layers)
    (one,) = found(layers, trust_slices=True).matches
    assert {piece.proof for piece in one.slices} == {"trusted"}


def test_trust_still_demands_everything_else():
    pieces = [tiny.piece(f"cut{i}", "x", 1 - i, 2, columns) for i in range(2)]
    assert found([X, *pieces, net("cut0", "cut1"), JOINED], trust_slices=True).matches == ()


def test_trust_demands_the_same_shape_beside_the_batch():
    wide = tiny.entry("x", 6)
    pieces = [tiny.piece(f"cut{i}", "x", i, 2, columns) for i in range(2)]
    miss = found([wide, *pieces, net("cut0", "cut1"), JOINED], trust_slices=True)
    assert miss.matches == ()
    assert "'x' has the shape [6], the model 'net' takes [3]" in miss.near_misses[0].reason


def resized(x, part, total):  # type: ignore[no-untyped-def]
    return tf.image.resize(x, (part, total))  # type: ignore[name-defined]  # noqa: F821


def test_two_numbers_alone_are_no_part_of_a_batch():
    """A height and a width, in a model that also joins tensors: there is nothing to undo, and nothing is doubted."""
    alone = tiny.piece("cut", "x", 7, 9, resized)
    mean = tiny.merge("out", ["cut", "d"])._replace(class_name="Average")
    for layers in (
        [X, alone, calls(tiny.dense("out", "x"), "cut")],
        [X, alone, calls(tiny.dense("d", "x"), "cut"), mean],
    ):
        assert clean_topology(parsed(layers)).near_misses == ()
    two = [tiny.piece(f"cut{i}", "x", i, 2, resized) for i in range(2)]
    assert "what it does is not known: function 'resized'" in reason([X, *two, net("cut0", "cut1"), JOINED])


def late(name, function):
    layer = tiny.piece(name, "x", 0, 1, function)
    code, defaults, _ = layer.config["function"]
    return layer._replace(config=dict(layer.config, arguments={}, function=[code, defaults, [4, 8]]))


def from_a_loop():
    start, stop = 4, 8
    return lambda x: x[start:stop]


def test_functions_from_a_loop_all_hold_the_last_part():
    layers = [X, late("a", from_a_loop()), late("b", from_a_loop()), net("a", "b"), JOINED]
    (miss,) = found(layers).near_misses
    assert miss.trust
    assert "all saved with the last part" in miss.reason
    assert len(found(layers, trust_slices=True).matches) == 1


def keras_3(split_config):
    """What Keras 3 writes to .h5: nodes as arguments, operations among the layers, nested calls from 0."""

    def tensor(*history):
        return {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": list(history)}}

    def node(*args):
        return {"args": list(args), "kwargs": {}}

    def entry(name, class_name, nodes, **config):
        return {"class_name": class_name, "config": dict(config, name=name), "name": name, "inbound_nodes": nodes}

    inner = {"name": "net", "layers": [], "input_layers": ["in", 0, 0], "output_layers": ["d", 0, 0]}
    inner["layers"] = [
        entry("in", "InputLayer", [], batch_shape=[None, 3]),
        entry("d", "Dense", [node(tensor("in", 0, 0))], units=3, trainable=True),
    ]
    layers = [
        entry("x", "InputLayer", [], batch_shape=[None, 3]),
        entry("cut", "Split", [node(tensor("x", 0, 0))], **split_config),
        dict(entry("net", "Functional", [node(tensor("cut", 0, 0)), node(tensor("cut", 0, 1))]), config=inner),
        entry("out", "Concatenate", [node([tensor("net", 0, 0), tensor("net", 1, 0)])], axis=0, trainable=True),
    ]
    config = {"name": "m", "layers": layers, "input_layers": ["x", 0, 0], "output_layers": ["out", 0, 0]}
    return keras_config.parse({"class_name": "Functional", "config": config})


def test_an_operation_of_keras_3_cuts_the_batch():
    (one,) = match.find(keras_3({"indices_or_sections": 2, "axis": 0})).matches
    assert [(piece.tensor, piece.part) for piece in one.slices] == [(("cut", 0, 0), 0), (("cut", 0, 1), 1)]


@pytest.mark.parametrize(
    "config",
    [
        {"indices_or_sections": 2, "axis": 1},
        {"indices_or_sections": 3, "axis": 0},
        # a layer of the user's that happens to bear that name: all layers have these two keys
        {"indices_or_sections": 2, "axis": 0, "trainable": True, "dtype": "float32"},
    ],
)
def test_what_is_no_cut_of_the_batch_in_keras_3(config):
    assert match.find(keras_3(config)).matches == ()


# -- at random

MUTATIONS = [
    "swap parts",
    "repeat part",
    "wrong total",
    "drop merge input",
    "own layer",
    "uncut",
    "axis",
    "reorder merge",
]


@st.composite
def broken(draw):
    """A wrapper with one thing wrong, so that cutting it would change what it computes."""
    count, depth = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    parts, total, axis = list(range(count)), count, 0
    ends = [("l%s" % (depth - 1), 0, i) for i in range(count)]
    what, one = draw(st.sampled_from(MUTATIONS)), draw(st.integers(0, count - 1))
    other = (one + draw(st.integers(1, count - 1))) % count
    sources = [f"cut{i}" for i in range(count)]
    if what == "swap parts":
        parts[one], parts[other] = parts[other], parts[one]
    elif what == "repeat part":
        parts[one] = parts[other]
    elif what == "wrong total":
        total += draw(st.integers(1, 3))
    elif what == "drop merge input":
        ends = ends[:one] + ends[one + 1 :] if count > 2 else ends + ends[:1]
    elif what == "own layer":
        ends[one] = "odd"
    elif what == "uncut":
        sources[one] = "x"
    elif what == "axis":
        axis = draw(st.sampled_from([-1, 1]))
    else:
        ends[one], ends[other] = ends[other], ends[one]
    layers = [X] + [tiny.piece(f"cut{i}", "x", part, total) for i, part in enumerate(parts)]
    for i in range(depth):
        inputs = sources if i == 0 else [("l%s" % (i - 1), 0, k) for k in range(count)]
        layers.append(calls(tiny.dense(f"l{i}", ""), *inputs))
    if what == "own layer":
        layers.append(tiny.dense("odd", sources[one] if depth == 1 else ("l%s" % (depth - 2), 0, one)))
    return layers + [tiny.merge("out", ends, axis)]


@given(layers=broken())
def test_no_broken_wrapper_is_ever_extracted(layers):
    cleaned = clean_topology(parsed(layers))
    assert cleaned.matches == ()
    assert cleaned.near_misses


@st.composite
def single(draw):
    """Any model without a slice: shared layers, models called twice, concatenations along the batch."""
    layers, ends = [X], ["x"]
    for i in range(draw(st.integers(1, 8))):
        name, kind = f"l{i}", draw(st.sampled_from(["dense", "act", "model", "merge", "twice"]))
        before = draw(st.sampled_from(ends))
        if kind == "dense":
            layers.append(tiny.dense(name, before))
        elif kind == "act":
            layers.append(tiny.activation(name, before))
        elif kind == "model":
            layers.append(tiny.nested(name, before, NET._replace(name=name)))
        elif kind == "merge":
            axis = draw(st.sampled_from([0, 1, -1]))
            layers.append(tiny.merge(name, draw(st.lists(st.sampled_from(ends), min_size=2, max_size=4)), axis))
        else:
            layers.append(calls(tiny.dense(name, ""), before, draw(st.sampled_from(ends))))
            ends.append((name, 0, 1))
        ends.append(name)
    return layers, ends[-1]


@given(model=single())
def test_no_single_model_is_ever_extracted(model):
    layers, end = model
    cleaned = clean_topology(parsed(layers, outputs=(end,)))
    assert cleaned.matches == ()
    with pytest.raises(AlreadySingleError):
        raise not_parallel(cleaned)
