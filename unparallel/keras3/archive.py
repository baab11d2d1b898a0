"""An `Archive` -> a file, and the proof that it is what was meant.

A Keras 3 archive is a zip of stored members.  Its HDF5 member comes first, at byte 512, where HDF5 itself looks for a
file behind a "user block": so it is written in place, read again by the same code as any other HDF5 file, and a weight
is copied once, as an object.  Dates are fixed, and equal input gives equal bytes.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from functools import partial
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Callable, Iterator, Mapping

import numpy as np

from .. import hdf5
from ..arrays import ArraySource
from ..atomic import AtomicFile
from ..errors import Keras3Error, UnparallelError, VerificationError
from ..model import Json, WeightRef
from ..verify import RETRY
from ..weights.health import HealthCheck, with_neutral
from .arrays import evaluate
from .values import Archive, Array

if TYPE_CHECKING:
    from ..arrays import Numbers

WEIGHTS, CONFIG, METADATA = "model.weights.h5", "config.json", "metadata.json"
#: Where the HDF5 member begins: the first place after 0 where HDF5 looks for its signature.
HEAD = 512
#: The identifier of the zip header's field that fills it up, "padding" of Android's zipalign (APK, 0xD935).
PADDING = 0xD935
BLOCK = 2**20
#: The oldest that reads what is written; Keras does not look at it.
VERSION = "3.4.0"
DATE = "1980-01-01@00:00:00"


def write(archive: Archive, source: ArraySource, out: AtomicFile, repairs: Mapping[str, float]) -> None:
    """Write an archive, an array at a time.

    Parameters
    ----------
    archive : Archive
    source : ArraySource
        Where its arrays come from.
    out : AtomicFile
    repairs : mapping of str to float
        What replaces NaN and Inf in weights, by path.
    """
    with hdf5.new_file(out, source, HEAD) as target:
        for group in archive.groups:
            target.group("/" + group)
        for path, array in archive.arrays:
            place = "/" + path
            if array.is_copy:
                target.copy(array.sources[0].path, place)
                if array.sources[0].path in repairs:
                    target.replace_non_finite(place, repairs[array.sources[0].path])
            else:
                target.put(place, _numbers(source, array, repairs))
    with out.writing():
        _finish(out.partial, archive)


def _numbers(source: ArraySource, array: Array, repairs: Mapping[str, float]) -> Numbers:
    """The numbers of an array that is made of others."""
    return evaluate(array, [_whole(source, ref, repairs.get(ref.path)) for ref in array.sources])


def _whole(source: ArraySource, ref: WeightRef, neutral: float | None) -> Numbers:
    values = source.numbers(ref.path)
    if neutral is None:
        return values
    code = values.dtype.str
    return np.frombuffer(with_neutral(values.tobytes(), code, neutral), code).reshape(values.shape)


def _finish(path: str, archive: Archive) -> None:
    """The zip's parts before and behind the HDF5 member, which is in its place; all of it on disk."""
    with open(path, "r+b") as handle:
        size, check = _measured(handle)
        info = _member(WEIGHTS)
        info.CRC, info.file_size, info.compress_size, info.header_offset = check, size, size, 0
        handle.seek(0)
        handle.write(_padded_header(info))
        handle.seek(0, os.SEEK_END)
        # zipfile writes behind what is there already, and lists the first member with the others
        with zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as made:
            made.filelist.append(info)
            made.NameToInfo[info.filename] = info
            for name, value in _texts(archive).items():
                made.writestr(_member(name), value)
        handle.flush()
        os.fsync(handle.fileno())


def _measured(handle: IO[bytes]) -> tuple[int, int]:
    """(bytes, CRC-32) of the HDF5 member."""
    handle.seek(HEAD)
    size = check = 0
    while True:
        block = handle.read(BLOCK)
        if not block:
            return size, check
        size += len(block)
        check = zlib.crc32(block, check)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def _padded_header(info: zipfile.ZipInfo) -> bytes:
    """The member's header, of exactly as many bytes as come before it."""
    rest = HEAD - len(info.FileHeader())
    info.extra = PADDING.to_bytes(2, "little") + (rest - 4).to_bytes(2, "little") + bytes(rest - 4)
    header = info.FileHeader()
    info.extra = b""
    return header


def _texts(archive: Archive) -> dict[str, str]:
    metadata = {"keras_version": VERSION, "date_saved": DATE}
    return {METADATA: _json(metadata), CONFIG: _json(archive.config)}


