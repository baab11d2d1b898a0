"""What the names of weights say: roles, layers, copies; and how far names alone can take a file apart.

"conv1/kernel:0" is the kernel of `conv1`, or of a copy of a layer `conv`; "dense_1_W:0" is Keras 1 for the
same.  `assignment` asks here when it assigns a list by an architecture.  A weights file without its
architecture has nothing but names and shapes: `split_by_names` reads them where they leave no doubt that it
can see, and refuses elsewhere.
"""

import re
from typing import Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

from ..errors import NeedsArchitectureError, WeightsError
from ..model import LayerWeights, WeightRef, is_tf_keras, version_of
from .table import ROLES, ROWS

__all__ = ["ASSUMPTION", "BLIND_SPOTS", "claims", "role_and_prefix", "split_by_names", "stem"]

#: What no name can tell, for the user to read beside a result of `split_by_names`.
ASSUMPTION = (
    "no layer is frozen, no model is nested in the template and each layer is called as its weights are, "
    "as far as names tell"
)
BLIND_SPOTS = "names cannot show a nested model, a frozen layer, or a layer that was renamed after it was built"

_HINT = "--architecture FILE settles it (JSON of to_json(), or a full HDF5 file of the same model)"
_NUMBERED = re.compile(r"(.+)_(\d+)\Z")


# -- one name ---------------------------------------------------------------------------------------------


def _bare(name: str) -> str:
    """A weight's name without TensorFlow's output number."""
    return re.sub(r":\d+\Z", "", name)


def role_and_prefix(name: str) -> Tuple[str, str]:
    """A weight's role and what stands before it.

    >>> role_and_prefix("conv1/kernel:0"), role_and_prefix("dense_1_W:0"), role_and_prefix("gain:0")
    (('kernel', 'conv1'), ('W', 'dense_1'), ('', ''))
    """
    prefix, slash, word = _bare(name).rpartition("/")
    if word in ROLES:
        return word, prefix
    numbered = _NUMBERED.match(word)
    if numbered and numbered.group(1) in ROLES:
        return numbered.group(1), prefix  # a second variable in one scope: "kernel_1"
    cuts = [at for at in range(len(word)) if word[at] == "_" and word[at + 1 :] in ROLES]
    if cuts:
        return word[cuts[0] + 1 :], prefix + slash + word[: cuts[0]]
    return "", prefix


def stem(name: str) -> Tuple[str, int]:
    """A name and its number: ("dense", 2) for "dense_2", ("dense", 0) for "dense"."""
    match = _NUMBERED.match(name)
    return (match.group(1), int(match.group(2))) if match else (name, 0)


def claims(name: str, known: FrozenSet[str]) -> FrozenSet[str]:
    """Which of the known layers a weight may be named after: its own, or the layer that it is a copy of.

    "tower/dense_1/kernel:0" may belong to `dense_1`, to a copy of `dense`, and to a wrapper `tower`.
    """
    whole = _bare(name)
    pieces = whole.split("/")
    if len(pieces) == 1:
        cuts = [at for at in range(len(whole)) if whole[at] == "_"] + [len(whole)]
        texts = [whole[:at] for at in cuts]
    else:
        pieces = pieces[:-1][:12]
        spans = ((a, b) for a in range(len(pieces)) for b in range(a + 1, len(pieces) + 1))
        texts = ["/".join(pieces[a:b]) for a, b in spans]
    copies = [match.group(1) for match in map(_NUMBERED.match, texts) if match]
    return known.intersection(texts + copies)


# -- a whole list by names --------------------------------------------------------------------------------


def split_by_names(
    weights: Sequence[WeightRef], outputs: Sequence[str] = (), keras_version: Optional[str] = None
) -> Tuple[LayerWeights, ...]:
    """Recover layers from the names in a nested model's flat list, without its architecture.

    The list has to read as a trainable pass over the layers and a second pass over what is not trained,
    with nothing frozen.  A frozen layer between layers of other shapes, and a nested model whose layers
    have ordinary names, leave no trace in names: `ASSUMPTION` says so, and belongs beside the result.

    Parameters
    ----------
    weights : sequence of WeightRef
        The group's list, in the order of `weight_names`.
    outputs : sequence of str
        Names of the empty groups after it.  From Keras 2.1 on a wrapper's merges are named after the
        template's outputs, which shows whether the names are a copy's.
    keras_version : str, optional
        As in the file.  tf.keras counts names from "dense", Keras from "dense_1".

    Returns
    -------
    tuple of LayerWeights
        Layers that hold weights, in the order of the trainable pass.

    Raises
    ------
    NeedsArchitectureError
        Names cannot decide; the message names the layers in doubt.
    WeightsError
        The shapes of one layer's weights do not belong together.
    """
    layers = _layers(weights)
    _check_passes(layers, len(weights))
    for layer in layers:
        layer.check_shapes()
    _check_order(layers)
    _check_series(layers)
    _check_chain(layers)
    renamed = _own_names(layers, outputs, keras_version)
    return tuple(LayerWeights(name, tuple(layer.refs)) for name, layer in zip(renamed, layers))


