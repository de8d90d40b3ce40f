"""Which dtype a reduction gives, and the dtype argument."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, numpy_dtype
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.integers import wrap
from ..oracles.reductions import integer_sum
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import ALL, COMPLEX, FLOATING, INTEGRAL

_UNTOLD = NoReproducer("any of several equal elements may be named")

_INTS = ("bool", *INTEGRAL)
_SUMS = ("sum", "prod", "sum.dim_IntList", "prod.dim_int", "cumsum", "cumprod")
_REAL = (*FLOATING, *_INTS)


def _reduce(s: Session, operator: str, x: Handle, **kwargs: object) -> Handle:
    """Any of the reductions, along dim 0 where it wants one."""
    arguments = {"sum.dim_IntList": ([0],), "mean.dim": ([0],), "prod.dim_int": (0,), "cumsum": (0,), "cumprod": (0,),
                 "any.dim": (0,), "all.dim": (0,), "amax": ([0],), "amin": ([0],)}  # fmt: skip
    result: Handle = s.call(operator, x, *arguments.get(operator, ()), **kwargs)
    return result


@requirement("dtypes/integer-sums-are-int64")
def test_sums_table(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        want = "int64" if dtype in _INTS else dtype
        x = s.tensor([1, 0, 1], dtype)
        total = (
            {"s": 2, "p": 0}[operator[0]] if "cum" not in operator else [1, 1, 2] if "sum" in operator else [1, 0, 0]
        )
        s.expect_values(_reduce(s, operator, x), total, dtype=want, signed_zero=False)

    s.table([(o, d) for o in _SUMS for d in ALL], body)
    x = s.tensor([200, 100], "uint8")
    s.expect_values(s.call("sum", x), 300, dtype="int64")
    s.expect_values(s.call("cumsum", x, 0), [200, 300], dtype="int64")
    s.expect_values(s.call("prod", x), 20000, dtype="int64")
    s.expect_values(s.call("sum", s.tensor([True, True, False], "bool")), 2, dtype="int64")
    s.expect_values(s.call("sum", s.tensor(np.zeros((0,), np.int8))), 0, dtype="int64")
    s.expect_values(s.call("sum", s.tensor(np.zeros((0,), np.float64))), 0.0, dtype="float64")


@requirement("dtypes/integer-sums-are-int64")
@forall(x=st.tensors(_INTS, long=True), running=hs.booleans())
def test_sums(s: Session, x: TensorCase, running: bool) -> None:
    values = x.array
    if running and x.sizes:
        with np.errstate(all="ignore"):
            want = np.cumsum(values.astype(np.int64), axis=-1, dtype=np.int64)
        s.expect_values(s.call("cumsum", s.build(x), -1), want)
    else:
        s.expect_values(s.call("sum", s.build(x)), integer_sum(values.reshape(-1).tolist()), dtype="int64")


@requirement("dtypes/integer-means-raise")
def test_means_raise(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        s.expect_raises(RuntimeError, operator, s.tensor([1, 0, 1], dtype))

    s.table([(o, d) for o in ("mean", "std", "var", "norm") for d in _INTS], body)
    for dtype in _INTS:
        s.expect_raises(RuntimeError, "mean.dim", s.tensor([[1, 0], [1, 1]], dtype), [0])
        s.expect_values(s.call("mean", s.tensor([1, 0], dtype), dtype=DType("float64")), 0.5, dtype="float64")
    for dtype in ("float32", "float64"):
        s.expect_values(s.call("mean", s.tensor([1, 2], dtype)), 1.5, dtype=dtype)
        s.expect_values(s.call("var", s.tensor([1, 3], dtype)), 2.0, dtype=dtype)


@requirement("dtypes/any-and-all-give-bool")
def test_any_and_all_table(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        want = "uint8" if dtype == "uint8" else "bool"
        x = s.tensor([[1, 0], [1, 1]], dtype)
        s.expect_values(s.call("any", x), 1, dtype=want)
        s.expect_values(s.call("all", x), 0, dtype=want)
        s.expect_values(s.call("any.dim", x, 0), [1, 1], dtype=want)
        s.expect_values(s.call("all.dim", x, 0), [1, 0], dtype=want)
        empty = s.tensor(np.zeros((0,), numpy_dtype(dtype)))
        s.expect_values(s.call("any", empty), 0, dtype=want)
        s.expect_values(s.call("all", empty), 1, dtype=want)

    s.table(ALL, body)
    x = s.tensor([2, 3], "uint8")
    s.expect_values(s.call("all", x), 1, dtype="uint8")
    s.expect_values(s.call("any", s.tensor([0.0, float("nan")])), True, dtype="bool")
    s.expect_values(s.call("any", s.tensor([0.0, -0.0])), False, dtype="bool")
    for dtype in ("float16", "bfloat16", "float32", "float64", "complex64"):
        for count in (1, 8, 33):
            special = s.tensor([float("nan"), float("-inf"), 1e-7] * count, dtype)
            s.expect_values(s.call("all", special), True, dtype="bool")
            s.expect_values(s.call("all", s.call("cat", [special, s.tensor([-0.0], dtype)])), False, dtype="bool")


@requirement("dtypes/any-and-all-give-bool")
def test_imaginary_numbers_are_true(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        x = s.tensor([2j, -1j], dtype)
        s.expect_values(s.call("any", x), True, dtype="bool")
        s.expect_values(s.call("all", x), True, dtype="bool")
        s.expect_values(s.call("all.dim", x, 0), True, dtype="bool")

    s.table(COMPLEX, body)


@requirement("dtypes/any-and-all-give-bool")
@forall(x=st.tensors(), operator=hs.sampled_from(["any", "all"]), dim=hs.integers(-1, 3))
def test_any_and_all(s: Session, x: TensorCase, operator: str, dim: int) -> None:
    truth = x.array != 0
    kind = numpy_dtype("uint8" if x.dtype == "uint8" else "bool")
    t = s.build(x)
    if dim < 0 or not x.sizes:
        s.expect_values(s.call(operator, t), np.asarray(getattr(truth, operator)()).astype(kind))
    else:
        axis = dim % len(x.sizes)
        s.expect_values(
            s.call(f"{operator}.dim", t, axis), np.asarray(getattr(truth, operator)(axis=axis)).astype(kind)
        )


@requirement("dtypes/index-reductions-give-int64")
def test_index_table(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        x = s.tensor([1, 0, 1, 1], dtype)
        s.expect_values(s.call("count_nonzero", x), 3, dtype="int64")
        if dtype in COMPLEX:
            return
        for operator, want in (("amax", 1), ("amin", 0)):
            s.expect_values(_reduce(s, operator, x), want, dtype=dtype)
        s.expect_values(s.call("max", x), 1, dtype=dtype)
        s.expect_values(s.call("min", x), 0, dtype=dtype)
        values, indices = s.call("max.dim", x, 0)
        s.expect_values(values, 1, dtype=dtype)
        s.expect_dtype(indices, "int64")
        if dtype != "bool":
            s.expect_dtype(s.call("argmax", x), "int64")
            s.expect_values(s.call("argmin", x), 1, dtype="int64")

    s.table(ALL, body)


@requirement("dtypes/index-reductions-give-int64")
@forall(
    x=st.tensors(INTEGRAL, empty=False), operator=hs.sampled_from(["amax", "amin", "argmax", "argmin", "count_nonzero"])
)
def test_index_reductions(s: Session, x: TensorCase, operator: str) -> None:
    flat = x.array.reshape(-1)
    y = s.call(operator, s.build(x))
    if operator == "count_nonzero":
        s.expect_values(y, int((flat != 0).sum()), dtype="int64")
    elif "arg" in operator:
        s.expect_dtype(y, "int64")
        if s.has_data:
            want = getattr(flat, operator[3:])()
            s.expect(bool(flat[int(s.read(y))] == want), True, f"{operator}() names an extreme element", _UNTOLD)
    else:
        s.expect_values(y, np.asarray(getattr(flat, operator[1:])(), dtype=flat.dtype))


@requirement("dtypes/dtype-argument-casts-before-reducing")
def test_dtype_golden(s: Session) -> None:
    x = s.tensor([1.7, 1.7])
    s.expect_values(s.call("sum", x, dtype=DType("int64")), 2, dtype="int64")
    s.expect_values(s.call("sum", x, dtype=DType("int32")), 2, dtype="int32")
    s.expect_values(s.call("sum.dim_IntList", x, [0], dtype=DType("int64")), 2, dtype="int64")
    s.expect_values(s.call("cumsum", x, 0, dtype=DType("int64")), [1, 2], dtype="int64")
    s.expect_values(s.call("prod", s.tensor([2.9, 2.9]), dtype=DType("int64")), 4, dtype="int64")
    s.expect_values(s.call("sum", s.tensor([200, 100], "int64"), dtype=DType("int8")), 44, dtype="int8")
    s.expect_values(s.call("sum", s.tensor([2, 3], "int64"), dtype=DType("bool")), True, dtype="bool")
    s.expect_values(s.call("mean", s.tensor([1, 2], "int64"), dtype=DType("float32")), 1.5, dtype="float32")
    s.expect_values(
        s.call("sum", s.tensor([60000, 60000], "float32"), dtype=DType("float64")), 120000.0, dtype="float64"
    )
    s.expect_values(
        s.call("sum", s.tensor([60000, 60000], "float16"), dtype=DType("float32")), 120000.0, dtype="float32"
    )


@requirement("dtypes/dtype-argument-casts-before-reducing")
@forall(
    x=st.tensors(_REAL, kind="small"),
    dtype=st.dtypes(*INTEGRAL, "float32", "float64"),
    scale=hs.sampled_from([1.0, 0.7, 1.7]),
    operator=hs.sampled_from(["sum", "prod", "cumsum"]),
)
def test_dtype_argument(s: Session, x: TensorCase, dtype: str, scale: float, operator: str) -> None:
    """Small numbers: every partial result is exact in float32, or wraps."""
    if x.dtype in FLOATING and dtype in INTEGRAL:
        scaled = (x.contents.astype(np.float64) * scale).astype(x.contents.dtype)
        if dtype == "uint8":
            scaled = np.abs(scaled)
        x = TensorCase(x.dtype, x.sizes, x.strides, x.offset, x.storage, literal=tuple(scaled.tolist()))
    if operator == "prod" or (operator == "cumsum" and not x.sizes):
        operator = "sum" if x.numel > 3 else "prod"
    kind = numpy_dtype(dtype)
    values = cast(x.array, dtype)
    with np.errstate(all="ignore"):
        if operator == "cumsum":
            want = np.cumsum(values, axis=0, dtype=kind)
        else:
            flat = values.reshape(-1).tolist()
            exact = (
                sum(flat)
                if operator == "sum"
                else float(np.prod(flat))
                if dtype in FLOATING
                else int(np.prod(flat, dtype=object))
            )
            want = np.array(wrap(int(exact), kind) if dtype in INTEGRAL else exact, dtype=kind)
    arguments = (0,) if operator == "cumsum" else ()
    y = s.call(operator, s.build(x), *arguments, dtype=DType(dtype))
    s.expect_values(y, want, signed_zero=False)
