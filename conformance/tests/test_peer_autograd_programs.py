"""Programs of views, writes and backward passes: the reference engine does at every step what PyTorch does.

The environment variable GAUGEBLOCK_PROGRAMS says how many are tried (10,000).
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.autograd.actions import LEAVES, PLAIN, STEP, Action, decode, steps
from gaugeblock_conformance.backend_autograd import Value
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

BACKENDS = tuple(discovery.load(discovery.resolve(name)) for name in ("torch", "reference"))
PROGRAMS = int(os.environ.get("GAUGEBLOCK_PROGRAMS", "10000"))
LENGTH = 14
# What a view of another storage's history is called, where one backend names the view and the other its strides.
_VIEW_NODES = frozenset(
    """SelectBackward SliceBackward TransposeBackward UnsqueezeBackward ViewBackward DiagonalBackward ExpandBackward
    SqueezeBackward AsStridedBackward AliasBackward UnbindBackward SplitBackward NarrowBackward""".split()
)


class Run:
    """One program on one backend; ``seen`` is all that it showed."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.call = backend.call
        self.values = [backend.from_numpy(a, requires_grad=True) for a in LEAVES] + [backend.from_numpy(PLAIN)]
        self.contexts: list[Any] = []
        self.seen: list[Any] = []
        self.walked = True
        self.error = ""
        self.early: list[Any] = []

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        return [tuple(self.backend.shape(x)) for x in self.values]

    def step(self, action: Action) -> None:
        """Do the action and write down what came of it."""
        self.error = ""
        try:
            result = self._do(action)
        except Exception as error:
            self.error = str(error)
            self.seen.append(type(error).__name__)
            # How far a pass came before it raised is not fixed.
            self.walked = self.walked and action.operator not in ("backward", "gradients")
            return
        made = list(result) if isinstance(result, list | tuple) else [result]
        if action.operator == "gradients":
            self.seen.append([None if g is None else self.backend.to_numpy(g) for g in made])
        elif any(x is y for x in made for y in self.values) or made == [None]:
            self.seen.append("done")
        else:
            self.values += made
            self.seen.append([self.flags(x) for x in made])
            self.early += [x for x, flags in zip(made, self.seen[-1], strict=True) if not any(flags[3:4])]

    def _do(self, action: Action) -> Any:
        args = [self.values[a.number] if isinstance(a, Value) else a for a in action.args]
        if action.operator == "push":
            return self.contexts.append(self.call("enter", action.args[0]))
        if action.operator == "pop":
            return self.call("leave", self.contexts.pop()) if self.contexts else None
        if action.operator == "backward":
            return self.call("backward", self.call("sum", args[0]), retain_graph=args[1])
        if action.operator == "gradients":
            total, leaves = self.call("sum", args[0]), self.values[: len(LEAVES)]
            return self.call("gradients", total, leaves, retain_graph=args[1], allow_unused=True)
        if action.operator == "retain_grad" and self.flags(args[0])[3] == "RuntimeError":
            return None
        return self.call(action.operator, *args)

    def flags(self, x: Any) -> tuple[Any, ...]:
        """Sizes, strides, flags and version of a tensor, and the name of its node."""
        call = self.call
        found: tuple[Any, ...]
        try:
            node = call("grad_fn", x)
            name = None if node is None else re.sub(r".*::|s?\d*$", "", call("node_name", node))
            found = (call("requires_grad", x), call("is_leaf", x), "a view" if name in _VIEW_NODES else name)
        except RuntimeError:
            found = ("RuntimeError",)
        sizes, version = tuple(self.backend.shape(x)), self.backend.version_of(x)
        # What a dim of one element has for a stride is left to the backend.
        strides = tuple(step for n, step in zip(sizes, self.backend.strides(x), strict=True) if n > 1)
        return (sizes, strides, version, *found)

    def is_strange(self, action: Action) -> bool:
        """Whether a value of the action is a view that was taken with recording off and requires grad all the same
        (erratum S-34), so that a call other than a write is recorded without anything behind it."""
        if action.operator.partition(".")[0].endswith("_") or not self.call("is_grad_enabled"):
            return False
        for x in [self.values[a.number] for a in action.args if isinstance(a, Value)]:
            flags = self.flags(x)
            if flags[3:5] == (True, True) and self.call("__getattr__", x, "_base") is not None:
                return True
        return False

    def writes_twice(self, action: Action) -> bool:
        """Whether the action writes to a value of which two indices reach one element."""
        if not action.operator.partition(".")[0].endswith("_"):
            return False
        x = self.values[action.args[0].number]
        return any(n > 1 and not step for n, step in zip(self.backend.shape(x), self.backend.strides(x), strict=True))

    def elements(self, x: Any) -> Any:
        """The elements; of a view that cannot follow its base the error that any question about it raises."""
        try:
            return self.backend.to_numpy(x)
        except RuntimeError:
            return "RuntimeError"

    def leave(self) -> None:
        while self.contexts:
            self.call("leave", self.contexts.pop())

    def finish(self) -> None:
        """Leave all contexts; then write down every value with its flags, and the gradients of the leaves."""
        self.leave()
        flags = [self.flags(x) for x in self.values]
        self.seen += flags
        self.seen += [self.elements(x) for x in self.values]
        if self.walked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                grads = [self.call("grad", x) for x, seen in zip(self.values, flags, strict=True) if len(seen) > 4]
            self.seen += [None if g is None else self.backend.to_numpy(g) for g in grads]


