"""The spec's operator rows as the engine needs them, parsed once per content and kept in the user's cache folder.

Reading the table takes a tenth of a second, which an import must not cost; the cache is keyed by a digest of the
files, so an edited row is seen at the next import, and without a writable folder the rows are simply read each time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import gaugeblock_spec

from ..kernels.object_cache import cache_folder


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
    digest = _digest()
    place = cache_folder() / f"operators-{digest}.json"
    try:
        plain = json.loads(place.read_bytes())
    except (OSError, ValueError):
        plain = _read()
        store(place, plain)
    return {row.name: row for row in (_row(values) for values in plain)}


@functools.cache
def rows_by_base() -> dict[str, list[Row]]:
    """Rows grouped by the name without overload."""
    groups: dict[str, list[Row]] = {}
    for row in rows().values():
        groups.setdefault(row.base, []).append(row)
    return groups


def _row(values: list[Any]) -> Row:
    return Row._make(tuple(value) if isinstance(value, list) else value for value in values)


def _digest() -> str:
    folder = Path(gaugeblock_spec.__file__).parent
    total = hashlib.blake2b(repr(Row._fields).encode(), digest_size=16)
    for place in [folder / "dtype_classes.yaml", *sorted((folder / "operators").glob("*.yaml"))]:
        total.update(place.name.encode() + b"\0" + place.read_bytes())
    return total.hexdigest()


def _read() -> list[list[Any]]:
    from gaugeblock_spec.operators import load

    return [
        [
            operator.name,
            operator.schema,
            operator.inplace,
            operator.out,
            list(operator.aliases),
            list(operator.variants),
            operator.family,
            list(operator.dtypes),
            operator.promotion,
            operator.result,
            operator.out_cast,
        ]
        for operator in load().values()
    ]


def store(place: Path, plain: Any) -> None:
    """Put plain data into the cache folder, all at once; without a writable folder nothing happens."""
    import tempfile

    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place.parent, suffix=".part")
        with os.fdopen(handle, "w") as file:
            json.dump(plain, file)
        os.replace(temporary, place)
