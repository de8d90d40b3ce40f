"""Accessors: what they check when they are made, and which element they reach."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_UNTOLD = NoReproducer("the elements are rounded to the dtype and compared one by one")

DTYPES = ("float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "bfloat16", "float16", "complex64")


@requirement("kernels/accessor-checks-once")
@forall(x=st.tensors(DTYPES, max_dims=4), other=hs.sampled_from(DTYPES), dims=hs.integers(0, 5))
def test_wrong_dtype_or_dims(s: Session, x: TensorCase, other: str, dims: int) -> None:
    made = s.build(x)
    right = other == x.dtype and dims == len(x.sizes)
    if right:
        s.call("accessor_elements", made, DType(other), dims)
    else:
        s.expect_raises(RuntimeError, "accessor_elements", made, DType(other), dims)


@requirement("kernels/accessor-follows-strides", "kernels/packed-accessor-stands-by-itself")
@forall(x=st.tensors(DTYPES, max_dims=4), bits=hs.sampled_from((64, 32)), packed=hs.booleans())
def test_elements_of_any_view(s: Session, x: TensorCase, bits: int, packed: bool) -> None:
    found = s.call("accessor_elements", s.build(x), DType(x.dtype), len(x.sizes), bits, packed)
    want = x.array.reshape(-1)
    got = np.array(found).astype(want.dtype) if found else np.zeros(0, want.dtype)
    same = (got == want) | ((got != got) & (want != want))
    s.expect(bool(same.all()) and got.shape == want.shape, True, "elements by accessor", _UNTOLD)


@requirement("kernels/accessor-follows-strides")
def test_transposed_and_sliced(s: Session) -> None:
    x = s.tensor(np.arange(12).reshape(3, 4), "int32")
    y = s.call("t", s.call("slice.Tensor", x, 1, 1, 4, 2))
    found = s.call("accessor_elements", y, DType("int32"), 2)
    s.expect_of_last(list(found), [1, 5, 9, 3, 7, 11], "elements by accessor", "list({})")


@requirement("kernels/accessor-follows-strides")
@forall(x=st.tensors(("float32", "int64", "bfloat16"), max_dims=3, min_dims=1, empty=False, kind="small",
                     layouts=("contiguous", "permuted", "gapped")), place=hs.integers(0, 999))  # fmt: skip
def test_writing_an_element(s: Session, x: TensorCase, place: int) -> None:
    """The session compares every other byte of the storage."""
    made = s.build(x)
    want = x.array.copy()
    at = np.unravel_index(place % want.size, want.shape)
    s.call("accessor_put_", made, tuple(int(k) for k in at), 3)
    want[at] = 3
    s.expect_values(made, want)


@requirement("kernels/accessor-indices-have-64-bits", slow=True)
def test_limits_of_32_bits(s: Session) -> None:
    limit = 2**31
    base = s.call("zeros", (limit + 8,), dtype=DType("int8"))
    for length, fits in ((limit - 1, True), (limit, False), (limit + 8, False)):
        x = s.call("slice.Tensor", base, 0, 0, length)
        strided = s.call("as_strided", x, (3,), ((length - 1) // 2,), 0)
        arguments = (strided, DType("int8"), 1, 32)
        if fits or (length - 1) // 2 * 2 < limit:
            s.call("accessor_elements", *arguments)
    far = s.call("as_strided", base, (2,), (limit,), 0)
    s.expect_raises(RuntimeError, "accessor_elements", far, DType("int8"), 1, 32)
    found = list(s.call("accessor_elements", far, DType("int8"), 1))
    s.expect_of_last(found, [0, 0], "elements by accessor", "list({})")
    near = s.call("as_strided", base, (2,), (limit - 1,), 0)
    found = list(s.call("accessor_elements", near, DType("int8"), 1, 32))
    s.expect_of_last(found, [0, 0], "elements by accessor", "list({})")
