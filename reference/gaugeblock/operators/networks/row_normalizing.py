"""Running a normalizing program over the rows that the last dims make up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from operator import is_
from typing import Any

from ...core.device import cpu
from ...core.dtype import DType
from ...kernels.row_map import RowProgram, row_map_kernel
from ...tensor.geometry import Geometry, contiguous_geometry, remember
from ...tensor.reshaping import contiguous
from ...tensor.tensor import Tensor, new_like
from ..prepared import noted
from ..row_launch import RowLaunch, row_launch


@dataclass(slots=True, eq=False)
class _Plan:
    """Geometries of the results, and the launch; None when there is nothing to run."""

    result: Geometry
    found: Geometry
    launch: RowLaunch | None


def normalized_rows(
    name: str,
    program: Callable[[], RowProgram],
    input: Tensor,
    count: int,
    parameters: tuple[Tensor | None, ...],
    found: tuple[DType, ...],
    eps: float,
) -> tuple[Tensor, ...] | None:
    """The row-major result of `program` over the last `count` dims, then what it finds for each row, those dims of
    size 1; None where the rows are empty. Works on meta."""
    geometry = input.geometry
    given = [parameter for parameter in parameters if parameter is not None]
    key = (name, count, tuple([p is None for p in parameters]), *[p.geometry for p in given])
    plan: _Plan | None = geometry.plans.get(key)
    if plan is None:
        plan = remember(geometry.plans, key, _plan(name, program, geometry, count, given, found))
    if plan.launch is None and geometry.device is cpu and plan.found.numel:
        return None
    result = new_like(plan.result)
    rest = [new_like(plan.found) for _ in found]
    if plan.launch is not None:
        source = input if geometry.contiguous else contiguous(input)
        beside: list[Any] = [p if p.geometry.contiguous else contiguous(p) for p in given]
        addresses = [result.pointer, *[part.pointer for part in rest], source.pointer, *[p.pointer for p in beside]]
        plan.launch.run(addresses, (eps,))
        if source is input and all(map(is_, beside, given)):
            noted(name, result, _runner(plan, len(found), eps))
    return (result, *rest)


def _runner(plan: _Plan, found: int, usual: float) -> Callable[..., Tensor]:
    """The launch for further tensors of these geometries; what is found is dropped."""
    assert plan.launch is not None
    strided, tail, geometry, dropped = plan.launch.builtin(), plan.launch.tail, plan.result, plan.found

    def run(input: Tensor, *rest: Any) -> Tensor:
        result = new_like(geometry)
        *parameters, eps = rest
        unread = [new_like(dropped) for _ in range(found)]
        addresses = [p.pointer for p in (*unread, input, *parameters) if p is not None]
        strided(result.pointer, *addresses, usual if eps is None else eps, *tail)
        return result

    return run


def _plan(
    name: str, program: Callable[[], RowProgram], geometry: Geometry, count: int, given: list[Tensor],
    found: tuple[DType, ...],
) -> _Plan:  # fmt: skip
    sizes, own, device = geometry.sizes, geometry.dtype, geometry.device
    lead, row = sizes[: len(sizes) - count], sizes[len(sizes) - count :]
    result = contiguous_geometry(sizes, own, device)
    statistics = contiguous_geometry((*lead, *(1,) * count), found[0], device)
    launch: RowLaunch | None = None
    if device is cpu and geometry.numel:
        rows, length = prod(lead), prod(row)
        kernel = row_map_kernel(name, program(), own, found, tuple([p.geometry.dtype for p in given]))
        flat, each = contiguous_geometry((rows, length), own), contiguous_geometry((rows, 1), found[0])
        beside = [contiguous_geometry((length,), p.geometry.dtype) for p in given]
        launch = row_launch(kernel, [flat, *(each for _ in found), flat, *beside], 1)
    return _Plan(result, statistics, launch)
