"""Worker processes that die in every way a file can make them die."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from unparallel.errors import FileError, WorkerError
from unparallel.jobs import worker

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MB = 10**6
pytestmark = pytest.mark.slow
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


# -- what the workers are told to do


def process_number(_):
    return os.getpid()


def die(number):
    os.kill(os.getpid(), number)
    time.sleep(60)


def leave(code):
    sys.stderr.write("the last words\n")
    sys.stderr.flush()
    os._exit(code)


def sleep(seconds):
    time.sleep(seconds)


def grow(step):
    held = []
    while True:
        held.append(bytearray(step))
        held[-1][::4096] = b"x" * len(held[-1][::4096])
        time.sleep(0.01)


def claim(size):
    return len(bytearray(size))


def complain(text):
    raise FileError(text, "a hint")


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def complain_oddly(text):
    raise Odd(text, text)


def chatter(text):
    print(text)
    os.write(1, text.encode())
    return text


def give_back(value):
    return value


def alive(number):
    try:
        with open(f"/proc/{number}/stat") as handle:
            return handle.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


# -- the tests


def test_a_thread_keeps_one_warm_process():
    first = worker.isolated(process_number, None)
    assert first != os.getpid()
    assert worker.isolated(process_number, None) == first
    others = []
    thread = threading.Thread(target=lambda: others.append(worker.isolated(process_number, None)))
    thread.start()
    thread.join()
    assert others != [first]
    assert worker.isolated(process_number, None) == first
    assert wait_until(lambda: not alive(others[0]))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS"])
def test_a_crash_is_told_and_the_next_call_works(name):
    with pytest.raises(WorkerError, match=f"crashed its process: {name}") as caught:
        worker.isolated(die, getattr(signal, name))
    assert "do not trust this file" in caught.value.hint
    assert worker.isolated(give_back, 3) == 3


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_kill_from_outside_is_told_apart():
    with pytest.raises(WorkerError, match="its process was killed: SIGKILL") as caught:
        worker.isolated(die, signal.SIGKILL)
    assert "out of memory?" in caught.value.hint


def test_an_exit_is_told_with_the_last_stderr_line():
    with pytest.raises(WorkerError, match=r"exit code 7 \(the last words\)"):
        worker.isolated(leave, 7)


def test_time_is_limited():
    start = time.monotonic()
    with pytest.raises(WorkerError, match="took longer than 0.3 seconds"):
        worker.isolated(sleep, 60, timeout=0.3)
    assert time.monotonic() - start < 10
    assert worker.isolated(give_back, 3, timeout=10) == 3


@linux
def test_memory_that_grows_is_limited():
    # which limit is met first, the watched memory or the address space, hangs on when the watch looks
    with pytest.raises((WorkerError, MemoryError)) as caught:
        worker.isolated(grow, 10 * MB, memory=200 * MB, timeout=60)
    if isinstance(caught.value, WorkerError):
        assert "needs more than 200 MB of memory" in caught.value.message
        assert "--memory" in caught.value.hint


@linux
def test_memory_claimed_at_once_is_limited():
    assert worker.isolated(claim, 500 * MB) == 500 * MB
    number = worker.isolated(process_number, None)
    with pytest.raises(MemoryError):
        worker.isolated(claim, 500 * MB, memory=200 * MB)
    assert worker.isolated(process_number, None) == number
    assert worker.isolated(claim, 500 * MB) == 500 * MB


def test_exceptions_come_through():
    with pytest.raises(FileError, match="no such thing") as caught:
        worker.isolated(complain, "no such thing")
    assert caught.value.hint == "a hint"
    with pytest.raises(RuntimeError, match="Odd: what is this"):
        worker.isolated(complain_oddly, "what is this")


def test_what_a_library_prints_gets_in_nobodys_way():
    assert worker.isolated(chatter, "x" * 100000) == "x" * 100000
    assert worker.isolated(give_back, 3) == 3


def test_long_messages_pass_both_ways():
    value = os.urandom(5 * MB)
    assert worker.isolated(give_back, value) == value


def test_a_process_is_replaced_after_many_calls(monkeypatch):
    monkeypatch.setattr(worker, "CALLS_PER_WORKER", 3)
    worker._here.worker = None
    numbers = [worker.isolated(process_number, None) for _ in range(7)]
    assert [numbers.count(number) for number in dict.fromkeys(numbers)] == [3, 3, 1]


def test_a_process_inherited_by_a_fork_is_not_used():
    number = worker.isolated(process_number, None)
    worker._here.worker.owner = -1
    assert worker.isolated(process_number, None) != number


def test_stop_ends_the_calls_of_one_run_only():
    raised = []

    def call(run):
        try:
            worker.isolated(sleep, 1.5, run=run)
        except WorkerError as error:
            raised.append((run, error.message))

    threads = [threading.Thread(target=call, args=(run,)) for run in ("one", "other")]
    for thread in threads:
        thread.start()
    assert wait_until(lambda: {busy.run for busy in worker._busy} == {"one", "other"})
    worker.stop("one")
    for thread in threads:
        thread.join()
    assert raised == [("one", "was stopped")]


@linux
def test_workers_die_with_their_caller():
    code = (
        "import threading, time; from unparallel.jobs import worker; from tests.jobs import test_worker as here\n"
        "print(worker.isolated(here.process_number, None), flush=True)\n"
        "worker.isolated(here.sleep, 60)"
    )
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    number = int(caller.stdout.readline())
    assert alive(number)
    caller.kill()
    caller.wait()
    caller.stdout.close()
    assert wait_until(lambda: not alive(number))


def test_a_process_that_cannot_start_says_why(monkeypatch):
    worker._here.worker = None
    monkeypatch.setattr(worker, "BOOT", "raise SystemExit('no luck today')")
    with pytest.raises(WorkerError, match="no luck today"):
        worker.isolated(give_back, 3)


def test_a_fair_share_is_part_of_the_machine():
    whole, half = worker.fair_share(1), worker.fair_share(2)
    assert whole is None or 0 < half <= whole // 2
