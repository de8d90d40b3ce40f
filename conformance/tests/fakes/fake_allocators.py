"""A second right allocator, over NumPy's tensors: nothing of the suite may accuse it."""

from __future__ import annotations

from typing import Any

from gaugeblock_conformance.backend_allocator import CALLS
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.mutants.naive_allocator import CAPABILITIES, NaiveCalls


class NaiveBackend(NumpyBackend):
    """NumPy with the naive allocator beside it."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.name = "naive"
        self.capabilities = frozenset({"core", "threads", *CAPABILITIES})
        self.dialect = None  # type: ignore[assignment]
        self._allocators = NaiveCalls()

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator in CALLS:
            return self._allocators.answer(operator, *args, **kwargs)
        return super().call(operator, *args, **kwargs)
