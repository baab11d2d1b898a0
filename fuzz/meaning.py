"""What a model computes, as symbolic rows of the batch; and configs, changed at random, before and after cleaning.

    python -m fuzz.meaning --count 100000

Every tensor is a list of rows, and a row says how it was made: a row of an input, a layer that was applied to rows.
The source's config and the one that was made of it must give the same rows, for several sizes of the batch.  The
evaluation is written from the rules of Keras 2 and shares nothing with the package: it reads the JSON itself, and knows
what the slices' functions do from the table below.
"""

import argparse
import contextlib
import copy
import json
import os
import random
import sys
from collections import Counter

import h5py

from tests import tiny
from unparallel import keras_config
from unparallel.errors import UnparallelError
from unparallel.hdf5 import as_text
from unparallel.plan import clean_topology

from . import oracle

#: Sizes of the batch that are compared.
SIZES = (1, 2, 3, 4, 5, 7, 12)
DEEPEST = 8


class Undefined(Exception):
    """Keras would not build or run this model, or the evaluation does not know it."""


# -- models to begin with ---------------------------------------------------------------------------------


def _fixtures():
    """The configs of real parallel files whose slices are Lambdas."""
    for folder in oracle.full_files():
        with h5py.File(os.path.join(folder, "parallel.h5"), "r") as handle:
            config = json.loads(as_text(handle.attrs["model_config"]))
        if isinstance(config["config"], dict):
            yield config


def _built():
    """Wrappers by hand: inputs and outputs in plenty, layers around, towers without a model, a wrapper of a wrapper."""
    x, y = tiny.entry("x", 3), tiny.entry("y", 3)
    layers = (x, y, tiny.dense("a", "x"), tiny.dense("b", "y"), tiny.dense("c", "a"))
    two = tiny.TinyModel("two", layers, ("x", "y"), ("a", "b", "c"))
    yield tiny.parallel(two, 2).config()
    yield tiny.parallel(two, 3).config()
    net = tiny.TinyModel("net", (tiny.entry("in", 3), tiny.dense("d", "in")), ("in",), ("d",))
    yield tiny.parallel(tiny.parallel(net, 2, "inner"), 3, "outer").config()
    around = [tiny.dense("before", "x"), *(tiny.piece(f"cut{i}", "before", i, 2) for i in range(2))]
    model = tiny.nested("net", "x", net)._replace(inputs=(("cut0",), ("cut1",)))
    out = tiny.merge("out", [("net", 0, 0), ("net", 0, 1)])
    ends = [tiny.dense("after", "out"), tiny.dense("aside", "x")]
    yield tiny.TinyModel("m", (x, *around, model, out, *ends), ("x",), ("after", "aside")).config()
    shared = tiny.dense("d", "")._replace(inputs=(("cut0",), ("cut1",)))
    towers = [tiny.activation(f"activation_{i}", ("d", 0, i)) for i in range(2)]
    joined = tiny.merge("out", ["activation_0", "activation_1"])
    yield tiny.TinyModel("m", (x, *around, shared, *towers, joined), ("x",), ("out",)).config()


CANDIDATES = [*_built(), *_fixtures()]


def _functions(config):
    """The text of each Lambda's function in a config."""
    stack = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            function = value.get("function")
            if isinstance(function, list) and function and isinstance(function[0], str):
                yield function[0], set(value.get("arguments") or {})
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def rows_of(count, part, parts):
    """Where the slices of all models above begin and end: the last one takes the rest."""
    share = count // parts
    return share * part, count if part == parts - 1 else share * (part + 1)


#: Functions that cut the batch as `rows_of` says, with the names of their two arguments.
CUTS = {
    text: names
    for base in CANDIDATES
    for text, given in _functions(base)
    for names in (("i", "parts"), ("part", "total"))
    if given == set(names)
}


# -- what a model computes --------------------------------------------------------------------------------


def outputs_of(entry, inputs, depth=0):
    """The rows of each output of a model's `{"class_name", "config"}`, given those of its inputs."""
    config = entry["config"]
    if depth > DEEPEST:
        raise Undefined("too deep")
    if isinstance(config, list) or "input_layers" not in config:
        return _chain(config if isinstance(config, list) else config["layers"], inputs, depth)
    layers = {layer["name"]: layer for layer in config["layers"]}
    starts = [row[0] for row in _list_of_rows(config["input_layers"])]
    if len(starts) != len(inputs) or len(layers) != len(config["layers"]):
        raise Undefined("inputs")
    given = dict(zip(starts, inputs))
    first = {
        name: int("layers" in layer["config"] or isinstance(layer["config"], list)) for name, layer in layers.items()
    }
    known = {}

    def call(name, number):
        if (name, number) in known:
            if known[name, number] is None:
                raise Undefined("a cycle")
            return known[name, number]
        known[name, number] = None
        layer = layers[name]
        if layer["class_name"] == "InputLayer":
            result = [given[name]]
        else:
            node = layer["inbound_nodes"][number - first[name]] if number >= first[name] else None
            tensors = [call(row[0], row[1])[row[2]] for row in _list_of_rows(node)]
            arguments = [row[3] for row in node if len(row) == 4 and row[3]]
            result = _applied(layer, tensors, arguments, depth)
        known[name, number] = result
        return result

    return [call(row[0], row[1])[row[2]] for row in _list_of_rows(config["output_layers"])]


