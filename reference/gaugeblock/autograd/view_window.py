"""What a view shows of its base, in gradients: parts read and written where dtypes or layouts differ."""

from __future__ import annotations

from typing import Any

from ..tensor.geometry import CONJUGATE, NEGATIVE, unwatched
from ..tensor.tensor import Tensor
from .public import gb


class Window:
    """Sizes, strides and offset of a view within its base, both in elements that are real if one of the two is.

    `lazy` are the bits by which the elements of the view stand for others than those of the base.
    """

    __slots__ = ("lazy", "offset", "pairs_of_base", "pairs_of_view", "shape", "size", "stride", "strides")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        whole, part = unwatched(base.geometry), unwatched(view.geometry)
        self.pairs_of_base = whole.dtype.is_complex and not part.dtype.is_complex
        self.pairs_of_view = part.dtype.is_complex and not whole.dtype.is_complex
        self.lazy = whole.lazy ^ part.lazy
        self.shape, self.strides, start = whole.sizes, whole.strides, base.offset
        self.size, self.stride, first = part.sizes, part.strides, view.offset
        if self.pairs_of_base:
            self.shape, self.strides, start = _pairs(self.shape, self.strides, start)
        if self.pairs_of_view:
            self.size, self.stride, first = _pairs(self.size, self.stride, first)
        self.offset = first - start

    @property
    def plain(self) -> bool:
        """Whether the view's elements are elements of the base, as they are."""
        return not (self.lazy or self.pairs_of_base or self.pairs_of_view)

    def _of_base(self, grad: Any) -> Any:
        return gb.view_as_real(grad.resolve_conj()) if self.pairs_of_base else grad

    def _to_base(self, grad: Any) -> Any:
        return gb.view_as_complex(grad.contiguous()) if self.pairs_of_base else grad

    def _flipped(self, part: Any) -> Any:
        part = part.conj() if self.lazy & CONJUGATE and part.is_complex() else part
        return -part if self.lazy & NEGATIVE else part

    def read(self, grad: Any) -> Any:
        """The part of a gradient of the base that the view shows; differentiable."""
        read = _helper("as_strided_scatter_src_back")
        part = read(self._of_base(grad), self.strides, self.size, self.stride, self.offset)
        return self._flipped(gb.view_as_complex(part.contiguous()) if self.pairs_of_view else part)

    def cleared(self, grad: Any) -> Any:
        """A gradient of the base with zeros where the view lies; differentiable."""
        clear = _helper("as_strided_scatter_self_back")
        return self._to_base(clear(self._of_base(grad), self.strides, self.size, self.stride, self.offset))

    def placed(self, part: Any) -> Any:
        """Zeros of the base's sizes with a gradient of the view where it lies; differentiable."""
        flipped = self._flipped(part)
        source = gb.view_as_real(flipped.resolve_conj()) if self.pairs_of_view else flipped
        place = _helper("as_strided_back")
        return self._to_base(place(source, self.shape, self.strides, 0, self.size, self.stride, self.offset))


Ints = tuple[int, ...]


def _pairs(sizes: Ints, strides: Ints, offset: int) -> tuple[Ints, Ints, int]:
    """Complex elements as pairs of real ones."""
    return (*sizes, 2), (*[2 * step for step in strides], 1), 2 * offset


def _helper(name: str) -> Any:
    from .derivative_helpers import helpers

    return helpers()[name]
