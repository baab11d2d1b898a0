"""What `convert` and `inspect` return: facts as fields, which the command line only prints."""

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from . import keras_config
from ._version import __version__
from .display import lines
from .display.facts import ConversionFacts, InspectionFacts, LayerFacts, WrapperFacts
from .display.opens_in import opens_in
from .display.text import count_text, shown, size_text, written_by
from .errors import AlreadySingleError, UnparallelError
from .model import Json, ModelFile, element_count
from .options import ConvertOptions
from .pictures import Subject, draw
from .plan import Plan
from .weights.health import HealthCheck

if TYPE_CHECKING:
    from .display import cards
    from .keras3.values import Outlook

# Of what `to_dict()` gives and `--json` prints: see schema.json.
FORMAT = 1


def as_json(value: Any) -> Json:
    """A value of dataclasses, named tuples, tuples and plain values as JSON has it; `drawn` is left out."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {item.name: getattr(value, item.name) for item in fields(value) if item.name != "drawn"}
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    return value


def document(kind: str, facts: Dict[str, Any]) -> Dict[str, Any]:
    """Facts with what tells a program how to read them: `format` changes when their meaning does."""
    return {"format": FORMAT, "kind": kind, "unparallel": __version__, **facts}


def failure(source: str, error: UnparallelError) -> Dict[str, Any]:
    """What JSON says of a file that was refused, or could not be read or written."""
    return document(
        "failure",
        {
            "source": source,
            "error": type(error).__name__,
            "reason": error.message if error.path in ("", source) else error.line,
            "hint": error.hint,
            "exit_code": error.exit_code,
        },
    )


class _Drawable:
    """What both results can do besides."""

    drawn: Optional[Subject]

    def picture(self, kind: str = "svg", *, title: bool = True) -> str:
        """The file's graph as it is and as it will be: what is cut, what is kept, which rows each slice takes.

        Parameters
        ----------
        kind : str
            "svg", "mmd" (Mermaid) or "dot" (Graphviz).
        title : bool
            Whether the file's name stands above it.

        Raises
        ------
        UnparallelError
            The file holds no config, or there is no such format.
        """
        if self.drawn is None:
            raise UnparallelError(
                "there is nothing to draw: a weights file holds no layers", "give its architecture, by --architecture"
            )
        return draw(self.drawn if title else replace(self.drawn, title=""), kind)

    def _svg(self) -> str:
        return draw(self.drawn) if self.drawn is not None else ""


@dataclass(frozen=True)
class Inspection(InspectionFacts, _Drawable):
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
    keras3 : Outlook or None
        How far the model can go to Keras 3, layer by layer; None where there is no config.
    container : str
        What kind of file it is: "HDF5", "SavedModel" or "checkpoint".
    """

    drawn: Optional[Subject] = field(default=None, repr=False, compare=False)

    def to_dict(self) -> Dict[str, Any]:
        """The facts as JSON values: what `--json` prints."""
        return document("inspection", as_json(self))

    def __str__(self) -> str:
        return "\n".join(map(shown, lines.inspection_lines(self)))

    def _repr_html_(self) -> str:
        from .display import cards

        return cards.card_html(_inspection_card(self))

    @classmethod
    def of(
        cls,
        before: ModelFile,
        plan: Optional[Plan],
        refusal: Optional[UnparallelError],
        health: HealthCheck,
        size: int,
        options: ConvertOptions,
        keras3: "Optional[Outlook]" = None,
    ) -> "Inspection":
        """The facts of a file: what a conversion would do, or why there would be none (`refusal`)."""
        model = plan.after if plan is not None else before
        topology = model.topology
        return cls(
            source=before.source,
            form=before.form,
            container=before.container,
            keras_version=before.keras_version,
            wrappers=_wrappers(plan) if plan is not None else (),
            template=topology.name if topology is not None else "",
            parameters=model.parameters,
            optimizer=optimizer_name(model),
            bytes_before=size,
            bytes_after=size - (before.size - model.size),
            non_finite=health.non_finite,
            warnings=(plan.warnings if plan is not None else ()) + health.warnings,
            notes=plan.notes if plan is not None else (),
            opens_in=opens_in(model, keras3 is not None and keras3.possible) if _verdict(refusal) != "refused" else "",
            verdict=_verdict(refusal),
            reason=refusal.message if refusal is not None else "",
            hint=refusal.hint if refusal is not None else "",
            backend=before.backend,
            layers=layer_facts(model),
            outputs=tuple(key.layer for key in topology.outputs) if topology is not None else (),
            optimizer_bytes=model.optimizer.size if model.optimizer is not None else 0,
            keras3=keras3,
            drawn=_subject(before, options, refusal.message if refusal is not None else ""),
        )


