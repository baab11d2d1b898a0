"""One file from end to end: read, find, extract, write, verify, put in place.

This is the one place that strings the rooms together; the command line and the batch call what is here.
"""

import contextlib
import os
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from . import hdf5, keras_config, verify
from .errors import FileError, NotParallelError, TargetExistsError, UnparallelError, VerificationError, WriteError
from .model import ModelFile, element_count
from .plan import Options, Plan, make_plan
from .reader import read, strays
from .weights.health import NonFinite, Owner, label, listed, owners, refusal, reset_warning
from .weights.health import warnings as health_warnings
from .writer import write

StrPath = Union[str, "os.PathLike[str]"]
Architecture = Union[StrPath, Dict[str, Any], None]


@dataclass(frozen=True)
class WrapperFacts:
    """One data-parallel wrapper that was found.

    Parameters
    ----------
    template : str
        Name of the nested model; "" where the template's layers stood in the towers themselves.
    inside : tuple of str
        Names of the models around the wrapper.
    replicas : int
    slices, merges : tuple of str
        Names of the layers that cut and join the batch.
    proof : str
        "code" where every slice's code was followed, "trusted" where the user vouched for one.
    """

    template: str
    inside: Tuple[str, ...]
    replicas: int
    slices: Tuple[str, ...]
    merges: Tuple[str, ...]
    proof: str


@dataclass(frozen=True)
class LayerFacts:
    """A layer of the clean model: class name ("" where no config tells), number of arrays and parameters."""

    name: str
    class_name: str
    arrays: int
    parameters: int
    shapes: Tuple[Tuple[int, ...], ...]


@dataclass(frozen=True)
class Inspection:
    """What a file holds and what a conversion would do.

    Parameters
    ----------
    source : str
    verdict : str
        "parallel", "single", or "refused" (it looks parallel and cannot be converted as it is).
    reason, hint : str
        For "single" and "refused": why, and what to do.
    form : str
        "model" or "weights".
    keras_version, backend : str or None
    wrappers : tuple of WrapperFacts
    template : str
        Name of the clean model ("" where the file does not tell).
    layers : tuple of LayerFacts
        Of the clean model; of the file as it is where nothing can be undone.
    outputs : tuple of str
        Names of the clean model's outputs.
    parameters : int
    optimizer : str or None
        The optimizer's class, where its state is in the file.
    optimizer_bytes, bytes_before, bytes_after : int
        `bytes_after` is an estimate: the arrays are known, HDF5's own kilobytes are taken to stay.
    non_finite : tuple of NonFinite
        Weights that hold NaN or Inf.
    warnings, notes : tuple of str
    """

    source: str
    verdict: str
    reason: str
    hint: str
    form: str
    keras_version: Optional[str]
    backend: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    layers: Tuple[LayerFacts, ...]
    outputs: Tuple[str, ...]
    parameters: int
    optimizer: Optional[str]
    optimizer_bytes: int
    bytes_before: int
    bytes_after: int
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class Conversion:
    """What a conversion did.

    Parameters
    ----------
    source, target : str
    form : str
        What was written: "model" or "weights".
    keras_version : str or None
    wrappers : tuple of WrapperFacts
    template : str
    layers, arrays, parameters : int
        Of the clean file.
    optimizer : str or None
        The optimizer's class, where its state was kept.
    renamed : tuple of (str, str)
    dropped : tuple of str
        Layers that are gone.
    non_finite : tuple of NonFinite
        Weights of the clean file that hold NaN or Inf.
    warnings, notes : tuple of str
    bytes_before, bytes_after : int
        Sizes of the two files.
    verified : bool
        Whether every weight was compared with its source, byte for byte.
    reset : tuple of NonFinite
        Moving statistics that held NaN or Inf, and hold neutral values there now.
    """

    source: str
    target: str
    form: str
    keras_version: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    layers: int
    arrays: int
    parameters: int
    optimizer: Optional[str]
    renamed: Tuple[Tuple[str, str], ...]
    dropped: Tuple[str, ...]
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]
    bytes_before: int
    bytes_after: int
    verified: bool
    reset: Tuple[NonFinite, ...] = ()


