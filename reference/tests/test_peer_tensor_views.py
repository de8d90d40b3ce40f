"""Metadata of views against PyTorch: the same chain of calls on both sides gives the same sizes, strides, offset."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

torch = pytest.importorskip("torch")

Call = Callable[[Any], Any]


def _layouts(rng: random.Random) -> tuple[Any, Any]:
    """One random strided tensor over an arange storage, in both libraries."""
    count = 600
    ndim = rng.randint(1, 4)
    sizes = tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(ndim))
    strides = tuple(rng.choice((0, 1, 1, 2, 3, 4, 6, 12)) for _ in range(ndim))
    offset = rng.randint(0, 20)
    ours = gb.arange(count).as_strided(sizes, strides, offset)
    return ours, torch.arange(count).as_strided(sizes, strides, offset)


def _dim(rng: random.Random) -> int:
    return rng.randint(-5, 4)


def _random_call(rng: random.Random) -> tuple[str, Call]:
    a, b, c = _dim(rng), _dim(rng), _dim(rng)
    n, m = rng.randint(-2, 5), rng.randint(-1, 3)
    sizes = [rng.choice((-1, 0, 1, 2, 3, 4, 6)) for _ in range(rng.randint(0, 4))]
    dims = [_dim(rng) for _ in range(rng.randint(0, 4))]
    index = tuple(
        rng.choice((None, Ellipsis, n, slice(a, b), slice(None), slice(None, None, 2), slice(n, None, 3), m))
        for _ in range(rng.randint(0, 4))
    )
    while index.count(Ellipsis) > 1:
        index = index[1:]
    calls: list[tuple[str, Call]] = [
        (f"view{sizes}", lambda x: x.view(tuple(sizes))),
        (f"expand{sizes}", lambda x: x.expand(tuple(sizes))),
        (f"permute{dims}", lambda x: x.permute(tuple(dims))),
        (f"transpose{a, b}", lambda x: x.transpose(a, b)),
        (f"squeeze({a})", lambda x: x.squeeze(a)),
        (f"squeeze({dims})", lambda x: x.squeeze(tuple(dims))),
        ("squeeze()", lambda x: x.squeeze()),
        (f"unsqueeze({a})", lambda x: x.unsqueeze(a)),
        (f"select{a, n}", lambda x: x.select(a, n)),
        (f"narrow{a, n, m}", lambda x: x.narrow(a, n, m)),
        (f"unfold{a, n, m}", lambda x: x.unfold(a, n, m)),
        (f"diagonal{n, a, b}", lambda x: x.diagonal(n, a, b)),
        (f"movedim{a, b}", lambda x: x.movedim(a, b)),
        (f"flatten{a, b}", lambda x: x.flatten(a, b)),
        (f"unflatten{a, sizes}", lambda x: x.unflatten(a, tuple(sizes))),
        (f"split{m, c}", lambda x: x.split(m, c)[-1]),
        (f"chunk{n, c}", lambda x: x.chunk(n, c)[-1]),
        (f"tensor_split{n, c}", lambda x: x.tensor_split(n, c)[0]),
        (f"tensor_split{dims, c}", lambda x: x.tensor_split(tuple(dims), c)[len(dims) // 2]),
        (f"unbind({a})", lambda x: x.unbind(a)[0]),
        (f"[{index}]", lambda x: x[index]),
        (f"reshape{sizes}", lambda x: x.reshape(tuple(sizes))),
        ("ravel", lambda x: x.ravel()),
        ("t", lambda x: x.t()),
        ("contiguous", lambda x: x.contiguous()),
        ("clone", lambda x: x.clone()),
        ("view int32", lambda x: x.view(gb.int32 if isinstance(x, gb.Tensor) else torch.int32)),
    ]
    return rng.choice(calls)


def _run(call: Call, x: Any) -> tuple[Any, str]:
    try:
        return call(x), ""
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return None, type(error).__name__


def _facts(x: Any, whole: Any) -> tuple[Any, ...]:
    shares = x.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    return tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous(), shares


@pytest.mark.parametrize("seed", range(40))
def test_chains_of_views_agree_with_torch(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        ours, theirs = _layouts(rng)
        chain = [f"{tuple(theirs.shape)} {theirs.stride()} {theirs.storage_offset()}"]
        for _ in range(3):
            name, call = _random_call(rng)
            if theirs.dim() == 0 and name.startswith("expand"):
                continue
            chain.append(name)
            mine, my_error = _run(call, ours)
            other, other_error = _run(call, theirs)
            assert bool(my_error) == bool(other_error), (chain, my_error, other_error)
            if other is None:
                continue
            assert _facts(mine, ours) == _facts(other, theirs), chain
            assert mine.tolist() == other.tolist(), chain
            ours, theirs = mine, other
