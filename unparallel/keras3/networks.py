"""Models of layers while they are translated: the order in which layers are made, what is known of each tensor, calls.

How a layer is made is asked of a `Layers`; what stands here knows no rule for any class but those that are models.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from .. import keras_config
from ..errors import ConfigError, Keras3Error, UnparallelError
from ..model import Call as OldCall
from ..model import Json, TensorKey, Topology, WeightRef
from ..model import Layer as OldLayer
from ..slices.sizes import Undecided
from . import objects, oplayers, shapes
from .arrays import whole
from .building import with_build_shape
from .graph import calls_in_order, reads
from .layers import ROWS, TRAINING
from .values import (
    H5,
    NONSENSE,
    Call,
    Config,
    Context,
    Layer,
    LayerOutlook,
    Model,
    Note,
    Old,
    Piece,
    TensorSpec,
)

#: Arguments of calls, beside `training`, that hold tensors or settings; by class.
CALL_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Attention": ("return_attention_scores", "use_causal_mask", "mask"),
    "AdditiveAttention": ("return_attention_scores", "use_causal_mask", "mask"),
    "MultiHeadAttention": ("value", "key", "attention_mask", "return_attention_scores", "use_causal_mask"),
}
#: Layers of a file that are translated once more, since they are called on what they have made.
MOST_REPEATS = 100
STATEFUL = ("SimpleRNN", "GRU", "LSTM", "ConvLSTM2D", "RNN", "Bidirectional")
CALL_ARGUMENTS.update({name: ("initial_state", "mask") for name in STATEFUL})


class Translated(NamedTuple):
    """What became of a model.

    Attributes
    ----------
    model : Model or None
        None where there is an error.
    outputs : tuple of TensorSpec
        What is known of each of its outputs.
    layers : tuple of LayerOutlook
        What became of each layer, those of nested models in place of these.
    error : UnparallelError or None
        Of the first layer that Keras 3 cannot express, where there is one.
    specs : dict of TensorKey to TensorSpec
        What is known of each tensor of the old model.
    """

    model: Model | None
    outputs: tuple[TensorSpec, ...] = ()
    layers: tuple[LayerOutlook, ...] = ()
    error: UnparallelError | None = None
    specs: Mapping[TensorKey, TensorSpec] = {}

    def whole(self) -> Model:
        """The model; raises the error of the first layer that has one."""
        if self.error is not None:
            raise self.error
        assert self.model is not None
        return self.model


_ONE_NUMBER = "write the model without that output in the old Keras, or take the .h5 (-o NAME.h5)"


class Layers:
    """What a model that is being translated asks of the one who knows layers."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.repeats = 0

    def pieces(self, old: Old) -> list[Piece]:
        """The Keras 3 layers that stand for an old one."""
        raise NotImplementedError

    def nested(
        self, name: str, topology: Topology, refs: Sequence[WeightRef], inputs: Sequence[TensorSpec], path: str = ""
    ) -> Translated:
        """A model inside another, whose weights are one flat list."""
        raise NotImplementedError


@contextlib.contextmanager
def fitting(topology: Topology) -> Iterator[None]:
    """A config whose values are of the wrong kind or size is damaged: only an error of ours comes of it."""
    try:
        yield
    except NONSENSE as error:
        raise nonsense(f"model {topology.name!r}", error) from error


def nonsense(what: str, error: Exception) -> Keras3Error:
    """What is said of a config that is no layer's."""
    return Keras3Error(
        f"{what}: a config makes no sense ({type(error).__name__}: {str(error)[:80]})",
        "the config is damaged, or a newer Keras wrote it",
    )


def as_layer(piece: Piece, name: str, calls: tuple[Call, ...], old_class: str) -> Layer:
    """A piece at its place in a model."""
    submodel = replace(piece.submodel, name=name) if piece.submodel is not None else None
    return Layer(
        name, piece.class_name, piece.config, piece.module, piece.arrays, calls, submodel, old_class, None,
        piece.module == "", piece.masked,
    )  # fmt: skip


def clean(name: str) -> str:
    """A name that Keras 3 takes: `/` is none of its letters."""
    return name.replace("/", "_")


