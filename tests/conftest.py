"""How thorough the tests are: `pytest` is quick, `pytest -m "" --hypothesis-profile=full` is thorough.

Tests on a real Keras run only where one is set up: `nox -s legacy-k231`, `nox -s modern`.
"""

import os

from hypothesis import HealthCheck, settings

for _name, _examples in [("quick", 20), ("full", 200)]:
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
settings.load_profile("quick")

# These folders import a Keras; UNPARALLEL_STACK says which one is there.
_STACK = os.environ.get("UNPARALLEL_STACK", "")
collect_ignore = [
    os.path.join("live", folder)
    for folder in ("legacy", "modern", "keras3")
    if folder != {"": "", "modern": "modern", "keras3": "keras3"}.get(_STACK, "legacy")
]
