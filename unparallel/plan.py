"""What a file holds and what is to be written: decisions as values, before anything is cut.

A full file is cleaned by its own graph.  A weights file needs an architecture, or weight names that leave
no doubt; an architecture of the parallel model makes it a full file.
"""

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Container, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import keras_config, match
from .errors import (
    AlreadySingleError,
    AmbiguousWeightsError,
    ConfigError,
    NeedsArchitectureError,
    NotParallelError,
    UnparallelError,
    WeightsError,
)
from .extract import CleanModel, LocatedMatch, Path, assign_weights, clean
from .model import (
    WEIGHT_NAMES,
    Json,
    Layer,
    LayerWeights,
    ModelFile,
    Session,
    TensorKey,
    Topology,
    TrackedModel,
    WeightRef,
    empty_own_weights,
    has_fixed_names,
    is_tf_keras,
    saved_layers,
)
from .options import ConvertOptions
from .slices import Context, code_of
from .weights.assignment import is_weightless, split
from .weights.names import ASSUMPTION, BLIND_SPOTS, split_by_names

if TYPE_CHECKING:
    from .keras3.values import Outlook
    from .weights.tracked import Assigned

ARCHITECTURE = "--architecture FILE (to_json() of the template or of the parallel model) settles it"
# What tf.keras of TensorFlow 1.15 and 2.0 calls itself; a file without any version passes for one of Keras 1.
UNKNOWN_VERSION = "2.2.4-tf"
STATE_LEFT = "the optimizer's arrays do not come along: the settings that belong to them are in no checkpoint"
NAMED_BY_OUTPUT = ("loss", "metrics", "weighted_metrics", "loss_weights", "sample_weight_mode")


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What is to be written, and what was found on the way.

    Parameters
    ----------
    before, after : ModelFile
        The file as it is, and as it is to be.
    wrappers : tuple of LocatedMatch
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
    wrappers: Tuple[LocatedMatch, ...] = ()
    renamed: Tuple[Tuple[str, str], ...] = ()
    dropped: Tuple[str, ...] = ()
    warnings: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def outlook(self) -> "Optional[Outlook]":
        """Of a plan for Keras 3: what changes its form on the way."""
        return None


def make_plan(before: ModelFile, options: ConvertOptions) -> Plan:
    """Decide what the clean file is to be.

    Raises
    ------
    AlreadySingleError
        There is nothing to undo.
    NotParallelError
        It looks parallel and is not provably so; the message says what does not fit.
    WeightsError, NeedsArchitectureError
        The weights do not add up, or cannot be assigned without an architecture.
    """
    if before.topology is not None:
        plan = _from_topology(before, before.topology, options)
    elif before.objects is not None:
        plan = _from_objects(before, before.objects, options)
    elif options.architecture is not None:
        plan = _from_architecture(before, options)
    else:
        plan = _from_names(before, options.by_names)
    plan = replace(plan, warnings=before.warnings + plan.warnings, notes=plan.notes + before.notes)
    _check_names(plan.after)
    return replace(plan, after=_as_wanted(plan.after, options))


def _as_wanted(after: ModelFile, options: ConvertOptions) -> ModelFile:
    """The file with what the user wants of it, which must be whole."""
    if options.weights_only:
        after = replace(after, keras_version=None, backend=None) if after.bare_weights else after
        return replace(after, form="weights", training_config=None, optimizer=None)
    if not options.optimizer:
        return replace(after, training_config=None, optimizer=None)
    if after.training_damage:
        raise WeightsError(
            f"the model is whole, its training state is not: {after.training_damage}",
            "--no-optimizer (optimizer=False) writes the model without it",
        )
    return after


def _check_names(model: ModelFile) -> None:
    """Refuse two weights of one name in a group: in HDF5 they would be one (other formats tell them apart)."""
    for group in model.weights if model.by_path else ():
        names = [ref.name for ref in group.weights]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise WeightsError(
                f"two weights of layer {group.layer!r} are named {twice!r}, which HDF5 cannot hold",
                "no Keras could save this model as .h5 either: give the layers in it different names",
            )


