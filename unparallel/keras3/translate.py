"""A `ModelFile` -> an `Archive`: layer by layer through the tables, then names, calls, masks, paths.

Nothing is read but configs and the shapes of weights, and nothing is written.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Tuple

from .. import keras_config
from ..errors import ConfigError, Keras3Error, UnparallelError, WeightsError
from ..model import Call as OldCall
from ..model import Json, ModelFile, TensorKey, Topology, WeightRef, saved_layers, version_of
from ..model import Layer as OldLayer
from ..slices.sizes import Undecided
from ..weights.assignment import expected_weights, split
from . import lambdas, masks, objects, oplayers, shapes
from .arrays import whole
from .building import with_build_shape
from .graph import calls_in_order, doubtful, places, reads, weight_paths
from .layers import ALIASES, ANY, CHANNELS_FIRST, GENERAL_DROPS, REFUSED, ROWS, TRAINING, Row
from .names import modern
from .render import render, serialized
from .rewrites import REWRITES, numbered
from .values import (
    H5,
    NONSENSE,
    Archive,
    Array,
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

Arrays = Tuple[Array, ...]
MODELS = frozenset(["Functional", "Sequential"])
#: Arguments of calls, beside `training`, that hold tensors or settings; by class.
CALL_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Attention": ("return_attention_scores", "use_causal_mask", "mask"),
    "AdditiveAttention": ("return_attention_scores", "use_causal_mask", "mask"),
    "MultiHeadAttention": ("value", "key", "attention_mask", "return_attention_scores", "use_causal_mask"),
}
#: Layers of a file that are translated once more, since they are called on what they have made.
MOST_REPEATS = 100
# rewrites that can put what is activated behind the layer
_ACTIVATED_BEHIND = ("hard_sigmoid", "activation_layer")
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


class Attempt(NamedTuple):
    """A translation that may have failed: the new model or an error, what was said, and all layers as far as known."""

    model: Model | None
    context: Context | None
    layers: tuple[LayerOutlook, ...] = ()
    error: UnparallelError | None = None

    def whole(self) -> tuple[Model, Context]:
        """The new model, and what was said on the way; raises the error where there is one."""
        if self.error is not None:
            raise self.error
        assert self.model is not None
        assert self.context is not None
        return self.model, self.context


def translate(
    model: ModelFile, activations: Mapping[str, Json] | None = None, defined: Mapping[str, Json] | None = None
) -> tuple[Model, Context]:
    """The new model, and what was said on the way.

    Parameters
    ----------
    model : ModelFile
        With a topology.
    activations : mapping of str to JSON value, optional
        What a foreign name of an activation means: a name, or a layer's `{"class_name", "config"}`.
    defined : mapping of str to JSON value, optional
        What globals of Python code are that the file does not hold.

    Raises
    ------
    Keras3Error
        Keras 3 cannot express it; the message names the layer.
    WeightsError, ConfigError
        The file does not fit itself.
    """
    return attempt(model, activations, defined).whole()


def attempt(
    model: ModelFile, activations: Mapping[str, Json] | None = None, defined: Mapping[str, Json] | None = None
) -> Attempt:
    """A translation that tries every layer, whatever became of those before it.

    Parameters
    ----------
    model, activations, defined
        As in `translate`.
    """
    made = Translated(None)
    try:
        topology, context = _prepared(model, activations or {}, defined or {})
        with _fitting(topology):
            made = Translator(context).model(topology, _own_arrays(model, topology), ())
            new = masks.without_collisions(masks.check(made.whole(), context), context)
            if context.functions.budget.spent:  # some code was followed
                context.note("assumed", "", lambdas.TRUST)
            _check_order(new)
    except UnparallelError as error:
        return Attempt(None, None, made.layers, error)
    return Attempt(new, context, made.layers)


def _prepared(
    model: ModelFile, activations: Mapping[str, Json], defined: Mapping[str, Json]
) -> tuple[Topology, Context]:
    topology = model.topology
    assert topology is not None
    if not topology.sequential:
        # where a wrapper was undone, calls hold the nodes that they had; the config has them as they are now
        topology = keras_config.parse(topology.config)
    context = new_context(model, activations, defined)
    if context.backend is None and version_of(model.keras_version) < (2, 0):
        context.note("assumed", "", "the backend was TensorFlow: Keras 1 does not say")
    return topology, context


def new_context(model: ModelFile, activations: Mapping[str, Json], defined: Mapping[str, Json]) -> Context:
    """What the rules know of a file, which Keras 3 must not have written: their names mean something else there."""
    if version_of(model.keras_version) >= (3, 0):
        raise Keras3Error("Keras 3 wrote this file", "load it there and save it as .keras")
    return Context(
        model.keras_version,
        model.backend,
        _float_type(model),
        _given(activations),
        _channels_first(model.topology),
        dict(defined),
    )


def _channels_first(topology: Topology | None) -> bool:
    """Whether some layer, at whatever depth and in whatever wrapper, says channels_first."""
    layers = topology.walk() if topology is not None else ()
    return any(_says_channels_first(layer.config) for layer in layers)


def _says_channels_first(config: Json) -> bool:
    while isinstance(config, dict):
        if config.get("data_format") == "channels_first" or config.get("dim_ordering") == "th":
            return True
        inner = config.get("layer")
        config = inner.get("config") if isinstance(inner, dict) else None
    return False


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
        self.repeats = 0

    # -- models

    def model(
        self,
        topology: Topology,
        weights: Mapping[str, tuple[WeightRef, ...]],
        inputs: Sequence[TensorSpec],
        path: str = "",
    ) -> Translated:
        """A model with its layers.

        Parameters
        ----------
        topology : Topology
        weights : dict
            By layer.
        inputs : sequence of TensorSpec
            What it is called on, where that is known.
        path : str
            The names of the models around it, "model_1/".
        """
        build = _Sequence if topology.sequential else _Network
        with _fitting(topology):
            return build(self, topology, weights, inputs, path).translated()

    def nested(
        self, name: str, topology: Topology, refs: Sequence[WeightRef], inputs: Sequence[TensorSpec], path: str = ""
    ) -> Translated:
        """A model inside another, whose weights are one flat list."""
        dealt = split(topology, tuple(refs), self.context.tf_keras)
        made = self.model(topology, {group.layer: group.weights for group in dealt}, inputs, path)
        return made._replace(model=replace(made.model, name=name) if made.model is not None else None)

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
                if objects.is_code(value) and row.rewrite not in _ACTIVATED_BEHIND:
                    raise old.refuse(f"its {name} is a function, and is applied within the layer", lambdas.HINT)
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
        return serialized(piece, _clean(old.name)), piece.arrays, piece

    def inner(self, old: Old, value: Json, arrays: Arrays, inputs: Sequence[TensorSpec] = ()) -> Old:
        """The layer in a wrapper's config."""
        if not isinstance(value, dict) or not isinstance(value.get("config"), (dict, list)):
            raise old.refuse("it wraps nothing that can be read", "the config is damaged")
        config = value["config"]
        name = config.get("name") if isinstance(config, dict) else None
        name = name if isinstance(name, str) else f"{old.name}_inner"
        if isinstance(config, list):
            config = {"layers": config}
        return Old(name, str(value.get("class_name")), config, arrays, self.context, tuple(inputs))


