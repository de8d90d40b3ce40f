"""Literal results of operators on places, order and arrangement, so small that a fault is seen at a glance."""

from __future__ import annotations

from typing import Any

from ..backend import DType
from ..requirement import requirement
from ..session import Session


@requirement("operators/every-operator-gives-what-its-row-says")
def test_places(s: Session) -> None:
    x = s.tensor([[1, 2, 3], [4, 5, 6]], "int64")
    s.expect_values(s.call("index_select", x, 1, s.tensor([2, 0, 0], "int64")), [[3, 1, 1], [6, 4, 4]], dtype="int64")
    picked = s.call("gather", x, 1, s.tensor([[2, 0], [1, 1]], "int64"))
    s.expect_values(picked, [[3, 1], [5, 5]], dtype="int64")
    s.expect_values(s.call("take", x, s.tensor([5, 0, -1], "int64")), [6, 1, 6], dtype="int64")
    mask = s.tensor([[False, True, True], [True, False, False]], "bool")
    s.expect_values(s.call("masked_select", x, mask), [2, 3, 4], dtype="int64")
    s.expect_values(s.call("masked_select", s.call("t", x), s.call("t", mask)), [4, 2, 3], dtype="int64")
    source = s.tensor([7, 8, 9, 0, 0, 0], "int64")
    s.expect_values(s.call("masked_scatter", x, mask, source), [[1, 7, 8], [9, 5, 6]], dtype="int64")
    s.expect_values(s.call("index_copy", x, 0, s.tensor([1], "int64"), s.tensor([[7, 8, 9]], "int64")),
                    [[1, 2, 3], [7, 8, 9]], dtype="int64")  # fmt: skip


@requirement("operators/every-operator-gives-what-its-row-says")
def test_order(s: Session) -> None:
    x = s.tensor([1, 3, 3, 2, 3, 0], "int64")
    rows: tuple[tuple[str, tuple[Any, ...], dict[str, Any], list[int], list[int]], ...] = (
        ("cummax", (0,), {}, [1, 3, 3, 3, 3, 3], [0, 1, 2, 2, 4, 4]),
        ("cummin", (0,), {}, [1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 5]),
        ("sort.stable", (), {"stable": True}, [0, 1, 2, 3, 3, 3], [5, 0, 3, 1, 2, 4]),
        ("sort.stable", (), {"stable": True, "descending": True}, [3, 3, 3, 2, 1, 0], [1, 2, 4, 3, 0, 5]),
    )
    for operator, args, kwargs, values, places in rows:
        got = s.parts(s.call(operator, x, *args, **kwargs), 2)
        s.expect_values(got[0], values, dtype="int64")
        s.expect_values(got[1], places, dtype="int64")
    s.expect_values(s.parts(s.call("topk", x, 4), 2)[0], [3, 3, 3, 2], dtype="int64")
    s.expect_values(s.parts(s.call("kthvalue", x, 3), 2)[0], 2, dtype="int64")
    edges = s.tensor([1, 3, 3, 5], "int64")
    s.expect_values(s.call("searchsorted.Tensor", edges, s.tensor([3, 0, 9], "int64")), [1, 0, 4], dtype="int64")
    right = s.call("searchsorted.Tensor", edges, s.tensor([3, 1], "int64"), right=True)
    s.expect_values(right, [3, 1], dtype="int64")


@requirement("operators/every-operator-gives-what-its-row-says")
def test_copies_of_views(s: Session) -> None:
    x = s.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    shown = s.call("as_strided_copy", x, (2, 2), (2, 3))
    s.expect_values(shown, [[0.0, 3.0], [2.0, 5.0]])
    s.expect_fresh(shown, x)
    part = s.tensor([[10.0, 20.0], [30.0, 40.0]])
    s.expect_values(s.call("as_strided_scatter", x, part, (2, 2), (2, 3)), [10.0, 1.0, 30.0, 20.0, 4.0, 40.0])
    pairs = s.call("view_as_complex_copy", part)
    s.expect_values(pairs, [10 + 20j, 30 + 40j], dtype="complex64")
    s.expect_fresh(pairs, part)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_quantiles_of_nan(s: Session) -> None:
    x, nan = s.tensor([1.0, float("nan"), 3.0]), float("nan")
    s.expect_values(s.call("quantile.scalar", x, 0.5), nan)
    s.expect_values(s.call("quantile", x, s.tensor([0.0, 1.0])), [nan, nan])
    s.expect_values(s.call("nanquantile.scalar", x, 0.5), 2.0)
    s.expect_values(s.call("nanquantile", x, s.tensor([0.0, 1.0])), [1.0, 3.0])


@requirement("operators/every-operator-gives-what-its-row-says")
def test_tensordot(s: Session) -> None:
    x = s.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    y = s.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    s.expect_values(s.call("tensordot", x, y, dims=([0, 1], [1, 0])), 50.0)
    s.expect_values(s.call("tensordot", x, y, dims=1), [[10.0, 13.0], [28.0, 40.0]])
    outer = s.call("tensordot", x, y, dims=([0], [1]))
    s.expect_values(outer, [[3.0, 9.0, 15.0], [4.0, 14.0, 24.0], [5.0, 19.0, 33.0]])


@requirement("operators/every-operator-gives-what-its-row-says")
def test_to_a_device(s: Session) -> None:
    moved = s.call("to.device", s.tensor([1.5, 2.0]), s.backend.device, DType("float64"))
    s.expect_values(moved, [1.5, 2.0], dtype="float64")


@requirement("operators/every-operator-gives-what-its-row-says")
def test_arrangement(s: Session) -> None:
    x = s.tensor([[1, 2], [3, 4]], "int64")
    s.expect_values(s.call("roll", x, 1, 1), [[2, 1], [4, 3]], dtype="int64")
    s.expect_values(s.call("roll", x, 1), [[4, 1], [2, 3]], dtype="int64")
    s.expect_values(s.call("rot90", x, 1, (0, 1)), [[2, 4], [1, 3]], dtype="int64")
    s.expect_values(s.call("flip", x, (0, 1)), [[4, 3], [2, 1]], dtype="int64")
    s.expect_values(s.call("tril", x, -1), [[0, 0], [3, 0]], dtype="int64")
    s.expect_values(s.call("repeat_interleave.self_int", x, 2), [1, 1, 2, 2, 3, 3, 4, 4], dtype="int64")
    s.expect_values(s.call("tile", s.tensor([1, 2], "int64"), (2,)), [1, 2, 1, 2], dtype="int64")
    rows, _ = s.parts(s.call("meshgrid.indexing", [s.tensor([1, 2], "int64"), s.tensor([3, 4, 5], "int64")],
                             indexing="ij"), 2)  # fmt: skip
    s.expect_values(rows, [[1, 1, 1], [2, 2, 2]], dtype="int64")