# -- full files


def clean_topology(
    topology: Topology,
    weightless_names: Container[str] = (),
    trust_slices: bool = False,
    context: Optional[Context] = None,
) -> CleanModel:
    """Undo all wrappers in a topology; `weightless_names` are own layers known to have no weights."""
    shared = context or Context()

    def find(model: Topology, path: Tuple[str, ...]) -> match.SearchResult:
        def weightless(layer: Layer) -> bool:
            return (not path and layer.name in weightless_names) or is_weightless(layer)

        return match.find(model, weightless, trust_slices, shared, outermost=not path)

    cleaned = clean(topology, find)
    return replace(cleaned, near_misses=cleaned.near_misses + tuple(_inside_layers(topology, trust_slices, shared)))


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
    assigned = assign_weights(topology, cleaned, before.groups, before.form == "model", before.by_path)
    weights = {group.layer: group for group in assigned}
    layers = saved_layers(result, before.keras_version)
    outputs = output_names(topology, cleaned, before.keras_version)
    listed = _output_names(topology.outputs, is_tf_keras(before.keras_version))
    training, lost = renamed_outputs(before.training_config, outputs, listed)
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
        by_path=_moved_paths(before.by_path, cleaned),
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


def _moved_paths(by_path: Mapping[Path, LayerWeights], cleaned: CleanModel) -> Dict[Path, LayerWeights]:
    """The weights by path of layers, the paths those of the clean model."""
    names = {origin: name for name, origin in cleaned.origins.items()}
    found = {}
    for path, group in by_path.items():
        for length in range(1, len(path) + 1):
            if path[:length] in names:
                found[(names[path[:length]], *path[length:])] = group
    return found


def _is_template_alone(cleaned: CleanModel) -> bool:
    """Whether the outer model is gone: its layers then lie one model deeper than they did."""
    return all(len(origin) > 1 for origin in cleaned.origins.values())


def not_parallel(cleaned: CleanModel, subject: str = "") -> NotParallelError:
    """The refusal for a model without a provable wrapper; `subject` ("'x' is ") says which where no file does."""
    if not cleaned.near_misses:
        return AlreadySingleError(f"{subject}a single model already: there is nothing to undo", "use it as it is")
    nearest = cleaned.near_misses[0]
    hint = "the model stays as it is: cutting it would change what it computes"
    if nearest.trust:
        hint = "if you know that these layers only cut the batch, --trust-slices (trust_slices=True) accepts them"
    return NotParallelError(f"{subject}not a data-parallel model: {nearest.reason}", hint)


def output_names(topology: Topology, cleaned: CleanModel, keras_version: Optional[str] = None) -> Dict[str, str]:
    """What each output of the outer model is called, and what it is called in the clean model, in order."""
    new = cleaned.topology.outputs
    old_names, new_names = (_output_names(ends, is_tf_keras(keras_version)) for ends in (topology.outputs, new))
    return {old: new_names[cleaned.outputs[i]] for i, old in enumerate(old_names)}


def _output_names(outputs: Sequence[TensorKey], counted: bool) -> List[str]:
    """`Model.output_names`: those of the layers; tf.keras counts those that repeat ("lstm", "lstm_1", "lstm_2").

    From `Network._set_output_names`, which standalone Keras never had (looked at in 2.2.4, 2.3.1, TensorFlow 2.0, 2.3).
    """
    names: Dict[str, None] = {}
    numbers: Dict[str, int] = {}
    if not counted:
        return [key.layer for key in outputs]
    for key in outputs:
        name = key.layer
        while name in names:
            numbers[key.layer] = numbers.get(key.layer, 0) + 1
            name = f"{key.layer}_{numbers[key.layer]}"
        names[name] = None
    return list(names)


