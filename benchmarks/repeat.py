"""The same file again and again in one process, as a batch's worker has it: repeat.py SOURCE TARGET COUNT."""

import sys
import warnings

import unparallel

if __name__ == "__main__":
    warnings.simplefilter("ignore", unparallel.UnparallelWarning)
    for _ in range(int(sys.argv[3])):
        unparallel.convert(sys.argv[1], sys.argv[2], overwrite=True)
