"""In which Keras a clean file opens, and why not in others, told from its config; no Keras is asked.

The rules are those that 315 files of ten stacks gave when they were loaded by tf_keras 2.21 and Keras 3.15 (`nox -s
modern` loads the fixtures anew): Keras 3's loader for `.h5` files reads Keras 2's configs with gaps, tf_keras with few.
What opens in the Keras that wrote it is that Keras' own format, and no question.
"""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple

from ..keras_config import is_model
from ..model import Json, Layer, ModelFile, Topology, is_tf_keras, version_of
from ..slices import code_of
from ..weights.assignment import expected_weights
from .text import TENSORFLOW, written_by

MOST_NAMES = 4
#: Said of a file whose `.h5` Keras 3 does not open.
AS_KERAS = "Keras 3 as .keras (-o NAME.keras)"
# Layers that hold another layer, which Keras 3 looks for in a way of its own.
HOLDERS = ("Bidirectional", "TimeDistributed")
RECURRENT = ("GRU", "LSTM", "RNN", "SimpleRNN")


class Reason(NamedTuple):
    """Why a kind of file does not open.

    Attributes
    ----------
    words : str
    tf_keras : bool
        Whether it does in tf_keras nevertheless.
    archived : str
        What an archive has instead, where that is for the reader to know.
    """

    words: str
    tf_keras: bool
    archived: str = ""


def opens_in(model: ModelFile, archive: bool = False) -> str:
    """Where a full model file opens, in one line; "" for a weights file, which the model's own code loads.

    Parameters
    ----------
    model : ModelFile
        As it is, or is to be, written.
    archive : bool
        Whether it can be written as `.keras`, so that what keeps Keras 3 from the `.h5` is not the last word.
    """
    topology = model.topology
    if topology is None or model.form != "model":
        return ""
    needs = _needs(topology, archive)
    if version_of(model.keras_version) >= (3, 0):
        return "; ".join([written_by(model.keras_version), *needs])
    reasons = [reason for rule in RULES for reason in rule(model, topology)]
    where = [_own(model.keras_version)]
    if all(reason.tf_keras for reason in reasons):
        where.append("tf_keras (pip install tf_keras)")
    if not reasons:
        where.append("Keras 3" + (" with compile=False" if model.training_config is not None else ""))
    elif archive:
        where.append(AS_KERAS)
    return "; ".join([", ".join(where), *needs, *_closed(reasons, archive)])


def _closed(reasons: list[Reason], archive: bool) -> list[str]:
    """Where it does not open, if anywhere, and why."""
    if not reasons:
        return []
    old = "" if all(reason.tf_keras for reason in reasons) else "tf_keras and "
    said = [reason.words + (reason.archived if archive else "") for reason in reasons]
    words = ", ".join(dict.fromkeys(said))
    return [f"{'as .h5 ' if archive else ''}not in {old}Keras 3: {words}"]


def _own(version: str | None) -> str:
    if version in TENSORFLOW or is_tf_keras(version):
        return written_by(version).partition("(")[2].rstrip(")")
    return written_by(version)


def _needs(topology: Topology, archive: bool) -> list[str]:
    """What whoever loads the file must have, in any Keras; a Lambda's code goes into no archive."""
    needs = []
    own = list(dict.fromkeys(layer.class_name for layer in _layers(topology) if _is_own_class(layer)))
    if own:
        shown = ", ".join(f"{name!r}: ..." for name in own[:MOST_NAMES])
        needs.append(f"with custom_objects={{{shown}}}")
    for layer in _layers(topology):
        code = code_of(layer.config) if layer.class_name == "Lambda" else None
        if code is not None:
            needs.append(
                f"{'as .h5 ' if archive else ''}only under Python {code.version}, whose code layer {layer.name!r} holds"
            )
            break
    return needs


def _layers(topology: Topology) -> Iterator[Layer]:
    """All layers that are no models, at every depth."""
    return (layer for layer in topology.walk() if layer.submodel is None)


