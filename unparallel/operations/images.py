"""Images: resizing on every grid that there was, colours, blocks, windows.

Grids: `resize_bilinear` and its like of TensorFlow 1 take pixel i of the output from i * in / out of the input, or,
with `align_corners`, from i * (in - 1) / (out - 1); `tf.image.resize` of TensorFlow 2 takes the pixels' centres
(`core/kernels/image_resizer_state.h`).  Keras 3 has the last one; the others are matrices, one for each axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from . import bicubic
from . import elementwise as each
from .arguments import is_first, numbers_of, whole_number
from .cutting import subscript
from .elementwise import apply, binary, tensor
from .joining import pad, reverse
from .reductions import count, reduce
from .shaping import reshape, transpose
from .tape import Tape, constant
from .values import UNKNOWN_LENGTH, Length, Shape, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers


def image(value: object) -> Tensor:
    """A batch of images, channels last."""
    x = tensor(value)
    if x.rank != 4:
        raise Undecided("it treats a tensor as images that has not four axes")
    return x


def size_of(value: object) -> tuple[int, int]:
    """Height and width."""
    found = numbers_of(value, "a size")
    if len(found) != 2 or min(found) < 1:
        raise Undecided("it resizes images to a size that is not known")
    return found[0], found[1]


# -- resizing ------------------------------------------------------------------------------------------------


def _lengths(x: Tensor) -> tuple[int, int]:
    if x.shape[1] is None or x.shape[2] is None:
        raise Undecided("it resizes images whose size is not in the file")
    return x.shape[1], x.shape[2]


def _places(old: int, new: int, align: bool) -> Numbers:
    """Where each pixel of the output lies in the input."""
    places: Numbers = np.arange(new) * ((old - 1) / (new - 1) if align and new > 1 else old / new)
    return places


def _bilinear_matrix(old: int, new: int, align: bool) -> Numbers:
    places = _places(old, new, align)
    low = np.minimum(np.floor(places).astype("int64"), old - 1)
    matrix: Numbers = np.zeros((new, old), "float32")
    np.add.at(matrix, (np.arange(new), low), 1 - (places - low))
    np.add.at(matrix, (np.arange(new), np.minimum(low + 1, old - 1)), places - low)
    return matrix


def _old_bilinear(tape: Tape, x: Tensor, size: tuple[int, int], align: bool) -> Tensor:
    return _by_matrices(tape, x, size, lambda old, new: _bilinear_matrix(old, new, align))


def _bicubic(tape: Tape, x: Tensor, size: tuple[int, int], align: bool, centres: bool = False) -> Tensor:
    return _by_matrices(tape, x, size, lambda old, new: bicubic.matrix(old, new, align, centres))


def _by_matrices(tape: Tape, x: Tensor, size: tuple[int, int], matrix: Callable[[int, int], Numbers]) -> Tensor:
    """Along each axis whose length changes, sums with the weights of a matrix."""
    height, width = _lengths(x)
    tape.spend(size[0] * height + size[1] * width)
    x = tensor(each.cast_to(tape, x, "float32")) if not x.floating else x
    rows, columns = matrix(height, size[0]), matrix(width, size[1])
    if size[0] != height:
        shape: Shape = (x.shape[0], size[0], width, x.shape[3])
        x = tape.op("numpy.Einsum", [rows, x], shape, x.dtype, subscripts="ij,bjkc->bikc")
    if size[1] != width:
        shape = (x.shape[0], size[0], size[1], x.shape[3])
        x = tape.op("numpy.Einsum", [columns, x], shape, x.dtype, subscripts="ij,bkjc->bkic")
    return x


def _old_nearest(tape: Tape, x: Tensor, size: tuple[int, int], align: bool) -> Tensor:
    for axis, (old, new) in enumerate(zip(_lengths(x), size), 1):
        if old == new:
            continue
        tape.spend(new)
        found = np.minimum(np.floor(_places(old, new, align) + (0.5 if align else 0)), old - 1)
        shape = x.shape[:axis] + (new,) + x.shape[axis + 1 :]
        x = tape.op("numpy.Take", [x, found.astype("int32")], shape, x.dtype, axis=axis)
    return x


def _old(method: str) -> Callable[..., object]:
    """`tf.image.resize_bilinear`, `resize_nearest_neighbor`."""

    def meaning(
        tape: Tape, x: object, size: object, align: object = False, name: object = None, centres: object = False
    ) -> object:
        if plain(centres):
            return _centred(tape, image(x), size_of(size), method)
        function = {"nearest": _old_nearest, "bicubic": _bicubic}.get(method, _old_bilinear)
        return function(tape, image(x), size_of(size), bool(plain(align)))

    return meaning


_METHODS = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area", None: "bilinear"}


def _method(value: object) -> str:
    value = plain(value)
    path = getattr(value, "path", None)
    if path:
        value = {"BILINEAR": "bilinear", "NEAREST_NEIGHBOR": "nearest", "BICUBIC": "bicubic"}.get(path[-1], path[-1])
    name = _METHODS.get(cast(int, value), value) if value is None or isinstance(value, int) else value
    if name not in ("bilinear", "nearest", "bicubic"):
        raise Undecided(f"it resizes images by the method {str(name)[:30]}")
    return str(name)


def resize_images(
    tape: Tape, x: object, size: object, method: object = None, align: object = False, keep: object = False
) -> object:
    """`tf.image.resize_images`, and `tf.image.resize` of TensorFlow 1."""
    if plain(keep):
        raise Undecided("it resizes images and keeps their aspect ratio")
    return _old(_method(method))(tape, x, size, align)


def resize(
    tape: Tape, x: object, size: object, method: object = None, keep: object = False, antialias: object = False
) -> object:
    """`tf.image.resize`, where the file tells which TensorFlow it was."""
    if tape.environment.tensorflow is None:
        raise Undecided("it calls tf.image.resize, and the file does not say whether that was of TensorFlow 1 or 2")
    if tape.environment.tensorflow == 1:
        return resize_images(tape, x, size, method, keep)
    return resize_v2(tape, x, size, method, keep, antialias)


def resize_v2(
    tape: Tape, x: object, size: object, method: object = None, keep: object = False, antialias: object = False
) -> object:
    """`tf.image.resize` of TensorFlow 2."""
    if plain(keep) or plain(antialias):
        raise Undecided("it resizes images and keeps their aspect ratio, or smooths them")
    return _centred(tape, image(x), size_of(size), _method(method))


def _centred(tape: Tape, x: Tensor, size: tuple[int, int], method: str) -> Tensor:
    """By the pixels' centres; bilinear gives fractions, nearest keeps the type."""
    if method == "bicubic":
        return _bicubic(tape, x, size, False, True)
    dtype = x.dtype if method == "nearest" or x.floating else "float32"
    x = tensor(each.cast_to(tape, x, dtype))
    shape = (x.shape[0], *size, x.shape[3])
    return tape.op(
        "image.Resize", [x], shape, dtype, size=list(size), interpolation=method, data_format="channels_last"
    )


