"""What the suite asks of a backend's kernels: the calls of the capabilities accessor, isa and vec.introspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .backend import Array

CALLS: dict[str, str] = {
    "accessor_elements": "(tensor, dtype, ndim, bits, packed) -> list: all elements, row-major, by an accessor",
    "accessor_put_": "(tensor, indices, value): writes one element through an accessor; returns the tensor",
    "paths_of": "(operator, *args) -> Paths of a pointwise operator's call",
    "vector_width": "(dtype) -> int: lanes of one vector",
    "instruction_sets": "() -> tuple: those that can be chosen here, lowest first",
    "on_instruction_set": "(name, calls) -> list of arrays: results of (operator, *arrays), in a fresh process",
    "check_argument": "(check, function, name, position, tensor, wanted): a named-argument check of kernel writers",
    "visits_of_loop": "(length, grain, failing) -> list: visits of each index by a shared loop, where one index raises",
    "threads_of_loop": "(length) -> int: threads of a shared loop with a grain of 1, whose chunks wait for each other",
}
"""Operator name -> its arguments and answer."""


@dataclass(frozen=True)
class Paths:
    """How often the vector and the scalar form wrote each element (arrays of the result's shape).

    ``buffered``: the operands were brought into contiguous buffers first; ``width``: lanes of the vector form.
    """

    result: Any
    vector: Array
    scalar: Array
    width: int
    buffered: bool
