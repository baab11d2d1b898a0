"""One old Keras under common names, on a machine that is told it has GPUs.

Two things are ours: the list of devices, and that what is placed on a GPU may run on the CPU.
"""

import contextlib
import importlib
import os
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy
import tensorflow

NAME = os.environ["UNPARALLEL_STACK"]
STANDALONE = NAME.startswith("k")
# these name every merge `concatenate_N`
NAMES_OUTPUTS = NAME != "k209"
# their slice function closes over a module
CAN_SAVE_WRAPPER = NAME not in ("k209", "k216")
# `cpu_relocation` came with Keras 2.1.6
RELOCATES = NAME != "k209"
# Keras 2.0.9 takes no layer into a Sequential that was called before
CHAINS_MODELS = NAME != "k209"
DEVICES = ["/device:CPU:0"] + [f"/device:GPU:{number}" for number in range(4)]

keras = importlib.import_module("keras") if STANDALONE else tensorflow.keras
_INSIDE = "keras" if STANDALONE else "tensorflow.python.keras"
K = keras.backend


def _wrapper_modules():
    for name in ("multi_gpu_utils", "training_utils"):
        with contextlib.suppress(ImportError):
            yield importlib.import_module(f"{_INSIDE}.utils.{name}")


MODULES = [module for module in _wrapper_modules() if hasattr(module, "multi_gpu_model")]
for _module in MODULES:
    _module._get_available_devices = lambda: DEVICES
multi_gpu_model = MODULES[0].multi_gpu_model


def unwrapped(model, gpus, **options):
    """In the place of `multi_gpu_model`."""
    return model


def fresh():
    """A new graph, names from the start again, one thread, GPUs replaced by the CPU."""
    K.clear_session()
    if tensorflow.__version__.startswith("2."):
        tensorflow.config.set_soft_device_placement(True)
        return
    config = tensorflow.compat.v1.ConfigProto(
        allow_soft_placement=True, intra_op_parallelism_threads=1, inter_op_parallelism_threads=1
    )
    session = tensorflow.compat.v1.Session(config=config)
    (keras if STANDALONE else tensorflow.compat.v1.keras).backend.set_session(session)


def numbers(shape, seed):
    """Good for weights, variances (never negative) and targets alike."""
    return numpy.random.RandomState(seed).uniform(0.05, 0.95, size=shape).astype("float32")


def _shape(tensor):
    return tuple(int(length) for length in tensor.shape[1:])


def batch(tensors, rows, seed):
    """One array for each tensor, alone where there is one."""
    arrays = [numbers((rows,) + _shape(tensor), seed + i) for i, tensor in enumerate(tensors)]
    return arrays[0] if len(arrays) == 1 else arrays


def set_weights(model, seed=1):
    """Weights from a fixed seed."""
    model.set_weights([numbers(weight.shape, seed + i) for i, weight in enumerate(model.get_weights())])


def train(model, steps=2):
    """So many steps: enough for an optimizer with something to remember."""
    for step in range(steps):
        model.train_on_batch(batch(model.inputs, 12, 100 + step), batch(model.outputs, 12, 200 + step))


def predictions(model, rows=7):
    """The outputs for a batch that does not divide evenly, always as a list."""
    found = model.predict(batch(model.inputs, rows, 300), batch_size=rows)
    return found if isinstance(found, list) else [found]


def assert_same_predictions(one, other):
    for a, b in zip(predictions(one), predictions(other)):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def inbound_nodes(model):
    nodes = getattr(model, "_inbound_nodes", None)
    return model.inbound_nodes if nodes is None else nodes


def optimizer_arrays(model):
    return model.optimizer.get_weights()


assert sys.version_info[:2] == (3, 7), "these stacks run on Python 3.7"
