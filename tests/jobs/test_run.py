"""Folders of files: every outcome, every way of stopping, and that two runs make one tree."""

import concurrent.futures
import json
import os
import pickle
import random
import signal
import sys
import time

import pytest

import unparallel
from unparallel import atomic, hdf5
from unparallel.cli import main
from unparallel.errors import FileError
from unparallel.jobs import run, sources
from unparallel.jobs.outcome import Outcome
from unparallel.jobs.report import Report
from unparallel.jobs.run import convert_many
from unparallel.options import ConvertOptions

from .. import trees
from ..same import differences

# the nox session `batch` sets it: a tree of a thousand files, twenty kills
LONG = bool(os.environ.get("UNPARALLEL_LONG"))
pytestmark = pytest.mark.slow
posix = pytest.mark.skipif(os.name != "posix", reason="needs signals")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def by_source(outcomes, folder):
    return {os.path.relpath(outcome.source, str(folder)): outcome for outcome in outcomes}


def converted(tmp_path, **options):
    outcomes = by_source(convert_many(str(tmp_path / "runs"), str(tmp_path / "clean"), **options), tmp_path / "runs")
    return outcomes, {name: outcome.status for name, outcome in outcomes.items()}


# -- outcomes


@pytest.mark.timeout(600)
def test_a_tree_gets_the_right_outcome_for_each_file(tmp_path):
    expected = trees.make(str(tmp_path / "runs"), copies=100 if LONG else 3)
    report = tmp_path / "report.json"
    outcomes, statuses = converted(tmp_path, jobs=2, report=str(report))
    assert statuses == expected
    for name, outcome in outcomes.items():
        assert bool(outcome.target) == (outcome.status == "converted")
        assert bool(outcome.reason) == (outcome.status != "converted")
        assert bool(outcome.hint) or outcome.succeeded
        assert outcome.source == str(tmp_path / "runs" / name)
        assert dict(outcome.versions)["unparallel"] == unparallel.__version__
    made = trees.contents(tmp_path / "clean")
    files = {name for name, status in expected.items() if status == "converted"}
    folders = {os.path.dirname(name) for name in files} | {name.split("/")[0] for name in files}
    assert set(made) == files | folders
    gold = os.path.join(trees.FIXTURES, "k224-cnn", "template.h5")
    assert list(differences(gold, str(tmp_path / "clean/k224-cnn/run000/parallel.h5"))) == []
    value = json.loads(report.read_text())
    assert trees.statuses(value, tmp_path / "runs") == expected
    assert value["finished"]
    assert value["counts"]["refused"] == list(expected.values()).count("refused")
    assert sorted(os.listdir(str(tmp_path))) == ["clean", "report.json", "runs"]


def test_the_reasons_are_those_of_a_single_conversion(tmp_path):
    trees.make(str(tmp_path / "runs"))
    outcomes, _ = converted(tmp_path)
    assert outcomes["cut/truncated.h5"].reason == "the file is truncated"
    assert outcomes["page.h5"].reason == "a text file, not HDF5"
    assert "external" in outcomes["deep/er/linked.h5"].reason
    assert "kernel:0" in outcomes["claiming.h5"].reason
    assert outcomes["data.h5"].reason == "not a Keras file"


def test_a_named_file_that_is_no_keras_file_is_refused(tmp_path):
    trees.data(str(tmp_path / "data.h5"))
    (outcome,) = convert_many(str(tmp_path / "data.h5"), tmp_path / "clean")
    assert (outcome.status, outcome.reason) == ("refused", "HDF5, but no Keras model and no Keras weights")


