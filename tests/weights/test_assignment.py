"""Dealing a flat list of weights out to layers: by an architecture, and by names alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unparallel.errors import AmbiguousWeightsError, NeedsArchitectureError, UnparallelError, WeightsError
from unparallel.model import Layer, LayerWeights, Topology, WeightRef
from unparallel.weights.assignment import expected_weights, is_weightless, split, split_by_names

# -- small models by hand ---------------------------------------------------------------------------------


def layer(name, class_name, **config):
    return Layer(name, class_name, dict(config, name=name))


def dense(name, units=4, **config):
    return layer(name, "Dense", units=units, **config)


def conv(name, filters=4, size=3, **config):
    return layer(name, "Conv2D", filters=filters, kernel_size=[size, size], **config)


def bn(name, **config):
    return layer(name, "BatchNormalization", axis=-1, **config)


def odd(name, **config):
    return layer(name, "OddScale", **config)


def topology(*layers):
    return Topology("net", "Model", tuple(layers), (), ())


def model(name, *layers):
    return Layer(name, "Model", {}, (), topology(*layers))


def ref(name, *shape):
    return WeightRef(name, "/g/" + name, shape, "float32")


def refs(text):
    """Weights from "c/kernel:3,3,2,4 c/bias:4"."""
    found = []
    for word in text.split():
        name, _, shape = word.partition(":")
        found.append(ref(name + ":0", *(int(length) for length in shape.split(",") if length)))
    return found


def dealt(topology_, weights):
    return {group.layer: " ".join(weight.name[:-2] for weight in group.weights) for group in split(topology_, weights)}


def by_names(weights, *args):
    groups = split_by_names(weights, *args)
    return [(group.layer, " ".join(weight.name[:-2] for weight in group.weights)) for group in groups]


def norm_weights(name, length):
    first, second = ("gamma", "beta"), ("moving_mean", "moving_variance")
    return [[ref(f"{name}/{role}:0", length) for role in half] for half in (first, second)]


KERNELS = "d1/kernel:4,4 d1/bias:4 d2/kernel:4,4 d2/bias:4"


# -- the rule ---------------------------------------------------------------------------------------------


def test_trainable_first_then_the_rest_with_a_frozen_layer():
    net = topology(conv("c1", 4, trainable=False), bn("b1"), conv("c2", 5), bn("b2"), dense("out", 3))
    weights = refs(
        "b1/gamma:4 b1/beta:4 c2/kernel:3,3,4,5 c2/bias:5 b2/gamma:5 b2/beta:5 out/kernel:5,3 out/bias:3"
        " c1/kernel:3,3,2,4 c1/bias:4 b1/moving_mean:4 b1/moving_variance:4 b2/moving_mean:5 b2/moving_variance:5"
    )
    assert dealt(net, weights) == {
        "c1": "c1/kernel c1/bias",
        "b1": "b1/gamma b1/beta b1/moving_mean b1/moving_variance",
        "c2": "c2/kernel c2/bias",
        "b2": "b2/gamma b2/beta b2/moving_mean b2/moving_variance",
        "out": "out/kernel out/bias",
    }


def test_layers_without_weights_are_there_in_their_place():
    net = topology(layer("x", "InputLayer"), dense("d1"), layer("act", "Activation"), dense("d2"))
    groups = split(net, refs(KERNELS))
    assert [group.layer for group in groups] == ["x", "d1", "act", "d2"]
    assert groups[2] == LayerWeights("act", ())


INNER = model("inner", bn("b"), dense("d", use_bias=False))
OUTER = topology(dense("first", use_bias=False), INNER, dense("last", use_bias=False))


@pytest.mark.parametrize(
    ("weights", "inner"),
    [
        (
            "first/kernel:4,4 b/gamma:4 b/beta:4 d/kernel:4,4 last/kernel:4,4 b/moving_mean:4 b/moving_variance:4",
            "b/gamma b/beta d/kernel b/moving_mean b/moving_variance",
        ),
        (  # frozen, and no flag says so: trainable ones of the inner model first
            "first/kernel:4,4 last/kernel:4,4 b/gamma:4 b/beta:4 d/kernel:4,4 b/moving_mean:4 b/moving_variance:4",
            "b/gamma b/beta d/kernel b/moving_mean b/moving_variance",
        ),
    ],
)
def test_inner_model_keeps_its_own_flat_list_frozen_or_not(weights, inner):
    assert dealt(OUTER, refs(weights)) == {"first": "first/kernel", "inner": inner, "last": "last/kernel"}


def test_frozen_inner_model_of_tf_keras_lists_layer_by_layer():
    inner = model("inner", bn("b", trainable=False), dense("d", use_bias=False, trainable=False))
    weights = "out/kernel:4,4 out/bias:4 b/gamma:4 b/beta:4 b/moving_mean:4 b/moving_variance:4 d/kernel:4,4"
    assert dealt(topology(inner, dense("out")), refs(weights)) == {
        "inner": "b/gamma b/beta b/moving_mean b/moving_variance d/kernel",
        "out": "out/kernel out/bias",
    }


def test_models_at_any_depth():
    deep = model("m1", model("m2", model("m3", dense("d1")), bn("b")), dense("d2"))
    weights = KERNELS.replace("d2/k", "b/gamma:4 b/beta:4 d2/k") + " b/moving_mean:4 b/moving_variance:4"
    flat = "d1/kernel d1/bias b/gamma b/beta d2/kernel d2/bias b/moving_mean b/moving_variance"
    assert dealt(topology(deep), refs(weights)) == {"m1": flat}
    assert dealt(deep.submodel, refs(weights)) == {
        "m2": "d1/kernel d1/bias b/gamma b/beta b/moving_mean b/moving_variance",
        "d2": "d2/kernel d2/bias",
    }


# -- names do not identify a layer, and do not lie --------------------------------------------------------


def test_copies_with_suffixes_are_dealt_by_place():
    net = topology(dense("d"), dense("d_1"))
    weights = refs("d_1/kernel:4,4 d_1/bias:4 d_1_1/kernel:4,4 d_1_1/bias:4")
    assert dealt(net, weights) == {"d": "d_1/kernel d_1/bias", "d_1": "d_1_1/kernel d_1_1/bias"}


def test_scopes_bare_names_and_automatic_names_counted_anew():
    assert dealt(topology(dense("d1")), refs("tower/d1/kernel:4,4 tower/d1/bias:4"))["d1"]
    assert dealt(topology(dense("d1"), odd("gain"), dense("d2")), refs(KERNELS.replace(" d2/k", " gain:4 d2/k"))) == {
        "d1": "d1/kernel d1/bias",
        "gain": "gain",
        "d2": "d2/kernel d2/bias",
    }
    early = refs("dense/kernel:4,4 dense/bias:4 dense_1/kernel:4,4 dense_1/bias:4")
    assert dealt(topology(dense("dense_1"), dense("dense_2")), early)["dense_2"] == "dense_1/kernel dense_1/bias"


def test_keras_1_names():
    net = topology(dense("dense_1", init="uniform"), layer("bn_1", "BatchNormalization", mode=0))
    weights = refs("dense_1_W:4,4 dense_1_b:4 bn_1_gamma:4 bn_1_beta:4 bn_1_running_mean:4 bn_1_running_std:4")
    assert dealt(net, weights)["bn_1"] == "bn_1_gamma bn_1_beta bn_1_running_mean bn_1_running_std"


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ("d2/kernel:4,4 d1/bias:4 d1/kernel:4,4 d2/bias:4", r"layer 'd1' needs bias.* d1/bias:0 .*named d2/"),
        ("d1/bias:4 d1/kernel:4,4 d2/kernel:4,4 d2/bias:4", "layer 'd1' needs kernel .*says bias"),
        ("d1/kernel:4,4 d2/kernel:4,4 d2/bias:4", r"layer 'd1' needs bias of shape \(4,\).* d2/kernel:0 \(4, 4\)"),
        ("d1/kernel:4,4 d1/bias:4 d2/kernel:4,4", r"layer 'd2' lacks bias of shape \(4,\)"),
        (KERNELS + " d3/kernel:4,4", r"no layer is left for d3/kernel:0 \(4, 4\)"),
        (KERNELS.replace("d2/kernel", "extra/kernel:4,4 d2/kernel"), r"'d2' needs bias.* d2/kernel:0 \(4, 4\)"),
        (KERNELS.replace("d1/bias:4", "d1/bias:5"), r"'d1' needs bias of shape \(4,\), .* d1/bias:0 \(5,\)"),
    ],
)
def test_contradictions_name_layer_weight_and_shapes(weights, says):
    with pytest.raises(WeightsError, match=says) as caught:
        split(topology(dense("d1"), dense("d2")), refs(weights))
    assert caught.value.hint


def test_automatic_names_in_another_order_are_refused():
    net = topology(dense("dense_1"), dense("dense_2"))
    weights = refs("dense_12/kernel:4,4 dense_12/bias:4 dense_11/kernel:4,4 dense_11/bias:4")
    with pytest.raises(WeightsError, match="another order"):
        split(net, weights)


def test_equal_lengths_within_a_layer_are_checked():
    net = topology(bn("b"))
    with pytest.raises(WeightsError, match=r"'b' needs moving_mean of shape \(4,\).*\(5,\)"):
        split(net, refs("b/gamma:4 b/beta:4 b/moving_mean:5 b/moving_variance:4"))


def test_two_readings_are_refused_by_name():
    twins = topology(model("left", dense("d")), model("right", dense("d")))
    weights = refs("d/kernel:4,4 d/bias:4 d_1/kernel:4,4 d_1/bias:4")
    with pytest.raises(AmbiguousWeightsError, match="'left', 'right'") as caught:
        split(twins, weights)
    assert caught.value.hint


def test_flag_that_may_have_frozen_nothing_is_read_both_ways():
    net = topology(layer("lstm", "LSTM", units=3, trainable=False), dense("out"))
    lstm, out = "lstm/kernel:4,12 lstm/recurrent_kernel:3,12 lstm/bias:12", "out/kernel:3,4 out/bias:4"
    for weights in (lstm + " " + out, out + " " + lstm):
        assert dealt(net, refs(weights))["lstm"] == "lstm/kernel lstm/recurrent_kernel lstm/bias"
    with pytest.raises(WeightsError):
        split(net, refs(lstm + " " + out), tf_keras=True, same_save=True)


def test_error_of_other_counts_says_both():
    with pytest.raises(WeightsError, match="the file has 3 weights, the layers need 4"):
        split(topology(dense("d1"), model("m", dense("d2"))), refs("d1/kernel:4,4 d2/kernel:4,4 d2/bias:4"))


def test_two_readings_are_told_apart_by_shapes():
    twins = topology(model("left", dense("d", 3)), model("right", dense("d", 4)))
    weights = refs("d_1/kernel:3,4 d_1/bias:4 d/kernel:4,3 d/bias:3")
    assert dealt(twins, weights) == {"left": "d/kernel d/bias", "right": "d_1/kernel d_1/bias"}


# -- classes outside the table ----------------------------------------------------------------------------


def test_unknown_classes_get_what_bears_their_names():
    net = topology(odd("odd"), layer("act", "Activation"), odd("odd.2"), odd("nothing"))
    weights = refs(
        "odd/my.kernel-2:6,4 odd/deep/er/offset:4 odd.2/my.kernel-2:4,2 odd.2/deep/er/offset:2 odd/seen:4 odd.2/seen:2"
    )
    assert dealt(net, weights) == {
        "odd": "odd/my.kernel-2 odd/deep/er/offset odd/seen",
        "act": "",
        "odd.2": "odd.2/my.kernel-2 odd.2/deep/er/offset odd.2/seen",
        "nothing": "",
    }


def test_unknown_class_in_a_frozen_inner_model():
    net = topology(model("inner", odd("odd"), dense("d1")), dense("d2"))
    weights = refs("d2/kernel:4,4 d2/bias:4 odd/gain:4 d1/kernel:4,4 d1/bias:4 odd/seen:4")
    assert dealt(net, weights) == {"inner": "odd/gain d1/kernel d1/bias odd/seen", "d2": "d2/kernel d2/bias"}


def test_unknown_neighbours_with_bare_names_are_ambiguous():
    with pytest.raises(AmbiguousWeightsError, match="'one', 'two'"):
        split(topology(odd("one"), odd("two", of="another kind")), refs("gain:4 gain_1:4"))


@pytest.mark.parametrize(
    ("layers", "weights", "wanted"),
    [
        # in a row; of two roles each; with weights that never train
        ([odd("one"), odd("two")], "gain:4 gain_1:4", {"one": "gain", "two": "gain_1"}),
        (
            [odd("one"), odd("two"), odd("three")],
            "gain:4 seen:1 gain_1:4 seen_1:1 gain_2:4 seen_2:1",
            {"one": "gain seen", "two": "gain_1 seen_1", "three": "gain_2 seen_2"},
        ),
        (
            [odd("one"), odd("two"), dense("d1")],
            "gain:4 gain_1:4 d1/kernel:4,4 d1/bias:4 seen:2 seen_1:2",
            {"one": "gain seen", "two": "gain_1 seen_1"},
        ),
        # apart, and two kinds of them
        (
            [odd("one"), dense("d1"), odd("two"), odd("a", k=2), odd("b", k=2), dense("d2")],
            "gain:4 d1/kernel:4,4 d1/bias:4 gain_1:4 w:2 w_1:2 w_2:2 w_3:2 d2/kernel:4,4 d2/bias:4",
            {"one": "gain", "a": "w w_1", "two": "gain_1", "b": "w_2 w_3"},
        ),
        # inside a model
        (
            [model("m", odd("one"), odd("two")), dense("d1")],
            "gain:4 gain_1:4 d1/kernel:4,4 d1/bias:4",
            {"m": "gain gain_1"},
        ),
        # frozen, all of them
        (
            [odd("one", trainable=False), odd("two", trainable=False), dense("d1")],
            "d1/kernel:4,4 d1/bias:4 gain:4 gain_1:4",
            {"one": "gain", "two": "gain_1"},
        ),
    ],
)
def test_equal_layers_of_an_unknown_class_own_equally_much(layers, weights, wanted):
    got = dealt(topology(*layers), refs(weights))
    assert {name: got[name] for name in wanted} == wanted
    shares = dealt(layers[0].submodel, refs("gain:4 gain_1:4")) if layers[0].submodel else {}
    assert shares in ({}, {"one": "gain", "two": "gain_1"})


@pytest.mark.parametrize(
    "weights", ["gain:4 gain_1:4 gain_2:4", "gain:4 seen:4", "gain:4 gain_1:5", "gain:4 gain_1:4 gain_2:4 bias_x:4"]
)
def test_equal_layers_of_an_unknown_class_whose_weights_do_not_fall_into_equal_shares(weights):
    # each of three could also have its own input's shape: an odd count, other roles or other shapes leave it open
    with pytest.raises(AmbiguousWeightsError):
        split(topology(odd("one"), odd("two")), refs(weights))


# -- layers that were renamed after building --------------------------------------------------------------

BRANCHES = (
    "c/kernel:3,3,3,3 c/bias:3 c_1/kernel:3,3,3,3 c_1/bias:3 n/kernel:3,3,3,3 n/bias:3 n_1/kernel:3,3,3,3 n_1/bias:3"
)


def branches(first, second):
    return topology(*(conv(how(name), 3) for name in "cn" for how in (first, second)))


@pytest.mark.parametrize("same_save", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda name: name, lambda name: name + "_2"),
        (lambda name: name + "_1", lambda name: name + "_2"),
        (lambda name: name, lambda name: "depth_" + name),
        (lambda name: "colour_" + name, lambda name: "depth_" + name),
        (lambda name: "colour_" + name, lambda name: name),
        (lambda name: name, lambda name: {"c": "beside", "n": "after"}[name]),
    ],
)
def test_layers_renamed_after_building_are_known_by_their_places(first, second, same_save):
    groups = split(branches(first, second), refs(BRANCHES), same_save=same_save)
    assert [" ".join(ref.name[:-2] for ref in group.weights) for group in groups] == [
        "c/kernel c/bias",
        "c_1/kernel c_1/bias",
        "n/kernel n/bias",
        "n_1/kernel n_1/bias",
    ]


def test_names_are_no_witness_where_one_save_wrote_flags_and_weights():
    net, weights = topology(dense("d1"), dense("d2")), refs("d2/kernel:4,4 d2/bias:4 d1/kernel:4,4 d1/bias:4")
    groups = split(net, weights, same_save=True)
    assert [group.weights[0].name for group in groups] == ["d2/kernel:0", "d1/kernel:0"]
    # counts, shapes and roles are
    with pytest.raises(WeightsError):
        split(net, weights[1:] + weights[:1], same_save=True)
    with pytest.raises(WeightsError):
        split(net, weights[:3], same_save=True)


def test_renamed_layers_beside_an_inner_model_are_told_apart_by_shapes_or_refused():
    # an inner model may be frozen without a word: the renamed layers' weights may be either's
    def net(units):
        return topology(model("m", dense("a_x", units)), dense("b_x"))

    told = "a/kernel:4,3 a/bias:3 b/kernel:3,4 b/bias:4"
    for weights in (told, "b/kernel:3,4 b/bias:4 a/kernel:4,3 a/bias:3"):
        assert dealt(net(3), refs(weights))["m"] == "a/kernel a/bias"
    alike = refs("b/kernel:4,4 b/bias:4 a/kernel:4,4 a/bias:4")
    with pytest.raises(AmbiguousWeightsError):
        split(net(4), alike, same_save=True)


@pytest.mark.parametrize(
    "weights",
    [
        # the names of two layers of another architecture, whose order is another
        "e/kernel:4,4 e/bias:4 d1/kernel:4,4 d1/bias:4",
        # one name for two layers, two names for one
        "d1/kernel:4,4 d1/bias:4 d1/kernel_1:4,4 d1/bias_1:4",
        "v/kernel:4,4 w/bias:4 w/kernel:4,4 v/bias:4",
    ],
)
def test_names_that_renaming_does_not_explain(weights):
    with pytest.raises(WeightsError):
        split(topology(dense("d1"), dense("d2")), refs(weights))


# -- flags of another time --------------------------------------------------------------------------------


def test_flags_that_are_not_those_of_the_save():
    net = topology(conv("c1", 3), bn("b1"), conv("c2", 3), bn("b2"), dense("out"))
    norm = "{0}/moving_mean:3 {0}/moving_variance:3"
    # frozen then: the first two
    weights = refs(
        "c2/kernel:3,3,3,3 c2/bias:3 b2/gamma:3 b2/beta:3 out/kernel:3,4 out/bias:4"
        " c1/kernel:3,3,3,3 c1/bias:3 b1/gamma:3 b1/beta:3 " + norm.format("b1") + " " + norm.format("b2")
    )
    wanted = {
        "c1": "c1/kernel c1/bias",
        "b1": "b1/gamma b1/beta b1/moving_mean b1/moving_variance",
        "c2": "c2/kernel c2/bias",
        "b2": "b2/gamma b2/beta b2/moving_mean b2/moving_variance",
        "out": "out/kernel out/bias",
    }
    assert dealt(net, weights) == wanted
    # frozen in the architecture: others than then
    assert (
        dealt(
            topology(
                *(layer(**dict(it.config, class_name=it.class_name, trainable=it.name != "out")) for it in net.layers)
            ),
            weights,
        )
        == wanted
    )
    # one save wrote both: then it is damaged
    with pytest.raises(WeightsError):
        split(net, weights, same_save=True)
    # and where names are not the layers' nothing tells them apart
    with pytest.raises(WeightsError):
        split(net, [ref(weight.name.replace("1/", "7/").replace("2/", "8/"), *weight.shape) for weight in weights])


def test_an_inner_model_with_flags_of_another_time_is_listed_as_its_own_flags_say():
    inner = model("m", bn("b"), dense("d"))
    weights = refs(
        "d/kernel:4,4 d/bias:4 out/kernel:4,4 out/bias:4 b/gamma:4 b/beta:4 b/moving_mean:4 b/moving_variance:4"
    )
    assert dealt(topology(inner, dense("out")), weights) == {
        "m": "b/gamma b/beta d/kernel d/bias b/moving_mean b/moving_variance",
        "out": "out/kernel out/bias",
    }


def test_flags_of_another_time_with_many_layers_take_no_time():
    made = [Made(f"d{k}", dense(f"d{k}"), [], refs(f"d{k}/kernel:4,4 d{k}/bias:4")) for k in range(1000)]
    made += [Made(f"e{k}", dense(f"e{k}"), refs(f"e{k}/kernel:4,4 e{k}/bias:4")) for k in range(1000)]
    assert len(split(topology(*(item.layer for item in made)), flat(made))) == 2000


def test_unknown_class_does_not_get_two_names():
    net = topology(odd("one"), dense("d1"), odd("two"))
    with pytest.raises(UnparallelError):
        split(net, refs("v1/gain:4 d1/kernel:4,4 d1/bias:4 v2/gain:4 v3/gain:4"))
    with pytest.raises(WeightsError, match="'one' would get weights of two names: v1, v2"):
        split(topology(odd("one"), dense("d1")), refs("v1/gain:4 v2/gain:4 d1/kernel:4,4 d1/bias:4"))


def test_unknown_class_does_not_swallow_what_is_missing_elsewhere():
    with pytest.raises(WeightsError, match="'d2'"):
        split(topology(dense("d1"), odd("odd"), dense("d2")), refs("d1/kernel:4,4 d1/bias:4 odd/gain:4 d2/kernel:4,4"))


def test_unknown_classes_get_names_counted_anew_only_without_gaps():
    # by the flags `gain:4` is for the first of them; a count of 20 more, as of the kernel, would make it the second's
    net = topology(odd("dense_1"), odd("dense_2", trainable=False), dense("dense_4", use_bias=False))
    assert dealt(net, refs("dense_21/gain:4 dense_24/kernel:4,4"))["dense_1"] == "dense_21/gain"
    with pytest.raises(WeightsError, match="counted with gaps"):
        split(net, refs("dense_22/gain:4 dense_24/kernel:4,4"))


# -- the table --------------------------------------------------------------------------------------------


def roles(layer_, tf_keras=None):
    spec = expected_weights(layer_, tf_keras)
    return spec and tuple(" ".join(slot.role for slot in half) for half in spec)


def wrapped(class_name, inner, **config):
    return layer("it", class_name, layer={"class_name": inner.class_name, "config": inner.config}, **config)


LSTM = layer("lstm", "LSTM", units=3)


@pytest.mark.parametrize(
    ("it", "expected"),
    [
        (dense("d"), ("kernel bias", "")),
        (dense("d", use_bias=False), ("kernel", "")),
        (dense("d", trainable=False), ("", "kernel bias")),
        (bn("b", scale=False), ("beta", "moving_mean moving_variance")),
        (bn("b", trainable=False, center=False), ("", "gamma moving_mean moving_variance")),
        (layer("s", "SeparableConv2D", filters=3, kernel_size=[3, 3]), ("depthwise_kernel pointwise_kernel bias", "")),
        (wrapped("TimeDistributed", bn("b")), ("gamma beta", "moving_mean moving_variance")),
        (wrapped("Bidirectional", LSTM), ("kernel recurrent_kernel bias kernel recurrent_kernel bias", "")),
        (layer("l", "LSTM", output_dim=3, init="uniform"), ("W_i U_i b_i W_c U_c b_c W_f U_f b_f W_o U_o b_o", "")),
        (layer("l", "LSTM", output_dim=3, init="uniform", consume_less="gpu"), ("W U b", "")),
        (layer("a", "Activation"), ("", "")),
        (model("m", dense("d"), bn("b")), ("kernel bias gamma beta", "moving_mean moving_variance")),
        (odd("o"), None),
        (model("m", dense("d"), odd("o")), None),
        (bn("b", renorm=True), None),
        (layer("m", "Merge", layers=[{}]), None),
    ],
)
def test_expected_roles(it, expected):
    assert roles(it) == expected


def test_expected_shapes():
    def shapes(it):
        return [slot.shape for half in expected_weights(it) for slot in half]

    assert shapes(dense("d", 3)) == [("i", 3), (3,)]
    assert shapes(conv("c", 5, 2)) == [(2, 2, "i", 5), (5,)]
    assert shapes(layer("g", "GRU", units=3, reset_after=True)) == [("i", 9), (3, 9), (2, 9)]
    assert shapes(layer("e", "Embedding", input_dim=7, output_dim=2)) == [(7, 2)]


def test_weightless():
    assert is_weightless(layer("a", "Activation"))
    assert is_weightless(model("m", layer("x", "InputLayer"), layer("a", "Flatten")))
    assert not is_weightless(model("m", layer("x", "InputLayer"), dense("d")))
    assert not is_weightless(odd("o"))


def test_wrapper_around_a_model():
    layers = [{"class_name": it.class_name, "config": it.config} for it in INNER.submodel.layers]
    inner = {"class_name": "Sequential", "config": layers}
    net = topology(layer("each", "TimeDistributed", layer=inner), dense("d2"))
    weights = "b/gamma:4 b/beta:4 d/kernel:4,4 d2/kernel:4,4 d2/bias:4 b/moving_mean:4 b/moving_variance:4"
    assert dealt(net, refs(weights))["each"] == "b/gamma b/beta d/kernel b/moving_mean b/moving_variance"


# -- any model at all -------------------------------------------------------------------------------------


class Made:
    """A random model as Keras would hold it: layers with their two lists, and flags that no config shows."""

    def __init__(self, name, layer_=None, first=(), second=(), children=(), hidden=False):
        self.name, self.layer, self.children, self.hidden = name, layer_, children, hidden
        self.first, self.second = list(first), list(second)
        if children:
            self.layer = model(name, *(child.layer for child in children))

    def lists(self):
        """Keras' own two properties, `trainable_weights` and `non_trainable_weights`."""
        if not self.children:
            return self.first, self.second
        pairs = [child.lists() for child in self.children]
        trainable = [weight for pair in pairs for weight in pair[0]]
        rest = [weight for pair in pairs for weight in pair[1]]
        return ([], trainable + rest) if self.hidden else (trainable, rest)


