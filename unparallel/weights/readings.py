"""All ways to read a flat list, where flags are not in the config or counts are not in the table.

The list is two halves, what trains and the rest, and each layer takes a run of each.  So a reading is a path of
two cursors, one in each half, that move on layer by layer:

    cursors after layer k  =  a step of layer k from any cursors after layer k - 1

A layer of a known class makes one step (one for each `Spec`), a layer of an unknown class as many as there are
runs that may be its own, and a frozen inner model one step in the second half alone.  Cursors that can be reached
in several ways are one state, so that work grows with layers times states and not with the number of readings.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from ..errors import AmbiguousWeightsError
from ..model import WeightRef
from .names import claims
from .nodes import Fit, Node
from .table import Slot

HINT_AMBIGUOUS = "open it with the Keras that wrote it and save the inner model there; unparallel does not guess"

#: For each node, the places in the list of the weights that it gets.
Reading = List[Tuple[int, ...]]

#: How many weights of its own each layer of an unknown class has, what trains and the rest, by `Node.twin`.
Sizes = Mapping[str, Tuple[int, int]]


class Cursors(NamedTuple):
    """How far each half has been read; `rest` is None while it is open where the second half begins."""

    trainable: int
    rest: int | None


class Limits(NamedTuple):
    """Where the halves end."""

    middle: int
    end: int


class Readings:
    """The readings of one list.

    Parameters
    ----------
    nodes : sequence of Node
    refs : sequence of WeightRef
    known : frozenset of str
        Names of layers.  A weight that is named after other layers only is not for a layer; with no names at all
        shapes and roles alone decide.
    sizes : mapping, optional
        See `Sizes`.
    named : bool
        Each weight must be named after its layer.

    Raises
    ------
    AmbiguousWeightsError
        From any method: there are too many states to look at.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        refs: Sequence[WeightRef],
        known: frozenset[str],
        sizes: Sizes | None = None,
        named: bool = False,
    ) -> None:
        self.nodes = nodes
        self.refs = refs
        self.sizes = sizes or {}
        self.named = named
        self.claims = [claims(ref.name, known) for ref in refs]
        self.work = 8 * len(refs) + 50000
        self.blocks: dict[tuple[int, int, int], bool] = {}
        # the number of each node's last layer, and of the last layer that each weight may be named after: a weight
        # whose layers have all had their turn ends a path
        self.passed: dict[int, int] = {}
        leaves: list[Node] = []
        _number(nodes, leaves, self.passed)
        self.numbers: dict[str, list[int]] = {}
        for number, leaf in enumerate(leaves):
            for name in leaf.names:
                self.numbers.setdefault(name, []).append(number)
        # a damaged config gives a model inside the names of layers outside it
        ends = {name: numbers[-1] for name, numbers in self.numbers.items()}
        self.last = [max((ends.get(name, len(leaves)) for name in named), default=len(leaves)) for named in self.claims]

    def all(self) -> Iterator[Reading]:
        """Each reading of the whole list."""
        return self._find(self.nodes, 0, len(self.refs))

    def _find(self, nodes: Sequence[Node], start: int, end: int) -> Iterator[Reading]:
        """Each reading of refs[start:end]."""
        for middle in self._middles(nodes, start, end):
            yield from self._with_middle(nodes, start, Limits(middle, end))

    def _middles(self, nodes: Sequence[Node], start: int, end: int) -> list[int]:
        """Where the second half may begin."""
        if self.named:
            return self._middles_by_names(start, end)
        reached = {Cursors(start, None)}
        for node in nodes:
            reached = self._after(node, reached, Limits(end, end))
        return sorted((cursors.trainable for cursors in reached), reverse=True)

    def _middles_by_names(self, start: int, end: int) -> list[int]:
        """The same where each weight must be named after its layer: layers come in order in each half."""
        options = [
            sorted({n for name in self.claims[at] for n in self.numbers.get(name, ())}) for at in range(start, end)
        ]
        first = start + _ascending(options)
        last = end - _ascending([[-number for number in reversed(row)] for row in reversed(options)])
        return list(range(first, last - 1, -1))

    def _with_middle(self, nodes: Sequence[Node], start: int, limits: Limits) -> Iterator[Reading]:
        """The readings whose trainable half is refs[start:middle]."""
        before: list[dict[Cursors, list[Cursors]]] = []
        states = {Cursors(start, limits.middle)}
        for node in nodes:
            reached: dict[Cursors, list[Cursors]] = {}
            for cursors in states:
                for following in self._after(node, {cursors}, limits):
                    reached.setdefault(following, []).append(cursors)
            before.append(reached)
            states = set(reached)
        last = Cursors(*limits)
        if last in states:
            for path in _paths(before, last):
                yield [_run(a, b) for a, b in zip(path, path[1:])]

    def stuck_at(self) -> tuple[Node, int] | None:
        """The first node that fits nowhere, and how far the list was read; None if all fit one by one."""
        limits = Limits(len(self.refs), len(self.refs))
        reached = {Cursors(0, None)}
        for node in self.nodes:
            following = self._after(node, reached, limits)
            if not following:
                return node, max(cursors.trainable for cursors in reached)
            reached = following
        return None

    def _after(self, node: Node, states: Iterable[Cursors], limits: Limits) -> set[Cursors]:
        """Where the cursors may be after a node."""
        reached = {after for cursors in states for after in self._step(node, cursors, limits)}
        passed = self.passed[id(node)]
        return {cursors for cursors in reached if not self._is_stuck(cursors, passed, limits)}

    def _is_stuck(self, cursors: Cursors, passed: int, limits: Limits) -> bool:
        """Whether a weight comes next that is named after layers that have had their turn."""
        at, rest = cursors
        if rest is None:
            return False  # the second half may begin here
        return (at < limits.middle and self.last[at] <= passed) or (rest < limits.end and self.last[rest] <= passed)

    def _step(self, node: Node, cursors: Cursors, limits: Limits) -> set[Cursors]:
        if node.children is None:
            return self._leaf(node, cursors, limits)
        states = {cursors}
        for child in node.children:
            states = self._after(child, states, limits)
            if not states:
                break
        if node.movable:
            states |= self._frozen_block(node, cursors, limits.end)
        return states

    def _frozen_block(self, node: Node, cursors: Cursors, end: int) -> set[Cursors]:
        at, rest = cursors
        if rest is None:
            return {cursors}
        sizes = range(node.least, end - rest + 1) if node.size is None else range(node.size, node.size + 1)
        stops = [rest + size for size in sizes if rest + size <= end]
        return {Cursors(at, stop) for stop in stops if self._is_block(node, rest, stop)}

    def _is_block(self, node: Node, start: int, stop: int) -> bool:
        key = (id(node), start, stop)
        if key not in self.blocks:
            self.blocks[key] = next(self._find(node.children or [], start, stop), None) is not None
        return self.blocks[key]

    def _leaf(self, node: Node, cursors: Cursors, limits: Limits) -> set[Cursors]:
        self._spend()
        at, rest = cursors
        if not node.specs:
            sizes = self.sizes.get(node.twin, (None, None))
            firsts = [at] if node.frozen else self._free_run(node, at, limits.middle, sizes[0])
            seconds = [None] if rest is None else self._free_run(node, rest, limits.end, sizes[1])
            return {Cursors(a, b) for a in firsts for b in seconds}
        found: set[Cursors] = set()
        for spec in node.specs:
            fit = Fit()
            after = self._fixed_run(node, fit, spec.trainable, at, limits.middle)
            if after is None:
                continue
            last = None if rest is None else self._fixed_run(node, fit, spec.rest, rest, limits.end)
            if rest is None or last is not None:
                found.add(Cursors(after, last))
        return found

    def _spend(self) -> None:
        self.work -= 1
        if self.work < 0:
            raise AmbiguousWeightsError("too many ways to assign the weights to the layers", HINT_AMBIGUOUS)

    def _may_have(self, node: Node, index: int) -> bool:
        """A weight named after other layers only is not for this one."""
        claimed = self.claims[index]
        return not node.names.isdisjoint(claimed) or not (claimed or self.named)

    def _free_run(self, node: Node, at: int, stop: int, size: int | None) -> list[int]:
        """The places where a layer of an unknown class may end."""
        ends = [at]
        while ends[-1] < stop and self._may_have(node, ends[-1]) and len(ends) - 1 != size:
            ends.append(ends[-1] + 1)
            self._spend()
        return ends if size is None else ends[-1:] if len(ends) - 1 == size else []

    def _fixed_run(self, node: Node, fit: Fit, slots: Sequence[Slot], at: int, stop: int) -> int | None:
        if at + len(slots) > stop:
            return None
        for index, slot in enumerate(slots, at):
            if not (self._may_have(node, index) and fit.add(slot, self.refs[index])):
                return None
        return at + len(slots)


