"""Changes the `model_config` of real parallel files, and converts them.

    python -m fuzz.config --seconds 3600

What may come out is an error of the package, or a result that holds each of the file's weights once.  Hypothesis
makes an example of what goes wrong as small as it can, and prints it.
"""

import argparse
import copy
import json
import math
import os
import random
import sys
import tempfile
import time
from collections import Counter

import h5py
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import unparallel
from unparallel.hdf5 import as_text

from . import oracle

EXAMPLES = 200
ODD = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 3, 10**30, 1.5, float("nan"), "", "x", "..", "a/b", "\ud800", "\0", [], {}, [[]]]
    + [{"class_name": "__keras_tensor__", "config": []}, {"class_name": "Model", "config": {"layers": []}}]
    + [["x", 0, 0], ["x", 0, 0, {}], [None, None, None], {"class_name": "Lambda", "config": {"function": ["", 0, 0]}}]
    + ["Lambda", "Concatenate", "Sequential", "Model", "InputLayer", "BatchNormalization", "lambda", "function"]
)


class File:
    """A parallel file and its config."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "parallel.h5")
        with open(self.path, "rb") as handle:
            self.data = handle.read()
        with h5py.File(self.path, "r") as handle:
            self.config = json.loads(as_text(handle.attrs["model_config"]))
        self.weights = Counter(oracle.weights(self.path).values())
        self.gold = os.path.join(folder, "template.h5")


FILES = [File(folder) for folder in oracle.full_files()]


def places(value):
    """(container, key) of everything in a JSON value, from the outside in."""
    stack = [value]
    while stack:
        outer = stack.pop()
        for key in outer if isinstance(outer, dict) else range(len(outer)):
            yield outer, key
            if isinstance(outer[key], (dict, list)):
                stack.append(outer[key])


def interesting(value):
    """Places in the graph rather than in the settings of a layer, where there are any."""
    found = list(places(value))
    graph = [place for place in found if place[1] in ("name", "inbound_nodes", "class_name", "layers", "config")]
    inner = [
        pair
        for place in found
        if place[1] in ("inbound_nodes", "input_layers", "output_layers")
        for pair in places([place[0][place[1]]])
    ]
    return found, graph + inner


@st.composite
def changed(draw):
    """(file, its config with one to five changes)."""
    file = draw(st.sampled_from(FILES))
    config = copy.deepcopy(file.config)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3, 5]))):
        everywhere, graph = interesting(config)
        found = graph if graph and draw(st.integers(0, 3)) else everywhere
        if not found:
            break
        owner, key = found[draw(st.integers(0, len(found) - 1))]
        change(draw, owner, key, everywhere)
    return file, config


def change(draw, owner, key, found):
    """Change one place in a config."""
    how = draw(st.sampled_from(["delete", "odd", "copy", "twice", "swap", "number", "wrap"]))
    if how == "delete":
        del owner[key]
    elif how == "odd":
        owner[key] = copy.deepcopy(draw(ODD))
    elif how in ("copy", "swap"):
        other, place = found[draw(st.integers(0, len(found) - 1))]
        mine = copy.deepcopy(owner[key])
        owner[key] = copy.deepcopy(other[place])
        if how == "swap":
            other[place] = mine
    elif how == "twice" and isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    elif how == "number" and isinstance(owner[key], int):
        owner[key] += draw(st.sampled_from([1, -1, 2]))
    else:
        owner[key] = [owner[key]]


def check(file, config, folder, counts):
    """Convert a file with another config, and judge what comes of it."""
    path, made = os.path.join(folder, "changed.h5"), os.path.join(folder, "made.h5")
    with open(path, "wb") as handle:
        handle.write(file.data)
    with h5py.File(path, "r+") as handle:
        text = json.dumps(config).encode("ascii")
        handle.attrs.create("model_config", text, shape=(), dtype=h5py.special_dtype(vlen=bytes))
    try:
        unparallel.inspect(path)
        unparallel.convert(path, made, overwrite=True)
    except unparallel.UnparallelError as error:
        assert error.message, type(error)
        assert error.hint, error.message
        counts["refused"] += 1
        return
    counts["converted"] += 1
    assert Counter(oracle.weights(made).values()) == file.weights
    # twice is as good as once: what was made can be read, and is no worse than what it was made of
    unparallel.inspect(made)
    if config == file.config:
        assert list(oracle.differences(file.gold, made)) == []


def run(seconds, start=None, counts=None, most=math.inf):
    """Fuzz for a time, or for a number of inputs; the first thing that goes wrong is raised.

    Returns
    -------
    Counter
        How many inputs ended how.
    """
    counts = Counter() if counts is None else counts
    end = time.monotonic() + seconds
    number = random.randrange(2**32) if start is None else start

    def goes_on():
        return time.monotonic() < end and sum(counts.values()) < most

    with tempfile.TemporaryDirectory() as folder:
        while goes_on():

            @seed(number)
            @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(changed())
            def attempt(pair):
                if goes_on():
                    check(pair[0], pair[1], folder, counts)

            attempt()
            number += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--count", type=int, default=1000, help="inputs, unless the time is over before")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    counts = Counter()
    try:
        run(options.seconds, options.seed, counts, options.count)
    finally:
        print(sum(counts.values()), "inputs:", ", ".join("{} {}".format(*item) for item in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
