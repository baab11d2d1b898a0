"""How a nested model's flat list of weights falls apart into layers.

In every version of Keras the group of a nested model holds one list: all trainable weights of its layers
in layer order, then all others in layer order; a frozen layer's weights are all among the others.  Names
do not identify a layer (copies get suffixes, name scopes come in front), so the list is dealt out by
order and counts, and checked by names and shapes.  What contradicts, or can be read in two ways, is
refused.  The counts are `weight_table`'s; reading and writing the arrays is not done here.
"""

from collections import Counter
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..errors import AmbiguousWeightsError, WeightsError
from ..model import Layer, LayerWeights, Topology, WeightRef
from .names import claims, role_and_prefix, split_by_names, stem
from .table import ROWS, WEIGHTLESS, Config, Dim, Slot, Spec, is_keras_1

__all__ = ["Slot", "Spec", "expected_weights", "is_weightless", "split", "split_by_names"]

_HINT_OTHER = "the weights and the architecture must be of one model, with the same layers frozen"
_HINT_AMBIGUOUS = "open it with the Keras that wrote it and save the inner model there; unparallel does not guess"


# -- what a layer should own ------------------------------------------------------------------------------


def expected_weights(layer: Layer, tf_keras: Optional[bool] = None) -> Optional[Spec]:
    """The weights that a layer should own, by its class and config alone.

    Parameters
    ----------
    layer : Layer
        A nested model gives the lists of all its layers, as its own group has them.
    tf_keras : bool, optional
        Whether the config is tf.keras' and not standalone Keras', where that is known.

    Returns
    -------
    Spec or None
        None for a class that is not in the table, or that holds such a layer.
    """
    if layer.submodel is not None:
        return _joined([(inner.name, expected_weights(inner, tf_keras)) for inner in layer.submodel.layers])
    return next(iter(_specs(layer.class_name, layer.config, tf_keras)), None)


def is_weightless(layer: Layer) -> bool:
    """Whether the table says that a layer owns no weight; a nested model, that none of its layers does."""
    spec = expected_weights(layer)
    return spec is not None and not spec.trainable and not spec.rest


def _joined(parts: Sequence[Tuple[str, Optional[Spec]]]) -> Optional[Spec]:
    """The specs of several layers as one list each; None if one of them is unknown."""
    trainable: List[Slot] = []
    rest: List[Slot] = []
    for name, spec in parts:
        if spec is None:
            return None
        trainable += [_within(name, slot) for slot in spec.trainable]
        rest += [_within(name, slot) for slot in spec.rest]
    return Spec(tuple(trainable), tuple(rest))


def _within(name: str, slot: Slot) -> Slot:
    return slot._replace(part=name + "/" + slot.part)


def _specs(class_name: str, config: Any, tf_keras: Optional[bool]) -> Tuple[Spec, ...]:
    """All that a layer may own, likeliest first; empty where the table does not know."""
    if class_name == "Merge" and isinstance(config, dict) and config.get("layers"):
        return ()  # the branches of a Keras 1 Sequential, inside the layer that merges them
    if class_name in WEIGHTLESS:
        return (Spec(),)
    if isinstance(config, list) or (isinstance(config, dict) and isinstance(config.get("layers"), list)):
        return _model_specs(config if isinstance(config, list) else config["layers"], tf_keras)
    if not isinstance(config, dict):
        return ()
    if class_name in _WRAPPERS:
        return _wrapper_specs(class_name, config, tf_keras)
    row = ROWS.get(class_name)
    spec = row(config) if row is not None else None
    return () if spec is None else _by_flag(class_name, config, spec, tf_keras)


def _by_flag(class_name: str, config: Config, spec: Spec, tf_keras: Optional[bool]) -> Tuple[Spec, ...]:
    """A layer's lists as its own `trainable` has them."""
    if config.get("trainable") is not False or not spec.trainable:
        return (spec,)
    if tf_keras or class_name not in _FLAG_IN_VAIN or is_keras_1(config):
        return (spec.frozen(),)
    return (spec.frozen(), spec)


#: Classes whose `trainable` was written down and froze nothing, up to Keras 2.1.
_FLAG_IN_VAIN = frozenset(["TimeDistributed", "Bidirectional", "RNN", "SimpleRNN", "GRU", "LSTM"])

