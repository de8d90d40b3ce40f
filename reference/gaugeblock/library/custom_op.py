"""custom_op: a Python function as an operator, its schema read from the type hints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gaugeblock_spec.schema import parse

from ..dispatch.dispatcher import REGISTRY
from ..dispatch.keys import tensors_in
from ..tensor.versions import bump_version, is_inference, version_of
from .functions import keys_for, register_autograd
from .infer import infer_schema
from .library import Library
from .op_overload import OpOverload, find_overload

Kernel = Callable[..., Any]
DEFINED: dict[str, CustomOpDef] = {}
"""Custom operators by qualified name; defining one again replaces it."""


class CustomOpDef:
    """An operator made by `custom_op`: callable, and the place to register its kernels, meta kernel and derivative."""

    _lib: Library

    def __init__(self, namespace: str, name: str, schema: str, function: Kernel) -> None:
        self._namespace = namespace
        self._name = name
        self._qualname = f"{namespace}::{name}"
        self._init_fn = function
        self._disabled: set[str] = set()
        earlier = DEFINED.pop(self._qualname, None)
        if earlier is not None:
            earlier._lib._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        self._lib.define(f"{name}{schema}")
        self._operator = REGISTRY.find(self._qualname)
        DEFINED[self._qualname] = self
        functools.update_wrapper(self, function)

    @property
    def _opoverload(self) -> OpOverload:
        return find_overload(self._qualname)

    @property
    def _schema(self) -> str:
        return self._operator.text.partition("::")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Kernel | None = None, /) -> Any:
        """Register a kernel for device types, None for all; a decorator without `fn`. RuntimeError: unknown type."""

        def register(function: Kernel) -> Kernel:
            for key in keys_for(device_types):
                kernel = self._checked(function, key)
                kernel.kernel = function  # type: ignore[attr-defined]
                self._lib.impl(self._name, kernel, key, allow_override=True)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """Register what the operator does without data: the kernel for meta tensors."""
        self._lib.impl(self._name, fn, "Meta", allow_override=True)
        return fn

    def register_autograd(self, backward: Kernel, /, *, setup_context: Kernel | None = None) -> None:
        """Register the derivative: ``backward(ctx, *grads)`` after ``setup_context(ctx, inputs, output)``."""
        register_autograd(self._qualname, backward, setup_context=setup_context)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Within the block, use the kernel registered for a device type, or the first one given to `custom_op`."""
        (key,) = keys_for(device_type)
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(key)
        try:
            yield
        finally:
            self._disabled = before

    def _checked(self, function: Kernel, key: str) -> Kernel:
        """The kernel, with written arguments counted as changed and results compared with the schema."""
        arguments = self._operator.schema.arguments
        written = [(index, argument) for index, argument in enumerate(arguments) if argument.written]

        def kernel(*args: Any, **kwargs: Any) -> Any:
            chosen = self._init_fn if key in self._disabled else function
            given = [args[i] if i < len(args) else kwargs.get(a.name) for i, a in written]
            targets = [tensor for tensor in tensors_in(given) if not is_inference(tensor)]
            versions = [version_of(tensor) for tensor in targets]
            result = chosen(*args, **kwargs)
            for tensor, version in zip(targets, versions, strict=True):
                if version_of(tensor) == version:
                    bump_version(tensor)
            self._check_results(result, args, kwargs)
            return result

        return kernel

    def _check_results(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        count = len(self._operator.schema.returns)
        given = 0 if result is None else len(result) if isinstance(result, tuple) and count != 1 else 1
        if given != count:
            raise RuntimeError(f"{self._qualname}: the schema has {count} result(s), the kernel returned {given}")
        storages = {id(tensor.storage_impl) for tensor in tensors_in((*args, *kwargs.values()))}
        for tensor in tensors_in((result,)):
            if id(tensor.storage_impl) in storages:
                raise RuntimeError(
                    f"{self._qualname} (with implementation in {inspect.getmodule(self._init_fn)}): the result of a "
                    f"custom operator may not be, or be a view of, an argument; return a clone"
                )


def custom_op(
    name: str, fn: Kernel | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None, schema: str | None = None,
) -> Any:  # fmt: skip
    """Make the operator ``namespace::name`` of a function, or return a decorator that does.

    The schema follows from the type hints unless given; `mutates_args` names the arguments that the function writes;
    `device_types` are those it serves, all by default. Raises ValueError for a name without namespace, hints that no
    schema has and a `schema` that does not agree with `mutates_args`, RuntimeError for an unknown device type.
    """
    namespace, colons, base = name.partition("::")
    if not colons or not base or "." in base or "::" in base:
        raise ValueError(f"custom_op(): expected a name such as 'mylib::op' without overload, got {name!r}")

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{name}: there is no kernel for meta tensors; register_fake takes a function that gives empty results"
        )

    def make(function: Kernel) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        if schema is not None and mutates_args != "unknown":
            whole, mutated = f"{base}{schema}", set(mutates_args)
            written = {argument.name for argument in parse(whole).arguments if argument.written}
            if written != mutated:
                found = f"writes {sorted(written)}, but mutates_args is {sorted(mutated)}"
                raise ValueError(f"custom_op(): the schema {whole!r} {found}")
        keys_for(device_types)
        made = CustomOpDef(namespace, base, text, function)
        made.register_kernel(device_types, function)
        made.register_fake(missing)
        return made

    return make if fn is None else make(fn)
