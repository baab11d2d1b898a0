"""What slices are proven to be, against numbers that were found by running them; and what must not be proven."""

import base64
import json
import marshal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unparallel.keras_config import arguments_of
from unparallel.model import Call, Layer, TensorKey
from unparallel.slices import (
    Joined,
    Mean,
    Rows,
    Tensor,
    Unknown,
    check_partition,
    code_of,
    describe,
    evaluate,
    is_helper,
    lambdas,
    layers,
    looks_like_slice,
    shape_is_scalar,
)
from unparallel.slices.sizes import Dim, Range, Ratio, Size, Tail, Undecided, Vector, compute, compute_vector
from unparallel.slices.values import Scalar, Sum

DATA = json.loads((Path(__file__).parent / "data" / "bytecode.json").read_text())
VERSIONS = sorted(DATA["code"], key=lambda version: tuple(map(int, version.split("."))))
CASES = {case["name"]: case for case in DATA["cases"]}
X = TensorKey("x", 0, 0)
A, B = TensorKey("a", 0, 0), TensorKey("a", 1, 0)
N = Size.batch(X)


def lambda_layer(function, version="3.7", arguments=None, closure=None, defaults=None, calls=None, **config):
    field = [DATA["code"][version][function], defaults, closure]
    return Layer("l", "Lambda", dict(config, function=field, arguments=arguments or {}), calls or (Call((X,)),))


def layer_of(case, version):
    return lambda_layer(case["function"], version, case["arguments"], case["closure"], case["defaults"])


def outcome(layer, *inputs):
    """The values of a layer's call on tensors (or on values as they are)."""
    keys = tuple(value if isinstance(value, TensorKey) else TensorKey(f"v{i}", 0, 0) for i, value in enumerate(inputs))
    call = layer.calls[0] if layer.calls and layer.calls[0].node is not None else Call(keys)
    values = [Tensor(value) if isinstance(value, TensorKey) else value for value in inputs]
    return evaluate(layer, call, values)


def numbers(rows, n):
    """The rows that a proof speaks of, for a batch of n."""
    return list(range(min(rows.start.at(n), n), min(rows.stop.at(n), n)))


# -- functions, against numbers


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "rows"])
def test_proves_what_running_it_gives(name, version):
    case = CASES[name]
    found = outcome(layer_of(case, version), X)
    assert all(isinstance(value, Rows) for value in found), found
    for n, expected in enumerate(case["rows"]):
        if expected != "error":
            assert [numbers(value, n) for value in found] == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "shaped"])
def test_proves_what_takes_samples_of_the_shape_in_the_file(name, version):
    layer = layer_of(CASES[name], version)
    (found,) = outcome(layer, Tensor(X, (None, 4)))
    assert isinstance(found, Rows), found
    for n, ((expected,),) in enumerate(zip(CASES[name]["rows"])):
        assert numbers(found, n) == expected
    for shape in (None, (None, None), (None, 5)):
        assert isinstance(outcome(layer, Tensor(X, shape))[0], Unknown)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "other"])
def test_does_not_prove_what_is_not_rows(name, version):
    (found,) = outcome(layer_of(CASES[name], version), X)
    assert isinstance(found, (Unknown, Joined, Sum))
    (found,) = outcome(layer_of(CASES[name], version), Tensor(X, (None, 4)))
    if name == "by_other_length":  # a number, once the length is one
        assert [[numbers(found, n)] for n in range(len(CASES[name]["rows"]))] == CASES[name]["rows"]
    else:
        assert isinstance(found, (Unknown, Joined, Sum))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "rows"])
def test_a_known_shape_changes_no_proof(name, version):
    layer = layer_of(CASES[name], version)
    assert outcome(layer, Tensor(X, (None, 4))) == outcome(layer, X)


def parts_of(*names, version="3.7"):
    return [value for name in names for value in outcome(layer_of(CASES[name], version), X)]


# rows, each of them proven, that are not the parts of one batch
NOT_PARTS = {"rotated", "one_late", "one_short", "one_pair_short", "overlapping"}
CUTS = sorted(
    {case["function"] for case in DATA["cases"] if case["name"].endswith("1 of 3") and case["kind"] == "rows"}
    - NOT_PARTS
    - {"cut_with_shapes"}
)


@pytest.mark.parametrize(
    "names",
    [
        [f"shapes {k} of 3" for k in range(3)],
        ["shapes 0 of 1"],
        [f"cut_by_shares {k}" for k in range(3)],
        ["cut_between 0", "cut_between 1"],
        ["cut_by_closure 0", "cut_by_closure 1"],
        ["cut_all"],
        ["cut_two"],
        ["cut_in_loop"],
        ["cut_comprehension"],
        ["cut_all_of_it"],
    ]
    + [[f"{name} {k} of 3" for k in range(3)] for name in CUTS],
)
def test_partitions(names):
    parts = parts_of(*names)
    assert check_partition(parts) == ""
    if len(parts) > 1:
        assert check_partition(parts[::-1]) == "the parts are not in order"
        assert check_partition(parts[1:]) != ""
        assert check_partition(parts[:1] + parts) != ""


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([f"rotated {k} of 3" for k in range(3)], "the parts are not in order"),
        ([f"one_late {k} of 3" for k in range(3)], "rows 0 to 1 are in no part"),
        ([f"one_short {k} of 3" for k in range(3)], "the slices do not reach the end of the batch"),
        ([f"one_pair_short {k} of 3" for k in range(3)], "the slices do not reach the end of the batch"),
        (
            [f"overlapping {k} of 3" for k in range(3)],
            "part 2 begins at row n//3, before row 2*(n//3) where it should",
        ),
        (["shapes 0 of 3", "shapes 2 of 3"], "rows n//3 to 2*(n//3) are in no part: part 2 is missing"),
        (["shapes 0 of 3", "shapes 0 of 3", "shapes 2 of 3"], "parts 1 and 2 are the same rows"),
        (["shapes 0 of 2"], "the slices do not reach the end of the batch"),
        (["shapes 0 of 3", "shapes 1 of 2"], "rows n//3 to n//2 are in no part"),
        (["shapes 0 of 2", "shapes 1 of 3", "shapes 2 of 3"], "part 2 begins at row n//3, before row n//2"),
        (["cut_between 0", "shapes 1 of 2"], "part 2 begins at row n//2, not at row 5"),
        ([], "the parts are not those of one tensor"),
    ],
)
def test_no_partition(names, reason):
    assert check_partition(parts_of(*names)).startswith(reason)


