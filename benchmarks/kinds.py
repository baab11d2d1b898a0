"""One table, kind by kind: this package, an older one, a naive script, h5repack, `cp` and Keras itself.

`run.py` puts it into RESULTS.md; `python benchmarks/kinds.py FOLDER --short` prints a few ratios within a minute.
CPU time (user and system) of whole processes: the wall clock of a busy machine would tell less.
"""

import argparse
import os
import shutil
import subprocess
import sys
from typing import NamedTuple, Tuple

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = os.path.join(os.path.dirname(HERE), "fixtures", "k224-cnn", "parallel.h5")
UNCHECKED = ("--no-verify", "--no-scan")
CONFIG = """
import h5py, sys
text = h5py.File(sys.argv[1], "r").attrs["model_config"]
print(text if isinstance(text, str) else text.decode())
"""
# Conversions in one process, after a first one that pays for its imports.
REPEATS = 30
# Files in a folder, where many are converted.
MANY = 200


class Kind(NamedTuple):
    """A row.

    Attributes
    ----------
    name : str
    file : str
        One of `make_files.FILES`, or "" for a small file that Keras wrote.
    flags : tuple of str
        Of the command.
    repeated : bool
        Whether it is one file of many in a worker process, which has imported everything.
    by_keras : bool
        Whether Keras' own way is measured.
    """

    name: str
    file: str
    flags: Tuple[str, ...] = ()
    repeated: bool = False
    by_keras: bool = False


KINDS = (
    Kind("40 KB, a CNN", ""),
    Kind("40 KB, in a worker", "", repeated=True),
    Kind("S, 5 MB, 100 arrays", "S", by_keras=True),
    Kind("M, 103 MB, 320 arrays", "M", by_keras=True),
    Kind("M, no verify, no scan", "M", UNCHECKED),
    Kind("M-adam, 308 MB, 963 arrays", "M-adam"),
    Kind("M-gzip, 94 MB, 4,529 chunks", "M-gzip"),
    Kind("M-gzip, no verify, no scan", "M-gzip", UNCHECKED),
    Kind("L, 553 MB, 32 arrays", "L"),
    Kind("W, 12 MB, 5,000 layers", "W"),
)
SHORT = (
    Kind("40 KB, in a worker", "", repeated=True),
    Kind("S", "S"),
    Kind("M-gzip", "M-gzip"),
    Kind("W/10, 500 layers", "W10"),
)
COLUMNS = ("now", "before", "naive h5py", "h5repack", "cp", "imports", "Keras")


def main():
    """Print the short table, whose numbers nobody has to like: the exit code says only whether all commands ran."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the files are, or are made")
    parser.add_argument("--short", action="store_true", help="a few kinds, within a minute")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9, help="for one kind at most, three rounds at least")
    parser.add_argument("--before", metavar="FOLDER", help="where an older `unparallel` package lies, to compare with")
    options = parser.parse_args()
    options.keras = None
    columns = ("now", "before", "naive h5py") if options.short else COLUMNS
    for kind in SHORT if options.short else KINDS:
        found = measured(kind, options, columns)
        texts = [f"{_ratio(found, name)} x {name}" for name in columns[1:] if name in found]
        ms = 1000 * measure.middle(found["now"], "cpu")
        print(f"{kind.name + ':':30} {ms:7.1f} ms of CPU: " + ", ".join(texts), flush=True)


def rows(options, files):
    """The table's rows, its head first."""
    yield ("CPU ms, and times that", *COLUMNS, "wall ms", "MB of memory over the imports")
    for kind in KINDS:
        if kind.file and kind.file not in files:
            continue
        found = measured(kind, options)
        imports = found.pop("imports") if kind.repeated else found["imports"]
        memory = measure.middle(found["now"], "memory") - measure.middle(imports, "memory")
        wall = 1000 * measure.middle(found["now"], "wall")
        cells = [_cell(found, name) for name in COLUMNS]
        yield (kind.name, *cells, f"{wall:.0f}", "" if kind.repeated else f"{memory:.0f}")


def _cell(found, name):
    if name not in found:
        return ""
    ms = 1000 * measure.middle(found[name], "cpu")
    text = f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"
    return text if name == "now" else f"{text} ({_ratio(found, name)} x)"


def _ratio(found, name):
    return "{:.2f}".format(measure.ratio(found["now"], [found[name]], "cpu")[1])


# -- one kind


