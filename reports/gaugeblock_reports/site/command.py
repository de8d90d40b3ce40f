"""``gaugeblock site``: the spec, the scoreboard, deviations and benchmarks as pages that need no server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..record import RecordError

SCOREBOARD = Path("reports/scoreboard")
DEVIATIONS = Path("reports/deviations")


class Site:
    """The subcommand."""

    help = "build the spec, the scoreboard, deviations and benchmarks as a static site"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--out", type=Path, default=Path("site"), metavar="DIR", help="where the pages go (site)")
        add("--scoreboard", type=Path, metavar="DIR", help=f"DIR/*/record.json are its runs ({SCOREBOARD}, if there)")
        add("--deviations", type=Path, metavar="DIR", help=f"Markdown pages about peers ({DEVIATIONS}, if there)")
        add("--bench", type=Path, nargs="+", default=[], metavar="FILE", help="benchmark records (those of DIR/*)")

    def run(self, args: argparse.Namespace) -> int:
        from .build import pages
        from .inputs import read

        made = pages(read(_folder(args.scoreboard, SCOREBOARD), _folder(args.deviations, DEVIATIONS), args.bench))
        try:
            for path, text in made.items():
                file = args.out / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise RecordError(f"--out {args.out}: cannot write there: {error.strerror}") from error
        print(f"{len(made)} files in {args.out}; begin with {args.out / 'index.html'}", file=sys.stderr)
        return 0


def _folder(given: Path | None, usual: Path) -> Path | None:
    """The folder that was named, which must be there, or the usual one if it is."""
    if given is not None and not given.is_dir():
        raise RecordError(f"{given}: there is no such folder")
    return given if given is not None else usual if usual.is_dir() else None


command = Site()
