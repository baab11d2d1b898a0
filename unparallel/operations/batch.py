"""A constant once for each row of a batch, whose size no file says: zeros that have it, and the constant added."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..slices.sizes import Undecided
from .elementwise import apply, cast_to, compared, together
from .tape import Tape
from .values import UNKNOWN_LENGTH, Length, Tensor

if TYPE_CHECKING:
    from ..arrays import Numbers

_KINDS = {"i": "int32", "u": "int32"}


def for_each_row(tape: Tape, batch: object, values: Numbers) -> Tensor:
    """Numbers whose first axis has length 1, as a tensor of as many rows as `batch` stands for.

    Raises
    ------
    Undecided
        If `batch` is no length of a first axis.
    """
    if not isinstance(batch, Length) or batch.axis != 0 or values.dtype.kind not in "iuf":
        raise Undecided(UNKNOWN_LENGTH)
    kind = _KINDS.get(values.dtype.kind, tape.environment.float_type)
    first = _numbers(tape, batch.source)
    # nothing is less than itself, be it infinite or no number
    zeros = cast(Tensor, cast_to(tape, compared(tape, "<", first, first), kind))
    if values.ndim > 1:
        place = [slice(None)] + [None] * (values.ndim - 1)
        zeros = tape.op("numpy.GetItem", [zeros, place], zeros.shape + (1,) * (values.ndim - 1), kind)
    return together(tape, "numpy.Add", zeros, values, kind)


def _numbers(tape: Tape, x: Tensor) -> Tensor:
    """One number of each row."""
    x = x if x.dtype != "bool" else apply(tape, "core.Cast", x, "int32", dtype="int32")
    if x.rank == 1:
        return x
    return tape.op("numpy.GetItem", [x, [slice(None)] + [0] * (x.rank - 1)], x.shape[:1], x.dtype)
