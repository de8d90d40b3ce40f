"""The dtype rules of one pointwise operator, from its row: what it computes in, what it returns, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.dtype import BY_NAME, DType, bool_
from ..core.lazy_property import lazy_property
from ..iteration.tensor_iterator import COMPARISON, FLOAT, IteratorConfig
from ..iteration.types import UPSTREAM_NAMES, check_castable
from .rows import Row

NOT_FOR_BOOL = {
    "sub": (
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
        "the `~` or `logical_not()` operator instead."
    ),
    "neg": (
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead."
    ),
    "relu": "Boolean inputs not supported for relu",
    "relu6": "Bool inputs not supported for hardtanh",
    "hardtanh": "Bool inputs not supported for hardtanh",
}
TAKES_WIDE_UNSIGNED = frozenset(
    """eq ne where isnan isinf isfinite isclose signbit nan_to_num bitwise_and bitwise_or bitwise_xor
    __and__ __or__ __xor__ mul multiply floor ceil round trunc fix""".split()
)
TAKES_COMPLEX32 = frozenset(
    "abs add addcmul eq isclose isfinite isinf isnan mul ne neg rsub sgn sub where".split()
)
UNLISTED = {
    "uint16": TAKES_WIDE_UNSIGNED,
    "uint32": TAKES_WIDE_UNSIGNED,
    "uint64": TAKES_WIDE_UNSIGNED,
    "complex32": TAKES_COMPLEX32,
}
"""Dtypes that no row lists -> base names of the operators that compute in them all the same."""
NOT_FOR_BOOL["rsub"] = NOT_FOR_BOOL["sub"]
COMPLEX_HINTS = {"sign": "use sgn() instead", "clamp": "", "floor": "", "ceil": "", "trunc": "", "round": ""}


class PointwiseRule:
    """Rules of one row; compared by identity, since it is part of the plans' keys."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.name = row.name
        self.base = row.base
        self.config: IteratorConfig = FLOAT_RULES if row.promotion == "int_to_float" else PLAIN_RULES

    @lazy_property
    def dtypes(self) -> frozenset[DType]:
        return frozenset(BY_NAME[name] for name in self.names)

    @lazy_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the dtypes that the rule computes in."""
        return (*self.row.dtypes, *(name for name, operators in UNLISTED.items() if self.base in operators))

    def check_inputs(self, common: DType, given: Sequence[DType]) -> None:
        """Raise for dtypes that the operator does not compute in; before anything is allocated."""
        message = NOT_FOR_BOOL.get(self.base)
        if message is not None and bool_ in given:
            raise RuntimeError(message)
        if common in self.dtypes:
            return
        if common.is_complex and self.base in COMPLEX_HINTS:
            hint = COMPLEX_HINTS[self.base]
            raise NotImplementedError(f"{self.base} is not supported for complex inputs{'; ' if hint else ''}{hint}")
        allowed = ", ".join(self.names)
        raise NotImplementedError(
            f"\"{self.base}\" not implemented for '{UPSTREAM_NAMES[common.name]}'; it computes in {allowed}"
        )

    def result_dtype(self, common: DType, self_dtype: DType) -> DType:
        """The dtype of a fresh result."""
        kind = self.row.result
        if kind == "bool":
            return bool_
        if kind == "real":
            return common.to_real()
        return self_dtype if kind == "input" else common

    def check_output(self, common: DType, result: DType, output: DType, *, inplace: bool) -> None:
        """RuntimeError when out=, or self of an in-place call, may not take the result."""
        if result is output or self.row.out_cast == "any" or (inplace and self.row.result == "bool"):
            return
        if self.row.result == "real" and common.is_complex and output is common and inplace:
            raise RuntimeError(f"In-place {self.base} is not supported for complex tensors.")
        if self.row.out_cast == "exact" and not inplace:
            raise RuntimeError(
                f"{self.base}(): Found dtype {UPSTREAM_NAMES[output.name]} for argument 'out' but expected "
                f"{UPSTREAM_NAMES[result.name]}"
            )
        check_castable(result, output)


PLAIN_RULES = COMPARISON
FLOAT_RULES = FLOAT._replace(enforce_safe_casting_to_output=False)
