"""Which of TensorFlow's formats a path names: a SavedModel's folder, or a checkpoint by one of its files or its prefix.

The text files `checkpoint` hold paths too; those are not followed.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ..errors import FileError, UnparallelError

SAVED_MODEL = "saved_model.pb"
VARIABLES = os.path.join("variables", "variables")
HDF5 = b"\x89HDF\r\n\x1a\n"
_SHARD = r"(.+)\.data-[0-9]{5}-of-[0-9]{5}"


class Found(NamedTuple):
    """What a path names.

    Attributes
    ----------
    path : str
        As it was named.
    folder : str
        Of a SavedModel; "" for a checkpoint.
    prefix : str
        Of the checkpoint that holds the arrays.
    """

    path: str
    folder: str
    prefix: str

    @property
    def files(self) -> list[str]:
        """All files that make it up, shards by their names beside the prefix."""
        place, base = os.path.split(self.prefix)
        beside = sorted(os.listdir(place or os.curdir)) if os.path.isdir(place or os.curdir) else []
        names = [
            name for name in beside if name.startswith(base + ".data-") or name[len(base) :] in (".index", ".meta")
        ]
        files = [os.path.join(place, name) for name in names if name.startswith(base)]
        if self.folder:
            files += [os.path.join(self.folder, SAVED_MODEL), os.path.join(self.folder, "keras_metadata.pb")]
        return [name for name in files if os.path.isfile(name)]


def find(path: str) -> Found | None:
    """What a path names; None where it is none of TensorFlow's.

    Raises
    ------
    FileError
        It names several checkpoints, or a part of one that is of no use alone.
    """
    if os.path.isdir(path):
        return _folder(path)
    if _begins(path, HDF5):
        return None  # whatever lies beside it
    if os.path.basename(path) == SAVED_MODEL and os.path.isfile(path):
        return _folder(os.path.dirname(path) or os.curdir, path)
    if os.path.isfile(path + ".index"):
        return Found(path, "", path)
    shard = re.fullmatch(_SHARD, path)
    for prefix in (shard.group(1) if shard else "", *_without(path, (".index", ".meta"))):
        if prefix and os.path.isfile(prefix + ".index"):
            return Found(path, "", prefix)
    _refuse_part(path)
    return None


def _without(path: str, suffixes: tuple[str, ...]) -> list[str]:
    return [path[: -len(suffix)] for suffix in suffixes if path.endswith(suffix)]


def _folder(folder: str, path: str = "") -> Found | None:
    if is_saved_model(folder):
        return Found(path or folder, folder, os.path.join(folder, VARIABLES))
    found = prefixes(folder)
    if not found:
        return None
    if len(found) > 1:
        newest = max(found, key=lambda name: (os.stat(name + ".index").st_mtime_ns, name))
        names = ", ".join(os.path.basename(name) for name in found[:12]) + (", ..." if len(found) > 12 else "")
        raise FileError(f"holds {len(found)} checkpoints: {names}", f"name one: the newest is {newest}")
    return Found(path or folder, "", found[0])


def is_tensorflow(path: str) -> bool:
    """Whether a path names a checkpoint or a SavedModel, one that is refused too."""
    try:
        return find(path) is not None
    except UnparallelError:
        return True
    except OSError:
        return False


def files(path: str) -> list[str]:
    """All files that a path stands for: those of a checkpoint or SavedModel, else the one that it names."""
    try:
        found = find(path)
    except (FileError, OSError):
        found = None
    return found.files if found is not None else [path]


def is_saved_model(folder: str) -> bool:
    """Whether a folder is a SavedModel's, or what is left of one."""
    inside = (SAVED_MODEL, VARIABLES + ".index")
    return any(os.path.isfile(os.path.join(folder, name)) for name in inside)


def _is_table(path: str) -> bool:
    from . import table  # what reads checkpoints: no HDF5 file waits for it

    return table.is_table(path)


def prefixes(folder: str) -> list[str]:
    """The checkpoints directly in a folder, by their prefixes."""
    names = sorted(name[: -len(".index")] for name in os.listdir(folder) if name.endswith(".index"))
    return [os.path.join(folder, name) for name in names if name and _is_table(os.path.join(folder, name + ".index"))]


def is_part(name: str) -> bool:
    """Whether a file's name is that of a part of a checkpoint that its index stands for."""
    return re.fullmatch(_SHARD, name) is not None or name.endswith((".index", ".meta"))


def _refuse_part(path: str) -> None:
    """Refuse what is a part of a checkpoint and not enough."""
    folder, base = os.path.split(path)
    if not os.path.isfile(path):
        return
    if base == "checkpoint" and _begins(path, b"model_checkpoint_path"):
        inside = prefixes(folder or os.curdir)
        hint = f"name the checkpoint itself: {inside[-1]}" if inside else "name the checkpoint itself"
        raise FileError("a list of checkpoints, whose paths are not followed", hint)
    if _is_table(path):
        if base.endswith(".index"):
            return
        raise FileError(
            "a checkpoint in the format of before 2017 (V1), which is not read",
            "in TensorFlow 1: restore it, and tf.train.Saver(write_version=tf.train.SaverDef.V2).save(...)",
        )
    if re.fullmatch(_SHARD, base):
        raise FileError("a part of a checkpoint without its .index", "put the .index file beside it")
    if base.endswith(".meta"):
        raise FileError("the graph of a checkpoint without its .index and .data", "put those files beside it")


def _begins(path: str, text: bytes) -> bool:
    if not os.path.isfile(path):  # a pipe would block
        return False
    with open(path, "rb") as file:
        return file.read(len(text)) == text
