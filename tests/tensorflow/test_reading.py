"""The formats, byte by byte: what is right is read, what is not is refused in a line, with a remedy."""

import os
import struct

import numpy as np
import pytest

from unparallel.errors import FileError, HostileFileError
from unparallel.tensorflow import crc32c, table, wire
from unparallel.tensorflow.bundle import Bundle

from . import made


class TestWire:
    def test_fields(self):
        # 0x96 0x01 is the encoding guide's own example: 150
        data = memoryview(b"\x08\x96\x01" + b"\x12\x07testing" + b"\x1d\x01\x00\x00\x00")
        found = [(field, value if isinstance(value, int) else bytes(value)) for field, value in wire.fields(data)]
        assert found == [(1, 150), (2, b"testing"), (3, 1)]

    @pytest.mark.parametrize(
        "data",
        [b"\x08", b"\x08" + b"\xff" * 11, b"\x12\x07test", b"\x0b", b"\x1d\x01", b"\x12" + b"\xff" * 9 + b"\x01"],
        ids=["no value", "no end", "short", "a group", "half a number", "2^63 bytes"],
    )
    def test_what_is_none_is_refused(self, data):
        with pytest.raises(FileError, match="damaged"):
            list(wire.fields(memoryview(data)))

    def test_places_are_stepped_over(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(made.message((1, "a" * 300), (5, 7), (2, "bc")))
        with open(path, "rb") as file:
            found = list(wire.places(file, 0, path.stat().st_size))
            assert [(place.number, place.stop - place.start) for place in found] == [(1, 300), (2, 2)]
            assert bytes(wire.content(file, found[1], 10)) == b"bc"
            with pytest.raises(FileError, match="claims 300 bytes"):
                wire.content(file, found[0], 299)


class TestChecksum:
    @pytest.mark.parametrize(
        ("data", "crc"),
        # RFC 3720 B.4
        [(b"\0" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)],
    )
    def test_values_of_the_standard(self, data, crc):
        assert crc32c.by_table(data) == crc
        assert crc32c.checksum(data) == crc
        assert crc32c.by_table(data[5:], crc32c.by_table(data[:5])) == crc


class TestTable:
    def test_a_block(self, tmp_path):
        path = tmp_path / "t"
        path.write_bytes(made.table([(b"", b"h"), (b"a/b", b"1"), (b"a/c", b"22")]))
        assert {key: bytes(value) for key, value in table.read(str(path)).items()} == {
            b"": b"h",
            b"a/b": b"1",
            b"a/c": b"22",
        }
        assert table.is_table(str(path))

    def test_keys_share_their_beginnings(self, tmp_path):
        content = b"\0\x03\x01abc1" + b"\x02\x01\x01d2" + struct.pack("<II", 0, 1)
        content += b"\0" + struct.pack("<I", made.masked(content + b"\0"))
        whole = made.table([(b"abd", b"")])
        rest = made.block([]) + made.block([(b"abd", made.varint(0) + made.varint(len(content) - 5))])
        first = len(content)
        about = len(made.block([]))
        footer = made.varint(first) + made.varint(about - 5) + made.varint(first + about)
        footer += made.varint(len(rest) - about - 5)
        path = tmp_path / "t"
        path.write_bytes(content + rest + footer.ljust(40, b"\0") + whole[-8:])
        assert {key: bytes(value) for key, value in table.read(str(path)).items()} == {b"abc": b"1", b"abd": b"2"}

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (made.table([(b"", b"h")], crc=1), "checksum of the index"),
            (made.table([(b"", b"h")], kind=1), "snappy"),
            (made.table([(b"", b"h"), (b"b", b""), (b"a", b"")]), "not in order"),
            (made.table([(b"", b"h"), (b"b", b""), (b"b", b"")]), "not in order"),
            (made.table([(b"", b"h")])[:-1], "no index"),
            (b"", "no index"),
        ],
        ids=["checksum", "snappy", "order", "twice", "cut", "empty"],
    )
    def test_what_is_wrong_is_said(self, tmp_path, data, message):
        path = tmp_path / "t"
        path.write_bytes(data)
        with pytest.raises(FileError, match=message) as caught:
            table.read(str(path))
        assert caught.value.hint

    def test_one_that_is_too_large_is_not_read(self, tmp_path):
        path = tmp_path / "t"
        with open(path, "wb") as file:
            file.seek(table.LARGEST)
            file.write(made.MAGIC.to_bytes(8, "little"))
        with pytest.raises(HostileFileError, match="too much for an index"):
            table.read(str(path))


