"""What a Fourier transform asks of its operands: dtypes, lengths, dims, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...core.dtype import DEFAULTS, DType
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor

Norm = Literal["backward", "ortho", "forward"]
NORMS = ("backward", "ortho", "forward")
OPPOSITE: dict[str, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def check_norm(norm: str | None) -> str:
    """The normalisation; None is "backward". Raises RuntimeError for an unknown one."""
    if norm is not None and norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; it must be one of {", ".join(NORMS)}')
    return norm or "backward"


def computed_dtype(operator: str, self: Tensor, *, real: bool) -> DType:
    """The dtype that is transformed: ints become the default float dtype.

    Raises RuntimeError for half precision, and for complex numbers where the transform takes only `real` ones.
    """
    dtype = self.meta.dtype
    if real and dtype.is_complex:
        raise RuntimeError(f"{operator} expects a real input tensor, but got {UPSTREAM_NAMES[dtype.name]}")
    if dtype.kind == 2 and dtype.itemsize < 4:
        raise RuntimeError(f"{operator}: Unsupported dtype {UPSTREAM_NAMES[dtype.name]}")
    return DEFAULTS.dtype if dtype.kind < 2 else dtype


def check_length(operator: str, length: int) -> int:
    """Raise RuntimeError unless there is a point to transform."""
    if length < 1:
        raise RuntimeError(f"{operator}: Invalid number of data points ({length}) specified")
    return length


def one_dim(operator: str, self: Tensor, dim: int) -> int:
    """The wrapped dim. Raises IndexError for a 0-dim tensor and out of range."""
    if not self.meta.ndim:
        raise IndexError(f"{operator}: Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(operator, dim, self.meta.ndim)


def dims_and_sizes(
    operator: str, self: Tensor, s: Sequence[int] | int | None, dim: Sequence[int] | int | None
) -> tuple[tuple[int, ...], list[int]]:
    """The dims to transform and the lengths asked for, -1 for that of the input; the last dims if only `s` is given.

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
    return dims, [-1] * len(dims) if shape is None else list(shape)
