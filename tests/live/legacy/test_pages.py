"""What README.md and docs/ say about live models does what it says, word for word."""

import pytest

from ... import pages
from . import stack

SECTIONS = [section for page in pages.pages() for section in pages.sections(page) if section.runs("k231")]
pytestmark = [
    pytest.mark.skipif(stack.NAME != "k231", reason="the examples are for Keras 2.3.1"),
    pytest.mark.timeout(240),
]


def run(section, folder, monkeypatch):
    """The names that its code leaves."""
    monkeypatch.chdir(folder)
    stack.fresh()
    space = {}
    pages.run(section, section.runs("k231"), folder, space)
    return space


@pytest.mark.parametrize("section", [item for item in SECTIONS if item.page != "README.md"], ids=lambda item: item.page)
def test_a_section_works(section, tmp_path, monkeypatch):
    assert run(section, tmp_path, monkeypatch)


def test_the_example_trains_on_two_gpus_and_resumes_on_one(tmp_path, monkeypatch):
    (section,) = [item for item in SECTIONS if item.page == "README.md"]
    resumed = run(section, tmp_path, monkeypatch)["single"]
    assert type(resumed).__name__ == "Sequential"
    assert resumed.history.epoch == [2, 3]
    # eight steps an epoch, two epochs of each
    assert stack.K.get_value(resumed.optimizer.iterations) == 4 * 8
