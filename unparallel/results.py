"""What `convert` and `inspect` return: facts as fields, which the command line only prints."""

from dataclasses import dataclass
from typing import Optional, Tuple

from .model import ModelFile, element_count
from .plan import Plan
from .weights.health import HealthCheck, NonFinite


@dataclass(frozen=True)
class WrapperFacts:
    """One data-parallel wrapper that was found.

    Parameters
    ----------
    template : str
        Name of the nested model; "" where the template's layers stood in the towers themselves.
    inside : tuple of str
        Names of the models around the wrapper.
    replicas : int
    slices, merges : tuple of str
        Names of the layers that cut and join the batch.
    proof : str
        "code" where every slice's code was followed, "trusted" where the user vouched for one.
    """

    template: str
    inside: Tuple[str, ...]
    replicas: int
    slices: Tuple[str, ...]
    merges: Tuple[str, ...]
    proof: str


@dataclass(frozen=True)
class LayerFacts:
    """A layer of the clean model: class name ("" where no config tells), number of arrays and parameters."""

    name: str
    class_name: str
    arrays: int
    parameters: int
    shapes: Tuple[Tuple[int, ...], ...]


@dataclass(frozen=True)
class Inspection:
    """What a file holds and what a conversion would do.

    Parameters
    ----------
    source : str
    verdict : str
        "parallel", "single", or "refused" (it looks parallel and cannot be converted as it is).
    reason, hint : str
        For "single" and "refused": why, and what to do.
    form : str
        "model" or "weights".
    keras_version, backend : str or None
    wrappers : tuple of WrapperFacts
    template : str
        Name of the clean model ("" where the file does not tell).
    layers : tuple of LayerFacts
        Of the clean model; of the file as it is where nothing can be undone.
    outputs : tuple of str
        Names of the clean model's outputs.
    parameters : int
    optimizer : str or None
        The optimizer's class, where its state is in the file.
    optimizer_bytes, bytes_before, bytes_after : int
        `bytes_after` is an estimate: the arrays are known, HDF5's own kilobytes are taken to stay.
    non_finite : tuple of NonFinite
        Weights that hold NaN or Inf.
    warnings, notes : tuple of str
    """

    source: str
    verdict: str
    reason: str
    hint: str
    form: str
    keras_version: Optional[str]
    backend: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    layers: Tuple[LayerFacts, ...]
    outputs: Tuple[str, ...]
    parameters: int
    optimizer: Optional[str]
    optimizer_bytes: int
    bytes_before: int
    bytes_after: int
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class Conversion:
    """What a conversion did.

    Parameters
    ----------
    source, target : str
    form : str
        What was written: "model" or "weights".
    keras_version : str or None
    wrappers : tuple of WrapperFacts
    template : str
    layers, arrays, parameters : int
        Of the clean file.
    optimizer : str or None
        The optimizer's class, where its state was kept.
    renamed : tuple of (str, str)
    dropped : tuple of str
        Layers that are gone.
    non_finite : tuple of NonFinite
        Weights of the clean file that hold NaN or Inf.
    warnings, notes : tuple of str
    bytes_before, bytes_after : int
        Sizes of the two files.
    verified : bool
        Whether every weight was compared with its source, byte for byte.
    reset : tuple of NonFinite
        Moving statistics that held NaN or Inf, and hold neutral values there now.
    """

    source: str
    target: str
    form: str
    keras_version: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    layers: int
    arrays: int
    parameters: int
    optimizer: Optional[str]
    renamed: Tuple[Tuple[str, str], ...]
    dropped: Tuple[str, ...]
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]
    bytes_before: int
    bytes_after: int
    verified: bool
    reset: Tuple[NonFinite, ...] = ()


def _wrappers(plan: Plan) -> Tuple[WrapperFacts, ...]:
    facts = []
    for placed in plan.wrappers:
        match = placed.match
        proof = "trusted" if any(piece.proof == "trusted" for piece in match.slices) else "code"
        facts.append(
            WrapperFacts(
                placed.template,
                placed.path,
                match.replicas,
                tuple(dict.fromkeys(piece.tensor.layer for piece in match.slices)),
                tuple(merge.call[0] for merge in match.merges),
                proof,
            )
        )
    return tuple(facts)


def layer_facts(model: ModelFile) -> Tuple[LayerFacts, ...]:
    """The saved layers of a file with their parameters."""
    known = model.topology.by_name if model.topology is not None else {}
    return tuple(
        LayerFacts(
            group.layer,
            known[group.layer].class_name if group.layer in known else "",
            len(group.weights),
            sum(element_count(ref.shape) for ref in group.weights),
            tuple(ref.shape for ref in group.weights),
        )
        for group in model.weights
    )


def _optimizer_name(model: ModelFile) -> Optional[str]:
    """The optimizer's class, where the file holds its state or settings."""
    config = model.training_config
    if not isinstance(config, dict):
        return None
    optimizer = config.get("optimizer_config")
    return str(optimizer.get("class_name")) if isinstance(optimizer, dict) else None


def conversion(target: str, plan: Plan, check: HealthCheck, sizes: Tuple[int, int], verified: bool) -> Conversion:
    """The facts of a conversion that was carried out."""
    after = plan.after
    return Conversion(
        plan.before.source,
        target,
        after.form,
        after.keras_version,
        _wrappers(plan),
        after.topology.name if after.topology is not None else "",
        len(after.weights),
        sum(len(group.weights) for group in after.weights),
        after.parameters,
        _optimizer_name(after),
        plan.renamed,
        plan.dropped,
        check.non_finite,
        plan.warnings + check.warnings,
        plan.notes,
        sizes[0],
        sizes[1],
        verified,
        check.reset,
    )


def inspection(
    before: ModelFile, plan: Optional[Plan], verdict: Tuple[str, str, str], check: HealthCheck, size: int
) -> Inspection:
    """The facts of a file and of what a conversion would do."""
    model = plan.after if plan is not None else before
    topology = model.topology
    state = model.optimizer.size if model.optimizer is not None else 0
    return Inspection(
        before.source,
        verdict[0],
        verdict[1],
        verdict[2],
        before.form,
        before.keras_version,
        before.backend,
        _wrappers(plan) if plan is not None else (),
        topology.name if topology is not None else "",
        layer_facts(model),
        tuple(key.layer for key in topology.outputs) if topology is not None else (),
        model.parameters,
        _optimizer_name(model),
        state,
        size,
        size - (before.size - model.size),
        check.non_finite,
        (plan.warnings if plan is not None else ()) + check.warnings,
        plan.notes if plan is not None else (),
    )