def k_resize_images(
    tape: Tape, x: object, height: object, width: object, data_format: object, interpolation: object = "nearest"
) -> object:
    """`K.resize_images`: so many times as large.

    Standalone Keras interpolates on the old grid, tf.keras by the pixels' centres.
    """
    x = image(x)
    times = [whole_number(height, "a factor"), whole_number(width, "a factor")]
    if is_first(tape, data_format):
        raise Undecided("it resizes images that are channels_first")
    if interpolation not in ("nearest", "bilinear") or min(times) < 1:
        raise Undecided(f"it resizes images by the interpolation {str(interpolation)[:20]}")
    shape = (x.shape[0], *_enlarged(x.shape[1:3], times), x.shape[3])
    if interpolation == "bilinear" and not tape.environment.tf_keras:
        rows, columns = _lengths(x)
        return _old_bilinear(tape, x, (rows * times[0], columns * times[1]), False)
    return tape.op(
        "layers.UpSampling2D", [x], shape, x.dtype, size=times, interpolation=interpolation, data_format="channels_last"
    )


def _enlarged(lengths: Sequence[int | None], times: Sequence[int]) -> list[int | None]:
    return [None if length is None else length * many for length, many in zip(lengths, times)]


def k_resize_volumes(
    tape: Tape, x: object, depth: object, height: object, width: object, data_format: object
) -> object:
    """`K.resize_volumes`: so many times as large, each number repeated."""
    x = tensor(x)
    times = [whole_number(value, "a factor") for value in (depth, height, width)]
    if x.rank != 5 or min(times) < 1 or is_first(tape, data_format):
        raise Undecided("it resizes volumes in an unusual way")
    shape = (x.shape[0], *_enlarged(x.shape[1:4], times), x.shape[4])
    return tape.op("layers.UpSampling3D", [x], shape, x.dtype, size=times, data_format="channels_last")


