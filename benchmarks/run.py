"""How fast, against what is possible: python benchmarks/run.py FOLDER, which needs 14 GB; results go to RESULTS.md.

Whole processes are timed, interleaved in random order, and ratios are taken within a round: the numbers of
one machine on one day mean little, what `cp` does in the same minute means much.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
FILES = ("S", "M", "L", "XL", "M-adam", "L-adam", "M-gzip", "W")
NAIVE = """
import sys, h5py
with h5py.File(sys.argv[1], "r") as old, h5py.File(sys.argv[2], "w") as new:
    def put(name, item):
        if isinstance(item, h5py.Dataset):
            new[name] = item[()]
        for key, value in item.attrs.items():
            (new[name] if name in new else new.require_group(name)).attrs[key] = value
    old.visititems(put)
"""
KERAS = """
import sys
from keras.models import load_model
load_model(sys.argv[1]).layers[-2].save(sys.argv[2])
"""


def main():
    """Run what was asked for and put the tables into RESULTS.md."""
    options = _options()
    made = _made(options)
    tables = {
        "start-up": lambda: start_up(options),
        "conversion": lambda: conversion(options, made),
        "keras 3": lambda: keras3(options, made),
        "conditions": lambda: conditions(options),
    }
    if options.keras:
        tables["keras"] = lambda: keras(options)
    for name in options.tables or tables:
        put(name, tables[name]())


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the files are, or are made")
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--tables", nargs="+", choices=("start-up", "conversion", "keras 3", "conditions"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=300, help="for one file at most, three rounds at least")
    parser.add_argument("--before", metavar="FOLDER", help="where an older `unparallel` package lies, to compare with")
    parser.add_argument("--keras", metavar="PYTHON", help="a Python that has a Keras which can load the files")
    return parser.parse_args()


def _made(options):
    maker = os.path.join(HERE, "make_files.py")
    os.makedirs(options.folder, exist_ok=True)
    subprocess.run([sys.executable, maker, options.folder, *options.files], check=True, stdout=subprocess.DEVNULL)
    return {name: os.path.join(options.folder, name + ".h5") for name in options.files}


def command():
    """The installed command, or the package beside this folder."""
    script = os.path.join(os.path.dirname(sys.executable), "unparallel")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "unparallel"]


# -- tables


def start_up(options):
    """What does no work must not wait."""
    ours = command()
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


def conversion(options, made):
    """Each file, against copying it."""
    parts = []
    for name, path in made.items():
        target = path + ".out"
        found = measure.rounds(_commands(options, path, target), options.rounds, [target], options.seconds)
        parts.append("### {}, {:.0f} MB ({} rounds)\n\n".format(name, os.path.getsize(path) / 1e6, len(found["cp"])))
        parts.append(_one_file(found) + "\n")
        print(parts[-2] + parts[-1], flush=True)
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _commands(options, path, target):
    with open(path, "rb") as handle:  # into the page cache
        while handle.read(2**24):
            pass
    ours = [*command(), path, "-o", target, "-q"]
    commands = {
        "imports": ([sys.executable, "-c", "import h5py, networkx"], {}),
        "cp": (["cp", "--reflink=never", path, target], {}),
        "cp, sync": (["sh", "-c", 'cp --reflink=never "$0" "$1" && sync "$1"', path, target], {}),
        "unparallel": (ours, {}),
        "unparallel --no-verify": ([*ours, "--no-verify"], {}),
        "unparallel --no-verify --no-scan": ([*ours, "--no-verify", "--no-scan"], {}),
        "naive h5py": ([sys.executable, "-c", NAIVE, path, target], {}),
    }
    if options.before:
        for name in ("unparallel", "unparallel --no-verify"):
            commands["before: " + name] = (commands[name][0], {"PYTHONPATH": options.before})
    if shutil.which("h5repack"):
        commands["h5repack"] = (["h5repack", path, target], {})
    return commands


def _one_file(found):
    plain = [found["cp"], found["imports"]]
    synced = [found["cp, sync"], found["imports"]]
    imports = measure.middle(found["imports"], "memory")
    rows = [
        (
            "command", "wall ms", "CPU ms", "wall, times (cp + imports)", "wall, times (cp, sync + imports)",
            "CPU, times (cp + imports)", "MB of memory over the imports", "MB written",
        )
    ]  # fmt: skip
    for name, runs in found.items():
        memory = measure.middle(runs, "memory") - imports
        rows.append(
            (
                name,
                _ms(runs, "wall"),
                _ms(runs, "cpu"),
                _times(runs, plain),
                _times(runs, synced),
                _times(runs, plain, "cpu"),
                f"{memory:.0f}" if memory > 0 else "",
                "{:.1f}".format(measure.middle(runs, "written")),
            )
        )
    return table(rows, 1)


def keras3(options, made):
    """A small file and some large ones into the archive of Keras 3, beside the same into HDF5."""
    sizes = {"XS": os.path.join(os.path.dirname(HERE), "fixtures", "k231-two-outputs", "parallel.h5")}
    sizes.update({name: made[name] for name in ("S", "M", "L") if name in made})
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
        commands = {target: ([*command(), path, "-o", target, "-q"], {}) for target in targets}
        commands["cp"] = (["cp", "--reflink=never", path, targets[0]], {})
        commands["imports"] = ([sys.executable, "-c", "import h5py, networkx"], {})
        found = measure.rounds(commands, options.rounds, targets, options.seconds)
        old, new = (found[target] for target in targets)
        memory = ", ".join("{:.0f}".format(measure.middle(runs, "memory")) for runs in (old, new))
        times = [_ms(runs, "wall") for runs in (found["cp"], found["imports"], old, new)]
        rows.append((name, f"{os.path.getsize(path) / 1e3:,.0f}", *times, _times(new, [old]), memory))
    return table(rows, 1)


def keras(options):
    """Keras' own way, on the file that the same Python made."""
    folder = os.path.join(options.folder, "keras")
    os.makedirs(folder, exist_ok=True)
    maker = os.path.join(HERE, "make_files.py")
    subprocess.run([options.keras, maker, folder, "M"], check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(folder, "M.h5")
    target = path + ".out"
    commands = {
        "load_model(...).layers[-2].save(...)": ([options.keras, "-c", KERAS, path, target], {}),
        "import keras": ([options.keras, "-c", "import keras"], {}),
        "unparallel": ([*command(), path, "-o", target, "-q"], {}),
    }
    found = measure.rounds(commands, max(3, options.rounds // 3), [target], options.seconds)
    rows = [("command", "wall ms", "CPU ms", "wall, times unparallel", "CPU, times unparallel", "peak memory MB")]
    for name, runs in found.items():
        base = [found["unparallel"]]
        memory = "{:.0f}".format(measure.middle(runs, "memory"))
        rows.append((name, _ms(runs, "wall"), _ms(runs, "cpu"), _times(runs, base), _times(runs, base, "cpu"), memory))
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
