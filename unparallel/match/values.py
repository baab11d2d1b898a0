"""What a search gives: a wrapper, proven, or what came near one and why it is none."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from ..graph import CallKey
from ..model import TensorKey

Tensors = Tuple[TensorKey, ...]


class Slice(NamedTuple):
    """One part of a tensor's batch.

    Parameters
    ----------
    tensor : TensorKey
        The part.
    source : TensorKey
        The tensor that is cut.
    part : int
        Which part, from 0.
    proof : str
        "code" where the slice's code was followed, "trusted" where the user vouched for it.
    rows : str
        What it takes, in words.
    """

    tensor: TensorKey
    source: TensorKey
    part: int
    proof: str
    rows: str


class Merge(NamedTuple):
    """A call that joins the replicas' results: `kind` is "concatenate" or "mean"."""

    call: CallKey
    kind: str
    parts: Tensors


class Match(NamedTuple):
    """A data-parallel wrapper, proven.

    Parameters
    ----------
    replicas : int
        N.
    slices : tuple of Slice
    merges : tuple of Merge
    towers : tuple of tuple of (layer, call)
        For each call of the template, the N calls of it, part 0 first.
    """

    replicas: int
    slices: tuple[Slice, ...]
    merges: tuple[Merge, ...]
    towers: tuple[tuple[CallKey, ...], ...]

    @property
    def sources(self) -> tuple[TensorKey, ...]:
        """The tensors that are cut, each once."""
        return tuple(dict.fromkeys(piece.source for piece in self.slices))


class NearMiss(NamedTuple):
    """Something that looks parallel and is not: the first condition that failed, in the user's words.

    `progress` orders near misses: how far the proof came.
    """

    reason: str
    progress: int
    trust: bool = False


class SearchResult(NamedTuple):
    """What one model's graph holds: wrappers, and what came near."""

    matches: tuple[Match, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
