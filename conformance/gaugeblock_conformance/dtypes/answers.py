"""Expectations of answers that are dtypes, and the setting of the default dtype."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..backend import DType
from ..session import Session


def expect_dtype_answer(s: Session, want: str, operator: str, *args: Any) -> None:
    """Expect an operator that answers with a dtype (``promote_types``, ``result_type``) to give ``want``."""
    got = s.call(operator, *args)
    if got != want:
        target = s.steps()[-1].targets[0]  # type: ignore[union-attr]
        lines = [f"got = {target}", f"assert got == {s.dialect.dtype_value(want)}, got"]
        raise s.failure(f"{operator}: wrong dtype", want, str(got), lines, {target})


@contextmanager
def default_dtype(s: Session, dtype: str) -> Iterator[None]:
    """Run a block under another default float dtype."""
    s.call("set_default_dtype", DType(dtype))
    try:
        yield
    except BaseException:
        # The snippet ends with what failed.
        s.backend.call("set_default_dtype", DType("float32"))
        raise
    s.call("set_default_dtype", DType("float32"))
