"""Running results along a dim: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, float16, float32, float64, int64
from ..core.errors import wrap_dim
from ..iteration.tensor_iterator import TensorIterator
from ..kernels import scan
from ..kernels.bound_call import Fresh, Kernels
from ..kernels.compiler import Builtin
from ..kernels.reduction_phases import Phase
from ..kernels.scan import neighbours, scan_kernel
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of
from .arguments import dtype_argument
from .arrays import Array, planned_arrays
from .invoke import result_type
from .loop_plan import LoopPlan
from .operand_checks import check_implemented
from .plan import Planned, plannable, planned_fresh
from .registration import kernel

HALF = (float16, bfloat16)
Dim = tuple[int, ...]
"""A size, and the strides of all operands in bytes."""


def planned_scan(
    name: str, phase: Phase, self: Tensor, dim: int, compute: DType, *results: DType,
    kind: Callable[..., Any] | None = None,
) -> Planned[Any]:  # fmt: skip
    """Plan a scan with one result, or with several in a named tuple of this kind."""
    return planned_fresh(_plan(name, phase, self.meta, dim, compute, results), self, kind=kind)


def _plan(name: str, phase: Phase, meta: TensorMeta, dim: int, compute: DType, results: tuple[DType, ...]) -> Fresh:
    sizes = meta.sizes
    outputs = tuple([meta_of(sizes, default_strides(sizes), dtype, meta.device) for dtype in results])
    if meta.device is not cpu or not meta.numel:
        return Fresh(None, outputs, ())
    every = [*outputs, meta]
    dims = [(sizes[d], *(g.strides[d] * g.dtype.itemsize for g in every)) for d in range(meta.ndim)]
    scanned = dims.pop(dim) if dims else (1, *(0 for _ in every))
    others, *steps = zip(*dims, strict=True) if dims else [()] * (len(every) + 1)
    laid = [scanned, *TensorIterator.restrided(others, steps, [g.dtype for g in every], linear=True).dims]
    chosen = partial(scan_kernel, name, phase, meta.dtype, compute, results)
    itemsizes = [g.dtype.itemsize for g in every]
    if len(laid) > 1 and list(laid[1][1:]) == itemsizes and laid[1][0] >= neighbours() and scanned[0] > 1:
        call, tail = _abreast(chosen, laid, itemsizes)
    else:
        call, tail = chosen(), _tail(laid)
    return Fresh(long_call(256 * meta.numel, call), outputs, tail)


def _tail(laid: Sequence[Dim]) -> tuple[int, ...]:
    """The arguments of a kernel behind the addresses."""
    sizes, *strides = zip(*laid, strict=True)
    return (len(laid), *sizes, *(step for steps in strides for step in steps))


def _abreast(
    chosen: Callable[..., Builtin], laid: Sequence[Dim], itemsizes: Sequence[int]
) -> tuple[Callable[..., None], tuple[int, ...]]:
    """Return what scans groups of neighbours in the second dim, then the rest one by one, and its arguments
    behind the addresses."""
    scanned, (size, *_), *others = laid
    width = neighbours()
    groups, left = divmod(size, width)
    whole, run = _tail([scanned, (groups, *(width * nbytes for nbytes in itemsizes)), *others]), chosen(width)
    if not left:
        return run, whole
    places, ahead = tuple(range(len(itemsizes))), tuple([(size - left) * nbytes for nbytes in itemsizes])
    rest = (chosen(), places, ahead, _tail([scanned, (left, *itemsizes), *others]))
    return Kernels(((run, places, (0,) * len(places), whole), rest), ()).native(), ()


def _register_running(name: str, build: Any) -> None:
    """Register cumsum or cumprod, of bool and ints in int64."""

    @kernel(name)
    @plannable
    def running(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
        place = wrap_dim(name, dim, self.meta.ndim)
        own = self.meta.dtype
        compute = dtype_argument(name, dtype) or (int64 if own.kind < 2 else own)
        check_implemented(f"{name}_out_cpu", compute, compute is not bool_)
        if own is compute and own in HALF and self.meta.device is cpu and self.meta.numel:
            return _of_halves(name, build(float32), self, place)
        return planned_scan(name, build(compute), self, place, compute, compute)


def _of_halves(name: str, phase: Phase, self: Tensor, dim: int) -> Planned[Tensor]:
    """Plan a scan of half precision. Converting whole vectors before and after it is faster than single elements."""
    sizes, dtype = self.meta.sizes, self.meta.dtype
    wide = _plan(name, phase, contiguous_meta(sizes, float32), dim, float32, (float64,))
    plan = LoopPlan([self.meta], [contiguous_meta(sizes, dtype)])
    given = plan.copy(plan.temporary(contiguous_meta(sizes, float32)), plan.inputs[0])
    results = plan.temporary(wide.results[0])
    assert wide.kernel is not None
    plan.kernel(wide.kernel, [results, given], wide.tail)
    plan.copy(plan.results[0], results)
    return plan.planned(self)


def _register_extreme(name: str) -> None:
    """Register cummax or cummin: the extreme element so far and the index of its last occurrence; NaN stays."""

    @kernel(name)
    @plannable
    def extreme(self: Tensor, dim: int) -> Planned[Any]:
        place = wrap_dim(name, dim, self.meta.ndim)
        own = self.meta.dtype
        check_implemented(name, own, not own.is_complex)
        phase = scan.running_extreme(own, name == "cummax")
        return planned_scan(name, phase, self, place, own, own, int64, kind=result_type(name))


_register_running("cumsum", scan.running_sum)
_register_running("cumprod", scan.running_product)
_register_extreme("cummax")
_register_extreme("cummin")


@kernel("logcumsumexp")
@plannable
def logcumsumexp(self: Tensor, dim: int) -> Tensor | Planned[Tensor]:
    """log of the running sum of exp along a dim. Raises NotImplementedError for bool and ints, IndexError."""
    place = wrap_dim("logcumsumexp", dim, self.meta.ndim)
    own = self.meta.dtype
    check_implemented("logcumsumexp_out_cpu", own, own.kind >= 2)
    if own.is_complex:
        wanted = (contiguous_meta, self.meta.sizes, own)
        return planned_arrays(None, (self,), partial(_complex_logcumsumexp, place), wanted)
    return planned_scan("logcumsumexp", scan.running_exponentials(own), self, place, own, own)


def _log_of_two(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)); the phase counts on from that of the larger one, beyond pi too."""
    larger = np.where(a.real >= b.real, a, b)
    smaller = np.where(a.real >= b.real, b, a)
    apart = np.log1p(np.exp(smaller - larger)) + larger
    return np.asarray(np.where(np.isinf(larger.real), np.log(np.exp(a) + np.exp(b)), apart))


def _complex_logcumsumexp(dim: int, given: Array) -> tuple[Array]:
    if not given.ndim:
        return (given,)
    with np.errstate(all="ignore"):
        rows = np.moveaxis(given.astype(np.complex128), dim, 0)
        result = np.empty_like(rows)
        running = np.full(rows.shape[1:], -np.inf, np.complex128)
        for position, row in enumerate(rows):
            running = _log_of_two(running, row)
            result[position] = running
    return (np.moveaxis(result, 0, dim),)
