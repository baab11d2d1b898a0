"""Whether masks mean the same in Keras 3 as they did: two readings of one graph, side by side.

A mask is a value: what it is made of.  Where a layer that looks at masks would see another one than it saw, the
translation is not the model, and is refused.  Three things are different in Keras 3 (`layers/merging/base_merge.py`,
`layers/layer.py` of 3.4.1 to 3.15.1): a merge of masked and other tensors drops the mask, several masks are joined by
"or" instead of "and", and a recurrent layer that is given its state is not told of the mask, unless by name.
And two things change what stands at masked steps, which only a layer that ignores masks could notice.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import Keras3Error
from ..model import TensorKey
from .graph import (
    ATTENTIONS,
    MERGES,
    PASSES,
    RECURRENT,
    TAKES,
    _sequences,
    is_operation,
    mask_operations,
    model_calls,
    reads,
)
from .values import Call, Config, Context, Layer, Model, words

#: ("not_equal" or "any", scope, tensor, number) for one that a layer made; else what joined others.
Mask = Optional[Tuple[Any, ...]]
# layers at which the mask that they see decides numbers
LOOKS = RECURRENT | ATTENTIONS | {"GlobalAveragePooling1D", "Softmax", "MultiHeadAttention"}
# what may hold anything at masked steps and yet be right
STEPWISE = PASSES | MERGES | {"Concatenate"}
HINT = "write the .h5 instead, or build the model in Keras 3 with explicit masks and load these weights"


class Seen(NamedTuple):
    """A tensor's mask in the old Keras and in Keras 3, and the layer that changed its masked steps ("": none)."""

    old: Mask = None
    new: Mask = None
    tainted: str = ""


NOTHING = Seen()


def check(model: Model, context: Context) -> Model:
    """The model, with masks by name where Keras 3 needs them.

    Raises
    ------
    Keras3Error
        A layer would see another mask than it did.
    """
    checker = _Checker(context)
    model = checker.explicit(model)
    ends = checker.walk(model, [], "")
    for seen in ends:
        if seen.tainted:
            context.note(
                "differs", seen.tainted, "its outputs at masked steps differ from the old Keras', nowhere else"
            )
    return model


def _check_untainted(layer: Layer, inputs: Sequence[Seen]) -> None:
    tainted = next((seen.tainted for seen in inputs if seen.tainted), "")
    if tainted:
        what = layer.old_class or layer.class_name
        raise Keras3Error(
            f"layer {layer.name!r} ({what}): reads masked steps, which {tainted!r} fills otherwise in Keras 3", HINT
        )


