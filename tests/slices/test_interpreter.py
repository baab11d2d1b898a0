"""Blocks, budgets and what a call may change: where a proof must not go on."""

import base64
import json
import marshal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from unparallel import plan
from unparallel.match import find
from unparallel.model import Call, Layer, TensorKey, Topology
from unparallel.slices import Context, Rows, Tensor, Unknown, evaluate
from unparallel.slices.domain import RowDomain
from unparallel.slices.instructions import _Decoder, readings
from unparallel.slices.interpreter import Budget, Function, Machine
from unparallel.slices.marshal import read_text
from unparallel.slices.opcodes import VERSIONS
from unparallel.slices.sizes import Undecided

DATA = json.loads((Path(__file__).parent / "data" / "bytecode.json").read_text())
X = TensorKey("x", 0, 0)


def routine_of(name, version):
    return readings(read_text(DATA["code"][version][name])[0])[version]


def walk(routine, **arguments):
    return Machine(RowDomain(), Budget()).call(Function(routine), [Tensor(X)], arguments)


def layer_of(function, version="3.7", name="l", **arguments):
    config = {"name": name, "function": [DATA["code"][version][function], None, None], "arguments": arguments}
    return Layer(name, "Lambda", config, (Call((X,)),))


# -- blocks


@pytest.mark.parametrize("version", ["2.7", "3.4", "3.5", "3.7", "3.8", "3.10"])
def test_a_block_whose_handler_is_no_clean_up(version):
    routine = routine_of("cut_in_scope", version)
    assert isinstance(walk(routine, k=0, of=2), Rows)
    moved = [it._replace(target=0) if it.op == "SETUP_WITH" else it for it in routine.instructions]
    with pytest.raises(Undecided, match="it handles exceptions"):
        walk(replace(routine, instructions=tuple(moved)), k=0, of=2)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_handler_that_asks_something_else_than_the_scope(version):
    routine = routine_of("cut_in_scope", version)
    assert routine.guards
    assert isinstance(walk(routine, k=0, of=2), Rows)
    lower = {index: max(0, depth - 1) for index, depth in routine.guards.items()}
    with pytest.raises(Undecided, match="it handles exceptions"):
        walk(replace(routine, guards=lower), k=0, of=2)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_handler_that_goes_on(version):
    assert routine_of("caught", version).catches
    assert not routine_of("cut_in_scope", version).catches


# -- budgets


def test_one_budget_for_all_functions():
    context = Context(Budget(25_000))
    endless = [layer_of("endless", k=k, of=1) for k in range(4)]
    reasons = [evaluate(layer, layer.calls[0], [Tensor(X)], context)[0].reason for layer in endless]
    assert reasons[:2] == ["it takes more than 10000 steps"] * 2
    assert reasons[2:] == ["the functions in this file take more than 25000 steps together"] * 2
    (late,) = evaluate(layer_of("cut_with_shapes", which=0, of=2), Call((X,)), [Tensor(X)], context)
    assert isinstance(late, Unknown)
    assert late.reason == reasons[2]


def test_code_that_was_read_before_costs_nothing():
    context = Context()
    layer = layer_of("cut_with_shapes", which=0, of=2)
    spent = []
    for _ in range(3):
        evaluate(layer, layer.calls[0], [Tensor(X)], context)
        spent.append(context.budget.spent)
    assert spent[1] - spent[0] == spent[2] - spent[1] == spent[0] - len(DATA["code"]["3.7"]["cut_with_shapes"])


def wrapper_of_endless(count):
    batch = Layer("x", "InputLayer", {"name": "x", "batch_input_shape": [None, 4]}, (Call(()),))
    loops = [layer_of("endless", name=f"l{k}", k=k, of=count) for k in range(count)]
    parts = tuple(TensorKey(layer.name, 0, 0) for layer in loops)
    join = Layer("join", "Concatenate", {"name": "join", "axis": 0}, (Call(parts),))
    return Topology("m", "Model", (batch, *loops, join), (X,), (TensorKey("join", 0, 0),))


def test_thousands_of_loops_without_end_take_one_budget():
    context = Context(Budget(30_000))
    found = find(wrapper_of_endless(1000), context=context)
    assert not found.matches
    assert found.near_misses
    # what is refused costs a step at most
    assert context.budget.spent < 35_000


