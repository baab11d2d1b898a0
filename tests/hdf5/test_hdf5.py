import contextlib
import itertools
import os

import h5py
import numpy as np
import pytest

from unparallel import hdf5
from unparallel.atomic import AtomicFile
from unparallel.errors import FileError, HostileFileError, NotKerasError
from unparallel.hdf5 import survey


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "some.h5")


def opened(path):
    with hdf5.open_source(path) as source:
        return source


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer"),
        (b"PK\x03\x04\0\0", "zip archive"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"<!DOCTYPE html><title>404", "a text file"),
        (b"\0\1\2\3" * 20, "not an HDF5 file"),
    ],
)
def test_what_is_no_hdf5_is_named(path, content, says):
    with open(path, "wb") as handle:
        handle.write(content)
    with pytest.raises(NotKerasError, match=says):
        opened(path)


def test_folders_are_named(tmp_path):
    with pytest.raises(NotKerasError, match="a folder, not a file, and no SavedModel"):
        opened(str(tmp_path))


def test_a_missing_file(path):
    with pytest.raises(FileError, match="No such file"):
        opened(path)


def test_a_truncated_file(path):
    with h5py.File(path, "w") as handle:
        handle["a"] = np.zeros(5000)
    os.truncate(path, os.path.getsize(path) - 1000)
    with pytest.raises(FileError, match="truncated"):
        opened(path)


def test_a_user_block_is_skipped(path):
    with h5py.File(path, "w", userblock_size=512) as handle:
        handle["a"] = np.arange(3)
    assert opened(path).arrays["/a"].shape == (3,)


class TestForeignBytes:
    def refused(self, path, make, says):
        with h5py.File(path, "w") as handle:
            make(handle)
        with pytest.raises(HostileFileError, match=says):
            opened(path)

    def test_a_soft_link(self, path):
        self.refused(
            path,
            lambda f: f.create_group("g").__setitem__("link", h5py.SoftLink("/etc")),
            "/g/link is a soft link",
        )

    def test_an_external_link(self, path):
        self.refused(path, lambda f: f.__setitem__("x", h5py.ExternalLink("other.h5", "/a")), "/x is an external link")

    def test_external_storage(self, path, tmp_path):
        secret = tmp_path / "secret"
        secret.write_bytes(b"12345678")

        def make(handle):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_external(str(secret).encode(), 0, 8)
            h5py.h5d.create(handle.id, b"w", h5py.h5t.NATIVE_INT8, h5py.h5s.create_simple((8,)), plist)

        self.refused(path, make, "/w has external storage")

    def test_a_virtual_dataset(self, path):
        def make(handle):
            layout = h5py.VirtualLayout((4,), "f4")
            layout[:] = h5py.VirtualSource("other.h5", "w", (4,))
            handle.create_virtual_dataset("v", layout)

        self.refused(path, make, "/v is a virtual dataset")

    def test_a_filter_from_a_plug_in(self, path):
        def make(handle):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((8,))
            plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
            h5py.h5d.create(handle.id, b"z", h5py.h5t.NATIVE_INT8, h5py.h5s.create_simple((8,)), plist)

        self.refused(path, make, "/z needs HDF5 filter 32015")

    def test_a_named_datatype(self, path):
        self.refused(path, lambda f: f.__setitem__("t", np.dtype("f4")), "/t is a named datatype")


def test_a_shape_without_bytes_is_no_weight(path):
    with h5py.File(path, "w") as handle:
        handle.create_dataset("big", (10**6, 10**6), "f4")
    with hdf5.open_source(path) as source, pytest.raises(HostileFileError, match="/big claims 4000000000000 bytes"):
        source.array("/big")


def test_texts_are_no_weights(path):
    with h5py.File(path, "w") as handle:
        handle.create_dataset("labels", data=[b"a", b"b"], dtype=h5py.special_dtype(vlen=bytes))
    with hdf5.open_source(path) as source, pytest.raises(HostileFileError, match="holds no numbers"):
        source.array("/labels")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (300_000,), (2, 600_000), (5, 3, 100_001), (2000, 3, 3, 64)])
