"""The kernel of the Functionalize key: writes become new values, and views operators that copy."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ..core.away import carried
from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY, call, composed
from ..dispatch.guards import DisableTorchDispatch, ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
from ..dispatch.keys import map_tensors, tensors_in
from ..dispatch.operator import Operator
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from .functional_tensor import FunctionalTensor, Step, fresh, functional

REMOVE = ("mutations", "mutations_and_views")
SPLITS = frozenset(
    """split.Tensor split.sizes split_with_sizes chunk tensor_split.sections tensor_split.indices hsplit.int
    hsplit.array vsplit.int vsplit.array dsplit.int dsplit.array""".split()
)
"""Views in several parts, one behind the other along a dim."""


def _moved(rank: int, source: Any, destination: Any) -> Step:
    """Return the permutation that movedim is."""
    pairs = [(source, destination)] if isinstance(source, int) else zip(source, destination, strict=True)
    places = {to % rank: at % rank for at, to in pairs}
    rest = iter([dim for dim in range(rank) if dim not in places.values()])
    return Step("permute", (tuple([places[dim] if dim in places else next(rest) for dim in range(rank)]),))


CANONICAL: dict[str, Callable[..., Step]] = {
    "movedim.int": _moved, "movedim.intlist": _moved,
    "swapaxes": lambda rank, first, second: Step("transpose.int", (first, second)),
    "narrow": lambda rank, dim, start, length: Step("slice.Tensor", (dim, start, start + length or None)),
}  # fmt: skip
"""View operator -> the step of another view that does the same."""


def value_of(one: Any) -> Any:
    """Return what a tensor of functionalize holds, any other value as it is."""
    return one.value if isinstance(one, FunctionalTensor) else one


@cache
def functional_names() -> dict[str, str]:
    """Return the names of forms that write -> of those that return a new tensor."""
    found = {}
    for row in rows().values():
        for form in (row.inplace_name, row.out_name):
            if form is not None:
                found[form] = row.name
    return found


def _copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if src.dtype is not self.dtype or src.device is not self.device:
        src = src.to(dtype=self.dtype, device=self.device)
    return call(REGISTRY.find("expand_copy"), src, tuple(self.shape))


WRITES: dict[str, Callable[..., Any]] = {
    "copy_": _copied,
    "zero_": lambda self: call(REGISTRY.find("zeros_like"), self),
}
"""Writing operators without a functional form in the table -> the value that they write."""
METADATA = {
    "t_": "t", "transpose_": "transpose.int", "swapaxes_": "swapaxes", "squeeze_": "squeeze", "detach_": "detach",
    "squeeze_.dim": "squeeze.dim", "squeeze_.dims": "squeeze.dims", "unsqueeze_": "unsqueeze",
    "as_strided_": "as_strided",
}  # fmt: skip
"""Operators that make a tensor a view of what it was -> the view."""
REBINDING = frozenset({"resize_", "resize_as_", "set_"})


class Running(threading.local):
    """Whether the function that runs in this thread reads views by operators that copy."""

    copies = False


RUNNING = carried(Running())


def functionalize_call(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call an operator that is given tensors of functionalize."""
    parts = composed(operator, keys)
    if parts is not None and not operator.schema.is_out:
        return parts(*args, **kwargs)
    written = [one.name for one in operator.schema.arguments if one.written]
    with ExcludeDispatchKeyGuard("Functionalize"):
        if written:
            return _write(operator, written, args, kwargs)
        if any(one.alias is not None for one in operator.schema.returns):
            return _view(operator, args, kwargs)
        return _plain(operator, args, kwargs)


