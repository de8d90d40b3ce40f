"""vmap: a function of examples becomes one of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..calls.functions import ops
from ..tensor.tensor import Tensor
from .batched_tensor import LEVELS, Level, batched, is_batched, lifted, running
from .batching import install

RANDOMNESS = ("error", "different", "same")
CONTAINERS = (tuple, list, dict)


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that maps `func` over a dim of its arguments: it computes for all examples at once what `func`
    computes for each.

    `in_dims` says along which dim of each tensor the examples lie: an int for all, or the structure of the arguments
    with an int, or None for what is the same for all examples, in place of each. Arguments by keyword are mapped along
    dim 0. `out_dims` says where the examples lie in the results. Random operators raise, draw anew for each example
    ("different"), or give all examples the same numbers ("same"). With `chunk_size` so many examples are computed at
    once.

    The returned function raises ValueError for dims that do not fit the arguments, batches of different sizes, and
    results that are no tensors; operators whose results depend on values raise RuntimeError in it.
    Source: torch.vmap.
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size <= 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, rebuild = _inputs(name, in_dims, args, kwargs)
        size = _batch_size(leaves, dims)
        if chunk_size is None or chunk_size >= size:
            return _run(func, name, leaves, dims, rebuild, size, out_dims, randomness)
        made = []
        for begin in range(0, size, chunk_size):
            count = min(chunk_size, size - begin)
            chunk = [one if dim is None else one.narrow(dim, begin, count)
                     for one, dim in zip(leaves, dims, strict=True)]  # fmt: skip
            made.append(_run(func, name, chunk, dims, rebuild, count, out_dims, randomness))
        return _joined(made, out_dims)

    return mapped


def _leaves(tree: Any) -> Iterator[Any]:
    """Yield what is in the containers, in order."""
    if isinstance(tree, CONTAINERS):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)
    else:
        yield tree


def _filled(tree: Any, values: Iterator[Any]) -> Any:
    """Return the containers with the values in place of what is in them, in order."""
    if isinstance(tree, dict):
        return {key: _filled(part, values) for key, part in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [_filled(part, values) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(values)


def _spread(dims: Any, tree: Any) -> list[Any] | None:
    """Return a dim for each leaf of the tree, None where their structures differ."""
    if not isinstance(tree, CONTAINERS) or not isinstance(dims, CONTAINERS):
        return None if isinstance(dims, CONTAINERS) else [dims] * sum(1 for _ in _leaves(tree))
    if isinstance(dims, dict) or isinstance(tree, dict):
        if not isinstance(dims, dict) or not isinstance(tree, dict) or dims.keys() != tree.keys():
            return None
        pairs = [(dims[key], part) for key, part in tree.items()]
    elif len(dims) != len(tree):
        return None
    else:
        pairs = list(zip(dims, tree, strict=True))
    found: list[Any] = []
    for dim, part in pairs:
        spread = _spread(dim, part)
        if spread is None:
            return None
        found += spread
    return found


def _inputs(
    name: str, in_dims: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], list[int | None], Callable[[Iterator[Any]], tuple[Any, Any]]]:
    """Return the leaves of the arguments, a dim or None for each, and what puts others in their places."""

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): {what}")

    if not isinstance(in_dims, (int, tuple, list)):
        refuse(f"expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
               f"{type(in_dims)}.")  # fmt: skip
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. A function without inputs has no examples")
    dims = _spread(in_dims, args)
    if dims is None:
        refuse("in_dims is not compatible with the structure of `inputs`")
    dims += [0] * sum(1 for _ in _leaves(kwargs))
    leaves = [*_leaves(args), *_leaves(kwargs)]
    for place, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            refuse(f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            refuse(f"Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                   f"non-Tensor arguments, please use None as the respective in_dim")  # fmt: skip
        rank = leaf.ndim
        if not -rank <= dim < rank:
            refuse(f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
                   f"in_dim to satisfy -{rank} <= in_dim < {rank}.")  # fmt: skip
        dims[place] = dim % rank

    def rebuild(values: Iterator[Any]) -> tuple[Any, Any]:
        return _filled(args, values), _filled(kwargs, values)

    return leaves, dims, rebuild


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            f"mapped dimension"
        )
    return int(sizes[0])


def _run(
    func: Callable[..., Any], name: str, leaves: list[Any], dims: list[int | None],
    rebuild: Callable[[Iterator[Any]], tuple[Any, Any]], size: int, out_dims: Any, randomness: str,
) -> Any:  # fmt: skip
    """Call the function on the examples of one batch."""
    level = len(LEVELS.running) + 1
    with running((*LEVELS.running, Level(size, randomness))):
        examples = [leaf if dim is None else batched(leaf.movedim(dim, 0), level)
                    for leaf, dim in zip(leaves, dims, strict=True)]  # fmt: skip
        args, kwargs = rebuild(iter(examples))
        result = func(*args, **kwargs)
    wanted = _out_dims(name, out_dims, result)
    made = [_unwrapped(name, one, dim, level, size) for one, dim in zip(_leaves(result), wanted, strict=True)]
    return _filled(result, iter(made))


def _out_dims(name: str, out_dims: Any, result: Any) -> list[Any]:
    """Return a dim, or None, for each leaf of the result. ValueError where they do not fit it."""
    if out_dims is not None and not isinstance(out_dims, (int, *CONTAINERS)):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            f"representing where in the outputs the vmapped dimension should appear."
        )
    if isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and not isinstance(result, CONTAINERS):
        out_dims = out_dims[0]
    found = _spread(out_dims, result)
    if found is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`"
        )
    return found


def _unwrapped(name: str, one: Any, dim: int | None, level: int, size: int) -> Any:
    """Return a result with the examples along `dim`."""
    if dim is None:
        if is_batched(one, level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return one
    if not isinstance(one, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(one)}. Did you mean to set out_dims "
            f"to None for it?"
        )
    value = lifted(one, level, size)
    return value.movedim(0, dim)


def _joined(parts: list[Any], out_dims: Any) -> Any:
    """Return the results of chunks as one."""
    dims = _spread(out_dims, parts[0]) or [0]
    leaves = [list(_leaves(part)) for part in parts]
    made = [leaves[0][place] if dim is None else ops.cat([part[place] for part in leaves], dim)
            for place, dim in enumerate(dims)]  # fmt: skip
    return _filled(parts[0], iter(made))


install()