class TestBundle:
    def test_arrays_and_texts(self, tmp_path):
        bundle = Bundle(made.checkpoint(tmp_path / "ckpt", shards=2))
        assert bundle.entries[made.KERNEL_KEY].shape == (2, 3)
        assert b"".join(bundle.blocks(made.KERNEL_KEY)) == made.KERNEL.tobytes()
        assert b"".join(bundle.blocks(made.STEP_KEY)) == made.STEP.tobytes()
        assert bytes(bundle.text(made.GRAPH_KEY)) == made.graph(made.nodes())
        assert bundle.text("nothing") is None
        bundle.close()

    def test_large_arrays_come_in_blocks(self, tmp_path):
        large = np.arange(70_000, dtype="float32")
        bundle = Bundle(made.write(str(tmp_path / "c"), {"a": large}))
        blocks = list(bundle.blocks("a"))
        bundle.close()
        assert max(map(len, blocks)) <= 2**18
        assert b"".join(blocks) == large.tobytes()

    def test_a_missing_shard(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt", shards=2)
        os.unlink(prefix + ".data-00001-of-00002")
        with pytest.raises(FileError, match="ckpt.data-00001-of-00002 is missing"):
            Bundle(prefix)

    def test_a_stale_shard_beside_is_not_asked(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt", shards=2)
        (tmp_path / "ckpt.data-00000-of-00001").write_bytes(b"old")
        bundle = Bundle(prefix)
        assert b"".join(bundle.blocks(made.BIAS_KEY)) == made.BIAS.tobytes()
        bundle.close()

    def test_a_short_shard(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt")
        os.truncate(prefix + ".data-00000-of-00001", 20)
        with pytest.raises(FileError, match="too short for"):
            Bundle(prefix)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"shape": (2, 4)}, r"claims shape \(2, 4\) of float32 and 24 bytes"),
            ({"size": 2**40, "shape": (2**38,)}, "too short for"),
            ({"shard": 1}, "lies in shard 1 of 1"),
            ({"shape": (1,) * 40, "data": b"1234"}, "more than 32 axes"),
            ({"more": ((7, b""),)}, "in parts, of a partitioned variable"),
        ],
        ids=["shape", "size", "shard", "axes", "partitioned"],
    )
    def test_what_lies_is_refused(self, tmp_path, change, message):
        def changed(key, options):
            if key == made.KERNEL_KEY:
                options.update(change)

        with pytest.raises(FileError, match=message) as caught:
            Bundle(made.checkpoint(tmp_path / "ckpt", change=changed))
        assert caught.value.hint

    def test_arrays_that_share_bytes_are_refused(self, tmp_path):
        many = {f"a{i}": np.zeros(10, "float32") for i in range(3)}

        def changed(key, options):
            options.update(offset=0, data=bytes(48), shape=(12,))

        with pytest.raises(HostileFileError, match="more bytes than there are"):
            Bundle(made.write(str(tmp_path / "c"), many, change=changed))

    def test_big_endian(self, tmp_path):
        with pytest.raises(FileError, match="big-endian") as caught:
            Bundle(made.checkpoint(tmp_path / "ckpt", endianness=1))
        assert "save the weights as .h5" in caught.value.hint

    def test_a_wrong_checksum_of_the_objects(self, tmp_path):
        prefix = made.checkpoint(tmp_path / "ckpt")
        path = prefix + ".data-00000-of-00001"
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data[-1] ^= 1
        with open(path, "wb") as file:
            file.write(data)
        bundle = Bundle(prefix)
        with pytest.raises(FileError, match="the checksum of '_CHECKPOINTABLE_OBJECT_GRAPH' is wrong"):
            bundle.text(made.GRAPH_KEY)
        bundle.close()

    def test_a_wrong_checksum_of_an_array(self, tmp_path, monkeypatch):
        monkeypatch.setattr("unparallel.tensorflow.bundle.fast", lambda: crc32c.by_table)

        def changed(key, options):
            options.update(crc=5)

        bundle = Bundle(made.write(str(tmp_path / "c"), {"a": made.BIAS}, change=changed))
        with pytest.raises(FileError, match="the checksum of 'a' is wrong"):
            list(bundle.blocks("a"))
        bundle.close()
