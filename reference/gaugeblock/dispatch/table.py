"""The computed dispatch table of one operator: which kernel each runtime key gets, and by which rule."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.device import PRIVATE, rename_private_device
from ..core.errors import type_error
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import AUTOGRAD_KEY
from .dispatcher import REGISTRY
from .keys import ALIASES, DEVICE_KEYS, RUNTIME_KEYS, DispatchKeySet, check_key, keys_of
from .operator import Operator, Registration

RULES = {
    "kernel": "registered for this key",
    "default backend kernel": "of CompositeExplicitAutograd",
    "math kernel": "of CompositeImplicitAutograd",
    "autograd kernel": "of the alias Autograd",
    "backend fallback": "the key's boxed fallback",
    "fallthrough": "skipped: the next key decides",
    "ambiguous autogradother": "composite, but a backend without autograd key of its own has a kernel",
    "missing": "NotImplementedError",
}
"""What chose a kernel -> in words."""


class TableRow(NamedTuple):
    """One runtime key: the rule that chose (`label`), the kernel's name, and where it was written."""

    key: str
    label: str
    kernel: str
    where: str


class DispatchTable:
    """Rows for all runtime keys of one operator, and what is registered, superseded kernels included.

    ``table["AutogradCPU"]`` is one row; ``str(table)`` shows the keys that get a kernel.
    """

    def __init__(self, operator: Operator) -> None:
        self.name = operator.qualified_name
        self.schema = operator.text
        found = {key: REGISTRY.lookup(operator, key) for key in RUNTIME_KEYS}
        self.rows = [TableRow(key, one.label, describe(one), origin(one.function)) for key, one in found.items()]
        self.registered = [
            TableRow(key, "" if entry is stack[-1] else "inactive", describe(entry), origin(entry.function))
            for key, stack in operator.kernels.items()
            for entry in reversed(stack)
        ]

    def __getitem__(self, key: str) -> TableRow:
        check_key(str.__str__(key))
        if key in ALIASES:
            raise KeyError(f"{key!r} is an alias key; the table has rows for runtime keys")
        return next(row for row in self.rows if row.key == key)

    def __str__(self) -> str:
        shown = [row for row in self.rows if row.label not in ("missing", "fallthrough")]
        silent = [row.key for row in self.rows if row.label == "fallthrough"]
        missing = sum(row.label == "missing" for row in self.rows)
        lines = [self.schema, "registered:"]
        lines += _columns([(row.key, row.kernel, row.label, row.where) for row in self.registered])
        lines.append("resolved, from the lowest key to the highest:")
        lines += _columns([(row.key, row.label, row.kernel, RULES[row.label]) for row in shown])
        lines.append(f"fallthrough: {', '.join(silent)}")
        lines.append(f"missing: {missing} other keys raise NotImplementedError")
        return "\n".join(lines)

    __repr__ = __str__


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def describe(entry: Registration) -> str:
    """The name of a kernel, with its module where that is not the engine."""
    function = entry.function
    if function is None:
        return "-"
    function = getattr(function, "kernel", function)
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None) or ""
    return f"{module.removeprefix('gaugeblock.')}.{name}" if module else name


def origin(function: Callable[..., Any] | None) -> str:
    """File and line of a kernel written in Python, else nothing."""
    innermost: Any = getattr(function, "kernel", function)
    while hasattr(innermost, "__wrapped__"):
        innermost = innermost.__wrapped__
    code = getattr(innermost, "__code__", None) or getattr(type(innermost).__call__, "__code__", None)
    return "" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def dispatch_table(name: str) -> DispatchTable:
    """The table of an operator such as "add.Tensor" or "mylib::op". RuntimeError when it is not declared."""
    if not isinstance(name, str):
        type_error("dispatch_table", "name", name, "str")
    return DispatchTable(REGISTRY.find(name))


def dispatch_keys(tensor: Any) -> DispatchKeySet:
    """The keys of a tensor; they do not depend on requires_grad. TypeError for anything else."""
    if not isinstance(tensor, Tensor):
        type_error("dispatch_keys", "tensor", tensor, "Tensor")
    return DispatchKeySet(mask=keys_of(tensor) & ~AUTOGRAD_KEY)


def has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Return whether a kernel of operator `name` is registered under exactly this key. RuntimeError, ValueError."""
    return REGISTRY.find(name).has_kernel(check_key(str.__str__(key)))


def has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Return whether a kernel of operator `name` is registered under one of the keys. RuntimeError."""
    return REGISTRY.find(name).has_kernel(*keys)


def has_computed_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Return whether the operator's table has a kernel for this key: registered, from an alias key, or a fallback."""
    if check_key(str.__str__(key)) in ALIASES:
        return has_kernel_for_dispatch_key(name, key)
    return REGISTRY.lookup(REGISTRY.find(name), str.__str__(key)).function is not None


def rename_privateuse1_backend(backend_name: str) -> None:
    """Call the device of the PrivateUse1 keys `backend_name` from now on, once per process.

    Kernels are registered under "PrivateUse1", memory with `register_allocator`. Raises RuntimeError when the name is
    no identifier, belongs to another device, or the device has another name already.
    """
    rename_private_device(backend_name)
    DEVICE_KEYS[backend_name] = DEVICE_KEYS[PRIVATE]
