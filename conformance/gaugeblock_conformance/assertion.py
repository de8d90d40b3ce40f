"""Lines of a snippet that assert one expected element."""

from __future__ import annotations

from math import isfinite, isinf, isnan
from typing import Any

import numpy as np

from .backend import dtype_name
from .values import COMPLEX, FLOATS


def plain(value: Any) -> Any:
    """An array element as a Python number."""
    if hasattr(value, "dtype") and value.dtype.name == "bfloat16":
        return float(value)
    return value.item() if hasattr(value, "item") else value


def assert_value(want: Any, ulp: float, signed_zero: bool) -> list[str]:
    """The lines that assert ``got`` against one expected element."""
    value, name = plain(want), dtype_name(want.dtype)
    if name in FLOATS:
        if isnan(value):
            return ["assert got != got, got"]
        if ulp and isfinite(value):
            spacing = abs(value) / 128 if name == "bfloat16" else float(np.spacing(np.abs(want)))
            return assert_near(value, ulp * spacing)
        if value == 0 and signed_zero:
            return [f"assert got == 0 and copysign(1, got) == {float(np.copysign(1.0, value))}, got"]
    if name in COMPLEX:
        if ulp and np.isfinite(value):
            return assert_near(value, ulp * float(np.spacing(max(abs(want.real), abs(want.imag)))))
        return [f"assert repr(got) == {str(value)!r}, got"]
    return [f"assert got == {value!r}, got"]


def assert_near(value: complex | float, bound: float) -> list[str]:
    """The line that asserts ``got`` within ``bound`` of ``value``."""
    if value != value:
        return ["assert got != got, got"]
    if isinstance(value, float) and isinf(value):
        return [f"assert got == {value!r}, got"]
    return [f"assert abs(got - {value!r}) <= {bound:.4g}, got"]
