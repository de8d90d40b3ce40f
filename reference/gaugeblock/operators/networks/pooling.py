"""Options of pooling for each dim, and how many windows there are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from sys import maxsize
from typing import Any, NamedTuple

from ...core.device import cpu
from ...core.dtype import DType, float32, float64, int32, int64
from ...core.limits import iinfo
from ...kernels.conversion import Immediate, Raw
from ...kernels.pointwise import pointwise_kernel
from ...kernels.reduction_ops import mean_reduction
from ...kernels.windows import at_padding, first_in_window, first_largest, largest, quotient, total
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of
from ..arrays import filled
from ..composition import Part, composite
from ..invoke import apply
from ..loop_plan import LoopPlan, View, planned_loops
from ..plan import Planned, plannable, planned_fresh
from ..reductions import plan_reduction
from .calls import check_dtype, suggested
from .windows import Ints, spans


@dataclass(frozen=True, slots=True)
class Pool:
    """Windows over the last dims; `counts` of them, the last of which may reach beyond the padding."""

    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    counts: Ints

    def covered(self, own: Ints) -> list[list[int]]:
        """Return how many places of the padded dims, of sizes `own` without the padding, each window covers."""
        found = []
        for size, k, s, p, count in zip(own, self.kernel, self.stride, self.padding, self.counts, strict=True):
            whole = min((size + 2 * p - k) // s + 1, count)
            found.append([k] * whole + [size + 2 * p - place * s for place in range(whole, count)])
        return found


def _each(operator: str, name: str, value: int | Ints, dims: int) -> Ints:
    given = (value,) if isinstance(value, int) else value
    if len(given) in (1, dims):
        return given * (dims // len(given))
    raise RuntimeError(
        f"{operator}(): {operator}: {name} must either be a single int, or a tuple of {dims} ints, got {list(given)}"
    )


def pool_of(operator: str, input: TensorMeta, dims: int, *options: Any) -> Pool:
    """Return the windows of a pooling. Raise RuntimeError for options and sizes that do not fit."""
    return _pool(operator, input.sizes, dims, *[tuple(one) if isinstance(one, list) else one for one in options])


@functools.lru_cache(maxsize=1024)
def _pool(
    operator: str, own: Ints, dims: int, kernel_size: int | Ints, stride: int | Ints = (), padding: int | Ints = 0,
    dilation: int | Ints = 1, ceil_mode: bool = False,
) -> Pool:  # fmt: skip
    kernel = _each(operator, "kernel_size", kernel_size, dims)
    step = kernel if stride == () else _each(operator, "stride", stride, dims)
    around = _each(operator, "padding", padding, dims)
    spread = _each(operator, "dilation", dilation, dims)
    if len(own) not in (dims + 1, dims + 2) or 0 in own[len(own) - dims - 1 :]:
        raise RuntimeError(
            f"{operator}(): Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(own)}"
        )
    for name, numbers, least, rule in (
        ("kernel size", kernel, 1, "greater than zero"),
        ("stride", step, 1, "greater than zero"),
        ("dilation", spread, 1, "greater than zero"),
        ("padding", around, 0, "non-negative"),
    ):
        if min(numbers) < least:
            zero = f"{name} should not be zero; " if 0 in numbers else ""
            raise RuntimeError(f"{operator}(): {zero}{name} must be {rule}, but got {name}: {list(numbers)}")
    for size, pad in zip(kernel, around, strict=True):
        if 2 * pad > size:
            raise RuntimeError(
                f"{operator}(): pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={size} and dilation={list(spread)}"
            )
    counts, reach = [], spans(kernel, spread)
    for size, r, s, p in zip(own[-dims:], reach, step, around, strict=True):
        count = (size + 2 * p - r + (s - 1 if ceil_mode else 0)) // s + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    if min(counts) < 1:
        raise RuntimeError(
            f"{operator}(): Given input size: {list(own[-dims - 1 :])}. Calculated output size: "
            f"{[own[-dims - 1], *counts]}. Output size is too small"
        )
    ends = zip(own[-dims:], around, counts, step, reach, strict=True)
    reached = [max(n + 2 * p, (c - 1) * s + r) for n, p, c, s, r in ends]
    if prod(own[:-dims]) * prod(reached) > maxsize:
        raise RuntimeError(f"{operator}(): an input padded to sizes {reached} has more bytes than memory has addresses")
    return Pool(kernel, step, around, spread, tuple(counts))


MOST_TAPS = 10
"""Elements of a window that one loop reads; longer windows take several."""


class Run(NamedTuple):
    """Windows along a dim, the first and `every` so many after it, that are equally long and begin at equal distances,
    `step`, from `start` on."""

    first: int
    places: int
    start: int
    step: int
    taps: int
    every: int = 1

    def follows(self, place: int, start: int) -> bool:
        """Return whether a window is the next one."""
        return place == self.first + self.places * self.every and start == self.start + self.places * self.step


class Windows(NamedTuple):
    """All windows along one dim, in runs, and how far apart the elements of a window are."""

    runs: list[Run]
    spread: int = 1

    @property
    def taps(self) -> list[int]:
        """Return the number of elements in a window."""
        found = {run.first + k * run.every: run.taps for run in self.runs for k in range(run.places)}
        return [found[place] for place in sorted(found)]


def _regular(own: Ints, pool: Pool) -> list[Windows]:
    """Return the windows of a pooling over the last dims, of sizes `own`, without the padding."""
    options = zip(own, pool.kernel, pool.stride, pool.padding, pool.dilation, pool.counts, strict=True)
    return [_along(*values) for values in options]


def _along(size: int, kernel: int, stride: int, padding: int, spread: int, count: int) -> Windows:
    def alone(place: int) -> Run:
        start = place * stride - padding
        outside = -(min(start, 0) // spread)
        start += outside * spread
        return Run(place, 1, start, 1, max(min(kernel - outside, -((start - size) // spread)), 0))

    first = min(-(-padding // stride), count)
    last = max(min((size + padding - (kernel - 1) * spread - 1) // stride + 1, count), first)
    whole = [Run(first, last - first, first * stride - padding, stride, kernel)] if last > first else []
    return Windows([*map(alone, range(first)), *whole, *map(alone, range(last, count))], spread)


def _adaptive(own: Ints, parts: Sequence[int]) -> list[Windows]:
    """Return the windows that share the last dims out in `parts` each, and may overlap."""
    found = []
    for size, count in zip(own, parts, strict=True):
        runs: list[Run] = []
        for place in range(count):
            start, end = place * size // count, -(-(place + 1) * size // count)
            alike = [k for k, run in enumerate(runs) if run.taps == end - start]
            before = runs[alike[-1]] if alike else None
            if before and before.places == 1:
                before = before._replace(step=start - before.start, every=place - before.first)
            if before and before.follows(place, start):
                runs[alike[-1]] = before._replace(places=before.places + 1)
                continue
            runs.append(Run(place, 1, start, 1, end - start))
        found.append(Windows(runs))
    return found


def _reduce(
    plan: LoopPlan, meta: TensorMeta, windows: list[Windows], compute: DType, targets: list[View],
    formula: Callable[..., Any], positions: list[View] | None = None,
) -> None:  # fmt: skip
    """Plan the reduction of the input's windows into `targets`; with `positions`, the multiples of each dim's step in
    the row-major last dims, the second target is where the largest elements stand."""
    lead = meta.ndim - len(windows)
    sources, sizes = [plan.inputs[0]], list(meta.sizes)
    kinds = [compute] if positions is None else [compute, positions[0].dtype]
    for dim, along in enumerate(windows, lead):
        sizes[dim] = targets[0].sizes[dim]
        last = dim == meta.ndim - 1
        made = targets if last else [plan.temporary(suggested(meta, tuple(sizes), kind)) for kind in kinds]
        for run in along.runs:
            into = [one.narrow(dim, run.first, run.places, run.every) for one in made]
            for begin in range(0, run.taps, MOST_TAPS):
                taps = range(begin, min(begin + MOST_TAPS, run.taps))
                begins = [run.start + k * along.spread for k in taps]
                lanes = [one.narrow(dim, start, run.places, run.step) for one in sources for start in begins]
                operands, used = [*(into if begin else ()), *lanes], formula
                if positions is not None:
                    line = positions[dim - lead]
                    starts, step = line.narrow(0, run.start, run.places, run.step), line.narrow(0, along.spread, 1)
                    operands += [view.along(dim, into[0].sizes) for view in (starts, step)]
                    used = first_largest(taps.start, taps.stop, placed=dim > lead)
                _loop(plan, used, into, operands, compute)
        sources = made


def _reduce_at_once(
    plan: LoopPlan, meta: TensorMeta, windows: list[Windows], positions: list[View] | None
) -> None:  # fmt: skip
    """Plan the largest elements of small windows, and where they stand if there are `positions`, in one loop for all
    windows of the same sizes."""
    lead = meta.ndim - len(windows)
    for runs in product(*(along.runs for along in windows)):
        into, counts = plan.results, tuple([run.taps for run in runs])
        for dim, run in enumerate(runs, lead):
            into = [one.narrow(dim, run.first, run.places, run.every) for one in into]
        operands = []
        for taps in product(*map(range, counts)):
            lane = plan.inputs[0]
            for dim, (run, along, k) in enumerate(zip(runs, windows, taps, strict=True), lead):
                lane = lane.narrow(dim, run.start + k * along.spread, run.places, run.step)
            operands.append(lane)
        formula: Callable[..., Any] = largest
        if positions is not None and operands:
            sizes, dims = into[0].sizes, range(lead, meta.ndim)
            for line, run, dim in zip(positions, runs, dims, strict=True):
                operands.append(line.narrow(0, run.start, run.places, run.step).along(dim, sizes))
            for line, along, dim in zip(positions, windows, dims, strict=True):
                operands.append(line.narrow(0, along.spread, 1).along(dim, sizes))
            formula = first_in_window(counts)
        if operands:
            _loop(plan, formula, into, operands, meta.dtype)


def _loop(
    plan: LoopPlan, formula: Callable[..., Any], outputs: list[View], inputs: list[View], compute: DType,
    numbers: Sequence[float] = (),
) -> None:  # fmt: skip
    kinds = [Raw(one.dtype) if one.dtype.kind == 1 else one.dtype for one in inputs]
    kernel = pointwise_kernel(
        formula.__name__, formula, [*kinds, *[Immediate(compute)] * len(numbers)], compute, [v.dtype for v in outputs]
    )
    plan.loop(kernel, outputs, inputs, numbers)


def _largest_plan(meta: TensorMeta, windows: list[Windows], result: TensorMeta, *, places: bool) -> LoopPlan:
    """Return the plan of the largest elements of windows and, with `places`, of where these stand."""
    at = meta_of(result.sizes, result.strides, int64, result.device)
    plan = LoopPlan([meta], [result, at] if places else [result])
    if meta.device is not cpu or not result.numel:
        return plan
    lead, positions = meta.ndim - len(windows), None
    if places:
        wide = [prod(meta.sizes[dim + 1 :]) for dim in range(lead, meta.ndim)]
        ends = [(meta.sizes[lead + d] + along.spread) * wide[d] for d, along in enumerate(windows)]
        kind = int32 if max(ends) < 1 << 31 else int64
        lines = [apply("arange.start_step", 0, *pair, dtype=kind) for pair in zip(ends, wide, strict=True)]
        positions = [plan.constant(line) for line in lines]
    if prod(max(along.taps) for along in windows) <= MOST_TAPS:
        _reduce_at_once(plan, meta, windows, positions)
    else:
        _reduce(plan, meta, windows, meta.dtype, plan.results, largest, positions)
    for runs in product(*(along.runs for along in windows)):
        if not all(run.taps for run in runs):  # these windows lie in the padding
            into, begins = plan.results, list(positions or ())
            for d, run in enumerate(runs):
                into = [view.narrow(lead + d, run.first, run.places, run.every) for view in into]
                if places:
                    begins[d] = begins[d].narrow(0, run.start, run.places, run.step)
            lowest = plan.constant(filled((1,), meta.dtype, -inf if meta.dtype.kind == 2 else iinfo(meta.dtype).min))
            given = [view.along(dim, into[0].sizes) for dim, view in enumerate([lowest, *begins], lead - 1)]
            _loop(plan, at_padding if places else total, into, given, meta.dtype)
    return plan


def _average_plan(
    meta: TensorMeta, windows: list[Windows], result: TensorMeta, counts: list[list[int]], by: int
) -> LoopPlan:
    """Return the plan of the sums of windows, divided by `by` and, along each dim, by what each window counts."""
    plan = LoopPlan([meta], [result])
    if meta.device is not cpu or not result.numel:
        return plan
    wide = float32 if meta.dtype.itemsize == 2 else meta.dtype
    sums = plan.results[0] if wide is meta.dtype else plan.temporary(suggested(meta, result.sizes, wide))
    _reduce(plan, meta, windows, wide, [sums], total)
    compute = float64 if wide is int64 else wide
    tables = []
    for dim, numbers in enumerate(counts, meta.ndim - len(windows)):
        if len(set(numbers)) == 1:
            by *= numbers[0]
        else:
            table = plan.constant(filled((len(numbers),), compute, numbers))
            tables.append(table.along(dim, result.sizes))
    _loop(plan, quotient, plan.results, [sums, *tables], compute, [by])
    return plan


def _max_pool(dims: int, *, places: bool) -> Callable[..., Any]:
    base = f"max_pool{dims}d"
    name = f"{base}_with_indices" if places else base

    def max_pool(
        self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,), ceil_mode: bool = False,
    ) -> Planned[Any]:  # fmt: skip
        meta = self.meta
        pool = pool_of(base, meta, dims, kernel_size, stride, padding, dilation, ceil_mode)
        check_dtype(name, self)

        def build() -> LoopPlan:
            result = suggested(meta, (*meta.sizes[:-dims], *pool.counts))
            return _largest_plan(meta, _regular(meta.sizes[-dims:], pool), result, places=places)

        return planned_loops(self, (name, pool), build)

    return plannable(max_pool)


max_pool1d, max_pool2d, max_pool3d = (_max_pool(dims, places=False) for dims in (1, 2, 3))
max_pool2d_with_indices, max_pool3d_with_indices = (_max_pool(dims, places=True) for dims in (2, 3))


def _avg_pool(dims: int) -> Callable[..., Any]:
    name = f"avg_pool{dims}d"

    def avg_pool(
        self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Planned[Any]:  # fmt: skip
        meta = self.meta
        pool = pool_of(name, meta, dims, kernel_size, stride, padding, (1,), ceil_mode)
        if divisor_override == 0:
            raise RuntimeError(f"{name}(): divisor must be not zero, got divisor_override=0")
        check_dtype(name, self)

        def build() -> LoopPlan:
            own, sizes = meta.sizes[-dims:], (*meta.sizes[:-dims], *pool.counts)
            result = contiguous_meta(sizes, meta.dtype, meta.device) if dims == 3 else suggested(meta, sizes)
            windows = _regular(own, pool)
            if divisor_override is not None:
                return _average_plan(meta, windows, result, [], divisor_override)
            counts = pool.covered(own) if count_include_pad else [along.taps for along in windows]
            return _average_plan(meta, windows, result, counts, 1)

        return planned_loops(self, (name, pool, count_include_pad, divisor_override), build)

    return plannable(avg_pool)


avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(dims) for dims in (1, 2, 3))


def _adaptive_result(operator: str, self: Tensor, output_size: Sequence[int], dims: int) -> TensorMeta:
    own = self.meta.sizes
    if len(output_size) != dims:
        raise RuntimeError(f"{operator}(): output_size must be {dims}, got {list(output_size)}")
    if min(output_size) < 0:
        raise RuntimeError(
            f"{operator}(): elements of output_size must be greater than or equal to 0 but received {list(output_size)}"
        )
    if len(own) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{operator}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(own)}")
    if 0 in own[-dims:]:
        raise RuntimeError(
            f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(own)} with dimension {own.index(0, len(own) - dims)} being empty"
        )
    check_dtype(operator, self)
    sizes = (*own[:-dims], *output_size)
    if dims == 3 and (operator != "adaptive_avg_pool3d" or max(output_size) > 1):
        return contiguous_meta(sizes, self.meta.dtype, self.meta.device)
    return suggested(self.meta, sizes)


def _adaptive_avg_pool(dims: int) -> Callable[..., Any]:
    name = f"adaptive_avg_pool{dims}d"

    def adaptive_avg_pool(self: Tensor, output_size: Sequence[int]) -> Planned[Any]:
        meta, result = self.meta, _adaptive_result(name, self, output_size, dims)
        if set(output_size) == {1} and meta.device is cpu and result.numel:
            # With one element in each of the last dims, row-major and channels last are one order.
            last, dtype = tuple(range(meta.ndim - dims, meta.ndim)), meta.dtype
            plan = plan_reduction("mean", mean_reduction(dtype), meta, last, True, dtype, (dtype,))
            return planned_fresh(plan._replace(results=(result,)), self)

        def build() -> LoopPlan:
            windows = _adaptive(meta.sizes[-dims:], output_size)
            return _average_plan(meta, windows, result, [along.taps for along in windows], 1)

        return planned_loops(self, (name, *output_size), build)

    return plannable(adaptive_avg_pool)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(dims) for dims in (1, 2, 3))


def _adaptive_max_pool(dims: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{dims}d"

    def adaptive_max_pool(self: Tensor, output_size: Sequence[int]) -> Planned[Any]:
        meta, result = self.meta, _adaptive_result(name, self, output_size, dims)

        def build() -> LoopPlan:
            return _largest_plan(meta, _adaptive(meta.sizes[-dims:], output_size), result, places=True)

        return planned_loops(self, (name, *output_size), build)

    return plannable(adaptive_max_pool)


adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(dims) for dims in (2, 3))


def _through_image(part: Part, name: str, self: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    """Return both results of a pooling of images for rows."""
    first, second = part.several(name, part("unsqueeze", self, -2), *options)
    return part("squeeze.dim", first, -2), part("squeeze.dim", second, -2)


@composite
def max_pool1d_with_indices(
    part: Part, self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,), ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest elements along the last dim and their places. Raises RuntimeError as the other poolings."""
    pool = pool_of("max_pool1d", self.meta, 1, kernel_size, stride, padding, dilation, ceil_mode)
    given = (1, *pool.kernel), (1, *pool.stride), (0, *pool.padding), (1, *pool.dilation)
    return _through_image(part, "max_pool2d_with_indices", self, *given, ceil_mode)


@composite
def adaptive_max_pool1d(part: Part, self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool2d of rows. Raises RuntimeError as the others."""
    if self.meta.ndim not in (2, 3):
        raise RuntimeError(
            f"adaptive_max_pool1d(): Expected 2 to 3 dimensions, but got {self.meta.ndim}-dimensional tensor"
        )
    return _through_image(part, "adaptive_max_pool2d", self, (1, *output_size))
