"""What one would write by hand in h5py, told everything beforehand: naive.py SOURCE TARGET CONFIG [COUNT].

It knows that the file holds a wrapper and takes the template's config from a JSON file; it proves, verifies and
refuses nothing, and asks nothing of the disk.  Types of attributes and times are as h5py makes them.
"""

import json
import sys

import h5py
import numpy as np


def convert(source, target, config):
    """Copy the nested group's weights, layer by layer, below the names that the config lists."""
    with open(config) as handle:
        text = handle.read()
    layers = [layer["name"] for layer in json.loads(text)["config"]["layers"]]
    with h5py.File(source, "r") as old, h5py.File(target, "w") as new:
        outer = old["model_weights"]
        nested = outer[max(outer, key=lambda name: len(_names(outer[name])))]
        for name in ("backend", "keras_version"):
            new.attrs[name] = old.attrs[name]
        new.attrs["model_config"] = text
        _write_layers(new.create_group("model_weights"), layers, nested)
        if "optimizer_weights" in old:
            new.attrs["training_config"] = old.attrs["training_config"]
            old.copy("optimizer_weights", new)


def _write_layers(group, layers, nested):
    group.attrs["layer_names"] = np.array(layers, "S")
    names = {layer: [] for layer in layers}
    for name in _names(nested):
        names[name.split("/")[0]].append(name)
    for layer in layers:
        inner = group.create_group(layer)
        inner.attrs["weight_names"] = np.array(names[layer], "S")
        for name in names[layer]:
            array = nested[name]
            stored = {key: getattr(array, key) for key in ("chunks", "compression", "compression_opts", "shuffle")}
            inner.create_dataset(name, data=array[()], **stored)


def _names(group):
    """The group's `weight_names`; Keras splits a list that is too long for one attribute."""
    parts = [name for name in group.attrs if name.startswith("weight_names")]
    parts.sort(key=lambda name: int(name[len("weight_names") :] or 0))
    names = [name for part in parts for name in group.attrs[part]]
    return [name.decode() if isinstance(name, bytes) else name for name in names]


if __name__ == "__main__":
    for _ in range(int(sys.argv[4]) if len(sys.argv) > 4 else 1):
        convert(*sys.argv[1:4])
