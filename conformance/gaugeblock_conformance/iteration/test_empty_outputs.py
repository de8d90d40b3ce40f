"""An ``out=`` tensor without elements takes the shape of the result."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_BINARY = {"add.out": np.add, "mul.out": np.multiply, "maximum.out": np.maximum}


@requirement("iteration/allocated-output-has-broadcast-shape", needs=("out", "resize"))
def test_empty_out_grows(s: Session) -> None:
    out = s.tensor([])
    result = s.call("neg.out", s.tensor([[1.0, 2.0], [3.0, 4.0]]), out=out)
    s.expect_same(result, out)
    s.expect_geometry(out, (2, 2), (2, 1))
    s.expect_values(out, [[-1.0, -2.0], [-3.0, -4.0]])
    column, row = s.tensor([[1, 2]], "int64"), s.tensor([[10], [20]], "int64")
    total = s.tensor(np.zeros((0,), np.int64))
    s.call("add.out", column, row, out=total)
    s.expect_values(total, [[11, 12], [21, 22]], dtype="int64")


@requirement("iteration/allocated-output-has-broadcast-shape", needs=("out", "resize"))
@forall(
    xs=st.operands(2, ("int32", "float32", "uint8"), same_dtype=True, kind="small"),
    operator=hs.sampled_from(sorted(_BINARY)),
)
def test_empty_out_of_any_operands(s: Session, xs: tuple[TensorCase, ...], operator: str) -> None:
    with np.errstate(over="ignore"):
        want = np.asarray(_BINARY[operator](xs[0].array, xs[1].array))
    out = s.tensor(np.zeros((0,), xs[0].array.dtype))
    s.expect_same(s.call(operator, *(s.build(x) for x in xs), out=out), out)
    s.expect_shape(out, want.shape)
    if all(x.plain and x.sizes == want.shape for x in xs):
        s.expect_strides(out, default_strides(want.shape))
    s.expect_values(out, want, signed_zero=False)
