"""Tensors with dims, tensors without and Python numbers: who decides the dtype."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.operators import Operator
from gaugeblock_spec.schema import parse
from hypothesis import strategies as hs

from ..backend import DType, Unsupported
from ..forall import forall
from ..oracles.pointwise import operators_with_oracle, result_dtype
from ..oracles.promotion import COMPLEX, CORE, FLOAT, KIND, result_type
from ..requirement import requirement
from ..session import Session
from .answers import default_dtype, expect_dtype_answer

_NUMBERS = (True, 5, 1.5, 2j)


def _complex_half(dtype: str, lower: int) -> bool:
    """float16 with a complex of lower rank: complex32 where there is one, which has a test of its own."""
    return dtype == "float16" and lower == COMPLEX


@requirement("dtypes/higher-kind-of-lower-rank-counts")
def test_golden(s: Session) -> None:
    rows = [
        ("float32", "float64", "float32"), ("int8", "int64", "int8"), ("float16", "float32", "float16"),
        ("float32", "int64", "float32"), ("uint8", "int8", "uint8"), ("int8", "bool", "int8"),
        ("complex64", "complex128", "complex64"), ("complex64", "float64", "complex64"),
    ]  # fmt: skip

    def body(s: Session, dims: str, dimless: str, want: str) -> None:
        x, y = s.tensor([1, 1], dims), s.tensor(1, dimless)
        s.expect_dtype(s.call("add.Tensor", x, y), want)
        s.expect_dtype(s.call("__add__", y, x), want)
        expect_dtype_answer(s, want, "result_type", x, y)

    s.table(rows, body)


@requirement("dtypes/higher-kind-of-lower-rank-counts")
def test_numbers_of_no_higher_kind(s: Session) -> None:
    numbers = (("int8", 1), ("uint8", True), ("int32", 7), ("float16", 2), ("bfloat16", True), ("float32", 2.5))
    for dtype, number in numbers:
        x = s.tensor([1, 1], dtype)
        s.expect_dtype(s.call("add.Scalar", x, number), dtype)
        s.expect_dtype(s.call("__mul__", x, number), dtype)


@requirement("dtypes/higher-kind-of-lower-rank-counts", "dtypes/lower-rank-result-dtype")
def test_tensor_without_dims_table(s: Session) -> None:
    def body(s: Session, dims: str, dimless: str) -> None:
        want = result_type([dims], [dimless])
        x, y = s.tensor([1, 0], dims), s.tensor(1, dimless)
        s.expect_values(s.call("mul.Tensor", x, y), [1, 0], dtype=want)
        s.expect_dtype(s.call("__mul__", y, x), want)
        expect_dtype_answer(s, want, "result_type", x, y)

    s.table([(a, b) for a in CORE for b in CORE if not _complex_half(a, KIND[b])], body)


@requirement("dtypes/higher-kind-of-lower-rank-counts", "dtypes/lower-rank-result-dtype")
def test_tensor_without_dims_in_every_operator(s: Session) -> None:
    """Every operator of two tensors that promotes, over an eighth of all pairs of dtypes; add over all."""

    def body(s: Session, name: str, dims: str, dimless: str) -> None:
        want = result_dtype(name, result_type([dims], [dimless]))
        x, y = s.tensor([1, 1], dims), s.tensor(1, dimless)
        s.expect_dtype(s.call(name, x, y), want)
        s.expect_dtype(s.call(name, y, x), want)

    rows = [operators.load()[name] for name in operators_with_oracle()]
    pairs = [(a, b) for a in CORE for b in CORE if not _complex_half(a, KIND[b])]
    chosen = [
        (row.name, a, b)
        for n, row in enumerate(filter(_promotes, rows))
        for k, (a, b) in enumerate(pairs)
        if (row.name == "add.Tensor" or (n + k + s.seed) % 8 == 0) and result_type([a], [b]) in row.dtypes
        if row.base_name not in ("sub", "rsub") or "bool" not in (a, b)
    ]
    s.table(chosen, body)


def _promotes(row: Operator) -> bool:
    tensors = [a.name for a in parse(str(row.schema)).arguments if a.default is None]
    return row.promotion in ("default", "int_to_float") and tensors == ["self", "other"] and not _own_rule(row.name)


def _own_rule(name: str) -> bool:
    """A number is no tensor; and ldexp takes its second operand as it is."""
    return "Scalar" in name or name.startswith("ldexp")


@requirement("dtypes/lower-rank-result-dtype")
def test_deciding_kind_golden(s: Session) -> None:
    rows = [
        ("int8", "float64", "float64"), ("int8", "float16", "float16"), ("bool", "int16", "int16"),
        ("int64", "bfloat16", "bfloat16"), ("bool", "complex128", "complex128"), ("int32", "complex64", "complex64"),
        ("float32", "complex128", "complex64"), ("float64", "complex64", "complex128"),
        ("bfloat16", "complex128", "complex64"),
    ]  # fmt: skip

    def body(s: Session, dims: str, dimless: str, want: str) -> None:
        s.expect_values(s.call("add.Tensor", s.tensor([1, 2], dims), s.tensor(0, dimless)), [1, 1 + (dims != "bool")],
                        dtype=want)  # fmt: skip

    s.table(rows, body)
    s.expect_dtype(s.call("add.Scalar", s.tensor([True], "bool"), 1), "int64")
    s.expect_dtype(s.call("add.Scalar", s.tensor([True], "bool"), 1.0), "float32")


@requirement("dtypes/higher-kind-of-lower-rank-counts")
@forall(
    dims=hs.lists(hs.sampled_from(CORE), max_size=2),
    dimless=hs.lists(hs.sampled_from(CORE), max_size=2),
    number=hs.sampled_from((None, *_NUMBERS)),
    default=hs.sampled_from(["float32", "float64"]),
    order=hs.permutations(range(3)),
)
def test_three_ranks(
    s: Session, dims: list[str], dimless: list[str], number: Any, default: str, order: list[int]
) -> None:
    """Operands are combined as a whole where an operator takes two: result_type of any pair of them."""
    operands: list[tuple[int, Any]] = [(0, d) for d in dims] + [(1, d) for d in dimless]
    if number is not None:
        operands.append((2, number))
    chosen = [operands[k] for k in order if k < len(operands)][:2]
    if not chosen or all(rank == 2 for rank, _ in chosen):
        return
    ranks: list[list[Any]] = [[value for rank, value in chosen if rank == k] for k in range(3)]
    try:
        want = result_type(ranks[0], ranks[1], ranks[2], default)
    except KeyError:
        return
    made = [s.tensor([1, 1], v) if k == 0 else s.tensor(1, v) if k == 1 else v for k, v in chosen]
    with default_dtype(s, default):
        if len(made) == 1:
            made *= 2
        expect_dtype_answer(s, want, "result_type", *made)


@requirement("dtypes/python-number-result-dtype")
def test_python_numbers_golden(s: Session) -> None:
    rows: list[tuple[str, Any, str]] = [
        ("int8", 5, "int8"), ("int8", 5.0, "float32"), ("int64", 1.5, "float32"), ("bool", 5, "int64"),
        ("bool", 1.5, "float32"), ("bool", True, "bool"), ("float16", 3, "float16"), ("float16", 1.5, "float16"),
        ("bfloat16", 2.0, "bfloat16"), ("float64", 1.5, "float64"), ("float32", 2j, "complex64"),
        ("float64", 2j, "complex128"), ("bfloat16", 2j, "complex64"), ("int32", 2j, "complex64"),
        ("bool", 2j, "complex64"), ("complex64", 1.5, "complex64"), ("complex128", 2j, "complex128"),
        ("uint8", True, "uint8"), ("float32", True, "float32"),
    ]  # fmt: skip

    def body(s: Session, dtype: str, number: Any, want: str) -> None:
        x = s.tensor([1, 0], dtype)
        s.expect_values(s.call("mul.Scalar", x, number), [number, 0], dtype=want, signed_zero=False)
        s.expect_dtype(s.call("__add__", x, number), want)
        s.expect_dtype(s.call("__radd__", x, number), want)
        expect_dtype_answer(s, want, "result_type", x, number)

    s.table(rows, body)


@requirement("dtypes/python-number-result-dtype", "dtypes/lower-rank-result-dtype")
def test_half_floats_and_complex_numbers_of_lower_rank(s: Session) -> None:
    """They meet in complex32, which a backend need not have: one that makes no such tensor is asked nothing."""
    try:
        _, missing = s.attempt("zeros", (2,), dtype=DType("complex32"))
    except Unsupported:
        return
    if missing is not None:
        return
    half = s.tensor([1, 0], "float16")
    for lower in (2j, s.tensor(1, "complex64"), s.tensor(1, "complex128")):
        s.expect_dtype(s.call("__mul__", half, lower), "complex32")
        expect_dtype_answer(s, "complex32", "result_type", half, lower)
    s.expect_dtype(s.call("add.Scalar", half, 1j), "complex32")


@requirement("dtypes/python-number-result-dtype")
def test_python_numbers_table(s: Session) -> None:
    def body(s: Session, dtype: str, number: Any, default: str, dimless: bool) -> None:
        want = result_type([] if dimless else [dtype], [dtype] if dimless else [], [number], default)
        with default_dtype(s, default):
            x = s.tensor(1, dtype) if dimless else s.tensor([1, 0], dtype)
            s.expect_dtype(s.call("add.Scalar", x, number), want)
            s.expect_dtype(s.call("__mul__", x, number), want)

    s.table(
        [
            (dtype, number, default, dimless)
            for dtype in CORE
            for number in _NUMBERS
            for default in ("float32", "float64")
            for dimless in (False, True)
            if not _complex_half(dtype, COMPLEX if isinstance(number, complex) else FLOAT)
        ],
        body,
    )


@requirement("dtypes/lower-rank-result-dtype")
def test_numbers_do_not_widen(s: Session) -> None:
    """However large a Python number is, it does not widen the dtype of its kind."""
    for dtype, number in (("float16", 1e10), ("float32", 1e300), ("bfloat16", 1e-300), ("int8", 2**40)):
        s.expect_dtype(s.call("mul.Scalar", s.tensor([0, 1], dtype), number), dtype)
