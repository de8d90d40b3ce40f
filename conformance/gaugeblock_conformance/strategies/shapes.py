"""Sizes of tensors: small ones of every rank, and lengths around the thresholds that loops are cut at."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from .code import Digits, coded

Sizes = tuple[int, ...]

# Vector widths and twice and four times those (4 to 128 lanes), block sizes of cascades, the parallel grain.
_EDGES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_GRAIN = 32768
_LENGTHS = tuple(sorted({edge + delta for edge in _EDGES for delta in (-1, 0, 1)}))
_LONG = tuple(_GRAIN * k + delta for k in (1, 2) for delta in (-1, 0, 1))

# Dims of 2 and 3 first: the smallest examples that show an order of dims.
_DIMS = (2, 3, 1, 4, 5, 0)
_FEW = (2, 1, 3, 1)
# Who does not ask for fewer dims than these gets more one time in so many.
ANY_DIMS, DEEP = 4, 12


@cache
def sizes(min_dims: int = 0, max_dims: int = 4, empty: bool = True) -> st.SearchStrategy[Sizes]:
    """Sizes of rank ``min_dims`` to ``max_dims`` with dims of 0 (unless ``empty`` is false) to 5."""
    return coded(lambda digits: small_sizes(digits, min_dims, max_dims, empty))


def small_sizes(digits: Digits, min_dims: int, max_dims: int, empty: bool) -> Sizes:
    """The sizes that ``digits`` choose; takes the same number of them whatever the rank."""
    rank = min_dims + digits.below(max_dims - min_dims + 1)
    options = _DIMS if empty else _DIMS[:-1]
    return tuple([digits.pick(options) for _ in range(max_dims)][:rank])


def deep_sizes(digits: Digits) -> Sizes:
    """Sizes of more dims than most kernels have loops for: four to seven, of few elements."""
    rank = 4 + digits.below(4)
    return tuple([digits.pick(_FEW) for _ in range(7)][:rank])


def threshold(digits: Digits, long: bool) -> int:
    """The length that ``digits`` choose among those of :func:`thresholds`."""
    return digits.pick(_LENGTHS + _LONG if long else _LENGTHS)


@cache
def thresholds(long: bool = False) -> st.SearchStrategy[int]:
    """A length at, just below or just above a vector width, block size or (``long``) the parallel grain."""
    return st.sampled_from(_LENGTHS + _LONG if long else _LENGTHS)


@cache
def broadcastable(count: int = 2, max_dims: int = ANY_DIMS, empty: bool = True) -> st.SearchStrategy[tuple[Sizes, ...]]:
    """``count`` sizes that broadcast together: dims replaced by 1 and leading dims dropped from a common result.

    Without ``max_dims`` there are sometimes up to seven.
    """

    def draw_shapes(digits: Digits) -> tuple[Sizes, ...]:
        deep = digits.below(DEEP) == DEEP - 1 and max_dims == ANY_DIMS
        result = deep_sizes(digits) if deep else small_sizes(digits, 0, max_dims, empty)
        return tuple(narrowed(result, digits) for _ in range(count))

    return coded(draw_shapes, count)


def narrowed(result: Sizes, digits: Digits) -> Sizes:
    """Sizes that broadcast to ``result``: in half of all cases itself, else some dims 1 and some leading ones gone."""
    if digits.below(2) == 0:
        return result
    drop = digits.below(len(result) + 1)
    return tuple(1 if digits.below(3) == 1 else n for n in result)[drop:]
