"""Convolutions with kernels of constants: blurs, edge detectors, fixed filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import is_first, numbers_of
from .elementwise import tensor
from .tape import Tape
from .values import Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers

_LAST = (None, "NHWC", "NWC", "NDHWC", "channels_last")
_ODD = "it convolves in an unusual way"


def windows(value: object, spatial: int) -> list[int]:
    """A number for each axis between batch and channels, however it is given."""
    found = plain(1 if value is None else value)
    numbers = [found] * spatial if isinstance(found, int) else numbers_of(found, "strides")
    if len(numbers) == spatial + 2 and numbers[0] == numbers[-1] == 1:
        numbers = numbers[1:-1]
    numbers = numbers * spatial if len(numbers) == 1 else numbers
    if len(numbers) != spatial or min(numbers) < 1:
        raise Undecided(_ODD)
    return numbers


def _convolution(kind: str, spatial: int, keras: bool = False) -> Callable[..., object]:
    def meaning(
        tape: Tape,
        x: object,
        kernel: object,
        strides: object = None,
        padding: object = None,
        data_format: object = None,
        dilations: object = None,
    ) -> object:
        x = tensor(x)
        if isinstance(kernel, Tensor):
            raise Undecided("it convolves with a kernel that is computed")
        if (is_first(tape, data_format) if keras else data_format not in _LAST) or x.rank != spatial + 2:
            raise Undecided(_ODD)
        filters = np.asarray(cast("Numbers", tape.operand(kernel, x)))
        same = str(padding or "valid").lower()
        if filters.ndim != spatial + 2 or same not in ("same", "valid") or x.shape[-1] not in (None, filters.shape[-2]):
            raise Undecided(_ODD)
        return _convolved(tape, kind, x, filters, windows(strides, spatial), same, windows(dilations, spatial))

    return meaning


def _convolved(
    tape: Tape, kind: str, x: Tensor, kernel: Numbers, strides: list[int], padding: str, rates: list[int]
) -> Tensor:
    if max(strides) > 1 and max(rates) > 1:
        raise Undecided(_ODD)
    spans = [1 if padding == "same" else (size - 1) * rate + 1 for size, rate in zip(kernel.shape, rates)]
    lengths = [None if n is None else (n - span) // step + 1 for n, span, step in zip(x.shape[1:-1], spans, strides)]
    if kind == "nn.DepthwiseConv" and (len(set(strides)) > 1 or len(set(rates)) > 1):
        raise Undecided(_ODD)  # TensorFlow has none either
    channels = kernel.shape[-1] * (kernel.shape[-2] if kind == "nn.DepthwiseConv" else 1)
    return tape.op(
        kind, [x, kernel], (x.shape[0], *lengths, channels), x.dtype,
        strides=_alone(strides), padding=padding, data_format="channels_last", dilation_rate=_alone(rates),
    )  # fmt: skip


def _alone(values: list[int]) -> int | list[int]:
    """One number for all axes where it is one: DepthwiseConv on TensorFlow takes no list."""
    return values[0] if len(set(values)) == 1 else values


def _tf(kind: str, spatial: int) -> Callable[..., object]:
    """Those of TensorFlow: the fifth argument says how to compute, or is what `rate` was for `dilations`."""
    inner = _convolution(kind, spatial)

    def meaning(
        tape: Tape,
        x: object,
        kernel: object,
        strides: object = None,
        padding: object = None,
        fifth: object = None,
        data_format: object = None,
        dilations: object = None,
    ) -> object:
        if isinstance(fifth, str):  # where TensorFlow 2 has the data format
            if data_format is not None:
                raise Undecided(_ODD)
            fifth, data_format = None, fifth
        rate = fifth if kind == "nn.DepthwiseConv" and dilations is None else dilations
        return inner(tape, x, kernel, strides, padding, data_format, rate)

    return meaning


_FILTER = "input filter strides padding {} data_format dilations | name filters"
_KERAS = "x kernel strides padding data_format dilation_rate"
ROWS: tuple[Row, ...] = (
    Row(
        "tf", "conv1d", "value filters stride padding use_cudnn_on_gpu data_format dilations | name", _tf("nn.Conv", 1)
    ),
    Row("tf", "conv2d", _FILTER.format("use_cudnn_on_gpu"), _tf("nn.Conv", 2)),
    Row("tf", "depthwise_conv2d depthwise_conv2d_native", _FILTER.format("rate"), _tf("nn.DepthwiseConv", 2)),
    *[Row("K", f"conv{n}d", _KERAS, _convolution("nn.Conv", n, keras=True)) for n in (1, 2, 3)],
    Row("K", "depthwise_conv2d", _KERAS, _convolution("nn.DepthwiseConv", 2, keras=True)),
)
