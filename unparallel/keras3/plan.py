"""What is to become of a file on its way to Keras 3: the plan of any conversion, and the archive that follows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from .. import keras_config
from ..arrays import ArraySource
from ..atomic import AtomicFile
from ..errors import AlreadySingleError, Keras3Error, NeedsArchitectureError
from ..model import ModelFile, Topology, saved_layers
from ..options import ConvertOptions
from ..plan import ARCHITECTURE, Plan, code_notes, code_versions
from ..plan import make_plan as make_single_plan
from ..weights.health import HealthCheck
from . import archive as files
from .training import training_state
from .translate import Attempt, attempt, bare_archive
from .values import Archive, Context, Model, Outlook, TensorSpec


@dataclass(frozen=True, eq=False, repr=False)
class Keras3Plan(Plan):
    """A plan with the archive that is to be written."""

    archive: Archive | None = None

    @property
    def outlook(self) -> Outlook | None:
        """What changes its form on the way, and what loading needs."""
        if self.archive is None:
            return None
        return Outlook(True, "", "", self.archive.compiled, self.archive.custom, self.archive.notes)


def make_plan(before: ModelFile, options: ConvertOptions) -> Keras3Plan:
    """Decide what the archive is to be; a single model is translated as it is.

    Raises
    ------
    Keras3Error
        Keras 3 cannot express the model; the message names layer, class and argument.
    UnparallelError
        As for any plan.
    """
    if options.weights_only:
        raise Keras3Error("a .keras file holds a whole model, not weights alone", "write a .h5, or drop --weights-only")
    plan = single_plan(before, options)
    return keras3_plan(plan, options, attempted(plan, options))


def attempted(plan: Plan, options: ConvertOptions) -> Attempt:
    """The single model's translation, as far as it comes.

    Raises
    ------
    NeedsArchitectureError
        The file has no config.
    """
    if plan.after.topology is None:
        raise NeedsArchitectureError("a .keras file holds a model's config, which this file has not", ARCHITECTURE)
    return attempt(plan.after, dict(options.activations or ()), dict(options.define or ()), _called_on(plan))


def _called_on(plan: Plan) -> tuple[TensorSpec, ...]:
    """What the wrapper handed to its template: a Sequential of Keras 2.2 with an InputLayer does not save its shape."""
    after, before = plan.after.topology, plan.before.topology
    if after is None or not after.sequential or before is None or before.sequential or len(before.inputs) != 1:
        return ()
    shape = keras_config.shape_of_input(before.layer(before.inputs[0].layer))
    return (TensorSpec((None, *shape[1:])),) if shape else ()


def keras3_plan(plan: Plan, options: ConvertOptions, tried: Attempt) -> Keras3Plan:
    """The plan for an archive, from that for the single model and from its translation.

    Raises
    ------
    UnparallelError
        The translation failed, or what it needs is not to be (`--strict`).
    """
    after = plan.after
    new, context = tried.whole()
    archive = compiled(after, new, context)
    if archive.custom and options.strict:
        raise Keras3Error(
            f"class {archive.custom[0]!r} is not Keras' own, and what it is in Keras 3 is not in the file",
            "without --strict it is carried as it is",
        )
    unused = [name for name in context.defined if name not in context.used]
    after = replace(after, training_config=after.training_config if archive.compiled else None)
    after = after if archive.compiled else replace(after, optimizer=None)
    warnings = (
        plan.warnings
        + tuple(custom_warning(archive))
        + tuple(str(note) for note in archive.notes if note.kind == "differs")
        + tuple(f"--define {name}: no code in this file uses it" for name in unused)
    )
    notes = _kept_notes(plan, archive) + tuple(str(note) for note in archive.notes if note.kind != "differs")
    values = {item.name: getattr(plan, item.name) for item in fields(Plan)}
    values.update(after=after, warnings=warnings, notes=notes)
    return Keras3Plan(**values, archive=archive)


def _kept_notes(plan: Plan, archive: Archive) -> tuple[str, ...]:
    """What is said of the single model, without the code that became operations."""
    topology = plan.after.topology
    if topology is None or any(True for _ in code_versions(archive.config)):
        return plan.notes
    gone = code_notes(topology)
    return tuple(note for note in plan.notes if note not in gone)


def single_plan(before: ModelFile, options: ConvertOptions) -> Plan:
    """The plan for the single model, whether or not there is anything to undo."""
    try:
        return make_single_plan(before, options)
    except AlreadySingleError:
        return already_single(before, options)


def already_single(before: ModelFile, options: ConvertOptions) -> Plan:
    """The plan for a model with no wrapper around it.

    Raises
    ------
    NeedsArchitectureError
        It is weights, and no architecture that fits is given.
    """
    after = before if before.topology is not None else _with_architecture(before, options)
    if not options.optimizer:
        after = replace(after, training_config=None, optimizer=None)
    return Plan(before, after)


def _with_architecture(before: ModelFile, options: ConvertOptions) -> ModelFile:
    """A weights file of a single model, with the config from beside it."""
    if options.architecture is None:
        raise NeedsArchitectureError("a .keras file holds a model's config, which this file has not", ARCHITECTURE)
    topology = keras_config.parse(options.architecture)
    _check_names(before, topology)
    return replace(before, form="model", topology=topology)


def _check_names(before: ModelFile, topology: Topology) -> None:
    wanted = {layer.name for layer in saved_layers(topology, before.keras_version)}
    odd = sorted(wanted ^ {group.layer for group in before.weights})
    if odd:
        raise NeedsArchitectureError(f"layer {odd[0]!r} is in one of weights and architecture only", ARCHITECTURE)


def compiled(after: ModelFile, new: Model, context: Context) -> Archive:
    """The archive, with the compile state where that can be carried.

    Parameters
    ----------
    after : ModelFile
        What is translated.
    new : Model
        What it is translated to.
    context : Context
    """
    config, arrays = training_state(after, new, context)
    made = bare_archive(new, context)
    files.check_numbers([made.config, config])
    files.check_depth(made)
    if config is None:
        return made
    name = str(config["optimizer"]["class_name"])
    whole = dict(made.config, compile_config=config)
    return replace(made, config=whole, arrays=made.arrays + tuple(arrays), compiled=True, optimizer=name)


def custom_warning(archive: Archive) -> list[str]:
    """The line to type where a model has classes of its own."""
    if not archive.custom:
        return []
    pairs = ", ".join(f'"{name}": {name}' for name in archive.custom)
    return [f"load it with keras.models.load_model(file, custom_objects={{{pairs}}})"]


def try_out(path: str, plan: Plan) -> str:
    """Load a written archive in Keras 3, in a process of its own: what came of it."""
    archive = _archive(plan)
    if archive.custom:
        return f"not checked in Keras 3: it needs {archive.custom[0]!r}, which only you have"
    from .trial import trial  # seldom wanted

    found = trial(path, not any("TensorFlow on a CPU cannot" in note.text for note in archive.notes))
    return f"checked: loads and predicts in {found}" if found else "not checked: Keras 3 is not installed here"


def _archive(plan: Plan) -> Archive:
    assert isinstance(plan, Keras3Plan)
    assert plan.archive is not None
    return plan.archive


def write_file(source: ArraySource, plan: Plan, health: HealthCheck, out: AtomicFile) -> None:
    """Write the archive of a plan."""
    files.write(_archive(plan), source, out, health.repairs)


def compare_file(source: ArraySource, path: str, plan: Plan, health: HealthCheck) -> None:
    """Prove that a file is the archive of a plan."""
    files.compare(_archive(plan), source, path, health)
