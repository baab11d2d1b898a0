"""What is done to an array's numbers on the way into an archive: a table of steps, each with the shape it gives.

A step is applied to whole arrays, one array of the archive at a time, and is exact or rounds once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple, Sequence, Tuple

import numpy as np

from ..errors import Keras3Error
from ..model import WeightRef, element_count
from .values import Array, Step

if TYPE_CHECKING:
    from ..arrays import Numbers

Shape = Tuple[int, ...]
# A constant kernel that lists the patches of a LocallyConnected layer is the square of a patch.
MOST_CONSTANT = 2**25


class Row(NamedTuple):
    """A step: what it does to the arrays that it gets, and to their shapes."""

    apply: Callable[..., Numbers]
    shape: Callable[..., Shape]


def _times_blocks(values: Numbers, factor: float, count: int, wanted: tuple[int, ...]) -> Numbers:
    """Some of the equal blocks of the last axis, such as the gates of a recurrent layer, times a factor."""
    factors = np.ones(count, values.dtype)
    factors[list(wanted)] = factor
    scaled: Numbers = values * np.repeat(factors, values.shape[-1] // count)
    return scaled


def _gates(values: Numbers, count: int, change: Callable[[Numbers], Numbers]) -> Numbers:
    return np.concatenate([change(block) for block in np.split(values, count, axis=-1)], axis=-1)


def _patches(axes: Shape, channels: int) -> Numbers:
    """A kernel that lists a patch: output k is element k of the patch, as LocallyConnected orders them."""
    size = element_count(axes) * channels
    return np.eye(size, dtype="float32").reshape(axes + (channels, size))


def _joined_shape(shapes: Sequence[Shape], axis: int) -> Shape:
    first = list(shapes[0])
    first[axis] = sum(shape[axis] for shape in shapes)
    return tuple(first)


def _same(shapes: Sequence[Shape], *_: object) -> Shape:
    return shapes[0]


STEPS: dict[str, Row] = {
    "times": Row(lambda arrays, factor: arrays[0] * arrays[0].dtype.type(factor), _same),
    "times_blocks": Row(lambda arrays, *how: _times_blocks(arrays[0], *how), _same),
    "join": Row(lambda arrays, axis: np.concatenate(arrays, axis=axis), _joined_shape),
    "transpose": Row(
        lambda arrays, axes: arrays[0].transpose(axes), lambda shapes, axes: tuple(shapes[0][i] for i in axes)
    ),
    "reshape": Row(lambda arrays, shape: arrays[0].reshape(shape), lambda shapes, shape: tuple(shape)),
    "reverse": Row(lambda arrays, axes: np.flip(arrays[0], axes), _same),
    "plus": Row(lambda arrays, number: arrays[0] + arrays[0].dtype.type(number), _same),
    # where the right part of a SReLU begins, negative: -(t_left + |t_right|), `SReLU.call` of Keras 1.2.2
    "right_end": Row(lambda arrays: -(arrays[0] + np.abs(arrays[1])), _same),
    # cuDNN keeps each gate's matrices transposed, and the input's ones in the other memory order
    "cudnn_kernel": Row(
        lambda arrays, count: _gates(arrays[0], count, lambda k: k.T.reshape(k.shape, order="F")), _same
    ),
    "cudnn_recurrent": Row(lambda arrays, count: _gates(arrays[0], count, lambda k: k.T), _same),
    "sum_halves": Row(
        lambda arrays: np.add(*np.split(arrays[0], 2)), lambda shapes: (shapes[0][0] // 2,) + shapes[0][1:]
    ),
    "full": Row(lambda arrays, shape, value: np.full(shape, value, "float32"), lambda shapes, shape, value: shape),
    "integer": Row(lambda arrays, more: arrays[0].astype("int64") + more, _same),
    "integers": Row(lambda arrays, value: np.array(value, "int64"), lambda shapes, value: ()),
    "patches": Row(
        lambda arrays, axes, channels: _patches(axes, channels),
        lambda shapes, axes, channels: axes + (channels, element_count(axes) * channels),
    ),
}


def whole(ref: WeightRef) -> Array:
    """A weight as it is."""
    return Array((ref,), (), ref.shape, ref.dtype)


def constant(name: str, *arguments: object) -> Array:
    """An array that comes from no file: "full" or "patches"."""
    step = Step(name, arguments)
    shape = STEPS[name].shape((), *arguments)
    if name == "patches" and element_count(shape) > MOST_CONSTANT:
        raise Keras3Error(f"a constant kernel of shape {shape} would be needed", "write the .h5 instead")
    return Array((), (step,), shape, "int64" if name == "integers" else "float32")


def changed(array: Array, name: str, *arguments: object) -> Array:
    """An array after one more step."""
    shape = STEPS[name].shape((array.shape,), *arguments)
    if element_count(shape) != element_count(array.shape) and name != "sum_halves":
        raise Keras3Error(f"weight {_names(array)} has the unexpected shape {array.shape}", "the file is damaged")
    dtype = "int64" if name == "integer" else array.dtype
    return Array(array.sources, array.steps + (Step(name, arguments),), shape, dtype)


def joined(arrays: Sequence[Array], name: str, *arguments: object) -> Array:
    """Several weights in one; each must be as the file has it, or changed by one and the same steps before."""
    first = arrays[0]
    if any(len(array.sources) != 1 or array.steps != first.steps for array in arrays):
        raise ValueError("only like weights can be joined")
    if any(len(array.shape) != len(first.shape) for array in arrays):
        raise Keras3Error(f"weights {_names(first)}, ... do not fit together", "the file is damaged")
    shape = STEPS[name].shape([array.shape for array in arrays], *arguments)
    sources = tuple(array.sources[0] for array in arrays)
    return Array(sources, first.steps + (Step(name, arguments),), shape, first.dtype)


def evaluate(array: Array, values: list[Numbers]) -> Numbers:
    """The numbers of an array, from those of its sources.

    Steps before one that joins are applied to each source.
    """
    for step in array.steps:
        row = STEPS[step.name]
        if step.name in JOINING or not values:
            values = [row.apply(values, *step.arguments)]
        else:
            values = [row.apply([value], *step.arguments) for value in values]
    return np.ascontiguousarray(values[0]).reshape(array.shape)


JOINING = frozenset(["join", "right_end"])


def _names(array: Array) -> str:
    return ", ".join(ref.name for ref in array.sources)
