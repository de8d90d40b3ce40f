"""channels_last: an order of strides, not another set of sizes."""

from __future__ import annotations

from hypothesis import strategies as st

from ..backend import MemoryFormat, numpy_dtype
from ..case import TensorCase, is_contiguous
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import sizes, tensors

LAST = MemoryFormat("channels_last")


def channels_last(dims: tuple[int, ...]) -> tuple[int, ...]:
    _, c, h, w = dims
    return (h * w * c, 1, w * c, c)


def _is_channels_last(dims: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    step = 1
    for k in (1, 3, 2, 0):
        if dims[k] != 1 and strides[k] != step:
            return False
        step *= dims[k]
    return True


@requirement("views/channels-last-is-a-stride-order", needs=("strided",))
def test_strides_of_one_image(s: Session) -> None:
    x = s.call("zeros", (2, 3, 4, 5))
    y = s.call("contiguous", x, memory_format=LAST)
    s.expect_geometry(y, (2, 3, 4, 5), (60, 1, 15, 3), 0)
    s.expect(s.call("is_contiguous", y), False, "is_contiguous()")
    s.expect(s.call("is_contiguous", y, memory_format=LAST), True, "is_contiguous(channels_last)")
    s.expect(s.call("is_contiguous", x, memory_format=LAST), False, "is_contiguous(channels_last) of the input")


@requirement("views/channels-last-is-a-stride-order", needs=("strided",))
@forall(case=tensors(sizes=sizes(4, 4, empty=False)), via=st.sampled_from(("contiguous", "clone")))
def test_channels_last_of_any_layout(s: Session, case: TensorCase, via: str) -> None:
    x = s.build(case)
    already = _is_channels_last(case.sizes, case.strides)
    s.expect(s.call("is_contiguous", x, memory_format=LAST), already, "is_contiguous(channels_last)")
    y = s.call(via, x, memory_format=LAST)
    s.expect_values(y, case.array)
    if via == "contiguous" and already:
        s.expect_same(y, x)
        return
    want = channels_last(case.sizes)
    s.expect_geometry(y, case.sizes, want, 0)
    s.expect(s.call("is_contiguous", y, memory_format=LAST), True, "is_contiguous(channels_last) of the result")
    s.expect(s.call("is_contiguous", y), is_contiguous(case.sizes, want), "is_contiguous() of the result")
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)
        s.expect_nbytes(y, case.numel * numpy_dtype(case.dtype).itemsize)


@requirement("views/channels-last-needs-four-dims")
@forall(dims=sizes(0, 5), via=st.sampled_from(("contiguous", "clone", "empty.memory_format")))
def test_other_ranks_raise(s: Session, dims: tuple[int, ...], via: str) -> None:
    dims = (*dims, 2) if len(dims) == 4 else dims
    source = dims if via == "empty.memory_format" else s.call("zeros", dims)
    s.expect_raises(RuntimeError, via, source, memory_format=LAST)


@requirement("views/channels-last-needs-four-dims")
def test_four_dims_are_accepted(s: Session) -> None:
    s.expect_raises(RuntimeError, "contiguous", s.tensor([[[1.0]]]), memory_format=LAST)
    s.expect_shape(s.call("contiguous", s.tensor([[[[1.0]]]]), memory_format=LAST), (1, 1, 1, 1))
