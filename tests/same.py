"""What two HDF5 files differ in, read with h5py alone."""

from typing import Any, Iterator

import h5py
import numpy as np


def _type(owner: Any, name: str) -> Any:
    attribute = h5py.h5a.open(owner.id, name.encode("utf-8"))
    kind = attribute.get_type()
    if isinstance(kind, h5py.h5t.TypeStringID):
        size = None if kind.is_variable_str() else kind.get_size()
        return (size, kind.get_cset(), kind.get_strpad() if size else 0, attribute.shape)
    return (type(kind).__name__, kind.get_size(), attribute.shape)


def _value(owner: Any, name: str) -> Any:
    value = owner.attrs[name]
    return value.decode("utf-8") if isinstance(value, bytes) else np.asarray(value).tolist()


def differences(one: str, other: str) -> Iterator[str]:
    """One line for each object, attribute or byte that differs."""
    with h5py.File(one, "r") as a, h5py.File(other, "r") as b:
        yield from _compare(a, b, "/")


def _compare(a: Any, b: Any, path: str) -> Iterator[str]:
    if set(a.attrs) != set(b.attrs):
        yield f"{path}: attributes {sorted(a.attrs)}, {sorted(b.attrs)}"
        return
    for name in a.attrs:
        if _type(a, name) != _type(b, name):
            yield f"{path}@{name}: type {_type(a, name)}, {_type(b, name)}"
        if _value(a, name) != _value(b, name):
            yield f"{path}@{name}: {_value(a, name)}, {_value(b, name)}"
    if isinstance(a, h5py.Dataset):
        if (a.shape, a.dtype, a.chunks) != (b.shape, b.dtype, b.chunks) or a[()].tobytes() != b[()].tobytes():
            yield f"{path}: other array"
        return
    if set(a) != set(b):
        yield f"{path}: members {sorted(a)}, {sorted(b)}"
        return
    for name in a:
        yield from _compare(a[name], b[name], path.rstrip("/") + "/" + name)
