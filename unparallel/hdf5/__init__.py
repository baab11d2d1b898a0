"""The only package that knows HDF5: safe opening, attributes with their exact type, object copy, new files.

Everything behind this boundary is text and plain values: h5py 2.10 and 3.x, bytes and str, whole and split
list attributes all come out in one form.  Nothing here knows what a layer is.

What a hostile file could use is refused when the file is opened, before anything is written: soft and
external links, external storage, virtual datasets, filters that come from plug-ins, references and types
that are not plain numbers, shapes that the file has no bytes for, groups nested without end.
"""

from .opening import SIGNATURE, is_hdf5, library_versions, open_source, root_names
from .source import ATTRIBUTE_LIMIT, BLOCK, LONGEST_ATTRIBUTE, Source, as_text
from .survey import DEEPEST_GROUP
from .target import Target, new_file, set_texts, writing

__all__ = [
    "ATTRIBUTE_LIMIT",
    "BLOCK",
    "DEEPEST_GROUP",
    "LONGEST_ATTRIBUTE",
    "SIGNATURE",
    "Source",
    "Target",
    "as_text",
    "is_hdf5",
    "library_versions",
    "new_file",
    "open_source",
    "root_names",
    "set_texts",
    "writing",
]
