"""Changes the configs of old models, and plans their way to Keras 3: nothing but errors of the package may come out.

    python -m fuzz.keras3 --count 20000 [FOLDER of .h5 files]

Each answer must come within a second, and what is planned can be written down as JSON.  Without a folder, the models
are made here: one for each class of the tables, with plain values for its arguments.
"""

import argparse
import copy
import glob
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import replace

import unparallel
from tests.keras3 import models
from unparallel import hdf5, keras_config
from unparallel.keras3.layers import ALIASES, REFUSED, ROWS
from unparallel.keras3.outlook import outlook
from unparallel.keras3.plan import attempted, keras3_plan, single_plan
from unparallel.options import ConvertOptions
from unparallel.reader import read
from unparallel.weights.assignment import expected_weights

from .config import places

SECONDS = 1.0
KEPT = "bias kernel recurrent depthwise pointwise embeddings beta gamma alpha"
#: Values of arguments, as old Keras wrote them.
VALUES = {
    "units": 3, "filters": 3, "output_dim": 3, "input_dim": 3, "n": 2, "rate": 0.5, "stddev": 0.1, "axis": -1,
    "kernel_size": [3], "pool_size": [2], "strides": [1], "padding": "valid", "data_format": "channels_last",
    "dilation_rate": [1], "activation": "tanh", "recurrent_activation": "hard_sigmoid", "use_bias": True,
    "target_shape": [-1], "dims": [2, 1], "depth_multiplier": 1, "epsilon": 0.001, "center": True, "scale": True,
    "momentum": 0.99, "return_sequences": True, "return_state": False, "go_backwards": False, "stateful": False,
    "unroll": False, "reset_after": False, "unit_forget_bias": True, "dropout": 0.0, "recurrent_dropout": 0.0,
    "implementation": 1, "cropping": [1, 1], "size": 2, "alpha": 0.3, "theta": 1.0, "axes": 1, "normalize": False,
    "merge_mode": "concat", "num_heads": 2, "key_dim": 3, "use_scale": False, "mask_value": 0.0, "mode": "sum",
    "l1": 0.1, "l2": 0.1, "interpolation": "nearest", "shared_axes": None, "nb_feature": 2, "mask_zero": True,
}  # fmt: skip
DENSE = {"class_name": "Dense", "config": {"name": "inner", "units": 3, "activation": "hard_sigmoid", "use_bias": True}}
CELL = {"class_name": "GRU", "config": {"name": "inner", "units": 3, "reset_after": False}}
HELD = {"layer": DENSE, "cell": dict(CELL, class_name="GRUCell"), "cells": [dict(CELL, class_name="GRUCell")]}


def _deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def _wrapped(depth):
    value = DENSE
    for number in range(depth):
        value = {"class_name": "TimeDistributed", "config": {"name": f"t{number}", "layer": value}}
    return value


ODD = [
    _wrapped(20), _wrapped(70), _wrapped(140), 10**399, "1" * 10_000, [[10**12, 3], [3]],
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf"), "", "x", "a/b",
    "\ud800", "\0", "linear", "hard_sigmoid", "channels_first", "same", [], {}, [[]], [None], [0], [-1, 0, 10**18],
    [10**9] * 40, {"class_name": None, "config": None}, {"class_name": "L1L2", "config": {"l1": "x"}},
    {"class_name": "Lambda", "config": {"function": ["", 0, 0]}}, {"class_name": "Model", "config": {"layers": []}},
    {"class_name": "Sequential", "config": [DENSE]}, DENSE, CELL, _deep(40), _deep(300), [1] * 100_000,
    {"class_name": "__keras_tensor__", "config": []}, *sorted(ROWS), *sorted(ALIASES), *sorted(REFUSED),
]  # fmt: skip


def made_models():
    """A model for each class of the tables."""
    for name in sorted(set(ROWS) | {"Lambda", "TFOpLambda", "StridedSlice"}):
        for version in ("2.2.4", "2.3.0-tf", "1.2.2"):
            yield _made(name, version)


