"""What an operator may read and write, and when."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, MemoryFormat
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session

_BINARY = {"add.out": np.add, "mul.out": np.multiply, "sub.out": np.subtract, "maximum.out": np.maximum}


@requirement("iteration/outputs-are-written-inputs-are-not")
def test_out_is_written_in_place(s: Session) -> None:
    s.require("out")
    x, y = s.tensor([1, 2, 3], "int32"), s.tensor([-7, -7, -7], "int32")
    result = s.call("add.out", x, x, out=y)
    s.expect_same(result, y)
    s.expect_values(y, [2, 4, 6], dtype="int32")
    s.expect_values(x, [1, 2, 3], dtype="int32")


@requirement("iteration/outputs-are-written-inputs-are-not")
@forall(
    xs=st.operands(2, ("float32", "int16", "float64"), same_dtype=True, kind="small"),
    operator=hs.sampled_from(sorted(_BINARY)),
    data=st.tensors("uint8", sizes=(), layouts=("offset",)),
    layout=hs.sampled_from(["default", "transposed", "stepped"]),
)
def test_out_takes_every_element(
    s: Session, xs: tuple[TensorCase, ...], operator: str, data: TensorCase, layout: str
) -> None:
    s.require("out")
    want = _BINARY[operator](xs[0].array, xs[1].array)
    sizes = np.shape(want)
    out = s.build(_destination(xs[0].dtype, sizes, layout, data.offset))
    left, right = (s.build(x) for x in xs)
    s.call(operator, left, right, out=out)
    s.expect_values(out, want, signed_zero=False)


def _destination(dtype: str, sizes: tuple[int, ...], layout: str, offset: int) -> TensorCase:
    strides = default_strides(sizes)
    if layout == "transposed":
        strides = tuple(reversed(default_strides(tuple(reversed(sizes)))))
    if layout == "stepped":
        strides = tuple(2 * step for step in strides)
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    return TensorCase(dtype, sizes, strides, offset, offset + reach + 2, "small")


@requirement("iteration/outputs-are-written-inputs-are-not")
@forall(
    x=st.tensors(("float32", "int32", "bool", "complex64")),
    operator=hs.sampled_from(["abs", "sum", "eq", "clone", "to", "cat", "add"]),
)
def test_inputs_stay(s: Session, x: TensorCase, operator: str) -> None:
    made = s.build(x)
    if operator == "cat":
        made = s.call("reshape", made, (-1,)) if x.numel else s.tensor(np.zeros(3, np.float32))
        result = s.call("cat", [made, made])
    elif operator in ("eq", "add"):
        result = s.call(f"{operator}.Tensor", made, made)
    elif operator == "to":
        result = s.call("to.dtype", made, DType(x.dtype), copy=True)
    else:
        result = s.call("clone" if x.dtype == "bool" and operator == "abs" else operator, made)
    if "storage" in s.capabilities:
        s.expect_fresh(result, made)


@requirement("iteration/checks-come-before-writes")
def test_failing_calls_write_nothing(s: Session) -> None:
    x = s.tensor([1, 2, 3], "int64")
    fractions = s.tensor([0.5, 0.5, 0.5])
    s.expect_raises(RuntimeError, "add_.Tensor", x, fractions)
    s.expect_raises(RuntimeError, "mul_.Tensor", x, s.tensor([[1, 1], [2, 2]], "int64"))
    s.expect_raises(RuntimeError, "add_.Tensor", x, x, alpha=0.5)
    s.expect_raises(RuntimeError, "div_.Tensor", x, x)
    s.expect_values(x, [1, 2, 3], dtype="int64")
    if "version" in s.capabilities:
        s.expect_version(x, 0)
    if "out" in s.capabilities:
        s.expect_raises(RuntimeError, "add.out", fractions, fractions, out=x)
        s.expect_values(x, [1, 2, 3], dtype="int64")


@requirement("iteration/checks-come-before-writes")
@forall(
    x=st.tensors(("int32", "bool", "uint8", "float32"), layouts=st.WRITABLE, kind="small"),
    other=hs.sampled_from(["float64", "complex64"]),
    operator=hs.sampled_from(["add_.Tensor", "mul_.Tensor"]),
)
def test_refused_casts_write_nothing(s: Session, x: TensorCase, other: str, operator: str) -> None:
    made = s.build(x)
    higher = s.tensor(np.ones(x.sizes or (1,), dtype=other)) if x.sizes else s.tensor(np.ones((), dtype=other))
    if x.dtype == "float32" and other == "float64":
        s.call(operator, made, higher)
        s.expect_dtype(made, "float32")
        return
    s.expect_raises(RuntimeError, operator, made, higher)
    s.expect_values(made, x.array)
    if "version" in s.capabilities:
        s.expect_version(made, 0)


@requirement("iteration/any-strides-copy-to-any-strides")
def test_transposed_into_stepped(s: Session) -> None:
    target = s.tensor(np.zeros((2, 6), np.int64))
    columns = s.call("slice.Tensor", target, 1, 0, 6, 2)
    source = s.call("t", s.tensor([[0, 1], [2, 3], [4, 5]], "int64"))
    s.call("copy_", columns, source)
    s.expect_values(target, [[0, 0, 2, 0, 4, 0], [1, 0, 3, 0, 5, 0]], dtype="int64")


@requirement("iteration/any-strides-copy-to-any-strides")
@forall(
    source=st.tensors(max_dims=3, long=True),
    target=st.tensors("int8", layouts=st.WRITABLE, sizes=(2, 3)),
    swap=hs.booleans(),
)
def test_any_strides(s: Session, source: TensorCase, target: TensorCase, swap: bool) -> None:
    layout = ("transposed", "stepped")[target.seed % 2]
    into = _destination(source.dtype, source.sizes, layout, target.offset)
    x, y = s.build(into), s.build(source)
    if swap and len(source.sizes) > 1 and source.sizes[0] == source.sizes[1]:
        y = s.call("transpose.int", y, 0, 1)
        want = np.swapaxes(source.array, 0, 1)
    else:
        want = source.array
    s.expect_same(s.call("copy_", x, y), x)
    s.expect_values(x, want)


_SQUARES = (4, 8, 15, 16, 17, 31, 33, 60, 61, 64, 65, 100, 128, 130)


@requirement("iteration/any-strides-copy-to-any-strides", needs=("device.multi",))
@forall(x=st.tensors(max_dims=3))
def test_any_strides_to_the_host(s: Session, x: TensorCase) -> None:
    s.expect_values(s.call("to.device", s.build(x), "cpu"), x.array)


@requirement("iteration/any-strides-copy-to-any-strides", "views/copy-broadcasts-and-converts")
@forall(
    dtype=hs.sampled_from(["float32", "int8", "int16", "float64", "complex128", "bool", "bfloat16"]),
    rows=hs.sampled_from(_SQUARES),
    columns=hs.sampled_from((0, 0, 1, -1, 9)),
    offset=hs.integers(0, 3),
    seed=hs.integers(1, 99),
    form=hs.sampled_from(["copy_", "clone", "contiguous", "t.copy_"]),
    weight=0.3,
)
def test_transposed_matrices(
    s: Session, dtype: str, rows: int, columns: int, offset: int, seed: int, form: str
) -> None:
    """Matrices as large as the blocks that a transposing copy works in."""
    dims = (rows, rows + columns)
    source = TensorCase(dtype, dims, (1, rows), offset, -1, "small", seed)
    y = s.build(source)
    if form == "clone":
        x = s.call("clone", y, memory_format=MemoryFormat("contiguous_format"))
    elif form == "contiguous":
        x = s.call("contiguous", y)
    else:
        x = s.tensor(np.zeros(dims[::-1] if form == "t.copy_" else dims, source.array.dtype))
        x = s.call("t", x) if form == "t.copy_" else x
        s.call("copy_", x, y)
    s.expect_values(x, source.array)


def _poisoned(s: Session, count: int, pattern: int) -> None:
    """Fill and drop a few blocks of the sizes that the next results will need."""
    for size in (count, count, count):
        s.call("fill_.Scalar", s.tensor(np.zeros(max(size, 1), np.uint8)), pattern)


@requirement("iteration/results-ignore-old-memory")
@forall(
    x=st.tensors(("float32", "int32", "float64"), kind="finite"),
    operator=hs.sampled_from(["neg", "abs", "add.Tensor", "sum", "clone", "cumsum", "zeros_like"]),
)
def test_results_ignore_old_memory(s: Session, x: TensorCase, operator: str) -> None:
    results: list[Handle] = []
    for pattern in (255, 0):
        _poisoned(s, x.numel * x.contents.itemsize, pattern)
        made = s.build(x)
        arguments = {"add.Tensor": (made, made), "cumsum": (made, 0)}.get(operator, (made,))
        results.append(s.call(operator, *arguments))
    if s.has_data:
        s.expect_agreement(results[1], results[0])


@requirement("iteration/results-ignore-old-memory")
def test_zeros_after_ones(s: Session) -> None:
    for count in (1, 16, 1000):
        s.call("fill_.Scalar", s.tensor(np.zeros(count, np.float32)), 1.0)
        s.expect_values(s.call("zeros", (count,)), np.zeros(count, np.float32))
        s.expect_values(s.call("ones", (count,)), np.ones(count, np.float32))
