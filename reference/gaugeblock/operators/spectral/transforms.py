"""Fourier transforms along one dim or several, the frequencies of their results, and the order of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DEFAULTS, DType
from ...core.errors import wrap_dim, wrap_dims
from ...core.promotion import UPSTREAM_NAMES
from ...kernels.bound_call import Fresh
from ...tensor.array_view import array_at
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, default_strides, meta_of, preserve_format_strides, remember
from ..arrays import STEPS
from ..invoke import apply
from ..plan import Plannable, Planned, plannable
from ..ranges import Plan, count_by
from .line_plans import DOUBLED, HALVED, Kind, LinePlan, Norm, has_loops

Ints = tuple[int, ...]
OPPOSITE: dict[str, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def dims_and_sizes(
    operator: str, self: Tensor, s: Sequence[int] | int | None, dim: Sequence[int] | int | None
) -> tuple[Ints, list[int | None]]:
    """The dims to transform and the lengths asked for, None for that of the input; the last dims if only `s` is given.

    Raises RuntimeError for dims given twice, numbers that differ, and more lengths than dims, IndexError out of range.
    """
    ndim = self.meta.ndim
    shape = None if s is None else (s,) if isinstance(s, int) else tuple(s)
    if dim is None:
        count = ndim if shape is None else len(shape)
        if count > ndim:
            raise RuntimeError(
                f"{operator}: Got shape with {count} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - count, ndim))
    else:
        given = (dim,) if isinstance(dim, int) else tuple(dim)
        if given and not ndim:
            raise IndexError(f"{operator}(): a 0-dim tensor has no dim {given[0]} to transform")
        dims = tuple(wrap_dim(operator, d, ndim) for d in given)
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{operator}: FFT dims must be unique, got {list(given)}")
        if shape is not None and len(shape) != len(dims):
            raise RuntimeError(f"{operator}: When given, dim and shape arguments must have the same length")
    return dims, [None if shape is None or shape[k] == -1 else shape[k] for k in range(len(dims))]


def transformed_strides(sizes: Sequence[int], strides: Ints, dims: Sequence[int], *, last: bool = False) -> Ints:
    """Return the strides of a result of `sizes`, a transform over `dims` of an input with `strides`. With `last` the
    last of `dims`, which is halved or doubled, is the innermost."""
    free = dims[:-1] if last else dims
    inner = [*sorted(free, key=lambda dim: -strides[dim]), *(dims[-1:] if last else ())]
    apart = _apart(len(sizes), set(dims)) if len(dims) < len(sizes) else []
    outer = sorted(apart, key=lambda dim: -strides[dim])
    result, step = [0] * len(sizes), 1
    for dim in reversed([*outer, *inner]):
        result[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(result)


def _apart(ndim: int, dims: set[int]) -> list[int]:
    """Return the dims that are not in `dims`; each gap is filled with the last remaining dim, as oneMKL does."""
    order = list(range(ndim))
    low, high = 0, ndim - 1
    while True:
        while low <= high and order[low] not in dims:
            low += 1
        while low <= high and order[high] in dims:
            high -= 1
        if low > high:
            return order[:low]
        order[low], order[high] = order[high], order[low]


Sizes = Sequence[int] | int | None


def _transformed(
    operator: str, kind: Kind, self: Tensor, dims: Ints, shape: Sequence[int | None], norm: str | None
) -> Planned[Tensor]:
    """Plan the transform of `shape` points along `dims`, cut or padded with zeros; the last dim is halved or doubled.

    A length of None is that of the input. Raises RuntimeError for no points or dims, half precision and an unknown
    normalisation.
    """
    if norm is not None and norm not in OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; it must be one of {", ".join(OPPOSITE)}')
    length, dtype = kind.length, DEFAULTS.dtype if self.meta.dtype.kind < 2 else self.meta.dtype
    if length == HALVED and dtype.is_complex:
        raise RuntimeError(f"{operator} expects a real input tensor, but got {UPSTREAM_NAMES[dtype.name]}")
    if self.meta.dtype.kind == 2 and dtype.itemsize < 4:
        raise RuntimeError(f"{operator}: Unsupported dtype {UPSTREAM_NAMES[dtype.name]}")
    if length and not dims:
        raise RuntimeError(f"{operator} must transform at least one axis")
    sizes, points = list(self.meta.sizes), []
    for k, (place, wanted) in enumerate(zip(dims, shape, strict=True)):
        last, size = k == len(dims) - 1, sizes[place]
        own = 2 * (size - 1) if last and length == DOUBLED else size
        points.append(own if wanted is None else wanted)
        if points[-1] < 1:
            raise RuntimeError(f"{operator}: Invalid number of data points ({points[-1]}) specified")
        sizes[place] = points[-1] // 2 + 1 if last and length == HALVED else points[-1]
    found = dtype.to_real() if length == DOUBLED else dtype.to_complex()
    meta, key = self.meta, (operator, dims, *points, found, norm)
    plan: tuple[Fresh, Callable[..., Any]] | None = meta.plans.get(key)
    if plan is None:
        made = meta_of(tuple(sizes), _strides_over(operator, self, dims, points, sizes, length), found, meta.device)
        chosen: Norm = norm or "backward"  # type: ignore[assignment]
        used = OPPOSITE[chosen] if kind.conjugated else chosen
        fresh = _call(meta, made, dtype, kind, dims, points, used)
        plan = remember(meta.plans, key, (fresh, fresh.native()))
    return Planned.unrun(plan[0], (self,), plan[1], (self,))


def _call(
    meta: TensorMeta, made: TensorMeta, dtype: DType, kind: Kind, dims: Ints, points: Sequence[int], norm: Norm
) -> Fresh:
    """Return the call that transforms tensors of a meta; without data it makes the result alone."""
    if made.device is not cpu or not made.numel:
        return Fresh(None, (made,), ())
    if dims and meta.numel and has_loops(dtype):
        return LinePlan(meta, made, dtype, kind).transform(dims, points, norm).fresh
    computed = (dtype if kind.length == HALVED else dtype.to_complex()).numpy
    prefix = {HALVED: "r", DOUBLED: "ir"}.get(kind.length, "" if kind.forward else "i")

    def run(result: int, source: int) -> None:
        given, out = array_at(meta, source).astype(computed, copy=False), array_at(made, result)
        if kind.conjugated and kind.length == DOUBLED:
            given = np.conjugate(given)
        if dims and meta.numel:
            given = getattr(np.fft, f"{prefix}fftn")(given, points, dims, norm)
        out[...] = given if meta.numel else 0
        if kind.conjugated and kind.length == HALVED:
            np.conjugate(out, out=out)

    return Fresh(long_call(STEPS * made.numel, run), (made,), ())


def _strides_over(operator: str, self: Tensor, dims: Ints, points: list[int], sizes: list[int], length: str) -> Ints:
    """Return the strides of a result of `sizes`; those of a transform in several steps follow from its steps."""
    given, own = dict(zip(dims, points, strict=True)), self.meta.dtype
    if length == DOUBLED:
        given[dims[-1]] = points[-1] // 2 + 1
    # Transforms along one dim take real numbers as they are.
    cast = own.kind < 2 or not (own.is_complex or length == HALVED or operator in ("fft", "ifft"))
    own_sizes, strides = self.meta.sizes, self.meta.strides
    if cast:
        strides = preserve_format_strides(own_sizes, strides)
    fitted = tuple([given.get(dim, size) for dim, size in enumerate(own_sizes)])
    if any(new > size for new, size in zip(fitted, own_sizes, strict=True)):  # padding makes a new tensor
        strides = default_strides(fitted)
    if not dims:
        return preserve_format_strides(fitted, strides)
    if operator in ("hfft", "hfftn") and not dims[:-1]:
        strides = preserve_format_strides(fitted, strides)
    if operator == "ihfftn":
        strides = transformed_strides(sizes, strides, dims[-1:])
        return transformed_strides(sizes, strides, dims[:-1]) if dims[:-1] else strides
    if length == DOUBLED:
        if dims[:-1]:
            strides = transformed_strides(fitted, strides, dims[:-1])
        return transformed_strides(sizes, strides, dims[-1:])
    return transformed_strides(sizes, strides, dims, last=length == HALVED)


def _line(operator: str, kind: Kind) -> Plannable[..., Tensor]:
    """The transform along one dim. It raises IndexError for a dim out of range, RuntimeError as `_transformed`."""

    @plannable
    def transform(
        self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Tensor | Planned[Tensor]:
        if not self.meta.ndim:
            raise IndexError(f"{operator}: Dimension specified as {dim} but tensor has no dimensions")
        return _transformed(operator, kind, self, (wrap_dim(operator, dim, self.meta.ndim),), [n], norm)

    return transform


def _over(operator: str, kind: Kind) -> tuple[Plannable[..., Tensor], ...]:
    """The transform over dims, by default all of them, and that of the last two by default. They raise IndexError for
    dims out of range, RuntimeError as `_transformed`."""

    def made(default: Sizes) -> Plannable[..., Tensor]:
        @plannable
        def transform(
            self: Tensor, s: Sizes = None, dim: Sizes = default, norm: str | None = None
        ) -> Tensor | Planned[Tensor]:
            return _transformed(operator, kind, self, *dims_and_sizes(operator, self, s, dim), norm)

        return transform

    return made(None), made((-2, -1))


KINDS = {
    "fft": Kind(True), "ifft": Kind(False), "rfft": Kind(True, HALVED), "irfft": Kind(False, DOUBLED),
    "hfft": Kind(False, DOUBLED, conjugated=True), "ihfft": Kind(True, HALVED, conjugated=True),
}  # fmt: skip

fft_fft, fft_ifft, fft_rfft, fft_irfft, fft_hfft, fft_ihfft = (_line(name, kind) for name, kind in KINDS.items())
fft_fftn, fft_fft2 = _over("fftn", KINDS["fft"])
fft_ifftn, fft_ifft2 = _over("ifftn", KINDS["ifft"])
fft_rfftn, fft_rfft2 = _over("rfftn", KINDS["rfft"])
fft_irfftn, fft_irfft2 = _over("irfftn", KINDS["irfft"])
fft_hfftn, fft_hfft2 = _over("hfftn", KINDS["hfft"])
fft_ihfftn, fft_ihfft2 = _over("ihfftn", KINDS["ihfft"])


def _frequencies(operator: str, dtype: DType, n: int, count: int, positive: float, d: float) -> Plan:
    """Plan `count` frequencies of `n` points `d` apart: their places divided by the length of these, and from the place
    `positive` on `n` places less. Raises RuntimeError for a dtype that is no float."""
    if n > 1 << 59:
        raise RuntimeError(f"{operator}(): Storage size calculation overflowed: {n} frequencies")
    if dtype.kind < 2:
        raise RuntimeError(f"{operator} requires a floating point or complex dtype, got {dtype.name}")
    length = n * d
    step = 1.0 / length if length else math.copysign(math.inf, length)
    return Plan((count,), partial(count_by, steps=(-0.0, step, -0.0, positive, float(n))))


def fftfreq(dtype: DType, n: int, d: float = 1.0) -> Plan:
    """Return the frequencies of a transform, the negative ones last. Raises as `_frequencies`."""
    return _frequencies("fftfreq", dtype, n, n, float((n + 1) // 2), d)


def rfftfreq(dtype: DType, n: int, d: float = 1.0) -> Plan:
    """Those of a transform of real numbers, from 0 on. Raises as `_frequencies`."""
    return _frequencies("rfftfreq", dtype, n, (n // 2 if n > 0 else -(-n // 2)) + 1, math.inf, d)


def _shift(operator: str, sign: int) -> Callable[..., Tensor]:
    def shift(self: Tensor, dim: Sequence[int] | int | None = None) -> Tensor:
        ndim = self.meta.ndim
        given = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        dims = wrap_dims(operator, tuple(given), ndim)
        if not dims:
            return self
        if not ndim:
            raise IndexError(f"{operator}(): a 0-dim tensor has no dim {dims[0]} to shift")
        return apply("roll", self, [sign * (self.meta.sizes[d] // 2) for d in dims], dims)

    return shift


fft_fftshift, fft_ifftshift = _shift("fftshift", 1), _shift("ifftshift", -1)
