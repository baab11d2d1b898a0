"""Weights that are quietly broken: whose they are, what broke them, and how to mend what can be with_neutral.

When the last batch of an epoch has fewer rows than there are replicas, some replica gets none.  The mean of no
rows is NaN, and it goes into BatchNormalization's moving statistics, which training does not read: the loss looks
fine, and the model is of no use.  Everything else of such a model is sound, so that neutral statistics make it one
that can be trained on, or that new statistics can be measured for.  Reads no file.
"""

from dataclasses import replace
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import NonFiniteError, WeightsError
from ..model import Layer, LayerWeights, ModelFile, WeightRef, element_count
from .assignment import expected_weights, split
from .names import role_and_prefix

# What Keras starts with.  Keras 1 called the variance `running_std`; it was one all the same, and began as 1.
NEUTRAL = {"moving_mean": 0.0, "moving_variance": 1.0, "running_mean": 0.0, "running_std": 1.0}
# Of more broken weights than that, those of one name share a line.
MOST_LINES = 6
LAST_BATCH = (
    "what broke them: some batch, most likely the last of an epoch, had fewer rows than there were GPUs; one of them "
    "got no rows, and the mean of nothing is NaN"
)
MEND = (
    "--reset-batchnorm (reset_batchnorm=True) writes neutral statistics in their place; in training, "
    "unparallel.full_batches() keeps it from happening"
)
DIVERGED = "not of a kind that the wrapper breaks: the training diverged, look for an earlier checkpoint"


class NonFinite(NamedTuple):
    """A weight that holds NaN or Inf: how many elements of how many."""

    layer: str
    weight: str
    nan: int
    inf: int
    size: int


class HealthCheck:
    """What a look at a model's weights finds, and which of it is to be replaced.

    Whoever reads the weights shows it their blocks, by `see`.

    Parameters
    ----------
    model : ModelFile
        What is to be written.
    wanted : bool
        Whether all weights are to be looked at.
    """

    def __init__(self, model: ModelFile, wanted: bool = True) -> None:
        self.model = model
        self.wanted = wanted
        self._found: Dict[str, NonFinite] = {}
        self._reset: Dict[str, NonFinite] = {}
        self._owners: Optional[Dict[str, Owner]] = None

    @property
    def owners(self) -> Dict[str, "Owner"]:
        """Whose each weight is (worked out where something is wrong, which is seldom)."""
        if self._owners is None:
            self._owners = owners(self.model)
        return self._owners

    def see(self, layer: str, ref: WeightRef, block: bytes, code: str) -> None:
        """Count NaN and Inf in one block of a weight's elements; `code` is their type."""
        import numpy as np  # a file that cannot be opened need not wait for it

        dtype = np.dtype(code or ref.dtype)
        if dtype.kind not in "fc" or ref.path in self._reset:
            return
        values = np.frombuffer(block, dtype)
        # one cheap pass tells almost always: a sum that overflows is looked at again, element by element
        if np.isfinite(values).all():
            return
        nan, inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        known = self._found.get(ref.path, NonFinite(layer, ref.name, 0, 0, 0))
        size = element_count(ref.shape)
        self._found[ref.path] = NonFinite(layer, ref.name, known.nan + nan, known.inf + inf, size)

    def statistics(self) -> Tuple[LayerWeights, ...]:
        """The moving statistics among the weights."""
        return tuple(
            replace(group, weights=tuple(ref for ref in group.weights if self.owners[ref.path].neutral is not None))
            for group in self.model.weights
        )

    def reset_found(self) -> None:
        """What has been found so far, in moving statistics, is to be replaced by neutral values."""
        self._reset, self._found = self._found, {}

    @property
    def repairs(self) -> Dict[str, float]:
        """The neutral value for each weight in which it is to replace NaN and Inf, by path."""
        return {path: self.owners[path].neutral or 0.0 for path in self._reset}

    @property
    def reset(self) -> Tuple[NonFinite, ...]:
        """Weights in which NaN and Inf are replaced."""
        return label(self._reset, self.owners) if self._reset else ()

    @property
    def non_finite(self) -> Tuple[NonFinite, ...]:
        """Weights that hold NaN or Inf in what is written."""
        return label(self._found, self.owners) if self._found else ()

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What the user should know of it."""
        lines = warnings(self._found, self.owners) if self._found else []
        return tuple(lines + ([reset_warning(self.reset)] if self._reset else []))


class Owner(NamedTuple):
    """Whose a weight is: the layer's path of names, and the neutral value where it is a moving statistic."""

    layer: str
    neutral: Optional[float]


def owners(model: ModelFile) -> Dict[str, Owner]:
    """The owner of each weight of a file, by the weight's path; nested models are taken apart where that can be."""
    found: Dict[str, Owner] = {}
    for group in model.weights:
        layer = model.topology.by_name.get(group.layer) if model.topology is not None else None
        for label, owner, refs in _owned(group, layer, (group.layer,), model.by_path):
            for ref, role in zip(refs, _roles(owner, refs)):
                found[ref.path] = Owner(label, NEUTRAL.get(role))
    return found


