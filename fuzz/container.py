"""Damages HDF5 files byte by byte and converts them, in a process that may crash.

    python -m fuzz.container --seconds 3600 --seed 7

What may come out is an error of the package, or a right result.  Anything else is written to fuzz/found/ with the
file that did it: a foreign exception, a wrong result, more than 20 seconds, a crash of the HDF5 library.  The last
is no defect of ours, but what it takes is worth knowing.
"""

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import h5py

from . import oracle

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOUND = os.path.join(ROOT, "fuzz", "found")
LONGEST = 20.0
INTERESTING = [0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 1000, 4096, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1]
INTERESTING += [2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


# -- seeds and damage


def packed(source, target, **options):
    """The file with its arrays in chunks, compressed."""
    with h5py.File(source, "r") as old, h5py.File(target, "w") as new:

        def copy(name, item):
            if isinstance(item, h5py.Dataset):
                more = dict(options, chunks=True) if item.size > 1 else {}
                made = new.create_dataset(name, data=item[()], **more)
            else:
                made = new.require_group(name)
            for key in item.attrs:
                made.attrs.create(key, item.attrs[key], dtype=item.attrs.get_id(key).dtype)

        old.visititems(copy)
        for key in old.attrs:
            new.attrs.create(key, old.attrs[key], dtype=old.attrs.get_id(key).dtype)


class Seed:
    """A file's bytes, and where in them the arrays are not."""

    def __init__(self, path, gold):
        self.path, self.gold = path, gold
        with open(path, "rb") as handle:
            self.data = handle.read()
        arrays = []
        with h5py.File(path, "r") as handle:
            handle.visititems(
                lambda name, item: (
                    arrays.append((item.id.get_offset(), item.id.get_storage_size()))
                    if isinstance(item, h5py.Dataset) and item.chunks is None and item.id.get_offset() is not None
                    else None
                )
            )
        inside = bytearray(len(self.data))
        for start, size in arrays:
            inside[start : start + size] = b"\1" * size
        self.structure = [i for i, flag in enumerate(inside) if not flag and self.data[i : i + 1] != b"\0"]
        self.addresses = [i for i in range(0, len(self.data) - 8, 8) if 96 <= self._number(i) < len(self.data)]

    def _number(self, place):
        return struct.unpack_from("<Q", self.data, place)[0]

    def damaged(self, chance):
        """The bytes with one to six changes."""
        data = bytearray(self.data)
        for _ in range(chance.choice([1, 1, 1, 2, 3, 6])):
            place = chance.choice(self.structure) if chance.random() < 0.9 else chance.randrange(len(data))
            if place < len(data) - 64:
                chance.choice(DAMAGE)(self, data, place, chance)
        return bytes(data)


def flip_a_bit(seed, data, place, chance):
    data[place] ^= 1 << chance.randrange(8)


def set_a_byte(seed, data, place, chance):
    data[place] = chance.randrange(256)


def set_a_number(seed, data, place, chance):
    size = chance.choice([1, 2, 4, 8])
    place -= place % size
    number = chance.choice(INTERESTING) + chance.choice([0, 0, 1, -1])
    data[place : place + size] = (number % 256**size).to_bytes(size, "little")


def set_an_address(seed, data, place, chance):
    to, of = chance.choice(seed.addresses), chance.choice(seed.addresses)
    data[to : to + 8] = seed.data[of : of + 8]


def copy_a_piece(seed, data, place, chance):
    size, of = chance.choice([4, 8, 16, 40, 64]), chance.choice(seed.structure)
    data[place : place + size] = seed.data[of : of + size].ljust(size, b"\0")


def swap_two_pieces(seed, data, place, chance):
    size, other = chance.choice([8, 16, 40]), chance.choice(seed.structure)
    if other + size <= len(data) and abs(other - place) >= size:
        data[place : place + size], data[other : other + size] = data[other : other + size], data[place : place + size]


def clear_a_piece(seed, data, place, chance):
    size = chance.choice([4, 8, 64])
    data[place : place + size] = chance.choice([b"\0", b"\xff"]) * size


def cut_the_end(seed, data, place, chance):
    del data[chance.choice([place, len(data) - 1, len(data) - 512]) :]


def more_at_the_end(seed, data, place, chance):
    data += bytes(chance.choice([1, 8, 4096]))


DAMAGE = [flip_a_bit, flip_a_bit, set_a_byte, set_a_byte, set_a_number, set_a_number, set_a_number, set_an_address]
DAMAGE += [copy_a_piece, swap_two_pieces, clear_a_piece, cut_the_end, more_at_the_end]


# -- the process that converts


def serve():
    """Convert the files that standard input names, and say how each went, a line of JSON each."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cases = {}
    for line in sys.stdin:
        damaged, parallel, gold, made = json.loads(line)
        if parallel not in cases:
            cases[parallel] = oracle.Case(parallel, gold)
        answers.write(json.dumps(attempt(damaged, made, cases[parallel])) + "\n")
        answers.flush()


def attempt(damaged, made, case):
    """("refused", error), ("converted", ""), ("wrong", why) or ("foreign", traceback)."""
    import unparallel

    try:
        unparallel.inspect(damaged)
        unparallel.convert(damaged, made, overwrite=True)
    except unparallel.UnparallelError as error:
        if not error.message or not error.hint:
            return "foreign", f"{type(error).__name__} without a hint: {error.message}"
        return "refused", type(error).__name__
    except Exception:  # noqa: BLE001
        return "foreign", traceback.format_exc()
    try:
        why = case.wrong(damaged, made)
    except Exception:  # noqa: BLE001
        return "wrong", traceback.format_exc()
    return ("wrong", why) if why else ("converted", "")


class Worker:
    """The process, started again after each end."""

    def __init__(self):
        self.process = None

    def ask(self, *task):
        """What became of one file."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "fuzz.container", "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], LONGEST)
            line = self.process.stdout.readline() if ready else b""
        except BrokenPipeError:
            ready, line = True, b""
        if line:
            return json.loads(line.decode())
        if not ready:
            self.close()
            return "hang", f"more than {LONGEST:g} seconds"
        code = self.process.wait()
        self.close()
        return ("crash", "signal %s" % -code) if code < 0 else ("foreign", f"exit code {code}")

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


