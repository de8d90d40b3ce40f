"""Shape, gather, product, sort and search operators on random strided tensors, on the engine and on PyTorch."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROUNDS = 60
DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "complex64"]
RAISED = (IndexError, RuntimeError, ValueError, TypeError, NotImplementedError)


class Draw:
    """Random tensors of the peer and arguments that fit them, most of the time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.dtype = self.random.choice(DTYPES)
        self.sizes = tuple(self.random.choice([1, 2, 3, 4, 0, 3]) for _ in range(self.random.randint(0, 3)))
        self.x = self.tensor(self.sizes)
        self.dim = self.random.randint(-max(self.x.dim(), 1), max(self.x.dim(), 1) - 1)
        self.length = self.x.shape[self.dim] if self.x.dim() else 1

    def tensor(self, sizes: tuple[int, ...], dtype: str | None = None, high: int = 5) -> Any:
        drawn = torch.randint(0, high, sizes).to(getattr(torch, dtype or self.dtype))
        if drawn.dim() > 1 and self.random.random() < 0.4:
            dims = self.random.sample(range(drawn.dim()), 2)
            drawn = drawn.transpose(*dims).contiguous().transpose(*dims)
        return drawn

    def index(self, sizes: tuple[int, ...], length: int) -> Any:
        return torch.randint(0, max(length, 1), sizes)

    def distinct(self) -> Any:
        return torch.randperm(self.length)[: self.random.randint(0, self.length)]

    def ints(self, low: int, high: int, count: int) -> list[int]:
        return [self.random.randint(low, high) for _ in range(count)]


def shape_calls(d: Draw) -> Iterator[tuple[str, list[Any]]]:
    others = [d.x, d.tensor(d.sizes, d.random.choice(DTYPES))]
    yield "cat", [others, d.dim]
    yield "stack", [others, d.dim]
    for name in ("hstack", "vstack", "dstack"):
        yield name, [others]
    for name in ("fliplr", "flipud", "nonzero", "argwhere"):
        yield name, [d.x]
    yield "roll", [d.x, d.ints(-5, 5, 1), [d.dim]]
    yield "roll", [d.x, d.random.randint(-5, 5)]
    yield "flip", [d.x, [d.dim]]
    yield "rot90", [d.x, d.random.randint(-5, 5), [0, -1]]
    yield "tile", [d.x, d.ints(0, 2, 2)]
    yield "tril", [d.x, d.random.randint(-3, 3)]
    yield "triu", [d.x, d.random.randint(-3, 3)]
    yield "diff", [d.x, d.random.randint(1, 2), d.dim]
    if d.x.dim():
        yield "repeat_interleave", [d.x, d.random.randint(0, 3), d.dim]
        yield "repeat_interleave", [d.x, torch.randint(0, 3, (d.length,)), d.dim]


def place_calls(d: Draw) -> Iterator[tuple[str, list[Any]]]:
    if not d.x.numel():
        return
    sizes = tuple(d.random.randint(0, size) for size in d.sizes)
    places = d.index(sizes, d.length)
    yield "index_select", [d.x, d.dim, d.index((3,), d.length)]
    yield "gather", [d.x, d.dim, places]
    yield "scatter", [d.x, d.dim, places, 3]
    yield "take", [d.x, d.index((2, 2), d.x.numel())]
    yield "masked_select", [d.x, d.tensor(d.sizes, "bool", 2)]
    yield "masked_scatter", [d.x, d.tensor(d.sizes, "bool", 2), d.tensor((d.x.numel(),))]
    yield "index_fill", [d.x, d.dim, d.distinct(), 1]
    if d.dtype != "float16":
        yield "scatter_add", [d.x, d.dim, places, d.tensor(sizes)]
    if d.x.dim():
        chosen = d.distinct()
        part = list(d.sizes)
        part[d.dim] = len(chosen)
        yield "index_copy", [d.x, d.dim, chosen, d.tensor(tuple(part))]
        yield "index_add", [d.x, d.dim, chosen, d.tensor(tuple(part))]


def product_calls(d: Draw) -> Iterator[tuple[str, list[Any]]]:
    if d.dtype == "bool":
        return
    n, k, m, b = d.ints(1, 4, 4)
    left, right = d.tensor((n, k)), d.tensor((k, m))
    yield "mm", [left, right]
    yield "mm", [left, right.t().contiguous()]
    yield "bmm", [d.tensor((b, n, k)), d.tensor((b, k, m))]
    yield "mv", [left, d.tensor((k,))]
    yield "dot", [d.tensor((k,)), d.tensor((d.random.choice([k, n]),))]
    yield "vdot", [d.tensor((k,)), d.tensor((k,))]
    yield "outer", [d.tensor((k,)), d.tensor((n,), "float64")]
    yield "inner", [left, d.tensor((m, k))]
    yield "addmm", [d.tensor((m,)), left, right]
    yield "baddbmm", [d.tensor((m,)), d.tensor((b, n, k)), d.tensor((b, k, m))]
    shapes = [(k,), (n, k), (b, n, k), (1, n, k)]
    yield "matmul", [d.tensor(d.random.choice(shapes)), d.tensor(d.random.choice([(k,), (k, m), (b, k, m)]))]


def order_calls(d: Draw) -> Iterator[tuple[str, list[Any]]]:
    if d.dtype == "complex64":
        return
    yield "msort", [d.x]
    distinct = torch.randperm(max(d.x.numel(), 1))[: d.x.numel()].reshape(d.sizes)
    if distinct.numel():
        yield "sort", [distinct, d.dim, d.random.random() < 0.5]
        yield "topk", [distinct, d.random.randint(0, 4), d.dim, d.random.random() < 0.5]
        yield "kthvalue", [distinct, d.random.randint(1, 3), d.dim, d.random.random() < 0.5]
    yield "unique", [d.x, True, True, True]
    yield "equal", [d.x, d.tensor(d.sizes)]
    if d.dtype not in ("bool", "float16"):
        yield "searchsorted", [d.tensor((4,)).sort()[0], d.x]
        yield "allclose", [d.x, d.tensor(d.sizes), 0.5, 1.0]


def mine(value: Any) -> Any:
    if isinstance(value, list):
        return [mine(part) for part in value]
    if not isinstance(value, torch.Tensor):
        return value
    order = sorted(range(value.dim()), key=lambda dim: -value.stride(dim))
    packed = gb.from_numpy(value.permute(order).numpy().copy())
    return packed.permute([order.index(dim) for dim in range(value.dim())]) if order else packed


def outcome(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call()
        except RAISED as error:
            return type(error)
    return result if isinstance(result, tuple) else (result,)


def check(name: str, arguments: list[Any]) -> None:
    theirs = outcome(lambda: getattr(torch, name)(*arguments))
    ours = outcome(lambda: getattr(gb, name)(*mine(arguments)))
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs, (name, arguments)
        return
    for our, their in zip(ours, theirs, strict=True):
        if not isinstance(their, torch.Tensor):
            assert our == their, (name, arguments)
            continue
        assert tuple(our.shape) == tuple(their.shape), (name, arguments)
        assert our.dtype.name == str(their.dtype).removeprefix("torch."), (name, arguments)
        assert np.array_equal(our.numpy(), their.resolve_conj().numpy()), (name, arguments)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("calls", [shape_calls, place_calls, product_calls, order_calls])
def test_engine_and_peer_agree(calls: Callable[[Draw], Iterator[tuple[str, list[Any]]]], seed: int) -> None:
    for name, arguments in calls(Draw(seed)):
        check(name, arguments)
