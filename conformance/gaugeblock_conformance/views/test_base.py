"""The tensor that a view was taken from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session

# View operators that fit every tensor with at least two dims of size at least 2.
STEPS: list[tuple[str, Callable[[], tuple[Any, ...]]]] = [
    ("__getitem__", lambda: (slice(0, None),)),
    ("transpose.int", lambda: (0, 1)),
    ("unsqueeze", lambda: (0,)),
    ("narrow", lambda: (0, 0, 1)),
    ("squeeze", tuple),
    ("diagonal", lambda: (0, 0, 1)),
    ("T", tuple),
    ("expand", lambda: ((2, 3, 3),)),
    ("__getitem__", lambda: (None,)),
    ("view_as", tuple),
    ("as_strided", lambda: ((2, 2), (1, 1), 0)),
]


def _expect_base(s: Session, y: Handle, root: Handle | None) -> None:
    base = s.call("_base", y)
    if root is None:
        s.expect(base is None, True, "the base is None", f"{s.text('_base', y)} is None", [y])
    else:
        s.expect(isinstance(base, Handle), True, "there is a base", f"{s.text('_base', y)} is not None", [y])
        s.expect_same(base, root)


@requirement("views/view-of-view-has-the-root-as-base", needs=("views",))
def test_base_of_a_chain(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = s.call("__getitem__", x, 0)
    element = s.call("__getitem__", s.call("view", row, (2, 1)), 1)
    _expect_base(s, row, x)
    _expect_base(s, element, x)
    first, second = s.parts(s.call("unbind.int", x, 0), 2)
    _expect_base(s, second, x)
    _expect_base(s, s.call("unsqueeze", first, 0), x)


def _fits(name: str, sizes: tuple[int, ...]) -> bool:
    return sizes == (3, 3) or (len(sizes) >= 2 and name not in ("T", "expand"))


@requirement("views/view-of-view-has-the-root-as-base", needs=("views", "as_strided"))
@forall(chain=st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=5))
def test_base_is_the_root(s: Session, chain: list[int]) -> None:
    x = y = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    for k in chain:
        name, arguments = STEPS[k]
        if name == "view_as":
            y = s.call(name, y, y)
        elif _fits(name, tuple(s.observe("shape", y))):
            y = s.call(name, y, *arguments())
        else:
            y = s.call("unsqueeze", y, -1)
        _expect_base(s, y, x)
    _expect_base(s, x, None)


@requirement("views/non-view-has-no-base", needs=("views",))
def test_copies_and_detached_tensors_have_no_base(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    _expect_base(s, x, None)
    _expect_base(s, s.call("clone", x), None)
    _expect_base(s, s.call("neg", x), None)
    _expect_base(s, s.call("contiguous", s.call("t", x)), None)
    _expect_base(s, s.call("zeros", (2,)), None)
    detached = s.call("detach", x)
    _expect_base(s, detached, None)
    if "storage" in s.capabilities:
        s.expect_shares(detached, x)
    _expect_base(s, s.call("__getitem__", detached, 0), detached)
