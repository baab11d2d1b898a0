"""An architecture from beside a weights file: JSON text, a full HDF5 file, or a parsed config."""

import contextlib
import os
from typing import Any, Dict, Iterator, Union

from . import hdf5, keras_config
from .errors import FileError, UnparallelError
from .reader import read

StrPath = Union[str, "os.PathLike[str]"]
Architecture = Union[StrPath, Dict[str, Any], None]


@contextlib.contextmanager
def about(path: str) -> Iterator[None]:
    """Put the file's name in front of the messages of errors that pass; turn strays into errors of ours."""
    try:
        yield
    except UnparallelError as error:
        raise error.about(path) from error.__cause__
    except RecursionError as error:
        raise UnparallelError(f"{path}: the config is nested too deeply", "do not trust this file") from error
    except MemoryError as error:
        raise UnparallelError(f"{path}: needs more memory than there is", "do not trust this file") from error


def load_architecture(architecture: Architecture) -> Any:
    """The config of a JSON file, of a full HDF5 file, or as it was given."""
    if architecture is None or isinstance(architecture, dict):
        return architecture
    path = os.fspath(architecture)
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
            raise FileError(os.strerror(error.errno or 0), "check the path and its permissions") from error
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
        raise FileError(os.strerror(error.errno or 0), "check the path and its permissions") from error
