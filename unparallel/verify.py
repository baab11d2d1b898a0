"""Reopens a written file and proves it equal to its source, weight by weight; looks for NaN and Inf on the way."""

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Dict, Mapping, Optional, Tuple

import numpy as np

from . import keras_config
from .errors import VerificationError
from .hdf5 import Source, library_versions
from .model import LayerWeights, ModelFile, WeightRef, element_count
from .reader import OPTIMIZER_WEIGHTS, read
from .weights.health import NonFinite, mended

RETRY = "please report this, with what `unparallel --version` prints, and HDF5 {}".format(library_versions()["hdf5"])


@dataclass
class Health:
    """What a scan of the weights has found so far, by path."""

    found: Dict[str, NonFinite] = field(default_factory=dict)
    scanned: int = 0

    def see(self, layer: str, ref: WeightRef, block: bytes, code: str = "") -> None:
        """Count NaN and Inf in one block of a weight's elements; `code` tells the byte order."""
        dtype = np.dtype(code or ref.dtype)
        self.scanned += len(block)
        if dtype.kind not in "fc":
            return
        values = np.frombuffer(block, dtype)
        # one cheap pass tells almost always: a sum that overflows is looked at again, element by element
        if np.isfinite(values).all():
            return
        nan, inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        known = self.found.get(ref.path, NonFinite(layer, ref.name, 0, 0, 0))
        size = element_count(ref.shape)
        self.found[ref.path] = NonFinite(layer, ref.name, known.nan + nan, known.inf + inf, size)

    @property
    def broken(self) -> Tuple[NonFinite, ...]:
        """Weights with NaN or Inf, in the order of the file."""
        return tuple(self.found.values())


def scan(source: Source, weights: Tuple[LayerWeights, ...], health: Health) -> None:
    """Read every weight once, in bounded memory, and count what is not finite."""
    for group in weights:
        for ref in group.weights:
            for block in source.blocks(ref.path):
                health.see(group.layer, ref, block, source.arrays[ref.path].code)


def compare(
    source: Source,
    made: Source,
    model: ModelFile,
    health: Optional[Health] = None,
    repairs: Optional[Mapping[str, float]] = None,
) -> None:
    """Prove that a written file is the one that was meant.

    Parameters
    ----------
    source, made : Source
        The file that holds the weights, and the written one.
    model : ModelFile
        What was to be written.
    health : Health, optional
        Sees each block of the weights as it passes.
    repairs : mapping of str to float, optional
        For weights that were not to be copied as they are, by path: what stands in place of NaN and Inf.

    Raises
    ------
    VerificationError
        Anything differs; the message names it.
    """
    written = read(made, model.topology)
    _compare_structure(model, written)
    for group, new in zip(model.weights, written.weights):
        for ref, copied in zip(group.weights, new.weights):
            if source.arrays[ref.path].code != made.arrays[copied.path].code:
                raise VerificationError(f"{ref.path} has another type now", RETRY)
            neutral = (repairs or {}).get(ref.path)
            _compare_bytes(source, made, (ref.path, copied.path), (group.layer, ref), health, neutral)
    if model.optimizer is not None and model.form == "model":
        names = [
            file.names(path, "weight_names")
            for file, path in ((source, model.optimizer.path), (made, OPTIMIZER_WEIGHTS))
        ]
        if names[0] != names[1] or written.optimizer != model.optimizer._replace(path=OPTIMIZER_WEIGHTS):
            raise VerificationError("the optimizer's state is not what was written", RETRY)
        for path in source.below(model.optimizer.path):
            place = OPTIMIZER_WEIGHTS + path[len(model.optimizer.path) :]
            if source.array(path) != made.array(place):
                raise VerificationError(f"{path} was not copied", RETRY)
            _compare_bytes(source, made, (path, place))


def _compare_structure(model: ModelFile, written: ModelFile) -> None:
    """Configs, layers, weight names, shapes and types are what they were meant to be."""
    for what in ("form", "keras_version", "backend", "training_config"):
        if getattr(written, what) != getattr(model, what) and not (model.form == "weights" and what[0] == "t"):
            raise VerificationError(f"{what} is not what was written", RETRY)
    if model.form == "model" and written.topology is not model.topology:
        assert model.topology is not None
        assert written.topology is not None
        if keras_config.to_text(written.topology.config) != keras_config.to_text(model.topology.config):
            raise VerificationError("model_config is not what was written", RETRY)
    for group, new in zip(model.weights, written.weights):
        meant = [(ref.name, ref.shape, ref.dtype) for ref in group.weights]
        if group.layer != new.layer or [(ref.name, ref.shape, ref.dtype) for ref in new.weights] != meant:
            raise VerificationError(f"layer {group.layer!r} is not what was written", RETRY)
    if len(model.weights) != len(written.weights):
        raise VerificationError(f"{len(written.weights)} layers were written, not {len(model.weights)}", RETRY)


def _compare_bytes(
    source: Source,
    made: Source,
    places: Tuple[str, str],
    weight: Optional[Tuple[str, WeightRef]] = None,
    health: Optional[Health] = None,
    neutral: Optional[float] = None,
) -> None:
    """Compare an array (`places`: its paths before and after), and show its blocks to `health`."""
    code = source.arrays[places[0]].code
    packed = source.packed(places[0]) if neutral is None and source.arrays[places[0]].offset is None else None
    if packed is not None:
        # what is unpacked for `health` comes from the source; equal chunks need not be unpacked once more
        if health is not None and weight is not None:
            for block in source.blocks(places[0]):
                health.see(weight[0], weight[1], block, code)
        if any(before != after for before, after in zip_longest(packed, made.packed(places[1], ours=True) or ())):
            raise VerificationError(f"{places[0]} was not copied faithfully", RETRY)
        return
    for block, copied in zip_longest(source.blocks(places[0]), made.blocks(places[1])):
        if health is not None and weight is not None and block is not None:
            health.see(weight[0], weight[1], block, code)
        if neutral is not None and block is not None:
            block = mended(block, code, neutral)
        if block != copied:
            raise VerificationError(f"{places[0]} was not copied faithfully", RETRY)
