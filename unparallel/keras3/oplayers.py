"""Layers that are one operation of TensorFlow: each a small model of operations of Keras 3 under the layer's name.

tf.keras makes such a layer wherever a function of TensorFlow is called on a layer's output while a model is built:
`TensorFlowOpLayer` (1.15 to 2.3) with the operation's NodeDef, `TFOpLambda` and `SlicingOpLambda` (2.4 on) with the
function's dotted name and its arguments.  Some give no tensor but a number or a shape, `tf.shape(x)[0]`, for others to
read: what they give is kept as a value here (`Values`), and no layer is written for them.
"""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple, NoReturn, Sequence

from ..model import Call, Json, TensorKey, element_count
from ..model import Layer as OldLayer
from ..operations.arguments import items_of, numbers_of, whole_number
from ..operations.chance import zeros_of
from ..operations.cutting import strided_index
from ..operations.elementwise import binary
from ..operations.recorder import Recorder
from ..operations.table import record
from ..operations.tape import MIXES, Tape
from ..operations.values import (
    UNKNOWN_LENGTH,
    Array,
    Entry,
    Length,
    Lengths,
    Recorded,
    StaticShape,
    Tensor,
    needed,
    tensors_of,
)
from ..slices.arguments import call_arguments
from ..slices.lambdas import from_json
from ..slices.sizes import Undecided
from ..slices.values import Unknown
from .lambdas import as_model, environment
from .nodedefs import node_call
from .values import H5, Context, Piece, TensorSpec, words

CLASSES = frozenset(
    ["TensorFlowOpLayer", "TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty"]
)
#: Numbers in the constants of all of a file's operations.
MAX_NUMBERS = 2**20
#: The axis of a number that is computed of lengths, and so is nobody's length.
COMPUTED = -1
CARRIED = "it gives no tensor but a number or a shape, which the operations that read it have in them"
RANK_UNKNOWN = "how many axes its input has is not in the file"


