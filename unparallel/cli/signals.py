"""What stops a run from outside: Ctrl-C, the job system, a closed terminal."""

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Dict, Optional, Type

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(BaseException):
    """The user or the job system ends the run."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Signals:
    """Turns the first signal to stop into `Stopped`; later ones must not disturb the tidying up.

    In a thread other than the main one nothing is done: a program that calls `main()` there has its own ways.
    """

    def __init__(self) -> None:
        self._before: Dict[int, Any] = {}
        self._caught: Optional[int] = None
        self._hook: Any = None

    def __enter__(self) -> "Signals":
        if threading.current_thread() is not threading.main_thread():
            return self
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        handlers = {number: signal.getsignal(number) for number in numbers}
        # nohup ignores SIGHUP, and None is a handler that Python did not set
        self._before = {n: handler for n, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
        if hasattr(sys, "unraisablehook"):  # from Python 3.8 on
            self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        try:
            for number in self._before:
                signal.signal(number, self._stop)
        except Stopped:  # at once
            self._restore()
            raise
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._restore()
        # it was raised in a function that C code called: HDF5 lost it, or made an error of its own of it
        if self._caught is not None and (error is None or isinstance(error, Exception)):
            raise Stopped(self._caught) from None

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._hook is not None:
            sys.unraisablehook = self._hook

    def _stop(self, number: int, _: Optional[FrameType]) -> None:
        self._caught = number
        for each in self._before:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    def _unraisable(self, lost: "sys.UnraisableHookArgs") -> None:
        """What was raised in a finalizer, where Python reports it and goes on: it is raised again at the end."""
        if not isinstance(lost.exc_value, Stopped):
            self._hook(lost)
