"""What is said of a conversion and of an inspection, line by line: the command prints it, `str()` gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from .opens_in import AS_KERAS
from .text import count_text, size_text, written_by

if TYPE_CHECKING:
    from ..keras3.values import LayerOutlook, Outlook
    from ..weights.health import NonFinite
    from .facts import ConversionFacts, InspectionFacts, LayerFacts, WrapperFacts

# Of more layers than that, the first and the last are listed.
MOST_LAYERS = 60
FIRST_LAYERS, LAST_LAYERS = 30, 10


def conversion_lines(done: ConversionFacts) -> list[str]:
    """What is said of a conversion."""
    lines = [f"{done.source} -> {done.target}"]
    lines += _wrapper_lines(done.wrappers)
    what = "weights file" if done.form == "weights" else f"model {done.template!r}" if done.template else "model"
    lines.append(f"wrote:     {what}, {count_text(done.layers, 'layer')}, {count_text(done.parameters, 'parameter')}")
    lines.append("optimizer: %s" % (done.optimizer + " kept" if done.optimizer else "none in the file written"))
    if done.renamed:
        lines.append("renamed:   {}".format(", ".join("{} -> {}".format(*pair) for pair in done.renamed)))
    check = f"{count_text(done.arrays, 'array')} compared byte for byte" if done.verified else "skipped"
    if done.verified and done.keras3 is not None and any(note.kind == "scaled" for note in done.keras3.notes):
        check = f"{count_text(done.arrays, 'array')} compared, equal or equal after the scaling below"
    lines.append(f"verified:  {check}")
    lines.append(f"size:      {size_text(done.bytes_before)} -> {size_text(done.bytes_after)}")
    if done.reset:
        lines.append(f"reset:     {count_text(len(done.reset), 'array')}, mean 0 and variance 1")
    lines += _health_lines(done.non_finite) + [f"note:      {note}" for note in done.notes]
    return lines + _opens_lines(done.opens_in)


def inspection_lines(seen: InspectionFacts) -> list[str]:
    """What is said of an inspection."""
    lines = [f"{seen.source}: {_kind(seen)}, written by {written_by(seen.keras_version)}"]
    lines += _wrapper_lines(seen.wrappers)
    if seen.verdict != "parallel":
        lines.append(f"verdict:   {seen.reason}")
        lines.append(f"hint:      {seen.hint}")
    if seen.template:
        lines.append("model:     {!r}, outputs {}".format(seen.template, ", ".join(seen.outputs)))
    lines.append(f"layers:    {len(seen.layers):,}, {count_text(seen.parameters, 'parameter')}")
    lines += _layer_lines(seen.layers)
    if seen.optimizer:
        lines.append(f"optimizer: {seen.optimizer}, {size_text(seen.optimizer_bytes)} of state")
    lines += _health_lines(seen.non_finite)
    lines += [f"note:      {note}" for note in seen.notes]
    lines.append(f"size:      {size_text(seen.bytes_before)}{_estimate(seen)}")
    return lines + _opens_lines(seen.opens_in) + _keras3_lines(seen)


def _keras3_lines(seen: InspectionFacts) -> list[str]:
    """How far a model can go to Keras 3: the verdict, and each layer that changes its form or cannot go."""
    far = seen.keras3
    if far is None:
        return []
    said = _changes(far)
    if far.possible and AS_KERAS in seen.opens_in:  # the line before has said it
        lines = ["keras 3:   what changes in the .keras"] if said else []
    elif far.possible:
        lines = ["keras 3:   can be written, -o NAME.keras"]
    elif far.problem == seen.reason:
        lines = ["keras 3:   no, for the same reason"]
    else:
        lines = [f"keras 3:   no: {far.problem}"] + ([f"           hint: {far.hint}"] if far.hint else [])
    more = [f"  ... {len(said) - MOST_LAYERS} more (--json lists all)"] if len(said) > MOST_LAYERS else []
    return lines + said[:MOST_LAYERS] + more


def _changes(far: Outlook) -> list[str]:
    """A line for each layer that changes its form or cannot go, and for what else there is to say."""
    said = [line for layer in far.layers for line in _layer_outlook(layer)]
    if far.possible:
        known = {note.text for layer in far.layers for note in layer.notes}
        said += [f"  {note}" for note in far.notes if note.text not in known]
    return said


def _layer_outlook(layer: LayerOutlook) -> list[str]:
    if layer.problem:
        # the line begins with the name, so the message need not
        own = f"layer {layer.name.rpartition('/')[2]!r} ({layer.class_name}): "
        return [f"  {layer.name}: no: {layer.problem[len(own) :] if layer.problem.startswith(own) else layer.problem}"]
    changed = layer.becomes and layer.becomes != (layer.class_name,)
    became = [f"  {layer.name}: {layer.class_name} becomes {' + '.join(layer.becomes)}"] if changed else []
    return became + [f"  {layer.name}: {note.text}" for note in layer.notes]


def _kind(seen: InspectionFacts) -> str:
    if seen.container != "HDF5":
        return f"a {seen.container} of TensorFlow"
    return "a weights file" if seen.form == "weights" else "a full model file"


def _opens_lines(opens_in: str) -> list[str]:
    return [f"opens in:  {opens_in}"] if opens_in else []


def _estimate(seen: InspectionFacts) -> str:
    """The size after conversion, where arrays make most of the file: what HDF5 itself needs is not foreseen."""
    arrays = sum(layer.bytes for layer in seen.layers) + seen.optimizer_bytes
    if seen.verdict != "parallel" or arrays < 0.95 * seen.bytes_before:
        return ""
    return f", about {size_text(seen.bytes_after)} after conversion"


def _wrapper_lines(wrappers: Sequence[WrapperFacts]) -> list[str]:
    lines = []
    for wrapper in wrappers:
        place = " inside {}".format("/".join(wrapper.inside)) if wrapper.inside else ""
        template = f"template {wrapper.template!r}" if wrapper.template else "inlined towers"
        counts = [
            count_text(wrapper.replicas, "replica"),
            count_text(len(wrapper.slices), "slice"),
            count_text(len(wrapper.merges), "merge"),
        ]
        lines.append("wrapper:   {}{}, {}".format(template, place, ", ".join(counts)))
    return lines


def _layer_lines(layers: Sequence[LayerFacts]) -> list[str]:
    width = min(40, max([len(layer.name) for layer in layers] or [0]))
    lines = [_layer_line(layer, width) for layer in layers]
    if len(layers) <= MOST_LAYERS:
        return lines
    rest = layers[FIRST_LAYERS:-LAST_LAYERS]
    parameters = sum(layer.parameters for layer in rest)
    more = f"  ... {count_text(len(rest), 'more layer')} with {count_text(parameters, 'parameter')} (--json lists all)"
    return [*lines[:FIRST_LAYERS], more, *lines[-LAST_LAYERS:]]


def _layer_line(layer: LayerFacts, width: int) -> str:
    shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in layer.shapes[:6])
    more = " ..." if len(layer.shapes) > 6 else ""
    return f"  {layer.name:<{width}}  {layer.class_name[:24]:<24} {layer.parameters:>14,}  {shapes}{more}".rstrip()


def _health_lines(non_finite: Sequence[NonFinite]) -> list[str]:
    return [f"health:    {count_text(len(non_finite), 'array holds', 'arrays hold')} NaN or Inf"] if non_finite else []
