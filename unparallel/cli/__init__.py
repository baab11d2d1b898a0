"""The command: arguments, printing, exit codes; what is printed is what `convert` and `inspect` return."""

import argparse
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from .. import __version__
from . import many
from .text import complain, printable, size_text

if TYPE_CHECKING:
    from ..conversion import Conversion, Inspection

MOST_MEMORY = 2 * 2**30

EPILOG = """\
exit codes: 0 done, 1 failed or refused, 2 usage, 3 nothing to undo (0 among many files), 130 stopped by Ctrl-C

without -o, what the file holds is shown and nothing is written
"""


def _formatter(prog: str) -> argparse.HelpFormatter:
    """As wide as the terminal; argparse asks for each argument, and by a module that imports three compressors."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (AttributeError, ValueError, OSError):
        columns = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=(columns if columns > 0 else 80) - 2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unparallel",
        description="Get the single-GPU Keras model back out of a saved multi_gpu_model file.",
        epilog=EPILOG,
        formatter_class=_formatter,
    )
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="*", help="the .h5 file of a parallel model, or of its weights; or many"
    )
    parser.add_argument("-o", "--output", metavar="TARGET", help="the file to write; the folder for many")
    parser.add_argument(
        "--architecture",
        metavar="FILE",
        help="for a weights file: to_json() of the template or of the parallel model, or a full .h5 file of it",
    )
    parser.add_argument("--no-optimizer", action="store_true", help="leave out the training state")
    parser.add_argument("--weights-only", action="store_true", help="write what template.save_weights() writes")
    parser.add_argument("--overwrite", action="store_true", help="replace TARGET if it exists")
    parser.add_argument("--no-verify", action="store_true", help="do not compare the written weights with the source")
    parser.add_argument("--no-scan", action="store_true", help="do not look for NaN and Inf in the weights")
    parser.add_argument(
        "--strict", action="store_true", help="refuse weights with NaN or Inf; of many files, exit with 1 for warnings"
    )
    parser.add_argument(
        "--reset-batchnorm",
        action="store_true",
        help="where moving statistics of BatchNormalization are NaN or Inf, write neutral ones (mean 0, variance 1)",
    )
    parser.add_argument(
        "--trust-slices",
        action="store_true",
        help="accept layers that look like slices of the batch and whose code is not known",
    )
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--version", action="store_true", help="print the versions and exit")
    many.add_arguments(parser)
    return parser


def _parsed(words: List[str]) -> argparse.Namespace:
    """The options; `source` is the only one of `sources`, or None where they are many."""
    parser = _parser()
    options = parser.parse_intermixed_args(words)
    if not options.sources and options.files_from is None:
        parser.error("the following arguments are required: SOURCE")
    several = many.is_wanted(options)
    if several and options.output is None:
        parser.error("many files need a folder to write to: -o FOLDER")
    options.source = None if several else options.sources[0]
    return options


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        0 done, 1 failed or refused, 2 usage, 3 nothing to undo.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if "--version" in words:
        _print_versions()
        return 0
    options = _parsed(words)
    # h5py takes a quarter of a second to import: not for --help or a usage error
    from ..errors import UnparallelError

    if options.source is None:
        return many.run(options)
    try:
        if argv is None:  # this is the whole process
            _bound_memory()
            # the collector would go through all that the libraries make while they are imported, several times
            gc.disable()
        with many.signals():
            return _convert(options) if options.output is not None else _inspect(options)
    except UnparallelError as error:
        complain(error)
        return error.exit_code
    except many.Stopped as stop:
        print("unparallel: stopped", file=sys.stderr)
        return stop.exit_code


def console() -> None:
    """Entry point of the installed command."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # `unparallel model.h5 | head` closes the pipe: no reason for a traceback, here or at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    gc.freeze()  # and through all of it once more at exit: with the above a fifth of a small file's time
    sys.exit(code)


def _bound_memory() -> None:
    """Let what a hostile file asks for fail, rather than the machine: no honest one needs a tenth of this."""
    # threads for linear algebra, which there is none of, would take address space by the gigabyte
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY and sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))


def _convert(options: argparse.Namespace) -> int:
    from ..conversion import convert

    done = convert(
        options.source,
        options.output,
        overwrite=options.overwrite,
        **many.conversion_options(options),
    )
    if options.json:
        _print_json(done)
    elif not options.quiet:
        _say(_conversion_lines(done))
    _warn(done.warnings)
    return 0


def _inspect(options: argparse.Namespace) -> int:
    from ..conversion import inspect

    seen = inspect(
        options.source,
        architecture=options.architecture,
        trust_slices=options.trust_slices,
        scan=not options.no_scan or options.strict,
    )
    if options.json:
        _print_json(seen)
    elif not options.quiet:
        _say(_inspection_lines(seen))
    _warn(seen.warnings)
    if options.strict and seen.non_finite:
        return 1
    return {"parallel": 0, "single": 3}.get(seen.verdict, 1)


