"""`model_config` JSON <-> topology, in every dialect: Keras 1, Keras 2, tf.keras, Keras 3.

What differs between them is settled here: a Sequential's bare list or dict, three- or four-item
references, single references without a list around them, keyword arguments that hold tensors,
`__keras_tensor__` objects, and the numbering of a nested model's calls (which count from 1 in Keras 2,
since node 0 is the model's own creation, and from 0 in Keras 3).  In a `Topology` calls count from 0.

Layer classes are never looked up and configs never interpreted: they are carried as JSON.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import Callable, Container, Dict, Iterator, List, Optional, Sequence, Tuple

from .errors import ConfigError
from .model import Arguments, Call, Input, Json, Layer, TensorKey, Topology

# Deeper nesting than this is no model: each level would be a model inside a model, and takes four levels of JSON.
DEEPEST = 50
# Python's own limit is 1000 calls, and what walks a config takes up to two calls a level.
DEEPEST_JSON = 300
# Each layer takes some kilobytes in memory; the largest models that we know have some thousand.
MOST_LAYERS = 25_000
# Estimated bytes of a parsed config: a text of brackets alone grows 80-fold.
MOST_JSON_BYTES = 128 * 2**20
LONGEST_NUMBER = 400
# Names become names in the file, many times each; HDF5 takes none above 64 KiB.
LONGEST_NAME = 4096
HOSTILE = "this is no model config; do not trust this file"
DAMAGED = "the config is damaged, or a newer Keras wrote it"
# Keras finds a model's calls by its layers' names when it writes them down, and finds none after a renaming.
RENAMED = "Keras saves models so whose layers were renamed after building; with weights alone use --architecture"

# Layers of tf.keras 2.4 and later that are calls of a function, and so tell one tensor from a list of one
# (`_preserve_input_structure_in_config` in keras/layers/core/tf_op_layer.py)
KEEP_STRUCTURE = frozenset(("TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod", "InstanceProperty"))

Reference = Tuple[str, int, int]
# tf.keras 2.4 and later number the objects of a config that may stand in it more than once
OBJECT_ID = "shared_object_id"
END_KEYS = ("input_layers", "output_layers")


def parse_json(text: str, what: str, hint: str = "the file is damaged") -> Json:
    """JSON text as values; one clear error for anything that is not JSON."""
    if text.count("{") * 240 + text.count("[") * 64 + text.count(",") * 40 > MOST_JSON_BYTES:
        raise ConfigError(f"{what} is too large: {len(text)} characters", HOSTILE)
    try:
        value = json.loads(text, parse_int=_whole_number)
    except RecursionError as error:
        raise ConfigError(f"{what} is nested too deeply", HOSTILE) from error
    except ValueError as error:
        raise ConfigError(f"{what} is not JSON ({error})", hint) from error
    _check_depth(value, what)
    return value


def _whole_number(text: str) -> int:
    # Python before 3.11 takes hours for a number of ten million digits
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _check_depth(value: Json, what: str) -> None:
    """Refuse a value that those who walk it by recursion could not."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(DEEPEST_JSON):
        inner = (outer.values() if isinstance(outer, dict) else outer for outer in level)
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
        if not level:
            return
    raise ConfigError(f"{what} is nested more than {DEEPEST_JSON} levels deep", HOSTILE)


def parse(config: Json) -> Topology:
    """The topology of a `model_config` (or `to_json()`) value.

    Parameters
    ----------
    config : dict
        `{"class_name": ..., "config": ...}`; other keys are ignored.

    Returns
    -------
    Topology

    Raises
    ------
    ConfigError
        It is no model, or its references do not fit its layers; the message names the layer.
    """
    if not is_model(config):
        kind = config.get("class_name") if isinstance(config, dict) else type(config).__name__
        raise ConfigError(f"the config holds no functional or Sequential model ({kind})", _subclassed(config))
    _check_layer_count(config)
    return _model(config, "", 0)


