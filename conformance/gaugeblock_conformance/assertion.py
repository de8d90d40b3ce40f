"""Lines of a snippet that assert one expected element, and what all such lines must do."""

from __future__ import annotations

import ast
import builtins
from math import isfinite, isinf, isnan
from typing import Any

import numpy as np

from .backend import dtype_name
from .values import COMPLEX, FLOATS

_EVERYWHERE = frozenset([*vars(builtins), "inf", "nan", "copysign", "backend"])


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
        if np.isfinite(value) and not signed_zero:
            return [f"assert got == {value!r}, got"]
        return [f"assert repr(got) == {str(value)!r}, got"]
    return [f"assert got == {value!r}, got"]


def assert_near(value: complex | float, bound: float) -> list[str]:
    """The line that asserts ``got`` within ``bound`` of ``value``."""
    if value != value:
        return ["assert got != got, got"]
    if isinstance(value, float) and isinf(value):
        return [f"assert got == {value!r}, got"]
    return [f"assert abs(got - {value!r}) <= {bound:.4g}, got"]


def looks_at_nothing(lines: list[str]) -> bool:
    """Return whether ``lines`` have nothing but constants to judge, or are no source text."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return True
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return not {node.id for node in names} - bound - (_EVERYWHERE - {"backend"})


def unbound(snippet: str) -> str | None:
    """A name of a snippet that nothing in it binds, a text of it that is no source, or None."""
    try:
        tree = ast.parse(snippet)
    except SyntaxError as error:
        return repr((error.text or "").strip()[:80])
    except (ValueError, MemoryError, RecursionError):
        return "a call"
    bound, loaded = set(_EVERYWHERE), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.ClassDef):
            bound.add(node.name or "")
    return min(loaded - bound, default=None)
