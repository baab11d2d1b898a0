"""The order in which the optimizers of tf.keras list what they keep, as data.

`optimizer_weights` of an HDF5 file is `optimizer.weights`: the step, then the slots in the order of their making.
Source: `_create_slots` of tensorflow/python/keras/optimizer_v2/*.py, the same in TensorFlow 1.15 to 2.3.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence


class Row(NamedTuple):
    """What an optimizer keeps.

    Attributes
    ----------
    slots : tuple of tuple of str
        Slots in the order of their making; those in one tuple are made variable by variable, one beside the other.
    own : tuple of str
        Values that belong to no variable, after the step.
    """

    slots: tuple[tuple[str, ...], ...]
    own: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    "SGD": Row((("momentum",),)),
    "Adam": Row((("m",), ("v",), ("vhat",))),
    "NonFusedAdam": Row((("m",), ("v",), ("vhat",))),
    "Adamax": Row((("m",), ("v",))),
    "Nadam": Row((("m",), ("v",)), ("momentum_cache",)),
    "Adagrad": Row((("accumulator",),)),
    "Adadelta": Row((("accum_grad",), ("accum_var",))),
    "RMSprop": Row((("rms",), ("momentum",), ("mg",))),
    "Ftrl": Row((("accumulator", "linear"),)),
}
STEP = "iter"


def ordered(
    class_name: str, slots: Mapping[tuple[int, str], int], own: Mapping[str, int], trained: Sequence[int]
) -> list[int] | None:
    """The numbers of all that an optimizer keeps, in its order.

    Parameters
    ----------
    class_name : str
        Of the optimizer.
    slots : mapping of (int, str) to int
        The value for each variable and slot.
    own : mapping of str to int
        Its own values by name, hyperparameters among them.
    trained : sequence of int
        The model's trainable variables in order.

    Returns
    -------
    list of int, or None
        None where the class is not known, or something is left over that has no place.
    """
    row = ROWS.get(class_name)
    if row is None:
        return None
    names = [name for name in (STEP, *row.own) if name in own]
    found = [own[name] for name in names] + list(_slots(row, slots, trained))
    return found if len(found) == len(names) + len(slots) else None


def _slots(row: Row, slots: Mapping[tuple[int, str], int], trained: Sequence[int]) -> Iterator[int]:
    for together in row.slots:
        for variable in trained:
            for name in together:
                if (variable, name) in slots:  # what no gradient reaches has none
                    yield slots[variable, name]
