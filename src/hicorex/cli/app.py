"""The program: its commands, and how it is run."""

import io
import os
import sys
import traceback
import warnings
from typing import Annotated, NoReturn

import typer

import hicorex
from hicorex.cli.ending import INTERRUPTED, Settings, Stopped, listen, one_line, say, tell
from hicorex.cli.fit import fit
from hicorex.cli.model import describe, edit, report, score, transform
from hicorex.cli.options import (
    AssociateOptions,
    CompareOptions,
    DemoOptions,
    DescribeOptions,
    EditOptions,
    EnrichOptions,
    FitOptions,
    ReportOptions,
    ScoreOptions,
    TransformOptions,
)
from hicorex.cli.relate import associate, compare, enrich
from hicorex.cli.signature import as_command
from hicorex.support.printing import printable_streams

app = typer.Typer(
    help="Find the hidden factors that explain why the columns of a table depend on each other.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the hidden factors that explain why the columns of a table depend on each other."""
    if version:
        print(hicorex.__version__)
        raise typer.Exit


def demo(options: DemoOptions) -> None:
    """Show what hicorex does, on synthetic and real data.

    Tables, results and a comparison with the truth where it is known.

    Example:

    $ hicorex demo --out demo-results
    """
    from hicorex.cli.demo import main as run

    run(options.out, options.overwrite)


app.command()(as_command(fit, FitOptions))
app.command()(as_command(transform, TransformOptions))
app.command()(as_command(score, ScoreOptions))
app.command()(as_command(report, ReportOptions))
app.command()(as_command(edit, EditOptions))
app.command()(as_command(describe, DescribeOptions))
app.command()(as_command(associate, AssociateOptions))
app.command()(as_command(enrich, EnrichOptions))
app.command()(as_command(compare, CompareOptions))
app.command()(as_command(demo, DemoOptions))


def main() -> NoReturn:
    """Run a command; whatever goes wrong is one line on standard error and an exit code."""
    warnings.showwarning = lambda message, *_, **__: say(one_line(getattr(message, "on_command_line", message)))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names may have signs that a terminal does not know
            stream.reconfigure(errors="replace")
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):  # by which only a part may be written
        encoding, number = sys.stdout.encoding, sys.stdout.fileno()
        sys.stdout = open(number, "w", encoding=encoding, errors="replace", closefd=False)  # noqa: SIM115
    listen()
    with printable_streams():
        code = _run()
    sys.exit(code)


def _run() -> int:
    """The exit code of a command."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == INTERRUPTED:
            raise Stopped("stopped.")
        if sys.stdout is not None:
            _flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Stopped as stop:
        say(stop)
        os._exit(Settings.stop_code)  # threads that still work would keep the interpreter from ending
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # in the middle of an import
            os._exit(Settings.stop_code)
        if Settings.debug:
            traceback.print_exc()
            return 1
        code = tell(error)
    return code


def _flush() -> None:
    """Print what is still to be printed."""
    from hicorex.storage.files import naming

    with naming("Standard output"):
        sys.stdout.flush()