def made_layer(draw, name, prefix, kinds):
    kind = draw.choice(kinds)
    frozen = draw.random() < 0.3
    flag = {"trainable": False} if frozen else {}
    bias = draw.random() < 0.5
    if kind == "dense":
        config = dense(name, use_bias=bias, **flag)
        first, second = refs(f"{prefix}/kernel:4,4" + (f" {prefix}/bias:4" if bias else "")), []
    elif kind == "bn":
        config = bn(name, **flag)
        first, second = norm_weights(prefix, 4)
    elif kind == "odd":
        config = odd(name, **flag)
        first = refs(" ".join(f"{prefix}/gain{k}:4" for k in range(draw.choice([0, 1, 2]))))
        second = refs(" ".join(f"{prefix}/seen{k}:4" for k in range(draw.choice([0, 1]))))
    else:
        config, first, second = layer(name, "Activation"), [], []
    return Made(name, config, [], first + second) if frozen else Made(name, config, first, second)


NAMINGS = {
    "own": lambda name, k: name,
    "copies": lambda name, k: name + "_1",
    "scoped": lambda name, k: "tower/" + name,
    "anew": lambda name, k: "dense_%s" % (k + 20),
    "strange": lambda name, k: "v%s" % (7 * k % 31),
}


KINDS = ["dense", "dense", "bn", "odd", "weightless"]


