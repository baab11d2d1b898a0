"""The table of all functions, and the call of a row, which knows no bytecode."""

from __future__ import annotations

import builtins
from typing import Mapping, Sequence

from ..slices.functions import ABSENT, Row
from ..slices.marshal import Other
from ..slices.sizes import Undecided
from ..slices.values import Name, Unknown
from . import (
    activations,
    arrays,
    chance,
    convolutions,
    cutting,
    elementwise,
    filling,
    images,
    joining,
    linear,
    losses,
    matrices,
    pictures,
    plain,
    reductions,
    shaping,
)
from .names import ROOTS, module_of
from .tape import Tape, what_is

FAMILIES = (
    activations,
    arrays,
    chance,
    convolutions,
    cutting,
    elementwise,
    filling,
    images,
    joining,
    linear,
    losses,
    matrices,
    pictures,
    plain,
    reductions,
    shaping,
)
ROWS: tuple[Row, ...] = tuple(row for family in FAMILIES for row in family.ROWS)


def _by_module() -> dict[tuple[str, str], Row]:
    return {(module, name): row for row in ROWS for module in row.modules.split() for name in row.names.split()}


TABLE = _by_module()
# functions of these modules are in another one's table too
_ALSO = {
    "linalg": "tf",
    "tf1": "tf",
    "tf2": "tf",
    "image1": "image",
    "image2": "image",
    "random1": "random",
    "random2": "random",
}


def find(path: tuple[str, ...]) -> Row | None:
    """The row of a function by its dotted path, such as ("tf", "nn", "relu")."""
    module = module_of(path)
    return TABLE.get((module, path[-1])) or TABLE.get((_ALSO.get(module, module), path[-1]))


def record(tape: Tape, path: tuple[str, ...], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the function of that path gives, its operations recorded on the tape.

    Raises
    ------
    Undecided
        If no row knows it, or not with these arguments; the message says its name.
    """
    shown = ".".join(path)
    row = find(path)
    if row is None:
        if len(path) == 1 and not hasattr(builtins, path[0]):
            raise Undecided(f"it calls {shown!r}, a global that is not in the file")
        if len(path) > 1 and path[0] not in ROOTS:
            raise Undecided(f"it calls {shown}, and {path[0]!r} is a global that is not in the file")
        raise Undecided(f"it calls {shown}, which this program does not know as an operation of Keras 3")
    wanted = _bound(row, shown, args, kwargs)
    try:
        return row.meaning(tape, *wanted)
    except TypeError as error:
        raise Undecided(f"it calls {shown} with arguments that do not fit") from error


def _bound(row: Row, shown: str, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
    signature = row.signature
    given = signature.bind(args, kwargs)
    for name in signature.ignored:
        value = given.get(name)
        if not (value is None or value is False or isinstance(value, (Other, str, Name))):
            raise Undecided(f"it calls {shown} with the argument {name}")
    wanted = [given.get(name, ABSENT) for name in signature.used]
    while wanted and wanted[-1] is ABSENT:
        wanted.pop()
    for name, value in zip(signature.used, wanted):
        if isinstance(value, Unknown) and name not in signature.unknown:
            raise Undecided(what_is(value))
    return [None if value is ABSENT else value for value in wanted]
