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
# Of these the standard says that an exception is raised for operands that do not fit one another.
_RAISING = frozenset("matmul expand broadcast_to broadcast_tensors".split())
# Of these it says that one should be raised, which it does not require.
_ADVISED = {
    ("unsqueeze",): ("expand_dims", "If provided an invalid axis position, an IndexError should be raised."),
    ("squeeze", "squeeze.dim", "squeeze.dims"): (
        "squeeze", "If a specified axis has a size greater than one (...), a ValueError should be raised.",
    ),
}  # fmt: skip

_PLACES = tuple(
    """argmax argmin max.dim[1] min.dim[1] argsort sort[1] sort.stable[1] nonzero argwhere searchsorted
    count_nonzero""".split()
)


def _refuses(operator: str) -> bool:
    row = operators.load().get(operator)
    advised = any(operator in names for names in _ADVISED)
    return operator in _RAISING or advised or (row is not None and row.family in ("pointwise", "comparison"))


RULES: tuple[OwnRule, ...] = (
    OwnRule("texts", ("*",), sentence=f"Out of scope: {_INVALID}", source=_SCOPE),
    OwnRule(
        "refusals", tuple(name for name in STANDARD if not _refuses(name)), sentence=f"Out of scope: {_INVALID}",
        source=_SCOPE,
    ),
    *(
        OwnRule(
            "refusals", names, sentence=sentence,
            source=f"{_PAGES}/API_specification/generated/array_api.{page}.html",
        )
        for names, (page, sentence) in _ADVISED.items()
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
        "values", tuple("sum prod cumsum cumprod add sub mul square neg abs matmul __matmul__".split()),
        ("integer overflow",), sentence="(Of results that an integer dtype does not hold the page says nothing.)",
        source=f"{_PAGES}/API_specification/generated/array_api.multiply.html",
    ),
    OwnRule(
        "values", ("ceil", "trunc", "round"), ("rounded to zero",),
        sentence="If x_i is -0, the result is -0. (For others it does not give the sign of zero.)",
        source=f"{_PAGES}/API_specification/generated/array_api.trunc.html",
    ),
    OwnRule(
        "values", ("var", "std"), ("infinity",),
        sentence="If N - correction is less than or equal to 0, the variance is NaN.",
        source=f"{_PAGES}/API_specification/generated/array_api.var.html",
    ),
    OwnRule(
        "values", ("linspace",), ("rounding",), sentence="Returns evenly spaced numbers over a specified interval.",
        source=f"{_PAGES}/API_specification/generated/array_api.linspace.html",
    ),
)  # fmt: skip


def places(dtype: str | None) -> tuple[OwnRule, ...]:
    """The rule of results that are places in arrays, in a namespace whose default index dtype is ``dtype``."""
    if dtype in ("int64", None):
        return ()
    sentence = "The returned array must have the default array index data type."
    source = f"{_PAGES}/API_specification/generated/array_api.argmax.html"
    return (OwnRule("dtypes", _PLACES, {"int64": dtype}, sentence=sentence, source=source),)


def accumulation(pages: str, **functions: str) -> tuple[OwnRule, ...]:
    """The rules of reductions in a library whose documentation says nothing of the order or width of their sums.

    ``pages`` is the address of a function's page with braces for its name; ``functions`` has the names that differ.
    """
    rules = []
    for operator in ("sum", "mean", "prod", "var", "std", "cumsum", "cumprod"):
        source = pages.format(functions.get(operator, operator))
        sentence = "(The page does not say in which order and width it accumulates, nor how near the result is.)"
        rules.append(OwnRule("values", (operator,), ("accumulation",), sentence=sentence, source=source))
    return tuple(rules)


def last_place(operator: str, source: str, sentence: str) -> OwnRule:
    """The rule of an operator whose results may be neighbours of the exactly rounded ones."""
    sentence = f"{sentence} (Of rounding the page says nothing.)"
    return OwnRule("values", (operator,), ("last place",), sentence=sentence, source=source)
