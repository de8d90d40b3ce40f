"""The words of an expression to be drawn: functions, methods and properties of tensors, dtypes, constants."""

from __future__ import annotations

import functools
from typing import Any

from gaugeblock.core.dtype import DType
from gaugeblock_spec import operators

MODULES = frozenset({"gaugeblock", "gb", "torch"})
"""Names that may stand before a function or a dtype, so that a line can be pasted."""

FILES = frozenset(
    {"arithmetic", "axes", "comparison", "copy", "division", "factories", "index", "parts", "rounding", "shape"}
    | {"stacks", "view_copies", "views"}
)
"""Files of the operator table whose operators may be used: what makes, views, copies and combines tensors."""

MORE_FUNCTIONS = frozenset({"tensor"})
PROPERTIES = frozenset({"H", "T", "imag", "mH", "mT", "real"})
CONVERSIONS = frozenset({"bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short"})
CONSTANTS = frozenset({"e", "inf", "nan", "newaxis", "pi"})
MEMORY_FORMATS = frozenset({"channels_last", "channels_last_3d", "contiguous_format", "preserve_format"})

EXCLUDED = frozenset({"repeat_interleave"})
"""Their results are made outside the engine's memory, which alone is bounded."""


@functools.cache
def functions() -> frozenset[str]:
    """Functions of the module that may be called."""
    return _names("function") | MORE_FUNCTIONS


@functools.cache
def methods() -> frozenset[str]:
    """Methods of tensors that may be called."""
    return _names("method") | CONVERSIONS | {"expand_as", "view_as"}


@functools.cache
def values() -> dict[str, Any]:
    """Names that stand for a dtype, a memory format or a number."""
    import gaugeblock

    dtypes = {name: one for name, one in vars(gaugeblock).items() if isinstance(one, DType)}
    return dtypes | {name: getattr(gaugeblock, name) for name in CONSTANTS | MEMORY_FORMATS}


def _names(variant: str) -> frozenset[str]:
    found: set[str] = set()
    for row in operators.load().values():
        if row.file.removesuffix(".yaml") not in FILES or row.base_name in EXCLUDED or row.base_name.startswith("_"):
            continue
        if variant in row.variants:
            found |= {row.base_name, *(alias.partition(".")[0] for alias in row.aliases)}
        if variant == "method" and row.inplace_name is not None:
            found.add(row.inplace_name.partition(".")[0])
    return frozenset(name for name in found if not name.startswith("_") and "::" not in name)
