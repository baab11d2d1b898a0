"""A `ModelFile` -> an `Archive`: layer by layer through the tables, then names, calls, masks, paths.

Nothing is read but configs and the shapes of weights, and nothing is written.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Any, Iterator, Mapping, Optional, Sequence, Tuple

from .. import keras_config
from ..errors import Keras3Error, WeightsError
from ..model import Call as OldCall
from ..model import Json, ModelFile, TensorKey, Topology, WeightRef, saved_layers, version_of
from ..model import Layer as OldLayer
from ..weights.assignment import expected_weights, split
from . import masks, objects, shapes
from .arrays import whole
from .graph import calls_in_order, doubtful, is_operation, places, reads, weight_paths
from .layers import ALIASES, ANY, CHANNELS_FIRST, GENERAL_DROPS, REFUSED, ROWS, TRAINING, Row
from .names import modern
from .rewrites import REWRITES, numbered
from .values import H5, NONSENSE, Archive, Array, Call, Config, Context, Layer, Model, Old, Piece

Arrays = Tuple[Array, ...]
Shape = Optional[Tuple[Optional[int], ...]]
MODELS = frozenset(["Functional", "Sequential"])
#: Arguments of calls, beside `training`, that hold tensors or settings; by class.
CALL_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Attention": ("return_attention_scores", "use_causal_mask", "mask"),
    "AdditiveAttention": ("return_attention_scores", "use_causal_mask", "mask"),
    "MultiHeadAttention": ("value", "key", "attention_mask", "return_attention_scores", "use_causal_mask"),
}
STATEFUL = ("SimpleRNN", "GRU", "LSTM", "ConvLSTM2D", "RNN", "Bidirectional")
CALL_ARGUMENTS.update({name: ("initial_state", "mask") for name in STATEFUL})


def translate(model: ModelFile, activations: Mapping[str, Json] | None = None) -> tuple[Model, Context]:
    """The new model, and what was said on the way.

    Parameters
    ----------
    model : ModelFile
        With a topology.
    activations : mapping of str to JSON value, optional
        What a foreign name of an activation means: a name, or a layer's `{"class_name", "config"}`.

    Raises
    ------
    Keras3Error
        Keras 3 cannot express it; the message names the layer.
    WeightsError, ConfigError
        The file does not fit itself.
    """
    topology = model.topology
    assert topology is not None
    if not topology.sequential:
        # where a wrapper was undone, calls hold the nodes that they had; the config has them as they are now
        topology = keras_config.parse(topology.config)
    context = new_context(model, activations or {})
    if context.backend is None and version_of(model.keras_version) < (2, 0):
        context.note("assumed", "", "the backend was TensorFlow: Keras 1 does not say")
    with _fitting(topology):
        made = Translator(context).model(topology, _own_arrays(model, topology), None)
        made = masks.without_collisions(masks.check(made, context), context)
        _check_order(made)
    return made, context


def new_context(model: ModelFile, activations: Mapping[str, Json]) -> Context:
    """What the rules know of a file, which Keras 3 must not have written: their names mean something else there."""
    if version_of(model.keras_version) >= (3, 0):
        raise Keras3Error("Keras 3 wrote this file", "load it there and save it as .keras")
    return Context(model.keras_version, model.backend, _float_type(model), _given(activations))


def _given(activations: Mapping[str, Json]) -> dict[str, Json]:
    return {name: _as_object(value) for name, value in activations.items()}


def _as_object(value: Json) -> Json:
    if isinstance(value, dict) and "class_name" in value:
        return objects.serialized_layer(str(value["class_name"]), dict(value.get("config") or {}))
    return value


def _float_type(model: ModelFile) -> str:
    """The type of most of the file's floating point weights."""
    counts = Counter(ref.dtype for group in model.weights for ref in group.weights if ref.dtype.startswith("float"))
    return counts.most_common(1)[0][0] if counts else "float32"


