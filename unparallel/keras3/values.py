"""The immutable values between the steps of a translation: arrays to be, new layers, new models, notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, NamedTuple

from ..errors import Keras3Error
from ..model import Json, TensorKey, WeightRef, is_tf_keras, version_of
from ..slices.lambdas import Context as Functions

Config = Dict[str, Any]


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


class Step(NamedTuple):
    """One thing that is done to an array's numbers: a row of `arrays.STEPS` and its arguments."""

    name: str
    arguments: tuple[object, ...] = ()


@dataclass(frozen=True, eq=False)
class Array:
    """An array of the archive.

    Parameters
    ----------
    sources : tuple of WeightRef
        What it is made of; none for a constant.
    steps : tuple of Step
        What is done to them; none: the one source is copied as it is.
    shape : tuple of int
        Of the result.
    dtype : str
    """

    sources: tuple[WeightRef, ...]
    steps: tuple[Step, ...]
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_copy(self) -> bool:
        """Whether it is its source, byte for byte."""
        return not self.steps


class Note(NamedTuple):
    """Something that the reader of a report should know.

    Attributes
    ----------
    kind : str
        "renamed", "dropped", "scaled", "expanded", "assumed", "differs" or "custom".
    layer : str
        "" where it is about the whole model.
    text : str
    """

    kind: str
    layer: str
    text: str

    def __str__(self) -> str:
        return f"layer {self.layer!r}: {self.text}" if self.layer else self.text


class TensorSpec(NamedTuple):
    """What is known of a tensor.

    Attributes
    ----------
    shape : tuple of (int or None), or None
        With the batch axis; None for an unknown length, and for an unknown shape.
    dtype : str or None
    """

    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None


class Piece(NamedTuple):
    """A Keras 3 layer that stands for an old one, or for a part of it.

    Attributes
    ----------
    class_name : str
    config : dict
        Without `name`.
    arrays : tuple of (str, Array)
        Paths below the layer's own, such as "vars/0" or "cell/vars/1".
    inputs : tuple of int
        Which pieces it reads, counted from 0; -1 is what the old layer read.  None: the piece before it.
    module : str
    kwargs : tuple of (str, value)
        Further arguments of its call.
    submodel : Model or None
    outputs : tuple of TensorSpec
        What it gives, where its making tells more than the table in `shapes` can: of a model, or of recorded code.
    masked : Masked or None
        Of code that looks at its tensor's mask.
    """

    class_name: str
    config: Config
    arrays: tuple[tuple[str, Array], ...] = ()
    inputs: tuple[int, ...] | None = None
    module: str = "keras.layers"
    kwargs: tuple[tuple[str, Json], ...] = ()
    submodel: Model | None = None
    outputs: tuple[TensorSpec, ...] = ()
    masked: Masked | None = None


class Masked(NamedTuple):
    """What a layer is whose code looks at its tensor's mask.

    Attributes
    ----------
    model : Model or None
        With the mask as its second input; None where that cannot be expressed.
    unmasked : Keras3Error or None
        Why it cannot be expressed for a tensor without a mask.
    """

    model: Model | None
    unmasked: Keras3Error | None = None


class Call(NamedTuple):
    """One application of a new layer: positional tensors, and arguments that may hold tensors.

    `args` are all positional arguments in order, where they are other than the tensors.
    """

    inputs: tuple[TensorKey, ...]
    kwargs: tuple[tuple[str, object], ...] = ()
    as_list: bool = False
    args: tuple[object, ...] | None = None


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of the new model; `old_class` is what it stands for, which tells how masks went through it then."""

    name: str
    class_name: str
    config: Config
    module: str = "keras.layers"
    arrays: tuple[tuple[str, Array], ...] = ()
    calls: tuple[Call, ...] = ()
    submodel: Model | None = None
    old_class: str = ""
    build_shape: tuple[int | None, ...] | None = None
    custom: bool = False
    masked: Masked | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A new model: its layers, and, unless it is a Sequential, its inputs and outputs."""

    name: str
    sequential: bool
    layers: tuple[Layer, ...]
    inputs: tuple[TensorKey, ...] = ()
    outputs: tuple[TensorKey, ...] = ()

    @property
    def by_name(self) -> dict[str, Layer]:
        """All layers by name (built once a model)."""
        found: dict[str, Layer] | None = self.__dict__.get("_by_name")
        if found is None:
            found = {layer.name: layer for layer in self.layers}
            object.__setattr__(self, "_by_name", found)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Archive:
    """What is to be written.

    Parameters
    ----------
    config : JSON value
        Of config.json.
    arrays : tuple of (str, Array)
        Of model.weights.h5, by path.
    groups : tuple of str
        `vars` groups that hold nothing and belong there.
    notes : tuple of Note
    custom : tuple of str
        Classes that `load_model(file, custom_objects=...)` must be given.
    layers : tuple of Verdict
        What became of each old layer.
    """

    config: Json
    arrays: tuple[tuple[str, Array], ...]
    groups: tuple[str, ...]
    notes: tuple[Note, ...]
    custom: tuple[str, ...]
    compiled: bool = False
    optimizer: str | None = None


