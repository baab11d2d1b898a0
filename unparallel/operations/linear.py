"""Products of matrices, which are written as one Einsum or Matmul each."""

from __future__ import annotations

import re
from typing import Sequence, cast

from ..slices.functions import Row
from ..slices.sizes import Undecided
from .arguments import axes_of, axis_of, items_of, whole_number
from .elementwise import tensor
from .shaping import expand_dims, transpose_last
from .tape import MIXES, Tape, broadcast
from .values import Shape, Tensor, plain

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letters_of(x: Tensor, y: Tensor) -> tuple[str, str]:
    """A letter for each axis of two tensors."""
    if x.rank + y.rank > len(LETTERS):
        raise Undecided("it multiplies tensors of too many axes")
    return LETTERS[: x.rank], LETTERS[x.rank : x.rank + y.rank]


def einsum(tape: Tape, equation: str, parts: Sequence[Tensor]) -> Tensor:
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
    return tape.op("numpy.Einsum", list(parts), shape, parts[0].dtype, subscripts=equation)


def matmul(tape: Tape, a: object, b: object, transpose_a: object = False, transpose_b: object = False) -> object:
    """`tf.matmul`: products of the last two axes."""
    a, b = tensor(a), tensor(b)
    if a.rank < 2 or b.rank < 2:
        raise Undecided("it multiplies a vector as if it were a matrix")
    a = cast(Tensor, transpose_last(tape, a)) if plain(transpose_a) else a
    b = cast(Tensor, transpose_last(tape, b)) if plain(transpose_b) else b
    if None not in (a.shape[-1], b.shape[-2]) and a.shape[-1] != b.shape[-2]:
        raise Undecided("it multiplies tensors whose shapes do not fit")
    if min(a.rank, b.rank) == 2 and max(a.rank, b.rank) == 2:
        tape.note(MIXES)
    shape = broadcast(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
    return tape.op("numpy.Matmul", [a, b], shape, a.dtype)


def k_dot(tape: Tape, x: object, y: object) -> object:
    """`K.dot`: the last axis of one with the last but one of the other, without a common batch."""
    x, y = tensor(x), tensor(y)
    if x.rank < 2 or y.rank < 2:
        raise Undecided("it calls K.dot on a vector")
    first, second = letters_of(x, y)
    second = second[:-2] + first[-1] + second[-1]
    tape.note(MIXES)
    return einsum(tape, f"{first},{second}->{first[:-1]}{second[:-2]}{second[-1]}", [x, y])


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
    tensors = [tensor(part) for part in given]
    clean = equation.replace(" ", "")
    inputs, arrow, output = clean.partition("->")
    terms = inputs.split(",")
    fits = len(terms) == len(tensors) and all(_TERM.fullmatch(term) for term in terms)
    if not fits or any(len(term) != part.rank for term, part in zip(terms, tensors)):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    if not arrow:
        letters = "".join(terms)
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if any(letter not in inputs for letter in output) or len(set(output)) != len(output):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    if any(len(set(term)) != len(term) for term in terms):
        raise Undecided(f"it calls tf.einsum with the equation {equation[:40]!r}")
    return einsum(tape, f"{inputs}->{output}", tensors)


def tensordot(tape: Tape, a: object, b: object, axes: object) -> object:
    """`tf.tensordot`."""
    a, b = tensor(a), tensor(b)
    if isinstance(plain(axes), int):
        many = cast(int, plain(axes))
        if not 0 <= many <= min(a.rank, b.rank):
            raise Undecided("it calls tf.tensordot with axes that are not known")
        ones, others = list(range(a.rank - many, a.rank)), list(range(many))
    else:
        pair = items_of(axes, "axes")
        if len(pair) != 2:
            raise Undecided("it calls tf.tensordot with axes that are not known")
        ones, others = (_ordered(item, part) for item, part in zip(pair, (a, b)))
    if len(ones) != len(others):
        raise Undecided("it calls tf.tensordot with axes that are not known")
    first, rest = letters_of(a, b)
    second = list(rest)
    for one, other in zip(ones, others):
        second[other] = first[one]
    kept = [letter for i, letter in enumerate(first) if i not in ones]
    kept += [letter for i, letter in enumerate(second) if i not in others]
    tape.note(MIXES)
    return einsum(tape, f"{first},{''.join(second)}->{''.join(kept)}", [a, b])


def _ordered(value: object, x: Tensor) -> list[int]:
    if isinstance(plain(value), int):
        return axes_of(value, x)
    return [x.axis(whole_number(item, "an axis")) for item in items_of(value, "axes")]


_MATMUL = "a b transpose_a transpose_b | adjoint_a adjoint_b a_is_sparse b_is_sparse name"
ROWS: tuple[Row, ...] = (
    Row("tf", "matmul batch_matmul", _MATMUL, matmul),
    Row("K", "dot", "x y", k_dot),
    Row("K", "batch_dot", "x y axes", batch_dot),
    Row("tf", "einsum", "equation a b c d | name", tf_einsum),
    Row("tf", "tensordot", "a b axes | name", tensordot),
)
