"""The README's section on live models does what it says, word for word."""

import pytest

from ... import pages
from . import stack


@pytest.mark.skipif(stack.NAME != "k231", reason="the example is for Keras 2.3.1")
@pytest.mark.timeout(240)
def test_the_example_trains_on_two_gpus_and_resumes_on_one(tmp_path, monkeypatch):
    (section,) = [section for section in pages.sections("README.md") if section.runs("k231")]
    monkeypatch.chdir(tmp_path)
    stack.fresh()
    space = {}
    pages.run(section, section.runs("k231"), tmp_path, space)
    resumed = space["single"]
    assert type(resumed).__name__ == "Sequential"
    assert resumed.history.epoch == [2, 3]
    # eight steps an epoch, two epochs of each
    assert stack.K.get_value(resumed.optimizer.iterations) == 4 * 8
