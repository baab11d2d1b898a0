"""Surveys, and outcomes that show themselves: what files are, before anything is converted."""

import os
import shutil
import xml.etree.ElementTree as ElementTree

import h5py
import pytest

import unparallel
from unparallel.cli import main
from unparallel.jobs.outcome import Outcome
from unparallel.jobs.report import Outcomes, Report

from .. import trees

pytestmark = pytest.mark.slow
CNN = os.path.join(trees.FIXTURES, "k224-cnn", "parallel.h5")


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(CNN, folder / "a.h5")
    shutil.copy(os.path.join(trees.FIXTURES, "k224-plain", "model.h5"), folder / "b.h5")
    shutil.copy(os.path.join(trees.FIXTURES, "k224-siamese", "model.h5"), folder / "c.h5")
    (folder / "d.h5").write_bytes(b"")
    with h5py.File(str(folder / "a.h5"), "r+") as handle:
        handle["model_weights/digits/norm/moving_mean:0"][...] = float("nan")
    return folder


def test_a_folder_without_a_target_is_surveyed(runs, capsys):
    before = sorted(os.listdir(runs))
    assert main([str(runs)]) == 1  # one of them cannot be read
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        f"[1/4] parallel  {runs / 'a.h5'}: Keras 2.2.4, template 'digits', 2 replicas, 133 parameters, Adam, "
        "NaN or Inf in 1 array"
    )
    assert lines[1] == f"[2/4] single    {runs / 'b.h5'}: a single model already: there is nothing to undo"
    assert lines[2].startswith(f"[3/4] refused   {runs / 'c.h5'}: not a data-parallel model")
    assert [line.split()[:2] for line in lines[6:11]] == [
        ["parallel", "1"],
        ["single", "1"],
        ["skipped", "0"],
        ["refused", "1"],
        ["failed", "1"],
    ]
    assert sorted(os.listdir(runs)) == before


def test_a_verdict_is_no_failure(runs, capsys):
    os.unlink(runs / "d.h5")
    assert main([str(runs), "-q"]) == 0
    assert main([str(runs), "-q", "--strict"]) == 1


def test_patterns_and_several_files(runs, capsys):
    assert main([str(runs / "[ab].h5"), "--jobs", "2"]) == 0
    assert main([str(runs / "a.h5"), str(runs / "b.h5")]) == 0
    assert capsys.readouterr().out.count("parallel  ") == 4  # a line and a row of the table, twice


def test_from_python(runs):
    outcomes = list(unparallel.inspect_many(runs))
    assert [outcome.status for outcome in outcomes] == ["parallel", "single", "refused", "failed"]
    assert outcomes[0].target == ""
    assert (outcomes[0].replicas, outcomes[0].layers, outcomes[0].non_finite) == (2, 7, 1)
    assert outcomes[0].opens_in.startswith("Keras 2.2.4, tf_keras")
    assert [outcome.non_finite for outcome in unparallel.inspect_many(runs / "a.h5", scan=False)] == [0]


def test_a_survey_does_not_become_the_memory_of_a_conversion(runs, tmp_path, capsys):
    report = str(tmp_path / "report.json")
    assert main([str(runs / "a.h5"), "--report", report, "-q"]) == 0
    assert main([str(runs / "a.h5"), "-o", str(tmp_path / "clean"), "--report", report]) == 1
    assert "is the report of a survey\nhint: name another report" in capsys.readouterr().err


def test_equal_reasons_are_said_once():
    outcomes = [
        Outcome("refused", f"/runs/{i}.h5", reason=f"layer 'lambda_{i}' is odd", hint="do so") for i in range(14)
    ]
    text = str(Outcomes(outcomes))
    assert text.count("is odd") == text.count("do so") == 1
    assert "refused   14 files: layer 'lambda_0' is odd\n          hint: do so\n            /runs/0.h5\n" in text
    assert "            and 4 more (--report lists all)" in text


def test_outcomes_are_a_table_in_a_notebook():
    outcomes = Outcomes([Outcome("refused", "/runs/<b>.h5", reason="<script>alert(1)</script>", bytes_before=2048)])
    root = ElementTree.fromstring("<div>" + outcomes._repr_html_() + "</div>")
    cells = [cell.text for cell in root.iter("td")]
    assert cells == ["refused", "/runs/<b>.h5", None, "2.0 KB", "<script>alert(1)</script>"]


# -- a complete folder


