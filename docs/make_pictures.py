"""Look at what unparallel draws, in a real browser: screenshots of pictures, a notebook's card and the report.

    python docs/make_pictures.py FOLDER

writes the SVG and HTML files into FOLDER and, where Chromium or Chrome is on the PATH, a PNG of each beside it.
`check(page, width)` says how wide a page's content is in a window of that width, for the tests.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)

import unparallel  # noqa: E402
from unparallel.cli import main  # noqa: E402

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (400, 1200)
# A frame is as wide as it is told to be, which a window is not: no window of Chromium's is below 500 pixels.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><iframe id="f" width="{width}" height="2000"
style="border:0" src="{page}"></iframe><pre id="out"></pre><script>
document.getElementById("f").onload = function () {{
  var d = this.contentDocument.documentElement;
  document.getElementById("out").textContent = "content " + d.scrollWidth + " window " + d.clientWidth +
    " text " + this.contentDocument.body.innerText.length;
}};
</script></body>"""


def browser():
    """The path of a browser; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _run(words, timeout=90):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser(), *FLAGS, f"--user-data-dir={profile}", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            check=True,
        )
    return done.stdout.decode("utf-8")


def screenshot(page, png, width, height):
    """Write what a window of that size shows."""
    _run([f"--screenshot={png}", f"--window-size={width},{height}", f"file://{os.path.abspath(page)}"])


def check(page, width):
    """(width of the content, width of the window, characters of text) of a page in a window of that width."""
    page = os.path.abspath(page)
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=os.path.dirname(page)) as frame:
        frame.write(FRAME.format(width=width, page=os.path.basename(page)))
        frame.flush()
        dom = _run(
            ["--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom", f"file://{frame.name}"]
        )
    found = re.search(r"content (\d+) window (\d+) text (\d+)", dom)
    assert found is not None, dom[-300:]
    return tuple(map(int, found.groups()))


def make(folder):
    """Write the pages and pictures; return their paths with the sizes of the windows that show them."""
    os.makedirs(folder, exist_ok=True)
    fixtures = os.path.join(HERE, "fixtures")
    made = []
    for name in ("k224-cnn", "k231-two-outputs", "k231-around"):
        path = os.path.join(folder, name + ".svg")
        seen = unparallel.inspect(os.path.join(fixtures, name, "parallel.h5"))
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(seen.picture())
        size = re.search(r'width="([\d.]+)" height="([\d.]+)" role', seen.picture())
        made.append((path, [(int(float(size.group(1))) + 1, int(float(size.group(2))) + 1)]))
    refused = unparallel.inspect(os.path.join(fixtures, "k224-siamese", "model.h5"))
    card = os.path.join(folder, "card.html")
    with open(card, "w", encoding="utf-8") as handle:
        handle.write('<!DOCTYPE html><meta charset="utf-8">' + seen._repr_html_() + refused._repr_html_())
    made.append((card, [(width, 1400) for width in WIDTHS]))
    report = os.path.join(folder, "report.html")
    main([fixtures, "--report", report, "-q"])
    made.append((report, [(width, 2000) for width in WIDTHS]))
    return made


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path, sizes in make(sys.argv[1]):
        print(path)
        for width, height in sizes if browser() else ():
            png = f"{os.path.splitext(path)[0]}-{width}.png"
            screenshot(path, png, width, height)
            print(png)