def _own_arrays(model: ModelFile, topology: Topology) -> dict[str, tuple[WeightRef, ...]]:
    if model.own_weights is not None and model.own_weights.weights:
        name = model.own_weights.weights[0].name
        raise Keras3Error(f"the model itself owns weights ({name})", "Keras 3 has no place for them")
    groups = model.groups
    names = {layer.name for layer in saved_layers(topology, model.keras_version)}
    return {name: group.weights for name, group in groups.items() if name in names}


def _check_order(model: Model) -> None:
    found = doubtful(model)
    if found is not None:
        raise Keras3Error(
            f"layers {found[0]!r} and {found[1]!r} are alike, and versions of Keras 3 list them in different orders, "
            "because of masks at a merge",
            "write the .h5 instead: nobody can say which weights are whose",
        )
    for layer in model.layers:
        if layer.submodel is not None:
            _check_order(layer.submodel)


class Translator:
    """Translates one file's models; `context` hears what is done."""

    def __init__(self, context: Context) -> None:
        self.context = context

    # -- models

    def model(self, topology: Topology, weights: Mapping[str, tuple[WeightRef, ...]], shape: Shape) -> Model:
        """A model with its layers; `shape` is that of what it is called on, where it is known."""
        with _fitting(topology):
            if topology.sequential:
                return _Sequence(self, topology, weights, shape).model()
            return _Network(self, topology, weights, shape).model()

    def nested(self, name: str, topology: Topology, refs: Sequence[WeightRef], shape: Shape) -> Model:
        """A model inside another, whose weights are one flat list."""
        dealt = split(topology, tuple(refs), self.context.tf_keras)
        weights = {group.layer: group.weights for group in dealt}
        return replace(self.model(topology, weights, shape), name=name)

    # -- layers

    def pieces(self, old: Old) -> list[Piece]:
        """The Keras 3 layers that stand for an old one."""
        if old.class_name in REFUSED:
            reason, hint = REFUSED[old.class_name]
            raise old.refuse(reason, hint)
        self._check_count(old)
        old = modern(old)
        old = old._replace(class_name=ALIASES.get(old.class_name, old.class_name))
        row = ROWS.get(old.class_name)
        if row is None:
            return [self._custom(old)]
        if old.class_name in WRAPPERS:
            return WRAPPERS[old.class_name](self, old, row)
        config = self.config(old, row)
        if row.rewrite:
            made = REWRITES[row.rewrite](old, row.to, config)
            return [self._common(old, piece) for piece in made]
        return [Piece(row.to, config, numbered(old.arrays, row.weights))]

    def _check_count(self, old: Old) -> None:
        entry = {"class_name": old.class_name, "config": old.config}
        spec = expected_weights(OldLayer(old.name, old.class_name, old.config, entry=entry), self.context.tf_keras)
        if spec is not None and len(spec.trainable) + len(spec.rest) != len(old.arrays):
            count = len(spec.trainable) + len(spec.rest)
            raise WeightsError(
                f"layer {old.name!r} ({old.class_name}) has {len(old.arrays)} weights, and needs {count}",
                "the file is damaged, or of another version than it says",
            )

    def _custom(self, old: Old) -> Piece:
        names = ", ".join(array.sources[0].name for array in old.arrays)
        order = f"; its weights, in this order: {names}" if names else ""
        old.note("custom", f"class {old.class_name!r} is not Keras' own{order}")
        if old.class_name not in self.context.custom:
            self.context.custom.append(old.class_name)
        dropped = ("batch_input_shape", "input_dtype", "name")
        config = {key: value for key, value in old.config.items() if key not in dropped}
        config = self._typed(config, old)
        return Piece(old.class_name, config, numbered(old.arrays), module="")

    def config(self, old: Old, row: Row) -> Config:
        """The new config, all but what a rewrite changes."""
        new: Config = {}
        for key, value in old.config.items():
            name = row.renames.get(key, key)
            if name in row.keeps:
                new[name] = self._value(old, name, value)
                continue
            allowed = row.drops.get(key, GENERAL_DROPS.get(key))
            if allowed is None and old.class_name in _KERAS_1_CLASSES:
                allowed = ANY
            if allowed is None or (allowed and value not in allowed):
                raise old.refuse(f"argument {key}={str(value)[:60]} has no place in Keras 3")
            if key in _TRAINING_ONLY and value:
                old.note("differs", f"training differs: {key}={str(value)[:40]} has no place in Keras 3")
        if "trainable" in old.config:
            new["trainable"] = bool(old.config["trainable"])
        return self._typed(new, old)

    def _value(self, old: Old, name: str, value: Json) -> Json:
        if name.endswith("_initializer"):
            return objects.initializer(old, value)
        if name.endswith("_regularizer"):
            return objects.regularizer(old, value)
        if name.endswith("_constraint"):
            return objects.constraint(old, value)
        if name in ("activation", "recurrent_activation"):
            return objects.activation(old, value, name)
        if name == "data_format" and value == "channels_first":
            self._say_channels_first(old)
        if name == "dilation_rate" and old.class_name.endswith("Transpose") and value not in (1, [1], [1, 1], [1] * 3):
            old.note("differs", "dilated: TensorFlow on a CPU cannot run it; JAX, PyTorch and a GPU can")
        return objects.plain(value)

    def _say_channels_first(self, old: Old) -> None:
        if old.class_name in CHANNELS_FIRST:
            old.note("differs", "channels_first: TensorFlow on a CPU cannot run it; JAX, PyTorch and a GPU can")

    def _typed(self, config: Config, old: Old) -> Config:
        """With the dtype: the layer's own, else that of the file's weights."""
        kind = objects.dtype(old.config.get("dtype"))
        if kind is None or "float" not in kind:
            kind = self.context.float_type if self.context.float_type != "float32" else None
        config = {key: value for key, value in config.items() if key != "dtype"}
        return dict(config, dtype=kind) if kind is not None else config

    def _common(self, old: Old, piece: Piece) -> Piece:
        """A piece with the dtype and `trainable` of the layer that it stands for."""
        if piece.module != "keras.layers" or piece.submodel is not None:
            return piece
        config = self._typed(piece.config, old)
        if "trainable" in old.config and "trainable" not in config and not piece.class_name.startswith("SpatialDrop"):
            config["trainable"] = bool(old.config["trainable"])
        return piece._replace(config=config)

    # -- layers in layers

    def single(self, old: Old) -> Piece:
        """The one layer that stands for a wrapped one: a chain of several becomes a Sequential."""
        pieces = self.pieces(old)
        if len(pieces) == 1:
            return pieces[0]
        if any(piece.inputs not in (None, (i - 1,)) for i, piece in enumerate(pieces)):
            raise old.refuse("inside another layer, it cannot be written as several")
        return Piece("Sequential", {}, submodel=_chain(pieces, old.name))

    def entry(self, old: Old) -> tuple[Json, tuple[tuple[str, Array], ...], Piece]:
        """A wrapped layer as an object in a config, its arrays by path below it, and the piece itself."""
        piece = self.single(old)
        if piece.submodel is not None:
            model = replace(piece.submodel, name=_clean(old.name))
            return render(model), tuple(weight_paths(model)), piece
        return _object(piece, _clean(old.name)), piece.arrays, piece

    def inner(self, old: Old, value: Json, arrays: Arrays, shape: Shape = None) -> Old:
        """The layer in a wrapper's config."""
        if not isinstance(value, dict) or not isinstance(value.get("config"), (dict, list)):
            raise old.refuse("it wraps nothing that can be read", "the config is damaged")
        config = value["config"]
        name = config.get("name") if isinstance(config, dict) else None
        name = name if isinstance(name, str) else f"{old.name}_inner"
        if isinstance(config, list):
            config = {"layers": config}
        return Old(name, str(value.get("class_name")), config, arrays, self.context, shape)


