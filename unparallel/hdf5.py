"""The only room that knows HDF5: safe opening, attributes with their exact type, object copy, atomic files.

Everything behind this door is text and plain values: h5py 2.10 and 3.x, bytes and str, whole and split
list attributes all come out in one form.  Nothing here knows what a layer is.

What a hostile file could use is refused when the file is opened, before anything is written: soft and
external links, external storage, virtual datasets, filters that come from plug-ins, types that are not
plain numbers, shapes that the file has no bytes for.
"""

import contextlib
import errno
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import h5py
import numpy as np

from .errors import FileError, HostileFileError, NotKerasError, TargetExistsError, UnparallelError
from .leftovers import PARTIAL_SUFFIX, owner_mark

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Keras splits list attributes above this many bytes, since an object header holds 64 KiB at most.
ATTRIBUTE_LIMIT = 64512
# A model_config of 30 MB exists; an attribute that claims more than this is not a config.
LONGEST_ATTRIBUTE = 256 * 2**20
MOST_OBJECTS = 2_000_000
LARGEST_CHUNK = 2**30
BLOCK = 2**20
# Filters that every HDF5 build holds; any other would load a plug-in library.
BUILT_IN_FILTERS = {
    h5py.h5z.FILTER_DEFLATE: "deflate",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
    h5py.h5z.FILTER_SCALEOFFSET: "scaleoffset",
    h5py.h5z.FILTER_NBIT: "nbit",
    h5py.h5z.FILTER_LZF: "lzf",
}
# zlib cannot shrink by more than 1032:1, and scaleoffset stores constant chunks in a few bytes.
LARGEST_RATIO = 1100


@dataclass(frozen=True)
class Array:
    """What is known of a dataset without reading it.

    Parameters
    ----------
    shape : tuple of int
    dtype : str
        numpy's name.
    size : int
        Bytes in memory.
    problem : str
        Why it cannot be a Keras weight ("" where it can): no numbers, or more claimed than stored.
    """

    shape: Tuple[int, ...]
    dtype: str
    size: int
    problem: str = ""


def as_text(value: Any) -> str:
    """`value` as text: h5py 2.10 gives bytes where 3.x gives str."""
    if isinstance(value, (bytes, np.bytes_)):
        return bytes(value).decode("utf-8")
    return str(value)


