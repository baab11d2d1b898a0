"""Damages checkpoints and SavedModels byte by byte and converts them.

    python -m fuzz.checkpoints --count 2000 --seed 7

What may come out is an error of the package, or a result.  Checksums are put right again after two of three damages
to an index or to an object graph, so that what lies behind them is reached.  A result must hold the arrays that were
saved, each of the right layer, where only arrays or the index were hit; a damaged graph or config has no checksum, and
may well say something else that makes sense.  Anything else is written to fuzz/found/.
"""

import argparse
import json
import lzma
import os
import random
import shutil
import struct
import tempfile
import time
import traceback
from collections import Counter

import h5py

import unparallel
from unparallel.tensorflow import bundle, crc32c, table, wire

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(ROOT, "fixtures")
FOUND = os.path.join(ROOT, "fuzz", "found")
LONGEST = 20.0
INTERESTING = [0, 1, 2, 7, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]
CASES = [(name, what) for name in ("tf115-formats", "tf23-formats") for what in ("saved_model", "checkpoint")]
CASES.append(("tf115-formats", "saver"))


class Seed:
    """The files of one source, and what comes of them undamaged."""

    def __init__(self, name, what, folder):
        self.folder = os.path.join(folder, name + "-" + what)
        shutil.copytree(os.path.join(FIXTURES, name, what), self.folder)
        self.architecture = None if what == "saved_model" else os.path.join(FIXTURES, name, "architecture.json")
        self.files = {}
        for place, _, names in os.walk(self.folder):
            for file in names:
                path = os.path.join(place, file)
                with open(path, "rb") as handle:
                    data = handle.read()
                if path.endswith(".xz"):
                    os.unlink(path)
                    path, data = path[:-3], lzma.decompress(data)
                self.files[path] = data
        self.restore()
        self.path = self.folder
        self.gold = self.convert(os.path.join(folder, "gold.h5"))

    def restore(self):
        for path, data in self.files.items():
            with open(path, "wb") as file:
                file.write(data)

    def convert(self, target):
        """What the file holds as Keras reads it."""
        unparallel.convert(self.path, target, architecture=self.architecture, overwrite=True)
        return contents(target)

    def damage(self, chance):
        """Write one of the files damaged; what was hit."""
        path = chance.choice(sorted(self.files))
        data = bytearray(self.files[path])
        start = object_graph(data) if path.endswith(".pb") and chance.random() < 0.8 else 0
        spots = [chance.randrange(start, len(data)) for _ in range(chance.choice([1, 1, 1, 2, 4]))]
        for spot in spots:
            if spot < len(data):  # of what was cut before
                chance.choice(DAMAGE)(data, spot, chance)
        what = os.path.basename(path).split(".")[-1].split("-")[0]
        if what == "index" and chance.random() < 0.67:
            with_checksums(data)
        with open(path, "wb") as file:
            file.write(data)
        if what == "data" and chance.random() < 0.67:
            return "graph" if self.new_text_checksum(path, data) else what
        return what

    def new_text_checksum(self, path, data):
        """Make the index agree with a damaged object graph; whether there is one in this shard."""
        prefix = path.split(".data-")[0]
        index = bytearray(self.files[prefix + ".index"])
        for key, value in table.read(prefix + ".index").items():
            if key != b"_CHECKPOINTABLE_OBJECT_GRAPH":
                continue
            entry = {field: item for field, item in wire.fields(value) if isinstance(item, int)}
            if not path.endswith(f"-{entry.get(3, 0):05d}-of-{path[-5:]}"):
                return False
            raw = memoryview(data)[entry.get(4, 0) : entry.get(4, 0) + entry[5]]
            try:
                size, at = wire.varint(raw, 0, len(raw))
            except unparallel.UnparallelError:
                return False
            crc = crc32c.by_table(raw[at:], crc32c.by_table(struct.pack("<Q", size)[: 4 if size < 2**32 else 8]))
            old = struct.pack("<I", entry[6])
            place = index.find(old)
            index[place : place + 4] = struct.pack("<I", crc32c.masked(crc))
            with_checksums(index)
            with open(prefix + ".index", "wb") as file:
                file.write(index)
            return True
        return False


