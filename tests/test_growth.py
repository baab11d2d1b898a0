"""Work grows in proportion to the model: calls are counted, not seconds, so that a busy machine changes nothing."""

import sys

import pytest

import unparallel

from . import tiny

pytestmark = pytest.mark.slow


def chain(count):
    layers = [tiny.entry("in", 3)]
    for i in range(count):
        kind = tiny.batchnorm if i % 2 else tiny.dense
        layers.append(kind(f"layer_{i}", layers[-1].name))
    return tiny.TinyModel("template", tuple(layers), ("in",), (layers[-1].name,))


def nest(depth):
    model = chain(2)
    for level in range(depth):
        layers = (tiny.entry("in", 3), tiny.nested(model.name, "in", model), tiny.dense(f"d{level}", model.name))
        model = tiny.TinyModel(f"level_{level}", layers, ("in",), (f"d{level}",))
    return model


def side_by_side(count):
    """Many wrappers one after the other, in one model."""
    layers, before = [tiny.entry("in", 3)], "in"
    for i in range(count):
        pieces = [tiny.piece(f"cut_{i}_{part}", before, part, 2) for part in range(2)]
        towers = [tiny.activation(f"tower_{i}_{part}", pieces[part].name) for part in range(2)]
        layers += pieces + towers + [tiny.merge(f"merge_{i}", [tower.name for tower in towers])]
        before = layers[-1].name
    layers.append(tiny.dense("last", before))
    return tiny.TinyModel("row", tuple(layers), ("in",), ("last",))


def with_long_config(size):
    model = chain(2)
    long = model.layers[1].config
    long["metadata"] = [{"a": [i, None, "text"]} for i in range(size)]
    return model


def outputs(count):
    layers = [tiny.entry("in", 3)] + [tiny.dense(f"out_{i}", "in") for i in range(count)]
    return tiny.TinyModel("template", tuple(layers), ("in",), tuple(layer.name for layer in layers[1:]))


# What grows, from what size on, and the most by which the second doubling may cost more than the first.
GROWTHS = {
    "layers": (lambda n: tiny.parallel(chain(n), 2), 40, 2.2),
    # each of N slices is proven for each remainder of the rows by N: N * N, of which there are few
    "replicas": (lambda n: tiny.parallel(chain(4), n), 4, 3.0),
    "depth": (lambda n: tiny.parallel(nest(n), 2), 5, 2.2),
    "config": (lambda n: tiny.parallel(with_long_config(n), 2), 200, 2.2),
    "outputs": (lambda n: tiny.parallel(outputs(n), 2), 20, 2.2),
    "wrappers": (side_by_side, 8, 2.2),
}


def calls_of(source, target):
    """How many functions a conversion calls, those of C included."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        unparallel.convert(source, target)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("what", sorted(GROWTHS))
def test_work_grows_in_proportion(tmp_path, what):
    model, size, most = GROWTHS[what]
    counts = []
    for factor in (1, 1, 2, 4):  # the first run pays for imports
        source = tiny.save(tmp_path / (f"{what}-{len(counts)}.h5"), model(size * factor))
        counts.append(calls_of(source, source + ".clean"))
    first, second = counts[2] - counts[1], counts[3] - counts[2]
    assert 0 < second < most * first, counts
