"""A live Keras model -> topology: what `keras_config` does for a file's JSON, for objects in memory.

Any flavour, by duck typing: standalone Keras 2.0.9 to 2.3.1, tf.keras, tf_keras, Keras 3.  Only attributes are
read that these share, under the names that each gave them (read in their sources).  `get_config()` is never
asked of a Lambda, nor of the wrapper: there it copies the slice function's closure, which may hold a module.
The function itself is at hand instead, and with it what its globals are bound to.
"""

import base64
import contextlib
import marshal
from importlib import import_module
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, cast

from ..errors import UnparallelError
from ..model import Arguments, Call, Input, Json, Layer, TensorKey, Topology
from ..slices import Name, SavedFunction, Unknown
from .kinds import History, LiveLayer, LiveModel, LiveNode

if TYPE_CHECKING:
    from types import CellType

LIVE = "live"
# the name that TensorFlow's package has inside TensorFlow 1.15 and 2.0
_SAME_ROOT = {"tensorflow_core": "tensorflow"}
_WHAT = "pass the model that multi_gpu_model returned"


# -- what an object is ------------------------------------------------------------------------------------


def keras_classes(model: object) -> List[Any]:
    """The classes of an object that are Keras' own and not the user's, the nearest first."""
    return [cls for cls in type(model).__mro__ if keras_package(cls)]


def keras_package(cls: type) -> str:
    """The package of the Keras that a class comes from, such as "tensorflow.python.keras"; "" if from none."""
    parts = str(cls.__module__).split(".")
    at = next((i for i, part in enumerate(parts) if part in ("keras", "tf_keras")), None)
    # a user's package may have a folder `keras` too, but not at these places
    if at is None or not (at == 0 or parts[0] in ("tensorflow", "tensorflow_core")):
        return ""
    return ".".join(parts[: at + 1])


def keras_module(model: object, name: str) -> ModuleType:
    """A module, such as "models", of the Keras that an object comes from."""
    return import_module(f"{keras_package(keras_classes(model)[-1])}.{name}")


def is_sequential(model: object) -> bool:
    """Whether a model is a chain of layers."""
    return any(cls.__name__ == "Sequential" for cls in keras_classes(model))


def is_network(layer: object) -> bool:
    """Whether a layer is a model whose own graph of layers is known."""
    return isinstance(getattr(layer, "layers", None), list) and (
        is_sequential(layer) or _nodes_by_depth(layer) is not None
    )


def _nodes_by_depth(model: object) -> Optional[Dict[int, List[object]]]:
    """Lists of nodes by depth; None for a subclassed model."""
    # public up to Keras 2.1.2
    found: Optional[Dict[int, List[object]]] = _first(model, "_nodes_by_depth", "nodes_by_depth")
    return found


def _nodes(layer: object) -> List[LiveNode]:
    # public up to Keras 2.1.2
    return list(_first(layer, "_inbound_nodes", "inbound_nodes") or ())


def _first(owner: object, *names: str) -> Any:
    """The first of these attributes that is there and set."""
    for name in names:
        value = getattr(owner, name, None)
        if value is not None:
            return value
    return None


def check_model(model: object) -> None:
    """Refuse what has no graph to look at.

    Raises
    ------
    UnparallelError
        It is no Keras model, a subclassed one, or one that was never built.
    """
    if not isinstance(getattr(model, "layers", None), list) or not keras_classes(model):
        hint = "unparallel.load_template takes files" if isinstance(model, (str, bytes)) else _WHAT
        raise UnparallelError(f"not a Keras model but {type(model).__name__}", hint)
    label = "model {!r}".format(getattr(model, "name", "?"))
    if not is_network(model):
        raise UnparallelError(f"{label} has no graph of layers: it is subclassed", _WHAT)
    if not _first(model, "outputs"):
        raise UnparallelError(f"{label} was never built", "give its first layer an input shape, or call it once")


# -- nested structures of arguments -----------------------------------------------------------------------


