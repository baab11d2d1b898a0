"""Tests on a real Keras run only where one is set up: `nox -s legacy-k231`, `nox -s modern`."""

import os

# These folders import a Keras; UNPARALLEL_STACK says which one is there.
_STACK = os.environ.get("UNPARALLEL_STACK", "")
collect_ignore = [
    os.path.join("live", folder)
    for folder in ("legacy", "modern")
    if (folder == "modern") != (_STACK == "modern") or not _STACK
]
