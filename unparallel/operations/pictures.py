"""More of `tf.image`: colours, turns, crops, types, patches; each as in `image_ops_impl.py` of TensorFlow 1 and 2."""

from __future__ import annotations

from typing import Callable, Sequence, cast

from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import elementwise as each
from .arguments import numbers_of, whole_number
from .cutting import subscript
from .elementwise import binary, tensor
from .images import _channels, _lengths, crop_to_box, image, pad_to_box
from .joining import concatenate, pad, reverse
from .linear import tensordot
from .names import dtype as type_of
from .shaping import reshape, transpose
from .tape import Tape, constant
from .values import Length, Tensor, is_number, plain

# `_rgb_to_yuv_kernel` and its like
_COLOURS = {
    "rgb_to_yuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "yuv_to_rgb": [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]],
    "rgb_to_yiq": [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]],
    "yiq_to_rgb": [
        [1.0, 1.0, 1.0],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ],
}
_LARGEST = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "int8": 2**7 - 1, "int16": 2**15 - 1, "int32": 2**31 - 1}


def _fractions(value: object) -> Tensor:
    x = tensor(value)
    if not x.floating:
        raise Undecided("it changes the colours of images of something other than fractions")
    return x


def _colours(name: str) -> Callable[..., object]:
    def meaning(tape: Tape, x: object) -> object:
        x = _fractions(x)
        return tensordot(tape, x, _COLOURS[name], [[x.rank - 1], [0]])

    return meaning


def gamma(tape: Tape, x: object, power: object = 1, gain: object = 1) -> object:
    """`tf.image.adjust_gamma`: gain * x ** gamma; fractions are not scaled in any version."""
    x = _fractions(x)
    exponent = constant(1 if power is None else power)
    if not is_number(exponent) or cast(float, exponent) < 0:
        raise Undecided("it calls tf.image.adjust_gamma with a power that is not known")
    return binary(tape, "*", binary(tape, "**", x, exponent), 1 if gain is None else gain)


def brightness(tape: Tape, x: object, delta: object) -> object:
    """`tf.image.adjust_brightness`."""
    return binary(tape, "+", _fractions(x), delta)


def convert(tape: Tape, x: object, dtype: object, saturate: object = False) -> object:
    """`tf.image.convert_image_dtype` to fractions; whole numbers are divided by the largest of their type."""
    x = tensor(x)
    name = type_of(dtype)
    if name not in ("float16", "bfloat16", "float32", "float64") or not (x.floating or x.dtype in _LARGEST):
        raise Undecided(f"it converts images from {x.dtype} to {name}")
    made = tensor(each.cast_to(tape, x, name))
    return made if x.floating else binary(tape, "*", made, 1.0 / _LARGEST[x.dtype])


# -- turns and crops -----------------------------------------------------------------------------------------


def transposed(tape: Tape, x: object) -> object:
    """`tf.image.transpose`: rows and columns change places."""
    return transpose(tape, image(x), [0, 2, 1, 3])


def rot90(tape: Tape, x: object, times: object = 1) -> object:
    """`tf.image.rot90`: counter-clockwise."""
    x = image(x)
    quarter = whole_number(1 if times is None else times, "a number") % 4
    if quarter == 1:
        return transposed(tape, reverse(tape, x, [2]))
    if quarter == 2:
        return reverse(tape, x, [1, 2])
    return reverse(tape, transposed(tape, x), [2]) if quarter == 3 else x


def central_crop(tape: Tape, x: object, fraction: object) -> object:
    """`tf.image.central_crop`."""
    x = image(x)
    part = plain(fraction)
    if not is_number(part) or not 0 < cast(float, part) <= 1:
        raise Undecided("it crops images to a part that is not known")
    starts = [int((length - length * cast(float, part)) / 2) for length in _lengths(x)]
    return _cropped(tape, x, starts, [length - 2 * start for length, start in zip(_lengths(x), starts)])


def _cropped(tape: Tape, x: Tensor, starts: Sequence[int], size: Sequence[int]) -> Tensor:
    if tuple(size) == _lengths(x):
        return x
    return tensor(crop_to_box(tape, x, starts[0], starts[1], size[0], size[1]))


