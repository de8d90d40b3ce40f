"""Tensors that one thread changes while calls in others read them, and read-only metadata."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.memory import set_allocator
from gaugeblock.memory.host_allocator import aligned_block, release_block

WAITS = """
def wait(begun, changed):
    begun.set()
    changed.wait(60)
"""
READS = """
def call(x, wait, begun, changed):
    meta, address = x.meta, x.pointer
    wait(begun, changed)
    return meta is x.meta, address == x.pointer, address - x.storage_impl.pointer, x.sum().item()
"""


class Reader:
    """A call of the package in another thread, which reads a tensor before and after `change`, and waits for that in
    a function of the module `waiting`."""

    def __init__(self, x: gb.Tensor, waiting: str = "gaugeblock.operators.test") -> None:
        self.begun, self.changed = threading.Event(), threading.Event()
        self.seen: Any = None
        space: dict[str, Any] = {"__name__": "gaugeblock.operators.test"}
        exec(READS, space)
        waits: dict[str, Any] = {"__name__": waiting}
        exec(WAITS, waits)

        def run() -> None:
            self.seen = space["call"](x, waits["wait"], self.begun, self.changed)

        self.thread = threading.Thread(target=run)
        self.thread.start()
        self.begun.wait(60)

    def end(self) -> Any:
        """Return what the call saw: meta and address unchanged, offset in the block, sum of the elements."""
        self.changed.set()
        self.thread.join(60)
        return self.seen


CHANGES: dict[str, tuple[Callable[[gb.Tensor], object], tuple[int, ...], float]] = {
    "data": (lambda x: setattr(x, "data", gb.ones(2, 2)), (2, 2), 4.0),
    "set_": (lambda x: x.set_(gb.ones(5)), (5,), 5.0),
    "set_ without source": (lambda x: x.set_(), (0,), 0.0),
    "t_": (lambda x: x.t_(), (4, 3), 12.0),
    "as_strided_": (lambda x: x.as_strided_((2,), (1,)), (2,), 2.0),
    "resize_": (lambda x: x.resize_(100, 100).fill_(1), (100, 100), 10000.0),
    "out=": (lambda x: gb.add(gb.zeros(7), 1, out=x), (7,), 7.0),
}


class Named:
    """A class that stands before Tensor among the bases of a subclass."""


def subclasses() -> list[type[gb.Tensor]]:
    """Return Tensor and new subclasses of it, whose tensors no other test has changed."""

    class Subclass(gb.Tensor):
        pass

    class Mixed(Named, Subclass):
        pass

    class First(Named, gb.Tensor):
        __slots__ = ("name",)

    return [gb.Tensor, Subclass, Mixed, First]


KINDS = pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=["Tensor", "Subclass", "Mixed", "First"])


@KINDS
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", CHANGES)
def test_a_running_call_sees_the_old_metadata(name: str, kind: int) -> None:
    change, sizes, total = CHANGES[name]
    cls = subclasses()[kind]
    x = gb.ones(3, 4).as_subclass(cls)
    reader = Reader(x)
    change(x)
    assert (tuple(x.shape), x.sum().item()) == (sizes, total)
    assert reader.end() == (True, True, 0, 12.0)
    assert (tuple(x.shape), x.sum().item()) == (sizes, total)
    assert type(x) is cls


def test_a_call_that_waits_in_the_simulated_driver_sees_the_old_metadata() -> None:
    x = gb.ones(3, 4)
    reader = Reader(x, "gaugeblock_testing.cuda_simulator.timeline")
    x.set_(gb.ones(5))
    assert reader.end() == (True, True, 0, 12.0)
    assert (tuple(x.shape), x.sum().item()) == ((5,), 5.0)


FINALISES = """
def release(begun, changed):
    begun.set()
    time.sleep(0.02)

def wait(begun, changed):
    release(begun, changed)
    changed.wait(60)
