"""Random index expressions on the engine and on PyTorch: results, assignments, and which calls raise what."""

from __future__ import annotations

import random
import warnings
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROUNDS = 300


class Case:
    """One tensor on both sides and an index that fits it, most of the time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        sizes = [self.random.choice([1, 2, 3, 4]) for _ in range(self.random.randint(1, 4))]
        self.theirs = torch.arange(int(np.prod(sizes))).reshape(sizes).to(self.random.choice([torch.int64, torch.half]))
        self.mine = gb.from_numpy(self.theirs.numpy().copy())
        if len(sizes) > 1 and self.random.random() < 0.5:
            dims = self.random.sample(range(len(sizes)), 2)
            self.theirs, self.mine = self.theirs.transpose(*dims), self.mine.transpose(*dims)
        self.index = self.draw_index()

    def draw_index(self) -> list[Any]:
        sizes, index, dim = tuple(self.theirs.shape), [], 0
        while dim < len(sizes) and (not index or self.random.random() < 0.8):
            if Ellipsis not in [item for item in index if item is Ellipsis] and self.random.random() < 0.1:
                index.append(Ellipsis)
            item, used = self.draw_item(sizes[dim], sizes[dim:])
            index.append(item)
            dim += used
        return index

    def draw_item(self, size: int, rest: tuple[int, ...]) -> tuple[Any, int]:
        kind = self.random.random()
        if kind < 0.15:
            return self.random.randint(-size - 1, size), 1
        if kind < 0.35:
            start, stop = self.random.choice([None, -2, 0, 1]), self.random.choice([None, 1, 2, -1, 5])
            return slice(start, stop, self.random.choice([None, 1, 2])), 1
        if kind < 0.5:
            return self.random.choice([None, True, False]), 0
        if kind < 0.65:
            return [self.random.randint(-size, size - 1) for _ in range(self.random.randint(0, 3))], 1
        if kind < 0.85:
            shape = self.random.choice([(2,), (1,), (3, 1), (2, 2), ()])
            low = -size - (self.random.random() < 0.05)
            return torch.randint(low, size, shape, dtype=self.random.choice([torch.int64, torch.int32])), 1
        covered = self.random.randint(1, min(2, len(rest)))
        return torch.rand(rest[:covered]) > 0.5, covered


def mine(value: Any) -> Any:
    return gb.from_numpy(value.numpy().copy()) if isinstance(value, torch.Tensor) else value


def outcome(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (IndexError, RuntimeError, ValueError, TypeError) as error:
            return type(error)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, type) or isinstance(theirs, type):
        return ours is theirs
    return tuple(ours.shape) == tuple(theirs.shape) and np.array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("block", range(10))
def test_reading(block: int) -> None:
    for seed in range(block * ROUNDS, (block + 1) * ROUNDS):
        case = Case(seed)
        theirs = outcome(lambda case=case: case.theirs[tuple(case.index)])
        ours = outcome(lambda case=case: case.mine[tuple(mine(item) for item in case.index)])
        empty = isinstance(theirs, torch.Tensor) and theirs.numel() == 0
        assert same(ours, theirs) or (empty and ours is IndexError), (seed, case.index)


@pytest.mark.parametrize("block", range(10))
def test_writing(block: int) -> None:
    for seed in range(block * ROUNDS, (block + 1) * ROUNDS):
        case = Case(seed)
        picked = outcome(lambda case=case: case.theirs[tuple(case.index)])
        if isinstance(picked, type):
            continue
        value: Any = torch.arange(picked.numel()).reshape(picked.shape).to(case.theirs.dtype)
        value = case.random.choice([value, value[None], torch.tensor(3.0, dtype=torch.float64), 7])
        copy = case.theirs.contiguous().clone()
        target = gb.from_numpy(copy.numpy().copy())
        theirs = outcome(lambda case=case, copy=copy, value=value: copy.__setitem__(tuple(case.index), value))
        ours = outcome(
            lambda case=case, target=target, value=value: target.__setitem__(
                tuple(mine(item) for item in case.index), mine(value)
            )
        )
        if picked.numel() == 0 and ours is IndexError:
            continue
        assert ours is theirs, (seed, case.index, value)
        assert same(target, copy), (seed, case.index, value)