def convert(
    source: StrPath,
    target: StrPath,
    *,
    optimizer: bool = True,
    weights_only: bool = False,
    overwrite: bool = False,
    verify: bool = True,
    architecture: Architecture = None,
    trust_slices: bool = False,
    scan: bool = True,
    strict: bool = False,
    reset_batchnorm: bool = False,
) -> Conversion:
    """Write the single-GPU file that a saved parallel model holds.

    Parameters
    ----------
    source : path
        A Keras HDF5 file of a parallel model, or of its weights.  It is only read.
    target : path
        The file to write; it appears whole or not at all.
    optimizer : bool
        Keep `training_config` and the optimizer's state, as `save()` does.
    weights_only : bool
        Write what `template.save_weights()` writes.
    overwrite : bool
        Replace a target that exists.
    verify : bool
        Reopen the written file and compare every weight with its source, byte for byte.
    architecture : path or dict, optional
        For a weights file: `to_json()` of the template or of the parallel model, as a file or parsed, or
        a full HDF5 file of the same architecture.
    trust_slices : bool
        Accept layers that look like slices of the batch and whose code cannot be followed.
    scan : bool
        Look for NaN and Inf in the weights.
    strict : bool
        Refuse to write a file whose weights hold NaN or Inf.
    reset_batchnorm : bool
        Write neutral moving statistics (mean 0, variance 1) where those of a BatchNormalization are NaN or Inf.

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

    Examples
    --------
    >>> import unparallel
    >>> done = unparallel.convert("model.h5", "clean.h5")     # doctest: +SKIP
    >>> done.template, done.parameters                        # doctest: +SKIP
    ('resnet50', 25636712)
    """
    old, new = _path(source), _path(target)
    with _about(old):
        options = Options(optimizer, weights_only, trust_slices, load_architecture(architecture))
    with _about(new):
        _check_target(old, new, overwrite)
    partial = hdf5.partial_name(new)
    try:
        with _about(old), hdf5.open_source(old) as opened:
            before = read(opened)
            plan = _noting(make_plan(before, options), strays(opened, before))
            check = WeightCheck(opened, plan.after, reset_batchnorm)
            with _writing(new), hdf5.new_file(partial, opened) as made:
                write(plan.after, made, check.repairs)
            check.run(partial, verify, scan or strict)
            if strict and check.broken:
                raise refusal(check.broken)
            with _writing(new):
                made.wait()
        size = os.path.getsize(partial)
        with _about(new):
            hdf5.put_in_place(partial, new, overwrite)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)
    return _conversion(old, new, plan, check, size, verify)


def inspect(
    source: StrPath, *, architecture: Architecture = None, trust_slices: bool = False, scan: bool = True
) -> Inspection:
    """Say what a file holds and what `convert` would make of it; nothing is written.

    Parameters
    ----------
    source : path
    architecture, trust_slices, scan
        As for `convert`.

    Returns
    -------
    Inspection

    Raises
    ------
    UnparallelError
        The file cannot be read.  That it is not parallel is no error here but a verdict.
    """
    old = _path(source)
    with _about(old):
        options = Options(trust_slices=trust_slices, architecture=load_architecture(architecture))
        with hdf5.open_source(old) as opened:
            before = read(opened)
            verdict, reason, hint = "parallel", "", ""
            plan: Optional[Plan] = None
            try:
                plan = _noting(make_plan(before, options), strays(opened, before))
            except UnparallelError as error:
                verdict = "single" if error.exit_code == NOTHING_TO_UNDO else "refused"
                reason, hint = error.message, error.hint
            check = WeightCheck(opened, plan.after if plan is not None else before)
            if scan:
                check.scan()
        size = opened.stored_size()
    return _inspection(before, plan, (verdict, reason, hint), check, size)


NOTHING_TO_UNDO = 3


def _noting(plan: Plan, left_out: Tuple[str, ...]) -> Plan:
    """The plan with a note on what is not Keras' and does not come along."""
    if not left_out:
        return plan
    note = "not Keras' own, and left out: %s" % listed([repr(name) for name in left_out])
    return replace(plan, notes=plan.notes + (note,))


def _path(value: StrPath) -> str:
    path = os.fsdecode(value)
    if "\0" in path:
        raise FileError("%r: a path cannot hold a NUL" % path, "check the path")
    return path


