"""A report is a file like any other: whatever is in it, it is read, or refused in one line."""

import json
import os

import pytest

from unparallel.cli import main
from unparallel.jobs.run import convert_many

from .. import trees

pytestmark = pytest.mark.slow


@pytest.fixture
def report(tmp_path):
    trees.parallel(tmp_path / "in" / "a.h5")
    path = tmp_path / "r.json"
    assert [outcome.status for outcome in convert_many(tmp_path / "in", tmp_path / "out", report=path)] == ["converted"]
    return path


def again(report, capsys):
    """(exit code, first line of what is said) of the same run once more."""
    folder = report.parent
    code = main([str(folder / "in"), "-o", str(folder / "out"), "--report", str(report), "-q"])
    return code, capsys.readouterr().err.partition("\n")[0]


def test_a_report_is_what_the_next_run_goes_by(report, capsys):
    assert again(report, capsys) == (0, "")
    assert json.loads(report.read_text())["outcomes"][0]["reason"] == "done before"


@pytest.mark.parametrize(
    "change",
    [
        {"source": []},
        {"source": None},
        {"status": ["converted"]},
        {"status": "gone"},
        {"target": None},
        {"reason": 1},
        {"seconds": "1"},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"bytes_before": "x"},
        {"bytes_before": True},
        {"bytes_before": -1},
        {"bytes_after": 10**400},
        {"bytes_after": 1.5},
        {"verified": 1},
        {"warnings": "abc"},
        {"warnings": [1]},
        {"versions": [["a", "b"]]},
        {"versions": {"a": 1}},
        {"source_fingerprint": 5},
    ],
    ids=str,
)
def test_values_of_another_kind_are_refused(report, capsys, change):
    value = json.loads(report.read_text())
    value["outcomes"][0].update(change)
    text = json.dumps(value)
    report.write_text(text)
    assert again(report, capsys) == (1, f"unparallel: {report}: exists, and is not a report that can be read")
    assert report.read_text() == text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'{"format": 1}',
        b'{"format": 1, "outcomes": {}}',
        b'{"format": 1, "outcomes": [1]}',
        b'{"format": 1, "outcomes": [{"status": "converted"}]}',
        b'{"format": 2, "outcomes": []}',
        b"\x89HDF\r\n\x1a\n",
    ],
    ids=str,
)
def test_other_files_are_refused_and_kept(report, capsys, data):
    report.write_bytes(data)
    assert again(report, capsys) == (1, f"unparallel: {report}: exists, and is not a report that can be read")
    assert report.read_bytes() == data


def test_what_a_later_version_added_is_left_out(report, capsys):
    value = json.loads(report.read_text())
    value["outcomes"][0]["mood"] = "good"
    report.write_text(json.dumps(value))
    assert again(report, capsys) == (0, "")


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
class TestPipes:
    def test_as_report(self, report, capsys):
        report.unlink()
        os.mkfifo(str(report))
        assert again(report, capsys) == (1, f"unparallel: {report}: not a regular file")

    def test_in_a_folder(self, tmp_path):
        trees.parallel(tmp_path / "in" / "a.h5")
        os.mkfifo(str(tmp_path / "in" / "b.h5"))
        outcomes = {o.source: (o.status, o.reason) for o in convert_many(tmp_path / "in", tmp_path / "out", timeout=20)}
        assert outcomes[str(tmp_path / "in" / "b.h5")] == ("refused", "not a regular file")
        assert outcomes[str(tmp_path / "in" / "a.h5")] == ("converted", "")
