"""tf_keras and Keras 3 with wrappers of our own: today's Keras has no `multi_gpu_model`."""

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import numpy
import tensorflow as tf
import tf_keras

FLAVOURS = {"keras": keras, "tf_keras": tf_keras}


def get_slice(data, i, parts):
    """A part of the batch; the last one takes the rest."""
    step = tf.shape(data)[0] // parts
    return data[i * step :] if i == parts - 1 else data[i * step : (i + 1) * step]


def _by_lambda(flavour, tensor, parts):
    def rows(x, i):
        step = flavour_ops.shape(x)[0] // parts  # closes over a module and a number
        return x[i * step :] if i == parts - 1 else x[i * step : (i + 1) * step]

    flavour_ops = tf if flavour is tf_keras else keras.ops
    shape = tuple(tensor.shape[1:])
    return [flavour.layers.Lambda(rows, output_shape=shape, arguments={"i": i})(tensor) for i in range(parts)]


def _by_global(flavour, tensor, parts):
    options = {"output_shape": tuple(tensor.shape[1:])}
    return [
        flavour.layers.Lambda(get_slice, arguments={"i": i, "parts": parts}, **options)(tensor) for i in range(parts)
    ]


def _by_split(flavour, tensor, parts):
    return tf.split(tensor, parts) if flavour is tf_keras else keras.ops.split(tensor, parts)


SLICES = {"lambda": _by_lambda, "global": _by_global, "split": _by_split}


def wrap(flavour, template, parts=2, how="lambda"):
    """The template wrapped in the way of `multi_gpu_model`."""
    pieces = [SLICES[how](flavour, tensor, parts) for tensor in template.inputs]
    results = []
    for row in zip(*pieces):
        found = template(list(row) if len(row) > 1 else row[0])
        results.append(found if isinstance(found, list) else [found])
    # a Sequential of Keras 3 knows no names of its outputs
    names = getattr(template, "output_names", None) or [template.layers[-1].name]
    merged = [flavour.layers.Concatenate(axis=0, name=names[k])(list(row)) for k, row in enumerate(zip(*results))]
    inputs = template.inputs if len(template.inputs) > 1 else template.inputs[0]
    return flavour.Model(inputs, merged if len(merged) > 1 else merged[0])


def unwrapped(flavour, template, parts=2, how=""):
    return template


def numbers(shape, seed):
    return numpy.random.RandomState(seed).uniform(0.05, 0.95, size=shape).astype("float32")


def batch(tensors, rows, seed):
    arrays = [numbers((rows,) + tuple(tensor.shape[1:]), seed + i) for i, tensor in enumerate(tensors)]
    return arrays[0] if len(arrays) == 1 else arrays


def set_weights(model, seed=1):
    model.set_weights([numbers(weight.shape, seed + i) for i, weight in enumerate(model.get_weights())])


def train(model, steps=2):
    for step in range(steps):
        model.train_on_batch(batch(model.inputs, 12, 100 + step), batch(model.outputs, 12, 200 + step))


def predictions(model):
    # both ways of slicing by number, and a batch that divides evenly: split takes no other
    found = model.predict(batch(model.inputs, 8, 300), batch_size=8, verbose=0)
    return found if isinstance(found, list) else [found]


def assert_same_predictions(one, other):
    for a, b in zip(predictions(one), predictions(other)):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def variables(optimizer):
    """The optimizer's arrays."""
    found = optimizer.variables
    return [numpy.array(value) for value in (found() if callable(found) else found)]
