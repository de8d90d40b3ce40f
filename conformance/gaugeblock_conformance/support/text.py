"""The table of support for a terminal, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from gaugeblock_spec import operators
from tabulate import tabulate

from ..oracles.promotion import CORE
from .layouts import LAYOUTS
from .table import CRASHED, FALLBACK, NATIVE, SUPPORTED, UNSUPPORTED, UNTRIED, VERDICTS, WRONG, Column, as_json

LETTERS = {
    NATIVE: "n", FALLBACK: "f", SUPPORTED: "s", UNSUPPORTED: "-", WRONG: "W", CRASHED: "C", UNTRIED: "?"
}  # fmt: skip
_SHORT = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
_SHORT |= {"sparse_coo": "coo", "sparse_csr": "csr", "sparse_csc": "csc", "sparse_bsr": "bsr", "sparse_bsc": "bsc"}
_SHORT |= {"blocked": "blk", "quantized": "q8"}
_SHOWN = (*CORE, *LAYOUTS)
_WIDTH = 38
_ODD = (WRONG, CRASHED)


def terminal(columns: Sequence[Column]) -> str:
    """A line for each operator, grouped by family: a word for each backend, a letter for each dtype and each layout."""
    lines = _heads(columns)
    for family, group in groupby(_operators(columns), key=lambda name: operators.load()[name].family):
        lines.append(family)
        for name in group:
            words = "  ".join(_word(column, name) for column in columns)
            lines.append(f"  {name[:_WIDTH]:<{_WIDTH}}  {words}")
    return "\n".join([*lines, "", _legend(columns), *_totals(columns), *_oddities(columns)]) + "\n"


def markdown(columns: Sequence[Column]) -> str:
    """The same as a page."""
    heads = ("operator", *(f"{c.backend}" for c in columns))
    parts = ["# Support of operators", "\n".join(f"- {line}" for line in _totals(columns))]
    names = ", ".join(_SHORT[dtype] for dtype in _SHOWN)
    parts.append(f"In each word, a letter for each of {names}; {_legend(columns)}.")
    for family, group in groupby(_operators(columns), key=lambda name: operators.load()[name].family):
        rows = [(f"`{name}`", *(f"`{_word(column, name, '·')}`" for column in columns)) for name in group]
        parts += [f"## {family}", tabulate(rows, heads, "github", disable_numparse=True)]
    odd = _oddities(columns)
    parts += ["## Wrong or crashed", "\n".join(f"- {_plain(line)}" for line in odd)] if odd else []
    return "\n\n".join(parts) + "\n"


def as_csv(columns: Sequence[Column]) -> str:
    """A line for each operator and dtype or layout, a field for each backend's verdict."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("operator", "family", "dtype", *(column.backend for column in columns)))
    for operator, dtype in columns[0].verdicts:
        verdicts = (column.verdicts[operator, dtype].kind for column in columns)
        writer.writerow((operator, operators.load()[operator].family, dtype, *verdicts))
    return file.getvalue()


def json_text(columns: Sequence[Column]) -> str:
    """Schema ``gaugeblock-support/1``: verdicts with what was wrong."""
    return json.dumps(as_json(columns), indent=1) + "\n"


FORMATS: dict[str, Callable[[Sequence[Column]], str]] = {
    "terminal": terminal, "markdown": markdown, "csv": as_csv, "json": json_text
}  # fmt: skip


def _operators(columns: Sequence[Column]) -> list[str]:
    """Those of the cells, families together, each in the order of the table."""
    names = dict.fromkeys(operator for operator, _ in columns[0].verdicts)
    families = list(dict.fromkeys(operators.load()[name].family for name in names))
    return sorted(names, key=lambda name: families.index(operators.load()[name].family))


def _word(column: Column, operator: str, absent: str = " ") -> str:
    found = (column.verdicts.get((operator, dtype)) for dtype in _SHOWN)
    return "".join(absent if verdict is None else LETTERS[verdict.kind] for verdict in found)


def _heads(columns: Sequence[Column]) -> list[str]:
    """Names of backends, and under each the short names of dtypes, written downwards."""
    width, tall = len(_SHOWN), max(map(len, _SHORT.values()))
    lines = [" " * (_WIDTH + 4) + "  ".join(f"{_plain(c.backend)[:width]:<{width}}" for c in columns)]
    for place in range(tall):
        word = "".join(_SHORT[dtype].rjust(tall)[place] for dtype in _SHOWN)
        lines.append(" " * (_WIDTH + 4) + "  ".join(word for _ in columns))
    return [line.rstrip() for line in lines]


def _legend(columns: Sequence[Column]) -> str:
    seen = {verdict.kind for column in columns for verdict in column.verdicts.values()}
    return "; ".join(f"{LETTERS[kind]} {kind}: {text}" for kind, text in VERDICTS.items() if kind in seen)


def _totals(columns: Sequence[Column]) -> list[str]:
    lines = []
    for column in columns:
        counts = Counter(verdict.kind for verdict in column.verdicts.values())
        told = ", ".join(f"{counts[kind]} {kind}" for kind in VERDICTS if counts[kind])
        lines.append(f"{_plain(column.backend)} ({_plain(column.name)} {_plain(column.version)}): {told}")
    return lines


def _oddities(columns: Sequence[Column]) -> list[str]:
    return [
        _plain(f"{column.backend}: {operator} {dtype}: {verdict.kind}: {verdict.text}")[:300]
        for column in columns
        for (operator, dtype), verdict in column.verdicts.items()
        if verdict.kind in _ODD
    ]


def _plain(text: str) -> str:
    """A backend's words on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
