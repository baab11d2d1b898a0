"""A Lambda layer as a model of its own: its inputs, and the operations that its function was followed to.

Such a model stands wherever a layer may stand, under the Lambda's name, so that the order of layers and the paths of
weights stay what they were.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Iterator, Mapping, Sequence

import numpy as np

from ..errors import BytecodeError, Keras3Error
from ..model import Json, TensorKey
from ..operations.record import record
from ..operations.tape import MIXES
from ..operations.values import Entry, Environment, Recorded, Tensor
from ..slices.lambdas import SavedFunction
from ..slices.sizes import Undecided
from .graph import snake_case
from .values import Call, Config, Context, Layer, Masked, Model, Old, Piece, TensorSpec, words

#: Operations that take a `name` in every version; those with arguments of their own do from Keras 3.11 on.
NAMED = words("""
    math.Erf math.Rsqrt nn.LogSigmoid nn.Relu nn.Relu6 nn.Selu nn.Sigmoid nn.Silu nn.Softplus nn.Softsign
    numpy.Absolute numpy.Add numpy.Arccos numpy.Arccosh numpy.Arcsin numpy.Arcsinh numpy.Arctan numpy.Arctan2
    numpy.Arctanh numpy.Ceil numpy.Copy numpy.Cos numpy.Cosh numpy.DivideNoNan numpy.Equal numpy.Exp numpy.Expm1
    numpy.Floor numpy.FloorDivide numpy.GetItem numpy.Greater numpy.GreaterEqual numpy.Isfinite numpy.Isinf numpy.Isnan
    numpy.Less numpy.LessEqual numpy.Log numpy.Log1p numpy.LogicalAnd numpy.LogicalNot numpy.LogicalOr numpy.LogicalXor
    numpy.Matmul numpy.Maximum numpy.Minimum numpy.Mod numpy.Multiply numpy.Negative numpy.NotEqual numpy.Power
    numpy.Reciprocal numpy.Sign numpy.Sin numpy.Sinh numpy.Sqrt numpy.Square numpy.Subtract numpy.Tan numpy.Tanh
    numpy.TrueDivide numpy.Where""")
#: What no file says, and every translation of Python code takes for granted.
TRUST = (
    "assumed, since the file does not say: in Lambdas K is Keras' backend, tf is TensorFlow, np is numpy, epsilon() "
    "is 1e-7, images are channels_last"
)
HINT = "write it as a layer in the old Keras and save again, or take the .h5 (-o NAME.h5)"


def function(old: Old, to: str, config: Config) -> list[Piece]:
    """Lambda."""
    saved = _saved(old)
    masked = _takes_mask(saved, old)
    recorded, problem = _tried(saved, old, None)
    if not masked:
        if problem is not None:
            raise problem
        return [_said(old, to, recorded, None)]
    with_mask, problem_too = _tried(saved, old, _mask(old))
    if recorded is None and with_mask is None:
        raise problem_too or problem or old.refuse("cannot be written as operations", HINT)
    model = as_model(with_mask) if with_mask is not None else None
    return [_said(old, to, recorded or with_mask, Masked(model, problem))]


def of_activation(old: Old, field: Json, inputs: tuple[TensorSpec, ...]) -> Piece:
    """An activation whose code is in the file, as a model of what the layer gives without it."""
    old = old._replace(config={"function": field}, inputs=inputs or (TensorSpec(),))
    recorded, problem = _tried(_saved(old), old, None)
    if problem is not None:
        raise problem
    return _said(old, "Functional", recorded, None)


def _said(old: Old, to: str, recorded: Recorded | None, masked: Masked | None) -> Piece:
    """The piece, and the notes on it."""
    assert recorded is not None
    count = len(recorded.entries)
    old.note("expanded", f"written as {count} operation{'s' if count != 1 else ''}")
    if MIXES in recorded.notes:
        old.context.rows = None
    for text in recorded.notes:
        old.note("differs", text)
    old.context.used.update(recorded.defined)
    for name in recorded.defined:
        old.note("assumed", f"{name} is {old.context.defined[name]}, as you said")
    outputs = tuple(TensorSpec(tensor.shape, tensor.dtype) for tensor in recorded.outputs)
    return Piece(to, {}, submodel=as_model(recorded), outputs=outputs, masked=masked)


def _saved(old: Old) -> SavedFunction:
    field = old.config.get("function")
    if isinstance(field, str):
        raise old.refuse(f"the file names {field!r} without its code", HINT)
    if old.context.backend not in (None, "tensorflow"):
        raise old.refuse(f"what its code means to the backend {old.context.backend} is not known", HINT)
    if old.config.get("mask") is not None:
        raise old.refuse("it makes a mask of its own", HINT)
    try:
        saved = SavedFunction.from_config(field)
    except BytecodeError as error:
        raise old.refuse(f"its Python code cannot be read: {error.message}", HINT) from error
    if saved is None:
        raise old.refuse("its function is not in the file", HINT)
    return saved


def _takes_mask(saved: SavedFunction, old: Old) -> bool:
    """Whether Keras gives the function its tensor's mask: it has a parameter of that name."""
    try:
        parameters = old.context.functions.program(saved).code.parameters
    except (BytecodeError, Undecided) as error:
        raise old.refuse(f"its Python code cannot be read: {error}", HINT) from error
    return "mask" in parameters


