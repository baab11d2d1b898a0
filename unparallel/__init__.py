"""Get the single-GPU Keras model back out of a saved multi_gpu_model file.

Names are imported when they are first used, so that `unparallel --help` need not wait for h5py.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .batch import convert_many
    from .batches import full_batches
    from .checkpoint import TemplateCheckpoint, load_template, save_template
    from .conversion import Conversion, Inspection, convert, inspect
    from .errors import AlreadySingleError, NotParallelError, UnparallelError, UnparallelWarning
    from .live import extract_template
    from .outcome import Outcome

__version__ = "0.1.0"

_HOMES = {
    "AlreadySingleError": "errors",
    "Conversion": "conversion",
    "Inspection": "conversion",
    "NotParallelError": "errors",
    "Outcome": "outcome",
    "TemplateCheckpoint": "checkpoint",
    "UnparallelError": "errors",
    "UnparallelWarning": "errors",
    "convert": "conversion",
    "convert_many": "batch",
    "extract_template": "live",
    "full_batches": "batches",
    "inspect": "conversion",
    "load_template": "checkpoint",
    "save_template": "checkpoint",
}

__all__ = [
    "AlreadySingleError",
    "Conversion",
    "Inspection",
    "NotParallelError",
    "Outcome",
    "TemplateCheckpoint",
    "UnparallelError",
    "UnparallelWarning",
    "convert",
    "convert_many",
    "extract_template",
    "full_batches",
    "inspect",
    "load_template",
    "save_template",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    value = getattr(import_module("." + _HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(_HOMES))