class _Checker:
    def __init__(self, context: Context) -> None:
        self.context = context

    def walk(self, model: Model, given: Sequence[Seen], scope: str) -> list[Seen]:
        """What the model's outputs carry, when its inputs carry what is given."""
        seen: dict[TensorKey, Seen] = dict(zip(model.inputs, given))
        for layer, number, call in model_calls(model):
            key = TensorKey(layer.name, number, 0)
            inputs = [seen.get(read, NOTHING) for read in reads(call)]
            if layer.masked is not None:
                _refuse_masked(layer, any(one.old is not None for one in inputs))
            if layer.old_class == "Lambda" or is_operation(layer):
                _check_untainted(layer, inputs)  # neither looks at masks, and neither hands one on
            elif layer.submodel is not None and layer.old_class in OLD_PASSES:
                # an activation of operations: the old layer handed its mask on, which these do not
                _check_untainted(layer, inputs)
                seen[key] = Seen(inputs[0].old if inputs else None)
            elif layer.submodel is not None and not layer.custom:
                ends = self.walk(layer.submodel, inputs, f"{scope}{layer.name}/")
                seen.update((key._replace(tensor=i), end) for i, end in enumerate(ends))
            elif layer.class_name != "InputLayer":
                self._look(layer, call, inputs)
                made = self._made(layer, call, inputs, scope)
                seen[key] = made
                if layer.class_name == "Bidirectional" and layer.config.get("merge_mode") is None:
                    seen[key._replace(tensor=1)] = made
        return [seen.get(output, NOTHING) for output in model.outputs]

    # -- what a layer sees

    def _look(self, layer: Layer, call: Call, inputs: list[Seen]) -> None:
        name = layer.class_name
        explicit = dict(call.kwargs).get("mask") is not None
        if name in LOOKS and not explicit:
            old = [seen.old if self._looked(layer) else None for seen in inputs[: len(call.inputs)]]
            told = len(reads(call)) == len(call.inputs)
            new = [seen.new if told else None for seen in inputs[: len(call.inputs)]]
            if old != new:
                raise self._refusal(layer, inputs)
        if name not in LOOKS and name not in STEPWISE and name not in TAKES:
            _check_untainted(layer, inputs)

    def _looked(self, layer: Layer) -> bool:
        """Whether the old layer looked at masks."""
        if layer.class_name == "GlobalAveragePooling1D":
            # Keras 2.2.3, TensorFlow 1.13
            return not self.context.tf_keras or self.context.version >= (2, 2)
        return layer.old_class not in ("CuDNNLSTM", "CuDNNGRU", "Softmax")

    def _refusal(self, layer: Layer, inputs: list[Seen]) -> Keras3Error:
        source = next((seen.tainted for seen in inputs if seen.tainted), "")
        where = f", because of what {source!r} makes of masks" if source else ""
        return Keras3Error(
            f"layer {layer.name!r} ({layer.class_name}): it would see another mask in Keras 3 than it did{where}", HINT
        )

    # -- what it gives

    def _made(self, layer: Layer, call: Call, inputs: list[Seen], scope: str) -> Seen:
        name = layer.class_name
        first = inputs[0] if inputs else NOTHING
        if name == "Masking":
            mask = ("any", scope, call.inputs[0], layer.config.get("mask_value", 0.0))
            return Seen(mask, mask)
        if name == "Embedding":
            mask = ("not_equal", scope, call.inputs[0], 0)
            return Seen(mask, mask) if layer.config.get("mask_zero") else NOTHING
        if name in RECURRENT:
            return self._recurrent(layer, first)
        if name in MERGES:
            return self._merged(layer, inputs)
        if name == "Concatenate":
            return _concatenated(layer, inputs)
        if name == "TimeDistributed":
            return self._distributed(layer, first)
        if name in ATTENTIONS:
            return first
        old = first.old if layer.old_class in OLD_PASSES else None
        new = first.new if name in PASSES else None
        return Seen(old, new, first.tainted if name in PASSES else "")

    def _recurrent(self, layer: Layer, first: Seen) -> Seen:
        if not _sequences(layer):
            return NOTHING
        tainted = ""
        if layer.class_name == "Bidirectional" and first.old is not None and not self._writes_zeros():
            tainted = layer.name
        if layer.old_class in ("CuDNNLSTM", "CuDNNGRU"):
            return NOTHING
        return Seen(first.old, first.new, tainted)

    def _writes_zeros(self) -> bool:
        """Whether Bidirectional wrote zeros at masked steps, as Keras 3 does: tf.keras from 1.13 on."""
        return self.context.tf_keras and self.context.version >= (2, 2)

    def _merged(self, layer: Layer, inputs: list[Seen]) -> Seen:
        olds = [seen.old for seen in inputs if seen.old is not None]
        news = [seen.new for seen in inputs]
        new: Mask = None
        if news and None not in news:
            new = news[0] if all(mask == news[0] for mask in news) else ("or", tuple(news))
        old: Mask = None
        if olds:
            old = olds[0] if all(mask == olds[0] for mask in olds) else ("and", tuple(olds))
        tainted = next((seen.tainted for seen in inputs if seen.tainted), "")
        if any(news) and layer.class_name != "Subtract":
            tainted = layer.name
        if new is not None and new[0] == "or":
            raise Keras3Error(
                f"layer {layer.name!r} ({layer.class_name}): its inputs have different masks, "
                "which Keras 3 joins otherwise",
                HINT,
            )
        return Seen(old, new, tainted)

    def _distributed(self, layer: Layer, first: Seen) -> Seen:
        inner = layer.config.get("layer")
        makes = isinstance(inner, dict) and (
            inner.get("class_name") == "Masking" or bool((inner.get("config") or {}).get("mask_zero"))
        )
        old: Mask = ("inner", layer.name) if makes else first.old
        return Seen(old, first.new, first.tainted)

    # -- masks by name

    def explicit(self, model: Model) -> Model:
        """The model with `mask` named for recurrent layers that are given a state."""
        if model.sequential:
            return model
        found: dict[TensorKey, Seen] = {}
        added: dict[tuple[Any, ...], Layer] = {}
        new_calls: dict[str, dict[int, Call]] = {}
        for layer, number, call in model_calls(model):
            inputs = [found.get(read, NOTHING) for read in reads(call)]
            if layer.masked is not None and any(one.old is not None for one in inputs):
                key = _mask_of(layer, inputs, added, model)
                new_calls.setdefault(layer.name, {})[number] = call._replace(inputs=(*call.inputs, key), as_list=True)
            if layer.submodel is not None or layer.class_name == "InputLayer":
                continue
            states = len(reads(call)) > len(call.inputs) and layer.class_name in RECURRENT
            mask = inputs[0].old if inputs else None
            if states and mask is not None and "mask" not in dict(call.kwargs) and mask[0] in ("any", "not_equal"):
                key = _operations(mask, added, model)
                call = call._replace(kwargs=call.kwargs + (("mask", key),))
                new_calls.setdefault(layer.name, {})[number] = call
                self.context.note("expanded", layer.name, "its mask is named in the call, since it is given its state")
            try:
                found[TensorKey(layer.name, number, 0)] = self._made(layer, call, inputs, "")
            except Keras3Error:
                found[TensorKey(layer.name, number, 0)] = NOTHING
        if not new_calls:
            return model
        layers = [_with_mask(_with_calls(layer, new_calls.get(layer.name, {}))) for layer in model.layers]
        return replace(model, layers=tuple(_with_operations(layers, added)))


