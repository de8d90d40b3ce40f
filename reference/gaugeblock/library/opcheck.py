"""opcheck: whether an operator does what its schema and registrations say, tried on given arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dispatch.keys import map_tensors, tensors_in
from .functions import name_of
from .op_overload import Derivative, OpOverload, find_overload

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class OpCheckError(Exception):
    """An operator failed one of the checks."""


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration", "test_faketensor"),
    raise_exception: bool = True,
) -> dict[str, str]:  # fmt: skip
    """Run the named checks; a dictionary of each to "SUCCESS" or, without `raise_exception`, to what failed.

    `test_schema`: arguments change, and results share storage, exactly where the schema says so.
    `test_autograd_registration`: an input that requires grad meets a kernel or formula for its gradient.
    `test_faketensor`: on meta tensors the results have the same sizes, strides and dtypes.
    Raises OpCheckError, ValueError for an unknown check.
    """
    overload = find_overload(name_of(op))
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    outcome: dict[str, str] = {}
    for name in names:
        check = CHECKS.get(name)
        if check is None:
            raise ValueError(f"opcheck(): unknown check {name!r}; known are {', '.join(CHECKS)}")
        try:
            check(overload, _cloned((tuple(args), dict(kwargs or {}))))
            outcome[name] = "SUCCESS"
        except (OpCheckError, NotImplementedError) as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({overload.name()}): {name} failed: {error}") from error
            outcome[name] = str(error)
    return outcome


def _cloned(given: Arguments) -> Arguments:
    copied: Arguments = map_tensors(lambda one: one.clone().requires_grad_(one.requires_grad), given)
    return copied


def _check_schema(overload: OpOverload, given: Arguments) -> None:
    operator = overload._operator
    before = {name: _bytes(value) for name, value in operator.by_name(*_cloned(given)).items()}
    results = overload(*given[0], **given[1])
    written = {argument.name for argument in operator.schema.arguments if argument.written}
    values = operator.by_name(*given)
    for name, value in values.items():
        if name not in written and _bytes(value) != before[name]:
            raise OpCheckError(f"argument '{name}' was changed, which the schema does not say: {operator.text}")
    returned = results if isinstance(results, tuple) else (results,)
    declared = operator.schema.returns
    aliases = {a.name: set(a.alias.before) for a in operator.schema.arguments if a.alias is not None}
    for place, result in enumerate(returned):
        allowed = set(declared[place].alias.before) if place < len(declared) and declared[place].alias else set()  # type: ignore[union-attr]
        for name, value in values.items():
            shared = any(r.storage_impl is v.storage_impl for r in tensors_in([result]) for v in tensors_in([value]))
            if shared and not aliases.get(name, set()) & allowed:
                raise OpCheckError(
                    f"result {place} shares the storage of argument '{name}', which the schema does not say: "
                    f"{operator.text}"
                )


def _bytes(value: Any) -> list[bytes]:
    return [tensor.detach().numpy().tobytes() for tensor in tensors_in([value])]  # type: ignore[attr-defined]


def _check_autograd(overload: OpOverload, given: Arguments) -> None:
    operator = overload._operator
    inputs = list(tensors_in(operator.by_name(*given).values()))
    if not any(tensor.requires_grad for tensor in inputs):  # type: ignore[attr-defined]
        return
    keys = ("Autograd", "CompositeImplicitAutograd", *(f"Autograd{key}" for key in ("CPU", "CUDA", "PrivateUse1")))
    if not operator.has_kernel(*keys) and not isinstance(operator.derivative, Derivative):
        raise OpCheckError("an input requires grad, but neither an autograd kernel nor a formula is registered")


def _check_meta(overload: OpOverload, given: Arguments) -> None:
    results = overload(*given[0], **given[1])
    args, kwargs = map_tensors(lambda one: one.to("meta"), given)
    metas = overload(*args, **kwargs)
    for place, (real, meta) in enumerate(zip(tensors_in([results]), tensors_in([metas]), strict=True)):
        mine, other = real.meta, meta.meta
        if (mine.sizes, mine.strides, mine.dtype) != (other.sizes, other.strides, other.dtype):
            raise OpCheckError(
                f"result {place} on meta has sizes {list(other.sizes)}, strides {list(other.strides)} and "
                f"{other.dtype}; with data {list(mine.sizes)}, {list(mine.strides)} and {mine.dtype}"
            )


CHECKS: dict[str, Callable[[OpOverload, Arguments], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_meta,
}
"""The checks by name."""
