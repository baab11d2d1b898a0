import json
import os
import re
import sys

import pytest

import unparallel
from unparallel.cli import main

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "fixtures")


def fixture(*parts):
    return os.path.join(FIXTURES, *parts)


def test_the_main_job_says_what_it_did(tmp_path, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([fixture("k224-cnn", "parallel.h5"), "-o", target]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert re.search(r"wrapper: +template '\w+', 2 replicas, 2 slices, 1 merge", said.out)
    assert re.search(r"verified: +\d+ arrays compared byte for byte", said.out)
    assert re.search(r"optimizer: +Adam kept", said.out)
    assert os.listdir(str(tmp_path)) == ["clean.h5"]


def test_without_a_target_nothing_is_written(tmp_path, capsys):
    assert main([fixture("k224-cnn", "parallel.h5")]) == 0
    assert "Keras 2.2.4" in capsys.readouterr().out


def test_a_single_model_is_exit_3(tmp_path, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([fixture("k224-plain", "model.h5"), "-o", target]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "unparallel: {}: a single model already: there is nothing to undo".format(fixture("k224-plain", "model.h5")),
        "hint: use it as it is",
    ]
    assert not os.path.exists(target)


def test_what_only_looks_parallel_is_exit_1_with_the_reason(tmp_path, capsys):
    target = str(tmp_path / "clean.h5")
    assert main([fixture("k224-siamese", "model.h5"), "-o", target]) == 1
    assert "not a data-parallel model" in capsys.readouterr().err
    assert not os.path.exists(target)


@pytest.mark.parametrize("form", [[], ["-o", "clean.h5"]])
def test_json_for_programs(tmp_path, capsys, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    assert main([fixture("k224-cnn", "parallel.h5"), "--json"] + form) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["keras_version"] == "2.2.4"
    assert facts["wrappers"][0]["replicas"] == 2


def test_quiet_prints_nothing(tmp_path, capsys):
    assert main([fixture("k224-cnn", "parallel.h5"), "-q", "-o", str(tmp_path / "c.h5")]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [[], ["--nonsense"], ["a.h5", "--architecture"]])
def test_a_usage_error_is_exit_2(words):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2


def test_the_version_names_the_libraries(capsys):
    assert main(["--version"]) == 0
    import h5py
    import networkx

    meant = "unparallel %s (h5py %s, networkx %s, Python %d.%d.%d)\n"
    versions = (unparallel.__version__, h5py.__version__, networkx.__version__, *sys.version_info[:3])
    assert capsys.readouterr().out == meant % versions


def test_a_name_cannot_drive_the_terminal(tmp_path, capsys):
    path = str(tmp_path / "\x1b[31mred\u202e.h5")
    assert main([path]) == 1
    assert "\x1b" not in capsys.readouterr().err