def test_partition_of_two_tensors():
    assert "one tensor" in check_partition([Rows(X, Size.constant(0), N), Rows(A, Size.batch(A), Size.batch(A))])


def test_partition_that_is_too_hard_to_prove():
    parts = [Rows(X, Size.constant(0), N // 499), Rows(X, N // 503, N)]
    assert check_partition(parts).startswith("the sizes of the parts cannot be compared: its sizes follow too long")


def test_part_that_ends_before_it_begins():
    half = N // 2
    parts = [Rows(X, Size.constant(0), N), Rows(X, N, half), Rows(X, half, N)]
    assert check_partition(parts) == "part 2 may end before it begins"


def test_describe():
    assert describe(parts_of("shapes 2 of 3")[0]) == "rows 2*(n//3) to n"
    assert describe(parts_of("cut_between 1")[0]) == "rows 5 to 10"
    assert describe(parts_of("cut_even 1 of 3")[0]) == "rows n//3 to 2*n//3"


def test_unknown_says_why():
    (found,) = outcome(layer_of(CASES["interleaved"], "3.7"), X)
    assert found == Unknown("it takes rows in another step than 1", "interleaved", ())
    (found,) = outcome(layer_of(CASES["backwards_first"], "3.7"), X)
    assert found.reason == "it slices something that is computed" or "reverse" in found.reason
    assert found.names == ("tf", "shape", "reverse")


def test_a_loop_without_end_is_given_up():
    (found,) = outcome(lambda_layer("endless", "3.7", {"k": 0, "of": 1}), X)
    assert found.reason == "it takes more than 10000 steps"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "its arguments do not fit its parameters: 'which' has no value in the file"),
        ({"which": 0, "of": 2, "more": 1}, "its arguments do not fit its parameters"),
        ({"which": 0, "batch": 2}, "its arguments do not fit its parameters"),
        ({"which": 0, "of": 0}, "it computes '//' of sizes"),
        ({"which": 0, "of": {"type": "ndarray", "value": 2}}, "it is given an array"),
        ({"which": -1, "of": 2}, "it may count rows from the end"),
        ({"which": 0, "of": 10**9}, "it divides by 1000000000"),
    ],
)
def test_arguments_that_do_not_fit(arguments, reason):
    (found,) = outcome(lambda_layer("cut_with_shapes", "3.7", arguments), X)
    assert found.reason == reason


def test_closure_that_is_not_in_the_file():
    (found,) = outcome(lambda_layer("cut_by_closure", "3.7"), X)
    assert found.reason == "the variables of its closure are not in the file"


def test_a_name_is_no_evidence():
    for name in ("get_slice", "slice_batch"):
        source = f"def {name}(data, i, parts):\n    return data[:, i * 2:(i + 1) * 2]\n"
        assert isinstance(outcome(compiled(source, {"i": 0, "parts": 2}), X)[0], Unknown)


def test_function_that_is_only_named():
    layer = Layer("l", "Lambda", {"function": "get_slice", "function_type": "function", "arguments": {}})
    assert outcome(layer, X) == (Unknown("the file names a function without holding its code", "get_slice"),)


def test_keras_3_lambda():
    code = {"class_name": "__lambda__", "config": {"code": DATA["code"]["3.11"]["cut_short"]}}
    tensor = {"class_name": "__keras_tensor__", "config": {"shape": [None, 4], "keras_history": ["x", 0, 0]}}
    call = call_of({"args": [tensor], "kwargs": {"mask": None}}, [X])
    layer = Layer("l", "Lambda", {"function": code, "arguments": {"i": 1, "parts": 2}}, (call,))
    assert describe(outcome(layer, X)[0]) == "rows n//2 to 2*(n//2)"
    odd = call_of({"args": [tensor], "kwargs": {"i": 0}}, [X])
    assert outcome(Layer("l", "Lambda", layer.config, (odd,)), X)[0].reason == "it is called with unusual arguments"


def test_rows_of_rows():
    first = parts_of("shapes 0 of 2")[0]
    inner = [outcome(lambda_layer("cut_with_shapes", "3.7", {"which": k, "of": 2}), first)[0] for k in range(2)]
    assert [describe(rows) for rows in inner] == ["rows 0 to n//4", "rows n//4 to n//2"]


def compiled(source, arguments=None, globals_=None):
    """A Lambda of code compiled by the running Python."""
    space = {}
    exec(compile(source, "slices.py", "exec", 0, True), space)
    function = [value for name, value in space.items() if name != "__builtins__"][-1]
    text = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
    config = {"function": [text, list(function.__defaults__ or ()) or None, None], "arguments": arguments or {}}
    return Layer("l", "Lambda", config, (Call((X,)),))


