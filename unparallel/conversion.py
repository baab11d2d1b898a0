"""One file from end to end: read, find, extract, write, verify, put in place.

This is the one place that strings the steps together; the command line and the batch call what is here.
"""

import os
import warnings
from dataclasses import replace
from typing import Any, Optional, Sequence, Tuple

from . import tensorflow
from .architecture import fitting_beside, with_architecture
from .atomic import AtomicFile
from .errors import AmbiguousWeightsError, FileError, NeedsArchitectureError, UnparallelError, UnparallelWarning
from .formats import Format, Opened, format_of, open_model
from .model import LayerWeights
from .options import Activations, Architecture, ConvertOptions, Definitions, StrPath, path_text, takes_options
from .plan import Plan
from .results import Conversion, Inspection
from .weights.health import HealthCheck, listed, refusal


@takes_options
def convert(source: StrPath, target: StrPath, *, overwrite: bool = False, **options: Any) -> Conversion:
    """Write the single-GPU file that a saved parallel model holds.

    Parameters
    ----------
    source : path
        A Keras HDF5 file of a parallel model, or of its weights.  It is only read.
    target : path
        The file to write; it appears whole or not at all.
    overwrite : bool
        Replace a target that exists.
    **options
        The fields of `ConvertOptions`: `optimizer`, `weights_only`, `verify`, `architecture`, `trust_slices`, `scan`,
        `strict`, `reset_batchnorm`, ...

    Returns
    -------
    Conversion

    Raises
    ------
    AlreadySingleError
        There is nothing to undo.
    NotParallelError
        It looks parallel and is not provably so.
    UnparallelError
        Any other refusal; `hint` says what to do.  Nothing is written then.

    Warns
    -----
    UnparallelWarning
        For each of the result's `warnings`.

    Examples
    --------
    >>> import unparallel
    >>> done = unparallel.convert("model.h5", "clean.h5")     # doctest: +SKIP
    >>> done.template, done.parameters                        # doctest: +SKIP
    ('resnet50', 25636712)
    """
    done = run(path_text(source), path_text(target), ConvertOptions(**options), overwrite)
    _warn(done.source, done.warnings)
    return done


def run(
    source: str, target: str, options: ConvertOptions, overwrite: bool = False, parents: bool = False
) -> Conversion:
    """As `convert`, with the options as one value; `parents` makes the target's folder if need be."""
    options = with_architecture(options)
    form = format_of(target)
    _check_apart(source, target)
    if options.check and form.try_out is None:
        raise UnparallelError(
            "--check is for .keras targets: it loads them in Keras 3", "leave it out, or write .keras"
        )
    with AtomicFile(target, overwrite, source, "checked.keras" if options.check else "", parents) as out:
        with open_model(source) as opened:
            plan = _plan(form, opened, options)
            if options.define and form.try_out is None:
                idle = "--define is for .keras targets: a .h5 keeps its Python code as it is"
                plan = replace(plan, warnings=plan.warnings + (idle,))
            health = _health(opened, plan, options)
            form.write(opened.source, plan, health, out)
            _check(form, opened, out.partial, plan, health, options)
            if options.check and form.try_out is not None:
                plan = replace(plan, notes=plan.notes + (form.try_out(out.partial, plan),))
            done = _result(opened, plan, health, target, out.size, options)
        out.commit()
    return done


def compare(source: str, target: str, options: ConvertOptions) -> Conversion:
    """Prove that a target which exists is what the source gives.

    Raises
    ------
    VerificationError
        It is something else.
    UnparallelError
        As for `convert`.
    """
    options = replace(with_architecture(options), verify=True)
    form = format_of(target)
    with open_model(source) as opened:
        plan = _plan(form, opened, options)
        health = _health(opened, plan, options)
        _check(form, opened, target, plan, health, options)
        return _result(opened, plan, health, target, os.path.getsize(target), options)


