"""Fourier transforms along one dim or several, the frequencies of their results, and the order of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DEFAULTS, DType
from ...core.errors import wrap_dim, wrap_dims
from ...core.promotion import UPSTREAM_NAMES
from ...kernels.bound_call import Fresh
from ...tensor.array_view import array_at
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import default_strides, meta_of, preserve_format_strides, remember
from ..arrays import STEPS, Array
from ..invoke import apply
from ..plan import Plannable, Planned, plannable
from ..ranges import Plan, count_by

Ints = tuple[int, ...]
Norm = Literal["backward", "ortho", "forward"]
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


HALVED, DOUBLED = "halved", "doubled"
"""What a transform does to the length: real to complex keeps the first half, complex to real restores both."""
Sizes = Sequence[int] | int | None


class _Kind(NamedTuple):
    """What a transform does: its direction, what becomes of the length, whether its input or result is conjugated,
    which swaps the directions of normalisation."""

    forward: bool
    length: str = ""
    conjugated: bool = False


class _Step(NamedTuple):
    """A transform along one dim: NumPy's ufunc, its factor and axes, and sizes and dtype of what it gives."""

    ufunc: Any
    factor: Any
    axes: list[Ints]
    sizes: Ints
    dtype: Any


def _steps(given: Ints, dtype: DType, points: Sequence[int], dims: Ints, norm: Norm, kind: _Kind) -> list[_Step] | None:
    """Return the transforms along the dims, one after the other; None for a NumPy without these ufuncs."""
    ufuncs = getattr(np.fft, "_pocketfft_umath", None)
    if ufuncs is None:
        return None
    sizes, real, steps = list(given), dtype.to_real().numpy.type, list[_Step]()
    lines = [*zip(dims, points, strict=True)]
    for place, (dim, size) in enumerate(lines if kind.length == DOUBLED else lines[::-1]):
        ufunc, made = ufuncs.fft if kind.forward else ufuncs.ifft, dtype.to_complex()
        sizes[dim] = size
        if kind.length == HALVED and place == 0:
            ufunc, sizes[dim] = ufuncs.rfft_n_odd if size % 2 else ufuncs.rfft_n_even, size // 2 + 1
        elif kind.length == DOUBLED and place == len(lines) - 1:
            ufunc, made = ufuncs.irfft, dtype.to_real()
        scaled = {"backward": not kind.forward, "forward": kind.forward}.get(norm)
        factor = real(1) / np.sqrt(real(size)) if scaled is None else real(1) / real(size) if scaled else real(1)
        steps.append(_Step(ufunc, factor, [(dim,), (), (dim,)], tuple(sizes), made.numpy))
    return steps


def _run_steps(steps: Sequence[_Step], given: Array, out: Array) -> None:
    for ufunc, factor, axes, sizes, dtype in steps[:-1]:
        made = np.empty(sizes, dtype)
        ufunc(given, factor, axes=axes, out=made)
        given = made
    ufunc, factor, axes, _, _ = steps[-1]
    ufunc(given, factor, axes=axes, out=out)


def _transformed(
    operator: str, kind: _Kind, self: Tensor, dims: Ints, shape: Sequence[int | None], norm: str | None
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
        computed = (dtype if length == HALVED else dtype.to_complex()).numpy

        chosen: Norm = norm or "backward"  # type: ignore[assignment]
        used = OPPOSITE[chosen] if kind.conjugated else chosen
        steps = _steps(meta.sizes, dtype, points, dims, used, kind) if dims and meta.numel else []

        def run(result: int, source: int) -> None:
            given, out = array_at(meta, source), array_at(made, result)
            if given.dtype != computed:
                given = given.astype(computed)
            if kind.conjugated and length == DOUBLED:
                given = np.conjugate(given)
            if steps:
                _run_steps(steps, given, out)
            elif steps is None:
                prefix = {HALVED: "r", DOUBLED: "ir"}.get(length, "" if kind.forward else "i")
                out[...] = getattr(np.fft, f"{prefix}fftn")(given, points, dims, used)
            else:
                out[...] = given if meta.numel else 0
            if kind.conjugated and length == HALVED:
                np.conjugate(out, out=out)

        kernel = long_call(STEPS * made.numel, run) if made.device is cpu and made.numel else None
        fresh = Fresh(kernel, (made,), ())
        plan = remember(meta.plans, key, (fresh, fresh.native()))
    return Planned.unrun(plan[0], (self,), plan[1], (self,))


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


def _line(operator: str, kind: _Kind) -> Plannable[..., Tensor]:
    """The transform along one dim. It raises IndexError for a dim out of range, RuntimeError as `_transformed`."""

    @plannable
    def transform(
        self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Tensor | Planned[Tensor]:
        if not self.meta.ndim:
            raise IndexError(f"{operator}: Dimension specified as {dim} but tensor has no dimensions")
        return _transformed(operator, kind, self, (wrap_dim(operator, dim, self.meta.ndim),), [n], norm)

    return transform


def _over(operator: str, kind: _Kind) -> tuple[Plannable[..., Tensor], ...]:
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
    "fft": _Kind(True), "ifft": _Kind(False), "rfft": _Kind(True, HALVED), "irfft": _Kind(False, DOUBLED),
    "hfft": _Kind(False, DOUBLED, conjugated=True), "ihfft": _Kind(True, HALVED, conjugated=True),
}  # fmt: skip

fft_fft, fft_ifft, fft_rfft, fft_irfft, fft_hfft, fft_ihfft = (_line(name, kind) for name, kind in KINDS.items())
fft_fftn, fft_fft2 = _over("fftn", KINDS["fft"])
fft_ifftn, fft_ifft2 = _over("ifftn", KINDS["ifft"])
fft_rfftn, fft_rfft2 = _over("rfftn", KINDS["rfft"])
fft_irfftn, fft_irfft2 = _over("irfftn", KINDS["irfft"])
fft_hfftn, fft_hfft2 = _over("hfftn", KINDS["hfft"])
fft_ihfftn, fft_ihfft2 = _over("ihfftn", KINDS["ihfft"])


def _frequencies(operator: str, count: Callable[[int], int], half: Callable[[int], float]) -> Callable[..., Plan]:
    """Return the plan of ``count(n)`` frequencies: their places divided by the length of `n` points `d` apart, less one
    from ``half(n)`` on. The plan raises RuntimeError for a dtype that is no float."""

    def plan(dtype: DType, n: int, d: float = 1.0) -> Plan:
        if n > 1 << 59:
            raise RuntimeError(f"{operator}(): Storage size calculation overflowed: {n} frequencies")
        if dtype.kind < 2:
            raise RuntimeError(f"{operator} requires a floating point or complex dtype, got {dtype.name}")
        with np.errstate(all="ignore"):
            step = float(np.float64(1.0) / np.float64(n * d))
        return Plan((count(n),), partial(count_by, steps=(0.0, step, 0.0, half(n), float(n))))

    return plan


fftfreq = _frequencies("fftfreq", lambda n: n, lambda n: float((n + 1) // 2))
rfftfreq = _frequencies("rfftfreq", lambda n: (n // 2 if n > 0 else -(-n // 2)) + 1, lambda n: math.inf)


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