"""


def test_a_call_in_which_a_finaliser_runs_sees_the_old_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "WAITS", f"import time\n{FINALISES}")
    x = gb.ones(3, 4)
    reader = Reader(x)
    x.set_(gb.ones(5))
    assert reader.end() == (True, True, 0, 12.0)
    assert (tuple(x.shape), x.sum().item()) == ((5,), 5.0)


@KINDS
def test_a_running_call_keeps_the_old_block_of_a_storage_that_shrinks(kind: int) -> None:
    cls = subclasses()[kind]
    x = gb.ones(3, 4).as_subclass(cls)
    row = x[1]
    reader = Reader(row)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="the storage was resized under this tensor"):
        x.sum()
    assert reader.end() == (True, True, 16, 4.0)
    with pytest.raises(RuntimeError, match="the storage was resized under this tensor"):
        row.sum()
    x.untyped_storage().resize_(48)
    assert (row.fill_(2).sum().item(), type(row) is cls) == (8.0, True)


@KINDS
@pytest.mark.parametrize("waiting", ["_pytest.assertion.rewrite", "a_program"])
def test_calls_that_wait_for_functions_of_others_keep_what_they_read(kind: int, waiting: str) -> None:
    """A call may run an import hook, or a function of the program, between its reads of a tensor."""
    x = gb.full((64, 32), 2.0).as_subclass(subclasses()[kind])
    reader = Reader(x, waiting)
    x.data = gb.ones(300, 300)
    gb.full((64, 32), float("nan"))
    assert reader.end() == (True, True, 0, 4096.0)
    assert x.sum().item() == 90000.0


@KINDS
def test_elements_of_a_storage_that_shrinks_are_out_of_reach(kind: int) -> None:
    x = gb.ones(3, 4).as_subclass(subclasses()[kind])
    x.untyped_storage().resize_(0)
    for read in (x.sum, x.tolist, lambda: x[1], lambda: x.detach().clone(), lambda: x + 1):
        with pytest.raises(RuntimeError, match="the storage was resized under this tensor"):
            read()
    x.untyped_storage().resize_(48)
    assert x.fill_(2).sum().item() == 24.0


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "leaf"])
@KINDS
def test_changes_and_calls_of_threads_at_once(kind: int, requires_grad: bool) -> None:
    cls = subclasses()[kind]
    x, ended = gb.ones(64, 32).as_subclass(cls).requires_grad_(requires_grad), threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not ended.is_set():
            try:
                total, count = (x * 1).sum().item(), x.clone().numel()
            except RuntimeError as error:
                wrong.append(str(error))
            else:
                if total not in (4.0, 2048.0, 90000.0) or count not in (4, 2048, 90000):
                    wrong.append((total, count))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for step in range(150):
        x.data = gb.ones((2, 2) if step % 3 == 0 else (300, 300) if step % 3 == 1 else (64, 32))
        if not requires_grad:
            x.t_()
    ended.set()
    for thread in threads:
        thread.join(60)
    assert (wrong, x.sum().item() >= 4, type(x) is cls) == ([], True, True)


COLLECTIONS = """
import gc, random, sys, threading, time
sys.setswitchinterval(1e-5)
import gaugeblock as gb
gc.set_threshold(20)
gc.callbacks.append(lambda phase, _: sum(number for number in range(500)))
x, end = gb.ones(64, 32), time.monotonic() + 2

def read():
    while time.monotonic() < end:
        assert (x + x).sum().item() == 4096 and x.clone().exp().numel() == 2048

threads = [threading.Thread(target=read) for _ in range(3)]
for thread in threads:
    thread.start()
while time.monotonic() < end:
    x.t_()
for thread in threads:
    thread.join()