#: Wrapper classes, each with the keys of the layers that it wraps, in the order of their weights.
_WRAPPERS: Dict[str, Tuple[str, ...]] = {
    "TimeDistributed": ("layer",),
    "Bidirectional": ("layer", "backward_layer"),
    "RNN": ("cell",),
    "ConvRNN2D": ("cell",),
    "StackedRNNCells": ("cells",),
    "DropoutWrapper": ("cell",),
    "ResidualWrapper": ("cell",),
    "DeviceWrapper": ("cell",),
    "RNNCellDropoutWrapper": ("cell",),
    "RNNCellResidualWrapper": ("cell",),
    "RNNCellDeviceWrapper": ("cell",),
}


def _wrapped(class_name: str, config: Config) -> List[Any]:
    """The `{"class_name", "config"}` of what a wrapper wraps, in the order of the weights."""
    found: List[Any] = []
    for key in _WRAPPERS[class_name]:
        value = config.get(key)
        found += value if isinstance(value, list) else [] if value is None else [value]
    if class_name == "Bidirectional" and len(found) == 1:
        found *= 2  # the backward layer is a copy
    return found


def _wrapper_specs(class_name: str, config: Config, tf_keras: Optional[bool]) -> Tuple[Spec, ...]:
    inside = _wrapped(class_name, config)
    spec = _of_all(inside, tf_keras)
    if spec is None or not inside:
        return ()
    if class_name == "Bidirectional" and not spec.trainable:
        # the copies' flags are set apart from that of the layer that is written down
        free = Spec(spec.rest)
        return (spec,) if config.get("trainable") is False else (free, spec)
    if class_name == "TimeDistributed" and not tf_keras and _holds_model(inside[0]) and spec.trainable:
        return (spec.frozen(), spec) if config.get("trainable") is False else (spec, spec.frozen())
    return _by_flag(class_name, config, spec, tf_keras)


def _holds_model(entry: Any) -> bool:
    config = entry.get("config")
    return isinstance(config, list) or (isinstance(config, dict) and "layers" in config)


def _model_specs(layers: Sequence[Any], tf_keras: Optional[bool]) -> Tuple[Spec, ...]:
    """Of a model inside a wrapper's config."""
    spec = _of_all(layers, tf_keras)
    return () if spec is None else (spec,)


def _of_all(entries: Sequence[Any], tf_keras: Optional[bool]) -> Optional[Spec]:
    """The likeliest lists of several `{"class_name", "config"}`, joined."""
    parts: List[Tuple[str, Optional[Spec]]] = []
    for index, entry in enumerate(entries):
        known = _specs(str(entry.get("class_name")), entry.get("config"), tf_keras) if isinstance(entry, dict) else ()
        parts.append((str(index), known[0] if known else None))
    return _joined(parts)


# -- layers as nodes --------------------------------------------------------------------------------------


class _Node:
    """A layer, or a nested model with its layers, ready to be dealt weights.

    `children` is None for a layer; `specs` is all that it may own, empty if the table does not know.
    `size` counts its weights (None: unknown), `least` is the fewest that they may be.  `movable` is a
    model whose weights would move if it was frozen; `open` has more than one reading.
    """

    def __init__(self, layer: Layer, tf_keras: Optional[bool] = None) -> None:
        self.name = layer.name
        self.children: Optional[List[_Node]] = None
        self.specs: Tuple[Spec, ...] = ()
        self.names: FrozenSet[str] = frozenset([layer.name])
        if layer.submodel is not None:
            self._read_model(layer.submodel, tf_keras)
        else:
            self._read_layer(layer, tf_keras)

    def _read_layer(self, layer: Layer, tf_keras: Optional[bool]) -> None:
        self.specs = _specs(layer.class_name, layer.config, tf_keras)
        self.frozen = isinstance(layer.config, dict) and layer.config.get("trainable") is False
        self.names = self.names.union(_inner_names(layer.config))
        self.size: Optional[int] = _size(self.specs[0]) if self.specs else None
        self.least: int = self.size or 0
        self.movable: bool = False
        self.open: bool = len(self.specs) != 1

    def _read_model(self, topology: Topology, tf_keras: Optional[bool]) -> None:
        self.children = [_Node(inner, tf_keras) for inner in topology.layers]
        self.frozen = _model_flag(topology) is False
        self.names = _all_names(self.children)
        sizes = [child.size for child in self.children]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)
        self.least = sum(child.least for child in self.children)
        self.movable = any(child.movable or _has_trainable(child) for child in self.children)
        self.open = self.movable or any(child.open for child in self.children)