class Operation(NamedTuple):
    """What became of one call of such a layer.

    Attributes
    ----------
    piece : Piece or None
        None where it gives no tensor.
    reads : tuple of TensorKey
        What the piece reads.
    outputs : tuple
        What it gives: a `Tensor` for each tensor, else the value itself.
    lines : tuple of str
        What the piece reads and does in readable form: equal for calls that can be calls of one layer.
    notes : tuple of str
    """

    piece: Piece | None
    reads: tuple[TensorKey, ...]
    outputs: tuple[object, ...]
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Values:
    """A model's tensors as operations see them, and what is no tensor though a layer gives it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.known: dict[TensorKey, object] = {}
        self.keys: dict[int, TensorKey] = {}

    def of(self, key: TensorKey, spec: TensorSpec | None) -> object:
        """The tensor of that key, or what stands for it."""
        if key not in self.known:
            if spec is None or spec.shape is None:
                return Unknown(RANK_UNKNOWN)
            kind = spec.dtype or self.context.float_type
            self._add(key, Tensor(spec.shape, kind, rows=self.context.batch()))
        return self.known[key]

    def _add(self, key: TensorKey, value: object) -> None:
        self.known[key] = value
        if isinstance(value, Tensor):
            self.keys[id(value)] = key

    def is_carried(self, key: TensorKey) -> bool:
        """Whether it is a number or a shape, for which no layer is written."""
        return key in self.known and not isinstance(self.known[key], Tensor)

    def follow(self, layer: OldLayer, number: int, inputs: Sequence[object]) -> Operation:
        """What one call of such a layer gives, for `inputs`, the values of what it reads.

        Raises
        ------
        Undecided
            If it cannot be told, or not be said in Keras 3.
        """
        tape = Tape(environment(self.context))
        found = _flat(_evaluated(tape, layer, layer.calls[number], inputs))
        self._spend(tape)
        if not any(isinstance(value, Tensor) for value in found):
            return self._kept(layer, number, Operation(None, (), tuple(found)))
        if not all(isinstance(value, Tensor) for value in found):
            raise Undecided("it gives tensors and numbers")
        if MIXES in tape.notes:
            self.context.rows = None
        made = self._operation(tape, [value for value in found if isinstance(value, Tensor)], tuple(tape.notes))
        return self._kept(layer, number, made)

    def _spend(self, tape: Tape) -> None:
        self.context.numbers += tape.numbers
        if self.context.numbers > MAX_NUMBERS:
            raise Undecided(f"the constants of the file's operations hold more than {MAX_NUMBERS} numbers")

    def _kept(self, layer: OldLayer, number: int, made: Operation) -> Operation:
        for i, value in enumerate(made.outputs):
            self._add(TensorKey(layer.name, number, i), value)
        return made

    def _operation(self, tape: Tape, outputs: list[Tensor], notes: tuple[str, ...]) -> Operation:
        outputs = [
            tape.op("numpy.Copy", [output], output.shape, output.dtype) if output.entry is None else output
            for output in outputs
        ]
        entries = needed(outputs)
        read = {id(tensor): tensor for entry in entries for tensor in tensors_of(entry.args) if tensor.entry is None}
        recorded = _numbered(list(read.values()), entries, outputs, len(outputs) > 1, notes)
        specs = tuple(TensorSpec(output.shape, output.dtype) for output in outputs)
        piece = Piece("Functional", {}, submodel=as_model(recorded), outputs=specs)
        given = tuple(Tensor(output.shape, output.dtype, rows=output.rows) for output in outputs)
        return Operation(piece, tuple(self.keys[tensor] for tensor in read), given, _lines(recorded), notes)


def _lines(recorded: Recorded) -> tuple[str, ...]:
    inputs = [f"x{tensor.port}: {tensor.dtype} {tensor.shape}" for tensor in recorded.inputs]
    return tuple(inputs + recorded.lines())


def _sources(value: object) -> list[Tensor]:
    """The tensors of which a value is, or of whose shape it is made."""
    if isinstance(value, Length):
        return [value.source]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _sources(item)]
    return [value] if isinstance(value, Tensor) else []


def _flat(value: object) -> list[object]:
    """The outputs of a layer one by one; a shape is one."""
    if isinstance(value, (Lengths, StaticShape)) or not isinstance(value, (list, tuple)):
        return [value]
    if not any(isinstance(item, Tensor) for item in value):
        return [value]
    return [part for item in value for part in _flat(item)]


def _numbered(
    inputs: Sequence[Tensor],
    entries: Sequence[Entry],
    outputs: Sequence[Tensor],
    several: bool,
    notes: tuple[str, ...],
) -> Recorded:
    """The entries over inputs that are numbered through."""
    places = {id(tensor): Tensor(tensor.shape, tensor.dtype, None, i) for i, tensor in enumerate(inputs)}
    made: dict[int, Entry] = {}

    def renumbered(value: object) -> object:
        if isinstance(value, Tensor):
            if value.entry is None:
                return places[id(value)]
            return Tensor(value.shape, value.dtype, made[id(value.entry)], value.port)
        return [renumbered(item) for item in value] if isinstance(value, (list, tuple)) else value

    for entry in entries:
        made[id(entry)] = Entry(entry.kind, tuple([renumbered(arg) for arg in entry.args]), entry.config)
    ends = tuple(Tensor(out.shape, out.dtype, made[id(out.entry)], out.port) for out in outputs)
    return Recorded(tuple(places.values()), tuple(made.values()), ends, several, notes)


# -- what a layer gives ---------------------------------------------------------------------------------------


def _evaluated(tape: Tape, layer: OldLayer, call: Call, inputs: Sequence[object]) -> object:
    unknown = next((value for value in inputs if isinstance(value, Unknown)), None)
    if unknown is not None:
        raise Undecided(unknown.reason)
    config: Mapping[str, Json] = layer.config if isinstance(layer.config, dict) else {}
    return _CLASSES[layer.class_name](tape, config, call, inputs)


def _of_node(tape: Tape, config: Mapping[str, Json], call: Call, inputs: Sequence[object]) -> object:
    """`TensorFlowOpLayer`: a NodeDef with constants in some places."""
    definition = config.get("node_def")
    if not isinstance(definition, dict) or not isinstance(definition.get("input", []), list):
        raise Undecided("its operation is not known")
    constants = config.get("constants") or {}
    tensors = list(inputs)
    places: list[object] = []
    for place in range(len(definition.get("input", []))):
        constant = constants.get(str(place), constants.get(place, _NONE))
        if constant is _NONE and not tensors:
            raise Undecided("its operation is given an unknown number of tensors")
        places.append(tensors.pop(0) if constant is _NONE else from_json(constant))
    if tensors:
        raise Undecided("its operation is given an unknown number of tensors")
    path, args, kwargs = node_call(definition, places)
    return _applied(tape, path, args, kwargs)


_NONE = object()


def _of_function(tape: Tape, config: Mapping[str, Json], call: Call, inputs: Sequence[object]) -> object:
    """`TFOpLambda`, `SlicingOpLambda`: a function by its dotted name, its arguments in the node."""
    function = config.get("function")
    if not isinstance(function, str):
        raise Undecided("its function is not known")
    args, kwargs = call_arguments(call, inputs)
    return _applied(tape, ("tf", *function.split(".")), args, kwargs)


def _of_class(tape: Tape, config: Mapping[str, Json], call: Call, inputs: Sequence[object]) -> NoReturn:
    """`ClassMethod` and its like: what ragged and sparse tensors have, which are not in Keras 3."""
    of = str(config.get("cls_symbol") or config.get("cls_ref") or "a tensor")
    name = str(config.get("method_name") or config.get("attr_name"))
    raise Undecided(f"it reads {name[:40]!r} of {of[:60]}")


_CLASSES: dict[str, Callable[[Tape, Mapping[str, Json], Call, Sequence[object]], object]] = {
    "TensorFlowOpLayer": _of_node,
    "TFOpLambda": _of_function,
    "SlicingOpLambda": _of_function,
    "ClassMethod": _of_class,
    "InstanceMethod": _of_class,
    "InstanceProperty": _of_class,
}


def _applied(tape: Tape, path: tuple[str, ...], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What a function gives, of numbers and shapes too."""
    name = path[-1]
    special = _OPERATORS.get(name) if "__operators__" in path else _SPECIAL.get(name)
    try:
        if special is not None:
            return special(tape, *args, **{key: value for key, value in kwargs.items() if key not in ("name", "var")})
        if "__operators__" in path:
            path = ("tf", _SAME_NAMES.get(name, name))
        return record(tape, path, args, kwargs)
    except TypeError as error:
        raise Undecided(f"it calls {'.'.join(path)} with arguments that do not fit") from error
    except Undecided as error:
        # a number that is computed of unknown lengths is one more of these, where only numbers went in
        sources = _sources([*args, *kwargs.values()])
        if str(error) != UNKNOWN_LENGTH or name not in _COUNTING or _has_tensors([*args, *kwargs.values()]):
            raise
        return Length(sources[0], COMPUTED)