def renamed_outputs(
    training: Json, names: Mapping[str, str], outputs: Optional[Sequence[str]] = None
) -> Tuple[Json, List[str]]:
    """(training_config for the clean model's outputs, settings that could not be kept).

    Parameters
    ----------
    training : JSON value
        As the file has it: settings by the outer model's output names, by position, or one for all.
    names : mapping of str to str
        See `output_names`.
    outputs : sequence of str, optional
        The outer model's output names, where one is listed twice.
    """
    if not isinstance(training, dict) or all(old == new for old, new in names.items()):
        return training, []
    if len(set(names.values())) < len(names):
        return _by_position(training, outputs or list(names))
    return {
        key: {names.get(name, name): value for name, value in setting.items()}
        if key in NAMED_BY_OUTPUT and isinstance(setting, dict)
        else setting
        for key, setting in training.items()
    }, []


def _by_position(training: Dict[str, Json], outputs: Sequence[str]) -> Tuple[Json, List[str]]:
    """Settings by name as lists, for outputs of one name: Keras reads these as well, and would have been given them.

    A dict that leaves an output out means no loss and a weight of 1 for it (`Model.compile` of every Keras 2).
    """
    result, lost = dict(training), []
    for key, missing in (("loss", None), ("loss_weights", 1.0), ("sample_weight_mode", None)):
        setting = training.get(key)
        if isinstance(setting, dict):
            result[key] = [setting.get(name, missing) for name in outputs]
    for key in ("metrics", "weighted_metrics"):
        setting = training.get(key)
        if isinstance(setting, dict):
            lists = [_as_list(setting.get(name)) for name in outputs]
            # a list of lists is one for each output from Keras 2.3 on; before, a list was for all outputs
            same = all(one == lists[0] for one in lists)
            result[key] = lists[0] if same else lists if "weighted_metrics" in training else []
            lost += [key] if result[key] == [] and not same else []
    return result, lost


def _as_list(value: Json) -> List[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]


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


def _dropped(old: Topology, new: Topology, cleaned: CleanModel) -> Tuple[str, ...]:
    """The outer model's own layers of which nothing is left."""
    kept = {origin[0] for origin in cleaned.origins.values()}
    inputs = {key.layer for key in old.inputs}
    return tuple(layer.name for layer in old.layers if layer.name not in kept and layer.name not in inputs)


def _warnings(cleaned: CleanModel, lost: List[str]) -> List[str]:
    warnings = [f"{miss.reason} (left as it is)" for miss in cleaned.near_misses]
    for placed in cleaned.matches:
        trusted = [piece.tensor.layer for piece in placed.match.slices if piece.proof == "trusted"]
        if trusted:
            warnings.append(
                f"layer {trusted[0]!r} accepted as a slice because of --trust-slices; its code could not be analysed"
            )
    if lost:
        text = " and ".join(lost)
        warnings.append(
            f"training_config: {text} left out: outputs of one name cannot have different ones in this Keras"
        )
    return warnings


def _notes(topology: Topology) -> List[str]:
    """Facts that the user should know: code that the template itself holds, inputs with a fixed batch size."""
    notes = code_notes(topology)
    for key in topology.inputs:
        shape = keras_config.shape_of_input(topology.layer(key.layer))
        if shape and isinstance(shape[0], int):
            notes.append(f"input {key.layer!r} has a fixed batch size of {shape[0]}")
    return notes


def code_notes(topology: Topology) -> List[str]:
    """The layers that hold Python code."""
    notes = []
    for layer in topology.walk():
        # a nested model's own layers are walked too
        for version in dict.fromkeys(code_versions(layer.config) if layer.submodel is None else ()):
            notes.append(f"layer {layer.name!r} holds Python code of version {version}; loading the file runs it")
    return notes


def code_versions(config: Json) -> Iterator[str]:
    """The Python version of each piece of code in a layer's config, wrapped layers' configs included.

    Keras marks a marshalled function by a key of its own (`function_type`, `output_shape_type`, `mode_type` are
    "lambda"), and newer Keras by a class name.
    """
    for value in keras_config.containers(config):
        if not isinstance(value, dict):
            continue
        if value.get("class_name") == "__lambda__":
            yield "unknown"
        for key, kind in value.items():
            if kind == "lambda" and key.endswith("_type"):
                code = code_of({"function": value.get(key[: -len("_type")])})
                if code is not None:
                    yield code.version


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
    extra = ("keras_version", "backend", WEIGHT_NAMES)
    config = {key: value for key, value in topology.config.items() if key not in extra}
    return replace(topology, config=config)


