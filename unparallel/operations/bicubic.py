"""Bicubic resizing as two matrices of numbers, one for each axis.

TensorFlow takes its weights from a table of 1024 steps.  `resize_bicubic` of TensorFlow 1 repeats the pixels at the
border, with a = -0.75; by the pixels' centres, as in TensorFlow 2, what lies outside counts for nothing and the others
for more, with a = -0.5 (`core/kernels/resize_bicubic_op.cc`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..arrays import Numbers

_STEPS = 1024


def _weights(place: Numbers, a: float) -> Numbers:
    """Of the four pixels around each place, by how far it lies behind the second."""
    x = np.rint(place * _STEPS) / _STEPS
    near, far = np.stack([x, 1 - x]), np.stack([x + 1, 2 - x])
    inner = ((a + 2) * near - (a + 3)) * near * near + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    made: Numbers = np.stack([outer[0], inner[0], inner[1], outer[1]], 1)
    return made


def matrix(old: int, new: int, align: bool, centres: bool) -> Numbers:
    """What each pixel of the output takes of each pixel of the input.

    Parameters
    ----------
    old, new : int
        Pixels before, and after.
    align : bool
        Whether the corners stay where they are.
    centres : bool
        Whether pixels are places in their middle.
    """
    step = np.float32((old - 1) / (new - 1) if align and new > 1 else old / new)
    at = np.arange(new).astype("float32")
    places = ((at + np.float32(0.5)) * step - np.float32(0.5)) if centres else at * step
    low = np.floor(places)
    weights = _weights(places - low, -0.5 if centres else -0.75)
    pixels = low.astype("int64")[:, None] + np.arange(-1, 3)
    if centres:
        weights = np.where((pixels >= 0) & (pixels < old), weights, 0.0)
        weights = weights / weights.sum(1, keepdims=True)
    made: Numbers = np.zeros((new, old), "float32")
    np.add.at(made, (np.arange(new)[:, None], np.clip(pixels, 0, old - 1)), weights)
    return made
