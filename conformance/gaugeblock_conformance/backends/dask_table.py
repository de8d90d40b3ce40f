"""Functions that Dask has under NumPy's names, or in other forms than the array API standard's."""

from __future__ import annotations

from .expressions import table

DASK = table(
    """
    bitwise_not            bui     invert(self)
    bitwise_left_shift.Tensor   ui left_shift(self, other)
    bitwise_right_shift.Tensor  ui right_shift(self, other)
    var.correction f var(self, axis=dim, ddof=1 if correction is None else correction, keepdims=keepdim)
    std.correction f std(self, axis=dim, ddof=1 if correction is None else correction, keepdims=keepdim)
    cat                    buifc   concatenate(tensors, axis=dim)
    permute                buifc   transpose(self, dims)
    cumsum                 if      cumsum(self, axis=dim, dtype=dtype)
    cumprod                if      cumprod(self, axis=dim, dtype=dtype)
    to.dtype               buifc   self.astype(dtype)
    clone                  buifc   self.copy()
    eye.m                  buifc   eye(n, M=m, dtype=dtype)
    """
)
