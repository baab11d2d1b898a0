"""Python's own lists and dicts, and what is done with them while stepping, whatever they hold.

Those that a function is given from outside (`Given`, `GivenDict`) outlive its call, so what it changes in them would
be there in the next one: these are never changed.
"""

from dataclasses import dataclass
from typing import Callable, Dict, List, NamedTuple, Optional

from .marshal import Constants
from .sizes import Undecided

# Python's hash of a whole number below this is the number itself, so that no keys can be made to collide
_LARGEST_KEY = 1 << 61


class Given(List[object]):
    """A list among a function's arguments, defaults or closure."""


class GivenDict(Dict[object, object]):
    """A dict among a function's arguments, defaults or closure."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A method of a list or dict."""

    owner: object
    name: str


class _Method(NamedTuple):
    """What a method means.

    Attributes
    ----------
    fewest, most : int
        Number of arguments.
    meaning : callable
    changes : bool
        Whether it changes its owner.
    reads_all : bool
        Whether the owner's order tells in what it gives.
    takes_items : bool
        Whether its argument is gone through like a list.
    """

    fewest: int
    most: int
    meaning: Callable[..., object]
    changes: bool = False
    reads_all: bool = False
    takes_items: bool = False


def mutable(value: object) -> bool:
    """Whether a value is a list or dict that the function itself has made."""
    return isinstance(value, (list, dict)) and not isinstance(value, (Given, GivenDict))


def key_of(value: object) -> object:
    """A key of a dict or item of a set, where it is one whose equality Python alone decides."""
    if value is None or isinstance(value, (bool, str)) or isinstance(value, int) and abs(value) < _LARGEST_KEY:
        return value
    raise Undecided("it uses a key that is not a plain constant")


def look_up(owner: Dict[object, object], key: object) -> object:
    """`owner[key]`."""
    if key_of(key) not in owner:
        raise Undecided(f"it looks up {key!r}, which a dict does not hold")
    return owner[key]


def contains(owner: object, item: object, spend: Callable[[int], None]) -> Optional[bool]:
    """`item in owner` for plain constants; None where that is not for Python alone to decide."""
    if isinstance(owner, dict):
        return key_of(item) in owner
    items = owner.items if isinstance(owner, Constants) else owner
    if not isinstance(items, (list, tuple)) or not _is_constant(item):
        return None
    spend(len(items))
    return item in items if all(_is_constant(other) for other in items) else None


def _is_constant(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _position(value: object) -> int:
    if isinstance(value, int):
        return value
    raise Undecided("it uses a place in a list that is not known")


def _append(owner: List[object], value: object) -> None:
    owner.append(value)


def _insert(owner: List[object], place: object, value: object) -> None:
    owner.insert(_position(place), value)


def _pop(owner: List[object], place: object = -1) -> object:
    if not -len(owner) <= _position(place) < len(owner):
        raise Undecided("it indexes beyond a list")
    return owner.pop(_position(place))


def _update(owner: Dict[object, object], more: object) -> None:
    if not isinstance(more, dict):
        raise Undecided("it adds something other than a dict to a dict")
    owner.update(more)


def _set_default(owner: Dict[object, object], key: object, value: object = None) -> object:
    return owner.setdefault(key_of(key), value)


_OF_LIST: Dict[str, _Method] = {
    "append": _Method(1, 1, _append, changes=True),
    "extend": _Method(1, 1, lambda owner, more: owner.extend(more), changes=True, takes_items=True),
    "insert": _Method(2, 2, _insert, changes=True),
    "pop": _Method(0, 1, _pop, changes=True),
    "reverse": _Method(0, 0, lambda owner: owner.reverse(), changes=True),
    "copy": _Method(0, 0, lambda owner: list(owner), reads_all=True),
}
_OF_DICT: Dict[str, _Method] = {
    "get": _Method(1, 2, lambda owner, key, default=None: owner.get(key_of(key), default)),
    "items": _Method(0, 0, lambda owner: [(key, value) for key, value in owner.items()], reads_all=True),
    "keys": _Method(0, 0, lambda owner: list(owner), reads_all=True),
    "values": _Method(0, 0, lambda owner: list(owner.values()), reads_all=True),
    "copy": _Method(0, 0, lambda owner: dict(owner), reads_all=True),
    "setdefault": _Method(1, 2, _set_default, changes=True),
    "update": _Method(1, 1, _update, changes=True),
}


def method_of(owner: object, name: str) -> Optional[_Method]:
    """A method of a list or dict, or None."""
    table = _OF_LIST if isinstance(owner, list) else _OF_DICT if isinstance(owner, dict) else {}
    return table.get(name)
