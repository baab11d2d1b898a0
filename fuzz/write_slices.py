"""Makes random functions that cut a batch, and runs them: for each Python that can be found, from 2.7 on.

    python2.7 fuzz/write_slices.py SEED COUNT

prints one JSON object a line: the source, the marshalled code, the arguments, and the rows that each output has for
batches of 0 to 13, as the function gives them when it runs on the stand-ins of `make_bytecode`.  Nothing of the
package is imported, and Python 2 runs this too.
"""

from __future__ import print_function

import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "slices", "data"))
import make_bytecode  # noqa: E402

COUNTS = ["K.shape(x)[0]", "tf.shape(x)[0]", "array_ops.shape(x)[0]", "K.shape(x)[:1][0]"]
STEPS = ["n // parts", "n // parts + c", "(n + c) // parts", "(n + parts - 1) // parts", "n // (parts + c)", "n - c"]
LOWS = ["i * step", "step * i", "(i + c) * step", "i * step + c", "n - step * (parts - i)", "step * i // 1", "c"]
HIGHS = ["low + step", "(i + 1) * step", "low + step + c", "n", "n - c", "step + low", "low + n // parts"]
CHANGES = [
    "pass",
    "pass",
    "high = n if i == parts - 1 else high",
    "high = high if i < parts - 1 else n",
    "low, high = (low, n) if i >= parts - 1 else (low, high)",
    "high = {True: n, False: high}[i == parts - 1]",
    "low = [low, 0][i == 0]",
    "low, high = sorted([0, 1])[0] + low, high",
    "high = low + sum([step] * 1)",
    "(low, high), n = (low, high), n + c",
    "both = {'low': low}; both['high'] = high; low, high = both.get('low', 0), both['high']",
    "low = sum(step for k in range(i)) + c if all(k < parts for k in range(i)) else low",
    "ends = [low]; ends += [high]; low, high = ends",
    "ends = [high]; ends.insert(0, low); high = ends.pop(); low = ends[-1]",
    "assert parts > i, 'part %d of %d' % (i, parts)",
    "assert K.int_shape(x)[1] == 4 and len(K.int_shape(x)) == 2",
    "if i >= parts: raise ValueError('{}'.format(parts))",
    "if K.int_shape(x)[1] != 4: raise ValueError('columns: %s' % (K.int_shape(x),))",
    "low, high = {k: (low, high) for k in range(parts)}[i]",
    "low = [0, low][i in {0, 1, 2}] if i in (0, 1, 2, 3) else low",
    "low = ~-low if c == 1 else low",
    "low = low + ~c",
    "low, high = tuple(step * k for k in (i, i + 1))",
    "pairs = [(i, low), (i, high)]; low, high = [b for a, b in pairs if a == i]",
    "seen = []; high = [seen.append(high) or seen[0]][0]",
    "high = high if any(k == parts - 1 for k in (i, c)) else low + step",
]
CUTS = [
    "x[low:high]",
    "x[low:]",
    "x[:high]",
    "x[low:high, ...]",
    "x[low:high, :]",
    "x[low:high:1]",
    "x[low:high][c:]",
    "x[low:][:high - low]",
    "x[i::parts]",
    "x[:, low:high]",
    "x[low:high][::-1]",
    "K.slice(x, [low, 0], [high - low, -1])",
    "tf.slice(x, [low] + [0] * 1, [high - low] + 1 * [-1])",
    "tf.slice(x, [low, 0], [high - low] + list(tf.shape(x)[1:]))",
    "array_ops.slice(x, array_ops.concat([[low], tf.shape(x)[1:] * 0], 0), size=[high - low, -1])",
    "tf.gather(x, tf.range(low, high))",
    "tf.strided_slice(x, [low], [high])",
    "tf.split(x, parts)[i]",
    "tf.concat([x[low:high], x[high:high]], 0)",
    "x[slice(low, high)]",
    "(lambda a, b: x[a:b])(low, high)",
    "(lambda *ends: x[ends[0]:ends[1]])(low, high)",
    "(lambda *ends, **more: x[ends[0]:more['high']])(low, high=high)",
    "(lambda a, b: x[a:b])(*[low, high])",
    "(lambda a, b=0: x[a:b])(low, **{'b': high})",
    "(lambda a, b, c=0, *d: x[a + c:b])(*(low, high) + (c,))",
    "K.slice(*[x, [low, 0], [high - low, -1]])",
    "tf.gather(x, *[tf.range(*[low, high])])",
    "tf.slice(x, **{'begin': [low, 0], 'size': [high - low, -1]})",
    "[x[k * step:(k + 1) * step] for k in range(parts)][i]",
]

# what Python 2 does not have
CHANGES_3 = [
    "low, *rest = [low, high, n]; high, n = rest",
    "*rest, high = [low, high]; low, = rest",
    "low, high = [*[low, high]]",
    "low, high = (*(low,), *[high])",
    "both = {**{'low': low, 'high': low}, 'high': high}; low, high = both['low'], both['high']",
    "def ends(a, *, b=high, c=0): return a + c, b\n    low, high = ends(low, c=c)",
    "def ends(a: int, *rest: int, b: int = 1) -> tuple: return (a, *rest)[:2]\n    low, high = ends(low, high, n, b=2)",
    "both = {'low': low, 'high': high}; low, high = [value for key, value in both.items()]",
    "low, high = (both := (low, high))",
    "name = f'part_{i}_{parts!r:>4}'; low, high = low, high",
]
CUTS_3 = [
    "(lambda a, *, b: x[a:b])(low, b=high)",
    "(lambda a, b, **more: x[a:b])(*[low], *(high,), **{'k': i}, **{'l': c})",
    "(lambda *, low, high: x[low:high])(**{'low': low, 'high': high})",
]


def runs_here(lines):
    """Whether this Python knows the syntax; some of it is newer than 3.4."""
    try:
        compile("def f(x, i, parts, c, low, high, n, step):\n    " + lines, "", "exec", 0, True)
    except SyntaxError:
        return False
    return True


CHANGES += [line for line in CHANGES_3 if runs_here(line)]
CUTS += [cut for cut in CUTS_3 if runs_here("return " + cut)]


def source_of(rng):
    """One function's text."""
    lines = ["n = " + rng.choice(COUNTS), "step = " + rng.choice(STEPS)]
    lines += ["low = " + rng.choice(LOWS), "high = " + rng.choice(HIGHS), rng.choice(CHANGES)]
    if rng.random() < 0.2:
        lines.append("for k in range(parts):\n        if k == i:\n            return " + rng.choice(CUTS))
    lines.append("return " + rng.choice(CUTS))
    return "def f(x, i, parts, c):\n    " + "\n    ".join(lines) + "\n"


def main(seed, count):
    """Print so many functions."""
    rng = random.Random(seed)
    space = make_bytecode.compiled()
    for _ in range(count):
        source = source_of(rng)
        exec(compile(source, "slices.py", "exec", 0, True), space)
        parts = rng.choice([1, 2, 3, 4])
        arguments = {"i": rng.randrange(parts), "parts": parts, "c": rng.choice([-1, 0, 0, 0, 1, 2])}
        try:
            rows = make_bytecode.run(space, ("f", "f", arguments, None, ""))
        except (TypeError, ZeroDivisionError, AttributeError):
            continue
        print(json.dumps({"source": source, "code": make_bytecode.dump(space["f"].__code__), "arguments": arguments, "rows": rows}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