def crop_or_pad(tape: Tape, x: object, height: object, width: object) -> object:
    """`tf.image.resize_with_crop_or_pad`: what is odd goes below, and to the right, where it pads."""
    x = image(x)
    wanted = [whole_number(height, "a height"), whole_number(width, "a width")]
    if min(wanted) < 1:
        raise Undecided("it resizes images to a size that is not known")
    more = [new - old for new, old in zip(wanted, _lengths(x))]
    least = [min(new, old) for new, old in zip(wanted, _lengths(x))]
    kept = _cropped(tape, x, [max(-many // 2, 0) for many in more], least)
    if least == wanted:
        return kept
    offsets = [max(many // 2, 0) for many in more]
    return pad_to_box(tape, kept, offsets[0], offsets[1], wanted[0], wanted[1])


# -- patches -------------------------------------------------------------------------------------------------


def patches(
    tape: Tape, x: object, sizes: object, strides: object, rates: object, padding: object, size: object = None
) -> object:
    """`tf.image.extract_patches`: each window as the channels of one pixel, row by row."""
    x = image(x)
    high, wide = _pair(sizes if sizes is not None else size)
    down, right = _pair(strides)
    rows_apart, columns_apart = _pair(rates)
    if padding not in ("VALID", "SAME"):
        raise Undecided("it extracts patches in an unusual way")
    reach = [(high - 1) * rows_apart + 1, (wide - 1) * columns_apart + 1]
    if padding == "SAME":
        x = _same(tape, x, reach, (down, right))
    counts = [(length - window) // step + 1 for length, window, step in zip(_lengths(x), reach, (down, right))]
    if min(counts) < 1:
        raise Undecided("it extracts patches that are larger than the images")
    if (high, wide, *reach) == (down, right, high, wide):
        return _tiles(tape, x, counts, (high, wide))
    tape.spend(high * wide)
    found = [
        subscript(tape, x, (slice(None), _every(i, counts[0], down), _every(j, counts[1], right)))
        for i in range(0, reach[0], rows_apart)
        for j in range(0, reach[1], columns_apart)
    ]
    return concatenate(tape, found, -1)


def _every(start: int, count: int, step: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def _pair(value: object) -> tuple[int, int]:
    found = numbers_of(value, "a window")
    if len(found) != 4 or found[0] != 1 or found[3] != 1 or min(found) < 1:
        raise Undecided("it extracts patches in an unusual way")
    return found[1], found[2]


def _same(tape: Tape, x: Tensor, reach: Sequence[int], steps: Sequence[int]) -> Tensor:
    """Zeros around, as many as TensorFlow puts there: the odd one below and to the right."""
    more = [
        max((-(-length // step) - 1) * step + window - length, 0)
        for length, window, step in zip(_lengths(x), reach, steps)
    ]
    if not any(more):
        return x
    widths = [(0, 0), *[(many // 2, many - many // 2) for many in more], (0, 0)]
    return tensor(pad(tape, x, widths))


def _tiles(tape: Tape, x: Tensor, counts: Sequence[int], size: tuple[int, int]) -> object:
    """Windows that lie side by side are axes of their own."""
    channels, batch = _channels(x), Length(x, 0)
    whole = _cropped(tape, x, [0, 0], [count * length for count, length in zip(counts, size)])
    apart = tensor(reshape(tape, whole, [batch, counts[0], size[0], counts[1], size[1], channels]))
    return reshape(tape, transpose(tape, apart, [0, 1, 3, 2, 4, 5]), [batch, *counts, size[0] * size[1] * channels])


def sobel(tape: Tape, x: object) -> object:
    """`tf.image.sobel_edges`: how fast the image changes downwards, and to the right; its border is mirrored."""
    x = image(x)
    height, width = _lengths(x)
    wide = tensor(pad(tape, x, [(0, 0), (1, 1), (1, 1), (0, 0)], "REFLECT"))

    def smoothed(first: int, down: bool) -> object:
        """Three neighbours across, the middle one twice."""
        near = [
            subscript(tape, wide, (slice(None), slice(i, i + height), slice(j, j + width)))
            for i, j in [(first, k) if down else (k, first) for k in range(3)]
        ]
        return binary(tape, "+", binary(tape, "+", near[0], binary(tape, "*", near[1], 2.0)), near[2])

    parts = [binary(tape, "-", smoothed(2, down), smoothed(0, down)) for down in (True, False)]
    shape = x.shape + (2,)
    return tape.op("numpy.Stack", [parts], shape, x.dtype, axis=x.rank)


_PATCHES = "images ksizes strides rates padding name sizes"


def _old_patches(
    tape: Tape,
    x: object,
    sizes: object,
    strides: object,
    rates: object,
    padding: object,
    name: object = None,
    size: object = None,
) -> object:
    return patches(tape, x, sizes, strides, rates, padding, size)


ROWS: tuple[Row, ...] = (
    *[Row("image", name, "images", _colours(name)) for name in _COLOURS],
    Row("image", "adjust_gamma", "image gamma gain", gamma),
    Row("image", "adjust_brightness", "image delta", brightness),
    Row("image", "convert_image_dtype", "image dtype saturate | name", convert),
    Row("image", "transpose_image transpose", "image | name", transposed),
    Row("image", "rot90", "image k | name", rot90),
    Row("image", "central_crop", "image central_fraction", central_crop),
    Row(
        "image",
        "resize_with_crop_or_pad resize_image_with_crop_or_pad",
        "image target_height target_width",
        crop_or_pad,
    ),
    Row("image", "extract_patches", "images sizes strides rates padding | name", patches),
    Row("tf image", "extract_image_patches", _PATCHES, _old_patches),
    Row("image", "sobel_edges", "image", sobel),
)
