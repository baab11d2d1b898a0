"""Compiles the functions below and runs them on small tensors, for the tests of bytecode and slices.

    for python in python2.7 python3.6 ...; do $python make_bytecode.py bytecode.json; done

Each run adds one Python version's code to the file.  What the functions give is found by running them here
on a stand-in for TensorFlow and Keras, without anything of the package under test: lists of lists whose
items tell where they came from.
"""

from __future__ import print_function  # noqa: UP010 - Python 2 runs this too

import base64
import json
import logging
import marshal
import sys
import types

COLUMNS = 4
BATCHES = list(range(14))

FUNCTIONS = '''
def cut_with_shapes(batch, which, of):
    dims = K.shape(batch)
    count = dims[:1]
    others = dims[1:]
    each = count // of
    if which == of - 1:
        take = count - each * which
    else:
        take = each
    take = K.concatenate([take, others], axis=0)
    origin = K.concatenate([each, others * 0], axis=0) * which
    return K.slice(batch, origin, take)

def cut_with_methods(batch, which, of):
    dims = array_ops.shape(batch)
    each = dims[:1] // of
    take = each if which != of - 1 else dims[:1] - each * which
    take = array_ops.concat([take, dims[1:]], 0)
    return array_ops.slice(batch, array_ops.concat([each * which, dims[1:] * 0], axis=0), size=take)

def cut_with_zeros(rows, idx, parts):
    import tensorflow as tf
    dims = tf.shape(rows)
    each = dims[0] // parts
    head = tf.concat([[each * idx], tf.zeros_like(dims[1:])], 0)
    return tf.slice(rows, head, tf.concat([[each], dims[1:]], 0))

def cut_last_takes_rest(rows, gpu, gpus):
    from keras import backend as B
    each = B.shape(rows)[0] // gpus
    if gpu == gpus - 1:
        return rows[gpu * each:]
    return rows[gpu * each:(gpu + 1) * each]

def cut_drops_tail(rows, index, total):
    import keras.backend as B
    each = B.shape(rows)[0] // total
    low, high = index * each, (index + 1) * each
    return rows[low:high, :]

def cut_by_shares(rows, share, total, start):
    n = tf.shape(rows)[0]
    return rows[n * start // total:n * (start + share) // total]

def cut_between(rows, low, high):
    return rows[low:high]

def cut_by_default(rows, k=1, size=4):
    return rows[k * size:(k + 1) * size, ...]

def cut_by_closure(k, size):
    def cut(rows):
        return rows[k * size:][:size]
    return cut

def cut_inner_function(rows, k, of):
    each = tf.shape(rows)[0] // of
    def piece(number, width=1):
        return rows[number * each:(number + width) * each]
    return piece(k)

def cut_all(rows, parts):
    return tf.split(rows, parts, axis=0)

def cut_pick(rows, gpu, gpu_count):
    return tf.split(rows, num_or_size_splits=gpu_count)[gpu]

def cut_two(rows):
    return tf.split(rows, [3, -1], 0)

def cut_gather(rows, k, of):
    each = tf.shape(rows)[0] // of
    return tf.gather(rows, tf.range(k * each, (k + 1) * each))

def cut_gather_shifted(rows, k, of):
    each = K.shape(rows)[0] // of
    return K.gather(rows, K.arange(each) + each * k)

def cut_in_loop(rows, parts):
    each = tf.shape(rows)[0] // parts
    found = []
    for k in range(parts):
        found.append(rows[k * each:(k + 1) * each])
    return found

def cut_comprehension(rows, parts):
    each = tf.shape(rows)[0] // parts
    return [rows[k * each:(k + 1) * each] for k in range(parts)]

def cut_loop_break(rows, k, of):
    each = tf.shape(rows)[0] // of
    for j in range(of):
        if j == k:
            break
    return rows[j * each:(j + 1) * each]

def cut_while(rows, k, of):
    each = tf.shape(rows)[0] // of
    low = 0
    while k > 0:
        low += each
        k -= 1
    return rows[low:low + each]

def cut_true_division(rows, k, of):
    each = tf.cast(tf.shape(rows)[0] / of, tf.int32)
    return rows[k * each:(k + 1) * each]

def cut_rounded_up(rows, k, of):
    each = -(-K.shape(rows)[0] // of)
    return rows[k * each:(k + 1) * each]

def cut_even(rows, k, of):
    n = tf.shape(rows)[0]
    return rows[k * n // of:(k + 1) * n // of]

def cut_lists(rows, k, of):
    each = tf.shape(rows)[0] // of
    size = -1 if k == of - 1 else each
    return tf.slice(rows, [k * each, 0], [size, -1])

def cut_stacked(rows, k, of):
    dims = tf.shape(rows)
    each = tf.floordiv(dims[0], of)
    return tf.slice(rows, begin=tf.stack([tf.multiply(each, k), 0]), size=tf.stack([each, dims[1]]))

def cut_static(rows, k, of):
    dims = K.int_shape(rows)
    each = K.shape(rows)[0] // of
    return K.slice(rows, [each * k] + [0] * (len(dims) - 1), [each] + list(dims[1:]))

def cut_strided(rows, k, of):
    each = tf.shape(rows)[0] // of
    return tf.strided_slice(rows, [k * each], [(k + 1) * each])

def cut_conditions(rows, k, of):
    each = tf.shape(rows)[0] // of
    first = k == 0 and of > 1
    if first or not (k < of - 1 and of is not None):
        return rows[:each] if first else rows[k * each:]
    return rows[k * each:(k + 1) * each]

def cut_all_of_it(rows):
    return rows[:]

cut_short = lambda rows, i, parts: rows[i * (K.shape(rows)[0] // parts):(i + 1) * (K.shape(rows)[0] // parts)]

def rotated(rows, k, of):
    each = tf.shape(rows)[0] // of
    k = (k + 1) % of
    return rows[k * each:] if k == of - 1 else rows[k * each:(k + 1) * each]

def one_late(rows, k, of):
    each = tf.shape(rows)[0] // of
    return rows[k * each + 1:(k + 1) * each + 1]

def one_short(rows, k, of):
    n = tf.shape(rows)[0]
    return rows[k * (n // of):n * 3 // 4 if k == of - 1 else (k + 1) * (n // of)]

def one_pair_short(rows, k, of):
    n = tf.shape(rows)[0]
    return rows[k * (n // of):n - n % 2 if k == of - 1 else (k + 1) * (n // of)]

def overlapping(rows, k, of):
    each = tf.shape(rows)[0] // of
    return rows[k * each:(k + 2) * each]

def other_axis(rows, k, of):
    return rows[:, k * 2:(k + 1) * 2]

def both_axes(rows, k, of):
    each = tf.shape(rows)[0] // of
    return rows[k * each:(k + 1) * each, 1:]

def interleaved(rows, k, of):
    return rows[k::of]

def backwards(rows, k, of):
    return rows[::-1]

def backwards_first(rows, k, of):
    each = tf.shape(rows)[0] // of
    return tf.reverse(rows, [0])[k * each:(k + 1) * each]

def from_the_end(rows, k, of):
    return rows[-4:]

def slice_other_axis(rows, k, of):
    return tf.slice(rows, [0, 2 * k], [-1, 2])

def slice_half_axis(rows, k, of):
    dims = tf.shape(rows)
    each = dims[:1] // of
    return tf.slice(rows, tf.concat([each * k, dims[1:] * 0], 0), tf.concat([each, dims[1:] // 2], 0))

def slice_shifted_axis(rows, k, of):
    dims = tf.shape(rows)
    each = dims[:1] // of
    return tf.slice(rows, tf.concat([each * k, tf.ones_like(dims[1:])], 0), tf.concat([each, dims[1:] - 1], 0))

def split_other_axis(rows, k, of):
    return tf.split(rows, of, 1)[k]

def by_other_length(rows, k, of):
    each = tf.shape(rows)[1] // of
    return rows[k * each:(k + 1) * each]

def doubled(rows, k, of):
    return tf.concat([rows, rows], 0)

def rolled(rows, k, of):
    each = tf.shape(rows)[0] // of
    return tf.concat([rows[each:], rows[:each]], 0)

def gathered_backwards(rows, k, of):
    n = tf.shape(rows)[0]
    return tf.gather(rows, n - 1 - tf.range(n))

def computed(rows, k, of):
    each = tf.shape(rows)[0] // of
    return rows[k * each:(k + 1) * each] + rows[k * each:(k + 1) * each]

def caught(rows, k, of):
    try:
        return rows[None + 1:]
    except TypeError:
        return rows[::-1]

def endless(rows, k, of):
    while of:
        k += 1
    return rows[k:]

def join_tf(parts):
    import tensorflow as tf
    return tf.concat(parts, axis=0)

def join_keras(parts):
    return K.concatenate(parts, axis=0)

def join_old(parts):
    return tf.concat(0, parts)

def join_columns(parts):
    return K.concatenate(parts)

def mean_added(parts):
    return tf.add_n(parts) / len(parts)

def mean_summed(parts):
    return sum(parts) / float(len(parts))

def mean_stacked(parts):
    return K.mean(K.stack(parts), axis=0)

def mean_of_all(parts):
    return tf.reduce_mean(tf.stack(parts))

def mean_wrong_count(parts):
    return tf.add_n(parts) / 3.0

def mean_other_axis(parts):
    return K.mean(K.stack(parts), axis=1)

def scalar_mean(values):
    return K.mean(K.square(values))

def scalar_sum(values):
    return 2.0 * tf.reduce_sum(values)

def scalar_not(values):
    return K.mean(values, axis=0)

def shape_empty(shape):
    return ()

def shape_batch(shape):
    return (shape[0],)

def cut_number_first(rows, k, of):
    dims = K.int_shape(rows)
    each = K.shape(rows)[0] // of
    return K.slice(rows, [each * k] + (len(dims) - 1) * [0], [each] + (len(dims) - 1) * [-1])

def cut_sample_shape(rows, k, of, shape):
    each = tf.shape(rows)[0] // of
    return tf.slice(rows, [k * each] + len(shape) * [0], [each] + shape)

def cut_columns(rows, k, of, columns):
    each = tf.shape(rows)[0] // of
    return rows[k * each:(k + 1) * each, 0:columns]

def cut_and_tell(rows, k, of):
    dims = [tf.shape(rows)[0], of]
    each = dims[0] // of
    print('part %d of %s' % (k, dims))
    log.info('%d: %s', k, dims)
    logging.getLogger('cut').debug('{} of {}'.format(k, of))
    return rows[k * each:(k + 1) * each]

def cut_in_scope(rows, k, of):
    with tf.name_scope('slice_%d' % k):
        each = tf.shape(rows)[0] // of
        with tf.device('/cpu:0'):
            return rows[k * each:(k + 1) * each]

def cut_after_scope(rows, k, of):
    for j in range(of):
        with K.name_scope('part') as scope:
            each = K.shape(rows)[0] // of
            if j == k:
                piece = rows[j * each:(j + 1) * each]
    piece.set_shape([None] + list(K.int_shape(rows)[1:]))
    return piece

def cut_after_check(rows, k, of):
    check(k, of)
    each = tf.shape(rows)[0] // of
    return rows[k * each:(k + 1) * each]

def scope_of_others(rows, k, of):
    with swallow(k):
        fail(k)
        rows = rows[:4]
    return rows

def list_of_others(rows, k, of):
    places = [0, 4]
    shift(places)
    return rows[places[0]:places[1]]

def function_of_others(rows, k, of):
    low = [0]
    def move():
        low[0] = 2
    each_time(move)
    return rows[low[0]:]
'''

