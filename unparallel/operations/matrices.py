"""Parts of matrices, the last two axes of a tensor: bands and diagonals, picked by a constant of truths.

Nothing is multiplied by 0, so that what is infinite, or no number, stays out where it is not picked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import whole_number
from .cutting import subscript
from .elementwise import tensor
from .reductions import reduce
from .shaping import expand_dims
from .tape import Tape, constant
from .values import UNKNOWN_LENGTH, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def _lengths(shape: Sequence[int | None]) -> tuple[int, int]:
    """Rows and columns."""
    if len(shape) < 2:
        raise Undecided("it treats a tensor as matrices that has not two axes")
    rows, columns = shape[-2:]
    if rows is None or columns is None:
        raise Undecided(UNKNOWN_LENGTH)
    return rows, columns


def _picked(tape: Tape, x: Tensor, mask: Numbers) -> Tensor:
    """0 where the mask is false."""
    shape = x.shape[:-2] + mask.shape
    return tape.op("numpy.Where", [mask, x, 0.0 if x.floating else 0], shape, x.dtype)


def _mask(tape: Tape, rows: int, columns: int, lower: int, upper: int) -> Numbers:
    """Which elements lie in a band: so many diagonals below the main one, and above; less than 0: all of them."""
    tape.spend(rows * columns)
    below = np.subtract.outer(np.arange(rows), np.arange(columns))
    kept = np.ones((rows, columns), bool)
    kept &= True if lower < 0 else below <= lower
    kept &= True if upper < 0 else -below <= upper
    return kept


def band(tape: Tape, x: object, lower: object, upper: object) -> object:
    """`tf.linalg.band_part`."""
    one, other = whole_number(lower, "a number"), whole_number(upper, "a number")
    if isinstance(x, Tensor):
        if x.dtype == "bool":
            raise Undecided("it takes a band of truths")
        return _picked(tape, x, _mask(tape, *_lengths(x.shape), one, other))
    values = np.asarray(cast("Numbers", constant(x)))
    tape.spend(values.size)
    return plain(np.where(_mask(tape, *_lengths(values.shape), one, other), values, values.dtype.type(0)))


def _diagonal(tape: Tape, x: object) -> Tensor:
    """A square of each matrix, with nothing beside its diagonal."""
    x = tensor(x)
    rows, columns = _lengths(x.shape)
    if x.rank < 3:
        raise Undecided("it takes the diagonal across the rows of a batch")
    if x.dtype == "bool":
        raise Undecided("it takes the diagonal of truths")
    least = min(rows, columns)
    square = x if rows == columns else tensor(subscript(tape, x, (Ellipsis, slice(least), slice(least))))
    return _picked(tape, square, _mask(tape, least, least, 0, 0))


def diagonal(tape: Tape, x: object) -> object:
    """`tf.linalg.diag_part`: the main diagonal."""
    found = _diagonal(tape, x)
    return reduce(tape, "numpy.Sum", found, -1, False)


def trace(tape: Tape, x: object) -> object:
    """`tf.linalg.trace`."""
    found = _diagonal(tape, x)
    return reduce(tape, "numpy.Sum", found, [-2, -1], False)


def diagonal_matrix(tape: Tape, x: object) -> object:
    """`tf.linalg.diag`: vectors as diagonals of matrices."""
    x = tensor(x)
    many = x.shape[-1] if x.rank > 1 else None
    if many is None:
        raise Undecided(UNKNOWN_LENGTH)
    if x.dtype == "bool":
        raise Undecided("it makes a diagonal of truths")
    return _picked(tape, tensor(expand_dims(tape, x, -1)), _mask(tape, many, many, 0, 0))


_BAND = "input num_lower num_upper | name"
ROWS: tuple[Row, ...] = (
    # `tf.diag` and `tf.diag_part` of TensorFlow 1 are other functions
    Row("linalg", "band_part", _BAND, band),
    Row("linalg", "diag_part", "input | name", diagonal),
    Row("linalg", "diag", "diagonal | name", diagonal_matrix),
    Row("linalg tf", "trace", "x | name", trace),
    Row("tf", "matrix_band_part", _BAND, band),
    Row("tf", "matrix_diag_part", "input | name", diagonal),
    Row("tf", "matrix_diag", "diagonal | name", diagonal_matrix),
)