_KERAS_1_CLASSES = frozenset(["Merge", "Highway", "MaxoutDense", "SReLU", "ParametricSoftplus"])
_TRAINING_ONLY = frozenset(["renorm", "virtual_batch_size"])


@contextlib.contextmanager
def _fitting(topology: Topology) -> Iterator[None]:
    """A config whose values are of the wrong kind or size is damaged: only an error of ours comes of it."""
    try:
        yield
    except NONSENSE as error:
        raise Keras3Error(
            f"model {topology.name!r}: a layer's config makes no sense ({type(error).__name__}: {str(error)[:80]})",
            "the config is damaged, or a newer Keras wrote it",
        ) from error


# -- wrappers -----------------------------------------------------------------------------------------------


def _wrapper_config(translator: Translator, old: Old, row: Row, *without: str) -> Config:
    kept = {key: value for key, value in old.config.items() if key not in without}
    return translator.config(old._replace(config=kept), row)


def _time_distributed(translator: Translator, old: Old, row: Row) -> list[Piece]:
    value = old.config.get("layer")
    shape = (old.shape[0],) + old.shape[2:] if old.shape is not None and len(old.shape) > 2 else None
    config = _wrapper_config(translator, old, row, "layer")
    if keras_config.is_model(value):
        topology = keras_config.parse(value)
        refs = [array.sources[0] for array in old.arrays]
        name = topology.name or f"{old.name}_inner"
        model = translator.nested(_clean(name), topology, refs, shape)
        config["layer"] = render(model)
        arrays = tuple(weight_paths(model))
    else:
        config["layer"], arrays, _ = translator.entry(translator.inner(old, value, old.arrays, shape))
    return [Piece(row.to, config, tuple((f"layer/{path}", array) for path, array in arrays))]