def made_model(draw, naming, kinds=KINDS, depth=0, count=None):
    """A list of layers, with models among them."""
    count = count or [0]
    found = []
    for _ in range(draw.choice([1, 2, 3, 4])):
        count[0] += 1
        name = f"dense_{count[0]}"
        if depth < 2 and draw.random() < 0.3:
            children = made_model(draw, naming, kinds, depth + 1, count)
            found.append(Made(f"model_{count[0]}", children=children, hidden=draw.random() < 0.4))
        else:
            found.append(made_layer(draw, name, NAMINGS[naming](name, count[0]), kinds))
    return found


def flat(made):
    pairs = [item.lists() for item in made]
    return [weight for half in (0, 1) for pair in pairs for weight in pair[half]]


@given(seed=st.integers(0, 10**9), naming=st.sampled_from(sorted(NAMINGS)))
def test_any_model_is_dealt_right_or_refused(seed, naming):
    made = made_model(random.Random(seed), naming)
    expected = [LayerWeights(item.name, tuple(item.lists()[0] + item.lists()[1])) for item in made]
    try:
        assert list(split(topology(*(item.layer for item in made)), flat(made))) == expected
    except (WeightsError, AmbiguousWeightsError):
        assert naming in ("anew", "strange")  # good names leave no doubt


