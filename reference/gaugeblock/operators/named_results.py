"""Named tuples for operators with several results, their fields named by the schema."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

from gaugeblock_spec.schema import parse

from .rows import rows


@functools.cache
def result_type(name: str) -> Any:
    """The named tuple that operator `name` ("sort.stable") returns, called after its base name."""
    row = rows()[name]
    fields = [result.name or f"result{place}" for place, result in enumerate(parse(row.schema).returns)]
    return namedtuple(row.base, fields)


def pair(name: str, values: Any, indices: Any) -> Any:
    """The two results of operator `name`."""
    return result_type(name)(values, indices)