def _as_model(plan: Plan) -> Plan:
    return replace(plan, after=replace(plan.after, form="model"))


def _with_template(before: ModelFile, template: Topology) -> Plan:
    """Assign the weights of the wrapper's one group to the template's layers."""
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
    assigned = {group.layer: group for group in split(template, flat)}
    after = replace(
        before,
        form="model",
        topology=template,
        weights=tuple(assigned[layer.name] for layer in layers),
    )
    dropped = tuple(group.layer for group in before.weights if not group.weights)
    notes = (*_notes_on_flags(template, flat, tuple(assigned.values())), *_notes(template))
    return Plan(before, after, dropped=dropped, notes=notes)


def _notes_on_flags(template: Topology, flat: Sequence[WeightRef], assigned: Sequence[LayerWeights]) -> Iterator[str]:
    """That the weights were saved while other layers were frozen than the architecture says."""
    with contextlib.suppress(WeightsError):
        if list(split(template, flat, same_save=True)) == list(assigned):
            return
    yield "other layers were frozen when the weights were saved; `trainable` is written as the architecture has it"


# -- checkpoints of TensorFlow


def _from_objects(before: ModelFile, objects: Union[TrackedModel, Session], options: ConvertOptions) -> Plan:
    """The plan for a checkpoint with the architecture of its template, or of its parallel model."""
    architecture = options.architecture if options.architecture is not None else before.architecture
    if architecture is None:
        raise _without_architecture(before)
    topology = keras_config.parse(architecture)
    facts = topology.config
    version, backend, names = (facts.get(name) for name in ("keras_version", "backend", WEIGHT_NAMES))
    before = replace(
        before,
        keras_version=version or UNKNOWN_VERSION,
        backend=backend or "tensorflow",
        own_weights=empty_own_weights(version),
        fixed_names=has_fixed_names(version),
    )
    topology = _bare(topology)
    cleaned = clean_topology(topology, trust_slices=options.trust_slices)
    orders = tuple(map(tuple, names or ()))
    objects = replace(objects, known_orders=orders)
    if isinstance(objects, Session):
        plan = _from_session(before, objects, topology, cleaned)
    else:
        plan = _from_tracked(before, objects, topology, cleaned, options)
    if not version:
        text = f"the architecture names no keras_version: {UNKNOWN_VERSION} is written down for it"
        plan = replace(plan, warnings=plan.warnings + (text,))
    return plan


def _without_architecture(before: ModelFile) -> UnparallelError:
    full = [group for group in before.weights if group.weights]
    if len(full) > 1:
        return AlreadySingleError(
            f"{len(full)} layers of the checkpoint hold weights, a wrapper has one that does: a single model's "
            "(MirroredStrategy's are such too)",
            "load it with model.load_weights(); if a wrapper stands among its layers, " + ARCHITECTURE,
        )
    return NeedsArchitectureError("a checkpoint holds no config: it does not name the layers", ARCHITECTURE)


def _from_tracked(
    before: ModelFile, tracked: TrackedModel, topology: Topology, cleaned: CleanModel, options: ConvertOptions
) -> Plan:
    """The plan for an object-based checkpoint: the architecture is that of its model, or of the template in it."""
    whole, trouble = _fitting(tracked, tracked.models(), topology)
    state = (STATE_LEFT,) if tracked.slotted else ()
    if whole is not None and not cleaned.matches:
        raise AlreadySingleError(
            "a checkpoint of a single model already: there is nothing to undo", "load it with model.load_weights()"
        )
    if whole is not None:
        weights = tuple(whole.weights[(layer.name,)] for layer in topology.layers)
        full = replace(before, topology=topology, weights=weights, by_path=whole.weights)
        plan = _as_model(_from_topology(full, topology, options))
        return replace(plan, notes=plan.notes + state)
    template = cleaned.topology
    places = [place for number in tracked.models() for place in _template_places(tracked, number, template)]
    found, why = _fitting(tracked, places, template)
    if found is None:
        raise (why if places else trouble) or WeightsError("the checkpoint holds no model", ARCHITECTURE)
    return _assigned(before, template, found, state)


