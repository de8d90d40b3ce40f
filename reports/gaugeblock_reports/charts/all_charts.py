"""All charts of one benchmark record, in reading order."""

from __future__ import annotations

from ..record import Record, printable
from . import growth, memory, ratios, roof
from .figure import Figure


def charts(record: Record) -> list[Figure]:
    """Ratios by suite, shares of the roof, growth by operator, memory; what was not measured has no figure."""
    clean = printable(record)
    return [*ratios.figures(clean), *roof.figures(clean), *growth.figures(clean), *memory.figures(clean)]
