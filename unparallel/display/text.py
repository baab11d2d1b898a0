"""How unparallel words things: sizes, counts, versions, and strangers' names made harmless for a terminal."""

from __future__ import annotations

import sys

# TensorFlow has its own Keras, whose version only its makers know.  Read off files that each of them wrote (see the
# fixtures); from 2.5 on, the two numbers are one.
TENSORFLOW = {
    "2.1.5-tf": "1.8",
    "2.1.6-tf": "1.12",
    "2.2.4-tf": "1.15 or 2.0",
    "2.3.0-tf": "2.1 or 2.2",
    "2.4.0": "2.3 or 2.4",
}


def shown(text: str) -> str:
    """The text with control and direction characters of a stranger's names shown, not obeyed."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable(text: str) -> str:
    """As `shown`, and with what standard output's encoding lacks as escapes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return shown(text).encode(encoding, "backslashreplace").decode(encoding)


def size_text(size: int) -> str:
    """A number of bytes for people."""
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"


def count_text(number: int, what: str, many: str = "") -> str:
    """A number with its noun, such as "1 layer" and "1,200 layers"."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def written_by(keras_version: str | None) -> str:
    """The Keras that wrote a file, and the TensorFlow that it came with, if it came with one."""
    from ..model import is_tf_keras, version_of  # many classes, which --help need not wait for

    if not keras_version:
        return "an unknown Keras"
    tensorflow = TENSORFLOW.get(keras_version)
    if tensorflow is None and is_tf_keras(keras_version) and (2, 5) <= version_of(keras_version) < (3, 0):
        tensorflow = "{}.{}".format(*version_of(keras_version))
    return f"Keras {keras_version} (TensorFlow {tensorflow})" if tensorflow else f"Keras {keras_version}"
