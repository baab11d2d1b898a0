"""Saving the template while the parallel model trains, and loading it out of a parallel file.

The file is written by the caller's own Keras: it is asked to save a stand-in, which is the template in all that
a model is and the parallel model in all that `compile` set.  So the file is the one that the same code without
the wrapper would have saved, optimizer state included, whatever the version.  Only names of outputs, where the
merges have others than the template, are put right afterwards.
"""

import contextlib
import copy
import json
import os
import shutil
import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any, Dict, List, Mapping, Optional, cast

from .. import hdf5
from ..atomic import AtomicFile, check_target, temporary_folder
from ..conversion import convert
from ..errors import UnparallelError, UnparallelWarning
from ..options import StrPath, path_text
from ..plan import renamed_outputs
from .kinds import LiveModel
from .template import Template, find_template
from .topology import keras_classes, keras_module

# What `compile` sets and `save` reads, in the order of the versions that brought it (from their sources):
# standalone Keras; TensorFlow 1.13 and Keras 2.3; TensorFlow 2.2; Keras 3.
_COMPILED = (
    ("optimizer", "loss", "loss_weights", "metrics", "sample_weight_mode")
    + ("_compile_metrics", "_compile_weighted_metrics")
    + ("compiled_loss", "compiled_metrics", "_is_compiled")
    + ("compiled", "_compile_config", "_compile_loss", "_loss_tracker")
)
# In this order: of two that are there, the one for Keras 2 files, then the one that people install by name.
_KERASES = ("tf_keras", "keras", "tensorflow.keras")


def save_template(
    parallel_model: object,
    path: StrPath,
    *,
    optimizer: bool = True,
    overwrite: bool = True,
    trust_slices: bool = False,
) -> None:
    """Write the file of the template, with the parallel model's compile state and optimizer state.

    It works where `parallel_model.save()` raises (Keras 2.0.9 to 2.1.6: "can't pickle module objects").

    To resume on one GPU: `model = load_model(path)`, then `model.fit(...)`.  The next step is the one that the
    parallel model would have taken.  To resume on several: `multi_gpu_model(load_model(path), gpus=N)`, compiled
    anew.

    Parameters
    ----------
    parallel_model : Keras model
        As for `extract_template`.
    path : path
        The file to write: HDF5, but what that Keras makes of the ending where it is `.keras` (Keras 3 can resume
        only from those: from its own HDF5 files it restores no optimizer).  It appears whole or not at all.
    optimizer : bool
        Save `training_config` and the optimizer's state; without, `load_model` gives a model that is not compiled.
    overwrite : bool
        Replace a file that exists, as Keras does.
    trust_slices : bool
        As for `extract_template`.

    Raises
    ------
    NotParallelError, UnparallelError
        As for `extract_template`.
    FileError
        The file cannot be written.

    Warns
    -----
    UnparallelWarning
        The training state was left out, since the template lists its trainable weights in another order, or has
        another number of outputs.
    """
    target = _checked_target(path, overwrite)
    _save(parallel_model, find_template(parallel_model, trust_slices), target, optimizer, overwrite)


def _save(parallel_model: object, template: Template, target: str, optimizer: bool, overwrite: bool) -> None:
    misfit = (
        _misfit(cast(LiveModel, parallel_model), template.model) if optimizer and _is_compiled(parallel_model) else ""
    )
    if misfit:
        warnings.warn(UnparallelWarning(f"{target}: the training state was left out: {misfit}"), stacklevel=3)
    keep = optimizer and not misfit
    archive = target.endswith(".keras")
    with AtomicFile(target, overwrite, name="model.keras" if archive else "model.h5") as out:
        stand_in = _stand_in(template.model, parallel_model, keep)
        # archives hold all that a model has, and tf_keras knows no such option for them
        options = {} if archive else {"include_optimizer": keep}
        # not its own `save`, which a wrapper class may have redirected
        with hdf5.writing(out):
            keras_classes(template.model)[0].save(stand_in, out.begin(), **options)
        hdf5.set_texts(out, _renamed(out.partial, template))
        out.commit()


