"""Get the single-GPU Keras model back out of a saved multi_gpu_model file.

Names are imported when they are first used, so that `unparallel --help` need not wait for h5py.
"""

from typing import TYPE_CHECKING, List

from ._lazy import importer
from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .comparison import Comparison, compare
    from .conversion import convert, inspect
    from .errors import AlreadySingleError, NotParallelError, UnparallelError, UnparallelWarning
    from .jobs.outcome import Outcome
    from .jobs.report import Outcomes
    from .jobs.run import convert_many, inspect_many
    from .live.batches import full_batches
    from .live.checkpoint import TemplateCheckpoint, load_template, save_template
    from .live.template import extract_template
    from .options import ConvertOptions
    from .results import Conversion, Inspection

_HOMES = {
    "AlreadySingleError": "errors",
    "Comparison": "comparison",
    "Conversion": "results",
    "ConvertOptions": "options",
    "Inspection": "results",
    "NotParallelError": "errors",
    "Outcome": "jobs.outcome",
    "Outcomes": "jobs.report",
    "TemplateCheckpoint": "live.checkpoint",
    "UnparallelError": "errors",
    "UnparallelWarning": "errors",
    "compare": "comparison",
    "convert": "conversion",
    "convert_many": "jobs.run",
    "extract_template": "live.template",
    "full_batches": "live.batches",
    "inspect": "conversion",
    "inspect_many": "jobs.run",
    "load_template": "live.checkpoint",
    "save_template": "live.checkpoint",
}

__all__ = [
    "AlreadySingleError",
    "Comparison",
    "Conversion",
    "ConvertOptions",
    "Inspection",
    "NotParallelError",
    "Outcome",
    "Outcomes",
    "TemplateCheckpoint",
    "UnparallelError",
    "UnparallelWarning",
    "compare",
    "convert",
    "convert_many",
    "extract_template",
    "full_batches",
    "inspect",
    "inspect_many",
    "load_template",
    "save_template",
]

__getattr__ = importer(__name__, _HOMES)


def __dir__() -> List[str]:
    return sorted({*__all__, "__all__", "__doc__", "__version__"})
