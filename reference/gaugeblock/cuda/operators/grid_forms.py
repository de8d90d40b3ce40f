"""Pointwise operators that the CPU computes on whole NumPy arrays, as formulas for PTX.

They are special functions that sum until they converge, and numbers taken apart and put together.
float_power, isreal and mvlgamma are not here: they are made of operators that have PTX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ...core.dtype import DType
from ...iteration.broadcast import iteration_strides
from ...iteration.coalesce import loop_dimensions
from ...kernels.expression import Lane
from ...kernels.pointwise import pointwise_kernel
from ...kernels.special import in_double
from ...operators.array_functions import FUNCTIONS
from ...operators.formulas import FORMULAS
from ...operators.formulas.table import Formula
from ...operators.launch import Launch
from ...operators.pointwise_call import Call
from ...operators.pointwise_rule import PointwiseRule
from ...operators.rows import Row, rows
from ...tensor.geometry import Geometry
from ...tensor.tensor import Tensor
from ..ptx import components, incomplete_gamma, polynomials, zeta
from .pointwise import FORMS, Loop, loop_of
from .twins import host_views

MODULES = {"zeta": zeta, "incomplete_gamma": incomplete_gamma, "polynomials": polynomials}
PREFIX = "grid."
"""Before the names of these formulas in the table of all, for the CPU does not take them."""
MOST = 170
"""The largest number whose factorial is a float64."""
JOINED: dict[str, Callable[..., Any]] = {
    "frexp.Tensor": components.frexp, "complex": components.joined, "polar": components.polar,
}  # fmt: skip
"""Operators with other dtypes of results than of operands."""


def _function(module: str, name: str) -> Callable[..., Lane]:
    if name.startswith("shifted_"):
        return polynomials.shifted(getattr(polynomials, name.removeprefix("shifted_")))
    function: Callable[..., Lane] = getattr(MODULES[module], name)
    return function


def _enter(name: str, function: Callable[..., Lane], operands: int) -> str:
    """Put a formula of float64 lanes into the table of all; its name there."""
    key = PREFIX + name
    if key not in FORMULAS:
        computed = functools.partial(in_double, lambda library, *lanes: function(*lanes))
        FORMULAS[key] = Formula(key, computed, operands, compute="float")
    return key


def _polygamma(n: int, self: Tensor) -> Call | None:
    if n == 0:
        return Call("digamma", (self,))
    if not 0 < n <= MOST:
        return None
    return Call(_enter(f"polygamma.{n}", functools.partial(zeta.polygamma, n), 1), (self,))


def _of_two(key: str, *operands: Any) -> Call:
    return Call(key, operands)


def _builders() -> dict[str, Callable[..., Call | None]]:
    found: dict[str, Callable[..., Call | None]] = {"polygamma": _polygamma, "special_polygamma": _polygamma}
    for base, place in FUNCTIONS.items():
        module, _, name = place.rpartition(".")
        found[base] = functools.partial(_of_two, _enter(base, _function(module, name), 2))
    return found


BUILDERS = _builders()
"""Operator without overload -> its arguments as the operands of a formula."""


def _forms() -> dict[str, tuple[PointwiseRule, str]]:
    found: dict[str, tuple[PointwiseRule, str]] = {}
    for row in rows().values():
        if row.family == "pointwise" and row.base in BUILDERS:
            rule = PointwiseRule(row)
            found.update({name: (rule, form) for name, form in named(row) if name is not None})
    return found


def named(row: Row) -> tuple[tuple[str | None, str], ...]:
    """The names of an operator's forms."""
    return (row.name, "fresh"), (row.inplace_name, "inplace"), (row.out_name, "out")


GRID_FORMS = _forms()
"""Operator -> its rule, and whether its result is fresh, self or out=."""
KERNELS = frozenset(FORMS) | frozenset(GRID_FORMS) | frozenset(JOINED)
"""Operators with PTX of their own."""


def grid_loop(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], results: list[Tensor]) -> Loop | None:
    """The loop of a call of one of these operators that writes to `results`; None where there is none."""
    if name in JOINED:
        return _joined_loop(name, args, results)
    rule, form = GRID_FORMS[name]
    order = args[::-1] if rule.base == "polygamma" and form == "inplace" else args
    call = BUILDERS[rule.base](*order, **{key: value for key, value in kwargs.items() if key != "out"})
    return None if call is None else loop_of(rule, form, call, results[0])


def _joined_loop(name: str, args: tuple[Any, ...], results: list[Tensor]) -> Loop:
    views = host_views()
    inputs = [views.of(value) for value in args]
    geometries = [one.geometry for one in results]
    compute: DType = inputs[0].geometry.dtype if len(results) > 1 else geometries[0].dtype.to_real()
    launch = _launch(name, geometries, [one.geometry for one in inputs], compute)
    return Loop(launch, [*(one.pointer for one in results), *(one.pointer for one in inputs)], inputs, list(args))


def _launch(name: str, results: list[Geometry], inputs: list[Geometry], compute: DType) -> Launch:
    """The launch of one of JOINED over the shape of its results."""
    shape = results[0].sizes
    memory = [*results, *inputs]
    strides = [iteration_strides(g.sizes, g.strides, shape, g.dtype.itemsize) for g in memory]
    merged, steps = loop_dimensions(shape, strides)
    kernel = pointwise_kernel(
        PREFIX + name, JOINED[name], [one.dtype for one in inputs], compute, [one.dtype for one in results]
    )
    return Launch(kernel, merged, steps, [g.dtype.itemsize for g in memory], range(len(memory)))