def test_nested_models_share_the_budget(monkeypatch):
    made = []
    monkeypatch.setattr(plan, "Context", lambda: made.append(Context(Budget(30_000))) or made[-1])
    inner = wrapper_of_endless(3)
    nested = Layer("n", "Model", {"name": "n"}, (Call((X,)),), inner)
    outer = wrapper_of_endless(3)
    chain = {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": {"name": "d"}}]}
    wrapping = Layer("t", "TimeDistributed", {"name": "t", "layer": chain}, (Call((X,)),))
    plan.clean_topology(replace(outer, layers=outer.layers[:1] + (nested, wrapping) + outer.layers[1:]))
    assert len(made) == 1
    assert made[0].budget.spent > 30_000


def test_code_that_is_referred_to_many_times_is_read_once(monkeypatch):
    code = read_text(DATA["code"]["3.7"]["cut_inner_function"])[0]
    inner = read_text(DATA["code"]["3.7"]["cut_with_shapes"])[0]
    count = []
    read = _Decoder._read
    monkeypatch.setattr(_Decoder, "_read", lambda self, code: count.append(code) or read(self, code))
    assert list(readings(replace(code, consts=code.consts + (inner,) * 5000))) == ["3.7"]
    assert len(count) <= 3 * len(VERSIONS)


def compiled(body):
    """A Lambda of the running Python."""
    space = {}
    exec(compile("def f(x):\n    a = ()\n    " + body.replace("\n", "\n    "), "slices.py", "exec"), space)
    config = {"function": [base64.b64encode(marshal.dumps(space["f"].__code__)).decode("ascii"), None, None]}
    return Layer("l", "Lambda", config, (Call((X,)),))


NESTED = "for i in range(900):\n    a = (a, a)\n"


@pytest.mark.skipif("{}.{}".format(*sys.version_info[:2]) not in VERSIONS, reason="no table for this Python")
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "body",
    [
        # tuples that hold 2 ** 900 others, or lie 900 deep
        NESTED + "foo(a)\nreturn x[:4] if a == (a, a) else a",
        NESTED + "foo(a)\nreturn x[a]",
        NESTED + "return K.mean(x, axis=a, keepdims=a)",
        NESTED + "return tf.concat(a, a)",
        NESTED + "with tf.name_scope(a):\n    return a",
        "while True:\n    a = (a,)\n    foo(a)",
        "a = []\na.append(a)\nfoo((a,))\nreturn a",
        # work that no loop is needed for
        "while True:\n    b = ([0] * 3000)[:]",
        "n = tf.shape(x)[0]\nx = x[n // 509:]\nwhile True:\n    x = x[1:]",
        "a = slice(1)\nwhile True:\n    a = slice(a, a, a)",
        "while True:\n    a = list(zip([x] * 2000, [x] * 2000))",
        "a = 3\nwhile True:\n    a = a * a",
        "a = 'a'\nwhile True:\n    a = a + a",
        "while True:\n    a = (a, list(range(4000)))",
    ],
)
def test_values_that_grow_end_in_an_answer(body):
    context = Context()
    layer = compiled(body)
    (found,) = evaluate(layer, layer.calls[0], [Tensor(X)], context)
    assert isinstance(found, Unknown)
    assert context.budget.spent < 16_000


@pytest.mark.skipif("{}.{}".format(*sys.version_info[:2]) not in VERSIONS, reason="no table for this Python")
@pytest.mark.parametrize("body", ["a[:]\na[:]\na[:]", "len(a)\nlen(a)\nlen(a)"])
def test_long_lists_count_for_what_they_are(body):
    layer = compiled("a = [0] * 3000\n" + body + "\nreturn x")
    assert evaluate(layer, layer.calls[0], [Tensor(X)])[0].reason == "it takes more than 10000 steps"


# -- shapes in the file


def wrapper_of_columns(columns):
    """Two replicas of a nested model, their slices written for samples of so many columns."""
    batch = Layer("x", "InputLayer", {"name": "x", "batch_input_shape": [None, 4]}, (Call(()),))
    cuts = [layer_of("cut_columns", name=f"l{k}", k=k, of=2, columns=columns) for k in range(2)]
    source = Layer("source", "InputLayer", {"name": "source", "batch_input_shape": [None, 4]}, (Call(()),))
    inner = Topology("core", "Model", (source,), (TensorKey("source", 0, 0),), (TensorKey("source", 0, 0),))
    calls = tuple(Call((TensorKey(cut.name, 0, 0),)) for cut in cuts)
    core = Layer("core", "Model", {"name": "core"}, calls, inner)
    join = Layer(
        "join", "Concatenate", {"name": "join", "axis": 0}, (Call((TensorKey("core", 0, 0), TensorKey("core", 1, 0))),)
    )
    return Topology("m", "Model", (batch, *cuts, core, join), (X,), (TensorKey("join", 0, 0),))


def test_the_shape_of_the_input_layer_counts_where_no_other_model_calls_this_one():
    assert len(find(wrapper_of_columns(4), outermost=True).matches) == 1
    assert not find(wrapper_of_columns(3), outermost=True).matches
    # a model inside another may be called on larger samples than its InputLayer says
    assert not find(wrapper_of_columns(4)).matches


# -- versions


def test_versions_that_mean_the_same_are_walked_once():
    found = readings(read_text(DATA["code"]["3.8"]["cut_last_takes_rest"])[0])
    assert list(found) == ["3.8", "3.9"]
    assert found["3.8"] is found["3.9"]
