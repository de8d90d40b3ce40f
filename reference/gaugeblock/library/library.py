"""Library: declarations and kernels from outside the engine, taken away again with the object that made them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gaugeblock_spec.schema import SchemaError, parse

from ..dispatch.dispatcher import REGISTRY
from ..dispatch.keys import check_key
from ..dispatch.operator import FALLTHROUGH, IMPLIED_NAMESPACE, Operator, Registration
from .op_overload import MissingDerivative, OpOverload, adapted, boxed

KINDS = ("DEF", "IMPL", "FRAGMENT")
ENGINE = frozenset({"aten", "prim", "prims"})
"""Namespaces whose operators nobody else may DEFine as a whole; a FRAGMENT may add to aten."""
_owners: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
_waiting: dict[str, list[tuple[weakref.ref[Library], str, Callable[..., Any], bool]]] = {}
"""Kernels for operators that are not declared yet."""


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """As a kernel: the key is skipped. It is looked at when it is registered and never called."""
    raise NotImplementedError("fallthrough_kernel() is registered, not called")


class Library:
    """Registrations in one namespace.

    `kind` is "DEF" (the one that owns the namespace), "FRAGMENT" (adds declarations) or "IMPL" (kernels only).
    Registrations go when the library is deleted. Raises ValueError for another kind, RuntimeError for a second owner.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in KINDS:
            raise ValueError(f"Unsupported kind: {kind!r}; allowed are {', '.join(KINDS)}")
        if kind == "DEF" and (ns in _owners or ns in ENGINE or ns == "_"):
            raise RuntimeError(
                f"Only a single Library of kind 'DEF' can own the namespace {ns!r}; use 'FRAGMENT' to add declarations "
                f"and 'IMPL' to add kernels"
            )
        self.ns = ns
        self.kind = kind
        self.dispatch_key = _key(dispatch_key) if dispatch_key else ""
        self._removers: list[Callable[[], object]] = []
        self._finalizer = weakref.finalize(self, _remove_all, self._removers)
        if kind == "DEF":
            _owners[ns] = self

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator, ``"name.overload(Tensor x, *, int n=1) -> Tensor"``, and return its name, ``"name"``.

        Raises RuntimeError for a schema that does not parse, another namespace, and a name that is taken.
        """
        if self.kind == "IMPL":
            raise RuntimeError(f"define(): a Library of kind 'IMPL' takes kernels only, not {schema!r}")
        try:
            parsed = parse(schema.strip())
        except SchemaError as error:
            raise RuntimeError(f"define(): {error}") from None
        if parsed.namespace not in (None, self.ns):
            raise RuntimeError(
                f"define(): the schema's namespace ({parsed.namespace}) is not that of the library ({self.ns})"
            )
        text = schema.strip().removeprefix(f"{self.ns}::")
        operator = REGISTRY.define(f"{self.ns}::{text}")
        operator.derivative = MissingDerivative(operator.qualified_name)
        self._removers.append(lambda: REGISTRY.undefine(operator.name))
        for reference, key, function, with_keyset in _waiting.pop(operator.qualified_name, []):
            library = reference()
            if library is not None:
                library._register(operator, key, function, with_keyset)
        return parsed.name

    def impl(
        self, op_name: str | OpOverload, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel under a key; without one it is a composite, CompositeImplicitAutograd.

        A kernel that was there is replaced, with a warning unless `allow_override`. With `with_keyset` the kernel
        gets the key set first. Raises TypeError for a kernel that cannot be called, RuntimeError for an unknown key
        and another namespace.
        """
        if not callable(fn):
            raise TypeError(f"impl(): argument 'fn' must be callable, not {type(fn).__name__}")
        name = self._qualified(op_name)
        key = _key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        operator = REGISTRY.operators.get(name.removeprefix(IMPLIED_NAMESPACE))
        if operator is None:
            _waiting.setdefault(name, []).append((weakref.ref(self), key, fn, with_keyset))
        else:
            self._register(operator, key, fn, with_keyset, warn=not allow_override)

    def _qualified(self, op_name: str | OpOverload) -> str:
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        if not isinstance(name, str):
            raise TypeError(f"impl(): argument 'op_name' must be str or OpOverload, not {type(op_name).__name__}")
        namespace, colons, rest = name.rpartition("::")
        if colons and namespace != self.ns:
            raise RuntimeError(f"impl(): {name!r} is not in the library's namespace {self.ns!r}")
        return f"{self.ns}::{rest.removesuffix('.default')}"

    def _register(
        self, operator: Operator, key: str, fn: Callable[..., Any], with_keyset: bool, *, warn: bool = True
    ) -> None:
        if fn is fallthrough_kernel:
            remove = REGISTRY.register(operator.name, key, FALLTHROUGH, warn=warn)
        else:
            kernel = adapted(operator, fn, with_keyset)
            remove = REGISTRY.register(operator.name, key, kernel, with_keys=with_keyset, warn=warn)
        self._removers.append(remove)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register ``fn(operator, *args, **kwargs)`` for every operator that has no kernel under the key.

        With `with_keyset` it gets the key set first. Only for the namespace "_". Raises RuntimeError.
        """
        if self.ns != "_":
            raise RuntimeError(f"fallback(): only a Library of the namespace '_' takes fallbacks, not {self.ns!r}")
        key = _key(dispatch_key or self.dispatch_key)
        if not callable(fn):
            raise TypeError(f"fallback(): argument 'fn' must be callable, not {type(fn).__name__}")
        entry: Registration | Callable[..., Any]
        entry = FALLTHROUGH if fn is fallthrough_kernel else boxed(fn, with_keyset)
        self._removers.append(REGISTRY.register_fallback(key, entry))

    def keep(self, remove: Callable[[], object]) -> None:
        """Call `remove` when the library goes."""
        self._removers.append(remove)

    def _destroy(self) -> None:
        """Take every registration away now."""
        self._finalizer()
        if _owners.get(self.ns) is self:
            del _owners[self.ns]


def _remove_all(removers: list[Callable[[], object]]) -> None:
    while removers:
        removers.pop()()


def _key(key: str) -> str:
    try:
        return check_key(str.__str__(key))
    except (ValueError, TypeError):
        raise RuntimeError(f"could not parse dispatch key: {key!r}") from None


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A Library whose registrations go at the end of the block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