def _owned(
    group: LayerWeights, layer: Optional[Layer], path: Tuple[str, ...], by_path: Mapping[Tuple[str, ...], LayerWeights]
) -> Iterator[Tuple[str, Optional[Layer], Sequence[WeightRef]]]:
    """(path of names, layer, its weights) for each layer without layers of its own."""
    if layer is None or layer.submodel is None:
        yield "/".join(path), layer, group.weights
        return
    known = [by_path.get(path + (inner.name,)) for inner in layer.submodel.layers]
    parts = tuple(part for part in known if part is not None)
    try:
        if len(parts) < len(known):
            parts = split(layer.submodel, group.weights, same_save=True)  # as the clean file will be
    except WeightsError:  # nobody can tell: nothing is said of them, and nothing done to them
        yield "/".join(path), layer, group.weights
        return
    for part in parts:
        yield from _owned(part, layer.submodel.layer(part.layer), path + (part.layer,), by_path)


def _roles(layer: Optional[Layer], refs: Sequence[WeightRef]) -> List[str]:
    """The role of each weight as far as it is one of BatchNormalization; "" for all others."""
    named = [role_and_prefix(ref.name)[0] for ref in refs]
    if layer is None:  # no config: these names are nobody else's
        return named
    if not _normalizes(layer):
        return [""] * len(refs)
    spec = expected_weights(layer)
    slots = list(spec.trainable + spec.rest) if spec is not None else []
    if not any(named) and len(slots) == len(refs):  # weights without names of their own
        return [slot.role for slot in slots]
    return named


def _normalizes(layer: Layer) -> bool:
    """Whether a layer is a BatchNormalization, by its class; its offspring are all called so."""
    inner: Any = layer.config.get("layer") if isinstance(layer.config, dict) else None
    wrapped = str(inner.get("class_name")) if layer.class_name == "TimeDistributed" and isinstance(inner, dict) else ""
    return layer.submodel is None and "BatchNorm" in (wrapped or layer.class_name)


def with_neutral(block: bytes, code: str, neutral: float) -> bytes:
    """The block with `neutral` in place of what is not finite; every other bit as it was."""
    import numpy as np

    values = np.frombuffer(block, np.dtype(code))
    return np.where(np.isfinite(values), values, values.dtype.type(neutral)).astype(values.dtype).tobytes()


def label(broken: Mapping[str, NonFinite], owned: Mapping[str, Owner]) -> Tuple[NonFinite, ...]:
    """What a scan found, by path, with the innermost layer's name."""
    return tuple(item._replace(layer=owned[path].layer) if path in owned else item for path, item in broken.items())


def warnings(broken: Mapping[str, NonFinite], owned: Mapping[str, Owner]) -> List[str]:
    """What a user should know of broken weights: each with its count, then what broke them and what to do."""
    items = label(broken, owned)
    lines = [_line(item) for item in items] if len(items) <= MOST_LINES else list(_grouped(items))
    statistics = [path for path in broken if path in owned and owned[path].neutral is not None]
    if statistics:
        layers = list(dict.fromkeys(owned[path].layer for path in statistics))
        lines.append(f"moving statistics of BatchNormalization are broken in {listed(layers)}; {LAST_BATCH}")
        lines.append(MEND)
    if len(statistics) < len(broken):
        others = [item.weight for path, item in broken.items() if path not in statistics]
        lines.append(f"{listed(others)}: {DIVERGED}")
    return lines


def reset_warning(reset: Sequence[NonFinite]) -> str:
    """What a user should know of statistics that were replaced."""
    where = [f"{item.layer} {item.weight} ({item.nan + item.inf} of {item.size})" for item in reset]
    return (
        f"RESET to neutral values (mean 0, variance 1), where they were NaN or Inf: {listed(where)}; "
        "predictions will differ until you retrain or recompute the statistics"
    )


def refusal(broken: Iterable[NonFinite]) -> NonFiniteError:
    """The error for broken weights, where the user wants none."""
    lines = [_line(item) for item in broken]
    more = " (and %s more weights)" % (len(lines) - 1) if len(lines) > 1 else ""
    return NonFiniteError(lines[0] + more, "without --strict it is converted as it is, every bit preserved")


def _grouped(items: Sequence[NonFinite]) -> Iterator[str]:
    """A line for all weights of one name, such as moving_mean: what is true of 53 layers is said once."""
    groups: Dict[str, List[NonFinite]] = {}
    for item in items:
        groups.setdefault(item.weight.split("/")[-1].split(":")[0], []).append(item)
    for name, group in groups.items():
        values = sum(item.nan + item.inf for item in group)
        where = listed(list(dict.fromkeys(item.layer for item in group)))
        size = sum(item.size for item in group)
        yield f"{len(group)} x {name!r}: {values:,} of {size:,} values are NaN or Inf; in {where}"


def _line(item: NonFinite) -> str:
    return "layer {!r}: weight {!r} holds {} NaN and {} Inf in {} values".format(*item)


def listed(names: Sequence[str]) -> str:
    """Some of the names, and how many more there are."""
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