# -- colours, mirrors, cuts ---------------------------------------------------------------------------------


def grayscale(tape: Tape, x: object) -> object:
    """`tf.image.rgb_to_grayscale`; the weights are those of `image_ops_impl.py`."""
    x = tensor(x)
    if not x.floating or x.shape[-1:] not in ((3,), (None,)):
        raise Undecided("it makes grey images of something other than fractions in three channels")
    weighed = binary(tape, "*", x, [0.2989, 0.5870, 0.1140])
    return reduce(tape, "numpy.Sum", tensor(weighed), -1, True)


def colours(tape: Tape, x: object) -> object:
    """`tf.image.grayscale_to_rgb`."""
    x = tensor(x)
    if x.shape[-1] not in (1, None):
        raise Undecided("it makes coloured images of something other than one channel")
    return tape.op("numpy.Repeat", [x], x.shape[:-1] + (3,), x.dtype, repeats=3, axis=x.rank - 1)


def contrast(tape: Tape, x: object, factor: object) -> object:
    """`tf.image.adjust_contrast`: (x - mean) * factor + mean, channel by channel."""
    x = image(x)
    if not x.floating:
        raise Undecided("it changes the contrast of something other than fractions")
    middle = reduce(tape, "numpy.Mean", x, [1, 2], True)
    return binary(tape, "+", binary(tape, "*", binary(tape, "-", x, middle), factor), middle)


def _mirrored(axis: int) -> Callable[..., object]:
    """Along an axis counted from the back, since images come with and without a batch."""
    return lambda tape, x: reverse(tape, x, [axis])


def standardized(tape: Tape, x: object) -> object:
    """`tf.image.per_image_standardization`: each image's mean away, divided by its spread."""
    x = image(x)
    axes = [1, 2, 3]
    least = 1.0 / math.sqrt(count(x, axes))
    centred = binary(tape, "-", x, reduce(tape, "numpy.Mean", x, axes, True))
    spread = each.maximum(tape, reduce(tape, "numpy.Std", x, axes, True), least)
    return binary(tape, "/", centred, spread)


def crop_to_box(tape: Tape, x: object, top: object, left: object, height: object, width: object) -> object:
    """`tf.image.crop_to_bounding_box`."""
    x = image(x)
    one, other, high, wide = (whole_number(value, "a bound") for value in (top, left, height, width))
    return subscript(tape, x, (slice(None), slice(one, one + high), slice(other, other + wide)))


def pad_to_box(tape: Tape, x: object, top: object, left: object, height: object, width: object) -> object:
    """`tf.image.pad_to_bounding_box`."""
    x = image(x)
    one, other, high, wide = (whole_number(value, "a bound") for value in (top, left, height, width))
    rows, columns = _lengths(x)
    return pad(tape, x, [(0, 0), (one, high - one - rows), (other, wide - other - columns), (0, 0)])