def _all_names(nodes: Sequence[_Node]) -> FrozenSet[str]:
    return frozenset(name for node in nodes for name in node.names)


def _size(spec: Spec) -> int:
    return len(spec.trainable) + len(spec.rest)


def _has_trainable(node: _Node) -> bool:
    """Whether freezing the model around it could move weights of this layer."""
    return node.children is None and (not node.specs or any(spec.trainable for spec in node.specs))


def _model_flag(topology: Topology) -> Optional[bool]:
    """A model's own `trainable` where its config has one (no old Keras writes it)."""
    inner = topology.config.get("config") if isinstance(topology.config, dict) else None
    flag = inner.get("trainable") if isinstance(inner, dict) else None
    return flag if isinstance(flag, bool) else None


def _inner_names(config: Any) -> Iterator[str]:
    """Names of the layers inside a wrapper's config."""
    values = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    for value in values:
        inner = value.get("config") if isinstance(value, dict) and "class_name" in value else None
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            yield inner["name"]
        if isinstance(value, (dict, list)):
            yield from _inner_names(value)


# -- one weight in one slot -------------------------------------------------------------------------------


class _Fit:
    """Weights of one layer, added one by one; `why` tells what the last one lacked."""

    def __init__(self) -> None:
        self.lengths: Dict[Tuple[str, str], int] = {}
        self.prefixes: Dict[str, str] = {}
        self.why = ""

    def add(self, slot: Slot, ref: WeightRef) -> bool:
        role, prefix = role_and_prefix(ref.name)
        if role and role != slot.role:
            self.why = f"its name says {role}"
        elif not self._same_shape(slot, ref.shape):
            self.why = f"its shape is {ref.shape}"
        elif role and self.prefixes.setdefault(slot.part, prefix) != prefix:
            self.why = f"its layer's other weights are named {self.prefixes[slot.part]}/..."
        else:
            return True
        return False

    def _same_shape(self, slot: Slot, shape: Tuple[int, ...]) -> bool:
        if slot.shape is None:
            return True
        if len(slot.shape) != len(shape):
            return False
        return all(self._same_length(slot.part, want, have) for want, have in zip(slot.shape, shape))

    def _same_length(self, part: str, want: Dim, have: int) -> bool:
        if want is None:
            return True
        if isinstance(want, str):
            return self.lengths.setdefault((part, want), have) == have
        return want == have

    def needs(self, slot: Slot) -> str:
        """The shape that a slot wants, as far as it is known."""
        if slot.shape is None:
            return slot.role
        dims = [self.lengths.get((slot.part, dim), "?") if isinstance(dim, str) else dim for dim in slot.shape]
        texts = ["?" if dim is None else str(dim) for dim in dims]
        return "{} of shape ({})".format(slot.role, ", ".join(texts) + ("," if len(texts) == 1 else ""))


# -- first reading: the flags of the config ---------------------------------------------------------------


class _Place(NamedTuple):
    """One slot of the flat list: the layer of the outermost model, the layer itself, the slot."""

    top: int
    leaf: _Node
    slot: Slot


def _places(node: _Node, top: int) -> Tuple[List[_Place], List[_Place]]:
    """A node's trainable slots and its other slots, as its flags say."""
    if node.children is None:
        spec = node.specs[0]
        first, second = ([_Place(top, node, slot) for slot in half] for half in spec)
        return first, second
    trainable: List[_Place] = []
    rest: List[_Place] = []
    for child in node.children:
        first, second = _places(child, top)
        trainable += first
        rest += second
    return ([], trainable + rest) if node.frozen else (trainable, rest)


def _plan(nodes: Sequence[_Node]) -> List[_Place]:
    """The whole flat list, as the flags say."""
    pairs = [_places(node, top) for top, node in enumerate(nodes)]
    return [place for half in (0, 1) for pair in pairs for place in pair[half]]


