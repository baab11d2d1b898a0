"""What is looked at in a file's weights while it is copied."""

import contextlib
from dataclasses import replace
from typing import Dict, Optional, Tuple

from . import hdf5, verify
from .errors import FileError, VerificationError
from .model import ModelFile
from .weights.health import NonFinite, Owner, label, owners, reset_warning
from .weights.health import warnings as health_warnings


class WeightCheck:
    """What is looked at in a file's weights while it is copied, and what comes of it."""

    def __init__(self, source: hdf5.Source, model: ModelFile, reset_batchnorm: bool = False) -> None:
        self.source = source
        self.model = model
        self._health = verify.Health()
        self._reset: Dict[str, NonFinite] = {}
        self._owned: Optional[Dict[str, Owner]] = None
        if reset_batchnorm:
            self._find_statistics()

    def _find_statistics(self) -> None:
        """Scan the moving statistics, which are small, before anything is written."""
        health = verify.Health()
        for group in self.model.weights:
            statistics = tuple(ref for ref in group.weights if self.owned[ref.path].neutral is not None)
            verify.scan(self.source, (replace(group, weights=statistics),), health)
        self._reset = health.found

    @property
    def owned(self) -> Dict[str, Owner]:
        """Whose each weight is (worked out where something is wrong, which is seldom)."""
        if self._owned is None:
            self._owned = owners(self.model)
        return self._owned

    @property
    def repairs(self) -> Dict[str, float]:
        """The neutral value for each weight that is to be mended, by path."""
        return {path: self.owned[path].neutral or 0.0 for path in self._reset}

    @property
    def reset(self) -> Tuple[NonFinite, ...]:
        """Weights that were mended."""
        return label(self._reset, self.owned) if self._reset else ()

    @property
    def broken(self) -> Tuple[NonFinite, ...]:
        """Weights that hold NaN or Inf in what is written."""
        left = self._left()
        return label(left, self.owned) if left else ()

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What the user should know of it."""
        left = self._left()
        lines = health_warnings(left, self.owned) if left else []
        return tuple(lines + ([reset_warning(self.reset)] if self._reset else []))

    def _left(self) -> Dict[str, NonFinite]:
        return {path: item for path, item in self._health.found.items() if path not in self._reset}

    def scan(self) -> None:
        """Look at all weights of the source."""
        verify.scan(self.source, self.model.weights, self._health)

    def run(self, partial: str, compare: bool, scan: bool) -> None:
        """Verify the written file and scan its weights, in one pass where both are wanted."""
        if not compare:
            if scan:
                self.scan()
            return
        with contextlib.ExitStack() as stack:
            try:
                made = stack.enter_context(hdf5.open_source(partial))
            except FileError as error:
                raise VerificationError(f"cannot read again what was written: {error.message}", error.hint) from error
            self.compare(made, scan)

    def compare(self, made: hdf5.Source, scan: bool) -> None:
        """Prove that a written file is what was meant, and scan its weights on the way."""
        verify.compare(self.source, made, self.model, self._health if scan else None, self.repairs)
