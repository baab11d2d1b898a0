"""The examples in the docstrings, each module's."""

import doctest
import importlib
import pkgutil

import pytest

import unparallel

MODULES = [item.name for item in pkgutil.walk_packages(unparallel.__path__, "unparallel.")]


@pytest.mark.parametrize("name", [name for name in ["unparallel", *MODULES] if not name.endswith("__main__")])
def test_examples_print_what_they_show(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
