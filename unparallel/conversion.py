"""One file from end to end: read, find, extract, write, verify, put in place.

This is the one place that strings the rooms together; the command line and the batch call what is here.
"""

import contextlib
import os
from dataclasses import replace
from typing import Iterator, Optional, Tuple

from . import hdf5
from .architecture import Architecture, StrPath, about, load_architecture
from .errors import FileError, NotParallelError, TargetExistsError, UnparallelError, WriteError
from .health_check import WeightCheck
from .plan import Options, Plan, make_plan
from .reader import read, strays
from .results import Conversion, Inspection, LayerFacts, WrapperFacts, conversion, inspection
from .weights.health import listed, refusal
from .writer import write


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
    with about(old):
        options = Options(optimizer, weights_only, trust_slices, load_architecture(architecture))
    with about(new):
        _check_target(old, new, overwrite)
    partial = hdf5.partial_name(new)
    try:
        with about(old), hdf5.open_source(old) as opened:
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
        with about(new):
            hdf5.put_in_place(partial, new, overwrite)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)
    return conversion(old, new, plan, check, size, verify)


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
    with about(old):
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
    return inspection(before, plan, (verdict, reason, hint), check, size)


NOTHING_TO_UNDO = 3


def _noting(plan: Plan, left_out: Tuple[str, ...]) -> Plan:
    """The plan with a note on what is not Keras' and does not come along."""
    if not left_out:
        return plan
    note = f"not Keras' own, and left out: {listed([repr(name) for name in left_out])}"
    return replace(plan, notes=plan.notes + (note,))


def _path(value: StrPath) -> str:
    path = os.fsdecode(value)
    if "\0" in path:
        raise FileError(f"{path!r}: a path cannot hold a NUL", "check the path")
    return path


@contextlib.contextmanager
def _writing(target: str) -> Iterator[None]:
    """What goes wrong while a partial file is written is about its target."""
    try:
        yield
    except WriteError as error:
        raise error.about(target) from error.__cause__


def _check_target(source: str, target: str, overwrite: bool) -> None:
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise FileError("target and source are the same file", "name another target: the input is never touched")
    if os.path.isdir(target):
        raise FileError("is a folder", f"name a file, such as {os.path.join(target, os.path.basename(source))}")
    if os.path.lexists(target):
        if os.path.islink(target) and not os.path.exists(target):
            raise FileError("is a symbolic link to nothing", "name the file that it should lead to")
        if not os.path.isfile(target):
            raise FileError("is no regular file", "name another target")
        if not overwrite:
            raise TargetExistsError("exists", "--overwrite replaces it")
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise FileError(f"there is no folder {folder}", "make the folder first")


__all__ = ["Conversion", "Inspection", "LayerFacts", "NotParallelError", "WrapperFacts", "convert", "inspect"]
