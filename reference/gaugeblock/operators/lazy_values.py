"""Lazily conjugate or negative tensors: resolved before an operator that reads memory as it lies."""

from __future__ import annotations

from typing import Any

from ..dispatch.dispatcher import FALLTHROUGH, REGISTRY, Operator, redispatch
from ..dispatch.keys import FUNCTIONALITY_BIT
from ..iteration.dimensions import resize_output
from ..tensor.reinterpret import resolved
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import meta_of
from .copy import copy_values
from .rows import rows

LAZY_MASK = FUNCTIONALITY_BIT["Conjugate"] | FUNCTIONALITY_BIT["Negative"]
AWARE = frozenset({"view", "metadata", "copy", "query", "factory", "random"})
"""Families whose kernels keep or resolve lazy values themselves."""


def resolve_arguments(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the operator on resolved copies; a written argument gets the result back in its own lazy form."""
    written = {argument.name for argument in operator.schema.arguments if argument.written}
    names = [argument.name for argument in operator.schema.arguments]
    copies: list[tuple[Tensor, Tensor]] = []

    def replaced(name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and name not in written:
            return type(value)(replaced(name, part) for part in value)
        if not isinstance(value, Tensor) or not value.meta.lazy:
            return value
        fresh = resolved(value)
        if name in written:
            copies.append((value, fresh))
        return fresh

    values = [replaced(name, value) for name, value in zip(names, args, strict=False)]
    options = {name: replaced(name, value) for name, value in kwargs.items()}
    result = redispatch(operator, keys & ~LAZY_MASK, *values, **options)
    for original, fresh in copies:
        made = fresh.meta
        if made.sizes != original.meta.sizes:
            lazy = original.meta.lazy
            # The copy has already been resized, with its warning.
            resize_output(original, meta_of(made.sizes, made.strides, made.dtype, made.device, lazy), silent=True)
        copy_values(original, fresh)
        original.storage_impl.version += 1
        if result is fresh:
            result = original
    return result


def _register() -> None:
    aware = {
        name
        for row in rows().values()
        if row.family in AWARE
        for name in (row.name, row.inplace_name, row.out_name)
        if name is not None
    }
    for key in ("Conjugate", "Negative"):
        REGISTRY.register_fallback(key, resolve_arguments)
        for name in aware:
            REGISTRY.register(name, key, FALLTHROUGH)


_register()
