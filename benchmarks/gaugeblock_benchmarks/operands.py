"""Operands of a case: arrays from a seed, handed to a backend in the layout that the case names."""

from __future__ import annotations

import zlib
from typing import Any

import ml_dtypes
import numpy as np
from gaugeblock_conformance.backend import Backend

from .cases import CHANNELS, KERNEL, Case

CACHED_BYTES = 2 << 20
"""Inputs above this (a core's own cache) are rotated: no call finds its operands where the last one left them."""
ROTATED_BYTES = 64 << 20


def turns(case: Case, backend: Backend) -> list[tuple[Any, ...]]:
    """The tuples of operands that calls of a case take in turn."""
    return [operands(case, backend, seed) for seed in range(rotations(4 * case.size * len(case.operator.operands)))]


def rotations(nbytes: int) -> int:
    """How many tuples of operands of so many bytes are gone through."""
    return 1 if nbytes <= CACHED_BYTES else min(8, max(2, ROTATED_BYTES // nbytes))


def operands(case: Case, backend: Backend, seed: int) -> tuple[Any, ...]:
    """One tuple of operands, in the order of ``case.operator.operands``."""
    random = np.random.default_rng((zlib.crc32(case.name.encode()), seed))
    made = [_operand(name, case, backend, random) for name in case.operator.operands]
    return tuple(made)


def _operand(name: str, case: Case, backend: Backend, random: np.random.Generator) -> Any:
    rows, columns = case.shape
    if name == "m":
        return _laid_out(random.random((rows, columns)) < 0.5, case.layout, backend)
    if name == "i":
        return backend.from_numpy(random.integers(0, columns, (rows, columns)))
    if name == "c":
        return backend.from_numpy(_numbers(random, (columns, rows), case.layout))
    if name == "x":
        return backend.from_numpy(random.random(case.image, np.float32))
    if name == "w":
        return backend.from_numpy(random.random((CHANNELS, CHANNELS, KERNEL, KERNEL), np.float32))
    if name == "b" and case.layout == "row broadcast":
        return backend.from_numpy(_numbers(random, (1, columns), case.layout))
    if name == "b" and case.layout == "int32+float32":
        return backend.from_numpy(random.integers(1, 100, (rows, columns), dtype=np.int32))
    if name == "b" and case.layout == "transposed":
        return backend.from_numpy(_numbers(random, (rows, columns), case.layout))
    return _laid_out(_numbers(random, (rows, columns), case.layout), case.layout, backend)


def _numbers(random: np.random.Generator, shape: tuple[int, int], layout: str) -> Any:
    values = random.random(shape, np.float32) * np.float32(4) + np.float32(0.125)
    return values.astype(ml_dtypes.bfloat16) if layout == "bfloat16" else values


def _laid_out(array: Any, layout: str, backend: Backend) -> Any:
    if layout == "transposed":
        return backend.call("t", backend.from_numpy(array.T))
    if layout == "stride 2":
        wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return backend.call("slice.Tensor", backend.from_numpy(wide), 1, 0, None, 2)
    return backend.from_numpy(array)
