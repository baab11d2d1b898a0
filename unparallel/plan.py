"""What a file holds and what is to be written: decisions as values, before anything is cut.

A full file is cleaned by its own graph.  A weights file needs an architecture, or weight names that leave
no doubt; an architecture of the parallel model makes it a full file.
"""

import contextlib
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import keras_config, match
from .errors import AlreadySingleError, ConfigError, NeedsArchitectureError, NotParallelError, WeightsError
from .extract import Cleaned, Placed, clean, deal
from .model import Json, Layer, LayerWeights, ModelFile, Topology, saved_layers
from .options import ConvertOptions
from .slices import Context, code_of
from .weights.assignment import is_weightless, split
from .weights.names import ASSUMPTION, split_by_names

ARCHITECTURE = "--architecture FILE (to_json() of the template or of the parallel model) settles it"
NAMED_BY_OUTPUT = ("loss", "metrics", "weighted_metrics", "loss_weights", "sample_weight_mode")


@dataclass(frozen=True)
class Plan:
    """What is to be written, and what was found on the way.

    Parameters
    ----------
    before, after : ModelFile
        The file as it is, and as it is to be.
    wrappers : tuple of Placed
        The data-parallel wrappers that were undone (none where only names spoke).
    renamed : tuple of (str, str)
        Layers and outputs under a new name.
    dropped : tuple of str
        Layers that are gone: slices, merges, and what only they needed.
    warnings, notes : tuple of str
        What the user should know; a note is harmless.
    """

    before: ModelFile
    after: ModelFile
    wrappers: Tuple[Placed, ...] = ()
    renamed: Tuple[Tuple[str, str], ...] = ()
    dropped: Tuple[str, ...] = ()
    warnings: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()


def make_plan(before: ModelFile, options: ConvertOptions) -> Plan:
    """Decide what the clean file is to be.

    Raises
    ------
    AlreadySingleError
        There is nothing to undo.
    NotParallelError
        It looks parallel and is not provably so; the message says what does not fit.
    WeightsError, NeedsArchitectureError
        The weights do not add up, or cannot be dealt out without an architecture.
    """
    if before.topology is not None:
        plan = _from_topology(before, before.topology, options)
    elif options.architecture is not None:
        plan = _from_architecture(before, options)
    else:
        plan = _from_names(before)
    after = plan.after
    if options.weights_only:
        after = replace(after, form="weights", training_config=None, optimizer=None)
    elif not options.optimizer:
        after = replace(after, training_config=None, optimizer=None)
    return replace(plan, after=after)


# -- full files


def clean_topology(
    topology: Topology, weightless_names: Any = (), trust_slices: bool = False, context: Optional[Context] = None
) -> Cleaned:
    """Undo all wrappers in a topology; `weightless_names` are own layers known to have no weights."""
    shared = context or Context()

    def find(model: Topology, path: Tuple[str, ...]) -> match.Found:
        def weightless(layer: Layer) -> bool:
            return (not path and layer.name in weightless_names) or is_weightless(layer)

        return match.find(model, weightless, trust_slices, shared, outermost=not path)

    cleaned = clean(topology, find)
    return replace(cleaned, near=cleaned.near + tuple(_inside_layers(topology, trust_slices, shared)))


def _inside_layers(topology: Topology, trust_slices: bool, context: Context) -> Iterator[match.NearMiss]:
    """Wrappers in models that a layer such as TimeDistributed wraps: seen, and not undone."""
    for layer in topology.walk():
        inner = layer.config.get("layer") if isinstance(layer.config, dict) else None
        if not keras_config.is_model(inner):
            continue
        with contextlib.suppress(ConfigError):  # the layer is carried over as it is, whatever it wraps
            if clean_topology(keras_config.parse(inner), (), trust_slices, context).matches:
                yield match.NearMiss(f"layer {layer.name!r} wraps a parallel model, which is not undone there", 0)


def _from_topology(before: ModelFile, topology: Topology, options: ConvertOptions) -> Plan:
    """The plan for a file whose whole graph is known."""
    empty = {group.layer for group in before.weights if not group.weights}
    cleaned = clean_topology(topology, empty, options.trust_slices)
    if not cleaned.matches:
        raise not_parallel(cleaned)
    result = cleaned.topology
    weights = {group.layer: group for group in deal(topology, cleaned, before.groups, before.form == "model")}
    layers = saved_layers(result, before.keras_version)
    outputs = output_names(topology, cleaned)
    training, lost = renamed_outputs(before.training_config, outputs)
    if before.own_weights is not None and before.own_weights.weights and _is_template_alone(cleaned):
        raise WeightsError(
            f"the parallel model owns weights beside its layers' ({before.own_weights.weights[0].name})",
            "the template has no place for them",
        )
    after = replace(
        before,
        topology=result,
        weights=tuple(weights[layer.name] for layer in layers),
        training_config=training,
    )
    warnings = _warnings(cleaned, lost)
    if len(topology.outputs) < len(result.outputs):
        counts = f"{len(topology.outputs)} of the template's {len(result.outputs)} outputs"
        warnings.append(f"the parallel model gives only the first {counts}; the template is written with all")
    misfit = _training_misfit(before, after)
    if misfit:
        after = replace(after, training_config=None, optimizer=None)
        warnings.append(f"the training state was left out: {misfit}")
    return Plan(
        before,
        after,
        cleaned.matches,
        cleaned.renamed + tuple((old, new) for old, new in outputs.items() if old != new),
        _dropped(topology, result, cleaned),
        tuple(warnings),
        tuple(_notes(result)),
    )


