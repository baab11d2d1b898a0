"""Path -> `ModelFile`: what a Keras HDF5 file holds, as values, no array read."""

from collections import Counter
from typing import TYPE_CHECKING, List, Optional, Set, Tuple

from . import keras_config
from .errors import ConfigError, NotKerasError, WeightsError
from .model import OWN_WEIGHTS, Json, LayerWeights, ModelFile, Optimizer, Topology, WeightRef, saved_layers

if TYPE_CHECKING:
    from .hdf5 import Source

MODEL_WEIGHTS = "/model_weights"
OPTIMIZER_WEIGHTS = "/optimizer_weights"


def read(source: "Source", known: Optional[Topology] = None) -> ModelFile:
    """Read a full model file or a weights file.

    Parameters
    ----------
    source : Source
        An open file.
    known : Topology, optional
        What the file should hold: it is not parsed anew where the file has its very text.

    Returns
    -------
    ModelFile
        With `form` "model" where the file has a `model_config`, else "weights".

    Raises
    ------
    NotKerasError
        It is HDF5 and not Keras, or what a failed `save()` left behind.
    ConfigError, WeightsError
        It is damaged; the message names the layer.
    """
    config = source.text("/", "model_config")
    if config is None:
        return _weights_file(source)
    if known is not None and config == keras_config.to_text(known.config):
        topology = known
    else:
        topology = keras_config.parse(keras_config.parse_json(config, "model_config"))
    if MODEL_WEIGHTS not in source.groups:
        raise NotKerasError(
            "a model's config without its weights: the save failed half-way", "look for an earlier checkpoint"
        )
    version = source.text("/", "keras_version")
    weights = _layer_weights(source, MODEL_WEIGHTS)
    topology = _fitted(topology, weights, version)
    training, optimizer, damage = _training(source)
    return ModelFile(
        source.path,
        "model",
        version,
        source.text("/", "backend"),
        topology,
        weights,
        training,
        optimizer,
        MODEL_WEIGHTS,
        _own_weights(source, MODEL_WEIGHTS, weights),
        source.has_fixed_names(MODEL_WEIGHTS, "layer_names"),
        training_damage=damage,
        bare_weights=not source.has_attribute(MODEL_WEIGHTS, "keras_version"),
    )


def _training(source: "Source") -> Tuple[Json, Optional[Optimizer], str]:
    """(training_config, the optimizer's state, what is wrong with them).

    Keras writes both last, so a save that fails half-way leaves a model that is whole; who does not want its
    training state is not asked for it.
    """
    try:
        text = source.text("/", "training_config")
        training = keras_config.parse_json(text, "training_config") if text is not None else None
        return training, _optimizer(source), ""
    except (ConfigError, WeightsError) as error:
        return None, None, error.message


def _weights_file(source: "Source") -> ModelFile:
    # what save_weights() of a full file's group would have: the list of layers stands at the root
    if source.names("/", "layer_names") is None:
        raise _no_keras(source)
    weights = _layer_weights(source, "")
    return ModelFile(
        source.path,
        "weights",
        source.text("/", "keras_version"),
        source.text("/", "backend"),
        None,
        weights,
        own_weights=_own_weights(source, "", weights),
        fixed_names=source.has_fixed_names("/", "layer_names"),
    )


def unknown_objects(source: "Source", model: ModelFile) -> Tuple[str, ...]:
    """What lies at the root of a file and was not written by Keras: it is not part of the model."""
    if model.form == "model":
        ours = {MODEL_WEIGHTS, OPTIMIZER_WEIGHTS}
    else:
        ours = {"/" + group.layer.split("/")[0] for group in model.weights} | {"/" + OWN_WEIGHTS}
    members = [path for path in [*source.groups, *source.arrays] if path.count("/") == 1 and path not in ours | {"/"}]
    known = ("keras_version", "backend", "model_config", "training_config")
    attributes = [name for name in source.attribute_names("/") if not name.startswith(("layer_names", *known))]
    return tuple(attributes + members)


def _no_keras(source: "Source") -> NotKerasError:
    """The error for a file with neither a config nor a list of layers."""
    if MODEL_WEIGHTS in source.groups:
        return NotKerasError(
            "weights without a model_config: the file is damaged or was edited", "look for an earlier checkpoint"
        )
    if any(path.endswith("/vars") for path in source.groups):
        return NotKerasError(
            "a weights file in the layout of Keras 3 (or of tf.keras' .weights.h5), which has no layer_names",
            "save the model itself as .h5 with the Keras that wrote this",
        )
    if source.has_attribute("/", "keras_version") and not source.arrays:
        return NotKerasError(
            "the save that made this file failed: there are no weights in it",
            "look for a weights file (save_weights_only) or a TensorFlow checkpoint beside it",
        )
    return NotKerasError("HDF5, but no Keras model and no Keras weights", "only files that Keras saved can be read")


