"""Rewrites the functions of `lambdas.py` as Python 3.4 and 3.5 compile them, where neither is at hand.

    python3.6 make_old_lambdas.py lambdas.json

By the rules of `tests/slices/data/make_old_bytecode.py`.
"""

import base64
import os
import sys
from marshal import dumps

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "slices", "data"))
import lambdas
import make_lambdas
from make_old_bytecode import rewrite


def main(path):
    assert sys.version_info[:2] == (3, 6)
    data = make_lambdas.read(path)
    for version in ("3.4", "3.5"):
        data[version] = {}
        for name, _, source in lambdas.cases():
            function = lambdas.function_of(source, {})
            code = base64.b64encode(dumps(rewrite(function.__code__, version))).decode("ascii")
            data[version][name] = [code] + make_lambdas.parts_of(function)[1:]
    with open(path, "w") as stream:
        stream.write(make_lambdas.as_text(data))


if __name__ == "__main__":
    main(sys.argv[1])