# Names of a case, its function, the layer's arguments, closure, and what must come out: "rows" (proven to
# be rows), "other" (never rows).
CASES = [
    ("shapes %d of %d" % (k, of), "cut_with_shapes", {"which": k, "of": of}, None, "rows")
    for of in (1, 2, 3) for k in range(of)
]
# functions that take a part's number and the number of parts, under these names
_KEYS = {
    "which of": "cut_with_methods",
    "idx parts": "cut_with_zeros",
    "gpu gpus": "cut_last_takes_rest",
    "index total": "cut_drops_tail",
    "gpu gpu_count": "cut_pick",
    "i parts": "cut_short",
    "k of": "cut_inner_function cut_gather cut_gather_shifted cut_loop_break cut_while cut_true_division cut_rounded_up"
    " cut_even cut_lists cut_stacked cut_static cut_strided cut_conditions rotated one_late one_short one_pair_short"
    " overlapping cut_number_first cut_and_tell cut_in_scope cut_after_scope cut_after_check",
}
for _keys in sorted(_KEYS):
    for _name in _KEYS[_keys].split(" "):
        for _k in range(3):
            CASES.append(("%s %d of 3" % (_name, _k), _name, dict(zip(_keys.split(" "), (_k, 3))), None, "rows"))
for _k, (_share, _start) in enumerate(((1, 0), (3, 1), (2, 4))):
    _arguments = {"share": _share, "total": 6, "start": _start}
    CASES.append(("cut_by_shares %d" % _k, "cut_by_shares", _arguments, None, "rows"))
