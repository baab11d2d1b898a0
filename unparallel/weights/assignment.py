"""How a nested model's flat list of weights is assigned to its layers.

In every version of Keras the group of a nested model holds one list: all trainable weights of its layers
in layer order, then all others in layer order; a frozen layer's weights are all among the others.  Names
do not identify a layer (copies get suffixes, name scopes come in front), so the list is assigned by
order and counts, and checked by names and shapes.  What contradicts, or can be read in two ways, is
refused.  The counts are `table`'s; reading and writing the arrays is not done here.

Several readings are tried, the surest first: the flags of the config; frozen inner models, which no config of
Keras 2 shows, and classes that the table does not know (`readings`); equal layers that own equally much; and, for
an architecture that was not saved with the weights, flags of another time.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Iterator, List, Sequence

from ..errors import AmbiguousWeightsError, WeightsError
from ..model import LayerWeights, Topology, WeightRef
from .evidence import Verdict, judge
from .expected import expected_weights, is_weightless
from .names import split_by_names, stem
from .nodes import Node, Place, all_names, misfit, places_by_flags
from .readings import HINT_AMBIGUOUS, Reading, Readings, Sizes
from .table import Slot, Spec

__all__ = ["Slot", "Spec", "expected_weights", "is_weightless", "split", "split_by_names"]

_HINT_OTHER = "the weights and the architecture must be of one model, with the same layers frozen"

#: Weights looked at, all tries together, before equal layers are no help: a tenth of a second.
MOST_WORK = 200_000
MOST_KINDS = 20

#: What each node gets.
Lists = List[List[WeightRef]]


def split(
    topology: Topology, weights: Sequence[WeightRef], tf_keras: bool | None = None, same_save: bool = False
) -> tuple[LayerWeights, ...]:
    """Assign a nested model's flat list of weights to its layers.

    Parameters
    ----------
    topology : Topology
        The nested model.
    weights : sequence of WeightRef
        Its group's list, in the order of `weight_names`.
    tf_keras : bool, optional
        Whether tf.keras wrote it, where that is known.
    same_save : bool
        Whether one `save()` wrote the topology and the weights: then its flags are those of the list, and where
        they leave nothing open order and counts are proof enough, whatever the layers were renamed to.

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
    nodes = [Node(layer, tf_keras) for layer in topology.layers]
    try:
        lists = _assigned(nodes, weights, same_save)
    except WeightsError:
        other = None if same_save else _by_other_flags(topology, weights, tf_keras)
        if other is None:
            raise
        lists = other
    return tuple(LayerWeights(node.name, tuple(owned)) for node, owned in zip(nodes, lists))


def _assigned(nodes: Sequence[Node], refs: Sequence[WeightRef], same_save: bool) -> Lists:
    """What each node gets: by the flags if names agree, else by the one reading that fits, if it is one."""
    known = all_names(nodes)
    is_open = any(node.open for node in nodes)
    trouble, first, verdict = "", None, Verdict("", False)
    if all(node.size is not None for node in nodes):
        places = places_by_flags(nodes)
        trouble = misfit(places, refs)
        if not trouble:
            first = _gathered(places, refs, len(nodes))
            verdict = judge([(place.leaf, ref) for place, ref in zip(places, refs)], known)
            trouble = verdict.against
            if verdict.certain or (same_save and not is_open):
                return first
    if first is not None and is_open and (verdict.renamed or (trouble and same_save)):
        # names are no help where layers were renamed; shapes may leave one reading
        return _only([first], nodes, refs)
    if trouble:
        first = None
    found = _search(nodes, refs, known) if is_open else None
    if first is not None and found is not None and found != first:
        raise _ambiguous(nodes, first, found)
    if first is None and found is None:
        raise WeightsError((trouble or _unfitting(nodes, refs, known)) + _counts(nodes, refs), _HINT_OTHER)
    # where names are counted anew no reading by names exists, and the flags' own stands
    return found or first or []


def _ambiguous(nodes: Sequence[Node], one: Sequence[object], other: Sequence[object]) -> AmbiguousWeightsError:
    doubt = ", ".join(repr(node.name) for node, a, b in zip(nodes, one, other) if a != b)
    return AmbiguousWeightsError(f"more than one assignment of the weights fits the layers {doubt}", HINT_AMBIGUOUS)