def _bidirectional(translator: Translator, old: Old, row: Row) -> list[Piece]:
    """Both layers are written down: Keras 3 makes the second go backwards whatever the first does."""
    config = _wrapper_config(translator, old, row, "layer", "backward_layer")
    half = len(old.arrays) // 2
    config["layer"], first, _ = translator.entry(translator.inner(old, old.config.get("layer"), old.arrays[:half]))
    other = old.config.get("backward_layer") or old.config.get("layer")
    config["backward_layer"], second, _ = translator.entry(translator.inner(old, other, old.arrays[half:]))
    forward, backward = config["layer"]["config"], config["backward_layer"]["config"]
    name = str(forward["name"])
    base = name[len("forward_") :] if name.startswith("forward_") else name
    forward["name"], backward["name"] = f"forward_{base}", f"backward_{base}"
    backward["go_backwards"] = not forward.get("go_backwards", False)
    config.setdefault("merge_mode", "concat")
    arrays = [(f"forward_layer/{path}", array) for path, array in first]
    arrays += [(f"backward_layer/{path}", array) for path, array in second]
    return [Piece(row.to, config, tuple(arrays))]


def _rnn(translator: Translator, old: Old, row: Row) -> list[Piece]:
    config = _wrapper_config(translator, old, row, "cell")
    value = old.config.get("cell")
    if isinstance(value, list):
        value = {"class_name": "StackedRNNCells", "config": {"name": f"{old.name}_cells", "cells": value}}
    config["cell"], arrays, _ = translator.entry(translator.inner(old, value, old.arrays))
    return [Piece(row.to, config, tuple((f"cell/{path}", array) for path, array in arrays))]