for _k in range(2):
    CASES.append(("cut_between %d" % _k, "cut_between", {"low": 5 * _k, "high": 5 * _k + 5}, None, "rows"))
    CASES.append(("cut_by_closure %d" % _k, "cut_by_closure", {}, [_k, 5], "rows"))
CASES += [
    ("cut_by_default", "cut_by_default", {}, None, "rows"),
    ("cut_by_default 2", "cut_by_default", {"k": 2}, None, "rows"),
    ("cut_all_of_it", "cut_all_of_it", {}, None, "rows"),
    ("cut_all", "cut_all", {"parts": 3}, None, "rows"),
    ("cut_two", "cut_two", {}, None, "rows"),
    ("cut_in_loop", "cut_in_loop", {"parts": 3}, None, "rows"),
    ("cut_comprehension", "cut_comprehension", {"parts": 3}, None, "rows"),
]
# cases that need the shape of the samples
for _k in range(3):
    _arguments = {"k": _k, "of": 3}
    CASES.append(("sample %d of 3" % _k, "cut_sample_shape", dict(_arguments, shape=[COLUMNS]), None, "shaped"))
    CASES.append(("columns %d of 3" % _k, "cut_columns", dict(_arguments, columns=COLUMNS), None, "shaped"))
CASES.append(("a column short", "cut_columns", {"k": 1, "of": 2, "columns": COLUMNS - 1}, None, "other"))
CASES.append(("a sample's part", "cut_sample_shape", {"k": 1, "of": 2, "shape": [COLUMNS - 1]}, None, "other"))
_OTHERS = """
other_axis both_axes interleaved backwards backwards_first from_the_end slice_other_axis slice_half_axis
slice_shifted_axis split_other_axis by_other_length doubled rolled gathered_backwards computed caught scope_of_others list_of_others function_of_others
"""
for _name in _OTHERS.split():
    CASES.append((_name, _name, {"k": 1, "of": 2}, None, "other"))