def _counts(nodes: Sequence[Node], refs: Sequence[WeightRef]) -> str:
    """How many weights there are and should be, where that differs."""
    sizes = [node.size for node in nodes if node.size is not None]
    if len(sizes) < len(nodes) or sum(sizes) == len(refs):
        return ""
    return f"; the file has {len(refs)} weights, the layers need {sum(sizes)}"


def _gathered(places: Sequence[Place], refs: Sequence[WeightRef], count: int) -> Lists:
    lists: Lists = [[] for _ in range(count)]
    for place, ref in zip(places, refs):
        lists[place.top].append(ref)
    return lists


def _lists(reading: Reading, refs: Sequence[WeightRef]) -> Lists:
    return [[refs[index] for index in indices] for indices in reading]


def _distinct(readings: Iterator[Reading]) -> list[Reading]:
    """The first two different readings: paths may differ inside a node alone."""
    found: list[Reading] = []
    for reading in readings:
        if reading not in found:
            found.append(reading)
        if len(found) > 1:
            break
    return found


# -- readings by names and shapes -------------------------------------------------------------------------


def _search(nodes: Sequence[Node], refs: Sequence[WeightRef], known: frozenset[str]) -> Lists | None:
    """The one reading that fits; None if none does."""
    try:
        found = _distinct(Readings(nodes, refs, known).all())
    except AmbiguousWeightsError:  # too many to look at
        found = _equal_shares(nodes, refs, known)
        if not found:
            raise
    else:
        if not found:
            return None
        if len(found) > 1:
            found = _equal_shares(nodes, refs, known) or found
    if len(found) > 1:
        raise _ambiguous(nodes, *found)
    lists = _lists(found[0], refs)
    verdict = judge(list(_leaf_pairs(nodes, lists, known)), known)
    if verdict.against:
        raise WeightsError(verdict.against, _HINT_OTHER)
    return lists


def _only(first: list[Lists], nodes: Sequence[Node], refs: Sequence[WeightRef]) -> Lists:
    """The reading by the flags, if shapes and roles allow no other."""
    for reading in _distinct(Readings(nodes, refs, frozenset()).all()):
        if _lists(reading, refs) != first[0]:
            raise _ambiguous(nodes, first[0], _lists(reading, refs))
    return first[0]


def _leaf_pairs(
    nodes: Sequence[Node], lists: Lists, known: frozenset[str], sizes: Sizes | None = None, named: bool = False
) -> Iterator[tuple[Node, WeightRef]]:
    """Each weight with the innermost layer that it goes to; `sizes` and `named` are those of the reading."""
    for node, owned in zip(nodes, lists):
        if node.children is None:
            for ref in owned:
                yield node, ref
            continue
        reading = next(Readings(node.children, owned, known, sizes, named).all(), [])
        yield from _leaf_pairs(node.children, _lists(reading, owned), known, sizes, named)


def _unfitting(nodes: Sequence[Node], refs: Sequence[WeightRef], known: frozenset[str]) -> str:
    """Where a list that has layers of unknown classes stops to fit: the message of an error."""
    stuck = Readings(nodes, refs, known).stuck_at()
    if stuck is None:
        return "the weights of the second half of the list (what is not trained) do not fit the layers"
    node, at = stuck
    have = f"{refs[at].name} {refs[at].shape}" if at < len(refs) else "nothing more"
    return f"layer {node.name!r} does not fit the weights: at its place the file has {have}"


# -- equal layers own equally much ------------------------------------------------------------------------