@pytest.mark.parametrize(
    "body",
    [
        "x[::2]", "x[0:4:2]", "x[-2:]", "x[:-1]", "x[None, :4]", "x[0]", "x[..., :2]", "x[:4, 0]", "x[:4][0]",
        "x[tf.shape(x)[1]:]", "x[:tf.shape(x)[0] - 1 - tf.shape(x)[0]]", "x[y:]", "x[len(x):]", "x[x:]",
        "tf.gather(x, [0, 1])", "tf.gather(x, tf.range(0, 4))", "tf.gather(x, tf.range(tf.shape(x)[0]), None, 1)",
        "tf.gather(x, tf.range(tf.shape(x)[0]), axis=1)", "tf.gather(x, tf.range(tf.shape(x)[0]), batch_dims=1)",
        "tf.slice(x, [0, 0], [2, 3])", "tf.slice(x, [0], [tf.shape(x)[0] // 2 - 1])", "tf.split(x, 2, -1)[0]",
        "tf.split(x, 2, axis=1)[0]", "tf.split(x, 0)", "K.concatenate([x, x])", "K.slice(x, [1, 1], [2, -1])",
        "K.reverse(x, 0)", "x.numpy()[:2]", "other.shape(x)", "tf.shape(x)", "K.foo.slice(x, [0, 0], [2, -1])",
        "tf.slice(x, begin=[0, 0], size=[2, -1], other=1)", "tf.strided_slice(x, [0], [4], [2])",
        "tf.strided_slice(x, [0, 1], [4, 2])", "tf.strided_slice(x, [0], [4], shrink_axis_mask=1)",
        "tf.strided_slice(x, [0], [4], new_axis_mask=1)", "tf.boolean_mask(x, x)", "x + x", "x * 1", "x / 2", "-x",
        "tf.concat([x[:4]], 1)", "tf.identity(x)[::-1]", "tf.cast(x, tf.int32)[:4]", "[x[:4]] * 10 ** 9",
        "x[:10 ** 30]", "x[:2 ** 70]", "x['a']", "x[:1.0]", "tf.stack([x[:4]])", "sum([x[:2], x[2:]])",
        "x[:4] if tf.shape(x)[0] > 4 else x", "x[:4] if x is y else x", "x[tf.shape(x)[0] * tf.shape(x)[0]:]",
        "(lambda q: q[::2])(x)", "x[K.int_shape(x)[0] // 2:]", "x[x.shape[0] // 2:]", "tf.tile(x[:4], [2, 1])",
        "x if K.int_shape(x)[1] is None else x[:4]",
    ],
)  # fmt: skip
def test_near_misses_in_one_expression(body):
    for value in outcome(compiled(f"def f(x):\n    return {body}\n"), X):
        assert not isinstance(value, Rows), value


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("x[:4]", "rows 0 to 4"),
        ("x[...]", "rows 0 to n"),
        ("x[2:, ...]", "rows 2 to n"),
        ("x[0:4:1, :, 0:]", "rows 0 to 4"),
        ("x[slice(2, 4)]", "rows 2 to 4"),
        ("x[slice(3)]", "rows 0 to 3"),
        ("x[:5][2:]", "rows 2 to 5"),
        ("x[2:][:5]", "rows 2 to 7"),
        ("x[2:9][:3]", "rows 2 to 5"),
        ("x[2:9][:30]", "rows 2 to 9"),
        ("tf.identity(x)[:3]", "rows 0 to 3"),
        ("x[:K.shape(x)[0] + 3]", "rows 0 to n"),
        ("x[:int(K.shape(x)[0] / 2)]", "rows 0 to n//2"),
        ("x[:min(K.shape(x)[0] // 2, K.shape(x)[0])]", "rows 0 to n//2"),
        ("x[:tf.maximum(K.shape(x)[0] // 2, K.shape(x)[0] // 3)]", "rows 0 to n//2"),
        ("x[:K.shape(x)[0] // 2 // 3]", "rows 0 to n//6"),
        ("x[K.shape(x)[0] % 2:]", "rows n - 2*(n//2) to n"),
        ("tf.split(x, [2, 3, -1])[1]", "rows 2 to 5"),
        ("tf.split(0, 2, x)[1]", "rows n//2 to 2*(n//2)"),
        ("tf.compat.v1.strided_slice(x, [2, 0], [5, 9], end_mask=2)", "rows 2 to 5"),
        ("tf.slice(x, tf.reshape(3, [1]), tf.expand_dims(2, 0))", "rows 3 to 5"),
        ("tf.slice(x, [1] + [0] * (K.ndim(x) - 1), [2] + [-1] * (K.ndim(x) - 1))", "rows 1 to 3"),
        ("tf.slice(x, [1, 0], [2] + x.get_shape().as_list()[1:])", "rows 1 to 3"),
        ("[x[:k] for k in range(3)][2]", "rows 0 to 2"),
        ("[piece for piece in tf.split(x, 2)][1]", "rows n//2 to 2*(n//2)"),
        ("keras.ops.split(x, [2, 5])[1]", "rows 2 to 5"),
        ("x[:ops.shape(x)[0] // 2]", "rows 0 to n//2"),
        ("x[:tf.cast(tf.math.ceil(tf.shape(x)[0] / 2), 'int32')]", "rows 0 to n - n//2"),
        ("x[tf.cast(tf.cast(tf.shape(x)[0], tf.float32) / 2, tf.int32):]", "rows n//2 to n"),
        ("tf.gather(x, tf.range(tf.shape(x)[0] // 2) + tf.shape(x)[0] // 2)", "rows n//2 to 2*(n//2)"),
    ],
)
def test_small_expressions(body, text):
    assert describe(outcome(compiled(f"def f(x):\n    return {body}\n"), X)[0]) == text


