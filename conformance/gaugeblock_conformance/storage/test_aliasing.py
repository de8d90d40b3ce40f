"""Many tensors over one storage: what is written through one of them is read through all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, DType
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..views.layout import Layout, expect_layout, layout_of

LENGTH = 24
Step = tuple[str, int, int, int, int]
PROGRAM = st.lists(
    st.tuples(
        st.sampled_from(("view", "view", "write")),
        st.integers(0, 9),
        st.integers(0, 7),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=10,
)


@dataclass
class Member:
    """A tensor of the program and the record that it must have."""

    tensor: Handle
    layout: Layout
    repeats: bool


class Chain:
    """A storage, its mirror in NumPy, and the tensors over it."""

    def __init__(self, s: Session, dtype: str, seed: int) -> None:
        case = TensorCase(dtype, (2, 3, 4), default_strides((2, 3, 4)), seed=seed, kind="small")
        self.s = s
        self.mirror: Array = case.contents.copy()
        self.members = [Member(s.build(case), layout_of(case), False)]

    def view(self, member: Member, operator: int, a: int, b: int) -> None:
        s, x, layout = self.s, member.tensor, member.layout
        rank, repeats = layout.ndim, member.repeats
        dim = a % rank if rank else 0
        size = layout.sizes[dim] if rank else 0
        if operator == 0 and size:
            made, want = s.call("select.int", x, dim, b % size), layout.select(dim, b % size)
        elif operator == 1 and rank:
            piece = slice(b % 3, None, 1 + b // 3)
            made, want = s.call("__getitem__", x, (slice(None),) * dim + (piece,)), layout.cut(dim, piece)
        elif operator == 2 and rank:
            made, want = s.call("transpose.int", x, dim, b % rank), layout.swap(dim, b % rank)
        elif operator == 3 and rank < 4:
            made, want = s.call("unsqueeze", x, dim), layout.insert(dim, 1, None)
        elif operator == 4:
            made, want = s.call("detach", x), layout
        elif operator == 5 and rank < 4:
            made, want, repeats = s.call("expand", x, (2, *layout.sizes)), layout.insert(0, 2, 0), True
        elif operator == 6 and rank > 1:
            other = (dim + 1) % rank
            strides = tuple(layout.known[k] for k in range(rank) if k not in (dim, other))
            values = layout.of(np.arange(LENGTH)).diagonal(0, dim, other)
            made = s.call("diagonal", x, 0, dim, other)
            want = Layout(values.shape, (*strides, layout.known[dim] + layout.known[other]), layout.offset)
        else:
            made, want = s.call("as_strided", x, (3, 2), (4, 1 + a), b), Layout((3, 2), (4, 1 + a), b)
            repeats = a + 1 >= 4
        expect_layout(s, made, want)
        if None in want.strides:
            want = Layout(want.sizes, tuple(s.observe("strides", made)), want.offset)
        self.members.append(Member(made, want, repeats))

    def write(self, member: Member, operator: int, a: int, b: int) -> None:
        s, x, target = self.s, member.tensor, member.layout.of(self.mirror)
        number = 1 + (a + 2 * b) % 7
        if member.repeats or operator in (0, 1):
            s.call("fill_.Scalar", x, number)
            target[...] = number
        elif operator == 2:
            s.call("add_.Scalar", x, number)
            target += target.dtype.type(number)
        elif operator == 3:
            s.call("__setitem__", x, ..., number)
            target[...] = number
        elif operator == 4:
            source = np.arange(target.size).reshape(target.shape).astype(target.dtype)
            s.call("copy_", x, s.tensor(source))
            target[...] = source
        elif operator == 5:
            s.call("neg_", x)
            target[...] = -target
        elif operator == 6 and target.ndim and target.shape[0]:
            s.call("__setitem__", x, a % target.shape[0], number)
            target[a % target.shape[0]] = number
        else:
            s.call("zero_", x)
            target[...] = 0

    def check(self, member: Member) -> None:
        self.s.expect_values(member.tensor, member.layout.of(self.mirror), signed_zero=False)


@requirement("storage/write-is-seen-through-every-alias", needs=("as_strided", "inplace", "index.set"))
@forall(program=PROGRAM, dtype=st.sampled_from(("int64", "float32", "int16")), seed=st.integers(0, 99))
def test_program_of_views_and_writes(s: Session, program: list[Step], dtype: str, seed: int) -> None:
    """Each step (kind, member, operator, a, b) takes a view of a member, or writes through it."""
    chain = Chain(s, dtype, seed)
    for kind, which, operator, a, b in program:
        member = chain.members[which % len(chain.members)]
        if kind == "view":
            chain.view(member, operator, a, b)
        else:
            chain.write(member, operator, a, b)
            chain.check(chain.members[(which + a + 1) % len(chain.members)])
    for member in chain.members:
        chain.check(member)


@requirement("storage/write-is-seen-through-every-alias", needs=("inplace",))
def test_row_column_and_matrix(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    row, turned = s.call("__getitem__", x, 0), s.call("t", x)
    flat = s.call("view", x, (4,))
    s.call("fill_.Scalar", row, 9)
    s.expect_values(x, [[9.0, 9.0], [3.0, 4.0]])
    s.expect_values(turned, [[9.0, 3.0], [9.0, 4.0]])
    s.call("mul_.Scalar", turned, 2)
    s.expect_values(flat, [18.0, 18.0, 6.0, 8.0])
    s.call("zero_", s.call("__getitem__", flat, slice(3, None)))
    s.expect_values(x, [[18.0, 18.0], [6.0, 0.0]])


# Readers of a tensor and what they find in its values.
READERS: dict[str, Any] = {
    "tolist": lambda a: a.tolist(),
    "sum": lambda a: a.sum(),
    "amax": lambda a: a.max(),
    "argmin": lambda a: a.argmin(),
    "any": lambda a: a.any(),
    "clone": lambda a: a,
    "neg": lambda a: -a,
    "contiguous": lambda a: a,
    "cumsum": lambda a: np.cumsum(a, 0),
}


def _read(s: Session, name: str, x: Handle, a: Array) -> None:
    got, want = s.call(name, x, *((0,) if name == "cumsum" else ())), READERS[name](a)
    if name == "tolist":
        s.expect(got, want, "tolist()")
    else:
        s.expect_values(got, np.asarray(want))


@requirement("storage/write-is-seen-through-every-alias", needs=("inplace", "index.set", "reduce"))
@forall(
    name=st.sampled_from(sorted(READERS)),
    view=st.sampled_from((False, True)),
    writes=st.lists(st.tuples(st.sampled_from("xydz"), st.integers(0, 5), st.integers(-9, 9)), min_size=1, max_size=4),
)
def test_reading_again_after_a_write(s: Session, name: str, view: bool, writes: list[tuple[str, int, int]]) -> None:
    """A reader asked once more finds what has been written since: through the tensor itself, through a view of it,
    through ``detach`` and through ``data``, which has a version of its own."""
    if name == "tolist" and not s.has_data:
        return
    mirror = np.arange(6).reshape(2, 3)
    x = s.tensor(mirror)
    turned = s.call("t", x)
    aliases = {"x": x, "y": turned}
    read, values = (turned, mirror.T) if view else (x, mirror)
    _read(s, name, read, values)
    for alias, place, number in writes:
        if alias not in aliases:
            aliases[alias] = s.call("detach" if alias == "d" else "data", x)
        at = (place % 3, place // 3) if alias == "y" else (place // 3, place % 3)
        s.call("__setitem__", aliases[alias], at, number)
        mirror[place // 3, place % 3] = number
        _read(s, name, read, values)


# What keeps the storage: operator and arguments for a float32 matrix.
KEEPERS: list[tuple[str, tuple[Any, ...]]] = [
    ("detach", ()),
    ("data", ()),
    ("__getitem__", (0,)),
    ("__getitem__", (slice(1, None),)),
    ("__getitem__", ((slice(None), 1),)),
    ("__getitem__", (None,)),
    ("__getitem__", (...,)),
    ("to.dtype", (DType("float32"),)),
    ("to.device", ("cpu",)),
]
COPIERS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add.Scalar", (0,), {}),
    ("mul.Scalar", (1,), {}),
    ("neg", (), {}),
    ("abs", (), {}),
    ("__getitem__", ([0, 1],), {}),
    ("__getitem__", ([True, True],), {}),
    ("to.dtype", (DType("float64"),), {}),
    ("to.dtype", (DType("float32"),), {"copy": True}),
    ("clone", (), {}),
]


@requirement("storage/sharing-operators-keep-the-storage", needs=("views",))
@forall(case=tensors("float32", sizes=st.sampled_from(((2, 3), (2, 2), (3, 4)))), row=st.integers(0, len(KEEPERS) - 1))
def test_sharing_operators(s: Session, case: TensorCase, row: int) -> None:
    name, arguments = KEEPERS[row]
    if name == "to.device":
        arguments = (s.backend.device,)
    x = s.build(case)
    y = s.call(name, x, *arguments)
    s.expect_shares(y, x)
    want = case.array[arguments[0]] if name == "__getitem__" else case.array
    s.expect_values(y, want)


@requirement("storage/copying-operators-make-a-new-storage", needs=("index.adv",))
@forall(case=tensors("float32", sizes=st.sampled_from(((2, 3), (2, 2), (2,)))), row=st.integers(0, len(COPIERS) - 1))
def test_copying_operators(s: Session, case: TensorCase, row: int) -> None:
    name, arguments, named = COPIERS[row]
    if arguments == ([True, True],) and not s.has_data:
        return
    x = s.build(case)
    y = s.call(name, x, *arguments, **named)
    s.expect_fresh(y, x)
    if "inplace" in s.capabilities:
        s.call("fill_.Scalar", y, 3)
        s.expect_values(x, case.array)


@requirement("storage/copying-operators-make-a-new-storage", "storage/sharing-operators-keep-the-storage",
             needs=("index.adv",))  # fmt: skip
def test_who_shares(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    for name, arguments in KEEPERS:
        s.expect_shares(s.call(name, x, *((s.backend.device,) if name == "to.device" else arguments)), x)
    index = s.tensor([0, 1], "int64")
    mask = s.tensor([[True, True], [True, True]], "bool")
    for y in (
        s.call("__getitem__", x, index),
        s.call("add.Tensor", x, x),
        s.call("to.dtype", x, DType("int32")),
        s.call("to.dtype", x, DType("float32"), copy=True),
    ):
        s.expect_fresh(y, x)
    if s.has_data:
        s.expect_fresh(s.call("__getitem__", x, mask), x)
        s.expect_fresh(s.call("tensor", x), x)