def _equal_shares(nodes: Sequence[Node], refs: Sequence[WeightRef], known: frozenset[str]) -> list[Reading]:
    """The readings (two at most) in which equal layers of an unknown class have equal weights.

    Layers of one class with the same config make the same variables: as many, of the same roles, and of the same
    shapes where their inputs have the same shapes, which the weights' own shapes show.  Variables that a layer
    makes in `__init__` bear bare names ("scale", "scale_1"), so that nothing else tells them apart.
    """
    twins = [leaf.twin for node in nodes for leaf in node.leaves() if leaf.twin]
    counts = Counter(twins)
    if max(counts.values(), default=0) < 2 or len(counts) > MOST_KINDS:
        return []
    found: list[Reading] = []
    tries = max(10, MOST_WORK // (len(refs) + 1))
    for sizes in _sizes(list(counts.items()), len(refs) - sum(node.least for node in nodes)):
        tries -= 1
        if tries < 0:
            return []
        for reading in islice(Readings(nodes, refs, known, sizes).all(), 2):
            if reading not in found and _is_even(nodes, _lists(reading, refs), known, sizes):
                found.append(reading)
        if len(found) > 1:
            break
    return found


def _sizes(counts: Sequence[tuple[str, int]], total: int) -> Iterator[dict[str, tuple[int, int]]]:
    """Every way to share `total` weights out so that each layer of a kind has as many of either half."""
    if not counts:
        if total == 0:
            yield {}
        return
    (kind, count), rest = counts[0], counts[1:]
    shares = range(total // count + 1) if rest else [total // count] if total % count == 0 else []
    for share in shares:
        for sizes in _sizes(rest, total - share * count):
            for trainable in range(share, -1, -1):
                yield {**sizes, kind: (trainable, share - trainable)}


def _is_even(nodes: Sequence[Node], lists: Lists, known: frozenset[str], sizes: Sizes) -> bool:
    """Whether equal layers got weights of equal roles and shapes."""
    owned: dict[int, tuple[Node, list[WeightRef]]] = {}
    for leaf, ref in _leaf_pairs(nodes, lists, known, sizes):
        owned.setdefault(id(leaf), (leaf, []))[1].append(ref)
    kinds: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    runs: dict[tuple[str, str], list[list[int]]] = {}
    for leaf, refs in owned.values():
        names = [stem(ref.name.split(":")[0].rpartition("/")[2]) for ref in refs]
        look = [(word, ref.shape) for (word, _), ref in zip(names, refs)]
        if leaf.twin and kinds.setdefault(leaf.twin, look) != look:
            return False
        for word in {word for word, _ in names if leaf.twin}:
            runs.setdefault((leaf.twin, word), []).append(sorted(n for other, n in names if other == word))
    return not any(_interleave(numbers) for numbers in runs.values())


def _interleave(numbers: list[list[int]]) -> bool:
    """Whether layers' numbers for one word mix: TensorFlow counts on, and a layer makes its variables in one go."""
    numbers.sort()
    return any(before[-1] > after[0] for before, after in zip(numbers, numbers[1:]))


# -- flags of another time --------------------------------------------------------------------------------


def _by_other_flags(topology: Topology, refs: Sequence[WeightRef], tf_keras: bool | None) -> Lists | None:
    """The one reading, whatever was frozen, in which each weight is named after its layer; None if none is.

    People freeze layers after the architecture was written down, or have only the JSON of the net as their code
    builds it and the weights of a stage that froze half of it.
    """
    nodes = [Node(layer, tf_keras, any_flags=True) for layer in topology.layers]
    known = all_names(nodes)
    found = _distinct(Readings(nodes, refs, known, named=True).all())
    if len(found) > 1:
        raise _ambiguous(nodes, *found)
    if not found:
        return None
    by_layer: dict[int, list[WeightRef]] = {}
    lists = _lists(found[0], refs)
    for leaf, ref in _leaf_pairs(nodes, lists, known, named=True):
        by_layer.setdefault(id(leaf), []).append(ref)
    # an inner model's list goes into the new file in the order of the flags that its config has
    told = [Node(layer, tf_keras) for layer in topology.layers]
    halves = [_halves(node, its, by_layer) for node, its in zip(nodes, told)]
    return [first + second for first, second in halves]


def _halves(node: Node, told: Node, by_layer: dict[int, list[WeightRef]]) -> tuple[list[WeightRef], list[WeightRef]]:
    """A node's weights as its config's own flags (`told`) list them: what trains, and the rest."""
    if node.children is None or told.children is None:
        owned = by_layer.get(id(node), [])
        count = len(told.specs[0].trainable) if told.specs else 0 if told.frozen else len(owned)
        return owned[:count], owned[count:]
    pairs = [_halves(child, its, by_layer) for child, its in zip(node.children, told.children)]
    first, second = ([ref for pair in pairs for ref in pair[half]] for half in (0, 1))
    return ([], first + second) if told.frozen else (first, second)
