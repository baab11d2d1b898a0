"""The only package that knows HDF5: safe opening, attributes with their exact type, object copy, new files.

Everything behind this boundary is text and plain values: h5py 2.10 and 3.x, bytes and str, whole and split
list attributes all come out in one form.  Nothing here knows what a layer is.

What a hostile file could use is refused when the file is opened, before anything is written: soft and
external links, external storage, virtual datasets, filters that come from plug-ins, references and types
that are not plain numbers, shapes that the file has no bytes for, groups nested without end.
"""

from typing import TYPE_CHECKING

from .._lazy import importer
from .signature import SIGNATURE, check_signature, is_hdf5

if TYPE_CHECKING:
    from .opening import library_versions, open_source, root_names
    from .source import ATTRIBUTE_LIMIT, BLOCK, LONGEST_ATTRIBUTE, Source, as_text
    from .survey import DEEPEST_GROUP
    from .target import Target, new_file, set_texts, writing

_HOMES = {
    "ATTRIBUTE_LIMIT": "source",
    "BLOCK": "source",
    "DEEPEST_GROUP": "survey",
    "LONGEST_ATTRIBUTE": "source",
    "Source": "source",
    "Target": "target",
    "as_text": "source",
    "library_versions": "opening",
    "new_file": "target",
    "open_source": "opening",
    "root_names": "opening",
    "set_texts": "target",
    "writing": "target",
}

__all__ = [
    "ATTRIBUTE_LIMIT",
    "BLOCK",
    "DEEPEST_GROUP",
    "LONGEST_ATTRIBUTE",
    "SIGNATURE",
    "Source",
    "Target",
    "as_text",
    "check_signature",
    "is_hdf5",
    "library_versions",
    "new_file",
    "open_source",
    "root_names",
    "set_texts",
    "writing",
]

# What needs h5py is imported when it is first used: a file that is no HDF5 does not wait for it.
__getattr__ = importer(__name__, _HOMES)
