"""What the user asks for, as one value from the command's arguments to the report: paths and options.

An option that is added later is one more field of `ConvertOptions`: the command's flag, `convert`'s keyword, a batch
job and the report's digest all follow from it.
"""

import inspect
import os
from dataclasses import dataclass, field, fields
from typing import Any, Callable, Dict, Mapping, Sequence, Tuple, TypeVar, Union

from .errors import FileError, MissingFileError

StrPath = Union[str, "os.PathLike[str]"]
Architecture = Union[StrPath, Dict[str, Any], None]
Activations = Union[Mapping[str, Any], Sequence[Tuple[str, Any]], None]
Definitions = Union[Mapping[str, Any], Sequence[Tuple[str, Any]], None]
Value = TypeVar("Value")
# of an array that is defined, as of any that Keras takes
_MOST_AXES = 16
Function = TypeVar("Function", bound=Callable[..., Any])


def option(default: Value, flag: str, help: str, *, decides: bool = True, **argparse: Any) -> Value:
    """A field of `ConvertOptions`.

    Parameters
    ----------
    default : object
        A bool makes a flag that turns it round.
    flag, help : str
        Of the command.
    decides : bool
        Whether it decides what is written: a batch converts a source again when such an option has changed.
    **argparse
        More for `add_argument`: `metavar`, `type`, `action`, ...
    """
    metadata = {"flag": flag, "help": help, "decides": decides, "argparse": argparse}
    return field(default=default, metadata=metadata)


def activation(text: str) -> Tuple[str, Any]:
    """`NAME=MEANING` as (name, meaning); a meaning that begins with "{" is JSON.

    Raises
    ------
    ValueError
        It is neither.
    """
    import json  # no start of the command should wait for it

    name, equals, meaning = text.partition("=")
    if not name or not equals or not meaning:
        raise ValueError(f"{text!r} is not NAME=MEANING")
    value = json.loads(meaning) if meaning.startswith("{") else meaning
    if not isinstance(value, str) and not isinstance(value.get("class_name"), str):
        raise ValueError(f"{meaning} has no class_name")
    return name, value


def definition(text: str) -> Tuple[str, Any]:
    """`NAME=VALUE` as (name, value); the value is JSON: a number, or a list of numbers.

    Raises
    ------
    ValueError
        It is neither.
    """
    import json

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not NAME=NUMBER or NAME=[NUMBER, ...]")
    try:
        return name, _defined(name, json.loads(value))
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f"{value!r} is no number and no list of numbers, as JSON has them") from None


def definitions(given: Definitions) -> Dict[str, Any]:
    """What globals of Lambdas' code are, by name.

    Parameters
    ----------
    given : mapping, or sequence of (str, value), optional
        Numbers, lists of numbers, or what `tolist()` makes such.

    Raises
    ------
    ValueError
        A name is none, or a value is something else.
    """
    return {str(name): _defined(str(name), value) for name, value in dict(given or ()).items()}


