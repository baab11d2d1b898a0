"""`Match` -> clean topology and where each of its layers' weights come from.  Pure: no file, no graph library.

The N replicas are collapsed into the first, what the slices cut flows straight in, what reads the merges
reads straight out.  If one nested model is left between the inputs and the outputs, that model is the
result; if there is anything before, after or beside it, the outer model stays, with the template in it.
Models inside are cleaned first, so that wrappers at any depth, and wrappers of wrappers, come apart.
"""

import re
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from . import keras_config
from .errors import ConfigError, WeightsError
from .graph import layer_order, reachable
from .match import Match, NearMiss, SearchResult
from .model import Layer, LayerWeights, TensorKey, Topology, WeightRef
from .weights.assignment import is_weightless, split

Path = Tuple[str, ...]
Finder = Callable[[Topology, Path], SearchResult]


class LocatedMatch(NamedTuple):
    """A wrapper and where it stood: the names of the models around it, from the outside in."""

    path: Path
    match: Match
    template: str
    wrapper: str


@dataclass(frozen=True, eq=False, repr=False)
class CleanModel:
    """A topology without its wrappers.

    Parameters
    ----------
    topology : Topology
        The result; the very object that came in where no wrapper was found.
    origins : dict of str to tuple of str
        For each layer of the result, its path of layer names in what came in.
    outputs : tuple of int
        For each output of what came in, which output of the result it is.
    matches : tuple of LocatedMatch
    near_misses : tuple of NearMiss
        What looks parallel and is not, nearest first.
    renamed : tuple of (str, str)
        Layers that bear another name now.
    """

    topology: Topology
    origins: Mapping[str, Path]
    outputs: Tuple[int, ...]
    matches: Tuple[LocatedMatch, ...] = ()
    near_misses: Tuple[NearMiss, ...] = ()
    renamed: Tuple[Tuple[str, str], ...] = ()


def clean(topology: Topology, find: Finder, path: Path = ()) -> CleanModel:
    """Undo every data-parallel wrapper in a model, the innermost first.

    Parameters
    ----------
    topology : Topology
    find : callable
        `find(topology, path)` gives what one model's own graph holds.
    path : tuple of str
        Names of the models around this one.

    Returns
    -------
    CleanModel
        With `matches` empty, and the topology as it was, where there is nothing to undo.
    """
    inner = {
        layer.name: clean(layer.submodel, find, path + (layer.name,))
        for layer in topology.layers
        if layer.submodel is not None
    }
    changed = {name: cleaned for name, cleaned in inner.items() if cleaned.matches}
    swapped = _swap(topology, changed)
    found = find(swapped.topology, path)
    near = found.near_misses + tuple(miss for cleaned in inner.values() for miss in cleaned.near_misses)
    placed = tuple(match for cleaned in inner.values() for match in cleaned.matches)
    if not found.matches and not changed:
        return CleanModel(topology, swapped.origins, swapped.outputs, (), near)
    here = _collapsed(topology, swapped, found.matches)
    alone = _template_alone(here, changed, within=bool(path)) if found.matches else None
    result = alone or here
    own = tuple(
        LocatedMatch(
            path, match, alone.topology.name if alone else _template_name(swapped.topology, match), topology.name
        )
        for match in found.matches
    )
    return replace(result, matches=own + placed, near_misses=near)


def _collapsed(topology: Topology, swapped: CleanModel, matches: Sequence[Match]) -> CleanModel:
    """The model with its own wrappers collapsed and its config written anew."""
    collapsed, names = _collapse(swapped.topology, matches)
    rendered = replace(collapsed, config=keras_config.render(collapsed, topology))
    origins = {names.get(name, name): origin for name, origin in swapped.origins.items()}
    return CleanModel(
        rendered,
        {layer.name: origins[layer.name] for layer in rendered.layers},
        swapped.outputs,
        renamed=swapped.renamed + tuple(names.items()),
    )


def _template_name(topology: Topology, match: Match) -> str:
    """The name of a nested template; "" where the towers were inlined."""
    layers = {calls[0][0] for calls in match.towers}
    name = layers.pop() if len(layers) == 1 else ""
    return name if name and topology.layer(name).submodel is not None else ""


# -- models inside