def _doubt(text: str, names: Sequence[str]) -> NeedsArchitectureError:
    listed = ", ".join(repr(name) for name in names[:6]) + (", ..." if len(names) > 6 else "")
    return NeedsArchitectureError(f"names alone cannot take these weights apart: {text}: {listed}", _HINT)


_NEVER_TRAINED = ("moving_mean", "moving_variance", "running_mean", "running_std")

#: Each kind of layer that names show: its roles in order, those that it may lack in brackets.
_KINDS: Dict[str, Tuple[str, ...]] = {
    "dense or convolution": ("kernel", "[bias]"),
    "depthwise convolution": ("depthwise_kernel", "[bias]"),
    "separable convolution": ("depthwise_kernel", "pointwise_kernel", "[bias]"),
    "recurrent": ("kernel", "recurrent_kernel", "[bias]"),
    "normalization": ("[gamma]", "[beta]", "moving_mean", "moving_variance"),
    "layer normalization": ("[gamma]", "[beta]"),
    "embedding": ("embeddings",),
    "PReLU": ("alpha",),
    "Keras 1 dense or convolution": ("W", "[b]"),
    "Keras 1 recurrent": ("W", "U", "b"),
    "Keras 1 separable convolution": ("depthwise_kernel", "pointwise_kernel", "[b]"),
    "Keras 1 normalization": ("gamma", "beta", "running_mean", "running_std"),
    "Keras 1 LSTM": tuple(kind + "_" + gate for gate in "icfo" for kind in "WUb"),
    "Keras 1 GRU": tuple(kind + "_" + gate for gate in "zrh" for kind in "WUb"),
    "Keras 1 PReLU": ("alphas",),
    "Keras 1 highway": ("W", "W_carry", "b", "b_carry"),
}


def _kind_of(roles: Sequence[str]) -> str:
    """The kind whose roles these are, in this order; "" if none."""
    for kind, wanted in _KINDS.items():
        need = [role for role in wanted if role.strip("[]") in roles or not role.startswith("[")]
        if roles and [role.strip("[]") for role in need] == list(roles):
            return kind
    return ""


class _Named:
    """A layer as its weights' names show it: one or two runs in the list, in one or two parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.refs: List[WeightRef] = []
        self.parts: Dict[str, List[Tuple[str, WeightRef]]] = {}
        self.places: List[int] = []

    def add(self, part: str, role: str, ref: WeightRef, place: int) -> None:
        self.refs.append(ref)
        self.parts.setdefault(part, []).append((role, ref))
        self.places.append(place)

    @property
    def trained(self) -> List[int]:
        """Places of the weights that training changes."""
        roles = [role_and_prefix(ref.name)[0] for ref in self.refs]
        return [place for place, role in zip(self.places, roles) if role not in _NEVER_TRAINED]

    @property
    def kind(self) -> str:
        """What its roles say; a kernel's rank tells Dense from Conv2D."""
        part = next(iter(self.parts.values()))
        kind = _kind_of([role for role, _ in part])
        return kind if "normal" in kind else f"{kind} {len(part[0][1].shape)}"

    @property
    def series(self) -> Tuple[str, str]:
        """Layers of one kind whose names differ in numbers and single letters only."""
        return self.kind, "".join(token[0] for token in _tokens(stem(self.name)[0] + "_0"))

    def check_shapes(self) -> None:
        """Whether the weights of each part can be one layer's."""
        for part in self.parts.values():
            kind = _kind_of([role for role, _ in part])
            shapes = {role: ref.shape for role, ref in part}
            if not kind:
                roles = [role_and_prefix(ref.name)[0] for ref in self.refs]
                raise _doubt("no layer of Keras has just the weights ({})".format(", ".join(roles)), [self.name])
            if not _shapes_agree(kind, shapes):
                text = ", ".join(f"{ref.name} {ref.shape}" for _, ref in part)
                raise WeightsError(f"layer {self.name!r}: the shapes of its weights do not go together: {text}", _HINT)


