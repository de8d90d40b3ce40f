"""Layouts whose strides do not determine the order of dims, and pointwise calls whose result strides depend on it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

Ints = tuple[int, ...]
Function = Callable[..., Any]

UNARY: dict[str, Function] = {
    "neg": lambda m, x: -x,
    "exp": lambda m, x: m.exp(x),
    "isnan": lambda m, x: m.isnan(x),
    "square": lambda m, x: x**2,
    "sqrt": lambda m, x: x**0.5,
    "pow": lambda m, x: x**3,
    "number pow": lambda m, x: 2.0**x,
    "add": lambda m, x: x + 1,
    "add float": lambda m, x: x + 0.5,
    "add alpha": lambda m, x: m.add(x, 2, alpha=3),
    "rsub": lambda m, x: 1 - x,
    "mul": lambda m, x: x * 2.0,
    "div": lambda m, x: x / 2,
    "rdiv": lambda m, x: 2 / x,
    "floor_divide": lambda m, x: x // 2,
    "div trunc": lambda m, x: m.div(x, 2, rounding_mode="trunc"),
    "fmod": lambda m, x: m.fmod(x, 2),
    "remainder": lambda m, x: x % 2,
    "gt": lambda m, x: x > 1,
    "copysign": lambda m, x: m.copysign(x, -1.0),
    "xlogy": lambda m, x: m.xlogy(x, 2),
    "clamp": lambda m, x: x.clamp(0, 1),
    "clamp above": lambda m, x: x.clamp(min=0),
    "clamp below": lambda m, x: x.clamp(max=1),
    "clamp_min": lambda m, x: x.clamp_min(0),
    "clamp_max": lambda m, x: x.clamp_max(0.5),
    "clip": lambda m, x: m.clip(x, 0, 1),
    "where": lambda m, x: m.where(x > 0, x, 1.0),
    "where numbers": lambda m, x: m.where(x > 0, 0.0, 1.0),
    "relu": lambda m, x: m.relu(x),
    "leaky_relu": lambda m, x: m.nn.functional.leaky_relu(x, 0.1),
    "hardtanh": lambda m, x: m.nn.functional.hardtanh(x, 0.0, 1.0),
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "elu": lambda m, x: m.nn.functional.elu(x, 2.0),
    "softplus": lambda m, x: m.nn.functional.softplus(x, 2.0),
    "threshold": lambda m, x: m.nn.functional.threshold(x, 0.5, 2.0),
    "hardshrink": lambda m, x: m.nn.functional.hardshrink(x, 0.25),
    "softshrink": lambda m, x: m.nn.functional.softshrink(x, 0.25),
    "celu": lambda m, x: m.nn.functional.celu(x, 2.0),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "silu": lambda m, x: m.nn.functional.silu(x),
    "nan_to_num": lambda m, x: m.nan_to_num(x, 1.0),
    "logit eps": lambda m, x: m.logit(x, 0.1),
    "round": lambda m, x: m.round(x),
    "sign": lambda m, x: m.sign(x),
    "clone": lambda m, x: x.clone(),
    "double": lambda m, x: x.double(),
    "int": lambda m, x: x.int(),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "full_like": lambda m, x: m.full_like(x, 2.0),
    "zero-dim": lambda m, x: x + m.ones(()),
    "self": lambda m, x: x + x,
    "float_power": lambda m, x: m.float_power(x, 2),
    "isinf": lambda m, x: m.isinf(x),
    "isfinite": lambda m, x: m.isfinite(x),
    "masked_fill": lambda m, x: x.masked_fill(x > 0, 1.0),
    "lerp number": lambda m, x: m.lerp(x, x, 0.5),
    "polygamma": lambda m, x: m.polygamma(1, x),
    "mul bool": lambda m, x: x * True,
    "complex number": lambda m, x: x + 1j,
}
"""Calls of one tensor, by name."""
BINARY: dict[str, Function] = {
    "add": lambda m, x, y: x + y,
    "sub alpha": lambda m, x, y: m.sub(x, y, alpha=2),
    "atan2": lambda m, x, y: m.atan2(x, y),
    "maximum": lambda m, x, y: m.maximum(x, y),
    "eq": lambda m, x, y: x == y,
    "pow": lambda m, x, y: m.pow(x, y),
    "where": lambda m, x, y: m.where(x > y, x, y),
    "clamp": lambda m, x, y: m.clamp(x, y, y),
    "clamp from": lambda m, x, y: m.clamp(x, min=y),
    "lerp": lambda m, x, y: m.lerp(x, y, 0.5),
    "addcmul": lambda m, x, y: m.addcmul(x, y, x, value=2),
    "addcdiv": lambda m, x, y: m.addcdiv(y, y, x, value=2),
    "double": lambda m, x, y: x + y.double(),
    "int": lambda m, x, y: x.int() + y,
    "masked_fill": lambda m, x, y: x.masked_fill(y > 0, 1.0),
}
"""Calls of two tensors whose sizes broadcast."""


class Layout(NamedTuple):
    """Arguments of empty_strided."""

    sizes: Ints
    strides: Ints


def draw_layout(rng: random.Random, sizes: Ints | None = None) -> Layout:
    """Return a small layout, mostly with dims of size 0 or 1, equal strides or strides of 0."""
    if sizes is None:
        sizes = tuple(rng.choice([1, 1, 1, 2, 2, 3, 4, 0]) for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 4])))
    order = list(range(len(sizes)))
    rng.shuffle(order)
    strides = [0] * len(sizes)
    step = 1
    for dim in order if rng.random() < 0.5 else sorted(order, reverse=True):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    for dim, size in enumerate(sizes):
        if size == 1 and rng.random() < 0.5:
            strides[dim] = rng.choice([0, 1, 2, 3, 4, 7])
        elif rng.random() < 0.1:
            strides[dim] = rng.choice([0, 0, 1, 2, 12])
    return Layout(sizes, tuple(strides))


def draw_pair(rng: random.Random) -> tuple[Layout, Layout]:
    """Return two layouts of the same sizes, or of sizes that broadcast."""
    first = draw_layout(rng)
    sizes = tuple(1 if rng.random() < 0.2 else size for size in first.sizes)
    return first, draw_layout(rng, sizes[rng.choice([0, 0, 0, 1]) :])


def strides_of(module: Any, function: Function, *layouts: Layout) -> Ints:
    """Return the strides of a call's result on zeros with these layouts."""
    tensors = [module.empty_strided(*layout).fill_(0) for layout in layouts]
    result: Ints = function(module, *tensors).stride()
    return result
