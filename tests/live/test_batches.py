import itertools
import pickle
from collections import namedtuple

import numpy as np
import pytest

from unparallel import full_batches


def pairs(rows, size):
    x = np.arange(rows * 2.0).reshape(rows, 2)
    return [(x[i : i + size], np.arange(rows)[i : i + size]) for i in range(0, rows, size)]


def labels(batches):
    return [batch[1].tolist() for batch in batches]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("drop", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("repeat", [[0, 1, 2, 3], [4, 5, 6, 7], [8, 8, 8, 8]]),
    ],
)
def test_the_two_remedies(mode, wanted):
    # a list can be had again and again, an iterator once
    again = full_batches(pairs(9, 4), 4, 2, mode)
    assert labels(again) == labels(again) == wanted
    once = full_batches(iter(pairs(9, 4)), 4, 2, mode)
    assert next(once)[1].tolist() == wanted[0]
    assert labels(once) == wanted[1:]


def test_full_batches_are_handed_on_as_they_are():
    given = pairs(8, 4)
    assert all(new[0] is old[0] for new, old in zip(full_batches(given, 4, 4), given))


def test_what_is_iterated_over_anew():
    class Again:
        def __iter__(self):
            return iter(pairs(6, 4))

    batches = full_batches(Again(), 4, 2, "repeat")
    assert labels(batches) == labels(batches) == [[0, 1, 2, 3], [4, 5, 4, 5]]


def test_batches_of_every_make():
    Pair = namedtuple("Pair", "x y")
    short = {"a": np.arange(3), "b": [np.arange(3), None], "c": Pair(np.arange(3), (np.arange(3),))}
    (batch,) = full_batches(iter([short]), 8, 4, "repeat")
    assert batch["a"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert type(batch["c"]) is Pair
    assert batch["b"][1] is None
    assert type(batch["b"]) is list


def test_a_batch_without_rows_is_left_out():
    empty = [(np.zeros((0, 2)), np.zeros(0))]
    assert list(full_batches(iter(empty), 4, 2, "repeat")) == []
    assert len(full_batches(empty, 4, 2, "repeat")) == 0
    assert list(full_batches([], 4, 2)) == []


@pytest.mark.parametrize(("size", "replicas"), [(5, 2), (0, 2), (4, 0), (-4, 2), (2, 4)])
def test_a_size_that_does_not_divide(size, replicas):
    with pytest.raises(ValueError, match="no multiple of the"):
        full_batches([], size, replicas)


def test_other_errors():
    with pytest.raises(ValueError, match="mode is 'fill'"):
        full_batches([], 4, 2, "fill")
    with pytest.raises(ValueError, match="5 rows, more than batch_size=4"):
        list(full_batches(iter(pairs(5, 5)), 4, 2))
    with pytest.raises(ValueError, match="arrays of 2 and 3 rows"):
        list(full_batches(iter([(np.zeros(2), np.zeros(3))]), 4, 2))
    with pytest.raises(ValueError, match="holds 7, which has no rows"):  # a list is one of arrays, as Keras has it
        list(full_batches(iter([[7, 8, 9]]), 4, 2))
    with pytest.raises(ValueError, match="101 batches in a row have fewer"):
        next(full_batches(itertools.repeat(pairs(3, 3)[0]), 4, 2))
    with pytest.raises(ValueError, match="arrays of no rows"):
        list(full_batches(iter([None]), 4, 2))


# -- sequences


class Sequence:
    """Stands for keras.utils.Sequence."""

    def on_epoch_end(self):
        pass


Sequence.__module__ = "keras.utils"


class Data(Sequence):
    def __init__(self, batches):
        self.batches = batches
        self.epochs = 0

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]

    def on_epoch_end(self):
        self.epochs += 1
        self.batches = self.batches[1:]


def test_a_sequence_is_one_of_the_same_keras():
    data = Data(pairs(9, 4))
    full = full_batches(data, 4, 2)
    assert isinstance(full, Sequence)
    assert not isinstance(full_batches(pairs(9, 4), 4, 2), Sequence)
    assert (len(full), labels(full)) == (2, [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert full[-1][1].tolist() == [4, 5, 6, 7]
    with pytest.raises(IndexError):
        full[2]
    full.on_epoch_end()
    assert (data.epochs, len(full), labels(full)) == (1, 1, [[4, 5, 6, 7]])


def test_a_sequence_that_is_filled_up():
    full = full_batches(Data(pairs(9, 4)), 4, 2, "repeat")
    assert len(full) == 3
    assert full[2][1].tolist() == [8, 8, 8, 8]
    assert full[2][0].shape == (4, 2)


def test_a_short_batch_in_the_middle():
    batches = pairs(9, 4)[::-1]
    with pytest.raises(ValueError, match="batch 0 has 1 rows of 4, and is not the last"):
        labels(full_batches(Data(batches), 4, 2))
    assert labels(full_batches(Data(batches), 4, 2, "repeat")) == [[8, 8, 8, 8], [4, 5, 6, 7], [0, 1, 2, 3]]


def test_a_sequence_goes_to_other_processes():
    full = pickle.loads(pickle.dumps(full_batches(Data(pairs(9, 4)), 4, 2, "repeat")))
    assert labels(full)[-1] == [8, 8, 8, 8]
    assert isinstance(full, Sequence)


def test_no_replica_is_left_without_rows():
    """What it is all for: the parts that `multi_gpu_model` cuts are never empty."""
    for rows in range(1, 40):
        for replicas in (2, 3, 4):
            for mode in ("drop", "repeat"):
                for _, batch in full_batches(pairs(rows, replicas * 2), replicas * 2, replicas, mode):
                    assert len(batch) // replicas == 2
