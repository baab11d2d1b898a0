"""Pictures: what they say, that they stay small and harmless, and that nothing in them overlaps."""

import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from unparallel import hdf5, keras_config
from unparallel.errors import UnparallelError
from unparallel.pictures import Subject, draw, picture_of
from unparallel.pictures.folding import MOST
from unparallel.pictures.layout import LONGEST_NOTE, LONGEST_TEXT, place
from unparallel.reader import read

from .. import tiny

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = sorted(glob.glob(os.path.join(ROOT, "fixtures", "*", "parallel.h5")))


def subject(path: str, reason: str = "") -> Subject:
    with hdf5.open_source(path) as opened:
        model = read(opened)
    assert model.topology is not None
    return Subject(os.path.basename(path), model.topology, reason=reason)


def fixture(name: str) -> Subject:
    return subject(os.path.join(ROOT, "fixtures", name, "parallel.h5"))


def of(model: tiny.TinyModel, reason: str = "") -> Subject:
    return Subject(model.name, keras_config.parse(model.config()), reason=reason)


def plain(name: str, class_name: str, *before: str) -> tiny.TinyLayer:
    return tiny.TinyLayer(name, class_name, {"name": name, "trainable": True}, (before,))


def lines(panel):
    return [(box.title, box.note, box.role) for box in panel.boxes]


def links(panel):
    return [(panel.boxes[arrow.start].title, panel.boxes[arrow.end].title, arrow.cut) for arrow in panel.arrows]


# -- what is said


def test_before_and_after_of_two_gpus() -> None:
    (section,) = picture_of(fixture("k224-cnn")).sections
    assert lines(section.before) == [
        ("image", "InputLayer", "input"),
        ("lambda_1", "rows 0 to n//2", "cut"),
        ("lambda_2", "rows n//2 to n", "cut"),
        ("digits on GPU 1", "7 layers", "template"),
        ("digits on GPU 2", "7 layers", "template"),
        ("label", "joins the batch again", "cut"),
    ]
    assert links(section.before) == [
        ("image", "lambda_1", True),
        ("image", "lambda_2", True),
        ("lambda_1", "digits on GPU 1", True),
        ("lambda_2", "digits on GPU 2", True),
        ("digits on GPU 1", "label", True),
        ("digits on GPU 2", "label", True),
    ]
    assert section.after is not None
    assert [box.title for box in section.after.boxes] == ["image", "stem", "norm", "relu", "body", "pool", "label"]
    assert not any(arrow.cut for arrow in section.after.arrows)


def test_slices_of_two_inputs_share_a_box_per_gpu() -> None:
    (section,) = picture_of(fixture("k231-two-outputs")).sections
    notes = [box.note for box in section.before.boxes if box.title.startswith("lambda")]
    assert notes == ["rows 0 to n//3", "rows n//3 to 2*(n//3)", "rows 2*(n//3) to n"]


def test_the_proof_is_said_in_words() -> None:
    proof = picture_of(fixture("k224-cnn")).proof
    assert proof[0] == "the slices take rows 0 to n//2; rows n//2 to n: every row once and in order, by their code"


def test_a_wrapper_inside_a_model_has_a_section_of_its_own() -> None:
    (section,) = picture_of(fixture("k231-around")).sections
    assert section.title == "inside model 'model_1'"
    assert section.after is not None
    assert [box.title for box in section.after.boxes] == ["inner", "work"]


def test_eight_gpus_are_four_columns() -> None:
    template = tiny.TinyModel("t", (tiny.entry("x", 3), tiny.dense("y", "x")), ("x",), ("y",))
    (section,) = picture_of(of(tiny.parallel(template, 8))).sections
    towers = [(box.title, box.note) for box in section.before.boxes if box.role == "template"]
    assert towers == [
        ("t on GPU 1", "2 layers"),
        ("t on GPU 2", "2 layers"),
        ("t on GPUs 3 to 7", "2 layers, x 5"),
        ("t on GPU 8", "2 layers"),
    ]
    slices = [box.note for box in section.before.boxes if box.note.startswith("rows")]
    assert slices[2] == "rows 2*(n//8) to 7*(n//8)"


def test_what_a_refusal_speaks_of_is_marked() -> None:
    path = os.path.join(ROOT, "fixtures", "k224-siamese", "model.h5")
    picture = picture_of(subject(path, "layer 'lambda_1' takes what looks like a part of the batch"))
    (section,) = picture.sections
    assert section.after is None
    assert [box.title for box in section.before.boxes if box.role == "doubt"] == ["lambda_1"]
    assert [box.title for box in section.before.boxes].count("encoder") == 2


# -- folding


def model_of(*layers: tiny.TinyLayer) -> tiny.TinyModel:
    used = {name for layer in layers for names in layer.inputs for name in names}
    ends = tuple(layer.name for layer in layers if layer.name not in used)
    return tiny.TinyModel("m", layers, ("x",), ends)


def test_a_long_chain_is_one_box() -> None:
    layers = [tiny.entry("x", 3)]
    for i in range(5000):
        layers.append(plain(f"a{i}", "Activation", layers[-1].name))
    (section,) = picture_of(of(model_of(*layers))).sections
    assert [(box.title, box.note) for box in section.before.boxes] == [
        ("x", "InputLayer"),
        ("a0 … a4999", "Activation x 5,000"),
    ]


def test_equal_branches_are_one_box() -> None:
    branches = [plain(f"b{i}", "Activation", "x") for i in range(300)]
    join = plain("join", "Concatenate", *[layer.name for layer in branches])
    (section,) = picture_of(of(model_of(tiny.entry("x", 3), *branches, join))).sections
    assert [box.note for box in section.before.boxes] == ["InputLayer", "Activation; x 300", "Concatenate"]