def _swap(topology: Topology, changed: Mapping[str, CleanModel]) -> CleanModel:
    """The topology with its nested models replaced by their cleaned selves, each under its own name."""
    names = _new_names(topology, changed)
    same = tuple(range(len(topology.outputs)))
    origins = {names.get(layer.name, layer.name): (layer.name,) for layer in topology.layers}
    if not changed:
        return CleanModel(topology, origins, same)

    def key(old: TensorKey) -> TensorKey:
        if old.layer not in changed:
            return old
        return TensorKey(names[old.layer], old.call, changed[old.layer].outputs[old.tensor])

    layers = []
    for layer in topology.layers:
        calls = tuple(replace(call, inputs=tuple(map(key, call.inputs))) for call in layer.calls)
        new = replace(layer, calls=calls)
        if layer.name in changed:
            new = _swapped(new, changed[layer.name].topology, names[layer.name])
        layers.append(new)
    renamed = tuple((old, new) for old, new in names.items() if old != new)
    result = replace(topology, layers=tuple(layers), outputs=tuple(map(key, topology.outputs)))
    return CleanModel(result, origins, same, renamed=renamed)


def _new_names(topology: Topology, changed: Mapping[str, CleanModel]) -> Dict[str, str]:
    """The template's name for each replaced model, or the wrapper's where that name is taken."""
    taken = {layer.name for layer in topology.layers}
    names = {}
    for old, cleaned in changed.items():
        new = cleaned.topology.name or old
        names[old] = old if new in taken else new
        taken.add(names[old])
    return names


def _swapped(layer: Layer, submodel: Topology, name: str) -> Layer:
    entry = {**layer.entry, "class_name": submodel.class_name, "config": submodel.config["config"]}
    if name != submodel.name:
        entry = keras_config.renamed(entry, name)
    return replace(
        layer, name=name, class_name=submodel.class_name, config=entry["config"], submodel=submodel, entry=entry
    )


# -- collapsing


def _collapse(topology: Topology, matches: Sequence[Match]) -> Tuple[Topology, Dict[str, str]]:
    """(the topology with each wrapper's replicas folded into the first, new names of kept layers)."""
    if not matches:
        return topology, {}
    flows = _flows(matches)
    gone: Set[Tuple[str, int]] = {key[:2] for key in flows}
    for match in matches:
        gone.update(call for calls in match.towers for call in calls[1:])
    odd = [key.layer for key in topology.inputs if key[:2] in gone]
    if odd:
        raise ConfigError(f"the model's input {odd[0]!r} is a part of the wrapper", "the config is damaged")
    outputs = tuple(_follow(flows, key) for key in topology.outputs)
    inputs = {
        (layer.name, i): tuple(_follow(flows, key) for key in call.inputs)
        for layer in topology.layers
        for i, call in enumerate(layer.calls)
        if (layer.name, i) not in gone
    }
    kept = reachable(inputs, outputs + topology.inputs)
    names = _fresh_names(topology, matches)
    numbers = _call_numbers(topology, kept)

    def new_key(key: TensorKey) -> TensorKey:
        return TensorKey(names.get(key.layer, key.layer), numbers[key[:2]], key.tensor)

    layers = []
    for layer in topology.layers:
        calls = tuple(
            replace(call, inputs=tuple(map(new_key, inputs[layer.name, i])))
            for i, call in enumerate(layer.calls)
            if (layer.name, i) in kept
        )
        if calls:
            layers.append(_renamed(replace(layer, calls=calls), names.get(layer.name, layer.name)))
    collapsed = replace(
        topology,
        layers=tuple(layers),
        inputs=tuple(map(new_key, topology.inputs)),
        outputs=tuple(map(new_key, outputs)),
    )
    order = {name: i for i, name in enumerate(layer_order(collapsed))}
    return replace(collapsed, layers=tuple(sorted(layers, key=lambda layer: order[layer.name]))), names


def _flows(matches: Sequence[Match]) -> Dict[TensorKey, TensorKey]:
    """What each tensor of a slice or a merge is in the clean model."""
    flows = {}
    for match in matches:
        flows.update({piece.tensor: piece.source for piece in match.slices})
        flows.update({TensorKey(merge.call[0], merge.call[1], 0): merge.parts[0] for merge in match.merges})
    return flows


