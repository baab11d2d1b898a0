"""A `ModelFile` -> an `Archive`: layer by layer through the tables, then names, calls, masks, paths.

Nothing is read but configs and the shapes of weights, and nothing is written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence, Tuple

from .. import keras_config
from ..errors import Keras3Error, UnparallelError, WeightsError
from ..model import Json, ModelFile, TensorKey, Topology, WeightRef, saved_layers, version_of
from ..model import Layer as OldLayer
from ..weights.assignment import expected_weights, split
from . import lambdas, masks, objects, shapes
from .graph import doubtful, places, weight_paths
from .layers import ALIASES, ANY, CHANNELS_FIRST, GENERAL_DROPS, REFUSED, ROWS, Row
from .names import modern
from .networks import Chain, Layers, Network, Translated, as_layer, clean, fitting
from .render import render, serialized
from .rewrites import REWRITES, numbered
from .values import (
    Archive,
    Array,
    Call,
    Config,
    Context,
    Layer,
    LayerOutlook,
    Model,
    Old,
    Piece,
    TensorSpec,
)

Arrays = Tuple[Array, ...]
MODELS = frozenset(["Functional", "Sequential"])
# rewrites that can put what is activated behind the layer
_ACTIVATED_BEHIND = ("hard_sigmoid", "activation_layer")


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
    model: ModelFile,
    activations: Mapping[str, Json] | None = None,
    defined: Mapping[str, Json] | None = None,
    inputs: Sequence[TensorSpec] = (),
) -> Attempt:
    """A translation that tries every layer, whatever became of those before it.

    Parameters
    ----------
    model, activations, defined
        As in `translate`.
    inputs : sequence of TensorSpec, optional
        What the model was called on, where that is known.
    """
    made = Translated(None)
    try:
        topology, context = _prepared(model, activations or {}, defined or {})
        with fitting(topology):
            made = Translator(context).model(topology, _own_arrays(model, topology), inputs)
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


class Translator(Layers):
    """Translates one file's models; `context` hears what is done."""

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
        build = Chain if topology.sequential else Network
        with fitting(topology):
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
            model = replace(piece.submodel, name=clean(old.name))
            return render(model), tuple(weight_paths(model)), piece
        return serialized(piece, clean(old.name)), piece.arrays, piece

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
        made = translator.nested(clean(topology.name or f"{old.name}_inner"), topology, refs, step)
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
        own = f"{clean(name)}_{i + 1}"
        before = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
        layers.append(as_layer(piece, own, (Call(before),), ""))
    return Model(clean(name), True, tuple(layers), (), (TensorKey(layers[-1].name, 0, 0),))


# -- the whole ------------------------------------------------------------------------------------------------


def bare_archive(model: Model, context: Context) -> Archive:
    """What is to be written, uncompiled."""
    arrays = tuple(sorted(weight_paths(model)))
    groups = ["vars"]
    for place in places(model):
        if place.layer.submodel is not None:
            groups.append(f"{place.path}/vars")
    return Archive(render(model), arrays, tuple(groups), tuple(context.notes), tuple(context.custom))
