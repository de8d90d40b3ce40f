"""Fourier transforms by the loops of NumPy's ufuncs, beside what NumPy computes with them."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.fourier import factor_bits, lines_kernel, transform_loop
from gaugeblock.operators.spectral import line_plans

Array = np.ndarray[Any, Any]
SIZES = ((4,), (1, 5), (3, 1), (2, 6, 4), (9, 7, 2), (2, 3, 4, 5))
NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
DTYPES = ("float32", "float64", "complex64", "complex128")
NORMS: tuple[Any, ...] = ("backward", "ortho", "forward")
PAIRS = [(name, dtype) for name in NAMES for dtype in DTYPES if "complex" not in dtype or name not in ("rfft", "ihfft")]


def drawn(dtype: str, *sizes: int) -> Array:
    """Numbers around 0; the same for the same sizes."""
    random = np.random.default_rng(sum(sizes))
    return (random.normal(size=sizes) + (1j * random.normal(size=sizes) if "complex" in dtype else 0)).astype(dtype)


def layouts(array: Array) -> list[gb.Tensor]:
    """Return tensors of these values: row-major, the transpose of one that is, one of every other place."""
    wide = np.repeat(array, 2, -1)
    return [gb.from_numpy(one) for one in (array, np.asfortranarray(array), wide[..., ::2])]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_lines_cut_off_and_padded(name: str, dtype: str) -> None:
    for sizes in SIZES:
        array = drawn(dtype, *sizes)
        for dim in range(len(sizes)):
            for points in (None, 1, 3, 6):
                if points is None and sizes[dim] == 1 and name in ("irfft", "hfft"):
                    continue
                for norm in NORMS:
                    wanted = getattr(np.fft, name)(array, points, dim, norm)
                    for x in layouts(array):
                        found = getattr(gb.fft, name)(x, points, dim, norm)
                        np.testing.assert_allclose(found.numpy(), wanted, 1e-4, 1e-5)


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in PAIRS if pair[0] in ("fft", "ifft", "rfft", "irfft")])
def test_several_dims(name: str, dtype: str) -> None:
    for sizes in SIZES[3:]:
        array = drawn(dtype, *sizes)
        for dims in ((0, 1), (2, 0), (1, 2, 0)):
            for points in (None, (5, 2, 3)[: len(dims)]):
                for norm in NORMS:
                    wanted = getattr(np.fft, f"{name}n")(array, points, dims, norm)
                    for x in layouts(array):
                        found = getattr(gb.fft, f"{name}n")(x, points, dims, norm)
                        np.testing.assert_allclose(found.numpy(), wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_numpy_without_the_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = gb.from_numpy(drawn("float32", 3, 8))
    expected = getattr(gb.fft, name)(x)
    with monkeypatch.context() as patch:  # other sizes are planned anew
        patch.setattr(line_plans, "transform_loop", lambda name, dtype: None)
        found = getattr(gb.fft, name)(x[None, None])[0, 0]
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-5)


def test_golden_spectra() -> None:
    x = gb.tensor([1.0, 2.0, 0.0, -1.0])
    for _ in range(3):  # the call is kept
        assert gb.fft.fft(x).tolist() == [2, 1 - 3j, 0, 1 + 3j]
        assert gb.fft.ifft(x, norm="forward").tolist() == [2, 1 + 3j, 0, 1 - 3j]
        assert gb.fft.rfft(x).tolist() == [2, 1 - 3j, 0]
        assert gb.fft.hfft(gb.tensor([1.0, 2j, 3.0])).tolist() == [4, 2, 4, -6]
        assert gb.fft.fftn(gb.tensor([[1, 2], [3, 4]])).tolist() == [[10, -2], [-4, 0]]


def test_threads_transform_lines_alike() -> None:
    x, threads = gb.from_numpy(drawn("complex64", 700, 128)), gb.get_num_threads()
    found = []
    try:
        for number in (1, 2):
            gb.set_num_threads(number)
            found.append([gb.fft.fft(x), gb.fft.fft(x.mT), gb.fft.ifftn(x), gb.fft.irfft(x, dim=0)])
    finally:
        gb.set_num_threads(threads)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-5, 1e-4)


def test_the_kernel_takes_lines_of_any_strides() -> None:
    loop = transform_loop("fft", gb.complex64)
    if loop is None:
        pytest.skip("NumPy has no such loops")
    given, out = drawn("complex64", 3, 5), np.zeros((4, 3), np.complex64)
    addresses, half = (out.ctypes.data, given.ctypes.data), factor_bits(0.5, gb.float32)
    lines_kernel()(*addresses, half, 5, 4, 8, 24, *loop, 5, 1, 3, 8, 40)
    np.testing.assert_allclose(out.T, np.fft.fft(given, 4) / 2, 1e-5, 1e-6)
    with pytest.raises(TypeError, match="got 3 arguments"):
        lines_kernel()(0, 0, 0)
