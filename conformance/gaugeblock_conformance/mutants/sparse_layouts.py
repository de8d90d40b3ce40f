"""Mutants of the chapter on layouts: tensors in coordinate and in compressed form that are not what they should be."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, rows


def _without_nan(c: Intercepted) -> Any:
    """Elements that are NaN are taken for zeros."""
    x = c.args[0]
    return c.instead(c.do("nan_to_num", x) if c.do("is_floating_point", x) else x, *c.args[1:], **c.kwargs)


MUTANTS = (
    *rows(
        "layouts",
        ("conversion-drops-nan", "layouts/dense-to-sparse-and-back-is-exact", ("to_sparse",), _without_nan),
    ),
)