def _stacked(translator: Translator, old: Old, row: Row) -> list[Piece]:
    cells = old.config.get("cells") or []
    config = _wrapper_config(translator, old, row, "cells")
    config["cells"] = []
    arrays: list[tuple[str, Array]] = []
    used = 0
    counts: dict[str, int] = {}
    for i, value in enumerate(cells):
        inner = translator.inner(old, value, ())
        spec = expected_weights(OldLayer(inner.name, inner.class_name, inner.config, entry=value), old.context.tf_keras)
        if spec is None and len(cells) > 1:
            raise old.refuse(f"how many weights its cell {inner.class_name!r} has is not in the file")
        count = len(spec.trainable) + len(spec.rest) if spec is not None else len(old.arrays)
        name = inner.name if inner.name != f"{old.name}_inner" else f"{old.name}_cell_{i}"
        inner = inner._replace(arrays=old.arrays[used : used + count], name=name)
        used += count
        entry, below, piece = translator.entry(inner)
        config["cells"].append(entry)
        snake = _snake(piece.class_name)
        number = counts.get(snake, 0)
        counts[snake] = number + 1
        place = f"cells/{snake}_{number}" if number else f"cells/{snake}"
        arrays += [(f"{place}/{path}", array) for path, array in below]
    return [Piece(row.to, config, tuple(arrays))]


def _snake(class_name: str) -> str:
    from .graph import snake_case

    return snake_case(class_name)


WRAPPERS = {
    "TimeDistributed": _time_distributed,
    "Bidirectional": _bidirectional,
    "RNN": _rnn,
    "StackedRNNCells": _stacked,
}


def _chain(pieces: Sequence[Piece], name: str) -> Model:
    layers: list[Layer] = []
    for i, piece in enumerate(pieces):
        own = f"{_clean(name)}_{i + 1}"
        before = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
        layers.append(_layer(piece, own, (Call(before),), ""))
    return Model(_clean(name), True, tuple(layers), (), (TensorKey(layers[-1].name, 0, 0),))


def _layer(piece: Piece, name: str, calls: tuple[Call, ...], old_class: str) -> Layer:
    submodel = replace(piece.submodel, name=name) if piece.submodel is not None else None
    return Layer(
        name, piece.class_name, piece.config, piece.module, piece.arrays, calls, submodel, old_class, None,
        piece.module == "",
    )  # fmt: skip


def _clean(name: str) -> str:
    """A name that Keras 3 takes: `/` is none of its letters."""
    return name.replace("/", "_")


# -- models ---------------------------------------------------------------------------------------------------


class _Builder:
    """What a Sequential and a functional model have in common while they are translated."""

    def __init__(
        self,
        translator: Translator,
        topology: Topology,
        weights: Mapping[str, tuple[WeightRef, ...]],
        shape: Shape,
    ) -> None:
        self.translator = translator
        self.context = translator.context
        self.topology = topology
        self.weights = weights
        self.shape = shape
        self.taken: dict[str, None] = {}
        self.names: dict[str, str] = {}
        # what reads well is kept; what has to change makes way
        for layer in topology.layers:
            if "/" not in layer.name:
                self.names[layer.name] = self._unique(layer.name)
        for layer in topology.layers:
            if "/" in layer.name:
                self.names[layer.name] = self._unique(_clean(layer.name))
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
        return _clean(self.topology.name)

    def pieces(self, layer: OldLayer, shape: Shape) -> list[Piece]:
        """The pieces of a layer, nested models too."""
        refs = self.weights.get(layer.name, ())
        if layer.submodel is not None:
            name = self.names[layer.name]
            model = self.translator.nested(name, layer.submodel, refs, shape)
            return [Piece("Sequential" if model.sequential else "Functional", {}, submodel=model)]
        if not isinstance(layer.config, dict):
            raise Keras3Error(f"layer {layer.name!r} ({layer.class_name}): its config is no object", "it is damaged")
        arrays = tuple(whole(ref) for ref in refs)
        if self.weights and not refs and layer.class_name not in ROWS and self.is_inside(layer):
            what = f"layer {layer.name!r} ({layer.class_name}): how many weights it has is not in the file"
            raise Keras3Error(what, H5)
        return self.translator.pieces(Old(layer.name, layer.class_name, layer.config, arrays, self.context, shape))

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


