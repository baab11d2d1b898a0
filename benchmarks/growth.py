"""Time and memory against the size of the model: python benchmarks/growth.py FOLDER; a table for RESULTS.md.

CPU time of whole processes, less that of the bare imports: the wall clock of a busy machine would tell less.
"""

import os
import subprocess
import sys

import kinds
import measure
import run

SIZES = {
    "layers": (10, 100, 1000, 5000, 20000),
    "replicas": (2, 4, 8, 16, 32, 64),
    "depth": (1, 10, 20, 45),
    "config MB": (0.1, 1, 10, 30),
}
WORDS = {
    "layers": "layers in the template",
    "replicas": "replicas",
    "depth": "models nested in each other",
    "config MB": "MB of JSON in one layer's config",
}


def main():
    """Make the files, measure, and put the table into RESULTS.md."""
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    parts = []
    for what, sizes in SIZES.items():
        rows = [(WORDS[what], "CPU ms over the imports", "MB of memory over the imports", "ms for each")]
        for size in sizes:
            path = os.path.join(folder, "{}-{}.h5".format(what.replace(" ", "-"), size))
            subprocess.run([sys.executable, __file__, "make", what, str(size), path], check=True)
            rows.append((size, *_measured(path, size)))
            os.unlink(path)
        parts.append(run.table(rows))
        print(parts[-1], flush=True)
    run.put("growth", "\n".join(parts))


def _measured(path, size):
    target = path + ".out"
    commands = {
        "imports": ([sys.executable, "-c", "import h5py, networkx"], {}),
        "ours": ([*kinds.command(), path, "-o", target, "-q"], {}),
    }
    found = measure.rounds(commands, 5, [target], 60)
    cpu = 1000 * (measure.middle(found["ours"], "cpu") - measure.middle(found["imports"], "cpu"))
    memory = measure.middle(found["ours"], "memory") - measure.middle(found["imports"], "memory")
    return f"{cpu:.0f}", f"{memory:.0f}", "%.2f" % (cpu / size)


def make(what, size, path):
    """Write one of the files."""
    import make_files

    from tests import tiny

    if what == "layers":
        model = tiny.parallel(make_files.chain("template", int(size), 4), 2)
    elif what == "replicas":
        model = tiny.parallel(make_files.chain("template", 10, 4), int(size))
    elif what == "depth":
        model = make_files.chain("level_0", 2, 4)
        for level in range(int(size)):
            inner = tiny.nested(model.name, "input_1", model)
            model = tiny.TinyModel("level_%s" % (level + 1), (model.layers[0], inner), ("input_1",), ((model.name, 0),))
        model = tiny.parallel(model, 2)
    else:
        model = make_files.chain("template", 2, 4)
        model.layers[1].config["metadata"] = [i / 7 for i in range(int(float(size) * 50000))]
        model = tiny.parallel(model, 2)
    tiny.save(path, model)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        main()
