"""Synthetic files of parallel models, laid out as Keras 2.2.4 lays them out.

    python benchmarks/make_files.py FOLDER [NAME ...]

Shapes and configs are those of real models, the numbers are random.  The slices hold the bytecode of the
Python that runs this, as a real file holds that of the Python that trained it.
"""

import os
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests import tiny  # noqa: E402

GLOROT = {
    "class_name": "VarianceScaling",
    "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None},
}
ZEROS = {"class_name": "Zeros", "config": {}}
ONES = {"class_name": "Ones", "config": {}}
TRAINING = {
    "optimizer_config": {
        "class_name": "Adam",
        "config": {"lr": 0.001, "beta_1": 0.9, "beta_2": 0.999, "decay": 0.0, "epsilon": 1e-07, "amsgrad": False},
    },
    "loss": "categorical_crossentropy",
    "metrics": ["accuracy"],
    "sample_weight_mode": None,
    "loss_weights": None,
}


class Numbers:
    """Random float32 arrays cut from one buffer, so that a file of 3 GB needs no 3 GB of memory."""

    def __init__(self, largest):
        self.buffer = np.resize(np.random.RandomState(7).rand(2**22 + 1).astype("float32") - 0.5, largest + 2**20)
        self.start = 0

    def array(self, *shape):
        """Another array of this shape."""
        self.start = (self.start + 1009) % 2**20
        return self.buffer[self.start : self.start + int(np.prod(shape))].reshape(shape)


def dense(numbers, name, before, size, units):
    """A Dense layer with its weights."""
    config = {
        "name": name, "trainable": True, "units": units, "activation": "relu", "use_bias": True,
        "kernel_initializer": GLOROT, "bias_initializer": ZEROS, "kernel_regularizer": None,
        "bias_regularizer": None, "activity_regularizer": None, "kernel_constraint": None, "bias_constraint": None,
    }  # fmt: skip
    weights = ((name + "/kernel:0", numbers.array(size, units)), (name + "/bias:0", numbers.array(units)))
    return tiny.TinyLayer(name, "Dense", config, ((before,),), weights)


def conv(numbers, name, before, side, size, filters, stride=1):
    """A Conv2D layer with its weights."""
    config = {
        "name": name, "trainable": True, "filters": filters, "kernel_size": [side, side],
        "strides": [stride, stride], "padding": "same", "data_format": "channels_last", "dilation_rate": [1, 1],
        "activation": "linear", "use_bias": True, "kernel_initializer": GLOROT, "bias_initializer": ZEROS,
        "kernel_regularizer": None, "bias_regularizer": None, "activity_regularizer": None,
        "kernel_constraint": None, "bias_constraint": None,
    }  # fmt: skip
    kernel = numbers.array(side, side, size, filters)
    weights = ((name + "/kernel:0", kernel), (name + "/bias:0", numbers.array(filters)))
    return tiny.TinyLayer(name, "Conv2D", config, ((before,),), weights)


def norm(numbers, name, before, size):
    """A BatchNormalization layer with its weights."""
    config = {
        "name": name, "trainable": True, "axis": 3, "momentum": 0.99, "epsilon": 0.001, "center": True,
        "scale": True, "beta_initializer": ZEROS, "gamma_initializer": ONES, "moving_mean_initializer": ZEROS,
        "moving_variance_initializer": ONES, "beta_regularizer": None, "gamma_regularizer": None,
        "beta_constraint": None, "gamma_constraint": None,
    }  # fmt: skip
    trainable = tuple((name + "/" + role + ":0", numbers.array(size)) for role in ("gamma", "beta"))
    rest = tuple((name + "/" + role + ":0", numbers.array(size)) for role in ("moving_mean", "moving_variance"))
    return tiny.TinyLayer(name, "BatchNormalization", config, ((before,),), trainable, rest)


def plain(class_name, name, *before, **config):
    """A layer without weights."""
    return tiny.TinyLayer(name, class_name, {"name": name, "trainable": True, **config}, (before,))


def chain(name, count, size):
    """A template of `count` equal Dense layers."""
    numbers = Numbers(size * size)
    layers = [tiny.entry("input_1", size)]
    for i in range(count):
        layers.append(dense(numbers, "dense_%s" % (i + 1), layers[-1].name, size, size))
    return tiny.TinyModel(name, tuple(layers), ("input_1",), (layers[-1].name,))


