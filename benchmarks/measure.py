"""Whole processes, measured: wall time, CPU time, peak memory, bytes written.  Nothing of ours is imported here."""

import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

# A parent's own memory shows in its children's peak, so this module and who uses it stay small.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


class Run(NamedTuple):
    """One process: seconds of wall time and of CPU (user and system), peak MB, MB written to the disk."""

    wall: float
    cpu: float
    memory: float
    written: float


def run(command, expect=0, **environment):
    """Run a command to its end."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables.update(QUIET, **environment)
    start = time.perf_counter()
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = status
    if os.WEXITSTATUS(status) != expect or os.WIFSIGNALED(status):
        raise SystemExit(f"{command!r} ended with status {status}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * resource_unit(), used.ru_oublock * 512 / 1e6)


def resource_unit():
    """MB in one unit of ru_maxrss."""
    return 1e-6 if sys.platform == "darwin" else 1024e-6


def rounds(commands, count, clean=(), seconds=None):
    """Run all commands in random order, again and again; what the machine does meanwhile hits each alike.

    Parameters
    ----------
    commands : dict of str to (command, options of `run`)
    count : int
        Rounds; one more comes first and is thrown away.
    clean : sequence of str
        Files and folders that are removed after each command, so that no dirty page of one is written during another.
    seconds : float, optional
        Stop after the round in which they have passed, though not before three.

    Returns
    -------
    dict of str to list of Run
        In step: number i of each list is from one round.
    """
    found = {name: [] for name in commands}
    began = time.perf_counter()
    for number in range(count + 1):
        for name in random.sample(sorted(commands), len(commands)):
            command, options = commands[name]
            measured = run(command, **options)
            if number:
                found[name].append(measured)
            for path in clean:
                if os.path.isdir(path):
                    shutil.rmtree(path)
                elif os.path.exists(path):
                    os.unlink(path)
        if seconds is not None and number >= 3 and time.perf_counter() - began > seconds:
            break
    return found


def ratio(runs, bases, field="wall"):
    """The median of a command's ratio to the sum of other commands, round by round, with the quartiles."""
    base = [sum(getattr(one, field) for one in together) for together in zip(*bases)]
    return spread([getattr(one, field) / below for one, below in zip(runs, base)])


def spread(values):
    """(lower quartile, median, upper quartile)."""
    ordered = sorted(values)
    half = len(ordered) // 2
    low = statistics.median(ordered[:half] or ordered)
    high = statistics.median(ordered[-half:] if half else ordered)
    return low, statistics.median(ordered), high


def middle(runs, field):
    """The median of one measure."""
    return statistics.median(getattr(one, field) for one in runs)


def cores():
    """How many processors there are."""
    return os.cpu_count()


def busy():
    """Processes that wanted a processor over the last minute, on average."""
    return os.getloadavg()[0]


__all__ = ["Run", "busy", "cores", "middle", "ratio", "rounds", "run", "spread"]
