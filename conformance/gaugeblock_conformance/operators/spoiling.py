"""Calls with one argument that no operator can take, the others as they were."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from gaugeblock_spec.samples import TensorFact

from ..case import TensorCase
from .calls import OperatorCall, schema_arguments

# Sizes that broadcast with no others that are drawn.
_ODD = 7
_FAR = 1000


def spoiled(call: OperatorCall) -> Iterator[OperatorCall]:
    """The call with a dim that there is not, with its last index out of range, and with operands of sizes, or of a
    dtype, that do not fit; the first tensor stays as it is."""
    first = next((name for name, value in call.arguments.items() if isinstance(value, TensorCase)), "")
    for argument in schema_arguments(call.operator):
        name, value = argument.name, call.arguments.get(argument.name)
        fact = call.facts.get(name)
        if name in ("dim", "dim0") and isinstance(value, int):
            yield call.with_argument(name, value + _FAR)
        if not isinstance(value, TensorCase) or name == first:
            continue
        if isinstance(fact, TensorFact) and fact.index is not None and value.numel:
            yield call.with_argument(name, _with_last(value, _FAR))
        yield call.with_argument(name, _of_sizes(value, (*value.sizes, _ODD)))
        if value.sizes:
            yield call.with_argument(name, _of_sizes(value, (*value.sizes[:-1], value.sizes[-1] + _ODD)))
        yield call.with_argument(name, _of_sizes(value, value.sizes, "complex128"))


def _with_last(case: TensorCase, element: int) -> TensorCase:
    contents = case.contents.copy()
    case.view_of(contents)[(-1,) * len(case.sizes)] = element
    return replace(case, literal=tuple(contents.tolist()))


def _of_sizes(case: TensorCase, sizes: tuple[int, ...], dtype: str = "") -> TensorCase:
    elements = np.ones(math.prod(sizes))
    packed = tuple(math.prod(sizes[k + 1 :]) for k in range(len(sizes)))
    return TensorCase(dtype or case.dtype, sizes, packed, literal=tuple(elements.tolist()))