def _misfit(plan: Sequence[_Place], refs: Sequence[WeightRef]) -> str:
    """What is wrong with the plan, as the message of an error; empty if nothing is."""
    fits: Dict[int, _Fit] = {}
    for place, ref in zip(plan, refs):
        fit = fits.setdefault(id(place.leaf), _Fit())
        if not fit.add(place.slot, ref):
            need = f"layer {place.leaf.name!r} needs {fit.needs(place.slot)}"
            return f"{need}, but the file has {ref.name} {ref.shape} in its place ({fit.why})"
    if len(plan) > len(refs):
        place = plan[len(refs)]
        need = _Fit().needs(place.slot)
        return f"layer {place.leaf.name!r} lacks {need}: the list of weights ends after {len(refs)}"
    if len(plan) < len(refs):
        ref = refs[len(plan)]
        return f"no layer is left for {ref.name} {ref.shape}"
    return ""


# -- the names' verdict -----------------------------------------------------------------------------------


class _Verdict(NamedTuple):
    """What the names say of a reading: `against` is an error's message, `certain` that each name agrees."""

    against: str
    certain: bool


def _judge(pairs: Sequence[Tuple[_Node, WeightRef]], known: FrozenSet[str]) -> _Verdict:
    """Whether each weight is named after the layer that it would go to, or at least not after another one."""
    strange: Dict[str, str] = {}
    certain = True
    groups: Dict[str, Dict[int, int]] = {}
    renumbered: Set[str] = set()
    unknown: Set[str] = set()
    twins = _shared_names({id(leaf): leaf for leaf, _ in pairs}.values())
    for leaf, ref in pairs:
        named = claims(ref.name, known)
        own = leaf.names & named
        certain = certain and not own <= twins
        (base, number), (word, other) = stem(leaf.name), _counted(ref, leaf)
        if base == word:
            groups.setdefault(base, {})[number] = other
            if not own:
                renumbered.add(base)
                if not leaf.specs:
                    unknown.add(base)
        if named and not own:
            strange.setdefault(base if base == word else "", _named_after_another(leaf, ref, named))
    return _Verdict(_renumbering(strange, groups, renumbered, unknown) or ("" if certain else _mixed(pairs)), certain)


def _mixed(pairs: Sequence[Tuple[_Node, WeightRef]]) -> str:
    """Two layers under one name, or a layer of unknown class under two: the message of an error."""
    owners: Dict[str, _Node] = {}
    tops: Dict[int, str] = {}
    for leaf, ref in pairs:
        role, prefix = role_and_prefix(ref.name)
        owner = owners.setdefault(prefix, leaf) if role and prefix else leaf
        if owner is not leaf:
            return f"layers {owner.name!r} and {leaf.name!r} would share weights of one name: {prefix}"
        top = prefix.partition("/")[0]
        if top and not leaf.specs and tops.setdefault(id(leaf), top) != top:
            return f"layer {leaf.name!r} would get weights of two names: {tops[id(leaf)]}, {top}"
    return ""


def _shared_names(leaves: Iterable[_Node]) -> FrozenSet[str]:
    """Names that several layers have (each in a model of its own), and that tell nothing therefore."""
    count = Counter(name for leaf in leaves for name in leaf.names)
    return frozenset(name for name, times in count.items() if times > 1)


def _counted(ref: WeightRef, leaf: _Node) -> Tuple[str, int]:
    """The layer's name and number in a weight's name, without the scopes around it."""
    prefix = role_and_prefix(ref.name)[1]
    return stem(prefix if "/" in leaf.name else prefix.rpartition("/")[2])


def _renumbering(
    strange: Dict[str, str], groups: Dict[str, Dict[int, int]], renumbered: Set[str], unknown: Set[str]
) -> str:
    """Automatic names may be counted anew, in order and in one direction; what else differs is an error.

    Where layers of `unknown` classes are among them, nothing but the count tells whose a weight is: no gaps then.
    """
    for base in sorted(renumbered):
        row = sorted(groups[base].items())
        ordered = all(a[1] < b[1] for a, b in zip(row, row[1:]))
        one_way = all(new < old for old, new in row) or all(new > old for old, new in row)
        even = base not in unknown or len({new - old for old, new in row}) == 1
        if not (ordered and even and (one_way or base not in strange)):
            how = "come in another order than the layers"
            if ordered:
                how = "are counted with gaps that the layers do not have"
            return strange.get(base, f"the weights named {base}, {base}_1, ... {how}")
        strange.pop(base, None)
    return next(iter(strange.values()), "")


