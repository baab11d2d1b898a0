"""Products of matrices, which are written as one Einsum or Matmul each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Sequence, Union, cast

import numpy as np

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import axes_of, axis_of, items_of, whole_number
from .elementwise import tensor
from .shaping import expand_dims, transpose_last
from .tape import Tape, broadcast
from .values import Shape, Tensor, plain

if TYPE_CHECKING:
    from ..arrays import Numbers

LETTERS = "abcdefghijklmnopqrstuvwxyz"


Factor = Union[Tensor, "Numbers"]


def letters_of(x: int, y: int) -> tuple[str, str]:
    """A letter for each axis of two tensors of so many."""
    if x + y > len(LETTERS):
        raise Undecided("it multiplies tensors of too many axes")
    return LETTERS[:x], LETTERS[x : x + y]


def factors(tape: Tape, *values: object) -> list[Factor]:
    """What is multiplied: tensors, of which at least one has to be there, and arrays of the type of the first."""
    like = next((value for value in values if isinstance(value, Tensor)), None)
    if like is None:
        return [tensor(value) for value in values]
    made: list[Factor] = []
    for value in values:
        found = tape.operand(value, like)
        made.append(found if isinstance(found, Tensor) else np.asarray(cast("Numbers", found)))
    return made


def _type(parts: Sequence[Factor]) -> str:
    return next(part.dtype for part in parts if isinstance(part, Tensor))


def _turned(tape: Tape, part: Factor) -> Factor:
    """The last two axes change places."""
    if isinstance(part, Tensor):
        return cast(Tensor, transpose_last(tape, part))
    return np.ascontiguousarray(np.swapaxes(part, -1, -2))


def einsum(tape: Tape, equation: str, parts: Sequence[Factor]) -> Tensor:
    """Einsum by its equation, which names all axes."""
    inputs, _, output = equation.partition("->")
    lengths: dict[str, int | None] = {}
    for letters, part in zip(inputs.split(","), parts):
        for letter, length in zip(letters, part.shape):
            known = lengths.get(letter)
            if known is not None and length is not None and known != length:
                raise Undecided("it multiplies tensors whose shapes do not fit")
            lengths[letter] = known if known is not None else length
    shape: Shape = tuple(lengths[letter] for letter in output)
    if any(term[:1] != output[:1] for term, part in zip(inputs.split(","), parts) if isinstance(part, Tensor)):
        tape.mixes()
    return tape.op("numpy.Einsum", list(parts), shape, _type(parts), subscripts=equation)


def matmul(
    tape: Tape,
    a: object,
    b: object,
    transpose_a: object = False,
    transpose_b: object = False,
    adjoint_a: object = False,
    adjoint_b: object = False,
) -> object:
    """`tf.matmul`: products of the last two axes; of real numbers, the adjoint is the transpose."""
    one, other = factors(tape, a, b)
    if len(one.shape) < 2 or len(other.shape) < 2:
        raise Undecided("it multiplies a vector as if it were a matrix")
    one = _turned(tape, one) if plain(transpose_a) or plain(adjoint_a) else one
    other = _turned(tape, other) if plain(transpose_b) or plain(adjoint_b) else other
    if None not in (one.shape[-1], other.shape[-2]) and one.shape[-1] != other.shape[-2]:
        raise Undecided("it multiplies tensors whose shapes do not fit")
    # a matrix of constants on the right leaves rows where they are
    if len(one.shape) == len(other.shape) == 2 and (
        isinstance(other, Tensor) or plain(transpose_a) or plain(adjoint_a)
    ):
        tape.mixes()
    shape = broadcast(one.shape[:-2], other.shape[:-2]) + (one.shape[-2], other.shape[-1])
    return tape.op("numpy.Matmul", [one, other], shape, _type([one, other]))


def k_dot(tape: Tape, x: object, y: object) -> object:
    """`K.dot`: the last axis of one with the last but one of the other, without a common batch."""
    one, other = factors(tape, x, y)
    rank, more = len(one.shape), len(other.shape)
    if rank < 2 or more < 2:
        raise Undecided("it calls K.dot on a vector")
    first, second = letters_of(rank, more)
    second = second[:-2] + first[-1] + second[-1]
    return einsum(tape, f"{first},{second}->{first[:-1]}{second[:-2]}{second[-1]}", [one, other])


def batch_dot(tape: Tape, x: object, y: object, axes: object = None) -> object:
    """`K.batch_dot`, row by row of the batch.

    Keras 2.3 reads axes of tensors with more than three axes otherwise than 2.2; both agree on what is done here.
    """
    x, y = tensor(x), tensor(y)
    if x.rank > 3 or y.rank > 3 or x.rank < 2 or y.rank < 2:
        raise Undecided("it calls K.batch_dot on tensors that do not have two or three axes")
    if axes is None:
        if x.rank != 3 or y.rank != 3:
            raise Undecided("it calls K.batch_dot without axes on tensors that do not have three axes")
        return matmul(tape, x, y)
    given = [axes, axes] if isinstance(plain(axes), int) else items_of(axes, "axes")
    if len(given) != 2:
        raise Undecided("it calls K.batch_dot with axes that are not known")
    one, other = axis_of(given[0], x), axis_of(given[1], y)
    if one == 0 or other == 0:
        raise Undecided("it calls K.batch_dot along the batch")
    first = LETTERS[: x.rank]
    second = [first[0]] + list(LETTERS[x.rank : x.rank + y.rank - 1])
    second[other] = first[one]
    rest = [letter for letter in first[1:] if letter != first[one]]
    rest += [letter for i, letter in enumerate(second) if i not in (0, other)]
    made = einsum(tape, f"{first},{''.join(second)}->{first[0]}{''.join(rest)}", [x, y])
    return expand_dims(tape, made, 1) if made.rank == 1 else made


_TERM = re.compile(r"[A-Za-z]+")


def tf_einsum(tape: Tape, equation: object, *parts: object) -> object:
    """`tf.einsum` whose equation names all axes."""
    if not isinstance(equation, str):
        raise Undecided("it calls tf.einsum with an equation that is not known")
    given = [
        item for part in parts if part is not None for item in (part if isinstance(part, (list, tuple)) else [part])
    ]
    tensors = factors(tape, *given)
    clean = equation.replace(" ", "")
    inputs, arrow, output = clean.partition("->")
    inputs, output = _spelled(clean, inputs, output, [len(part.shape) for part in tensors])
    terms = inputs.split(",")
    fits = len(terms) == len(tensors) and all(_TERM.fullmatch(term) for term in terms)
    if not fits or any(len(term) != len(part.shape) for term, part in zip(terms, tensors)):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    if not arrow:
        letters = "".join(terms)
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if any(letter not in inputs for letter in output) or len(set(output)) != len(output):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    if any(len(set(term)) != len(term) for term in terms):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    return einsum(tape, f"{inputs}->{output}", tensors)


def _spelled(equation: str, inputs: str, output: str, ranks: Sequence[int]) -> tuple[str, str]:
    """A letter for each axis that `...` stands for: as many of them in each term."""
    terms = inputs.split(",")
    many = {rank - len(term) + 3 for term, rank in zip(terms, ranks) if "..." in term}
    if not many or len(terms) != len(ranks):
        return inputs, output
    free = [letter for letter in LETTERS.upper() if letter not in equation][: max(0, *many)]
    if len(many) > 1 or len(free) not in many or "->" not in equation:
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    return inputs.replace("...", "".join(free)), output.replace("...", "".join(free))


def tensordot(tape: Tape, a: object, b: object, axes: object) -> object:
    """`tf.tensordot`."""
    parts = factors(tape, a, b)
    left, right = (Tensor(tuple(part.shape), "") for part in parts)
    ones, others = _contracted(left, right, axes)
    first, rest = letters_of(left.rank, right.rank)
    second = list(rest)
    for one, other in zip(ones, others):
        second[other] = first[one]
    kept = [letter for i, letter in enumerate(first) if i not in ones]
    kept += [letter for i, letter in enumerate(second) if i not in others]
    return einsum(tape, f"{first},{''.join(second)}->{''.join(kept)}", parts)


def _contracted(a: Tensor, b: Tensor, axes: object) -> tuple[list[int], list[int]]:
    """The axes that are summed over, of each."""
    if isinstance(plain(axes), int):
        many = cast(int, plain(axes))
        if not 0 <= many <= min(a.rank, b.rank):
            raise Undecided("it calls tf.tensordot with axes that are not known")
        return list(range(a.rank - many, a.rank)), list(range(many))
    pair = items_of(axes, "axes")
    if len(pair) != 2:
        raise Undecided("it calls tf.tensordot with axes that are not known")
    ones, others = (_ordered(item, part) for item, part in zip(pair, (a, b)))
    if len(ones) != len(others):
        raise Undecided("it calls tf.tensordot with axes that are not known")
    return ones, others


def _ordered(value: object, x: Tensor) -> list[int]:
    if isinstance(plain(value), int):
        return axes_of(value, x)
    return [x.axis(whole_number(item, "an axis")) for item in items_of(value, "axes")]


_MATMUL = "a b transpose_a transpose_b adjoint_a adjoint_b | a_is_sparse b_is_sparse name"
ROWS: tuple[Row, ...] = (
    Row("tf", "matmul batch_matmul", _MATMUL, matmul),
    Row("K", "dot", "x y", k_dot),
    Row("K", "batch_dot", "x y axes", batch_dot),
    Row("tf", "einsum", "equation a b c d | name", tf_einsum),
    Row("tf", "tensordot", "a b axes | name", tensordot),
)
