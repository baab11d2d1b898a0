"""A file of any kind appears whole, or not at all."""

import os
import stat

import pytest

from unparallel import atomic
from unparallel.atomic import AtomicFile
from unparallel.errors import FileError, MissingFolderError, TargetExistsError, UnparallelError, WriteError


def write(out, text="new"):
    with out.open("w", encoding="ascii") as handle:
        handle.write(text)


def test_a_file_is_there_when_it_is_committed_and_not_before(tmp_path):
    target = tmp_path / "facts.txt"
    with AtomicFile(str(target)) as out:
        write(out)
        assert not target.exists()
        assert out.size == 3
        out.commit()
        assert target.read_text() == "new"
    assert os.listdir(str(tmp_path)) == ["facts.txt"]


@pytest.mark.parametrize("name", ["", "model.keras"])
def test_nothing_is_left_of_a_file_that_is_not_committed(tmp_path, name):
    (tmp_path / "old").write_text("old")
    with AtomicFile(str(tmp_path / "old"), overwrite=True, name=name) as out:
        write(out)
        assert os.path.basename(out.partial).endswith(name or atomic.PARTIAL_SUFFIX)
    assert os.listdir(str(tmp_path)) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


def test_a_writer_that_looks_at_names_gets_the_name_it_wants(tmp_path):
    with AtomicFile(str(tmp_path / "x"), name="model.keras") as out:
        write(out)
        out.commit()
    assert os.listdir(str(tmp_path)) == ["x"]


def test_folders_are_made_when_the_file_is_begun(tmp_path):
    with pytest.raises(MissingFolderError) as caught, AtomicFile(str(tmp_path / "a" / "b" / "x")):
        pass
    assert isinstance(caught.value, FileNotFoundError)
    with AtomicFile(str(tmp_path / "a" / "b" / "x"), parents=True) as out:
        assert os.listdir(str(tmp_path)) == []
        write(out)
        out.commit()
    assert (tmp_path / "a" / "b" / "x").read_text() == "new"


def test_what_is_there_is_replaced_on_demand_only(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    target.chmod(0o600)
    with pytest.raises(TargetExistsError) as caught, AtomicFile(str(target)):
        pass
    assert isinstance(caught.value, FileExistsError)
    assert caught.value.line == f"{target}: exists"
    with AtomicFile(str(target), overwrite=True) as out:
        write(out)
        out.commit()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    target = tmp_path / "x"
    with AtomicFile(str(target)) as out:
        write(out)
        target.write_text("theirs")
        with pytest.raises(TargetExistsError):
            out.commit()
    assert target.read_text() == "theirs"


def test_what_the_disk_refuses_is_about_the_target(tmp_path):
    target = str(tmp_path / "x")
    with pytest.raises(WriteError) as caught, AtomicFile(target) as out, out.writing():
        raise OSError(28, "No space left on device", out.partial)
    assert caught.value.line == f"{target}: cannot write: No space left on device"
    assert caught.value.hint == f"check space and permissions in {tmp_path}"


def test_the_source_is_never_the_target(tmp_path):
    (tmp_path / "m.h5").write_text("source")
    with pytest.raises(FileError, match="same file"), AtomicFile(
        str(tmp_path / "m.h5"), overwrite=True, source=str(tmp_path / "m.h5")
    ):
        pass


def test_an_error_names_the_file_it_is_about_once():
    error = UnparallelError("is damaged", "get another")
    assert error.line == "is damaged"
    assert error.about("a.h5").line == "a.h5: is damaged"
    assert error.about("b.h5").line == "a.h5: is damaged"
    assert str(error) == "a.h5: is damaged\nhint: get another"
    assert error.message == "is damaged"