def _follow(flows: Mapping[TensorKey, TensorKey], key: TensorKey) -> TensorKey:
    while key in flows:
        key = flows[key]
    return key


def _call_numbers(topology: Topology, kept: Set[Tuple[str, int]]) -> Dict[Tuple[str, int], int]:
    """The new number of each call that is kept."""
    numbers = {}
    for layer in topology.layers:
        for number, i in enumerate(i for i in range(len(layer.calls)) if (layer.name, i) in kept):
            numbers[layer.name, i] = number
    return numbers


def _renamed(layer: Layer, name: str) -> Layer:
    if name == layer.name:
        return layer
    entry = keras_config.renamed(layer.entry, name)
    return replace(layer, name=name, entry=entry, config=entry["config"])


def _fresh_names(topology: Topology, matches: Sequence[Match]) -> Dict[str, str]:
    """Names for layers that stood in each replica as a copy of its own.

    The copies `merge_1` and `merge_2` are none of them the template's layer: Keras, building the template,
    would have given the next free number.  Names that were chosen by hand stay (the first replica's).
    """
    highest: Dict[str, int] = {}
    for layer in topology.layers:
        stem, number = _numbered(layer.name)
        highest[stem] = max(number, highest.get(stem, 0))
    names = {}
    for calls in sorted({calls for match in matches for calls in match.towers}):
        layers = [name for name, _ in calls]
        stems = {_numbered(name)[0] for name in layers}
        if len(set(layers)) == len(layers) > 1 and len(stems) == 1 and layers[0] not in names:
            stem = stems.pop()
            highest[stem] += 1
            names[layers[0]] = f"{stem}_{highest[stem]}"
    return names


