"""Products laid out in memory as what they are the gradient of, so that nobody has to copy them."""

from __future__ import annotations

from typing import Any

Tensor = Any


def product_like(left: Tensor, right: Tensor, strides: tuple[int, ...]) -> Tensor:
    """The matrix product, its elements in memory column by column where `strides` are those of such a matrix."""
    if strides[0] == 1 and strides[1] > 1:
        return right.mT.mm(left.mT).mT
    return left.mm(right)


HELPERS: dict[str, Any] = {"product_like": product_like}
