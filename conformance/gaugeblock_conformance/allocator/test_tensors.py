"""Tensors in the memory of an allocator: what keeps a block, and what it holds after others had it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..trace import Call

ALLOCATED = "allocated_bytes.all.current"


@requirement("allocator/view-keeps-the-whole-block", needs=("views",))
def test_five_elements_of_a_million(s: Session) -> None:
    before, start = _stats(s)
    huge = s.call("zeros", (1000, 1000))
    after, _ = _stats(s)
    whole = after - before
    if whole < 4_000_000:
        _expect_bytes(s, whole, 4_000_256, "a million elements", [], start, huge)
    view = s.call("__getitem__", huge, (0, slice(None, 5)))
    gone = huge.name
    del huge
    s.call("empty_tensor_cache")
    after, _ = _stats(s)
    _expect_bytes(s, after - before, whole, "a view of five elements", [gone], start, view)
    copy = s.call("clone", view)
    gone = view.name
    del view
    after, _ = _stats(s)
    _expect_bytes(s, after - before, 512, "a copy of five elements", [gone], start, copy)


def _stats(s: Session) -> tuple[int, str]:
    """Allocated bytes, and the snippet's variable for the figures."""
    found = s.call("tensor_stats")
    step = s.steps()[-1]
    return int(found[ALLOCATED]), step.targets[0] if isinstance(step, Call) else ""


def _expect_bytes(s: Session, got: int, want: int, what: str, gone: list[str], start: str, kept: Handle) -> None:
    """Expect so many bytes more than at the ``start`` when the variables ``gone`` went and ``kept`` is there."""
    if got == want:
        return
    everything = {name for step in s.steps() if isinstance(step, Call) for name in step.targets}
    lines = [f"del {', '.join(sorted(everything - {start, kept.name}))}"] if gone else []
    now = s.text("tensor_stats")
    lines += [s.text("empty_tensor_cache"), f"got = {now}[{ALLOCATED!r}] - {start}[{ALLOCATED!r}]",
              f"assert got == {want}, got"]  # fmt: skip
    raise s.failure(f"{got} bytes are allocated for {what}", f"{want} bytes", f"{got} bytes", lines, everything)


@requirement("allocator/freed-memory-is-not-trusted")
@forall(count=hs.integers(1, 3000), value=hs.sampled_from((7.5, -1.0, float("nan"))), rounds=hs.integers(1, 4))
def test_zeros_after_other_values(s: Session, count: int, value: float, rounds: int) -> None:
    for _ in range(rounds):
        x = s.call("full", (count,), value)
        del x
        y = s.call("zeros", (count,))
        s.expect_values(y, np.zeros(count, np.float32))
        z = s.call("zeros_like", y)
        s.expect_values(z, np.zeros(count, np.float32))
