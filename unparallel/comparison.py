"""Two Keras files side by side: layers, configs, weights, training state.

A wrapped file stands for what it would become, so that a clean file, the template's own file and the parallel file it
came from all compare equal.  What decides is what Keras would make of the files; versions and names of single weights
are reported and decide nothing.  Arrays are read a block at a time.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

import numpy as np

from .arrays import ArraySource
from .display.cards import escape_all
from .display.text import shown, written_by
from .errors import AlreadySingleError, UnparallelError
from .formats import Opened, format_of, open_model
from .keras_config import parse
from .model import Json, Layer, LayerWeights, ModelFile, TensorKey, Topology
from .options import Architecture, ConvertOptions, StrPath, path_text
from .results import as_json, document, optimizer_name

if TYPE_CHECKING:
    from .arrays import Numbers

# No more single differences are kept: two models that have nothing in common say so in fewer.
MOST = 500
LONGEST_VALUE = 200
ABSENT = "(absent)"


@dataclass(frozen=True)
class ComparedFile:
    """One of the two files.

    Parameters
    ----------
    path : str
    form : str
        "model" or "weights".
    keras_version, backend : str or None
    replicas : int
        Of the wrapper that was taken off before comparing; 0 where there was none.
    layers, parameters : int
        Of what is compared.
    optimizer : str or None
        Its class.
    """

    path: str
    form: str
    keras_version: str | None
    backend: str | None
    replicas: int
    layers: int
    parameters: int
    optimizer: str | None


class Difference(NamedTuple):
    """A value of a config, or of the training config, that differs.

    Attributes
    ----------
    layer : str
        Path of the layer's name, models around it included; "" for the model itself.
    key : str
        Keys from the outside in, joined by dots.
    a, b : str
        The values as JSON, shortened.
    """

    layer: str
    key: str
    a: str
    b: str


class ArrayDifference(NamedTuple):
    """A weight, or a part of the optimizer's state, that differs.

    Attributes
    ----------
    layer, name : str
    reason : str
        "shape", "type", "values", "count" (of the optimizer's arrays), "only in a" or "only in b".
    different, elements : int
        How many elements differ, of how many.
    largest : float
        The largest difference, absolute; NaN where a NaN stands against a number.
    detail : str
        Both shapes or types, where these differ.
    """

    layer: str
    name: str
    reason: str
    different: int = 0
    elements: int = 0
    largest: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Comparison:
    """How two files differ; true in a condition where they do.

    Parameters
    ----------
    a, b : ComparedFile
    only_in_a, only_in_b : tuple of str
        Layers, by path of names.
    renamed : tuple of (str, str)
        Layers that stand in the same place under another name, where all of them have a partner.
    configs : tuple of Difference
    weights, optimizer : tuple of ArrayDifference
    arrays, optimizer_arrays : int
        How many arrays were compared.
    notes : tuple of str
        What was not compared, and what differs without deciding.
    left_out : int
        Differences beyond the first 500 of each kind.
    """

    a: ComparedFile
    b: ComparedFile
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    configs: tuple[Difference, ...]
    weights: tuple[ArrayDifference, ...]
    optimizer: tuple[ArrayDifference, ...]
    arrays: int
    optimizer_arrays: int
    notes: tuple[str, ...]
    left_out: int = 0

    @property
    def equal(self) -> bool:
        """Whether the files hold the same model, as far as both tell."""
        found = (self.only_in_a, self.only_in_b, self.renamed, self.configs, self.weights, self.optimizer)
        return not any(found)

    def __bool__(self) -> bool:
        return not self.equal

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON values: what `--json` prints."""
        facts = {"equal": self.equal, **as_json(self)}
        for item in facts["weights"] + facts["optimizer"]:
            item["largest"] = item["largest"] if math.isfinite(item["largest"]) else None  # JSON has no NaN
        return document("comparison", facts)

    def __str__(self) -> str:
        return "\n".join(map(shown, comparison_lines(self)))

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap">{escape_all(str(self))}</pre>'


def compare(a: StrPath, b: StrPath, *, architecture: Architecture = None, trust_slices: bool = False) -> Comparison:
    """Compare two Keras files: model or weights files, wrapped or not, of any format that can be read.

    Parameters
    ----------
    a, b : path
        They are only read.
    architecture, trust_slices
        As for `convert`, for a file that is wrapped.

    Returns
    -------
    Comparison

    Raises
    ------
    UnparallelError
        A file cannot be read.

    Examples
    --------
    >>> import unparallel
    >>> found = unparallel.compare("parallel.h5", "clean.h5")     # doctest: +SKIP
    >>> found.equal, found.arrays, found.a.replicas               # doctest: +SKIP
    (True, 9, 2)
    """
    options = ConvertOptions(architecture=architecture, trust_slices=trust_slices)
    with contextlib.ExitStack() as stack:
        first, second = [stack.enter_context(_opened(path_text(path), options)) for path in (a, b)]
        return _Comparing(first, second).run()


class _Side(NamedTuple):
    """A file that is open, and the model that it stands for."""

    source: ArraySource
    model: ModelFile
    facts: ComparedFile
    note: str


@contextlib.contextmanager
def _opened(path: str, options: ConvertOptions) -> Iterator[_Side]:
    with open_model(path) as opened:
        yield _unwrapped(path, opened, options)


def _unwrapped(path: str, opened: Opened, options: ConvertOptions) -> _Side:
    model, replicas, note = opened.model, 0, ""
    try:
        plan = format_of("").plan(opened.model, options)
        model = _read_again(plan.after)
        replicas = max([located.match.replicas for located in plan.wrappers] or [1])
    except AlreadySingleError:
        pass
    except UnparallelError as error:
        note = f"{path} is compared as it is: {error.message}"
    facts = ComparedFile(
        path,
        opened.model.form,
        model.keras_version,
        model.backend,
        replicas,
        len(model.topology.layers if model.topology is not None else model.weights),
        model.parameters,
        optimizer_name(model),
    )
    return _Side(opened.source, model, facts, note)


def _read_again(model: ModelFile) -> ModelFile:
    """The model as its file would be read: what was cut out of a wrapper still has the calls of the wrapper's file."""
    return model if model.topology is None else replace(model, topology=parse(model.topology.config))


@dataclass
class _Comparing:
    """What has been found so far."""

    a: _Side
    b: _Side
    only: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    renamed: list[tuple[str, str]] = field(default_factory=list)
    configs: list[Difference] = field(default_factory=list)
    weights: list[ArrayDifference] = field(default_factory=list)
    optimizer: list[ArrayDifference] = field(default_factory=list)
    arrays: int = 0
    optimizer_arrays: int = 0
    notes: list[str] = field(default_factory=list)

    def run(self) -> Comparison:
        """Compare all that both files have."""
        self.notes += [side.note for side in (self.a, self.b) if side.note]
        first, second = self.a.model, self.b.model
        if first.topology is not None and second.topology is not None:
            self._topologies(first.topology, second.topology, "")
            self._training(first, second)
        else:
            self.notes.append("configs and training state are not compared: a weights file holds none")
        self._weights(first, second, has_layers=first.topology is not None and second.topology is not None)
        kinds = (self.only[0], self.only[1], self.renamed, self.configs, self.weights, self.optimizer)
        return Comparison(
            a=self.a.facts,
            b=self.b.facts,
            only_in_a=tuple(self.only[0][:MOST]),
            only_in_b=tuple(self.only[1][:MOST]),
            renamed=tuple(self.renamed[:MOST]),
            configs=tuple(self.configs[:MOST]),
            weights=tuple(self.weights[:MOST]),
            optimizer=tuple(self.optimizer[:MOST]),
            arrays=self.arrays,
            optimizer_arrays=self.optimizer_arrays,
            notes=tuple(self.notes),
            left_out=sum(max(0, len(items) - MOST) for items in kinds),
        )

    # -- layers and configs

    def _topologies(self, first: Topology, second: Topology, path: str) -> None:
        here = path.rstrip("/")
        if not here and first.name != second.name:
            # Keras numbers models as they are built; nothing goes by that number
            self.notes.append(f"the models are called {first.name!r} and {second.name!r}")
        self._values(here, "class_name", first.class_name, second.class_name)
        pairs = self._pairs(first, second, path)
        names = {b.name: a.name for a, b in pairs}
        for key in ("inputs", "outputs"):
            ends = [_ends(getattr(first, key), {}), _ends(getattr(second, key), names)]
            self._values(here, key, *ends)
        for a, b in pairs:
            self._layers(a, b, path + a.name, names)

    def _pairs(self, first: Topology, second: Topology, path: str) -> list[tuple[Layer, Layer]]:
        """Layers of one name; those that have no partner, if they are alike one by one, in their order."""
        common = [layer.name for layer in first.layers if layer.name in second.by_name]
        rest = (
            [layer for layer in first.layers if layer.name not in second.by_name],
            [layer for layer in second.layers if layer.name not in first.by_name],
        )
        pairs = [(first.layer(name), second.layer(name)) for name in common]
        classes = [[layer.class_name for layer in layers] for layers in rest]
        if rest[0] and classes[0] == classes[1]:
            pairs += list(zip(*rest))
            self.renamed += [(path + a.name, path + b.name) for a, b in zip(*rest)]
            return pairs
        for only, layers in zip(self.only, rest):
            only += [path + layer.name for layer in layers]
        return pairs

    def _layers(self, a: Layer, b: Layer, path: str, names: dict[str, str]) -> None:
        self._values(path, "class_name", a.class_name, b.class_name)
        reads = [[_ends(call.inputs, renaming) for call in layer.calls] for layer, renaming in ((a, {}), (b, names))]
        self._values(path, "inputs", *reads)
        # arguments, which are the same for all dialects; the tensors are compared above
        given = [[repr(call.given) for call in layer.calls] for layer in (a, b)]
        self._values(path, "call", *given)
        if a.submodel is not None and b.submodel is not None:
            self._topologies(a.submodel, b.submodel, path + "/")
        else:
            self._values(path, "", _nameless(a.config), _nameless(b.config))

    def _values(self, layer: str, key: str, a: Json, b: Json) -> None:
        """Record the innermost values that differ."""
        stack = [(key, a, b)]
        while stack:
            key, a, b = stack.pop()
            if a is b:
                continue
            inner = _children(key, a, b)
            if inner:
                stack.extend(reversed(inner))
            elif not _same(a, b):
                self.configs.append(Difference(layer, key, _shown(a), _shown(b)))

    def _training(self, first: ModelFile, second: ModelFile) -> None:
        if first.training_config is None or second.training_config is None:
            if first.training_config != second.training_config:
                texts = ["none" if side.training_config is None else "there" for side in (first, second)]
                self.configs.append(Difference("", "training_config", *texts))
        else:
            self._values("", "training_config", first.training_config, second.training_config)
        states = [_state(side) for side in (self.a, self.b)]
        if len(states[0]) != len(states[1]):
            counts = f"{len(states[0]):,} arrays against {len(states[1]):,}"
            self.optimizer.append(ArrayDifference("", "state", "count", detail=counts))
            return
        for name in dict.fromkeys([*states[0], *states[1]]):
            ends = states[0].get(name), states[1].get(name)
            self.optimizer_arrays += all(ends)
            self._arrays(self.optimizer, "", name, *ends)

    # -- weights

    def _weights(self, first: ModelFile, second: ModelFile, has_layers: bool) -> None:
        partner = {a.split("/")[0]: b.split("/")[0] for a, b in self.renamed if "/" not in a}
        groups = second.groups
        seen = set()
        for group in first.weights:
            other = groups.get(partner.get(group.layer, group.layer))
            if other is not None:
                seen.add(other.layer)
                self._groups(group, other)
            elif not has_layers and group.weights:
                self.only[0].append(group.layer)
        if not has_layers:
            self.only[1].extend(group.layer for group in second.weights if group.layer not in seen and group.weights)

    def _groups(self, a: LayerWeights, b: LayerWeights) -> None:
        names = [[ref.name for ref in group.weights] for group in (a, b)]
        second = list(b.weights)
        if names[0] != names[1] and sorted(names[0]) == sorted(names[1]) and len(set(names[0])) == len(names[0]):
            by_name = {ref.name: ref for ref in second}
            second = [by_name[name] for name in names[0]]
            self.notes.append(f"layer {a.layer!r} holds its weights in another order")
        elif names[0] != names[1] and len(names[0]) == len(names[1]):
            self.notes.append(f"layer {a.layer!r} names its weights otherwise")
        for i in range(max(len(a.weights), len(second))):
            ends = [group[i] if i < len(group) else None for group in (a.weights, second)]
            name = (ends[0] or ends[1]).name  # type: ignore[union-attr]
            self.arrays += all(ends)
            self._arrays(self.weights, a.layer, name, *[ref and ref.path for ref in ends])

    def _arrays(
        self, found: list[ArrayDifference], layer: str, name: str, first: str | None, second: str | None
    ) -> None:
        if first is None or second is None:
            found.append(ArrayDifference(layer, name, "only in b" if first is None else "only in a"))
            return
        difference = _array_difference(self.a.source, first, self.b.source, second)
        if difference is not None:
            found.append(difference._replace(layer=layer, name=name))


# -- values


def _ends(keys: Sequence[TensorKey], names: dict[str, str]) -> list[list[str | int]]:
    return [[names.get(key.layer, key.layer), key.call, key.tensor] for key in keys]


def _nameless(config: Json) -> Json:
    return {key: value for key, value in config.items() if key != "name"} if isinstance(config, dict) else config


def _children(key: str, a: Json, b: Json) -> list[tuple[str, Json, Json]]:
    """The values inside two dicts, or two lists of one length, by key; none where these are no such pair."""
    start = key + "." if key else ""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = list(dict.fromkeys([*a, *b]))
        return [(start + str(name), a.get(name, _Absent), b.get(name, _Absent)) for name in keys]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and any(map(_is_nested, a + b)):
        return [(f"{start}{i}", *pair) for i, pair in enumerate(zip(a, b))]
    return []


class _Absent:
    """Stands for the value of a key that is not there."""


def _is_nested(value: Json) -> bool:
    return isinstance(value, (dict, list))


def _same(a: Json, b: Json) -> bool:
    """Whether two JSON values say the same: 1 and 1.0 do, true and 1 do not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return bool(a == b) and (isinstance(a, (int, float)) or type(a) is type(b))


def _shown(value: Json) -> str:
    import json

    if value is _Absent:
        return ABSENT
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 20]} ... {text[-14:]}"


def _state(side: _Side) -> dict[str, str]:
    """The arrays of the optimizer's state by what they are, whatever the name of the group above them."""
    state = side.model.optimizer
    if state is None:
        return {}
    listed = side.source.names(state.path, "weight_names")
    paths = [f"{state.path}/{name}" for name in listed] if listed else side.source.below(state.path)
    return {f"array {i + 1:,}" if listed else path[len(state.path) + 1 :]: path for i, path in enumerate(paths)}


# -- arrays


def _array_difference(a: ArraySource, first: str, b: ArraySource, second: str) -> ArrayDifference | None:
    """How two arrays differ; None where they do not."""
    arrays = a.array(first), b.array(second)
    if arrays[0] is None or arrays[1] is None:
        missing = first if arrays[0] is None else second
        raise UnparallelError(f"{missing} is not there", "the file is damaged", (a if arrays[0] is None else b).path)
    shapes = arrays[0].shape, arrays[1].shape
    if shapes[0] != shapes[1]:
        return ArrayDifference("", "", "shape", detail=f"{list(shapes[0])} against {list(shapes[1])}")
    types = np.dtype(arrays[0].code), np.dtype(arrays[1].code)
    found = _Distance()
    for x, y in _aligned((a.ordered(first), types[0]), (b.ordered(second), types[1])):
        found.see(x, y)
    if found.different:
        return ArrayDifference("", "", "values", found.different, found.elements, found.largest)
    if types[0].newbyteorder("=") != types[1].newbyteorder("="):
        return ArrayDifference("", "", "type", detail=f"{types[0].name} against {types[1].name}")
    return None


Blocks = Iterator[bytes]


def _aligned(*streams: tuple[Blocks, Any]) -> Iterator[tuple[Any, Any]]:
    """Both arrays' elements in pieces of one length, whatever pieces the files have."""
    sides = [(iter(blocks), dtype, np.empty(0, dtype)) for blocks, dtype in streams]
    while True:
        for i, (blocks, dtype, rest) in enumerate(sides):
            while not len(rest):
                block = next(blocks, None)
                if block is None:
                    return
                rest = np.frombuffer(block, dtype)
            sides[i] = (blocks, dtype, rest)
        size = min(len(rest) for _, _, rest in sides)
        yield sides[0][2][:size], sides[1][2][:size]
        sides = [(blocks, dtype, rest[size:]) for blocks, dtype, rest in sides]


@dataclass
class _Distance:
    """How far apart two arrays are, seen piece by piece."""

    elements: int = 0
    different: int = 0
    largest: float = 0.0

    def see(self, a: Numbers, b: Numbers) -> None:
        """Take in two pieces of one length."""
        self.elements += len(a)
        if a.dtype == b.dtype and a.tobytes() == b.tobytes():
            return
        with np.errstate(all="ignore"):
            unequal = a != b
            if a.dtype.kind in "fc" and b.dtype.kind in "fc":
                unequal &= ~(np.isnan(a) & np.isnan(b))
            if not unequal.any():
                return
            self.different += int(unequal.sum())
            wide = np.complex128 if "c" in a.dtype.kind + b.dtype.kind else np.float64
            farthest = float(np.abs(a[unequal].astype(wide) - b[unequal].astype(wide)).max())
        self.largest = farthest if farthest != farthest or farthest > self.largest else self.largest


# -- words


def comparison_lines(found: Comparison) -> list[str]:
    """What the command prints: as a unified diff looks, and a last line that says it all."""
    lines = [f"--- {_heading(found.a)}", f"+++ {_heading(found.b)}"]
    lines += [f"-layer {name!r}" for name in found.only_in_a]
    lines += [f"+layer {name!r}" for name in found.only_in_b]
    for a, b in found.renamed:
        lines += [f"-layer {a!r}", f"+layer {b!r} in its place"]
    last = None
    for item in found.configs:
        if item.layer != last:
            lines.append(f" layer {item.layer!r}" if item.layer else " model")
            last = item.layer
        lines += [f"-  {item.key}: {item.a}", f"+  {item.key}: {item.b}"]
    lines += [f" weight {item.layer}, {item.name}: {_distance(item)}" for item in found.weights]
    lines += [f" optimizer, {item.name}: {_distance(item)}" for item in found.optimizer]
    if found.left_out:
        lines.append(f" and {found.left_out:,} more differences")
    return [*lines, *(f"note:      {note}" for note in found.notes), *_summary(found)]


def _heading(side: ComparedFile) -> str:
    what = "a weights file" if side.form == "weights" else "a full model file"
    taken_off = f", without its wrapper for {side.replicas} GPUs" if side.replicas else ""
    return f"{side.path}: {what}, written by {written_by(side.keras_version)}{taken_off}"


def _distance(item: ArrayDifference) -> str:
    if item.reason == "values":
        apart = f"by at most {item.largest:.3g}" if item.largest == item.largest else "NaN against numbers"
        return f"{item.different:,} of {item.elements:,} values differ, {apart}"
    return f"{item.reason}: {item.detail}" if item.detail else item.reason


def _summary(found: Comparison) -> list[str]:
    unequal = sum(1 for item in found.weights if not item.reason.startswith("only"))
    lines = [f"weights:   {found.arrays:,} arrays compared, {found.arrays - unequal:,} equal"]
    if found.optimizer_arrays:
        unequal = sum(1 for item in found.optimizer if not item.reason.startswith("only"))
        lines.append(
            f"optimizer: {found.optimizer_arrays:,} arrays compared, {found.optimizer_arrays - unequal:,} equal"
        )
    versions = [f"{side.keras_version or 'unknown'} ({side.backend or 'unknown'})" for side in (found.a, found.b)]
    if versions[0] != versions[1]:
        lines.append(f"versions:  {versions[0]} and {versions[1]}, which decides nothing")
    return [*lines, f"verdict:   {_verdict(found)}"]


def _verdict(found: Comparison) -> str:
    if found.equal:
        return "the same model"
    training = all(not item.layer and item.key.startswith("training_config") for item in found.configs)
    if training and not any((found.only_in_a, found.only_in_b, found.renamed, found.weights)):
        return "different in the training state only"
    return "different"