# -- functions at random, against numbers


class Sized:
    """A stand-in for a tensor whose rows are its row numbers."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return Sized(self.rows[index])


def expressions():
    small = st.integers(-3, 7)
    leaf = st.one_of(st.just("n"), small.map(str), st.just("k"))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-"), inner).map(lambda it: "({} {} {})".format(*it)),
            st.tuples(inner, small).map(lambda it: "({} * {})".format(*it)),
            st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(1, 6)).map(lambda it: "({} {} {})".format(*it)),
        ),
        max_leaves=6,
    )


@given(expressions(), expressions(), st.integers(0, 3), st.sampled_from(["", "[1:]", "[:5]", "[2:n]"]))
def test_random_slices_are_right_or_unknown(low, high, k, again):
    source = f"def f(x, k):\n    n = K.shape(x)[0]\n    return x[{low}:{high}]{again}\n"
    (found,) = outcome(compiled(source, {"k": k}), X)
    if isinstance(found, Unknown):
        return
    for n in range(0, 40):
        numbers_ = {"n": n, "k": k}
        x = Sized(list(range(n)))
        expected = eval(f"x[{low}:{high}]{again}", dict(numbers_, x=x))
        assert numbers(found, n) == expected.rows


@given(expressions(), expressions())
def test_sizes_are_exact(left, right):
    try:
        a, b = size_of(left), size_of(right)
    except Undecided:
        return
    counts = range(0, 300)
    values = [[eval(text, {"n": n, "k": 2}) for n in counts] for text in (left, right)]
    assert [a.at(n) for n in counts] == values[0]
    assert (a == b) == (values[0] == values[1])
    never = all(x <= y for x, y in zip(*values))
    # 300 rows are many periods, so a difference that grows the wrong way would have shown
    assert a.never_above(b) == never or not never or a.rise * len(b.values) > b.rise * len(a.values)


def size_of(text):
    layer = compiled(f"def f(x, k):\n    n = K.shape(x)[0]\n    return x[0 * n:], {text}\n", {"k": 2})
    found = outcome(layer, X)
    if len(found) != 2 or isinstance(found[1], Unknown):
        raise Undecided("")
    return found[1] if isinstance(found[1], Size) else Size.constant(found[1])


@given(
    st.sampled_from([(version, name) for version in VERSIONS for name in ("cut_with_shapes", "cut_last_takes_rest")]),
    st.lists(st.tuples(st.integers(30, 400), st.integers(0, 255)), min_size=1, max_size=3),
)
def test_mutated_code_is_evaluated_or_unknown(sample, changes):
    data = bytearray(base64.b64decode(DATA["code"][sample[0]][sample[1]]))
    for place, value in changes:
        data[place % len(data)] = value
    field = [base64.b64encode(bytes(data)).decode("ascii"), None, None]
    config = {"function": field, "arguments": {"which": 0, "of": 2}}
    for value in outcome(Layer("l", "Lambda", config), X):
        assert isinstance(value, (Rows, Joined, Mean, Unknown, Tensor, int, Size) + lambdas.NUMBERS + (Sum,))
    assert code_of(config) is not None


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
KEYS = "function arguments axis mode node_def constants op input attr config start stop shape"
keys = st.sampled_from(KEYS.split(" "))


@given(
    st.sampled_from(sorted(layers._LAYERS)),
    st.dictionaries(keys, st.one_of(json_values, st.dictionaries(keys, json_values, max_size=4)), max_size=5),
    json_values,
)
def test_configs_at_random_are_unknown(class_name, config, node):
    layer = Layer("l", class_name, config, (call_of(node, [X]),))
    for value in evaluate(layer, layer.calls[0], [Tensor(X)]):
        assert isinstance(value, (Unknown, Joined, Mean))
    code_of(config)
    looks_like_slice(layer, layer.calls[0])
    shape_is_scalar(layer)


# -- merges


@pytest.mark.parametrize("version", VERSIONS)
def test_functions_that_join(version):
    both = (Tensor(A), Tensor(B))
    for name in ("join_tf", "join_keras", "join_old"):
        assert outcome(lambda_layer(name, version), A, B) == (Joined(both),)
    assert isinstance(outcome(lambda_layer("join_columns", version), A, B)[0], Unknown)


@pytest.mark.parametrize("version", VERSIONS)
def test_functions_that_average(version):
    both = (Tensor(A), Tensor(B))
    for name in ("mean_added", "mean_summed", "mean_stacked"):
        assert outcome(lambda_layer(name, version), A, B) == (Mean(both),)
    assert outcome(lambda_layer("mean_of_all", version), A, B) == (Mean(both, "", True),)
    for name in ("mean_wrong_count", "mean_other_axis"):
        assert isinstance(outcome(lambda_layer(name, version), A, B)[0], Unknown)


@pytest.mark.parametrize(
    ("class_name", "config", "expected"),
    [
        ("Concatenate", {"axis": 0}, Joined),
        ("Concatenate", {"axis": -1}, Unknown),
        ("Concatenate", {"axis": 1}, Unknown),
        ("Concatenate", {"axis": False}, Unknown),
        ("Concatenate", {"axis": None}, Unknown),
        ("Concatenate", {}, Unknown),
        ("Merge", {"mode": "concat", "concat_axis": 0, "mode_type": "raw"}, Joined),
        ("Merge", {"mode": "concat", "concat_axis": -1, "mode_type": "raw"}, Unknown),
        ("Merge", {"mode": "concat"}, Unknown),
        ("Merge", {"mode": "sum", "concat_axis": 0}, Unknown),
        ("Merge", {"mode": "concat", "concat_axis": 0, "mode_type": "lambda"}, Unknown),
        ("Merge", {"mode": "ave", "mode_type": "raw"}, Mean),
        ("Average", {}, Mean),
    ],
)
def test_layers_that_merge(class_name, config, expected):
    layer = Layer("m", class_name, config)
    assert is_helper(layer)
    (found,) = outcome(layer, A, B)
    assert isinstance(found, expected)
    if expected is not Unknown:
        assert found.parts == (Tensor(A), Tensor(B))


def test_average_says_which_layer():
    assert outcome(Layer("m", "Average", {}), A, B)[0].layer == "Average"


def test_results_of_others_count_as_tensors():
    found = outcome(Layer("m", "Concatenate", {"axis": 0}), Unknown("it computes"), Joined((Tensor(A), Tensor(B))))
    assert found == (Joined((Tensor(TensorKey("v0", 0, 0)), Tensor(TensorKey("v1", 0, 0)))),)


@pytest.mark.parametrize(
    ("name", "scalar"), [("scalar_mean", True), ("scalar_sum", True), ("scalar_not", False), ("cut_all_of_it", False)]
)
def test_scalar_by_its_function(name, scalar):
    for version in VERSIONS:
        assert shape_is_scalar(lambda_layer(name, version)) is scalar


def test_scalar_by_its_shape():
    for version in VERSIONS:
        for name, scalar in (("shape_empty", True), ("shape_batch", False)):
            shape = [DATA["code"][version][name], None, None]
            layer = lambda_layer("computed", version, output_shape=shape, output_shape_type="lambda")
            assert shape_is_scalar(layer) is scalar
    # Keras puts the batch before a fixed shape
    assert not shape_is_scalar(lambda_layer("computed", output_shape=[], output_shape_type="raw"))
    assert not shape_is_scalar(Layer("d", "Dense", {"units": 1}))


# -- layers that are one operation


def op_layer(op, places, constants, attributes, inputs=(X,)):
    definition = {"name": op, "op": op, "input": [f"i{i}" for i in range(places)], "attr": attributes}
    config = {"node_def": definition, "constants": {str(place): value for place, value in constants.items()}}
    return Layer("op", "TensorFlowOpLayer", config)


MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def strided(constants, places=4, **masks):
    return op_layer("StridedSlice", places, constants, {name: {"i": str(masks.get(name, 0))} for name in MASKS})


HALF = N // 2


@pytest.mark.parametrize(
    ("layer", "inputs", "expected"),
    [
        (op_layer("Split", 2, {0: 0}, {"num_split": {"i": "2"}}), [X], ["rows 0 to n//2", "rows n//2 to 2*(n//2)"]),
        (op_layer("Split", 2, {0: 1}, {"num_split": {"i": "2"}}), [X], None),
        (op_layer("Split", 2, {0: -1}, {"num_split": {"i": "2"}}), [X], None),
        (op_layer("SplitV", 3, {1: [4, -1], 2: 0}, {}), [X], ["rows 0 to 4", "rows 4 to n"]),
        (op_layer("Slice", 3, {1: [2, 0], 2: [3, -1]}, {}), [X], ["rows 2 to 5"]),
        (op_layer("Slice", 3, {1: [2, 1], 2: [3, -1]}, {}), [X], None),
        (op_layer("Slice", 3, {1: [2, 0], 2: [3, 4]}, {}), [X], None),
        (strided({3: [1]}), [X, Vector((0,)), Vector((HALF,))], ["rows 0 to n//2"]),
        (strided({2: [0], 3: [1]}, end_mask=1), [X, Vector((HALF,))], ["rows n//2 to n"]),
        (strided({1: [0], 2: [4], 3: [2]}), [X], None),
        (strided({1: [0, 0], 2: [4, 0], 3: [1, 1]}, end_mask=2), [X], ["rows 0 to 4"]),
        (strided({1: [0, 0], 2: [4, 3], 3: [1, 1]}), [X], None),
        (strided({1: [0, 0], 2: [4, 0], 3: [1, 1]}, ellipsis_mask=2), [X], ["rows 0 to 4"]),
        (strided({1: [0], 2: [1], 3: [1]}, shrink_axis_mask=1), [X], None),
        (strided({1: [0], 2: [1], 3: [1]}, new_axis_mask=1), [X], None),
        (op_layer("GatherV2", 3, {2: 0}, {}), [X, Range(Size.constant(0), HALF)], ["rows 0 to n//2"]),
        (op_layer("GatherV2", 3, {2: 1}, {}), [X, Range(Size.constant(0), HALF)], None),
        (op_layer("GatherV2", 3, {2: 0}, {"batch_dims": {"i": "1"}}), [X, Range(HALF, N)], None),
        (op_layer("ReverseV2", 2, {1: [0]}, {}), [X], None),
    ],
)
def test_operations_that_cut(layer, inputs, expected):
    found = outcome(layer, *inputs)
    if expected is None:
        assert isinstance(found[0], Unknown)
    else:
        # the inputs after the first are numbers, which have no name of their own
        assert [describe(value) for value in found] == expected


@pytest.mark.parametrize(
    ("layer", "inputs", "expected"),
    [
        (op_layer("Shape", 1, {}, {}), [X], Vector((N,), Tail(X, 1))),
        (strided({1: [0], 2: [1], 3: [1]}, shrink_axis_mask=1), [Vector((N,), Tail(X, 1))], N),
        (strided({1: [1], 2: [0], 3: [1]}, end_mask=1), [Vector((N,), Tail(X, 1))], Vector((), Tail(X, 1))),
        (op_layer("FloorDiv", 2, {1: 2}, {}), [N], HALF),
        (op_layer("Mul", 2, {0: 3}, {}), [HALF], HALF.times(3)),
        (op_layer("AddV2", 2, {1: 3}, {}), [N], N + Size.constant(3)),
        (op_layer("Sub", 2, {}, {}), [N, HALF], N - HALF),
        (op_layer("RealDiv", 2, {1: 2}, {}), [N], Ratio(N, 2)),
        (op_layer("Cast", 1, {}, {"DstT": {"type": "DT_INT32"}}), [Ratio(N, 2)], HALF),
        (op_layer("Minimum", 2, {}, {}), [N, HALF], HALF),
        (op_layer("Maximum", 2, {}, {}), [N, HALF], N),
        (op_layer("Pack", 2, {1: 0}, {"axis": {"i": "0"}}), [HALF], Vector((HALF, 0))),
        (op_layer("Range", 3, {0: 0, 2: 1}, {}), [HALF], Range(Size.constant(0), HALF)),
        (
            op_layer("ConcatV2", 3, {2: 0}, {}),
            [Vector((HALF,)), Vector((), Tail(X, 1))],
            Vector((HALF,), Tail(X, 1)),
        ),
        (op_layer("ConcatV2", 3, {2: 0}, {}), [A, B], Joined((Tensor(A), Tensor(B)))),
        (op_layer("AddN", 2, {}, {}), [A, B], Sum((Tensor(A), Tensor(B)))),
        (
            op_layer("RealDiv", 2, {1: 2.0}, {}),
            [Sum((Tensor(A), Tensor(B)))],
            Mean((Tensor(A), Tensor(B))),
        ),
    ],
)
def test_operations_on_numbers(layer, inputs, expected):
    assert outcome(layer, *inputs) == (expected,)


def test_operation_with_too_few_tensors():
    assert "unknown number" in outcome(op_layer("FloorDiv", 2, {}, {}), N)[0].reason


def function_layer(function, node, inputs=(X,), class_name="TFOpLambda"):
    return Layer("f", class_name, {"name": "f", "function": function}, (call_of(node, inputs),))


def call_of(node, inputs):
    """A call as a file's node says it; its tensors are of layers named in the node, in that order."""
    known = {key.layer for key in inputs}
    return Call(tuple(inputs), node, arguments_of(node, known, keep_structure=True))


