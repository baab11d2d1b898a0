"""Files behind URLs (`s3://...`), by fsspec: a local copy to read, a local file that is delivered when it is whole.

Why a copy and not fsspec's file object: a conversion reads every weight twice (once to copy it, once to compare),
and HDF5 reads in small pieces; a copy brings each byte over the network once, in large ones.
Local paths pass through unchanged, so the caller has one road.  fsspec is imported at the first URL.
"""

import contextlib
import errno
import hashlib
import os
import posixpath
import re
import shutil
from importlib import import_module
from typing import Any, Dict, Iterator, List, Tuple

from .. import atomic, tensorflow
from ..errors import FileError, MissingFileError, UnparallelError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# Stores where an object appears whole when its upload ends; elsewhere a partial name and a rename are needed.
OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss")
# What changes when an object changes, by the names that the file systems give it.  fsspec's own `ukey` will not do:
# for HTTP it is the URL alone.
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "modified", "created")


def is_url(path: str) -> bool:
    """Whether `path` is a URL; `C:/x` is none."""
    return _URL.match(path) is not None


def file_system(url: str) -> Tuple[Any, str]:
    """(fsspec's file system, path in it) of a URL."""
    try:
        core = import_module("fsspec.core")
        fs, path = core.url_to_fs(url)
    except ImportError as error:
        hint = "pip install 'unparallel-keras[remote]'; s3:// needs s3fs, gs:// gcsfs, abfs:// adlfs"
        raise UnparallelError(str(error), hint, url) from error
    except ValueError as error:
        raise UnparallelError(str(error), "check the URL", url) from error
    return fs, str(path)


def exists(path: str) -> bool:
    """Whether there is anything at a path or URL."""
    if not is_url(path):
        return os.path.lexists(path)
    with _errors_of(path):
        fs, place = file_system(path)
        fs.invalidate_cache()
        return bool(fs.exists(place))


def fingerprint(path: str) -> str:
    """A text that changes when the file does; "" where it is not there, or the store tells nothing."""
    if not is_url(path):
        try:
            facts = [os.stat(name) for name in tensorflow.files(path)]
        except OSError:
            return ""
        return _joined([f"{fact.st_size}-{fact.st_mtime_ns}" for fact in facts])
    fs, place = file_system(path)
    fs.invalidate_cache()
    try:
        infos = [fs.info(part) for part in _parts(fs, place) or [place]]
    except Exception:  # noqa: BLE001  each store has exceptions of its own
        return ""
    stamps = []
    for info in infos:
        version = next((str(info[key]) for key in _VERSION_KEYS if info.get(key) is not None), "")
        stamps.append("{}-{}".format(info.get("size"), version.strip('"')) if version else "")
    return _joined(stamps) if all(stamps) else ""


def _joined(stamps: List[str]) -> str:
    """The stamp of several files: their number, and a digest of all."""
    if len(stamps) == 1:
        return stamps[0]
    return f"{len(stamps)}-{hashlib.sha1(repr(stamps).encode('utf-8')).hexdigest()}" if stamps else ""


def _parts(fs: Any, place: str) -> List[str]:
    """Paths of the files of a checkpoint or of a SavedModel; none where a path is a file by itself."""
    if fs.isdir(place):
        wanted = (f"{place}/{tensorflow.SAVED_MODEL}", f"{place}/keras_metadata.pb", f"{place}/assets/saved_model.json")
        return [path for path in sorted(fs.find(place)) if path in wanted or path.startswith(f"{place}/variables/")]
    if not fs.exists(place + ".index"):
        return []
    folder, base = posixpath.split(place)
    beside = [path for path in fs.ls(folder, detail=False) if posixpath.basename(path).startswith(base + ".")]
    return sorted(path for path in beside if tensorflow.is_part(posixpath.basename(path)))


@contextlib.contextmanager
def fetched(path: str) -> Iterator[str]:
    """The local path of a file; that of a temporary copy for a URL.

    Raises
    ------
    FileError
        It cannot be fetched.
    """
    if not is_url(path):
        yield path
        return
    with _temporary(path) as copy:
        with _errors_of(path):
            fs, place = file_system(path)
            place = place.rstrip("/")
            # of what lies below a URL, each file keeps its place beside the others
            for part in _parts(fs, place) or [place]:
                _get(fs, part, copy + part[len(place) :])
        yield copy


