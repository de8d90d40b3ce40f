"""Every row of the operator table: what its functional form gives, for operands of any layout, sizes and dtype."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..backend import Array, numpy_dtype
from ..budget import STANDARD
from ..oracles.near import Unjudged
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall
from .coverage import shaped, swept
from .drawing import draw
from .judging import expected, judge
from .sweep import sweep


def make(operator: str, code: bytes) -> OperatorCall | None:
    """A call whose result can be judged."""
    call = draw(operator, code)
    try:
        expected(call)
    except Unjudged:
        return None
    return call


def _given(s: Session, call: OperatorCall) -> None:
    positional, keywords = call.bind(s.build)
    judge(s, call, s.call(call.operator, *positional, **keywords))


@requirement("operators/every-operator-gives-what-its-row-says", slow=True)
def test_every_row(s: Session) -> None:
    sweep(s, swept(), make, _given, weight=0.05, whole=True)
    sweep(s, shaped(), make, _given, weight=0.03, whole=s.budget.examples >= STANDARD.examples)


_PLACED = ("as it is", "turned", "apart")


def _placed(s: Session, array: Array, place: str) -> Handle:
    """A tensor of a matrix: in row-major order, in the other order, or with gaps between its elements."""
    if place == "turned":
        turned: Handle = s.call("t", s.tensor(array.T.copy()))
        return turned
    if place == "apart":
        apart: Handle = s.call("slice.Tensor", s.tensor(np.repeat(array, 2, 1)), 1, 0, 2 * array.shape[1], 2)
        return apart
    return s.tensor(array)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("views",))
def test_equal_matrices_of_any_layout(s: Session) -> None:
    """Tensors drawn one by one are hardly ever equal: these are, but for one element at most."""

    def body(s: Session, operator: str, dtype: str, first: str, second: str) -> None:
        s.need_data()
        array = (np.arange(12).reshape(3, 4) + 1).astype(numpy_dtype(dtype))
        other = array.copy()
        other[2, 1] = 0
        x = _placed(s, array, first)
        s.expect(s.call(operator, x, _placed(s, array, second)), True, operator)
        s.expect(s.call(operator, x, _placed(s, other, second)), False, operator)

    names, dtypes = ("equal", "allclose"), ("float32", "int64", "complex64")
    s.table(list(product(names, dtypes, _PLACED, _PLACED)), body)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_many_elements_in_one_bin(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        x = s.tensor(np.ones(1024), dtype)
        if operator == "histc":
            counts = s.call(operator, x, 1, 0, 2)
        else:
            counts, _ = s.parts(s.call(operator, x, s.tensor([0.0, 2.0], dtype)), 2)
        s.expect_values(counts, np.full(1, 1024), dtype=dtype)

    names = ("histc", "histogram.bins_tensor")
    s.table([(name, dtype) for name in names for dtype in ("bfloat16", "float16", "float32")], body)
