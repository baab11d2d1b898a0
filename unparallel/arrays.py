"""What an open source offers, whatever its format: arrays by path, read a block at a time."""

import abc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

from .errors import HostileFileError

if TYPE_CHECKING:
    import numpy as np

    # numpy for Python 3.7 has no such type
    Numbers = np.ndarray[Any, np.dtype[Any]]

# Two of these, one of each file, stay in a core's cache while they are compared and scanned.
STORED_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
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
    code : str
        numpy's code for the type, byte order included ("" where there is none).
    offset : int or None
        Where its bytes lie in the file, as one piece; None where they lie in chunks or in a header.
    """

    shape: Tuple[int, ...]
    dtype: str
    size: int
    problem: str = ""
    code: str = ""
    offset: Optional[int] = field(default=None, compare=False)


class ArraySource(abc.ABC):
    """An open file, or folder of files, that holds a model's arrays.

    What a `WeightRef` refers to by its `path` is read here; the bytes are of the type `Array.code`, in C order.

    Attributes
    ----------
    path : str
        Of the file or folder, as the user named it.
    arrays : dict of str to Array
    """

    path: str
    arrays: Dict[str, Array]

    @abc.abstractmethod
    def blocks(self, path: str) -> Iterator[bytes]:
        """The array's elements in order, `STORED_BLOCK` bytes at a time; other blocks only where it is in chunks."""

    def whole(self, path: str) -> Optional[bytes]:
        """All of the array's elements as `blocks` would give them, where one read is enough and cheaper; else None."""
        return None

    def ordered(self, path: str) -> Iterator[bytes]:
        """The array's elements in C order, however the file stores them: to be compared with those of another file."""
        return self.blocks(path)

    @abc.abstractmethod
    def stored_size(self) -> int:
        """Bytes of all of the source on disk."""

    def numbers(self, path: str) -> "Numbers":
        """The whole array, in memory."""
        import numpy as np  # a file that cannot be opened need not wait for it

        array = self.arrays[path]
        return np.frombuffer(b"".join(self.blocks(path)), array.code or array.dtype).reshape(array.shape)

    def packed(
        self, path: str, see: Optional[Callable[[bytes], None]] = None, ours: bool = False
    ) -> Optional[Iterator[object]]:
        """The pieces of a compressed array as they are stored; None for any other array.

        Each is unpacked on the way, to be checked and for `see` to look at; not so where the file is `ours`.
        """
        return None

    def names(self, path: str, name: str) -> Optional[List[str]]:
        """The list attribute `name` of the group at `path`; None where there is none."""
        return None

    def array(self, path: str) -> Optional[Array]:
        """What is known of the array at `path`; None where there is none.

        Raises
        ------
        HostileFileError
            It cannot be a weight: it holds no numbers, or claims more bytes than the file has for it.
        """
        array = self.arrays.get(path)
        if array is not None and array.problem:
            raise HostileFileError(
                f"{path} {array.problem}", "the save was interrupted, or the file is not to be trusted"
            )
        return array

    def below(self, path: str) -> List[str]:
        """Paths of all arrays below the group at `path`, in the file's order."""
        prefix = path.rstrip("/") + "/"
        return [name for name in self.arrays if name.startswith(prefix)]