def flat(value: object) -> List[Any]:
    """The leaves of nested lists, tuples and dicts, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flat(item)]
    return [value]


def map_structure(value: object, change: Callable[[Any], object]) -> object:
    """Nested lists, tuples, dicts and slices with each leaf put through `change`."""
    if isinstance(value, dict):
        return {key: map_structure(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named: Any = type(value)
        return named(*[map_structure(item, change) for item in value])
    if isinstance(value, (list, tuple)):
        items = [map_structure(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, slice):
        return slice(*[map_structure(part, change) for part in (value.start, value.stop, value.step)])
    return change(value)


def _plain(value: object, leaf: Callable[[object], Json]) -> Json:
    """A structure as a file would hold it; what no JSON can say becomes an object that equals only itself."""
    if isinstance(value, dict):
        return {str(key): _plain(item, leaf) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, leaf) for item in value]
    if isinstance(value, slice):
        return {part: _plain(getattr(value, part), leaf) for part in ("start", "stop", "step")}
    return leaf(value)


def _constant(value: object) -> Json:
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, str)):
        return value
    if str(type(value).__module__).split(".")[0] in ("numpy", "tensorflow", "tensorflow_core"):
        # numbers and arrays, and TensorFlow's own kind of shape
        listed = getattr(value, "tolist", None) or getattr(value, "as_list", None)
        with contextlib.suppress(TypeError, ValueError):  # a shape of unknown rank
            return listed() if listed is not None else {"object": id(value)}
    return {"object": id(value)}


# -- functions --------------------------------------------------------------------------------------------


def _saved_function(function: object) -> Union[SavedFunction, str]:
    """A function as `slices` reads it, with what its globals are bound to.

    The code is dumped and never loaded.  What is no plain function is named only.
    """
    if not isinstance(function, FunctionType) or function.__kwdefaults__:
        return getattr(function, "__name__", type(function).__name__)
    text = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
    defaults = tuple(_captured(value) for value in function.__defaults__ or ())
    closure = tuple(_captured(_contents(cell)) for cell in function.__closure__ or ())
    return SavedFunction(text, defaults, closure, _globals(function))


def _contents(cell: "CellType") -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return cell


def _captured(value: object) -> Json:
    """What a variable of a function stands for: a number or text, a module, or something unknown."""
    if isinstance(value, ModuleType):
        parts = value.__name__.split(".")
        return Name((_SAME_ROOT.get(parts[0], parts[0]),) + tuple(parts[1:]))
    if isinstance(value, (list, tuple)):
        return [_captured(item) for item in value]
    found = _constant(value)
    return Unknown(f"it uses a value of type {type(value).__name__}") if isinstance(found, dict) else found


def _globals(function: FunctionType) -> Dict[str, object]:
    """The globals that a function may use, as they are now."""
    found: Dict[str, object] = {}
    stack = [function.__code__]
    while stack:
        code = stack.pop()
        for name in code.co_names:
            if name in function.__globals__:
                found[name] = _captured(function.__globals__[name])
        stack.extend(constant for constant in code.co_consts if isinstance(constant, type(code)))
    return found


# -- calls ------------------------------------------------------------------------------------------------


class _LiveCall(NamedTuple):
    """What a layer was called with, as live objects; `made` says where a tensor comes from, by its id."""

    args: Tuple[object, ...]
    kwargs: Dict[str, object]
    made: Dict[int, History]


def _live_call(node: LiveNode) -> _LiveCall:
    """The arguments of a call, in every flavour's way of keeping them."""
    arguments: Any = getattr(node, "arguments", None)
    if hasattr(arguments, "kwargs"):  # Keras 3
        return _LiveCall(tuple(arguments.args), dict(arguments.kwargs), {})
    if getattr(node, "call_args", None) is not None:  # tf.keras from TensorFlow 2.2 on
        return _LiveCall(tuple(node.call_args), dict(node.call_kwargs), {})
    # Before, a node keeps the coordinates of its tensors: better than the tensors' own, which change when a
    # model hands a tensor through.
    tensors = node.input_tensors
    rows = zip(flat(node.inbound_layers), flat(node.node_indices), flat(node.tensor_indices))
    made = {id(tensor): row for tensor, row in zip(flat(tensors), rows)}
    first = tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors
    return _LiveCall((first,), dict(arguments or {}), made)


def _is_source(layer: object) -> bool:
    return any(cls.__name__ == "InputLayer" for cls in keras_classes(layer))


def _history(tensor: object, made: Dict[int, History]) -> Optional[History]:
    if isinstance(tensor, (str, int, float, bool, type(None))):
        return None
    found = made.get(id(tensor)) or getattr(tensor, "_keras_history", None)
    return (found[0], found[1], found[2]) if isinstance(found, tuple) and len(found) == 3 else None


def live_object(layer: Layer) -> LiveLayer:
    """The live layer that a topology's layer was read from."""
    found: LiveLayer = layer.entry[LIVE]
    return found


