"""A table of the statistics for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

BYTES = (
    ("allocated_bytes", "Allocated memory"),
    ("active_bytes", "Active memory"),
    ("requested_bytes", "Requested memory"),
    ("reserved_bytes", "Reserved memory"),
    ("inactive_split_bytes", "Non-releasable memory"),
)
COUNTS = (
    ("allocation", "Allocations"),
    ("active", "Active allocations"),
    ("segment", "Reserved segments"),
    ("inactive_split", "Non-releasable blocks"),
)
OVERSIZE = (("oversize_allocations", "Oversize allocations"), ("oversize_segments", "Oversize segments"))
KINDS = ("current", "peak", "allocated", "freed")
HEADINGS = ("Metric", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
WIDTHS = (23, 12, 12, 12, 12)
WIDTH = sum(WIDTHS) + len(WIDTHS) - 1
BYTE_UNITS = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB")
COUNT_UNITS = (" ", "K", "M")


def summary_of(stats: Mapping[str, int], device: int, abbreviated: bool = False) -> str:
    """The statistics `stats` (flat) of a device as a table; `abbreviated` leaves out the pools."""
    rule, thin = "=" * WIDTH, "-" * WIDTH
    events = f"CUDA OOMs: {stats['num_ooms']}".center(WIDTH // 2)
    retries = f"cudaMalloc retries: {stats['num_alloc_retries']}".center(WIDTH - WIDTH // 2 - 1)
    lines = [rule, f"CUDA memory summary, device {device}".center(WIDTH), thin, f"{events}|{retries}", rule]
    lines.append("|".join(heading.center(width) for heading, width in zip(HEADINGS, WIDTHS, strict=True)))
    pools = (("all", ""), ("large_pool", "      from large pool"), ("small_pool", "      from small pool"))
    for families, show in ((BYTES, _bytes), (COUNTS, _count)):
        for family, name in families:
            lines.append(thin)
            whole = [stats[f"{family}.all.{kind}"] for kind in KINDS]
            for pool, label in pools[:1] if abbreviated else pools:
                values = [stats[f"{family}.{pool}.{kind}"] for kind in KINDS]
                lines.append(_row(label or name, values, whole, show))
    for family, name in OVERSIZE:
        values = [stats[f"{family}.{kind}"] for kind in KINDS]
        lines += [thin, _row(name, values, values, _count)]
    lines.append(rule)
    return "".join(f"|{line}|\n" for line in lines)


def _row(name: str, values: list[int], whole: list[int], show: Callable[[int, int], str]) -> str:
    columns = zip(values, whole, WIDTHS[1:], strict=True)
    cells = [show(value, unit_by).center(width) for value, unit_by, width in columns]
    return "|".join([f" {name:<{WIDTHS[0] - 1}}", *cells])


def _bytes(value: int, unit_by: int) -> str:
    """In the unit that `unit_by` needs, so that a figure and its parts share one."""
    unit = 0
    while unit_by >= 768 * 1024 and unit < len(BYTE_UNITS) - 1:
        unit_by //= 1024
        value //= 1024
        unit += 1
    return f"{value:6d} {BYTE_UNITS[unit]}"


def _count(value: int, unit_by: int) -> str:
    unit = 0
    while unit_by >= 750_000 and unit < len(COUNT_UNITS) - 1:
        unit_by //= 1000
        value //= 1000
        unit += 1
    return f"{value:7d} {COUNT_UNITS[unit]} "
