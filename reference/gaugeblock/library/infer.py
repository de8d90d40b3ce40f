"""infer_schema: a schema string from the type hints of a Python function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

from ..core.device import Device
from ..core.dtype import DType
from ..tensor.tensor import Tensor

SINGLE: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
    DType: "ScalarType", Device: "Device", int | float | bool: "Scalar", int | float | bool | complex: "Scalar",
}  # fmt: skip
RESULTS = frozenset({"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"})
"""What results may be."""
UNKNOWN = "unknown"


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function whose parameters all have type hints; arguments in `mutates_args` are marked written.

    `mutates_args` "unknown" marks every tensor. Raises ValueError for a parameter without hint, with one that no
    schema has, with a default no schema has, for ``*args`` and positional-only ones, and for a name in `mutates_args`
    that is no tensor.
    """
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except NameError as error:
        raise ValueError(
            f"infer_schema(func): a type hint of {prototype_function!r} cannot be resolved: {error}"
        ) from None
    if isinstance(mutates_args, str) and mutates_args != UNKNOWN:
        raise ValueError(
            f"infer_schema(func): mutates_args must be 'unknown' or the names of parameters, got {mutates_args!r}"
        )
    written = None if mutates_args == UNKNOWN else list(mutates_args)
    parts: list[str] = []
    starred = False
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValueError(
                f"infer_schema(func): parameter {name!r} is variadic or positional-only, which no schema expresses "
                f"(got {signature})"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_parameter(name, parameter, hints, written, index, signature))
    unknown = set(written or ()) - set(signature.parameters)
    if unknown:
        raise ValueError(
            f"infer_schema(func): mutates_args names {sorted(unknown)}, which are no parameters of {signature}"
        )
    text = f"({', '.join(parts)}) -> {_returns(hints.get('return', inspect.Signature.empty), signature)}"
    return text if op_name is None else f"{op_name}{text}"


def _parameter(
    name: str, parameter: inspect.Parameter, hints: dict[str, Any], written: list[str] | None, index: int,
    signature: inspect.Signature,
) -> str:  # fmt: skip
    if name not in hints:
        raise ValueError(f"infer_schema(func): parameter {name!r} must have a type hint (got {signature})")
    kind = schema_type(hints[name])
    if kind is None:
        raise ValueError(
            f"infer_schema(func): parameter {name!r} has the unsupported type {hints[name]}; allowed are Tensor, int, "
            f"float, bool, str, dtype, device, int | float | bool, and lists and None of them"
        )
    is_tensor = kind.startswith("Tensor")
    marked = is_tensor if written is None else name in written
    if marked and not is_tensor:
        raise ValueError(f"infer_schema(func): parameter {name!r} is in mutates_args but no tensor: {hints[name]}")
    shown = f"Tensor(a{index}!){kind[len('Tensor') :]}" if marked else kind
    if parameter.default is parameter.empty:
        return f"{shown} {name}"
    return f"{shown} {name}={_default(name, parameter.default)}"


def schema_type(hint: Any) -> str | None:
    """The schema's type of a hint; None when it has none."""
    found = SINGLE.get(hint) if not isinstance(hint, list) else None
    if found is not None:
        return found
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType) and type(None) in inner:
        rest = [one for one in inner if one is not type(None)]
        base = schema_type(Union[tuple(rest)])  # noqa: UP007
        return None if base is None or base.endswith("?") else base + "?"
    if origin in (list, Sequence) and len(inner) == 1:
        base = schema_type(inner[0])
        return None if base is None or base.endswith("]") else base + "[]"
    return None


def _default(name: str, value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)) and all(isinstance(one, (int, float)) for one in value):
        return f"[{', '.join(str(one) for one in value)}]"
    if isinstance(value, DType):
        return str(value).rpartition(".")[2]
    raise ValueError(
        f"infer_schema(func): parameter {name!r} has the default {value!r} of type {type(value).__name__}; allowed are "
        f"numbers, str, None and lists of numbers"
    )


def _returns(hint: Any, signature: inspect.Signature) -> str:
    if hint is inspect.Signature.empty:
        raise ValueError(f"infer_schema(func): the return type must be annotated (got {signature})")
    if hint is None or hint is type(None):
        return "()"
    one = _result(hint)
    if one is not None:
        return one
    if typing.get_origin(hint) is tuple:
        parts = [_result(inner) for inner in typing.get_args(hint)]
        if all(part is not None for part in parts):
            return f"({', '.join(str(part) for part in parts)})"
    raise ValueError(
        f"infer_schema(func): the return type {hint} is unsupported; allowed are None, Tensor, list[Tensor], int, "
        f"float, bool and tuples of them"
    )


def _result(hint: Any) -> str | None:
    found = None if hint == int | float | bool | complex else schema_type(hint)
    return found if found in RESULTS else None
