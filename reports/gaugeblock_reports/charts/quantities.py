"""Quantities in few characters: times, bytes, rates, sizes, ratios."""

from __future__ import annotations

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """Such as 730 ns, 1.2 ms."""
    unit, name = next((one for one in _TIMES if value >= one[0] * 0.9995), _TIMES[-1])
    return f"{figures(value / unit)} {name}"


def scaled(value: float, unit: str) -> str:
    """Such as 45.6 GB/s for 4.56e10 and "B/s"."""
    factor, prefix = next((one for one in _PREFIXES if value >= one[0] * 0.9995), _PREFIXES[-1])
    return f"{figures(value / factor)} {prefix}{unit}"


def size(value: float) -> str:
    """Such as 1000, 1e6 or 3e7."""
    return f"{value:g}" if value < 10_000 else f"{value:.3g}".replace("e+0", "e").replace("e+", "e")


def ratio(value: float) -> str:
    """Such as 1/4, 0.45 or 2.1, with fractions for powers of 2 below 1."""
    if 0 < value < 1 and (1 / value).is_integer():
        return f"1/{1 / value:g}"
    return figures(value)


def figures(value: float) -> str:
    """Two or three figures, without an exponent below a million."""
    rounded = float(f"{value:.3g}" if value >= 9.995 else f"{value:.2g}")
    return f"{rounded:.0f}" if rounded >= 100 or rounded.is_integer() else f"{rounded:g}"