def test_outcomes_are_plain_values(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    (outcome,) = convert_many(tmp_path / "runs", tmp_path / "clean")
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    assert outcome.verified
    assert outcome.keras_version == "2.2.4"
    assert outcome.bytes_after == os.path.getsize(outcome.target)


def test_weights_that_are_not_finite_are_warnings(tmp_path):
    path = trees.parallel(tmp_path / "runs" / "a.h5")
    with trees.h5py.File(path, "r+") as handle:
        handle["model_weights/net/one/bias:0"][1] = float("nan")
    expected = "layer 'one': weight 'one/bias:0' holds 1 NaN and 0 Inf in 3 values"
    outcomes, _ = converted(tmp_path)
    assert outcomes["a.h5"].warnings[0] == expected
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean"), "-q"]) == 0
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean"), "-q", "--strict"]) == 1


@linux
def test_a_file_that_breaks_the_library_costs_that_file_only(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(trees.BREAKDOWN)
    for name in ("a", "crash", "b", "hang", "c", "eat", "d"):
        trees.parallel(tmp_path / "runs" / (name + ".h5"))
    words = [tmp_path / "runs", "-o", tmp_path / "clean", "--report", tmp_path / "r.json"]
    limits = ["--timeout", 8, "--memory", "200M", "--jobs", 2]
    code, out, err = trees.finished(trees.command(*words, *limits, extra_path=str(tmp_path / "broken")))
    assert (code, err) == (1, "")
    value = json.loads((tmp_path / "r.json").read_text())
    outcomes = {os.path.basename(item["source"]): item for item in value["outcomes"]}
    assert {name: item["status"] for name, item in outcomes.items()} == {
        "a.h5": "converted", "b.h5": "converted", "c.h5": "converted", "d.h5": "converted",
        "crash.h5": "failed", "hang.h5": "failed", "eat.h5": "failed",
    }  # fmt: skip
    assert outcomes["crash.h5"]["reason"] == "crashed its process: SIGSEGV"
    assert outcomes["hang.h5"]["reason"] == "took longer than 8 seconds"
    assert outcomes["eat.h5"]["reason"] == "needs more than 200 MB of memory"
    assert sorted(os.listdir(str(tmp_path / "clean"))) == ["a.h5", "b.h5", "c.h5", "d.h5"]


# -- sources and targets


def places(*names, listed=(), target="clean"):
    found = sources.find(names, listed, target)
    return {os.path.relpath(item.source): os.path.relpath(place, "clean")
            for item, place in zip(found, sources.targets(found, target)) if not item.reason}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a/m.h5", "runs/b/m.h5", "old/a/m.h5", "old/n.hdf5", "runs/model"):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        (tmp_path / name).write_bytes(hdf5.SIGNATURE)
    (tmp_path / "runs" / "notes.txt").write_text("no")
    return tmp_path


def test_a_folder_keeps_its_layout(here):
    assert places("runs") == {"runs/a/m.h5": "a/m.h5", "runs/b/m.h5": "b/m.h5", "runs/model": "model"}


def test_two_folders_keep_their_names(here):
    assert places("runs", "old") == {
        "runs/a/m.h5": "runs/a/m.h5", "runs/b/m.h5": "runs/b/m.h5", "runs/model": "runs/model",
        "old/a/m.h5": "old/a/m.h5", "old/n.hdf5": "old/n.hdf5",
    }  # fmt: skip


def test_a_pattern_keeps_what_its_wildcards_stand_for(here):
    assert places("runs/*/m.h5") == {"runs/a/m.h5": "a/m.h5", "runs/b/m.h5": "b/m.h5"}
    assert places("**/m.h5")["old/a/m.h5"] == "old/a/m.h5"
    assert places("r*/a") == {"runs/a/m.h5": "runs/a/m.h5"}


def test_sources_of_one_name_never_share_a_target(here):
    assert places("runs/a/m.h5") == {"runs/a/m.h5": "m.h5"}
    assert places("runs/a/m.h5", "runs/b/m.h5") == {"runs/a/m.h5": "a/m.h5", "runs/b/m.h5": "b/m.h5"}
    together = places("runs/a/m.h5", "runs/b/m.h5", "old")
    assert len(set(together.values())) == 4
    assert together["old/a/m.h5"] == "a/m.h5"


def test_a_source_that_is_named_twice_is_done_once(here):
    assert places("runs/a/m.h5", "./runs/a/m.h5", "runs/a") == {"runs/a/m.h5": "m.h5"}


def test_a_list_keeps_paths_as_they_stand(here):
    assert places(listed=["runs/a/m.h5"]) == {"runs/a/m.h5": "runs/a/m.h5"}
    assert places(listed=["./runs/../old"]) == {"old/a/m.h5": "old/a/m.h5", "old/n.hdf5": "old/n.hdf5"}
    whole = str(here / "old" / "n.hdf5")
    assert places(listed=[whole]) == {"old/n.hdf5": whole.lstrip("/")}


def test_the_target_inside_a_source_is_not_searched(here):
    (here / "runs" / "clean").mkdir()
    (here / "runs" / "clean" / "x.h5").write_bytes(hdf5.SIGNATURE)
    assert "runs/clean/x.h5" not in places("runs", target="runs/clean")
    assert "runs/clean/x.h5" in places("runs", target="clean")


def test_no_layout_leads_out_of_the_target():
    found = [sources.SourceFile("s3://x/../../e.h5", "../../e.h5"), sources.SourceFile("s3://x//y.h5", "/y.h5")]
    assert sources.targets(found, "/clean") == ["/clean/_/_/e.h5", "/clean/y.h5"]


def test_what_is_not_there_is_an_outcome(here):
    (here / "nothing").mkdir()
    outcomes = list(convert_many(["nix.h5", "n*x", "nothing"], "clean"))
    assert [outcome.status for outcome in outcomes] == ["failed"] * 3
    reasons = {os.path.basename(outcome.source): outcome.reason for outcome in outcomes}
    assert reasons["nix.h5"] == "No such file or directory"
    assert reasons["n*x"] == "no file matches this pattern"
    assert reasons["nothing"] == "no Keras model in this folder"


def test_lists_come_from_files_and_from_find(tmp_path):
    (tmp_path / "lines").write_bytes(b"a b.h5\n\n\xff.h5\r\n")
    (tmp_path / "nul").write_bytes(b"a\nb.h5\0c.h5\0")
    assert sources.read_list(str(tmp_path / "lines")) == ["a b.h5", os.fsdecode(b"\xff.h5")]
    assert sources.read_list(str(tmp_path / "nul")) == ["a\nb.h5", "c.h5"]
    with pytest.raises(FileError, match="No such file"):
        sources.read_list(str(tmp_path / "nix"))


def test_the_input_is_never_the_target(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    before = trees.contents(tmp_path)
    (outcome,) = convert_many(tmp_path / "runs", tmp_path / "runs", overwrite=True)
    assert (outcome.status, "the same file" in outcome.reason) == ("failed", True)
    assert trees.contents(tmp_path) == before


def test_a_file_as_target_is_an_error(tmp_path):
    trees.parallel(tmp_path / "a.h5")
    with pytest.raises(FileError, match="is a file"):
        convert_many([tmp_path / "a.h5"], tmp_path / "a.h5")


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"timeout": 0}, {"memory": -1}, {"timeout": float("nan")}])
def test_numbers_out_of_range_are_errors(tmp_path, wrong):
    with pytest.raises(ValueError, match=list(wrong)[0]):
        convert_many(tmp_path, tmp_path / "clean", **wrong)


