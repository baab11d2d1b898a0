"""Streams, folders and locales that are not as usual: one clear line, and exit 0 where the file was written."""

import os
import subprocess
import sys

import pytest

from .. import trees
from ..processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")]


@pytest.fixture
def source(tmp_path):
    return str(trees.parallel(tmp_path / "parallel.h5"))


def shell(command, cwd, **env):
    """(exit code, standard output, standard error) of a shell's command, in which `unparallel` is ours."""
    ours = f"{sys.executable} -W ignore -m unparallel"
    done = subprocess.run(
        ["sh", "-c", command.replace("unparallel ", ours + " ")],
        capture_output=True,
        cwd=str(cwd),
        env=dict(os.environ, PYTHONPATH=ROOT, **env),
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


FULL = "unparallel: cannot print: No space left on device\n"


@pytest.mark.parametrize(
    ("streams", "said"),
    [(">/dev/full", FULL), (">&-", ""), (">/dev/full 2>/dev/full", ""), (">&- 2>&- <&-", ""), ("2>&-", "")],
)
def test_a_file_that_was_written_is_a_success(tmp_path, source, streams, said):
    code, _, err = shell(f"unparallel parallel.h5 -o clean.h5 {streams}", tmp_path)
    assert (code, err) == (0, said)
    assert shell("unparallel clean.h5", tmp_path)[0] == 3  # whole: nothing that was printed is in it


def test_many_files_are_converted_though_nobody_listens(tmp_path, source):
    (tmp_path / "runs").mkdir()
    for name in ("a.h5", "b.h5"):
        trees.parallel(tmp_path / "runs" / name)
    assert shell("unparallel runs -o clean >/dev/full", tmp_path) == (0, "", FULL)
    assert sorted(os.listdir(str(tmp_path / "clean"))) == ["a.h5", "b.h5"]


@pytest.mark.parametrize("words", ["parallel.h5", "--help", "--version", "parallel.h5 --json"])
def test_what_was_asked_for_and_cannot_be_printed_is_a_failure(tmp_path, source, words):
    assert shell(f"unparallel {words} >/dev/full", tmp_path) == (1, "", FULL)


def test_a_reader_that_has_heard_enough_is_told_nothing(tmp_path, source):
    code, out, err = shell("unparallel parallel.h5 --json | head -c 1", tmp_path)
    assert (code, out, err) == (0, "{", "")


def test_a_list_from_a_closed_standard_input(tmp_path):
    code, _, err = shell("unparallel --files-from - -o clean <&-", tmp_path)
    assert code == 1
    assert err.splitlines()[0] == "unparallel: -: standard input is closed"


def test_a_list_without_end(tmp_path):
    code, _, err = shell("unparallel --files-from /dev/zero -o clean", tmp_path)
    assert code == 1
    assert err.splitlines()[0] == "unparallel: /dev/zero: too long for a list of files"


@pytest.mark.parametrize("words", ["-o c.h5", "-o runs --jobs 2", "-o /nowhere/c.h5 --report r.json"])
def test_the_current_folder_is_gone(tmp_path, source, words):
    code, _, err = shell(f"mkdir gone; cd gone; rmdir ../gone; unparallel {source} {words}", tmp_path)
    assert code == 1
    assert "the current folder does not exist any more" in err
    assert "Traceback" not in err


def test_absolute_paths_do_where_the_current_folder_is_gone(tmp_path, source):
    for words in (f"-o {tmp_path}/c.h5", f"-o {tmp_path}/many --jobs 2"):
        assert shell(f"mkdir gone; cd gone; rmdir ../gone; unparallel {source} {words}", tmp_path)[0] == 0
    assert (tmp_path / "c.h5").exists()
    assert (tmp_path / "many" / "parallel.h5").exists()


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there, whatever the locale")
def test_a_name_that_the_locale_has_no_letters_for(tmp_path, source):
    assert shell("unparallel parallel.h5 -o '\u00e9.h5'", tmp_path, **ASCII)[0] == 0
    assert (tmp_path / "\u00e9.h5").exists()
    code = 'import unparallel; unparallel.convert("parallel.h5", "\\u00e9.h5")'
    _, _, err = shell(f"{sys.executable} -c '{code}'", tmp_path, **ASCII)
    error, hint = err.splitlines()[-2:]
    assert error.startswith("unparallel.errors.FileError: '\\xe9.h5': a file name cannot hold it")
    assert hint.startswith("hint: ")


def test_what_is_said_is_printable_whatever_is_in_a_name(tmp_path):
    trees.parallel(tmp_path / "a\nb\u202e.h5")
    assert "a\\nb\\u202e.h5" in shell("unparallel a*.h5", tmp_path)[1]
