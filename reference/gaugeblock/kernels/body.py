"""A pointwise loop body: operands, symbolic arguments and the expressions stored to the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.dtype import DType
from .conversion import (
    SCALAR_TYPES,
    Immediate,
    Memory,
    Raw,
    convert,
    from_storage,
    immediate_value,
    is_half,
    memory,
    raw_types,
    rounded,
    to_storage,
)
from .expression import Complex, Expr, Value, all_nodes
from .isa import Level
from .lower import SCALAR_ONLY

Formula = Callable[..., Any]


VECTORS = "vectors"
"""The attribute of a formula that says how many registers the elements of a step take, if that is not one."""

LONG, LONG_COMPLEX = 400, 100
"""Exprs of a formula, real or complex, from which on it is long."""


class Parameter(NamedTuple):
    """A number that the loop does not change: its C values, what is computed from them once, and placeholders."""

    raw: tuple[Expr, ...]
    computed: tuple[Expr, ...]
    exprs: tuple[Expr, ...]


class Body(NamedTuple):
    """Outputs and inputs in memory, parameters, argument expressions of each input, stored expressions of each output.
    `width` is the number of expressions of the vector form; 1 when there is none."""

    outputs: tuple[Memory, ...]
    inputs: tuple[Memory, ...]
    parameters: tuple[Parameter, ...]
    arguments: tuple[tuple[Expr, ...], ...]
    stored: tuple[tuple[Expr, ...], ...]
    width: int
    guarded: bool

    @property
    def memory(self) -> tuple[Memory, ...]:
        return self.outputs + self.inputs


def components(value: Value) -> tuple[Expr, ...]:
    """The real expressions of a value."""
    return (value.re, value.im) if isinstance(value, Complex) else (value,)


def rebuild(exprs: Sequence[Expr]) -> Value:
    """The value whose real expressions are given."""
    return Complex(exprs[0], exprs[1]) if len(exprs) == 2 else exprs[0]


def record(
    formula: Formula, operands: Sequence[DType | Raw | Immediate], compute: DType, results: Sequence[DType],
    level: Level,
) -> Body:  # fmt: skip
    """Call `formula` once with symbolic expressions of the compute dtype and convert its results for storing."""
    half = level.half_hardware
    inputs: list[Memory] = []
    parameters: list[Parameter] = []
    arguments: list[tuple[Expr, ...]] = []
    values: list[Value] = []
    for operand in operands:
        if isinstance(operand, Immediate):
            raw = tuple(Expr("argument", type) for type in raw_types(operand.dtype))
            number = immediate_value(raw, operand.dtype, level)
            computed = components(number if operand.raw else convert(number, compute))
            parameter = Parameter(raw, computed, tuple(Expr("argument", expr.type) for expr in computed))
            parameters.append(parameter)
            values.append(rebuild(parameter.exprs))
        else:
            dtype = operand.dtype if isinstance(operand, Raw) else operand
            place = memory(f"i{len(inputs)}", dtype)
            inputs.append(place)
            arguments.append(place.symbols())
            value = from_storage(arguments[-1], dtype, half)
            if not isinstance(operand, Raw):
                value = convert(value, compute)
                value = rounded(value, compute, half) if dtype is not compute and is_half(compute) else value
            values.append(value)
    outcome = formula(*values, compute) if getattr(formula, "takes_dtype", False) else formula(*values)
    outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
    if len(outcomes) != len(results):
        raise ValueError(f"formula gives {len(outcomes)} results where {len(results)} are declared")
    stored = tuple(to_storage(value, dtype, half) for value, dtype in zip(outcomes, results, strict=True))
    outputs = tuple(memory(f"o{index}", dtype) for index, dtype in enumerate(results))
    exprs = list(all_nodes([expr for exprs in stored for expr in exprs]))
    used = {expr.opcode for expr in exprs}
    long = "while" in used or len(exprs) > (LONG_COMPLEX if compute.is_complex else LONG)
    widest = max(expr.type.bits for expr in exprs) if long else 0
    width = 1 if used & SCALAR_ONLY else vector_width(level, (*outputs, *inputs), compute, widest)
    if width > 1:
        width *= getattr(formula, VECTORS, 1)
    return Body(outputs, tuple(inputs), tuple(parameters), tuple(arguments), stored, width, "guard" in used)


def vector_width(level: Level, operands: Sequence[Memory], compute: DType, widest: int = 0) -> int:
    """Exprs per vector: the level's vector bytes over the widest component involved. `widest` is that of a long
    formula: one register for each element compiles in half the time of two."""
    widest = max([widest, SCALAR_TYPES[compute].bits, *(operand.storage.bits for operand in operands)])
    return max(1, level.vector_bytes * 8 // max(widest, 8))
