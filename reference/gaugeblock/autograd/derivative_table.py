"""The derivatives of the spec as the engine needs them, kept beside the operator rows in the cache folder."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import gaugeblock_spec

from ..kernels.cache_folder import cache_folder
from ..operators.rows import rows


class Derivative(NamedTuple):
    """`formulas` are pairs of the argument names and the expression of their gradients; `kind` as in the spec.

    `nothing` lists the arguments and results without a gradient, `follows` the arguments that gradients are recorded
    to depend on.
    """

    kind: str
    formulas: list[tuple[list[str], str]]
    tangent: str | None
    nothing: list[str]
    follows: list[str]


@functools.cache
def derivatives() -> dict[str, Derivative]:
    """All entries by row name."""
    folder = Path(gaugeblock_spec.__file__).parent / "derivatives"
    total = hashlib.blake2b(b"3", digest_size=16)
    for place in sorted(folder.glob("*.yaml")):
        total.update(place.name.encode() + b"\0" + place.read_bytes())
    file = f"derivatives-{total.hexdigest()}.json"
    kept = cache_folder().read(file)
    plain = _read() if kept is None else json.loads(kept)
    if kept is None:
        cache_folder().write(file, json.dumps(plain).encode())
    return {name: Derivative(*values) for name, values in plain.items()}


def _read() -> dict[str, list[Any]]:
    from gaugeblock_spec.derivatives import entries, table_files

    found = {name: entry for file in table_files() for name, entry in entries(file).items()}
    return {
        name: [entry.kind, [[list(names), text] for names, text in entry.formulas.items()], entry.tangent,
               list(entry.nothing), list(entry.follows)]
        for name, entry in found.items()
    }  # fmt: skip


@functools.cache
def row_of_form() -> dict[str, str]:
    """Name of an in-place or out= form -> the row it belongs to."""
    found: dict[str, str] = {}
    for row in rows().values():
        for name in (row.inplace_name, row.out_name):
            if name is not None:
                found.setdefault(name, row.name)
    return found


@functools.cache
def node_names() -> dict[str, str]:
    """Row name -> the name of its nodes: overloads of one operator are numbered in the order of the table.

    An overload that takes a number where another takes a tensor has the name of that one.
    """
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name in derivatives():
        base, _, overload = name.partition(".")
        twin = f"{base}.Tensor"
        if overload == "Scalar" and twin in names:
            names[name] = names[twin]
            continue
        number = counts.get(base, 0)
        counts[base] = number + 1
        names[name] = f"{camel(base)}Backward{number}"
    return names


def camel(name: str) -> str:
    """``log_softmax`` -> ``LogSoftmax``; a leading underscore is dropped."""
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
