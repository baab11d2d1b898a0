"""The facts of an inspection and of a conversion, as fields: what lines are made of, and cards, and JSON.

`results` adds to them how they come about and how they show themselves.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Tuple

from ..weights.health import NonFinite

if TYPE_CHECKING:
    from ..keras3.values import Outlook


@dataclass(frozen=True)
class WrapperFacts:
    """One data-parallel wrapper that was found.

    Parameters
    ----------
    template : str
        Name of the nested model; "" where the template's layers stood in the towers themselves.
    inside : tuple of str
        Names of the models around the wrapper.
    replicas : int
    slices, merges : tuple of str
        Names of the layers that cut and join the batch.
    proof : str
        "code" where every slice's code was followed, "trusted" where the user vouched for one.
    """

    template: str
    inside: Tuple[str, ...]
    replicas: int
    slices: Tuple[str, ...]
    merges: Tuple[str, ...]
    proof: str


@dataclass(frozen=True)
class LayerFacts:
    """A layer of the clean model: class name ("" where no config tells), number of arrays, parameters and bytes."""

    name: str
    class_name: str
    arrays: int
    parameters: int
    shapes: Tuple[Tuple[int, ...], ...]
    bytes: int = 0


# its offspring have all of these methods anew, and to make them takes milliseconds of each start
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Facts:
    """What an inspection and a conversion both tell.

    Parameters
    ----------
    source : str
    form : str
        "model" or "weights": of the source for an inspection, of what was written for a conversion.
    keras_version : str or None
        Of the Keras that wrote the source.
    wrappers : tuple of WrapperFacts
    template : str
        Name of the clean model ("" where the file does not tell).
    parameters : int
        Of the clean model; of the file as it is where nothing can be undone.
    optimizer : str or None
        The optimizer's class, where its state or settings are in the clean file.
    bytes_before, bytes_after : int
        Sizes of the two files; for an inspection `bytes_after` is an estimate: the arrays are known, HDF5's own
        kilobytes are taken to stay.
    non_finite : tuple of NonFinite
        Weights of the clean file that hold NaN or Inf.
    warnings, notes : tuple of str
        What the user should know; a note is harmless.
    opens_in : str
        In which Keras the clean file opens, and why not in others ("" for weights, and for what is refused).
    """

    source: str
    form: str
    keras_version: Optional[str]
    wrappers: Tuple[WrapperFacts, ...]
    template: str
    parameters: int
    optimizer: Optional[str]
    bytes_before: int
    bytes_after: int
    non_finite: Tuple[NonFinite, ...]
    warnings: Tuple[str, ...]
    notes: Tuple[str, ...]
    opens_in: str


@dataclass(frozen=True, init=False, repr=False, eq=False)
class InspectionFacts(Facts):
    """What an inspection tells besides; `results.Inspection` describes each field."""

    verdict: str
    reason: str
    hint: str
    backend: Optional[str]
    layers: Tuple[LayerFacts, ...]
    outputs: Tuple[str, ...]
    optimizer_bytes: int
    keras3: "Optional[Outlook]" = None
    container: str = "HDF5"


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ConversionFacts(Facts):
    """What a conversion tells besides; `results.Conversion` describes each field."""

    target: str
    layers: int
    arrays: int
    renamed: Tuple[Tuple[str, str], ...]
    dropped: Tuple[str, ...]
    verified: bool
    reset: Tuple[NonFinite, ...] = ()
    keras3: "Optional[Outlook]" = None
