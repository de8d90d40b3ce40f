"""Size: the tuple that ``Tensor.shape`` is."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index
from typing import Any, SupportsIndex, overload


def _integer(size: Any, position: int) -> int:
    try:
        return index(size)
    except TypeError:
        raise TypeError(f"Size() takes an iterable of ints, item {position} is a {type(size).__name__}") from None


class Size(tuple[int, ...]):
    """An immutable tuple of sizes with ``numel()``; slices and sums are Sizes again. Raises TypeError for what is no
    integer."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        if not isinstance(sizes, Iterable):
            raise TypeError(f"Size(): argument 'sizes' must be an iterable of ints, not {type(sizes).__name__}")
        self = super().__new__(cls, sizes)
        for size in self:
            if not isinstance(size, int):
                return cls([_integer(one, position) for position, one in enumerate(self)])
        return self

    def numel(self) -> int:
        """The product of the sizes."""
        return prod(self)

    def __repr__(self) -> str:
        return f"gaugeblock.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)
