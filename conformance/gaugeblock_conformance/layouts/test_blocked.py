"""The blocked layout: what it tells, what it refuses, and conversion both ways."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_DTYPES = ("float32", "bfloat16", "float16", "int8", "uint8")
_OTHERS = ("float64", "int16", "int32", "int64", "bool", "complex64", "complex128")
_FLOATS = (0.0, -0.0, 1.0, -2.5, 3.0, float("nan"), float("inf"), float("-inf"))


@hs.composite
def _arrays(draw: hs.DrawFn, dtypes: tuple[str, ...] = _DTYPES, max_dims: int = 5) -> Array:
    """Arrays with one to five dims, of which the second, of channels, is drawn up to two blocks and one more."""
    name = draw(hs.sampled_from(dtypes))
    ndim = draw(hs.integers(1, max_dims))
    dims = [draw(hs.integers(0, 33 if dim == min(1, ndim - 1) else 3)) for dim in range(ndim)]
    chosen = _FLOATS if "float" in name else (0, 1, 2, 3, 100)
    count = int(np.prod(dims))
    start = draw(hs.integers(0, len(chosen) - 1))
    return np.array([chosen[(start + k) % len(chosen)] for k in range(count)]).astype(numpy_dtype(name)).reshape(dims)


@requirement("layouts/blocked-tensors-tell-no-places")
def test_places(s: Session) -> None:
    for dims in ((5,), (2, 3), (1, 17, 2, 2)):
        x = s.call("to_mkldnn", s.tensor(np.ones(dims, np.float32)))
        s.expect_shape(x, dims)
        s.expect_dtype(x, "float32")
        s.expect_raises(RuntimeError, "data_ptr", x)
        s.expect_raises(RuntimeError, "untyped_storage", x)
        s.expect_raises(RuntimeError, "__getitem__", x, 0)
        s.expect_raises(RuntimeError, "__getitem__", x, slice(0, 1))
        s.expect_raises(RuntimeError, "__setitem__", x, 0, 1.0)
        s.expect_raises(RuntimeError, "as_strided", x, (1,), (1,))


@requirement("layouts/blocked-tensors-have-no-strides")
def test_strides(s: Session) -> None:
    for dims in ((5,), (2, 3), (1, 17, 2, 2)):
        x = s.call("to_mkldnn", s.tensor(np.ones(dims, np.float32)))
        s.expect_raises(RuntimeError, "stride", x)
        s.expect_raises(RuntimeError, "storage_offset", x)


@requirement("layouts/blocked-conversion-is-exact")
def test_golden_conversion(s: Session) -> None:
    x = s.call("to_mkldnn", s.tensor([[1.0, -0.0], [float("inf"), float("nan")]]))
    s.expect_values(s.call("to_dense", x), [[1.0, -0.0], [float("inf"), float("nan")]])
    for name in ("float16", "bfloat16"):
        given = np.array([-0.0, 1.5, float("-inf")]).astype(numpy_dtype(name))
        s.expect_values(s.call("to_dense", s.call("to_mkldnn", s.tensor(given))), given)


@requirement("layouts/blocked-conversion-is-exact")
@forall(x=_arrays(), data=hs.data())
def test_conversion(s: Session, x: Array, data: hs.DataObject) -> None:
    order = tuple(data.draw(hs.permutations(range(x.ndim)), label="order"))
    given = s.call("permute", s.tensor(x), order)
    found = s.call("to_mkldnn", given)
    s.expect_shape(found, tuple(x.shape[dim] for dim in order))
    back = s.call("to_dense", found)
    s.expect_values(back, np.ascontiguousarray(x.transpose(order)))


@requirement("layouts/blocked-and-strided-do-not-mix")
def test_mixed(s: Session) -> None:
    for dims in ((5,), (2, 3), (1, 17, 2, 2)):
        array = np.arange(np.prod(dims), dtype=np.float32).reshape(dims) / 2
        x, y = s.tensor(array), s.call("to_mkldnn", s.tensor(array))
        for operator in ("add.Tensor", "mul.Tensor", "copy_"):
            s.expect_raises(RuntimeError, operator, x, y)
            s.expect_raises(RuntimeError, operator, y, x)
        s.expect_values(s.call("to_dense", s.call("add.Tensor", y, y)), array + array)
        s.expect_values(s.call("to_dense", s.call("mul.Tensor", y, y)), array * array)
        s.expect_values(s.call("to_dense", s.call("relu", y)), np.maximum(array, 0))


@requirement("layouts/blocked-convolution-reads-its-weights-by-their-strides")
@forall(turned=hs.booleans(), step=hs.integers(0, 2), channels=hs.sampled_from((1, 3, 17)))
def test_convolution(s: Session, turned: bool, step: int, channels: int) -> None:
    """A bias with every number, every second one, or one number for all channels."""
    x = np.arange(2 * channels * 9, dtype=np.float32).reshape(2, channels, 3, 3) % 5
    weight = np.arange(3 * channels * 4, dtype=np.float32).reshape(3, channels, 2, 2) % 3
    numbers = np.array([7, 5, 9, 2, 4, 8], np.float32)
    given = s.tensor(weight)
    if turned:
        given = s.call("transpose.int", s.tensor(weight.swapaxes(2, 3)), 2, 3)
    bias = s.call("as_strided", s.tensor(numbers), (3,), (step,), 1)
    wanted = s.call("conv2d", s.tensor(x), given, bias)
    found = s.call("to_dense", s.call("conv2d", s.call("to_mkldnn", s.tensor(x)), given, bias))
    s.expect_values(found, s.read(wanted), ulp=4)
    s.expect_values(found, _convolved(x, weight, numbers[1:][[0, step, 2 * step]]), ulp=4)


def _convolved(x: Array, weight: Array, bias: Array) -> Array:
    """The convolution of small whole numbers with windows of two by two."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    found: Array = np.einsum("nchwij,kcij->nkhw", windows, weight) + bias[:, None, None]
    return found


@requirement("layouts/blocked-dtypes-are-few")
def test_dtypes(s: Session) -> None:
    for name in _DTYPES:
        x = s.call("to_mkldnn", s.tensor([[1, 2], [3, 4]], name))
        s.expect_dtype(x, name)
        s.expect_values(s.call("to_dense", x), np.array([[1, 2], [3, 4]]).astype(numpy_dtype(name)))
    for name in _OTHERS:
        s.expect_raises(RuntimeError, "to_mkldnn", s.tensor([[1, 0], [1, 1]], name))
        s.expect_raises(RuntimeError, "to_mkldnn", s.tensor([[1.0, 2.0]]), DType(name))
