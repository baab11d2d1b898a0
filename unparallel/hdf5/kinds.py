"""What is used of h5py's objects, as types: h5py itself has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator

if TYPE_CHECKING:  # Python 3.7 has no Protocol
    from typing import Protocol

    import numpy as np

    from ..arrays import Numbers
else:
    Protocol = object


class TypeID(Protocol):
    """`h5py.h5t.TypeID`: the type of a dataset or an attribute."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The nearest that numpy has; TypeError or ValueError where it has none."""
        ...

    def committed(self) -> bool:
        """Whether it is an object of the file by itself."""
        ...

    def equal(self, other: object) -> bool:
        """Whether both are one type."""
        ...

    def get_size(self) -> int:
        """Bytes of one element."""
        ...


class Settings(Protocol):
    """`h5py.h5p.PropDCID`: how a dataset is stored."""

    def get_layout(self) -> int:
        """A number of `h5py.h5d`: COMPACT, CONTIGUOUS, CHUNKED or VIRTUAL."""
        ...

    def get_external_count(self) -> int:
        """How many other files hold its bytes."""
        ...

    def get_chunk(self) -> tuple[int, ...]:
        """Shape of a chunk."""
        ...

    def get_nfilters(self) -> int:
        """How many filters each chunk goes through."""
        ...

    def get_filter(self, index: int) -> tuple[int, int, tuple[int, ...], bytes]:
        """Code, flags, settings and name of a filter."""
        ...


class ObjectID(Protocol):
    """`h5py.h5g.GroupID` or `h5py.h5d.DatasetID`."""


class GroupID(ObjectID, Protocol):
    """`h5py.h5g.GroupID`; a file stands for its root."""


class SpaceID(Protocol):
    """`h5py.h5s.SpaceID`: the shape of a dataset or an attribute."""


class AttributeID(Protocol):
    """`h5py.h5a.AttrID`: an attribute below h5py's own layer."""

    @property
    def name(self) -> bytes:
        """Its name."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its elements; () for one."""
        ...

    def get_type(self) -> TypeID:
        """Type of its elements."""
        ...

    def read(self, array: np.ndarray[Any, Any]) -> None:
        """Fill an array that has room for it."""
        ...


class ChunkInfo(Protocol):
    """`h5py.h5d.StoreInfo`: where a chunk lies in the file."""

    filter_mask: int
    byte_offset: int
    size: int


class DatasetID(ObjectID, Protocol):
    """`h5py.h5d.DatasetID`: a dataset below h5py's own layer."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None where there is no data at all."""
        ...

    def get_create_plist(self) -> Settings:
        """How it is stored."""
        ...

    def get_type(self) -> TypeID:
        """Type of its elements."""
        ...

    def get_offset(self) -> int | None:
        """Where its bytes begin in the file, if they are one piece and were written."""
        ...

    def get_storage_size(self) -> int:
        """Bytes that it takes in the file."""
        ...

    def read_direct_chunk(self, corner: tuple[int, ...]) -> tuple[int, bytes]:
        """The filters that a chunk did not go through, as bits, and its bytes as stored."""
        ...


class Dataset(Protocol):
    """`h5py.Dataset`."""

    @property
    def id(self) -> DatasetID:
        """The same below h5py's own layer."""
        ...

    @property
    def attrs(self) -> Attributes:
        """Its attributes."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        ...

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of a chunk; None where there are none."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its elements."""
        ...

    @property
    def size(self) -> int:
        """Number of its elements."""
        ...

    def __getitem__(self, part: object) -> Numbers: ...

    def __setitem__(self, part: object, values: object) -> None: ...


class Attributes(Protocol):
    """`h5py.AttributeManager`."""

    def __getitem__(self, name: str) -> object: ...

    def __iter__(self) -> Iterator[str | bytes]: ...

    def create(self, name: str, data: object, shape: tuple[int, ...] | None = None, dtype: object = None) -> None:
        """Make an attribute, or replace it."""


class Links(Protocol):
    """`h5py.h5l.LinkProxy`: the links of a group."""

    def visit(self, function: Callable[[bytes, LinkInfo], BaseException | None], *, info: bool) -> BaseException | None:
        """Call a function with each link at every depth; what it returns, if not None, ends the visit."""
        ...


class LinkInfo(Protocol):
    """`h5py.h5l.LinkInfo`."""

    @property
    def type(self) -> int:
        """A number of `h5py.h5l`: TYPE_HARD, TYPE_SOFT or TYPE_EXTERNAL; others are the user's."""
        ...


class CacheSettings(Protocol):
    """`h5py.h5ac.CacheConfig`, as far as it is set: H5AC_cache_config_t of HDF5."""

    set_initial_size: bool
    initial_size: int
    min_size: int
    max_size: int
    incr_mode: int
    decr_mode: int
    flash_threshold: float


class FileID(GroupID, Protocol):
    """`h5py.h5f.FileID`: a file below h5py's own layer, and its root."""

    @property
    def links(self) -> Links:
        """The root's links."""
        ...

    def get_vfd_handle(self) -> int:
        """The descriptor of the open file, where the driver has one."""
        ...

    def get_mdc_config(self) -> CacheSettings:
        """Settings of the cache for the file's structure."""
        ...

    def set_mdc_config(self, config: CacheSettings) -> None:
        """Change them."""


class File(Protocol):
    """`h5py.File`."""

    @property
    def id(self) -> FileID:
        """The same below h5py's own layer."""
        ...

    @property
    def attrs(self) -> Attributes:
        """The root's attributes."""
        ...

    @property
    def driver(self) -> str:
        """What reads the bytes: "sec2" for a plain file."""
        ...

    @property
    def userblock_size(self) -> int:
        """Bytes before HDF5's own."""
        ...

    def __getitem__(self, path: str) -> Dataset:
        """What is at a path; a group has `id` and `attrs` alone of a dataset."""
        ...

    def __iter__(self) -> Iterator[str | bytes]: ...

    def require_group(self, path: str) -> object:
        """Make a group, if it is not there."""
        ...

    def create_dataset(self, path: str, shape: tuple[int, ...], **options: object) -> Dataset:
        """Make a dataset."""
        ...

    def close(self) -> None:
        """Let go of the file."""
