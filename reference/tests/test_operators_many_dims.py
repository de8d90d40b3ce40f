"""Operators along one dim, and medians, of tensors with more dims than NumPy takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

CALLS: dict[str, Callable[[Any, Any, int], Any]] = {
    "sort": lambda lib, x, dim: lib.sort(x, dim),
    "sort stable": lambda lib, x, dim: lib.sort(x, stable=True, dim=dim, descending=True),
    "argsort": lambda lib, x, dim: lib.argsort(x, dim),
    "argsort stable": lambda lib, x, dim: lib.argsort(x, stable=True, dim=dim),
    "topk": lambda lib, x, dim: lib.topk(x, 2, dim),
    "kthvalue": lambda lib, x, dim: lib.kthvalue(x, 2, dim),
    "kthvalue kept": lambda lib, x, dim: lib.kthvalue(x, 2, dim, True),
    "median": lambda lib, x, dim: lib.median(x, dim),
    "nanmedian kept": lambda lib, x, dim: lib.nanmedian(x, dim, keepdim=True),
    "mode": lambda lib, x, dim: lib.mode(x, dim),
    "mode kept": lambda lib, x, dim: lib.mode(x, dim, True),
    "cumsum": lambda lib, x, dim: lib.cumsum(x, dim),
    "all medians": lambda lib, x, dim: (lib.median(x), lib.nanmedian(x)),
    "msort": lambda lib, x, dim: lib.msort(x.transpose(0, dim)),
}
VALUES = [5.0, 1.0, 4.0, 2.0, 2.0, 3.0, 0.0, 7.0, 6.0, 9.0, 8.0, 8.0]


def parts(found: Any) -> list[tuple[tuple[int, ...], list[float]]]:
    """Return sizes and elements of the tensors of a result."""
    found = [found] if hasattr(found, "shape") else list(found)
    return [(tuple(one.shape), one.reshape(-1).tolist()) for one in found]


@pytest.mark.parametrize("ndim", [31, 33, 64, 65, 80])
@pytest.mark.parametrize("name", CALLS)
def test_many_dims_give_what_torch_gives(name: str, ndim: int) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (torch, gb):
        x = lib.tensor(VALUES).reshape(*(1,) * (ndim - 3), 2, 3, 2)
        found.append([parts(CALLS[name](lib, one, dim)) for one in (x, x.transpose(-1, -2)) for dim in (-2, ndim - 2)])
    assert found[0] == found[1]


def test_results_keep_their_names_and_sizes() -> None:
    x = gb.tensor(VALUES).reshape(*(1,) * 63, 4, 3)
    found = gb.median(x, -1)
    assert (found.values.reshape(-1).tolist(), found.indices.reshape(-1).tolist()) == ([4, 2, 6, 8], [2, 1, 2, 2])
    assert found.values.shape == (*(1,) * 63, 4) and gb.sort(x, 63).values.shape == x.shape
    assert gb.kthvalue(x, 3, 63).values.reshape(-1).tolist() == [5, 7, 6]


def test_wrong_dims_are_named() -> None:
    x = gb.ones((1,) * 65)
    with pytest.raises(IndexError, match=r"sort\(\): .*'dim' \(expected to be in range of \[-65, 64\], but got 65\)"):
        gb.sort(x, 65)
    with pytest.raises(RuntimeError, match=r"topk\(\): selected index k out of range"):
        gb.topk(x, 2, 0)