def getitem(spec, inputs=(X,)):
    return function_layer("__operators__.getitem", ["x", 0, 0, {"slice_spec": spec}], inputs, "SlicingOpLambda")


S, T = TensorKey("s", 0, 0), TensorKey("t", 0, 0)
REFERENCE, OTHER = ["s", 0, 0], ["t", 0, 0]


@pytest.mark.parametrize(
    ("layer", "values", "expected"),
    [
        (
            function_layer("split", ["x", 0, 0, {"num_or_size_splits": 2}]),
            [],
            ["rows 0 to n//2", "rows n//2 to 2*(n//2)"],
        ),
        (function_layer("split", ["x", 0, 0, {"num_or_size_splits": 2, "axis": 1}]), [], None),
        (
            function_layer("split", ["x", 0, 0, {"num_or_size_splits": [REFERENCE, OTHER], "axis": 0}], (X, S, T)),
            [HALF, N - HALF],
            ["rows 0 to n//2", "rows n//2 to n"],
        ),
        (getitem({"start": None, "stop": REFERENCE, "step": None}, (X, S)), [HALF], ["rows 0 to n//2"]),
        (getitem({"start": REFERENCE, "stop": OTHER, "step": None}, (X, S, T)), [HALF, N], ["rows n//2 to n"]),
        (getitem({"start": OTHER, "stop": REFERENCE, "step": None}, (X, T, S)), [HALF, N], ["rows n//2 to n"]),
        (
            getitem([{"start": 2, "stop": 4, "step": None}, {"start": None, "stop": None, "step": None}]),
            [],
            ["rows 2 to 4"],
        ),
        (getitem([{"start": 2, "stop": 4, "step": None}, {"class_name": "__ellipsis__"}]), [], ["rows 2 to 4"]),
        (getitem([{"start": 2, "stop": 4, "step": None}, {"start": 0, "stop": 2, "step": None}]), [], None),
        (getitem({"start": None, "stop": None, "step": 2}), [], None),
        (getitem({"start": None, "stop": None, "step": -1}), [], None),
        (getitem(0), [], None),
        (
            function_layer(
                "compat.v1.gather", ["x", 0, 0, {"indices": REFERENCE, "axis": None, "batch_dims": 0}], (X, S)
            ),
            [Range(Size.constant(0), HALF)],
            ["rows 0 to n//2"],
        ),
        (
            function_layer("slice", ["x", 0, 0, {"begin": REFERENCE, "size": OTHER}], (X, S, T)),
            [Vector((HALF,), Tail(X, 1, 0)), Vector((HALF,), Tail(X, 1))],
            ["rows n//2 to 2*(n//2)"],
        ),
        (
            function_layer("slice", ["x", 0, 0, {"begin": REFERENCE, "size": OTHER}], (X, S, T)),
            [Vector((HALF,), Tail(X, 1, 0)), Vector((HALF,), Tail(A, 1))],
            None,
        ),
        (
            function_layer("strided_slice", ["x", 0, 0, {"begin": [0], "end": [REFERENCE]}], (X, S)),
            [HALF],
            ["rows 0 to n//2"],
        ),
        (function_layer("reverse", ["x", 0, 0, {"axis": [0]}]), [], None),
        (function_layer("random.shuffle", ["x", 0, 0, {}]), [], None),
        (function_layer(None, ["x", 0, 0, {}]), [], None),
        (function_layer("split", None), [], None),
    ],
)
def test_functions_of_tensorflow_2_4(layer, values, expected):
    found = evaluate(layer, layer.calls[0], [Tensor(X)] + values)
    if expected is None:
        assert isinstance(found[0], Unknown)
    else:
        assert [describe(value) for value in found] == expected