def _save_weights(model: object, target: str, overwrite: bool) -> None:
    """Write what a model's `save_weights` writes to a .h5 file."""
    # Keras 3 insists on the ending
    with AtomicFile(target, overwrite, name="model.weights.h5") as out:
        with hdf5.writing(out):
            keras_classes(model)[0].save_weights(model, out.begin())
        out.commit()


def _checked_target(path: StrPath, overwrite: bool) -> str:
    """The target as text, refused before the template is looked for."""
    target = path_text(path)
    check_target(target, overwrite)
    return target


# -- the stand-in -----------------------------------------------------------------------------------------


def _stand_in(template: object, parallel_model: object, compiled: bool) -> object:
    """An object that Keras saves as the template, compiled as the parallel model is, or not compiled.

    A shallow copy, whose attributes are set past the class: nothing of the caller's objects changes.
    """
    cls = type(template)
    made = object.__new__(cls)
    made.__dict__.update(template.__dict__)
    if not compiled:
        empty = {"optimizer": None, "_is_compiled": False, "compiled": False}
        made.__dict__.update((name, value) for name, value in empty.items() if name in made.__dict__)
        return made
    for name in _COMPILED:
        made.__dict__.pop(name, None)
        if name in parallel_model.__dict__:
            made.__dict__[name] = parallel_model.__dict__[name]
    if "_compile_config" in made.__dict__:
        # saving takes the optimizer out of this one's dict
        config = made.__dict__["_compile_config"] = copy.copy(made.__dict__["_compile_config"])
        config.config = dict(config.config)
    return made


def _is_compiled(model: object) -> bool:
    return getattr(model, "optimizer", None) is not None


def _misfit(parallel_model: LiveModel, template: LiveModel) -> str:
    """Why the parallel model's training state is not one of the template; "" where it is."""
    if len(parallel_model.outputs) != len(template.outputs):
        return f"the parallel model has {len(parallel_model.outputs)} outputs, the template {len(template.outputs)}"
    # an optimizer keeps its arrays in the order of the trainable weights
    if _identities(parallel_model) != _identities(template):
        return "the template lists its trainable weights in another order"
    return ""


def _identities(model: LiveModel) -> List[int]:
    return [id(weight) for weight in model.trainable_weights]


def _renamed(partial: str, template: Template) -> Dict[str, str]:
    """`training_config` by the template's output names, where it is to change."""
    if not hdf5.is_hdf5(partial):
        odd = [old for old, new in template.outputs.items() if old != new]
        if odd:
            message = f"settings by output say {odd[0]!r} still: load it with compile=False, or save it as .h5"
            warnings.warn(UnparallelWarning(message), stacklevel=4)
        return {}
    with hdf5.open_source(partial) as written:
        text = written.text("/", "training_config")
    if text is None:
        return {}
    settings = json.loads(text)
    changed, lost = renamed_outputs(settings, template.outputs)
    if lost:
        message = "{} left out: outputs of one name cannot have different ones".format(" and ".join(lost))
        warnings.warn(UnparallelWarning(message), stacklevel=4)
    return {} if changed == settings else {"training_config": json.dumps(changed)}


# -- the callback -----------------------------------------------------------------------------------------


class _Saver:
    """Stands for the parallel model in a callback; what it saves is the template.

    That is looked for once: where it has to be built, each time would add to the graph.
    """

    def __init__(self, parallel_model: object, trust_slices: bool) -> None:
        self._parallel_model = parallel_model
        self._template = find_template(parallel_model, trust_slices)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parallel_model, name)

    def save(self, filepath: StrPath, overwrite: bool = True, include_optimizer: bool = True, **_: object) -> None:
        """As `save_template`; options that name another format are no use."""
        target = _checked_target(filepath, overwrite)
        _save(self._parallel_model, self._template, target, include_optimizer, overwrite)

    def save_weights(self, filepath: StrPath, overwrite: bool = True, **_: object) -> None:
        """The template's weights alone."""
        _save_weights(self._template.model, _checked_target(filepath, overwrite), overwrite)


