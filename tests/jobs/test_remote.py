"""Files behind URLs: a real S3 server (moto's) in a process of its own, and fsspec's file system of local files."""

import http.client
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

import pytest

from unparallel import atomic
from unparallel.cli import main
from unparallel.jobs import remote, sources
from unparallel.jobs.run import convert_many

from .. import trees
from ..same import differences


def has(*names):
    return all(importlib.util.find_spec(name) for name in names)


pytestmark = pytest.mark.slow
needs_s3 = pytest.mark.skipif(not has("fsspec", "s3fs", "moto", "flask"), reason="needs moto's server and s3fs")
needs_fsspec = pytest.mark.skipif(not has("fsspec"), reason="needs fsspec")


@pytest.mark.parametrize(
    ("path", "answer"),
    [("s3://b/x.h5", True), ("memory://x", True), ("C:/x", False), ("C://x", False), ("/a/b", False), ("a b", False)],
)
def test_what_a_url_is(path, answer):
    assert remote.is_url(path) is answer


def test_without_fsspec_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    (outcome,) = convert_many("s3://bucket/x.h5", tmp_path / "clean")
    assert outcome.status == "failed"
    assert "unparallel-keras[remote]" in outcome.hint


@needs_fsspec
def test_a_url_of_local_files_both_ways(tmp_path):
    trees.parallel(tmp_path / "runs" / "a" / "m.h5")
    trees.parallel(tmp_path / "runs" / "b" / "m.h5")
    trees.error_page(str(tmp_path / "runs" / "page.h5"))
    target = f"file://{tmp_path}/clean"
    outcomes = {os.path.relpath(done.source[7:], str(tmp_path)): done
                for done in convert_many(f"file://{tmp_path}/runs", target)}  # fmt: skip
    assert {name: done.status for name, done in outcomes.items()} == {
        "runs/a/m.h5": "converted", "runs/b/m.h5": "converted", "runs/page.h5": "refused",
    }  # fmt: skip
    assert outcomes["runs/page.h5"].reason == "a text file, not HDF5"
    made = trees.contents(tmp_path / "clean")
    assert {name for name, data in made.items() if data} == {"a/m.h5", "b/m.h5"}
    gold = trees.single(tmp_path / "gold.h5")
    assert list(differences(gold, str(tmp_path / "clean" / "a" / "m.h5"))) == []
    again = [done.status for done in convert_many(f"file://{tmp_path}/runs", target)]
    assert sorted(again) == ["refused", "skipped", "skipped"]


@needs_fsspec
def test_an_upload_that_fails_leaves_nothing(tmp_path, monkeypatch):
    import fsspec.implementations.local as local

    def fail(*_, **__):
        raise OSError("the line is cut\nand more")

    trees.parallel(tmp_path / "a.h5")
    monkeypatch.setattr(local.LocalFileSystem, "mv", fail)
    (tmp_path / "clean").mkdir()
    with pytest.raises(Exception, match="the line is cut"), remote.delivered(f"file://{tmp_path}/clean/a.h5") as new:
        trees.single(new)
    assert os.listdir(str(tmp_path / "clean")) == []
    assert not os.path.exists(new)


@needs_fsspec
def test_nothing_is_delivered_when_the_work_fails(tmp_path):
    folders = []

    def work():
        with remote.delivered(f"file://{tmp_path}/clean/a.h5") as new:
            folders.append(os.path.dirname(trees.single(new)))
            raise KeyError

    pytest.raises(KeyError, work)
    assert not (tmp_path / "clean").exists()
    assert not os.path.exists(folders[0])


@needs_fsspec
def test_temporary_copies_of_the_dead_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.tempfile, "tempdir", str(tmp_path))
    kept = atomic.temporary_folder()
    child = trees.command("--version")
    trees.finished(child)
    dead = kept.replace(f".{os.getpid()}-", f".{child.pid}-")
    os.mkdir(dead)
    open(os.path.join(dead, "x.h5"), "wb").close()
    atomic.remove_leftovers([str(tmp_path)])
    assert os.listdir(str(tmp_path)) == [os.path.basename(kept)]


# -- S3


