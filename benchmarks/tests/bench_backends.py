"""Backends with a fault each, over NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from gaugeblock_conformance.backends.numpy import NumpyBackend


class Wrong(NumpyBackend):
    """Subtracts where it should add."""

    def function(self, operator: str) -> Callable[..., Any]:
        return np.subtract if operator == "add.Tensor" else super().function(operator)


class Raising(NumpyBackend):
    """Raises where it should add."""

    def function(self, operator: str) -> Callable[..., Any]:
        def fail(*arguments: Any) -> None:
            raise ArithmeticError("out of\norder")

        return fail if operator == "add.Tensor" else super().function(operator)


class Dying(NumpyBackend):
    """Ends its process where it should add, and says that it wants one of its own."""

    own_process = True

    def function(self, operator: str) -> Callable[..., Any]:
        return (lambda *arguments: os._exit(7)) if operator == "add.Tensor" else super().function(operator)


class Wrapped(NumpyBackend):
    """Overrides ``call`` alone, and counts what goes through it."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.calls = 0

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super().call(operator, *args, **kwargs)


class Unloadable(NumpyBackend):
    """Cannot be made."""

    def __init__(self, device: str = "cpu") -> None:
        raise OSError("no driver")


class Lazy(NumpyBackend):
    """Computes when it is waited for."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.finished = 0

    def finish(self, result: Any) -> None:
        """Count the waits."""
        self.finished += 1