def _named_after_another(leaf: _Node, ref: WeightRef, named: FrozenSet[str]) -> str:
    place = f"by its place in the list {ref.name} {ref.shape} belongs to layer {leaf.name!r}"
    return f"{place}, but it is named after {min(named)!r}"


# -- other readings: frozen inner models, unknown classes -------------------------------------------------

_State = Tuple[int, Optional[int]]
_Reading = List[Tuple[int, ...]]


class _Readings:
    """All ways to deal a flat list out, where flags are not in the config or counts are not in the table.

    A state is a pair of places in the list: the next trainable weight and the next other one.  Each node
    takes a run at both places.  A frozen inner model takes one run at the second.
    """

    def __init__(self, refs: Sequence[WeightRef], known: FrozenSet[str], nodes: Sequence[_Node]) -> None:
        self.refs = refs
        self.claims = [claims(ref.name, known) for ref in refs]
        self.work = 8 * len(refs) + 50000
        self.blocks: Dict[Tuple[int, int, int], bool] = {}
        self.passed: Dict[int, int] = {}
        leaves: List[_Node] = []
        _number(nodes, leaves, self.passed)
        last: Dict[str, int] = {}
        for number, leaf in enumerate(leaves):
            last.update((name, number) for name in leaf.names)
        self.last = [max((last[name] for name in named), default=len(last)) for named in self.claims]

    def find(self, nodes: Sequence[_Node], start: int, end: int) -> Iterator[_Reading]:
        """Each reading of refs[start:end], as the indices that each node gets."""
        ends: Set[_State] = {(start, None)}
        for node in nodes:
            ends = self.after(node, ends, end, end)
        for middle in sorted((at for at, _ in ends), reverse=True):
            yield from self._with_middle(nodes, start, middle, end)

    def _with_middle(self, nodes: Sequence[_Node], start: int, middle: int, end: int) -> Iterator[_Reading]:
        """The readings whose trainable half is refs[start:middle]."""
        before: List[Dict[_State, List[_State]]] = []
        states: Set[_State] = {(start, middle)}
        for node in nodes:
            reached: Dict[_State, List[_State]] = {}
            for state in states:
                for following in self.after(node, {state}, middle, end):
                    reached.setdefault(following, []).append(state)
            before.append(reached)
            states = set(reached)
        if (middle, end) in states:
            for path in _paths(before, (middle, end)):
                yield [_run(a, b) for a, b in zip(path, path[1:])]

    def after(self, node: _Node, states: Iterable[_State], middle: int, end: int) -> Set[_State]:
        """Where the two places may be after a node; `other` None leaves the second half open."""
        reached = {state for at, other in states for state in self._step(node, at, other, middle, end)}
        passed = self.passed[id(node)]
        return {state for state in reached if not self._is_stuck(state, passed, middle, end)}

    def _is_stuck(self, state: _State, passed: int, middle: int, end: int) -> bool:
        """Whether a weight comes next that is named after layers that have had their turn."""
        at, other = state
        if other is None:
            return False  # the second half may begin here
        return (at < middle and self.last[at] <= passed) or (other < end and self.last[other] <= passed)

    def _step(self, node: _Node, at: int, other: Optional[int], middle: int, end: int) -> Set[_State]:
        if node.children is None:
            return self._leaf(node, at, other, middle, end)
        states: Set[_State] = {(at, other)}
        for child in node.children:
            states = self.after(child, states, middle, end)
            if not states:
                break
        if node.movable:
            states |= self._frozen_block(node, at, other, end)
        return states

    def _frozen_block(self, node: _Node, at: int, other: Optional[int], end: int) -> Set[_State]:
        if other is None:
            return {(at, None)}
        sizes = range(node.least, end - other + 1) if node.size is None else range(node.size, node.size + 1)
        stops = [other + size for size in sizes if other + size <= end]
        return {(at, stop) for stop in stops if self._is_block(node, other, stop)}

    def _is_block(self, node: _Node, start: int, stop: int) -> bool:
        key = (id(node), start, stop)
        if key not in self.blocks:
            self.blocks[key] = next(self.find(node.children or [], start, stop), None) is not None
        return self.blocks[key]

    def _leaf(self, node: _Node, at: int, other: Optional[int], middle: int, end: int) -> Set[_State]:
        self._spend()
        if not node.specs:
            firsts = [at] if node.frozen else self._free_run(node, at, middle)
            seconds: Sequence[Optional[int]] = [None] if other is None else self._free_run(node, other, end)
            return {(a, b) for a in firsts for b in seconds}
        found: Set[_State] = set()
        for spec in node.specs:
            fit = _Fit()
            after = self._fixed_run(node, fit, spec.trainable, at, middle)
            if after is None:
                continue
            last = None if other is None else self._fixed_run(node, fit, spec.rest, other, end)
            if other is None or last is not None:
                found.add((after, last))
        return found

    def _spend(self) -> None:
        self.work -= 1
        if self.work < 0:
            raise AmbiguousWeightsError("too many ways to deal the weights out to the layers", _HINT_AMBIGUOUS)

    def _may_have(self, node: _Node, index: int) -> bool:
        """A weight named after other layers only is not for this one."""
        return not self.claims[index] or not node.names.isdisjoint(self.claims[index])

    def _free_run(self, node: _Node, at: int, stop: int) -> List[int]:
        ends = [at]
        while ends[-1] < stop and self._may_have(node, ends[-1]):
            ends.append(ends[-1] + 1)
            self._spend()
        return ends

    def _fixed_run(self, node: _Node, fit: _Fit, slots: Sequence[Slot], at: int, stop: int) -> Optional[int]:
        if at + len(slots) > stop:
            return None
        for index, slot in enumerate(slots, at):
            if not (self._may_have(node, index) and fit.add(slot, self.refs[index])):
                return None
        return at + len(slots)


