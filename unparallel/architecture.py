"""An architecture from beside a weights file: JSON text, a full HDF5 file, or a parsed config."""

from dataclasses import replace
from typing import Any

from . import hdf5, keras_config
from .errors import FileError, about, unreadable
from .options import Architecture, ConvertOptions, path_text
from .reader import read


def with_architecture(options: ConvertOptions) -> ConvertOptions:
    """The options with the architecture itself in place of its path."""
    return replace(options, architecture=load_architecture(options.architecture))


def load_architecture(architecture: Architecture) -> Any:
    """The config of a JSON file, of a full HDF5 file, or as it was given."""
    if architecture is None or isinstance(architecture, dict):
        return architecture
    path = path_text(architecture)
    with about(path):
        if _is_hdf5(path):
            with hdf5.open_source(path) as opened:
                model = read(opened)
            if model.topology is None:
                raise FileError("weights only, no architecture in it", "give a JSON file or a full model file")
            return model.topology.config
        try:
            with open(path, encoding="utf-8") as handle:
                text = handle.read(hdf5.LONGEST_ATTRIBUTE + 1)
        except UnicodeDecodeError as error:
            raise FileError("neither JSON nor HDF5", "give the text that to_json() returns") from error
        except OSError as error:
            raise unreadable(error) from error
        if len(text) > hdf5.LONGEST_ATTRIBUTE:
            raise FileError("too long for an architecture", "give the text that to_json() returns")
        value = keras_config.parse_json(text, "the architecture")
        # json.dump(model.to_json(), handle), a common slip, wraps the text once more
        return keras_config.parse_json(value, "the architecture") if isinstance(value, str) else value


def _is_hdf5(path: str) -> bool:
    try:
        with open(path, "rb") as handle:
            return handle.read(8) == hdf5.SIGNATURE
    except OSError as error:
        raise unreadable(error) from error
