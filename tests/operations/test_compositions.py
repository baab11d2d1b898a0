"""Random compositions of the table's functions: what is recorded of their bytecode gives what their source gives."""

import math

import numpy as np
from hypothesis import given

from unparallel.operations.record import record
from unparallel.operations.values import Environment

from . import old_backend
from .compositions import compositions
from .followed import gives, saved, tensors

SPACE = {"K": old_backend.K, "tf": old_backend.tf, "np": np, "math": math}
BATCH = 4


def arrays(shapes, seed=0):
    """A batch for each shape: some numbers are 0, and one row is so small that each epsilon tells."""
    draw = np.random.RandomState(seed)
    found = [draw.normal(size=(BATCH, *shape)) * draw.binomial(1, 0.9, (BATCH, *shape)) for shape in shapes]
    for array in found:
        array[-1] *= 1e-7
    return found


def given_by(source, values):
    """What the source gives, as a list of arrays."""
    space = dict(SPACE)
    exec(source, space)
    with np.errstate(all="ignore"):
        found = space["f"](values if len(values) > 1 else values[0])
    return [np.asarray(item) for item in (found if isinstance(found, (list, tuple)) else [found])]


def difference(wanted, found):
    """The largest difference, beside the size of the number; inf where shapes differ, or what is finite."""
    if len(wanted) != len(found) or any(a.shape != np.shape(b) for a, b in zip(wanted, found)):
        return math.inf
    if any(not np.array_equal(np.isfinite(a), np.isfinite(b)) for a, b in zip(wanted, found)):
        return math.inf
    with np.errstate(all="ignore"):
        apart = [np.nan_to_num(np.abs(a - b) / (1 + np.abs(a))) for a, b in zip(wanted, found)]
    return max(float(np.max(item)) for item in apart)


def check(composition, seed=0):
    """Record and evaluate one; what differs is an error."""
    inputs = tensors(*[(None, *shape) for shape in composition.shapes])
    recorded = record(saved(composition.source), inputs, {}, Environment())
    values = arrays(composition.shapes, seed)
    found = gives(recorded, *values)
    found = list(found) if recorded.as_list else [found]
    wanted = given_by(composition.source, values)
    assert difference(wanted, found) < 1e-6, "\n".join([composition.source, *recorded.lines()])


@given(compositions())
def test_what_is_recorded_gives_what_the_source_gives(composition):
    check(composition)