def _check_layer_count(config: Json) -> None:
    """Refuse more layers than memory is for, before anything is made of them."""
    count = 0
    stack = [config]
    while stack:
        for item in _entries(stack.pop()):
            count += 1
            if is_model(item):
                stack.append(item)
        if count > MOST_LAYERS:
            raise ConfigError(f"the config has more than {MOST_LAYERS} layers", HOSTILE)


def _entries(model: Dict[str, Json]) -> List[Json]:
    """The layers' objects of a model's."""
    config = model["config"]
    found: List[Json] = config if isinstance(config, list) else config["layers"]
    return found


def _subclassed(config: Json) -> str:
    if isinstance(config, dict) and "class_name" in config:
        return "subclassed models have no graph in their files"
    return DAMAGED


def is_model(entry: Json) -> bool:
    """Whether a `{"class_name", "config"}` object describes a model with layers of its own."""
    if not isinstance(entry, dict) or "config" not in entry or "class_name" not in entry:
        return False
    config = entry["config"]
    if isinstance(config, list):
        return all(_is_layer(item) for item in config)
    if not isinstance(config, dict) or not isinstance(config.get("layers"), list):
        return False
    if not all(_is_layer(item) for item in config["layers"]):
        return False
    return "output_layers" in config or not any("inbound_nodes" in item for item in config["layers"])


def _is_layer(item: Json) -> bool:
    return isinstance(item, dict) and "class_name" in item and isinstance(item.get("config"), (dict, list))


def _model(entry: Dict[str, Json], name: str, depth: int) -> Topology:
    if depth > DEEPEST:
        raise ConfigError(f"models nested more than {DEEPEST} deep", HOSTILE)
    config = entry["config"]
    items = _entries(entry)
    own = config.get("name") if isinstance(config, dict) else None
    label = _checked_name(own or entry.get("name") or name)
    layers = [_layer(item, "{}_{}".format(str(item["class_name"]).lower(), i), depth) for i, item in enumerate(items)]
    _check_unique(layers, label)
    build = _functional if isinstance(config, dict) and "output_layers" in config else _sequential
    return build(entry, label, layers)


def _check_unique(layers: List[Layer], model: str) -> None:
    seen = set()
    for layer in layers:
        if layer.name in seen:
            raise ConfigError(f"model {model!r} has two layers named {layer.name!r}", DAMAGED)
        seen.add(layer.name)


def _layer(item: Dict[str, Json], fallback: str, depth: int) -> Layer:
    """A layer without its calls; an old nested Sequential has no name of its own in an outer one."""
    config = item["config"]
    own = config.get("name") if isinstance(config, dict) else None
    name = _checked_name(item.get("name") or own or fallback)
    submodel = _model(item, name, depth + 1) if is_model(item) else None
    if submodel is None and not isinstance(config, dict):
        raise ConfigError(f"the config of layer {name!r} is a list, and no model's", DAMAGED)
    return Layer(name, str(item["class_name"]), config, (), submodel, item)


def _checked_name(name: Json) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"a layer's name is not text: {repr(name)[:100]}", DAMAGED)
    if len(name) > LONGEST_NAME:
        raise ConfigError(f"a layer's name has {len(name)} characters: {name[:40]!r}...", HOSTILE)
    return name


def _sequential(entry: Dict[str, Json], name: str, layers: List[Layer]) -> Topology:
    """A chain: each layer is called once, on the one before."""
    chained: List[Layer] = []
    for i, layer in enumerate(layers):
        inputs = (TensorKey(layers[i - 1].name, 0, 0),) if i else ()
        chained.append(replace(layer, calls=(Call(inputs),)))
    starts = bool(chained) and chained[0].class_name == "InputLayer"
    return Topology(
        name,
        str(entry["class_name"]),
        tuple(chained),
        (TensorKey(chained[0].name, 0, 0),) if starts else (),
        (TensorKey(chained[-1].name, 0, 0),) if chained else (),
        entry,
        sequential=True,
    )