def _defined(name: str, value: Any, depth: int = 0) -> Any:
    """A defined value as JSON has it."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"{name!r} is no name of a global")
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)) and depth < _MOST_AXES:
        return [_defined(name, item, depth + 1) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise ValueError(f"{name} is to be a finite number or a list of numbers, not {value!r:.40}")
    return value


@dataclass(frozen=True)
class ConvertOptions:
    """How a file is to be converted.

    Parameters
    ----------
    optimizer : bool
        Keep `training_config` and the optimizer's state, as `save()` does.
    weights_only : bool
        Write what `template.save_weights()` writes.
    verify : bool
        Reopen the written file and compare every weight with its source, byte for byte.
    architecture : path or dict, optional
        For a weights file: `to_json()` of the template or of the parallel model, as text, as a file or parsed, or
        a full HDF5 file of the same architecture.
    by_names : bool
        For a weights file without its architecture: accept the layers as the weights' names tell them.
    trust_slices : bool
        Accept layers that look like slices of the batch and whose code cannot be followed.
    scan : bool
        Look for NaN and Inf in the weights.
    strict : bool
        Refuse to write a file whose weights hold NaN or Inf.
    reset_batchnorm : bool
        Write neutral moving statistics (mean 0, variance 1) where those of a BatchNormalization are NaN or Inf.
    activations : dict of str to (str or dict), optional
        To Keras 3: what a name of an activation means that is not Keras' own; a name, or a layer's
        `{"class_name", "config"}`.
    define : dict of str to (number or list), optional
        To Keras 3: what a global is that a Lambda's code uses and the file does not hold.
    check : bool
        To Keras 3: load the result in a process of its own, where Keras 3 is installed, and predict on random inputs.
    """

    optimizer: bool = option(True, "--no-optimizer", "leave out the training state")
    weights_only: bool = option(False, "--weights-only", "write what template.save_weights() writes")
    verify: bool = option(True, "--no-verify", "do not compare the written weights with the source", decides=False)
    architecture: Architecture = option(
        None,
        "--architecture",
        "for a weights file: to_json() of the template or of the parallel model, or a full .h5 file of it",
        metavar="FILE",
    )
    by_names: bool = option(
        False,
        "--by-names",
        "for a weights file without its architecture: accept the layers as the weights' names tell them",
        decides=False,
    )
    trust_slices: bool = option(
        False,
        "--trust-slices",
        "accept layers that look like slices of the batch and whose code is not known",
        decides=False,
    )
    scan: bool = option(True, "--no-scan", "do not look for NaN and Inf in the weights", decides=False)
    strict: bool = option(
        False, "--strict", "refuse weights with NaN or Inf; of many files, exit with 1 for warnings", decides=False
    )
    reset_batchnorm: bool = option(
        False,
        "--reset-batchnorm",
        "where moving statistics of BatchNormalization are NaN or Inf, write neutral ones (mean 0, variance 1)",
    )
    activations: Activations = option(
        None,
        "--activation",
        "to Keras 3: what the name of an activation of somebody's own means: '<lambda>=relu6', or JSON of a layer",
        metavar="NAME=MEANING",
        action="append",
        type=activation,
    )
    define: Definitions = option(
        None,
        "--define",
        "to Keras 3: what a global of a Lambda's code is that the file does not hold: T=4, 'MEAN=[0.5, 0.4]'",
        metavar="NAME=VALUE",
        action="append",
        type=definition,
    )
    check: bool = option(
        False,
        "--check",
        "to Keras 3: load the result in Keras 3, where it is installed, and predict on random inputs",
        decides=False,
    )

    def __post_init__(self) -> None:
        # in one form, whether the command or a function was given them, and wrong ones before anything is read
        object.__setattr__(self, "define", definitions(self.define) or None)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ConvertOptions":
        """The options among the command's arguments."""
        return cls(**{item.name: values[item.name] for item in fields(cls)})

    @property
    def scans(self) -> bool:
        """Whether the weights are looked at."""
        return self.scan or self.strict

    def digest(self) -> str:
        """Stands for the options that decide what is written, those that are at their defaults left out."""
        import hashlib  # what only a batch needs, no start of the command should wait for
        import json

        deciding = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.metadata["decides"] and getattr(self, item.name) != item.default
        }
        return hashlib.sha1(json.dumps(deciding, sort_keys=True).encode("utf-8")).hexdigest()[:12]


def takes_options(function: Function) -> Function:
    """Show `ConvertOptions`' fields in place of a function's `**options`, to `help()` and whoever completes names."""
    shown = [item for item in inspect.signature(function).parameters.values() if item.kind is not item.VAR_KEYWORD]
    keywords = list(inspect.signature(ConvertOptions).parameters.values())
    shown += [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in keywords]
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return function


def path_text(value: StrPath) -> str:
    """A path as text.

    Raises
    ------
    FileError
        It holds a NUL, or what the system's encoding has no letters for.
    """
    path = os.fsdecode(value)
    if "\0" in path:
        raise FileError("a path cannot hold a NUL", "check the path", repr(path))
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        reason = f"a file name cannot hold it in this locale, whose encoding is {error.encoding}"
        raise FileError(reason, "set LC_ALL=C.UTF-8", repr(path)) from error
    return path


def absolute_path(path: str) -> str:
    """The path from the root on.

    Raises
    ------
    MissingFileError
        It is relative, and the current folder was removed.
    """
    try:
        return os.path.abspath(path)
    except FileNotFoundError as error:
        raise MissingFileError(
            "the current folder does not exist any more", "change to another folder", path
        ) from error
