"""Reopens a written file and proves it equal to its source, weight by weight; looks for NaN and Inf on the way."""

import contextlib
from functools import partial
from itertools import zip_longest
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

from . import keras_config
from .arrays import ArraySource
from .errors import UnparallelError, VerificationError
from .hdf5 import Source, library_versions, open_source
from .model import LayerWeights, ModelFile, Optimizer
from .plan import Plan
from .reader import OPTIMIZER_WEIGHTS, read
from .weights.health import HealthCheck, with_neutral

RETRY = "please report this, with what `unparallel --version` prints, and HDF5 {}".format(library_versions()["hdf5"])


# What must be in a written file as it was meant, by the file's form.
_FACTS = {
    "model": ("form", "keras_version", "backend", "training_config"),
    "weights": ("form", "keras_version", "backend"),
}


def scan(source: ArraySource, weights: Tuple[LayerWeights, ...], health: HealthCheck) -> None:
    """Read every weight once, in bounded memory, and count what is not finite."""
    for group in weights:
        for ref in group.weights:
            for block in source.blocks(ref.path):
                health.see(group.layer, ref, block, source.arrays[ref.path].code)


def compare_file(source: ArraySource, path: str, plan: Plan, health: HealthCheck) -> None:
    """Prove that the HDF5 file at `path` is what was planned: see `compare`."""
    with contextlib.ExitStack() as stack:
        with _reading_again():
            made = stack.enter_context(open_source(path))
        compare(source, made, plan.after, health)


class _reading_again:  # noqa: N801  a function to whoever uses it, and entered for each array
    """What is wrong with the written file is no fault of the source."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> None:
        if isinstance(error, UnparallelError):
            raise VerificationError(f"cannot read again what was written: {error.message}", error.hint) from error


def _again(blocks: Iterator[Any]) -> Iterator[Any]:
    with _reading_again():
        yield from blocks


def compare(source: ArraySource, made: Source, model: ModelFile, health: HealthCheck) -> None:
    """Prove that a written file is the one that was meant.

    Parameters
    ----------
    source, made
        What holds the weights, and the written file.
    model : ModelFile
        What was to be written.
    health : HealthCheck
        Sees each block of the weights as it passes, where that is wanted, and tells what was not to be copied as it is.

    Raises
    ------
    VerificationError
        Anything differs; the message names it.
    """
    with _reading_again():
        written = read(made, model.topology)
    repairs = health.repairs
    _compare_structure(model, written)
    for group, new in zip(model.weights, written.weights):
        for ref, copied in zip(group.weights, new.weights):
            if source.arrays[ref.path].code != made.arrays[copied.path].code:
                raise VerificationError(f"{ref.path} has another type now", RETRY)
            see = partial(health.see, group.layer, ref) if health.wanted else None
            _compare_bytes(source, made, (ref.path, copied.path), see, repairs.get(ref.path))
    if model.optimizer is None and written.optimizer is not None:
        raise VerificationError("it holds an optimizer's state", RETRY)
    if model.optimizer is not None and model.form == "model":
        _compare_optimizer(source, made, model.optimizer, written.optimizer)


def _compare_optimizer(source: ArraySource, made: Source, optimizer: Optimizer, written: Optional[Optimizer]) -> None:
    """The optimizer's arrays are those that were meant, names and order included."""
    names = made.names(OPTIMIZER_WEIGHTS, "weight_names")
    if optimizer.weights:
        meant: Optional[List[str]] = [ref.name for ref in optimizer.weights]
        places = [(ref.path, f"{OPTIMIZER_WEIGHTS}/{ref.name}") for ref in optimizer.weights]
    else:
        meant = source.names(optimizer.path, "weight_names")
        below = source.below(optimizer.path)
        places = [(path, OPTIMIZER_WEIGHTS + path[len(optimizer.path) :]) for path in below]
    if names != meant or written is None or written[1:3] != optimizer[1:3]:
        raise VerificationError("the optimizer's state is not what was written", RETRY)
    for path, place in places:
        before, after = source.array(path), made.array(place)
        if before is None or after is None or (before.shape, before.code) != (after.shape, after.code):
            raise VerificationError(f"{path} was not copied", RETRY)
        _compare_bytes(source, made, (path, place))


def _compare_structure(model: ModelFile, written: ModelFile) -> None:
    """Configs, layers, weight names, shapes and types are what they were meant to be."""
    for what in _FACTS[model.form]:
        if getattr(written, what) != getattr(model, what):
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
    source: ArraySource,
    made: Source,
    places: Tuple[str, str],
    see: Optional[Callable[..., None]] = None,
    neutral: Optional[float] = None,
) -> None:
    """Compare an array (`places`: its paths before and after), and show its blocks to `see`."""
    look = partial(see, code=source.arrays[places[0]].code) if see is not None else None
    pairs = _as_stored(source, made, places, look) if neutral is None else None
    if pairs is None:
        blocks = _seen(source, places[0], look, neutral)
        pairs = zip_longest(blocks, _again(made.blocks(places[1])))
    if any(before != after for before, after in pairs):
        raise VerificationError(f"{places[0]} was not copied faithfully", RETRY)


def _as_stored(
    source: ArraySource, made: Source, places: Tuple[str, str], look: Optional[Callable[[bytes], None]]
) -> Optional[Iterable[Tuple[object, object]]]:
    """Pieces of both files that must be equal, where they need not be unpacked, or one read gives them; else None."""
    whole = source.whole(places[0])
    if whole is not None:
        with _reading_again():
            copied = made.whole(places[1])
        if copied is not None:
            if look is not None:
                look(whole)
            return ((whole, copied),)
    # what is unpacked, to be checked and seen, is the source; equal chunks need not be unpacked once more
    packed = source.packed(places[0], look)
    return zip_longest(packed, _again(made.packed(places[1], ours=True) or iter(()))) if packed is not None else None


def _seen(
    source: ArraySource, path: str, look: Optional[Callable[[bytes], None]], neutral: Optional[float]
) -> Iterator[bytes]:
    """An array's blocks, shown as they are, and then as they were to be written."""
    for block in source.blocks(path):
        if look is not None:
            look(block)
        yield block if neutral is None else with_neutral(block, source.arrays[path].code, neutral)