class LiveGraph:
    """Reads live models and remembers which objects it read."""

    def __init__(self) -> None:
        self._models: Dict[int, LiveModel] = {}
        self._kept: List[Tuple[Layer, ...]] = []

    def topology(self, model: LiveModel) -> Topology:
        """The topology of a model, nested models included."""
        found = self._chain(model) if is_sequential(model) else self._graph(model)
        # a topology that is changed gets new layers, so these tell whether it is still the live one
        self._models[id(found.layers)] = model
        self._kept.append(found.layers)
        return found

    def model_of(self, topology: Topology) -> Optional[LiveModel]:
        """The live model that has just these layers; None where the topology was changed."""
        return self._models.get(id(topology.layers))

    def weightless(self, layer: Layer) -> bool:
        """Whether a layer has no weights: the live object knows, with no table of classes."""
        return not getattr(live_object(layer), "weights", None)

    def _layer(self, live: LiveLayer, calls: Tuple[Call, ...]) -> Layer:
        submodel = self.topology(cast(LiveModel, live)) if is_network(live) else None
        config = {"name": live.name} if submodel is not None else self._config(live)
        entry: Dict[str, Any] = {"name": live.name, "class_name": type(live).__name__, "module": type(live).__module__}
        entry.update({"config": config, "inbound_nodes": [], LIVE: live})
        return Layer(live.name, class_name(live), config, calls, submodel, entry)

    def _config(self, live: LiveLayer) -> Dict[str, Json]:
        """What the detector needs to know of a layer: nothing where it has weights, for those are no slices."""
        if getattr(live, "weights", None):
            return {"name": live.name}
        if class_name(live) == "Lambda":
            function = _saved_function(getattr(live, "function", None))
            return {
                "name": live.name,
                "function": function,
                "arguments": _plain(getattr(live, "arguments", None) or {}, _constant),
            }
        try:
            config = live.get_config()
        except Exception:  # noqa: BLE001  a stranger's class may raise anything; then only itself is like it
            config = {"object": id(live)}
        return dict(_plain(config, _constant), name=live.name)

    def _chain(self, model: LiveModel) -> Topology:
        layers: List[Layer] = []
        for live in model.layers:
            inputs = (TensorKey(layers[-1].name, 0, 0),) if layers else ()
            layers.append(self._layer(live, (Call(inputs),)))
        last = TensorKey(layers[-1].name, 0, 0)
        return Topology(model.name, type(model).__name__, tuple(layers), (), (last,), _entry(model), sequential=True)

    def _graph(self, model: LiveModel) -> Topology:
        own = {id(node) for nodes in (_nodes_by_depth(model) or {}).values() for node in nodes}
        # Keras 3 has operations that are no layers
        lives = _first(model, "operations", "layers")
        kept = [(live, [(i, node) for i, node in enumerate(_nodes(live)) if id(node) in own]) for live in lives]
        numbers = {(id(live), i): number for live, nodes in kept for number, (i, _) in enumerate(nodes)}

        def key(history: History) -> TensorKey:
            return TensorKey(history[0].name, numbers[id(history[0]), history[1]], history[2])

        def known(history: Optional[History]) -> bool:
            return history is not None and (id(history[0]), history[1]) in numbers

        layers = tuple(
            self._layer(live, tuple(self._call(live, node, key, known) for _, node in nodes) or (Call(()),))
            for live, nodes in kept
        )
        inputs, outputs = (tuple(key(history) for history in _ends(model, end)) for end in ("input", "output"))
        return Topology(model.name, type(model).__name__, layers, inputs, outputs, _entry(model))

    def _call(
        self,
        live: LiveLayer,
        node: LiveNode,
        key: Callable[[History], TensorKey],
        known: Callable[[Optional[History]], bool],
    ) -> Call:
        if _is_source(live):
            return Call(())
        live_call = _live_call(node)
        inputs: List[TensorKey] = []

        def mark(value: object) -> object:
            history = _history(value, live_call.made)
            if history is None or not known(history):
                return value
            inputs.append(key(history))
            shape = getattr(value, "shape", None)
            return Input(len(inputs) - 1, tuple(shape) if isinstance(shape, tuple) else None)

        # the live objects stay in the node, for a call of the same layer in a new model
        marked = _mapped(Arguments(live_call.args, live_call.kwargs), mark)
        return Call(tuple(inputs), marked, _mapped(marked, lambda leaf: leaf if _is_input(leaf) else _constant(leaf)))


def _is_input(leaf: object) -> bool:
    return isinstance(leaf, Input)


def _mapped(arguments: Arguments, change: Callable[[Any], object]) -> Arguments:
    args = tuple(map_structure(value, change) for value in arguments.args)
    return Arguments(args, {name: map_structure(value, change) for name, value in arguments.kwargs.items()})


def filled(call: Call, tensors: Sequence[object]) -> Arguments:
    """The live arguments of a call with its tensors, in the order of `Call.inputs`, replaced by `tensors`."""
    return _mapped(call.node, lambda leaf: tensors[leaf.index] if _is_input(leaf) else leaf)


def class_name(live: object) -> str:
    """The class' name as a file has it; a user's subclass of Lambda still holds a function."""
    lambdas = [cls for cls in keras_classes(live) if cls.__name__ == "Lambda"]
    return "Lambda" if lambdas else type(live).__name__


def _entry(model: LiveModel) -> Json:
    config = {"name": model.name, "layers": [], "input_layers": [], "output_layers": []}
    return {"class_name": type(model).__name__, "config": config}


def _ends(model: LiveModel, end: str) -> List[History]:
    """Where a model's inputs or outputs come from; `end` is "input" or "output"."""
    coordinates = getattr(model, f"_{end}_coordinates", None)
    if coordinates is not None:  # Keras 2.2 on, tf.keras
        return [(row[0], row[1], row[2]) for row in coordinates]
    layers = getattr(model, end + "_layers", None)
    names = (f"{end}_layers_node_indices", f"{end}_layers_tensor_indices")
    if layers is not None and hasattr(model, names[0]):  # before
        return list(zip(layers, getattr(model, names[0]), getattr(model, names[1])))
    return [tuple(tensor._keras_history) for tensor in flat(getattr(model, end + "s"))]  # Keras 3
