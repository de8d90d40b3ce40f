"""The module functions: declare an operator, give it kernels, a meta kernel, a derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gaugeblock_spec.schema import SchemaError, parse

from ..core.device import DEVICE_TYPES, Device
from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY
from ..dispatch.keys import DEVICE_KEYS, runtime_key
from .library import Library
from .op_overload import Derivative, OpOverload

F = TypeVar("F", bound=Callable[..., Any])
Operator = str | OpOverload
_kept: list[Library] = []
"""Libraries of registrations that name none: they stay."""


def library_for(name: str, lib: Library | None) -> Library:
    """`lib`, or a library of the operator's namespace that stays for good. ValueError without a namespace."""
    if lib is not None:
        if not isinstance(lib, Library):
            type_error(name, "lib", lib, "Library")
        return lib
    namespace, colons, _ = name.partition("::")
    if not colons:
        raise ValueError(f"expected an operator name with a namespace, such as 'mylib::op', got {name!r}")
    _kept.append(Library(namespace, "FRAGMENT"))
    return _kept[-1]


def name_of(op: Any) -> str:
    """The qualified name of an operator, however it is given. TypeError for anything else."""
    asked = getattr(op, "name", None)
    name = op if isinstance(op, str) else getattr(op, "_qualname", None) or (asked() if callable(asked) else None)
    if not isinstance(name, str):
        raise TypeError(f"argument 'op' must be str, OpOverload or CustomOpDef, not {type(op).__name__}")
    return name.removesuffix(".default")


def device_key(device_type: str) -> str:
    """The backend key of a device type: "cpu" -> "CPU". RuntimeError for an unknown one."""
    if device_type not in DEVICE_TYPES:
        raise RuntimeError(f"unknown device type {device_type!r}; known are {', '.join(DEVICE_TYPES)}")
    return runtime_key(DEVICE_KEYS[Device(device_type).type] & ((1 << 17) - 1))


def keys_for(device_types: str | Sequence[str] | None) -> list[str]:
    """The keys for one or several device types; CompositeExplicitAutograd for None or "default"."""
    if device_types is None or device_types == "default":
        return ["CompositeExplicitAutograd"]
    given = [device_types] if isinstance(device_types, str) else list(device_types)
    return list(dict.fromkeys(device_key(one) for one in given))


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare ``define("mylib::op", "(Tensor x) -> Tensor")``. ValueError without a namespace, RuntimeError."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(): argument 'qualname' must be str, not {type(qualname).__name__}")
    library = library_for(qualname, lib)
    name = qualname.partition("::")[2] or qualname
    try:
        parse(f"{name}{schema}")
    except SchemaError as error:
        raise ValueError(f"define(): {schema!r} is not of the form '(arguments) -> results': {error}") from None
    library.define(f"{name}{schema}", tags=tags)


def _registering(
    op: Any, keys: Callable[[], list[str]], lib: Library | None, *, allow_override: bool = False
) -> Callable[[F], F]:
    """Return a decorator that registers a kernel of an operator under keys."""

    def register(function: F) -> F:
        name = name_of(op)
        library = library_for(name, lib)
        for key in keys():
            library.impl(name, function, key, allow_override=allow_override)
        return function

    return register


def impl(
    qualname: Operator, types: str | Sequence[str], func: F | None = None, *, lib: Library | None = None
) -> Callable[[F], F] | None:
    """Register a kernel for device types ("cpu", "default"), or return a decorator that does."""
    register: Callable[[F], F] = _registering(qualname, lambda: keys_for(types), lib)
    if func is None:
        return register
    register(func)
    return None


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: F | None = None, /, *, lib: Library | None = None
) -> Callable[[F], F] | F:
    """Register a kernel of an operator for device types (None: all); a decorator without `func`."""
    definition = getattr(op, "_custom_op", None)
    if definition is not None:
        registered: Callable[[F], F] | F = definition.register_kernel(device_types, func)
        return registered
    register: Callable[[F], F] = _registering(op, lambda: keys_for(device_types), lib)
    return register if func is None else register(func)


def register_fake(
    op: Any, func: F | None = None, /, *, lib: Library | None = None, allow_override: bool = False
) -> Callable[[F], F] | F:
    """Register what an operator does without data: the kernel for meta tensors; a decorator without `func`."""
    register: Callable[[F], F] = _registering(op, lambda: ["Meta"], lib, allow_override=allow_override)
    return register if func is None else register(func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Keep ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs, output)`` as the operator's derivative.

    RuntimeError when the operator is not declared or not functional: one that writes or aliases an argument has none.
    """
    operator = REGISTRY.find(name_of(op))
    schema = operator.schema
    if any(argument.written for argument in schema.arguments) or any(r.alias is not None for r in schema.returns):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {operator.text}")
    before, operator.derivative = operator.derivative, Derivative(backward, setup_context)
    operator.resolved.clear()
    if lib is not None:
        lib.keep(lambda: setattr(operator, "derivative", before))


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: F | None = None, /, *, lib: Library | None = None
) -> Callable[[F], F] | F:
    """Let ``func(mode, operator, types, args, kwargs)`` answer for a mode class, or ``func(operator, types, args,
    kwargs)`` for a Tensor subclass, instead of its ``__torch_dispatch__``; a decorator without `func`."""

    def register(function: F) -> F:
        rules = REGISTRY.find(name_of(op)).rules
        rules[torch_dispatch_class] = function
        if lib is not None:
            lib.keep(lambda: rules.pop(torch_dispatch_class, None))
        return function

    return register if func is None else register(func)
