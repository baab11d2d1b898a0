"""What stops a run from outside: Ctrl-C, the job system, a closed terminal."""

import contextlib
import sys
from typing import Any, Iterator, List


class Stopped(BaseException):
    """The user or the job system ends the run."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextlib.contextmanager
def signals() -> Iterator[None]:
    """Turn the first signal to stop into `Stopped`; later ones must not disturb the tidying up."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():  # a program that calls main() has its own ways
        yield
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]  # nohup ignores SIGHUP

    caught: List[int] = []

    def stop(number: int, _: Any) -> None:
        caught.append(number)
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    hook = getattr(sys, "unraisablehook", None)  # from Python 3.8 on

    def quiet(lost: Any) -> None:
        # raised in a finalizer, where Python reports it and goes on: it is raised again below
        if hook is not None and not isinstance(lost.exc_value, Stopped):
            hook(lost)

    try:
        if hook is not None:
            sys.unraisablehook = quiet
        for number in ours:
            signal.signal(number, stop)
        yield
        if caught:  # it was raised in a function that C code called, and lost there
            raise Stopped(caught[0])
    except Exception:
        if caught:  # or turned into an error of HDF5's
            raise Stopped(caught[0]) from None
        raise
    finally:
        for number in ours:
            signal.signal(number, before[number])
        if hook is not None:
            sys.unraisablehook = hook