def _functional(entry: Dict[str, Json], name: str, layers: List[Layer]) -> Topology:
    known = {layer.name: layer for layer in layers}
    config = entry["config"]
    nodes = {layer.name: _nodes(layer, name) for layer in layers}
    for layer in layers:
        for node in nodes[layer.name]:
            if not isinstance(node, dict):  # in Keras 3 tensors are objects, and all else is a constant
                _check_node(node, known, layer.name)
    read = {layer.name: [list(references(node, known)) for node in nodes[layer.name]] for layer in layers}
    ends = {key: list(_ends(config.get(key), known, f"{key} of model {name!r}")) for key in END_KEYS}
    first = _first_calls(layers, read, ends)

    def key(reference: Reference, where: str) -> TensorKey:
        layer, call, tensor = reference
        number = call - first[layer]
        if not 0 <= number < max(1, len(nodes[layer])) or tensor < 0:
            raise ConfigError(f"{where} reads call {call} of layer {layer!r}, which has none such", DAMAGED)
        if known[layer].class_name == "InputLayer" and tensor:
            raise ConfigError(f"{where} reads output {tensor} of input {layer!r}, which is one tensor", DAMAGED)
        submodel = known[layer].submodel
        if submodel is not None and tensor >= len(submodel.outputs):
            raise ConfigError(f"{where} reads output {tensor} of model {layer!r}, which has none such", DAMAGED)
        return TensorKey(layer, number, tensor)

    called = []
    for layer in layers:
        calls = [
            Call(
                tuple(key(reference, f"layer {layer.name!r}") for reference in found),
                node,
                arguments_of(node, known, layer.class_name in KEEP_STRUCTURE),
            )
            for node, found in zip(nodes[layer.name], read[layer.name])
        ]
        # an InputLayer has one implied call, which no node stands for
        called.append(replace(layer, calls=tuple(calls) or (Call(()),), first_call=first[layer.name]))
    if not ends["output_layers"]:
        raise ConfigError(f"model {name!r} has no outputs", RENAMED)
    inputs = tuple(key(reference, f"input_layers of model {name!r}") for reference in ends["input_layers"])
    outputs = tuple(key(reference, f"output_layers of model {name!r}") for reference in ends["output_layers"])
    _check_inputs(name, called, inputs)
    return Topology(name, str(entry["class_name"]), tuple(called), inputs, outputs, entry)


def _check_inputs(model: str, layers: Sequence[Layer], inputs: Sequence[TensorKey]) -> None:
    """Each InputLayer is an input of its model, once, and no input is computed by the model itself.

    Keras refuses to build any other model ("Graph disconnected", "Cannot create a Model with repeated inputs").
    """
    known = {layer.name: layer for layer in layers}
    counts = Counter(_given(key.layer, known) for key in inputs)
    for layer in layers:
        count = counts[layer.name]
        if layer.class_name == "InputLayer" and count != 1:
            problem = f"lists {layer.name!r} {count} times" if count else f"does not list {layer.name!r}"
            raise ConfigError(f"input_layers of model {model!r} {problem}", DAMAGED)
        if count and any(call.inputs for call in layer.calls):
            raise ConfigError(f"input_layers of model {model!r} lists {layer.name!r}, which is computed", DAMAGED)


# Layers whose call in Keras 1 may return the very tensor that it got, which then bears the layer's name: a model that
# begins with one lists it as its input (`Container.__init__` of 1.2.2 goes by `_keras_history`).
_RETURN_THEIR_INPUT = ("Activation", "ActivityRegularization", "Dropout")


def _given(name: str, known: Dict[str, Layer]) -> str:
    """The InputLayer behind a layer that returned its input unchanged; else the layer itself."""
    layer, steps = known[name], 0
    while layer.class_name in _RETURN_THEIR_INPUT and steps <= len(known):
        if len(layer.calls) != 1 or len(layer.calls[0].inputs) != 1:
            return name
        layer, steps = known[layer.calls[0].inputs[0].layer], steps + 1
    return layer.name if layer.class_name == "InputLayer" else name


def _nodes(layer: Layer, model: str) -> List[Json]:
    nodes = layer.entry.get("inbound_nodes")
    if not isinstance(nodes, list):
        raise ConfigError(f"layer {layer.name!r} of model {model!r} has no inbound_nodes", DAMAGED)
    return nodes


