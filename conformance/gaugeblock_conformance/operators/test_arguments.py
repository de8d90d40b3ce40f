"""How arguments are parsed: number, names, types, sizes, keywords of array libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..requirement import requirement
from ..session import Handle, Session

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def _wrong(x: Handle) -> list[tuple[Call, tuple[str, ...]]]:
    """Calls with wrong arguments, and what the message must contain."""
    return [
        (("add.Tensor", (x,), {}), ("add",)),
        (("add.Tensor", (x, 1, 1, 1), {}), ("add",)),
        (("add.Tensor", (x, x), {"beta": 2}), ("add", "beta")),
        (("add.Tensor", ("a", 1), {}), ("add", "input|self")),
        (("add.Tensor", (x, x), {"other": x}), ("add",)),
        (("transpose.int", (x, 0), {}), ("transpose",)),
        (("transpose.int", (x, "0", 1), {}), ("transpose", "dim0")),
        (("cat", (), {}), ("cat",)),
        (("gather", (x, 0), {}), ("gather",)),
        (("sum", (x,), {"keepdimension": True}), ("sum",)),
        (("index_select", (x, 0, 0), {}), ("index_select", "index")),
        (("masked_fill.Scalar", (x, 1, 1.0), {}), ("masked_fill",)),
        (("topk", (x, "2"), {}), ("topk",)),
        (("cumsum", (x, 0, 0), {}), ("cumsum",)),
        (("clamp", (x,), {"minimum": 0}), ("clamp", "minimum")),
        (("where.self", (x, x, x, x), {}), ("where",)),
        (("matmul", (x, None), {}), ("matmul", "other")),
        (("sin", (x, x), {}), ("sin",)),
        (("sin", (), {}), ("sin",)),
        (("softmax.int", (x, "0"), {}), ("softmax",)),
    ]


@requirement("operators/wrong-arguments-raise-type-errors")
def test_wrong_arguments(s: Session) -> None:
    for place in range(len(_wrong(s.tensor([1.0])))):
        s.begin()
        operator, args, kwargs = _wrong(s.tensor([[1.0, 2.0], [3.0, 4.0]]))[place][0]
        s.expect_raises(TypeError, operator, *args, **kwargs)


@requirement("operators/type-errors-name-the-function")
def test_names_in_messages(s: Session) -> None:
    for place in range(len(_wrong(s.tensor([1.0])))):
        s.begin()
        (operator, args, kwargs), words = _wrong(s.tensor([[1.0, 2.0], [3.0, 4.0]]))[place]
        for word in words:
            s.expect_raises(TypeError, operator, *args, match=word, **kwargs)


@requirement("operators/overload-follows-the-types")
def test_overloads(s: Session) -> None:
    x, y = s.tensor([1, 2, 3], "int64"), s.tensor([2, 0, 1], "int64")
    s.expect_values(s.call("pow.Tensor_Scalar", x, 2), [1, 4, 9], dtype="int64")
    s.expect_values(s.call("pow.Tensor_Tensor", x, y), [1, 1, 3], dtype="int64")
    s.expect_values(s.call("pow.Scalar", 2, y), [4, 1, 2], dtype="int64")
    s.expect_values(s.call("sum", x), 6, dtype="int64")
    s.expect_values(s.call("sum.dim_IntList", x, [0], True), [6], dtype="int64")
    s.expect_values(s.call("max", x), 3, dtype="int64")
    s.expect_values(s.call("max.other", x, y), [2, 2, 3], dtype="int64")
    values, places = s.parts(s.call("max.dim", x, 0), 2)
    s.expect_values(values, 3, dtype="int64")
    s.expect_values(places, 2, dtype="int64")
    s.expect_values(s.call("eq.Scalar", x, 2), [False, True, False], dtype="bool")
    s.expect_values(s.call("eq.Tensor", x, s.tensor(2, "int64")), [False, True, False], dtype="bool")


@requirement("operators/sizes-come-in-any-form")
def test_sizes(s: Session) -> None:
    x = s.tensor(np.arange(6, dtype=np.int64))
    for sizes in (((2, 3),), ([2, 3],), (2, 3)):
        s.expect_values(s.call("view", x, *sizes), [[0, 1, 2], [3, 4, 5]], dtype="int64")
        s.expect_shape(s.call("zeros", *sizes), (2, 3))
        s.expect_shape(s.call("expand", s.tensor([1.0]), *sizes), (2, 3))
        s.expect_shape(s.call("repeat", s.tensor([1.0]), *sizes), (2, 3))
    y = s.call("view", x, (1, 2, 3))
    for dims in (((2, 0, 1),), ([2, 0, 1],), (2, 0, 1)):
        s.expect_shape(s.call("permute", y, *dims) if len(dims) == 1 else s.call("permute", y, list(dims)), (3, 1, 2))
    s.expect_shape(s.call("zeros", ()), ())
    s.expect_shape(s.call("ones", 4), (4,))


def _with_numbers(x: Handle) -> list[Call]:
    """Calls with a place for one whole number, marked by None."""
    return [
        ("transpose.int", (x, None, 1), {}),
        ("select.int", (x, None, 0), {}),
        ("select.int", (x, 0, None), {}),
        ("unsqueeze", (x, None), {}),
        ("narrow", (x, None, 0, 1), {}),
        ("cumsum", (x, None), {}),
        ("gather", (x, None, x), {}),
        ("softmax.int", (x, None), {}),
        ("zeros", (None,), {}),
        ("zeros", ((None, 2),), {}),
        ("flip", (x, (None,)), {}),
        ("topk", (x, None), {}),
        ("eye", (None,), {}),
        ("roll", (x, None), {}),
        ("unbind.int", (x, None), {}),
        ("argsort", (x, None), {}),
    ]


@requirement("operators/whole-number-parameters-refuse-floats-and-bools")
def test_numbers_that_are_not_whole(s: Session) -> None:
    def filled(value: Any, given: Any) -> Any:
        return tuple(filled(value, v) for v in given) if isinstance(given, tuple) else value if given is None else given

    for place in range(len(_with_numbers(s.tensor([1.0])))):
        for value in (1.0, 0.5, True, "1"):
            s.begin()
            operator, args, kwargs = _with_numbers(s.tensor(np.zeros((2, 2), np.int64)))[place]
            s.expect_raises(TypeError, operator, *filled(value, args), **kwargs)


@requirement("operators/whole-number-parameters-refuse-floats-and-bools")
def test_tensors_and_numpy_numbers_as_whole_numbers(s: Session) -> None:
    x = s.tensor(np.arange(6, dtype=np.int64).reshape(2, 3))
    for one in (s.tensor(1, "int64"), s.tensor(1, "int32"), np.int64(1), np.int32(1)):
        s.expect_shape(s.call("transpose.int", x, 0, one), (3, 2))
        s.expect_values(s.call("select.int", x, 0, one), [3, 4, 5], dtype="int64")
        s.expect_values(s.call("cumsum", x, one), [[0, 1, 3], [3, 7, 12]], dtype="int64")
        s.expect_shape(s.call("zeros", (one, 2)), (1, 2))
    for other in (s.tensor(1.0), s.tensor([1, 0], "int64")):
        s.expect_raises(TypeError, "transpose.int", x, 0, other)


@requirement("operators/float-parameters-take-whole-numbers")
def test_whole_numbers_as_floats(s: Session) -> None:
    x, y = s.tensor([1.0]), s.tensor([1.5])
    for rtol, want in ((1, True), (True, True), (0, False), (False, False), (1.0, True)):
        s.expect(s.call("allclose", x, y, rtol=rtol), want, f"allclose with rtol={rtol!r}")
    s.expect_raises(TypeError, "allclose", x, y, rtol="1")
    s.expect_values(s.call("nan_to_num", s.tensor([float("nan"), 1.0]), 2), [2.0, 1.0])
    s.expect_values(s.call("sum", s.tensor([1.0, 2.0])), 3.0)


@requirement("operators/array-library-keywords-are-aliases")
def test_keywords_of_array_libraries(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for operator in ("sum.dim_IntList", "mean.dim", "cumsum", "argmax", "softmax.int", "amax", "var.dim"):
        like = s.call(operator, x, dim=0)
        alias = s.call(operator, x, axis=0)
        s.expect_shape(alias, tuple(s.observe("shape", like)))
        if s.has_data:
            s.expect_agreement(alias, like)
    s.expect_values(s.call("sum.dim_IntList", x, axis=1, keepdims=True), [[6.0], [15.0]])
    s.expect_values(s.call("mean.dim", x, dim=1, keepdims=True), [[2.0], [5.0]])
    s.expect_values(s.call("cat", [x, x], axis=1), np.tile(np.arange(1, 7, dtype=np.float32).reshape(2, 3), 2))
    s.expect_values(s.call("neg", x=s.tensor([1.0])), [-1.0])
    pairs: tuple[dict[str, Any], ...] = ({"dim": 0, "axis": 0}, {"dim": 0, "keepdim": True, "keepdims": True})
    for twice in pairs:
        s.expect_raises(TypeError, "sum.dim_IntList", x, **twice)
    s.expect_raises(TypeError, "neg", x, x=x)
