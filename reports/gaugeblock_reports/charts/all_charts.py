"""All charts of one benchmark record, in reading order."""

from __future__ import annotations

from ..record import Record, printable
from . import distribution, growth, memory, ratios, roof
from .figure import Figure


def charts(record: Record) -> list[Figure]:
    """Ratios by suite, all operators, shares of the roof, growth by operator, memory; what was not measured has no
    figure."""
    clean = printable(record)
    return [figure for kind in (ratios, distribution, roof, growth, memory) for figure in kind.figures(clean)]
