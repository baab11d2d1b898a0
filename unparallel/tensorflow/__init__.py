"""TensorFlow's own formats, read without TensorFlow: SavedModel folders, object checkpoints, `tf.train.Saver` files.

tf.keras from 1.15 on writes them wherever a path has no `.h5`.  Nothing of a graph is executed, and nothing outside
the folder is opened: shards are named by the prefix and two numbers, `checkpoint` files are not followed.
"""

from typing import TYPE_CHECKING

from .._lazy import importer
from .places import SAVED_MODEL, Found, files, find, is_part, is_saved_model, is_tensorflow, prefixes

if TYPE_CHECKING:
    from .reader import read
    from .source import Source, open_source

_HOMES = {"Source": "source", "open_source": "source", "read": "reader"}

__all__ = [
    "SAVED_MODEL",
    "Found",
    "Source",
    "files",
    "find",
    "is_part",
    "is_saved_model",
    "is_tensorflow",
    "open_source",
    "prefixes",
    "read",
]

# What only such a source needs is imported when one is opened.
__getattr__ = importer(__name__, _HOMES)
