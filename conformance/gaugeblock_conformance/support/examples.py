"""Rows whose arguments no rule draws: one call of each, with what it must give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType, numpy_dtype
from ..session import Session

Example = Callable[[Session, str], None]


def _array(dtype: str, *sizes: int) -> Array:
    """0, 1, 2 ..., as far as the dtype tells them apart."""
    return np.arange(int(np.prod(sizes))).reshape(sizes).astype(numpy_dtype(dtype))


def _on_one(operator: str, want: Callable[[Array], Any], *arguments: Any, **keywords: Any) -> Example:
    """The call on a tensor of 2 by 3; ``want`` is told its elements."""

    def example(s: Session, dtype: str) -> None:
        x = _array(dtype, 2, 3)
        given = [s.tensor(a(dtype)) if callable(a) else a for a in arguments]
        s.expect_values(s.call(operator, s.tensor(x), *given, **keywords), want(x), dtype=dtype)

    return example


def _moved(s: Session, dtype: str) -> None:
    x = _array(dtype, 2, 3)
    s.expect_values(s.call("to.device", s.tensor(x), s.backend.device), x, dtype=dtype)


def _indexed(s: Session, dtype: str) -> None:
    x, rows = _array(dtype, 2, 3), s.tensor([1, 0, 1], "int64")
    s.expect_values(s.call("index.Tensor", s.tensor(x), [rows]), x[[1, 0, 1]], dtype=dtype)


def _put(s: Session, dtype: str) -> None:
    x, rows, values = _array(dtype, 2, 3), s.tensor([1], "int64"), np.ones((1, 3), numpy_dtype(dtype))
    want = x.copy()
    want[1] = 1
    s.expect_values(s.call("index_put", s.tensor(x), [rows], s.tensor(values)), want, dtype=dtype)


def _viewed(s: Session, dtype: str) -> None:
    x = _array(dtype, 2, 3)
    s.expect_values(s.call("view.dtype", s.tensor(x), DType(dtype)), x, dtype=dtype)


def _joined(operator: str) -> Example:
    """Pairs of numbers as complex ones."""

    def example(s: Session, dtype: str) -> None:
        x = _array(dtype, 3, 2)
        wide = x.astype(np.float64)
        joined = {"float64": "complex128", "float32": "complex64"}.get(dtype, "complex32")
        result = s.call(operator, s.tensor(x))
        if joined == "complex32":
            s.expect_dtype(result, joined)
        else:
            s.expect_values(result, (wide[:, 0] + 1j * wide[:, 1]).astype(joined), dtype=joined)

    return example


def _normalized(s: Session, dtype: str) -> None:
    """Groups of two equal numbers each side of their mean."""
    x = np.array([[[1.0, 3.0], [5.0, 7.0]]], numpy_dtype(dtype))
    given = [s.tensor(x), None, None, 1, 2, 2, 2, 0.0]
    y, mean, factor = s.parts(s.call("native_group_norm", *given), 3)
    s.expect_values(y, np.array([[[-1.0, 1.0], [-1.0, 1.0]]], numpy_dtype(dtype)), ulp=4)
    s.expect_shape(mean, (1, 2))
    s.expect_shape(factor, (1, 2))


def _contracted(s: Session, dtype: str) -> None:
    x, y = _array(dtype, 2, 3), _array(dtype, 3, 2)
    want = x.astype(np.complex128) @ y.astype(np.complex128)
    exact = (want.real if numpy_dtype(dtype).kind != "c" else want).astype(numpy_dtype(dtype))
    s.expect_values(s.call("tensordot", s.tensor(x), s.tensor(y), [1], [0]), exact, dtype=dtype)


def _scattered(s: Session, dtype: str) -> None:
    x, part = _array(dtype, 7), np.ones((2, 2), numpy_dtype(dtype))
    want = x.copy()
    want[[1, 2, 4, 5]] = 1
    result = s.call("as_strided_scatter", s.tensor(x), s.tensor(part), (2, 2), (3, 1), 1)
    s.expect_values(result, want, dtype=dtype)


def _resized_as(s: Session, dtype: str) -> None:
    x, like = _array(dtype, 2, 3), _array(dtype, 2, 2)
    want = x.reshape(-1)[:4].reshape(2, 2)
    s.expect_values(s.call("resize_as_", s.tensor(x), s.tensor(like)), want, dtype=dtype)


def _set(s: Session, dtype: str) -> None:
    x, source = _array(dtype, 2, 3), _array(dtype, 4)
    s.expect_values(s.call("set_.source_Tensor", s.tensor(x), s.tensor(source)), source, dtype=dtype)


EXAMPLES: dict[str, Example] = {
    "to.device": _moved,
    "index.Tensor": _indexed,
    "index_put": _put,
    "as_strided": _on_one("as_strided", np.transpose, (3, 2), (1, 3)),
    "as_strided_": _on_one("as_strided_", np.transpose, (3, 2), (1, 3)),
    "as_strided_copy": _on_one("as_strided_copy", np.transpose, (3, 2), (1, 3)),
    "as_strided_scatter": _scattered,
    "detach_": _on_one("detach_", np.asarray),
    "requires_grad_": _on_one("requires_grad_", np.asarray),
    "resize_": _on_one("resize_", lambda x: x.reshape(-1)[:4].reshape(2, 2), (2, 2)),
    "resize_as_": _resized_as,
    "set_.source_Tensor": _set,
    "native_group_norm": _normalized,
    "tensordot": _contracted,
    "view.dtype": _viewed,
    "view_as_complex": _joined("view_as_complex"),
    "view_as_complex_copy": _joined("view_as_complex_copy"),
}