def _check_node(node: Json, known: Container[str], layer: str) -> None:
    """Refuse a node of Keras 1 or 2 in which something stands for a tensor and names none.

    Keyword arguments, the fourth item of a reference, may hold any constant.  tf.keras 2.4 and later write
    `["_CONSTANT_VALUE", -1, value, {}]` where a call reads a constant.
    """
    stack = [node]
    while stack:
        item = stack.pop()
        if item is None or _as_reference(item, known) is not None:
            continue
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list) and not any(isinstance(part, str) for part in item):
            stack.extend(item)
        elif not (isinstance(item, list) and item[:2] == ["_CONSTANT_VALUE", -1]):
            text = to_text(item)
            raise ConfigError(
                f"a call of layer {layer!r} reads {text[:100]}, which names no tensor of the model", DAMAGED
            )


def _first_calls(
    layers: List[Layer], read: Dict[str, List[List[Reference]]], ends: Dict[str, List[Reference]]
) -> Dict[str, int]:
    """The number of each layer's first call: 1 for a nested model of Keras 2, else 0.

    The file itself tells: all calls are read by something, so the highest number read is the
    number of calls where they count from 1, and one less where they count from 0.
    """
    highest: Dict[str, int] = {}
    everything = [reference for found in read.values() for node in found for reference in node]
    for layer, call, _ in everything + ends["output_layers"]:
        highest[layer] = max(call, highest.get(layer, 0))
    return {
        layer.name: int(layer.submodel is not None and highest.get(layer.name, 0) == len(layer.entry["inbound_nodes"]))
        for layer in layers
    }


def _as_reference(value: Json, known: Container[str]) -> Optional[Reference]:
    """`[layer, call, tensor]` or `[layer, call, tensor, kwargs]` as a reference, where it is one."""
    if (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and type(value[1]) is int  # not True or False
        and type(value[2]) is int
        and value[0] in known
        and (len(value) == 3 or isinstance(value[3], dict))
    ):
        return (value[0], value[1], value[2])
    return None


def _keras_tensor(value: Json) -> Optional[List[Json]]:
    """The `[layer, call, tensor]` list inside a Keras 3 tensor object."""
    if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        config = value.get("config")
        history = config.get("keras_history") if isinstance(config, dict) else None
        if not isinstance(history, list) or len(history) != 3:
            raise ConfigError("a call reads a tensor without a history", DAMAGED)
        return history
    return None


