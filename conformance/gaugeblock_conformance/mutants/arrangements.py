"""Views, joins and rearrangements that forget an argument or stop at the usual form of a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import DType
from ..oracles.promotion import result_type
from .arguments import changed, default
from .mutant import Intercepted, rows
from .patches import dtype, with_data
from .target import ROW

_JOINS = ("hstack", "vstack", "dstack", "column_stack")


def _ordered_dims(c: Intercepted) -> Any:
    """A diagonal whose two dims are put in order first."""
    x, *rest = c.args
    names = ("offset", "dim1", "dim2")
    given = {**dict(zip(names, (0, 0, 1), strict=True)), **dict(zip(names, rest, strict=False)), **c.kwargs}
    rank = len(c.backend.shape(x))
    first, second = sorted((given["dim1"] % rank, given["dim2"] % rank))
    return c.instead(x, given["offset"], first, second)


def _wrapped_starts(c: Intercepted) -> Any:
    """A start below all places comes round again."""
    given: list[Any] = [*c.args, *[None] * (3 - len(c.args))]
    x, dim, start, *rest = given
    length = c.backend.shape(x)[dim or 0] if c.backend.shape(x) else 0
    if start is None or not length or start >= -length:
        return c.right()
    return c.instead(x, dim, start % length, *rest, **c.kwargs)


def _number_as_place(c: Intercepted) -> Any:
    """A tensor of one number cuts there, and not into as many parts."""
    x, places, *rest = c.args
    if not c.is_tensor(places) or c.backend.shape(places):
        return c.right()
    return c.instead(x, c.do("reshape", places, [1]), *rest, **c.kwargs)


def _first_shift(c: Intercepted) -> Any:
    x, shifts, *rest = c.args
    dims = rest[0] if rest else c.kwargs.get("dims", ())
    if isinstance(shifts, int) or len(shifts) < 2:
        return c.right()
    return c.instead(x, shifts[:1], dims[:1])


def _once_a_dim(c: Intercepted) -> Any:
    """Of two shifts along one dim the later counts."""
    x, shifts, *rest = c.args
    dims = rest[0] if rest else c.kwargs.get("dims", ())
    if isinstance(dims, int) or len({*dims}) == len(dims):
        return c.right()
    return c.instead(x, shifts[-1:], dims[-1:])


def _unlike(c: Intercepted) -> Any:
    """Tensors that are to broadcast come back as they are."""
    return [c.alias(x) for x in c.args[0]] if isinstance(c.args[0], list | tuple) else c.right()


def _three_by_rows(c: Intercepted) -> Any:
    """The order of Cartesian axes is one of two axes alone."""
    if c.kwargs.get("indexing") != "xy" or len(c.args[0]) < 3:
        return c.right()
    return c.instead(*c.args, indexing="ij")


def _turned_parts(c: Intercepted) -> Any:
    """The parts of a vector in the other order."""
    return [*c.right()][:: -1 if len(c.backend.shape(c.args[0])) == 1 else 1]


def _dtype_of_first(c: Intercepted, right: str) -> str | None:
    return str(c.backend.dtype(c.args[0][0]))


def _of_least(c: Intercepted, right: str) -> str | None:
    """Operands without dims count less, although they are given some."""
    sizes = [(c.backend.dtype(x), bool(c.backend.shape(x))) for x in c.args[0]]
    dims, dimless = ([name for name, has in sizes if has is some] for some in (True, False))
    try:
        return result_type(dims, dimless)
    except KeyError:
        return None


def _never_empty(c: Intercepted) -> Any:
    """Vectors without elements are no exception among joined matrices: they make the first dim longer by one."""
    result = c.right()
    empty = [x for x in c.args[0] if tuple(c.backend.shape(x)) == (0,)]
    if not empty or len(empty) == len(c.args[0]) or c.inplace or not c.is_tensor(result):
        return result
    array = c.array(result)
    return c.do("to.dtype", c.tensor(np.concatenate([array, array[:1]])), DType(c.backend.dtype(result)))


MUTANTS = rows(
    "operators",
    ("flattening-starts-at-the-first-dim", ("flatten",), default("start_dim")),
    ("flattening-ends-at-the-last-dim", ("flatten",), default("end_dim")),
    ("cuts-are-made-in-order", ("tensor_split.indices", "hsplit.array", "vsplit.array", "dsplit.array"),
     changed("indices", sorted)),
    ("a-number-of-parts-is-a-place", ("tensor_split",), _number_as_place),
    ("far-starts-of-slices-come-round", f"views/slice-scales-the-stride {ROW}", ("slice",), _wrapped_starts),
    ("vectors-are-split-from-behind", ("hsplit.int",), _turned_parts),
    ("vectors-are-cut-from-behind", ("hsplit.array",), _turned_parts),
    ("diagonals-put-their-dims-in-order", ("diagonal", "linalg_diagonal"), _ordered_dims),
    ("windows-lie-along-the-first-dim", ("unfold",), changed("dimension", lambda dim: 0)),
    ("rolls-shift-along-one-dim", ("roll",), _first_shift),
    ("rolls-shift-a-dim-once", ("roll",), _once_a_dim),
    ("quarter-turns-are-in-the-first-plane", ("rot90",), default("dims")),
    ("repeats-of-each-row-forget-their-dim", ("repeat_interleave.self_Tensor",), default("dim")),
    ("differences-forget-what-comes-before", ("diff",), default("prepend")),
    ("differences-forget-what-comes-behind", ("diff",), default("append")),
    ("differences-are-taken-once-at-least", ("diff",), changed("n", lambda n: n or 1)),
    ("meshes-of-three-are-by-rows", ("meshgrid",), _three_by_rows),
    ("unlike-tensors-do-not-broadcast", ("broadcast_tensors",), _unlike),
    ("stacks-take-the-dtype-of-the-first", "dtypes/cat-stack-and-where-promote", ("stack",), dtype(_dtype_of_first)),
    ("joins-take-the-dtype-of-the-first", "dtypes/cat-stack-and-where-promote[]", _JOINS,
     dtype(_dtype_of_first)),
    ("joins-count-numbers-less", "dtypes/cat-stack-and-where-promote[]", _JOINS, dtype(_of_least)),
    ("vectors-without-elements-are-joined", "operators/cat-skips-empty-vectors", ("cat", "hstack"), _never_empty),
    ("embedded-diagonals-forget-their-first-dim", ("diag_embed",), default("dim1")),
    ("embedded-diagonals-forget-their-second-dim", ("diag_embed",), default("dim2")),
    breaks=ROW, within=with_data,
)
