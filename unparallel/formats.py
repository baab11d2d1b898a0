"""Which reader opens a source, and which writer makes a target and proves it: the one place that knows all formats."""

import contextlib
from typing import Callable, Iterator, NamedTuple, Optional, Tuple

from . import hdf5, reader, tensorflow
from .arrays import ArraySource
from .atomic import AtomicFile
from .errors import about
from .model import ModelFile
from .options import ConvertOptions
from .plan import Plan, make_plan
from .weights.health import HealthCheck


class Opened(NamedTuple):
    """A source that is open.

    Attributes
    ----------
    source : ArraySource
        Where the arrays are read from, until the block that opened it ends.
    model : ModelFile
        What it is as a model.
    unknown : tuple of str
        What else lies in it, by name: no part of the model, and left out.
    """

    source: ArraySource
    model: ModelFile
    unknown: Tuple[str, ...] = ()


@contextlib.contextmanager
def open_model(path: str) -> Iterator[Opened]:
    """Open whatever a model was saved as; errors in the block that are about no file are about this one.

    Raises
    ------
    FileError
        It is missing, unreadable, damaged, or was changed meanwhile; or it is of no known format.
    """
    with about(path), contextlib.ExitStack() as stack:
        if tensorflow.is_tensorflow(path):
            checkpoint = stack.enter_context(tensorflow.open_source(path))
            yield Opened(checkpoint, tensorflow.read(checkpoint))
            return
        hdf5.check_signature(path)  # by bytes alone: what is no HDF5 need not wait for h5py
        source = stack.enter_context(hdf5.open_source(path))
        model = reader.read(source)
        yield Opened(source, model, reader.unknown_objects(source, model))


class Format(NamedTuple):
    """A kind of target.

    Attributes
    ----------
    plan : function of (ModelFile, ConvertOptions) to Plan
        Decides what is to be written; raises what `make_plan` raises.
    write : function of (ArraySource, Plan, HealthCheck, AtomicFile)
        Writes the partial file.  `HealthCheck.repairs` says in which weights NaN and Inf are to be replaced.
    compare : function of (ArraySource, str, Plan, HealthCheck)
        Proves that the file at that path is what was planned, weight by weight, and raises `VerificationError` if not.
        Shows each block of the weights to `HealthCheck.see` on the way, where `HealthCheck.wanted` says so.
    try_out : function of (str, Plan) to str, optional
        Loads the file at that path where what it is for is installed; what was found, as a note.
    """

    plan: Callable[[ModelFile, ConvertOptions], Plan]
    write: Callable[[ArraySource, Plan, HealthCheck, AtomicFile], None]
    compare: Callable[[ArraySource, str, Plan, HealthCheck], None]
    try_out: Optional[Callable[[str, Plan], str]] = None


def format_of(target: str) -> Format:
    """The format of a target, by the ending of its name: `.keras` is Keras 3's, all else HDF5 as Keras had it."""
    if not target.lower().endswith(".keras"):
        return HDF5
    from .keras3 import plan as keras3  # tables that a conversion to HDF5 need not wait for

    return Format(keras3.make_plan, keras3.write_file, keras3.compare_file, keras3.try_out)


def _write_hdf5(source: ArraySource, plan: Plan, health: HealthCheck, out: AtomicFile) -> None:
    from .writer import write_file  # h5py comes with it

    write_file(source, plan, health, out)


def _compare_hdf5(source: ArraySource, path: str, plan: Plan, health: HealthCheck) -> None:
    from .verify import compare_file  # h5py comes with it

    compare_file(source, path, plan, health)


HDF5 = Format(make_plan, _write_hdf5, _compare_hdf5)