def contents(path):
    with h5py.File(path, "r") as file:
        base = file["model_weights"]
        return [
            (layer, [base[layer][name][()].tobytes() for name in base[layer].attrs["weight_names"]])
            for layer in base.attrs["layer_names"]
        ]


def object_graph(data):
    """Where the objects begin in a saved_model.pb: behind the graph of operations, nearly all of it."""
    return max(0, data.find(b"layer-0") - 200)


def with_checksums(data):
    """Put the checksums of a table's blocks right, as far as its footer can be read."""
    view = memoryview(data)
    try:
        at = len(data) - table.FOOTER
        for _ in range(2):
            _, at = wire.varint(view, at, len(data))
        offset, at = wire.varint(view, at, len(data))
        size, _ = wire.varint(view, at, len(data))
    except (unparallel.UnparallelError, IndexError):
        return
    view.release()
    for start, length in ((0, offset - 13), (offset, size)):
        # one block of keys, one of none (8 bytes and a trailer), and the index of blocks
        if 0 <= start < start + length + 5 <= len(data):
            crc = crc32c.masked(crc32c.by_table(data[start : start + length + 1]))
            data[start + length + 1 : start + length + 5] = struct.pack("<I", crc)


def flip_a_bit(data, place, chance):
    data[place] ^= 1 << chance.randrange(8)


def set_a_byte(data, place, chance):
    data[place] = chance.randrange(256)


def set_a_number(data, place, chance):
    number = chance.choice(INTERESTING)
    piece = bytearray()
    while number > 0x7F:
        piece.append(number & 0x7F | 0x80)
        number >>= 7
    piece.append(number)
    data[place : place + len(piece)] = piece


def copy_a_piece(data, place, chance):
    size, other = chance.choice([1, 2, 8, 30]), chance.randrange(len(data))
    data[place : place + size] = data[other : other + size]


def cut_the_end(data, place, chance):
    del data[max(1, chance.choice([place, len(data) - 1, len(data) - 48])) :]


DAMAGE = [flip_a_bit, flip_a_bit, set_a_byte, set_a_byte, set_a_number, set_a_number, copy_a_piece, cut_the_end]


def attempt(seed, target, hit):
    """("refused" or "converted", ""), or what is wrong."""
    start = time.monotonic()
    try:
        made = seed.convert(target)
    except unparallel.UnparallelError as error:
        if not error.message or not error.hint or "\n" in error.message + error.hint:
            return "foreign", f"{type(error).__name__} without a hint, or of several lines: {error}"
        if os.path.exists(target):
            return "wrong", "refused, and an output"
        return slow(start) or ("refused", "")
    except Exception:  # noqa: BLE001
        return "foreign", traceback.format_exc()
    if hit in ("index", "data") and made != seed.gold:
        return "wrong", f"{hit}: other arrays, or of other layers"
    return slow(start) or ("converted", "")


def slow(start):
    seconds = time.monotonic() - start
    return ("slow", f"{seconds:.1f} s") if seconds > LONGEST else None


def run(count, seed, found=FOUND):
    """Counts by outcome; what went wrong is kept in `found`."""
    counts = Counter()
    chance = random.Random(seed)
    fast, bundle.fast = bundle.fast, lambda: crc32c.by_table  # all checksums are looked at, whatever is installed
    try:
        with tempfile.TemporaryDirectory() as folder:
            seeds = [Seed(name, what, folder) for name, what in CASES]
            for _ in range(count):
                source = chance.choice(seeds)
                hit = source.damage(chance)
                target = os.path.join(folder, "made.h5")
                outcome, why = attempt(source, target, hit)
                counts[outcome] += 1
                if outcome not in ("refused", "converted"):
                    keep(found, source, sum(counts.values()), outcome, why)
                if os.path.exists(target):
                    os.unlink(target)
                source.restore()
    finally:
        bundle.fast = fast
    return counts


def keep(found, source, number, outcome, why):
    """Keep a source that went wrong, and what it did."""
    os.makedirs(found, exist_ok=True)
    place = os.path.join(found, f"{outcome}-{number}")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source.folder, place)
    with open(place + ".txt", "w") as file:
        file.write(why)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(run(options.count, options.seed)))


if __name__ == "__main__":
    main()
