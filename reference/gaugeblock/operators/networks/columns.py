"""Windows copied into the columns of matrices, block by block, so that no temporary gets large."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ..arrays import Array
from .windows import Ints, windows

BLOCK = 1 << 17
"""Elements of columns that are made at once."""


def column_blocks(
    source: Array, kernel: Ints, stride: Ints, dilation: Ints, counts: Ints, groups: int, dtype: np.dtype[Any]
) -> Iterator[tuple[slice, slice, Array]]:
    """Of `source` [batch, channels, spatial...], padded already, all windows: (samples, places of the row-major
    `counts`, columns [samples, groups, channels / groups * kernel, places]); each block overwrites the last."""
    batch, length, total = source.shape[0], source.shape[1] // groups * prod(kernel), prod(counts)
    view = windows(source, kernel, stride, dilation, counts)
    per_sample = groups * length * total
    samples = max(1, min(batch, BLOCK // max(per_sample, 1)))
    lines = counts[0] if samples > 1 else max(1, min(counts[0], BLOCK * counts[0] // max(per_sample, 1)))
    rest = total // counts[0]
    columns = np.empty(samples * groups * length * lines * rest, dtype)
    place = (slice(None),) * (1 + len(kernel))
    for first in range(0, batch, samples):
        last = min(first + samples, batch)
        for begin in range(0, counts[0], lines):
            end = min(begin + lines, counts[0])
            part = view[(slice(first, last), *place, slice(begin, end))]
            block = columns[: part.size]
            block.reshape(part.shape)[...] = part
            shape = (last - first, groups, length, (end - begin) * rest)
            yield slice(first, last), slice(begin * rest, end * rest), block.reshape(shape)