def _shapes_agree(kind: str, shapes: Dict[str, Tuple[int, ...]]) -> bool:
    if "normal" in kind:
        return len(set(shapes.values())) == 1
    if kind == "recurrent":
        kernel, state, bias = shapes["kernel"], shapes["recurrent_kernel"], shapes.get("bias")
        fits = len(kernel) == len(state) and kernel[-1] == state[-1] and state[-1] % max(state[-2], 1) == 0
        return fits and (bias is None or bias in ((kernel[-1],), (2, kernel[-1]), (2 * kernel[-1],)))
    bias = shapes.get("bias", shapes.get("b"))
    if bias is None or kind not in _WITH_BIAS:
        return True
    kernel = shapes[_WITH_BIAS[kind]]
    widths = {kernel[-1], kernel[-2], kernel[-1] * kernel[-2]} if len(kernel) > 1 else set()
    return bool(bias) and (bias[-1] in widths or kind.startswith("Keras 1"))


_WITH_BIAS = {
    "dense or convolution": "kernel",
    "depthwise convolution": "depthwise_kernel",
    "separable convolution": "pointwise_kernel",
    "Keras 1 dense or convolution": "W",
}

#: Inner scopes that Keras' own recurrent layers put between their name and the weight.
_CELL = re.compile(r"([^/]+)/((?:lstm|gru|simple_rnn)_cell(?:_\d+)?)\Z")
_BOTH_WAYS = re.compile(r"([^/]+)/((?:forward|backward)_[^/]+)(?:/(?:lstm|gru|simple_rnn)_cell(?:_\d+)?)?\Z")


def _layers(weights: Sequence[WeightRef]) -> List[_Named]:
    """The layers that the names show, in the order of their first weight."""
    found: Dict[str, _Named] = {}
    for place, ref in enumerate(weights):
        role, prefix = role_and_prefix(ref.name)
        inner = _CELL.match(prefix) or _BOTH_WAYS.match(prefix)
        name, part = (inner.group(1), inner.group(2)) if inner else (prefix, "")
        if not role:
            raise _doubt("a weight whose name is none of Keras' own (a layer of another class?)", [ref.name])
        if not name:
            raise _doubt("a weight whose name shows no layer", [ref.name])
        if "/" in name:
            raise _doubt("a scope or a model around a layer shows in the names", [name])
        found.setdefault(name, _Named(name)).add(part, role, ref, place)
    return list(found.values())


def _check_passes(layers: Sequence[_Named], count: int) -> None:
    """The list must be one pass of trained weights, then one of the others in the same order."""
    middle = sum(len(layer.trained) for layer in layers)
    if any(place >= middle for layer in layers for place in layer.trained):
        raise _doubt("layers are frozen, and their place among the others is not known", _frozen(layers))
    lost = [layer.name for layer in layers if not layer.trained]
    if lost:
        raise _doubt("only untrained weights, so the place among the other layers is not known", lost)
    order = [place for layer in layers for place in layer.trained]
    order += [place for layer in layers for place in layer.places if place >= middle]
    if order != list(range(count)):
        wrong = next(place for place, expected in enumerate(order) if place != expected)
        name = next(layer.name for layer in layers if order[wrong] in layer.places)
        raise _doubt("the weights of one layer do not stand together", [name])


def _frozen(layers: Sequence[_Named]) -> List[str]:
    """Layers that may stand in the second pass with all their weights."""
    second = min(place for layer in layers for place in layer.places if place not in layer.trained)
    late = {layer.name for layer in layers if any(place >= second for place in layer.trained)}
    whole = {layer.name: layer for layer in layers if {second, second - 1} <= set(layer.places)}
    start = min([second] + [layer.places[0] for layer in whole.values()])
    before = {layer.name for layer in layers if start - 1 in layer.places}  # may be the first of them
    return [layer.name for layer in layers if layer.name in late.union(whole, before)]


# -- order ------------------------------------------------------------------------------------------------

_Ordinal = Union[int, str]


def _tokens(name: str) -> List[Tuple[str, _Ordinal]]:
    """A name in pieces: numbers and single letters count, words only tell apart."""
    found: List[Tuple[str, _Ordinal]] = []
    for digits, letter, word in re.findall(r"(\d+)|(?<![A-Za-z])([A-Za-z])(?![A-Za-z])|([A-Za-z]+|[^A-Za-z\d]+)", name):
        found.append(("#", int(digits)) if digits else ("@", letter) if letter else (word, ""))
    return found


