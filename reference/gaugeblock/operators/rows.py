"""The spec's operator rows as the engine needs them, parsed once and kept in the user's cache folder.

Reading the table takes a tenth of a second, which an import must not cost. What is kept names the files that it was
made from, with their sizes and times, so an edited row is seen at the next import; without a writable folder the rows
are simply read each time.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import gaugeblock_spec

from ..kernels.object_cache import cache_place

if TYPE_CHECKING:
    from pathlib import Path


class Row(NamedTuple):
    """One operator: its schemas and the rules that its kernels follow."""

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

    @property
    def base(self) -> str:
        return self.name.partition(".")[0]

    @property
    def takes_dtype(self) -> bool:
        return "ScalarType? dtype=None" in self.schema

    @property
    def inplace_name(self) -> str | None:
        return None if self.inplace is None else self.inplace.partition("(")[0]

    @property
    def out_name(self) -> str | None:
        return None if self.out is None else self.out.partition("(")[0]


@functools.cache
def rows() -> dict[str, Row]:
    """All rows by name such as "add.Tensor"."""
    origin = _origin()
    place = os.path.join(cache_place(), f"operators-{zlib.crc32(origin.encode()):08x}.rows")
    try:
        with open(place, "rb") as file:
            made_from, plain = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        made_from = None
    if made_from != origin:
        plain = _read()
        _put(place, marshal.dumps((origin, plain)))
    return {row.name: row for row in map(Row._make, plain)}


@functools.cache
def rows_by_base() -> dict[str, list[Row]]:
    """Rows grouped by the name without overload."""
    groups: dict[str, list[Row]] = {}
    for row in rows().values():
        groups.setdefault(row.base, []).append(row)
    return groups


def _origin() -> str:
    """The files of the table with their sizes and times, and what else the kept rows depend on."""
    folder = os.path.dirname(gaugeblock_spec.__file__)
    with os.scandir(os.path.join(folder, "operators")) as entries:
        files = sorted((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".yaml"))
    files.append(("dtype_classes", os.stat(os.path.join(folder, "dtype_classes.yaml"))))
    known = [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in files]
    return "\n".join([folder, sys.version, *Row._fields, *known])


def _read() -> list[tuple[Any, ...]]:
    from gaugeblock_spec.operators import load

    return [
        (
            operator.name,
            operator.schema,
            operator.inplace,
            operator.out,
            tuple(operator.aliases),
            tuple(operator.variants),
            operator.family,
            tuple(operator.dtypes),
            operator.promotion,
            operator.result,
            operator.out_cast,
        )
        for operator in load().values()
    ]


def store(place: Path, plain: Any) -> None:
    """Put plain data into the cache folder as JSON, all at once; without a writable folder nothing happens."""
    import json

    _put(str(place), json.dumps(plain).encode())


def _put(place: str, content: bytes) -> None:
    import tempfile

    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(place), suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, place)
