"""Whether parts of a batch are all of it, in order."""

from typing import List, Sequence, Tuple

from .sizes import Size, Undecided
from .values import Rows


def check_partition(parts: Sequence[Rows]) -> str:
    """Why the parts, in this order, are not one batch cut into pieces; "" where they are.

    Parameters
    ----------
    parts : sequence of Rows

    Returns
    -------
    str
        "" where the first part begins at row 0, each begins where the one before ends, and the last one ends
        with the batch, or short of it only by the rows that do not divide (or where its end is fixed).
    """
    if not parts or len({part.source for part in parts}) != 1:
        return "the parts are not those of one tensor"
    try:
        return _partition_problem(parts)
    except Undecided as error:
        return f"the sizes of the parts cannot be compared: {error}"


def _partition_problem(parts: Sequence[Rows]) -> str:
    whole = Size.batch(parts[0].source)
    pieces = [(part.start, whole if whole.never_above(part.stop) else part.stop) for part in parts]
    for second, piece in enumerate(pieces):
        first = pieces.index(piece)
        if first != second and piece[0] != piece[1]:
            return f"parts {first + 1} and {second + 1} are the same rows"
    reason = _gap(pieces)
    if reason:
        return "the parts are not in order" if not _gap(_chained(pieces)) else reason
    for number, (start, stop) in enumerate(pieces):
        if not (start.never_above(stop) or whole.never_above(stop)):
            return "part %s may end before it begins" % (number + 1)
    return "" if _reaches_end(pieces, whole) else "the slices do not reach the end of the batch"


_Piece = Tuple[Size, Size]


def _gap(pieces: Sequence[_Piece]) -> str:
    """The first place where a part does not begin where the one before ends."""
    position = Size.constant(0)
    for number, (start, stop) in enumerate(pieces):
        if start != position:
            if position.never_above(start):
                return f"rows {position} to {start} are in no part{_missing(pieces, position)}"
            if start.never_above(position):
                return f"part {number + 1} begins at row {start}, before row {position} where it should"
            return f"part {number + 1} begins at row {start}, not at row {position}"
        position = stop
    return ""


def _missing(pieces: Sequence[_Piece], position: Size) -> str:
    """Which of N equal parts it is that begins at a row and is not there."""
    sizes = {stop - start for start, stop in pieces}
    size = min(sizes, key=lambda each: (each.at(10**6), each.values))
    for number in range(len(pieces) + 1):
        if size.times(number) == position and size != Size.constant(0):
            return ": part %s is missing" % (number + 1)
    return ""


def _chained(pieces: Sequence[_Piece]) -> List[_Piece]:
    """The parts in the order in which they follow each other, as far as they do."""
    left, found = list(pieces), []
    position = Size.constant(0)
    while left:
        following = [piece for piece in left if piece[0] == position] or left[:1]
        left.remove(following[0])
        found.append(following[0])
        position = following[0][1]
    return found


def _reaches_end(pieces: Sequence[_Piece], whole: Size) -> bool:
    end = pieces[-1][1]
    if whole.never_above(end) or end.fixed is not None:
        return True
    # short of it only by the few rows that are left over when the batch is dealt out in equal shares
    shares = len(end.values)
    share = whole // shares
    sizes = [stop - start for start, stop in pieces]
    return shares > 1 and end == share.times(shares) and all(size == share.times(size.at(shares)) for size in sizes)


def describe(rows: Rows) -> str:
    """Which rows these are, in terms of the batch size n.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    str
        Such as "rows n//2 to n".
    """
    return f"rows {rows.start} to {rows.stop}"