@given(seed=st.integers(0, 10**9), naming=st.sampled_from(["own", "copies", "scoped", "anew"]))
def test_other_flags_than_the_file_has_are_right_or_refused(seed, naming):
    draw = random.Random(seed)
    made = made_model(draw, naming)
    expected = [LayerWeights(item.name, tuple(item.lists()[0] + item.lists()[1])) for item in made]
    other = topology(*(reflagged(item.layer, draw) for item in made))
    try:
        got = split(other, flat(made))
    except UnparallelError:
        return
    for group, right in zip(got, expected):  # a layer's own order may be the other architecture's
        assert sorted(group.weights) == sorted(right.weights)


def reflagged(it, draw):
    """The same layer with random flags."""
    if it.submodel is not None:
        return model(it.name, *(reflagged(inner, draw) for inner in it.submodel.layers))
    return layer(**dict(it.config, class_name=it.class_name, trainable=draw.random() < 0.6))


@given(seed=st.integers(0, 10**9), damage=st.sampled_from(["swap", "lose", "add"]))
def test_damaged_lists_are_right_or_refused(seed, damage):
    draw = random.Random(seed)
    made = made_model(draw, "own", kinds=["dense", "bn", "weightless"])
    expected = [LayerWeights(item.name, tuple(item.lists()[0] + item.lists()[1])) for item in made]
    weights = flat(made)
    a, b = (draw.randrange(max(len(weights), 1)) for _ in range(2))
    if damage == "swap" and weights:
        weights[a], weights[b] = weights[b], weights[a]
    elif damage == "lose" and weights:
        del weights[a]
    else:
        weights.insert(a, ref("v/kernel:0", 4, 4))
    try:
        got = split(topology(*(item.layer for item in made)), weights)
    except WeightsError:
        return
    assert damage == "swap"  # of two weights that a frozen inner model would have in this order
    assert [sorted(group.weights) for group in got] == [sorted(group.weights) for group in expected]


