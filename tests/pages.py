"""Runs what stands in the fenced blocks of README.md and of the pages in docs/.

`sh` blocks are run, and must succeed; a `text` block that follows is what they print.  In `console` blocks the lines
after `$ ` are run, and the others are what they print; `# exit code 3` at the end of a command says that it is no
success.  `python` blocks are executed, one after another in one namespace; sessions (`>>>`) are doctests.  `...` in
what is printed stands for anything.  A section (`##`) begins in a new folder, with files to convert in it.

A comment before a block changes this: `<!-- not run: REASON -->`, and `<!-- only on k231 -->`, the name of a stack
of Keras on which `tests/live` runs it.
"""

import contextlib
import doctest
import io
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple

from unparallel.cli import main

from .processes import ROOT

BLOCK = re.compile(r"^(?:<!-- (?P<note>[^\n]*) -->\n\n?)?```(?P<language>[^\s`]*)\n(?P<text>.*?)^```$", re.M | re.S)
RUN = ("sh", "console", "python")
INSTALL = re.compile(r"^(?:python -m )?pip install [^&]*?(?:&& |$)", re.M)
EXIT_CODE = re.compile(r" +# exit code (\d+)$")
SIZE = re.compile(r"[\d.]+ [KM]B\b")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    line: int
    language: str
    text: str
    note: str
    follows: bool  # on another block, with nothing between


class Section(NamedTuple):
    page: str
    title: str
    blocks: List[Block]

    def runs(self, stack: str = "") -> List[Block]:
        """The blocks to run, on a stack of Keras or where there is none."""
        note = f"only on {stack}" if stack else ""
        return [block for block in self.blocks if block.note == note]


def pages() -> List[str]:
    docs = os.path.join(ROOT, "docs")
    found = os.listdir(docs) if os.path.isdir(docs) else []
    return ["README.md"] + [f"docs/{name}" for name in sorted(found) if name.endswith(".md")]


def read(page: str) -> str:
    with open(os.path.join(ROOT, page), encoding="utf-8") as handle:
        return handle.read()


def sections(page: str) -> List[Section]:
    found, line = [], 1
    for text in re.split(r"^(?=## )", read(page), flags=re.M):
        title = text.partition("\n")[0].strip("# ")
        found.append(Section(page, title, list(_blocks(text, line))))
        line += text.count("\n")
    return found


def _blocks(text: str, first: int) -> Any:
    end = -1
    for match in BLOCK.finditer(text):
        line = first + text.count("\n", 0, match.start("text"))
        follows = end >= 0 and not text[end : match.start()].strip()
        yield Block(line, match.group("language"), match.group("text"), match.group("note") or "", follows)
        end = match.end()


def prepare(folder: Any) -> None:
    """The files that the pages speak of."""
    fixtures = os.path.join(ROOT, "fixtures")
    os.symlink(fixtures, str(folder / "fixtures"))
    for name, source in [
        ("model.h5", "k224-cnn/parallel.h5"),
        ("template.h5", "k224-cnn/template.h5"),
        ("siamese.h5", "k224-siamese/model.h5"),
        ("single.h5", "k224-plain/model.h5"),
        ("weights.h5", "k216-weights/parallel_weights.h5"),
        ("model.json", "k216-weights/architecture.json"),
        ("runs/a/epoch-1.h5", "k224-cnn/parallel.h5"),
        ("runs/a/epoch-2.h5", "k231-two-outputs/parallel.h5"),
        ("runs/b/epoch-1.h5", "tf23-sequential/parallel.h5"),
        ("runs/b/plain.h5", "k224-plain/model.h5"),
    ]:
        os.makedirs(os.path.dirname(str(folder / name)), exist_ok=True)
        shutil.copy(os.path.join(fixtures, source), str(folder / name))
    formats = os.path.join(fixtures, "tf115-formats")
    for name in ("architecture.json", "checkpoint", "saver", "saved_model"):
        copied = shutil.copytree if os.path.isdir(os.path.join(formats, name)) else shutil.copy
        copied(os.path.join(formats, name), str(folder / name))
    for name in ("checkpoint", "saver"):
        for path in (folder / name).iterdir():
            shutil.move(str(path), str(folder))
        (folder / name).rmdir()
    for packed in [*folder.glob("*.xz"), *folder.glob("saved_model/*.xz")]:
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
    (folder / "bin").mkdir()
    command = folder / "bin" / "unparallel"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(ROOT)} exec "{sys.executable}" -m unparallel "$@"\n')
    command.chmod(0o755)


def run(section: Section, blocks: List[Block], folder: Any, space: Dict[str, Any]) -> None:
    """Run blocks of a section in a folder that is prepared and current."""
    printed = ""
    for block in blocks:
        where = f"{section.page}:{block.line}"
        if block.language == "sh":
            printed = "".join(_command(line, folder, where) for line in _commands(block.text))
        elif block.language == "console":
            _console(block, folder, where)
        elif block.language == "python":
            _python(block, where, space)
        elif block.language == "text" and block.follows:
            _compare(block.text, printed, where)


def _commands(text: str) -> List[str]:
    """Each line on its own where that is possible; a loop or a pipe over several lines is one."""
    lines = [line for line in INSTALL.sub("", text).splitlines() if line.strip() and not line.startswith("#")]
    return lines if all(_is_simple(line) for line in lines) else ["\n".join(lines)] if lines else []


def _is_simple(line: str) -> bool:
    return line.startswith("unparallel ") and not re.search(r"[\n|&;<>$`*\\]", EXIT_CODE.sub("", line))


def _command(text: str, folder: Any, where: str) -> str:
    """Run it, and give what it prints; the command itself in this process, which is far faster."""
    expected = EXIT_CODE.search(text)
    text = EXIT_CODE.sub("", text)
    if _is_simple(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                code = main(shlex.split(text, comments=True)[1:])
            except SystemExit as end:  # what argparse refuses
                code = end.code
        printed = out.getvalue()
    else:
        path = os.pathsep.join([str(folder / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, PATH=path),
            timeout=100,
        )
        code, printed = done.returncode, done.stdout.decode()
    assert code == (int(expected.group(1)) if expected else 0), f"{where}: {text}: exit code {code}\n{printed}"
    return printed


def _console(block: Block, folder: Any, where: str) -> None:
    for piece in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, expected = piece.partition("\n")
        _compare(expected, _command(INSTALL.sub("", command), folder, where), where)


def _python(block: Block, where: str, space: Dict[str, Any]) -> None:
    if ">>>" not in block.text:
        exec(compile("\n" * block.line + block.text, where, "exec"), space)
        return
    test = doctest.DocTestParser().get_doctest(block.text, space, where, where, block.line)
    said: List[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)


def _compare(expected: str, printed: str, where: str) -> None:
    # each version of HDF5 writes files of another size
    sides = [SIZE.sub("SIZE", text) for text in (expected, printed)]
    same = doctest.OutputChecker().check_output(*sides, FLAGS)
    assert same, f"{where}: it prints\n{printed}\nand not\n{expected}"