def TemplateCheckpoint(  # noqa: N802  it takes the place of a class
    parallel_model: object, filepath: StrPath, *args: object, trust_slices: bool = False, **options: object
) -> Any:
    """`ModelCheckpoint` of the model's own Keras, which saves the template with the optimizer's state.

    To resume on one GPU, with nothing of unparallel: `model = load_model(filepath)`, then
    `model.fit(..., initial_epoch=N)`.  To resume on several, wrap that model and compile it: `load_model` has
    restored the weights; the optimizer starts anew there.

    Parameters
    ----------
    parallel_model : Keras model
        The model that is trained; the template is looked for at once, not after the first epoch.
    filepath : path
        As for `ModelCheckpoint`, `{epoch:02d}` and the like included; the format is `save_template`'s.
    trust_slices : bool
        As for `extract_template`.
    *args, **options
        As for that `ModelCheckpoint`: monitor, verbose, save_best_only, save_weights_only, mode, period, save_freq.

    Returns
    -------
    keras.callbacks.ModelCheckpoint
        An instance of a subclass.

    Raises
    ------
    NotParallelError, UnparallelError
        As for `extract_template`.

    Examples
    --------
    >>> keep = unparallel.TemplateCheckpoint(parallel_model, "best.h5", save_best_only=True)     # doctest: +SKIP
    >>> parallel_model.fit(x, y, validation_split=0.1, callbacks=[keep])                         # doctest: +SKIP
    """
    saver = _Saver(parallel_model, trust_slices)
    base: Any = keras_module(parallel_model, "callbacks").ModelCheckpoint

    def set_model(self: object, model: object) -> None:
        base.set_model(self, saver)

    members = {"set_model": set_model, "__doc__": TemplateCheckpoint.__doc__, "__module__": __name__}
    return type("TemplateCheckpoint", (base,), members)(os.fspath(filepath), *args, **options)


# -- loading ----------------------------------------------------------------------------------------------


def load_template(
    path: StrPath,
    custom_objects: Optional[Mapping[str, object]] = None,
    *,
    keras: Optional[ModuleType] = None,
    trust_slices: bool = False,
    **options: object,
) -> Any:
    """Load the template out of a parallel file, without running any of the wrapper's code.

    The file is converted to a temporary one, which Keras' `load_model` reads.

    Parameters
    ----------
    path : path
        A full HDF5 file of a parallel model.
    custom_objects : dict, optional
        As for `load_model`.
    keras : module, optional
        The Keras to load it into.  By default the first of tf_keras, keras and tensorflow.keras that is imported
        already; where none is, the first that can be imported.
    trust_slices : bool
        As for `convert`.
    **options
        More for `load_model`, such as `compile=False`.

    Returns
    -------
    Keras model
        Compiled, with its optimizer's state, where the parallel model was.

    Raises
    ------
    AlreadySingleError
        The file holds a single model: `load_model` loads it as it is.
    NotParallelError, UnparallelError
        As for `convert`; or there is no Keras here.
    """
    chosen = keras if keras is not None else _installed_keras()
    folder = temporary_folder()
    try:
        clean = os.path.join(folder, "template.h5")
        done = convert(path, clean, trust_slices=trust_slices)
        if done.form != "model":
            raise UnparallelError(
                "weights only, no architecture in it",
                "convert it with the template's to_json(), then use load_model",
                os.fspath(path),
            )
        for warning in done.warnings:
            warnings.warn(UnparallelWarning(f"{os.fspath(path)}: {warning}"), stacklevel=2)
        return chosen.models.load_model(clean, custom_objects=custom_objects, **options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _installed_keras() -> ModuleType:
    """The Keras that is imported already, else one that can be."""
    for name in _KERASES:
        root, _, rest = name.partition(".")
        module = sys.modules.get(root)
        found: Optional[ModuleType] = getattr(module, rest, None) if rest else module
        if found is not None and hasattr(found, "models"):
            return found
    for name in _KERASES:
        with contextlib.suppress(ImportError):
            root, _, rest = name.partition(".")
            module = import_module(root)
            return getattr(module, rest) if rest else module
    raise UnparallelError("no Keras is installed here", "install keras or tf_keras, or convert the file instead")