@contextlib.contextmanager
def _writing(target: str) -> Iterator[None]:
    """What goes wrong while a partial file is written is about its target."""
    try:
        yield
    except WriteError as error:
        raise error.about(target) from error.__cause__


class WeightCheck:
    """What is looked at in a file's weights while it is copied, and what comes of it."""

    def __init__(self, source: hdf5.Source, model: ModelFile, reset_batchnorm: bool = False) -> None:
        self.source = source
        self.model = model
        self._health = verify.Health()
        self._reset: Dict[str, NonFinite] = {}
        self._owned: Optional[Dict[str, Owner]] = None
        if reset_batchnorm:
            self._find_statistics()

    def _find_statistics(self) -> None:
        """Scan the moving statistics, which are small, before anything is written."""
        health = verify.Health()
        for group in self.model.weights:
            statistics = tuple(ref for ref in group.weights if self.owned[ref.path].neutral is not None)
            verify.scan(self.source, (replace(group, weights=statistics),), health)
        self._reset = health.found

    @property
    def owned(self) -> Dict[str, Owner]:
        """Whose each weight is (worked out where something is wrong, which is seldom)."""
        if self._owned is None:
            self._owned = owners(self.model)
        return self._owned

    @property
    def repairs(self) -> Dict[str, float]:
        """The neutral value for each weight that is to be mended, by path."""
        return {path: self.owned[path].neutral or 0.0 for path in self._reset}

    @property
    def reset(self) -> Tuple[NonFinite, ...]:
        """Weights that were mended."""
        return label(self._reset, self.owned) if self._reset else ()

    @property
    def broken(self) -> Tuple[NonFinite, ...]:
        """Weights that hold NaN or Inf in what is written."""
        left = self._left()
        return label(left, self.owned) if left else ()

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What the user should know of it."""
        left = self._left()
        lines = health_warnings(left, self.owned) if left else []
        return tuple(lines + ([reset_warning(self.reset)] if self._reset else []))

    def _left(self) -> Dict[str, NonFinite]:
        return {path: item for path, item in self._health.found.items() if path not in self._reset}

    def scan(self) -> None:
        """Look at all weights of the source."""
        verify.scan(self.source, self.model.weights, self._health)

    def run(self, partial: str, compare: bool, scan: bool) -> None:
        """Verify the written file and scan its weights, in one pass where both are wanted."""
        if not compare:
            if scan:
                self.scan()
            return
        with contextlib.ExitStack() as stack:
            try:
                made = stack.enter_context(hdf5.open_source(partial))
            except FileError as error:
                raise VerificationError("cannot read again what was written: %s" % error.message, error.hint) from error
            self.compare(made, scan)

    def compare(self, made: hdf5.Source, scan: bool) -> None:
        """Prove that a written file is what was meant, and scan its weights on the way."""
        verify.compare(self.source, made, self.model, self._health if scan else None, self.repairs)


@contextlib.contextmanager
def _about(path: str) -> Iterator[None]:
    """Put the file's name in front of the messages of errors that pass; turn strays into errors of ours."""
    try:
        yield
    except UnparallelError as error:
        raise error.about(path) from error.__cause__
    except RecursionError as error:
        raise UnparallelError("%s: the config is nested too deeply" % path, "do not trust this file") from error
    except MemoryError as error:
        raise UnparallelError("%s: needs more memory than there is" % path, "do not trust this file") from error


def _check_target(source: str, target: str, overwrite: bool) -> None:
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise FileError("target and source are the same file", "name another target: the input is never touched")
    if os.path.isdir(target):
        raise FileError("is a folder", "name a file, such as %s" % os.path.join(target, os.path.basename(source)))
    if os.path.lexists(target):
        if os.path.islink(target) and not os.path.exists(target):
            raise FileError("is a symbolic link to nothing", "name the file that it should lead to")
        if not os.path.isfile(target):
            raise FileError("is no regular file", "name another target")
        if not overwrite:
            raise TargetExistsError("exists", "--overwrite replaces it")
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise FileError("there is no folder %s" % folder, "make the folder first")


