"""Results that show themselves: as text, in a notebook, as JSON values, as a picture, as warnings."""

import os
import pickle
import shutil
import warnings
import xml.etree.ElementTree as ElementTree

import h5py
import pytest

import unparallel
from unparallel.cli import main
from unparallel.errors import FileError, TargetExistsError

from . import tiny

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures")


def fixture(*names):
    return os.path.join(FIXTURES, *names)


CNN = fixture("k224-cnn", "parallel.h5")


@pytest.fixture
def broken(tmp_path):
    path = str(tmp_path / "broken.h5")
    shutil.copy(CNN, path)
    with h5py.File(path, "r+") as handle:
        handle["model_weights/digits/norm/moving_mean:0"][...] = float("nan")
    return path


# -- text


def test_an_inspection_prints_what_the_command_prints(capsys):
    assert main([CNN]) == 0
    assert capsys.readouterr().out == f"{unparallel.inspect(CNN)}\n"


def test_a_conversion_prints_what_the_command_prints(tmp_path, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([CNN, "-o", target]) == 0
    said = capsys.readouterr().out
    assert said == f"{unparallel.convert(CNN, target, overwrite=True)}\n"


def test_names_cannot_drive_a_terminal(tmp_path):
    layer = tiny.dense("red\x1b[31m\u202e", "x")
    path = tiny.save(tmp_path / "a.h5", tiny.TinyModel("m", (tiny.entry("x", 3), layer), ("x",), (layer.name,)))
    text = str(unparallel.inspect(path))
    assert "red\\x1b[31m\\u202e" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("k224-cnn", "written by Keras 2.2.4"),
        # fixtures/README.md: which TensorFlow made them
        ("tf115-nested", "written by Keras 2.2.4-tf (TensorFlow 1.15 or 2.0)"),
        ("tf23-sequential", "written by Keras 2.4.0 (TensorFlow 2.3 or 2.4)"),
        ("tf25-copy", "written by Keras 2.5.0 (TensorFlow 2.5)"),
    ],
)
def test_tensorflow_is_named_where_it_wrote_the_file(name, line):
    assert str(unparallel.inspect(fixture(name, "parallel.h5"))).splitlines()[0].endswith(line)


def test_many_layers_are_not_many_pages(tmp_path):
    layers = [tiny.entry("x", 3)]
    for i in range(99):
        layers.append(tiny.dense(f"d{i}", layers[-1].name))
    path = tiny.save(tmp_path / "a.h5", tiny.TinyModel("m", tuple(layers), ("x",), ("d98",)))
    text = str(unparallel.inspect(path))
    # 30 first and 10 last of 100; 60 layers of 3 x 3 + 3
    assert "  ... 60 more layers with 720 parameters (--json lists all)" in text
    assert "d28 " in text
    assert "d29 " not in text
    assert "d88 " not in text
    assert "d89 " in text


def test_no_estimate_where_hdf5_itself_is_most_of_the_file():
    assert "size:      35.5 KB" in str(unparallel.inspect(CNN)).splitlines()


# -- a notebook


def cells(text):
    """The text of an HTML fragment's elements; that it parses at all is the first test."""
    root = ElementTree.fromstring("<div>" + text.replace("<details open>", "<details>") + "</div>")
    return [element.text for element in root.iter() if element.text and element.text.strip()], root


def test_the_card_of_a_conversion_tells_the_facts(tmp_path, broken):
    done = unparallel.convert(broken, str(tmp_path / "clean.h5"))
    texts, root = cells(done._repr_html_())
    pairs = dict(zip(texts, texts[1:]))
    assert texts[1] == "converted"
    assert pairs["template"] == "digits"
    assert pairs["wrapper"] == "2 replicas, 2 slices, 1 merge"
    assert pairs["parameters"] == "133"
    assert pairs["verified"] == "9 arrays, byte for byte"
    assert any("'norm/moving_mean:0' holds 3 NaN" in text for text in texts)
    assert "rows n//2 to n" in texts
    assert not [element for element in root.iter() if element.tag.rpartition("}")[2] in ("script", "a", "img", "link")]


def test_the_card_of_a_refusal_tells_the_reason():
    seen = unparallel.inspect(fixture("k224-siamese", "model.h5"))
    texts, _ = cells(seen._repr_html_())
    assert texts[1] == "refused"
    assert seen.reason in texts
    assert seen.hint in texts


def test_a_stranger_cannot_put_html_into_a_card(tmp_path):
    name = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    layer = tiny.dense(name.replace("/", ""), "x")
    path = tiny.save(tmp_path / "a.h5", tiny.TinyModel(name, (tiny.entry("x", 3), layer), ("x",), (layer.name,)))
    text = unparallel.inspect(path)._repr_html_()
    assert "<script" not in text
    assert "<img" not in text
    cells(text)


# -- values


def test_results_as_json_values_are_marked_with_their_form(tmp_path):
    seen = unparallel.inspect(CNN).to_dict()
    assert (seen["format"], seen["kind"], seen["verdict"]) == (1, "inspection", "parallel")
    assert [layer["name"] for layer in seen["layers"]][:2] == ["image", "stem"]
    # 3 x 3 x 2 x 3 numbers of four bytes
    assert seen["layers"][1]["bytes"] == 216
    assert "drawn" not in seen
    done = unparallel.convert(CNN, str(tmp_path / "clean.h5")).to_dict()
    assert (done["format"], done["kind"], done["parameters"]) == (1, "conversion", 133)


