"""Sizes of tensors: small ones of every rank, and lengths around the thresholds that loops are cut at."""

from __future__ import annotations

from hypothesis import strategies as st

# Vector widths and twice and four times those (4 to 128 lanes), block sizes of cascades, the parallel grain.
_EDGES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_GRAIN = 32768
_LENGTHS = tuple(sorted({edge + delta for edge in _EDGES for delta in (-1, 0, 1)}))
_LONG = tuple(_GRAIN * k + delta for k in (1, 2) for delta in (-1, 0, 1))

_SIZE = st.sampled_from((2, 3, 1, 4, 5, 0))
_SIZE_NONEMPTY = st.sampled_from((2, 3, 1, 4, 5))


def sizes(min_dims: int = 0, max_dims: int = 4, empty: bool = True) -> st.SearchStrategy[tuple[int, ...]]:
    """Sizes of rank ``min_dims`` to ``max_dims`` with dims of 0 (unless ``empty`` is false) to 5."""
    return st.lists(_SIZE if empty else _SIZE_NONEMPTY, min_size=min_dims, max_size=max_dims).map(tuple)


def thresholds(long: bool = False) -> st.SearchStrategy[int]:
    """A length at, just below or just above a vector width, block size or (``long``) the parallel grain."""
    return st.sampled_from(_LENGTHS + _LONG if long else _LENGTHS)


@st.composite
def broadcastable(
    draw: st.DrawFn, count: int = 2, max_dims: int = 4, empty: bool = True
) -> tuple[tuple[int, ...], ...]:
    """``count`` sizes that broadcast together: dims replaced by 1 and leading dims dropped from a common result."""
    result = draw(sizes(0, max_dims, empty))
    shapes = []
    for _ in range(count):
        drop = draw(st.integers(0, len(result)))
        ones = draw(st.integers(0, 2 ** len(result) - 1)) if result else 0
        shapes.append(tuple(1 if ones >> k & 1 else n for k, n in enumerate(result))[drop:])
    return tuple(shapes)
