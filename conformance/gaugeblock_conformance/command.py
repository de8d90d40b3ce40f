"""The command ``gaugeblock``: its subcommands are found by entry-point group ``gaugeblock.commands``."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version
from typing import NoReturn, Protocol

from .problem import one_line, unknown, visible

GROUP = "gaugeblock.commands"
LONGEST = 2000
"""Largest number of characters of a line that reports a user's mistake."""


class Command(Protocol):
    """One subcommand. An exception with an integer ``exit_status`` is a user's mistake: its text is printed as is."""

    help: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        several = [one.option_strings[0] for one in self._actions if one.option_strings and one.nargs == "+"]
        if several and message.startswith("the following arguments are required"):
            message += f", before options that take several values, such as {several[0]}"
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``gaugeblock`` with ``argv`` (default: the process's arguments) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    points = {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(arguments, points)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("gaugeblock: interrupted", file=sys.stderr)
        return 1
    except Exception as error:
        status = getattr(error, "exit_status", None)
        if not isinstance(status, int):
            raise
        print(f"gaugeblock: {visible(str(error), LONGEST)}", file=sys.stderr)
        return status


def _run(arguments: list[str], points: dict[str, EntryPoint]) -> int:
    asked = next((word for word in arguments if not word.startswith("-")), None)
    wants_all = asked is None and arguments[:1] != ["--version"]
    if asked is not None and asked not in points:
        raise unknown("command", asked, points)
    parser = Parser(prog="gaugeblock", description="Check tensor backends against the documented semantics.")
    parser.add_argument("--version", action="version", version=f"gaugeblock {version('gaugeblock')}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name, point in points.items():
        if not wants_all and name != asked:
            continue
        try:
            command: Command = point.load()
        except ImportError as error:
            if not wants_all:
                raise
            print(f"gaugeblock: command {name!r} cannot be loaded: {one_line(error)}", file=sys.stderr)
            continue
        sub = subparsers.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    parsed = parser.parse_args(arguments)
    status: int = parsed.run(parsed)
    return status


if __name__ == "__main__":
    sys.exit(main())
