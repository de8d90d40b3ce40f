"""The few names of PyTorch's that its adapter for the allocator uses, over the naive allocator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from gaugeblock_conformance.backend_allocator import Machine, Pointer
from gaugeblock_conformance.mutants.naive_allocator import NaiveCalls, NaiveStream


class FakeTorch:
    """One allocator, streams, and tensors of bytes; ``cuda`` has PyTorch's names."""

    uint8 = "uint8"

    def __init__(self) -> None:
        self.calls = NaiveCalls()
        self.one = self.calls.allocator(Machine())
        self.streams: list[NaiveStream | None] = [None]
        self.cuda = _Cuda(self)

    def device(self, text: str) -> Any:
        _, _, index = text.partition(":")
        return SimpleNamespace(index=int(index) if index else None)

    def empty(self, size: int, dtype: str, device: str) -> Tensor:
        return Tensor(self, self.calls.malloc(self.one, size, self.streams[-1]))


class Tensor:
    """Bytes, given back when the object goes."""

    def __init__(self, torch: FakeTorch, pointer: Pointer) -> None:
        self._torch = torch
        self._pointer = pointer

    def data_ptr(self) -> int:
        return int(self._pointer)

    def record_stream(self, stream: FakeStream) -> None:
        self._torch.calls.record_stream(self._torch.one, self._pointer, stream.inner)

    def __del__(self) -> None:
        self._torch.calls.free(self._torch.one, self._pointer)


class FakeStream:
    """As PyTorch's: a number, and a wait."""

    def __init__(self, torch: FakeTorch) -> None:
        self._torch = torch
        self.inner = torch.calls.new_stream(torch.one)
        self.cuda_stream = self.inner.number

    def synchronize(self) -> None:
        self._torch.calls.finish(self._torch.one, self.inner)


class _Cuda:
    def __init__(self, torch: FakeTorch) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        """Calls of the allocator's that PyTorch has under the same name, with a device behind."""
        return lambda device=0: getattr(self._torch.calls, name)(self._torch.one)

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def synchronize(self, device: int) -> None:
        for number in list(self._torch.one.model.busy):
            self._torch.one.model.finish(number)

    def memory_allocated(self, device: int) -> int:
        return self._torch.calls.bytes_in_use(self._torch.one)

    def memory_reserved(self, device: int) -> int:
        return self._torch.calls.bytes_held(self._torch.one)

    def memory_snapshot(self) -> list[dict[str, Any]]:
        return [{**segment, "device": 0} for segment in self._torch.calls.memory_snapshot(self._torch.one)]

    def caching_allocator_delete(self, pointer: int) -> None:
        self._torch.calls.free(self._torch.one, Pointer(pointer))

    def Stream(self, device: int) -> Any:
        return FakeStream(self._torch)

    @contextlib.contextmanager
    def stream(self, stream: FakeStream) -> Iterator[None]:
        self._torch.streams.append(stream.inner)
        try:
            yield
        finally:
            self._torch.streams.pop()

    def _sleep(self, cycles: int) -> None:
        stream = self._torch.streams[-1]
        assert stream is not None
        self._torch.calls.occupy(self._torch.one, stream)
