"""jacrev, jacfwd and hessian: vmap over the directions of vjp and jvp."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..calls.functions import ops
from ..dispatch.keys import map_tensors
from .transforms import _filled, _tensors, jvp, vjp
from .vmap import vmap

Argnums = int | tuple[int, ...]


def _basis(one: Any) -> Any:
    """Return the unit tensors of the sizes of a tensor, one for each element, along the first dim."""
    count = one.numel()
    return ops.eye(count, dtype=one.dtype, device=one.device).reshape(count, *one.shape)


def _laid_out(output: Any, entry: Any) -> Any:
    """Return the rows of a Jacobian with the sizes of the output in place of their number."""
    return entry.reshape(*output.shape, *entry.shape[1:])


def _zeros(tree: Any) -> list[Any]:
    return [ops.zeros_like(one) for one in _tensors(tree)]


def _of_chosen(func: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...]) -> tuple[Callable[..., Any], Any]:
    """Return the function of the chosen arguments alone, and these."""
    places = (argnums,) if isinstance(argnums, int) else argnums

    def chosen(*given: Any) -> Any:
        every = list(args)
        for place, value in zip(places, given, strict=True):
            every[place] = value
        return func(*every)

    return chosen, tuple([args[place] for place in places])


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` with respect to `argnums`, row by row in reverse mode.

    It has the structure of the result, with that of the arguments in place of each tensor; the sizes of an entry are
    those of the result followed by those of the argument. With `has_aux`, `func` returns a pair whose second item is
    returned beside it. Source: torch.func.jacrev.
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        chosen, given = _of_chosen(functools.partial(func, **kwargs), argnums, args)
        value, pull, *aux = vjp(chosen, *given, has_aux=has_aux)
        outputs = _tensors(value)
        rows = []
        for place, one in enumerate(outputs):
            others = _zeros(value)

            def of_row(unit: Any, place: int = place, others: list[Any] = others) -> Any:
                found = pull(*[unit if at == place else zero for at, zero in enumerate(others)])
                return found[0] if isinstance(argnums, int) else found

            made = vmap(of_row, chunk_size=chunk_size)(_basis(one))
            rows.append(map_tensors(functools.partial(_laid_out, one), made))
        jacobian = _filled(value, rows)
        return (jacobian, aux[0]) if has_aux else jacobian

    return run


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` as jacrev does, column by column in forward mode.
    Source: torch.func.jacfwd."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        chosen, given = _of_chosen(functools.partial(func, **kwargs), argnums, args)
        inputs = _tensors(given)
        columns, aux = [], None
        for place, one in enumerate(inputs):
            others = _zeros(given)

            def of_column(unit: Any, place: int = place, others: list[Any] = others) -> Any:
                units = _filled(given, [unit if at == place else zero for at, zero in enumerate(others)])
                moved = jvp(chosen, given, units, has_aux=has_aux)
                return (moved[1], moved[2]) if has_aux else moved[1]

            made = vmap(of_column, out_dims=(-1, 0) if has_aux else -1)(_basis(one))
            if has_aux:
                made, aux = made[0], map_tensors(lambda each: each[0], made[1])
            columns.append([entry.reshape(*entry.shape[:-1], *one.shape) for entry in _tensors(made)])
        entries = [_filled(given, list(row)) for row in zip(*columns, strict=True)]
        jacobian = _filled(made, [row[0] if isinstance(argnums, int) else row for row in entries])
        return (jacobian, aux) if has_aux else jacobian

    return run


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func` with respect to `argnums`: the Jacobian in forward mode of
    the one in reverse mode. Source: torch.func.hessian."""
    return jacfwd(jacrev(func, argnums), argnums)
