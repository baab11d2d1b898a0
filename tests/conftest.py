"""Tests of real Keras stacks run only where one is installed: `nox -s legacy-k231` and its like say so."""

import os

collect_ignore = [] if os.environ.get("UNPARALLEL_STACK") else ["legacy", "modern"]
