"""Running a normalizing program over the rows that the last dims make up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from ...core.device import cpu
from ...core.dtype import DType
from ...kernels.compiler import Builtin
from ...kernels.rowwise import RowProgram, row_map_kernel
from ...tensor.reshaping import contiguous
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, remember
from ..row_launch import RowLaunch, row_launch


@dataclass(slots=True, eq=False)
class _Plan:
    """Metas of the results, and the launch; None when there is nothing to run."""

    result: TensorMeta
    found: TensorMeta
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
    meta = input.meta
    given = [parameter for parameter in parameters if parameter is not None]
    key = (name, count, tuple([p is None for p in parameters]), *[p.meta for p in given])
    plan: _Plan | None = meta.plans.get(key)
    if plan is None:
        plan = remember(meta.plans, key, _plan(name, program, meta, count, given, found))
    if plan.launch is None and meta.device is cpu and plan.found.numel:
        return None
    result = new_like(plan.result)
    rest = [new_like(plan.found) for _ in found]
    if plan.launch is not None:
        source = input if meta.contiguous else contiguous(input)
        beside: list[Any] = [p if p.meta.contiguous else contiguous(p) for p in given]
        addresses = [result.pointer, *[part.pointer for part in rest], source.pointer, *[p.pointer for p in beside]]
        plan.launch.run(addresses, (eps,))
    return (result, *rest)


def normalizing_call(
    name: str,
    program: Callable[[], RowProgram],
    input: Tensor,
    count: int,
    parameters: tuple[Tensor | None, ...],
    eps: float,
) -> Callable[..., Tensor] | None:
    """Return what makes the first result of `normalized_rows` from tensors with the same metas and another eps.

    Return None where the rows are empty, and for other devices.
    """
    meta = input.meta
    if meta.device is not cpu or not meta.numel:
        return None
    given = [parameter for parameter in parameters if parameter is not None]
    make = partial(_launch, name, program, meta, count, given, ())
    result = contiguous_meta(meta.sizes, meta.dtype)
    return _call(make, result, eps, rows=meta.contiguous)


def _call(make: Callable[[], RowLaunch], meta: TensorMeta, usual: float, *, rows: bool) -> Callable[..., Tensor]:
    """The launch that drops what is found, made when first needed, for further tensors of these metas.

    `rows` says whether the input's rows lie one after the other.
    """
    launches: list[tuple[Builtin, tuple[int, ...]]] = []

    def run(input: Tensor, *rest: Any) -> Tensor:
        if not launches:
            launch = make()
            launches.append((launch.kernel.strided, launch.tail))
        strided, tail = launches[0]
        result = new_like(meta)
        *parameters, eps = rest
        source = input if rows else contiguous(input)
        beside = [p if p.meta.contiguous else contiguous(p) for p in parameters if p is not None]
        addresses = [p.pointer for p in beside]
        strided(result.pointer, source.pointer, *addresses, eps if isinstance(eps, (int, float)) else usual, *tail)
        return result

    return run


def _plan(
    name: str, program: Callable[[], RowProgram], meta: TensorMeta, count: int, given: list[Tensor],
    found: tuple[DType, ...],
) -> _Plan:  # fmt: skip
    sizes, own, device = meta.sizes, meta.dtype, meta.device
    lead = sizes[: len(sizes) - count]
    result = contiguous_meta(sizes, own, device)
    statistics = contiguous_meta((*lead, *(1,) * count), found[0], device)
    launch: RowLaunch | None = None
    if device is cpu and meta.numel:
        launch = _launch(name, program, meta, count, given, found)
    return _Plan(result, statistics, launch)


def _launch(
    name: str, program: Callable[[], RowProgram], meta: TensorMeta, count: int, given: list[Tensor],
    found: tuple[DType, ...],
) -> RowLaunch:  # fmt: skip
    sizes, own = meta.sizes, meta.dtype
    rows, length = prod(sizes[: len(sizes) - count]), prod(sizes[len(sizes) - count :])
    kernel = row_map_kernel(name, program(), own, found, tuple([p.meta.dtype for p in given]))
    flat = contiguous_meta((rows, length), own)
    each = [contiguous_meta((rows, 1), dtype) for dtype in found]
    beside = [contiguous_meta((length,), p.meta.dtype) for p in given]
    return row_launch(kernel, [flat, *each, flat, *beside], 1)