def _number(nodes: Sequence[_Node], leaves: List[_Node], passed: Dict[int, int]) -> None:
    """Put all layers in order into `leaves`, and the number of each node's last one into `passed`."""
    for node in nodes:
        if node.children is None:
            leaves.append(node)
        else:
            _number(node.children, leaves, passed)
        passed[id(node)] = len(leaves) - 1


def _paths(before: List[Dict[_State, List[_State]]], last: _State) -> Iterator[List[_State]]:
    """Each chain of states that ends in `last`; at least one parent of each leads to the start."""
    stack: List[Tuple[int, List[_State]]] = [(len(before), [last])]
    while stack:
        depth, chain = stack.pop()
        while depth:
            depth -= 1
            parents = before[depth][chain[-1]]
            for parent in parents[1:]:
                stack.append((depth, chain + [parent]))
            chain.append(parents[0])
        yield chain[::-1]


def _run(a: _State, b: _State) -> Tuple[int, ...]:
    return tuple(range(a[0], b[0])) + tuple(range(a[1] or 0, b[1] or 0))


# -- the deal ---------------------------------------------------------------------------------------------


def split(
    topology: Topology, weights: Sequence[WeightRef], tf_keras: Optional[bool] = None
) -> Tuple[LayerWeights, ...]:
    """Deal a nested model's flat list of weights out to its layers.

    Parameters
    ----------
    topology : Topology
        The nested model.
    weights : sequence of WeightRef
        Its group's list, in the order of `weight_names`.
    tf_keras : bool, optional
        Whether tf.keras wrote it, where that is known.

    Returns
    -------
    tuple of LayerWeights
        One for each layer of the topology, in its order; a nested model inside gets its own flat list.
        Each weight is in it exactly once.

    Raises
    ------
    WeightsError
        The weights and the layers do not add up, or the names contradict the order.
    AmbiguousWeightsError
        Two readings fit: the message names the layers that differ in them.
    """
    nodes = [_Node(layer, tf_keras) for layer in topology.layers]
    lists = _deal(nodes, weights, _all_names(nodes))
    return tuple(LayerWeights(node.name, tuple(owned)) for node, owned in zip(nodes, lists))