def _list_of_rows(value):
    rows = [value] if value and isinstance(value[0], str) else value
    if any(len(row) not in (3, 4) or row[1] < 0 or row[2] < 0 for row in rows):
        raise Undefined("a reference")
    return rows


def _chain(layers, inputs, depth):
    (value,) = inputs
    for layer in layers:
        if layer["class_name"] != "InputLayer":
            (value,) = _applied(layer, [value], [], depth)
    return [value]


def _applied(layer, tensors, arguments, depth):
    """What a call of a layer gives."""
    config = layer["config"]
    if not tensors:
        raise Undefined("a call of nothing")
    if isinstance(config, list) or "layers" in config:
        results = outputs_of(layer, tensors, depth + 1)
        return [[(row, json.dumps(arguments)) if arguments else row for row in rows] for rows in results]
    (count,) = {len(rows) for rows in tensors} if layer["class_name"] != "Concatenate" else {0}
    if layer["class_name"] == "Concatenate" and config["axis"] == 0:
        return [[row for rows in tensors for row in rows]]
    if layer["class_name"] == "Lambda":
        (rows,) = tensors
        part, parts = (config["arguments"][name] for name in CUTS[config["function"][0]])
        start, stop = rows_of(count, part, parts)
        if not 0 <= start <= stop <= count:
            raise Undefined("a slice beyond the batch")
        return [rows[start:stop]]
    if layer["class_name"] in MIXING:
        raise Undefined("rows are mixed")
    identity = (layer["class_name"], config["name"] if layer["class_name"] in OWNING else "", _settings(config))
    if len({len(rows) for rows in tensors}) != 1:
        raise Undefined("batches of different sizes")
    tensor_count = 3 if layer["class_name"] in ("LSTM", "GRU") else 1
    made = [(identity, json.dumps(arguments), *parts) for parts in zip(*tensors)]
    return [[(number, row) for row in made] for number in range(tensor_count)]


#: Layers whose result for a row depends on other rows, as far as any base has them.
MIXING = {"TensorFlowOpLayer", "SlicingOpLambda", "TFOpLambda"}
#: Layers with weights: which ones is their name's matter.
OWNING = {"Dense", "Conv2D", "BatchNormalization", "LSTM", "GRU", "Embedding", "SimpleRNN", "PReLU"}


def _settings(config):
    return json.dumps({key: value for key, value in config.items() if key not in ("name", "shared_object_id")})


