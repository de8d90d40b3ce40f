"""grad, grad_and_value, vjp and jvp of functions of tensors in containers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd import forward_ad
from ..autograd.forward_mode import tangent_of
from ..autograd.grad_mode import enable_grad
from ..calls.functions import ops
from ..core.errors import type_error
from ..dispatch.keys import map_tensors
from ..tensor.tensor import Tensor
from .lifting import gradients, on_whole, seed, unpacked, without_history


def _tensors(tree: Any) -> list[Any]:
    """Return the tensors in the containers, in order."""
    found: list[Any] = []
    map_tensors(found.append, tree)
    return found


def _filled(tree: Any, values: list[Any]) -> Any:
    """Return the containers with the tensors replaced by `values`, in order."""
    rest = iter(values)
    return map_tensors(lambda _: next(rest), tree)


def _own(tree: Any) -> Any:
    """Return the tree with tensors that require gradients; those in the caller's graph stay connected to it, and dual
    ones keep their tangents."""

    def own(one: Any) -> Any:
        connected = one.requires_grad or tangent_of(one) is not None
        return (one.view_as(one) if connected else one.detach()).requires_grad_()

    return map_tensors(lambda one: on_whole(own, one), tree)


def _kept(value: Any, *, graph: bool) -> Any:
    return value if graph else map_tensors(without_history, value)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func` with respect to `argnums`, and the value of `func`.

    An argument is a tensor, or tensors in tuples, lists and dicts. With `has_aux`, `func` returns a pair whose second
    item is returned unchanged, beside the value. The returned function raises TypeError unless the value is a tensor,
    RuntimeError unless it has 0 dims. Source: torch.func.grad_and_value.
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else argnums
        given = list(args)
        graph = any(one.requires_grad for one in _tensors((args, kwargs)))
        with enable_grad():
            for place in places:
                given[place] = _own(args[place])
            result = func(*given, **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor):
                type_error("grad", "func's result", value, "Tensor")
            if value.meta.ndim:
                raise RuntimeError(
                    f"grad(): Expected the function given to grad to return a scalar tensor, got one of {value.ndim} "
                    f"dims; use vjp or jvp for others"
                )
            wanted = [_tensors(given[place]) for place in places]
            flat = [one for group in wanted for one in group]
            weight = seed(value) if value.requires_grad else value  # type: ignore[attr-defined]
            rest = iter(gradients((value,), flat, (weight,), create=graph))
            made = tuple(_filled(given[place], [next(rest) for _ in group])
                         for place, group in zip(places, wanted, strict=True))  # fmt: skip
        answer = _kept(made[0] if isinstance(argnums, int) else made, graph=graph)
        value = _kept(value, graph=graph)
        return (answer, (value, _kept(aux, graph=graph))) if has_aux else (answer, value)

    return run


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`, or with `has_aux` the pair (gradient, aux). Arguments and
    errors are those of grad_and_value. Source: torch.func.grad."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return run


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return ``func(*primals)`` and the function that maps its cotangents to those of the primals. With `has_aux`,
    `func` returns a pair whose second item is returned last. Source: torch.func.vjp."""
    graph = any(one.requires_grad for one in _tensors(primals))
    with enable_grad():
        own = tuple(_own(one) for one in primals)
        result = func(*own)
    value, aux = result if has_aux else (result, None)

    def pull(*cotangents: Any) -> Any:
        given = _tensors(cotangents)
        outputs = _tensors(value)
        if len(given) != len(outputs):
            raise RuntimeError(f"vjp(): {len(given)} cotangents were given for {len(outputs)} results")
        create = graph or any(seed.requires_grad for seed in given)
        return _filled(own, gradients(outputs, _tensors(own), given, create=create))

    shown = _kept(value, graph=graph)
    return (shown, pull, _kept(aux, graph=graph)) if has_aux else (shown, pull)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """Return ``func(*primals)`` and its derivative along `tangents`, computed in forward mode.

    Raises TypeError unless `primals` and `tangents` are tuples, ValueError for another number of tangents.
    Source: torch.func.jvp.
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            type_error("jvp", name, value, "tuple")
    if len(_tensors(primals)) != len(_tensors(tangents)):
        raise ValueError(f"jvp(): {len(_tensors(tangents))} tangents were given for {len(_tensors(primals))} primals")
    with forward_ad.dual_level():
        pairs = zip(_tensors(primals), _tensors(tangents), strict=True)
        duals = _filled(primals, [on_whole(forward_ad.make_dual, one, tangent) for one, tangent in pairs])
        result = func(*duals)
        value, aux = result if has_aux else (result, None)
        parts = [unpacked(one) for one in _tensors(value)]
        shown = _filled(value, [primal for primal, _ in parts])
        moved = [ops.zeros_like(primal) if tangent is None else tangent for primal, tangent in parts]
    return (shown, _filled(value, moved), aux) if has_aux else (shown, _filled(value, moved))