def test_a_result_survives_pickling_with_its_picture():
    seen = unparallel.inspect(CNN)
    again = pickle.loads(pickle.dumps(seen))
    assert again == seen
    assert again.picture() == seen.picture()


def test_a_picture_of_a_weights_file_needs_the_architecture():
    path = fixture("k231-two-outputs", "parallel_weights.h5")
    architecture = fixture("k231-two-outputs", "architecture.json")
    with pytest.raises(unparallel.UnparallelError, match="nothing to draw"):
        unparallel.inspect(path).picture()
    assert "<svg" in unparallel.inspect(path, architecture=architecture).picture()


# -- warnings, errors, arguments


def test_python_is_warned_at_the_line_that_called(tmp_path, broken):
    with pytest.warns(unparallel.UnparallelWarning, match="'norm/moving_mean:0' holds 3 NaN") as caught:
        done = unparallel.convert(broken, str(tmp_path / "clean.h5"))
    assert len(caught) == len(done.warnings)
    assert {item.filename for item in caught} == {__file__}
    with pytest.warns(unparallel.UnparallelWarning, match="broken.h5: ") as caught:
        unparallel.inspect(broken)
    assert {item.filename for item in caught} == {__file__}


def test_the_command_warns_once(tmp_path, broken, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([broken, "-o", str(tmp_path / "clean.h5")]) == 0
        assert main([broken]) == 0
    assert capsys.readouterr().err.count("holds 3 NaN") == 2


def test_an_error_shows_what_to_do(tmp_path):
    target = tmp_path / "clean.h5"
    target.write_bytes(b"mine")
    with pytest.raises(TargetExistsError) as caught:
        unparallel.convert(CNN, target)
    assert str(caught.value) == f"{target}: exists\nhint: --overwrite (overwrite=True) replaces it"


def test_the_text_of_to_json_is_an_architecture():
    with open(fixture("k231-two-outputs", "architecture.json"), encoding="utf-8") as handle:
        text = handle.read()
    seen = unparallel.inspect(fixture("k231-two-outputs", "parallel_weights.h5"), architecture=text)
    assert (seen.verdict, seen.template) == ("parallel", "offers")
    with pytest.raises(unparallel.UnparallelError, match="the architecture"):
        unparallel.inspect(CNN, architecture="{ no JSON")


def test_what_dir_offers_is_the_interface():
    assert set(dir(unparallel)) - set(unparallel.__all__) == {"__all__", "__doc__", "__version__"}


# -- pictures from the command


@pytest.mark.parametrize(("name", "start"), [("a.svg", "<svg"), ("a.mmd", "flowchart TD"), ("a.dot", "digraph")])
def test_the_ending_names_the_format(tmp_path, name, start):
    path = str(tmp_path / name)
    assert main([CNN, "--picture", path, "-q"]) == 0
    with open(path, encoding="utf-8") as handle:
        assert handle.read().startswith(start)


def test_a_picture_comes_with_a_conversion(tmp_path):
    target, path = str(tmp_path / "clean.h5"), str(tmp_path / "a.svg")
    assert main([CNN, "-o", target, "--picture", path, "-q"]) == 0
    assert os.path.exists(target)
    assert os.path.exists(path)


def test_an_ending_of_no_picture_is_refused_before_any_work(tmp_path, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([CNN, "-o", target, "--picture", str(tmp_path / "a.png")]) == 1
    assert "hint: name a file that ends in .svg, .mmd or .dot" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_no_file_is_replaced_unasked(tmp_path, capsys):
    path = tmp_path / "a.svg"
    path.write_bytes(b"mine")
    assert main([CNN, "--picture", str(path)]) == 1
    assert path.read_bytes() == b"mine"
    assert main([CNN, "--picture", str(path), "--overwrite", "-q"]) == 0
    assert path.read_bytes().startswith(b"<svg")


def test_files_are_errors_of_files():
    with pytest.raises(FileError):
        unparallel.compare("nowhere.h5", CNN)


# -- small things that mislead


@pytest.mark.parametrize("made", [False, True])
def test_a_target_that_is_a_folder_is_one_for_one_file_too(tmp_path, made):
    folder = tmp_path / "clean"
    if made:
        folder.mkdir()
    assert main([CNN, "-o", str(folder) + ("" if made else "/"), "-q"]) == 0
    assert os.listdir(folder) == ["parallel.h5"]


def test_a_siamese_network_is_told_what_joins_it():
    reason = unparallel.inspect(fixture("k224-siamese", "model.h5")).reason
    assert reason.endswith("and 'codes' joins them along axis -1, not along the batch")


def test_an_architecture_beside_the_weights_is_offered_and_not_used(tmp_path):
    weights = str(tmp_path / "weights.h5")
    shutil.copy(fixture("k231-two-outputs", "parallel_weights.h5"), weights)
    shutil.copy(fixture("k224-cnn", "template.h5"), tmp_path / "other.h5")
    assert "beside" not in unparallel.inspect(weights).hint
    shutil.copy(fixture("k231-two-outputs", "architecture.json"), tmp_path / "model.json")
    seen = unparallel.inspect(weights)
    assert seen.verdict == "refused"
    assert seen.hint.startswith(f"model.json beside it fits: --architecture {tmp_path / 'model.json'}; otherwise ")
    with pytest.raises(unparallel.UnparallelError, match="model.json beside it fits"):
        unparallel.convert(weights, tmp_path / "clean.h5")
