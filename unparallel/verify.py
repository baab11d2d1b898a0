"""Reopens a written file and proves it equal to its source, weight by weight; looks for NaN and Inf on the way."""

from dataclasses import dataclass, field
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import keras_config
from .errors import VerificationError
from .hdf5 import Source
from .model import LayerWeights, ModelFile, WeightRef
from .reader import OPTIMIZER_WEIGHTS, read

RETRY = "please report this, with the versions that `unparallel --version` prints"


class NonFinite(NamedTuple):
    """A weight that holds NaN or Inf: how many elements of how many."""

    layer: str
    weight: str
    nan: int
    inf: int
    size: int


@dataclass
class Health:
    """What a scan of the weights has found so far."""

    found: Dict[Tuple[str, str], NonFinite] = field(default_factory=dict)
    scanned: int = 0

    def see(self, layer: str, ref: WeightRef, block: bytes) -> None:
        """Count NaN and Inf in one block of a weight's elements."""
        dtype = np.dtype(ref.dtype)
        self.scanned += len(block)
        if dtype.kind not in "fc":
            return
        values = np.frombuffer(block, dtype)
        # one cheap pass tells almost always: a sum that overflows is looked at again, element by element
        if np.isfinite(values).all():
            return
        nan, inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        known = self.found.get((layer, ref.name), NonFinite(layer, ref.name, 0, 0, 0))
        size = 1
        for length in ref.shape:
            size *= length
        self.found[layer, ref.name] = NonFinite(layer, ref.name, known.nan + nan, known.inf + inf, size)

    @property
    def broken(self) -> Tuple[NonFinite, ...]:
        """Weights with NaN or Inf, in the order of the file."""
        return tuple(self.found.values())


def scan(source: Source, weights: Tuple[LayerWeights, ...], health: Health) -> None:
    """Read every weight once, in bounded memory, and count what is not finite."""
    for group in weights:
        for ref in group.weights:
            for block in source.blocks(ref.path):
                health.see(group.layer, ref, block)


def compare(source: Source, made: Source, model: ModelFile, health: Optional[Health] = None) -> None:
    """Prove that a written file is the one that was meant.

    Parameters
    ----------
    source, made : Source
        The file that holds the weights, and the written one.
    model : ModelFile
        What was to be written.
    health : Health, optional
        Sees each block of the weights as it passes.

    Raises
    ------
    VerificationError
        Anything differs; the message names it.
    """
    written = read(made)
    _compare_structure(model, written)
    for group, new in zip(model.weights, written.weights):
        for ref, copied in zip(group.weights, new.weights):
            _compare_bytes(source, made, ref.path, copied.path, group.layer, ref, health)
    if model.optimizer is not None and model.form == "model":
        for path in source.below(model.optimizer.path):
            place = OPTIMIZER_WEIGHTS + path[len(model.optimizer.path) :]
            if source.array(path) != made.array(place):
                raise VerificationError("%s was not copied" % path, RETRY)
            _compare_bytes(source, made, path, place, "", None, None)


def _compare_structure(model: ModelFile, written: ModelFile) -> None:
    """Configs, layers, weight names, shapes and types are what they were meant to be."""
    for what in ("form", "keras_version", "backend", "training_config"):
        if getattr(written, what) != getattr(model, what) and not (model.form == "weights" and what[0] == "t"):
            raise VerificationError("%s is not what was written" % what, RETRY)
    if model.form == "model":
        assert model.topology is not None
        assert written.topology is not None
        if keras_config.to_text(written.topology.config) != keras_config.to_text(model.topology.config):
            raise VerificationError("model_config is not what was written", RETRY)
    for group, new in zip(model.weights, written.weights):
        meant = [(ref.name, ref.shape, ref.dtype) for ref in group.weights]
        if group.layer != new.layer or [(ref.name, ref.shape, ref.dtype) for ref in new.weights] != meant:
            raise VerificationError("layer %r is not what was written" % group.layer, RETRY)
    if len(model.weights) != len(written.weights):
        raise VerificationError("%d layers were written, not %d" % (len(written.weights), len(model.weights)), RETRY)


def _compare_bytes(
    source: Source,
    made: Source,
    old: str,
    new: str,
    layer: str,
    ref: Optional[WeightRef],
    health: Optional[Health],
) -> None:
    pairs = zip(source.blocks(old), made.blocks(new))
    for block, copied in pairs:
        if block != copied:
            raise VerificationError("%s was not copied faithfully" % old, RETRY)
        if health is not None and ref is not None:
            health.see(layer, ref, block)


def batchnorm_statistics(broken: Tuple[NonFinite, ...]) -> Iterator[NonFinite]:
    """Those of the broken weights that are moving statistics of a BatchNormalization."""
    for item in broken:
        role = item.weight.split(":")[0].rsplit("/", 1)[-1]
        if role.endswith(("moving_mean", "moving_variance", "running_mean", "running_std")):
            yield item


def worst(broken: Tuple[NonFinite, ...]) -> List[NonFinite]:
    """The broken weights, those with most non-finite elements first."""
    return sorted(broken, key=lambda item: -(item.nan + item.inf))
