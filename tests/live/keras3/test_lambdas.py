"""Random compositions of old functions in a Lambda, as an archive: Keras 3 predicts what their source gives."""

import keras
import numpy as np
from hypothesis import given

from unparallel import convert

from ... import tiny
from ...operations.compositions import compositions
from ...operations.followed import saved
from ...operations.test_compositions import arrays, difference, given_by


def file_of(path, composition, outputs):
    """A file with the composition, of so many outputs, as its only layer."""
    inputs = [tiny.entry(f"x{i}", *shape) for i, shape in enumerate(composition.shapes)]
    names = tuple(layer.name for layer in inputs)
    config = {"name": "composed", "function": [saved(composition.source).text, None, None], "arguments": {}}
    ends = tuple(("composed", i) for i in range(outputs))
    composed = tiny.TinyLayer("composed", "Lambda", dict(config, function_type="lambda"), (names,))
    return tiny.save(path, tiny.TinyModel("model", (*inputs, composed), names, ends))


@given(compositions())
def test_keras_3_predicts_what_the_source_gives(tmp_path_factory, composition):
    folder = tmp_path_factory.mktemp("composed")
    target = str(folder / "clean.keras")
    values = [value.astype("float32") for value in arrays(composition.shapes)]
    wanted = given_by(composition.source, [value.astype("float64") for value in values])
    convert(file_of(folder / "model.h5", composition, len(wanted)), target)
    found = keras.models.load_model(target)(values if len(values) > 1 else values[0])
    found = [np.asarray(item) for item in (found if isinstance(found, (list, tuple)) else [found])]
    # Keras counts in float32, and some of these multiply what is small
    assert difference(wanted, found) < 1e-3, composition.source
