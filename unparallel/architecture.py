"""An architecture from beside a weights file: JSON text, a full HDF5 file, or a parsed config."""

import codecs
import contextlib
import os
import re
from dataclasses import replace
from typing import Any, Callable, Dict

from . import hdf5, keras_config
from .errors import FileError, UnparallelError, about, unreadable
from .model import WEIGHT_NAMES, Json, ModelFile
from .options import Architecture, ConvertOptions, path_text
from .reader import read


def with_architecture(options: ConvertOptions) -> ConvertOptions:
    """The options with the architecture itself in place of its path."""
    return replace(options, architecture=load_architecture(options.architecture))


def load_architecture(architecture: Architecture) -> Json:
    """The config of a JSON file, of a full HDF5 file, of a JSON text, or as it was given."""
    if architecture is None or isinstance(architecture, dict):
        return architecture
    if isinstance(architecture, str) and architecture.lstrip().startswith("{"):
        return keras_config.parse_json(architecture, "the architecture")
    path = path_text(architecture)
    longest = 2 * hdf5.LONGEST_ATTRIBUTE + 2  # UTF-16, as PowerShell writes it, takes two bytes a character
    with about(path):
        try:
            # once, since it may be a pipe
            with open(path, "rb") as handle:
                data = handle.read(longest + 1)
        except OSError as error:
            raise unreadable(error) from error
        if data.startswith(hdf5.SIGNATURE):
            return _of_model_file(path)
        if len(data) > longest:
            raise FileError("too long for an architecture", TO_JSON)
        return _parsed(_text(data))


def _of_model_file(path: str) -> Json:
    with hdf5.open_source(path) as opened:
        model = read(opened)
    if model.topology is None:
        raise FileError("weights only, no architecture in it", "give a JSON file or a full model file")
    return _with_version(model)


TO_JSON = "give the text that to_json() returns"


def _text(data: bytes) -> str:
    """A file's text, in UTF-8 or, where it begins with a byte order mark that says so, in UTF-16."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileError("neither JSON nor HDF5", TO_JSON) from error


def _parsed(text: str) -> Json:
    """The config in a text; what else people have at hand is named, with the way to JSON."""
    if re.match(r"\s*(backend|class_name|config|keras_version) *:", text):
        raise FileError(
            "YAML, as to_yaml() writes it; only JSON is read",
            "with the Keras that wrote it: model_from_yaml(text).to_json()",
        )
    if re.match(r"\s*[{\[] *u?'", text):
        raise FileError("the text of a Python dict, not JSON", "write it with json.dump(), or " + TO_JSON)
    value = keras_config.parse_json(text, "the architecture", TO_JSON)
    # json.dump(model.to_json(), handle), a common slip, wraps the text once more
    value = keras_config.parse_json(value, "the architecture", TO_JSON) if isinstance(value, str) else value
    if isinstance(value, list) or (isinstance(value, dict) and "layers" in value and "class_name" not in value):
        raise FileError(
            "get_config() of a model, which does not say of which class it is",
            'give to_json(), or {"class_name": "Model", "config": ...} around it ("Sequential" for a Sequential)',
        )
    return value


def _with_version(model: ModelFile) -> Dict[str, Any]:
    """What `to_json()` of a file's model gives, and the names of its weights in their order."""
    assert model.topology is not None
    facts = {"keras_version": model.keras_version, "backend": model.backend}
    names = [[ref.name for ref in group.weights] for group in model.weights if group.weights]
    given = {name: value for name, value in facts.items() if value is not None}
    return {**model.topology.config, **given, WEIGHT_NAMES: names}


# Beside a weights file, so many files are tried; a folder of checkpoints may hold thousands.
MOST_TRIED = 6
_ENDINGS = (".json", ".h5", ".hdf5")


def fitting_beside(path: str, fits: Callable[[Json], object]) -> str:
    """The name of a file in the same folder whose architecture fits a weights file; "" where there is none.

    It is offered to the user, and never used unasked.

    Parameters
    ----------
    path : str
        The weights file.
    fits : callable
        Given an architecture, raises `UnparallelError` where the weights are not of it.
    """
    folder, own = os.path.split(os.path.abspath(path))
    try:
        names = [name for name in os.listdir(folder) if name.lower().endswith(_ENDINGS) and name != own]
    except OSError:
        return ""
    # a to_json() is looked at first: it is small, and is there for this
    for name in sorted(names, key=lambda name: (not name.lower().endswith(".json"), name))[:MOST_TRIED]:
        if not os.path.isfile(os.path.join(folder, name)):  # a pipe would block
            continue
        with contextlib.suppress(UnparallelError):
            fits(load_architecture(os.path.join(folder, name)))
            return name
    return ""
