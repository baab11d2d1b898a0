"""What the command prints of a conversion, an inspection, and the versions."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, List, Sequence

from .. import __version__
from .text import size_text

if TYPE_CHECKING:
    from ..results import Conversion, Inspection


def json_text(value: Any) -> str:
    """A result as JSON."""
    import json

    return json.dumps(_jsonable(value), indent=2)


def _jsonable(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_jsonable(item) for item in value]
    return value


def conversion_lines(done: "Conversion") -> List[str]:
    """What is said of a conversion."""
    lines = [f"{done.source} -> {done.target}"]
    lines += _wrapper_lines(done.wrappers)
    what = "weights file" if done.form == "weights" else f"model {done.template!r}" if done.template else "model"
    lines.append(
        "wrote:     {}, {}, {}".format(what, _count(done.layers, "layer"), _count(done.parameters, "parameter"))
    )
    lines.append("optimizer: %s" % (done.optimizer + " kept" if done.optimizer else "none in the file written"))
    if done.renamed:
        lines.append("renamed:   {}".format(", ".join("{} -> {}".format(*pair) for pair in done.renamed)))
    check = "{} compared byte for byte".format(_count(done.arrays, "array")) if done.verified else "skipped"
    lines.append(f"verified:  {check}")
    lines.append(f"size:      {size_text(done.bytes_before)} -> {size_text(done.bytes_after)}")
    if done.reset:
        lines.append("reset:     {}, mean 0 and variance 1".format(_count(len(done.reset), "array")))
    return lines + _health_lines(done.non_finite) + [f"note:      {note}" for note in done.notes]


def _wrapper_lines(wrappers: Sequence[Any]) -> List[str]:
    lines = []
    for wrapper in wrappers:
        place = " inside {}".format("/".join(wrapper.inside)) if wrapper.inside else ""
        template = f"template {wrapper.template!r}" if wrapper.template else "inlined towers"
        lines.append(
            "wrapper:   {}{}, {}, {}, {}".format(
                template,
                place,
                _count(wrapper.replicas, "replica"),
                _count(len(wrapper.slices), "slice"),
                _count(len(wrapper.merges), "merge"),
            )
        )
    return lines


def inspection_lines(seen: "Inspection") -> List[str]:
    """What is said of an inspection."""
    written = f"Keras {seen.keras_version}" if seen.keras_version else "an unknown Keras"
    lines = [f"{seen.source}: {_form(seen.form)}, written by {written}"]
    lines += _wrapper_lines(seen.wrappers)
    if seen.verdict != "parallel":
        lines.append(f"verdict:   {seen.reason}")
        lines.append(f"hint:      {seen.hint}")
    if seen.template:
        lines.append("model:     {!r}, outputs {}".format(seen.template, ", ".join(seen.outputs)))
    lines.append("layers:    {}, {}".format(len(seen.layers), _count(seen.parameters, "parameter")))
    lines += _layer_lines(seen)
    if seen.optimizer:
        lines.append(f"optimizer: {seen.optimizer}, {size_text(seen.optimizer_bytes)} of state")
    lines += _health_lines(seen.non_finite)
    lines += [f"note:      {note}" for note in seen.notes]
    after = f", about {size_text(seen.bytes_after)} after conversion" if seen.verdict == "parallel" else ""
    lines.append(f"size:      {size_text(seen.bytes_before)}{after}")
    return lines


def _layer_lines(seen: "Inspection") -> List[str]:
    width = min(40, max([len(layer.name) for layer in seen.layers] or [0]))
    lines = []
    for layer in seen.layers:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in layer.shapes[:6])
        more = " ..." if len(layer.shapes) > 6 else ""
        kind = layer.class_name[:24]
        lines.append(f"  {layer.name:<{width}}  {kind:<24} {layer.parameters:>12}  {shapes}{more}".rstrip())
    return lines


def _health_lines(broken: Sequence[Any]) -> List[str]:
    return ["health:    {} NaN or Inf".format(_count(len(broken), "array holds", "arrays hold"))] if broken else []


def _form(form: str) -> str:
    return "a weights file" if form == "weights" else "a full model file"


def _count(number: int, what: str, many: str = "") -> str:
    return "{} {}".format(format(number, ","), what if number == 1 else many or what + "s")


def versions_line() -> str:
    """The versions of what matters for a bug report."""
    libraries = [f"{name} {_installed(name)}" for name in ("h5py", "networkx")]
    python = "Python {}.{}.{}".format(*sys.version_info[:3])
    return "unparallel {} ({})".format(__version__, ", ".join([*libraries, python]))


def _installed(name: str) -> str:
    """A library's version, without importing it where Python (from 3.8 on) knows how."""
    try:
        metadata = import_module("importlib.metadata")
    except ImportError:
        return str(import_module(name).__version__)
    return str(metadata.version(name))
