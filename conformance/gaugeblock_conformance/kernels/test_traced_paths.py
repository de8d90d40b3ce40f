"""Which form of a kernel wrote which element."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend import DType, numpy_dtype
from ..backend_kernels import Paths
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .test_paths import LENGTHS

_UNTOLD = NoReproducer("the counts of both forms are added up by the test")

OPERATORS = ("add.Tensor", "mul.Tensor", "sub.Tensor", "maximum")


def _paths(s: Session, operator: str, *cases: TensorCase) -> Paths:
    found: Paths = s.call("paths_of", operator, *[s.build(case) for case in cases])
    return found


def _line(count: int, step: int = 1, offset: int = 0, dtype: str = "float32") -> TensorCase:
    return TensorCase(dtype, (count,), (step,), offset=offset, kind="small")


@requirement("kernels/every-element-is-written-by-one-path")
@forall(
    operator=hs.sampled_from(OPERATORS), dtype=hs.sampled_from(("float32", "float64", "int32", "int8")),
    count=hs.sampled_from((*LENGTHS, 40000)), steps=hs.tuples(hs.integers(0, 3), hs.integers(0, 3)),
)  # fmt: skip
def test_each_element_once(
    s: Session, operator: str, dtype: str, count: int, steps: tuple[int, int]
) -> None:
    found = _paths(s, operator, *[_line(count, step, dtype=dtype) for step in steps])
    total = np.asarray(found.vector).astype(np.int64) + np.asarray(found.scalar)
    s.expect((total == 1).all().item(), True, "each element written once", _UNTOLD)
    s.expect(total.shape, (count,), "shape of the counts", _UNTOLD)


@requirement("kernels/every-element-is-written-by-one-path")
@forall(rows=hs.integers(1, 9), columns=hs.integers(1, 40), transposed=hs.booleans(), column=hs.booleans())
def test_each_element_of_a_matrix_once(
    s: Session, rows: int, columns: int, transposed: bool, column: bool
) -> None:
    x = TensorCase("float32", (rows, columns), (1, rows) if transposed else (columns, 1), kind="small")
    y = TensorCase("float32", (rows, 1) if column else (columns,), (1, 1) if column else (1,), kind="small")
    found = _paths(s, "add.Tensor", x, y)
    total = np.asarray(found.vector).astype(np.int64) + np.asarray(found.scalar)
    s.expect((total == 1).all().item(), True, "each element written once", _UNTOLD)


@requirement("kernels/vector-steps-may-be-long")
@forall(count=hs.sampled_from(LENGTHS), operator=hs.sampled_from(OPERATORS))
def test_rest_of_a_contiguous_loop(s: Session, count: int, operator: str) -> None:
    found = _paths(s, operator, _line(count), _line(count))
    rest = int(np.count_nonzero(found.scalar))
    s.expect_of_last(found.width > 1, True, "a vector form", "{}.width > 1")
    s.expect(rest < 4 * found.width, True, f"{rest} of {count} elements left to the scalar form", _UNTOLD)


@requirement("kernels/vector-form-needs-neighbours")
@forall(count=hs.integers(100, 300), steps=hs.tuples(hs.integers(0, 3), hs.integers(0, 3)))
def test_operands_of_the_vector_form(s: Session, count: int, steps: tuple[int, int]) -> None:
    found = _paths(s, "add.Tensor", *[_line(count, step) for step in steps])
    apart = any(step > 1 for step in steps)
    if apart and np.asarray(found.vector).any():
        s.expect_of_last(found.buffered, True, "contiguous operands, or a buffer, of the vector form", "{}.buffered")
    if not apart:
        used = bool(np.asarray(found.vector).any())
        s.expect_of_last(used, True, "the vector form for contiguous operands", "any({}.vector)")
        s.expect_of_last(found.buffered, False, "a buffer for contiguous operands", "{}.buffered")


@requirement("kernels/vector-width-follows-dtype")
def test_widths(s: Session) -> None:
    sizes: dict[int, set[int]] = {}
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "float32", "float64"):
        width = s.call("vector_width", DType(dtype))
        nbytes = width * numpy_dtype(dtype).itemsize
        text = f"{{}} * {numpy_dtype(dtype).itemsize} in (16, 32, 64)"
        s.expect_of_last(nbytes in (16, 32, 64), True, f"{nbytes} bytes of {width} {dtype} lanes", text)
        sizes.setdefault(nbytes, set()).add(width)
    s.expect(len(sizes), 1, "sizes of vectors", NoReproducer("the widths of several dtypes are compared"))
