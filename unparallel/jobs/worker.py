"""Calls a function in a process of its own, which may crash, hang or eat memory without harm to the caller.

Each thread that calls `isolated` keeps one warm worker process, so h5py is imported once a worker and not once a
file.  It knows nothing of Keras and nothing of batches: a function and its argument go in, a value comes out, or a
`WorkerError` that says how the process ended.

Why not one of the ready-made pools: `concurrent.futures` gives up the whole pool when one process dies, and has no
time limit; pebble (LGPL) and loky watch no memory; and everything built on `multiprocessing` imports the caller's
`__main__` again and cannot start inside dask's daemonic workers.  What is left to do is little: two pipes, and a guard
that kills.
"""

import contextlib
import importlib
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, TypeVar, Union

from ..errors import WorkerError

if sys.platform != "win32":
    import resource

Given = TypeVar("Given")
Result = TypeVar("Result")

# Seconds between two looks of the guard at time and memory.
POLL_SECONDS = 0.05
# A fresh process now and then, in case a library leaks.
CALLS_PER_WORKER = 500
# Starting means importing numpy and h5py, perhaps from a slow network file system.
LONGEST_START = 120.0
# What a process was told to end by when the library in it broke down.
CRASHES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS")
BOOT = (
    "import pickle, sys; start = pickle.load(sys.stdin.buffer); sys.path[:] = start[0]; "
    "from unparallel.jobs.worker import serve; serve(*start[1:])"
)

_here = threading.local()
_busy: "Set[Worker]" = set()
_lock = threading.Lock()


def isolated(
    function: Union[str, Callable[[Given], Result]],
    argument: Given,
    *,
    timeout: Optional[float] = None,
    memory: Optional[int] = None,
    run: str = "",
) -> Result:
    """Call `function(argument)` in the calling thread's worker process.

    Parameters
    ----------
    function : callable or str
        A function of a module, or "module:function", which this process then need not import itself.
    argument : object
        Anything that can be pickled.
    timeout : float, optional
        Seconds; starting the process does not count.
    memory : int, optional
        Bytes that the process may hold; needs Linux to be watched closely.
    run : str
        A name for `stop`.

    Returns
    -------
    object
        What the function returned; what it raised is raised here.

    Raises
    ------
    WorkerError
        The process crashed, was killed, or went over a limit.
    """
    worker: Optional[Worker] = getattr(_here, "worker", None)
    if worker is None or not worker.usable:
        _here.worker = None  # ends the old one first
        module = function.split(":")[0] if isinstance(function, str) else function.__module__
        worker = _here.worker = Worker(module)
    result: Result = worker.call((function, argument, memory), timeout, memory, run)
    return result


def stop(run: str) -> None:
    """Kill the workers that are busy with calls of that run; those calls raise `WorkerError`."""
    with _lock:
        for worker in _busy:
            if worker.run == run:
                worker.kill("was stopped", "")


def fair_share(parts: int) -> Optional[int]:
    """Bytes of memory for each of so many processes: four fifths of the machine's, or of the container's."""
    found = []
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as handle:
            found.append(int(handle.read()))
    return min(found) * 4 // 5 // max(1, parts) if found else None


# -- the caller's side


