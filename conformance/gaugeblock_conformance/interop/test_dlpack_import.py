"""Tensors of what others describe: taken as it is, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Unsupported, numpy_dtype
from ..case import TensorCase, default_strides, extent
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .arrays import DTYPES as PLAIN_DTYPES
from .arrays import ArrayCase, array_cases, expect_at
from .producers import DTYPES, VERSIONS, bits, expect_returned, producer, taken_again

REFUSALS = (BufferError, ValueError, RuntimeError)
"""What a library may raise for a struct that it cannot use."""


@requirement("interop/from-dlpack-shares-memory", needs=("inplace",))
def test_writes_from_both_sides(s: Session) -> None:
    made = producer(s, "np.arange(6.0).reshape(2, 3)")
    x = s.call("from_dlpack", made)
    s.expect_values(x, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], dtype="float64")
    s.execute("{}.array[0, 1] = 9", made)
    s.expect_values(x, [[0.0, 9.0, 2.0], [3.0, 4.0, 5.0]], dtype="float64")
    s.call("fill_.Scalar", x, 7)
    s.expect_python("{}.array.tolist()", [[7.0] * 3] * 2, "the array after a write to the tensor", made)


@requirement("interop/from-dlpack-shares-memory")
@forall(case=array_cases(), version=st.sampled_from(VERSIONS))
def test_any_layout_of_a_producer(s: Session, case: ArrayCase, version: Any) -> None:
    made = producer(s, case.expression, version)
    x = s.call("from_dlpack", made)
    s.expect_values(x, made.array)
    if "strided" in s.capabilities and made.array.size:
        s.expect_strides(x, tuple(step // made.array.itemsize for step in made.array.strides))
    s.execute("{}.array[...] = 1", made)
    s.expect_values(x, made.array)


@requirement("interop/byte-offset-moves-the-first-element")
@forall(dtype=st.sampled_from(PLAIN_DTYPES), start=st.integers(0, 5), length=st.integers(0, 4),
        version=st.sampled_from(VERSIONS))  # fmt: skip
def test_elements_from_an_offset_on(s: Session, dtype: str, start: int, length: int, version: Any) -> None:
    offset = start * numpy_dtype(dtype).itemsize
    made = producer(s, f"np.arange(9).astype({dtype!r})", version, shape=(length,), strides=(1,), byte_offset=offset)
    x = s.call("from_dlpack", made)
    s.expect_values(x, made.array[start : start + length])
    if length and "storage" in s.capabilities:
        address, name = s.observe("data_ptr", x), s.name_of(made)
        text = f"{s.dialect.observe('data_ptr', x.name)} - {name}.array.ctypes.data"
        s.expect(address - made.array.ctypes.data, offset, "bytes from the array to the first element", text, [x])


@requirement("interop/unknown-types-of-dlpack-raise")
def test_types_of_no_tensor(s: Session) -> None:
    said = ({"dtype": (3, 64, 1)}, {"dtype": (99, 32, 1)}, {"dtype": (2, 24, 1)}, {"dtype": (0, 4, 1)},
            {"dtype": (2, 32, 4)}, {"dtype": (2, 32, 0)}, {"dtype": (5, 16, 1)}, {"dtype": (6, 16, 1)},
            {"device": (77, 0)})  # fmt: skip
    s.table([(one, version) for one in said for version in VERSIONS], _check_unknown)


def _check_unknown(s: Session, otherwise: dict[str, Any], version: Any) -> None:
    made = producer(s, "np.zeros(4, 'complex128')", version, shape=(2,), strides=(1,), **otherwise)
    s.expect_raises(REFUSALS, "from_dlpack", made)


@requirement("interop/negative-strides-of-dlpack-raise", may_crash=True)
def test_reversed_producer(s: Session) -> None:
    _expect_refused_or_reversed(s, producer(s, "np.arange(6.0)", byte_offset=40, shape=(6,), strides=(-1,)))
    s.expect_values(s.call("from_dlpack", producer(s, "np.arange(6.0)")), np.arange(6.0))


@requirement("interop/negative-strides-of-dlpack-raise", needs=("numpy",), may_crash=True)
def test_reversed_array(s: Session) -> None:
    _expect_refused_or_reversed(s, s.bind("np.arange(6.0)[::-1]"))


def _expect_refused_or_reversed(s: Session, reversed_numbers: Any) -> None:
    x, error = s.attempt("from_dlpack", reversed_numbers)
    if error is not None:
        s.expect_refusal(error, REFUSALS, "what is raised for a negative stride")
        return
    if "strided" in s.capabilities:
        s.expect_strides(x, (-1,))
    s.expect_values(x, np.arange(6.0)[::-1])


@requirement("interop/read-only-memory-is-not-passed-over", needs=("inplace",))
@forall(case=array_cases(("float32", "int64")))
def test_flag_of_read_only_memory(s: Session, case: ArrayCase) -> None:
    made = producer(s, case.expression, flags=1)
    s.call("from_dlpack", made)
    if "max_version" not in made.asked:
        raise Unsupported("from_dlpack", "it asks for structs without flags")
    if s.call("warnings_of", "from_dlpack", made):
        return
    x, refused = s.attempt("from_dlpack", made)
    if refused is not None:
        s.expect_refusal(refused, REFUSALS, "what is raised for memory that may not be written")
        return
    before = made.array.tolist()
    _, error = s.attempt("fill_.Scalar", x, 1)
    if error is None and made.array.tolist() != before:
        name = s.name_of(made)
        lines = [f"got = {name}.array.tolist()", f"assert got == {before}, got"]
        message = "from_dlpack passes over the flag of read-only memory, and a write to the tensor reaches it"
        raise s.failure(message, str(before), str(made.array.tolist()), lines, {name, x.name})


@requirement("interop/only-producers-are-taken")
def test_objects_without_the_protocol(s: Session) -> None:
    for expression in ("[1, 2]", "None", "3", "'text'", "object()"):
        s.expect_raises((TypeError, RuntimeError, AttributeError), "from_dlpack", s.bind(expression))


@requirement("interop/other-major-versions-are-refused")
def test_versions_of_structs(s: Session) -> None:
    for minor in (0, 1, 3, 99):
        made = producer(s, "np.arange(3.0)", (1, minor))
        x = s.call("from_dlpack", made)
        if "max_version" not in made.asked:
            raise Unsupported("from_dlpack", "it asks for structs without a version")
        s.expect_values(x, [0.0, 1.0, 2.0], dtype="float64")
    made = producer(s, "np.arange(3.0)", (2, 0))
    s.expect_raises(REFUSALS, "from_dlpack", made)
    s.execute("{}.drop()", made)
    expect_returned(s, made, 1, "of a struct of version 2")


@requirement("interop/no-alignment-is-assumed")
@forall(dtype=st.sampled_from(("float32", "int16", "complex64", "float64", "uint8")), start=st.integers(0, 63),
        length=st.integers(1, 70))  # fmt: skip
def test_memory_at_any_element(s: Session, dtype: str, start: int, length: int) -> None:
    made = producer(s, f"np.arange({start + length}).astype({dtype!r})[{start}:]")
    x = s.call("from_dlpack", made)
    if "storage" in s.capabilities:
        array = s.bind("{}.array", made)
        expect_at(s, x, array)
    want = made.array + made.array
    s.expect_values(s.call("add.Tensor", x, x), want)


@requirement("interop/null-strides-are-row-major")
@forall(sizes=st.lists(st.integers(0, 3), max_size=3).map(tuple), version=st.sampled_from(VERSIONS),
        dtype=st.sampled_from(PLAIN_DTYPES))  # fmt: skip
def test_structs_without_strides(s: Session, sizes: tuple[int, ...], version: Any, dtype: str) -> None:
    made = producer(s, f"np.arange({int(np.prod(sizes))}).astype({dtype!r}).reshape({sizes})", version, strides=None)
    x = s.call("from_dlpack", made)
    s.expect_values(x, made.array)
    if "strided" in s.capabilities and made.array.size:
        s.expect_strides(x, default_strides(sizes))


@requirement("interop/dlpack-keeps-the-bits")
@forall(case=tensors(DTYPES))
def test_bits_there_and_back(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("from_dlpack", x)
    s.expect_dtype(y, case.dtype)
    s.expect_shape(y, case.sizes)
    if "strided" in s.capabilities and case.numel:
        strides = [0 if size == 1 else step for size, step in zip(case.sizes, case.strides, strict=True)]
        got = [0 if n == 1 else k for n, k in zip(case.sizes, s.observe("strides", y), strict=True)]
        s.expect(got, strides, "strides of the copy, 0 for dims of size 1")
    same = bits(s.read(y)) == bits(case.array)
    if not same:
        s.expect_values(y, case.array)
    s.expect(same, True, "whether all bits came back")


@requirement("interop/dlpack-keeps-the-bits")
def test_payloads_of_nan(s: Session) -> None:
    for dtype, whole in (("float32", "[0x7fc00001, 0xffc12345, 0x7f800001]"), ("float64", "[0x7ff8000000000123]"),
                         ("float16", "[0x7e01, 0xfe55]")):  # fmt: skip
        width = dtype.removeprefix("float")
        made = producer(s, f"np.array({whole}, 'uint{width}').view({dtype!r})")
        x = s.call("from_dlpack", made)
        y = s.call("from_dlpack", x)
        s.expect(bits(s.read(y)), bits(made.array), f"bits of NaN in {dtype}")


@requirement("interop/numpy-takes-tensors-by-dlpack", needs=("storage",))
@forall(case=tensors(PLAIN_DTYPES))
def test_array_of_any_tensor(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    array = s.call("np_from_dlpack", x)
    s.expect_python("({}.dtype.name, {}.shape)", (case.dtype, case.sizes), "dtype and sizes of the array", array, array)
    s.expect_python("{}.flags.writeable", True, "whether the array may be written", array)
    if case.numel:
        expect_at(s, x, array)
        s.execute("{}[...] = 1", array)
        s.sync(x)
        s.expect_values(x, np.ones(case.sizes, array.dtype))


@requirement("interop/tensors-take-arrays-by-dlpack")
@forall(case=array_cases())
def test_tensor_of_any_array(s: Session, case: ArrayCase) -> None:
    array = s.bind(case.expression)
    x = s.call("from_dlpack", array)
    s.expect_values(x, array)
    if "storage" in s.capabilities and array.size:
        expect_at(s, x, array)
        strides = tuple(step // array.itemsize for step in array.strides)
        s.expect_nbytes(x, extent(array.shape, strides) * array.itemsize)
    s.execute("{}[...] = 1", array)
    s.expect_values(x, array)


@requirement("interop/capsule-is-taken-once")
@forall(version=st.sampled_from(VERSIONS), data=st.sampled_from(("np.arange(3.0)", "np.zeros((0, 2))", "np.ones(())")))
def test_second_taker(s: Session, version: Any, data: str) -> None:
    made = producer(s, data, version)
    capsule = s.bind("{}.capsule()", made)
    holder = taken_again(s, capsule)
    x = s.call("from_dlpack", holder)
    want = "used_dltensor" if version is None else "used_dltensor_versioned"
    s.expect_python("name_of({})", want, "name of the capsule after it was taken", capsule)
    s.expect_raises((*REFUSALS, TypeError), "from_dlpack", holder)
    s.expect_values(x, made.array)
    expect_returned(s, made, 0, "while the first taker lives", x)


@requirement("interop/capsule-is-taken-once")
@forall(version=st.sampled_from((None, (1, 0))))
def test_second_taker_of_its_own_capsule(s: Session, version: Any) -> None:
    x = s.call("full", (3,), 2.0)
    capsule = s.call("__dlpack__", x, max_version=version)
    holder = taken_again(s, capsule)
    y = s.call("from_dlpack", holder)
    s.expect_raises((*REFUSALS, TypeError), "from_dlpack", holder)
    s.expect_values(y, [2.0] * 3)