@pytest.mark.parametrize("chunked", [False, True])
def test_blocks_are_the_arrays_bytes(path, shape, chunked):
    data = np.random.RandomState(0).randint(0, 99, shape).astype("int16")
    with h5py.File(path, "w") as handle:
        made = handle.create_dataset("a", data=data, compression="gzip" if chunked and data.size > 3 else None)
        chunks = made.chunks
    with hdf5.open_source(path) as source:
        blocks = list(source.blocks("/a"))
        assert b"".join(source.ordered("/a")) == data.tobytes()
    if chunks is None:
        assert b"".join(blocks) == data.tobytes()
    else:
        corners = itertools.product(*(range(0, length, step) for length, step in zip(shape, chunks)))
        assert blocks == [
            data[tuple(slice(start, start + step) for start, step in zip(corner, chunks))].tobytes()
            for corner in corners
        ]
    assert max([len(block) for block in blocks] or [0]) <= 2 * hdf5.BLOCK


@pytest.mark.parametrize("filters", [(), ("gzip",), ("shuffle",), ("shuffle", "gzip"), ("gzip", "shuffle"), ("lzf",)])
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("code", ["<f4", ">f8", "<i2"])
def test_chunks_are_unpacked_as_hdf5_does(path, filters, checksum, code):
    data = np.random.RandomState(0).randint(0, 9, (7, 30)).astype(code)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 11))  # so that four of six reach beyond the array
    add = {"gzip": lambda: plist.set_deflate(1), "shuffle": plist.set_shuffle}
    add["lzf"] = lambda: plist.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)
    for name in filters:
        add[name]()
    if checksum:
        plist.set_fletcher32()
    with h5py.File(path, "w") as handle:
        space = h5py.h5s.create_simple(data.shape)
        made = h5py.h5d.create(handle.id, b"a", h5py.h5t.py_create(data.dtype), space, plist)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        if not filters and not checksum:  # beyond the end anything may stand
            made.write_direct_chunk((4, 22), pad(data[4:, 22:], (4, 11)).tobytes())
    with hdf5.open_source(path) as source:
        blocks = b"".join(source.blocks("/a"))
        seen = []
        packed = source.packed("/a", seen.append)
        stored = list(packed) if packed is not None else []
        assert b"".join(source.ordered("/a")) == data.tobytes()
    assert sorted(np.frombuffer(blocks, code)) == sorted(data.ravel())
    assert packed is None or (len(stored), b"".join(seen)) == (7, blocks)


def pad(part, shape):
    """A whole chunk, filled up with what is in no array: NaN, or the least number."""
    whole = np.full(shape, np.nan if part.dtype.kind == "f" else np.iinfo(part.dtype).min, part.dtype)
    whole[: part.shape[0], : part.shape[1]] = part
    return whole


def test_a_cycle_of_hard_links_ends(path):
    with h5py.File(path, "w") as handle:
        handle.create_group("a")["back"] = handle["/"]
        handle["a/w"] = np.zeros(3)
    assert "/a/w" in opened(path).arrays


def test_a_name_that_is_no_utf8_is_refused(path):
    with h5py.File(path, "w") as handle:
        h5py.h5g.create(handle.id, b"\xff\xfe")
    with pytest.raises(HostileFileError, match="not UTF-8"):
        opened(path)


def test_the_new_file_follows_the_umask(path, tmp_path):
    with h5py.File(path, "w"):
        pass
    old = os.umask(0o027)
    try:
        with hdf5.open_source(path) as source, AtomicFile(str(tmp_path / "new.h5")) as out:
            with hdf5.new_file(out, source):
                pass
            out.commit()
    finally:
        os.umask(old)
    assert os.stat(str(tmp_path / "new.h5")).st_mode & 0o777 == 0o640


@contextlib.contextmanager
def new_file(folder, source):
    with AtomicFile(str(folder / "new.h5")) as out, hdf5.new_file(out, source) as target:
        yield target


@pytest.mark.parametrize(("length", "least"), [(20, 2**20), (200_000, 10 * 200_000)])
def test_the_names_of_a_group_fit_into_memory_and_little_else_is_kept(path, tmp_path, length, least):
    # to HDF5 they are one piece, which it reads or writes again with each name if it cannot keep it
    names = [str(number) + "x" * length for number in range(10)]
    with h5py.File(path, "w") as handle:
        handle.attrs["model_config"] = "x" * 2**22  # a large piece too, but looked at once
        for name in names:
            handle.create_group(name)
    with hdf5.open_source(path) as source, new_file(tmp_path, source) as target:
        target.copy_attribute("/", "/", "model_config")
        for name in names:
            assert not source.has_attribute(name, "weight_names")
            target.group(name)
        for handle in (source.handle, target.handle):
            assert least <= handle.id.get_mdc_size()[0] <= max(2**20, 4 * least)


