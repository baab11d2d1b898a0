"""The compile state and the optimizer's variables: carried where Keras 3 has the very same thing, else left out.

Sources: `keras/optimizers.py` of Keras 2.2.4 and 2.3.1, `optimizer_v2/*.py` of TensorFlow 1.15 and 2.3, and `keras/src/
optimizers/*.py` of Keras 3.4.1 and 3.15.1.  Tried by saving after four steps, and taking three more in both.
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Sequence, Tuple

from ..model import Json, ModelFile, WeightRef, saved_layers
from ..weights.assignment import expected_weights
from .arrays import changed, constant, whole
from .graph import weight_paths
from .objects import plain
from .values import NONSENSE, Array, Config, Context, Model, words

Variables = List[Tuple[str, Array]]


class Rule(NamedTuple):
    """An optimizer that is the same in Keras 3.

    Attributes
    ----------
    keeps : tuple of str
        Arguments that carry over, beside the learning rate and clipping.
    slots : function of the config to int
        How many variables it keeps for each weight; all of the first kind come first in an old file.
    saved : function of the config to tuple of int
        How many kinds an old file may hold.
    last : int
        How many kinds stand after the others in Keras 3 (amsgrad's), which otherwise go weight by weight.
    """

    keeps: tuple[str, ...]
    slots: Callable[[Config], int]
    saved: Callable[[Config], tuple[int, ...]]
    last: Callable[[Config], int] = lambda config: 0


def _momentum(config: Config) -> int:
    return int(float(plain(config.get("momentum", 0.0)) or 0.0) > 0)


def _amsgrad(config: Config) -> int:
    return int(bool(config.get("amsgrad")))


RULES: dict[str, Rule] = {
    # standalone Keras saves the momentums always
    "SGD": Rule(("momentum", "nesterov"), _momentum, lambda config: (_momentum(config), 1)),
    "Adam": Rule(
        ("beta_1", "beta_2", "epsilon", "amsgrad"),
        lambda config: 2 + _amsgrad(config),
        # and stubs of shape (1,) where amsgrad is off
        lambda config: (2 + _amsgrad(config), 3),
        _amsgrad,
    ),
    "Adagrad": Rule(("epsilon", "initial_accumulator_value"), lambda config: 1, lambda config: (1,)),
    "Adadelta": Rule(("rho", "epsilon"), lambda config: 2, lambda config: (2,)),
}
NOT_THE_SAME = {
    "RMSprop": "Keras 3 has epsilon inside the root",
    "Nadam": "its variables are others in Keras 3",
    "Adamax": "not proven to be the same in Keras 3",
    "Ftrl": "not proven to be the same in Keras 3",
}
SCHEDULES = words("ExponentialDecay PiecewiseConstantDecay PolynomialDecay InverseTimeDecay CosineDecay")

# Losses by their names, old to new; as metrics too.
LOSSES: dict[str, str] = {
    name: name
    for name in (
        "mean_squared_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error",
        "squared_hinge",
        "hinge",
        "categorical_hinge",
        "categorical_crossentropy",
        "sparse_categorical_crossentropy",
        "binary_crossentropy",
        "poisson",
    )
}
LOSSES.update(
    kullback_leibler_divergence="kl_divergence",
    kld="kl_divergence",
    KLD="kl_divergence",
    kl_divergence="kl_divergence",
    logcosh="log_cosh",
    log_cosh="log_cosh",
    mse="mean_squared_error",
    MSE="mean_squared_error",
    mae="mean_absolute_error",
    MAE="mean_absolute_error",
    mape="mean_absolute_percentage_error",
    MAPE="mean_absolute_percentage_error",
    msle="mean_squared_logarithmic_error",
    MSLE="mean_squared_logarithmic_error",
)
LOSS_CLASSES: dict[str, tuple[str, ...]] = {
    "MeanSquaredError": (),
    "MeanAbsoluteError": (),
    "MeanAbsolutePercentageError": (),
    "MeanSquaredLogarithmicError": (),
    "BinaryCrossentropy": ("from_logits", "label_smoothing"),
    "CategoricalCrossentropy": ("from_logits", "label_smoothing"),
    "SparseCategoricalCrossentropy": ("from_logits",),
    "Hinge": (),
    "SquaredHinge": (),
    "CategoricalHinge": (),
    "Poisson": (),
    "LogCosh": (),
    "KLDivergence": (),
    "Huber": ("delta",),
}
METRICS = words(
    """accuracy acc binary_accuracy categorical_accuracy sparse_categorical_accuracy top_k_categorical_accuracy
    sparse_top_k_categorical_accuracy"""
)
METRIC_CLASSES = words(
    """Accuracy BinaryAccuracy CategoricalAccuracy SparseCategoricalAccuracy MeanSquaredError MeanAbsoluteError
    RootMeanSquaredError Precision Recall"""
)
REDUCTIONS = {"auto": "sum_over_batch_size", "sum_over_batch_size": "sum_over_batch_size", "sum": "sum", "none": None}


class Unknown(Exception):
    """Why a compile state cannot be carried."""


def training_state(model: ModelFile, new: Model, context: Context) -> tuple[Json | None, Variables]:
    """(compile_config, the optimizer's variables by path); (None, []) and a note where it cannot be carried."""
    config = model.training_config
    if not isinstance(config, dict) or not config.get("optimizer_config"):
        return None, []
    try:
        if new.sequential and not new.inputs:
            # Keras 3 would load such a model unbuilt, and pass over the optimizer's variables with a warning
            raise Unknown("the file does not say the shape of the Sequential's input")
        optimizer, arrays = _optimizer(model, new, context, config["optimizer_config"])
        made = {"optimizer": optimizer, "loss": _losses(config.get("loss"), new)}
        made["loss_weights"] = _by_output(config.get("loss_weights"), new)
        made["metrics"] = _metrics(config.get("metrics"), new, context)
        made["weighted_metrics"] = _metrics(config.get("weighted_metrics"), new, context)
        if config.get("sample_weight_mode"):
            context.note("dropped", "", "sample_weight_mode has no place in Keras 3")
    except Unknown as error:
        context.note("dropped", "", f"optimizer and losses are left out, the model comes uncompiled: {error}")
        return None, []
    except NONSENSE:
        context.note("dropped", "", "optimizer and losses are left out, the model comes uncompiled: they make no sense")
        return None, []
    made = {key: value for key, value in made.items() if value is not None}
    return dict(made, run_eagerly=False, steps_per_execution=1), arrays


# -- the optimizer ------------------------------------------------------------------------------------------


def _optimizer(model: ModelFile, new: Model, context: Context, value: Json) -> tuple[Json, Variables]:
    name = str(value.get("class_name"))
    rule = RULES.get(name)
    if rule is None:
        reason = NOT_THE_SAME.get(name, "it is not one of Keras 3's, or not the same there")
        raise Unknown(f"optimizer {name!r}: {reason}")
    old = {key: plain(item) for key, item in value["config"].items()}
    config: Config = {"name": name.lower()}
    config.update({key: old[key] for key in rule.keeps if key in old})
    if "epsilon" in rule.keeps:
        config["epsilon"] = 1e-7 if old.get("epsilon") is None else float(old["epsilon"])
    if name == "Adagrad" and not context.tf_keras:
        config["initial_accumulator_value"] = 0.0
    rate = old.get("learning_rate", old.get("lr"))
    config["learning_rate"] = _rate(rate, float(old.get("decay") or 0.0))
    for key in ("clipnorm", "clipvalue"):
        if old.get(key) is not None:
            wide = key == "clipnorm" and not context.tf_keras
            config["global_clipnorm" if wide else key] = float(old[key])
    made = {"module": "keras.optimizers", "class_name": name, "config": config, "registered_name": None}
    return made, _variables(model, new, context, name, rule, config)


def _rate(rate: Json, decay: float) -> Json:
    if isinstance(rate, dict):
        if rate.get("class_name") not in SCHEDULES:
            raise Unknown(f"learning rate {str(rate.get('class_name'))!r} is not one of Keras 3's")
        return _object("keras.optimizers.schedules", str(rate["class_name"]), dict(rate["config"]))
    if decay > 0:
        config = {"initial_learning_rate": float(rate), "decay_steps": 1, "decay_rate": decay}
        return _object("keras.optimizers.schedules", "InverseTimeDecay", config)
    return float(rate)


def _object(module: str, class_name: str, config: Config) -> Json:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def _variables(model: ModelFile, new: Model, context: Context, name: str, rule: Rule, config: Config) -> Variables:
    trained = _trained(model)
    weights = _new_weights(new, {ref.path for ref in trained})
    if weights is None or {array.sources[0].path for array in weights} != {ref.path for ref in trained}:
        raise Unknown("weights are written in another form, and the optimizer's state is of the old one")
    saved = list(model.optimizer.listed or model.optimizer.weights) if model.optimizer is not None else []
    steps = constant("integers", 0)
    if saved and saved[0].shape == ():
        # Keras 2.3 reads the step count of Adam after raising it, one too many
        late = int(name == "Adam" and not context.tf_keras and context.version == (2, 3))
        steps = changed(whole(saved.pop(0)), "integer", late)
    arrays = [steps]
    if not isinstance(config["learning_rate"], dict):
        arrays.append(constant("full", (), config["learning_rate"]))
    places = {ref.path: i for i, ref in enumerate(trained)}
    kinds = _kinds(saved, trained, rule, config)
    slots = [[_slot(kind, array, places, config) for kind in kinds] for array in weights]
    last = rule.last(config)
    early = len(kinds) - last
    arrays += [slot for of_one in slots for slot in of_one[:early]]
    arrays += [of_one[early + i] for i in range(last) for of_one in slots]
    return [(f"optimizer/vars/{i}", array) for i, array in enumerate(arrays)]


def _slot(kind: Sequence[WeightRef] | None, weight: Array, places: dict[str, int], config: Config) -> Array:
    if kind is None:
        return constant("full", weight.shape, float(config.get("initial_accumulator_value", 0.0)))
    ref = kind[places[weight.sources[0].path]]
    if ref.shape != weight.shape:
        raise Unknown(f"its variable {ref.name} does not fit the weight")
    return whole(ref)


def _kinds(
    saved: Sequence[WeightRef], trained: Sequence[WeightRef], rule: Rule, config: Config
) -> list[Sequence[WeightRef] | None]:
    """The optimizer's variables by kind, each in the order of the trained weights; None: never trained."""
    wanted = rule.slots(config)
    if not saved:
        return [None] * wanted
    count = len(trained)
    if not count or len(saved) % count or len(saved) // count not in rule.saved(config):
        raise Unknown(f"it has {len(saved)} variables for {count} trained weights")
    return [saved[kind * count : (kind + 1) * count] for kind in range(wanted)]


def _trained(model: ModelFile) -> list[WeightRef]:
    """The trained weights in the order of the old model."""
    assert model.topology is not None
    groups = model.groups
    found: list[WeightRef] = []
    for layer in saved_layers(model.topology, model.keras_version):
        refs = groups[layer.name].weights if layer.name in groups else ()
        spec = expected_weights(layer)
        if spec is None and refs:
            raise Unknown(f"which weights of layer {layer.name!r} are trained is not in the file")
        found += refs[: len(spec.trainable)] if spec is not None else ()
    return found


def _new_weights(new: Model, trained: set[str]) -> list[Array] | None:
    """The trained weights in the order of Keras 3's model; None where one is changed, or another joins them."""
    found = []
    for _, array in weight_paths(new):
        paths = {ref.path for ref in array.sources}
        if not array.is_copy and (paths & trained or not paths):
            return None
        if paths & trained:
            found.append(array)
    return found


# -- losses and metrics -----------------------------------------------------------------------------------------


def _outputs(new: Model) -> int:
    return len(new.outputs)


def _loss(value: Json) -> Json:
    if value is None:
        return None
    if isinstance(value, str):
        if value not in LOSSES:
            raise Unknown(f"loss {value!r} is not one of Keras 3's")
        return LOSSES[value]
    name = str(value.get("class_name")) if isinstance(value, dict) else str(value)
    if name not in LOSS_CLASSES:
        raise Unknown(f"loss {name!r} is not one of Keras 3's")
    old = value.get("config") or {}
    config = {key: plain(old[key]) for key in LOSS_CLASSES[name] if key in old}
    config["reduction"] = REDUCTIONS[str(old.get("reduction", "auto")).lower()]
    return _object("keras.losses", name, config)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict) and "class_name" in value and "config" in value


def _losses(value: Json, new: Model) -> Json:
    if isinstance(value, dict) and not _is_object(value):
        made = {_clean(key): _loss(item) for key, item in value.items()}
        return next(iter(made.values())) if len(made) == 1 and _outputs(new) == 1 else made
    if isinstance(value, list):
        items = [_loss(item) for item in value]
        return items[0] if len(items) == 1 else items
    loss = _loss(value)
    count = _outputs(new)
    # one loss for several outputs was one for each
    return [loss] * count if count > 1 and loss is not None else loss


def _by_output(value: Json, new: Model) -> Json:
    if isinstance(value, dict):
        made = {_clean(key): plain(item) for key, item in value.items()}
        return next(iter(made.values())) if len(made) == 1 and _outputs(new) == 1 else made or None
    return value


def _clean(name: str) -> str:
    return name.replace("/", "_")


def _metric(value: Json, context: Context) -> Json:
    """A metric; None, and a note, for one that Keras 3 has not."""
    config = value.get("config") or {} if isinstance(value, dict) else {}
    if _is_object(value) and value["class_name"] in METRIC_CLASSES:
        kept = {key: config[key] for key in ("name", "thresholds", "top_k", "class_id", "threshold") if key in config}
        return _object("keras.metrics", value["class_name"], kept)
    if _is_object(value) and isinstance(config.get("fn"), str):
        value = config["fn"]
    if isinstance(value, str) and (value in METRICS or value in LOSSES):
        return LOSSES.get(value, value)
    shown = value.get("class_name") if isinstance(value, dict) else value
    context.note("dropped", "", f"metric {shown!r} is not one of Keras 3's: left out")
    return None


def _metrics(value: Json, new: Model, context: Context) -> Json:
    if not value:
        return None
    if isinstance(value, dict) and not _is_object(value):
        made = {_clean(key): _listed(item, context) for key, item in value.items()}
        if _outputs(new) == 1:
            return next(iter(made.values()))
        return made
    if isinstance(value, list) and any(isinstance(item, list) for item in value):
        nested = [_listed(item, context) for item in value]
        return nested[0] if len(nested) == 1 else nested
    found = _listed(value, context)
    return [found] * _outputs(new) if found and _outputs(new) > 1 else found or None


def _listed(value: Json, context: Context) -> list[Json]:
    items = value if isinstance(value, list) else [value]
    made = [_metric(item, context) for item in items if item is not None]
    return [item for item in made if item is not None]