class Source:
    """An HDF5 file open for reading, all its objects checked.

    Use `open_source`, which makes one.
    """

    def __init__(self, path: str, handle: Any) -> None:
        self.path = path
        self.handle = handle
        self.arrays: Dict[str, Array] = {}
        self.groups: Dict[str, None] = {"/": None}
        self._survey()

    def _survey(self) -> None:
        """Record every group and dataset; refuse what could bring in foreign bytes."""
        root = self.handle.id

        def visit(name: bytes, info: Any) -> Optional[UnparallelError]:
            # an exception must not pass through HDF5's C code: what is returned ends the visit
            try:
                self._look_at("/" + _link_name(name), info.type, root, name)
            except UnparallelError as error:
                return error
            except (RuntimeError, OSError, KeyError, ValueError, TypeError) as error:
                return _damaged(error)
            return None

        try:
            problem = root.links.visit(visit, info=True)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            raise _damaged(error) from error
        if problem is not None:
            raise problem

    def _look_at(self, path: str, link: int, root: Any, name: bytes) -> None:
        if len(self.groups) + len(self.arrays) > MOST_OBJECTS:
            raise HostileFileError("more than %d objects" % MOST_OBJECTS, "this is no Keras file")
        if link != h5py.h5l.TYPE_HARD:
            kind = {h5py.h5l.TYPE_SOFT: "soft", h5py.h5l.TYPE_EXTERNAL: "external"}.get(link, "user-defined")
            raise HostileFileError(
                "%s is a link of the %s kind" % (path, kind), "Keras never writes those; do not trust this file"
            )
        self._record(path, h5py.h5o.open(root, name))

    def _record(self, path: str, item: Any) -> None:
        if isinstance(item, h5py.h5g.GroupID):
            self.groups[path] = None
        elif isinstance(item, h5py.h5d.DatasetID):
            self.arrays[path] = _checked_array(path, item)
        else:
            raise HostileFileError(
                "%s is a named datatype" % path, "Keras never writes those; do not trust this file"
            )

    def array(self, path: str) -> Optional[Array]:
        """What is known of the dataset at `path`; None where there is none.

        Raises
        ------
        HostileFileError
            It cannot be a weight: it holds no numbers, or claims more bytes than the file has for it.
        """
        array = self.arrays.get(path)
        if array is not None and array.problem:
            raise HostileFileError(
                "%s %s" % (path, array.problem), "the save was interrupted, or the file is not to be trusted"
            )
        return array

    def attribute_names(self, path: str) -> List[str]:
        """Names of the attributes of the object at `path`, sorted."""
        owner = self.handle[path].id
        names = [_link_name(h5py.h5a.open(owner, index=i).name) for i in range(h5py.h5a.get_num_attrs(owner))]
        return sorted(names)

    def has_attribute(self, path: str, name: str) -> bool:
        """Whether the object at `path` has that attribute."""
        return bool(h5py.h5a.exists(self.handle[path].id, name.encode("utf-8")))

    def text(self, path: str, name: str) -> Optional[str]:
        """A scalar text attribute; None where it is absent.

        Raises
        ------
        NotKerasError
            The attribute is not one text.
        """
        if not self.has_attribute(path, name):
            return None
        self._check_attribute(path, name)
        value = self.handle[path].attrs[name]
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if not isinstance(value, (str, bytes)):
            raise NotKerasError("attribute %r of %s is no text" % (name, path), "the file is damaged or no Keras file")
        try:
            return as_text(value)
        except UnicodeDecodeError as error:
            raise NotKerasError("attribute %r of %s is not UTF-8" % (name, path), "the file is damaged") from error

    def names(self, path: str, name: str) -> Optional[List[str]]:
        """A list attribute, whole or split over name0, name1, ...; None where neither is there."""
        if self.has_attribute(path, name):
            return self._list(path, name)
        items: List[str] = []
        part = 0
        while self.has_attribute(path, "%s%d" % (name, part)):
            items += self._list(path, "%s%d" % (name, part))
            part += 1
        return items if part else None

    def has_fixed_names(self, path: str, name: str) -> bool:
        """Whether a list attribute holds fixed-length texts; True for one that is split or empty."""
        if not self.has_attribute(path, name):
            return True
        kind = h5py.h5a.open(self.handle[path].id, name.encode("utf-8")).get_type()
        return not (isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str())

    def _list(self, path: str, name: str) -> List[str]:
        self._check_attribute(path, name)
        value = np.asarray(self.handle[path].attrs[name])
        if value.ndim != 1 or (value.size and value.dtype.kind not in "SUO"):
            raise NotKerasError("attribute %r of %s is no list of names" % (name, path), "the file is damaged")
        try:
            return [as_text(item) for item in value]
        except UnicodeDecodeError as error:
            raise NotKerasError("attribute %r of %s is not UTF-8" % (name, path), "the file is damaged") from error

    def _check_attribute(self, path: str, name: str) -> None:
        """Refuse an attribute whose shape claims more than a config or a list of names could need."""
        attribute = h5py.h5a.open(self.handle[path].id, name.encode("utf-8"))
        count = 1
        for length in attribute.shape:
            count *= int(length)
        if count * max(1, attribute.get_type().get_size()) > LONGEST_ATTRIBUTE:
            raise HostileFileError(
                "attribute %r of %s claims %d elements" % (name, path, count), "do not trust this file"
            )

    def below(self, path: str) -> List[str]:
        """Paths of all datasets below the group at `path`, in the file's order."""
        prefix = path.rstrip("/") + "/"
        return [name for name in self.arrays if name.startswith(prefix)]

    def stored_size(self) -> int:
        """Bytes of the whole file."""
        return os.path.getsize(self.path)

    def blocks(self, path: str) -> Iterator[bytes]:
        """The array's elements in C order as they lie in memory, in blocks of about 1 MiB."""
        return array_blocks(self.handle[path])


