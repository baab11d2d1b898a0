"""The command in a process of its own: what it says, what it takes, and what it leaves."""

import os
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# A process that was forked from a large one counts that one's memory as its own peak: its own status does not.
PEAK = """
import atexit, os, sys
def _peak(path=os.environ["PEAK_FILE"]):
    try:
        with open("/proc/self/status") as status, open(path, "w") as file:
            file.write([line.split()[1] for line in status if line.startswith("VmHWM")][0])
    except OSError:  # the process has given up its rights
        pass
if os.path.exists("/proc/self/status"):
    atexit.register(_peak)
"""
COMMAND = "import runpy; sys.argv[0] = 'unparallel'; runpy.run_module('unparallel', run_name='__main__')"


class Ran(NamedTuple):
    code: int
    out: str
    err: str
    megabytes: float
    seconds: float


def run(*words: Any, code: str = "", cwd: Any = None, before: Any = None, env: Any = None) -> Ran:
    """Run `python -m unparallel WORDS`, or `python -c CODE WORDS`, and measure it."""
    start = time.monotonic()
    with tempfile.NamedTemporaryFile() as peak:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PEAK + (code or COMMAND)] + [str(word) for word in words],
            capture_output=True,
            cwd=None if cwd is None else str(cwd),
            env=dict(os.environ, PYTHONPATH=ROOT, PEAK_FILE=peak.name, **(env or {})),
            preexec_fn=before,
            timeout=110,
            check=False,
        )
        kilobytes = int(peak.read() or 0)
    seconds = time.monotonic() - start
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode(), kilobytes / 1024, seconds)