def measured(kind, options, columns=COLUMNS):
    """Runs of each of these columns' commands, in step."""
    path = source_of(kind.file, options.folder)
    target, config = os.path.join(options.folder, "kind.out"), os.path.join(options.folder, "kind.json")
    _write_config(path, target, config)
    commands = _commands(kind, path, target, config, options)
    commands = {name: commands[name] for name in columns if name in commands}
    if not kind.repeated:
        return measure.rounds(commands, options.rounds, [target], options.seconds)
    counting = [name for name in commands if name in ("now", "before", "naive h5py")]
    once = {name + ", once": _counted(commands[name], 1) for name in counting}
    commands.update({name: _counted(commands[name], 1 + REPEATS) for name in counting})
    found = measure.rounds({**commands, **once}, options.rounds, [target], options.seconds)
    for name in counting:
        found[name] = [_each(*runs) for runs in zip(found[name], found.pop(name + ", once"))]
    return found


def _counted(command, count):
    words, variables = command
    return [*words, str(count)], variables


def _each(many, once):
    """What each further conversion in one process took."""
    return many._replace(wall=(many.wall - once.wall) / REPEATS, cpu=(many.cpu - once.cpu) / REPEATS)


def _commands(kind, path, target, config, options):
    with open(path, "rb") as handle:  # into the page cache
        while handle.read(2**24):
            pass
    ours = [*command(), path, "-o", target, "-q", *kind.flags]
    if kind.repeated:
        ours = [sys.executable, os.path.join(HERE, "repeat.py"), path, target]
    found = {
        "now": (ours, {}),
        "naive h5py": ([sys.executable, os.path.join(HERE, "naive.py"), path, target, config], {}),
        "cp": (["cp", "--reflink=never", path, target], {}),
        "imports": ([sys.executable, "-c", "import h5py, networkx"], {}),
    }
    if options.before:
        found["before"] = (ours, {"PYTHONPATH": options.before})
    if shutil.which("h5repack"):
        found["h5repack"] = (["h5repack", path, target], {})
    if kind.by_keras and options.keras:
        found["Keras"] = ([options.keras, "-c", KERAS, _keras_file(options, kind.file), target], {})
    return found


def command():
    """The installed command; what lies in the current folder would come before what `--before` names."""
    script = os.path.join(os.path.dirname(sys.executable), "unparallel")
    if not os.path.exists(script):
        raise SystemExit(f"no unparallel beside {sys.executable}: pip install . there first")
    return [script]


def source_of(name, folder):
    """The file of that name, made if need be."""
    os.makedirs(folder, exist_ok=True)
    if not name:
        return SMALL
    maker = os.path.join(HERE, "make_files.py")
    subprocess.run([sys.executable, maker, folder, name], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, name + ".h5")


def _write_config(path, target, config):
    """The template's config, which the naive script is given."""
    measure.run([*command(), path, "-o", target, "-q", "--overwrite", *UNCHECKED])
    with open(config, "w") as handle:
        subprocess.run([sys.executable, "-c", CONFIG, target], check=True, stdout=handle)
    os.unlink(target)


# -- Keras' own way

KERAS = """
import sys
from keras.models import load_model
load_model(sys.argv[1]).layers[-2].save(sys.argv[2])
"""


def _keras_file(options, name):
    """The file as that Keras' Python makes it: its slices hold the bytecode of the Python that runs them."""
    folder = os.path.join(options.folder, "keras")
    os.makedirs(folder, exist_ok=True)
    maker = os.path.join(HERE, "make_files.py")
    subprocess.run([options.keras, maker, folder, name], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, name + ".h5")


# -- many files


def batch_rows(options):
    """A folder of small files, by the command: seconds, and files a second."""
    folder, target = (os.path.join(options.folder, name) for name in ("many", "many.out"))
    if not os.path.isdir(folder):
        os.makedirs(folder)
        for number in range(MANY):
            shutil.copyfile(SMALL, os.path.join(folder, f"{number:04}.h5"))
    yield (f"{MANY} files of 40 KB", "wall s", "CPU s", "files a second", "times before")
    for jobs in (1, 2):
        words = [*command(), folder, "-o", target, "-q", "--jobs", str(jobs)]
        commands = {"now": (words, {})}
        if options.before:
            commands["before"] = (words, {"PYTHONPATH": options.before})
        found = measure.rounds(commands, options.rounds, [target], options.seconds)
        for name, runs in found.items():
            wall = measure.middle(runs, "wall")
            times = "{:.2f}".format(measure.ratio(found["before"], [runs])[1]) if options.before else ""
            cpu = measure.middle(runs, "cpu")
            yield (f"--jobs {jobs}, {name}", f"{wall:.1f}", f"{cpu:.1f}", f"{MANY / wall:.0f}", times)


if __name__ == "__main__":
    main()
