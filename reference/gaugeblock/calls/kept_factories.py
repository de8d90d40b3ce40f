"""The calls of factories that are kept: by sizes, numbers and dtype, from the second call with the same ones on.

A kept call allocates the tensor and runs one loop: it fills, draws random numbers, or copies the values that were
computed before, if these are few. Calls lie with the factory, or in the meta of the tensor that it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from marshal import dumps
from typing import Any

from ..core.device import cpu
from ..core.dtype import DEFAULTS, DType, int64
from ..kernels.bound_call import Fresh
from ..memory.host_allocator import SMALL_LIMIT
from ..operators.copy import clone
from ..operators.fill import filling
from ..operators.generator import default_generator
from ..operators.launch import element_launch
from ..operators.operand_checks import stored_number
from ..operators.random_choices import shuffling
from ..operators.random_numbers import LONG_SPAN, drawing_call, is_exact
from ..operators.random_numbers import bounds as bounds_of
from ..operators.ranges import eye_call
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import PLAN_LIMIT, only_ints

Make = Callable[[], Tensor]
Kept = dict[Any, Any]
NUMBERS, LISTS = frozenset({int, float, bool, complex}), frozenset({tuple, list})
MOST_COPIED = 8192
"""Bytes of values that are copied rather than computed again."""
PLACES = frozenset({"dtype", "layout", "device", "pin_memory", "out", "generator"})
"""Options that are no numbers."""


def key_of(given: Any, dtype: DType | None) -> Any:
    """Return the key of a call; None for what is never kept. Numbers stand in it with their class and all their bits,
    so that neither 1 and True nor 0.0 and -0.0 are the same."""
    try:
        return dumps(given, 2), dtype, DEFAULTS.dtype
    except ValueError:  # for what is neither a number nor made of numbers
        return None


def keep(
    kept: Kept, key: Any, name: str, made: Tensor, given: tuple[Any, ...] = (), options: dict[str, Any] | None = None
) -> None:
    """Keep the call of a factory that has `made` a tensor, given sizes and numbers, if it is the second one."""
    if not ENABLED or not _are_plain(given) or (options and not _are_plain(options.values())):
        return
    if options and not PLACES.isdisjoint(options):
        return
    if len(kept) >= PLAN_LIMIT:
        kept.clear()
    kept[key] = (_again(name, made, given) or False) if key in kept else None


def _are_plain(given: Iterable[Any]) -> bool:
    return all(one.__class__ in NUMBERS or (one.__class__ in LISTS and only_ints(one)) for one in given)


def _again(name: str, made: Tensor, given: tuple[Any, ...]) -> Make | None:
    """Return the call that makes such a tensor again; None if there is none."""
    meta = made.meta
    if made.__class__ is not Tensor or meta.device is not cpu or meta.lazy or meta.has_autograd:
        return None
    base = name.removeprefix("new_").removesuffix("_like")
    if not meta.numel or base in EMPTY:
        return Fresh(None, (meta,), ()).native()
    if not meta.dense:
        return None
    if base in FILLED:
        number = stored_number(name, FILLED[base](given), meta.dtype)
        return filling(meta, number) if number or meta.nbytes <= SMALL_LIMIT else None  # large zeros may cost nothing
    if base in DRAWN:
        return drawing_call(meta, *DRAWN[base](meta.dtype, *given))
    if base in SHUFFLED:
        draw = shuffling()
        kept = meta.dtype is int64 and meta.nbytes <= MOST_SHUFFLED
        return Fresh(draw, (meta,), (default_generator.address, meta.numel)).native() if kept else None
    if meta.nbytes <= MOST_COPIED:
        return _copying(made)
    return eye_call(meta) if base == "eye" and meta.nbytes <= SMALL_LIMIT else None


EMPTY = frozenset({"empty", "empty_strided"})
"""Factories that leave memory as it is, but in deterministic mode, where no kept call is asked."""
FILLED: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "zeros": lambda given: 0, "ones": lambda given: 1, "full": lambda given: given[-1],
    "scalar_tensor": lambda given: given[-1],
}  # fmt: skip
"""Factory -> the number that it fills tensors with."""
DRAWN: dict[str, Callable[..., tuple[Any, ...]]] = {
    "rand": lambda dtype, *size: ("uniform", 0.0, 1.0, 1.0), "randn": lambda dtype, *size: ("normal", 0.0, 1.0),
    "normal": lambda dtype, mean, std, size: ("normal", float(mean), float(std)),
    "randint": lambda dtype, *given: _integers(dtype, *[one for one in given if one.__class__ is int]),
}  # fmt: skip
"""Factory -> the distribution that it draws from, with its numbers."""
SHUFFLED, MOST_SHUFFLED = frozenset({"randperm"}), 1 << 22
"""Factories that make permutations, of so many bytes at most by kept calls, which answer no signals."""


def _integers(dtype: DType, *given: int) -> tuple[Any, ...]:
    """Return the numbers of a range of integers; none where there is no loop for it, or a warning."""
    low, high = bounds_of("randint", dtype, *given)
    kept = high - low < LONG_SPAN and is_exact(low, dtype) and is_exact(high - 1, dtype)
    return ("integers", low, high - low) if kept else ()


def _copying(made: Tensor) -> Make | None:
    """Return the call that copies the values of a tensor."""
    launch = element_launch("identity", made.meta, [made.meta], made.meta.dtype)
    if launch is None:
        return None
    loop, tail = launch.call()
    return partial(Fresh(loop, (made.meta,), tail).native(), clone(made))


ENABLED = os.environ.get("GAUGEBLOCK_CALL_CACHE") != "0"