class _Network(_Builder):
    """A functional model."""

    def model(self) -> Model:
        """The new model."""
        known = {layer.name: layer for layer in self.topology.layers}
        arguments = {layer.name: [self._arguments(layer, call) for call in layer.calls] for layer in known.values()}
        read = {name: [reads(call) for call in calls] for name, calls in arguments.items()}
        found: dict[TensorKey, Shape] = {}
        made: dict[str, list[Layer]] = {}
        ends: dict[str, str] = {}
        order = calls_in_order(read, self.topology.outputs)
        for name, number in order:
            layer = known[name]
            inputs = [found.get(key) for key in arguments[name][number].inputs]
            if name not in made:
                made[name] = self._layers(layer, inputs, arguments[name])
                ends[name] = made[name][-1].name
            found[TensorKey(name, number, 0)] = self._shape(layer, inputs)
        layers = [piece for layer in self.topology.layers for piece in made[layer.name]]
        layers = [replace(layer, calls=tuple(_renamed_call(call, ends) for call in layer.calls)) for layer in layers]
        sources = tuple(self._source(key, arguments) for key in self.topology.inputs)
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

    def _shape(self, layer: OldLayer, inputs: list[Shape]) -> Shape:
        if layer.class_name == "InputLayer":
            return keras_config.shape_of_input(layer)
        if layer.submodel is not None or not isinstance(layer.config, dict):
            return None
        old = modern(Old(layer.name, layer.class_name, layer.config, (), replace(self.context, notes=[])))
        return shapes.output_shape(old.class_name, old.config, inputs)

    def _layers(self, layer: OldLayer, inputs: list[Shape], calls: list[Call]) -> list[Layer]:
        name = self.names[layer.name]
        if layer.class_name == "InputLayer":
            shape = keras_config.shape_of_input(layer)
            if shape is None:
                raise Keras3Error(f"input {layer.name!r} has no shape", "the config is damaged")
            config = self.input_config(layer.config, shape, _input_type(layer.config))
            return [Layer(name, "InputLayer", config, calls=(Call(()),), old_class="InputLayer")]
        pieces = self.pieces(layer, inputs[0] if inputs else None)
        if layer.class_name == "TensorFlowOpLayer" and len(inputs) > 1 and len(set(inputs)) > 1:
            raise Keras3Error(
                f"layer {layer.name!r} ({layer.class_name}): its inputs have different or unknown shapes",
                "Keras 3 broadcasts otherwise; write the .h5 instead",
            )
        return self._placed(layer, name, pieces, calls)

    def _placed(self, layer: OldLayer, name: str, pieces: list[Piece], calls: list[Call]) -> list[Layer]:
        """The pieces with their calls; the last one bears the old name."""
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
            placed.append(_layer(piece, names[i], tuple(new_calls), layer.class_name))
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


