"""Plans of Fourier transforms: those of all lines along one dim, then of all along the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import prod
from typing import Literal, NamedTuple

from ...core.away import long_call
from ...core.dtype import DType
from ...iteration.tensor_iterator import TensorIterator
from ...kernels.fourier import factor_bits, lines_kernel, transform_loop
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of, preserve_format_strides
from ..arrays import STEPS
from ..loop_plan import LoopPlan, View
from ..pointwise import formula_kernel

Norm = Literal["backward", "ortho", "forward"]
HALVED, DOUBLED = "halved", "doubled"
"""What a transform does to the length: real to complex keeps the first half, complex to real restores both."""


SHORT = 256
"""Elements of lines evenly apart below which a call of the kernel takes longer than to copy them twice."""


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
        """Add the transforms of so many points along the dims; return the plan. Of a real input half of the spectrum is
        computed; where all of it is wanted, the rest follows."""
        (result,), source, length = self.results, self._given(), self.kind.length
        halved = not source.dtype.is_complex
        whole, half = halved and length != HALVED, points[-1] // 2 + 1
        final = result.narrow(dims[-1], 0, half) if whole else result
        lines, sizes, own = [*zip(dims, points, strict=True)], list(source.sizes), False
        for place, (dim, size) in enumerate(lines if length == DOUBLED else lines[::-1]):
            name, sizes[dim], last = "fft" if self.kind.forward or whole else "ifft", size, place == len(lines) - 1
            if halved and place == 0:
                name, sizes[dim] = "rfft_n_odd" if size % 2 else "rfft_n_even", half
            elif length == DOUBLED and last:
                name = "irfft"
            if last or (tuple(sizes) == result.sizes and length != DOUBLED):
                target = final
            elif not own or source.sizes != tuple(sizes):
                target = self.temporary(contiguous_meta(tuple(sizes), self.dtype.to_complex()))
            self._lines(name, target, source, dim, self._factor(norm, size))
            source, own = target, True
        if whole:
            self._mirror(dims)
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
        """Add the transforms of the lines along a dim. The kernel takes lines that are evenly apart at once; where each
        such run of them is short, they are brought together first."""
        loop = transform_loop(name, source.dtype)
        assert loop is not None
        sizes, *strides = ([*one[:dim], *one[dim + 1 :]] for one in (target.sizes, target.strides, source.strides))
        walk = TensorIterator.restrided(tuple(sizes), [*map(tuple, strides)], [target.dtype, source.dtype])
        points = source.sizes[dim], target.sizes[dim]
        if prod(walk.shape[1:]) > 1 and walk.shape[0] * max(points) < SHORT:
            given = source if _is_even(source, dim) else self.copy(self._with_last(source, dim), source)
            made = target if _is_even(target, dim) else self._with_last(target, dim)
            if given is not source or made is not target:
                self._lines(name, made, given, dim, factor)
                if made is not target:
                    self.copy(target, made)
                return
        laid = chain.from_iterable(zip(*walk.dims, strict=True))
        tail = (factor, *points, source.strides[dim], target.strides[dim], *loop, max(points), len(walk.dims), *laid)
        self.kernel(long_call(STEPS * max(points) * walk.numel, lines_kernel()), [target, source], tail)

    def _with_last(self, view: View, dim: int) -> View:
        """Return workspace of the view's sizes in which one dim is the innermost."""
        *rest, step = default_strides((*view.sizes[:dim], *view.sizes[dim + 1 :], view.sizes[dim]))
        return self.temporary(meta_of(view.sizes, (*rest[:dim], step, *rest[dim:]), view.dtype))

    def _mirror(self, dims: Sequence[int]) -> None:
        """Add the second half of the spectrum of a real input along the last of the dims, from the first half of its
        forward transform; that of the inverse is the conjugate."""
        (whole,), (*others, dim) = self.results, dims
        size = whole.sizes[dim]
        count = (size - 1) // 2
        pairs = [(whole.narrow(dim, size - 1, count, -1), whole.narrow(dim, 1, count))]
        for other in others:  # the first place stays, the others are in the opposite order
            rest = whole.sizes[other] - 1
            first = [(one.narrow(other, 0, 1), another.narrow(other, 0, 1)) for one, another in pairs]
            pairs = [(one.narrow(other, 1, rest), another.narrow(other, rest, rest, -1)) for one, another in pairs]
            pairs += first
        for target, source in pairs:
            if self.kind.forward:
                self._conjugate(target, source)
            else:
                self.copy(target, source)
        if not self.kind.forward:
            half = whole.narrow(dim, 0, size // 2 + 1)
            self._conjugate(half, half)

    def _conjugate(self, target: View, source: View) -> View:
        self.loop(formula_kernel("conj_physical", [source.dtype], source.dtype, target.dtype), [target], [source])
        return target


def _is_even(view: View, dim: int) -> bool:
    """Return whether the lines along a dim are evenly apart, in the order of their places."""
    dims = [(size, step) for place, (size, step) in enumerate(zip(view.sizes, view.strides, strict=True))
            if place != dim and size != 1]  # fmt: skip
    return all(far == near * count for (_, far), (count, near) in pairwise(dims))


def has_loops(dtype: DType) -> bool:
    """Return whether plans of transforms in a floating or complex dtype can be made."""
    return transform_loop("fft", dtype.to_complex()) is not None
