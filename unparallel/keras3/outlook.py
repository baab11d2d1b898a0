"""How far a file can go to Keras 3, layer by layer, before anything is written."""

from __future__ import annotations

from dataclasses import replace

from ..errors import AlreadySingleError, UnparallelError
from ..model import ModelFile
from ..options import ConvertOptions
from ..plan import Plan
from .plan import already_single, attempted, keras3_plan
from .values import Outlook


def outlook(
    before: ModelFile, plan: Plan | None, refused: UnparallelError | None, options: ConvertOptions
) -> Outlook | None:
    """How far a file can go: what a conversion to `.keras` says of it; None for weights without a config.

    Parameters
    ----------
    before : ModelFile
        As the file is.
    plan : Plan or None
        For the single model.
    refused : UnparallelError or None
        Why there is none.
    options : ConvertOptions
    """
    if before.topology is None and options.architecture is None:
        return None
    try:
        if isinstance(refused, AlreadySingleError):
            plan = already_single(before, options)
        elif refused is not None:
            raise refused
        assert plan is not None
        tried = attempted(plan, options)
    except UnparallelError as error:
        return Outlook(False, error.message, error.hint)
    try:
        found = keras3_plan(plan, options, tried).outlook
    except UnparallelError as error:
        return Outlook(False, error.message, error.hint, layers=tried.layers)
    assert found is not None
    return replace(found, layers=tried.layers)
