"""TensorFlow's own formats, read without TensorFlow: SavedModel folders, object checkpoints, `tf.train.Saver` files.

tf.keras from 1.15 on writes them wherever a path has no `.h5`.  Nothing of a graph is executed, and nothing outside
the folder is opened: shards are named by the prefix and two numbers, `checkpoint` files are not followed.
"""

from .places import SAVED_MODEL, Found, files, find, is_part, is_saved_model, prefixes
from .reader import read
from .source import Source, is_tensorflow, open_source

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
