"""Which body of a pointwise loop writes which element: the vector body or the scalar one.

The traced kernel is the operator's own formula, recorded with one operand more: a byte per element that each body
raises by a number of its own. Everything else (operands, iteration, threads, instruction set) is as in the plain call.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..core import lazy_numpy as np
from ..core.dtype import DType, uint8
from ..kernels.body import Formula
from ..kernels.conversion import SCALAR_TYPES, Raw
from ..kernels.expression import UINT, Expr
from ..kernels.isa import capability, current_level
from ..kernels.lower import VECTOR_VISIT
from ..kernels.pointwise import Launch, PointwiseKernel, pointwise_kernel
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import meta_of
from .pointwise import arguments, fitted, plan_call
from .pointwise_operators import RULES, call_builder


def vector_width(dtype: DType) -> int:
    """Exprs of `dtype` that one vector holds on the instruction set in use; half floats count as float32."""
    return max(1, current_level().vector_bytes * 8 // max(SCALAR_TYPES[dtype].bits, 8))


class PathTrace(NamedTuple):
    """The result of a traced call, and how often each element was written by the vector and by the scalar body.

    `vector` and `scalar` have the result's shape; `width` is the number of lanes of the vector body (1: there is
    none), `capability` the instruction set. The vector body only ever meets contiguous or repeated operands:
    `buffered` tells that operands which lie apart in memory were brought into contiguous buffers for it.
    """

    result: Tensor
    vector: np.ndarray[Any, Any]
    scalar: np.ndarray[Any, Any]
    width: int
    capability: str
    buffered: bool

    @property
    def vector_elements(self) -> int:
        """Elements written by the vector body."""
        return int(np.count_nonzero(self.vector))

    @property
    def scalar_elements(self) -> int:
        """Elements written by the scalar body."""
        return int(np.count_nonzero(self.scalar))


def trace_paths(operator: str, *args: Any, **kwargs: Any) -> PathTrace:
    """Run a pointwise operator such as "add.Tensor" and tell which loop body wrote each element.

    Raises ValueError for an operator that is not pointwise, and what the operator itself raises.
    """
    rule = RULES.get(operator)
    if rule is None:
        raise ValueError(f"trace_paths(): argument 'operator' must be a pointwise operator's name, got {operator!r}")
    call = call_builder(operator)(*args, **kwargs)
    plan = plan_call(rule, call, None, inplace=False)
    call = fitted(rule, call, plan.common)
    result = new_like(plan.meta)
    visits = new_like(meta_of(plan.meta.sizes, plan.meta.strides, uint8, plan.meta.device))
    array = array_of(visits)
    array[...] = 0
    width, buffered = 1, False
    if plan.launch is not None and plan.launch.count:
        width = _kernel_of(plan.launch).body().width
        traced = _traced_launch(plan.launch)
        buffered = traced.apart is not None and width > 1
        traced.run([result.pointer, visits.pointer, *arguments(call), visits.pointer])
    return PathTrace(result, array // VECTOR_VISIT, array % VECTOR_VISIT, width, capability(), buffered)


def _kernel_of(launch: Launch) -> PointwiseKernel:
    assert isinstance(launch.kernel, PointwiseKernel)
    return launch.kernel


def _traced_launch(launch: Launch) -> Launch:
    kernel = _kernel_of(launch)
    itemsize = launch.steps[0]
    visits = tuple(step // itemsize for step in launch.strides[0])
    strides = [launch.strides[0], visits, *launch.strides[1:], visits]
    steps = [itemsize, 1, *launch.steps[1:], 1]
    slots = [0, 1, *(slot + 1 for slot in launch.slots[1:]), len(kernel.operands) + 2]
    operands, results = (*kernel.operands, Raw(uint8)), (*kernel.results, uint8)
    traced = pointwise_kernel(f"traced {kernel.name}", _traced(kernel.formula), operands, kernel.compute, results)
    return Launch(traced, launch.shape, strides, steps, slots)


@functools.cache
def _traced(formula: Formula) -> Formula:
    def traced(*values: Any) -> tuple[Any, ...]:
        *given, visits, compute = values
        found = formula(*given, compute) if getattr(formula, "takes_dtype", False) else formula(*given)
        outcomes = found if isinstance(found, tuple) else (found,)
        return (*outcomes, visits + Expr("path", UINT[8]))

    traced.takes_dtype = True  # type: ignore[attr-defined]
    return traced