x.t_()
assert type(x) is gb.Tensor
"""


def test_changes_while_the_collector_runs_python_code() -> None:
    done = subprocess.run([sys.executable, "-c", COLLECTIONS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_change_leaves_the_garbage_collector_as_it_was() -> None:
    x, reader = gb.ones(3, 4), Reader(gb.ones(2))
    assert gc.isenabled()
    x.t_()
    assert gc.isenabled()
    gc.disable()
    try:
        x.t_()
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert reader.end()[3] == 2.0


@pytest.mark.parametrize("name", ["pointer", "meta", "storage_impl", "offset"])
def test_tensor_metadata_is_read_only(name: str) -> None:
    x = gb.ones(3)
    with pytest.raises(AttributeError):
        setattr(x, name, 8)
    with pytest.raises(AttributeError):
        delattr(x, name)
    assert x.sum().item() == 3.0


def test_metas_and_storages_are_read_only() -> None:
    x = gb.ones(3)
    storage = x.storage_impl
    for target, name, value in ((x.meta, "sizes", (9,)), (x.meta, "strides", (9,)), (storage, "pointer", 8)):
        with pytest.raises(AttributeError):
            setattr(target, name, value)
    with pytest.raises(AttributeError):
        x.storage_impl.nbytes = 100  # type: ignore[misc]


class Answering:
    """An allocator that returns the same address for every request."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def allocate(self, nbytes: int) -> Any:
        return self.answer

    def free(self, address: int, nbytes: int) -> None:
        raise AssertionError("nothing was given")


@pytest.fixture
def own_block() -> Iterator[int]:
    address = aligned_block(4096)
    yield address
    release_block(address)


@pytest.mark.parametrize("answer", [-1, 0, 8, 4096, 1 << 46, (1 << 63) - 16, 1 << 70])
def test_an_address_of_no_memory_is_refused(answer: int) -> None:
    set_allocator(Answering(answer))
    try:
        with pytest.raises(RuntimeError, match="the allocator in use returned"):
            gb.ones(16)
    finally:
        set_allocator(None)


def test_an_unaligned_address_is_refused(own_block: int) -> None:
    set_allocator(Answering(own_block + 1))
    try:
        with pytest.raises(RuntimeError, match="a multiple of 16"):
            gb.ones(16)
    finally:
        set_allocator(None)


def test_an_address_that_is_not_an_int_is_refused() -> None:
    set_allocator(Answering(None))
    try:
        with pytest.raises(TypeError, match="must return an int address, got NoneType"):
            gb.ones(16)
    finally:
        set_allocator(None)


class Lying(np.ndarray[Any, Any]):
    """An array whose attributes claim memory that it does not have."""

    shape = property(lambda self: (1 << 20,))  # type: ignore[assignment]
    strides = property(lambda self: (8,))  # type: ignore[assignment]
    __array_interface__: ClassVar[Any] = {"data": (8, False), "shape": (4,), "typestr": "<f4", "version": 3}


class Claiming:
    """An object that only claims to be an array."""

    __class__ = np.ndarray  # type: ignore[assignment]
    shape, strides, dtype, flags = (4,), (4,), np.dtype(np.float32), np.ones(1).flags
    __array_interface__ = Lying.__array_interface__


def test_array_subclasses_are_read_without_their_attributes() -> None:
    array = np.arange(4, dtype=np.float32).view(Lying)
    for made in (gb.from_numpy(array), gb.as_tensor(array)):
        assert (tuple(made.shape), made.tolist()) == ((4,), [0, 1, 2, 3])


def test_an_object_that_claims_to_be_an_array_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be np\.ndarray, got Claiming"):
        gb.from_numpy(Claiming())


@pytest.mark.parametrize(
    "make",
    [
        lambda: gb.empty(2**64, 0),
        lambda: gb.empty(2**63, 0),
        lambda: gb.zeros((2**64, 0)),
        lambda: gb.empty_strided((2**64, 0), (1, 1)),
        lambda: gb.ones(0).expand(2**64, 0),
        lambda: gb.ones(0).view(0, 2**64),
        lambda: gb.ones(0).resize_(2**64, 0),
        lambda: gb.full((2**64, 0), 1.0),
    ],
)
def test_sizes_beyond_64_bits_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="Overflow when unpacking long"):
        make()


def test_strides_beyond_64_bits_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        gb.empty(0, 4, 2**61)
    assert tuple(gb.empty(2**63 - 1, 0).shape) == (2**63 - 1, 0)
