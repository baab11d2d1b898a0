"""Folders of model files for batch tests, good and bad, and what must become of each file."""

import os
import shutil
import signal
import subprocess
import sys
from typing import Any, Dict, List, Optional

import h5py
import numpy as np

from . import tiny

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(ROOT, "fixtures")
PARALLEL = ("k224-cnn", "k231-around", "k231-head", "k231-two-outputs", "tf115-nested", "tf23-sequential")

# A library that breaks down on certain files: put on a command's PYTHONPATH, it makes h5py do what a damaged file
# can make it do.  The names tell it when; the files themselves are good.
BREAKDOWN = """
import os, signal, time
import h5py

class File(h5py.File):
    def __init__(self, name, *rest, **more):
        text = os.path.basename(name) if isinstance(name, str) else ""
        if text.startswith("crash"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if text.startswith("hang"):
            time.sleep(600)
        held = []
        while text.startswith("eat"):
            held.append(bytearray(os.urandom(2**20)) * 8)
            time.sleep(0.005)
        super().__init__(name, *rest, **more)

h5py.File = File
"""


def model(seed: int = 0) -> Any:
    layers = (tiny.entry("in", 3), tiny.dense("one", "in", seed=seed), tiny.dense("two", "one", seed=seed + 1))
    return tiny.TinyModel("net", layers, ("in",), ("two",))


def parallel(path: Any, seed: int = 0, training: Any = None, slots: Any = ()) -> str:
    os.makedirs(os.path.dirname(str(path)), exist_ok=True)
    return tiny.save(path, tiny.parallel(model(seed), 2), training=training, slots=slots)


def single(path: Any, seed: int = 0) -> str:
    os.makedirs(os.path.dirname(str(path)), exist_ok=True)
    return tiny.save(path, model(seed))


def truncated(path: str) -> None:
    parallel(path)
    with open(path, "r+b") as handle:
        handle.truncate(os.path.getsize(path) // 2)


def error_page(path: str) -> None:
    with open(path, "w") as handle:
        handle.write("<html>not found</html>")


def empty(path: str) -> None:
    open(path, "wb").close()


def linked(path: str) -> None:
    parallel(path)
    with h5py.File(path, "r+") as handle:
        del handle["model_weights/net/one/kernel:0"]
        handle["model_weights/net/one/kernel:0"] = h5py.ExternalLink("/etc/passwd", "/x")


def claiming(path: str) -> None:
    """A weight of a petabyte that was never stored."""
    parallel(path)
    with h5py.File(path, "r+") as handle:
        group = handle["model_weights/net/one"]
        del group["kernel:0"]
        group.create_dataset("kernel:0", (2**24, 2**24), "float32", chunks=(2**10, 2**10))


def data(path: str) -> None:
    with h5py.File(path, "w") as handle:
        handle["measured"] = np.arange(10.0)


def linked_data(path: str) -> None:
    data(path)
    with h5py.File(path, "r+") as handle:
        handle["again"] = h5py.SoftLink("/measured")


def unweighted(path: str) -> None:
    parallel(path)
    with h5py.File(path, "r+") as handle:
        del handle["model_weights"]


BAD = {
    "cut/truncated.h5": (truncated, "failed"),
    "page.h5": (error_page, "refused"),
    "empty.hdf5": (empty, "refused"),
    "deep/er/linked.h5": (linked, "refused"),
    "claiming.h5": (claiming, "refused"),
    "interrupted.h5": (unweighted, "refused"),
    "data.h5": (data, "skipped"),
    "linked_data.h5": (linked_data, "skipped"),
}


def make(folder: str, copies: int = 1, bad: bool = True) -> Dict[str, str]:
    """Fill a folder; return the status that each file must get, by its path in the folder."""
    expected: Dict[str, str] = {}
    for name in PARALLEL:
        for file, status in (("parallel.h5", "converted"), ("template.h5", "single")):
            for number in range(copies):
                place = f"{name}/run{number:03}/{file}"
                os.makedirs(os.path.dirname(os.path.join(folder, place)), exist_ok=True)
                shutil.copy(os.path.join(FIXTURES, name, file), os.path.join(folder, place))
                expected[place] = status
    for place, (write, status) in BAD.items() if bad else ():
        os.makedirs(os.path.dirname(os.path.join(folder, place)), exist_ok=True)
        write(os.path.join(folder, place))
        expected[place] = status
    with open(os.path.join(folder, "notes.txt"), "w") as handle:
        handle.write("nothing for us\n")
    return expected


def contents(folder: Any) -> Dict[str, bytes]:
    """Every file and folder below, hidden ones too, with its bytes."""
    found = {}
    for path, folders, names in os.walk(str(folder)):
        for name in folders + names:
            place = os.path.join(path, name)
            found[os.path.relpath(place, str(folder))] = b"" if os.path.isdir(place) else read(place)
    return found


def read(path: str) -> bytes:
    with open(path, "rb") as handle:
        return handle.read()


def default_signals() -> None:
    """In a child, before it runs: the signals that whoever runs the tests ignores (`nohup`, `&` in a script)."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def command(*words: Any, extra_path: Optional[str] = None, **more: Any) -> "subprocess.Popen[str]":
    """Start the command in a process of its own."""
    path = [ROOT] + ([extra_path] if extra_path else [])
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path), **more.pop("env", {}))
    return subprocess.Popen(
        [sys.executable, "-m", "unparallel", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=environment,
        **more,
    )


def finished(process: "subprocess.Popen[str]", seconds: float = 100) -> Any:
    """(exit code, standard output, standard error) of a command."""
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def statuses(report: Dict[str, Any], folder: Any) -> Dict[str, str]:
    return {os.path.relpath(item["source"], str(folder)): item["status"] for item in report["outcomes"]}


def lines(text: str) -> List[str]:
    return [line for line in text.splitlines() if line.strip()]