def _is_template_alone(cleaned: Cleaned) -> bool:
    """Whether the outer model is gone: its layers then lie one model deeper than they did."""
    return all(len(origin) > 1 for origin in cleaned.origins.values())


def not_parallel(cleaned: Cleaned) -> NotParallelError:
    """The refusal for a model without a provable wrapper."""
    if not cleaned.near:
        return AlreadySingleError("a single model already: there is nothing to undo", "use the file as it is")
    nearest = cleaned.near[0]
    hint = "the model stays as it is: cutting it would change what it computes"
    if nearest.trust:
        hint = "if you know that these layers only cut the batch, say --trust-slices"
    return NotParallelError(f"not a data-parallel model: {nearest.reason}", hint)


def output_names(topology: Topology, cleaned: Cleaned) -> Dict[str, str]:
    """The new name of each output of the outer model."""
    new = cleaned.topology.outputs
    return {key.layer: new[cleaned.outputs[i]].layer for i, key in enumerate(topology.outputs)}


def renamed_outputs(training: Json, names: Mapping[str, str]) -> Tuple[Json, List[str]]:
    """(training_config with the template's output names as keys, keys that two outputs would share)."""
    lost: List[str] = []
    if not isinstance(training, dict) or all(old == new for old, new in names.items()):
        return training, lost

    def renamed(value: Json) -> Json:
        keys = [names.get(key, key) for key in value]
        lost.extend(sorted({key for key in keys if keys.count(key) > 1}))
        return dict(zip(keys, value.values()))

    return {
        key: renamed(value) if key in NAMED_BY_OUTPUT and isinstance(value, dict) else value
        for key, value in training.items()
    }, lost


def _training_misfit(before: ModelFile, after: ModelFile) -> str:
    """Why the parallel model's training state is not one of the clean model; "" where it is."""
    if before.topology is None or after.topology is None:
        return ""
    counts = len(before.topology.outputs), len(after.topology.outputs)
    if before.training_config is not None and counts[0] != counts[1]:
        return f"it is for {counts[0]} of the template's {counts[1]} outputs"
    settings = before.training_config if isinstance(before.training_config, dict) else {}
    for name in ("loss", "loss_weights"):
        if isinstance(settings.get(name), (list, dict)) and not _fits_outputs(settings[name], before.topology):
            return f"{name} is not set for the outputs that the model has"
    if before.optimizer is not None and _moved_groups(before, after):
        return "the clean model lists its trainable weights in another order"
    return ""


def _fits_outputs(setting: Json, topology: Topology) -> bool:
    """Whether a list has an entry for each output, or a dict no key that is none's (Keras refuses both to load)."""
    if isinstance(setting, list):
        return len(setting) == len(topology.outputs)
    names = [key.layer for key in topology.outputs]
    # outputs of one layer are told apart by numbers that Keras gives them, in some versions
    return len(set(names)) < len(names) or set(setting) <= set(names)


def _moved_groups(before: ModelFile, after: ModelFile) -> bool:
    """Whether weighted layers of an outer model that stays would change their order.

    An optimizer keeps its arrays in the order of the model's trainable weights.  Layers of one nested group
    never change theirs.
    """
    places = {ref.path: i for i, group in enumerate(before.weights) for ref in group.weights}
    order = [places[group.weights[0].path] for group in after.weights if group.weights]
    return order != sorted(order)


def _dropped(old: Topology, new: Topology, cleaned: Cleaned) -> Tuple[str, ...]:
    """The outer model's own layers of which nothing is left."""
    kept = {origin[0] for origin in cleaned.origins.values()}
    inputs = {key.layer for key in old.inputs}
    return tuple(layer.name for layer in old.layers if layer.name not in kept and layer.name not in inputs)


def _warnings(cleaned: Cleaned, lost: List[str]) -> List[str]:
    warnings = [f"{miss.reason} (left as it is)" for miss in cleaned.near]
    for placed in cleaned.matches:
        trusted = [piece.tensor.layer for piece in placed.match.slices if piece.proof == "trusted"]
        if trusted:
            warnings.append(f"layer {trusted[0]!r} was taken for a slice on your word: its code is not known")
    if lost:
        warnings.append(
            "training_config: outputs {} share a name now; one setting of each was lost".format(", ".join(lost))
        )
    return warnings