def _comes_before(first: str, second: str) -> Optional[bool]:
    """Whether two names count up ("conv1" to "conv2"); None if they do not count."""
    a, b = _tokens(first), _tokens(second)
    for x, y in zip(a, b):
        if x != y:
            counts = x[0] == y[0] and x[0] in "#@"
            return str(x[1]).zfill(12) < str(y[1]).zfill(12) if counts else None
    if stem(second) == (first, len(b) and b[-1][1]):
        return True  # "dense", "dense_1"
    return False if stem(first)[0] == second else None


def _check_order(layers: Sequence[_Named]) -> None:
    """Names that count must count up, and layers that could be exchanged must have names that count."""
    series: Dict[Tuple[str, str], _Named] = {}
    alike: Dict[Tuple[str, str], _Named] = {}
    for layer in layers:
        before = series.get(layer.series)
        if before is not None and _comes_before(before.name, layer.name) is False:
            raise _doubt("the numbers in the names run backwards, as if layers were frozen", [before.name, layer.name])
        series[layer.series] = layer
        shapes = layer.kind, str([ref.shape for ref in layer.refs])
        twin = alike.get(shapes)
        if twin is not None and _comes_before(twin.name, layer.name) is not True:
            raise _doubt("layers of equal shapes whose names do not count", [twin.name, layer.name])
        alike[shapes] = layer


def _check_series(layers: Sequence[_Named]) -> None:
    """Refuse numbers that count on over layers of different kinds, as in the parts of an inner model."""
    kinds: Dict[str, _Named] = {}
    for layer in layers:
        tokens = _tokens(layer.name)
        pattern = "".join(token[0] for token in tokens)
        if not any(token[0] in "#@" for token in tokens):
            continue
        first = kinds.setdefault(pattern, layer)
        if first.kind != layer.kind:
            text = "one row of numbers for layers of different kinds, as in a model inside the model"
            raise _doubt(text, [first.name, layer.name])


def _widths(layer: _Named) -> Tuple[Optional[int], Optional[int]]:
    """Channels in and out, as far as shapes tell; nothing goes into an embedding but indices (0)."""
    part = next(iter(layer.parts.values()))
    kind = _kind_of([role for role, _ in part])
    first, last = part[0][1].shape, part[-1][1].shape
    if kind == "embedding":
        return 0, first[-1] if first else None
    if "normal" in kind:
        return (first[0], first[0]) if len(first) == 1 else (None, None)
    if len(first) < 2 or kind not in ("dense or convolution", "recurrent", "separable convolution"):
        return None, None
    if kind == "dense or convolution":
        return first[-2], first[-1]
    return first[-2], (part[1][1].shape[-2] * len(layer.parts) if kind == "recurrent" else last[-1])


def _rank(layer: _Named) -> int:
    return len(layer.refs[0].shape)


def _follows(first: _Named, second: _Named) -> bool:
    """Whether a layer could read the other's output, through a Flatten or not; unknown counts as yes."""
    out, into = _widths(first)[1], _widths(second)[0]
    if out is None or into is None or out == into:
        return True
    flat = _rank(second) == 2 and _rank(first) > 2
    return flat and out > 0 and into % out == 0


def _joins(first: _Named, second: _Named) -> bool:
    """Whether the widths are known, and equal, and no convolution comes after a dense layer."""
    out = _widths(first)[1]
    return out is not None and out == _widths(second)[0] and not (_rank(first) == 2 < _rank(second))


def _check_chain(layers: Sequence[_Named]) -> None:
    """Refuse if the last layers could be frozen ones from further up: shapes follow each other there too."""
    breaks = {at for at in range(1, len(layers)) if not _follows(layers[at - 1], layers[at])}
    if len(breaks) > 2:
        return
    first_cut, last_at = _movable(layers)
    for at in range(min(last_at, len(layers) - 1) + 1):
        if not _joins(layers[-1], layers[at]):
            continue
        for cut in range(max(first_cut, at + 1), len(layers)):
            fits = breaks <= {at, cut} and (at == 0 or _joins(layers[at - 1], layers[cut]))
            if fits and not _counts_on(layers[at:cut], layers[cut:]):
                text = "their shapes fit another place as well, as if they were frozen"
                raise _doubt(text, [layer.name for layer in layers[cut:]])


