"""What the functions of TensorFlow and Keras mean for tensors that are only names.

A tensor is its name, and the size of its batch a symbol (`sizes`).  `Rows` comes out only where it follows
for every batch; whatever is not known raises `Undecided`, or is `Unknown` where it may not matter.
Functions are rows of a table.  One thing has to be taken on trust: a file does not say what a global such as
`tf` or `K` was bound to, so the customary names of modules (`_MODULES`) count as these modules.
"""

from functools import lru_cache
from typing import Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Sequence, Tuple

from .interpreter import TEXT
from .marshal import Other
from .operations import (
    add_all,
    as_constant,
    binary,
    cast,
    ceil,
    concat,
    concat_last,
    expand,
    extreme,
    floor,
    ones_like,
    range_of,
    rank_of,
    reduce_with,
    reshape,
    shape_of,
    shape_tuple,
    squeeze,
    stack,
    static_shape,
    strided_slice,
    to_int,
    truth,
    zeros_like,
)
from .rows import gather, slice_rows, split
from .sizes import (
    Rank,
    Undecided,
    fixed,
)
from .values import MAX_ITEMS, Mean, Name, OpenTuple, Rows, Sum, Unknown, all_tensors, is_tensor, not_in_file

# What the customary names of modules stand for.  A name counts only below one of the roots.
_MODULES: Dict[str, str] = {
    "tf": "tf",
    "tensorflow": "tf",
    "v1": "tf",
    "v2": "tf",
    "math": "tf",
    "array_ops": "tf",
    "math_ops": "tf",
    "gen_array_ops": "tf",
    "gen_math_ops": "tf",
    "K": "K",
    "KB": "K",
    "backend": "K",
    "keras_backend": "K",
    "tensorflow_backend": "K",
    "ops": "ops",
    "layers": "layers",
    "KL": "layers",
    "nn": "nn",
    "nn_ops": "nn",
    "image": "image",
    "image_ops": "image",
    "linalg": "linalg",
    "linalg_ops": "linalg",
    "random": "random",
    "random_ops": "random",
}
_ROOTS = frozenset(
    ("tf", "tensorflow", "K", "KB", "backend", "keras_backend", "array_ops", "math_ops", "keras", "tf_keras")
    + ("gen_array_ops", "gen_math_ops", "ops", "layers", "KL", "nn", "nn_ops", "image_ops", "linalg_ops", "random_ops")
)
_NUMPY = frozenset(("np", "numpy"))
# modules of TensorFlow whose functions leave lists that they are given alone; some of numpy's do not
PURE = frozenset(("tf", "K", "ops", "layers", "nn", "image", "linalg"))


class Row(NamedTuple):
    """A function: the modules that hold it, its names, its parameters in order, and what it means for rows.

    A parameter with a question mark may be unknown without the result being so.  Parameters that the meaning
    does not look at stand after a bar; giving them anything but a default (None, False or text) makes the
    call unknown.
    """

    modules: str
    names: str
    parameters: str
    meaning: Callable[..., object]

    @property
    def signature(self) -> "Signature":
        """The parameters, taken apart once."""
        return _signature(self.parameters)


class Signature(NamedTuple):
    """The parameters of a function in the table.

    Attributes
    ----------
    used, ignored : tuple of str
        Those that the meaning takes, and those behind them that it does not look at.
    unknown : frozenset of str
        Those that may be unknown without the result being so.
    """

    used: Tuple[str, ...]
    ignored: Tuple[str, ...]
    unknown: FrozenSet[str]

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Dict[str, object]:
        """The value of each parameter that is given; keywords may be those of another version of the function."""
        names = self.used + self.ignored
        if len(args) > len(names):
            raise Undecided("it gives a function too many arguments")
        found = dict(zip(names, args))
        # old names last: `reduction_indices=None` may stand beside an axis
        for keyword, value in sorted(kwargs.items(), key=lambda item: item[0] not in self.used):
            meant = [name for name in names if keyword in _RENAMED.get(name, (name,)) and name not in found]
            if not meant:
                raise Undecided(f"it gives a function an unusual argument {keyword!r}")
            found[meant[0]] = value
        return found