@pytest.mark.parametrize(
    ("function", "node", "inputs", "values", "expected"),
    [
        ("compat.v1.shape", ["x", 0, 0, {"name": None, "out_type": "int32"}], [X], [], Vector((N,), Tail(X, 1))),
        ("compat.v1.floor_div", ["x", 0, 0, {"y": 2, "name": None}], [X], [N], HALF),
        ("math.multiply", ["_CONSTANT_VALUE", -1, 3, {"y": REFERENCE, "name": None}], [S], [HALF], HALF.times(3)),
        ("math.subtract", ["x", 0, 0, {"y": REFERENCE, "name": None}], [X, S], [N, HALF], N - HALF),
        ("__operators__.add", ["x", 0, 0, {"y": 1, "name": None}], [X], [N], N + Size.constant(1)),
        ("math.truediv", ["x", 0, 0, {"y": 2}], [X], [N], Ratio(N, 2)),
        ("cast", ["x", 0, 0, {"dtype": "int32"}], [X], [Ratio(N, 2)], HALF),
        (
            "range",
            ["_CONSTANT_VALUE", -1, 0, {"limit": REFERENCE}],
            [S],
            [HALF],
            Range(Size.constant(0), HALF),
        ),
        (
            "concat",
            [["a", 0, 0, {"axis": 0}], ["a", 1, 0, {"axis": 0}]],
            [A, B],
            [Tensor(A), Tensor(B)],
            Joined((Tensor(A), Tensor(B))),
        ),
        ("math.add_n", [["a", 0, 0, {}], ["a", 1, 0, {}]], [A, B], [], Sum((Tensor(A), Tensor(B)))),
        ("math.reduce_mean", ["a", 0, 0, {}], [A], [], Scalar()),
    ],
)
def test_functions_on_numbers(function, node, inputs, values, expected):
    layer = function_layer(function, node, inputs)
    assert evaluate(layer, layer.calls[0], values or [Tensor(key) for key in inputs]) == (expected,)