def inspect(
    source: StrPath,
    *,
    architecture: Architecture = None,
    trust_slices: bool = False,
    scan: bool = True,
    by_names: bool = False,
    activations: Activations = None,
    define: Definitions = None,
) -> Inspection:
    """Say what a file holds and what `convert` would make of it; nothing is written.

    Parameters
    ----------
    source : path
    architecture, trust_slices, scan, by_names, activations, define
        As for `convert`.

    Returns
    -------
    Inspection

    Raises
    ------
    UnparallelError
        The file cannot be read.  That it is not parallel is no error here but a verdict.

    Warns
    -----
    UnparallelWarning
        For each of the result's `warnings`.
    """
    options = ConvertOptions(
        architecture=architecture,
        trust_slices=trust_slices,
        scan=scan,
        by_names=by_names,
        activations=activations,
        define=define,
    )
    seen = look(path_text(source), options)
    _warn(seen.source, seen.warnings)
    return seen


def look(source: str, options: ConvertOptions) -> Inspection:
    """As `inspect`, with the options as one value, and without Python warnings."""
    options = with_architecture(options)
    with open_model(source) as opened:
        plan: Optional[Plan] = None
        refused: Optional[UnparallelError] = None
        try:
            plan = _plan(format_of(""), opened, options)
        except UnparallelError as error:
            refused = error
        model = plan.after if plan is not None else opened.model
        health = HealthCheck(model, options.scans)
        if options.scans:
            _scan(opened, model.weights, health)
        from .keras3.outlook import outlook  # tables that a conversion to HDF5, or what is no HDF5, need not wait for

        far = outlook(opened.model, plan, refused, options)
        return Inspection.of(opened.model, plan, refused, health, opened.source.stored_size(), options, far)


def _warn(source: str, texts: Sequence[str]) -> None:
    """Give what the user should know to Python's warnings, as from the line that called `convert` or `inspect`."""
    for text in texts:
        warnings.warn(UnparallelWarning(f"{source}: {text}"), stacklevel=3)


def _check_apart(source: str, target: str) -> None:
    """Refuse a target that is one of the files of a checkpoint or SavedModel."""
    for part in tensorflow.files(source):
        if part != source and os.path.exists(target) and os.path.samefile(part, target):
            raise FileError("is a part of the source", "name another target: the input is never touched", target)


def _plan(form: Format, opened: Opened, options: ConvertOptions) -> Plan:
    """The plan, with a note on what is not Keras' and does not come along."""
    try:
        plan = form.plan(opened.model, options)
    except (NeedsArchitectureError, AmbiguousWeightsError) as error:
        _offer_architecture(error, form, opened, options)
        raise
    if not opened.unknown:
        return plan
    note = f"ignored (not written by Keras): {listed([repr(name) for name in opened.unknown])}"
    return replace(plan, notes=plan.notes + (note,))


def _offer_architecture(error: UnparallelError, form: Format, opened: Opened, options: ConvertOptions) -> None:
    """Say in the hint which file beside a weights file fits as its architecture."""
    if options.architecture is not None or opened.model.topology is not None:
        return
    path = opened.source.path
    name = fitting_beside(path, lambda found: form.plan(opened.model, replace(options, architecture=found)))
    if name:
        import shlex

        beside = os.path.join(os.path.dirname(path), name)
        error.hint = f"{name} beside it fits: --architecture {shlex.quote(beside)}; otherwise {error.hint}"


def _health(opened: Opened, plan: Plan, options: ConvertOptions) -> HealthCheck:
    """What is to be looked at in the weights; the moving statistics, which are small, before anything is written."""
    health = HealthCheck(plan.after, options.scans)
    if options.reset_batchnorm:
        _scan(opened, health.statistics(), health)
        health.reset_found()
    return health


def _scan(opened: Opened, weights: Tuple[LayerWeights, ...], health: HealthCheck) -> None:
    from .verify import scan  # h5py comes with it, which what is no HDF5 need not wait for

    scan(opened.source, weights, health)


def _check(form: Format, opened: Opened, path: str, plan: Plan, health: HealthCheck, options: ConvertOptions) -> None:
    """Verify a written file and look at its weights, in one pass where both are wanted."""
    if options.verify:
        form.compare(opened.source, path, plan, health)
    elif health.wanted:
        _scan(opened, plan.after.weights, health)
    if options.strict and health.non_finite:
        raise refusal(health.non_finite)


def _result(
    opened: Opened, plan: Plan, health: HealthCheck, target: str, bytes_after: int, options: ConvertOptions
) -> Conversion:
    before = opened.source.stored_size()
    return Conversion.of(plan, health, target, options, bytes_before=before, bytes_after=bytes_after)