_SAME_NAMES = {"eq": "equal", "ne": "not_equal"}
_COUNTING = words("""
    add subtract multiply mul floordiv floor_div floormod mod realdiv truediv divide maximum minimum negative
    reduce_prod reduce_sum reduce_max reduce_min cast""")


def _has_tensors(values: Sequence[object]) -> bool:
    return any(
        isinstance(value, Tensor) or (isinstance(value, (list, tuple)) and _has_tensors(value)) for value in values
    )


def _subscript(tape: Tape, x: object, index: object) -> object:
    """`x[index]` of a tensor, a shape or a constant."""
    index = tuple(index) if isinstance(index, list) else index
    if isinstance(x, (Lengths, list)) and isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    return Recorder(tape).subscript(x, index)


def _strided_slice(tape: Tape, x: object, begin: object, end: object, strides: object = None, *masks: object) -> object:
    return _subscript(tape, x, strided_index(begin, end, strides, masks))


def _gather(tape: Tape, x: object, indices: object, *more: object, **named: object) -> object:
    """Places of a shape, or of a tensor."""
    if not isinstance(x, Lengths):
        return record(tape, ("tf", "gather"), [x, indices, *more], named)
    items = indices.numbers.tolist() if isinstance(indices, Array) else indices
    if isinstance(items, int):
        return _subscript(tape, x, items)
    places = numbers_of(items, "places")
    return Lengths([_subscript(tape, x, place) for place in places])


def _filled(tape: Tape, dims: object, value: object) -> object:
    """`tf.fill`: of a shape that some tensor has, too."""
    items = items_of(dims, "a shape")
    source = next((item.source for item in items if isinstance(item, Length)), None)
    if source is None:
        return record(tape, ("tf", "fill"), [dims, value], {})
    return binary(tape, "+", zeros_of(tape, source, items), value)


def _broadcast_to(tape: Tape, x: object, shape: object) -> object:
    items = items_of(shape, "a shape")
    source = next((item.source for item in items if isinstance(item, Length)), None)
    if source is None:
        raise Undecided("it calls tf.broadcast_to with a shape of which no tensor is")
    return binary(tape, "+", zeros_of(tape, source, items), x)


def _rank_of_list(tape: Tape, x: object, axis: object = None, keepdims: object = None, **named: object) -> object:
    """`tf.reduce_prod` of a shape: a number."""
    if not isinstance(x, Lengths):
        given = {key: value for key, value in (("axis", axis), ("keepdims", keepdims)) if value is not None}
        return record(tape, ("tf", "reduce_prod"), [x], {**given, **named})
    if keepdims:
        raise Undecided("it keeps the axis of a shape that it multiplies")
    open_lengths = [item for item in x if isinstance(item, Length)]
    if len(x) == 1:
        return x[0]
    if open_lengths:
        return Length(open_lengths[0].source, COMPUTED)
    return element_count(whole_number(item, "a length") for item in x)


_OPERATORS: dict[str, Callable[..., object]] = {
    "getitem": lambda tape, tensor, slice_spec: _subscript(tape, tensor, slice_spec),
}
_SPECIAL: dict[str, Callable[..., object]] = {
    "strided_slice": _strided_slice,
    "gather": _gather,
    "fill": _filled,
    "broadcast_to": _broadcast_to,
    "reduce_prod": _rank_of_list,
    "check_numerics": lambda tape, tensor, message=None: tensor,
    "ensure_shape": lambda tape, x, shape: x,
}


def carried(names: Sequence[str]) -> str:
    """What to say of the layers that are not written."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"not written: {names[0]!r}{more}, of which operations read a number or a shape, which they have in them"


def becomes(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """The operations that a layer becomes."""
    layers = [layer for piece in pieces if piece.submodel is not None for layer in piece.submodel.layers]
    return tuple(layer.class_name for layer in layers if layer.class_name != "InputLayer")


def refusal(layer: OldLayer, error: Undecided) -> tuple[str, str]:
    """(problem, hint) for a layer that cannot be written."""
    return f"layer {layer.name!r} ({layer.class_name}): cannot be written as an operation of Keras 3: {error}", H5