def _notes(topology: Topology) -> List[str]:
    """Facts that the user should know: code that the template itself holds, inputs with a fixed batch size."""
    notes = []
    for layer in topology.walk():
        # a nested model's own layers are walked too
        for version in dict.fromkeys(_code_versions(layer.config) if layer.submodel is None else ()):
            notes.append(f"layer {layer.name!r} holds Python code of version {version}; loading the file runs it")
    for key in topology.inputs:
        shape = keras_config.shape_of_input(topology.layer(key.layer))
        if shape and isinstance(shape[0], int):
            notes.append(f"input {key.layer!r} has a fixed batch size of {shape[0]}")
    return notes


def _code_versions(config: Json) -> Iterator[str]:
    """The Python version of each piece of code in a layer's config, wrapped layers' configs included.

    Keras marks a marshalled function by a key of its own (`function_type`, `output_shape_type`, `mode_type` are
    "lambda"), and newer Keras by a class name.
    """
    stack = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            fields = [key[: -len("_type")] for key, kind in value.items() if key.endswith("_type") and kind == "lambda"]
            if value.get("class_name") == "__lambda__":
                yield "unknown"
            for field in fields:
                code = code_of({"function": value.get(field)})
                if code is not None:
                    yield code.version
            stack.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            stack.extend(reversed(value))


# -- weights files


def _from_architecture(before: ModelFile, options: ConvertOptions) -> Plan:
    """The plan for a weights file with the architecture of its template, or of its parallel model."""
    topology = _bare(keras_config.parse(options.architecture))
    cleaned = clean_topology(topology, trust_slices=options.trust_slices)
    if not cleaned.matches:
        return _with_template(before, topology)
    if [layer.name for layer in saved_layers(topology, before.keras_version)] == [g.layer for g in before.weights]:
        return _as_model(_from_topology(before, topology, options))
    return _with_template(before, cleaned.topology)


def _bare(topology: Topology) -> Topology:
    """Without what `to_json()` adds to a config."""
    extra = ("keras_version", "backend")
    config = {key: value for key, value in topology.config.items() if key not in extra}
    return replace(topology, config=config)


def _as_model(plan: Plan) -> Plan:
    return replace(plan, after=replace(plan.after, form="model"))


def _with_template(before: ModelFile, template: Topology) -> Plan:
    """Deal the wrapper's one group with weights out to the template's layers."""
    layers = saved_layers(template, before.keras_version)
    if [group.layer for group in before.weights] == [layer.name for layer in layers]:
        raise AlreadySingleError("weights of a single model already: there is nothing to undo", "use the file as it is")
    full = [group for group in before.weights if group.weights]
    if len(full) > 1:
        raise WeightsError(
            f"{len(full)} groups hold weights ({_listed(full)}), a wrapper has one",
            "give the to_json() of the whole model, or check that the architecture belongs to this file",
        )
    flat = full[0].weights if full else ()
    dealt = {group.layer: group for group in split(template, flat)}
    after = replace(
        before,
        form="model",
        topology=template,
        weights=tuple(dealt[layer.name] for layer in layers),
    )
    dropped = tuple(group.layer for group in before.weights if not group.weights)
    return Plan(before, after, dropped=dropped, notes=tuple(_notes(template)))


def _from_names(before: ModelFile) -> Plan:
    """The plan for a weights file alone: only where names leave no doubt."""
    full = [group for group in before.weights if group.weights]
    if not full:
        raise NeedsArchitectureError("the file holds no weights at all", ARCHITECTURE)
    if len(full) > 1 or not _is_nested(full[0]):
        raise AlreadySingleError(
            "weights of a single model, as far as names tell: there is nothing to undo",
            "if a wrapper stands among its layers, " + ARCHITECTURE,
        )
    before_it = [group.layer for group in before.weights[: before.weights.index(full[0])]]
    if sum(1 for name in before_it if name.startswith("lambda")) < 2:
        raise NeedsArchitectureError(
            f"group {full[0].layer!r} holds a whole model's weights, but no slices of a wrapper stand before it",
            ARCHITECTURE,
        )
    place = before.weights.index(full[0])
    outputs = [group.layer for group in before.weights[place + 1 :]]
    dealt = split_by_names(full[0].weights, outputs, before.keras_version)
    dropped = tuple(group.layer for group in before.weights if not group.weights)
    return Plan(
        before,
        replace(before, weights=dealt),
        dropped=dropped,
        warnings=(f"taken apart by names alone: {ASSUMPTION}; --architecture makes sure",),
        notes=("layers without weights are not listed: no name tells them",),
    )


def _is_nested(group: LayerWeights) -> bool:
    """Whether a group's weights bear other layers' names than its own."""
    return any(not ref.name.split(":")[0].startswith(group.layer) for ref in group.weights)


def _listed(groups: List[LayerWeights]) -> str:
    return ", ".join(repr(group.layer) for group in groups[:4]) + (", ..." if len(groups) > 4 else "")
