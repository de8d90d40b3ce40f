"""Programs of requests and frees, drawn as bytes and run beside the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from hypothesis import strategies as hs

from ..backend_allocator import Machine, Pointer
from ..session import Handle, Session
from .figures import FAMILY, NAMES
from .ground import AWAITING, Ground, same
from .model import Model
from .rules import KIB, MIB, Rules
from .state import OutOfMemory, Refused

STEP = 3
LENGTH = 24
SIZES = (
    1, 512, 513, 1000, 1024, 4000, 100 * KIB, 512 * KIB, MIB - 512, MIB, MIB + 1, 3 * MIB // 2, 2 * MIB, 3 * MIB,
    5 * MIB, 9 * MIB, 10 * MIB - 512, 10 * MIB, 11 * MIB, 19 * MIB, 19 * MIB + 512, 20 * MIB, 25 * MIB, 39 * MIB,
    64 * MIB,
)  # fmt: skip
# Actions by name, as often as they shall come.
BASIC = ("malloc",) * 8 + ("free",) * 7 + ("empty_cache",)
RESETS = (*BASIC, "reset_peak_memory_stats", "reset_accumulated_memory_stats")
STREAMS = (*BASIC, "malloc", "free", "free", "record", "record", "record", "occupy", "occupy", "finish")
FULL = (*BASIC, "fail")
EVERYTHING = (*STREAMS, "fail", "reset_peak_memory_stats", "reset_accumulated_memory_stats")


def programs(length: int = LENGTH) -> hs.SearchStrategy[bytes]:
    return hs.binary(min_size=STEP * length, max_size=STEP * length)


def pieces(code: bytes) -> Iterator[tuple[int, int, int]]:
    """Which action, on which live block or stream, and how much; a piece of zeros says nothing."""
    for start in range(0, len(code), STEP):
        which, first, amount = code[start : start + STEP]
        if which or first or amount:
            yield which, first, amount


class GivenDevice:
    """The model's device: where it gives memory, it gives the address that the backend gave."""

    def __init__(self, memory: int | None) -> None:
        self.memory = memory or 2**62
        self.used = 0
        self.refusals = 0
        self.given = 0

    def malloc(self, size: int) -> int:
        if self.refusals or self.used + size > self.memory:
            self.refusals = max(0, self.refusals - 1)
            raise Refused
        self.used += size
        return self.given

    def free(self, address: int, size: int) -> None:
        self.used -= size