def _is_own_class(layer: Layer) -> bool:
    return layer.class_name not in ("Lambda", *OPERATIONS, *HOLDERS, *RECURRENT) and expected_weights(layer) is None


OPERATIONS = (
    "TensorFlowOpLayer", "TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty"
)  # fmt: skip


# -- rules: each gives the reasons that it finds


def _keras1(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    if version_of(model.keras_version) < (2, 0):
        yield Reason("Keras 1 had other layers and arguments", False)


def _code(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    for layer in _layers(topology):
        if layer.class_name == "Lambda" and code_of(layer.config) is not None:
            # tf_keras runs under Python 3.9 and later, whose bytecode no file of that time holds
            yield Reason(f"layer {layer.name!r} holds Python code", False, " (operations in the .keras)")
            return


def _operations(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    for layer in _layers(topology):
        if layer.class_name in OPERATIONS:
            yield Reason(f"layer {layer.name!r} is an operation of TensorFlow", True, " (of Keras 3 in the .keras)")
            return


def _nested(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    # Keras 2 counts a nested model's calls from 1; Keras 3 minds where a layer reads one, and not in the outputs
    models = [topology, *(layer.submodel for layer in topology.walk() if layer.submodel is not None)]
    for outer in models:
        inner = {layer.name for layer in outer.layers if layer.submodel is not None}
        if any(key.layer in inner for layer in outer.layers for call in layer.calls for key in call.inputs):
            yield Reason("a model inside the model", True)
            return


def _listed_sequential(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    models = [topology.config, *(layer.entry for layer in topology.walk() if layer.submodel is not None)]
    if any(isinstance(config, dict) and isinstance(config.get("config"), list) for config in models):
        yield Reason("a Sequential in the form before Keras 2.2.3", True)


def _slashes(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    if any("/" in layer.name for layer in topology.walk()):
        yield Reason("a '/' in a layer's name", True)


def _initializers(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    if any(_has_typed_initializer(layer.config) for layer in _layers(topology)):
        yield Reason("initializers with a dtype, as TensorFlow 1 wrote them", True)


def _has_typed_initializer(config: Json) -> bool:
    values = config.items() if isinstance(config, dict) else ()
    for key, value in values:
        inner = value.get("config") if isinstance(value, dict) else None
        if key.endswith("_initializer") and isinstance(inner, dict) and "dtype" in inner:
            return True
        if key in ("layer", "cell") and _has_typed_initializer(inner):
            return True
    return False


def _recurrent(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    for layer in _layers(topology):
        config = layer.config if isinstance(layer.config, dict) else {}
        inner = config.get("layer")
        held = inner.get("config") if isinstance(inner, dict) and not is_model(inner) else {}
        if layer.class_name in HOLDERS:
            yield Reason(f"a {layer.class_name} layer", True)
        elif "time_major" in config:
            yield Reason("time_major of a recurrent layer", True)
        kind = inner.get("class_name") if isinstance(inner, dict) else layer.class_name
        if kind == "GRU" and "reset_after" not in (held or config):
            yield Reason("a GRU from before reset_after", False)


def _shapes(model: ModelFile, topology: Topology) -> Iterator[Reason]:
    """A Sequential says its input's shape in its first layer, unless that was lost with its InputLayer."""
    if not topology.sequential or not topology.layers or topology.layers[0].class_name == "InputLayer":
        return
    first = topology.layers[0]
    if first.submodel is None and not (isinstance(first.config, dict) and first.config.get("batch_input_shape")):
        yield Reason("a Sequential that has lost its input's shape", False)
    for layer in topology.layers:
        axis = layer.config.get("axis") if isinstance(layer.config, dict) else None
        if layer.class_name == "BatchNormalization" and isinstance(axis, list):
            yield Reason("BatchNormalization in a Sequential of TensorFlow 2.0 to 2.2", True)


RULES: tuple[Callable[[ModelFile, Topology], Iterator[Reason]], ...] = (
    _keras1,
    _code,
    _operations,
    _nested,
    _listed_sequential,
    _slashes,
    _initializers,
    _recurrent,
    _shapes,
)
