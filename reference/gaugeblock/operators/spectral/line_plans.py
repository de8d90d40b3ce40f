"""Plans of Fourier transforms: those of all lines along one dim, then of all along the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

from ...core.away import long_call
from ...core.dtype import DType
from ...iteration.tensor_iterator import TensorIterator
from ...kernels.fourier import factor_bits, transform_kernel
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, preserve_format_strides
from ..arrays import STEPS
from ..loop_plan import LoopPlan, View
from ..pointwise import formula_kernel

Norm = Literal["backward", "ortho", "forward"]
HALVED, DOUBLED = "halved", "doubled"
"""What a transform does to the length: real to complex keeps the first half, complex to real restores both."""


class Kind(NamedTuple):
    """What a transform does: its direction, what becomes of the length, whether its input or result is conjugated,
    which swaps the directions of normalisation."""

    forward: bool
    length: str = ""
    conjugated: bool = False


class LinePlan(LoopPlan):
    """Loops and transforms of lines that make the result of one tensor, computed in a floating or complex `dtype`."""

    def __init__(self, given: TensorMeta, made: TensorMeta, dtype: DType, kind: Kind) -> None:
        super().__init__([given], [made])
        self.dtype, self.kind = dtype, kind

    def transform(self, dims: Sequence[int], points: Sequence[int], norm: Norm) -> LinePlan:
        """Add the transforms of so many points along the dims; return the plan."""
        (result,), source, length = self.results, self._given(), self.kind.length
        lines, sizes = [*zip(dims, points, strict=True)], list(source.sizes)
        for place, (dim, size) in enumerate(lines if length == DOUBLED else lines[::-1]):
            name, sizes[dim] = "fft" if self.kind.forward else "ifft", size
            halved = not source.dtype.is_complex
            if halved:
                name = "rfft_n_odd" if size % 2 else "rfft_n_even"
                sizes[dim] = size // 2 + 1 if length == HALVED else size
            elif length == DOUBLED and place == len(lines) - 1:
                name = "irfft"
            done = tuple(sizes) == result.sizes and (length != DOUBLED or name == "irfft")
            target = result if done else self.temporary(contiguous_meta(tuple(sizes), self.dtype.to_complex()))
            half = target.narrow(dim, 0, size // 2 + 1) if halved else target
            self._lines(name, half, source, dim, self._factor(norm, size))
            if halved and length != HALVED:
                self._mirror(target, dim)
            source = target
        if self.kind.conjugated and length == HALVED:
            self._conjugate(result, result)
        return self

    def _given(self) -> View:
        """Return the input in the dtype, and as complex numbers where the first transform takes these."""
        (source,), doubled = self.inputs, self.kind.length == DOUBLED
        wanted = self.dtype.to_complex() if doubled else self.dtype
        conjugated = doubled and self.kind.conjugated and source.dtype.is_complex
        if source.dtype is wanted and not conjugated:
            return source
        laid = tuple([step // source.dtype.itemsize for step in source.strides])
        copy = self.temporary(meta_of(source.sizes, preserve_format_strides(source.sizes, laid), wanted))
        return self._conjugate(copy, source) if conjugated else self.copy(copy, source)

    def _factor(self, norm: Norm, size: int) -> int:
        """Return what a transform of so many points is multiplied by, as the kernel takes it."""
        scaled = norm == ("forward" if self.kind.forward else "backward")
        return factor_bits(size**-0.5 if norm == "ortho" else 1 / size if scaled else 1.0, self.dtype)

    def _lines(self, name: str, target: View, source: View, dim: int, factor: int) -> None:
        kernel = transform_kernel(name, source.dtype)
        assert kernel is not None
        sizes, *strides = ([*one[:dim], *one[dim + 1 :]] for one in (target.sizes, target.strides, source.strides))
        walk = TensorIterator.restrided(tuple(sizes), [*map(tuple, strides)], [target.dtype, source.dtype])
        points = source.sizes[dim], target.sizes[dim]
        laid = chain.from_iterable(zip(*walk.dims, strict=True))
        tail = (factor, *points, source.strides[dim], target.strides[dim], max(points), len(walk.dims), *laid)
        self.kernel(long_call(STEPS * max(points) * walk.numel, kernel), [target, source], tail)

    def _mirror(self, whole: View, dim: int) -> None:
        """Add the second half of the spectra of real lines, whose first half is that of the forward transform."""
        size = whole.sizes[dim]
        count = (size - 1) // 2
        first, rest = whole.narrow(dim, 1, count), whole.narrow(dim, size - 1, count, -1)
        if self.kind.forward:
            self._conjugate(rest, first)
        else:
            self.copy(rest, first)
            half = whole.narrow(dim, 0, size // 2 + 1)
            self._conjugate(half, half)

    def _conjugate(self, target: View, source: View) -> View:
        self.loop(formula_kernel("conj_physical", [source.dtype], source.dtype, target.dtype), [target], [source])
        return target


def has_loops(dtype: DType) -> bool:
    """Return whether plans of transforms in a floating or complex dtype can be made."""
    return transform_kernel("fft", dtype.to_complex()) is not None