class _Sequence(_Builder):
    """A Sequential."""

    def model(self) -> Model:
        """The new model, with an InputLayer where the shape of the input is known."""
        layers: list[Layer] = []
        old = list(self.topology.layers)
        shape, kind = self._input(old)
        if shape is not None:
            first = old[0] if old else None
            name = self.names[first.name] if first is not None and first.class_name == "InputLayer" else None
            name = name or self._unique(f"{self.own_name() or 'sequential'}_input")
            config = self.input_config(first.config if name in self.names.values() and first else {}, shape, kind)
            layers.append(Layer(name, "InputLayer", config, calls=(Call(()),), old_class="InputLayer"))
        current: Shape = tuple(shape) if shape is not None else self.shape
        rank = len(current) if current is not None else None
        for layer in old:
            if layer.class_name == "InputLayer":
                continue
            pieces = self._chained(layer, self.pieces(layer, current), current)
            for i, piece in enumerate(pieces):
                name = self.names[layer.name] if i == len(pieces) - 1 else self._unique(f"{layer.name}_part_{i + 1}")
                before = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
                made = _layer(piece, name, (Call(before),), layer.class_name)
                rank, made = _with_build_shape(made, rank, shape is None)
                layers.append(made)
            current = self._shape(layer, current)
        inputs = (TensorKey(layers[0].name, 0, 0),) if shape is not None else ()
        outputs = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
        return Model(self.own_name(), True, tuple(layers), inputs, outputs)

    def _shape(self, layer: OldLayer, current: Shape) -> Shape:
        if layer.submodel is not None or not isinstance(layer.config, dict):
            return None
        old = modern(Old(layer.name, layer.class_name, layer.config, (), replace(self.context, notes=[])))
        return shapes.output_shape(old.class_name, old.config, [current])

    def _chained(self, layer: OldLayer, pieces: list[Piece], shape: Shape) -> list[Piece]:
        """A branch stands in a model of its own."""
        if all(piece.inputs in (None, (i - 1,)) for i, piece in enumerate(pieces)):
            return pieces
        if shape is None:
            raise Keras3Error(
                f"layer {layer.name!r} ({layer.class_name}): in a Sequential, the shape of its input must be known", H5
            )
        return [Piece("Functional", {}, submodel=_branch(pieces, shape, self.context.float_type))]

    def _input(self, layers: list[OldLayer]) -> tuple[Sequence[int | None] | None, str | None]:
        """(shape of the model's input, its type), where the file has them."""
        config = self.topology.config.get("config") if isinstance(self.topology.config, dict) else None
        known = config.get("build_input_shape") if isinstance(config, dict) else None
        shape, kind = _first_input(layers, 0)
        if shape is None and _is_shape(known):
            shape = known
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
        layers.append(_layer(piece, f"part_{i + 1}", (Call(keys, piece.kwargs, len(keys) > 1),), ""))
    end = TensorKey(layers[-1].name, 0, 0)
    return Model("", False, tuple(layers), (TensorKey("input", 0, 0),), (end,))


# -- Sequentials without the shape of their input -------------------------------------------------------------

_RANKS = {
    "Flatten": 2,
    "GlobalMaxPooling1D": 2,
    "GlobalMaxPooling2D": 2,
    "GlobalMaxPooling3D": 2,
    "GlobalAveragePooling1D": 2,
    "GlobalAveragePooling2D": 2,
    "GlobalAveragePooling3D": 2,
    "RepeatVector": 3,
    "Embedding": 3,
}


def _with_build_shape(layer: Layer, rank: int | None, wanted: bool) -> tuple[int | None, Layer]:
    """(rank of what the layer gives, the layer with the shape that it is to be built with)."""
    rank_in = _rank_in(layer, rank)
    shape = _build_shape(layer, rank_in) if wanted else None
    return _rank_out(layer, rank_in), replace(layer, build_shape=shape)


def _rank_in(layer: Layer, rank: int | None) -> int | None:
    for suffix, number in (("1D", 3), ("2D", 4), ("3D", 5)):
        if layer.class_name.endswith((suffix, suffix + "Transpose")):
            return 5 if layer.class_name == "ConvLSTM2D" else number
    if layer.class_name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"):
        return 3
    return 2 if layer.class_name == "Embedding" else rank


def _rank_out(layer: Layer, rank: int | None) -> int | None:
    if layer.class_name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D") and rank is not None:
        inner = layer.config.get("layer")
        config = inner["config"] if isinstance(inner, dict) else layer.config
        return rank if config.get("return_sequences") else rank - 1
    if layer.class_name in ("Reshape",):
        return len(layer.config["target_shape"]) + 1
    return _RANKS.get(layer.class_name, rank)


