"""Own rules of the array API standard: what it leaves open of the operators in :mod:`.array_api_table`.

What it leaves open by the values of the arguments, and what none of its functions promises, is not offered at all: see
:mod:`.array_api_limits`.
"""

from __future__ import annotations

from gaugeblock_spec import operators

from ..own_rules import OwnRule
from .array_api_table import STANDARD

_PAGES = "https://data-apis.org/array-api/latest"
_INVALID = "Behavior for unexpected/invalid input to functions and methods."
_SCOPE = f"{_PAGES}/purpose_and_scope.html#out-of-scope"
# Of these the standard says that an exception is raised, for operands that do not fit one another or a wrong axis.
_RAISING = frozenset("matmul unsqueeze squeeze squeeze.dim squeeze.dims expand broadcast_to broadcast_tensors".split())


def _refuses(operator: str) -> bool:
    row = operators.load().get(operator)
    return operator in _RAISING or (row is not None and row.family in ("pointwise", "comparison"))


RULES: tuple[OwnRule, ...] = (
    OwnRule("texts", ("*",), sentence=f"Out of scope: {_INVALID}", source=_SCOPE),
    OwnRule(
        "refusals", tuple(name for name in STANDARD if not _refuses(name)), sentence=f"Out of scope: {_INVALID}",
        source=_SCOPE,
    ),
    OwnRule("refusals", ("*",), (TypeError,), sentence=f"Out of scope: {_INVALID}", source=_SCOPE),
    OwnRule(
        "values", ("*",), ("subnormal", "subnormal operand"),
        sentence="Accordingly, subnormal behavior is left unspecified and, thus, implementation-defined.",
        source=f"{_PAGES}/API_specification/data_types.html",
    ),
    OwnRule(
        "values", ("sum", "cumsum"), ("sign of zero",),
        sentence="This specification does not specify accuracy requirements for statistical functions.",
        source=f"{_PAGES}/design_topics/accuracy.html#statistical-functions",
    ),
    OwnRule(
        "values", ("linspace",), ("rounding",), sentence="Returns evenly spaced numbers over a specified interval.",
        source=f"{_PAGES}/API_specification/generated/array_api.linspace.html",
    ),
)  # fmt: skip