def _json(value: Json) -> str:
    return json.dumps(value, allow_nan=False)


def check_numbers(config: Json) -> None:
    """Refuse a config with a number that JSON has not.

    Raises
    ------
    Keras3Error
    """
    try:
        _json(config)
    except ValueError as error:
        raise Keras3Error("a layer's config holds what is not a finite number", "the config is damaged") from error


def check_depth(archive: Archive) -> None:
    """Refuse layers in layers so deep that no file with such groups would be read, here or elsewhere.

    Raises
    ------
    Keras3Error
    """
    deepest = max([path.count("/") for path in [path for path, _ in archive.arrays] + list(archive.groups)] or [0])
    if deepest >= hdf5.DEEPEST_GROUP:
        raise Keras3Error(f"layers inside each other, {deepest} groups deep in the file", "do not trust this file")


# -- the proof ----------------------------------------------------------------------------------------------


def compare(archive: Archive, source: ArraySource, path: str, health: HealthCheck) -> None:
    """Prove that the file at `path` is the archive that was meant: every array, and every member.

    Shows the weights to `health` on the way.

    Raises
    ------
    VerificationError
        Anything differs; the message names it.
    """
    _compare_members(archive, path)
    with hdf5.open_source(path, archived=True) as made:
        meant = dict(archive.arrays)
        if {"/" + name for name in meant} != set(made.arrays):
            odd = sorted({"/" + name for name in meant} ^ set(made.arrays))
            raise VerificationError(f"{odd[0]} is in one of plan and file only", RETRY)
        repairs = health.repairs
        owners = {ref.path: group.layer for group in health.model.weights for ref in group.weights}
        for name, array in archive.arrays:
            place = "/" + name
            if made.arrays[place].shape != array.shape:
                raise VerificationError(f"{name} has the shape {made.arrays[place].shape}, not {array.shape}", RETRY)
            if array.is_copy:
                ref = array.sources[0]
                see = partial(health.see, owners[ref.path], ref) if health.wanted and ref.path in owners else None
                _compare_copy(source, made, (ref.path, place), see, repairs.get(ref.path))
            else:
                _compare_made(source, made, place, array, repairs)
                _show(source, array, owners, health)


def _compare_members(archive: Archive, path: str) -> None:
    try:
        with zipfile.ZipFile(path) as found:
            if sorted(found.namelist()) != sorted([WEIGHTS, CONFIG, METADATA]):
                raise VerificationError("the archive has other members than were written", RETRY)
            for name, value in _texts(archive).items():
                if found.read(name).decode("utf-8") != value:
                    raise VerificationError(f"{name} is not what was written", RETRY)
            broken = found.testzip()
        if broken is not None:
            raise VerificationError(f"{broken} has another checksum than was written", RETRY)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise VerificationError(f"cannot read again what was written: {error}", RETRY) from error


def _compare_copy(
    source: ArraySource,
    made: ArraySource,
    places: tuple[str, str],
    see: Callable[[bytes, str], None] | None,
    neutral: float | None,
) -> None:
    code = source.arrays[places[0]].code
    if code != made.arrays[places[1]].code:
        raise VerificationError(f"{places[0]} has another type now", RETRY)
    for block, copied in zip_longest(source.blocks(places[0]), _again(made.blocks(places[1]))):
        if see is not None and block is not None:
            see(block, code)
        if neutral is not None and block is not None:
            block = with_neutral(block, code, neutral)
        if block != copied:
            raise VerificationError(f"{places[0]} was not copied faithfully", RETRY)


def _again(blocks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from blocks
    except UnparallelError as error:
        raise VerificationError(f"cannot read again what was written: {error.message}", error.hint) from error


def _compare_made(
    source: ArraySource, made: ArraySource, place: str, array: Array, repairs: Mapping[str, float]
) -> None:
    wanted = _numbers(source, array, repairs)
    found = made.numbers(place)
    if wanted.dtype != found.dtype or wanted.tobytes() != found.tobytes():
        raise VerificationError(f"{place} is not what was to be made of its sources", RETRY)


def _show(source: ArraySource, array: Array, owners: Mapping[str, str], health: HealthCheck) -> None:
    for ref in array.sources if health.wanted else ():
        if ref.path in owners:
            for block in source.blocks(ref.path):
                health.see(owners[ref.path], ref, block, source.arrays[ref.path].code)
