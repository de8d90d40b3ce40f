"""Operators that answer wrongly where one of their tensors has a certain number of dims, each a mutant."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array
from .mutant import Intercepted, Mutant, Patch
from .operators import with_data
from .patches import fresh, values

# Row, argument and number of dims, a file of samples each.
_RANKS = {
    "linalg": """matmul:other:1 matmul:self:1 matmul:other:3""",
}


def _wrong(array: Array, c: Intercepted) -> Array:
    if array.dtype == bool:
        return ~array
    return (array.reshape(-1)[::-1].reshape(array.shape) + array.dtype.type(1)).astype(array.dtype)


def _of_rank(row: str, argument: str, rank: int) -> Patch:
    names = [a.name for a in parse(operators.load()[row].schema).arguments]
    place, spoil = names.index(argument), values(_wrong)

    def patch(c: Intercepted) -> Any:
        given = c.args[place] if place < len(c.args) else c.kwargs.get(argument)
        first = given[0] if isinstance(given, list | tuple) and given else given
        if not c.is_tensor(first) or len(c.backend.shape(first)) != rank:
            return c.right()
        result = spoil(c)
        single = c.is_tensor(result) and c.array(result).size > 0
        shared = single and c.backend.storage_id(result) == c.backend.storage_id(first) and not c.inplace
        return fresh(c, _wrong(c.array(result), c)) if shared else result

    return with_data(patch)


def _mutant(text: str) -> Mutant:
    row, argument, rank = text.split(":")
    words = f"{row.strip('_').replace('.', '-').replace('_', '-').lower()}-is-wrong-for-{argument.lower()}"
    name = f"{words.replace('_', '-')}-of-{rank}-dims"
    return Mutant(name, "operators", "operators", (row,), _of_rank(row, argument, int(rank)))


MUTANTS = tuple(_mutant(text) for texts in _RANKS.values() for text in texts.split())
