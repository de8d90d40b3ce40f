"""The counter that in-place operators bump, and who shares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..strategies.tensors import WRITABLE

SHARING: list[tuple[str, tuple[Any, ...]]] = [
    ("__getitem__", (slice(0, 2),)),
    ("transpose.int", (0, 1)),
    ("detach", ()),
    ("unsqueeze", (0,)),
    ("__getitem__", (slice(0, 0),)),
    ("T", ()),
]
OWN: list[tuple[str, tuple[Any, ...]]] = [("data", ()), ("clone", ()), ("neg", ())]
WRITES: list[tuple[str, tuple[Any, ...]]] = [
    ("fill_.Scalar", (3,)),
    ("add_.Scalar", (1,)),
    ("mul_.Scalar", (2,)),
    ("zero_", ()),
    ("neg_", ()),
    ("__setitem__", (..., 4)),
    ("__iadd__", (1,)),
]
READS: list[tuple[str, tuple[Any, ...]]] = [("sum", ()), ("tolist", ()), ("add.Scalar", (1,)), ("clone", ())]
FAILS: list[tuple[str, tuple[Any, ...]]] = [("copy_", ()), ("add_.Tensor", ()), ("view", ((7, 7),))]


@dataclass
class Member:
    """A tensor of the program, the number of its counter, and how many dims it has."""

    tensor: Handle
    counter: int
    dims: int


ACTIONS = st.lists(
    st.tuples(st.sampled_from("wsowrfw"), st.integers(0, 7), st.integers(0, 6)), min_size=1, max_size=8
)


@requirement(
    "views/version-is-shared-with-views",
    "views/inplace-bumps-version-by-one",
    "views/reads-do-not-bump-version",
    "views/data-has-its-own-version",
    needs=("views", "inplace"),
)
@forall(program=ACTIONS)
def test_program_of_views_and_writes(s: Session, program: list[tuple[str, int, int]]) -> None:
    """Each step (kind, member, operator) shares a counter, makes a new one, writes, reads or fails."""
    if not s.has_data:
        program = [step for step in program if step[0] != "r"]
    wrong = s.tensor([[1.0] * 7] * 7)
    members = [Member(s.tensor([[1.0, 2.0], [3.0, 4.0]]), 0, 2)]
    counters = [0]
    for kind, which, operator in program:
        member = members[which % len(members)]
        _step(s, kind, member, operator, members, counters, wrong)
        for seen in members:
            s.expect_version(seen.tensor, counters[seen.counter])


def _step(
    s: Session, kind: str, member: Member, k: int, members: list[Member], counters: list[int], wrong: Handle
) -> None:
    if kind == "s":
        name, arguments = SHARING[k % len(SHARING)]
        if member.dims == 2 or name in ("detach", "__getitem__"):
            dims = member.dims + (name == "unsqueeze")
            members.append(Member(s.call(name, member.tensor, *arguments), member.counter, dims))
    elif kind == "o":
        name, arguments = OWN[k % len(OWN)]
        counters.append(0)
        members.append(Member(s.call(name, member.tensor, *arguments), len(counters) - 1, member.dims))
    elif kind == "w":
        name, arguments = WRITES[k % len(WRITES)]
        s.call(name, member.tensor, *arguments)
        counters[member.counter] += 1
    elif kind == "r":
        name, arguments = READS[k % len(READS)]
        s.call(name, member.tensor, *arguments)
    else:
        name, arguments = FAILS[k % len(FAILS)]
        s.expect_raises(RuntimeError, name, member.tensor, *(arguments or (wrong,)))


@requirement("views/version-is-shared-with-views", needs=("views", "inplace"))
def test_one_counter_for_all_views(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = s.call("__getitem__", x, 0)
    detached = s.call("detach", x)
    s.expect_version(x, 0)
    s.call("add_.Scalar", row, 1)
    for tensor in (x, row, detached, s.call("t", x)):
        s.expect_version(tensor, 1)
    s.call("mul_.Scalar", detached, 2)
    for tensor in (x, row, detached):
        s.expect_version(tensor, 2)


@requirement("views/inplace-bumps-version-by-one", needs=("inplace", "resize"))
def test_every_kind_of_write_counts(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0])
    other = s.tensor([4.0, 5.0, 6.0])
    writes = (*WRITES, ("copy_", (other,)), ("add_.Tensor", (other,)), ("resize_", ((2,),)))
    for want, (name, arguments) in enumerate(writes, 1):
        s.call(name, x, *arguments)
        s.expect_version(x, want)
    empty = s.call("zeros", (0,))
    for want, (name, arguments) in enumerate((*WRITES, ("resize_", ((4,),))), 1):
        s.call(name, empty, *arguments)
        s.expect_version(empty, want)


@requirement("views/inplace-bumps-version-by-one", needs=("inplace", "as_strided"))
@forall(case=tensors(("float32", "int64", "bool", "complex64"), layouts=WRITABLE, kind="small"), k=st.integers(0, 8))
def test_writes_of_any_layout_count_once(s: Session, case: TensorCase, k: int) -> None:
    x = s.build(case)
    before = s.backend.version_of(x.raw)  # type: ignore[attr-defined]
    other = s.tensor(np.ones(case.sizes, case.array.dtype))
    writes = (*WRITES[:5], ("copy_", (other,)), ("add_.Tensor", (other,)), ("mul_.Tensor", (other,)), WRITES[6])
    name, arguments = ("logical_not_", ()) if writes[k][0] == "neg_" and case.dtype == "bool" else writes[k]
    if case.dtype == "bool" and name in ("add_.Scalar", "mul_.Scalar", "__iadd__"):
        arguments = (True,)
    s.call(name, x, *arguments)
    s.expect_version(x, before + 1)


@requirement("views/inplace-bumps-version-by-one", needs=("inplace", "views"))
def test_metadata_operators_count(s: Session) -> None:
    def body(s: Session, name: str, arguments: tuple[Any, ...]) -> None:
        x = s.tensor([[1.0, 2.0, 3.0]])
        s.call(name, x, *arguments)
        s.expect_version(x, 1)

    s.table([("t_", ()), ("transpose_", (0, 1)), ("squeeze_", ()), ("unsqueeze_", (0,))], body)


@requirement("views/inplace-bumps-version-by-one", needs=("inplace", "index.set"))
def test_indexed_writes_count_once(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.call("__setitem__", x, (0, 1), 9)
    s.expect_version(x, 1)
    s.call("__setitem__", x, s.tensor([0, 1], "int64"), 8.0)
    s.expect_version(x, 2)
    s.call("__setitem__", x, s.tensor([[True, False], [False, True]], "bool"), 7.0)
    s.expect_version(x, 3)
    s.call("__setitem__", x, 1, s.tensor([5.0, 6.0]))
    s.expect_version(x, 4)
    s.call("__setitem__", x, (slice(None), 0), s.tensor(4.0))
    s.expect_version(x, 5)
    s.call("__setitem__", x, s.tensor([1, 0], "int64"), s.tensor([[1.0, 2.0], [3.0, 4.0]]))
    s.expect_version(x, 6)
    s.call("index_put_", x, [s.tensor([1, 0], "int64")], s.tensor([[1.0, 2.0], [3.0, 4.0]]))
    s.expect_version(x, 7)
    s.call("index_put_", x, [s.tensor([1, 1], "int64")], s.tensor([5.0, 6.0]), True)
    s.expect_version(x, 8)


@requirement("views/reads-do-not-bump-version", needs=("views", "inplace"))
def test_reads_and_failures_do_not_count(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.call("t", x)
    s.call("add.Tensor", x, x)
    if s.has_data:
        s.call("tolist", x)
        s.call("sum", x)
    s.expect_raises(RuntimeError, "add_.Tensor", x, s.tensor([1.0, 2.0, 3.0]))
    s.expect_raises(RuntimeError, "copy_", x, s.tensor([1.0, 2.0, 3.0]))
    s.expect_raises(RuntimeError, "add_.Scalar", s.call("expand", s.call("__getitem__", x, slice(0, 1)), (3, 2)), 1)
    s.expect_version(x, 0)


@requirement("views/data-has-its-own-version", needs=("inplace",))
def test_writes_through_data_do_not_count(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    s.call("add_.Scalar", x, 1)
    inner = s.call("data", x)
    s.expect_version(inner, 0)
    s.call("mul_.Scalar", inner, 10)
    s.expect_version(inner, 1)
    s.expect_version(x, 1)
    s.expect_values(x, [20.0, 30.0])
    s.call("zero_", x)
    s.expect_version(inner, 1)
    s.expect_version(x, 2)
    if "storage" in s.capabilities:
        s.expect_shares(inner, x)
