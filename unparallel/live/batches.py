"""Batches of one size for training on several GPUs: the last batch of an epoch must not leave a replica empty.

`multi_gpu_model` cuts each batch into as many parts as there are replicas.  Where a batch has fewer rows than that,
some parts are empty, and BatchNormalization's moving statistics become NaN without a word.  There are two remedies:
to leave the short batch out, or to fill it up with rows of its own.
"""

from typing import Any, Iterable, Iterator, List, Tuple

import numpy as np

__all__ = ["full_batches"]

MODES = ("drop", "repeat")
# An epoch ends with one short batch.
MOST_LEFT_OUT = 100


def full_batches(batches: Iterable[Any], batch_size: int, replicas: int, mode: str = "drop") -> Any:
    """Batches that all have the same number of rows, one that divides into the replicas.

    Parameters
    ----------
    batches : iterable, generator or keras.utils.Sequence
        Each batch is an array, or a tuple, list or dict of arrays (nested as you like, None where there is nothing):
        what `fit` takes.  Rows are counted along the first axis.
    batch_size : int
        Rows of a batch, a multiple of `replicas`.
    replicas : int
        The number of GPUs that the model was wrapped for.
    mode : str
        "drop" leaves a batch out that has fewer rows.  "repeat" fills it up with its own rows, from the first on,
        as often as need be: nothing is lost, and those rows count more than once in the loss.  A batch without any
        rows is left out either way.

    Returns
    -------
    iterable
        An iterator for an iterator, a `Sequence` of the same Keras for a `Sequence`, else something that can be
        iterated over again and again.

    Raises
    ------
    ValueError
        `batch_size` is no multiple of `replicas`; or, when it comes up, a batch has more rows than that, arrays of one
        batch differ in theirs, or a batch in the middle of a `Sequence` is to be left out.

    Examples
    --------
    >>> import numpy, unparallel
    >>> x, y = numpy.zeros((10, 2)), numpy.arange(10)
    >>> pairs = ((x[i : i + 4], y[i : i + 4]) for i in range(0, 10, 4))
    >>> [labels.tolist() for _, labels in unparallel.full_batches(pairs, 4, replicas=2, mode="repeat")]
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 9]]
    """
    if replicas < 1 or batch_size < 1 or batch_size % replicas:
        raise ValueError(f"batch_size {batch_size!r} is no multiple of the {replicas!r} replicas")
    if mode not in MODES:
        raise ValueError("mode is {!r}, not one of {}".format(mode, ", ".join(map(repr, MODES))))
    if hasattr(batches, "__getitem__") and hasattr(batches, "__len__") and not hasattr(batches, "keys"):
        return _sequence(batches, batch_size, replicas, mode)
    if iter(batches) is batches:
        return _full(batches, batch_size, mode)
    return _Again(batches, batch_size, mode)


class _Again:
    """What can be iterated over more than once."""

    def __init__(self, batches: Iterable[Any], batch_size: int, mode: str) -> None:
        self._batches, self._batch_size, self._mode = batches, batch_size, mode

    def __iter__(self) -> Iterator[Any]:
        return _full(self._batches, self._batch_size, self._mode)


def _full(batches: Iterable[Any], batch_size: int, mode: str) -> Iterator[Any]:
    left_out = 0
    for batch in batches:
        rows = _rows(batch, batch_size)
        if rows == batch_size:
            left_out = 0
            yield batch
        elif rows and mode == "repeat":
            yield _repeated(batch, rows, batch_size)
        else:
            left_out += 1
        if left_out > MOST_LEFT_OUT:  # a generator without end would never give one
            raise ValueError(f"{left_out} batches in a row have fewer than batch_size={batch_size} rows")


# -- sequences


class _Sequence:
    """The part of a `keras.utils.Sequence` that is ours; the rest comes from the wrapped one's own base class."""

    def __init__(self, batches: Any, batch_size: int, replicas: int, mode: str) -> None:
        self._batches, self._batch_size, self._replicas, self._mode = batches, batch_size, replicas, mode
        for name in ("workers", "use_multiprocessing", "max_queue_size"):  # what Keras 3 asks for
            if hasattr(batches, name):
                self.__dict__["_" + name] = getattr(batches, name)
        self._count()

    def _count(self) -> None:
        """Find out how many batches there are: the last one may be short, and is made for that once an epoch."""
        self._length = len(self._batches)
        if self._length:
            rows = _rows(self._batches[self._length - 1], self._batch_size)
            if rows < self._batch_size and (self._mode == "drop" or not rows):
                self._length -= 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        if not -self._length <= index < self._length:
            raise IndexError(f"batch {index} of {self._length}")
        place = index % self._length
        batch = self._batches[place]
        rows = _rows(batch, self._batch_size)
        if rows == self._batch_size:
            return batch
        if not rows or self._mode == "drop":
            raise ValueError(f"batch {place} has {rows} rows of {self._batch_size}, and is not the last")
        return _repeated(batch, rows, self._batch_size)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def on_epoch_end(self) -> None:
        """Let the wrapped sequence shuffle, and count anew."""
        if hasattr(self._batches, "on_epoch_end"):
            self._batches.on_epoch_end()
        self._count()

    def __reduce__(self) -> Tuple[Any, ...]:
        # the class is made for the occasion: other processes make their own
        return (full_batches, (self._batches, self._batch_size, self._replicas, self._mode))


def _sequence(batches: object, batch_size: int, replicas: int, mode: str) -> _Sequence:
    bases = [base for base in type(batches).__mro__ if base.__name__ in ("PyDataset", "Sequence")]
    keras = [base for base in bases if base.__module__.split(".")[0] in ("keras", "tensorflow", "tf_keras")]
    # Keras asks isinstance; importing one to ask it back would be the wrong one half of the time
    cls = type("FullBatches", (_Sequence, *keras[:1]), {"__module__": __name__})
    made: _Sequence = cls(batches, batch_size, replicas, mode)
    return made


# -- one batch


def _arrays(batch: object) -> Iterator[Any]:
    """All arrays of a batch, however they are nested."""
    if isinstance(batch, dict):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)):
        for item in batch:
            yield from _arrays(item)
    elif batch is not None:
        yield batch


def _rows(batch: object, batch_size: int) -> int:
    counts: List[int] = []
    for array in _arrays(batch):
        if not getattr(array, "shape", None) and not hasattr(array, "__len__"):
            raise ValueError(f"a batch holds {repr(array)[:50]}, which has no rows")
        counts.append(int(array.shape[0]) if hasattr(array, "shape") else len(array))
    if len(set(counts)) != 1:
        raise ValueError("a batch holds arrays of %s rows" % (" and ".join(map(str, sorted(set(counts)))) or "no"))
    if counts[0] > batch_size:
        raise ValueError(f"a batch has {counts[0]} rows, more than batch_size={batch_size}")
    return counts[0]


def _repeated(batch: Any, rows: int, batch_size: int) -> Any:
    """The batch with its rows again and again, up to `batch_size`; its containers stay what they are."""
    if batch is None:
        return None
    if isinstance(batch, dict):
        return type(batch)((key, _repeated(value, rows, batch_size)) for key, value in batch.items())
    if isinstance(batch, (tuple, list)):
        items = [_repeated(item, rows, batch_size) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    places = np.arange(batch_size) % rows
    if hasattr(batch, "iloc"):
        return batch.iloc[places]
    if isinstance(batch, np.ndarray) or hasattr(batch, "tocsr"):
        return batch[places]
    return np.asarray(batch)[places]