class _Builder:
    """What a Sequential and a functional model have in common while they are translated."""

    def __init__(
        self,
        translator: Layers,
        topology: Topology,
        weights: Mapping[str, tuple[WeightRef, ...]],
        inputs: Sequence[TensorSpec],
        path: str,
    ) -> None:
        self.translator = translator
        self.context = translator.context
        self.topology = topology
        self.weights = weights
        self.inputs = tuple(inputs)
        self.path = path
        self.looks: dict[str, tuple[LayerOutlook, ...]] = {}
        self.errors: dict[str, UnparallelError] = {}
        self.said: dict[str, tuple[Note, ...]] = {}
        self.specs: dict[TensorKey, TensorSpec] = {}
        self.taken: dict[str, None] = {}
        self.names: dict[str, str] = {}
        # what reads well is kept; what has to change makes way
        for layer in topology.layers:
            if "/" not in layer.name:
                self.names[layer.name] = self._unique(layer.name)
        for layer in topology.layers:
            if "/" in layer.name:
                self.names[layer.name] = self._unique(clean(layer.name))
                self.context.note("renamed", layer.name, f"renamed {self.names[layer.name]!r}: Keras 3 allows no '/'")

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken[name] = None
        return name

    def own_name(self) -> str:
        """The model's name."""
        return clean(self.topology.name)

    def tried(self, layer: OldLayer, inputs: tuple[TensorSpec, ...]) -> list[Piece]:
        """The pieces of a layer, nested models too; none, and an error kept, where it cannot be expressed."""
        before, self.context.notes = self.context.notes, {}
        self.errors.pop(layer.name, None)
        try:
            pieces = self._pieces(layer, inputs)
        except UnparallelError as error:
            pieces = self._failed(layer, error)
        except NONSENSE as error:
            pieces = self._failed(layer, nonsense(f"layer {layer.name!r} ({layer.class_name})", error))
        finally:
            notes, self.context.notes = tuple(self.context.notes), before
        self.said[layer.name] = notes
        if layer.submodel is None and layer.name not in self.errors:
            becomes = oplayers.becomes(pieces) if layer.class_name in oplayers.CLASSES else _classes(pieces)
            self.looks[layer.name] = (LayerOutlook(self.path + layer.name, layer.class_name, becomes, notes=notes),)
        return pieces

    def _failed(self, layer: OldLayer, error: UnparallelError) -> list[Piece]:
        self.errors[layer.name] = error
        name = self.path + layer.name
        self.looks[layer.name] = (LayerOutlook(name, layer.class_name, (), error.message, error.hint),)
        return []

    def _pieces(self, layer: OldLayer, inputs: tuple[TensorSpec, ...]) -> list[Piece]:
        refs = self.weights.get(layer.name, ())
        if layer.submodel is not None:
            name, path = self.names[layer.name], f"{self.path}{layer.name}/"
            made = self.translator.nested(name, layer.submodel, refs, inputs, path)
            self.looks[layer.name] = made.layers
            if made.error is not None:
                self.errors[layer.name] = made.error
            if made.model is None:
                return []
            kind = "Sequential" if made.model.sequential else "Functional"
            return [Piece(kind, {}, submodel=made.model, outputs=made.outputs)]
        if not isinstance(layer.config, dict):
            raise Keras3Error(f"layer {layer.name!r} ({layer.class_name}): its config is no object", "it is damaged")
        arrays = tuple(whole(ref) for ref in refs)
        if self.weights and not refs and layer.class_name not in ROWS and self.is_inside(layer):
            what = f"layer {layer.name!r} ({layer.class_name}): how many weights it has is not in the file"
            raise Keras3Error(what, H5)
        return self.translator.pieces(Old(layer.name, layer.class_name, layer.config, arrays, self.context, inputs))

    def given(self, layer: OldLayer, pieces: Sequence[Piece], inputs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        """What a call of a layer gives."""
        if pieces and pieces[-1].outputs:
            return pieces[-1].outputs
        if layer.submodel is not None or not isinstance(layer.config, dict):
            return ()
        return shapes.outputs(Old(layer.name, layer.class_name, layer.config, (), self.context, inputs))

    def of_input(self, layer: OldLayer, place: int) -> TensorSpec:
        """What an InputLayer gives: what it says, and where it leaves a length open, what the model is called on."""
        own = TensorSpec(keras_config.shape_of_input(layer), _input_type(layer.config) or self.context.float_type)
        return shapes.refined(own, self.inputs[place]) if place < len(self.inputs) else own

    def finished(self, model: Callable[[], Model], outputs: Sequence[TensorSpec]) -> Translated:
        """The whole: the model where each layer can be expressed, and what was said of each, in the file's order."""
        if not self.path:
            self._check_ranks(outputs)
        names = [layer.name for layer in self.topology.layers]
        looks = tuple(look for name in names for look in self.looks.get(name, ()))
        for name in names:
            self.context.notes.update(dict.fromkeys(self.said.get(name, ())))
        error = next((self.errors[name] for name in names if name in self.errors), None)
        return Translated(None if error is not None else model(), tuple(outputs), looks, error, self.specs)

    def _check_ranks(self, outputs: Sequence[TensorSpec]) -> None:
        """One number is no output: the old predict() repeated it for every row, that of Keras 3 fails to join it."""
        chain = self.topology.sequential
        names = (
            [layer.name for layer in self.topology.layers[-1:]] if chain else [k.layer for k in self.topology.outputs]
        )
        for name, spec in zip(names, outputs):
            if spec.shape == () and name not in self.errors:
                layer = self.topology.layer(name)
                what = f"layer {name!r} ({layer.class_name}): the model gives out one number for the whole batch"
                self._failed(layer, Keras3Error(f"{what}, which predict() of Keras 3 cannot take", _ONE_NUMBER))

    def is_inside(self, layer: OldLayer) -> bool:
        """Whether nothing in the file says how many weights the layer has."""
        return layer.name not in self.weights

    def input_config(self, config: Config, shape: Sequence[int | None], kind: str | None) -> Config:
        """An InputLayer's config."""
        if config.get("ragged"):
            raise Keras3Error(f"input {config.get('name')!r}: ragged tensors have no place in Keras 3", H5)
        kind = kind or self.context.float_type
        return {"batch_shape": list(shape), "dtype": kind, "sparse": bool(config.get("sparse", False))}


def _input_type(config: Config) -> str | None:
    return objects.dtype(config.get("input_dtype") or config.get("dtype"))


class Network(_Builder):
    """A functional model."""

    def translated(self) -> Translated:
        """The new model."""
        self.arguments = {layer.name: self._calls(layer) for layer in self.topology.layers}
        self.values = oplayers.Values(self.context)
        self.carried: list[str] = []
        self.walked: set[tuple[str, int]] = set()
        self.made: dict[str, list[Piece]] = {}
        self.used: dict[str, tuple[TensorSpec, ...]] = {}
        self._walk()
        for layer in self.topology.layers:
            if layer.name not in self.made:
                self._make(layer)
        self._check_outputs()
        for name in self.carried:
            self.said[name] = ()  # in the outlook; else one note tells of them all
        if self.carried:
            self.context.note("dropped", "", oplayers.carried(self.carried))
        return self.finished(self._model, [self.specs.get(key, shapes.UNKNOWN) for key in self.topology.outputs])

    def _pieces(self, layer: OldLayer, inputs: tuple[TensorSpec, ...]) -> list[Piece]:
        if layer.class_name in oplayers.CLASSES:
            return self._operation(layer)
        for key in (key for call in self.arguments[layer.name] for key in reads(call)):
            if self.values.is_carried(key):
                what = f"layer {layer.name!r} ({layer.class_name})"
                raise Keras3Error(f"{what}: it reads {key.layer!r}, which gives a number or a shape and no tensor", H5)
        return super()._pieces(layer, inputs)

    def _operation(self, layer: OldLayer) -> list[Piece]:
        """The model that stands for a layer that is one operation; nothing where it gives no tensor."""
        made = []
        try:
            for number, call in enumerate(layer.calls):
                inputs = [self.values.of(key, self.specs.get(key)) for key in call.inputs]
                made.append(self.values.follow(layer, number, inputs))
            if len({operation.lines for operation in made}) > 1:
                raise Undecided("it is called on tensors of different shapes")
        except Undecided as error:
            problem, hint = oplayers.refusal(layer, error)
            raise Keras3Error(problem, hint) from error
        for number, operation in enumerate(made):
            self.arguments[layer.name][number] = Call(operation.reads)
            for i, spec in enumerate(operation.piece.outputs if operation.piece is not None else ()):
                self.specs[TensorKey(layer.name, number, i)] = spec
            for text in operation.notes:
                self.context.note("differs", layer.name, text)
        if made and made[0].piece is not None:
            return [made[0].piece]
        self.context.note("dropped", layer.name, oplayers.CARRIED)
        self.carried.append(layer.name)
        return []

    def _calls(self, layer: OldLayer) -> list[Call]:
        if layer.class_name in oplayers.CLASSES:
            return [Call(call.inputs) for call in layer.calls]  # the operation reads its arguments itself
        try:
            return [self._arguments(layer, call) for call in layer.calls]
        except Keras3Error as error:
            self._failed(layer, error)
            return [Call(call.inputs) for call in layer.calls]

    def _walk(self) -> None:
        """What is known of each tensor, call by call, and the pieces of those layers that alone can tell it."""
        places = {key.layer: place for place, key in enumerate(self.topology.inputs)}
        known = self.topology.by_name
        for name, number in self._order():
            layer = known[name]
            if layer.class_name in oplayers.CLASSES:
                if name not in self.made:
                    self.made[name] = self.tried(layer, ())
                self.walked.add((name, number))
                continue
            if layer.class_name == "InputLayer":
                self.specs[TensorKey(name, number, 0)] = self.of_input(layer, places.get(name, len(places)))
                self.walked.add((name, number))
                continue
            if _tells_by_making(layer):
                self._make_at(layer, number)
            self.walked.add((name, number))
            for i, spec in enumerate(self.given(layer, self.made.get(name, ()), self._read(name, number))):
                self.specs[TensorKey(name, number, i)] = spec

    def _order(self) -> list[tuple[str, int]]:
        """All calls, each after what it reads; all that a layer reads before its first call where that can be."""
        read = {name: [reads(call) for call in calls] for name, calls in self.arguments.items()}
        order = calls_in_order(read, self.topology.outputs)
        shared = {layer.name for layer in self.topology.layers if len(layer.calls) > 1 and _tells_by_making(layer)}
        if not shared:
            return order
        together = {
            name: [tuple(_first_call(key, shared) for keys in calls for key in keys)]
            if name in shared
            else [tuple(_first_call(key, shared) for key in keys) for keys in calls]
            for name, calls in read.items()
        }
        try:
            first = calls_in_order(together, [_first_call(key, shared) for key in self.topology.outputs])
        except ConfigError:  # a layer that is called on what itself has made
            return order
        return [(name, i) for name, number in first for i in (range(len(read[name])) if name in shared else [number])]

    def _read(self, name: str, number: int) -> tuple[TensorSpec, ...]:
        return tuple(self.specs.get(key, shapes.UNKNOWN) for key in self.arguments[name][number].inputs)

    def _make_at(self, layer: OldLayer, number: int) -> None:
        """The pieces of a layer that is met at one of its calls."""
        if layer.name not in self.made:
            self._make(layer)
        elif len(layer.calls) > 1 and layer.name not in self.errors:
            self._make_for(layer, [self._read(layer.name, number)])

    def _make(self, layer: OldLayer) -> None:
        """The pieces of a layer, by what is true of all its calls."""
        if layer.class_name == "InputLayer":
            self._make_input(layer)
            return
        if layer.name in self.errors:
            self.made[layer.name] = []
            return
        calls = self.arguments[layer.name]
        ready = [n for n, call in enumerate(calls) if all(key[:2] in self.walked for key in call.inputs)]
        self._make_for(layer, [self._read(layer.name, number) for number in ready])

    def _make_for(self, layer: OldLayer, calls: Sequence[tuple[TensorSpec, ...]]) -> None:
        """The pieces of a layer, by what is true of these calls and of those that it was made for already."""
        used = self.used.get(layer.name)
        known = list(calls) if used is None else [used, *calls]
        true_of_all = tuple(shapes.agreed(specs) for specs in zip(*known))
        if used == true_of_all:
            return
        if used is not None:
            self._count_repeat(layer)
        self.used[layer.name] = true_of_all
        self.made[layer.name] = self.tried(layer, true_of_all)

    def _count_repeat(self, layer: OldLayer) -> None:
        """Models that are called on what they have made are translated again: nested, that would double and double."""
        self.translator.repeats += 1
        if self.translator.repeats > MOST_REPEATS:
            raise Keras3Error(f"layer {layer.name!r} is called on what it has made, as are too many others", H5)

    def _make_input(self, layer: OldLayer) -> None:
        try:
            shape = keras_config.shape_of_input(layer)
            if shape is None:
                raise Keras3Error(f"input {layer.name!r} has no shape", "the config is damaged")
            piece = Piece("InputLayer", self.input_config(layer.config, shape, _input_type(layer.config)))
        except Keras3Error as error:
            self.made[layer.name] = self._failed(layer, error)
            return
        self.made[layer.name] = [piece]
        self.looks[layer.name] = (LayerOutlook(self.path + layer.name, "InputLayer", ("InputLayer",)),)

    def _check_outputs(self) -> None:
        known = self.topology.by_name
        for key in self.topology.outputs:
            if self.values.is_carried(key) and key.layer not in self.errors:
                layer = known[key.layer]
                what = f"layer {layer.name!r} ({layer.class_name})"
                self._failed(layer, Keras3Error(f"{what}: the model gives out its number or shape, no tensor", H5))

    def _model(self) -> Model:
        made = {layer.name: self._placed(layer, self.made[layer.name]) for layer in self.topology.layers}
        made = {name: layers for name, layers in made.items() if layers}  # some give no tensor
        ends = {name: layers[-1].name for name, layers in made.items()}
        layers = [piece for found in made.values() for piece in found]
        layers = [replace(layer, calls=tuple(_renamed_call(call, ends) for call in layer.calls)) for layer in layers]
        sources = [self._source(key, self.arguments) for key in self.topology.inputs]
        return Model(
            self.own_name(),
            False,
            tuple(layers),
            tuple(_renamed(key, ends) for key in sources),
            tuple(_renamed(key, ends) for key in self.topology.outputs),
        )

    def _source(self, key: TensorKey, arguments: dict[str, list[Call]]) -> TensorKey:
        """The InputLayer of an input: Keras 1 may name a layer that returned its input unchanged."""
        known = self.topology.by_name
        for _ in range(len(known) + 1):
            if known[key.layer].class_name == "InputLayer":
                return key
            inputs = arguments[key.layer][key.call].inputs
            if len(inputs) != 1:
                break
            key = inputs[0]
        raise Keras3Error(f"model {self.own_name()!r}: its input {key.layer!r} is no InputLayer", "save it anew")

    def _placed(self, layer: OldLayer, pieces: list[Piece]) -> list[Layer]:
        """The pieces with their calls; the last one bears the old name."""
        name, calls = self.names[layer.name], self.arguments[layer.name]
        if layer.class_name == "InputLayer":
            return [Layer(name, "InputLayer", pieces[0].config, calls=(Call(()),), old_class="InputLayer")]
        last = len(pieces) - 1
        names = [name if i == last else self._unique(f"{name}_part_{i + 1}") for i in range(len(pieces))]
        placed = []
        for i, piece in enumerate(pieces):
            inputs = piece.inputs if piece.inputs is not None else (i - 1,)
            new_calls = []
            for number, call in enumerate(calls):
                keys: list[TensorKey] = []
                for index in inputs:
                    keys += call.inputs if index < 0 else [TensorKey("\0" + names[index], number, 0)]
                kwargs = call.kwargs if i == 0 or len(pieces) == 1 else ()
                checked = self._call_arguments(layer, piece, kwargs)
                new_calls.append(self._formed(piece, Call(tuple(keys), checked + piece.kwargs, call.as_list)))
            placed.append(as_layer(piece, names[i], tuple(new_calls), layer.class_name))
        return placed

    def _formed(self, piece: Piece, call: Call) -> Call:
        """Keras 2 calls a recurrent layer on [x, states]; Keras 3 on x, with the states by name."""
        if piece.class_name in STATEFUL and len(call.inputs) > 1:
            states = ("initial_state", list(call.inputs[1:]))
            return Call(call.inputs[:1], (states,) + call.kwargs)
        if piece.class_name == "MultiHeadAttention":
            return call._replace(as_list=False)
        return call._replace(as_list=len(call.inputs) > 1)

    def _call_arguments(
        self, layer: OldLayer, piece: Piece, kwargs: tuple[tuple[str, Any], ...]
    ) -> tuple[tuple[str, Any], ...]:
        kept = []
        for key, value in kwargs:
            if value is None or value == []:
                continue
            if key == "training" and isinstance(value, (bool, int)):
                if piece.class_name in TRAINING or piece.submodel is not None or piece.module == "":
                    kept.append((key, bool(value)))
                continue
            if piece.module != "" and key not in CALL_ARGUMENTS.get(piece.class_name, ()):
                if key == "mask":
                    continue  # the layer looked at no mask
                raise Keras3Error(
                    f"layer {layer.name!r} ({layer.class_name}): its call has the argument {key}={str(value)[:40]}",
                    "Keras 3 has no such argument; write the .h5 instead",
                )
            if key == "initial_state" and isinstance(value, TensorKey):
                value = [value]
            kept.append((key, value))
        return tuple(kept)

    def _arguments(self, layer: OldLayer, call: OldCall) -> Call:
        """What a call reads, positional and by name."""
        if call.node is None:
            return Call(call.inputs)
        known = self.topology.by_name
        inputs = iter(call.inputs)

        def numbered_from_0(_: keras_config.Reference) -> keras_config.Reference:
            return next(inputs)

        node = keras_config.replace_references(call.node, known, numbered_from_0)
        items = [node] if _is_reference(node, known) else node
        positional: list[TensorKey] = []
        kwargs: dict[str, object] = {}
        for item in items if isinstance(items, list) else [items]:
            if not _is_reference(item, known):
                raise Keras3Error(
                    f"layer {layer.name!r} ({layer.class_name}): a call on {str(item)[:60]} cannot be expressed",
                    "write the .h5 instead",
                )
            positional.append(TensorKey(item[0], item[1], item[2]))
            if len(item) == 4:
                kwargs.update({str(key): _tensors(value, known) for key, value in item[3].items()})
        return Call(tuple(positional), tuple(kwargs.items()))


def _classes(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(piece.class_name for piece in pieces)


# Classes whose pieces alone tell what they give: their code, or a model, is inside.
_MADE_OF_MORE = frozenset(["Lambda", "TimeDistributed"])


def _tells_by_making(layer: OldLayer) -> bool:
    return layer.submodel is not None or layer.class_name in _MADE_OF_MORE or layer.class_name in oplayers.CLASSES


def _first_call(key: TensorKey, shared: set[str]) -> TensorKey:
    return key._replace(call=0) if key.layer in shared else key


def _is_reference(value: Json, known: Mapping[str, OldLayer]) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and value[0] in known
        and isinstance(value[1], int)
        and isinstance(value[2], int)
    )


def _tensors(value: Json, known: Mapping[str, OldLayer]) -> object:
    """An argument with its references as tensors."""
    if _is_reference(value, known):
        return TensorKey(value[0], value[1], value[2])
    if isinstance(value, list):
        return [_tensors(item, known) for item in value]
    return value


def _renamed(key: TensorKey, ends: dict[str, str]) -> TensorKey:
    if key.layer.startswith("\0"):
        return key._replace(layer=key.layer[1:])
    return key._replace(layer=ends[key.layer])


def _renamed_call(call: Call, ends: dict[str, str]) -> Call:
    def value(item: object) -> object:
        if isinstance(item, TensorKey):
            return _renamed(item, ends)
        return [value(part) for part in item] if isinstance(item, list) else item

    return Call(
        tuple(_renamed(key, ends) for key in call.inputs),
        tuple((key, value(item)) for key, item in call.kwargs),
        call.as_list,
    )


class Chain(_Builder):
    """A Sequential."""

    def translated(self) -> Translated:
        """The new model, with an InputLayer where the shape of the input is known."""
        old = list(self.topology.layers)
        shape, kind = self._input(old)
        current: tuple[TensorSpec, ...] = self.inputs[:1]
        if shape is not None:
            own = TensorSpec(tuple(shape), kind or self.context.float_type)
            current = (shapes.refined(own, self.inputs[0]) if self.inputs else own,)
        chain = []
        for layer in old:
            if layer.class_name == "InputLayer":
                self.looks[layer.name] = (LayerOutlook(self.path + layer.name, "InputLayer", ("InputLayer",)),)
                continue
            pieces = self._chained(layer, self.tried(layer, current or (shapes.UNKNOWN,)), current)
            chain.append((layer, pieces))
            current = self.given(layer, pieces, current)[:1]
            self.specs[TensorKey(layer.name, 0, 0)] = current[0] if current else shapes.UNKNOWN
        return self.finished(lambda: self._model(chain, shape, kind), current or (shapes.UNKNOWN,))

    def _model(
        self, chain: list[tuple[OldLayer, list[Piece]]], shape: Sequence[int | None] | None, kind: str | None
    ) -> Model:
        layers: list[Layer] = []
        if shape is not None:
            layers.append(self._input_layer(shape, kind))
        rank = len(shape) if shape is not None else None
        if shape is None and self.inputs and self.inputs[0].shape is not None:
            rank = len(self.inputs[0].shape)
        for layer, pieces in chain:
            for i, piece in enumerate(pieces):
                name = self.names[layer.name] if i == len(pieces) - 1 else self._unique(f"{layer.name}_part_{i + 1}")
                before = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
                made = as_layer(piece, name, (Call(before),), layer.class_name)
                rank, made = with_build_shape(made, rank, shape is None)
                layers.append(made)
        inputs = (TensorKey(layers[0].name, 0, 0),) if shape is not None else ()
        outputs = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
        return Model(self.own_name(), True, tuple(layers), inputs, outputs)

    def _input_layer(self, shape: Sequence[int | None], kind: str | None) -> Layer:
        first = self.topology.layers[0] if self.topology.layers else None
        name = self.names[first.name] if first is not None and first.class_name == "InputLayer" else None
        name = name or self._unique(f"{self.own_name() or 'sequential'}_input")
        config = self.input_config(first.config if name in self.names.values() and first else {}, shape, kind)
        return Layer(name, "InputLayer", config, calls=(Call(()),), old_class="InputLayer")

    def _chained(self, layer: OldLayer, pieces: list[Piece], current: tuple[TensorSpec, ...]) -> list[Piece]:
        """A branch stands in a model of its own."""
        if all(piece.inputs in (None, (i - 1,)) for i, piece in enumerate(pieces)):
            return pieces
        shape = current[0].shape if current else None
        if shape is None:
            return self._failed(
                layer,
                Keras3Error(
                    f"layer {layer.name!r} ({layer.class_name}): in a Sequential, the shape of its input must be known",
                    H5,
                ),
            )
        return [Piece("Functional", {}, submodel=_branch(pieces, shape, self.context.float_type))]

    def _input(self, layers: list[OldLayer]) -> tuple[Sequence[int | None] | None, str | None]:
        """(shape of the model's input, its type), where the file has them."""
        config = self.topology.config.get("config") if isinstance(self.topology.config, dict) else None
        known = config.get("build_input_shape") if isinstance(config, dict) else None
        shape, kind = _first_input(layers, 0)
        if shape is None and _is_shape(known):
            shape = known
        if shape is None and not self.path and self.inputs:
            shape, kind = self.inputs[0].shape, self.inputs[0].dtype
        return shape, kind


def _is_shape(value: Json) -> bool:
    return isinstance(value, list) and all(n is None or isinstance(n, int) for n in value) and len(value) > 0


def _first_input(layers: Sequence[OldLayer], depth: int) -> tuple[Sequence[int | None] | None, str | None]:
    """What the first layer, or the first of a model that comes first, says of the input."""
    if not layers or depth > keras_config.DEEPEST:
        return None, None
    first = layers[0]
    if first.submodel is not None:
        if first.submodel.sequential:
            return _first_input(first.submodel.layers, depth + 1)
        if len(first.submodel.inputs) == 1:
            return _first_input([first.submodel.layer(first.submodel.inputs[0].layer)], depth + 1)
        return None, None
    shape = keras_config.shape_of_input(first)
    return shape, _input_type(first.config) if shape is not None else None


def _branch(pieces: Sequence[Piece], shape: Sequence[int | None], kind: str) -> Model:
    entry = {"batch_shape": list(shape), "dtype": kind, "sparse": False}
    layers = [Layer("input", "InputLayer", entry, calls=(Call(()),))]
    for i, piece in enumerate(pieces):
        wanted = piece.inputs if piece.inputs is not None else (i - 1,)
        keys = tuple(TensorKey("input" if index < 0 else f"part_{index + 1}", 0, 0) for index in wanted)
        layers.append(as_layer(piece, f"part_{i + 1}", (Call(keys, piece.kwargs, len(keys) > 1),), ""))
    end = TensorKey(layers[-1].name, 0, 0)
    return Model("", False, tuple(layers), (TensorKey("input", 0, 0),), (end,))
