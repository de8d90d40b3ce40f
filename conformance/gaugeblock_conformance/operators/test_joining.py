"""``cat`` and ``stack``, and their relatives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Session


@requirement("operators/cat-joins-along-a-dim")
@forall(
    sizes=hs.lists(hs.integers(0, 4), min_size=1, max_size=3),
    others=hs.lists(hs.integers(0, 5), min_size=1, max_size=4),
    dim=hs.integers(0, 2),
    odd=hs.integers(0, 11),
    weight=0.5,
)
def test_any_sizes(s: Session, sizes: list[int], others: list[int], dim: int, odd: int) -> None:
    """Parts of other sizes along ``dim``; with a small ``odd`` one of them differs in another dim too, and must be
    refused."""
    dim %= len(sizes)
    shapes = [[*sizes[:dim], n, *sizes[dim + 1 :]] for n in others]
    wrong = odd % len(sizes)
    if odd < 4 and wrong != dim and len(shapes) > 1:
        shapes[-1][wrong] += 1
    parts = [TensorCase("float32", tuple(n), default_strides(tuple(n)), seed=k) for k, n in enumerate(shapes)]
    made = [s.build(part) for part in parts]
    agree = all(a[k] == b[k] for a in shapes for b in shapes for k in range(len(sizes)) if k != dim)
    if agree:
        s.expect_values(s.call("cat", made, dim), np.concatenate([part.array for part in parts], dim))
    else:
        s.expect_raises(RuntimeError, "cat", made, dim)


@requirement("operators/cat-joins-along-a-dim")
def test_join_goldens(s: Session) -> None:
    x, y = s.tensor([[1, 2]], "int64"), s.tensor([[3, 4]], "int64")
    s.expect_values(s.call("cat", [x, y]), [[1, 2], [3, 4]], dtype="int64")
    s.expect_values(s.call("cat", [x, y], -1), [[1, 2, 3, 4]], dtype="int64")
    s.expect_values(s.call("stack", [x, y], 2), [[[1, 3], [2, 4]]], dtype="int64")
    s.expect_values(s.call("stack", [x, y], -3), [[[1, 2]], [[3, 4]]], dtype="int64")
    s.expect_raises(RuntimeError, "stack", [x, s.call("t", y)])
    s.expect_raises(IndexError, "cat", [x, y], 2)
    s.expect_raises(IndexError, "stack", [x, y], 3)


@requirement("operators/cat-skips-empty-vectors")
def test_empty_vectors(s: Session) -> None:
    empty, x = s.tensor([]), s.tensor([[1.0, 2.0]])
    for parts in ([empty, x], [x, empty], [empty, x, empty]):
        s.expect_values(s.call("cat", parts, 1), [[1.0, 2.0]])
    s.expect_values(s.call("cat", [empty, empty]), np.zeros(0, np.float32))
    s.expect_raises(RuntimeError, "cat", [s.tensor(np.zeros((0, 5), np.float32)), x], 0)
    s.expect_raises(RuntimeError, "stack", [empty, x])


@requirement("operators/cat-refuses-tensors-without-dims")
def test_without_dims(s: Session) -> None:
    x = s.tensor(1.0)
    s.expect_raises(RuntimeError, "cat", [x, x])
    s.expect_raises(RuntimeError, "cat", [s.tensor([1.0]), x])
    for operator in ("cat", "stack"):
        s.expect_raises((RuntimeError, ValueError), operator, [])
    s.expect_values(s.call("stack", [x, x]), [1.0, 1.0])


@requirement("operators/out-form-returns-its-out", needs=("as_strided",))
def test_one_element_into_a_gap(s: Session) -> None:
    def body(s: Session, operator: str, dim: int) -> None:
        base = s.tensor([0.0, 0.0, 0.0, 0.0])
        out = s.call("as_strided", base, (1, 1), (2, 2), 1)
        s.call(f"{operator}.out", [s.tensor([[2.0]])], dim, out=out)
        s.expect_values(base, [0.0, 2.0, 0.0, 0.0])

    s.table([("cat", 0), ("cat", 1)], body)
