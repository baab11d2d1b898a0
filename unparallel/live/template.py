"""The template inside a live parallel model, of any flavour of Keras, by duck typing.

The detector is the one for files; what differs is where the topology comes from (`live_graph`) and that the
result is an object.  No Keras is imported here: where a model has to be built, its class comes from the
caller's own object.  No session, no device is touched.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple, cast

from .. import match
from ..errors import UnparallelError
from ..extract import CleanModel, clean
from ..graph import call_graph, call_of, in_order
from ..model import Layer, TensorKey, Topology
from ..plan import not_parallel, output_names
from ..slices import Context
from .kinds import LiveLayer, LiveModel
from .topology import (
    LiveGraph,
    check_model,
    class_name,
    filled,
    flat,
    is_network,
    keras_classes,
    keras_module,
    live_object,
)


@dataclass(frozen=True)
class Template:
    """What was found in a live parallel model.

    Parameters
    ----------
    model : Keras model
        The template: the very object where it is nested, else a model over the same layers.
    outputs : dict of str to str
        The template's output name for each of the parallel model's.
    own : bool
        Whether `model` is an object of the caller's and not one that was made just now.
    """

    model: LiveModel
    outputs: Dict[str, str]
    own: bool


def extract_template(parallel_model: object, *, rebuild: bool = False, trust_slices: bool = False) -> Any:
    """The single-GPU model inside a live parallel model.

    Parameters
    ----------
    parallel_model : Keras model
        What `multi_gpu_model` or a look-alike returned: standalone Keras 2.0.9 to 2.3.1, tf.keras of
        TensorFlow 1.x to 2.x, tf_keras, Keras 3.
    rebuild : bool
        Give a fresh model with one inbound node and copied weights, of the same class: what exporters need,
        since the template itself has been called by each replica ("multiple inbound nodes").  Custom layers
        and functions of the template's Lambdas are found; a custom activation needs its custom-object scope.
    trust_slices : bool
        Accept layers that look like slices of the batch and whose code cannot be followed.

    Returns
    -------
    Keras model
        The very layer where the template is nested, weights shared, still training: with
        `cpu_relocation=True` that is the copy that trains and not the model that was handed in.  Where
        layers surround the wrapper, or the template's layers stand in the towers themselves, a new model
        over the same layers.  It is not compiled.

    Raises
    ------
    AlreadySingleError
        There is no wrapper in it.
    NotParallelError
        It looks parallel and is not provably so; the message is the nearest match's reason.
    UnparallelError
        It is no Keras model, a subclassed one, or one that was never built.

    Examples
    --------
    >>> template = unparallel.extract_template(parallel_model)     # doctest: +SKIP
    >>> template.save("single.h5")                                 # doctest: +SKIP
    """
    template = find_template(parallel_model, trust_slices).model
    return _fresh(template) if rebuild else template


def find_template(parallel_model: object, trust_slices: bool = False) -> Template:
    """The template and what its outputs are called; raises as `extract_template` does."""
    check_model(parallel_model)
    graph = LiveGraph()
    topology = graph.topology(cast(LiveModel, parallel_model))
    context = Context()

    def find(model: Topology, path: Tuple[str, ...]) -> match.SearchResult:
        return match.find(model, graph.weightless, trust_slices, context, outermost=not path)

    cleaned = clean(topology, find)
    if not cleaned.matches:
        raise not_parallel(cleaned, f"{topology.name!r} is ")
    own = graph.model_of(cleaned.topology)
    model = own if own is not None else _built(graph, parallel_model, cleaned.topology)
    return Template(model, _output_names(parallel_model, model, cleaned, topology), own is not None)


def _output_names(parallel_model: object, model: LiveModel, cleaned: CleanModel, topology: Topology) -> Dict[str, str]:
    """What each output was and is called: Keras 2 knows itself, and its versions differ where names repeat."""
    old, new = (getattr(one, "output_names", None) for one in (parallel_model, model))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(cleaned.outputs):
        return {name: new[place] for name, place in zip(old, cleaned.outputs)}
    return output_names(topology, cleaned)


# -- a new model over the same layers ---------------------------------------------------------------------


def _built(graph: LiveGraph, like: object, topology: Topology) -> LiveModel:
    """A new model; one error for whatever a stranger's layers, or an old Keras, raise when called again."""
    try:
        return _Builder(graph, like).model(topology)
    except UnparallelError:
        raise
    except Exception as error:
        raise UnparallelError(
            f"no model over the layers of {topology.name!r} can be made: {error}",
            "save the parallel model, or its weights and to_json(), and convert the file",
        ) from error


