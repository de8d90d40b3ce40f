"""An operator with its kernels by dispatch key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gaugeblock_spec.schema import Schema, parse

Kernel = Callable[..., Any]
IMPLIED_NAMESPACE = "aten::"


class Registration(NamedTuple):
    """A kernel under a key; `label` says which rule chose it when it is the answer of a look-up."""

    function: Kernel | None
    label: str
    boxed: bool = False
    with_keys: bool = False

    @property
    def fallthrough(self) -> bool:
        return self.label == "fallthrough"


FALLTHROUGH = Registration(None, "fallthrough")
MISSING = Registration(None, "missing")
AMBIGUOUS = Registration(None, "ambiguous autogradother")


class Resolved(NamedTuple):
    """The answer for one key set: the kernel, the keys left after fallthroughs, whether it takes plain arguments."""

    entry: Registration
    mask: int
    plain: bool


class Operator:
    """One declared operator overload and its kernels by key.

    `name` has no namespace for the operators of the spec and ``namespace::`` for others. `public` is the callable
    object that stands for it outside, `derivative` its registered gradient, `rules` what modes and Tensor subclasses
    do with it instead of asking their ``__torch_dispatch__``.
    """

    __slots__ = ("derivative", "kernels", "name", "public", "resolved", "rules", "sealed", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.sealed = False
        self.public: Any = None
        self.derivative: Any = None
        self.rules: dict[type, Kernel] = {}
        self.kernels: dict[str, list[Registration]] = {}
        self.resolved: dict[int, Resolved] = {}

    def __repr__(self) -> str:
        return f"Operator({self.text!r})"

    @property
    def schema(self) -> Schema:
        return parse(self.text)

    @property
    def qualified_name(self) -> str:
        """The name with its namespace."""
        return self.name if "::" in self.name else IMPLIED_NAMESPACE + self.name

    def by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by their names."""
        names = [argument.name for argument in (*self.schema.positional, *self.schema.keyword_only)]
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def has_kernel(self, *keys: str) -> bool:
        return any(self.kernels.get(key) for key in keys)

    def active(self, key: str) -> Registration | None:
        stack = self.kernels.get(key)
        return stack[-1] if stack else None


def missing_kernel(operator: Operator, entry: Registration, key: str) -> Exception:
    """The exception for a key set that resolves to no kernel."""
    if entry is AMBIGUOUS:
        return RuntimeError(
            f"{operator.name}: AutogradOther is ambiguous: there is a composite kernel and a kernel of a backend that "
            f"has no autograd key of its own; register an AutogradOther kernel"
        )
    registered = sorted(name for name, stack in operator.kernels.items() if stack)
    return NotImplementedError(
        f"Could not run '{operator.qualified_name}' with arguments from the '{key}' backend: it has kernels for "
        f"{', '.join(registered) or 'no backend'} only"
    )
