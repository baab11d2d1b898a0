"""What a conversion may do with a damaged file: refuse it by an error of the package, or get everything right.

Reads files with h5py alone.
"""

import hashlib
import os
from collections import Counter

import h5py
import numpy as np

from tests.same import differences
from unparallel.hdf5.chunks import corners

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")


def as_text(value):
    """Any bytes as a text, damaged ones too."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def full_files():
    """Folders of fixtures with a full parallel file and the template that the same Keras saved."""
    return sorted(
        os.path.join(FIXTURES, name)
        for name in os.listdir(FIXTURES)
        if os.path.exists(os.path.join(FIXTURES, name, "parallel.h5"))
    )


def names(owner, attribute):
    """A list attribute, split or not."""
    if attribute in owner.attrs:
        parts = [owner.attrs[attribute]]
    else:
        parts = [owner.attrs[attribute + str(i)] for i in range(1000) if attribute + str(i) in owner.attrs]
    return [as_text(item) for part in parts for item in np.asarray(part)]


def digest(array):
    try:
        data = array[()].tobytes()
    except OSError:  # chunks that do not unpack: they are carried over as they are, with their checksums
        data = repr([array.id.read_direct_chunk(corner) for corner in corners(array.shape, array.chunks)]).encode()
    return (array.dtype.str, array.shape, hashlib.sha1(data).hexdigest())


def weights(path):
    """{(layer, weight): digest} of all weights that a full file lists."""
    with h5py.File(path, "r") as handle:
        base = handle.get("model_weights", handle)  # damage can make a weights file of it
        return {
            (layer, weight): digest(base[layer][weight])
            for layer in names(base, "layer_names")
            for weight in names(base[layer], "weight_names")
        }


def state(path):
    """Digests of the optimizer's arrays."""
    found = []

    def walk(group, place):
        for name in group:
            item = group[name]
            if isinstance(item, h5py.Dataset):
                found.append((place + name, digest(item)))
            elif place.count("/") < 9:  # a group may hold itself
                walk(item, place + name + "/")

    with h5py.File(path, "r") as handle:
        if "optimizer_weights" in handle:
            walk(handle["optimizer_weights"], "")
    return sorted(found)


def texts(path):
    """All texts, lists of names, and members of the root: what decides which weight goes where."""
    with h5py.File(path, "r") as handle:
        groups = [handle[name] for name in ("/", "model_weights", "optimizer_weights") if name in handle]
        found = [
            (group.name, sorted((as_text(name), texts_of(group, name)) for name in group.attrs)) for group in groups
        ]
        base = handle.get("model_weights", handle)  # damage can make a weights file of it
        layers = names(base, "layer_names")
        return sorted(handle), sorted(base), found, [(layer, names(base[layer], "weight_names")) for layer in layers]


def texts_of(group, name):
    value = group.attrs[name]
    return [as_text(item) for item in value] if isinstance(value, np.ndarray) else as_text(value)


class Case:
    """A parallel file, the gold file of its template, and which weight of the one is which of the other."""

    def __init__(self, parallel, gold):
        self.parallel = parallel
        self.gold = gold
        self.texts = texts(parallel)
        before, after = weights(parallel), weights(gold)
        count = Counter(before.values())
        self.place = {
            new: next(old for old, value in before.items() if value == wanted)
            for new, wanted in after.items()
            if count[wanted] == 1
        }

    def wrong(self, damaged, made):
        """Why `made` is not what `damaged` holds; "" where it is."""
        before, after = weights(damaged), weights(made)
        if Counter(before.values()) != Counter(after.values()):
            return "weights were lost, doubled or changed"
        optimizer = state(made)
        if optimizer and optimizer != state(damaged):
            return "the optimizer's state was changed"
        new = texts(damaged)
        if new != self.texts:
            return ""  # another model, then: no gold file tells what it should be
        for place, old in self.place.items():
            if after.get(place) != before.get(old):
                return "{} of {} is another".format(*place)
        # arrays may differ from the gold file's where the damage is in them: those were compared above
        try:
            rest = [line for line in differences(self.gold, made) if not line.endswith("other array")]
        except OSError:  # a chunk of the optimizer's that does not unpack, here as there
            return ""
        return rest[0] if rest else ""