@lru_cache(maxsize=None)
def _signature(parameters: str) -> Signature:
    used, ignored = (part.split() for part in (parameters + "|").split("|")[:2])
    unknown = frozenset(name[:-1] for name in used if name.endswith("?"))
    return Signature(tuple(name.rstrip("?") for name in used), tuple(ignored), unknown)


ABSENT = Other("absent")

# Names of one parameter through the versions
_RENAMED: Dict[str, Tuple[str, ...]] = {
    "input": ("input", "x", "tensor"),
    "x": ("x", "tensor", "tensors", "inputs", "data", "features"),
    "value": ("value", "input"),
    "values": ("values", "inputs"),
    "num_or_size_splits": ("num_or_size_splits", "num_split"),
    "axis": ("axis", "dim", "split_dim", "concat_dim", "reduction_indices", "squeeze_dims", "dimension"),
    "input_": ("input_", "input"),
    "params": ("params", "reference"),
    "keepdims": ("keepdims", "keep_dims"),
    "tensor": ("tensor", "input", "x"),
    "start": ("start", "begin"),
}

# numpy and Keras 3 flatten first where no axis is given
_ANY_AXIS = Unknown("it gathers along no axis")

FUNCTIONS: Tuple[Row, ...] = (
    Row("tf", "shape", "input | name out_type", shape_of),
    Row("K", "shape", "x", shape_of),
    Row("ops", "shape", "x", shape_tuple),
    Row("K", "int_shape", "x", static_shape),
    Row("tf", "rank", "input | name", rank_of),
    Row("K ops", "ndim", "x", rank_of),
    Row("tf", "slice", "input_ begin size | name", slice_rows),
    Row("K", "slice", "x start size", slice_rows),
    Row("ops", "slice", "inputs start_indices shape", slice_rows),
    Row(
        "tf",
        "strided_slice",
        "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask | var name",
        lambda x, begin, end, strides=None, *masks: strided_slice(
            x, begin, end, strides, [0 if mask is None else mask for mask in masks + (0,) * 5][:5]
        ),
    ),
    Row("tf", "split", "value num_or_size_splits axis | num name", lambda *given: _split_any_order(*given)),
    Row("tf", "split_v", "value size_splits axis | num name", split),
    Row("ops", "split", "x indices_or_sections axis", lambda x, cuts, axis=None: split(x, cuts, axis, True)),
    Row(
        "tf",
        "gather",
        "params indices validate_indices name axis batch_dims",
        lambda *given: _gather_any_order(*given),
    ),
    Row("K", "gather", "reference indices", lambda x, rows: gather(x, rows, 0)),
    Row("ops", "take", "x indices axis", lambda x, rows, axis=_ANY_AXIS: gather(x, rows, axis)),
    Row("tf", "range", "start limit delta | dtype name", lambda a, b=None, step=None: range_of(a, b, step)),
    Row("K ops", "arange", "start stop step | dtype", lambda a, b=None, step=None: range_of(a, b, step)),
    Row("tf", "concat", "values axis | name", concat),
    Row("tf", "concat_v2", "values axis | name", concat),
    Row("K", "concatenate", "tensors axis", concat_last),
    Row("ops", "concatenate", "xs axis", lambda xs, axis=0: concat(xs, 0 if axis is None else axis)),
    Row("layers", "concatenate", "inputs axis | name", concat_last),
    Row("tf", "stack pack", "values axis | name", lambda values, axis=None: stack(values, axis)),
    Row("K ops", "stack", "x axis", lambda values, axis=None: stack(values, axis)),
    Row("tf", "add_n", "inputs | name", add_all),
    Row("tf", "accumulate_n", "inputs | shape tensor_dtype name", add_all),
    Row("tf", "reduce_mean", "input_tensor? axis keepdims | name reduction_indices keep_dims", reduce_with(True)),
    Row("K ops", "mean", "x? axis keepdims", reduce_with(True)),
    Row(
        "tf",
        "reduce_sum reduce_max reduce_min reduce_prod",
        "input_tensor? axis keepdims | name reduction_indices keep_dims",
        reduce_with(False),
    ),
    Row("K ops", "sum max min prod", "x? axis keepdims", reduce_with(False)),
    Row("layers", "average", "inputs", lambda inputs: Mean(add_all(inputs).parts, "Average")),
    Row("tf", "cast", "x dtype | name", cast),
    Row("K ops", "cast", "x dtype", cast),
    Row("tf", "to_int32 ToInt32", "x | name", lambda x: cast(x, "int32")),
    Row("tf", "to_int64", "x | name", lambda x: cast(x, "int64")),
    Row("tf", "to_float", "x | name", lambda x: cast(x, "float32")),
    Row("tf ops", "floor", "x | name", floor),
    Row("tf ops", "ceil", "x | name", ceil),
    Row("tf ops", "minimum", "x y | name", extreme(True)),
    Row("tf ops", "maximum", "x y | name", extreme(False)),
    Row("K", "minimum", "x y", extreme(True)),
    Row("K", "maximum", "x y", extreme(False)),
    Row("tf", "zeros_like", "tensor | dtype name optimize", zeros_like),
    Row("tf", "ones_like", "tensor | dtype name optimize", ones_like),
    Row("K", "zeros_like", "x | dtype name", zeros_like),
    Row("K", "ones_like", "x | dtype name", ones_like),
    Row("tf", "expand_dims", "input axis | name dim", expand),
    Row("K", "expand_dims", "x axis", lambda x, axis=-1: expand(x, axis)),
    Row("tf", "reshape", "tensor shape | name", reshape),
    Row("K", "reshape", "x shape", reshape),
    Row("tf", "squeeze", "input | axis name squeeze_dims", squeeze),
    Row("tf", "constant", "value | dtype shape name verify_shape", as_constant),
    Row("tf", "convert_to_tensor", "value | dtype name preferred_dtype dtype_hint", as_constant),
    Row("K", "constant", "value | dtype shape name", as_constant),
    Row("ops", "convert_to_tensor", "x | dtype", as_constant),
    Row("tf", "identity", "input | name", lambda x: x),
    Row("K", "identity", "x | name", lambda x: x),
    Row("tf", "multiply mul scalar_mul", "x y | name", lambda x, y: binary("*", x, y)),
    Row("tf", "add", "x y | name", lambda x, y: binary("+", x, y)),
    Row("tf", "subtract sub", "x y | name", lambda x, y: binary("-", x, y)),
    Row("tf", "floordiv floor_div", "x y | name", lambda x, y: binary("//", x, y)),
    Row("tf", "div", "x y | name", lambda x, y: binary("old /", x, y)),
    Row("tf", "truediv divide realdiv", "x y | name", lambda x, y: binary("/", x, y)),
    Row("tf", "mod floormod", "x y | name", lambda x, y: binary("%", x, y)),
    Row("ops", "floor_divide", "x1 x2", lambda x, y: binary("//", x, y)),
    Row("ops", "multiply", "x1 x2", lambda x, y: binary("*", x, y)),
    Row("ops", "add", "x1 x2", lambda x, y: binary("+", x, y)),
    Row("ops", "subtract", "x1 x2", lambda x, y: binary("-", x, y)),
    Row("ops", "true_divide divide", "x1 x2", lambda x, y: binary("/", x, y)),
    Row("python", "int", "x", to_int),
    Row("python", "float", "x", lambda x: _python_float(x)),
    Row("python", "len", "x", lambda x: _python_len(x)),
    Row("python", "range xrange", "a b c", lambda *given: _python_range(*given)),
    Row("python", "list", "x", lambda x: x if isinstance(x, OpenTuple) else list(items_of(x))),
    Row("python", "tuple", "x", lambda x: x if isinstance(x, OpenTuple) else tuple(items_of(x))),
    Row("python", "sum", "x", lambda x: _python_sum(items_of(x))),
    Row("python", "any", "x", lambda x: any(truth(item) for item in items_of(x))),
    Row("python", "all", "x", lambda x: all(truth(item) for item in items_of(x))),
    Row("python", "min", "a b", extreme(True)),
    Row("python", "max", "a b", extreme(False)),
    Row("python", "slice", "a b c", lambda *given: _python_slice(*given)),
    Row("python", "enumerate", "x", lambda x: list(enumerate(items_of(x)))),
    Row("python", "zip", "a b", lambda a, b: list(zip(items_of(a), items_of(b)))),
    Row("python", "str repr", "x?", lambda x: TEXT),
    Row("tf", "Print", "input_ data? message? first_n summarize | name", lambda x, *shown: x),
)


