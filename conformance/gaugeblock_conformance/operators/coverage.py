"""Which rows the generic tests judge, and by which requirement the others are."""

from __future__ import annotations

from functools import cache

from gaugeblock_spec import operators

from ..oracles.pointwise import operators_with_oracle
from .drawing import drawable
from .judging import judged_operators

# Rows whose calls follow no general rule, each with the requirement whose tests judge it.
ELSEWHERE: dict[str, str] = {
    "index.Tensor": "views/advanced-index-copies",
    "index_put": "views/advanced-assignment-needs-equal-dtype",
    "as_strided": "views/as-strided-reaches-the-whole-storage",
    "as_strided_": "views/as-strided-keeps-own-offset",
    "view.dtype": "views/view-dtype-reinterprets-bytes",
    "view_as_complex": "views/view-dtype-reinterprets-bytes",
    "resize_": "storage/growing-resize-keeps-old-elements",
    "resize_as_": "storage/growing-resize-keeps-old-elements",
    "set_.source_Tensor": "storage/is-set-to-compares-metadata",
    "detach_": "views/inplace-metadata-operators-return-self",
    "requires_grad_": "dtypes/requires-grad-needs-float-or-complex",
}


@cache
def swept() -> tuple[str, ...]:
    """Rows that are judged by one generic test: they have an oracle, and their arguments can be drawn."""
    return tuple(name for name in judged_operators() if drawable(name) and name not in ELSEWHERE)


@cache
def unjudged() -> tuple[str, ...]:
    """Rows whose values no test judges."""
    known = {*swept(), *operators_with_oracle(), *ELSEWHERE}
    return tuple(name for name in operators.load() if name not in known)