class Follower:
    """A backend's allocator and the model, taken through the same steps."""

    def __init__(self, s: Session, rules: Rules | None = None, memory: int | None = None, streams: int = 0) -> None:
        rules = rules or Rules()
        self.s = s
        self.ground = Ground(s, Machine(memory, rules.config))
        self.device = GivenDevice(memory)
        self.model = Model(self.device, rules)
        self.live: list[Pointer] = []
        self.streams: list[Any] = [None, *(self.ground.stream() for _ in range(streams))]
        self.firsts: dict[int, Pointer] = {}

    def run(self, code: bytes, actions: Sequence[str], look: Callable[[], None]) -> None:
        """Do the steps; ``look`` after each of them."""
        for which, first, amount in pieces(code):
            action = actions[which % len(actions)]
            if action == "malloc":
                self.malloc(SIZES[amount % len(SIZES)], first % len(self.streams))
            elif action in ("free", "record"):
                self._on_live(action, first, amount)
            elif action in ("occupy", "finish"):
                stream = 1 + first % (len(self.streams) - 1)
                getattr(self.ground, action)(self.streams[stream])
                getattr(self.model, action)(stream)
            elif action == "fail":
                self.s.call("fail_mallocs", self.ground.allocator, 1 + amount % 2)
                self.device.refusals = 1 + amount % 2
            else:
                self._on_all(action)
            look()

    def _on_live(self, action: str, first: int, amount: int) -> None:
        if not self.live:
            return
        if action == "free":
            # Later ones first: what was made last is used most.
            pointer = self.live.pop(-1 - first % len(self.live))
            self.ground.free(pointer)
            self.model.free(int(pointer))
            return
        pointer = self.live[-1 - first % len(self.live)]
        stream = 1 + amount % (len(self.streams) - 1)
        self.ground.record(pointer, self.streams[stream])
        self.model.record_stream(int(pointer), stream)

    def _on_all(self, action: str) -> None:
        self.s.call(action, self.ground.allocator)
        if action == "empty_cache":
            self.model.empty_cache()
        elif action == "reset_peak_memory_stats":
            self.model.figures.reset_peaks()
        else:
            self.model.figures.reset_accumulated()

    def malloc(self, size: int, stream: int) -> None:
        """One request of both; what the model says of its address goes for the backend."""
        before = copy.deepcopy(self.model) if self.model.waiting else None
        extra = () if self.streams[stream] is None else (self.streams[stream],)
        pointer, error = self.s.attempt("malloc", self.ground.allocator, size, *extra)
        address, known = self._expected(size, stream, pointer)
        if before is not None and self.model.waited_in_vain and (address is None) is not (error is not None):
            # Whether blocks that had to be waited for are searched again is wished for, and judged elsewhere.
            self.model, self.device = before, before.device  # type: ignore[assignment]
            self.model.searches_again = not self.model.searches_again
            address, known = self._expected(size, stream, pointer)
        if address is None or error is not None:
            self._expect_refusal(address is None, error, size, stream)
            return
        self.live.append(pointer)
        segment = self.model.live[address].segment
        first = self.firsts.setdefault(segment.address, pointer)
        if known:
            self.ground.expect_distance(pointer, first, address - segment.address, "address of a block in its segment")
        else:
            self.firsts[segment.address] = pointer
            self._expect_fresh(pointer)

    def _expected(self, size: int, stream: int, pointer: Pointer | None) -> tuple[int | None, bool]:
        """The model's address, None for a refusal, and whether it lies in a segment that was there before."""
        self.device.given = int(pointer) if pointer is not None else -1
        known = {s.address for s in self.model.segments}
        try:
            address = self.model.malloc(size, stream)
        except OutOfMemory:
            return None, False
        return address, self.model.live[address].segment.address in known

    def _expect_refusal(self, refused: bool, error: Exception | None, size: int, stream: int) -> None:
        if refused and error is not None:
            return
        step = self.s.steps()[-1]
        call = self.s.dialect.statement(step)  # type: ignore[arg-type]
        lines = ["try:", f"    {call}", "    got = 'memory'", "except RuntimeError:", "    got = 'a refusal'"]
        want, got = ("a refusal", "memory") if refused else ("memory", "a refusal")
        self.s.steps().pop()
        raise self.s.failure(f"malloc of {size} bytes: expected {want}, got {got}", want, got,
                             [*lines, f"assert got == {want!r}, got"],
                             {self.s.name_of(self.ground.allocator)})  # fmt: skip

    def _expect_fresh(self, pointer: Pointer) -> None:
        """The address lies in no segment that the model had before."""
        *others, _ = self.model.segments
        inside = [s for s in others if s.address <= int(pointer) < s.address + s.size]
        for segment in inside:
            names = [self.s.name_of(p) for p in (pointer, self.firsts[segment.address])]
            got = int(pointer) - segment.address
            self.s.expect(True, False, f"memory of a new segment that lies {got} bytes from the start of another one",
                          f"0 <= int({names[0]}) - int({names[1]}) < {segment.size}",
                          [Handle(None, name) for name in names])  # fmt: skip

    def expect_blocks(self) -> None:
        """The snapshot is the model's: segments with sizes and kinds, blocks with sizes, requests and states."""
        want = [_told(segment) for segment in self.model.snapshot()]
        got = [_told(segment) for segment in self.ground.snapshot()]
        self.ground.expect(got, want, "segments and blocks", _TELLING)

    def expect_figures(self, families: Collection[str] | None = None, figures: Collection[str] = ("current",)) -> None:
        """The model's figures, of these families (all) and these kinds."""
        stats, model = self.ground.stats(), self.model.figures
        for figure in figures:
            want = model.of(figure)
            for key, name in NAMES[figure].items():
                if families is not None and FAMILY[key] not in families:
                    continue
                if key in want and not same(stats.get(name), want[key]):
                    self.ground.expect(stats.get(name), want[key], f"figure {name}", f"{{}}.get({name!r})")

    def expect_counts(self, *names: str) -> None:
        stats = self.ground.stats()
        for name in names:
            want = self.model.figures.counts[name]
            self.ground.expect(stats.get(name), want, f"figure {name}", f"{{}}.get({name!r})")


def _told(segment: Any) -> tuple[Any, ...]:
    blocks = [(b["size"], AWAITING.get(b["state"], b["state"])) for b in segment["blocks"]]
    return segment["total_size"], segment["segment_type"], blocks


_TELLING = (
    f"[(g['total_size'], g['segment_type'], [(b['size'], {AWAITING!r}.get(b['state'], b['state'])) "
    "for b in g['blocks']]) for g in {}]"
)