def _plain(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    found = call(operator, *map_tensors(value_of, args), **map_tensors(value_of, dict(kwargs)))
    return map_tensors(lambda one: fresh(one, RUNNING.copies), found)


def _shadow(one: Any) -> Any:
    return one.shadow if isinstance(one, FunctionalTensor) else one


def _view(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the view of a tensor, which goes on to share its storage."""
    self = args[0]
    if not isinstance(self, FunctionalTensor):  # a view of a tensor from outside is one too
        return call(operator, *map_tensors(value_of, args), **map_tensors(value_of, dict(kwargs)))
    with DisableTorchDispatch():
        shadows = call(operator, *map_tensors(_shadow, args), **map_tensors(_shadow, dict(kwargs)))
    parts = list(tensors_in((shadows,)))
    if parts and parts[0].storage_impl is not self.shadow.storage_impl:
        return _plain(operator, args, kwargs)
    given = operator.by_name(args, kwargs)
    rest = tuple([map_tensors(value_of, value) for value in list(given.values())[1:]])
    if isinstance(shadows, Tensor):
        named = CANONICAL.get(operator.name)
        step = Step(operator.name, rest) if named is None else named(self.meta.ndim, *rest)
        return _seen(self, step, shadows)
    return type(shadows)(_parts(operator, self, given, parts))


def _seen(self: FunctionalTensor, step: Step, shadow: Tensor) -> Any:
    sizes = tuple(shadow.meta.sizes)
    value = step.read(self.value, self.root.copies, sizes)
    return functional(self.root, value, shadow, (*self.steps, (step, sizes)))


def _parts(operator: Operator, self: FunctionalTensor, given: Mapping[str, Any], parts: list[Tensor]) -> list[Any]:
    """Return the parts of a tensor: slices, or rows of unbind."""
    rank = self.meta.ndim
    base = operator.name.partition(".")[0]
    fixed = {"hsplit": min(1, rank - 1), "vsplit": 0, "dsplit": 2}
    dim = fixed[base] if base in fixed else given.get("dim", 0) % rank
    made, begin = [], 0
    for place, part in enumerate(parts):
        if operator.name in SPLITS:
            end = begin + part.meta.sizes[dim]
            made.append(_seen(self, Step("slice.Tensor", (dim, begin, end)), part))
            begin = end
        else:
            made.append(_seen(self, Step("select.int", (dim, place)), part))
    return made


def _write(operator: Operator, written: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Give the tensors that an operator writes the values that its functional form returns."""
    given = operator.by_name(args, kwargs)
    targets = [given[name] for name in written]
    if not all(isinstance(one, FunctionalTensor) for one in targets):
        raise RuntimeError(
            f"{operator.name}: functionalize cannot write a value of the function to a tensor from outside of it; pass "
            f"that tensor as an argument"
        )
    seen = METADATA.get(operator.name)
    if seen is not None:
        targets[0].become(_view(REGISTRY.find(seen), args, kwargs))
        return targets[0]
    values = _values(operator, written, given, args, kwargs)
    for target, value in zip(targets, values, strict=True):
        _check_sizes(operator, target, value)
        if operator.schema.is_out and tuple(value.meta.sizes) != tuple(target.meta.sizes):
            target.become(fresh(value.to(target.meta.dtype), target.root.copies))
        else:
            target.write(value if value.meta.dtype is target.meta.dtype else value.to(target.meta.dtype))
    return targets[0] if len(targets) == 1 else tuple(targets)


def _values(
    operator: Operator, written: list[str], given: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return what is to be written."""
    plain, options = map_tensors(value_of, args), map_tensors(value_of, dict(kwargs))
    if operator.name in WRITES:
        return (WRITES[operator.name](*plain, **options),)
    name = functional_names().get(operator.name)
    if name is None:
        if operator.name.partition(".")[0] in REBINDING:
            raise RuntimeError(f"{operator.name}: functionalize knows no form of it that returns a new tensor")
        copy = plain[0].clone()  # an operator that only writes: what it writes to is nobody else's
        return (call(operator, copy, *plain[1:], **options),)
    if operator.schema.is_out:
        options = {key: value for key, value in options.items() if key not in written}
    found = call(REGISTRY.find(name), *plain, **options)
    return found if isinstance(found, tuple) else (found,)


def _check_sizes(operator: Operator, target: Tensor, value: Tensor) -> None:
    if not operator.schema.is_out and tuple(value.meta.sizes) != tuple(target.meta.sizes):
        raise RuntimeError(
            f"{operator.name}(): output with shape {list(target.meta.sizes)} doesn't match the broadcast shape "
            f"{list(value.meta.sizes)}"
        )


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function with the results of `func` that writes to no tensor while it runs: in-place operators compute
    new values, and what was written to an argument is copied to it at the end.

    With ``remove="mutations_and_views"`` views are computed by operators that copy, such as ``view_copy``; a mode or a
    tracer sees neither views nor writes. Raises RuntimeError for another `remove`, for a write to a tensor that is no
    argument, and for one through a view without an inverse, such as expand. Source: torch.func.functionalize.
    """
    if not callable(func):
        type_error("functionalize", "func", func, "callable")
    if remove not in REMOVE:
        raise RuntimeError(
            f"functionalize(f, remove={remove!r}): received invalid argument for remove. Valid options are: "
            f"{', '.join(map(repr, REMOVE))}"
        )

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        before = RUNNING.copies
        RUNNING.copies = copies = remove == REMOVE[1]
        wrapped: dict[int, tuple[Tensor, FunctionalTensor]] = {}

        def wrap(one: Any) -> Any:
            if id(one) not in wrapped:
                wrapped[id(one)] = (one, fresh(one, copies))
            return wrapped[id(one)][1]

        given_args, given_kwargs = map_tensors(wrap, args), map_tensors(wrap, kwargs)
        try:
            with IncludeDispatchKeyGuard("Functionalize"):
                found = func(*given_args, **given_kwargs)
        finally:
            RUNNING.copies = before
        result = map_tensors(value_of, found)
        for given, one in wrapped.values():
            if one.root.generation:
                given.copy_(one.root.value)  # type: ignore[attr-defined]
        return result

    return run


REGISTRY.register_fallback("Functionalize", functionalize_call, own=True)