def _layer_weights(source: "Source", base: str) -> Tuple[LayerWeights, ...]:
    """The groups of the layers below `base`, in the order of `layer_names`."""
    names = source.names(base or "/", "layer_names")
    if names is None:
        raise NotKerasError(f"{base} has no layer_names", "the save failed half-way: look for an earlier checkpoint")
    if len(set(names)) != len(names):
        raise WeightsError("layer_names names a layer twice", "the file is damaged")
    groups = tuple(_group(source, base, name) for name in names)
    _check_distinct([ref.path for group in groups for ref in group.weights])
    return groups


def _check_distinct(paths: List[str]) -> None:
    """Refuse a file whose lists name an array more than once: Keras writes each weight by itself."""
    seen: Set[str] = set()
    for path in paths:
        if path in seen:
            raise WeightsError(f"weight {path} is listed by two layers", "the file was edited; do not trust it")
        seen.add(path)


def _group(source: "Source", base: str, layer: str) -> LayerWeights:
    path = _joined(base, layer)
    if path not in source.groups:
        raise WeightsError(f"layer {layer!r} has no group in the file", "the file is damaged: get a fresh copy")
    names = source.names(path, "weight_names")
    if names is None:
        raise WeightsError(f"layer {layer!r} has no weight_names", "the save failed half-way, or the file is damaged")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        # h5py: "Unable to create link (name already exists)"; layers after this one have no weights then
        raise WeightsError(
            f"layer {layer!r} lists weight {twice[0]!r} twice: Keras' own save fails there, half-way",
            "look for an earlier checkpoint; to save again, give the layers names of their own first",
        )
    refs: List[WeightRef] = []
    for name in names:
        place = _joined(path, name)
        array = source.array(place)
        if array is None:
            raise WeightsError(f"layer {layer!r}: weight {name!r} is not in the file", "the file is damaged")
        refs.append(WeightRef(name, place, array.shape, array.dtype, array.size))
    return LayerWeights(layer, tuple(refs))


def _own_weights(source: "Source", base: str, weights: Tuple[LayerWeights, ...]) -> Optional[LayerWeights]:
    """The group of the model's own weights, where there is one beside the layers' groups."""
    if f"{base}/{OWN_WEIGHTS}" not in source.groups or OWN_WEIGHTS in {group.layer for group in weights}:
        return None
    return _group(source, base, OWN_WEIGHTS)


def _joined(base: str, name: str) -> str:
    """A path below `base`; a name that would lead elsewhere is refused."""
    parts = name.split("/")
    if not all(parts) or "." in parts or ".." in parts or "\0" in name:
        raise WeightsError(f"{name!r} cannot be the name of a layer or a weight", "do not trust this file")
    return f"{base}/{name}"


def _optimizer(source: "Source") -> Optional[Optimizer]:
    if OPTIMIZER_WEIGHTS not in source.groups:
        return None
    paths = source.below(OPTIMIZER_WEIGHTS)
    size = 0
    for path in paths:
        array = source.array(path)
        size += array.size if array else 0
    names = source.names(OPTIMIZER_WEIGHTS, "weight_names")
    if names is None:
        raise WeightsError("the optimizer's state has no weight_names", "the save failed half-way")
    refs: List[WeightRef] = []
    for name in names:
        place = _joined(OPTIMIZER_WEIGHTS, name)
        array = source.array(place)
        if array is None:
            raise WeightsError(f"the optimizer's {name!r} is not in the file", "the file is damaged")
        refs.append(WeightRef(name, place, array.shape, array.dtype, array.size))
    return Optimizer(OPTIMIZER_WEIGHTS, len(paths), size, listed=tuple(refs))


def _fitted(topology: Topology, weights: Tuple[LayerWeights, ...], version: Optional[str]) -> Topology:
    """The topology, its saved layers shown to be the file's.

    An old Sequential holds nested models without a name; only the order of the groups names them.
    """
    layers = saved_layers(topology, version)
    names = [group.layer for group in weights]
    if [layer.name for layer in layers] == names:
        return topology
    if topology.sequential and len(layers) == len(names):
        return keras_config.with_names(topology, dict(zip((layer.name for layer in layers), names)))
    odd = sorted(set(names) ^ {layer.name for layer in layers})
    raise ConfigError(
        "the config's layers are not those that have weights in the file%s" % (f": {odd[0]!r}" if odd else ""),
        "the file is damaged or was edited",
    )
