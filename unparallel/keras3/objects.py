"""Initializers, regularizers, constraints, activations, dtypes: old forms -> Keras 3's.

Which names and arguments there are is data.  Sources: `keras/initializers.py`, `regularizers.py`, `constraints.py`,
`activations.py` of Keras 1.2.2, 2.2.4, 2.3.1, of `tensorflow/python/keras` 1.15 and 2.3, and of Keras 3.4.
"""

from __future__ import annotations

from typing import Any

from ..model import Json
from .values import Old, words

# Class -> its arguments.  All of Keras 3.4.
INITIALIZERS: dict[str, tuple[str, ...]] = {
    "Zeros": (),
    "Ones": (),
    "Constant": ("value",),
    "RandomNormal": ("mean", "stddev", "seed"),
    "RandomUniform": ("minval", "maxval", "seed"),
    "TruncatedNormal": ("mean", "stddev", "seed"),
    "VarianceScaling": ("scale", "mode", "distribution", "seed"),
    "GlorotNormal": ("seed",),
    "GlorotUniform": ("seed",),
    "HeNormal": ("seed",),
    "HeUniform": ("seed",),
    "LecunNormal": ("seed",),
    "LecunUniform": ("seed",),
    # 3.3 to 3.6 know only this name; later ones have it as an alias
    "OrthogonalInitializer": ("gain", "seed"),
    "Identity": ("gain",),
}

# Other names of the same: Keras 1's functions, string identifiers, classes of tf.keras.
INITIALIZER_NAMES: dict[str, str] = {
    "zero": "Zeros",
    "zeros": "Zeros",
    "one": "Ones",
    "ones": "Ones",
    "constant": "Constant",
    "normal": "RandomNormal",
    "random_normal": "RandomNormal",
    "uniform": "RandomUniform",
    "random_uniform": "RandomUniform",
    "truncated_normal": "TruncatedNormal",
    "variance_scaling": "VarianceScaling",
    "glorot_normal": "GlorotNormal",
    "glorot_uniform": "GlorotUniform",
    "he_normal": "HeNormal",
    "he_uniform": "HeUniform",
    "lecun_normal": "LecunNormal",
    "lecun_uniform": "LecunUniform",
    "orthogonal": "OrthogonalInitializer",
    "Orthogonal": "OrthogonalInitializer",
    "identity": "Identity",
    "IdentityInitializer": "Identity",
}

CONSTRAINTS: dict[str, tuple[str, ...]] = {
    "MaxNorm": ("max_value", "axis"),
    "NonNeg": (),
    "UnitNorm": ("axis",),
    "MinMaxNorm": ("min_value", "max_value", "rate", "axis"),
}
CONSTRAINT_NAMES: dict[str, str] = {
    "maxnorm": "MaxNorm",
    "max_norm": "MaxNorm",
    "nonneg": "NonNeg",
    "non_neg": "NonNeg",
    "unitnorm": "UnitNorm",
    "unit_norm": "UnitNorm",
    "min_max_norm": "MinMaxNorm",
}
CONSTRAINT_ARGUMENTS = {"m": "max_value", "low": "min_value", "high": "max_value"}

REGULARIZERS = frozenset(
    ["L1L2", "L1", "L2", "L1L2Regularizer", "WeightRegularizer", "ActivityRegularizer", "l1", "l2", "l1_l2", "l1l2"]
)

#: Names that mean the same function in Keras 1, 2, tf.keras and 3.
#: `exponential`, `selu`, `swish` came in between: no old Keras had them otherwise.
ACTIVATIONS: frozenset[str] = words(
    "elu exponential linear relu selu sigmoid softmax softplus softsign tanh swish silu relu6"
)
#: Newer functions of tf.keras whose name in Keras 3 differs.
ACTIVATION_NAMES: dict[str, str] = {"swish": "silu", "crelu": "crelu"}
#: What computes something else today, see `rewrites.hard_sigmoid`.
HARD_SIGMOID = "hard_sigmoid"
#: gelu's default was and is the exact form (tf.keras 2.4, Keras 3.0: approximate=False).
LATE_ACTIVATIONS: frozenset[str] = frozenset(["gelu", "mish", "leaky_relu", "log_softmax"])


def initializer(old: Old, value: Json) -> Json:
    """A Keras 3 initializer; what is unknown becomes Zeros, since all weights are in the file."""
    if value is None:
        return None
    name, config = _object(value)
    name = INITIALIZER_NAMES.get(name, name)
    known = INITIALIZERS.get(name)
    if known is None:
        old.note("dropped", f"initializer {name!r} is not one of Keras 3: Zeros stands in its place; weights are set")
        return _serialized("keras.initializers", "Zeros", {})
    kept = {key: plain(config[key]) for key in known if key in config}
    if name == "VarianceScaling" and kept.get("distribution") == "normal":
        kept["distribution"] = "truncated_normal"
    if name == "RandomUniform" and kept.get("maxval", 0) is None:
        kept = {key: kept[key] for key in ("seed",) if key in kept}  # TensorFlow 1.8 wrote [0, None)
    if isinstance(kept.get("seed"), dict):
        kept["seed"] = None
    return _serialized("keras.initializers", name, kept)


