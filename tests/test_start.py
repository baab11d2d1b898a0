"""What is not needed is not waited for: h5py, numpy and networkx take four fifths of a small file's start."""

import sys

import pytest

from . import tiny
from .processes import run

LIBRARIES = "import sys; print(sorted({'h5py', 'numpy', 'networkx'} & set(sys.modules)))"
TEMPLATE = tiny.TinyModel("net", (tiny.entry("in", 3), tiny.dense("out", "in")), ("in",), ("out",))
COMMAND = "import sys\nfrom unparallel.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"


def imported(code, *words):
    return run(*words, code=code + LIBRARIES).out.splitlines()[-1]


# Python 3.7 cannot tell a library's version without importing it
@pytest.mark.parametrize("words", [["--version"]][sys.version_info < (3, 8) :] + [["--help"], ["--nonsense"], []])
def test_what_reads_no_file_imports_no_library(words):
    assert imported(COMMAND, *words) == "[]"


@pytest.mark.parametrize(
    "data", [None, b"", b"<html>404</html>", b"PK\x03\x04", b"version https://git-lfs", b"\x1f\x8b"]
)
@pytest.mark.parametrize("output", [[], ["-o", "clean.h5"]])
def test_what_is_no_hdf5_waits_for_no_library(tmp_path, data, output):
    if data is not None:
        (tmp_path / "model.h5").write_bytes(data)
    assert imported(f"import os; os.chdir({str(tmp_path)!r})\n" + COMMAND, "model.h5", *output) == "[]"


def test_what_is_damaged_waits_for_no_graphs(tmp_path):
    (tmp_path / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 1000)
    assert imported(COMMAND, str(tmp_path / "model.h5")) == "['h5py', 'numpy']"


@pytest.mark.slow
@pytest.mark.parametrize("call", ["convert_many(sys.argv[1], 'clean')", "inspect_many(sys.argv[1])"])
def test_who_hands_out_the_jobs_imports_no_library(tmp_path, call):
    code = f"import os, sys; os.chdir({str(tmp_path)!r})\nfrom unparallel import convert_many, inspect_many\n"
    code += f"(outcome,) = {call}\nassert outcome.status in ('converted', 'parallel'), outcome\n"
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(TEMPLATE, 2))
    assert imported(code, source) == "[]"
