"""Matrix products of operands of any layout: the sums of products that they are."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_SHAPES = {
    "mm": ("nk", "km"), "bmm": ("bnk", "bkm"), "matmul": ("bnk", "km"), "mv": ("nk", "k"), "dot": ("k", "k"),
    "__matmul__": ("nk", "km"),
}  # fmt: skip


@requirement("iteration/strided-reductions-agree-within-bound", needs=("matmul", "as_strided"))
@forall(
    dtype=hs.sampled_from(["float32", "float64", "int64", "complex64", "int16", "float16", "bfloat16"]),
    operator=hs.sampled_from([*_SHAPES, "bmm"]),
    sizes=hs.tuples(*[hs.sampled_from([2, 3, 1, 4, 9])] * 4),
    data=hs.data(),
)
def test_products_of_any_layout(
    s: Session, dtype: str, operator: str, sizes: tuple[int, int, int, int], data: hs.DataObject
) -> None:
    """Small integers: every sum is exact, in any order and in any dtype."""
    length = dict(zip("bnkm", sizes, strict=True))
    shapes = [tuple(length[letter] for letter in letters) for letters in _SHAPES[operator]]
    layouts = (*st.LAYOUTS, "expanded", "permuted", "expanded")
    x, y = (data.draw(st.tensors(dtype, sizes=shape, layouts=layouts, kind="small")) for shape in shapes)
    wide = np.complex128 if dtype == "complex64" else np.float64
    want = np.matmul(x.array.astype(wide), y.array.astype(wide))
    if np.abs(want).max(initial=0) > 256:
        return
    s.expect_values(s.call(operator, s.build(x), s.build(y)), want.astype(x.array.dtype), signed_zero=False)