def test_an_unknown_option_is_an_error_at_once(tmp_path):
    with pytest.raises(TypeError, match="optimiser"):
        convert_many(tmp_path, tmp_path / "clean", optimiser=False)


# -- doing it again


def test_what_is_done_is_skipped_by_the_report(tmp_path):
    expected = trees.make(str(tmp_path / "runs"))
    report = str(tmp_path / "r.json")
    converted(tmp_path, report=report)
    before = trees.contents(tmp_path / "clean")
    for _ in range(2):
        outcomes, statuses = converted(tmp_path, report=report)
        again = {name: "skipped" if status == "converted" else status for name, status in expected.items()}
        assert statuses == again
        assert outcomes["k224-cnn/run000/parallel.h5"].reason == "done before"
    assert trees.contents(tmp_path / "clean") == before


def test_without_a_report_the_target_is_compared(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    converted(tmp_path)
    outcomes, _ = converted(tmp_path)
    assert outcomes["a.h5"].status == "skipped"
    assert outcomes["a.h5"].reason == "done before, and compared with the source now"
    assert outcomes["a.h5"].verified


def test_a_strangers_file_is_not_replaced(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    trees.parallel(tmp_path / "runs" / "b.h5")
    trees.single(tmp_path / "clean" / "a.h5", seed=7)
    trees.error_page(str(tmp_path / "clean" / "b.h5"))
    before = trees.contents(tmp_path / "clean")
    outcomes, statuses = converted(tmp_path)
    assert statuses == {"a.h5": "refused", "b.h5": "refused"}
    assert "exists, and is not what this file gives" in outcomes["a.h5"].reason
    assert outcomes["a.h5"].hint == "--overwrite (overwrite=True) replaces it"
    assert trees.contents(tmp_path / "clean") == before
    assert converted(tmp_path, overwrite=True)[1] == {"a.h5": "converted", "b.h5": "converted"}


def test_a_source_that_changed_is_done_again(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    report = str(tmp_path / "r.json")
    converted(tmp_path, report=report)
    trees.parallel(tmp_path / "runs" / "a.h5", seed=5)
    assert converted(tmp_path, report=report)[1] == {"a.h5": "converted"}
    trees.single(tmp_path / "gold.h5", seed=5)
    assert list(differences(str(tmp_path / "gold.h5"), str(tmp_path / "clean" / "a.h5"))) == []


def test_other_options_do_it_again(tmp_path):
    training = {"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": "mse", "metrics": []}
    trees.parallel(tmp_path / "runs" / "a.h5", training=training)
    report = str(tmp_path / "r.json")
    converted(tmp_path, report=report)
    assert converted(tmp_path, report=report, optimizer=False)[1] == {"a.h5": "converted"}
    assert converted(tmp_path, report=report, optimizer=False)[1] == {"a.h5": "skipped"}
    # without a report, nobody knows whose the file is
    assert converted(tmp_path)[1] == {"a.h5": "refused"}


def test_a_target_that_somebody_edited_is_not_taken_for_done(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    report = str(tmp_path / "r.json")
    converted(tmp_path, report=report)
    with trees.h5py.File(str(tmp_path / "clean" / "a.h5"), "r+") as handle:
        handle["model_weights/one/one/bias:0"][0] = 9
    assert converted(tmp_path, report=report)[1] == {"a.h5": "refused"}


def test_what_was_not_verified_is_verified_when_asked(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    report = str(tmp_path / "r.json")
    converted(tmp_path, report=report, verify=False)
    assert not converted(tmp_path, report=report, verify=False)[0]["a.h5"].verified
    assert converted(tmp_path, report=report)[0]["a.h5"].verified


def test_a_file_that_is_no_report_is_kept(tmp_path):
    trees.parallel(tmp_path / "a.h5")
    for text in ("{}", "[1]", "no", '{"format": 99}', '{"format": 1, "outcomes": [{"odd": 1}]}'):
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(FileError, match="is not a report that can be read"):
            convert_many(tmp_path / "a.h5", tmp_path / "clean", report=tmp_path / "r.json")
        assert (tmp_path / "r.json").read_text() == text


def test_a_report_that_cannot_be_written_stops_before_the_work(tmp_path):
    trees.parallel(tmp_path / "a.h5")
    with pytest.raises(FileError, match="does not exist"):
        next(convert_many(tmp_path / "a.h5", tmp_path / "clean", report=tmp_path / "no" / "r.json"))
    assert not (tmp_path / "clean").exists()


def test_a_report_keeps_what_an_earlier_run_knew_until_it_is_done_again(tmp_path):
    first = Report(str(tmp_path / "r.json"))
    first.begin(["a", "b"])
    first.add(Outcome("converted", "a"))
    first.close(True)
    second = Report(str(tmp_path / "r.json"))
    second.begin(["b", "a"])
    value = json.loads((tmp_path / "r.json").read_text())
    assert [item["source"] for item in value["outcomes"]] == ["a"]
    assert (value["finished"], value["sources"]) == (None, 2)


# -- being killed


def test_leftovers_of_the_dead_are_removed_and_no_others(tmp_path):
    mark = atomic._machine()
    child = trees.command("--version")
    trees.finished(child)
    made = {
        "dead": ".a.h5.{}-{}{}.unparallel-part".format(child.pid, mark, "0" * 8),
        "alive": ".a.h5.{}-{}{}.unparallel-part".format(os.getpid(), mark, "0" * 8),
        "elsewhere": ".a.h5.{}-{:08x}{}.unparallel-part".format(child.pid, int(mark, 16) ^ 1, "0" * 8),
        "old": ".a.h5.{}-{:08x}{}.unparallel-part".format(child.pid, int(mark, 16) ^ 1, "1" * 8),
        "other": ".a.h5.tmp",
    }
    trees.parallel(tmp_path / "runs" / "a.h5")
    (tmp_path / "clean").mkdir()
    for name in made.values():
        (tmp_path / "clean" / name).write_text("x")
    os.utime(str(tmp_path / "clean" / made["old"]), (1, 1))
    converted(tmp_path)
    left = set(os.listdir(str(tmp_path / "clean")))
    assert left == {"a.h5", made["alive"], made["elsewhere"], made["other"]}


@linux
def test_an_orphan_that_nobody_waits_for_is_over(tmp_path):
    # a container's first process is often not one that waits for orphans: a killed worker stays in the table
    child = trees.command("--version")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    place = tmp_path / (".a.h5.{}-{}{}.unparallel-part".format(child.pid, atomic._machine(), "0" * 8))
    place.write_text("x")
    atomic.remove_leftovers([str(tmp_path)])
    assert not place.exists()
    os.kill(child.pid, 0)  # it was there all the time
    trees.finished(child)


@linux
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_ends_in_the_same_tree_when_it_is_run_again(tmp_path):
    expected = trees.make(str(tmp_path / "runs"), copies=4)
    start = time.monotonic()
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "gold"), "-q", "--jobs", "2"]) == 1
    whole = time.monotonic() - start
    gold = trees.contents(tmp_path / "gold")
    chance, cut_short = random.Random(0), 0
    for number in range(20 if LONG else 5):
        target, report = tmp_path / (f"clean{number}"), tmp_path / (f"r{number}.json")
        words = [tmp_path / "runs", "-o", target, "--jobs", 2] + (["--report", report] if number % 2 else [])
        process = trees.command(*words, "-q")
        time.sleep(chance.uniform(0.2, whole))
        process.send_signal(signal.SIGKILL)
        trees.finished(process)
        if report.exists():
            json.loads(report.read_text())
        made = trees.contents(target)
        files = {name: data for name, data in made.items() if (target / name).is_file()}
        assert all(gold[name] == data for name, data in files.items() if not name.endswith(".unparallel-part"))
        cut_short += made != gold
        code, _, err = trees.finished(trees.command(*words, "-q"))
        assert (code, "Traceback" in err) == (1, False), err
        assert trees.contents(target) == gold
        if report.exists():
            again = trees.statuses(json.loads(report.read_text()), tmp_path / "runs")
            done = ("converted", "skipped")
            assert all(again[name] == status or again[name] in done for name, status in expected.items())
    assert cut_short
    assert not [name for name in os.listdir(str(tmp_path)) if name.startswith(".")]


@posix
@pytest.mark.parametrize(("name", "exit_code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_run_that_is_stopped_leaves_no_litter(tmp_path, name, exit_code):
    trees.make(str(tmp_path / "runs"), copies=20)
    process = trees.command(
        tmp_path / "runs", "-o", tmp_path / "clean", "--jobs", 2, "--report", tmp_path / "r.json",
        preexec_fn=trees.default_signals,
    )  # fmt: skip
    for _ in range(5):
        process.stdout.readline()
    start = time.monotonic()
    process.send_signal(getattr(signal, name))
    code, _, err = trees.finished(process)
    assert time.monotonic() - start < 10
    assert code == exit_code
    assert "of 248 files are done" in err
    assert "Traceback" not in err
    value = json.loads((tmp_path / "r.json").read_text())
    assert value["finished"] is None
    assert 5 <= len(value["outcomes"]) < 248
    assert not [place for place in trees.contents(tmp_path) if place.endswith(atomic.PARTIAL_SUFFIX)]


def test_closing_the_generator_stops_the_run(tmp_path):
    trees.make(str(tmp_path / "runs"), copies=10)
    work = convert_many(tmp_path / "runs", tmp_path / "clean", jobs=2)
    next(work)
    start = time.monotonic()
    work.close()
    assert time.monotonic() - start < 5
    made = trees.contents(tmp_path / "clean")
    time.sleep(0.5)
    assert trees.contents(tmp_path / "clean") == made
    assert not [place for place in made if place.endswith(atomic.PARTIAL_SUFFIX)]


# -- executors


@pytest.mark.parametrize("kind", ["ThreadPoolExecutor", "ProcessPoolExecutor"])
def test_any_executor_will_do(tmp_path, kind):
    expected = trees.make(str(tmp_path / "runs"))
    if kind == "ProcessPoolExecutor" and sys.version_info >= (3, 7):
        import multiprocessing

        executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    else:
        executor = concurrent.futures.ThreadPoolExecutor(2)
    with executor:
        assert converted(tmp_path, executor=executor)[1] == expected
        assert executor.submit(int, "3").result() == 3


class Losing(concurrent.futures.Executor):
    """Loses the second job, as a cluster may."""

    count = 0

    def submit(self, function, *args, **kwargs):
        future = concurrent.futures.Future()
        self.count += 1
        if self.count == 2:
            future.set_exception(OSError("the worker is gone"))
        else:
            future.set_result(function(*args, **kwargs))
        return future


def test_a_job_that_the_executor_loses_is_an_outcome(tmp_path):
    for name in "abc":
        trees.parallel(tmp_path / "runs" / (name + ".h5"))
    outcomes, statuses = converted(tmp_path, executor=Losing())
    assert statuses == {"a.h5": "converted", "b.h5": "failed", "c.h5": "converted"}
    assert outcomes["b.h5"].reason == "the executor lost it: OSError: the worker is gone"


# -- the command


def test_the_command_prints_lines_a_table_and_what_needs_a_person(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trees.parallel(tmp_path / "runs" / "a.h5")
    trees.single(tmp_path / "runs" / "b.h5")
    trees.truncated(str(tmp_path / "runs" / "c.h5"))
    assert main(["runs/", "-o", "clean/"]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    out = trees.lines(said.out)
    assert out[0].startswith("[1/3] converted runs/a.h5 -> clean/a.h5 (")
    assert out[1] == "[2/3] single    runs/b.h5: a single model already: there is nothing to undo"
    assert out[2] == "[3/3] failed    runs/c.h5: the file is truncated"
    assert out[3].split() == ["outcome", "files", "bytes", "clean"]
    assert [line.split()[:2] for line in out[4:9]] == [
        ["converted", "1"], ["single", "1"], ["skipped", "0"], ["refused", "0"], ["failed", "1"],
    ]  # fmt: skip
    assert out[9:] == [
        "needs attention:",
        "failed    runs/c.h5: the file is truncated",
        "          hint: copy it again: its end is missing",
    ]


def test_quiet_prints_troubles_only(tmp_path, capsys):
    trees.parallel(tmp_path / "runs" / "a.h5")
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean"), "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([str(tmp_path / "nix.h5"), "-o", str(tmp_path / "clean"), "-q", "--jobs", "2"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("failed    ")


def test_json_prints_the_report(tmp_path, capsys):
    trees.parallel(tmp_path / "runs" / "a.h5")
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["converted"] == 1


def test_all_clean_already_is_exit_0(tmp_path):
    trees.single(tmp_path / "runs" / "a.h5")
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean"), "-q"]) == 0
    assert os.listdir(str(tmp_path / "clean")) == []


def test_a_list_on_standard_input(tmp_path):
    trees.parallel(tmp_path / "runs" / "a.h5")
    trees.parallel(tmp_path / "runs" / "b" / "a.h5")
    process = trees.command("--files-from", "-", "-o", "clean", cwd=str(tmp_path), stdin=-1)
    out, err = process.communicate("runs/a.h5\nruns/b/a.h5\n", timeout=100)
    assert (process.returncode, err) == (0, "")
    made = trees.contents(tmp_path / "clean")
    assert {name for name, data in made.items() if data} == {"runs/a.h5", "runs/b/a.h5"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: SOURCE"),
        (["a.h5", "-o", "x", "--jobs", "0"], "must be 1 or more"),
        (["a.h5", "-o", "x", "--timeout", "-1"], "must be more than 0"),
        (["a.h5", "-o", "x", "--memory", "4X"], "not a size"),
        (["a.h5", "-o", "x", "--memory", ""], "not a size"),
    ],
)
def test_usage_errors_are_exit_2(words, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_one_file_keeps_to_its_own_road(tmp_path, capsys):
    path = trees.parallel(tmp_path / "a.h5")
    (tmp_path / "folder").mkdir()
    assert main([str(tmp_path / "folder")]) == 1
    assert "no Keras model in this folder" in capsys.readouterr().out
    assert main([path, "-o", str(tmp_path / "folder")]) == 0
    assert "verified: " in capsys.readouterr().out
    assert os.listdir(str(tmp_path / "folder")) == ["a.h5"]


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * 10**9), ("500M", 5 * 10**8), ("1.5GiB", 3 * 2**29), ("100", 100), ("2kb", 2000), ("1 k", 1000)],
)
def test_sizes(text, size):
    from unparallel.cli.many import _bytes

    assert _bytes(text) == size


def test_a_bar_on_a_terminal(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    trees.make(str(tmp_path / "runs"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean")]) == 1
    said = capsys.readouterr()
    assert "file/s" in said.err
    assert "not converted" in said.err
    assert "[1/" not in said.out
    assert "needs attention" in said.out


def test_without_tqdm_a_terminal_gets_lines(tmp_path, monkeypatch, capsys):
    trees.parallel(tmp_path / "runs" / "a.h5")
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main([str(tmp_path / "runs"), "-o", str(tmp_path / "clean")]) == 0
    assert "[1/1] converted" in capsys.readouterr().out


def test_dask_that_is_not_there_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([str(tmp_path), "-o", str(tmp_path / "clean"), "--dask", "tcp://127.0.0.1:1"]) == 1
    assert "unparallel-keras[dask]" in capsys.readouterr().err


def test_the_parent_process_needs_no_job_to_be_its_own(tmp_path):
    """A job that reaches a worker is plain data: what an executor pickles."""
    trees.parallel(tmp_path / "runs" / "a.h5")
    prepared = run.Batch(tmp_path / "runs", tmp_path / "clean", ConvertOptions(), run.Settings())
    assert prepared.total == 1
    assert pickle.loads(pickle.dumps(prepared.jobs)) == prepared.jobs