# -- names alone ------------------------------------------------------------------------------------------

CNN = (
    "conv2d_1/kernel:3,3,2,3 bn_1/gamma:3 bn_1/beta:3 conv2d_2/kernel:3,3,3,4 conv2d_2/bias:4"
    " dense_1/kernel:4,7 dense_1/bias:7 bn_1/moving_mean:3 bn_1/moving_variance:3"
)


def test_names_alone_give_layers_in_order():
    assert by_names(refs(CNN), ["dense_1"], "2.2.4") == [
        ("conv2d_1", "conv2d_1/kernel"),
        ("bn_1", "bn_1/gamma bn_1/beta bn_1/moving_mean bn_1/moving_variance"),
        ("conv2d_2", "conv2d_2/kernel conv2d_2/bias"),
        ("dense_1", "dense_1/kernel dense_1/bias"),
    ]


def test_names_alone_with_recurrent_layers():
    lstm = "bi/{0}_lstm/kernel:4,12 bi/{0}_lstm/recurrent_kernel:3,12 bi/{0}_lstm/bias:12"
    text = "e/embeddings:9,4 %s %s gru/gru_cell/kernel:6,9 gru/gru_cell/recurrent_kernel:3,9"
    got = by_names(refs(text % (lstm.format("forward"), lstm.format("backward"))), ["gru"])
    assert [name for name, _ in got] == ["e", "bi", "gru"]


