"""A config and what is made of it compute the same rows, whatever the graph: see `fuzz.meaning`."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import meaning

from . import tiny


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(base=st.sampled_from(meaning.BASES), seed=st.integers(0, 2**32))
def test_what_is_written_gives_the_rows_of_what_was_read(base, seed):
    meaning.check(meaning.changed(random.Random(seed), base))


def test_each_model_to_begin_with_is_converted_and_understood():
    assert [meaning.check(base) for base in meaning.BASES] == ["same"] * len(meaning.BASES)


def test_rows_by_hand():
    x, net = tiny.entry("x", 3), tiny.TinyModel("net", (tiny.entry("in", 3), tiny.dense("d", "in")), ("in",), ("d",))
    (rows,) = meaning.meaning(net.config(), 3, 1)
    assert [row[1][2] for row in rows] == [("in", 0, 0), ("in", 0, 1), ("in", 0, 2)]
    wrapped = tiny.parallel(net, 2)
    assert meaning.meaning(wrapped.config(), 3, 1) == [rows]
    # the parts the other way round
    swapped = wrapped._replace(
        layers=(*wrapped.layers[:-1], tiny.merge("d", [("net", 0, 1), ("net", 0, 0)])),
    )
    assert meaning.meaning(swapped.config(), 3, 1) == [[rows[1], rows[2], rows[0]]]
    # one part twice, and a layer that is not there
    assert meaning.meaning(tiny.TinyModel("m", (x,), ("x",), ("nowhere",)).config(), 3, 1) is None


@pytest.mark.parametrize("wrong", ["first_outputs", "order"])
def test_a_wrong_result_is_seen(monkeypatch, wrong):
    from unparallel import extract

    if wrong == "first_outputs":  # as if the template's outputs were the model's
        monkeypatch.setattr(extract, "_in_order", lambda wanted, there: list(range(len(there))))
    else:  # as if parts could be joined in any order
        from unparallel import match

        monkeypatch.setattr(match.slices, "check_partition", lambda rows, *more: "")
    with pytest.raises(AssertionError, match="seed"):
        meaning.run(3000)