def _fitting(
    tracked: TrackedModel, numbers: Sequence[int], topology: Topology
) -> "Tuple[Optional[Assigned], Optional[WeightsError]]":
    """What one of the objects gives the topology's layers, or why none fits.

    Raises
    ------
    AmbiguousWeightsError
        Two of them fit.
    """
    from .weights.tracked import assignments  # for checkpoints alone

    found, trouble = assignments(((tracked, number) for number in numbers), topology)
    if len(found) > 1:
        raise AmbiguousWeightsError(
            f"{len(found)} models of the checkpoint fit the architecture", "save the one that is meant by itself"
        )
    return (found[0] if found else None), trouble


def _template_places(tracked: TrackedModel, number: int, template: Topology) -> Iterator[int]:
    """The object of the template in what has the layout of a wrapper: inputs, slices of each, template, merges."""
    layers = tracked.layers(number)
    full = [i for i, layer in enumerate(layers) if tracked.variables(layer)]
    if len(full) != 1:
        return
    inputs = max(1, len(template.inputs))
    replicas, rest = divmod(full[0] - inputs, inputs)
    if replicas >= 2 and not rest and len(layers) - full[0] - 1 == len(template.outputs):
        yield layers[full[0]]


def _from_session(before: ModelFile, session: Session, topology: Topology, cleaned: CleanModel) -> Plan:
    """The plan for a checkpoint of `tf.train.Saver`, which knows variables by name."""
    if cleaned.matches and not _is_template_alone(cleaned):
        raise WeightsError(
            "a wrapper inside a larger model: in a checkpoint of variables by name its parts cannot be told apart",
            "save it with model.save_weights(), or as .h5",
        )
    from .weights.session import assign_session  # for checkpoints alone

    return _assigned(before, cleaned.topology, assign_session(session, cleaned.topology), ())


def _assigned(before: ModelFile, template: Topology, found: "Assigned", notes: Tuple[str, ...]) -> Plan:
    """The plan for weights that are the template's by now."""
    layers = saved_layers(template, before.keras_version)
    after = replace(
        before,
        form="model",
        topology=template,
        weights=tuple(found.weights[(layer.name,)] for layer in layers),
        by_path=found.weights,
    )
    return Plan(before, after, notes=tuple(_notes(template)) + notes)


# -- names alone


def _from_names(before: ModelFile, accepted: bool) -> Plan:
    """The plan for a weights file alone: only where names leave no doubt, and where the user takes them for it."""
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
    layers = split_by_names(full[0].weights, outputs, before.keras_version)
    if not accepted:
        raise NeedsArchitectureError(
            f"without its architecture only names tell the layers of {full[0].layer!r}: {_read_by_names(layers)}; "
            f"{BLIND_SPOTS}",
            ARCHITECTURE + "; --by-names (by_names=True) accepts this reading",
        )
    dropped = tuple(group.layer for group in before.weights if not group.weights)
    return Plan(
        before,
        replace(before, weights=layers),
        dropped=dropped,
        warnings=(f"taken apart by names alone: {ASSUMPTION}; --architecture makes sure",),
        notes=("layers without weights are not listed: no name tells them",),
    )


def _read_by_names(layers: Sequence[LayerWeights]) -> str:
    """The layers in one line, each with the number of its weights; of many, the first and the last."""
    texts = [f"{group.layer} ({len(group.weights)})" for group in layers]
    if len(texts) > 12:
        texts = texts[:9] + [f"... {len(texts) - 12} more"] + texts[-3:]
    return ", ".join(texts)


def _is_nested(group: LayerWeights) -> bool:
    """Whether a group's weights bear other layers' names than its own."""
    return any(not ref.name.split(":")[0].startswith(group.layer) for ref in group.weights)


def _listed(groups: List[LayerWeights]) -> str:
    return ", ".join(repr(group.layer) for group in groups[:4]) + (", ..." if len(groups) > 4 else "")