def _deal(nodes: Sequence[_Node], refs: Sequence[WeightRef], known: FrozenSet[str]) -> List[List[WeightRef]]:
    """What each node gets: by the flags if names agree, else by the one reading that fits, if it is one."""
    trouble = ""
    first: Optional[List[List[WeightRef]]] = None
    if all(node.size is not None for node in nodes):
        plan = _plan(nodes)
        trouble = _misfit(plan, refs)
        if not trouble:
            verdict = _judge([(place.leaf, ref) for place, ref in zip(plan, refs)], known)
            trouble = verdict.against
            first = None if trouble else _gathered(plan, refs, len(nodes))
            if first is not None and verdict.certain:
                return first
    found = _search(nodes, refs, known) if any(node.open for node in nodes) else None
    if first is not None and found is not None and found != first:
        raise _ambiguous(nodes, first, found)
    if first is None and found is None:
        raise WeightsError((trouble or _unfitting(nodes, refs, known)) + _counts(nodes, refs), _HINT_OTHER)
    # where names are counted anew no reading by names exists, and the flags' own stands
    return found or first or []


def _ambiguous(nodes: Sequence[_Node], one: Sequence[Any], other: Sequence[Any]) -> AmbiguousWeightsError:
    doubt = ", ".join(repr(node.name) for node, a, b in zip(nodes, one, other) if a != b)
    text = f"the weights can be dealt out in more than one way to the layers {doubt}"
    return AmbiguousWeightsError(text, _HINT_AMBIGUOUS)


def _counts(nodes: Sequence[_Node], refs: Sequence[WeightRef]) -> str:
    """How many weights there are and should be, where that differs."""
    sizes = [node.size for node in nodes if node.size is not None]
    if len(sizes) < len(nodes) or sum(sizes) == len(refs):
        return ""
    return f"; the file has {len(refs)} weights, the layers need {sum(sizes)}"


def _gathered(plan: Sequence[_Place], refs: Sequence[WeightRef], count: int) -> List[List[WeightRef]]:
    lists: List[List[WeightRef]] = [[] for _ in range(count)]
    for place, ref in zip(plan, refs):
        lists[place.top].append(ref)
    return lists


def _search(
    nodes: Sequence[_Node], refs: Sequence[WeightRef], known: FrozenSet[str]
) -> Optional[List[List[WeightRef]]]:
    """The one reading that fits; None if none does."""
    found: List[_Reading] = []
    for reading in _Readings(refs, known, nodes).find(nodes, 0, len(refs)):
        if reading not in found:
            found.append(reading)
        if len(found) > 1:
            raise _ambiguous(nodes, *found)
    if not found:
        return None
    lists = [[refs[index] for index in indices] for indices in found[0]]
    verdict = _judge(list(_leaf_pairs(nodes, lists, known)), known)
    if verdict.against:
        raise WeightsError(verdict.against, _HINT_OTHER)
    return lists


def _leaf_pairs(
    nodes: Sequence[_Node], lists: Sequence[Sequence[WeightRef]], known: FrozenSet[str]
) -> Iterator[Tuple[_Node, WeightRef]]:
    """Each weight with the innermost layer that it goes to."""
    for node, owned in zip(nodes, lists):
        if node.children is None:
            for ref in owned:
                yield node, ref
            continue
        reading = next(_Readings(owned, known, node.children).find(node.children, 0, len(owned)), None)
        inner = [[owned[index] for index in indices] for indices in reading or ()]
        yield from _leaf_pairs(node.children, inner, known)


def _unfitting(nodes: Sequence[_Node], refs: Sequence[WeightRef], known: FrozenSet[str]) -> str:
    """Where a list that has layers of unknown classes stops to fit: the message of an error."""
    readings = _Readings(refs, known, nodes)
    ends: Set[_State] = {(0, None)}
    for node in nodes:
        reached = readings.after(node, ends, len(refs), len(refs))
        if not reached:
            at = max(at for at, _ in ends)
            have = f"{refs[at].name} {refs[at].shape}" if at < len(refs) else "nothing more"
            return f"layer {node.name!r} does not fit the weights: at its place the file has {have}"
        ends = reached
    return "the weights of the second half of the list (what is not trained) do not fit the layers"