def _get(fs: Any, path: str, copy: str) -> None:
    if ".." in path.split("/"):
        raise FileError(f"{path!r} is no path below a folder", "do not trust this store")
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    fs.get_file(path, copy)


@contextlib.contextmanager
def delivered(path: str) -> Iterator[str]:
    """A local path to write to; for a URL it is uploaded when the block ends well, and only then.

    Raises
    ------
    FileError
        It cannot be uploaded, or is not whole there.
    """
    if not is_url(path):
        yield path
        return
    with _temporary(path) as new:
        yield new
        with _errors_of(path):
            _upload(new, path)


def _upload(local: str, url: str) -> None:
    fs, place = file_system(url)
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if set(protocols) & set(OBJECT_STORES):
        fs.put_file(local, place)
    else:
        folder, name = posixpath.split(place)
        partial = f"{folder}/{atomic.partial_name(name)}"
        fs.makedirs(folder, exist_ok=True)
        try:
            fs.put_file(local, partial)
            fs.mv(partial, place)
        finally:
            if fs.exists(partial):
                fs.rm_file(partial)
    fs.invalidate_cache()
    size, meant = fs.info(place)["size"], os.path.getsize(local)
    if size != meant:
        raise FileError(f"{size} bytes arrived of {meant}", "run it again with --overwrite", url)


@contextlib.contextmanager
def _temporary(url: str) -> Iterator[str]:
    folder = atomic.temporary_folder()
    try:
        yield os.path.join(folder, url.rstrip("/").rsplit("/", 1)[-1][-100:] or "file")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _errors_of(url: str) -> Iterator[None]:
    """The stores' many exceptions as one of ours."""
    try:
        yield
    except UnparallelError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(os.strerror(errno.ENOENT), "check the URL and your permissions", url) from error
    except Exception as error:  # noqa: BLE001  each store has exceptions of its own
        text = (str(error).splitlines() or [""])[0]
        hint = "check the URL, your credentials and the network"
        raise FileError(f"{type(error).__name__}: {text}", hint, url) from error


# -- listing


def list_files(url: str, suffixes: Tuple[str, ...]) -> List[Tuple[str, str]]:
    """(URL, path below the named folder) of the sources that a URL stands for: a file, a folder or a pattern.

    In folders, files with one of the suffixes; what a pattern names is taken whatever its suffix.  A checkpoint is
    named by its prefix, a SavedModel by its folder, and what comes of either is a .h5 file.
    """
    with _errors_of(url):
        fs, place = file_system(url)
        place = place.rstrip("/")
        if "*" in place or "?" in place:
            base = posixpath.dirname(re.split(r"[*?\[]", place, maxsplit=1)[0])
            found = _models_among([path for path in fs.glob(place) if not fs.isdir(path)])
            found.update({path: ".h5" for path in fs.glob(place) if fs.isdir(path) and _is_saved_model(fs, path)})
        elif fs.isdir(place):
            base = place
            found = _models_among([path for path in fs.find(place)])
            found = {path: ending for path, ending in found.items() if ending or path.lower().endswith(suffixes)}
            if list(found) == [place]:
                return [(url, posixpath.basename(place) + ".h5")]
        else:
            return [(url, posixpath.basename(place) + (".h5" if fs.exists(place + ".index") else ""))]
        return [
            (str(fs.unstrip_protocol(path)), posixpath.relpath(path, base or "/") + ending)
            for path, ending in sorted(found.items())
        ]


def _is_saved_model(fs: Any, path: str) -> bool:
    return bool(fs.exists(f"{path}/{tensorflow.SAVED_MODEL}"))


def _models_among(paths: List[str]) -> Dict[str, str]:
    """The sources among some files, each with what is put behind its name for the result's."""
    saved = [posixpath.dirname(path) for path in paths if posixpath.basename(path) == tensorflow.SAVED_MODEL]
    found = {folder: ".h5" for folder in saved}
    for path in paths:
        if any(path.startswith(folder + "/") for folder in saved):
            continue
        if path.endswith(".index"):
            found[path[: -len(".index")]] = ".h5"
        elif not tensorflow.is_part(posixpath.basename(path)):
            found[path] = ""
    return found