def _ends(value: Json, known: Container[str], where: str) -> Iterator[Reference]:
    """The references of `input_layers` or `output_layers`: a list of them, one alone, or nested structures (Keras 3).

    Raises
    ------
    ConfigError
        Something in it is no reference to a layer of this model.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        found = _as_reference(item, known)
        if found is not None and len(item) == 3:
            yield found
        elif isinstance(item, list) and not any(isinstance(part, str) for part in item):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        else:
            text = to_text(item)
            raise ConfigError(f"{where}: {text[:100]} is not one of the model's tensors", DAMAGED)


def references(node: Json, known: Container[str]) -> Iterator[Reference]:
    """All references in an inbound node, in order, keyword arguments last.

    Raises
    ------
    ConfigError
        A Keras 3 tensor object names no layer of this model.
    """
    stack = [node]
    while stack:
        value = stack.pop()
        history = _keras_tensor(value)
        found = _as_reference(history if history is not None else value, known)
        if found is not None:
            yield found
            if history is None and len(value) == 4:
                stack.append(value[3])
        elif history is not None:
            raise ConfigError(f"a call reads {history!r}, which is no layer of the model", DAMAGED)
        elif isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            stack.extend(reversed(list(value.values())))


def replace_references(node: Json, known: Container[str], new: Callable[[Reference], Reference]) -> Json:
    """The node with each of its references put through `new`; the node itself is left alone."""
    history = _keras_tensor(node)
    if history is not None:
        return dict(node, config=dict(node["config"], keras_history=list(new(tuple(history)))))
    found = _as_reference(node, known)
    if found is not None:
        head = list(new(found))  # before its keyword arguments, as `references` gives them
        return head + [replace_references(value, known, new) for value in node[3:]]
    if isinstance(node, list):
        return [replace_references(value, known, new) for value in node]
    if isinstance(node, dict):
        return {key: replace_references(value, known, new) for key, value in node.items()}
    return node


class _ArgumentReader:
    """Reads one node's arguments, and counts its references in the order of `references`."""

    def __init__(self, known: Container[str]) -> None:
        self.known = known
        self.count = 0

    def value(self, item: Json) -> object:
        """An argument; of a reference with keyword arguments of its own these are left out, but counted."""
        if isinstance(item, dict):
            return self._object(item)
        if not isinstance(item, list):
            return item
        if _as_reference(item, self.known) is None:
            return [self.value(inner) for inner in item]
        found = self._next()
        for inner in item[3:]:
            self.value(inner)
        return found

    def _object(self, item: Dict[str, Json]) -> object:
        if _keras_tensor(item) is not None:
            shape = item["config"].get("shape")
            return self._next(tuple(shape) if isinstance(shape, list) else None)
        parts = {name: self.value(inner) for name, inner in item.items()}
        if item.get("class_name") == "__ellipsis__":
            return Ellipsis
        # {"start", "stop", "step"} alone is how tf.keras writes a slice
        bounds = parts.get("config") if item.get("class_name") == "__slice__" else parts
        if isinstance(bounds, dict) and set(bounds) == {"start", "stop", "step"}:
            return slice(bounds["start"], bounds["stop"], bounds["step"])
        return bounds if isinstance(bounds, slice) else parts

    def _next(self, shape: Optional[Tuple[Optional[int], ...]] = None) -> Input:
        self.count += 1
        return Input(self.count - 1, shape)

    def entry(self, item: Json, kwargs: Dict[str, object]) -> object:
        """One of the tensors that an old node lists, or a constant in its place; keyword arguments stand behind it."""
        constant = isinstance(item, list) and len(item) == 4 and item[:2] == ["_CONSTANT_VALUE", -1]
        if not constant and _as_reference(item, self.known) is None:
            return self.value(item)
        found = self.value(item[2]) if constant else self._next()
        for name, inner in (item[3] if len(item) == 4 and isinstance(item[3], dict) else {}).items():
            kwargs[name] = self.value(inner)
        return found


def arguments_of(node: Json, known: Container[str], keep_structure: bool = False) -> Arguments:
    """What a layer is called with, out of an inbound node of any Keras.

    Parameters
    ----------
    node : JSON value
        `{"args": [...], "kwargs": {...}}` (Keras 3), a list of `["x", 0, 0, {"axis": 1}]`, or one such alone.
    known : container of str
        Names of the model's layers.
    keep_structure : bool
        Whether a list of one tensor is a list to the layer, and not that tensor.

    Returns
    -------
    Arguments
    """
    reader = _ArgumentReader(known)
    if isinstance(node, dict):
        parts = {name: reader.value(item) for name, item in node.items()}
        args, kwargs = parts.get("args"), parts.get("kwargs")
        return Arguments(tuple(args) if isinstance(args, list) else (), kwargs if isinstance(kwargs, dict) else {})
    found: Dict[str, object] = {}
    alone = isinstance(node, list) and bool(node) and isinstance(node[0], str)
    if alone:
        return Arguments((reader.entry(node, found),), found)
    values = [reader.entry(item, found) for item in (node if isinstance(node, list) else [])]
    return Arguments((values[0] if len(values) == 1 and not keep_structure else values,), found)


def has_arguments(call: Call) -> bool:
    """Whether a call gives its layer more than tensors, such as `training=True`."""
    values = list(call.given.kwargs.values())
    if isinstance(call.node, list):
        return bool(values)
    # Keras 3 and live models write out what a model's call has by default, a list of masks too
    while values:
        value = values.pop()
        if isinstance(value, (list, tuple)):
            values.extend(value)
        elif value not in (None, False):
            return True
    return False