def _link_name(name: Any) -> str:
    try:
        text = name.decode("utf-8") if isinstance(name, bytes) else str(name)
        text.encode("utf-8")  # h5py gives undecodable bytes as lone surrogates
    except UnicodeError as error:
        raise HostileFileError("an object's name is not UTF-8: %r" % name, "the file is damaged") from error
    return text


def _damaged(error: BaseException) -> FileError:
    return FileError("damaged HDF5: %s" % _first_line(error), "get a fresh copy of the file")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _checked_array(path: str, dataset: Any) -> Array:
    """The facts of a dataset, or a refusal of what Keras never writes."""
    plist = dataset.get_create_plist()
    layout = plist.get_layout()
    if layout == h5py.h5d.VIRTUAL:
        raise HostileFileError("%s is a virtual dataset" % path, "its bytes lie in other files; do not trust this file")
    if layout == h5py.h5d.CONTIGUOUS and plist.get_external_count():
        raise HostileFileError("%s has external storage" % path, "its bytes lie in other files; do not trust this file")
    for i in range(plist.get_nfilters()):
        code = plist.get_filter(i)[0]
        if code not in BUILT_IN_FILTERS:
            raise HostileFileError(
                "%s needs HDF5 filter %d, which is no built-in one" % (path, code),
                "rewrite the file with h5repack where that filter is installed",
            )
    shape = tuple(int(length) for length in dataset.shape or ())
    dtype = _numeric_type(dataset)
    if dtype is None:
        return Array(shape, "", 0, "holds no numbers")
    size = dtype.itemsize
    for length in shape:
        size *= length
    return Array(shape, dtype.name, size, _storage_problem(dataset, plist, layout, size, dtype.itemsize))


def _numeric_type(dataset: Any) -> "Optional[np.dtype[Any]]":
    """The numpy type of a dataset of plain numbers; None for references, texts and the like."""
    if isinstance(dataset.get_type(), h5py.h5t.TypeReferenceID):
        return None
    try:
        dtype = np.dtype(dataset.dtype)
    except TypeError:  # a type that numpy lacks
        return None
    return dtype if dtype.kind in "biufcV" and not dtype.hasobject else None


def _storage_problem(dataset: Any, plist: Any, layout: int, size: int, itemsize: int) -> str:
    """Why the file cannot hold what the shape claims; "" where it can."""
    stored = dataset.get_storage_size()
    claim = "claims %d bytes, the file holds %d for it" % (size, stored)
    if layout != h5py.h5d.CHUNKED:
        return claim if stored != size else ""
    chunk = itemsize
    for length in plist.get_chunk():
        chunk *= length
    if chunk > LARGEST_CHUNK:
        return "has chunks of %d bytes" % chunk
    return claim if size > chunk and size > stored * LARGEST_RATIO else ""


