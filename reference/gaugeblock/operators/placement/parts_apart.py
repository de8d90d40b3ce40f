"""Parts on their input's storage that are no views of it and count their writes apart: unsafe_split, unsafe_chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor.tensor import Tensor
from ...tensor.versions import INFERENCE, VersionCounter
from ..invoke import invoke


def _apart(parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
    for part in parts:
        part.base = None
        if part.counter is not INFERENCE:
            part.counter = VersionCounter()
    return tuple(parts)


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """The parts of `chunk`, which may be written to while the input is not used any more, and the other way round."""
    return _apart(invoke("chunk", self, chunks, dim))


def unsafe_split_Tensor(self: Tensor, split_size: int, dim: int = 0) -> Any:
    """The parts of `split`, which may be written to while the input is not used any more."""
    return _apart(invoke("split.Tensor", self, split_size, dim))


def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """The parts of `split_with_sizes`, which may be written to while the input is not used any more."""
    return _apart(invoke("split_with_sizes", self, split_sizes, dim))
