"""What the weights' names say of a reading: of which weight goes to which layer.

Names do not identify a layer.  Copies have suffixes, automatic names are counted anew in each process, scopes
come in front, and layers are renamed after they were built (`layer.name += "_2"`), which leaves their weights'
names as they were.  But names must not contradict: a weight that is named after another layer, one name for two
layers, numbers that run in another order than the layers.
"""

from __future__ import annotations

from collections import Counter
from typing import Iterable, NamedTuple, Sequence

from ..model import WeightRef
from .names import claims, role_and_prefix, stem
from .nodes import Node

#: Renamed layers that bear each other's old names, one after the other; people have two or three branches.
LONGEST_CHAIN = 100


class Verdict(NamedTuple):
    """What the names say of a reading.

    Attributes
    ----------
    against : str
        The message of an error; "" where nothing contradicts.
    certain : bool
        Each weight is named after its layer, by a name that no other layer has.
    renamed : bool
        Nothing contradicts only if layers were renamed after they were built.
    """

    against: str
    certain: bool
    renamed: bool = False


class NameEvidence(NamedTuple):
    """One weight's name, and the layer that a reading gives it to.

    Attributes
    ----------
    leaf : Node
    ref : WeightRef
    own : frozenset of str
        The layer's names that the weight may be called after; those of layers inside a wrapper count.
    others : frozenset of str
        Other layers that it may be called after, where it is not called after its own.
    base : str
        The word that the layer's name and the weight's share before their numbers; "" if they share none.
    numbers : (int, int)
        The layer's number and the weight's.
    """

    leaf: Node
    ref: WeightRef
    own: frozenset[str]
    others: frozenset[str]
    base: str
    numbers: tuple[int, int]

    @property
    def prefix(self) -> str:
        """The layer's name in the weight's, without the scopes around it."""
        return _own_prefix(self.leaf, self.ref)

    @property
    def message(self) -> str:
        """The contradiction, where there is one."""
        ref = self.ref
        place = f"by its place in the list {ref.name} {ref.shape} belongs to layer {self.leaf.name!r}"
        return f"{place}, but it is named after {min(self.others)!r}"


def judge(pairs: Sequence[tuple[Node, WeightRef]], known: frozenset[str]) -> Verdict:
    """Whether each weight is named after the layer that it would go to, or at least not after another one.

    Parameters
    ----------
    pairs : sequence of (Node, WeightRef)
        A reading: each weight with the innermost layer that it goes to.
    known : frozenset of str
        The names of all layers.
    """
    shared = _shared_names({id(leaf): leaf for leaf, _ in pairs}.values())
    evidence = [_evidence(leaf, ref, known) for leaf, ref in pairs]
    certain = all(not item.own <= shared for item in evidence)
    if certain:
        return Verdict("", True)
    cleared = _without_renamed(evidence)
    against = _against(cleared) or _mixed(pairs)
    return Verdict(against, False, not against and bool(_against(evidence)))


def _evidence(leaf: Node, ref: WeightRef, known: frozenset[str]) -> NameEvidence:
    named = claims(ref.name, known)
    own = leaf.names & named
    (base, number), (word, other) = stem(leaf.name), stem(_own_prefix(leaf, ref))
    return NameEvidence(
        leaf, ref, own, named if not own else frozenset(), base if base == word else "", (number, other)
    )


def _own_prefix(leaf: Node, ref: WeightRef) -> str:
    prefix = role_and_prefix(ref.name)[1]
    return prefix if "/" in leaf.name else prefix.rpartition("/")[2]


def _shared_names(leaves: Iterable[Node]) -> frozenset[str]:
    """Names that several layers have (each in a model of its own), and that tell nothing therefore."""
    count = Counter(name for leaf in leaves for name in leaf.names)
    return frozenset(name for name, times in count.items() if times > 1)


def _against(evidence: Sequence[NameEvidence]) -> str:
    """The first contradiction; "" if there is none."""
    strange: dict[str, str] = {}
    for item in evidence:
        if item.others:
            strange.setdefault(item.base, item.message)
    for base in sorted({item.base for item in evidence if item.base and not item.own}):
        row = [item for item in evidence if item.base == base]
        wrong = _miscounted(base, row, base in strange)
        if wrong:
            return strange.get(base, wrong)
        strange.pop(base, None)
    return next(iter(strange.values()), "")


def _miscounted(base: str, row: Sequence[NameEvidence], strange: bool) -> str:
    """Automatic names may be counted anew, in order and in one direction; what else differs is an error.

    Where layers of unknown classes are among them, nothing but the count tells whose a weight is: no gaps then.
    """
    numbers = sorted(dict(item.numbers for item in row).items())
    unknown = any(not item.leaf.specs for item in row if not item.own)
    even = not unknown or len({new - old for old, new in numbers}) == 1
    ordered = all(a[1] < b[1] for a, b in zip(numbers, numbers[1:]))
    one_way = all(new < old for old, new in numbers) or all(new > old for old, new in numbers)
    if ordered and even and (one_way or not strange):
        return ""
    how = "are counted with gaps that the layers do not have" if ordered else "come in another order than the layers"
    return f"the weights named {base}, {base}_1, ... {how}"


def _without_renamed(evidence: Sequence[NameEvidence]) -> list[NameEvidence]:
    """The evidence without claims that renaming explains.

    "conv1_1/kernel" may be a copy's of layer `conv1`; where `conv1` has weights of just its own name, it is not:
    TensorFlow made the name unique, and the layer was renamed (to `conv1_2`, say).  And a layer `left_conv1` may
    own "conv1/kernel" though a layer `conv1` is there, which then was renamed as well; but names that go round
    (two layers that have each other's) are those of another order, not of renaming.
    """
    exact = {item.leaf.name for item in evidence if item.prefix == item.leaf.name}
    given = {item.leaf.name: item.prefix for item in evidence}
    cleared = []
    for item in evidence:
        others = frozenset(name for name in item.others if name == item.prefix or name not in exact)
        extended = item.prefix in others and _extends(item.leaf.name, item.prefix)
        if extended and not _goes_round(given, item.leaf.name):
            others -= {item.prefix}
        cleared.append(item._replace(others=others))
    return cleared


def _extends(name: str, prefix: str) -> bool:
    """Whether a name is another one with something put before or behind it."""
    return len(prefix) > 1 and name != prefix and name.startswith(prefix) or name.endswith(prefix)


def _goes_round(given: dict[str, str], start: str) -> bool:
    """Whether a chain of layers, each with the weights named after the next, comes back to where it began."""
    seen = {start}
    name = given[start]
    while name in given and name not in seen:
        seen.add(name)
        name = given[name]
        if len(seen) > LONGEST_CHAIN:
            return True
    return name in seen


def _mixed(pairs: Sequence[tuple[Node, WeightRef]]) -> str:
    """Two layers under one name, or a layer of unknown class under two: the message of an error."""
    owners: dict[str, Node] = {}
    tops: dict[int, str] = {}
    for leaf, ref in pairs:
        role, prefix = role_and_prefix(ref.name)
        owner = owners.setdefault(prefix, leaf) if role and prefix else leaf
        if owner is not leaf:
            return f"layers {owner.name!r} and {leaf.name!r} would share weights of one name: {prefix}"
        top = prefix.partition("/")[0]
        if top and not leaf.specs and tops.setdefault(id(leaf), top) != top:
            return f"layer {leaf.name!r} would get weights of two names: {tops[id(leaf)]}, {top}"
    return ""