def _numbered(name: str) -> Tuple[str, int]:
    """("merge", 2) for "merge_2", ("merge", 0) for "merge"."""
    stem, number = re.fullmatch(r"(.*?)(?:_([0-9]{1,9}))?", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return stem, int(number or 0)


# -- the template alone


def _template_alone(here: CleanModel, changed: Mapping[str, CleanModel], within: bool) -> Optional[CleanModel]:
    """The nested template as the result, where nothing else stands between inputs and outputs.

    `within` another model the template may have outputs that the wrapper has not: what stands around it goes
    on reading those that it read.  A file's own model must give what it gave, in number and order.
    """
    result = here.topology
    models = [layer for layer in result.layers if layer.submodel is not None]
    others = [layer for layer in result.layers if layer.submodel is None and layer.class_name != "InputLayer"]
    if len(models) != 1 or others or len(models[0].calls) != 1:
        return None
    template, submodel = models[0], models[0].submodel
    assert submodel is not None
    call = template.calls[0]
    if call.inputs != result.inputs or keras_config.has_arguments(call):
        return None
    if any(key.layer != template.name for key in result.outputs):
        return None
    # an output that is listed twice is one tensor: the wrapper's merges may read either
    places: Dict[TensorKey, int] = {}
    first = [places.setdefault(key, i) for i, key in enumerate(submodel.outputs)]
    if any(key.tensor >= len(first) for key in result.outputs):
        return None
    outputs = _in_order([first[key.tensor] for key in result.outputs], first)
    if outputs is None or not (within or len(outputs) == len(first) or _joins_first_outputs(here, submodel)):
        return None
    prefix = here.origins[template.name]
    inner = changed.get(prefix[0])
    origins = {
        layer.name: prefix + (inner.origins[layer.name] if inner else (layer.name,)) for layer in submodel.layers
    }
    alone = replace(submodel, config=keras_config.as_model_config(template.entry))
    return CleanModel(alone, origins, tuple(outputs), renamed=here.renamed)


def _joins_first_outputs(here: CleanModel, template: Topology) -> bool:
    """Whether the model is a wrapper that only ever joined the first outputs of its template.

    Some wrappers of people's own did; the template is what they trained.  A model that was cut out of a wrapper,
    `Model(parallel.inputs, parallel.outputs[0])`, has the same graph, but was made after the wrapper: there is an
    automatic name between its own and the template's.
    """
    stem, number = _numbered(here.topology.name)
    next_of_template = stem in ("model", "functional") and (stem, number - 1) == _numbered(template.name)
    tensors = [key.tensor for key in here.topology.outputs]
    return next_of_template and tensors == list(range(len(tensors)))


def _in_order(wanted: Sequence[int], there: Sequence[int]) -> Optional[List[int]]:
    """Places of `wanted` in `there`, each after the one before; None where the order differs."""
    rest = iter(enumerate(there))
    places = [next((place for place, value in rest if value == one), None) for one in wanted]
    return None if None in places else [place for place in places if place is not None]


# -- weights


def assign_weights(
    topology: Topology,
    cleaned: CleanModel,
    groups: Mapping[str, LayerWeights],
    same_save: bool = False,
    by_path: Optional[Mapping[Path, LayerWeights]] = None,
) -> Tuple[LayerWeights, ...]:
    """The weights of each layer of the clean model.

    Parameters
    ----------
    topology : Topology
        What `cleaned` was made from.
    cleaned : CleanModel
    groups : dict of str to LayerWeights
        The weights of `topology`'s own layers, a nested model's as one flat list.
    same_save : bool
        Whether one `save()` wrote the topology and the weights.
    by_path : dict of path to LayerWeights, optional
        Those of layers in nested models, where the file tells them apart: no flat list is taken apart then.

    Returns
    -------
    tuple of LayerWeights
        One for each layer of `cleaned.topology`, in its order.

    Raises
    ------
    WeightsError
        Layers and weights do not add up, or a weight would be lost or used twice.
    """
    nested = _NestedGroups(topology, groups, same_save, by_path or {})
    assigned = []
    for layer in cleaned.topology.layers:
        weights, old = nested.weights_of(cleaned.origins[layer.name])
        if old.submodel is not None and layer.submodel is not None and old.submodel is not layer.submodel:
            _check_same_order(old.submodel, layer.submodel)
        assigned.append(LayerWeights(layer.name, weights))
    _check_all_assigned(groups, assigned)
    return tuple(assigned)


class _NestedGroups:
    """Takes nested groups apart, each once."""

    def __init__(
        self,
        topology: Topology,
        groups: Mapping[str, LayerWeights],
        same_save: bool,
        by_path: Mapping[Path, LayerWeights],
    ) -> None:
        self.same_save = same_save
        self.by_path = by_path
        self.levels: Dict[Path, Tuple[Topology, Mapping[str, LayerWeights]]] = {(): (topology, groups)}

    def weights_of(self, path: Path) -> Tuple[Tuple[WeightRef, ...], Layer]:
        """The weights of the layer at a path of names, and that layer."""
        topology, groups = self._level(path[:-1])
        group = groups.get(path[-1])
        return (group.weights if group else ()), topology.layer(path[-1])

    def _level(self, path: Path) -> Tuple[Topology, Mapping[str, LayerWeights]]:
        if path not in self.levels:
            weights, layer = self.weights_of(path)
            assert layer.submodel is not None
            known = [self.by_path.get(path + (inner.name,)) for inner in layer.submodel.layers]
            given = [group for group in known if group is not None]
            whole = len(given) == len(known)
            assigned = given if whole else split(layer.submodel, weights, same_save=self.same_save)
            groups = {group.layer: group for group in assigned}
            self.levels[path] = (layer.submodel, groups)
        return self.levels[path]


def _check_same_order(old: Topology, new: Topology) -> None:
    """A nested group's flat list stays valid only while its weighted layers keep their order."""
    kept = {id(layer.config): i for i, layer in enumerate(_leaves(old))}
    order = [kept[id(layer.config)] for layer in _leaves(new) if id(layer.config) in kept]
    if order != sorted(order):
        raise WeightsError(
            f"model {old.name!r}: its layers would change their order, and their weights with them",
            "please report this file's layout",
        )


def _leaves(topology: Topology) -> List[Layer]:
    return [layer for layer in topology.walk() if layer.submodel is None and not is_weightless(layer)]


def _check_all_assigned(groups: Mapping[str, LayerWeights], assigned: Sequence[LayerWeights]) -> None:
    before = sorted(ref.path for group in groups.values() for ref in group.weights)
    after = sorted(ref.path for group in assigned for ref in group.weights)
    if before != after:
        odd = sorted(set(before) ^ set(after)) or [path for path in after if after.count(path) > 1]
        raise WeightsError(f"weight {odd[0]} would be lost or used twice", "please report this file's layout")
