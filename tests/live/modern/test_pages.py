"""What the pages say about tf_keras, Keras 3, ONNX and TensorFlow Lite."""

import pytest

from ... import pages

SECTIONS = [(page, [section for section in pages.sections(page) if section.runs("modern")]) for page in pages.pages()]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("page", "found"), [pair for pair in SECTIONS if pair[1]])
def test_a_page_is_right_from_top_to_bottom(page, found, tmp_path, monkeypatch):
    pages.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    space = {}
    for section in found:
        pages.run(section, section.runs("modern"), tmp_path, space)
