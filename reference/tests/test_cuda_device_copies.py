"""Copies to, from, within and between CUDA devices: values, conversions, strides, what waits and what does not."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gc.collect()
    assert [gb.cuda.memory_allocated(index) for index in (0, 1)] == [0, 0]
    gb.cuda.use_driver(None)


PLACES = ("cpu", "cuda:0", "cuda:1")
SOURCES = {
    "plain": lambda d: gb.arange(12.0).reshape(3, 4).to(d),
    "transposed": lambda d: gb.arange(12.0).reshape(4, 3).to(d).t(),
    "gapped": lambda d: gb.arange(48.0).reshape(3, 16).to(d)[:, 1::4],
    "row": lambda d: gb.arange(4.0).to(d),
    "expanded": lambda d: gb.arange(3.0).reshape(3, 1).to(d).expand(3, 4),
    "ints": lambda d: gb.arange(12).reshape(3, 4).to(d),
    "conjugate": lambda d: gb.complex(gb.arange(12.0), -gb.arange(12.0)).reshape(3, 4).to(d).conj(),
    "number": lambda d: gb.tensor(3.0).to(d),
}
TARGETS = {
    "plain": lambda d: gb.zeros(3, 4, dtype=gb.complex64, device=d),
    "transposed": lambda d: gb.zeros(4, 3, dtype=gb.complex64, device=d).t(),
    "gapped": lambda d: gb.zeros(6, 8, dtype=gb.complex64, device=d)[::2, ::2],
    "conjugate": lambda d: gb.zeros(3, 4, dtype=gb.complex64, device=d).conj(),
}


@pytest.mark.parametrize("there", PLACES)
@pytest.mark.parametrize("here", PLACES)
@pytest.mark.parametrize("source", SOURCES)
def test_values_arrive(source: str, here: str, there: str) -> None:
    x = SOURCES[source](here)
    expected = SOURCES[source]("cpu")
    for target in TARGETS:
        for non_blocking in (False, True):
            y = TARGETS[target](there)
            version = y._version
            assert y.copy_(x, non_blocking) is y and y._version == version + 1
            assert y.tolist() == TARGETS[target]("cpu").copy_(expected).tolist()
    moved = x.to(there, gb.float64) if not expected.is_complex() else x.to(there, gb.complex128)
    assert moved.tolist() == expected.tolist() and str(moved.device) == there
    assert x.to(there).stride() == (x if here == there else gb.empty_like(expected)).stride()


def test_to_gives_the_tensor_itself_where_nothing_changes() -> None:
    x = gb.ones(2, device="cuda:1")
    assert x.to("cuda:1") is x and x.cuda(1) is x and x.to(x) is x and x.to(gb.float32) is x
    assert x.to("cuda:1", copy=True) is not x and x.cuda().get_device() == 0 and x.cpu().cpu().tolist() == [1.0, 1.0]
    assert x.to(gb.ones(1, dtype=gb.int8)).device.type == "cpu" and x.type_as(gb.ones(1).int()).device is x.device
    assert x.to("meta").device.type == "meta"
    with pytest.raises(NotImplementedError, match="meta"):
        gb.ones(2, device="meta").cuda()


def test_pinned_memory_is_written_later() -> None:
    x = gb.arange(4.0, device="cuda") + 1
    pinned, pageable = gb.zeros(4, pin_memory=True), gb.zeros(4)
    pinned.copy_(x, non_blocking=True)
    assert pinned.tolist() == [0.0] * 4
    pageable.copy_(x, non_blocking=True)
    assert pageable.tolist() == pinned.tolist() == [1.0, 2.0, 3.0, 4.0]
    late, waited = x.to("cpu", non_blocking=True), x.to("cpu")
    assert late.is_pinned() and not waited.is_pinned() and waited.tolist() == [1.0, 2.0, 3.0, 4.0]
    later = (x * 2).to("cpu", non_blocking=True)
    assert later.tolist() != [2.0, 4.0, 6.0, 8.0]
    gb.cuda.synchronize()
    assert later.tolist() == [2.0, 4.0, 6.0, 8.0] and late.tolist() == waited.tolist()
    pinned.zero_()
    pinned.copy_(x)
    assert pinned.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_pinned_memory_is_read_later_and_other_memory_at_once() -> None:
    pinned, pageable = gb.ones(4).pin_memory(), gb.ones(4)
    late, early = pinned.to("cuda", non_blocking=True), pageable.to("cuda", non_blocking=True)
    pinned.fill_(5)
    pageable.fill_(5)
    assert (late.tolist(), early.tolist()) == ([5.0] * 4, [1.0] * 4)
    waited = pinned.cuda()
    pinned.fill_(6)
    assert waited.tolist() == [5.0] * 4


def test_a_pinned_block_is_kept_while_a_copy_is_under_way() -> None:
    pinned = gb.ones(4).pin_memory()
    address = pinned.data_ptr()
    x = pinned.to("cuda", non_blocking=True)
    del pinned
    other = gb.zeros(4, pin_memory=True)
    assert other.data_ptr() != address and x.tolist() == [1.0] * 4
    assert gb.zeros(4, pin_memory=True).data_ptr() == address


def test_devices_wait_for_each_other() -> None:
    x = gb.zeros(1000, device="cuda:0")
    side = gb.cuda.Stream(1)
    with gb.cuda.stream(side):
        for _ in range(10):
            x.add_(1)
        y = x.to("cuda:1")
        x.fill_(100)
        z = y * 2
    assert not side.query() and y.get_device() == 1
    side.synchronize()
    assert z.tolist() == [20.0] * 1000 and x.tolist() == [100.0] * 1000


def test_what_does_not_fit_is_refused() -> None:
    x = gb.zeros(2, 3, device="cuda")
    with pytest.raises(RuntimeError, match="broadcast"):
        x.copy_(gb.zeros(4))
    with pytest.raises(RuntimeError, match="single memory location"):
        x[0].copy_(x.flatten()[1:4])
    with pytest.raises(RuntimeError, match="single memory location"):
        gb.zeros(1, device="cuda").expand(3).copy_(gb.ones(3))
    with pytest.warns(UserWarning, match="imaginary"):
        x.copy_(gb.ones(2, 3, dtype=gb.complex64))
    assert x.tolist() == [[1.0] * 3] * 2


def test_gradients_cross_devices() -> None:
    w = gb.ones(3, requires_grad=True)
    y = w.to("cuda:1") * gb.arange(3.0, device="cuda:1")
    y.cuda(0).double().sum().backward()
    assert w.grad.tolist() == [0.0, 1.0, 2.0] and w.grad.device.type == "cpu" and w.grad.dtype is gb.float32
