"""README.md and docs/: what they tell to run works, and prints what they show."""

import os
import re

import pytest

from . import pages

SECTIONS = [
    pytest.param(
        section,
        id=f"{section.page}-{section.title}",
        marks=[pytest.mark.slow] if section.page == "docs/many.md" else [],
    )
    for page in pages.pages()
    for section in pages.sections(page)
    if section.runs()
]


@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
@pytest.mark.parametrize("section", SECTIONS)
def test_what_a_section_tells_to_run_works(section, tmp_path, monkeypatch):
    pages.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    pages.run(section, section.runs(), tmp_path, {})


@pytest.mark.parametrize("page", pages.pages())
def test_every_block_is_run_or_says_why_not(page):
    for section in pages.sections(page):
        for block in section.blocks:
            directive = page.startswith("docs/") and block.language.startswith("{")
            assert directive or block.language in (*pages.RUN, "text", "json"), (page, block.line)
            assert block.note == "" or re.match(r"not run: \w|only on (k231|modern)$", block.note), (page, block.line)
    prose = pages.BLOCK.sub("", pages.read(page))
    assert "```" not in prose
    assert not re.search(r"\n\n    \S", prose), "an indented block, which nothing runs"
