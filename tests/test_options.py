"""One value for the options, from the command's flags and `convert`'s keywords to the report."""

import inspect
from dataclasses import fields, replace

import numpy
import pytest

import unparallel
from unparallel.cli import _parsed
from unparallel.options import ConvertOptions, definition, definitions

CHANGED = {
    "optimizer": False,
    "weights_only": True,
    "verify": False,
    "architecture": "a.json",
    "trust_slices": True,
    "scan": False,
    "strict": True,
    "reset_batchnorm": True,
    "define": {"T": 4},
}


def test_the_command_fills_what_convert_takes():
    assert ConvertOptions.of(vars(_parsed(["m.h5", "-o", "c.h5"]))) == ConvertOptions()
    flags = ["--no-optimizer", "--weights-only", "--no-verify", "--architecture", "a.json"]
    flags += ["--trust-slices", "--no-scan", "--strict", "--reset-batchnorm", "--define", "T=4"]
    given = ConvertOptions.of(vars(_parsed(["m.h5", "-o", "c.h5", *flags])))
    assert {name: getattr(given, name) for name in CHANGED} == CHANGED


@pytest.mark.parametrize("function", [unparallel.convert, unparallel.convert_many])
def test_help_shows_the_options(function):
    shown = inspect.signature(function).parameters
    for item in fields(ConvertOptions):
        assert shown[item.name].default == item.default
        assert shown[item.name].kind == inspect.Parameter.KEYWORD_ONLY
    assert not [item for item in shown.values() if item.kind is item.VAR_KEYWORD]
    with pytest.raises(TypeError, match="optimiser"):
        function("m.h5", "c.h5", optimiser=False)


def test_the_digest_tells_options_that_decide_what_is_written():
    plain = ConvertOptions()
    deciding = {name for name, value in CHANGED.items() if replace(plain, **{name: value}).digest() != plain.digest()}
    assert deciding == {"optimizer", "weights_only", "architecture", "reset_batchnorm", "define"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("T=4", 4), ("T=-0.5", -0.5), ("T=1e3", 1000.0), ("T=[1, 2.5]", [1, 2.5]), ("T=[[1],[2]]", [[1], [2]])],
)
def test_a_definition(text, value):
    assert definition(text) == ("T", value)


def test_a_definition_of_an_attribute():
    assert definition("cfg.T=4") == ("cfg.T", 4)


NO_DEFINITIONS = {
    "T": "'T' is not NAME=NUMBER or NAME=[NUMBER, ...]",
    "T=": "'' is no number and no list of numbers, as JSON has them",
    "T=x": "'x' is no number and no list of numbers, as JSON has them",
    "T=[1, 2": "'[1, 2' is no number and no list of numbers, as JSON has them",
    "T=" + "[" * 100_000: "is no number and no list of numbers, as JSON has them",
    "T=" + "[" * 40 + "]" * 40: "T is to be a finite number or a list of numbers, not [[",
    "T=true": "T is to be a finite number or a list of numbers, not True",
    "T=NaN": "T is to be a finite number or a list of numbers, not nan",
    'T={"a": 1}': "T is to be a finite number or a list of numbers, not {'a': 1}",
    'T="4"': "T is to be a finite number or a list of numbers, not '4'",
    "T+1=4": "'T+1' is no name of a global",
    "=4": "'' is no name of a global",
}


@pytest.mark.parametrize("text", NO_DEFINITIONS, ids=lambda text: text[:12])
def test_no_definition(text, capsys):
    with pytest.raises(SystemExit) as leaving:
        _parsed(["m.h5", "-o", "c.keras", "--define", text])
    assert leaving.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("unparallel: error: argument --define: ")
    assert NO_DEFINITIONS[text] in last


def test_definitions_in_python():
    given = {"T": numpy.float32(0.5), "MEAN": numpy.array([[1, 2]]), "S": (3, 4)}
    assert definitions(given) == definitions(list(given.items())) == {"T": 0.5, "MEAN": [[1, 2]], "S": [3, 4]}
    assert ConvertOptions(define=given).define == {"T": 0.5, "MEAN": [[1, 2]], "S": [3, 4]}
    assert ConvertOptions(define={"T": 4}).digest() == ConvertOptions(define=[("T", 4)]).digest()
    with pytest.raises(ValueError, match="T is to be a finite number"):
        ConvertOptions(define={"T": "4"})
