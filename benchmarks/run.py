"""How fast, against what is possible: python benchmarks/run.py FOLDER, which needs 3 GB; results go to RESULTS.md.

Whole processes are timed, interleaved in random order, and ratios are taken within a round: the numbers of
one machine on one day mean little, what `cp` does in the same minute means much.
"""

import argparse
import os
import platform
import subprocess
import sys
import time

import kinds
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
FILES = tuple(dict.fromkeys(kind.file for kind in kinds.KINDS if kind.file))
TABLES = ("kinds", "batch", "start-up", "keras 3", "conditions")


def main():
    """Run what was asked for and put the tables into RESULTS.md."""
    options = _options()
    tables = {
        "kinds": lambda: table(list(kinds.rows(options, options.files)), 1),
        "batch": lambda: table(list(kinds.batch_rows(options)), 1),
        "start-up": lambda: start_up(options),
        "keras 3": lambda: keras3(options),
        "conditions": lambda: conditions(options),
    }
    for name in options.tables:
        text = tables[name]()
        print(text, flush=True)
        put(name, text)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the files are, or are made")
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=300, help="for one file at most, three rounds at least")
    parser.add_argument("--before", metavar="FOLDER", help="where an older `unparallel` package lies, to compare with")
    parser.add_argument("--keras", metavar="PYTHON", help="a Python that has a Keras which can load the files")
    return parser.parse_args()


# -- tables


def start_up(options):
    """What does no work must not wait."""
    ours = kinds.command()
    commands = {
        "python -c 'import argparse'": ([sys.executable, "-c", "import argparse"], {}),
        "unparallel --help": ([*ours, "--help"], {}),
        "unparallel --version": ([*ours, "--version"], {}),
        "unparallel --nonsense": ([*ours, "--nonsense"], {"expect": 2}),
    }
    if options.before:
        commands["before: unparallel --version"] = ([*ours, "--version"], {"PYTHONPATH": options.before})
    found = measure.rounds(commands, 2 * options.rounds)
    base = [found["python -c 'import argparse'"]]
    rows = [("command", "wall ms", "CPU ms", "wall, times argparse", "CPU, times argparse")]
    for name, runs in found.items():
        rows.append((name, _ms(runs, "wall"), _ms(runs, "cpu"), _times(runs, base), _times(runs, base, "cpu")))
    return table(rows, 1)


def keras3(options):
    """A small file and some large ones into the archive of Keras 3, beside the same into HDF5."""
    names = [name for name in ("S", "M", "L") if name in options.files]
    sizes = {"XS": kinds.SMALL, **{name: kinds.source_of(name, options.folder) for name in names}}
    rows = [
        (
            "file",
            "kB",
            "cp ms",
            "imports ms",
            "to HDF5 ms",
            "to .keras ms",
            ".keras, times HDF5",
            "MB of memory: HDF5, .keras",
        )
    ]
    for name, path in sizes.items():
        targets = [os.path.join(options.folder, "clean" + end) for end in (".h5", ".keras")]
        commands = {target: ([*kinds.command(), path, "-o", target, "-q"], {}) for target in targets}
        commands["cp"] = (["cp", "--reflink=never", path, targets[0]], {})
        commands["imports"] = ([sys.executable, "-c", "import h5py, networkx"], {})
        found = measure.rounds(commands, options.rounds, targets, options.seconds)
        old, new = (found[target] for target in targets)
        memory = ", ".join("{:.0f}".format(measure.middle(runs, "memory")) for runs in (old, new))
        times = [_ms(runs, "wall") for runs in (found["cp"], found["imports"], old, new)]
        rows.append((name, f"{os.path.getsize(path) / 1e3:,.0f}", *times, _times(new, [old]), memory))
    return table(rows, 1)


def conditions(options):
    """The machine and the versions."""
    ask = (
        "import h5py, networkx, numpy; print('h5py %s, HDF5 %s, numpy %s, networkx %s' % (h5py.version.version,"
        " h5py.version.hdf5_version, numpy.__version__, networkx.__version__))"
    )
    versions = subprocess.run([sys.executable, "-c", ask], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
    lines = [
        "{}; {} processors ({}), {} {}".format(
            time.strftime("%Y-%m-%d"), measure.cores(), _processor(), platform.system(), platform.release()
        ),
        f"Python {platform.python_version()}, {versions}",
        f"{_file_system(options.folder)} file system; other work on the machine: "
        f"{measure.busy():.1f} processes wanted a processor, on average",
    ]
    return "".join(f"- {line}\n" for line in lines)


def _processor():
    with open("/proc/cpuinfo") as handle:
        found = [line.split(":")[1].strip() for line in handle if line.startswith("model name")]
    return found[0] if found else platform.machine()


def _file_system(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], check=False, stdout=subprocess.PIPE)
    return done.stdout.decode().strip() or "unknown"


# -- printing


def _ms(runs, field):
    low, mid, high = (1000 * value for value in measure.spread([getattr(one, field) for one in runs]))
    return f"{mid:.0f} ({low:.0f}-{high:.0f})"


def _times(runs, bases, field="wall"):
    low, mid, high = measure.ratio(runs, bases, field)
    return f"{mid:.2f} ({low:.2f}-{high:.2f})"


def table(rows, texts=0):
    """Markdown; the first `texts` columns are aligned to the left."""
    head, *body = rows
    lines = [head, ["---" if i < texts else "---:" for i in range(len(head))], *body]
    return "".join("| {} |\n".format(" | ".join(map(str, line))) for line in lines)


def put(name, text):
    """Replace one part of RESULTS.md, the one between its two marks."""
    with open(RESULTS) as handle:
        old = handle.read()
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, rest = old.split(start)
    after = rest.split(end)[1]
    with open(RESULTS, "w") as handle:
        handle.write(before + start + text + end + after)


if __name__ == "__main__":
    main()
