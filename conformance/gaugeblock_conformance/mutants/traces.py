"""Single operators that write before they have looked at all of their arguments: a refused call leaves a trace."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, Patch, Row, rows
from .patches import with_data

_POINTWISE = "add_ mul_ pow_ lerp_ addcmul_ copysign_".split()
_INPLACE = """copy_ masked_fill_ masked_scatter_ scatter_ scatter_add_ index_put_ index_copy_ index_add_ put_ cumsum_
    tril_ addmm_""".split()
_OUT = "mm bmm cat stack gather index_select take sum mean cumsum".split()


def _marked(c: Intercepted, x: Any) -> None:
    """The first element of ``x`` one larger."""
    if c.is_tensor(x):
        array = c.array(x)
        if array.size and array.dtype.kind in "fiu":
            array[(0,) * array.ndim] += 1
            c.put(x, array)


def _first(c: Intercepted) -> Any:
    try:
        return c.right()
    except Exception:
        _marked(c, c.args[0] if c.args else None)
        raise


def _out(c: Intercepted) -> Any:
    try:
        return c.right()
    except Exception:
        _marked(c, c.kwargs.get("out"))
        raise


def _row(operator: str, patch: Patch, words: str) -> Row:
    return f"refused-{operator.strip('_').replace('_', '-')}-{words}", (operator,), patch


MUTANTS = (
    *rows(
        "empties and errors",
        *(_row(operator, _first, "leaves-a-trace") for operator in _POINTWISE),
        ("refused-bitwise-and-leaves-a-trace", "iteration/checks-come-before-writes[]", ("bitwise_and_",), _first),
        breaks="iteration/checks-come-before-writes[] iteration/destination-is-never-broadcast[]", within=with_data,
    ),
    *rows(
        "empties and errors",
        *(_row(operator, _first, "leaves-a-trace") for operator in _INPLACE),
        *(_row(operator, _out, "writes-its-out") for operator in _OUT),
        ("refused-setitem-leaves-a-trace", ("__setitem__",), _first),
        breaks="operators/refused-calls-change-nothing", within=with_data,
    ),
)
