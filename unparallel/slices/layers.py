"""What the calls of a layer give: a table of the layers that slice, join and compute."""

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ..errors import BytecodeError
from ..model import Call, Json, Layer, is_operation
from .arguments import first_argument
from .lambdas import NUMBERS, Context, SavedFunction, checked_result, lambda_numbers, whole_numbers
from .operations import concat
from .oplayers import KERAS3, evaluate_keras3, evaluate_op, evaluate_tf_function
from .sizes import Undecided
from .values import Mean, Output, Rows, Scalar, Stack, Sum, Tensor, Unknown

# what a config of an unforeseen shape trips: the call stays unknown, whatever it was
_DAMAGE = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


def _evaluate_lambda(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    try:
        saved = SavedFunction.from_config(layer.config.get("function"))
        if saved is None:
            raise BytecodeError("the file names a function without holding its code")
        program = context.program(saved)
    except BytecodeError as error:
        named = layer.config.get("function")
        return (Unknown(error.message, named if isinstance(named, str) else layer.class_name),)
    arguments = layer.config.get("arguments") or {}
    try:
        if not isinstance(arguments, dict):
            raise Undecided("it is called with unusual arguments")
        result = context.follow(saved, [first_argument(call, inputs)], arguments)
    except Undecided as error:
        result = Unknown(str(error))
    if isinstance(result, Unknown):
        result = Unknown(result.reason, program.code.name, program.names)
    return result if isinstance(result, tuple) and result else (result,)


def _axis(config: Dict[str, Json], name: str) -> Optional[int]:
    axis = config.get(name)
    return axis if isinstance(axis, int) and not isinstance(axis, bool) else None


def _evaluate_concatenate(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    return (concat(inputs, _axis(layer.config, "axis")),)


def _evaluate_merge(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    """Keras 1: one class for all ways to merge."""
    if layer.config.get("mode_type", "raw") != "raw":
        raise Undecided("it merges by a function")
    mode = layer.config.get("mode")
    if mode == "ave":
        return (Mean(tuple(inputs), layer.class_name),)
    if mode != "concat":
        raise Undecided(f"it merges by {mode!r}")
    return (concat(inputs, _axis(layer.config, "concat_axis")),)


def _evaluate_average(layer: Layer, call: Call, inputs: Sequence[object], context: Context) -> Sequence[object]:
    return (Mean(tuple(inputs), layer.class_name),)


_Evaluate = Callable[[Layer, Call, Sequence[object], Context], Sequence[object]]
_LAYERS: Dict[str, _Evaluate] = {
    "Lambda": _evaluate_lambda,
    "Concatenate": _evaluate_concatenate,
    "Merge": _evaluate_merge,
    "Average": _evaluate_average,
    "TensorFlowOpLayer": evaluate_op,
    "TFOpLambda": evaluate_tf_function,
    "SlicingOpLambda": evaluate_tf_function,
}


def _handler(layer: Layer) -> Optional[_Evaluate]:
    """Who evaluates a layer's calls.  Keras 3 has operations and layers of one name."""
    if is_operation(layer):
        return evaluate_keras3 if layer.class_name in KERAS3 or layer.class_name == "Slice" else None
    return _LAYERS.get(layer.class_name)


# settings that every layer has
_COMMON = frozenset(("name", "trainable", "dtype", "batch_input_shape", "batch_shape", "input_dtype"))
# layers of Keras that hold two whole numbers and nothing else
_NOT_SLICES = frozenset(("CenterCrop", "RandomCrop", "Resizing", "Embedding"))


def is_helper(layer: Layer) -> bool:
    """Whether `evaluate` has something to say on the layer's calls.

    Parameters
    ----------
    layer : Layer

    Returns
    -------
    bool
        False for layers whose outputs are nothing but tensors.
    """
    if layer.submodel is not None or not isinstance(layer.config, dict):
        return False
    return _handler(layer) is not None or len(_custom_numbers(layer)) == 2


def evaluate(
    layer: Layer, call: Call, inputs: Sequence[object], context: Optional[Context] = None
) -> Tuple[Output, ...]:
    """What one call of a layer gives.

    Parameters
    ----------
    layer : Layer
        One for which `is_helper` is true.
    call : Call
        One of its calls.
    inputs : sequence
        A value for each of `call.inputs`: what `evaluate` gave for it, or `Tensor`.
    context : Context, optional
        Shared by all calls for one file.

    Returns
    -------
    tuple
        A value for each output: `Tensor`, `Rows`, `Joined`, `Mean`, `Unknown`, or a number, a shape or a sum,
        which only other calls of `evaluate` read.  It never raises.

    Examples
    --------
    >>> from unparallel.model import TensorKey
    >>> layer = Layer("join", "Concatenate", {"axis": 0})
    >>> call = Call((TensorKey("a", 0, 0), TensorKey("a", 1, 0)))
    >>> evaluate(layer, call, [Tensor(key) for key in call.inputs])[0].parts == tuple(map(Tensor, call.inputs))
    True
    """
    handler = _handler(layer)
    if handler is None or not isinstance(layer.config, dict):
        return (Unknown("it is a layer of a class that is not known", layer.class_name),)
    kept = (Tensor, Rows, Sum, Stack) + NUMBERS
    # what is known neither as rows nor as a number is a tensor of its own
    known = [value if isinstance(value, kept) else Tensor(key) for key, value in zip(call.inputs, inputs)]
    try:
        values: List[Output] = [checked_result(value) for value in handler(layer, call, known, context or Context())]
    except Undecided as error:
        values = [Unknown(str(error))]
    except _DAMAGE:
        values = [Unknown("its settings are damaged")]
    return tuple([_named(value, layer.class_name) for value in values])


def _named(value: Output, function: str) -> Output:
    """The value; an unknown one bears at least the name of its layer's class."""
    return Unknown(value.reason, function) if isinstance(value, Unknown) and not value.function else value


def shape_is_scalar(layer: Layer, context: Optional[Context] = None) -> bool:
    """Whether all that a layer gives provably is single numbers, without a batch axis.

    Parameters
    ----------
    layer : Layer
    context : Context, optional
        Shared by all calls for one file.

    Returns
    -------
    bool
        True where the function ends in a mean or sum over all axes, or the layer's own output shape is a
        function that gives (), whatever it is given.  A fixed output shape of () has a batch axis before it.
    """
    if not is_helper(layer):
        return False
    context = context or Context()
    if layer.class_name == "Lambda" and layer.config.get("output_shape_type") == "lambda":
        try:
            saved = SavedFunction.from_config(layer.config.get("output_shape"))
            if saved is not None and context.follow(saved, [Unknown("a shape")], {}) == ():
                return True
        except (BytecodeError, Undecided) + _DAMAGE:
            pass
    for call in layer.calls[:1]:
        values = evaluate(layer, call, [Tensor(key) for key in call.inputs], context)
        return all(isinstance(value, Scalar) or isinstance(value, Mean) and value.reduces for value in values)
    return False


def looks_like_slice(layer: Layer, call: Call) -> Optional[Tuple[int, int]]:
    """(index, count) where a layer's numbers can mean one part of N, whatever they are called.

    It proves nothing, and serves only who has said that slices are to be trusted.

    Parameters
    ----------
    layer : Layer
    call : Call

    Returns
    -------
    tuple of int or None
        None unless the call reads one tensor and there are exactly two numbers, one below the other.
    """
    if len(call.inputs) != 1 or layer.submodel is not None or not isinstance(layer.config, dict):
        return None
    numbers = lambda_numbers(layer.config) if layer.class_name == "Lambda" else _custom_numbers(layer)
    if len(numbers) != 2 or not 0 <= min(numbers) < max(numbers):
        return None
    return min(numbers), max(numbers)


def _custom_numbers(layer: Layer) -> List[int]:
    """The settings of a layer of the user's own, where they are nothing but two whole numbers."""
    if _handler(layer) is not None or layer.class_name in _NOT_SLICES or layer.submodel is not None:
        return []
    own = [value for name, value in layer.config.items() if name not in _COMMON]
    numbers = whole_numbers(own)
    return numbers if len(numbers) == len(own) == 2 else []
