"""Files behind URLs (`s3://...`), by fsspec: a local copy to read, a local file that is delivered when it is whole.

Why a copy and not fsspec's file object: a conversion reads every weight twice (once to copy it, once to compare),
and HDF5 reads in small pieces; a copy brings each byte over the network once, in large ones.
Local paths pass through unchanged, so the caller has one road.  fsspec is imported at the first URL.
"""

import contextlib
import errno
import os
import posixpath
import re
import shutil
from importlib import import_module
from typing import Any, Iterator, List, Tuple

from .. import atomic
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
            facts = os.stat(path)
        except OSError:
            return ""
        return f"{facts.st_size}-{facts.st_mtime_ns}"
    fs, place = file_system(path)
    fs.invalidate_cache()
    try:
        info = fs.info(place)
    except Exception:  # noqa: BLE001  each store has exceptions of its own
        return ""
    version = next((str(info[key]) for key in _VERSION_KEYS if info.get(key) is not None), "")
    return "{}-{}".format(info.get("size"), version.strip('"')) if version else ""


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
            fs.get_file(place, copy)
        yield copy


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
    """(URL, path below the named folder) of the files that a URL stands for: a file, a folder or a pattern.

    In folders, files with one of the suffixes; what a pattern names is taken whatever its suffix.
    """
    with _errors_of(url):
        fs, place = file_system(url)
        if "*" in place or "?" in place:
            base = posixpath.dirname(re.split(r"[*?\[]", place, maxsplit=1)[0])
            found = [path for path in fs.glob(place) if not fs.isdir(path)]
        elif fs.isdir(place):
            base = place.rstrip("/")
            found = [path for path in fs.find(place) if path.lower().endswith(suffixes)]
        else:
            return [(url, posixpath.basename(place))]
        return [(str(fs.unstrip_protocol(path)), posixpath.relpath(path, base or "/")) for path in sorted(found)]
