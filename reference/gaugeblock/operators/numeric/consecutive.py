"""Runs of equal elements reduced to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import int64
from ...core.errors import type_error, wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ..arrays import filled, from_array, values
from ..invoke import invoke
from ..searching import parts_first


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first element (or part along `dim`) of every run, each element's run, and the lengths of the runs.

    What is not asked for has no elements. Raises IndexError for a dim out of range, NotImplementedError for complex
    values and for a meta tensor, whose runs are not known.
    """
    meta = self.meta
    if meta.dtype.is_complex:
        raise NotImplementedError(f"\"unique\" not implemented for '{UPSTREAM_NAMES[meta.dtype.name]}'")
    if meta.device.type != "cpu":
        raise NotImplementedError("unique_consecutive: the sizes depend on data, which a meta tensor has not")
    array = values(self)
    nothing = filled((0,), int64, 0)
    if dim is None:
        flat = array.reshape(-1)
        starts = np.ones(flat.shape, bool)
        starts[1:] = flat[1:] != flat[:-1]
        found, sizes = flat[starts], meta.sizes
    else:
        place = wrap_dim("unique_consecutive", dim, meta.ndim)
        array = array if array.ndim else array.reshape(1)
        moved = np.moveaxis(array, place, 0)
        starts = np.ones(len(moved), bool)
        rest = tuple(range(1, moved.ndim))
        starts[1:] = (moved[1:] != moved[:-1]).any(rest)
        found, sizes = np.compress(starts, array, place), (len(moved),)
        return_inverse = return_counts = True
    run = np.cumsum(starts) - 1
    inverse = filled(sizes, int64, run.reshape(sizes)) if return_inverse else nothing
    lengths = np.diff(np.append(np.flatnonzero(starts), len(starts)))
    kept = from_array(found, meta.dtype) if dim is None else parts_first(found, place, meta.dtype)
    return kept, inverse, from_array(lengths, int64) if return_counts else nothing


def public_unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of every run; a tuple with each element's run and the lengths of the runs when asked for."""
    if not isinstance(input, Tensor):
        type_error("unique_consecutive", "input", input, "Tensor")
    found, inverse, counts = invoke("unique_consecutive", input, return_inverse, return_counts, dim)
    wanted = [found, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return tuple(wanted) if len(wanted) > 1 else found
