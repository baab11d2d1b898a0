"""The command: arguments, printing, exit codes; what is printed is what `convert` and `inspect` return."""

import argparse
import contextlib
import gc
import os
import sys
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Sequence, Union

from ..errors import UnparallelError
from ..options import ConvertOptions, path_text
from . import many
from .report import json_text, versions_line
from .signals import Signals, Stopped
from .text import cannot_print, complain, open_streams, say, tell, tell_error, tell_rest, warn

if TYPE_CHECKING:
    from ..comparison import Comparison
    from ..results import Conversion, Inspection

MOST_MEMORY = 2 * 2**30
EPILOG = """\
exit codes: 0 done, 1 failed or refused (--diff: different), 2 usage, 3 nothing to undo (0 among many files),
130 stopped by Ctrl-C, 143 by SIGTERM

without -o, what the file holds is shown and nothing is written
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unparallel",
        description="Get the single-GPU Keras model back out of a saved multi_gpu_model file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="*",
        help="one or more .h5 files (model or weights), folders, patterns or URLs",
    )
    parser.add_argument("-o", "--output", metavar="TARGET", help="the file to write, or the folder to write to")
    for item in fields(ConvertOptions):
        _add_option(parser, item)
    parser.add_argument("--overwrite", action="store_true", help="replace TARGET if it exists")
    parser.add_argument(
        "--picture", metavar="FILE", help="draw the graph before and after: .svg, .mmd (Mermaid) or .dot (Graphviz)"
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help="compare two files, SOURCE and SOURCE; a wrapped one as what it would become",
    )
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--version", action="store_true", help="print the versions and exit")
    many.add_arguments(parser)
    return parser


def _add_option(parser: argparse.ArgumentParser, item: "Field[Any]") -> None:
    """The flag of a field of `ConvertOptions`."""
    words = dict(item.metadata["argparse"])
    if "type" in words:
        words["type"] = _saying_why(words["type"])
    if isinstance(item.default, bool):
        words["action"] = "store_false" if item.default else "store_true"
    parser.add_argument(
        item.metadata["flag"], dest=item.name, default=item.default, help=item.metadata["help"], **words
    )


def _saying_why(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads an option's value; argparse says of a ValueError only that there was one."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def _parsed(words: List[str]) -> argparse.Namespace:
    """The options; `source` is the only one of `sources`, or None where they are many."""
    parser = _parser()
    options = parser.parse_intermixed_args(words)
    if not options.sources and options.files_from is None:
        parser.error("the following arguments are required: SOURCE")
    if options.diff:
        if len(options.sources) != 2 or options.output is not None:
            parser.error("--diff takes two files, and writes nothing")
        options.source = options.sources[0]
        return options
    several = many.is_wanted(options)
    if several and options.picture is not None:
        parser.error("--picture draws one file; --report NAME.html holds a picture of each model")
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
        return 0 if tell(versions_line()) else 1
    try:
        options = _parsed(words)
    except OSError as error:  # argparse's own printing of --help, in older Pythons
        cannot_print(error)
        return 1
    if options.source is None:
        return many.run(options)
    try:
        if argv is None:  # this is the whole process
            _bound_memory()
            # the collector would go through all that the libraries make while they are imported, several times
            gc.disable()
        with Signals():
            return _action(options)(options)
    except UnparallelError as error:
        if options.json:
            from ..results import failure

            tell(json_text(failure(options.source, error)))
        complain(error)
        return error.exit_code
    except Stopped as stop:
        tell_error("unparallel: stopped")
        return stop.exit_code


def console() -> None:
    """Entry point of the installed command."""
    open_streams()
    try:
        code = main()
    except SystemExit as leave:  # argparse's, which has printed something
        code = leave.code if isinstance(leave.code, int) else 1
        code = code if tell_rest() else code or 1
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


def _action(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    if options.diff:
        return _diff
    return _convert if options.output is not None else _inspect


def _convert(options: argparse.Namespace) -> int:
    from ..conversion import run  # h5py takes a quarter of a second to import: not for --help or a usage error

    source, target = path_text(options.source), path_text(options.output)
    inside = target.endswith(("/", os.sep)) or os.path.isdir(target)
    if inside:  # as for many files, and as `cp` has it
        target = os.path.join(target, os.path.basename(os.path.abspath(source)))
        target += ".h5" if os.path.isdir(source) else ""
    with _picture(options) as draw:
        done = run(source, target, ConvertOptions.of(vars(options)), options.overwrite, parents=inside)
        draw(done)
    _show(done, options)
    return 0  # the file is there, whether or not that could be said


def _inspect(options: argparse.Namespace) -> int:
    from ..conversion import look

    with _picture(options) as draw:
        seen = look(path_text(options.source), ConvertOptions.of(vars(options)))
        draw(seen)
    heard = _show(seen, options)
    if not heard or (options.strict and seen.non_finite):
        return 1
    return {"parallel": 0, "single": 3}.get(seen.verdict, 1)


def _diff(options: argparse.Namespace) -> int:
    from ..comparison import compare

    found = compare(*options.sources, architecture=options.architecture, trust_slices=options.trust_slices)
    heard = _show(found, options)
    return 0 if heard and found.equal else 1


def _show(result: "Union[Conversion, Inspection, Comparison]", options: argparse.Namespace) -> bool:
    """Print a result as lines or JSON, and its warnings; whether it got there."""
    heard = True
    if options.json:
        heard = tell(json_text(result.to_dict()))
    elif not options.quiet:
        heard = say(str(result).split("\n"))
    warn(getattr(result, "warnings", ()))
    return heard


@contextlib.contextmanager
def _picture(options: argparse.Namespace) -> "Iterator[Callable[[Union[Conversion, Inspection]], None]]":
    """A function that draws a result into the file of --picture; that it cannot be is said before any work."""
    if options.picture is None:
        yield lambda _: None
        return
    from ..atomic import AtomicFile
    from ..pictures import format_of

    kind = format_of(options.picture)

    with AtomicFile(options.picture, options.overwrite, options.source) as out:

        def draw(result: "Union[Conversion, Inspection]") -> None:
            text = result.picture(kind)
            with out.open("w", encoding="utf-8", newline="\n") as handle:
                handle.write(text)
            out.commit()

        yield draw
