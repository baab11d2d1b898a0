"""What a batch is to convert, and where each result goes: files, patterns, folders, lists and URLs, as plain values.

Looks at names and first bytes only; what a file holds is for the worker that converts it.
"""

import glob
import hashlib
import os
import posixpath
import re
import sys
from collections import defaultdict
from typing import Dict, Iterable, Iterator, List, NamedTuple, Sequence, Set

from .. import tensorflow
from ..atomic import PARTIAL_SUFFIX
from ..errors import FileError, UnparallelError, unreadable
from ..hdf5 import is_hdf5
from ..options import StrPath, absolute_path
from . import remote

# In a folder, a file is taken for its name (it may be damaged: somebody should know) or for its first bytes.
SUFFIXES = (".h5", ".hdf5", ".hdf")

# Bytes of a list: some million paths.
LONGEST_LIST = 2**28


class SourceFile(NamedTuple):
    """A source.

    Parameters
    ----------
    source : str
        Absolute path, or URL.
    layout : str
        Its place below the target, with "/".
    named : bool
        Whether the user named it, or a folder was searched.
    reason, hint : str
        Why there is nothing to convert ("" where there is).
    """

    source: str
    layout: str
    named: bool = True
    reason: str = ""
    hint: str = ""


def find(sources: Iterable[StrPath], listed: Iterable[str], target: str) -> List[SourceFile]:
    """Every file that is to be converted, once, in a fixed order.

    Parameters
    ----------
    sources : iterable of path
        Files, folders, patterns, URLs.
    listed : iterable of str
        The same from a list: a file's path is kept below the target as it stands there, so that parts of a list
        (one a job of a cluster) never want the same name.
    target : str
        Not searched, if it is inside a source.
    """
    named = [os.fspath(source) for source in sources]
    avoid = "" if remote.is_url(target) else absolute_path(target)
    folders = [name for name in named if not remote.is_url(name) and os.path.isdir(name)]
    found: Dict[str, SourceFile] = {}
    for name in named:
        # as `cp -r a b target` does: the folder's own name tells two folders apart
        prefix = os.path.basename(absolute_path(name)) if name in folders and len(folders) > 1 else ""
        for item in _expanded(name, prefix, avoid):
            found.setdefault(item.source, item)
    for name in listed:
        for item in _expanded(name, _listed_folder(name), avoid):
            found.setdefault(item.source, item)
    return list(found.values())


def read_list(path: str) -> List[str]:
    """The names in a list: one a line, or separated by NUL as `find -print0` does; "-" is standard input.

    Raises
    ------
    FileError
        It cannot be read.
    """
    try:
        data = _list_data(path)
    except OSError as error:
        raise unreadable(error, "check the path of the list").about(path) from error
    if len(data) > LONGEST_LIST:
        raise FileError("too long for a list of files", "check the path of the list", path)
    names = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(name) for name in names if name.strip()]


def _list_data(path: str) -> bytes:
    # a list may well be a pipe, and is read to its end, but not for ever
    if path != "-":
        with open(path, "rb") as handle:
            return handle.read(LONGEST_LIST + 1)
    if sys.stdin is None:
        raise FileError("standard input is closed", "give the name of a file", path)
    return sys.stdin.buffer.read(LONGEST_LIST + 1)