# -- the run


def seeds(folder):
    """Real files, and packed ones."""
    for case in oracle.full_files():
        yield Seed(os.path.join(case, "parallel.h5"), os.path.join(case, "template.h5"))
    case = os.path.join(oracle.FIXTURES, "k231-head")
    for number, options in enumerate([{"compression": "gzip"}, {"compression": "lzf", "fletcher32": True}]):
        pair = [os.path.join(folder, f"{name}{number}.h5") for name in ("parallel", "gold")]
        packed(os.path.join(case, "parallel.h5"), pair[0], **options)
        packed(os.path.join(case, "template.h5"), pair[1], **options)
        yield Seed(*pair)


def run(seconds, seed=0, found=FOUND, most=math.inf):
    """Fuzz for a time, or for a number of inputs.

    Returns
    -------
    dict
        How many inputs ended how; "foreign", "wrong" and "hang" should not be among them.
    """
    counts = {}
    worker = Worker()
    end = time.monotonic() + seconds
    folder = tempfile.mkdtemp()
    try:
        files = list(seeds(folder))
        number = 0
        while time.monotonic() < end and number < most:
            chance = random.Random(f"{seed}-{number}")
            start = chance.choice(files)
            data = start.damaged(chance)
            path = os.path.join(folder, "damaged.h5")
            with open(path, "wb") as handle:
                handle.write(data)
            how, what = worker.ask(path, start.path, start.gold, os.path.join(folder, "made.h5"))
            counts[how] = counts.get(how, 0) + 1
            if how not in ("refused", "converted"):
                keep(found, data, how, what, start.path)
            number += 1
    finally:
        worker.close()
        shutil.rmtree(folder)
    return counts


def keep(found, data, how, what, start):
    """Write down an input that did what it should not."""
    os.makedirs(found, exist_ok=True)
    name = os.path.join(found, f"{how}-{hashlib.sha1(data).hexdigest()[:12]}")
    with open(name + ".h5", "wb") as handle:
        handle.write(data)
    with open(name + ".txt", "w", encoding="utf-8") as handle:
        handle.write(f"{how}\nfrom {os.path.relpath(start, ROOT)}\n{what}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--count", type=int, default=1000, help="inputs, unless the time is over before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        with contextlib.suppress(KeyboardInterrupt):
            serve()
        return 0
    counts = run(options.seconds, options.seed, most=options.count)
    print(sum(counts.values()), "inputs:", ", ".join("{} {}".format(*item) for item in sorted(counts.items())))
    return 1 if set(counts) - {"refused", "converted", "crash"} else 0


if __name__ == "__main__":
    sys.exit(main())
