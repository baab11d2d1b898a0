"""How the command speaks: messages, sizes, and strangers' names made harmless for a terminal."""

import sys

from ..errors import UnparallelError


def complain(error: UnparallelError) -> None:
    """Print an error and what to do about it."""
    print(printable(f"unparallel: {error}"), file=sys.stderr)
    if error.hint:
        print(printable(f"hint: {error.hint}"), file=sys.stderr)


def printable(text: str) -> str:
    """The text with control and direction characters of a stranger's names shown, not obeyed."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def size_text(size: int) -> str:
    """A number of bytes for people."""
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
