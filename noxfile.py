"""Every check of the project: `nox -l` lists them, `.ci/run` runs the ones that a change must pass.

A session whose Python is not on this machine is skipped, and says so.  Old Pythons are looked for on the PATH and
under pyenv.  Environments come from `venv`, since current virtualenv no longer makes any for Python 3.7 and less.
"""

import glob
import os
import shutil
import subprocess
import sys
import zipfile

import nox

HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.path.join(os.path.dirname(HERE), "shared", "conformance")

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests", "lint", "types"]


def find_python(*versions):
    """The path of the first of these Pythons that runs here, or None; a shim that finds no Python is none."""
    for version in versions:
        roots = [os.environ.get("PYENV_ROOT"), os.path.expanduser("~/.pyenv")]
        installed = [
            path
            for root in roots
            if root
            for path in sorted(glob.glob(os.path.join(root, "versions", version + ".*", "bin", "python")))
        ]
        for path in [shutil.which("python" + version)] + installed[::-1]:
            if path and _answers(path, version):
                return path
    return None


def _answers(path, version):
    ask = [path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.decode().strip() == version


PYTHON36 = find_python("3.6")
PYTHON37 = find_python("3.7")
PYTHON38 = find_python("3.8", "3.9")
# the newest that the newest TensorFlow has wheels for
PYTHON_MODERN = find_python("3.13", "3.12", "3.11", "3.10")
# the newest for TensorFlow 2.19, the last that takes a Keras before 3.10
PYTHON_KERAS36 = find_python("3.12", "3.11", "3.10")

# The first pip that installs an editable project without setup.py, and the last one for Python 3.6.
OLD_PIP = "pip==21.3.1"
OLDEST = ["h5py==2.10.0", "networkx==2.6.3", "numpy<1.19"]
OLD = ["h5py==2.10.0", "numpy<1.19", "protobuf<3.20"]
TF115 = ["tensorflow==1.15.5"] + OLD
STACKS = {
    "k209": ["keras==2.0.9"] + TF115,
    "k216": ["keras==2.1.6"] + TF115,
    "k224": ["keras==2.2.4"] + TF115,
    "k231": ["keras==2.3.1"] + TF115,
    "tf115": TF115,
    "tf20": ["tensorflow==2.0.4"] + OLD,
    "tf23": ["tensorflow==2.3.4"] + OLD,
}
# Keras' files are made on the TensorFlow of their day where that is within reach: BatchNormalization of images,
# wrapped, does not work in Keras 2.1.6 and 2.2.4 on TensorFlow 1.15 (`_TfDeviceCaptureOp` lacks a method).
FIXTURES = {
    "k216": (PYTHON36, ["keras==2.1.6", "tensorflow==1.12.3"] + OLD),
    "k224": (PYTHON36, ["keras==2.2.4", "tensorflow==1.12.3"] + OLD),
    "k231": (PYTHON37, STACKS["k231"]),
    "tf115": (PYTHON37, STACKS["tf115"]),
    "tf23": (PYTHON37, STACKS["tf23"]),
    "tf25": (PYTHON38, ["tensorflow==2.5.3", "protobuf<3.20"]),
    "keras3": (PYTHON_MODERN, ["tensorflow-cpu", "keras>=3"]),
}


def need(session, python, version):
    """Skip the session where its Python is missing; where it is there, give it a pip that old wheels need."""
    if python is None:
        session.skip(f"no Python {version} on this machine")
    if version in ("3.6", "3.7"):
        session.install(OLD_PIP)


# `pytest` alone leaves out what is slow
ALL_TESTS = ["-m", "", "--hypothesis-profile=full"]


@nox.session
def tests(session):
    """This Python, newest dependencies, all tests; `-- tests/test_match.py` for less."""
    session.install("-e", ".[test]")
    session.run("pytest", *ALL_TESTS, *session.posargs)


@nox.session
def smoke(session):
    """Does it install and convert here?  For systems on which nobody works every day."""
    session.install(".[test]")
    session.run("unparallel", "--version")
    session.run(
        "pytest", "-n", "0", "tests/test_fixtures.py", "tests/test_conversion.py", "tests/cli", *session.posargs
    )


@nox.session(python=PYTHON37 or False)
def oldest(session):
    """The oldest Python and dependencies that are supported."""
    need(session, PYTHON37, "3.7")
    session.install(*OLDEST, "-e", ".[test]")
    session.run("pytest", *ALL_TESTS, *session.posargs)


@nox.session
def batch(session):
    """A dask cluster, an S3 server, a progress bar: what batches need more than the core for."""
    _batch_tests(session, ["remote", "dask"], {})


@nox.session(name="batch-long")
def batch_long(session):
    """All of the batch tests: a thousand files, twenty kills (about five minutes)."""
    _batch_tests(session, ["run", "worker", "remote", "dask"], {"UNPARALLEL_LONG": "1"})


def _batch_tests(session, names, env):
    # named here, aiobotocore is settled before the newest botocore that moto would take, and pip finds its way
    session.install("-e", ".[test,progress,dask,remote]", "aiobotocore", "moto[server]>=5")
    # one process: these tests start many themselves, and count them
    paths = [f"tests/jobs/test_{name}.py" for name in names]
    session.run("pytest", "-n", "0", "-m", "", *paths, *session.posargs, env=env)


@nox.session
def lint(session):
    """Style, spelling, and what may import what."""
    session.install("ruff", "codespell", "import-linter", "-e", ".")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("lint-imports", "--no-logo")


@nox.session
def types(session):
    """Run mypy, as strict as it gets."""
    session.install("mypy", "-e", ".")
    session.run("mypy")


@nox.session
def docs(session):
    """Build docs/ into docs/_build, where any warning is an error; the tests run what the pages tell to run."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", os.path.join("docs", "_build"), *session.posargs)


# What the column "before" of the benchmarks is.
BEFORE = "8e58274"


@nox.session
def benchmarks(session):
    """All of benchmarks/RESULTS.md's tables: half an hour, 3 GB; `-- --files S M` for less."""
    session.install(".")
    folder = os.path.join(session.create_tmp(), "files")
    session.run("python", "benchmarks/run.py", folder, *_before(session), *session.posargs)
    session.run("python", "benchmarks/growth.py", folder)


@nox.session(name="benchmarks-short")
def benchmarks_short(session):
    """A few ratios against a naive script of the same minute; fails only where something does not run."""
    session.install(".")
    folder = os.path.join(session.create_tmp(), "files")
    session.run("python", "benchmarks/kinds.py", folder, "--short", *session.posargs)


def _before(session):
    """The options that compare with the package as it was, where this is a checkout that has it."""
    packed = os.path.join(session.create_tmp(), "before.tar")
    archive = ["git", "-C", HERE, "archive", "-o", packed, BEFORE, "unparallel"]
    if subprocess.run(archive, stderr=subprocess.DEVNULL, check=False).returncode:
        return []
    folder = os.path.join(session.create_tmp(), "before")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(packed, folder)
    session.run("python", "-m", "compileall", "-q", folder, silent=True)
    return ["--before", folder]


@nox.session
def wheel(session):
    """What users install: the wheel, made from the sdist, whose tests then run with no checkout around."""
    session.install("build")
    made = os.path.join(session.create_tmp(), "dist")
    shutil.rmtree(made, ignore_errors=True)
    for listed in glob.glob(os.path.join(HERE, "*.egg-info", "SOURCES.txt")):
        os.remove(listed)  # an earlier build's list would bring in what this one forgets
    session.run("python", "-m", "build", "--outdir", made, HERE)
    (built,) = glob.glob(os.path.join(made, "*.whl"))
    _nothing_is_lost(session, built)
    session.run("python", "-m", "pip", "uninstall", "-y", "unparallel-keras", silent=True)
    session.install(built + "[test]")
    # the sdist brings the tests, and all that they need
    (sdist,) = glob.glob(os.path.join(made, "*.tar.gz"))
    shutil.unpack_archive(sdist, made)
    away = sdist[: -len(".tar.gz")]
    shutil.rmtree(os.path.join(away, "unparallel"))
    session.chdir(away)
    where = session.run("python", "-c", "import unparallel; print(unparallel.__file__)", silent=True)
    if "site-packages" not in where:
        session.error(f"the tests would run on {where.strip()}, not on the wheel")
    session.run("unparallel", "--help", silent=True)
    session.run("pytest", *session.posargs)


def _nothing_is_lost(session, wheel):
    """Each file of the package is in the wheel: `packages.find` and `package-data` forget in silence."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    there = [path for path in glob.glob(os.path.join(HERE, "unparallel", "**"), recursive=True) if os.path.isfile(path)]
    lost = sorted({os.path.relpath(path, HERE) for path in there if not path.endswith(".pyc")} - packed)
    if lost:
        session.error("not in the wheel: " + ", ".join(lost))


@nox.session
def fuzz(session):
    """Changed configs, by what they mean and by their weights, bytecode, and damaged files: `-- COUNT SEED`."""
    session.install("-e", ".[test]")
    count, seed = (*session.posargs, *("100000", "0")[len(session.posargs) :])
    for harness, share in (("meaning", 1), ("bytecode", 50), ("config", 50), ("container", 10), ("keras3", 5)):
        words = ["--count", str(int(count) // share), "--seed", seed]
        session.run("python", "-m", f"fuzz.{harness}", *words)


@nox.session
def conformance(session):
    """Files that Keras wrote, and what must become of them; then the same on the oldest versions."""
    _need_conformance(session)
    session.notify("conformance-oldest")
    session.install(".")
    _check_conformance(session)


@nox.session(name="conformance-oldest", python=PYTHON37 or False)
def conformance_oldest(session):
    """The conformance cases on the oldest Python and dependencies."""
    _need_conformance(session)
    need(session, PYTHON37, "3.7")
    session.install(*OLDEST, ".")
    _check_conformance(session)


KERAS3_CASES = (
    "cases/official",
    "cases/handmade",
    *(f"keras3zoo/{stack}" for stack in ("k122", "k224", "k231", "tf115", "tf23", "training")),
    *(f"lambdazoo/{stack}" for stack in ("k224", "k224py27", "k231", "tf115", "tf23", "tf25")),
)
KERAS3_LEFT_OUT = {
    # the moving statistics of standalone Keras' BatchNormalization, which Keras 3 updates otherwise
    "keras3zoo/training/k224__adam",
    "keras3zoo/training/k231__sgd_mom",
    # two of its parts are the same rows: no data-parallel model
    "cases/handmade/average_identity_k224_g3",
    # its slices are a class of its own, and what that does is not in the file
    "cases/handmade/custom_slice_layer_k224_g2",
}
# A layer as a recurrent layer's activation is read from Keras 3.11 on; the conversion says so.
NEEDS_311 = {f"keras3zoo/{stack}/LSTM__hard" for stack in ("k224", "k231", "tf23")}


def _keras_3_folders(left_out):
    """The folders of the cases, all but those of these names."""
    parts = []
    for part in KERAS3_CASES:
        whole = not any(name.startswith(part + "/") for name in left_out)
        names = [] if whole else sorted(os.listdir(os.path.join(CONFORMANCE, part)))
        parts += [part] if whole else [f"{part}/{name}" for name in names]
    return [os.path.join(CONFORMANCE, part) for part in parts if part not in left_out]


def _on_keras_3(name, pins, backend, shards, left_out=KERAS3_LEFT_OUT, python=PYTHON_MODERN):
    """Archives of Keras 3 from the conformance cases, loaded and compared on one version and back end."""

    @nox.session(name="keras3-" + name, python=python or False)
    def check(session):
        _need_conformance(session)
        need(session, python, "3.10 to 3.13")
        session.install(*pins, ".[test]")
        quiet = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        # beside the judge lies a folder named tensorflow, which Keras on JAX would take for the package
        quiet["PYTHONSAFEPATH"] = "1"
        judge = os.path.join(CONFORMANCE, "check_keras3.py")
        session.run("python", judge, *_keras_3_folders(left_out), "--shard", f"0/{shards}", *session.posargs, env=quiet)
        quiet["UNPARALLEL_STACK"] = "keras3"
        live = ["-o", "filterwarnings=ignore", "-o", "timeout=600", "tests/live/keras3"]
        session.run("pytest", *live, *session.posargs, env=quiet)

    check.__doc__ = f"Archives of Keras 3, every {shards}th case, on {' and '.join(pins)}."


# together under ten minutes on two cores
_on_keras_3("newest", ["tensorflow-cpu", "keras>=3"], "tensorflow", 3)
_on_keras_3("36", ["tensorflow-cpu<2.20", "keras==3.6.0"], "tensorflow", 6, KERAS3_LEFT_OUT | NEEDS_311, PYTHON_KERAS36)
_on_keras_3("jax", ["jax", "keras>=3"], "jax", 6)


def _check_conformance(session):
    for cases in ("cases", "outside", "tensorflow"):
        folder = os.path.join(CONFORMANCE, cases)
        session.run("python", os.path.join(CONFORMANCE, "check.py"), folder, *session.posargs)


def _need_conformance(session):
    if not os.path.isdir(CONFORMANCE):
        session.skip(f"the conformance cases are not on this machine (looked for {CONFORMANCE})")


def _on_a_stack(stack):
    @nox.session(name="legacy-" + stack, python=PYTHON37 or False)
    def legacy(session):
        need(session, PYTHON37, "3.7")
        session.install(*STACKS[stack], "networkx==2.6.3", "-e", ".[test]")
        _run_on(session, stack, "tests/live/legacy")

    legacy.__doc__ = "Live models of {}.".format(" and ".join(STACKS[stack][: 2 if stack.startswith("k") else 1]))


for _stack in STACKS:
    _on_a_stack(_stack)


@nox.session(python=PYTHON_MODERN or False)
def modern(session):
    """Live models of the newest Keras 3 and tf_keras."""
    need(session, PYTHON_MODERN, "3.10 to 3.13")
    # tf_keras asks for the package with GPU support; the small one holds the same modules
    small = sys.platform == "linux" and os.uname().machine == "x86_64"
    session.install("tensorflow-cpu" if small else "tensorflow", "keras>=3", "-e", ".[test]")
    # asked for without what they ask for: TensorFlow brings it, in other versions than they name
    session.install("--no-deps", "tf_keras", "tf2onnx", "onnx", "onnxruntime")
    _run_on(session, "modern", "tests/live/modern", "tests/display/test_opens_in.py")


def _run_on(session, stack, *tests):
    """These stacks warn a great deal about themselves, so warnings are no errors here."""
    quiet = {
        "UNPARALLEL_STACK": stack,
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
    options = ["-n", "0", "-m", "", "-o", "filterwarnings=ignore", "-o", "timeout=600"]
    session.run("pytest", *options, *tests, *session.posargs, env=quiet)


@nox.session(python=False)
def fixtures(session):
    """Make `fixtures/` anew, on every stack whose Python is here."""
    for stack in FIXTURES:
        session.notify("fixtures-" + stack)


def _fixtures_of(stack):
    python, pins = FIXTURES[stack]

    @nox.session(name="fixtures-" + stack, python=python or False)
    def make(session):
        need(session, python, {PYTHON36: "3.6", PYTHON37: "3.7"}.get(python, "3.8 or later"))
        session.install(*pins)
        session.run("python", "fixtures/make.py", stack, *session.posargs)

    make.__doc__ = "Make the fixtures of {}.".format(" and ".join(pins[: 2 if stack.startswith("k") else 1]))


for _stack in FIXTURES:
    _fixtures_of(_stack)