# -- blocks --------------------------------------------------------------------------------------------------


def _block(x: object, block: object, data_format: object, tape: Tape) -> tuple[Tensor, int]:
    found = image(x)
    many = whole_number(block, "a block size")
    if is_first(tape, data_format or "channels_last") or many < 1:
        raise Undecided("it moves blocks of images that are channels_first")
    return found, many


def space_to_depth(tape: Tape, x: object, block: object, data_format: object = None) -> object:
    """`tf.space_to_depth`: blocks become channels."""
    x, many = _block(x, block, data_format, tape)
    height, width = _lengths(x)
    channels = _channels(x)
    if height % many or width % many:
        raise Undecided("it cuts images into blocks that do not fit")
    return _moved(
        tape,
        x,
        [height // many, many, width // many, many, channels],
        [height // many, width // many, many**2 * channels],
    )


def depth_to_space(tape: Tape, x: object, block: object, data_format: object = None) -> object:
    """`tf.depth_to_space`: channels become blocks."""
    x, many = _block(x, block, data_format, tape)
    height, width = _lengths(x)
    channels = _channels(x)
    if channels % many**2:
        raise Undecided("it makes blocks of channels that do not fit")
    less = channels // many**2
    return _moved(tape, x, [height, width, many, many, less], [height * many, width * many, less])


def _moved(tape: Tape, x: Tensor, apart: list[int], together: list[int]) -> object:
    batch = Length(x, 0)
    wide = tensor(reshape(tape, x, [batch, *apart]))
    return reshape(tape, transpose(tape, wide, [0, 1, 3, 2, 4, 5]), [batch, *together])


def _channels(x: Tensor) -> int:
    if x.shape[3] is None:
        raise Undecided(UNKNOWN_LENGTH)
    return x.shape[3]


# -- windows -------------------------------------------------------------------------------------------------


def lrn(
    tape: Tape, x: object, radius: object = 5, bias: object = 1.0, alpha: object = 1.0, beta: object = 0.5
) -> object:
    """`tf.nn.lrn`: x / (bias + alpha * the squares of the channels around, added up) ** beta."""
    x = image(x)
    around = whole_number(5 if radius is None else radius, "a radius")
    channels = _channels(x)
    around = min(around, channels - 1)
    wide = pad(tape, apply(tape, "numpy.Square", x), [(0, 0), (0, 0), (0, 0), (around, around)])
    total: object = None
    for i in range(2 * around + 1):
        part = subscript(tape, tensor(wide), (Ellipsis, slice(i, i + channels))) if around else wide
        total = part if total is None else binary(tape, "+", total, part)
    scale = binary(tape, "+", binary(tape, "*", total, _or(alpha, 1.0)), _or(bias, 1.0))
    return binary(tape, "/", x, binary(tape, "**", scale, _or(beta, 0.5)))


def _or(value: object, default: float) -> object:
    return default if value is None else constant(value)


def _pool(tape: Tape, x: object, size: Sequence[int], strides: Sequence[int], padding: object, kind: object) -> object:
    x = tensor(x)
    words = {"max": "Max", "avg": "Average", "MAX": "Max", "AVG": "Average"}
    same = str(padding).lower()
    if kind not in words or same not in ("same", "valid") or x.rank != len(size) + 2 or min([*size, *strides]) < 1:
        raise Undecided("it pools in an unusual way")
    lengths = [
        None if n is None else -(-n // s) if same == "same" else (n - k) // s + 1
        for n, k, s in zip(x.shape[1:-1], size, strides)
    ]
    return tape.op(
        f"layers.{words[str(kind)]}Pooling{len(size)}D", [x], (x.shape[0], *lengths, x.shape[-1]), x.dtype,
        pool_size=list(size), strides=list(strides), padding=same, data_format="channels_last",
    )  # fmt: skip


def k_pool(
    tape: Tape,
    x: object,
    size: object,
    strides: object = None,
    padding: object = "valid",
    data_format: object = None,
    mode: object = "max",
) -> object:
    """`K.pool2d`, `K.pool3d`."""
    if is_first(tape, data_format):
        raise Undecided("it pools images that are channels_first")
    sizes = numbers_of(size, "a size")
    steps = numbers_of(strides, "strides") if strides is not None else [1] * len(sizes)
    return _pool(tape, x, sizes, steps, padding or "valid", mode or "max")


def _tf_pool(kind: str) -> Callable[..., object]:
    def meaning(
        tape: Tape, x: object, size: object, strides: object, padding: object, data_format: object = None
    ) -> object:
        if data_format not in (None, "NHWC", "NDHWC"):
            raise Undecided("it pools images that are channels_first")
        spatial = tensor(x).rank - 2
        return _pool(tape, x, _window(size, spatial), _window(strides, spatial), padding, kind)

    return meaning


def _window(value: object, spatial: int) -> list[int]:
    if isinstance(plain(value), int):
        return [cast(int, plain(value))] * spatial
    found = numbers_of(value, "a window")
    if len(found) == spatial + 2 and found[0] == found[-1] == 1:
        found = found[1:-1]
    if len(found) != spatial:
        raise Undecided("it pools in an unusual way")
    return found


_POOL = "value ksize strides padding data_format | name"
_RESIZE = "images size align_corners name half_pixel_centers"
_IMAGES = "images size method align_corners preserve_aspect_ratio | name"
_V2 = "images size method preserve_aspect_ratio antialias | name"
ROWS: tuple[Row, ...] = (
    Row("image", "resize_bilinear", _RESIZE, _old("bilinear")),
    Row("image", "resize_nearest_neighbor", _RESIZE, _old("nearest")),
    Row("image", "resize_bicubic", _RESIZE, _old("bicubic")),
    Row("image", "resize_images", _IMAGES, resize_images),
    Row("image1", "resize", _IMAGES, resize_images),
    Row("image2", "resize", _V2, resize_v2),
    Row("image", "resize", _V2, resize),
    Row("K", "resize_images", "x height_factor width_factor data_format interpolation", k_resize_images),
    Row("K", "resize_volumes", "x depth_factor height_factor width_factor data_format", k_resize_volumes),
    Row("image", "rgb_to_grayscale", "images | name", grayscale),
    Row("image", "grayscale_to_rgb", "images | name", colours),
    Row("image", "adjust_contrast", "images contrast_factor", contrast),
    Row("image", "flip_left_right", "image", _mirrored(-2)),
    Row("image", "flip_up_down", "image", _mirrored(-3)),
    Row("image", "per_image_standardization", "image", standardized),
    Row("image", "crop_to_bounding_box", "image offset_height offset_width target_height target_width", crop_to_box),
    Row("image", "pad_to_bounding_box", "image offset_height offset_width target_height target_width", pad_to_box),
    Row(
        "tf",
        "space_to_depth",
        "input block_size name data_format",
        lambda tape, x, block, name=None, form=None: space_to_depth(tape, x, block, form),
    ),
    Row(
        "tf",
        "depth_to_space",
        "input block_size name data_format",
        lambda tape, x, block, name=None, form=None: depth_to_space(tape, x, block, form),
    ),
    Row("tf", "lrn local_response_normalization", "input depth_radius bias alpha beta | name", lrn),
    Row("K", "pool2d pool3d", "x pool_size strides padding data_format pool_mode", k_pool),
    Row("tf", "max_pool max_pool2d", _POOL, _tf_pool("max")),
    Row("tf", "avg_pool avg_pool2d", _POOL, _tf_pool("avg")),
)