def _movable(layers: Sequence[_Named]) -> Tuple[int, int]:
    """The first layer of those at the end that may be frozen, and the last place where they may come from.

    The untrained weights of a layer above them would come before theirs, so they are above the first of these.
    """
    holders = [at for at, layer in enumerate(layers) if len(layer.trained) < len(layer.places)]
    if holders == [len(layers) - 1]:
        holders = []  # the only one, at the end: it may be frozen as well
    return (holders[-1] + 1, holders[0]) if holders else (0, len(layers))


def _counts_on(head: Sequence[_Named], tail: Sequence[_Named]) -> bool:
    """Whether the names count from a layer above to one below, so that their order is known."""
    above = {layer.series for layer in head}
    return any(layer.series in above for layer in tail)


# -- copies and automatic names ---------------------------------------------------------------------------


def _snake(class_name: str) -> str:
    """Keras' automatic name for a class, without its number."""
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", class_name))
    return words.lower()


_CLASSES = tuple(ROWS) + ("Bidirectional", "TimeDistributed", "RNN")
_AUTOMATIC = frozenset([_snake(name) for name in _CLASSES] + [name.lower() for name in _CLASSES])


def _is_automatic(name: str) -> bool:
    return name in _AUTOMATIC or stem(name)[0] in _AUTOMATIC


def _own_names(layers: Sequence[_Named], outputs: Sequence[str], keras_version: Optional[str]) -> List[str]:
    """The layers' own names: those in the weights, unless they are a copy's or were counted otherwise."""
    names = [layer.name for layer in layers]
    doubles = [name for name in names if _NUMBERED.match(stem(name)[0]) and _is_automatic(stem(name)[0])]
    if doubles:
        raise _doubt("two numbers, as in a copy's names: whether they belong to the layer is not known", doubles)
    shifted = _counted_from_one(names, outputs, keras_version)
    if shifted:
        return shifted
    absent = [name for name in outputs if name not in names]
    copied = [name for name in names if stem(name)[0] in absent and stem(name)[0] != name]
    if copied:
        raise _doubt("an output's name without this number is in the file, so these are a copy's names", copied)
    # TensorFlow gives the second variable of a name the number 1; people tell two branches out of one function apart
    # by renaming layers (`layer.name += "_2"`), which their weights do not show
    branches = [name for name in names if stem(name)[1] == 1 and stem(name)[0] in names and not _is_automatic(name)]
    if branches:
        pairs = [name for branch in branches for name in (stem(branch)[0], branch)]
        raise _doubt("each name with and without _1, as if layers were renamed after they were built", pairs)
    confirmed = any(name in names for name in outputs)
    if not confirmed:
        _check_not_all_copies(names, keras_version)
    return names


def _check_not_all_copies(names: Sequence[str], keras_version: Optional[str]) -> None:
    """Refuse if each name could be another one with a copy's number; Keras' own names always have one."""
    keras = keras_version is not None and not is_tf_keras(keras_version)
    free = [name for name in names if not (keras and _is_automatic(name))]
    stems = [stem(name)[0] for name in free]
    if free and all(_NUMBERED.match(name) for name in free) and len(set(stems)) == len(stems):
        raise _doubt("all names end in a number that may be a copy's", free)


def _counted_from_one(names: Sequence[str], outputs: Sequence[str], keras_version: Optional[str]) -> List[str]:
    """Layer names where weights of layer `dense_1` are named "dense": tf.keras of TensorFlow 1.8 and before.

    Empty where names are used as they are.  The template's outputs, which have layer names, decide.
    """
    automatic = [name for name in names if _is_automatic(name)]
    early = is_tf_keras(keras_version) and version_of(keras_version) < (2, 2)
    if not early or not automatic:
        return []
    plus_one = {name: f"{stem(name)[0]}_{stem(name)[1] + 1}" for name in automatic}
    if any(name in names and _is_automatic(name) for name in outputs) and keras_version == "2.1.6-tf":
        return []
    if not any(name in plus_one.values() and name not in names for name in outputs):
        raise _doubt("this version of tf.keras numbers layers and weights differently", automatic)
    _check_counted(automatic)
    return [plus_one.get(name, name) for name in names]


def _check_counted(automatic: Sequence[str]) -> None:
    """The numbers of each class must start at none and go up by one, or layers of it are elsewhere."""
    rows: Dict[str, List[int]] = {}
    for name in automatic:
        base, number = stem(name)
        rows.setdefault(base, []).append(number)
    for base, numbers in rows.items():
        if numbers != list(range(len(numbers))):
            raise _doubt("the numbers have gaps", [name for name in automatic if stem(name)[0] == base])