def array_blocks(dataset: Any) -> Iterator[bytes]:
    """The elements of an open `h5py.Dataset`, a block at a time, with bounded memory."""
    if not dataset.shape:
        yield dataset[()].tobytes()
        return
    row = dataset.dtype.itemsize
    for length in dataset.shape[1:]:
        row *= length
    if dataset.size == 0:
        return
    if row > BLOCK and len(dataset.shape) > 1:
        for i in range(dataset.shape[0]):
            for j in range(0, dataset.shape[1], max(1, BLOCK * dataset.shape[1] // row)):
                yield dataset[i, j : j + max(1, BLOCK * dataset.shape[1] // row)].tobytes()
        return
    step = max(1, BLOCK // row)
    for i in range(0, dataset.shape[0], step):
        yield dataset[i : i + step].tobytes()


@contextlib.contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file for reading and check everything in it.

    Raises
    ------
    FileError
        It is missing, unreadable, truncated, locked or damaged.
    NotKerasError
        It is something else than HDF5; the message says what.
    HostileFileError
        It uses links, external or virtual storage, foreign filters or absurd shapes.
    """
    _check_signature(path)
    handle = _open_for_reading(path)
    try:
        yield Source(path, handle)
    finally:
        handle.close()


def _open_for_reading(path: str) -> Any:
    try:
        return h5py.File(path, "r")
    except (OSError, RuntimeError, ValueError) as error:
        text = str(error)
        number = getattr(error, "errno", None) or 0
        if "truncated" in text:
            raise FileError("the file is truncated", "copy it again: its end is missing") from error
        if "lock" in text:
            raise FileError(
                "another process holds the file, or this file system knows no locks (%s)" % _first_line(error),
                "wait until it is written, or set HDF5_USE_FILE_LOCKING=FALSE",
            ) from error
        if number:
            raise FileError(os.strerror(number), "check the path and its permissions") from error
        raise _damaged(error) from error


def _check_signature(path: str) -> None:
    """Say what a file is that is no HDF5 file."""
    if os.path.isdir(path):
        if os.path.exists(os.path.join(path, "saved_model.pb")):
            raise NotKerasError("a SavedModel folder, not an HDF5 file", "load it with TensorFlow and save it as .h5")
        raise NotKerasError("a folder, not a file", "name the .h5 file")
    try:
        with open(path, "rb") as handle:
            head = handle.read(512)
            size = handle.seek(0, os.SEEK_END)
            offset = 0
            # HDF5 looks for its signature at 0, 512, 1024, 2048, ... (a user block may come first)
            while offset + 8 <= size:
                handle.seek(offset)
                if handle.read(8) == SIGNATURE:
                    return
                offset = 512 if not offset else offset * 2
    except OSError as error:
        raise FileError(
            os.strerror(error.errno or errno.EIO), "check the path and its permissions"
        ) from error
    raise NotKerasError(*_what_else(path, head))


def _what_else(path: str, head: bytes) -> Tuple[str, str]:
    """(what a file is, what to do) for a file without the HDF5 signature."""
    if not head:
        return "the file is empty", "copy it again"
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself", "run `git lfs pull` to fetch it"
    if head.startswith(b"PK\x03\x04"):
        return "a zip archive (a .keras file?), not HDF5", "Keras 3 archives are never multi_gpu_model files"
    if head.startswith(b"\x1f\x8b"):
        return "a gzip file, not HDF5", "run gunzip first"
    if _is_checkpoint(path):
        return "a TensorFlow checkpoint, not HDF5", "load it with TensorFlow and save it as .h5"
    if b"\0" not in head and sum(byte > 127 for byte in head) * 4 < len(head):
        return "a text file, not HDF5", "this may be an error page: download the file again"
    return "not an HDF5 file", "only .h5 files that Keras saved can be read"


def _is_checkpoint(path: str) -> bool:
    base = os.path.basename(path)
    return base.endswith(".index") or ".data-0000" in base or base == "checkpoint" or os.path.exists(path + ".index")


class Target:
    """A new HDF5 file that is being written."""

    def __init__(self, handle: Any, source: Source) -> None:
        self.handle = handle
        self.source = source
        self._links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        self._links.set_create_intermediate_group(True)

    def group(self, path: str) -> None:
        """Make a group, with those above it; one that is there already stays."""
        self.handle.require_group(path)

    def set_names(self, path: str, name: str, items: Sequence[str], fixed: bool = True) -> None:
        """A list attribute as Keras writes it: split, and then of fixed-length texts, above 64,512 bytes.

        A shorter list is one of fixed-length texts under h5py 2 and of variable-length ones under h5py 3.
        """
        data = np.array([item.encode("utf-8") for item in items], dtype="S" if items else "float64")
        parts = 1
        while any(part.nbytes > ATTRIBUTE_LIMIT for part in np.array_split(data, parts)):
            parts += 1
            if parts > max(1, len(data)):
                raise FileError("a name is longer than an HDF5 attribute can hold", "no Keras could write this file")
        owner = self.handle[path]
        if parts == 1 and len(data) and not fixed:
            owner.attrs.create(name, list(data), dtype=h5py.string_dtype("ascii"))
            return
        for i, part in enumerate(np.array_split(data, parts)):
            owner.attrs[name if parts == 1 else "%s%d" % (name, i)] = part

    def set_text(
        self, path: str, name: str, value: str, like: Optional[Tuple[str, str]] = None, charset: str = "ascii"
    ) -> None:
        """A text attribute of the type of the source's attribute `like` (path, name), else variable-length."""
        data = value.encode("utf-8")
        dtype = _text_type(self.source, like, data) if like else h5py.string_dtype(charset)
        self.handle[path].attrs.create(name, data, shape=(), dtype=dtype)

    def copy_attribute(self, source_path: str, path: str, name: str) -> None:
        """Carry a scalar text attribute over, type and all; one that is absent stays absent."""
        value = self.source.text(source_path, name)
        if value is not None:
            self.set_text(path, name, value, like=(source_path, name))

    def copy(self, source_path: str, path: str) -> None:
        """Copy an object as an object: no byte is decoded."""
        h5py.h5o.copy(
            self.source.handle.id, source_path.encode("utf-8"), self.handle.id, path.encode("utf-8"), lcpl=self._links
        )


def _text_type(source: Source, like: Tuple[str, str], data: bytes) -> "np.dtype[Any]":
    """The type for a text attribute: that of an attribute of the source."""
    kind = h5py.h5a.open(source.handle[like[0]].id, like[1].encode("utf-8")).get_type()
    charset = "utf-8" if kind.get_cset() == h5py.h5t.CSET_UTF8 else "ascii"
    length = None if kind.is_variable_str() else max(1, len(data))
    return h5py.string_dtype(charset, length)  # type: ignore[no-any-return]


def partial_name(target: str) -> str:
    """A name beside `target` for the file while it is being written; it tells whose it is."""
    folder, base = os.path.split(os.path.abspath(target))
    # a file name has 255 bytes at most on every file system that we know
    return os.path.join(folder, ".%s.%s%s" % (base[:180], owner_mark(), PARTIAL_SUFFIX))


@contextlib.contextmanager
def new_file(partial: str, source: Source) -> Iterator[Target]:
    """An HDF5 file at `partial`, on disk to the last byte when the block ends."""
    try:
        handle = h5py.File(partial, "w", libver="earliest")
        try:
            yield Target(handle, source)
        finally:
            handle.close()
        _sync(partial)
    except (OSError, RuntimeError) as error:
        raise _write_error(partial, error) from error


def _write_error(partial: str, error: BaseException) -> FileError:
    """What went wrong while writing, in the user's words."""
    number = getattr(error, "errno", None)
    text = str(error)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.EIO):
        if number == code or "errno = %d," % code in text:
            return FileError(
                "cannot write: %s" % os.strerror(code), "check space and permissions in %s" % os.path.dirname(partial)
            )
    folder = os.path.dirname(partial)
    if not os.path.isdir(folder):
        return FileError("cannot write: there is no folder %s" % folder, "make the folder first")
    if not os.access(folder, os.W_OK):
        return FileError("cannot write: no permission in %s" % folder, "choose another folder")
    return FileError("cannot write: %s" % _first_line(error), "check space and permissions in %s" % folder)


def _sync(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def put_in_place(partial: str, target: str, overwrite: bool) -> None:
    """Give a finished file its name: whole or not at all, on disk when this returns.

    Raises
    ------
    TargetExistsError
        `target` is there and `overwrite` is False.
    """
    try:
        if overwrite:
            os.replace(partial, target)
        else:
            _rename_new(partial, target)
        if os.name == "posix":
            _sync(os.path.dirname(os.path.abspath(target)))
    except FileExistsError as error:
        raise TargetExistsError("exists", "--overwrite replaces it") from error
    except OSError as error:
        raise _write_error(partial, error) from error


def _rename_new(partial: str, target: str) -> None:
    """Rename without replacing: a file that appeared since the start is not lost."""
    try:
        os.link(partial, target)
        os.unlink(partial)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.replace(partial, target)


def root_names(path: str) -> List[str]:
    """Names of the root's attributes and members: enough to tell whether a file is one of Keras.

    What lies below is not looked at, so what `open_source` refuses may be asked too.
    """
    handle = _open_for_reading(path)
    try:
        return [as_text(name) for name in handle.attrs] + [as_text(name) for name in handle]
    finally:
        handle.close()


def library_versions() -> Dict[str, str]:
    """Versions of h5py and of the HDF5 library."""
    return {"h5py": str(h5py.version.version), "hdf5": str(h5py.version.hdf5_version)}
