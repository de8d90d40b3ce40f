"""Memory shared between processes: moved in place, sent by handle, counted, and gone with its last holder."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import DType
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..strategies.tensors import WRITABLE

CASES = tensors(layouts=WRITABLE, max_dims=3)


def _expect_shared(s: Session, *xs: Handle) -> None:
    for x in xs:
        s.expect(s.call("is_shared", x), True, "wrong answer of is_shared", s.text("is_shared", x), [x])


@requirement("interop/share-memory-moves-in-place", needs=("strided",))
@forall(case=CASES)
def test_shared_in_place(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    s.expect(s.call("is_shared", x), False, "wrong answer of is_shared", s.text("is_shared", x), [x])
    s.expect_same(s.call("share_memory_", x), x)
    _expect_shared(s, x)
    s.expect_values(x, case.array)
    s.expect_strides(x, case.strides)
    s.expect_offset(x, case.offset)


@requirement("interop/sharing-moves-all-views", needs=("inplace",))
@forall(case=tensors(layouts=WRITABLE, max_dims=3, empty=False), through_view=st.booleans())
def test_shared_views(s: Session, case: TensorCase, through_view: bool) -> None:
    x = s.build(case)
    y = s.call("unsqueeze", x, 0)
    s.call("share_memory_", y if through_view else x)
    _expect_shared(s, x, y)
    s.call("fill_.Scalar", y, 1)
    s.expect_values(x, np.ones_like(case.array))
    s.call("fill_.Scalar", x, 0)
    s.expect_values(y, np.zeros_like(case.array)[None])


@requirement("interop/sharing-moves-all-views", needs=("inplace",))
def test_shared_tail_of_four(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3], "int64")
    y = s.call("__getitem__", x, slice(1, None))
    s.call("share_memory_", x)
    s.call("fill_.Scalar", y, 7)
    s.expect_values(x, [0, 7, 7, 7], dtype="int64")
    _expect_shared(s, y)


@requirement("interop/sharing-twice-changes-nothing", needs=("views",))
@forall(case=tensors(layouts=WRITABLE, max_dims=3, empty=False), through_view=st.booleans())
def test_shared_twice(s: Session, case: TensorCase, through_view: bool) -> None:
    x = s.build(case)
    s.call("share_memory_", x)
    before = s.call("data_ptr", x)
    s.call("share_memory_", s.call("unsqueeze", x, 0) if through_view else x)
    if s.call("data_ptr", x) != before:
        s.fail_computed("the address of storage that is shared already stays", NoReproducer("addresses differ"))
    s.expect_values(x, case.array)


@requirement("interop/sharing-leaves-arrays-behind", needs=("inplace",))
def test_array_of_three(s: Session) -> None:
    array = s.bind("np.arange(3)")
    x = s.call("from_numpy", array)
    s.call("share_memory_", x)
    s.call("fill_.Scalar", x, 9)
    s.execute("{}[1] = 5", array)
    s.expect_values(x, [9, 9, 9], dtype="int64")
    s.expect_python("{}.tolist()", [0, 5, 2], "wrong elements of the array", array)


@requirement("interop/sharing-leaves-arrays-behind", needs=("inplace",))
@forall(length=st.integers(1, 300), step=st.integers(1, 3))
def test_arrays(s: Session, length: int, step: int) -> None:
    array = s.bind(f"np.arange({length})[::{step}]")
    want = array.copy()
    x = s.call("from_numpy", array)
    s.call("share_memory_", x)
    s.expect_values(x, want)
    s.execute("{}[...] = -1", array)
    s.expect_values(x, want)
    s.call("fill_.Scalar", x, -2)
    s.expect_python("int({}.max())", -1, "wrong elements of the array", array)
    s.expect_python("int({}.min())", -1, "wrong elements of the array", array)


def _expect_in_child(s: Session, x: Handle, **wanted: Any) -> None:
    """Expect what another process finds that receives ``x``."""
    found = s.call("in_child", x)
    for k, what in enumerate(("nbytes", "offset", "sizes", "strides", "values")):
        if what in wanted:
            want = repr(wanted[what])  # of which nan is equal to itself
            s.expect_of_last(repr(found[k]), want, f"wrong {what} in the other process", f"repr({{}}[{k}])")


@requirement("interop/sent-tensor-is-the-same-memory", needs=("inplace", "strided"), may_crash=True)
@forall(case=tensors(layouts=WRITABLE, max_dims=3, empty=False, dtypes=("float32", "int64", "bool")), weight=0.2)
def test_written_in_a_child(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    sizes, strides = case.array.shape, case.strides
    _expect_in_child(s, x, offset=case.offset, sizes=sizes, strides=strides, values=case.array.tolist())
    s.call("in_child_", x, 1)
    s.expect_values(x, np.ones_like(case.array))
    s.call("fill_.Scalar", x, 0)
    _expect_in_child(s, x, values=np.zeros_like(case.array).tolist())


@requirement("interop/sent-tensor-is-the-same-memory", needs=("inplace",), may_crash=True)
def test_three_elements_written_in_a_child(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0], "float32")
    s.call("in_child_", x, 7)
    s.expect_values(x, [7.0, 7.0, 7.0])
    _expect_shared(s, x)


@requirement("interop/sent-view-brings-its-whole-storage", may_crash=True)
def test_two_of_a_hundred(s: Session) -> None:
    x = s.call("arange", 100)
    part = s.call("__getitem__", x, slice(3, 5))
    _expect_in_child(s, part, nbytes=800, offset=3, sizes=(2,), strides=(1,), values=[3, 4])


@requirement("interop/tensors-sent-together-share-one-storage", may_crash=True)
def test_vector_and_its_tail(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3], "int64")
    tail = s.call("__getitem__", x, slice(2, None))
    seen = s.call("in_child_", x, 9, tail)
    s.expect_of_last(seen, [9, 9], "wrong values of the tail in the other process", "{}")
    s.expect_values(tail, [9, 9], dtype="int64")


@requirement("interop/handle-opens-the-same-memory", needs=("inplace",), may_crash=True)
@forall(length=st.integers(1, 5000), byte=st.integers(1, 255), weight=0.5)
def test_opened_by_hand(s: Session, length: int, byte: int) -> None:
    x = s.call("zeros", (length,))
    manager, name, nbytes = s.call("sharing_handle", x)
    s.expect_of_last(nbytes, 4 * length, "wrong size in bytes", "{}[2]")
    y = s.call("open_handle", manager, name, nbytes)
    s.expect_values(y, np.zeros(4 * length, np.uint8))
    s.call("fill_.Scalar", y, byte)
    s.expect_values(x, np.full(length, np.frombuffer(bytes([byte] * 4), np.float32)[0]))


@requirement("interop/unknown-handle-raises", may_crash=True)
def test_wrong_name_and_wrong_manager(s: Session) -> None:
    x = s.call("ones", (5,))
    manager, name, nbytes = s.call("sharing_handle", x)
    s.expect_raises(RuntimeError, "open_handle", manager, name + b"x", nbytes)
    s.expect_raises(RuntimeError, "open_handle", b"/nowhere/manager.sock", name, nbytes)
    s.expect_values(s.call("open_handle", manager, name, nbytes), np.ones(5, np.float32).view(np.uint8))


@requirement("interop/handle-ends-with-its-last-holder", may_crash=True)
def test_opened_after_the_end(s: Session) -> None:
    x = s.call("ones", (5,))
    handle = s.call("sharing_handle", x)
    y = s.call("open_handle", *handle)
    s.forget(x.name)
    del x
    s.expect_values(y, np.ones(5, np.float32).view(np.uint8))
    s.forget(y.name)
    del y
    s.expect_raises(RuntimeError, "open_handle", *handle)


@requirement("interop/sharing-strategies-agree", needs=("inplace",), may_crash=True)
def test_sent_under_each_strategy(s: Session) -> None:
    before = s.call("sharing_strategy")
    for name in s.call("sharing_strategies"):
        s.call("use_sharing_strategy", name)
        x = s.tensor([1.0, 2.0, 3.0], "float32")
        part = s.call("__getitem__", x, slice(1, None))
        _expect_in_child(s, part, nbytes=12, offset=1, sizes=(2,), strides=(1,), values=[2.0, 3.0])
        s.call("in_child_", x, 5)
        s.expect_values(part, [5.0, 5.0])
        _expect_shared(s, x)
    s.call("use_sharing_strategy", before)


@requirement("interop/concurrent-writers-lose-no-element", may_crash=True)
def test_two_writers_of_alternate_elements(s: Session) -> None:
    x = s.call("zeros", (400,), dtype=DType("int64"))
    s.call("share_memory_", x)
    s.call("in_children_", x, (("write", 0, 2), ("write", 1, 2)))
    s.expect_values(x, np.arange(1, 401))


@requirement("interop/concurrent-writers-lose-no-element", may_crash=True)
def test_increments_by_two_processes(s: Session) -> None:
    x = s.call("zeros", (8,), dtype=DType("int64"))
    s.call("share_memory_", x)
    s.call("in_children_", x, (("add", 200), ("add", 200)))
    got = s.read(x)
    s.expect(bool((got >= 200).all() and (got <= 400).all()), True, "increments out of 200 .. 400", f"{x.name}", [x])


@requirement("interop/received-tensor-outlives-the-sent-one", needs=("inplace",), may_crash=True)
def test_received_from_a_child_that_has_ended(s: Session) -> None:
    x = s.call("from_child", (50, 20), 2.5)
    s.expect_values(x, np.full((50, 20), 2.5, np.float32))
    s.call("fill_.Scalar", x, 3)
    s.expect_values(x, np.full((50, 20), 3.0, np.float32))


@requirement("interop/killed-processes-leave-no-memory", slow=True)
def test_killed_under_each_strategy(s: Session) -> None:
    for name in s.call("sharing_strategies"):
        s.expect_of_last(s.call("left_by_killed", name), [], "left by processes that were killed", "{}")


@requirement("interop/shared-storage-does-not-grow", may_crash=True)
@forall(length=st.integers(1, 9), more=st.integers(1, 10000))
def test_growth_of_a_shared_storage(s: Session, length: int, more: int) -> None:
    x = s.call("ones", (length,))
    s.call("share_memory_", x)
    s.expect_raises(RuntimeError, "resize_storage_", x, 4 * length + more)
    s.expect_nbytes(x, 4 * length)
    s.expect_values(x, np.ones(length, np.float32))


@requirement("interop/sparse-tensors-refuse-to-be-shared")
def test_sparse_matrix(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([[0.0, 1.0], [2.0, 0.0]], "float32"))
    s.expect_raises(NotImplementedError, "share_memory_", x)
