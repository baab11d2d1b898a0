"""The README's section on live models does what it says, word for word."""

import os
import re

import pytest

from . import stack

README = os.path.join(os.path.dirname(__file__), "..", "..", "..", "README.md")


@pytest.mark.skipif(stack.NAME != "k231", reason="the example is for Keras 2.3.1")
@pytest.mark.timeout(240)
def test_the_example_trains_on_two_gpus_and_resumes_on_one(tmp_path, monkeypatch):
    with open(README, encoding="utf-8") as handle:
        section = handle.read().partition("## On a live model")[2]
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    stack.fresh()
    space = {}
    exec(compile(example, "README.md", "exec"), space)
    resumed = space["single"]
    assert type(resumed).__name__ == "Sequential"
    assert resumed.history.epoch == [2, 3]
    # eight steps an epoch, two epochs of each
    assert stack.K.get_value(resumed.optimizer.iterations) == 4 * 8