class Bucket:
    """What a user has in a bucket, by plain HTTP."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, path, body=None):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            # moto asks who it is and believes every answer
            who = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"
            line.request(method, path, body, {"Authorization": who})
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def put(self, name, path):
        assert self.ask("PUT", "/bucket/" + name, trees.read(path))[0] == 200

    def names(self):
        return sorted(re.findall(r"<Key>([^<]*)</Key>", self.ask("GET", "/bucket/?list-type=2")[1].decode()))

    def get(self, name, path):
        status, data = self.ask("GET", "/bucket/" + name)
        assert status == 200
        with open(str(path), "wb") as handle:
            handle.write(data)
        return str(path)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("moto")
    with open(str(folder / "log"), "wb") as log:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            found = None
            end = time.monotonic() + 60
            while not found and time.monotonic() < end:
                time.sleep(0.1)
                found = re.search(r"Running on http://127\.0\.0\.1:(\d+)", (folder / "log").read_text())
            assert found, (folder / "log").read_text()
            yield int(found.group(1))
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def bucket(server, monkeypatch):
    for name, value in (
        ("FSSPEC_S3", json.dumps({"client_kwargs": {"endpoint_url": f"http://127.0.0.1:{server}"}})),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    bucket = Bucket(server)
    bucket.ask("POST", "/moto-api/reset")
    assert bucket.ask("PUT", "/bucket")[0] == 200
    return bucket


@needs_s3
@pytest.mark.timeout(300)
def test_a_bucket_becomes_a_bucket(tmp_path, bucket):
    for name in ("a/m.h5", "b/m.h5"):
        bucket.put("runs/" + name, trees.parallel(tmp_path / name, seed=ord(name[0])))
    bucket.put("runs/single.h5", trees.single(tmp_path / "single.h5"))
    trees.truncated(str(tmp_path / "cut.h5"))
    bucket.put("runs/cut.h5", str(tmp_path / "cut.h5"))
    bucket.put("runs/notes.txt", str(tmp_path / "cut.h5"))
    report = tmp_path / "r.json"
    words = ["s3://bucket/runs", "-o", "s3://bucket/clean", "--report", report, "--jobs", 2]
    code, out, err = trees.finished(trees.command(*words))
    assert (code, "Traceback" in err) == (1, False)
    value = json.loads(report.read_text())
    assert {item["source"]: (item["status"], item["reason"]) for item in value["outcomes"]} == {
        "s3://bucket/runs/a/m.h5": ("converted", ""),
        "s3://bucket/runs/b/m.h5": ("converted", ""),
        "s3://bucket/runs/cut.h5": ("failed", "the file is truncated"),
        "s3://bucket/runs/single.h5": ("single", "a single model already: there is nothing to undo"),
    }
    assert [name for name in bucket.names() if not name.startswith("runs/")] == ["clean/a/m.h5", "clean/b/m.h5"]
    for name in ("a/m.h5", "b/m.h5"):
        made = bucket.get("clean/" + name, tmp_path / "made.h5")
        gold = trees.single(tmp_path / "gold.h5", seed=ord(name[0]))
        assert list(differences(gold, made)) == []

    # again: by the report, then by comparing; then a source changes
    assert re.search(r"skipped +2", trees.finished(trees.command(*words))[1])
    assert "compared with the source" in trees.finished(trees.command(*words[:3]))[1]
    bucket.put("runs/a/m.h5", trees.parallel(tmp_path / "a" / "m.h5", seed=3))
    out = trees.finished(trees.command(*words))[1]
    assert re.search(r"converted +1", out)
    assert re.search(r"skipped +1", out)


@needs_s3
@pytest.mark.timeout(300)
def test_one_object_to_a_file_and_one_file_to_an_object(tmp_path, bucket):
    bucket.put("m.h5", trees.parallel(tmp_path / "m.h5"))
    gold = trees.single(tmp_path / "gold.h5")
    code, _, err = trees.finished(trees.command("s3://bucket/m.h5", "-o", tmp_path / "made.h5"))
    assert (code, err) == (0, "")
    assert list(differences(gold, str(tmp_path / "made.h5"))) == []
    code, _, err = trees.finished(trees.command(tmp_path / "m.h5", "-o", "s3://bucket/new/made.h5"))
    assert (code, err) == (0, "")
    assert list(differences(gold, bucket.get("new/made.h5", tmp_path / "again.h5"))) == []


@needs_s3
@pytest.mark.timeout(300)
def test_what_is_not_in_the_bucket_is_an_outcome(tmp_path, bucket):
    for name in ("s3://bucket/nix.h5", "s3://no-such-bucket/nix.h5", "s3://bucket/*.h5"):
        code, out, err = trees.finished(trees.command(name, "-o", tmp_path / "clean"))
        assert (code, err) == (1, ""), name
        assert "[1/1] failed" in out
        assert "Traceback" not in out
    code, out, _ = trees.finished(trees.command(trees.parallel(tmp_path / "a.h5"), "-o", "s3://no-such-bucket/x"))
    assert code == 1
    assert "[1/1] failed" in out


@needs_s3
def test_patterns_and_lists_of_urls(tmp_path, bucket):
    for name in ("runs/a/m.h5", "runs/b/m.h5", "runs/b/n.h5"):
        bucket.put(name, trees.single(tmp_path / "x.h5"))
    code = (
        "from unparallel.jobs import sources\n"
        "def show(*names, listed=()):\n"
        "    found = sources.find(names, listed, 's3://t')\n"
        "    print(*['%s>%s' % (item.source, place) for item, place in zip(found, sources.targets(found, 's3://t'))])\n"
        "show('s3://bucket/runs/*/m.h5')\n"
        "show(listed=['s3://bucket/runs/b/n.h5'])\n"
    )
    environment = dict(os.environ, PYTHONPATH=trees.ROOT)
    out = subprocess.check_output([sys.executable, "-c", code], env=environment, universal_newlines=True)
    assert out.splitlines() == [
        "s3://bucket/runs/a/m.h5>s3://t/a/m.h5 s3://bucket/runs/b/m.h5>s3://t/b/m.h5",
        "s3://bucket/runs/b/n.h5>s3://t/bucket/runs/b/n.h5",
    ]


def test_a_url_as_target_keeps_the_layout(tmp_path):
    found = [sources.SourceFile("/a/b.h5", "x/b.h5")]
    assert sources.targets(found, "s3://bucket/clean/") == ["s3://bucket/clean/x/b.h5"]


def test_the_command_takes_one_url_for_a_batch(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert main(["s3://bucket/x.h5", "-o", str(tmp_path / "x.h5"), "-q"]) == 1
    assert "unparallel-keras[remote]" in capsys.readouterr().err
