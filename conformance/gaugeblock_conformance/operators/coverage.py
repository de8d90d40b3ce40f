"""Which rows the generic tests judge, and by which requirement the others are."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..oracles.bessel import COSTLY
from ..oracles.pointwise import operators_with_oracle
from .drawing import drawable
from .judging import judged_operators

_GENERAL = "operators/every-operator-gives-what-its-row-says"
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
    "as_strided_copy": _GENERAL,
    "as_strided_scatter": _GENERAL,
    "view_as_complex_copy": _GENERAL,
    "tensordot": _GENERAL,
    "to.device": _GENERAL,
    "requires_grad_": "dtypes/requires-grad-needs-float-or-complex",
}


# Pointwise rows whose result has a dtype that no rule of the table gives.
_OWN_DTYPES = ("complex", "polar")


@cache
def swept() -> tuple[str, ...]:
    """Rows that are judged by one generic test: they have an oracle, and their arguments can be drawn."""
    return tuple(name for name in judged_operators() if drawable(name) and name not in ELSEWHERE)


@cache
def costly() -> tuple[str, ...]:
    """Rows judged at a few points each, by ``test_special_functions``."""
    return tuple(name for name, row in operators.load().items() if row.base_name in COSTLY)


@cache
def shaped() -> tuple[str, ...]:
    """Pointwise rows of whose drawn tensors sizes, dtype and forms are judged, but no values."""
    rows = [operators.load()[name] for name in (*unjudged(), *costly())]
    single = [row for row in rows if row.family == "pointwise" and len(parse(row.schema).returns) == 1]
    return tuple(row.name for row in single if drawable(row.name) and row.base_name not in _OWN_DTYPES)


@cache
def unjudged() -> tuple[str, ...]:
    """Rows whose values no test judges: ``unjudged.txt`` beside this file names them all."""
    known = {*swept(), *operators_with_oracle(), *ELSEWHERE, *costly()}
    return tuple(name for name in operators.load() if name not in known)


@cache
def named_as_unjudged() -> tuple[str, ...]:
    """The names in ``unjudged.txt``."""
    lines = files(__package__).joinpath("unjudged.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))