@dataclass(frozen=True)
class LayerOutlook:
    """What becomes of a layer.

    Parameters
    ----------
    name : str
        With the names of the models around it, "model_1/dense".
    class_name : str
    becomes : tuple of str
        Classes in Keras 3; none where it cannot be expressed, or gives no tensor.
    problem, hint : str
        Why not, and what to do.
    notes : tuple of Note
    """

    name: str
    class_name: str
    becomes: tuple[str, ...]
    problem: str = ""
    hint: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Outlook:
    """Whether a model can be written for Keras 3.

    Parameters
    ----------
    possible : bool
    problem, hint : str
        Where it is not: the first reason, and what to do.
    compiled : bool
        Whether optimizer, loss and metrics come along.
    custom : tuple of str
        Classes that `load_model` must be given.
    notes : tuple of Note
    layers : tuple of LayerOutlook
    """

    possible: bool
    problem: str = ""
    hint: str = ""
    compiled: bool = False
    custom: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    layers: tuple[LayerOutlook, ...] = ()

    @property
    def opens_in(self) -> str:
        """Where the archive opens, in a few words."""
        since = "3.11" if any(AS_LAYER in note.text for note in self.notes) else "3.4"
        return f"Keras {since} and later, on any of its backends"


@dataclass
class Context:
    """What the rules know of the whole file, and where they say what they did.

    Parameters
    ----------
    keras_version, backend : str or None
        As the file has them.
    float_type : str
        Of the file's floating point weights.
    activations : dict
        What the user says that a foreign name of an activation means.
    defined : dict
        What the user says that globals of Python code are.
    channels_first : bool
        Whether some layer says so.
    functions : slices.lambdas.Context
        The budget of steps that all Python code of the file has.
    numbers : int
        How many numbers the constants of operations hold so far.
    rows : object or None
        Stands for the number of rows of all tensors; None once something mixes them, so that no two are surely alike.
    notes : dict of Note to None
        In the order in which they were made, each once.
    custom : list of str
        Classes that are not Keras' own.
    used : set of str
        Those of the defined globals that some code uses.
    """

    keras_version: str | None
    backend: str | None
    float_type: str = "float32"
    activations: dict[str, Json] = field(default_factory=dict)
    channels_first: bool = False
    defined: dict[str, Json] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)
    numbers: int = 0
    rows: object | None = field(default_factory=object)
    notes: dict[Note, None] = field(default_factory=dict)
    custom: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def batch(self) -> object:
        """What stands for the number of rows of a tensor: the same for all until one is known to mix them."""
        return self.rows if self.rows is not None else object()

    @property
    def tf_keras(self) -> bool:
        """Whether tf.keras wrote the file."""
        return is_tf_keras(self.keras_version)

    @property
    def version(self) -> tuple[int, int]:
        """(major, minor)."""
        return version_of(self.keras_version)

    def note(self, kind: str, layer: str, text: str) -> None:
        """Say something once."""
        self.notes[Note(kind, layer, text)] = None


#: Said where a layer stands for an activation: `keras.activations.get` of 3.4.1 and 3.6.0 takes names alone.
AS_LAYER = "which Keras 3.11 and later read"
#: What comes of values of the wrong kind or size, wherever they are met: an argument may be anything that JSON has.
NONSENSE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
#: What to do where Keras 3 cannot have it.
H5 = "write the .h5 instead (-o NAME.h5), and load it in the Keras that it comes from"


class Old(NamedTuple):
    """A layer as the file has it.

    Attributes
    ----------
    name, class_name : str
    config : dict
    arrays : tuple of Array
        In the order of creation.
    context : Context
    inputs : tuple of TensorSpec
        What is known of each tensor that it reads; of a layer that is called several times, what is true of all calls.
    """

    name: str
    class_name: str
    config: Config
    arrays: tuple[Array, ...]
    context: Context
    inputs: tuple[TensorSpec, ...] = ()

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape of the first tensor that it reads, None where it is not known."""
        return self.inputs[0].shape if self.inputs else None

    @property
    def shapes(self) -> tuple[tuple[int | None, ...] | None, ...]:
        """The shapes of all tensors that it reads."""
        return tuple(spec.shape for spec in self.inputs)

    @property
    def dtypes(self) -> tuple[str | None, ...]:
        """Their types."""
        return tuple(spec.dtype for spec in self.inputs)

    def refuse(self, reason: str, hint: str = "") -> Keras3Error:
        """The error that names this layer."""
        return Keras3Error(f"layer {self.name!r} ({self.class_name}): {reason}", hint or H5)

    def note(self, kind: str, text: str) -> None:
        """Say something about this layer."""
        self.context.note(kind, self.name, text)
