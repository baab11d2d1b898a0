"""The table of built-in layers agrees with itself; `tests/live/` compares it with real Keras."""

import pytest

from unparallel.weights.table import ROLES, ROWS, WEIGHTLESS


def test_no_class_is_in_both_halves_of_the_table():
    assert not WEIGHTLESS & set(ROWS)


@pytest.mark.parametrize("dialect", [{}, {"init": "uniform"}, {"init": "uniform", "consume_less": "gpu"}])
@pytest.mark.parametrize("class_name", sorted(ROWS))
def test_every_role_is_a_known_word(class_name, dialect):
    spec = ROWS[class_name](dialect)
    assert {slot.role for slot in spec.trainable + spec.rest} <= ROLES
