"""The table of built-in layers against the Keras that is installed: each class that Keras has, and its arguments."""

import json
import os
import subprocess
import sys

from unparallel.model import Layer
from unparallel.weights.assignment import expected_weights, is_weightless
from unparallel.weights.names import role_and_prefix

ZOO = os.path.join(os.path.dirname(__file__), "zoo.py")


def built(framework):
    """What `zoo.py` printed: the version of Keras, and each layer's config and weights."""
    done = subprocess.run([sys.executable, ZOO, framework], capture_output=True, timeout=300)
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("PROBE ")]
    assert lines, done.stderr.decode()
    return json.loads(lines[0][6:])


def matches(slot, name, shape):
    """Whether a real weight has the slot's role and what is known of its shape."""
    same_role = role_and_prefix(name)[0] == slot.role
    if slot.shape is None:
        return same_role
    lengths = zip(slot.shape, shape)
    return same_role and len(shape) == len(slot.shape) and all(not isinstance(a, int) or a == b for a, b in lengths)


def check(framework):
    """The table says of each layer what this Keras built."""
    found = built(framework)
    real = [item for item in found["layers"] if "error" not in item]
    assert len(real) > 40
    old = found["version"].startswith(("2.0", "2.1.")) and framework == "keras"
    for item in real:
        if old and item["config"].get("trainable") is False:
            continue  # the flag of recurrent layers froze nothing then
        layer = Layer("it", item["class_name"], item["config"])
        spec = expected_weights(layer, tf_keras=framework != "keras")
        assert spec is not None, item["class_name"]
        for slots, weights in ((spec.trainable, item["trainable"]), (spec.rest, item["rest"])):
            assert len(slots) == len(weights), item
            for slot, (name, shape) in zip(slots, weights):
                assert matches(slot, name, shape), (item["class_name"], slot, name, shape)
        assert is_weightless(layer) == (not item["trainable"] and not item["rest"])
