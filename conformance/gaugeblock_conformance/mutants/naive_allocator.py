"""The model of the chapter as an allocator that can be called: right, slow, and made wrong by one overridden rule."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from ..allocator.model import Model
from ..allocator.rules import LARGE_SEGMENT, MIB, Rules
from ..allocator.state import OutOfMemory, Refused
from ..backend import Unsupported
from ..backend_allocator import CALLS, NAMES, Machine, Pointer

CAPABILITIES = frozenset("alloc.reuse alloc.caching alloc.caching.config alloc.streams alloc.faults".split())
MEMORY = 64 * 1024 * MIB
_START = 1 << 45
_STEP = 2 * MIB


class OutOfMemoryError(OutOfMemory):
    """As the spec names it."""


class NaiveDevice:
    """Memory as a list of intervals; the lowest gap is taken. Says what was asked of it in ``log``."""

    def __init__(self, memory: int = MEMORY) -> None:
        self.memory = memory
        self.taken: dict[int, int] = {}
        self.refusals = 0
        self.log: list[tuple[Any, ...]] = []

    @property
    def used(self) -> int:
        return sum(self.taken.values())

    def malloc(self, size: int) -> int:
        if self.refusals or self.used + size > self.memory:
            self.refusals = max(0, self.refusals - 1)
            self.log.append(("refused", size))
            raise Refused
        address = _START
        for start in sorted(self.taken):
            if address + size <= start:
                break
            address = max(address, -(-(start + self.taken[start]) // _STEP) * _STEP)
        self.taken[address] = size
        self.log.append(("malloc", size))
        return address

    def free(self, address: int, size: int) -> None:
        del self.taken[address]
        self.log.append(("free",))


class NaiveStream:
    """A stream is its number."""

    def __init__(self, number: int) -> None:
        self.number = number


class NaiveAllocator:
    """A model over its own device, with a lock around every call."""

    def __init__(self, machine: Machine, model: Callable[[NaiveDevice, Rules], Model] = Model) -> None:
        self.device = NaiveDevice(machine.memory or MEMORY)
        self.model = model(self.device, rules_of(machine.config))
        self.lock = threading.RLock()
        self.streams = 0


class NaiveCalls:
    """Answers the calls of the chapter; ``model`` makes the model under each allocator."""

    def __init__(self, model: Callable[[NaiveDevice, Rules], Model] = Model) -> None:
        self._model = model

    def answer(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        function = getattr(self, operator, None)
        if operator not in CALLS or function is None:
            raise Unsupported(operator)
        if not args or not isinstance(args[0], NaiveAllocator):
            return function(*args, **kwargs)
        with args[0].lock:
            return function(*args, **kwargs)

    def allocator(self, machine: Machine) -> NaiveAllocator:
        return NaiveAllocator(machine, self._model)

    def malloc(self, a: NaiveAllocator, size: int, stream: NaiveStream | None = None) -> Pointer:
        number = stream.number if stream is not None else 0
        try:
            if size >= 2**60:
                raise OutOfMemory
            return Pointer(a.model.malloc(size, number))
        except OutOfMemory:
            raise OutOfMemoryError(self._message(a, size)) from None

    def _message(self, a: NaiveAllocator, size: int) -> str:
        current = a.model.figures.current
        held, used = current["reserved_bytes.all"], current["allocated_bytes.all"]
        asked = a.model.rules.segment_size(a.model.rules.rounded(size)) if size < 2**60 else size
        return (
            f"out of memory: tried to allocate {_text(asked)}. GPU 0 has a total capacity of {_text(a.device.memory)} "
            f"of which {_text(a.device.memory - a.device.used)} is free. {_text(used)} is allocated and "
            f"{_text(held - used)} is reserved but unallocated."
        )

    def free(self, a: NaiveAllocator, pointer: Pointer) -> None:
        a.model.free(int(pointer))

    def empty_cache(self, a: NaiveAllocator) -> None:
        a.model.empty_cache()

    def bytes_in_use(self, a: NaiveAllocator) -> int:
        return a.model.figures.current["allocated_bytes.all"]

    def bytes_held(self, a: NaiveAllocator) -> int:
        return a.model.reserved

    def memory_stats(self, a: NaiveAllocator) -> dict[str, int]:
        figures = a.model.figures
        named = {**figures.counts}
        for key in figures.current:
            for figure in ("current", "peak", "allocated", "freed"):
                named[f"{key}.{figure}"] = getattr(figures, figure)[key]
        return {name: named[name] for name in NAMES}

    def memory_snapshot(self, a: NaiveAllocator) -> list[dict[str, Any]]:
        return a.model.snapshot()

    def memory_summary(self, a: NaiveAllocator) -> str:
        current = a.model.figures.current
        return "\n".join(f"{key:<32} {value} B" for key, value in current.items() if key.endswith("bytes.all"))

    def reset_peak_memory_stats(self, a: NaiveAllocator) -> None:
        a.model.figures.reset_peaks()

    def reset_accumulated_memory_stats(self, a: NaiveAllocator) -> None:
        a.model.figures.reset_accumulated()

    def set_memory_fraction(self, a: NaiveAllocator, fraction: float) -> None:
        if not isinstance(fraction, float):
            raise TypeError(f"fraction must be a float, not {fraction!r}")
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be from 0 to 1, not {fraction}")
        a.model.set_memory_fraction(fraction)

    def new_stream(self, a: NaiveAllocator) -> NaiveStream:
        a.streams += 1
        return NaiveStream(a.streams)

    def stream_number(self, stream: NaiveStream) -> int:
        return stream.number

    def occupy(self, a: NaiveAllocator, stream: NaiveStream) -> None:
        a.model.occupy(stream.number)

    def finish(self, a: NaiveAllocator, stream: NaiveStream) -> None:
        a.model.finish(stream.number)

    def record_stream(self, a: NaiveAllocator, pointer: Pointer, stream: NaiveStream) -> None:
        a.model.record_stream(int(pointer), stream.number)

    def fail_mallocs(self, a: NaiveAllocator, count: int) -> None:
        a.device.refusals = count

    def device_log(self, a: NaiveAllocator) -> tuple[Any, ...]:
        log, a.device.log = tuple(a.device.log), []
        return log


_SIZES = {"max_split_size_mb": "max_split", "max_non_split_rounding_mb": "rounding_limit",
          "large_segment_size_mb": "large_segment"}  # fmt: skip


def rules_of(config: str) -> Rules:
    """The rules of a configuration. Raises ValueError for one that cannot be read."""
    chosen: dict[str, Any] = {}
    text = "".join(config.split()).removesuffix(",")
    pairs = re.split(r",(?![^\[]*\])", text) if text else []
    for pair in pairs:
        key, colon, value = pair.partition(":")
        try:
            if not colon or not value:
                raise ValueError("a value is missing")
            if key in _SIZES:
                chosen[_SIZES[key]] = int(value) * MIB
            elif key == "garbage_collection_threshold":
                chosen["threshold"] = float(value)
            elif key == "expandable_segments" and value in ("True", "False"):
                raise Unsupported("allocator", "its segments do not grow")
            elif key == "roundup_power2_divisions":
                chosen["divisions"] = _divisions(value)
            else:
                raise ValueError(f"allowed: {', '.join([*_SIZES, 'garbage_collection_threshold'])}")
        except ValueError as error:
            raise ValueError(f"configuration {pair!r}: {error}") from None
    rules = Rules(**chosen)
    if (rules.max_split or LARGE_SEGMENT) < LARGE_SEGMENT or not 0 <= rules.threshold < 1:
        raise ValueError(f"configuration {config!r}: a value is out of range")
    if "threshold" in chosen and not rules.threshold:
        raise ValueError(f"configuration {config!r}: garbage_collection_threshold must lie between 0 and 1")
    return rules


def _divisions(value: str) -> int | tuple[tuple[int | str, int], ...]:
    if not value.startswith("["):
        return _power(int(value))
    entries = [entry.split(":") for entry in value.strip("[]").split(",")]
    return tuple((limit if limit == ">" else _power(int(limit)), _power(int(number))) for limit, number in entries)


def _power(number: int) -> int:
    if number < 0 or number & (number - 1):
        raise ValueError(f"{number} is no power of two")
    return number


def _text(size: int) -> str:
    return f"{size / MIB:.2f} MiB"