def regularizer(old: Old, value: Json) -> Json:
    """A Keras 3 regularizer, L1L2 for all of them."""
    if value is None:
        return None
    name, config = _object(value)
    if name not in REGULARIZERS:
        old.note("dropped", f"regularizer {name!r} is not one of Keras 3: left out (it matters in training only)")
        return None
    config = {key: plain(config[key]) for key in ("l1", "l2") if key in config}
    if not config:  # a bare name meant 0.01
        config = {key: 0.01 for key in ("l1", "l2") if key in name.lower()}
    numbers = {key: _number(config.get(key, 0.0)) for key in ("l1", "l2")}
    return _serialized("keras.regularizers", "L1L2", numbers)


def constraint(old: Old, value: Json) -> Json:
    """A Keras 3 constraint."""
    if value is None:
        return None
    name, config = _object(value)
    name = CONSTRAINT_NAMES.get(name, name)
    known = CONSTRAINTS.get(name)
    if known is None:
        old.note("dropped", f"constraint {name!r} is not one of Keras 3: left out (it matters in training only)")
        return None
    config = {CONSTRAINT_ARGUMENTS.get(key, key): item for key, item in config.items()}
    return _serialized("keras.constraints", name, {key: plain(config[key]) for key in known if key in config})


def activation(old: Old, value: Json, argument: str = "activation") -> Json:
    """A Keras 3 activation: a name, or what the user says that the file's name means.

    `hard_sigmoid` is returned as it is: the caller has to see to it.
    """
    if value is None:
        return "linear"
    if is_code(value):
        return {"class_name": CODE, "config": {"function": value}}
    if isinstance(value, dict) and "class_name" in value:
        inner = value.get("config")
        if isinstance(inner, str):
            value = inner
        elif value.get("class_name") in ACTIVATION_LAYERS:
            return ACTIVATION_LAYERS[str(value["class_name"])](value.get("config") or {})
    given = old.context.activations
    if isinstance(value, str):
        if value in given:
            old.note("assumed", f"{argument} {value!r} is taken to be {given[value]!r}, as you said")
            return given[value]
        name = ACTIVATION_NAMES.get(value, value)
        if name in ACTIVATIONS or value == HARD_SIGMOID:
            return name
        if value in LATE_ACTIVATIONS and old.context.tf_keras and old.context.version >= (2, 4):
            return value
    shown = value if isinstance(value, str) else value.get("class_name") if isinstance(value, dict) else value
    raise old.refuse(
        f"{argument} {shown!r} is only a name, and not one of Keras'",
        f"say what it is: --activation '{shown}=NAME', or JSON of a Keras 3 layer such as "
        '{"class_name": "ReLU", "config": {"max_value": 6}}',
    )


#: Class of what stands for an activation whose code is in the file, until it is translated.
CODE = "Lambda"


def is_code(value: Json) -> bool:
    """Whether an activation is a lambda with its code, as tf.keras 2.12 and later and tf_keras write it."""
    if not isinstance(value, dict):
        return False
    return value.get("class_name") == "__lambda__" or (
        "class_name" not in value and isinstance(value.get("value"), list)
    )


def _leaky(config: dict[str, Any]) -> Json:
    slope = plain(config.get("alpha", config.get("negative_slope", 0.3)))
    return serialized_layer("LeakyReLU", {"negative_slope": slope})


def _relu(config: dict[str, Any]) -> Json:
    kept: dict[str, Any] = {
        key: plain(config[key]) for key in ("max_value", "negative_slope", "threshold") if key in config
    }
    return serialized_layer("ReLU", kept)


#: Layers that tf.keras writes down where they are given as an activation.
ACTIVATION_LAYERS: dict[str, Any] = {
    "LeakyReLU": _leaky,
    "ReLU": _relu,
    "ELU": lambda config: serialized_layer("ELU", {"alpha": plain(config.get("alpha", 1.0))}),
}


def dtype(value: Json) -> str | None:
    """A dtype or policy as a name; None where the file leaves it open."""
    if isinstance(value, dict):
        config = value.get("config")
        value = config.get("name") if isinstance(config, dict) else None
    if not isinstance(value, str) or value.startswith("infer") or value == "_infer":
        return None
    return value[: -len("_with_float32_vars")] if value.endswith("_with_float32_vars") else value


def plain(value: Json) -> Json:
    """A number or list that Keras 2.2 may have wrapped as `{"type": "ndarray", "value": ...}`."""
    if isinstance(value, dict) and value.get("type") == "ndarray":
        return value.get("value")
    return value


def serialized_layer(class_name: str, config: dict[str, Any]) -> Json:
    """A layer as an object in another's config."""
    return _serialized("keras.layers", class_name, config)


def _serialized(module: str, class_name: str, config: dict[str, Any]) -> Json:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def _object(value: Json) -> tuple[str, dict[str, Any]]:
    """(class name, config) of a name, of `{"class_name", "config"}`, or of Keras 1's `{"name", ...}`."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, dict):
        return str(value), {}
    config = value.get("config")
    if "class_name" in value:
        return str(value["class_name"]), config if isinstance(config, dict) else {}
    return str(value.get("name")), {key: item for key, item in value.items() if key != "name"}


def _number(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