def test_names_of_early_tf_keras_are_counted_from_one():
    weights = refs("dense/kernel:6,5 dense/bias:5 dense_1/kernel:5,3 dense_1/bias:3")
    assert [name for name, _ in by_names(weights, ["dense_2"], "2.1.5-tf")] == ["dense_1", "dense_2"]
    assert [name for name, _ in by_names(weights, ["dense_1"], "2.2.4-tf")] == ["dense", "dense_1"]
    with pytest.raises(NeedsArchitectureError, match="'dense', 'dense_1'"):
        split_by_names(weights, ["act"], "2.1.5-tf")


@pytest.mark.parametrize(
    ("weights", "outputs", "doubt"),
    [
        ("b/gamma:4 b/beta:4 c/kernel:4,4 b/moving_mean:4 b/moving_variance:4 a/kernel:4,4", [], "frozen.*'c'.*'a'"),
        ("a/kernel:4,4 b/moving_mean:4 b/moving_variance:4", [], "untrained.*'b'"),
        ("fc2/kernel:5,3 fc1/kernel:6,5", [], "backwards.*'fc2', 'fc1'"),
        ("head/kernel:5,3 stem/kernel:6,5", [], "another place as well.*'stem'"),
        ("stem/kernel:4,4 head/kernel:4,4", [], "equal shapes.*'stem', 'head'"),
        ("dense_1_1/kernel:4,4 dense_2_1/kernel:4,3", [], "copy's.*'dense_1_1', 'dense_2_1'"),
        ("conv1_1/kernel:4,4 fc_1/kernel:4,3", ["fc"], "copy's.*'fc_1'"),
        ("conv1_1/kernel:4,4 fc_1/kernel:4,3", [], "copy's.*'conv1_1', 'fc_1'"),
        ("c/kernel:4,4 c_1/kernel:4,4 n/kernel:4,3 n_1/kernel:4,3", [], "with and without _1.*'c', 'c_1', 'n', 'n_1'"),
        ("tower/dense_1/kernel:4,4", [], "scope.*'tower/dense_1'"),
        ("gain:4", [], "'gain:0'"),
        ("kernel:4,4", [], "'kernel:0'"),
        ("odd/my.kernel-2:4,4", [], "'odd/my.kernel-2:0'"),
        ("e1/kernel:6,5 e2/gamma:5 e2/beta:5 out/kernel:5,3 e2/moving_mean:5 e2/moving_variance:5", [], "'e1', 'e2'"),
        ("a/kernel:4,4 b/bias:4 a/bias:4 b/kernel:4,4", [], "together.*'[ab]'"),
        ("a/bias:4", [], r"weights \(bias\): 'a'"),
        ("a/gamma:4 a/beta:4 a/moving_mean:4", [], r"'a'"),
    ],
)
def test_names_alone_refuse_and_name_the_layers(weights, outputs, doubt):
    with pytest.raises(NeedsArchitectureError, match=doubt) as caught:
        split_by_names(refs(weights), outputs, "2.2.4")
    assert "--architecture" in caught.value.hint