class Vector(list):
    """A shape: whole numbers, computed with item by item."""

    def each(self, other, change):
        other = other if isinstance(other, list) else [other] * len(self)
        return Vector([change(a, b) for a, b in zip(self, other)])

    def __floordiv__(self, other):
        return self.each(other, lambda a, b: a // b)

    def __mul__(self, other):
        return self.each(other, lambda a, b: a * b)

    def __add__(self, other):
        return self.each(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.each(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self.each(other, lambda a, b: b - a)

    def __getitem__(self, index):
        found = list.__getitem__(self, index)
        return Vector(found) if isinstance(index, slice) else found

    def __getslice__(self, low, high):
        return Vector(list(self)[low:high])


class Tensor(object):  # noqa: UP004
    """Rows of items."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        rows = self.rows[index[0]]
        if len(index) > 1 and index[1] is not Ellipsis:
            rows = [row[index[1]] for row in rows]
        return Tensor(rows)

    def set_shape(self, shape):
        pass

    def __add__(self, other):
        return Tensor([[(a, b) for a, b in zip(*pair)] for pair in zip(self.rows, other.rows)])


def shape(x):
    return Vector([len(x.rows), COLUMNS])


def cut(x, begin, size):
    ends = [start + many if many >= 0 else None for start, many in zip(begin, size)]
    if ends[0] is not None and ends[0] > len(x.rows):
        raise ValueError("beyond the end")
    return Tensor([row[begin[1]:ends[1]] for row in x.rows[begin[0]:ends[0]]])


def concat(values, axis=0):
    if isinstance(values[0], Tensor):
        return Tensor([row for value in values for row in value.rows])
    return Vector([item for value in values for item in value])


def split(value, num_or_size_splits, axis=0):
    many = num_or_size_splits
    if axis == 1:
        turned = split(Tensor(list(zip(*value.rows))), many)
        return [Tensor([list(row) for row in zip(*part.rows)]) for part in turned]
    n = len(value.rows)
    if isinstance(many, int):
        if n % many:
            raise ValueError("does not divide")
        sizes = [n // many] * many
    else:
        sizes = [size if size >= 0 else n - sum(size for size in many if size > 0) for size in many]
        if min(sizes) < 0 or sum(sizes) != n:
            raise ValueError("does not fit")
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [value[start:start + size] for start, size in zip(starts, sizes)]


def count(start, stop=None):
    return Vector(range(start) if stop is None else range(start, stop))


class Scope(object):  # noqa: UP004
    """A context manager; one that swallows stops what is raised in it."""

    def __init__(self, name, swallows=False):
        self.swallows = swallows

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.swallows


def fail(number):
    raise ValueError(number)


def shift(places):
    places[:] = [place + 1 for place in places]


def modules():
    """Stand-ins for the modules that the functions use."""
    shared = dict(
        shape=shape, slice=cut, concat=concat, split=split, range=count, arange=count, int32="int32",
        concatenate=lambda values, axis=-1: concat(values, axis), stack=Vector,
        gather=lambda x, rows: Tensor([x.rows[row] for row in rows]), cast=lambda x, kind: int(x),
        zeros_like=lambda x: x * 0, ones_like=lambda x: x * 0 + 1, int_shape=lambda x: (None, COLUMNS),
        floordiv=lambda a, b: a // b, multiply=lambda a, b: a * b,
        strided_slice=lambda x, begin, end: x[begin[0]:end[0]],
        reverse=lambda x, axes: Tensor(x.rows[::-1]), name_scope=Scope, device=Scope,
    )
    made = {}
    for name in ("tensorflow", "keras", "keras.backend", "array_ops"):
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(shared)
    made["keras"].backend = made["keras.backend"]
    return made


def compiled():
    """All functions by name, compiled under a neutral file name."""
    made = modules()
    sys.modules.update(made)
    space = {"tf": made["tensorflow"], "K": made["keras.backend"], "array_ops": made["array_ops"]}
    quiet = logging.getLogger("quiet")
    space.update(logging=logging, log=quiet, check=lambda *given: None, fail=fail, shift=shift)
    space.update(swallow=lambda number: Scope("", True), each_time=lambda function: function())
    space["__name__"] = "slices"
    # the flag that this file's own import sets must not reach the functions
    exec(compile(FUNCTIONS, "slices.py", "exec", 0, True), space)
    return space


def given(result):
    """Numbers of the rows in a result, or None where it is not whole rows of the input."""
    numbers = [row[0][0] if row else None for row in result.rows]
    whole = [[(number, column) for column in range(COLUMNS)] for number in numbers]
    return numbers if [list(row) for row in result.rows] == whole else None


def run(space, case):
    """What a case gives for each batch size: a list of outputs, or "error"."""
    name, function, arguments, closure, _ = case
    called = space[function] if closure is None else space[function](*closure)
    results = []
    for n in BATCHES:
        rows = Tensor([[(row, column) for column in range(COLUMNS)] for row in range(n)])
        try:
            result = called(rows, **arguments)
        except (ValueError, IndexError):
            results.append("error")
            continue
        results.append([given(part) for part in (result if isinstance(result, list) else [result])])
    return results


def dump(code):
    return base64.b64encode(marshal.dumps(code)).decode("ascii")


def code_of(space, name):
    function = space[name]
    if name == "cut_by_closure":
        function = function(0, 0)
    return function.__code__


def as_text(data):
    """One line for each function and each case, so that a change shows as such."""
    def line(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    versions = ["%s:{\n%s\n}" % (line(version), ",\n".join(
        "%s:%s" % (line(name), line(code)) for name, code in sorted(data["code"][version].items())
    )) for version in sorted(data["code"])]
    cases = ",\n".join(line(case) for case in data["cases"])
    return '{"code":{\n%s\n},\n"raw":%s,\n"cases":[\n%s\n]}\n' % (",\n".join(versions), line(data["raw"]), cases)


def main(path):
    """Adds the running Python's code to the file."""
    space = compiled()
    try:
        with open(path) as stream:
            data = json.load(stream)
    except IOError:  # noqa: UP024
        data = {"code": {}, "raw": {}}
    version = "%d.%d" % sys.version_info[:2]
    names = sorted(name for name in space if getattr(space[name], "__module__", "") == "slices")
    data["code"][version] = dict((name, dump(code_of(space, name))) for name in names)
    if version in ("2.7", "3.6"):
        name = "cut_with_shapes"
        data["raw"][version] = marshal.dumps(code_of(space, name)).decode("raw_unicode_escape")
    cases = []
    for case in CASES:
        name, function, arguments, closure, kind = case
        defaults = list(space[function].__defaults__ or ()) or None
        cases.append(dict(name=name, function=function, arguments=arguments, closure=closure, defaults=defaults,
                          kind=kind, rows=run(space, case)))
    if data.setdefault("cases", cases) != cases:
        raise SystemExit("Python %s runs the functions differently" % version)
    with open(path, "w") as stream:
        stream.write(as_text(data))
    print(version, len(names), "functions,", len(CASES), "cases")


if __name__ == "__main__":
    main(sys.argv[1])