def _number(nodes: Sequence[Node], leaves: list[Node], passed: dict[int, int]) -> None:
    """Put all layers in order into `leaves`, and the number of each node's last one into `passed`."""
    for node in nodes:
        if node.children is None:
            leaves.append(node)
        else:
            _number(node.children, leaves, passed)
        passed[id(node)] = len(leaves) - 1


def _ascending(options: Sequence[Sequence[int]]) -> int:
    """How many of the rows, from the first on, allow numbers that never fall."""
    current = options[0][0] if options and options[0] else 0
    for count, row in enumerate(options):
        following = next((number for number in row if number >= current), None)
        if following is None:
            return count
        current = following
    return len(options)


def _paths(before: list[dict[Cursors, list[Cursors]]], last: Cursors) -> Iterator[list[Cursors]]:
    """Each chain of cursors that ends in `last`; at least one parent of each leads to the start."""
    stack: list[tuple[int, list[Cursors]]] = [(len(before), [last])]
    while stack:
        depth, chain = stack.pop()
        while depth:
            depth -= 1
            parents = before[depth][chain[-1]]
            for parent in parents[1:]:
                stack.append((depth, chain + [parent]))
            chain.append(parents[0])
        yield chain[::-1]


def _run(a: Cursors, b: Cursors) -> tuple[int, ...]:
    return tuple(range(a.trainable, b.trainable)) + tuple(range(a.rest or 0, b.rest or 0))