# -- printing


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        print(printable(line))


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        print(printable("warning: %s" % warning), file=sys.stderr)


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(_jsonable(value), indent=2))


def _jsonable(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_jsonable(item) for item in value]
    return value


def _conversion_lines(done: "Conversion") -> List[str]:
    lines = ["%s -> %s" % (done.source, done.target)]
    lines += _wrapper_lines(done.wrappers)
    what = "weights file" if done.form == "weights" else "model %r" % done.template if done.template else "model"
    lines.append("wrote:     %s, %s, %s" % (what, _count(done.layers, "layer"), _count(done.parameters, "parameter")))
    lines.append("optimizer: %s" % (done.optimizer + " kept" if done.optimizer else "none in the file written"))
    if done.renamed:
        lines.append("renamed:   %s" % ", ".join("%s -> %s" % pair for pair in done.renamed))
    check = "%s compared byte for byte" % _count(done.arrays, "array") if done.verified else "skipped"
    lines.append("verified:  %s" % check)
    lines.append("size:      %s -> %s" % (size_text(done.bytes_before), size_text(done.bytes_after)))
    if done.reset:
        lines.append("reset:     %s, mean 0 and variance 1" % _count(len(done.reset), "array"))
    return lines + _health_lines(done.non_finite) + ["note:      %s" % note for note in done.notes]


def _wrapper_lines(wrappers: Sequence[Any]) -> List[str]:
    lines = []
    for wrapper in wrappers:
        place = " inside %s" % "/".join(wrapper.inside) if wrapper.inside else ""
        template = "template %r" % wrapper.template if wrapper.template else "inlined towers"
        lines.append(
            "wrapper:   %s%s, %s, %s, %s"
            % (
                template,
                place,
                _count(wrapper.replicas, "replica"),
                _count(len(wrapper.slices), "slice"),
                _count(len(wrapper.merges), "merge"),
            )
        )
    return lines


def _inspection_lines(seen: "Inspection") -> List[str]:
    written = "Keras %s" % seen.keras_version if seen.keras_version else "an unknown Keras"
    lines = ["%s: %s, written by %s" % (seen.source, _form(seen.form), written)]
    lines += _wrapper_lines(seen.wrappers)
    if seen.verdict != "parallel":
        lines.append("verdict:   %s" % seen.reason)
        lines.append("hint:      %s" % seen.hint)
    if seen.template:
        lines.append("model:     %r, outputs %s" % (seen.template, ", ".join(seen.outputs)))
    lines.append("layers:    %d, %s" % (len(seen.layers), _count(seen.parameters, "parameter")))
    lines += _layer_lines(seen)
    if seen.optimizer:
        lines.append("optimizer: %s, %s of state" % (seen.optimizer, size_text(seen.optimizer_bytes)))
    lines += _health_lines(seen.non_finite)
    lines += ["note:      %s" % note for note in seen.notes]
    after = ", about %s after conversion" % size_text(seen.bytes_after) if seen.verdict == "parallel" else ""
    lines.append("size:      %s%s" % (size_text(seen.bytes_before), after))
    return lines


def _layer_lines(seen: "Inspection") -> List[str]:
    width = min(40, max([len(layer.name) for layer in seen.layers] or [0]))
    lines = []
    for layer in seen.layers:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in layer.shapes[:6])
        more = " ..." if len(layer.shapes) > 6 else ""
        kind = layer.class_name[:24]
        lines.append(("  %-*s  %-24s %12s  %s%s" % (width, layer.name, kind, layer.parameters, shapes, more)).rstrip())
    return lines


def _health_lines(broken: Sequence[Any]) -> List[str]:
    return ["health:    %s NaN or Inf" % _count(len(broken), "array holds", "arrays hold")] if broken else []


def _form(form: str) -> str:
    return "a weights file" if form == "weights" else "a full model file"


def _count(number: int, what: str, many: str = "") -> str:
    return "%s %s" % (format(number, ","), what if number == 1 else many or what + "s")


def _print_versions() -> None:
    libraries = ["%s %s" % (name, _installed(name)) for name in ("h5py", "networkx")]
    python = "Python %d.%d.%d" % sys.version_info[:3]
    print("unparallel %s (%s)" % (__version__, ", ".join([*libraries, python])))


def _installed(name: str) -> str:
    """A library's version as the folder beside it is named: importing the library takes ten times as long."""
    for folder in sys.path:
        if os.path.isdir(os.path.join(folder, name)):
            for entry in os.listdir(folder or os.curdir):
                # h5py-3.16.0.dist-info, h5py-2.10.0-py3.7.egg-info
                if entry.startswith(name + "-") and entry.endswith("-info"):
                    return entry[len(name) + 1 :].rpartition(".")[0].split("-")[0]
            break
    return str(import_module(name).__version__)
