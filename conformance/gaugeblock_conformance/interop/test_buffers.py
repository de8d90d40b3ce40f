"""Tensors over objects with the buffer protocol."""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .arrays import expect_gone

KINDS = ("bytearray({})", "memoryview(bytearray({}))", "np.zeros({}, 'uint8')")
WIDTHS = {"uint8": 1, "int16": 2, "float32": 4, "int64": 8, "complex128": 16}


@requirement("interop/frombuffer-shares-the-buffer", needs=("inplace",))
def test_two_numbers_of_four_bytes(s: Session) -> None:
    buffer = s.bind(r"bytearray(b'\x01\x00\x02\x00')" if sys.byteorder == "little" else r"bytearray(b'\0\1\0\2')")
    x = s.call("frombuffer", buffer, dtype=DType("int16"))
    s.expect_values(x, [1, 2], dtype="int16")
    s.execute("{}[0:2] = bytes(2)", buffer)
    s.expect_values(x, [0, 2], dtype="int16")
    s.call("fill_.Scalar", x, 0)
    s.expect_python("{}.hex()", "00000000", "the buffer after a write to the tensor", buffer)


@requirement("interop/frombuffer-shares-the-buffer")
@forall(
    dtype=st.sampled_from(tuple(WIDTHS)), offset=st.integers(0, 9), count=st.integers(1, 5), more=st.integers(0, 20),
    counted=st.booleans(), kind=st.sampled_from(KINDS),
)
def test_bytes_behind_an_offset(
    s: Session, dtype: str, offset: int, count: int, more: int, counted: bool, kind: str
) -> None:
    width = WIDTHS[dtype]
    length = offset + count * width + (more if counted else 0)
    buffer = s.bind(kind.format(length))
    options = {"count": count} if counted else {}
    x = s.call("frombuffer", buffer, dtype=DType(dtype), offset=offset, **options)
    s.expect_values(x, np.zeros(count, numpy_dtype(dtype)))
    s.execute(f"{{}}[:] = bytes(range({length}))" if "np." not in kind else f"{{}}[:] = np.arange({length})", buffer)
    data = bytes(range(length))[offset : offset + count * width]
    s.expect_values(x, np.frombuffer(data, numpy_dtype(dtype)))


@requirement("interop/frombuffer-checks-its-range")
def test_ranges_of_six_bytes(s: Session) -> None:
    s.table([(6, "int32", -1, 0), (0, "uint8", -1, 0), (6, "uint8", 0, 0), (6, "uint8", -1, 6), (6, "uint8", -1, -1),
             (6, "uint8", 7, 0), (6, "int32", 1, 3), (6, "int32", 2**62, 0)], _check_refused)  # fmt: skip


def _check_refused(s: Session, length: int, dtype: str, count: int, offset: int) -> None:
    s.expect_raises(ValueError, "frombuffer", s.bind(f"bytearray({length})"), dtype=DType(dtype), count=count,
                    offset=offset)  # fmt: skip


@requirement("interop/frombuffer-checks-its-range")
@forall(length=st.integers(0, 20), dtype=st.sampled_from(tuple(WIDTHS)), count=st.integers(-1, 6),
        offset=st.integers(-2, 21))  # fmt: skip
def test_any_range(s: Session, length: int, dtype: str, count: int, offset: int) -> None:
    width = WIDTHS[dtype]
    buffer = s.bind(f"bytearray({length})")
    rest = length - offset
    fits = rest % width == 0 if count < 0 else count * width <= rest
    if length and count and 0 <= offset < length and fits:
        x = s.call("frombuffer", buffer, dtype=DType(dtype), count=count, offset=offset)
        s.expect_values(x, np.zeros(rest // width if count < 0 else count, numpy_dtype(dtype)))
    else:
        s.expect_raises(ValueError, "frombuffer", buffer, dtype=DType(dtype), count=count, offset=offset)


@requirement("interop/tensor-keeps-its-buffer")
@forall(length=st.integers(1, 100), detached=st.booleans())
def test_buffer_goes_with_the_last_tensor(s: Session, length: int, detached: bool) -> None:
    buffer = s.bind(f"__import__('array').array('B', bytes({length}))")
    alive = s.bind("__import__('weakref').ref({})", buffer)
    x = s.call("frombuffer", buffer, dtype=DType("uint8"))
    y = s.call("detach", x) if detached else x
    first, last = x.name, y.name
    s.forget(buffer)
    del buffer
    if detached:
        s.forget(first)
    del x
    s.expect_python("{}() is not None", True, "whether the buffer is there while a tensor is over it", alive)
    s.expect_values(y, np.zeros(length, np.uint8))
    s.forget(last)
    del y
    expect_gone(s, alive, "the buffer", last)
