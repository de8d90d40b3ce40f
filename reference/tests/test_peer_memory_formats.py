"""Strides of results over inputs of every memory format, against PyTorch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

torch = pytest.importorskip("torch")

_FORMATS = ("contiguous", "reversed", "channels last", "with gaps")


def _made(module: Any, sizes: list[int], name: str) -> Any:
    last = {4: module.channels_last, 5: module.channels_last_3d}.get(len(sizes))
    x = module.ones(sizes)
    if name == "reversed":
        order = list(range(len(sizes)))[::-1]
        return x.permute(order).contiguous().permute(order)
    if name == "channels last" and last is not None:
        return x.contiguous(memory_format=last)
    if name == "with gaps" and last is not None:
        larger = module.ones([n + 1 for n in sizes]).contiguous(memory_format=last)
        return larger[tuple(slice(0, n) for n in sizes)]
    return x


def _sizes(draw: random.Random, dims: int) -> list[int]:
    return [draw.choice((1, 2, 3, 4)) for _ in range(dims)]


def _volume(x: Any) -> str:
    return "3d" if x.dim() == 5 else "2d"


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "avg_pool": lambda m, x: getattr(m.nn.functional, f"avg_pool{_volume(x)}")(x, 1),
    "max_pool": lambda m, x: getattr(m.nn.functional, f"max_pool{_volume(x)}")(x, 1),
    "adaptive_avg_pool": lambda m, x: getattr(m.nn.functional, f"adaptive_avg_pool{_volume(x)}")(x, 2),
    "adaptive_max_pool": lambda m, x: getattr(m.nn.functional, f"adaptive_max_pool{_volume(x)}")(x, 2),
    "interpolate": lambda m, x: m.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"),
    "group_norm": lambda m, x: m.nn.functional.group_norm(x, 1),
    "pad": lambda m, x: m.nn.functional.pad(x, (1, 1)),
    "conv": lambda m, x: getattr(m.nn.functional, f"conv{_volume(x)}")(x, m.ones(3, x.shape[1], *[1] * (x.dim() - 2))),
    "channel_shuffle": lambda m, x: m.channel_shuffle(x, 1),
}


@pytest.mark.parametrize("name", _OPERATORS)
def test_strides_of_networks(name: str) -> None:
    draw = random.Random(name)
    for _ in range(60):
        sizes, chosen = _sizes(draw, draw.choice((4, 5))), draw.choice(_FORMATS)
        if name == "conv" and sizes[2:] == [1] * (len(sizes) - 2):
            continue
        got, want = (_OPERATORS[name](module, _made(module, sizes, chosen)) for module in (gb, torch))
        assert tuple(got.stride()) == tuple(want.stride()), (sizes, chosen)


def test_strides_of_cat() -> None:
    draw = random.Random(5)
    for _ in range(400):
        first = _sizes(draw, draw.choice((2, 3, 4, 4, 5)))
        dim, chosen = draw.randrange(len(first)), draw.choice(_FORMATS)
        parts = []
        for _ in range(draw.choice((1, 2, 3))):
            sizes = [draw.choice((0, 1, 2, 5)) if k == dim else n for k, n in enumerate(first)]
            parts.append((sizes, chosen if draw.random() < 0.8 else draw.choice(_FORMATS)))
        if draw.random() < 0.1:
            parts.insert(0, ([0], "contiguous"))
        got, want = (module.cat([_made(module, *part) for part in parts], dim) for module in (gb, torch))
        assert tuple(got.stride()) == tuple(want.stride()), (parts, dim)