class _Builder:
    """Calls live layers anew, as a changed topology says."""

    def __init__(self, graph: LiveGraph, like: object) -> None:
        self.graph = graph
        self.like = like
        self.made: Dict[int, LiveModel] = {}
        self.copies: Dict[int, LiveLayer] = {}

    def model(self, topology: Topology) -> LiveModel:
        """A model for the topology: the live one where it was not changed."""
        known = self.graph.model_of(topology)
        if known is None:
            known = self.made.get(id(topology.layers))
        if known is None:
            build = self._chain if topology.sequential else self._graph
            known = self.made[id(topology.layers)] = build(topology)
        return known

    def _chain(self, topology: Topology) -> LiveModel:
        models = keras_module(self.like, "models")
        made: LiveModel = models.Sequential([self._object(layer) for layer in topology.layers], name=topology.name)
        return made

    def _graph(self, topology: Topology) -> LiveModel:
        tensors: Dict[TensorKey, object] = {}
        calls = call_graph(topology)
        for name, number in in_order(calls):
            layer, call = topology.layer(name), call_of(calls, (name, number))
            if call.node is None:
                tensor_or_more = _fresh_input(live_object(layer))
            else:
                given = filled(call, [tensors[key] for key in call.inputs])
                tensor_or_more = self._object(layer)(*given.args, **given.kwargs)
            for i, tensor in enumerate(flat(tensor_or_more)):
                tensors[TensorKey(name, number, i)] = tensor
        inputs, outputs = ([tensors[key] for key in keys] for keys in (topology.inputs, topology.outputs))
        made: LiveModel = _model_class(self.like)(_single(inputs), _single(outputs), name=topology.name)
        return made

    def _object(self, layer: Layer) -> LiveLayer:
        """The live layer; a new one where the layers of the replicas were copies under other names."""
        if layer.submodel is not None:
            model = self.model(layer.submodel)
            if model.name != layer.name:
                raise UnparallelError(
                    f"the template is named {model.name!r}, and so is a layer around it",
                    "save the parallel model, and run unparallel on the file",
                )
            return model
        live = live_object(layer)
        if live.name == layer.name:
            return live
        if id(layer.entry) not in self.copies:
            self.copies[id(layer.entry)] = _from_config(live, dict(live.get_config(), name=layer.name))
        return self.copies[id(layer.entry)]


def _fresh_input(live: LiveLayer) -> object:
    """The tensor of a new input layer like this one: nothing of the old graph is computed by the new one."""
    made: Any = _from_config(live, live.get_config())
    return made.output


def _from_config(like: LiveLayer, config: Dict[str, Any], **options: object) -> Any:
    """What the class of a live object makes of a config: `from_config` of every Keras."""
    return cast(Any, type(like)).from_config(config, **options)


def _single(items: List[object]) -> object:
    return items[0] if len(items) == 1 else items


def _model_class(like: object) -> Any:
    """The `Model` of the Keras that an object comes from, whatever the object's own class is."""
    return [cls for cls in keras_classes(like) if cls.__name__ == "Model"][-1]


# -- a fresh copy -----------------------------------------------------------------------------------------


def _fresh(template: LiveModel) -> LiveModel:
    """A copy of a model with weights of its own."""
    try:
        copy: LiveModel = _from_config(template, template.get_config(), custom_objects=_custom_objects(template))
    except Exception as error:  # whatever a stranger's layers raise
        raise UnparallelError(
            f"template {template.name!r} cannot be rebuilt: {error}",
            "call this inside a custom-object scope, or take the template without rebuild=True",
        ) from error
    _copy_weights(template, copy)
    return copy


def _custom_objects(model: LiveModel) -> Dict[str, Any]:
    """The user's own classes, and the globals that the functions of Lambdas use."""
    found: Dict[str, Any] = {}
    for layer in model.layers:
        own = keras_classes(layer)[:1]
        if own != [type(layer)]:
            found[type(layer).__name__] = type(layer)
        function = getattr(layer, "function", None) if class_name(layer) == "Lambda" else None
        code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        found.update({name: names[name] for name in getattr(code, "co_names", ()) if name in names})
        if is_network(layer):
            found.update(_custom_objects(cast(LiveModel, layer)))
    return found


def _copy_weights(old: LiveLayer, new: LiveLayer) -> None:
    """Copy weights and `trainable` layer by layer.

    A whole model's list of weights depends on flags that its config does not hold (standalone Keras), so
    that lists of equal models can be in different orders.
    """
    if getattr(old, "trainable", True) != getattr(new, "trainable", True):
        new.trainable = old.trainable
    if is_network(old):
        for one, other in zip(cast(LiveModel, old).layers, cast(LiveModel, new).layers):
            _copy_weights(one, other)
    elif old.weights:
        new.set_weights(old.get_weights())
