"""Programs of views, writes and backward passes against the model of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..backend_autograd import Value
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .actions import LEAVES, PLAIN, STEP, Action, decode, steps
from .histories import Open, Refused
from .leaves import leaf
from .write_model import WriteModel

LENGTH = 14


class Run:
    """One program on a session's backend, step by step beside the model."""

    def __init__(self, s: Session) -> None:
        self.s = s
        self.model = WriteModel()
        self.values = [*(leaf(s, array, alone=True) for array in LEAVES), s.tensor(PLAIN)]
        self._contexts: list[Any] = []

    def step(self, piece: bytes) -> bool:
        """Do what the piece says; whether the program goes on."""
        action = decode(piece, [t.value.shape for t in self.model.values])
        if action is None:
            return True
        before = len(self.model.values)
        try:
            self.model.run(action)
        except Open:
            return True
        except Refused as refused:
            self.s.expect_raises(RuntimeError, *self._call(action))
            return not refused.last
        result = self._do(action)
        if action.operator == "gradients":
            found = self.model.found
            for got, want in zip(self.s.parts(result, len(found)), found, strict=True):
                self._expect(got, want)
        elif len(self.model.values) > before:
            made = list(result) if isinstance(result, list | tuple) else [result]
            self.values += self.s.parts(made, len(self.model.values) - before)
        return True

    def _operand(self, value: Any) -> Any:
        return self.values[value.number] if isinstance(value, Value) else value

    def _call(self, action: Action) -> tuple[Any, ...]:
        """Operator and arguments of the action's call; a pass is that of the sum of its value."""
        args = [self._operand(a) for a in action.args]
        if action.operator not in ("backward", "gradients"):
            return (action.operator, *args)
        total, error = self.s.attempt("sum", args[0])
        if error is not None:
            return ("sum", args[0])
        return (action.operator, total) if action.operator == "backward" else ("gradients", total, self.values[:2])

    def _do(self, action: Action) -> Any:
        s = self.s
        if action.operator == "push":
            return self._contexts.append(s.call("enter", action.args[0]))
        if action.operator == "pop":
            return s.call("leave", self._contexts.pop())
        if action.operator == "backward":
            return s.call(*self._call(action), retain_graph=action.args[1])
        if action.operator == "gradients":
            return s.call(*self._call(action), retain_graph=action.args[1], materialize_grads=True)
        return s.call(*self._call(action))

    def _expect(self, got: Any, want: Array) -> None:
        self.s.expect_close(got, want, 1e-9 * (1 + float(np.abs(want).max(initial=0.0))))

    def finish(self) -> None:
        """Leave all contexts; then expect values, flags and gradients to be the model's."""
        while self._contexts:
            self.s.call("leave", self._contexts.pop())
        for got, want in zip(self.values, self.model.values, strict=True):
            self._expect(got, want.value)
            if want.way == "free":
                is_leaf = not want.needs or (want.base.leaf and not want.view)
                self.s.expect(self.s.call("requires_grad", got), want.needs, f"requires_grad of {got.name}")
                self.s.expect(self.s.call("is_leaf", got), is_leaf, f"is_leaf of {got.name}")
        for x, grad, array in zip(self.values, self.model.grads, LEAVES, strict=False):
            found = self.s.call("grad", x)
            if isinstance(found, Handle):
                self._expect(found, np.zeros(array.shape) if grad is None else grad)
            elif grad is not None and grad.any():
                self.s.expect_of_last(False, True, f"grad of {x.name} is missing", "{} is not None")

    def leave(self) -> None:
        """Leave what is still entered, without a word."""
        while self._contexts:
            self.s.backend.call("leave", self._contexts.pop())


@requirement("autograd/programs-of-writes-have-the-gradients-of-their-values")
@forall(weight=1.5, code=hs.binary(min_size=STEP * LENGTH, max_size=STEP * LENGTH))
def test_programs(s: Session, code: bytes) -> None:
    run = Run(s)
    try:
        if all(run.step(piece) for piece in steps(code)):
            run.finish()
    finally:
        run.leave()