def keras_tensor(name, call=0, shape=(8, 6)):
    history = {"shape": list(shape), "dtype": "float32", "keras_history": [name, call, 0]}
    return {"class_name": "__keras_tensor__", "config": history}


def keras_3(class_name, args, settings_=None, inputs=(X,)):
    entry = {"module": "keras.src.ops.numpy", "class_name": class_name}
    return Layer(
        "o",
        class_name,
        dict(settings_ or {}, name="o"),
        (call_of({"args": args, "kwargs": {}}, inputs),),
        None,
        entry,
    )


def piece(start, stop, step=None):
    return {"class_name": "__slice__", "config": {"start": start, "stop": stop, "step": step}}


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (
            keras_3("Split", [keras_tensor("x")], {"indices_or_sections": 2, "axis": 0}),
            ["rows 0 to n//2", "rows n//2 to 2*(n//2)"],
        ),
        (
            keras_3("Split", [keras_tensor("x")], {"indices_or_sections": [2, 5], "axis": 0}),
            ["rows 0 to 2", "rows 2 to 5", "rows 5 to n"],
        ),
        (keras_3("Split", [keras_tensor("x")], {"indices_or_sections": 2, "axis": -1}), None),
        (keras_3("GetItem", [keras_tensor("x"), [piece(4, 8), piece(None, None)]]), ["rows 4 to 8"]),
        (
            keras_3("GetItem", [keras_tensor("x"), [piece(4, 8), {"class_name": "__ellipsis__", "config": {}}]]),
            ["rows 4 to 8"],
        ),
        (keras_3("GetItem", [keras_tensor("x"), [piece(4, 8), piece(1, None)]]), None),
        (keras_3("GetItem", [keras_tensor("x"), [piece(4, 8, 2), piece(None, None)]]), None),
        (keras_3("GetItem", [keras_tensor("x"), 0]), None),
        (keras_3("Slice", [keras_tensor("x"), [4, 0]], {"shape": [4, 6]}), ["rows 4 to 8"]),
        (keras_3("Slice", [keras_tensor("x"), [4, 0]], {"shape": [4, 5]}), None),
        (keras_3("Slice", [keras_tensor("x"), [4, 1]], {"shape": [4, 6]}), None),
        (keras_3("Flip", [keras_tensor("x")], {"axis": 0}), None),
    ],
)
def test_operations_of_keras_3(layer, expected):
    found = evaluate(layer, layer.calls[0], [Tensor(X)])
    if expected is None:
        assert isinstance(found[0], Unknown)
    else:
        assert [describe(value) for value in found] == expected


