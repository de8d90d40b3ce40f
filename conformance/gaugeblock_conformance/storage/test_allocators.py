"""Memory from a replaceable allocator, and memory of somebody else."""

from __future__ import annotations

import ctypes
from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import AllocatorLog, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import sizes

VIEWS: list[tuple[str, tuple[Any, ...]]] = [
    ("transpose.int", (0, 1)),
    ("__getitem__", (0,)),
    ("__getitem__", (slice(None), slice(1, None, 2))),
    ("view", ((-1,),)),
    ("expand", ((5, 3, 4),)),
    ("unsqueeze", (0,)),
    ("detach", ()),
    ("as_strided", ((2, 2), (1, 1), 0)),
    ("diagonal", ()),
    ("T", ()),
    ("narrow", (1, 0, 2)),
    ("squeeze", ()),
    ("unbind.int", (0,)),
]


def _expect(s: Session, got: Any, want: Any, what: str) -> None:
    if got != want:
        lines = [f"# {what}: expected {want!r}, got {got!r}", "raise AssertionError('the allocator was misused')"]
        everything = {t for step in s.steps() for t in getattr(step, "targets", ())}
        raise s.failure(f"wrong {what}", repr(want), repr(got), lines, everything)


def _observed(s: Session) -> AbstractContextManager[AllocatorLog]:
    manager: AbstractContextManager[AllocatorLog] = s.backend.observed_allocator()  # type: ignore[attr-defined]
    return manager


@requirement("storage/allocator-is-replaceable", "storage/deleter-runs-once")
@forall(dims=sizes(0, 3, empty=False), count=st.integers(1, 4))
def test_every_storage_comes_from_the_allocator(s: Session, dims: tuple[int, ...], count: int) -> None:
    nbytes = 4 * int(np.prod(dims))
    with _observed(s) as log:
        made = [s.call("zeros", dims) for _ in range(count)]
        made.append(s.call("add.Tensor", made[0], made[-1]))
        _expect(s, [n for _, n in log.given].count(nbytes) >= count + 1, True, "one block for each tensor")
        for x in made:
            address = s.observe("data_ptr", x)
            known = any(start <= address < start + size for start, size in log.given)
            _expect(s, known, True, "the data lies in a block of the allocator")
        held = {s.observe("data_ptr", x) for x in made}
        living = {address for address, _ in Counter(log.given) - Counter(log.taken)}
        _expect(s, held - living, set(), "blocks of living tensors given back")
        made.clear()
        del x
        _expect_balanced(s, log)


def _expect_balanced(s: Session, log: AllocatorLog) -> None:
    _expect(s, sorted(log.taken), sorted(log.given), "blocks given back")


@requirement("storage/allocator-is-replaceable")
def test_allocator_is_asked_for_the_bytes(s: Session) -> None:
    with _observed(s) as log:
        x = s.call("ones", (3, 4))
        before = len(log.given)
        y = s.call("clone", x)
        _expect(s, [size for _, size in log.given[before:]], [48], "sizes asked for by clone")
        _expect(s, s.observe("data_ptr", y), log.given[-1][0], "address of the clone")
        s.expect_values(y, np.ones((3, 4), np.float32))
        count = len(log.given)
    after = s.call("ones", (3, 4))
    _expect(s, len(log.given), count, "blocks asked for after the allocator was put back")
    s.expect_shape(after, (3, 4))


@requirement("storage/deleter-runs-once")
def test_blocks_go_back_once(s: Session) -> None:
    with _observed(s) as log:
        x = s.call("zeros", (1000,))
        view = s.call("__getitem__", x, slice(10, 20))
        start = s.observe("data_ptr", x)
        del x
        early = [block for block in log.taken if block[0] == start]
        _expect(s, early, [], "its block given back while a view lives")
    del view
    _expect_balanced(s, log)


@requirement("storage/deleter-runs-once", needs=("resize",))
def test_growing_gives_the_old_block_back(s: Session) -> None:
    with _observed(s) as log:
        x = s.call("zeros", (3,))
        s.call("resize_", x, (1000,))
        del x
        _expect_balanced(s, log)
        _expect(s, {12, 4000} <= {size for _, size in log.given}, True, "12 and 4000 bytes were asked for")


@requirement("storage/views-allocate-nothing", needs=("as_strided",))
@forall(chosen=st.lists(st.integers(0, len(VIEWS) - 1), min_size=1, max_size=5))
def test_views_ask_for_nothing(s: Session, chosen: list[int]) -> None:
    with _observed(s) as log:
        x = s.call("zeros", (3, 4))
        before, returned = list(log.given), list(log.taken)
        for k in chosen:
            name, arguments = VIEWS[k]
            y = s.call(name, x, *((arguments,) if name == "__getitem__" else arguments))
            _expect(s, log.given, before, f"blocks asked for by {name}")
        _expect(s, log.taken, returned, "blocks given back")
        del x, y
        _expect_balanced(s, log)


class Foreign:
    """Memory of the test's own, and how often its deleter was called."""

    def __init__(self, values: list[float], dtype: str) -> None:
        self.array = np.array(values, numpy_dtype(dtype))
        self.calls: list[int] = []

    @property
    def address(self) -> int:
        return int(self.array.ctypes.data)

    def delete(self, address: int) -> None:
        self.calls.append(address)
        ctypes.memset(self.address, 0xFF, self.array.nbytes)


def _blob(s: Session, memory: Foreign, dims: tuple[int, ...], dtype: str) -> Handle:
    raw = s.backend.from_blob(memory.address, dims, dtype, memory.delete)  # type: ignore[attr-defined]
    return Handle(raw, "blob")


@requirement("storage/foreign-deleter-runs-after-last-view", needs=("views",))
def test_deleter_of_six_numbers(s: Session) -> None:
    memory = Foreign([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "float32")
    x = _blob(s, memory, (2, 3), "float32")
    s.expect_nbytes(x, 24)
    _expect(s, s.observe("data_ptr", x), memory.address, "data address")
    row = s.call("__getitem__", x, 1)
    s.expect_values(row, [3.0, 4.0, 5.0])
    if "inplace" in s.capabilities:
        s.call("fill_.Scalar", row, 9)
        _expect(s, memory.array.tolist(), [0.0, 1.0, 2.0, 9.0, 9.0, 9.0], "the foreign memory")
    del x
    _expect(s, memory.calls, [], "calls of the deleter while a view lives")
    del row
    _expect(s, memory.calls, [memory.address], "calls of the deleter after the last view")


@requirement("storage/foreign-deleter-runs-after-last-view", needs=("views",))
@forall(
    order=st.permutations(range(4)),
    dtype=st.sampled_from(("float32", "int64", "uint8", "complex64")),
    copied=st.booleans(),
)
def test_deleter_waits_for_every_view(s: Session, order: list[int], dtype: str, copied: bool) -> None:
    memory = Foreign([1.0] * 6, dtype)
    x = _blob(s, memory, (2, 3), dtype)
    held: list[Handle | None] = [x, s.call("t", x), s.call("__getitem__", x, 0), s.call("detach", x)]
    copy = s.call("clone", x) if copied else None
    del x
    for k in order:
        _expect(s, memory.calls, [], "calls of the deleter while a tensor lives")
        held[k] = None
    _expect(s, memory.calls, [memory.address], "calls of the deleter after the last tensor")
    if copy is not None:
        s.expect_values(copy, np.ones((2, 3), numpy_dtype(dtype)))
