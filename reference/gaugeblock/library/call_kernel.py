"""Kernels written outside the engine, in the form that the operator table calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..dispatch.dispatcher import Operator
from ..dispatch.keys import DispatchKeySet
from ..dispatch.modes import outer_form, public, without_defaults

Kernel = Callable[..., Any]


def adapted(operator: Operator, function: Kernel, with_keyset: bool = False) -> Kernel:
    """A kernel of one operator: it sees the arguments without those that equal the schema's defaults."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        keys = [DispatchKeySet(mask=args[0])] if with_keyset else []
        values, options = without_defaults(operator, args[len(keys) :], kwargs)
        return function(*keys, *values, **options)

    kernel.kernel = function  # type: ignore[attr-defined]
    return kernel


def boxed(function: Kernel, with_keyset: bool = False) -> Kernel:
    """A fallback for all operators: it gets the operator's object first, and the key set before that if asked for."""

    def fallback(operator: Operator, mask: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        operator, args = outer_form(operator, args)
        values, options = without_defaults(operator, args, kwargs)
        keys = [DispatchKeySet(mask=mask)] if with_keyset else []
        return function(*keys, public(operator), *values, **options)

    fallback.kernel = function  # type: ignore[attr-defined]
    return fallback
