"""Capsules that tensors give: what they say, and what has none."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import DType
from ..case import TensorCase
from ..dlpack import described
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .arrays import need_host_memory, need_lazy
from .producers import DTYPES, code_of

DIMS = st.lists(st.integers(1, 3), max_size=3).map(tuple)
VERSIONS = st.sampled_from((None, (1, 0)))
NO_STREAM = (BufferError, ValueError, TypeError, RuntimeError, AssertionError)
"""What the protocol leaves to the library."""


@requirement("interop/capsule-describes-the-tensor", needs=("views",))
def test_capsule_of_a_transposed_tensor(s: Session) -> None:
    x = s.call("__getitem__", s.call("t", s.call("zeros", (2, 3))), slice(1, None))
    capsule = s.call("__dlpack__", x)
    s.expect_python("described({}).shape", (2, 2), "sizes in the capsule", capsule)
    s.expect_python("described({}).strides", (1, 3), "strides in the capsule", capsule)
    s.expect_python("described({}).dtype", (2, 32, 1), "code, bits and lanes in the capsule", capsule)
    s.expect_python("described({}).byte_offset", 0, "byte offset in the capsule", capsule)
    _expect_address(s, x, capsule)


@requirement("interop/capsule-describes-the-tensor")
@forall(case=tensors(DTYPES), versioned=st.booleans())
def test_capsule_of_any_tensor(s: Session, case: TensorCase, versioned: bool) -> None:
    x = s.build(case)
    capsule = s.call("__dlpack__", x, **({"max_version": (1, 0)} if versioned else {}))
    s.expect_python("described({}).shape", case.sizes, "sizes in the capsule", capsule)
    s.expect_python("described({}).dtype", code_of(case.dtype), "code, bits and lanes in the capsule", capsule)
    s.expect_python("described({}).byte_offset", 0, "byte offset in the capsule", capsule)
    if case.numel and case.sizes:
        want = tuple(1 if size == 1 else step for size, step in zip(case.sizes, case.strides, strict=True))
        form = "tuple(1 if n == 1 else k for n, k in zip(described({0}).shape, described({0}).strides))"
        s.expect_python(form, want, "strides in the capsule, 1 for dims of size 1", capsule)
    if case.numel:
        _expect_address(s, x, capsule)


def _expect_address(s: Session, x: Handle, capsule: object) -> None:
    name = s.name_of(capsule)
    text = f"described({name}).address - {s.dialect.observe('data_ptr', x.name)}"
    got = described(capsule).address - int(s.observe("data_ptr", x))
    s.expect(got, 0, "the address in the capsule less the tensor's", text, [x, Handle(None, name)])


@requirement("interop/exported-strides-are-filled")
@forall(case=tensors(DTYPES, min_dims=1), version=st.sampled_from((None, (1, 0), (1, 2))))
def test_strides_of_every_capsule(s: Session, case: TensorCase, version: tuple[int, int] | None) -> None:
    capsule = s.call("__dlpack__", s.build(case), max_version=version)
    s.expect_python("described({}).strides is not None", True, "whether the capsule has strides", capsule)


@requirement("interop/host-memory-is-device-one")
def test_device_of_host_memory(s: Session) -> None:
    need_host_memory(s)
    x = s.call("zeros", (2, 3))
    pair = s.call("__dlpack_device__", x)
    s.expect([int(part) for part in pair], [1, 0], "device type and index", *s.of_last("[int(k) for k in {}]"))
    for version in (None, (1, 0)):
        capsule = s.call("__dlpack__", x, max_version=version)
        s.expect_python("described({}).device", (1, 0), "device in the capsule", capsule)


@requirement("interop/capsule-has-the-version-asked-for")
def test_versions(s: Session) -> None:
    s.table([({}, False), ({"max_version": None}, False), ({"max_version": (0, 8)}, False),
             ({"max_version": (1, 0)}, True), ({"max_version": (1, 1)}, True), ({"max_version": (2, 0)}, True)],
            _check_version)  # fmt: skip


def _check_version(s: Session, options: dict[str, object], versioned: bool) -> None:
    capsule = s.call("__dlpack__", s.call("zeros", (2,)), **options)
    want = "dltensor_versioned" if versioned else "dltensor"
    s.expect_python("name_of({})", want, "name of the capsule", capsule)
    if versioned:
        s.expect_python("described({}).version[0]", 1, "major version in the capsule", capsule)


@requirement("interop/stream-of-host-memory-is-none")
def test_streams(s: Session) -> None:
    need_host_memory(s)
    x = s.call("zeros", (2,))
    s.expect_python("name_of({})", "dltensor", "name of the capsule", s.call("__dlpack__", x, stream=None))
    for stream in (1, 2, 7):
        s.expect_raises(NO_STREAM, "__dlpack__", x, stream=stream)


@requirement("interop/other-device-without-copy-raises")
def test_device_of_a_gpu(s: Session) -> None:
    need_host_memory(s)
    x = s.call("zeros", (2,))
    capsule = s.call("__dlpack__", x, dl_device=(1, 0), copy=False)
    s.expect_python("described({}).device", (1, 0), "device in the capsule", capsule)
    s.expect_raises((BufferError, ValueError), "__dlpack__", x, dl_device=(2, 0), copy=False)


@requirement("interop/dlpack-copy-has-memory-of-its-own", needs=("inplace",))
@forall(case=tensors(DTYPES, layouts=("contiguous", "permuted", "offset", "gapped")), copy=st.booleans())
def test_from_dlpack_with_copy(s: Session, case: TensorCase, copy: bool) -> None:
    x = s.build(case)
    y = s.call("from_dlpack", x, copy=copy)
    s.expect_values(y, case.array)
    s.call("zero_", x)
    s.expect_values(y, case.array if copy else np.zeros(case.sizes, case.array.dtype))


@requirement("interop/dlpack-copy-has-memory-of-its-own", needs=("storage",))
@forall(length=st.integers(1, 5), copy=st.booleans(), version=VERSIONS)
def test_capsule_with_copy(s: Session, length: int, copy: bool, version: tuple[int, int] | None) -> None:
    x = s.call("zeros", (length,))
    capsule = s.call("__dlpack__", x, copy=copy, max_version=version)
    text = f"described({s.name_of(capsule)}).address == {s.dialect.observe('data_ptr', x.name)}"
    same = described(capsule).address == s.observe("data_ptr", x)
    s.expect(same, not copy, "whether the capsule has the tensor's address", text,
             [x, Handle(None, s.name_of(capsule))])  # fmt: skip


@requirement("interop/dlpack-copy-is-flagged")
def test_flag_of_a_copy(s: Session) -> None:
    x = s.call("zeros", (2,))
    copy = s.call("__dlpack__", x, copy=True, max_version=(1, 0))
    s.expect_python("described({}).flags & 2", 2, "the flag of a copy", copy)
    shared = s.call("__dlpack__", x, max_version=(1, 0))
    s.expect_python("described({}).flags & 3", 0, "the flags of what is shared and may be written", shared)


@requirement("interop/dlpack-refuses-tensors-that-require-grad")
@forall(dims=DIMS, version=VERSIONS)
def test_leaf(s: Session, dims: tuple[int, ...], version: tuple[int, int] | None) -> None:
    x = s.call("requires_grad_", s.call("ones", dims))
    s.expect_raises(BufferError, "__dlpack__", x, max_version=version)
    capsule = s.call("__dlpack__", s.call("detach", x), max_version=version)
    s.expect_python("described({}).shape", dims, "sizes of the detached tensor", capsule)


@requirement("interop/dlpack-refuses-lazy-conjugates")
@forall(values=st.lists(st.complex_numbers(max_magnitude=9), max_size=3), version=VERSIONS)
def test_conjugate(s: Session, values: list[complex], version: tuple[int, int] | None) -> None:
    x = s.call("conj", s.tensor(values, "complex64"))
    need_lazy(s, x, "is_conj")
    s.expect_raises(BufferError, "__dlpack__", x, max_version=version)
    capsule = s.call("__dlpack__", s.call("resolve_conj", x), max_version=version)
    s.expect_python("described({}).shape", (len(values),), "sizes of the resolved tensor", capsule)


@requirement("interop/dlpack-refuses-lazy-negations")
@forall(values=st.lists(st.complex_numbers(max_magnitude=9), min_size=1, max_size=3), version=VERSIONS)
def test_negation(s: Session, values: list[complex], version: tuple[int, int] | None) -> None:
    x = s.call("imag", s.call("conj", s.tensor(values, "complex64")))
    need_lazy(s, x, "is_neg")
    s.expect_raises(BufferError, "__dlpack__", x, max_version=version)


@requirement("interop/dlpack-refuses-tensors-without-data")
@forall(dims=DIMS, dtype=st.sampled_from(DTYPES))
def test_meta_tensor(s: Session, dims: tuple[int, ...], dtype: str) -> None:
    s.expect_raises(BufferError, "__dlpack__", s.call("empty.memory_format", dims, dtype=DType(dtype), device="meta"))


@requirement("interop/dlpack-refuses-sparse-tensors")
@forall(dims=DIMS.filter(len), version=VERSIONS)
def test_sparse_tensor(s: Session, dims: tuple[int, ...], version: tuple[int, int] | None) -> None:
    x = s.call("to_sparse", s.tensor(np.ones(dims, np.float32)))
    s.expect_raises(BufferError, "__dlpack__", x, max_version=version)


@requirement("interop/dlpack-refuses-quantized-tensors")
@forall(dims=DIMS, version=VERSIONS)
def test_quantized_tensor(s: Session, dims: tuple[int, ...], version: tuple[int, int] | None) -> None:
    x = s.call("quantize_per_tensor", s.tensor(np.ones(dims, np.float32)), 0.5, 0, DType("quint8"))
    s.expect_raises(BufferError, "__dlpack__", x, max_version=version)