def meaning(config, count, inputs):
    """Each output's rows for a batch of that many rows of each of `inputs` inputs, or None where the model is none."""
    try:
        return outputs_of(config, [[("in", place, row) for row in range(count)] for place in range(inputs)])
    except (Undefined, KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
        return None


#: Those that the evaluation knows: not Keras 3's, and no operations of TensorFlow.
BASES = [base for base in CANDIDATES if meaning(base, 4, len(base["config"]["input_layers"])) is not None]


# -- changes ----------------------------------------------------------------------------------------------


def models(config):
    """The model itself and those inside, as their `config`."""
    found = [config["config"]]
    for model in found:
        found += [layer["config"] for layer in model["layers"] if "output_layers" in layer["config"]]
    return found


def changed(rng, base):
    """A config with one to four changes of its graph."""
    config = copy.deepcopy(base)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        model = rng.choice(models(config) + [config["config"]] * 2)
        with contextlib.suppress(IndexError, KeyError):  # there is nothing of the kind to change
            rng.choice(CHANGES)(rng, model)
    return config


def _ends(model):
    """(list, place) of each reference."""
    lists = [node for layer in model["layers"] for node in layer.get("inbound_nodes") or []]
    lists += [model["output_layers"], model["input_layers"]]
    return [(rows, place) for rows in lists for place, row in enumerate(rows) if isinstance(row, list)]


def redirect(rng, model):
    """A reference reads what another one reads."""
    ends = _ends(model)
    (items, place), (others, other) = rng.choice(ends), rng.choice(ends)
    old, new = items[place], others[other]
    items[place] = list(new[:3]) + list(old[3:])


def swap(rng, model):
    """Two references are exchanged."""
    ends = _ends(model)
    (items, place), (others, other) = rng.choice(ends), rng.choice(ends)
    items[place], others[other] = others[other], items[place]


def number(rng, model):
    """Another call, or another output."""
    items, place = rng.choice(_ends(model))
    row = list(items[place])
    row[rng.choice([1, 2])] += rng.choice([1, -1])
    items[place] = row


def outputs(rng, model):
    """Outputs are dropped, doubled, shuffled, or any tensor becomes one."""
    rows = model["output_layers"]
    items, place = rng.choice(_ends(model))
    if not isinstance(items[place], list):
        return
    how = rng.choice(["drop", "double", "shuffle", "add"])
    if how == "drop" and len(rows) > 1:
        rows.pop(rng.randrange(len(rows)))
    elif how == "double":
        rows.insert(rng.randrange(len(rows) + 1), list(rng.choice(rows)))
    elif how == "shuffle":
        rng.shuffle(rows)
    else:
        rows.append(list(items[place][:3]))


def arguments(rng, model):
    """A slice takes another part, of another number of parts."""
    slices = [layer["config"] for layer in model["layers"] if layer["class_name"] == "Lambda"]
    slices = [config for config in slices if config.get("arguments")]
    if slices:
        config = rng.choice(slices)
        name = rng.choice(sorted(config["arguments"]))
        config["arguments"][name] += rng.choice([1, -1])


def axis(rng, model):
    """A merge joins along another axis."""
    merges = [layer["config"] for layer in model["layers"] if layer["class_name"] == "Concatenate"]
    if merges:
        rng.choice(merges)["axis"] = rng.choice([0, 1, -1])


def calls(rng, model):
    """A call is dropped, doubled, or two change places; or a keyword argument appears."""
    nodes = rng.choice([layer["inbound_nodes"] for layer in model["layers"]])
    if not nodes:
        return
    how = rng.choice(["drop", "double", "shuffle", "argument"])
    if how == "drop":
        nodes.pop(rng.randrange(len(nodes)))
    elif how == "double":
        nodes.append(copy.deepcopy(rng.choice(nodes)))
    elif how == "shuffle":
        rng.shuffle(nodes)
    else:
        row = rng.choice(list(rng.choice(nodes)))
        if isinstance(row, list) and len(row) == 4:
            row[3] = {"training": True}


def layer(rng, model):
    """A layer disappears, or its settings change."""
    chosen = rng.choice(model["layers"])
    if rng.random() < 0.5:
        model["layers"].remove(chosen)
    elif isinstance(chosen["config"], dict):
        chosen["config"]["note"] = rng.random()


CHANGES = [redirect, redirect, swap, number, outputs, outputs, outputs, arguments, axis, calls, calls, layer]


# -- the comparison ---------------------------------------------------------------------------------------


def check(config):
    """How a config ended: "refused", "single", "same", or "unknown" where the source means nothing that we know.

    "mixing" is a wrapper around a template that mixes the rows of its own batch (a change broke the wrapper inside):
    the template is what was wrapped, and gives other rows when it gets the whole batch.

    Raises
    ------
    AssertionError
        The clean model computes something else.
    """
    try:
        cleaned = clean_topology(keras_config.parse(config))
    except UnparallelError:
        return "refused"
    if not cleaned.matches:
        return "single"
    ended = "unknown"
    for count in SIZES:
        inputs = len(config["config"]["input_layers"])
        before = meaning(config, count, inputs)
        if before is None or any(not rows for rows in before):
            continue  # an empty part is what Keras itself cannot always take
        after = meaning(cleaned.topology.config, count, inputs)
        kept = [after[place] for place in cleaned.outputs] if after is not None else None
        inside = all(len(origin) > 1 for origin in cleaned.origins.values())  # the result is a template itself
        if kept != before and _mixes_rows(cleaned.topology.config, int(inside)):
            return "mixing"
        assert kept is not None, f"a batch of {count}: the clean model is none"
        assert kept == before, f"a batch of {count}: other rows"
        ended = "same"
    return ended


def _mixes_rows(config, depth):
    """Whether a model inside another one cuts or joins batches."""
    inner = config["config"]
    for layer in inner["layers"] if isinstance(inner, dict) else inner:
        settings = layer["config"]
        if isinstance(settings, list) or "layers" in settings:
            if _mixes_rows(layer, depth + 1):
                return True
        elif depth and (layer["class_name"] == "Lambda" or settings.get("axis") == 0):
            return True
    return False


def run(count, start=0):
    """Change and compare that many configs; the first wrong one is raised, with its seed.

    Returns
    -------
    Counter
        How many ended how.
    """
    counts = Counter()
    for seed in range(start, start + count):
        rng = random.Random(seed)
        config = changed(rng, rng.choice(BASES))
        try:
            counts[check(config)] += 1
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = run(options.count, options.seed)
    print(sum(counts.values()), "configs:", ", ".join("{} {}".format(*item) for item in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