def _made(name, version):
    row = ROWS.get(name)
    rank = next((int(digit) for digit in name if digit in "123"), 1)
    shape = (None, *[6] * rank, 3)
    inputs = [models.source("x", shape), models.source("y", shape)]
    ends = (("x", "y"),) if row and "merge" in row.masks else (("x",),)
    it = models.layer(name, dict(_config(name, row, rank), trainable=True), inputs=ends)
    spec = expected_weights(keras_config.parse(models.functional([*inputs, it])).layers[2], "tf" in version)
    it["shapes"] = [(3, 3)] * (0 if spec is None else len(spec.trainable) + len(spec.rest))
    then = models.layer("Dense", {"units": 2, "use_bias": False}, [(3, 2)], "then", (("it",),))
    return models.model_file([*inputs, it, then], ("then",), version)


def _config(name, row, rank):
    arguments = {} if row is None else {*row.keeps, *row.renames, *row.drops}
    config = {key: copy.deepcopy(value) for key, value in {**VALUES, **HELD}.items() if key in arguments}
    for kind in KEPT.split():
        if f"{kind}_initializer" in arguments:
            config[f"{kind}_initializer"] = {"class_name": "Zeros", "config": {}}
    if name == "Bidirectional":
        config["layer"] = CELL
    for key in ("kernel_size", "pool_size", "strides", "dilation_rate"):
        if key in config:
            config[key] *= rank
    return config


def read_models(folder):
    """The models of a folder's files."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.h5"), recursive=True)):
        with hdf5.open_source(path) as source:
            model = read(source)
        if model.topology is not None:
            yield model


def changed(model, random):
    """A copy of a model's config and training config with one to four changes."""
    value = copy.deepcopy({"config": model.topology.config, "training": model.training_config})
    for _ in range(random.choice([1, 1, 2, 4])):
        part = value["training" if value["training"] and random.random() < 0.2 else "config"]
        found = list(places(part)) if isinstance(part, (dict, list)) else []
        # arguments of layers more often than the graph
        inner = [(owner, key) for owner, key in found if isinstance(owner, dict) and "name" in owner]
        owner, key = random.choice(inner if inner and random.random() < 0.7 else found or [(value, "config")])
        _change(owner, key, found, random)
    return value


def _change(owner, key, found, random):
    how = random.choice(["delete", "odd", "odd", "odd", "copy", "wrap", "new", "number"])
    if how == "delete":
        del owner[key]
    elif how == "copy" and found:
        other, place = random.choice(found)
        owner[key] = copy.deepcopy(other.get(place) if isinstance(other, dict) else owner[key])
    elif how == "wrap":
        owner[key] = [owner[key], owner[key]]
    elif how == "new" and isinstance(owner, dict):
        owner[random.choice(sorted(VALUES))] = copy.deepcopy(random.choice(ODD))
    elif how == "number" and isinstance(owner[key], (int, float)):
        owner[key] = owner[key] * random.choice([-1, 0, 2, 10**9])
    else:
        owner[key] = copy.deepcopy(random.choice(ODD))


def plan(model, value):
    """The plan for a model with another config, by way of its text, as a file has it."""
    config = keras_config.parse_json(json.dumps(value["config"]), "model_config")
    training = keras_config.parse_json(json.dumps(value["training"]), "training_config")
    options = ConvertOptions()
    before = replace(model, topology=keras_config.parse(config), training_config=training)
    single = single_plan(before, options)
    far = outlook(before, single, None, options)
    try:
        made = keras3_plan(single, options, attempted(single, options))
    except unparallel.UnparallelError as error:
        assert (far.possible, far.problem) == (False, error.message)
        raise
    assert replace(far, layers=()) == made.outlook
    json.dumps(made.archive.config, allow_nan=False)


def run(count, seed, found, seconds=SECONDS):
    """Plan that many changed models, each within so many seconds of CPU time; what is wrong is raised with its config.

    Returns
    -------
    Counter
        How many came out how.
    """
    choice = random.Random(seed)
    counts = Counter()
    for _ in range(count):
        model = choice.choice(found)
        value = changed(model, choice)
        start = time.process_time()
        try:
            plan(model, value)
            counts["planned"] += 1
        except unparallel.UnparallelError as error:
            counts["refused"] += 1
            if not (error.message and error.hint):
                raise AssertionError(f"{type(error).__name__} without hint: {error.message}") from error
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}; {json.dumps(value)[:4000]}") from error
        spent = time.process_time() - start
        if spent > seconds:
            raise AssertionError(f"{spent:.1f} s for {json.dumps(value)[:4000]}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = list(read_models(options.folder) if options.folder else made_models())
    print(f"{len(found)} models:", dict(run(options.count, options.seed, found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
