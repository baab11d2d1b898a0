"""Pages in a real browser, where there is one: they show their text, and nothing is wider than the window."""

import importlib.util
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_spec = importlib.util.spec_from_file_location("make_pictures", os.path.join(ROOT, "docs", "make_pictures.py"))
assert _spec is not None
assert _spec.loader is not None
make_pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_pictures)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(make_pictures.browser() is None, reason="no Chromium here"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return {os.path.basename(path): path for path, _ in make_pictures.make(str(tmp_path_factory.mktemp("pages")))}


@pytest.mark.parametrize("width", make_pictures.WIDTHS)
@pytest.mark.parametrize("name", ["report.html", "card.html"])
def test_a_page_fits_its_window_and_shows_its_text(pages, name, width):
    content, window, text = make_pictures.check(pages[name], width)
    assert window == width
    assert content <= window
    assert text > 500


def test_what_does_not_fit_is_noticed(tmp_path):
    page = tmp_path / "wide.html"
    page.write_text("<!DOCTYPE html><body>" + "x" * 3000, encoding="utf-8")
    content, window, _ = make_pictures.check(str(page), 400)
    assert content > window


def test_a_picture_is_drawn(pages, tmp_path):
    png = str(tmp_path / "a.png")
    make_pictures.screenshot(pages["k224-cnn.svg"], png, 560, 690)
    # an empty page of this size is some 3 KB
    assert os.path.getsize(png) > 10_000
