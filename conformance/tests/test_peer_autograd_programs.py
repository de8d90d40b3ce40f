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
from gaugeblock_conformance.backend_autograd import SavedTensorsHooks, Value
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

BACKENDS = tuple(discovery.load(discovery.resolve(name)) for name in ("torch", "reference"))
PROGRAMS = int(os.environ.get("GAUGEBLOCK_PROGRAMS", "10000"))
LENGTH = 14
PASSES = frozenset({"backward", "gradients"})
HOOKED = frozenset(
    "retain_grad register_hook register_node_prehook register_node_hook register_multi_grad_hook".split()
)
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
        self.packing = [False]
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
            self.walked = self.walked and action.operator not in PASSES
            self.call("autograd_log")
            return
        # Any ready node may run first, and the backend chooses what it packs.
        log = [entry for entry in self.call("autograd_log") if isinstance(entry, tuple)]
        self.seen += [(label, arrays(seen)) for label, seen in sorted(log, key=lambda entry: str(entry[0]))]
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
            self.packing.append(self.packing[-1] or isinstance(action.args[0], SavedTensorsHooks))
            return self.contexts.append(self.call("enter", action.args[0]))
        if action.operator == "pop":
            if not self.contexts:
                return None
            self.packing.pop()
            return self.call("leave", self.contexts.pop())
        if action.operator in PASSES:
            return self._walk(action.operator, *args)
        if action.operator == "apply":
            return self.call("apply_function", self.call("define_function", args[1]), args[0])
        if action.operator == "requires_grad_" and self.call("__getattr__", args[0], "_base") is not None:
            return None
        if action.operator == "fresh":
            return self.call("clone", self.call("detach", args[0]))
        if action.operator in HOOKED:
            return self._hook(action.operator, *args)
        return self.call(action.operator, *args)

    def _walk(self, operator: str, x: Any, retain: bool, target: Any = None) -> Any:
        """Run a pass from the sum of ``x``: a complete one, one to a target, or one for the gradients of the leaves."""
        total = self.call("sum", x)
        if operator == "backward":
            inputs = {} if target is None else {"inputs": [target]}
            return self.call("backward", total, retain_graph=retain, **inputs)
        return self.call("gradients", total, self.values[: len(LEAVES)], retain_graph=retain, allow_unused=True)

    def _hook(self, operator: str, x: Any, *args: Any) -> None:
        """Register a hook if the tensor may have one."""
        flags = self.flags(x)
        if flags[3] == "RuntimeError" or (operator != "retain_grad" and not flags[3]):
            return
        if operator == "register_multi_grad_hook":
            if self.flags(args[0])[3] is True and not any(map(self._has_no_edge, (x, args[0]))):
                self.call(operator, [x, args[0]], args[1])
            return
        if operator.startswith("register_node"):
            x = self.call("grad_fn", x)
        if x is not None:
            self.call(operator, x, *args)

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

    def _has_no_edge(self, x: Any) -> bool:
        """Return whether ``x`` is a view that has no node but requires grad because its base does (erratum S-34)."""
        return self.flags(x)[4] is True and self.call("__getattr__", x, "_base") is not None

    def has_written_views(self, x: Any) -> bool:
        """Return whether ``x`` was written to and has views (erratum S-75)."""
        if not self.backend.version_of(x):
            return False
        return any(self.call("__getattr__", other, "_base") is x for other in self.values)

    def is_left_out(self, action: Action) -> bool:
        """Return whether to skip the action.

        It writes to a value that overlaps itself, or it multiplies by a number under packing hooks: PyTorch alone saves
        the number as a tensor, which would be packed.
        """
        if self.packing[-1] and action.operator in ("mul.Scalar", "mul_.Scalar"):
            return True
        dirty = action.operator == "apply" and action.args[1].forward == "inplace"
        if not (dirty or action.operator.partition(".")[0].endswith("_")):
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


def arrays(seen: Any) -> Any:
    """Return the elements that a hook logged as arrays, with None for a missing gradient."""
    if isinstance(seen, tuple):
        return tuple(arrays(one) for one in seen)
    return None if seen is None else np.asarray(seen)


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
    """Return whether the spec leaves the action open, so that the engines may differ.

    PyTorch alone refuses

    - to use a view, taken with recording off or as one of several, of a tensor that does not require grad
    - to write to one of several views, or to a view that lacks its base's new history (erratum S-36)
    - to run a second pass over a product with a number, which it keeps as a saved tensor

    The engines may also differ in the nodes of views whose base came to require grad (erratum S-75), and in hooks on
    several tensors if one is a leaf whose gradient is requested (erratum S-70).
    """
    if action.operator == "requires_grad_" and torch.has_written_views(torch.values[action.args[0].number]):
        return True
    # Asking moves a stale view to its base's new history: what is asked of one backend is asked of both.
    lost = [["RuntimeError" in run.flags(x)[3:4] for x in run.early] for run in (torch, reference)]
    if any(lost[0]):
        return True
    if not torch.error or reference.error:
        return False
    if "INTERNAL ASSERT" in torch.error:
        return True
    if action.operator in PASSES:
        return "a second time" in torch.error or "currently not supported" in torch.error
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
            if action is None or runs[0].is_left_out(action):
                continue
            said.append(told(action))
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
