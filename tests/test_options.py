"""One value for the options, from the command's flags and `convert`'s keywords to the report."""

import inspect
from dataclasses import fields, replace

import pytest

import unparallel
from unparallel.cli import _parsed
from unparallel.options import ConvertOptions

CHANGED = {
    "optimizer": False,
    "weights_only": True,
    "verify": False,
    "architecture": "a.json",
    "trust_slices": True,
    "scan": False,
    "strict": True,
    "reset_batchnorm": True,
}


def test_the_command_fills_what_convert_takes():
    assert ConvertOptions.of(vars(_parsed(["m.h5", "-o", "c.h5"]))) == ConvertOptions()
    flags = ["--no-optimizer", "--weights-only", "--no-verify", "--architecture", "a.json"]
    flags += ["--trust-slices", "--no-scan", "--strict", "--reset-batchnorm"]
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
    assert deciding == {"optimizer", "weights_only", "architecture", "reset_batchnorm"}