def resnet50():
    """ResNet-50: 320 arrays, 102 MB."""
    numbers = Numbers(3 * 3 * 512 * 512)
    layers = [tiny.entry("input_1", 224, 224, 3)]

    def add(layer):
        layers.append(layer)
        return layer.name

    def conv_norm(name, before, side, size, filters, stride=1):
        end = add(conv(numbers, "res" + name, before, side, size, filters, stride))
        return add(norm(numbers, "bn" + name, end, filters))

    def relu(name, before):
        return add(plain("Activation", name, before, activation="relu"))

    end = relu("activation_1", conv_norm("1", "input_1", 7, 3, 64, 2))
    end = add(plain("MaxPooling2D", "pool1", end, pool_size=[3, 3], padding="same", strides=[2, 2]))
    size, number = 64, 1
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 2):
        for block in range(blocks):
            label = "{}{}_branch".format(stage, "abcdef"[block])
            stride = 2 if block == 0 and stage > 2 else 1
            path = relu("activation_%s" % (number + 1), conv_norm(label + "2a", end, 1, size, width, stride))
            path = relu("activation_%s" % (number + 2), conv_norm(label + "2b", path, 3, width, width))
            # Keras lists layers by their distance from the output: the shortcut's beside the last of the path
            convs = [conv(numbers, "res" + label + "2c", path, 1, width, 4 * width)]
            if block == 0:
                convs.append(conv(numbers, "res" + label + "1", end, 1, size, 4 * width, stride))
            ends = [add(layer) for layer in convs]
            path, *shortcut = [add(norm(numbers, "bn" + before[3:], before, 4 * width)) for before in ends]
            end = shortcut[0] if shortcut else end
            end = relu("activation_%s" % (number + 3), add(plain("Add", "add_" + label, path, end)))
            size, number = 4 * width, number + 3
    end = add(plain("GlobalAveragePooling2D", "avg_pool", end, data_format="channels_last"))
    add(dense(numbers, "fc1000", end, 2048, 1000))
    return tiny.TinyModel("resnet50", tuple(layers), ("input_1",), ("fc1000",))


def vgg16():
    """VGG16: 32 arrays, 553 MB."""
    numbers = Numbers(25088 * 4096)
    layers = [tiny.entry("input_1", 224, 224, 3)]
    size = 3
    for block, (count, filters) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for i in range(count):
            name = f"block{block}_conv{i + 1}"
            layers.append(conv(numbers, name, layers[-1].name, 3, size, filters))
            size = filters
        pool = f"block{block}_pool"
        layers.append(plain("MaxPooling2D", pool, layers[-1].name, pool_size=[2, 2], padding="valid", strides=[2, 2]))
    layers.append(plain("Flatten", "flatten", layers[-1].name, data_format="channels_last"))
    for name, inputs, units in (("fc1", 25088, 4096), ("fc2", 4096, 4096), ("predictions", 4096, 1000)):
        layers.append(dense(numbers, name, layers[-1].name, inputs, units))
    return tiny.TinyModel("vgg16", tuple(layers), ("input_1",), ("predictions",))


def adam_slots(model):
    """Adam's state as Keras 2.2.4 saves it: steps, two moments a weight, and an empty third list."""
    weights = [array for _, array in model.split()[0]]
    arrays = [np.array(1000, "int64")] + weights + weights + [np.zeros(1, "float32") for _ in weights]
    names = ["iterations:0"] + ["Variable%s:0" % (f"_{i}" if i else "") for i in range(len(arrays) - 1)]
    return [("training/Adam/" + name, array) for name, array in zip(names, arrays)]


def compress(path):
    """Store every array in gzip-compressed chunks, as a careful user's h5repack does."""
    plain_path = path + ".plain"
    os.replace(path, plain_path)
    with h5py.File(plain_path, "r") as old, h5py.File(path, "w") as new:
        for name, value in old.attrs.items():
            _copy_attribute(old, new, name, value)
        old.visititems(lambda name, item: _compress_item(new, name, item))
    os.unlink(plain_path)


def _compress_item(new, name, item):
    if isinstance(item, h5py.Group):
        made = new.require_group(name)
    else:
        gzip = {"chunks": True, "compression": "gzip", "compression_opts": 1}
        options = gzip if item.shape and item.size > 256 else {}
        made = new.create_dataset(name, data=item[()], **options)
    for key, value in item.attrs.items():
        _copy_attribute(item, made, key, value)


def _copy_attribute(old, new, name, value):
    if isinstance(value, (str, bytes)):
        data = value.encode("utf-8") if isinstance(value, str) else value
        new.attrs.create(name, data, shape=(), dtype=h5py.special_dtype(vlen=bytes))
    else:
        new.attrs[name] = value


FILES = {
    "S": lambda: (chain("small", 50, 158), False),
    "M": lambda: (resnet50(), False),
    "L": lambda: (vgg16(), False),
    "XL": lambda: (chain("large", 60, 3536), False),
    "M-adam": lambda: (resnet50(), True),
    "L-adam": lambda: (vgg16(), True),
    "M-gzip": lambda: (resnet50(), False),
    "W": lambda: (chain("wide", 5000, 4), False),
    "W10": lambda: (chain("wide", 500, 4), False),
}


def make(folder, name, replicas=4):
    """Write one of the files; a file that is there already stays."""
    path = os.path.join(folder, name + ".h5")
    if not os.path.exists(path):
        template, adam = FILES[name]()
        partial = path + ".part"
        slots = adam_slots(template) if adam else ()
        tiny.save(partial, tiny.parallel(template, replicas), TRAINING if adam else None, slots)
        if name.endswith("-gzip"):
            compress(partial)
        os.replace(partial, path)
    return path


if __name__ == "__main__":
    for wanted in sys.argv[2:] or FILES:
        print(make(sys.argv[1], wanted))
