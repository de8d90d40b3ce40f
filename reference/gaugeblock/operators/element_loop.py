"""A launch over an output's shape for given formula and dtypes: the common part of copies, fills and casts."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.dtype import DType
from ..iteration.dimensions import iteration_strides, loop_dimensions
from ..kernels.body import Formula
from ..kernels.operand import Immediate, Raw
from ..kernels.pointwise import Operand, PointwiseKernel, named_kernel, pointwise_kernel
from ..tensor.geometry import Geometry
from .launch import Launch

Ints = tuple[int, ...]


def element_launch(
    formula: str,
    out: Geometry,
    inputs: Sequence[Geometry | Immediate],
    compute: DType,
    more: Sequence[Geometry] = (),
) -> Launch | None:
    """The launch that writes `formula` of the inputs, broadcast, to `out`; None when there is nothing to write.

    Further results of the formula go to `more`, of the same sizes. Dims that `out` repeats (stride 0) are written once.
    """
    if out.numel == 0:
        return None
    shape = tuple([1 if step == 0 else size for size, step in zip(out.sizes, out.strides, strict=True)])
    outputs = [out, *more]
    memory = [*outputs, *(value for value in inputs if not isinstance(value, Immediate))]
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in memory]
    merged, steps = loop_dimensions(shape, strides)
    operands = [v if isinstance(v, Immediate) else v.dtype for v in inputs]
    places = [place for place, value in enumerate(inputs, len(outputs)) if not isinstance(value, Immediate)]
    slots = [*range(len(outputs)), *places]
    kernel = formula_kernel(formula, operands, compute, *(one.dtype for one in outputs))
    return Launch(kernel, merged, steps, [g.dtype.itemsize for g in memory], slots)


def formula_kernel(
    name: str, operands: Sequence[DType | Immediate], compute: DType, *results: DType
) -> PointwiseKernel:
    """The kernel of a formula from the tables; one that was declared outside has a name with a namespace."""
    if "::" in name:
        formula, kinds = _found(name, operands)
        return pointwise_kernel(name, formula, kinds, compute, results)
    return named_kernel(name, lambda: _found(name, operands), operands, compute, results)


def _found(name: str, operands: Sequence[DType | Immediate]) -> tuple[Formula, tuple[Operand, ...]]:
    """Return a formula and its operands; those that it wants unconverted are handed over so."""
    from .formulas import FORMULAS

    formula = FORMULAS[name]
    kinds = [_unconverted(one) if index in formula.raw else one for index, one in enumerate(operands)]
    return formula.function, tuple(kinds)


def _unconverted(operand: DType | Immediate) -> Raw | Immediate:
    return Raw(operand) if isinstance(operand, DType) else Immediate(operand.dtype, raw=True)
