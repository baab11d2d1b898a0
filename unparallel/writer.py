"""`ModelFile` -> HDF5, as Keras itself lays it out.  Decides nothing: what to write is all in the value."""

from typing import Mapping, Optional, Tuple

from . import keras_config
from .arrays import ArraySource
from .atomic import AtomicFile
from .hdf5 import Source, Target, new_file
from .model import ModelFile, Optimizer, is_tf_keras, version_of
from .plan import Plan
from .reader import MODEL_WEIGHTS, OPTIMIZER_WEIGHTS
from .weights.health import HealthCheck


def write_file(source: ArraySource, plan: Plan, health: HealthCheck, out: AtomicFile) -> None:
    """Write an HDF5 file with the arrays of `source`, NaN and Inf replaced as `health` says."""
    with new_file(out, source) as target:
        write(plan.after, target, health.repairs)


def write(model: ModelFile, target: Target, repairs: Optional[Mapping[str, float]] = None) -> None:
    """Write a model or weights file.

    Parameters
    ----------
    model : ModelFile
        `form` says which of the two.
    target : Target
        A new, empty file, opened with the source that `model` refers to.
    repairs : mapping of str to float, optional
        Weights whose NaN and Inf are to be replaced, by path, with the value to put there.
    """
    base = "" if model.form == "weights" else MODEL_WEIGHTS
    target.group(base or "/")
    for name in ("backend", "keras_version"):
        value = getattr(model, name)
        if model.attributes_from is not None:
            target.copy_attribute(model.attributes_from, base or "/", name)
        elif value is not None:
            target.set_text(base or "/", name, value)
    if model.form == "model":
        _write_configs(model, target)
    target.set_names(base or "/", "layer_names", [group.layer for group in model.weights], model.fixed_names)
    for group in model.weights + ((model.own_weights,) if model.own_weights is not None else ()):
        path = f"{base}/{group.layer}"
        target.group(path)
        target.set_names(path, "weight_names", [ref.name for ref in group.weights], model.fixed_names)
        for ref in group.weights:
            place = f"{path}/{ref.name}"
            target.copy(ref.path, place)
            if repairs and ref.path in repairs:
                target.replace_non_finite(place, repairs[ref.path])
    if model.form == "model" and model.optimizer is not None:
        _write_optimizer(model.optimizer, model.fixed_names, target)


def _write_optimizer(optimizer: Optimizer, fixed_names: bool, target: Target) -> None:
    if not optimizer.weights:
        target.copy_group(optimizer.path, OPTIMIZER_WEIGHTS, ["weight_names"])
        return
    target.group(OPTIMIZER_WEIGHTS)
    target.set_names(OPTIMIZER_WEIGHTS, "weight_names", [ref.name for ref in optimizer.weights], fixed_names)
    for ref in optimizer.weights:
        target.copy(ref.path, f"{OPTIMIZER_WEIGHTS}/{ref.name}")


def _write_configs(model: ModelFile, target: Target) -> None:
    assert model.topology is not None
    for name, value in (("backend", model.backend), ("keras_version", model.keras_version)):
        if value is not None:
            target.set_text("/", name, value, _like(target, name), charset=_root_charset(model))
    target.set_text("/", "model_config", keras_config.to_text(model.topology.config), _like(target, "model_config"))
    if model.training_config is not None:
        text = keras_config.to_text(model.training_config)
        target.set_text("/", "training_config", text, _like(target, "training_config"))


def _like(target: Target, name: str) -> Optional[Tuple[str, str]]:
    """The source's attribute of that name, whose HDF5 type the new one takes; None where it is no full HDF5 file."""
    source = target.source
    full = isinstance(source, Source) and source.has_attribute("/", "model_config")
    return ("/", name) if full and isinstance(source, Source) and source.has_attribute("/", name) else None


def _root_charset(model: ModelFile) -> str:
    """The character set of a full file's own `backend` and `keras_version`.

    tf.keras wrote them as text from TensorFlow 1.13 on ("2.2.4-tf"), every Keras before that as bytes.
    """
    modern = is_tf_keras(model.keras_version) and version_of(model.keras_version) >= (2, 2)
    return "utf-8" if modern else "ascii"
