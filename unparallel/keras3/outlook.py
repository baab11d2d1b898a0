"""How far a file can go to Keras 3, layer by layer, before anything is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, Mapping, Sequence

from ..errors import AlreadySingleError, UnparallelError
from ..model import Json, Layer, ModelFile, Topology, WeightRef
from ..options import ConvertOptions
from ..plan import Plan
from ..weights.assignment import split
from .arrays import whole
from .plan import activation_options, already_single, keras3_plan
from .translate import Translator, new_context
from .values import NONSENSE, Context, LayerOutlook, Old, Outlook


def outlook(
    before: ModelFile, plan: Plan | None, refused: UnparallelError | None, options: ConvertOptions
) -> Outlook | None:
    """How far a file can go: what a conversion to `.keras` says of it; None for weights without a config.

    Parameters
    ----------
    before : ModelFile
        As the file is.
    plan : Plan or None
        For the single model.
    refused : UnparallelError or None
        Why there is none.
    options : ConvertOptions
    """
    if before.topology is None and options.architecture is None:
        return None
    layers: tuple[LayerOutlook, ...] = ()
    try:
        if isinstance(refused, AlreadySingleError):
            plan = already_single(before, options)
        elif refused is not None:
            raise refused
        assert plan is not None
        layers = tuple(_layers(plan.after, activation_options(options)))
        found = keras3_plan(plan, options).outlook
    except UnparallelError as error:
        return Outlook(False, error.message, error.hint, layers=layers)
    assert found is not None
    return replace(found, layers=layers)


def _layers(model: ModelFile, activations: Mapping[str, Json]) -> Iterator[LayerOutlook]:
    if model.topology is None:
        return
    groups = {group.layer: group.weights for group in model.weights}
    yield from _of_model(model.topology, groups, new_context(model, activations), "")


def _of_model(
    topology: Topology, groups: Mapping[str, Sequence[WeightRef]], context: Context, prefix: str
) -> Iterator[LayerOutlook]:
    for layer in topology.layers:
        refs = groups.get(layer.name, ())
        if layer.submodel is None:
            yield _of_layer(layer, refs, context, prefix)
            continue
        try:
            inner = {group.layer: group.weights for group in split(layer.submodel, tuple(refs), context.tf_keras)}
        except UnparallelError as error:
            yield LayerOutlook(prefix + layer.name, layer.class_name, (), error.message, error.hint)
            continue
        yield from _of_model(layer.submodel, inner, context, f"{prefix}{layer.name}/")


def _of_layer(layer: Layer, refs: Sequence[WeightRef], context: Context, prefix: str) -> LayerOutlook:
    name = prefix + layer.name
    if layer.class_name == "InputLayer":
        return LayerOutlook(name, layer.class_name, ("InputLayer",))
    if not isinstance(layer.config, dict):
        return LayerOutlook(name, layer.class_name, (), "its config is no object", "the config is damaged")
    context.notes.clear()
    old = Old(layer.name, layer.class_name, layer.config, tuple(whole(ref) for ref in refs), context)
    try:
        pieces = Translator(context).pieces(old)
    except UnparallelError as error:
        return LayerOutlook(name, layer.class_name, (), error.message, error.hint)
    except NONSENSE as error:
        problem = f"its config makes no sense ({type(error).__name__})"
        return LayerOutlook(name, layer.class_name, (), problem, "the config is damaged")
    return LayerOutlook(name, layer.class_name, tuple(piece.class_name for piece in pieces), notes=tuple(context.notes))