def _mask(old: Old) -> Tensor:
    """The mask of a sequence: a truth for each step, the last of the model's inputs."""
    shape = old.shape[:2] if old.shape is not None else ()
    return Tensor(shape, "bool", None, len(old.inputs))


def _tried(saved: SavedFunction, old: Old, mask: Tensor | None) -> tuple[Recorded | None, Keras3Error | None]:
    """What the function is recorded as, or why that cannot be."""
    inputs = [_input(old, port, spec) for port, spec in enumerate(old.inputs)]
    arguments = dict(_arguments(old), mask=mask)
    try:
        recorded = record(saved, inputs, arguments, environment(old.context), old.context.functions)
    except Undecided as error:
        return None, old.refuse(f"cannot be written as operations: {error}", _hint(str(error)))
    except BytecodeError as error:
        return None, old.refuse(f"its Python code cannot be read: {error.message}", HINT)
    return (recorded if mask is None else replace(recorded, inputs=(*recorded.inputs, mask))), None


def _hint(reason: str) -> str:
    """What to do next: where a global is missing, it may be a number that somebody knows."""
    found = re.search(r"it uses '([\w.]+)'", reason)
    if found is None:
        return HINT
    return f"if it is a number or a list of numbers, --define {found[1]}=VALUE supplies it; otherwise {HINT}"


def _input(old: Old, port: int, spec: TensorSpec) -> Tensor:
    if spec.shape is None:
        raise old.refuse("cannot be written as operations: how many axes its input has is not in the file", HINT)
    return Tensor(spec.shape, spec.dtype or old.context.float_type, None, port, old.context.batch())


def _arguments(old: Old) -> dict[str, Json]:
    arguments = old.config.get("arguments") or {}
    given: dict[str, Json] = {}
    if old.context.tf_keras:
        given["training"] = False
    given.update(arguments if isinstance(arguments, dict) else {})
    return given


def environment(context: Context) -> Environment:
    """What code means in the Keras of a file.

    TensorFlow: standalone Keras up to 2.2 runs on the first, 2.3 on either; tf.keras calls itself "2.2.4-tf" from
    TensorFlow 1.13 to 2.1, and is of TensorFlow 2 after that.
    """
    version = context.version
    unsure = version == (2, 2) if context.tf_keras else version == (2, 3)
    major = None if unsure else 2 if version >= (2, 3) else 1
    return Environment(major, context.tf_keras, context.float_type, context.channels_first, context.defined)


# -- a model of entries ------------------------------------------------------------------------------------


def as_model(recorded: Recorded) -> Model:
    """The model that has these entries as its layers."""
    names = {id(entry): _name(entry, i) for i, entry in enumerate(recorded.entries)}
    layers = [_input_layer(tensor) for tensor in recorded.inputs]
    layers += [_operation(entry, names) for entry in recorded.entries]
    inputs = tuple(_key(tensor, names) for tensor in recorded.inputs)
    return Model("", False, tuple(layers), inputs, tuple(_key(tensor, names) for tensor in recorded.outputs))


def _name(entry: Entry, number: int) -> str:
    """A name that Keras gives to nothing by itself."""
    return f"step_{number + 1}_{snake_case(entry.kind.split('.')[1])}"


def _input_layer(tensor: Tensor) -> Layer:
    config = {"batch_shape": list(tensor.shape), "dtype": tensor.dtype, "sparse": False}
    return Layer(_input_name(tensor.port), "InputLayer", config, calls=(Call(()),), old_class="InputLayer")


def _input_name(port: int) -> str:
    return f"input_{port + 1}"


def _key(tensor: Tensor, names: Mapping[int, str]) -> TensorKey:
    if tensor.entry is None:
        return TensorKey(_input_name(tensor.port), 0, 0)
    return TensorKey(names[id(tensor.entry)], 0, tensor.port)


def _operation(entry: Entry, names: Mapping[int, str]) -> Layer:
    module, class_name = entry.kind.split(".")
    name = names[id(entry)]
    args = tuple(_argument(arg, names) for arg in entry.args)
    call = Call(tuple(_keys(args)), args=args)
    config = {key: _plain(value) for key, value in entry.config.items()}
    if module == "layers":
        return Layer(name, class_name, config, calls=(call,))
    if entry.kind in NAMED:
        config["name"] = name
    return Layer(name, class_name, config, f"keras.src.ops.{module}", calls=(call,))


def _keys(args: Sequence[object]) -> Iterator[TensorKey]:
    for arg in args:
        if isinstance(arg, TensorKey):
            yield arg
        elif isinstance(arg, list):
            yield from _keys(arg)


def _argument(value: object, names: Mapping[int, str]) -> object:
    """An argument as config.json has it, tensors as keys."""
    if isinstance(value, Tensor):
        return _key(value, names)
    if isinstance(value, np.ndarray):
        return {"class_name": "__numpy__", "config": {"value": value.tolist(), "dtype": str(value.dtype)}}
    if isinstance(value, slice):
        parts = {"start": value.start, "stop": value.stop, "step": value.step}
        return {"class_name": "__slice__", "config": parts}
    if value is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if isinstance(value, (list, tuple)):
        return [_argument(item, names) for item in value]
    return value


def _plain(value: object) -> Json:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
