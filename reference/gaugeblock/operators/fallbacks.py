"""Kernels of keys that stand for many devices: what every device with memory has, and lazy tensors resolved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import REGISTRY, call, redispatch
from ..dispatch.keys import FUNCTIONALITY_BIT
from ..dispatch.modes import NUMBER_FORMS
from ..dispatch.operator import FALLTHROUGH, Operator
from ..iteration.dimensions import resize_output
from ..tensor.reinterpret import resolved
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import meta_of
from . import allocation, conversion  # noqa: F401 - their kernels
from .copy import copy_values
from .rows import rows

NAMES = (
    "empty.memory_format", "empty_strided", "copy_", "clone", "to.dtype", "to.device", "to.other", "to.dtype_layout",
    "type_as",
)  # fmt: skip
"""Operators whose CPU kernels reach other devices through their allocators."""
QUERIES = ("is_floating_point", "is_complex", "is_signed")
"""Questions about metadata, which no mode sees."""


def _with_number(operator: Operator) -> Callable[..., Any]:
    def run(self: Tensor, other: Any, alpha: Any = 1, **options: Any) -> Any:
        plain = alpha.__class__ is int and alpha == 1
        return call(operator, self, other, **options) if plain else call(operator, self, other, alpha=alpha)

    run.__qualname__ = operator.name
    return run


for _name in NAMES:
    _entry = REGISTRY.find(_name).active("CPU")
    assert _entry is not None and _entry.function is not None
    REGISTRY.register(_name, "CompositeExplicitAutograd", _entry.function)
for _name, _other in NUMBER_FORMS.items():
    REGISTRY.register(_name, "CompositeExplicitAutograd", _with_number(REGISTRY.find(_other)))
for _name in QUERIES:
    REGISTRY.register(_name, "Python", FALLTHROUGH)

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


_AWARE = {
    name
    for row in rows().values()
    if row.family in AWARE
    for name in (row.name, row.inplace_name, row.out_name)
    if name is not None
}
for _key in ("Conjugate", "Negative"):
    REGISTRY.register_fallback(_key, resolve_arguments)
    for _name in _AWARE:
        REGISTRY.register(_name, _key, FALLTHROUGH)