def test_single_models_are_copied_on_demand(runs, tmp_path, capsys):
    clean = tmp_path / "clean"
    assert main([str(runs), "-o", str(clean), "-q"]) == 1
    assert sorted(os.listdir(clean)) == ["a.h5"]
    assert main([str(runs), "-o", str(clean), "-q", "--copy-singles"]) == 1
    assert sorted(os.listdir(clean)) == ["a.h5", "b.h5"]
    assert (clean / "b.h5").read_bytes() == (runs / "b.h5").read_bytes()
    assert main([str(runs), "-o", str(clean), "-q", "--copy-singles"]) == 1  # again, and nothing is in the way
    (clean / "b.h5").write_bytes(b"mine")
    capsys.readouterr()
    assert main([str(runs), "-o", str(clean), "-q", "--copy-singles"]) == 1
    assert f"refused   {runs / 'b.h5'}: {clean / 'b.h5'}: exists" in capsys.readouterr().err
    assert (clean / "b.h5").read_bytes() == b"mine"


def test_one_copied_model_by_a_report(runs, tmp_path):
    words = dict(report=tmp_path / "report.json", copy_singles=True)
    (first,) = unparallel.convert_many(runs / "b.h5", tmp_path / "clean", **words)
    assert (first.status, first.target) == ("single", str(tmp_path / "clean" / "b.h5"))
    os.unlink(first.target)
    (again,) = unparallel.convert_many(runs / "b.h5", tmp_path / "clean", **words)
    assert os.path.exists(again.target)


# -- the page


@pytest.fixture
def page(runs, tmp_path):
    path = str(tmp_path / "report.html")
    assert main([str(runs), "-o", str(tmp_path / "clean"), "--report", path, "-q"]) == 1
    return path


def text_of(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def test_the_page_says_first_what_needs_a_person(page, runs):
    text = text_of(page)
    order = [
        text.index(word) for word in ("needs attention", "refused</span> 1 file", "warning</span> 1 file", "<h2>models")
    ]
    assert order == sorted(order)
    assert text.count("<svg") == 1
    assert "rows n//2 to n" in text
    assert "holds 3 NaN" in text


def test_the_page_has_neither_script_nor_network(page):
    text = text_of(page).lower()
    assert "<script" not in text
    assert "src=" not in text
    assert "href=" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert set(text.split("http://")[1:]) == set() or all(
        part.startswith("www.w3.org/2000/svg") for part in text.split("http://")[1:]
    )


def test_the_next_run_goes_on_from_the_page(page, runs, tmp_path, capsys):
    assert main([str(runs), "-o", str(tmp_path / "clean"), "--report", page]) == 1
    assert "\nskipped          1 " in capsys.readouterr().out
    earlier = Report(page).earlier
    assert earlier[str(runs / "a.h5")].status == "skipped"
    assert earlier[str(runs / "a.h5")].replicas == 2
    assert text_of(page).count("<svg") == 1  # drawn anew


def test_a_stranger_cannot_put_html_into_the_page(tmp_path):
    evil = "</template><script>alert(1)</script>"
    report = Report(str(tmp_path / "r.html"))
    report.begin([evil])
    report.add(Outcome("refused", evil, reason=evil, hint=evil, template=evil))
    report.close(True)
    text = text_of(tmp_path / "r.html")
    assert "<script" not in text
    assert Report(str(tmp_path / "r.html")).earlier[evil].reason == evil


def test_a_picture_in_an_old_report_is_not_believed():
    value = Outcome("converted", "/a.h5").to_json()
    assert "picture" not in value
    assert Outcome.from_json(dict(value, picture="<svg onload=alert(1)>")).picture == ""


def test_equal_pictures_are_drawn_once(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("a.h5", "b.h5", "c.h5"):
        shutil.copy(CNN, folder / name)
    path = str(tmp_path / "report.html")
    assert main([str(folder), "--report", path, "-q"]) == 0
    assert text_of(path).count("<svg") == 1


def test_a_thousand_outcomes_make_a_page_that_opens(tmp_path):
    report = Report(str(tmp_path / "r.html"))
    names = [f"/runs/{i}.h5" for i in range(1000)]
    report.begin(names)
    for name in names:
        report._outcomes[name] = Outcome("converted", name, name, template="t", replicas=2, picture="<svg></svg>")
    report.close(True)
    text = text_of(tmp_path / "r.html")
    assert text.count("<svg") == 1
    assert "and 500 more" in text
    assert len(Report(str(tmp_path / "r.html")).earlier) == 1000
