"""`python -m unparallel` is the command `unparallel`."""

from .cli import console

if __name__ == "__main__":
    console()