def _gather_any_order(value: object, rows: object, checked: object = None, name: object = None, *rest: object) -> Rows:
    # the fourth argument is a name in TensorFlow 1 and the axis in TensorFlow 2
    if not (name is None or isinstance(name, str)):
        raise Undecided("it gives a function unusual arguments")
    return gather(value, rows, *(rest or (None,)))


def _split_any_order(value: object, sizes: object, axis: object = None) -> List[object]:
    # before TensorFlow 1.0 the axis came first and the tensor last
    return split(axis, sizes, value) if fixed(value) is not None and is_tensor(axis) else split(value, sizes, axis)


def _python_float(value: object) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    raise Undecided("it makes a fraction of something")


def _python_len(value: object) -> object:
    if isinstance(value, (list, tuple, dict)):
        return len(value)
    if isinstance(value, OpenTuple):
        return Rank(value.tail.source, len(value.items) - value.tail.axis)
    raise Undecided("it asks for the length of something")


def _python_range(*given: object) -> List[object]:
    numbers = [fixed(number) for number in given]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers) or not 1 <= len(known) <= 3 or known[2:] == [0]:
        raise Undecided("it counts up to something that is not known")
    found = range(*known)
    if len(found) > MAX_ITEMS:
        raise Undecided("it counts too far")
    return list(found)


