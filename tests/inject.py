"""Faults from the kernel, without a library in between: a filter that answers a system call with an error.

`code(name, number)` gives Python code that does it to the process that runs it (Linux on x86-64 and ARM64).
"""

import platform
import sys

CALLS = {
    "x86_64": {"flock": 73, "fsync": 74, "write": 1, "pread64": 17, "unlink": 87, "ftruncate": 77},
    "aarch64": {"flock": 32, "fsync": 82, "write": 64, "pread64": 67, "unlink": 35, "ftruncate": 46},
}
NUMBERS = CALLS.get(platform.machine(), {})
POSSIBLE = sys.platform.startswith("linux") and bool(NUMBERS)

_CODE = """
def _deny(call, error):
    import ctypes, struct
    # load the number of the call; if it is the one, give the error, else allow
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(held)))
    library = ctypes.CDLL(None, use_errno=True)
    for words in ((38, 1, 0, 0, 0), (22, 2, program, 0, 0)):
        if library.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")
_deny(%d, %d)
"""


def code(name: str, error: int) -> str:
    """Code that makes a system call fail from then on."""
    return _CODE % (NUMBERS[name], error)