@dataclass(frozen=True)
class Conversion(ConversionFacts, _Drawable):
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
    keras3 : Outlook or None
        Of an archive of Keras 3: what changed its form, and what is needed to load it.
    """

    drawn: Optional[Subject] = field(default=None, repr=False, compare=False)

    def to_dict(self) -> Dict[str, Any]:
        """The facts as JSON values: what `--json` prints."""
        return document("conversion", as_json(self))

    def __str__(self) -> str:
        return "\n".join(map(shown, lines.conversion_lines(self)))

    def _repr_html_(self) -> str:
        from .display import cards

        return cards.card_html(_conversion_card(self))

    @classmethod
    def of(
        cls,
        plan: Plan,
        health: HealthCheck,
        target: str,
        options: ConvertOptions,
        *,
        bytes_before: int,
        bytes_after: int,
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
            optimizer=optimizer_name(after),
            bytes_before=bytes_before,
            bytes_after=bytes_after,
            non_finite=health.non_finite,
            warnings=plan.warnings + health.warnings,
            notes=plan.notes,
            opens_in=opens_in(after) if plan.outlook is None else plan.outlook.opens_in,
            target=target,
            layers=len(after.weights),
            arrays=sum(len(group.weights) for group in after.weights),
            renamed=plan.renamed,
            dropped=plan.dropped,
            verified=options.verify,
            reset=health.reset,
            keras3=plan.outlook,
            drawn=_subject(plan.before, options),
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
            bytes=sum(ref.size for ref in group.weights),
        )
        for group in model.weights
    )


def optimizer_name(model: ModelFile) -> Optional[str]:
    """The optimizer's class, where the file holds its state or settings."""
    config = model.training_config
    if not isinstance(config, dict):
        return None
    optimizer = config.get("optimizer_config")
    return str(optimizer.get("class_name")) if isinstance(optimizer, dict) else None


def _subject(before: ModelFile, options: ConvertOptions, reason: str = "") -> Optional[Subject]:
    """What a picture is drawn from, where there is a graph: in the file, or in the architecture beside it."""
    trusted = options.trust_slices
    if before.topology is not None:
        weightless = frozenset(group.layer for group in before.weights if not group.weights)
        return Subject(before.source, before.topology, weightless, trusted, reason)
    if isinstance(options.architecture, dict):
        return Subject(before.source, keras_config.parse(options.architecture), frozenset(), trusted, reason)
    return None


# -- cards


def _wrapper_text(wrappers: Tuple[WrapperFacts, ...]) -> str:
    return "; ".join(
        "{}, {}, {}".format(
            count_text(wrapper.replicas, "replica"),
            count_text(len(wrapper.slices), "slice"),
            count_text(len(wrapper.merges), "merge"),
        )
        for wrapper in wrappers
    )


def _inspection_card(seen: Inspection) -> "cards.Card":
    from .display import cards  # for notebooks alone

    kinds = {"parallel": "good", "single": "dim"}
    facts: List[Tuple[str, str]] = [
        ("model" if seen.verdict != "parallel" else "template", seen.template),
        ("wrapper", _wrapper_text(seen.wrappers)),
        ("parameters", f"{seen.parameters:,}"),
        ("optimizer", seen.optimizer or ""),
        ("size", size_text(seen.bytes_before)),
        ("written by", written_by(seen.keras_version)),
        ("opens in", seen.opens_in),
        ("reason", seen.reason),
        ("hint", seen.hint),
    ]
    layers = [(layer.name, layer.class_name, layer.parameters) for layer in seen.layers]
    kind = kinds.get(seen.verdict, "doubt")
    return cards.Card(seen.verdict, kind, seen.source, facts, seen.warnings, layers, seen._svg())


def _conversion_card(done: Conversion) -> "cards.Card":
    from .display import cards

    facts: List[Tuple[str, str]] = [
        ("template", done.template),
        ("wrapper", _wrapper_text(done.wrappers)),
        ("parameters", f"{done.parameters:,}"),
        ("optimizer", done.optimizer or ""),
        ("verified", f"{count_text(done.arrays, 'array')}, byte for byte" if done.verified else "not verified"),
        ("size", f"{size_text(done.bytes_before)} -> {size_text(done.bytes_after)}"),
        ("opens in", done.opens_in),
    ]
    title = f"{done.source} -> {done.target}"
    return cards.Card("converted", "good", title, facts, done.warnings, (), done._svg())
