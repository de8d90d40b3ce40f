"""The spec's operator rows as the engine needs them, parsed once and kept in the cache folder.

Reading the table takes a tenth of a second, which an import must not cost. What is kept names the files that it was
made from, with their sizes and times, so an edited row is seen at the next import; without a writable folder the rows
are simply read each time.
"""

from __future__ import annotations

import functools
import marshal
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import gaugeblock_spec

from ..kernels.object_cache import cache_folder, digest

if TYPE_CHECKING:
    from gaugeblock_spec.operators import Operator


class Row(NamedTuple):
    """One operator: its schemas, the rules that its kernels follow, and the names that its schemas begin with."""

    name: str
    schema: str
    inplace: str | None
    out: str | None
    aliases: tuple[str, ...]
    variants: tuple[str, ...]
    family: str
    dtypes: tuple[str, ...]
    promotion: str
    result: str
    out_cast: str | None
    base: str
    inplace_name: str | None
    out_name: str | None

    @property
    def takes_dtype(self) -> bool:
        return "ScalarType? dtype=None" in self.schema


@functools.cache
def rows() -> dict[str, Row]:
    """All rows by name such as "add.Tensor"."""
    origin = _origin()
    name = f"operators-{digest(origin.encode()).hex()[:8]}.rows"
    kept = cache_folder().read(name)
    found = None if kept is None else unpacked(kept, origin)
    if found is None:
        from gaugeblock_spec.operators import load

        found = list(map(row_of, load().values()))
        cache_folder().write(name, packed(found, origin))
    return {row.name: row for row in found}


@functools.cache
def row_of_form() -> dict[str, str]:
    """Name of an in-place or out= form -> the row it belongs to."""
    found: dict[str, str] = {}
    for row in rows().values():
        for name in (row.inplace_name, row.out_name):
            if name is not None:
                found.setdefault(name, row.name)
    return found


def packed(table: Sequence[Row], origin: str) -> bytes:
    """Return rows as bytes, with the origin that they were read from; equal cells are stored once."""
    shared: dict[Any, Any] = {}
    return marshal.dumps((origin, [tuple([shared.setdefault(cell, cell) for cell in row]) for row in table]))


def unpacked(data: bytes, origin: str) -> list[Row] | None:
    """Return the rows of such bytes; None when they are malformed or have another origin."""
    try:
        made_from, table = marshal.loads(data)
        return list(map(Row._make, table)) if made_from == origin else None
    except (EOFError, TypeError, ValueError):
        return None


def _origin() -> str:
    """The files of the table with their sizes and times, and what else the kept rows depend on."""
    folder = os.path.dirname(gaugeblock_spec.__file__)
    with os.scandir(os.path.join(folder, "operators")) as entries:
        files = sorted((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".yaml"))
    files.append(("dtype_classes", os.stat(os.path.join(folder, "dtype_classes.yaml"))))
    known = [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in files]
    return "\n".join([folder, sys.version, *Row._fields, *known])


def row_of(operator: Operator) -> Row:
    """Return the row of an operator of the spec."""
    values = [getattr(operator, field) for field in Row._fields[:-3]]
    names = (operator.name.partition(".")[0], _name(operator.inplace), _name(operator.out))
    return Row._make([*(tuple(value) if isinstance(value, list) else value for value in values), *names])


def _name(schema: str | None) -> str | None:
    return None if schema is None else schema.partition("(")[0]