class Worker:
    """One process that waits for calls.

    Parameters
    ----------
    module : str
        What it imports before it says that it is ready.

    Raises
    ------
    WorkerError
        It does not start.
    """

    def __init__(self, module: str) -> None:
        self.owner = os.getpid()
        self.calls = 0
        self.run = ""
        self.verdict: Optional[Tuple[str, str]] = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        self._process = subprocess.Popen(
            [multiprocessing.spawn.get_executable(), "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=_environment(),
            cwd=_folder_to_stand_in(),
            # Ctrl-C and Ctrl-Z of a terminal go to the caller, who decides
            start_new_session=os.name == "posix",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        # when the thread ends, or the interpreter
        weakref.finalize(self, _close, self._process, self._stderr, self.owner)
        self._exchange((_import_path(), os.getpid(), module), LONGEST_START, None)

    @property
    def usable(self) -> bool:
        """Whether the next call may go to this process (one inherited by a fork is another's)."""
        if self.owner != os.getpid() or self.verdict is not None:
            return False
        return self.calls < CALLS_PER_WORKER and self._process.poll() is None

    def call(self, task: object, timeout: Optional[float], memory: Optional[int], run: str) -> Any:
        """Hand over a task and wait for its result."""
        self.calls += 1
        self.run = run
        with _lock:
            _busy.add(self)
        try:
            succeeded, value = self._exchange(task, timeout, memory)
        finally:
            with _lock:
                _busy.discard(self)
        if not succeeded:
            raise value
        return value

    def kill(self, reason: str, hint: str) -> None:
        """End the process at once; the reason is what its caller is told."""
        self.verdict = self.verdict or (reason, hint)
        with contextlib.suppress(OSError):
            self._process.kill()

    def _exchange(self, message: object, timeout: Optional[float], memory: Optional[int]) -> Any:
        data = pickle.dumps(message)
        with self._guarded(timeout, memory):
            try:
                self._to.write(data)
                self._to.flush()
                return pickle.load(self._from)
            except (EOFError, OSError, pickle.UnpicklingError):
                raise self._lost() from None

    @contextlib.contextmanager
    def _guarded(self, timeout: Optional[float], memory: Optional[int]) -> Iterator[None]:
        done = threading.Event()
        guard = threading.Thread(target=self._guard, args=(done, timeout, memory), daemon=True)
        guard.start()
        try:
            yield
        finally:
            done.set()
            guard.join()

    def _guard(self, done: threading.Event, timeout: Optional[float], memory: Optional[int]) -> None:
        """Kill the process when it is over a limit."""
        start = time.monotonic()
        while not done.wait(POLL_SECONDS):
            if timeout is not None and time.monotonic() - start > timeout:
                self.kill(f"took longer than {timeout:g} seconds", "--timeout SECONDS allows it more")
            elif memory is not None and _resident(self._process.pid) > memory:
                self.kill(*too_much(memory))

    def _lost(self) -> WorkerError:
        """What the caller is told of a process that is gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        code = self._process.wait()
        return WorkerError(*(self.verdict or _cause_of_death(code, self._last_stderr_line())))

    def _last_stderr_line(self) -> str:
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 2000))
        lines = self._stderr.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]


def _folder_to_stand_in() -> Optional[str]:
    """The current folder, unless it is gone, where Python itself fails in places; tasks know absolute paths only."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _import_path() -> List[str]:
    """Where modules are found, wherever the process may stand."""
    found = []
    for entry in sys.path:
        with contextlib.suppress(FileNotFoundError):  # "" while the current folder is gone
            found.append(os.path.abspath(entry))
    return found


def too_much(memory: int) -> Tuple[str, str]:
    """(reason, hint) for what needs more memory than it may have."""
    return "needs more than %s MB of memory" % (memory // 10**6), "--memory SIZE allows it more"


def _environment() -> Dict[str, str]:
    environment = dict(os.environ)
    # a conversion does no linear algebra: threads for it would cost start-up time and address space
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment.setdefault(name, "1")
    return environment


def _close(process: "subprocess.Popen[bytes]", stderr: IO[bytes], owner: int) -> None:
    """Let an idle process go; a forked copy of the caller only lets go of its handles."""
    for stream in (process.stdin, process.stdout, stderr):
        with contextlib.suppress(OSError):
            assert stream is not None
            stream.close()
    if owner != os.getpid():
        process.returncode = 0
        return
    process.kill()
    process.wait()


def _cause_of_death(code: int, line: str) -> Tuple[str, str]:
    """(reason, hint) for a process that ended on its own."""
    said = f" ({line})" if line else ""
    if code >= 0:
        return f"its process ended with exit code {code}{said}", "please report this, with the file if you can"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "signal %s" % -code
    if name in CRASHES:
        return f"crashed its process: {name}{said}", "the HDF5 library breaks down on it: do not trust this file"
    if name == "SIGKILL":
        return f"its process was killed: {name}", "out of memory? fewer --jobs or a --memory limit help"
    return f"its process was killed: {name}{said}", "run it again"


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as handle:
            return int(handle.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


# -- the worker's side


def serve(parent: int, module: str) -> None:
    """Answer calls until the pipe ends: what a worker process runs."""
    _die_with(parent)
    calls = sys.stdin.buffer
    # nothing that a library prints may get in among the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    importlib.import_module(module)
    limit = _Limits()
    message = pickle.dumps((True, "ready"))
    while True:
        answers.write(message)
        answers.flush()
        try:
            function, argument, memory = pickle.load(calls)
        except EOFError:
            return
        limit.set(memory)
        message = _answer(function, argument)
        limit.set(None)


def _answer(function: Union[str, Callable[[Given], object]], argument: Given) -> bytes:
    """The pickled result, or the pickled exception."""
    try:
        return pickle.dumps((True, _found(function)(argument)))
    except Exception as error:  # noqa: BLE001  it is raised again on the other side
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001  some exceptions cannot be pickled, and say so in their own ways
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return pickle.dumps((False, error))


def _found(function: Union[str, Callable[[Given], object]]) -> Callable[[Given], object]:
    """A function that may be named as "module:function"."""
    if not isinstance(function, str):
        return function
    module, name = function.split(":")
    found: Callable[[Given], object] = getattr(importlib.import_module(module), name)
    return found


class _Limits:
    """The limits of this process; on address space: what the warm process has already, and so many bytes more."""

    def __init__(self) -> None:
        self._base = 0
        if sys.platform != "win32":
            # a core file for each crash would fill the disk
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as handle:
            self._base = int(handle.read().split()[0]) * _PAGE

    def set(self, memory: Optional[int]) -> None:
        # where /proc is missing, so is a system that heeds this limit
        if sys.platform != "win32" and self._base:
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            soft = resource.RLIM_INFINITY if memory is None else self._base + memory
            if hard != resource.RLIM_INFINITY:
                soft = hard if memory is None else min(soft, hard)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _die_with(parent: int) -> None:
    """Ask Linux to end this process when the thread that started it ends; elsewhere the pipe's end must do."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


__all__: List[str] = ["Worker", "fair_share", "isolated", "stop", "too_much"]
