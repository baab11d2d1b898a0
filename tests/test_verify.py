"""What a written file is compared for: each thing that differs is found, whatever way the bytes were compared."""

import zlib

import h5py
import numpy as np
import pytest

from unparallel import conversion
from unparallel.errors import VerificationError
from unparallel.options import ConvertOptions

from . import tiny

# 300 by 300 float32 are more than a block, 7 by 9 chunks of 44 by 44 reach beyond the array
SIZE = 300
FIRST, BIAS = "model_weights/first/first/kernel:0", "model_weights/first/first/bias:0"
STATE = "optimizer_weights/training/Adam/Variable:0"


def made(folder, chunks=None):
    """A parallel file and its clean one."""
    layers = (tiny.entry("x", SIZE), tiny.dense("first", "x", SIZE, SIZE), tiny.dense("second", "first", SIZE, 2))
    model = tiny.TinyModel("net", layers, ("x",), ("second",))
    settings = {"optimizer_config": {"class_name": "Adam", "config": {}}}
    slots = [("training/Adam/Variable:0", np.arange(6.0).reshape(2, 3))]
    source = tiny.save(folder / "parallel.h5", tiny.parallel(model, 2), settings, slots)
    if chunks:
        with h5py.File(source, "r+") as handle:
            replaced(handle, "model_weights/net/first/kernel:0", chunks=chunks, compression="gzip", shuffle=True)
    conversion.run(source, str(folder / "clean.h5"), ConvertOptions())
    return source, str(folder / "clean.h5")


def replaced(handle, place, change=lambda data: data, **options):
    data = change(handle[place][()])
    del handle[place]
    handle.create_dataset(place, data=data, **options)


def one_number(place, number):
    def change(handle):
        data = handle[place]
        values = data[()]
        values.reshape(-1)[number] = np.nextafter(values.reshape(-1)[number], np.float32(9))
        data[...] = values

    return change


def names(place, name, change):
    def rename(handle):
        handle[place].attrs[name] = change(handle[place].attrs[name])

    return rename


FAULTS = {
    "the first number of a large array": one_number(FIRST, 0),
    "the last number of a large array": one_number(FIRST, -1),
    "a number of a small array": one_number(BIAS, 1),
    "a number of the optimizer's": one_number(STATE, 2),
    "another shape": lambda handle: replaced(handle, FIRST, lambda data: data.reshape(SIZE // 2, 2 * SIZE)),
    "another type": lambda handle: replaced(handle, BIAS, lambda data: data.view("i4")),
    "another byte order": lambda handle: replaced(handle, BIAS, lambda data: data.astype(">f4")),
    "an array too few": lambda handle: handle.pop(BIAS),
    "a group too few": lambda handle: handle.pop("model_weights/second"),
    "weights in another order": names("model_weights/first", "weight_names", lambda items: items[::-1]),
    "layers in another order": names("model_weights", "layer_names", lambda items: items[::-1]),
    "a layer of another name": lambda handle: handle.move("model_weights/second", "model_weights/third"),
    "the optimizer's list": names("optimizer_weights", "weight_names", lambda items: items[:0]),
    "another version": lambda handle: handle.attrs.__setitem__("keras_version", np.bytes_("2.2.9")),
}


@pytest.mark.parametrize("chunks", [None, (44, 44)], ids=["plain", "chunks"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_differs_is_found(tmp_path, fault, chunks):
    source, target = made(tmp_path, chunks)
    conversion.compare(source, target, ConvertOptions())
    with h5py.File(target, "r+") as handle:
        FAULTS[fault](handle)
    with pytest.raises(VerificationError):
        conversion.compare(source, target, ConvertOptions())


def test_a_chunk_that_differs_is_found(tmp_path):
    source, target = made(tmp_path, (44, 44))
    with h5py.File(target, "r+") as handle:
        kernel = handle[FIRST].id
        skipped, data = kernel.read_direct_chunk((264, 264))
        # the same numbers once more, as another zlib stream

        kernel.write_direct_chunk((264, 264), zlib.compress(zlib.decompress(data), 9), skipped)
    with pytest.raises(VerificationError, match="not copied faithfully"):
        conversion.compare(source, target, ConvertOptions())
