"""Compiles the functions of `lambdas.py`, for the tests of operations.

    for python in python2.7 python3.6 ...; do $python make_lambdas.py lambdas.json; done

Each run adds one Python version's code to the file.  Nothing is run, and nothing of the package is imported.
`make_old_lambdas.py` rewrites the code of 3.6 for 3.4 and 3.5.
"""

from __future__ import print_function  # noqa: UP010 - Python 2 runs this too

# ruff: noqa: UP031
import base64
import json
import marshal
import sys

import lambdas


def parts_of(function):
    """What Keras' `func_dump` writes, as JSON."""
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    code = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
    return [code, list(function.__defaults__ or ()) or None, closure or None]


def as_text(data):
    """One line for each function, so that a change shows as such."""

    def line(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    versions = [
        "%s:{\n%s\n}"
        % (
            line(version),
            ",\n".join("%s:%s" % (line(name), line(code)) for name, code in sorted(data[version].items())),
        )
        for version in sorted(data)
    ]
    return "{%s}\n" % ",\n".join(versions)


def read(path):
    try:
        with open(path) as stream:
            return json.load(stream)
    except IOError:  # noqa: UP024
        return {}


def main(path):
    """Adds the running Python's code to the file."""
    data = read(path)
    version = "%d.%d" % sys.version_info[:2]
    data[version] = dict((name, parts_of(lambdas.function_of(source, {}))) for name, _, source in lambdas.cases())
    with open(path, "w") as stream:
        stream.write(as_text(data))
    print(version, len(data[version]), "functions")


if __name__ == "__main__":
    main(sys.argv[1])
