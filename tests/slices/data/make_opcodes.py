"""Prints the operations of the Python that runs this, as the tables in `unparallel/slices/opcodes.py` hold them.

    python3.14 make_opcodes.py            # the whole table
    python3.14 make_opcodes.py 3.13       # what differs from a version that is there already

Only what a compiler emits is listed: numbers from 230 on are those that a tracing interpreter puts in place.
"""

from __future__ import print_function  # noqa: UP010 - Python 2 runs this too

import opcode
import sys
import textwrap


def operations():
    return {number: name for name, number in opcode.opmap.items() if number < 230}


def caches():
    """How many empty instructions follow an operation (3.11 on)."""
    counts = getattr(opcode, "_inline_cache_entries", {})
    if isinstance(counts, list):  # 3.11 and 3.12: by number
        counts = {opcode.opname[number]: count for number, count in enumerate(counts)}
    known = set(operations().values())
    return {name: count for name, count in counts.items() if count and name in known}


def changed(old):
    """This Python's operations without those of another version, "-" for those that are gone."""
    mine = operations()
    found = {number: name for number, name in mine.items() if old.get(number) != name}
    found.update((number, "-") for number in old if number not in mine)
    return found


def main(args):
    table = operations()
    if args:
        from unparallel.slices.opcodes import VERSIONS

        table = changed(VERSIONS[args[0]].operations)
    print(textwrap.fill(" ".join("%d:%s" % (number, table[number]) for number in sorted(table)), 115))
    print("caches:", " ".join("%s:%d" % pair for pair in sorted(caches().items())))


if __name__ == "__main__":
    main(sys.argv[1:])
