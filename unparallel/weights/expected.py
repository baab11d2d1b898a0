"""The weights that a layer should own, by its class and config: `table`'s rows applied to wrappers and flags.

Where the config does not say whether a flag froze anything, there is more than one `Spec`, the likeliest first.
"""

from __future__ import annotations

from typing import Sequence

from ..model import Json, Layer
from .table import ROWS, WEIGHTLESS, Config, Slot, Spec, is_keras_1


def expected_weights(layer: Layer, tf_keras: bool | None = None) -> Spec | None:
    """The weights that a layer should own, by its class and config alone.

    Parameters
    ----------
    layer : Layer
        A nested model gives the lists of all its layers, as its own group has them.
    tf_keras : bool, optional
        Whether the config is tf.keras' and not standalone Keras', where that is known.

    Returns
    -------
    Spec or None
        None for a class that is not in the table, or that holds such a layer.
    """
    if layer.submodel is not None:
        return _joined([(inner.name, expected_weights(inner, tf_keras)) for inner in layer.submodel.layers])
    return next(iter(specs_of(layer.class_name, layer.config, tf_keras)), None)


def is_weightless(layer: Layer) -> bool:
    """Whether the table says that a layer owns no weight; a nested model, that none of its layers does."""
    spec = expected_weights(layer)
    return spec is not None and not spec.trainable and not spec.rest


def _joined(parts: Sequence[tuple[str, Spec | None]]) -> Spec | None:
    """The specs of several layers as one list each; None if one of them is unknown."""
    trainable: list[Slot] = []
    rest: list[Slot] = []
    for name, spec in parts:
        if spec is None:
            return None
        trainable += [_within(name, slot) for slot in spec.trainable]
        rest += [_within(name, slot) for slot in spec.rest]
    return Spec(tuple(trainable), tuple(rest))


def _within(name: str, slot: Slot) -> Slot:
    return slot._replace(part=name + "/" + slot.part)


def specs_of(class_name: str, config: Json, tf_keras: bool | None) -> tuple[Spec, ...]:
    """All that a layer may own, likeliest first; empty where the table does not know."""
    if class_name == "Merge" and isinstance(config, dict) and config.get("layers"):
        return ()  # the branches of a Keras 1 Sequential, inside the layer that merges them
    if class_name in WEIGHTLESS:
        return (Spec(),)
    if isinstance(config, list) or (isinstance(config, dict) and isinstance(config.get("layers"), list)):
        return _model_specs(config if isinstance(config, list) else config["layers"], tf_keras)
    if not isinstance(config, dict):
        return ()
    if class_name in _WRAPPERS:
        return _wrapper_specs(class_name, config, tf_keras)
    row = ROWS.get(class_name)
    spec = row(config) if row is not None else None
    return () if spec is None else _by_flag(class_name, config, spec, tf_keras)


def _by_flag(class_name: str, config: Config, spec: Spec, tf_keras: bool | None) -> tuple[Spec, ...]:
    """A layer's lists as its own `trainable` has them."""
    if config.get("trainable") is not False or not spec.trainable:
        return (spec,)
    if tf_keras or class_name not in _FLAG_IN_VAIN or is_keras_1(config):
        return (spec.frozen(),)
    return (spec.frozen(), spec)


#: Classes whose `trainable` was written down and froze nothing, up to Keras 2.1.
_FLAG_IN_VAIN = frozenset(["TimeDistributed", "Bidirectional", "RNN", "SimpleRNN", "GRU", "LSTM"])

#: Wrapper classes, each with the keys of the layers that it wraps, in the order of their weights.
_WRAPPERS: dict[str, tuple[str, ...]] = {
    "TimeDistributed": ("layer",),
    "Bidirectional": ("layer", "backward_layer"),
    "RNN": ("cell",),
    "ConvRNN2D": ("cell",),
    "StackedRNNCells": ("cells",),
    "DropoutWrapper": ("cell",),
    "ResidualWrapper": ("cell",),
    "DeviceWrapper": ("cell",),
    "RNNCellDropoutWrapper": ("cell",),
    "RNNCellResidualWrapper": ("cell",),
    "RNNCellDeviceWrapper": ("cell",),
}


def _wrapped(class_name: str, config: Config) -> list[Json]:
    """The `{"class_name", "config"}` of what a wrapper wraps, in the order of the weights."""
    found: list[Json] = []
    for key in _WRAPPERS[class_name]:
        value = config.get(key)
        found += value if isinstance(value, list) else [] if value is None else [value]
    if class_name == "Bidirectional" and len(found) == 1:
        found *= 2  # the backward layer is a copy
    return found


def _wrapper_specs(class_name: str, config: Config, tf_keras: bool | None) -> tuple[Spec, ...]:
    inside = _wrapped(class_name, config)
    spec = _of_all(inside, tf_keras)
    if spec is None or not inside:
        return ()
    if class_name == "Bidirectional" and not spec.trainable:
        # the copies' flags are set apart from that of the layer that is written down
        free = Spec(spec.rest)
        return (spec,) if config.get("trainable") is False else (free, spec)
    if class_name == "TimeDistributed" and not tf_keras and _holds_model(inside[0]) and spec.trainable:
        return (spec.frozen(), spec) if config.get("trainable") is False else (spec, spec.frozen())
    return _by_flag(class_name, config, spec, tf_keras)


def _holds_model(entry: Json) -> bool:
    config = entry.get("config")
    return isinstance(config, list) or (isinstance(config, dict) and "layers" in config)


def _model_specs(layers: Sequence[Json], tf_keras: bool | None) -> tuple[Spec, ...]:
    """Of a model inside a wrapper's config."""
    spec = _of_all(layers, tf_keras)
    return () if spec is None else (spec,)


def _of_all(entries: Sequence[Json], tf_keras: bool | None) -> Spec | None:
    """The likeliest lists of several `{"class_name", "config"}`, joined."""
    parts: list[tuple[str, Spec | None]] = []
    for index, entry in enumerate(entries):
        known = specs_of(str(entry.get("class_name")), entry.get("config"), tf_keras) if isinstance(entry, dict) else ()
        parts.append((str(index), known[0] if known else None))
    return _joined(parts)