def test_joins_of_keras_3():
    args = [[keras_tensor("a"), keras_tensor("a", 1)]]
    both = (Tensor(A), Tensor(B))
    layer = keras_3("Concatenate", args, {"axis": 0}, (A, B))
    assert evaluate(layer, layer.calls[0], both) == (Joined(both),)
    layer = keras_3("Concatenate", args, {"axis": -1}, (A, B))
    assert isinstance(evaluate(layer, layer.calls[0], both)[0], Unknown)
    stacked = keras_3("Stack", args, {"axis": 0}, (A, B))
    (stack,) = evaluate(stacked, stacked.calls[0], both)
    mean = keras_3("Mean", [keras_tensor("s")], {"axis": None, "keepdims": False}, (S,))
    assert evaluate(mean, mean.calls[0], [stack]) == (Mean(both, "", True),)
    # a layer of the same name is something else
    assert not is_helper(keras_3("Average", args, {}, (A, B)))


# -- for those who trust


@pytest.mark.parametrize(
    ("arguments", "closure", "expected"),
    [
        ({"i": 0, "parts": 2}, None, (0, 2)),
        ({"n_gpus": 4, "part": 3}, None, (3, 4)),
        ({"part": 1, "ngpus": 2, "dev": "/gpu:1"}, None, (1, 2)),
        ({"i": 1, "parts": 2}, [2], (1, 2)),
        ({"k": 1}, [3], (1, 3)),
        ({}, [0, 1], (0, 1)),
        ({"i": 2, "parts": 2}, None, None),
        ({"i": -1, "parts": 2}, None, None),
        ({"i": True, "parts": 2}, None, None),
        ({"share": 1, "total": 4, "start": 0}, None, None),
        ({"p": 1.5}, None, None),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_numbers_that_look_like_a_slice(arguments, closure, expected):
    layer = lambda_layer("cut_short", arguments=arguments, closure=closure)
    assert looks_like_slice(layer, Call((X,))) == expected
    assert looks_like_slice(layer, Call((A, B))) is None


def test_numbers_of_a_custom_layer():
    layer = Layer("s", "BatchSlice", {"name": "s", "trainable": True, "index": 1, "total": 2})
    assert looks_like_slice(layer, Call((X,))) == (1, 2)
    assert is_helper(layer)
    assert outcome(layer, X) == (Unknown("it is a layer of a class that is not known", "BatchSlice"),)
    for class_name, config in (
        ("Dense", {"units": 3}),
        ("MaxPooling1D", {"pool_length": 2, "stride": 1, "border_mode": "valid"}),
        ("CenterCrop", {"height": 2, "width": 3}),
        ("Conv", {"a": 1, "b": 2, "c": 3}),
    ):
        assert looks_like_slice(Layer("l", class_name, config), Call((X,))) is None
        assert not is_helper(Layer("l", class_name, config))


# -- what can be said of code


def test_code_of():
    assert code_of(lambda_layer("cut_with_shapes", "2.7").config) == (
        "2.7", "cut_with_shapes", ("K", "shape", "concatenate", "slice"),
    )  # fmt: skip
    assert code_of(lambda_layer("cut_short", "3.6").config).version == "3.6 to 3.7"
    assert code_of(lambda_layer("cut_with_shapes", "3.13").config).version == "3.13"
    assert code_of({"function": ["!", None, None]}) == ("unknown", "", ())
    assert code_of({"function": 3}).version == "unknown"
    assert code_of({"function": "relu"}) is None
    assert code_of({}) is None
    assert code_of(None) is None


# -- numbers


def test_size_text():
    third = N // 3
    for size, text in (
        (N, "n"), (third, "n//3"), (third.times(2), "2*(n//3)"), (N - third, "n - n//3"), (N.times(2) // 3, "2*n//3"),
        (N + Size.constant(-1), "n - 1"), (Size.constant(4), "4"), (N - N, "0"),
        ((N + Size.constant(1)) // 2, "n - n//2"),
        ((N + Size.constant(2)) // 3, "f(n) with f(0), f(1), ... = 0, 1, 1, 1, 2, ..."),
    ):  # fmt: skip
        assert str(size) == text


def test_sizes_are_equal_when_they_always_are():
    third, half = N // 3, N // 2
    assert half // 3 == third // 2
    assert half + (N + Size.constant(1)) // 2 == N
    assert N.times(4) // 6 == N.times(2) // 3
    assert (N - N).fixed == 0
    assert half != third
    assert Size.batch(A) != N


def test_sizes_of_two_tensors_do_not_mix():
    with pytest.raises(Undecided, match="two tensors"):
        N + Size.batch(A)
    assert not N.never_above(Size.batch(A))


def test_sizes_are_bounded():
    with pytest.raises(Undecided, match="too large"):
        N.times(1 << 61) + N.times(1 << 61)
    with pytest.raises(Undecided, match="too long a pattern"):
        N // 499 + N // 503
    with pytest.raises(Undecided, match="divides"):
        N // 0


def test_dims():
    tail = Vector((N,), Tail(X, 1))
    assert compute_vector("*", tail, 0) == Vector((0,), Tail(X, 1, 0, 0))
    assert compute_vector("+", tail, 1).tail == Tail(X, 1, 1, 1)
    assert compute("-", 3, Dim(X, 1)) == Dim(X, 1, -1, 3)
    for symbol, left, right in (("//", Dim(X, 1), 2), ("+", Dim(X, 1), Dim(X, 2)), ("*", N, N), ("//", 4, N)):
        with pytest.raises(Undecided):
            compute(symbol, left, right)
    with pytest.raises(Undecided):
        compute_vector("+", tail, tail)