_KERAS_1_CLASSES = frozenset(["Merge", "Highway", "MaxoutDense", "SReLU", "ParametricSoftplus"])
_TRAINING_ONLY = frozenset(["renorm", "virtual_batch_size"])


@contextlib.contextmanager
def _fitting(topology: Topology) -> Iterator[None]:
    """A config whose values are of the wrong kind or size is damaged: only an error of ours comes of it."""
    try:
        yield
    except NONSENSE as error:
        raise _nonsense(f"model {topology.name!r}", error) from error


def _nonsense(what: str, error: Exception) -> Keras3Error:
    return Keras3Error(
        f"{what}: a config makes no sense ({type(error).__name__}: {str(error)[:80]})",
        "the config is damaged, or a newer Keras wrote it",
    )


# -- wrappers -----------------------------------------------------------------------------------------------


def _wrapper_config(translator: Translator, old: Old, row: Row, *without: str) -> Config:
    kept = {key: value for key, value in old.config.items() if key not in without}
    return translator.config(old._replace(config=kept), row)


def _time_distributed(translator: Translator, old: Old, row: Row) -> list[Piece]:
    value = old.config.get("layer")
    step = tuple(shapes.step_of(spec) for spec in old.inputs[:1])
    config = _wrapper_config(translator, old, row, "layer")
    if keras_config.is_model(value):
        topology = keras_config.parse(value)
        refs = [array.sources[0] for array in old.arrays]
        made = translator.nested(_clean(topology.name or f"{old.name}_inner"), topology, refs, step)
        model, outputs = made.whole(), made.outputs
        config["layer"] = render(model)
        arrays = tuple(weight_paths(model))
    else:
        config["layer"], arrays, piece = translator.entry(translator.inner(old, value, old.arrays, step))
        outputs = piece.outputs
    whole_outputs = shapes.sequence_of(outputs, old.inputs[0]) if old.inputs else ()
    return [Piece(row.to, config, tuple((f"layer/{path}", array) for path, array in arrays), outputs=whole_outputs)]


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
        piece.module == "", piece.masked,
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

    def tried(self, layer: OldLayer, inputs: tuple[TensorSpec, ...]) -> list[Piece]:
        """The pieces of a layer, nested models too; none, and an error kept, where it cannot be expressed."""
        before, self.context.notes = self.context.notes, {}
        self.errors.pop(layer.name, None)
        try:
            pieces = self._pieces(layer, inputs)
        except UnparallelError as error:
            pieces = self._failed(layer, error)
        except NONSENSE as error:
            pieces = self._failed(layer, _nonsense(f"layer {layer.name!r} ({layer.class_name})", error))
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
        names = [layer.name for layer in self.topology.layers]
        looks = tuple(look for name in names for look in self.looks.get(name, ()))
        for name in names:
            self.context.notes.update(dict.fromkeys(self.said.get(name, ())))
        error = next((self.errors[name] for name in names if name in self.errors), None)
        return Translated(None if error is not None else model(), tuple(outputs), looks, error, self.specs)

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


class _Sequence(_Builder):
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
                made = _layer(piece, name, (Call(before),), layer.class_name)
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


# -- the whole ------------------------------------------------------------------------------------------------


def bare_archive(model: Model, context: Context) -> Archive:
    """What is to be written, uncompiled."""
    arrays = tuple(sorted(weight_paths(model)))
    groups = ["vars"]
    for place in places(model):
        if place.layer.submodel is not None:
            groups.append(f"{place.path}/vars")
    return Archive(render(model), arrays, tuple(groups), tuple(context.notes), tuple(context.custom))