def _with_operations(layers: Sequence[Layer], added: Mapping[tuple[Any, ...], Layer]) -> Iterator[Layer]:
    """Each operation right behind what it reads: Keras 3.4 and 3.6 look for what a node reads among those before it."""
    behind: dict[str, list[Layer]] = {}
    for operation in added.values():
        behind.setdefault(operation.calls[0].inputs[0].layer, []).append(operation)
    stack = list(reversed(layers))
    while stack:
        layer = stack.pop()
        yield layer
        stack += reversed(behind.get(layer.name, ()))


def _mask_of(layer: Layer, inputs: Sequence[Seen], added: dict[tuple[Any, ...], Layer], model: Model) -> TensorKey:
    """The mask that a layer's code was given, where one layer made it for one tensor."""
    mask = inputs[0].old
    if len(inputs) != 1 or layer.masked is None or layer.masked.model is None or mask is None:
        _refuse_masked(layer, True)
    assert mask is not None
    if mask[0] not in ("any", "not_equal"):
        _refuse_masked(layer, True)
    return _operations(mask, added, model)


def _refuse_masked(layer: Layer, given: bool) -> None:
    if given:
        raise Keras3Error(f"layer {layer.name!r} (Lambda): its code takes a mask that cannot be expressed", HINT)
    if layer.masked is not None and layer.masked.unmasked is not None:
        raise layer.masked.unmasked


def _with_mask(layer: Layer) -> Layer:
    """A layer of code with the model that takes the mask, where all its calls are given one."""
    given = [len(call.inputs) == 2 for call in layer.calls]
    if layer.masked is None or not any(given):
        return layer
    if not all(given):
        _refuse_masked(layer, True)
    return replace(layer, submodel=layer.masked.model, masked=None)


def _with_calls(layer: Layer, calls: dict[int, Call]) -> Layer:
    return replace(layer, calls=tuple(calls.get(i, call) for i, call in enumerate(layer.calls)))


def _operations(mask: tuple[Any, ...], added: dict[tuple[Any, ...], Layer], model: Model) -> TensorKey:
    """The operations that make a mask, once each.

    `NotEqual` takes a `name` in every version, `Any` from Keras 3.11 on.
    """
    kind, _, key, number = mask
    compared = _operation("NotEqual", key, added, model, {}, number)
    return _operation("Any", compared, added, model, {"axis": -1, "keepdims": False}) if kind == "any" else compared


