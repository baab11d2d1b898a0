"""Ways to write a function, as the Python that runs this compiles them; `fuzz.bytecode` has the same from every Python.

Each function below cuts the second half of the batch, or is refused for the reason that stands with it.
"""

import base64
import marshal
import sys

import pytest

from unparallel.model import Call, Layer, TensorKey
from unparallel.slices import Rows, Tensor, evaluate
from unparallel.slices.sizes import Size

X = TensorKey("x", 0, 0)
BATCH = Size.batch(X)
HEAD = """
def f(x, i=1, parts=2, **more):
    n = tf.shape(x)[0] // parts
    low, high = i * n, (i + 1) * n
    {}
    return x[low:high]
"""


def outcome(source, shape=None, **arguments):
    space = {}
    exec(source, space)
    code, defaults = space["f"].__code__, space["f"].__defaults__
    text = base64.b64encode(marshal.dumps(code)).decode("ascii")
    config = {"function": [text, list(defaults or ()) or None, None], "arguments": arguments}
    layer = Layer("l", "Lambda", config, (Call((X,)),))
    (found,) = evaluate(layer, layer.calls[0], [Tensor(X, shape)])
    return found


def is_second_half(value):
    half = BATCH // 2
    return isinstance(value, Rows) and (value.start, value.stop) == (half, half.times(2))


BODIES = {
    "a call with a star": "low, high = (lambda a, b: (a, b))(*[low, high])",
    "a call with two stars": "low, high = (lambda a, b: (a, b))(low, **{'b': high})",
    "stars and single arguments": "low, high = (lambda a, b, c=0: (a, b))(*(low,), b=high, **{'c': 1})",
    "several stars": "low, high = (lambda a, b, c: (a, b))(*[low], *(high,), **{'c': 1})",
    "star parameters": "low, high = (lambda *a, **b: (a[0], b['k']))(low, k=high)",
    "keyword-only parameters": "def ends(a, *, b=high, c): return a, b\n    low, high = ends(low, c=1)",
    "annotations": "def ends(a: int, b: 'x' = 3) -> tuple: return a, b\n    low, high = ends(low, high)",
    "unpacking a rest": "low, *rest = [low, high, 1]; high, last = rest",
    "a dict": "both = {'a': low}; both['b'] = high; low, high = both['a'], both.get('b')",
    "constant keys": "both = {'a': low, 'b': high}; low = both['a']",
    "a dict comprehension": "both = {k: k * n for k in range(3)}; low, high = both[1], both[2]",
    "a merged dict": "both = {**{'a': 0, 'b': high}, 'a': low}; low, high = both['a'], both['b']",
    "items in order": "both = {'a': low, 'b': high}; low, high = [value for key, value in both.items()]",
    "a set": "low = low if i in {1, 2} else high",
    "a sum of a generator": "low = sum(n for k in range(i))",
    "a tuple of a generator": "low, high = tuple(n * k for k in (i, i + 1))",
    "any and all": "low = low if any(k == i for k in range(3)) and all(k < 3 for k in range(3)) else high",
    "a list that grows": "ends = [low]; ends += [high]; ends.extend([1]); low, high = ends[:2]",
    "methods of a list": "ends = [high]; ends.insert(0, low); high = ends.pop(); low = ends[0]",
    "an item of a list": "ends = [0, 0]; ends[0] = low; ends[-1] = high; low, high = ends",
    "all bits the other way": "low = low * -~0",
    "an assertion that holds": "assert i < parts, 'part %d of %d' % (i, parts)",
    "an assertion nobody can tell": "assert x.shape[1] == 4 and len(x.shape) == 2, f'{x.shape}'",
    "an error nobody can tell": "if x.shape[1] != 4: raise ValueError('columns: {}'.format(x.shape))",
    "a scope and its name": "with tf.name_scope(f'part_{i}') as scope: low = low",
    "messages": "print(i, parts, sep=','); print(f'{low}')",
}


@pytest.mark.parametrize("name", BODIES)
def test_is_followed(name):
    assert is_second_half(outcome(HEAD.format(BODIES[name])))


REASONS = {
    "a global number": ("low = low * T", "it uses 'T', a global that is not in the file"),
    "a global of an object": ("low = cfg.first + low", "it uses 'cfg.first', which is not in the file"),
    "a bound that is a global": ("return x[:T]", "it uses 'T', a global that is not in the file"),
    "a condition on a global": ("low = low if T else high", "it uses 'T', a global that is not in the file"),
    "a loop over a global": ("for low in T: pass", "it uses 'T', a global that is not in the file"),
    "a comparison with a global": ("low = low if i > T else high", "it uses 'T', a global that is not in the file"),
    "a missing key": ("low = {'a': low}['b']", "it looks up 'b', which a dict does not hold"),
    "a key that is no constant": ("low = {low: 1}", "it uses a key that is not a plain constant"),
    "an argument twice": ("low = (lambda a: a)(*[low], **{'a': 1})", "its arguments do not fit its parameters"),
    "the same key twice": ("f(**{'a': 1}, **{'a': 2})", "it gives an argument twice"),
    "a keyword that is positional": ("low = (lambda a, b: a)(low, c=1)", "its arguments do not fit its parameters"),
    "a parameter without a value": (
        "low = (lambda a, *, b: a)(low)",
        "its arguments do not fit its parameters: 'b' has no value in the file",
    ),
    "a loop over a generator": (
        "seen = [0]\n    for k in (seen[0] for _ in range(2)): seen[0] = 1",
        "it loops over a generator",
    ),
    "a generator that is handed on": ("low = max(k for k in range(3))", "it hands on a generator"),
    "a generator with effects": (
        "seen = []; any(seen.append(k) or True for k in range(3)); low = len(seen) * n",
        "it changes a list or dict that others may read",
    ),
    "a dict that changes while it is read": (
        "both = {'a': 0, 'b': 0}\n    for key in both: both['b'] = 1",
        "it changes a list or dict that others may read",
    ),
    "an argument that changes": ("more['ends'].append(1)", "it changes a list or dict that others may read"),
    "a condition that two errors end": ("if K.any(x): raise A(1)\n    else: raise B(2)", "it calls K.any"),
}


@pytest.mark.parametrize("name", REASONS)
def test_is_refused(name):
    body, reason = REASONS[name]
    assert outcome(HEAD.format(body), ends=[0]).reason == reason


def test_what_a_call_leaves_behind_is_not_there_in_the_next():
    # each call of a layer would see what the last one has put there
    default = "def f(x, seen=[0]):\n    seen += [1]\n    return x[seen[0]:]\n"
    assert outcome(default).reason == "it changes a list or dict that others may read"


@pytest.mark.skipif(sys.version_info < (3, 8), reason="older Pythons have no parameters that no keyword can give")
def test_a_parameter_that_no_keyword_can_give():
    source = "def f(x):\n    def cut(a=0, /, **more): return x[a:]\n    return cut(a=3)\n"
    assert outcome(source) == outcome("def f(x):\n    return x[0:]\n")


def test_a_function_that_is_a_generator():
    assert outcome("def f(x):\n    yield x[1:]\n").reason == "it returns something that is not a part of the batch"


def test_arrays_among_the_arguments():
    source = "def f(x, sizes):\n    return tf.split(x, sizes)[1]\n"
    old = outcome(source, sizes={"type": "ndarray", "value": [3, 5]})
    assert old == outcome(source, sizes=[3, 5])
    assert isinstance(old, Rows)
    assert outcome(source, sizes={"type": "ndarray", "value": [[3.0]]}).reason == "it is given an array"
