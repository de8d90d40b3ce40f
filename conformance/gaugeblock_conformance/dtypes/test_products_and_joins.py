"""Matrix products, which do not promote, and cat, stack and where, which do."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.integers import wrap
from ..oracles.promotion import CORE, common, result_type
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import INTEGRAL

_PRODUCTS = ("mm", "bmm", "dot", "addmm", "matmul", "__matmul__")


def _operands(s: Session, operator: str, left: str, right: str) -> list[Handle]:
    if operator == "dot":
        return [s.tensor([1, 2], left), s.tensor([3, 4], right)]
    if operator == "bmm":
        return [s.tensor([[[1, 2], [3, 4]]], left), s.tensor([[[1, 0], [0, 1]]], right)]
    pair = [s.tensor([[1, 2], [3, 4]], left), s.tensor([[1, 0], [0, 1]], right)]
    return [s.tensor([[0, 0], [0, 0]], left), *pair] if operator == "addmm" else pair


@requirement("dtypes/matmul-needs-equal-dtypes")
def test_products_refuse_mixtures(s: Session) -> None:
    def body(s: Session, operator: str, left: str, right: str) -> None:
        s.expect_raises(RuntimeError, operator, *_operands(s, operator, left, right))

    mixtures = [("float32", "float64"), ("int64", "float32"), ("int32", "int64"), ("float16", "float32"),
                ("float32", "complex64"), ("bfloat16", "float16"), ("uint8", "int8")]  # fmt: skip
    s.table([(o, *m) for o in _PRODUCTS for pair in mixtures for m in (pair, pair[::-1])], body)

    def equal(s: Session, operator: str, dtype: str) -> None:
        y = s.call(operator, *_operands(s, operator, dtype, dtype))
        want = {"dot": 11, "bmm": [[[1, 2], [3, 4]]]}.get(operator, [[1, 2], [3, 4]])
        s.expect_values(y, want, dtype=dtype)

    s.table([(o, d) for o in _PRODUCTS for d in ("float32", "int64", "float64", "uint8", "complex64")], equal)
    zeros = s.tensor([[0, 0], [0, 0]], "float64")
    s.expect_raises(RuntimeError, "addmm", zeros, *_operands(s, "mm", "float32", "float32"))


@requirement("dtypes/matmul-needs-equal-dtypes")
@forall(left=st.dtypes(*CORE[1:]), right=st.dtypes(*CORE[1:]), operator=hs.sampled_from(_PRODUCTS), weight=0.3)
def test_any_pair(s: Session, left: str, right: str, operator: str) -> None:
    operands = _operands(s, operator, left, right)
    if left == right:
        s.expect_dtype(s.call(operator, *operands), left)
    else:
        s.expect_raises(RuntimeError, operator, *operands)


@requirement("dtypes/cat-stack-and-where-promote")
def test_joins_golden(s: Session) -> None:
    ints, floats = s.tensor([1, 2], "int64"), s.tensor([0.5], "float32")
    s.expect_values(s.call("cat", [ints, floats]), [1.0, 2.0, 0.5])
    s.expect_values(s.call("cat", [s.tensor([200], "uint8"), s.tensor([-1], "int8")]), [200, -1], dtype="int16")
    s.expect_values(s.call("stack", [s.tensor([1], "int8"), s.tensor([True], "bool")]), [[1], [1]], dtype="int8")
    s.expect_values(s.call("stack", [s.tensor(1, "int8"), s.tensor(0.5, "float64")]), [1.0, 0.5], dtype="float64")
    condition = s.tensor([True, False], "bool")
    s.expect_values(s.call("where.self", condition, ints, floats), [1.0, 0.5])
    s.expect_values(s.call("where.self", condition, ints, s.tensor(0.5, "float64")), [1.0, 0.5], dtype="float64")
    s.expect_values(s.call("where.self", condition, floats, s.tensor(2, "int64")), [0.5, 2.0])


@requirement("dtypes/cat-stack-and-where-promote")
def test_joins_of_tensors_without_dims(s: Session) -> None:
    """A tensor without dims is given some, and counts like the others."""

    def row(s: Session, operator: str) -> None:
        s.expect_dtype(s.call(operator, [s.tensor([1], "int8"), s.tensor([0.5], "float32")]), "float32")
        s.expect_dtype(s.call(operator, [s.tensor([1.0], "float32"), s.tensor(0.5, "float64")]), "float64")

    s.table([("hstack",), ("vstack",), ("dstack",), ("column_stack",)], row)


@requirement("dtypes/cat-stack-and-where-promote")
@forall(
    names=hs.lists(hs.sampled_from(CORE), min_size=1, max_size=4), data=hs.data(), stacked=hs.booleans(), weight=0.5
)
def test_joins(s: Session, names: list[str], data: hs.DataObject, stacked: bool) -> None:
    lengths = [3] * len(names) if stacked else data.draw(hs.lists(hs.integers(0, 4), min_size=4, max_size=4))
    cases = [
        data.draw(st.tensors(name, sizes=(length, 2), kind="small"))
        for name, length in zip(names, lengths, strict=False)
    ]
    want = common(*names)
    parts = [cast(c.array, want) for c in cases]
    y = s.call("stack" if stacked else "cat", [s.build(c) for c in cases], 0)
    s.expect_values(y, np.stack(parts) if stacked else np.concatenate(parts))


@requirement("dtypes/cat-stack-and-where-promote")
@forall(xs=st.operands(2, max_dims=3), seed=hs.integers(0, 2**16))
def test_where(s: Session, xs: tuple[TensorCase, TensorCase], seed: int) -> None:
    dims, dimless = [c.dtype for c in xs if c.sizes], [c.dtype for c in xs if not c.sizes]
    try:
        dtype = result_type(dims, dimless)
    except KeyError:
        return
    a, b = (cast(c.array, dtype) for c in xs)
    condition = np.random.default_rng(seed).integers(0, 2, np.broadcast_shapes(a.shape, b.shape)).astype(bool)
    y = s.call("where.self", s.tensor(condition), *(s.build(c) for c in xs))
    s.expect_values(y, np.where(condition, a, b))


@requirement("dtypes/integer-matmul-wraps")
def test_integer_products_golden(s: Session) -> None:
    x = s.tensor(np.full((4, 4), 100), "int8")
    s.expect_values(s.call("mm", x, x), [[64] * 4] * 4, dtype="int8")
    s.expect_values(s.call("__matmul__", x, x), [[64] * 4] * 4, dtype="int8")
    v = s.tensor([2**31 - 1, 2**31 - 1], "int32")
    s.expect_values(s.call("dot", v, v), 2, dtype="int32")
    s.expect_values(s.call("mv", s.tensor([[255, 255]], "uint8"), s.tensor([255, 1], "uint8")), [0], dtype="uint8")
    big = s.tensor([2**40, 1], "int64")
    s.expect_values(s.call("dot", big, big), wrap(2**80 + 1, np.dtype(np.int64)), dtype="int64")


@requirement("dtypes/integer-matmul-wraps")
@forall(
    dtype=st.dtypes(*INTEGRAL),
    n=hs.sampled_from([1, 2, 3, 5, 0]),
    k=hs.sampled_from([1, 2, 4, 7, 16, 33, 0]),
    m=hs.sampled_from([1, 2, 3, 9]),
    data=hs.data(),
    operator=hs.sampled_from(["mm", "matmul", "mv", "dot", "bmm"]),
    weight=0.5,
)
def test_integer_products(s: Session, dtype: str, n: int, k: int, m: int, data: hs.DataObject, operator: str) -> None:
    shapes = {"mv": ((n, k), (k,)), "dot": ((k,), (k,)), "bmm": ((2, n, k), (2, k, m))}.get(operator, ((n, k), (k, m)))
    x, y = (data.draw(st.tensors(dtype, sizes=sizes)) for sizes in shapes)
    exact = np.matmul(x.array.astype(object), y.array.astype(object)) if k else np.zeros(
        np.matmul(np.zeros(shapes[0]), np.zeros(shapes[1])).shape, object)  # fmt: skip
    kind = numpy_dtype(dtype)
    flat = [wrap(int(v), kind) for v in np.asarray(exact, dtype=object).reshape(-1)]
    want = np.array(flat, dtype=kind).reshape(np.shape(exact))
    s.expect_values(s.call(operator, s.build(x), s.build(y)), want)