def _listed_folder(name: str) -> str:
    """The folder below the target for a name in a list: the name's own folder."""
    if remote.is_url(name):
        return posixpath.dirname(name.split("://", 1)[1])
    path = os.path.normpath(name)
    if path.startswith(os.pardir):
        path = absolute_path(path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.splitdrive(folder)[1].replace(os.sep, "/").lstrip("/")


def _expanded(name: str, prefix: str, avoid: str) -> Iterator[SourceFile]:
    if remote.is_url(name):
        yield from _remote(name, prefix)
    elif os.path.isdir(name) and not tensorflow.is_saved_model(name):
        yield from _folder(name, prefix, avoid)
    elif os.path.lexists(name) or not glob.has_magic(name):
        yield _named(name, posixpath.join(prefix, os.path.basename(absolute_path(name))))
    else:
        yield from _pattern(name, prefix, avoid)


def _named(path: str, layout: str, named: bool = True) -> SourceFile:
    """One source; of a checkpoint's files the prefix stands for all, and what comes of it is a .h5 file."""
    place = absolute_path(path)
    if os.path.isdir(place):
        return SourceFile(place, layout + ".h5", named)
    if place.endswith(".index") and not _may_be_hdf5(place):
        place, layout = place[: -len(".index")], layout[: -len(".index")]
    if os.path.isfile(place + ".index") and not _may_be_hdf5(place):
        layout += ".h5"
    return SourceFile(place, layout, named)


def _remote(url: str, prefix: str) -> Iterator[SourceFile]:
    try:
        files = remote.list_files(url, SUFFIXES)
    except UnparallelError as error:
        yield SourceFile(url, "", True, error.message, error.hint)
        return
    for source, layout in files:
        yield SourceFile(source, posixpath.join(prefix, layout), source == url)
    if not files:
        yield SourceFile(url, "", True, "no Keras model there", "check the URL")


def _folder(folder: str, prefix: str, avoid: str) -> Iterator[SourceFile]:
    """The HDF5 files, checkpoints and SavedModels below a folder; links to folders are not followed."""
    root = absolute_path(folder)
    unreadable: List[OSError] = []
    empty = True
    for path, folders, names in os.walk(root, onerror=unreadable.append):
        folders[:] = sorted(inner for inner in folders if os.path.join(path, inner) != avoid)
        for place in _models_in(path, folders, sorted(names)):
            empty = False
            layout = os.path.relpath(place, root).replace(os.sep, "/")
            yield _named(place, posixpath.join(prefix, layout), False)
    for error in unreadable:
        yield SourceFile(str(error.filename), "", True, os.strerror(error.errno or 0), "check the folder's permissions")
    if empty and not unreadable:
        yield SourceFile(root, "", True, "no Keras model in this folder", "check the path")


def _models_in(path: str, folders: List[str], names: List[str]) -> Iterator[str]:
    """The sources directly in a folder; a SavedModel's folder is one, and taken out of what is to be searched."""
    for inner in [name for name in folders if tensorflow.is_saved_model(os.path.join(path, name))]:
        folders.remove(inner)
        if not os.path.islink(os.path.join(path, inner)):
            yield os.path.join(path, inner)
    for name in names:
        place = os.path.join(path, name)
        if not name.endswith(PARTIAL_SUFFIX) and (_may_be_hdf5(place) or _is_index(place)):
            yield place


def _is_index(path: str) -> bool:
    try:
        return path.endswith(".index") and tensorflow.is_tensorflow(path)
    except ValueError:
        return False


def _may_be_hdf5(path: str) -> bool:
    if path.lower().endswith(SUFFIXES):
        return True
    try:
        if not os.path.isfile(path):  # a pipe would block
            return False
        return is_hdf5(path)
    except OSError:
        return False


def _pattern(pattern: str, prefix: str, avoid: str) -> Iterator[SourceFile]:
    """The files that a pattern matches, each with the folders that the wildcards stand for."""
    base = os.path.dirname(re.split(r"[*?\[]", pattern, maxsplit=1)[0])
    matches = sorted(glob.glob(pattern, recursive=True))
    for match in matches:
        layout = posixpath.join(prefix, os.path.relpath(match, base or os.curdir).replace(os.sep, "/"))
        if tensorflow.is_part(os.path.basename(match)) and not match.endswith(".index"):
            continue  # its index stands for it
        if not os.path.isdir(match) or tensorflow.is_saved_model(match):
            yield _named(match, layout)
        elif "**" not in pattern and absolute_path(match) != avoid:
            yield from _folder(match, layout, avoid)
    if not matches:
        yield SourceFile(pattern, "", True, "no file matches this pattern", "check the pattern; quote it for the shell")


# -- targets


def targets(found: Sequence[SourceFile], target: str, ending: str = "") -> List[str]:
    """Where each source's result goes; no two go to one place.  "" where there is nothing to convert.

    With an `ending`, such as ".keras", names end in that.

    Sources that want one name get it below the folders in which they differ, then with eight digits of their path.
    """
    layouts = [_ending_in(_safe(item.layout), ending) for item in found]
    groups: defaultdict[str, List[int]] = defaultdict(list)
    for i, layout in enumerate(layouts):
        if layout:
            groups[_folded(layout)].append(i)
    taken: Set[str] = {name for name, members in groups.items() if len(members) == 1}
    for members in groups.values():
        if len(members) > 1:
            for i, tail in zip(members, _tails([found[i].source for i in members])):
                layout = _ending_in(posixpath.join(posixpath.dirname(layouts[i]), _safe(tail)), ending)
                layouts[i] = layout if _folded(layout) not in taken else _with_digest(layouts[i], found[i].source)
                taken.add(_folded(layouts[i]))
    return [_below(target, layout) if layout else "" for layout in layouts]


def _ending_in(layout: str, ending: str) -> str:
    return posixpath.splitext(layout)[0] + ending if ending and layout else layout


def _safe(layout: str) -> str:
    """The layout without what would lead out of the target: keys of object stores may hold "..", for one."""
    strange = r'[\\:*?"<>|]' if os.name == "nt" else r"\0"
    parts = [re.sub(strange, "_", part) for part in layout.split("/") if part not in ("", ".")]
    return "/".join("_" if part == ".." else part for part in parts)


def _folded(layout: str) -> str:
    """Equal for names that are one name to the file system."""
    return layout.lower() if sys.platform in ("win32", "darwin") else layout


def _tails(paths: Sequence[str]) -> List[str]:
    """The paths from the first folder on in which they differ."""
    parts = [path.replace(os.sep, "/").split("/") for path in paths]
    same = 0
    while all(len(item) > same + 1 and item[same] == parts[0][same] for item in parts):
        same += 1
    return ["/".join(item[same:]) for item in parts]


def _with_digest(layout: str, source: str) -> str:
    stem, suffix = posixpath.splitext(layout)
    return "{}-{}{}".format(stem, hashlib.sha1(source.encode("utf-8", "surrogateescape")).hexdigest()[:8], suffix)


def _below(target: str, layout: str) -> str:
    if remote.is_url(target):
        return "{}/{}".format(target.rstrip("/"), layout)
    return os.path.join(absolute_path(target), *layout.split("/"))