def test_repeated_blocks_are_drawn_once() -> None:
    layers = [tiny.entry("x", 3)]
    for stage, blocks in enumerate((3, 4)):
        for block in range(blocks):
            name, before = f"{stage}{block}", layers[-1].name
            path = plain("a" + name, "Activation", before)
            side = [plain("s" + name, "Dropout", before)] if block == 0 else []
            layers += [path, *side, plain("j" + name, "Add", path.name, side[0].name if side else before)]
    (section,) = picture_of(of(model_of(*layers))).sections
    panel = section.before
    assert panel.repeats == (2, 3)
    # by stage: a block with a side path, and the repeated one
    assert [box.title for box in panel.boxes] == [
        "x",
        "a00",
        "s00",
        "j00",
        "a01",
        "j01",
        "a10",
        "s10",
        "j10",
        "a11",
        "j11",
    ]
    assert [box.repeat for box in panel.boxes] == [-1, -1, -1, -1, 0, 0, -1, -1, -1, 1, 1]
    assert ("j01", "a10", False) in links(panel)


def test_a_tangle_is_cut_in_the_middle() -> None:
    layers = [tiny.entry("x", 3), plain("n0", "Dropout", "x")]
    for i in range(1, 1000):  # reads one that is near and one that is far, so that nothing folds
        layers.append(plain(f"n{i}", "Add", layers[-1].name, layers[(i * 7919) % (len(layers) - 1)].name))
    (section,) = picture_of(of(model_of(*layers))).sections
    assert len(section.before.boxes) == MOST
    # 1,001 calls less the 119 that have a box
    assert [box.note for box in section.before.boxes if box.title == "..."] == ["882 more layers"]


# -- layout


def overlapping(rects):
    return [
        (a, b)
        for i, a in enumerate(rects)
        for b in rects[:i]
        if a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.bottom and b.y < a.bottom
    ]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: os.path.basename(os.path.dirname(path)))
def test_nothing_overlaps_and_arrows_lead_down(path: str) -> None:
    for section in picture_of(subject(path)).sections:
        for panel in filter(None, (section.before, section.after)):
            layout = place(panel)
            assert overlapping(layout.boxes) == []
            for route in layout.routes:
                heights = [y for _, y in route]
                assert heights == sorted(heights)
                assert heights[0] < heights[-1]


def test_towers_begin_where_their_layers_do() -> None:
    root = ElementTree.fromstring(draw(fixture("k224-cnn")))
    tops = {}
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        texts = [text.text for text in group.iter("{http://www.w3.org/2000/svg}text")]
        for rect in group.iter("{http://www.w3.org/2000/svg}rect"):
            tops.update((text, float(rect.attrib["y"])) for text in texts)
    assert tops["digits on GPU 1"] == tops["digits on GPU 2"] == tops["stem"]


# -- a stranger's names

NASTY = '</text></svg><script>alert(1)</script>"]; click x "javascript:alert(1)" \x00\x1b[31m\u202e&amp;'


def nasty() -> Subject:
    long = "n" * 1000
    layers = (tiny.entry("x", 3), tiny.dense(NASTY, "x"), plain(long, "<a href='http://e.vil'>", NASTY))
    return of(tiny.TinyModel(NASTY, layers, ("x",), (long,)), reason=f"layer {NASTY!r} is odd")


def test_svg_of_hostile_names_holds_text_only() -> None:
    text = draw(nasty())
    root = ElementTree.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "style", "rect", "text", "g", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or "href" in name]
    # one address, and that is the name of the format
    assert re.findall(r"[a-z]+://[^\"' <]+", text.replace("http://e.vil", "")) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in text
    assert len(text) < 10_000
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_mermaid_of_hostile_names_keeps_to_its_labels() -> None:
    text = draw(nasty(), "mmd")
    for line in text.splitlines():
        assert line.count('"') in (0, 2), line
    label = re.search(r'n1\["(.*)<br/>Dense"\]', text)
    assert label is not None
    assert "<" not in label.group(1)
    assert re.sub(r"#(\d+);", lambda found: chr(int(found.group(1))), label.group(1)).startswith(
        "</text></svg><script>"
    )


def test_dot_of_hostile_names_keeps_to_its_labels() -> None:
    text = draw(nasty(), "dot")
    for line in text.splitlines():
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) % 2 == 0, line
    # nothing between the labels but the language's own words
    outside = re.sub(r'"(?:\\.|[^"\\])*"', "", text)
    assert "click" not in outside
    assert "script" not in outside


def test_long_texts_are_shortened() -> None:
    root = ElementTree.fromstring(draw(nasty()))
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert max(map(len, texts)) <= 150
    in_boxes = [
        text.text or ""
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        for text in group
        if text.tag.endswith("}text")
    ]
    assert max(map(len, in_boxes)) <= max(LONGEST_TEXT, LONGEST_NOTE)


# -- the same everywhere


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "mmd", "dot"])
def test_the_same_file_gives_the_same_bytes(kind: str) -> None:
    code = (
        "import sys; from tests.pictures.test_pictures import *; "
        f"sys.stdout.write(ascii(draw(fixture('k231-two-outputs'), {kind!r})))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=ROOT,
            env=dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=ROOT),
            stdout=subprocess.PIPE,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {ascii(draw(fixture("k231-two-outputs"), kind)).encode()}


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UnparallelError, match="not a picture format") as caught:
        draw(fixture("k224-cnn"), "png")
    assert ".svg" in caught.value.hint
