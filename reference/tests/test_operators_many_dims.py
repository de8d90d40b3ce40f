"""Operators along one dim, and medians, of tensors with more dims than NumPy takes."""

from __future__ import annotations

import math
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
    "roll": lambda lib, x, dim: (lib.roll(x, (1, 2), (dim, -1)), lib.roll(x, 5)),
    "diff": lambda lib, x, dim: lib.diff(x, 2, dim, append=x),
    "scatter": lambda lib, x, dim: lib.scatter(x, dim, lib.argsort(x, dim), 2 * x),
    "scatter value": lambda lib, x, dim: lib.scatter(x, dim, lib.argsort(x, dim).narrow(dim, 0, 1), 9.0),
    "scatter_add": lambda lib, x, dim: lib.scatter_add(x, dim, lib.zeros_like(x, dtype=lib.int64), x),
    "take_along_dim": lambda lib, x, dim: lib.take_along_dim(x, lib.argsort(x, dim).narrow(-1, 0, 1) - 1, dim),
    "nonzero": lambda lib, x, dim: lib.nonzero(x),
    "unique": lambda lib, x, dim: lib.unique(x, return_inverse=True, return_counts=True),
    "unique of a dim": lambda lib, x, dim: lib.unique(x, dim=dim, return_inverse=True, return_counts=True),
    "repeat": lambda lib, x, dim: x.repeat((2,) + (1,) * (x.dim() - 2) + (3,)),
    "softmax": lambda lib, x, dim: (lib.softmax(x, dim).round(decimals=3), lib.log_softmax(x, dim).round(decimals=3)),
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


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "mode", "scatter_add", "take_along_dim"])
def test_gradients_of_many_dims_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (torch, gb):
        x = lib.tensor(VALUES).reshape(*(1,) * 62, 2, 3, 2).requires_grad_()
        results = CALLS[name](lib, x, -2)
        first = results if hasattr(results, "shape") else results[0]
        found.append(lib.autograd.grad((first * first).reshape(-1).sum(), x)[0].reshape(-1).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("sizes", [(2, 3), (0, 3), (3, 0), (1, 1)])
def test_lists_of_many_dims(sizes: tuple[int, ...]) -> None:
    x = gb.arange(6.0)[: sizes[0] * sizes[1]].reshape(sizes)
    found = x.reshape((1,) * 70 + sizes).tolist()
    for _ in range(70):
        assert len(found) == 1
        found = found[0]
    assert found == x.tolist()


def test_scatter_in_place_of_many_dims_counts_a_version() -> None:
    x = gb.zeros((1,) * 64 + (3,))
    version = x._version
    x.scatter_(-1, gb.tensor([2]).reshape((1,) * 65), 5.0)
    assert (x.reshape(-1).tolist(), x._version) == ([0.0, 0.0, 5.0], version + 1)


@pytest.mark.parametrize("ndim", [31, 63])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, -2, 0])
def test_quantiles_of_many_dims_are_those_of_torch(ndim: int, keepdim: bool, dim: int | None) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (torch, gb):
        x = lib.tensor(VALUES).reshape(*(1,) * (ndim - 3), 2, 3, 2)
        found.append(parts((lib.quantile(x, 0.25, dim, keepdim), lib.nanquantile(x, 0.5, dim, keepdim))))
        if ndim < 63:
            found[-1] += parts(lib.quantile(x, lib.tensor([0.0, 0.5]), dim, keepdim))
    assert found[0] == found[1]
    whole = gb.ones((1,) * 70).quantile(0.5)
    assert (whole.item(), whole.shape) == (1.0, ())


@pytest.mark.parametrize("ndim", [31, 33, 66])
@pytest.mark.parametrize(
    ("left", "right"), [((2, 3), (3, 2)), ((3,), (3, 2)), ((2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]
)
def test_products_of_many_dims(ndim: int, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (gb.arange(float(math.prod(sizes))).reshape(sizes) for sizes in (left, right))
    many = [v if v.ndim == 1 else v.reshape((1,) * (ndim - 2) + v.shape) for v in (x, y)]
    found = gb.matmul(*many)
    want = gb.matmul(x, y)
    assert found.shape == (1,) * (ndim - 2) + want.shape
    assert found.reshape(want.shape).tolist() == want.tolist()


def test_products_of_many_broadcast_dims_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (torch, gb):
        x = lib.arange(24.0).reshape(2, *(1,) * 42, 3, 4).requires_grad_()
        y = lib.arange(24.0).reshape(*(1,) * 41, 3, 1, 4, 2)
        result = lib.matmul(x, y)
        (grad,) = lib.autograd.grad(result.reshape(-1).sum(), x)
        found.append((tuple(result.shape), result.reshape(-1).tolist(), grad.reshape(-1).tolist()))
    assert found[0] == found[1]
