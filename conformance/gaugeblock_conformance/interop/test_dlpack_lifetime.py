"""How long exchanged memory stays: until the last of those who look at it is gone, and given back once."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..storage.test_lifetime import Watch
from .arrays import ArrayCase, array_cases, need_host_memory
from .producers import VERSIONS, expect_returned, producer, taken_again

REFUSALS = (BufferError, ValueError, RuntimeError)
UNUSABLE: tuple[dict[str, Any], ...] = (
    {"dtype": (9, 32, 1)}, {"dtype": (2, 32, 4)}, {"device": (77, 0)}, {"shape": (-2, 3)},
)  # fmt: skip
"""What structs say that no library takes."""


@requirement("interop/deleter-of-dlpack-runs-once")
def test_tensor_and_its_row(s: Session) -> None:
    made = producer(s, "np.arange(6.0).reshape(2, 3)")
    x = s.call("from_dlpack", made)
    row = s.call("__getitem__", x, 1)
    s.forget(x.name)
    del x
    expect_returned(s, made, 0, "while a view lives", row)
    s.expect_values(row, [3.0, 4.0, 5.0], dtype="float64")
    s.forget(row.name)
    del row
    expect_returned(s, made, 1, "after the last view")
    s.execute("{}.drop()", made)
    expect_returned(s, made, 1, "after the capsule is gone as well")


@requirement("interop/deleter-of-dlpack-runs-once")
@forall(case=array_cases(), version=st.sampled_from(VERSIONS), order=st.permutations(range(4)), copied=st.booleans())
def test_every_view_is_waited_for(s: Session, case: ArrayCase, version: Any, order: list[int], copied: bool) -> None:
    made = producer(s, case.expression, version)
    x = s.call("from_dlpack", made)
    held: list[Any] = [x, s.call("detach", x), s.call("unsqueeze", x, 0), s.call("__getitem__", x, None)]
    copy = s.call("clone", x) if copied else None
    del x
    for k in order:
        expect_returned(s, made, 0, "while a tensor lives", *[one for one in held if one is not None])
        s.forget(held[k].name)
        held[k] = None
    expect_returned(s, made, 1, "after the last tensor")
    if copy is not None:
        s.expect_values(copy, made.array)


@requirement("interop/refused-capsule-is-given-back-once")
def test_structs_that_are_refused(s: Session) -> None:
    s.table([(one, taken) for one in UNUSABLE for taken in (False, True)], _check_given_back)


def _check_given_back(s: Session, otherwise: dict[str, Any], by_capsule: bool) -> None:
    made = producer(s, "np.zeros(8, 'float32')", **otherwise)
    if by_capsule:
        capsule = s.bind("{}.capsule()", made)
        holder = taken_again(s, capsule)
        s.expect_raises((*REFUSALS, TypeError), "from_dlpack", holder)
        s.execute("{}.held.clear()", holder)
        s.forget(capsule)
        del capsule
    else:
        s.expect_raises((*REFUSALS, TypeError), "from_dlpack", made)
    s.execute("{}.drop()", made)
    s.expect_python("{0}.made - {0}.deleted", 0, "structs of the producer that were not given back", made)


@requirement("interop/dropped-capsule-lets-go")
@forall(length=st.integers(1, 300), version=st.sampled_from(VERSIONS))
def test_capsule_of_a_tensor_that_is_gone(s: Session, length: int, version: Any) -> None:
    x = s.call("arange", length)
    watch, name = Watch(s, x), x.name
    capsule = s.call("__dlpack__", x, max_version=version)
    del x
    watch.expect(True, name)
    s.forget(capsule)
    del capsule
    watch.expect(False, name)


@requirement("interop/dropped-capsule-keeps-the-exception", needs=("half",))
def test_capsule_that_numpy_refuses(s: Session) -> None:
    need_host_memory(s)
    x = s.tensor([1.0, 2.0], "bfloat16")
    s.expect_raises((RuntimeError, BufferError, TypeError), "np_from_dlpack", x)
    s.expect_values(x, np.array([1.0, 2.0], s.read(x).dtype))


@requirement("interop/exported-memory-outlives-the-tensor")
@forall(length=st.integers(1, 300), by_numpy=st.booleans())
def test_taker_keeps_the_storage(s: Session, length: int, by_numpy: bool) -> None:
    by_numpy = by_numpy and s.on_cpu
    x = s.call("arange", length)
    watch, name = Watch(s, x), x.name
    taker = s.call("np_from_dlpack" if by_numpy else "from_dlpack", x)
    del x
    junk = [s.call("zeros", (length,)) for _ in range(3)]
    watch.expect(True, name)
    if by_numpy:
        s.expect_python("{}.tolist()", list(range(length)), "the array when its tensor is gone", taker)
        s.forget(taker)
    else:
        s.expect_values(taker, np.arange(length))
        s.forget(taker.name)
    del taker, junk
    watch.expect(False, name)


@requirement("interop/exported-memory-survives-a-resize", may_crash=True)
@forall(length=st.sampled_from((1, 1000, 300_000, 10**7)), by_numpy=st.booleans())
def test_taker_of_a_resized_storage(s: Session, length: int, by_numpy: bool) -> None:
    by_numpy = by_numpy and s.on_cpu
    x = s.call("full", (length,), 2.0)
    taker = s.call("np_from_dlpack" if by_numpy else "from_dlpack", x)
    _, refused = s.attempt("resize_storage_", x, 0)
    if refused is not None:
        s.expect_refusal(refused, RuntimeError, "what is raised where the storage cannot be resized")
    if by_numpy:
        s.expect_python("({0}[0].item(), {0}[-1].item())", (2.0, 2.0), "first and last element", taker)
    else:
        for index in (0, length - 1):
            s.expect_values(s.call("__getitem__", taker, index), np.float32(2))


@requirement("interop/loops-over-capsules-leak-nothing")
def test_ten_thousand_structs(s: Session) -> None:
    made = producer(s, "np.arange(6.0)")
    s.call("from_dlpack", made)
    take = s.backend.call
    for _ in range(9_999):
        take("from_dlpack", made)
    why = NoReproducer("it takes ten thousand exchanges")
    s.expect(made.made, 10_000, "structs that were asked for", why)
    made.drop()
    s.expect(made.deleted, 10_000, "structs that were given back", why)


@requirement("interop/loops-over-capsules-leak-nothing", needs=("refcount",))
@forall(length=st.integers(1, 10), version=st.sampled_from(VERSIONS))
def test_hundred_takers_of_one_tensor(s: Session, length: int, version: Any) -> None:
    x = s.call("arange", length)
    watch, name = Watch(s, x), x.name
    for _ in range(100):
        s.backend.call("__dlpack__", x.raw, max_version=version)
        s.backend.call("from_dlpack", s.backend.call("from_dlpack", x.raw))
    del x
    watch.expect(False, name)