def _operation(
    class_name: str, key: TensorKey, added: dict[tuple[Any, ...], Layer], model: Model, config: Config, *more: object
) -> TensorKey:
    known = added.get((class_name, key) + more)
    if known is None:
        taken = set(model.by_name) | {layer.name for layer in added.values()}
        base = f"{key.layer}_{'mask' if class_name == 'Any' else 'not_equal'}"
        name = next(name for name in [base] + [f"{base}_{i}" for i in range(1, len(taken) + 2)] if name not in taken)
        config = dict(config, name=name) if class_name == "NotEqual" else config
        call = Call((key,), tuple(("", value) for value in more))
        known = Layer(name, class_name, config, "keras.src.ops.numpy", calls=(call,))
        added[(class_name, key) + more] = known
    return TensorKey(known.name, 0, 0)


def _concatenated(layer: Layer, inputs: list[Seen]) -> Seen:
    tainted = next((seen.tainted for seen in inputs if seen.tainted), "")

    def joined(masks: list[Mask], word: str, missing: bool) -> Mask:
        if not any(masks):
            return None
        if layer.config.get("axis", -1) not in (-1, 2):
            return ("along", layer.config.get("axis"), tuple(masks))
        different = list(dict.fromkeys(masks))
        if word == "or" and None in different:
            return ("all",)  # what is not masked counts as there
        kept = [mask for mask in different if mask is not None]
        return kept[0] if len(kept) == 1 else (word, tuple(kept))

    return Seen(
        joined([seen.old for seen in inputs], "and", True), joined([seen.new for seen in inputs], "or", True), tainted
    )


#: Classes through which masks went in the old Keras.
OLD_PASSES = words("""
    Activation ActivityRegularization BatchNormalization Dense Dropout SpatialDropout1D SpatialDropout2D
    SpatialDropout3D GaussianNoise GaussianDropout AlphaDropout ELU LeakyReLU PReLU ReLU ThresholdedReLU
    LayerNormalization GroupNormalization UnitNormalization Softmax TimeDistributed TimeDistributedDense
    BatchNormalizationV1 BatchNormalizationV2 SReLU ParametricSoftplus""")


# -- names that Keras 3 gives to the operations that make masks


def without_collisions(model: Model, context: Context) -> Model:
    """The model with other names for layers that are called as Keras 3 would call operations that make masks.

    It counts those by itself (`concatenate`, `concatenate_1`, ...) and raises where a layer has such a name.
    """
    layers = [
        replace(layer, submodel=without_collisions(layer.submodel, context)) if layer.submodel is not None else layer
        for layer in model.layers
    ]
    model = replace(model, layers=tuple(layers))
    kinds = "|".join(sorted(mask_operations(model)))
    if not kinds:
        return model
    taken = set(model.by_name)
    names: dict[str, str] = {}
    for layer in model.layers:
        if re.fullmatch(rf"({kinds})(_\d+)?", layer.name):
            names[layer.name] = next(name for name in _candidates(layer.name) if name not in taken)
            taken.add(names[layer.name])
            text = f"renamed {names[layer.name]!r}: Keras 3 gives that name to what makes its masks"
            context.note("renamed", layer.name, text)
    return _renamed(model, names) if names else model


def _candidates(name: str) -> Iterator[str]:
    number = 0
    while True:
        yield f"{name}_layer_{number}" if number else f"{name}_layer"
        number += 1


def _renamed(model: Model, names: dict[str, str]) -> Model:
    def new(key: TensorKey) -> TensorKey:
        return key._replace(layer=names.get(key.layer, key.layer))

    def argument(value: object) -> object:
        if isinstance(value, TensorKey):
            return new(value)
        return [argument(item) for item in value] if isinstance(value, list) else value

    def call(old: Call) -> Call:
        kwargs = tuple((key, argument(value)) for key, value in old.kwargs)
        return Call(tuple(new(key) for key in old.inputs), kwargs, old.as_list)

    layers = [
        replace(layer, name=names.get(layer.name, layer.name), calls=tuple(call(item) for item in layer.calls))
        for layer in model.layers
    ]
    ends = [tuple(new(key) for key in keys) for keys in (model.inputs, model.outputs)]
    return replace(model, layers=tuple(layers), inputs=ends[0], outputs=ends[1])
