"""``gaugeblock show strides EXPRESSION``: how tensors read the cells of their storage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


class Show:
    """The subcommand; the engine is imported when a picture is drawn."""

    help = "draw how tensors read the cells of their storage"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        words = parser.add_subparsers(metavar="WORD", required=True, parser_class=type(parser))
        one = words.add_parser(
            "strides",
            help="storage cells and the elements that read them, for each view of an expression",
            description="Draw the storage of each tensor that an expression goes through: cells that are read and "
            "gaps, the cell of every element, and what sizes, strides and offset say.",
        )
        one.add_argument("expression", metavar="EXPRESSION", help='such as "arange(12).view(3, 4).t()[::2]"')
        one.add_argument("--format", choices=("text", "svg"), default="text", help="of the picture (text)")
        one.add_argument("--last", action="store_true", help="draw the last tensor alone")
        one.add_argument("--out", type=Path, metavar="FILE", help="write the picture there instead of printing it")
        one.set_defaults(word=_strides)

    def run(self, args: argparse.Namespace) -> int:
        word: Callable[[argparse.Namespace], int] = args.word
        return word(args)


def _strides(args: argparse.Namespace) -> int:
    from ..problem import PictureProblem
    from ..stride_diagrams import stride_svg, stride_text
    from ..stride_diagrams.expression import steps

    found = steps(args.expression)
    if args.format == "svg":
        made = stride_svg.render(" ".join(args.expression.split()), found, args.last)
    else:
        made = stride_text.render(found, args.last)
    if args.out is None:
        sys.stdout.write(made)
        return 0
    try:
        args.out.write_text(made, encoding="utf-8")
    except OSError as error:
        raise PictureProblem(f"--out {args.out}: cannot write there: {error.strerror}") from error
    return 0


command = Show()