@pytest.mark.parametrize(
    "weights", ["a/kernel:4,3 a/bias:5", "b/gamma:4 b/beta:5", "l/kernel:4,12 l/recurrent_kernel:3,9"]
)
def test_names_alone_check_shapes(weights):
    with pytest.raises(WeightsError, match="shapes of its weights") as caught:
        split_by_names(refs(weights))
    assert "--architecture" in caught.value.hint


@given(seed=st.integers(0, 10**9))
def test_names_alone_are_right_or_refused_for_numbered_chains(seed):
    """Layers one after another, named as Keras names them, with any of them frozen."""
    draw = random.Random(seed)
    width, made, numbers = 2, [], {"dense": 0, "batch_normalization": 0}
    for _ in range(draw.choice([1, 2, 3, 4, 5])):
        kind = draw.choice(["dense", "batch_normalization"])
        numbers[kind] += 1
        name = f"{kind}_{numbers[kind]}"
        out = draw.choice([2, 3, 4]) if kind == "dense" else width
        first, second = refs(f"{name}/kernel:{width},{out} {name}/bias:{out}"), []
        if kind != "dense":
            first, second = norm_weights(name, out)
        width = out
        frozen = draw.random() < 0.25
        made.append(Made(name, None, [], first + second) if frozen else Made(name, None, first, second))
    expected = [LayerWeights(item.name, tuple(item.lists()[0] + item.lists()[1])) for item in made]
    try:
        got = list(split_by_names(flat(made), [], "2.2.4"))
    except UnparallelError:
        return
    assert got == expected