def _python_slice(*given: object) -> slice:
    return slice(*given)


def _python_sum(value: object) -> object:
    items = items_of(value)
    if all_tensors(items):
        return Sum(tuple(items))
    total: object = 0
    for item in items:
        total = binary("+", total, item)
    return total


def items_of(value: object) -> Sequence[object]:
    """The list that a loop over a value would go through."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, OpenTuple):
        raise Undecided("it loops over a list of unknown length")
    value = not_in_file(value) if isinstance(value, Name) else value
    raise Undecided(value.reason if isinstance(value, Unknown) else "it loops over something that is not a list")


def _by_module() -> Dict[Tuple[str, str], Row]:
    found: Dict[Tuple[str, str], Row] = {}
    for row in FUNCTIONS:
        for module in row.modules.split():
            for name in row.names.split():
                found[module, name] = row
    return found


TABLE = _by_module()
# Python's functions that go through one list, or whatever gives its items one by one, and return
EXHAUSTING = frozenset((name,) for name in ("sum", "list", "tuple", "any", "all", "enumerate", "zip"))


def module_of(path: Tuple[str, ...]) -> str:
    """Which module's function a dotted path names: "tf", "K", "ops", "nn", "python", "np", "np.linalg", or ""."""
    if len(path) == 1:
        return "python"
    if path[0] in _NUMPY:
        return ".".join(("np",) + path[1:-1])
    if path[0] not in _ROOTS:
        return ""
    return _MODULES.get(path[-2], "")


def apply(row: Row, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """The meaning of a call of a known function."""
    signature = row.signature
    given = signature.bind(args, kwargs)
    for name in signature.ignored:
        value = given.get(name)
        if not (value is None or value is False or isinstance(value, (Other, str, Name))):
            raise Undecided("it gives a function unusual arguments")
    wanted = [given.get(name, ABSENT) for name in signature.used]
    while wanted and wanted[-1] is ABSENT:
        wanted.pop()
    for name, value in zip(signature.used, wanted):
        if isinstance(value, Unknown) and name not in signature.unknown:
            return value
    try:
        return row.meaning(*[None if value is ABSENT else value for value in wanted])
    except TypeError as error:
        raise Undecided("it gives a function too few arguments") from error
