"""What `convert` and `inspect` return: facts as fields, which the command line only prints."""

from dataclasses import dataclass
from typing import Optional, Tuple

from .errors import AlreadySingleError, UnparallelError
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
class Facts:
    """What an inspection and a conversion both tell.

    Parameters
    ----------
    source : str
    form : str
        "model" or "weights": of the source for an inspection, of what was written for a conversion.
    keras_version : str or None
        Of the Keras that wrote the source.
    wrappers : tuple of WrapperFacts
    template : str
        Name of the clean model ("" where the file does not tell).
    parameters : int
        Of the clean model; of the file as it is where nothing can be undone.
    optimizer : str or None
        The optimizer's class, where its state or settings are in the clean file.
    bytes_before, bytes_after : int
        Sizes of the two files; for an inspection `bytes_after` is an estimate: the arrays are known, HDF5's own
        kilobytes are taken to stay.
    non_finite : tuple of NonFinite
        Weights of the clean file that hold NaN or Inf.
    warnings, notes : tuple of str
        What the user should know; a note is harmless.
    """

    source: str
    form: str
    keras_version: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    parameters: int
    optimizer: Optional[str]
    bytes_before: int
    bytes_after: int
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class Inspection(Facts):
    """What a file holds and what a conversion would do: `Facts`, and these.

    Parameters
    ----------
    verdict : str
        "parallel", "single", or "refused" (it looks parallel and cannot be converted as it is).
    reason, hint : str
        For "single" and "refused": why, and what to do.
    backend : str or None
    layers : tuple of LayerFacts
        Of the clean model; of the file as it is where nothing can be undone.
    outputs : tuple of str
        Names of the clean model's outputs.
    optimizer_bytes : int
    """

    verdict: str
    reason: str
    hint: str
    backend: Optional[str]
    layers: Tuple[LayerFacts, ...]
    outputs: Tuple[str, ...]
    optimizer_bytes: int

    @classmethod
    def of(
        cls, before: ModelFile, plan: Optional[Plan], refusal: Optional[UnparallelError], health: HealthCheck, size: int
    ) -> "Inspection":
        """The facts of a file: what a conversion would do, or why there would be none (`refusal`)."""
        model = plan.after if plan is not None else before
        topology = model.topology
        return cls(
            source=before.source,
            form=before.form,
            keras_version=before.keras_version,
            wrappers=_wrappers(plan) if plan is not None else (),
            template=topology.name if topology is not None else "",
            parameters=model.parameters,
            optimizer=_optimizer_name(model),
            bytes_before=size,
            bytes_after=size - (before.size - model.size),
            non_finite=health.non_finite,
            warnings=(plan.warnings if plan is not None else ()) + health.warnings,
            notes=plan.notes if plan is not None else (),
            verdict=_verdict(refusal),
            reason=refusal.message if refusal is not None else "",
            hint=refusal.hint if refusal is not None else "",
            backend=before.backend,
            layers=layer_facts(model),
            outputs=tuple(key.layer for key in topology.outputs) if topology is not None else (),
            optimizer_bytes=model.optimizer.size if model.optimizer is not None else 0,
        )


@dataclass(frozen=True)
class Conversion(Facts):
    """What a conversion did: `Facts`, and these.

    Parameters
    ----------
    target : str
    layers, arrays : int
        Of the clean file.
    renamed : tuple of (str, str)
        Layers and outputs under a new name: old, new.
    dropped : tuple of str
        Layers that are gone.
    verified : bool
        Whether every weight was compared with its source, byte for byte.
    reset : tuple of NonFinite
        Moving statistics that held NaN or Inf, and hold neutral values there now.
    """

    target: str
    layers: int
    arrays: int
    renamed: Tuple[Tuple[str, str], ...]
    dropped: Tuple[str, ...]
    verified: bool
    reset: Tuple[NonFinite, ...] = ()

    @classmethod
    def of(
        cls, plan: Plan, health: HealthCheck, target: str, *, bytes_before: int, bytes_after: int, verified: bool
    ) -> "Conversion":
        """The facts of a conversion that was carried out."""
        after = plan.after
        return cls(
            source=plan.before.source,
            form=after.form,
            keras_version=after.keras_version,
            wrappers=_wrappers(plan),
            template=after.topology.name if after.topology is not None else "",
            parameters=after.parameters,
            optimizer=_optimizer_name(after),
            bytes_before=bytes_before,
            bytes_after=bytes_after,
            non_finite=health.non_finite,
            warnings=plan.warnings + health.warnings,
            notes=plan.notes,
            target=target,
            layers=len(after.weights),
            arrays=sum(len(group.weights) for group in after.weights),
            renamed=plan.renamed,
            dropped=plan.dropped,
            verified=verified,
            reset=health.reset,
        )


def _verdict(refusal: Optional[UnparallelError]) -> str:
    if refusal is None:
        return "parallel"
    return "single" if isinstance(refusal, AlreadySingleError) else "refused"


def _wrappers(plan: Plan) -> Tuple[WrapperFacts, ...]:
    return tuple(
        WrapperFacts(
            template=placed.template,
            inside=placed.path,
            replicas=placed.match.replicas,
            slices=tuple(dict.fromkeys(piece.tensor.layer for piece in placed.match.slices)),
            merges=tuple(merge.call[0] for merge in placed.match.merges),
            proof="trusted" if any(piece.proof == "trusted" for piece in placed.match.slices) else "code",
        )
        for placed in plan.wrappers
    )


def layer_facts(model: ModelFile) -> Tuple[LayerFacts, ...]:
    """The saved layers of a file with their parameters."""
    known = model.topology.by_name if model.topology is not None else {}
    return tuple(
        LayerFacts(
            name=group.layer,
            class_name=known[group.layer].class_name if group.layer in known else "",
            arrays=len(group.weights),
            parameters=sum(element_count(ref.shape) for ref in group.weights),
            shapes=tuple(ref.shape for ref in group.weights),
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
