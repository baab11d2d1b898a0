"""What a picture is drawn from: a result holds it, whether or not it is ever drawn."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Topology


@dataclass(frozen=True, eq=False, repr=False)
class Subject:
    """What a picture is drawn from; it holds configs only, never weights.

    Parameters
    ----------
    title : str
    topology : Topology
        The graph as the file, or the architecture beside it, has it.
    weightless : frozenset of str
        Own layers that are known to have no weights.
    trust_slices : bool
        Whether the user vouched for slices whose code is not known.
    reason : str
        Why nothing is cut ("" where a wrapper is).
    """

    title: str
    topology: Topology
    weightless: frozenset[str] = frozenset()
    trust_slices: bool = False
    reason: str = ""
