"""The batch on a dask cluster: a real scheduler and two real workers, each a process, on this machine."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .. import trees

pytestmark = pytest.mark.slow

if importlib.util.find_spec("distributed") is None:  # importing it here would cost seconds and many warnings
    pytest.skip("dask.distributed is not installed", allow_module_level=True)


@pytest.fixture
def cluster(tmp_path):
    """(address, worker processes)"""
    facts = tmp_path / "scheduler.json"
    log = tmp_path.joinpath("dask.log").open("wb")
    environment = dict(os.environ, PYTHONPATH=trees.ROOT, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="60s")

    def start(*words):
        return subprocess.Popen(
            [sys.executable, "-m", *words], env=environment, stdout=log, stderr=log, cwd=str(tmp_path)
        )

    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"]
    processes = [start(*scheduler, "--scheduler-file", str(facts))]
    try:
        address = ""
        end = time.monotonic() + 60
        while not address and time.monotonic() < end:
            time.sleep(0.1)
            if facts.exists() and facts.read_text().strip().endswith("}"):
                address = json.loads(facts.read_text())["address"]
        assert address, (tmp_path / "dask.log").read_text()
        for name in ("first", "second"):
            words = ["distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
            processes.append(start(*words, "--name", name, "--local-directory", str(tmp_path / name)))
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
        log.close()


@pytest.mark.timeout(300)
def test_a_cluster_that_loses_a_worker_in_the_middle_does_it_all(tmp_path, cluster):
    address, workers = cluster
    runs, clean, report = tmp_path / "runs", tmp_path / "clean", tmp_path / "r.json"
    expected = trees.make(str(runs), copies=30)
    process = trees.command(runs, "-o", clean, "--dask", address, "--report", report)
    first = [process.stdout.readline() for _ in range(20)]
    assert all(line.startswith("[") for line in first), (first, process.stderr.read())
    workers[0].send_signal(signal.SIGKILL)
    code, out, err = trees.finished(process, 250)
    assert (code, "Traceback" in err) == (1, False)
    statuses = trees.statuses(json.loads(report.read_text()), runs)
    # what the lost worker had just done, and not yet told, is found done by the other one
    told = {name: "converted" if status == "skipped" and expected[name] == "converted" else status
            for name, status in statuses.items()}  # fmt: skip
    assert told == expected
    made = trees.contents(clean)
    assert not [name for name in made if name.endswith(".unparallel-part")]
    assert {name for name, data in made.items() if data} == {n for n, s in expected.items() if s == "converted"}
    assert workers[1].poll() is None


@pytest.mark.timeout(300)
def test_a_crash_costs_one_file_and_no_dask_worker(tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(trees.BREAKDOWN)
    for name in ("a", "crash", "b"):
        trees.parallel(tmp_path / "runs" / (name + ".h5"))
    code = (
        "import sys, distributed\n"
        "from unparallel.jobs.run import convert_many\n"
        "if __name__ == '__main__':\n"
        "    with distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster:\n"
        "        with distributed.Client(cluster) as client:\n"
        "            for done in convert_many(*sys.argv[1:], executor=client.get_executor(pure=False)):\n"
        "                print(done.status, done.reason)\n"
    )
    (tmp_path / "script.py").write_text(code)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([trees.ROOT, str(tmp_path / "broken")]))
    words = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "runs"), str(tmp_path / "clean")]
    out = subprocess.check_output(words, env=environment, cwd=str(tmp_path), universal_newlines=True)
    assert sorted(out.splitlines()) == ["converted ", "converted ", "failed crashed its process: SIGSEGV"]


def test_nobody_at_the_address_is_told(tmp_path):
    environment = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    process = trees.command(tmp_path, "-o", tmp_path / "clean", "--dask", "tcp://127.0.0.1:1", env=environment)
    code, _, err = trees.finished(process)
    assert code == 1
    assert "no dask scheduler answers" in err
    assert "Traceback" not in err