def _build_shape(layer: Layer, rank: int | None) -> tuple[int | None, ...] | None:
    """What the layer's weights say of its input."""
    if not layer.arrays or layer.custom:
        return None
    kernel = layer.arrays[0][1].shape
    name = layer.class_name
    if name == "Embedding":
        return (None, None)
    if name in ("BatchNormalization", "LayerNormalization", "PReLU"):
        axis = layer.config.get("axis", -1)
        if name == "PReLU":
            return (None,) + tuple(None if n == 1 else n for n in kernel)
        size = rank if rank is not None else (axis + 1 if isinstance(axis, int) and axis > 0 else 2)
        shape: list[int | None] = [None] * size
        shape[axis if isinstance(axis, int) else -1] = kernel[0]
        return tuple(shape)
    if name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"):
        return (None, None, kernel[0])
    if name == "Dense":
        return (None,) * ((rank or 2) - 1) + (kernel[0],)
    if name.endswith("Transpose"):
        return (None,) * (len(kernel) - 1) + (kernel[-1],)
    if name.startswith(("Conv", "Depthwise", "Separable")) and name != "ConvLSTM2D":
        channels = kernel[-2] * layer.config.get("groups", 1)
        whole_shape = (None,) * (len(kernel) - 1) + (channels,)
        if layer.config.get("data_format") == "channels_first":
            return (None, channels) + (None,) * (len(kernel) - 2)
        return whole_shape
    if name == "TimeDistributed" and layer.config["layer"]["class_name"] == "Dense":
        return (None, None, kernel[0])
    return None


# -- JSON -----------------------------------------------------------------------------------------------------


def _object(piece: Piece, name: str) -> Json:
    custom = piece.module == ""
    return {
        "module": None if custom else piece.module,
        "class_name": piece.class_name,
        "config": dict({"name": name}, **piece.config),
        "registered_name": piece.class_name if custom else None,
    }


def render(model: Model) -> Json:
    """A model as config.json has it, or as an object in a layer's config."""
    config: Config = {"name": model.name, "trainable": True}
    if model.sequential:
        config["layers"] = [_entry(layer, {}, False) for layer in model.layers]
        return {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": None}
    known = model.by_name
    config["layers"] = [_entry(layer, known, True) for layer in model.layers]
    config["input_layers"] = _ends(model.inputs, known)
    config["output_layers"] = _ends(model.outputs, known)
    module = "keras.src.models.functional"
    return {"module": module, "class_name": "Functional", "config": config, "registered_name": "Functional"}


def _entry(layer: Layer, known: Mapping[str, Layer], with_nodes: bool) -> Json:
    if layer.submodel is not None:
        entry = render(replace(layer.submodel, name=layer.name))
    elif is_operation(layer):
        entry = {
            "module": layer.module,
            "class_name": layer.class_name,
            "config": layer.config,
            "registered_name": layer.class_name,
        }
    else:
        entry = _object(Piece(layer.class_name, layer.config, module=layer.module), layer.name)
    if layer.build_shape is not None:
        entry["build_config"] = {"input_shape": list(layer.build_shape)}
    if with_nodes:
        entry["name"] = layer.name
        entry["inbound_nodes"] = [_node(call) for call in layer.calls if call.inputs]
    return entry


def _node(call: Call) -> Json:
    tensors = [_tensor(key) for key in call.inputs]
    args: list[Json] = [tensors] if call.as_list else tensors
    args += [value for key, value in call.kwargs if key == ""]
    return {"args": args, "kwargs": {key: _argument(value) for key, value in call.kwargs if key}}


def _argument(value: object) -> Json:
    if isinstance(value, TensorKey):
        return _tensor(value)
    return [_argument(item) for item in value] if isinstance(value, list) else value


def _tensor(key: TensorKey) -> Json:
    return {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", "keras_history": list(key)}}


def _ends(keys: Sequence[TensorKey], known: Mapping[str, Layer]) -> Json:
    """Inputs or outputs: there, and only there, the calls of a nested functional model are counted from 1."""
    rows = [[key.layer, key.call + _first(known[key.layer]), key.tensor] for key in keys]
    return rows[0] if len(rows) == 1 else rows


def _first(layer: Layer) -> int:
    return int(layer.submodel is not None and not layer.submodel.sequential)


# -- the whole ------------------------------------------------------------------------------------------------


def bare_archive(model: Model, context: Context) -> Archive:
    """What is to be written, uncompiled."""
    arrays = tuple(sorted(weight_paths(model)))
    groups = ["vars"]
    for place in places(model):
        if place.layer.submodel is not None:
            groups.append(f"{place.path}/vars")
    return Archive(render(model), arrays, tuple(groups), tuple(context.notes), tuple(context.custom))
