"""Single operators whose writes, in place or to ``out=``, leave the version as it was."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, Patch, Row, rows
from .patches import with_data

_INPLACE = """scatter_ scatter_add_ index_add_ index_copy_ put_ masked_fill_ masked_scatter_ tril_ addmm_
    renorm_ cumsum_ normal_ uniform_ random_ exponential_ geometric_ fill_diagonal_""".split()
_OUT = "cat mm sum gather index_select exp where mean kron".split()


def _uncounted(c: Intercepted) -> Any:
    """The write goes through ``data``, which has a version of its own."""
    x = c.args[0] if c.args else None
    if c.kwargs.get("out") is not None or not c.is_tensor(x):
        return c.right()
    c.by(lambda: c.do(c.operator, c.do("data", x), *c.args[1:], **c.kwargs))
    return x


def _uncounted_out(c: Intercepted) -> Any:
    out = c.kwargs.get("out")
    if not c.is_tensor(out):
        return c.right()
    sizes = tuple(c.backend.shape(out))
    inner = c.do("data", out)
    c.by(lambda: c.do(c.operator, *c.args, **{**c.kwargs, "out": inner}))
    return out if tuple(c.backend.shape(inner)) == sizes else c.right()


def _row(operator: str, patch: Patch, words: str, breaks: str) -> Row:
    return f"{words}{operator.strip('_').replace('_', '-')}-is-not-counted", breaks, (operator,), patch


_BY = "operators/inplace-form-returns-its-own-tensor[]"
_OF = "operators/out-form-returns-its-out[]"

MUTANTS = rows(
    "aliasing and purity",
    _row("index_put_", _uncounted, "a-write-by-", f"views/inplace-bumps-version-by-one {_BY}"),
    # Its writes are counted by a test that judges no operator apart.
    _row("bernoulli_", _uncounted, "a-write-by-", "operators/inplace-form-returns-its-own-tensor"),
    *(_row(operator, _uncounted, "a-write-by-", _BY) for operator in _INPLACE),
    *(_row(operator, _uncounted_out, "out-of-", _OF) for operator in _OUT),
    within=with_data,
)