def test_little_is_kept_from_the_start(path, tmp_path):
    with h5py.File(path, "w") as handle:
        assert handle.id.get_mdc_size()[0] > 2**20  # by itself HDF5 begins with more
    with hdf5.open_source(path) as source, new_file(tmp_path, source) as target:
        assert [handle.id.get_mdc_size()[0] for handle in (source.handle, target.handle)] == [2**20, 2**20]


def test_a_type_that_only_looks_like_one_of_numpys_is_no_weight(path):
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_norm(h5py.h5t.NORM_NONE)
    with h5py.File(path, "w") as handle:
        h5py.h5d.create(handle.id, b"odd", kind, h5py.h5s.create_simple((4,))).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(4, "f4"), mtype=kind
        )
        for code in ("<f2", "<f4", ">f4", ">f8", "<i8", "|u1", "?", "<c8", "V2"):
            handle[code.strip("<>|") + str(len(handle))] = np.zeros(4, code)
    with hdf5.open_source(path) as source:
        with pytest.raises(HostileFileError, match="holds no numbers"):
            source.array("/odd")
        assert [path for path, array in source.arrays.items() if array.problem] == ["/odd"]


@pytest.mark.parametrize("version", [1, 2, 4, 255])
def test_a_damaged_superblock_is_no_lock(path, version):
    with h5py.File(path, "w") as handle:
        handle["a"] = np.zeros(3)
    with open(path, "r+b") as file:
        file.seek(8)
        file.write(bytes([version]))
    with pytest.raises(FileError, match="damaged HDF5") as caught:
        opened(path)
    assert "lock" not in caught.value.hint


@pytest.mark.parametrize(("libver", "count"), [("earliest", 1), ("earliest", 20), ("latest", 1), ("latest", 20)])
def test_references_that_hang_on_an_array(path, libver, count):
    # from nine on, newer files keep attributes outside of the object's header
    with h5py.File(path, "w", libver=libver) as handle:
        made = handle.create_dataset("kernel:0", data=np.zeros(3, "f4"))
        for number in range(count - 1):
            made.attrs[f"a{number}"] = number
        made.attrs.create("who", handle.ref, dtype=h5py.special_dtype(ref=h5py.Reference))
    with pytest.raises(HostileFileError, match="attribute 'who' of /kernel:0 holds references"):
        opened(path)


@pytest.mark.parametrize("kept", [0, 40, survey.MOST_LIST_BYTES])
def test_lists_are_the_same_whether_they_are_kept_or_read_again(path, monkeypatch, kept):
    names = {"/": ["first", "second"], "/first": ["k:0", "b:0"], "/second": [], "/\u540d": ["\u540d:0"]}
    with h5py.File(path, "w") as handle:
        for place, items in names.items():
            encoded = [item.encode("utf-8") for item in items]
            handle.require_group(place).attrs["names"] = np.array(encoded, dtype="S" if items else "float64")
        handle["first"].attrs.create("texts", ["a", "bb"], dtype=h5py.special_dtype(vlen=str))
        handle["again"] = handle["first"]
    monkeypatch.setattr(survey, "MOST_LIST_BYTES", kept)
    with hdf5.open_source(path) as source:
        assert {place: source.names(place, "names") for place in names} == names
        assert source.names("/again", "names") == ["k:0", "b:0"]
        assert source.names("/first", "texts") == ["a", "bb"]
        assert (source.names("/first", "none"), source.has_attribute("/first", "none")) == (None, False)
        fixed = [source.has_fixed_names("/first", name) for name in ("names", "texts", "none")]
    assert fixed == [True, False, True]


def test_a_group_named_like_a_weight(path):
    with h5py.File(path, "w") as handle:
        handle["layer:0/kernel:0"] = np.arange(3.0)
    with hdf5.open_source(path) as source:
        assert list(source.groups) == ["/", "/layer:0"]
        assert list(source.arrays) == ["/layer:0/kernel:0"]