def same(one: Any, other: Any) -> bool:
    """Whether two observations agree; numbers up to the rounding of a few operations."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        scale = np.abs(one[np.isfinite(one)]).max(initial=0.0)
        return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12 + 1e-9 * scale, equal_nan=True))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)


def is_open(action: Action, torch: Run, reference: Run) -> bool:
    """Whether PyTorch alone refuses what the spec leaves open, or allows: to use a view of a tensor without grad that
    was taken with recording off or with others, to write to one of several, to write to a view that has not noticed its
    base's history (erratum S-36), or to walk again over a product with a number, which it keeps as a saved tensor."""
    # Asking moves a stale view to its base's new history: what is asked of one backend is asked of both.
    lost = [["RuntimeError" in run.flags(x)[3:4] for x in run.early] for run in (torch, reference)]
    if any(lost[0]):
        return True
    if not torch.error or reference.error:
        return False
    if action.operator in ("backward", "gradients"):
        return "a second time" in torch.error
    if not action.operator.partition(".")[0].endswith("_"):
        return False
    x = torch.values[action.args[0].number]
    known = "multiple views|view of a view|a leaf Variable that requires grad"
    return torch.call("__getattr__", x, "_base") is not None and re.search(known, torch.error) is not None


def told(action: Action) -> str:
    arguments = ", ".join(f"v{a.number}" if isinstance(a, Value) else repr(a) for a in action.args)
    return f"{action.operator}({arguments})"


def check(code: bytes) -> None:
    """Run the program of ``code`` on both backends; fails at the first difference, with the program so far."""
    runs = [Run(backend) for backend in BACKENDS]
    said: list[str] = []
    try:
        for piece in steps(code):
            action = decode(piece, runs[0].sizes, wider=True)
            if action is None or runs[0].writes_twice(action):
                continue
            said.append(told(action))
            if runs[0].is_strange(action):
                return
            for run in runs:
                with np.errstate(all="ignore"):
                    run.step(action)
            if is_open(action, *runs):
                return
            _compare(said, runs)
        for run in runs:
            run.finish()
        _compare(said, runs)
    finally:
        for run in runs:
            run.leave()


def _compare(said: list[str], runs: list[Run]) -> None:
    for one, other in zip(runs[0].seen, runs[1].seen, strict=True):
        assert same(one, other), f"{'; '.join(said)}\ntorch: {one}\nreference: {other}"
    for run in runs:
        run.seen.clear()


@settings(
    max_examples=PROGRAMS, deadline=None, database=None, derandomize=True, phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip
@given(code=st.binary(min_size=STEP * LENGTH, max_size=STEP * LENGTH))
def test_programs_agree_with_torch(code: bytes) -> None:
    check(code)