def shape_of_input(layer: Layer) -> Optional[Tuple[Optional[int], ...]]:
    """An InputLayer's shape with the batch axis, `batch_input_shape` or Keras 3's `batch_shape`."""
    if not isinstance(layer.config, dict):
        return None
    shape = layer.config.get("batch_input_shape", layer.config.get("batch_shape"))
    return tuple(shape) if isinstance(shape, list) else None


def render(topology: Topology, old: Topology) -> Json:
    """The `{"class_name", "config"}` object of a topology that was rewritten from `old`.

    Keys keep their order; only layers, nodes, inputs and outputs are new.  Each call's node is the
    old one with `Call.inputs` in place of its references.
    """
    known = {layer.name for layer in old.layers}
    layers = {layer.name: layer for layer in topology.layers}

    def reference(key: TensorKey) -> Reference:
        return (key.layer, key.call + layers[key.layer].first_call, key.tensor)

    def node(call: Call) -> Json:
        inputs = iter(call.inputs)
        return replace_references(call.node, known, lambda _: reference(next(inputs)))

    def entry(layer: Layer) -> Json:
        if topology.sequential:
            return layer.entry
        nodes = [node(call) for call in layer.calls if call.node is not None]
        return _with_values(layer.entry, {"name": layer.name, "inbound_nodes": nodes})

    entries = [entry(layer) for layer in topology.layers]
    config = topology.config["config"]
    if isinstance(config, list):
        return dict(topology.config, config=entries)
    ends = {}
    for key, tensors in zip(END_KEYS, (topology.inputs, topology.outputs)):
        if key in config:
            ends[key] = _rendered_ends(config[key], known, [reference(tensor) for tensor in tensors])
    return dict(topology.config, config=dict(config, layers=entries, **ends))


def _rendered_ends(old: Json, known: Container[str], new: Sequence[Reference]) -> Json:
    """`input_layers` or `output_layers` in the old structure, which says how Keras 3 is to be called."""
    if len(list(_ends(old, known, ""))) == len(new):
        rest = iter(new)
        return replace_references(old, known, lambda _: next(rest))
    return [list(reference) for reference in new]


def _with_values(entry: Dict[str, Json], values: Dict[str, Json]) -> Dict[str, Json]:
    """A copy with new values for keys that are there, in the old order."""
    return {key: values.get(key, value) for key, value in entry.items()}


def renamed(entry: Dict[str, Json], name: str) -> Dict[str, Json]:
    """A layer's object under another name, in its config too."""
    entry = _with_values(entry, {"name": name})
    if isinstance(entry["config"], dict):
        entry["config"] = _with_values(entry["config"], {"name": name})
    return entry


def as_model_config(entry: Dict[str, Json]) -> Json:
    """A nested model's object as the `model_config` of a file of its own.

    A nested entry has `name` and `inbound_nodes` beside `class_name` and `config`; tf.keras 2.4 and later
    number shared objects there, which they do not at the top.
    """
    config = entry["config"]
    # the value itself where there are none: a large config must not be in memory twice
    numbered = any(isinstance(value, dict) and OBJECT_ID in value for value in containers(config))
    return {"class_name": entry["class_name"], "config": _without_object_ids(config) if numbered else config}


def _without_object_ids(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_object_ids(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_object_ids(item) for key, item in value.items() if key != OBJECT_ID}
    return value


def containers(value: Json) -> Iterator[Json]:
    """All dicts and lists in a value, itself included, in the order of the text."""
    stack = [value] if isinstance(value, (dict, list)) else []
    while stack:
        value = stack.pop()
        yield value
        inner = value.values() if isinstance(value, dict) else value
        stack += [item for item in inner if isinstance(item, (dict, list))][::-1]


def to_text(value: Json) -> str:
    """JSON text as Keras writes it (the standard separators, ASCII only)."""
    return json.dumps(value)


def with_names(topology: Topology, names: Dict[str, str]) -> Topology:
    """A Sequential whose layers bear the names that its file gives them."""
    layers = [replace(layer, name=names.get(layer.name, layer.name)) for layer in topology.layers]
    _check_unique(layers, topology.name)
    return _sequential(topology.config, topology.name, layers)
