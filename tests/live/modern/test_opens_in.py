"""What is said of where a clean file opens, against tf_keras and Keras 3 themselves."""

import glob
import os

import pytest

from ...display.test_opens_in import said_of
from ...processes import ROOT
from .flavours import FLAVOURS

GOLD = sorted(glob.glob(os.path.join(ROOT, "fixtures", "*", "template.h5")))
CONFORMANCE = os.environ.get("UNPARALLEL_CONFORMANCE")
if CONFORMANCE:
    GOLD += sorted(glob.glob(os.path.join(CONFORMANCE, "cases", "**", "template.h5"), recursive=True))


@pytest.mark.parametrize("name", sorted(FLAVOURS))
@pytest.mark.timeout(900)
def test_the_frameworks_agree(name):
    """Load each gold file as the line says it can be loaded, and see the others fail."""
    framework = FLAVOURS[name]
    wrong = []
    for path in GOLD:
        said = said_of(path)
        if "custom_objects" in said:
            continue
        opening = said.partition("; not in ")[0]
        expected = ("tf_keras" if name == "tf_keras" else "Keras 3") in opening
        try:
            framework.models.load_model(path, compile=False)
            opened = True
        except Exception:  # noqa: BLE001  a framework may fail as it likes
            opened = False
        if opened != expected:
            wrong.append((path, said))
        framework.backend.clear_session()
    assert wrong == []