def load_architecture(architecture: Architecture) -> Any:
    """The config of a JSON file, of a full HDF5 file, or as it was given."""
    if architecture is None or isinstance(architecture, dict):
        return architecture
    path = os.fspath(architecture)
    with _about(path):
        if _is_hdf5(path):
            with hdf5.open_source(path) as opened:
                model = read(opened)
            if model.topology is None:
                raise FileError("weights only, no architecture in it", "give a JSON file or a full model file")
            return model.topology.config
        try:
            with open(path, encoding="utf-8") as handle:
                text = handle.read(hdf5.LONGEST_ATTRIBUTE + 1)
        except UnicodeDecodeError as error:
            raise FileError("neither JSON nor HDF5", "give the text that to_json() returns") from error
        except OSError as error:
            raise FileError(os.strerror(error.errno or 0), "check the path and its permissions") from error
        if len(text) > hdf5.LONGEST_ATTRIBUTE:
            raise FileError("too long for an architecture", "give the text that to_json() returns")
        value = keras_config.parse_json(text, "the architecture")
        # json.dump(model.to_json(), handle), a common slip, wraps the text once more
        return keras_config.parse_json(value, "the architecture") if isinstance(value, str) else value


def _is_hdf5(path: str) -> bool:
    try:
        with open(path, "rb") as handle:
            return handle.read(8) == hdf5.SIGNATURE
    except OSError as error:
        raise FileError(os.strerror(error.errno or 0), "check the path and its permissions") from error


# -- facts


def _wrappers(plan: Plan) -> Tuple[WrapperFacts, ...]:
    facts = []
    for placed in plan.wrappers:
        match = placed.match
        proof = "trusted" if any(piece.proof == "trusted" for piece in match.slices) else "code"
        facts.append(
            WrapperFacts(
                placed.template,
                placed.path,
                match.replicas,
                tuple(dict.fromkeys(piece.tensor.layer for piece in match.slices)),
                tuple(merge.call[0] for merge in match.merges),
                proof,
            )
        )
    return tuple(facts)


def layer_facts(model: ModelFile) -> Tuple[LayerFacts, ...]:
    """The saved layers of a file with their parameters."""
    known = model.topology.by_name if model.topology is not None else {}
    return tuple(
        LayerFacts(
            group.layer,
            known[group.layer].class_name if group.layer in known else "",
            len(group.weights),
            sum(element_count(ref.shape) for ref in group.weights),
            tuple(ref.shape for ref in group.weights),
        )
        for group in model.weights
    )


def _optimizer_name(model: ModelFile) -> Optional[str]:
    """The optimizer's class, where the file holds its state or settings."""
    config = model.training_config
    if not isinstance(config, dict):
        return None
    optimizer = config.get("optimizer_config")
    return str(optimizer.get("class_name")) if isinstance(optimizer, dict) else None


def _conversion(source: str, target: str, plan: Plan, check: WeightCheck, size: int, verified: bool) -> Conversion:
    after = plan.after
    return Conversion(
        source,
        target,
        after.form,
        after.keras_version,
        _wrappers(plan),
        after.topology.name if after.topology is not None else "",
        len(after.weights),
        sum(len(group.weights) for group in after.weights),
        after.parameters,
        _optimizer_name(after),
        plan.renamed,
        plan.dropped,
        check.broken,
        plan.warnings + check.warnings,
        plan.notes,
        check.source.stored_size(),
        size,
        verified,
        check.reset,
    )


def _inspection(
    before: ModelFile, plan: Optional[Plan], verdict: Tuple[str, str, str], check: WeightCheck, size: int
) -> Inspection:
    model = plan.after if plan is not None else before
    topology = model.topology
    state = model.optimizer.size if model.optimizer is not None else 0
    return Inspection(
        before.source,
        verdict[0],
        verdict[1],
        verdict[2],
        before.form,
        before.keras_version,
        before.backend,
        _wrappers(plan) if plan is not None else (),
        topology.name if topology is not None else "",
        layer_facts(model),
        tuple(key.layer for key in topology.outputs) if topology is not None else (),
        model.parameters,
        _optimizer_name(model),
        state,
        size,
        size - (before.size - model.size),
        check.broken,
        (plan.warnings if plan is not None else ()) + check.warnings,
        plan.notes if plan is not None else (),
    )


__all__ = ["Conversion", "Inspection", "LayerFacts", "NotParallelError", "WrapperFacts", "convert", "inspect"]
