"""Strides of Fourier transforms: the transformed dims lie innermost, as in PyTorch with oneMKL."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

SIZES = (3, 4, 2, 5)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda x: x,
    "permuted": lambda x: x.permute(1, 3, 2, 0).contiguous().permute(3, 0, 2, 1),
    "stepped": lambda x: x[..., ::2],
    "expanded": lambda x: x[:1].expand(SIZES),
}
LINES = {"fft": "rc", "ifft": "rc", "rfft": "r", "ihfft": "r", "irfft": "rc", "hfft": "rc"}
PLANES = {f"{name}n": kinds for name, kinds in LINES.items()}
DIMS = [*itertools.permutations(range(4), 1), *itertools.permutations(range(4), 2), (0, 1, 2), (3, 1, 0), (2, 0, 3)]


def _given(module: Any, layout: str, kind: str) -> Any:
    sizes = (*SIZES[:-1], 10) if layout == "stepped" else SIZES
    x = module.zeros(sizes, dtype=module.float32 if kind == "r" else module.complex64)
    return LAYOUTS[layout](x)


def test_goldens() -> None:
    x = gb.rand(5, 6, 7)
    assert gb.fft.fft(x, dim=1).stride() == (42, 1, 6)
    assert gb.fft.fft(x, dim=0).stride() == (1, 35, 5)
    assert gb.fft.rfft(x, dim=1).stride() == (28, 1, 4)
    assert gb.fft.hfft(x, dim=0).stride() == (1, 56, 8)
    assert gb.fft.fftn(x, dim=(0, 1)).stride() == (6, 1, 30)
    assert gb.fft.ihfftn(x).stride() == (6, 1, 30)
    assert gb.fft.fft(gb.rand(5, 6, 7, device="meta"), dim=1).stride() == (42, 1, 6)
    assert not gb.fft.ifft(x).is_conj()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LINES)
def test_one_dim_beside_pytorch(name: str, layout: str) -> None:
    torch = pytest.importorskip("torch")
    if not torch.backends.mkl.is_available():
        pytest.skip("PyTorch without oneMKL orders the dims otherwise")
    for kind, dim, n in itertools.product(LINES[name], range(4), (None, 2, 9)):
        own, peer = (getattr(m.fft, name)(_given(m, layout, kind), n, dim) for m in (gb, torch))
        assert (own.shape, own.stride()) == (peer.shape, peer.stride()), (kind, dim, n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PLANES)
def test_several_dims_beside_pytorch(name: str, layout: str) -> None:
    torch = pytest.importorskip("torch")
    if not torch.backends.mkl.is_available():
        pytest.skip("PyTorch without oneMKL orders the dims otherwise")
    for kind, dims in itertools.product(PLANES[name], DIMS):
        own, peer = (getattr(m.fft, name)(_given(m, layout, kind), None, dims) for m in (gb, torch))
        assert (own.shape, own.stride()) == (peer.shape, peer.stride()), (kind, dims)
