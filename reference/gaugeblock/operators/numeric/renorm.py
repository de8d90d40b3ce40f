"""Slices along a dim scaled down to a largest norm."""

from __future__ import annotations

from ...core.errors import wrap_dim
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..invoke import apply

MARGIN = 1e-7
"""Added to a norm before it divides."""


def renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Every slice along `dim` whose p-norm exceeds `maxnorm` is scaled down to it.

    Raises RuntimeError for p that is not positive, a negative maxnorm, complex numbers, and below two dims.
    """
    for number, name in ((p, "p"), (maxnorm, "maxnorm")):
        if isinstance(number, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued, got {number}")
    order, largest = float(p.real), float(maxnorm.real)
    if order <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got {p}")
    if largest < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    ndim = self.meta.ndim
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    place = wrap_dim("renorm", dim, ndim)
    rest = tuple(d for d in range(ndim) if d != place)
    norm = apply("linalg_vector_norm", self, order, rest, True)
    scale = apply("div.Tensor", apply("full_like", norm, largest), apply("add.Scalar", norm, MARGIN))
    kept = apply("where.ScalarOther", apply("gt.Scalar", norm, largest), scale, 1.0)
    scaled = apply("mul.Tensor", self, apply("to.dtype", kept, self.meta.dtype.to_real()))
    return apply("contiguous", scaled)
