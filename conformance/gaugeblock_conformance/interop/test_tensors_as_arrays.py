"""Tensors as arrays of NumPy's: memory shared and kept, and what has no array."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import DType
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..storage.test_lifetime import Watch
from ..strategies import tensors
from .arrays import DTYPES, expect_at, need_lazy


@requirement("interop/numpy-shares-memory", needs=("views", "inplace"))
def test_writes_to_a_transposed_tensor(s: Session) -> None:
    x = s.call("t", s.call("zeros", (2, 3)))
    array = s.call("numpy", x)
    s.expect_python("{}.shape", (3, 2), "sizes of the array", array)
    s.expect_python("{}.strides", (4, 12), "byte strides of the array", array)
    s.expect_python("{}.dtype.name", "float32", "dtype of the array", array)
    s.expect_python("{}.flags.writeable", True, "whether the array may be written", array)
    expect_at(s, x, array)
    s.execute("{}[2, 1] = 7", array)
    s.expect_values(x, [[0.0, 0.0], [0.0, 0.0], [0.0, 7.0]])
    s.call("fill_.Scalar", x, 3)
    s.expect_python("{}.tolist()", [[3.0, 3.0]] * 3, "the array after a write to the tensor", array)


@requirement("interop/numpy-shares-memory")
@forall(case=tensors(DTYPES))
def test_layout_of_any_tensor(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    array = s.call("numpy", x)
    s.expect_python("{}.shape", case.sizes, "sizes of the array", array)
    s.expect_python("{}.dtype.name", case.dtype, "dtype of the array", array)
    s.expect_python("{}.flags.writeable", True, "whether the array may be written", array)
    if not case.numel:
        return
    strides = tuple(step * array.itemsize for step in case.strides)
    seen = tuple(0 if size == 1 else step for size, step in zip(case.sizes, array.strides, strict=True))
    want = tuple(0 if size == 1 else step for size, step in zip(case.sizes, strides, strict=True))
    name = s.name_of(array)
    text = f"tuple(0 if n == 1 else k for n, k in zip({name}.shape, {name}.strides))"
    s.expect(seen, want, "byte strides of the array, 0 for dims of size 1", text, [Handle(None, name)])
    expect_at(s, x, array)
    s.execute("{}[...] = 1", array)
    s.sync(x)
    s.expect_values(x, np.ones(case.sizes, array.dtype))


@requirement("interop/array-keeps-the-storage")
@forall(length=st.integers(1, 2000), view=st.booleans())
def test_storage_goes_with_the_last_array(s: Session, length: int, view: bool) -> None:
    x = s.call("arange", length)
    watch, name = Watch(s, x), x.name
    array = s.call("numpy", x)
    if view:
        part = s.bind("{}[:]", array)
        s.forget(array)
        array = part
        del part
    del x
    junk = [s.call("zeros", (length,), dtype=DType("int64")) for _ in range(3)]
    watch.expect(True, name)
    s.expect_python("{}.tolist()", list(range(length)), "the array when its tensor is gone", array)
    last = s.name_of(array)
    s.forget(array)
    del array
    watch.expect(False, name)
    s.expect(len(junk), 3, f"tensors made while {last} lived")


@requirement("interop/numpy-refuses-lazy-conjugates")
@forall(values=st.lists(st.complex_numbers(max_magnitude=9, allow_nan=False), max_size=3),
        dtype=st.sampled_from(("complex64", "complex128")))  # fmt: skip
def test_conjugates_and_their_imaginary_parts(s: Session, values: list[complex], dtype: str) -> None:
    x = s.call("conj", s.tensor(values, dtype))
    need_lazy(s, x, "is_conj")
    s.expect_raises(RuntimeError, "numpy", x)
    s.expect_raises(RuntimeError, "numpy", s.call("imag", x))
    array = s.call("numpy", s.call("resolve_conj", x))
    s.expect_python("{}.tolist()", np.conj(np.array(values, dtype)).tolist(), "the resolved values", array)


@requirement("interop/numpy-refuses-tensors-without-data")
@forall(dims=st.lists(st.integers(0, 3), max_size=3).map(tuple), dtype=st.sampled_from(DTYPES))
def test_tensor_on_the_meta_device(s: Session, dims: tuple[int, ...], dtype: str) -> None:
    x = s.call("empty.memory_format", dims, dtype=DType(dtype), device="meta")
    s.expect_raises(TypeError, "numpy", x)


@requirement("interop/numpy-refuses-bfloat16")
@forall(dims=st.lists(st.integers(0, 3), max_size=3).map(tuple), force=st.booleans())
def test_bfloat16(s: Session, dims: tuple[int, ...], force: bool) -> None:
    x = s.tensor(np.ones(dims), "bfloat16")
    s.expect_raises(TypeError, "numpy", x, force=force)


@requirement("interop/numpy-refuses-sparse-tensors")
@forall(dims=st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple), force=st.booleans())
def test_sparse(s: Session, dims: tuple[int, ...], force: bool) -> None:
    x = s.call("to_sparse", s.tensor(np.ones(dims, np.float32)))
    s.expect_raises(TypeError, "numpy", x, force=force)


@requirement("interop/numpy-refuses-quantized-tensors")
@forall(dims=st.lists(st.integers(1, 3), max_size=3).map(tuple), force=st.booleans(),
        dtype=st.sampled_from(("quint8", "qint8", "qint32")))  # fmt: skip
def test_quantized(s: Session, dims: tuple[int, ...], force: bool, dtype: str) -> None:
    x = s.call("quantize_per_tensor", s.tensor(np.ones(dims, np.float32)), 0.5, 0, DType(dtype))
    s.expect_raises(TypeError, "numpy", x, force=force)


@requirement("interop/numpy-by-force-gives-values")
def test_leaf_and_conjugate(s: Session) -> None:
    x = s.call("requires_grad_", s.call("ones", (2,)))
    s.expect_python("{}.tolist()", [1.0, 1.0], "values of a leaf", s.call("numpy", x, force=True))
    y = s.call("conj", s.tensor([1 + 2j], "complex64"))
    s.expect_python("{}.tolist()", [1 - 2j], "values of a conjugate", s.call("numpy", y, force=True))
    z = s.call("imag", y)
    s.expect_python("{}.tolist()", [-2.0], "values of its imaginary part", s.call("numpy", z, force=True))


@requirement("interop/numpy-by-force-gives-values", needs=("storage",))
@forall(case=tensors(("float32", "complex64")), leaf=st.booleans(), conjugated=st.booleans())
def test_values_by_force(s: Session, case: TensorCase, leaf: bool, conjugated: bool) -> None:
    x = s.build(case)
    y = s.call("requires_grad_", s.call("detach", x)) if leaf else x
    lazy = conjugated and case.dtype == "complex64"
    array = s.call("numpy", s.call("conj", y) if lazy else y, force=True)
    want = np.conj(case.array) if lazy else case.array
    s.expect_python("({}.dtype.name, {}.shape)", (case.dtype, case.sizes), "dtype and sizes", array, array)
    same = array.tobytes() == want.tobytes() or np.array_equal(array, want, equal_nan=True)
    s.expect(same, True, f"whether the array has the values {want.tolist()}",
             f"repr({s.name_of(array)}.tolist()) == {repr(want.tolist())!r}", [Handle(None, s.name_of(array))])
    if case.numel and not lazy:
        expect_at(s, x, array)
