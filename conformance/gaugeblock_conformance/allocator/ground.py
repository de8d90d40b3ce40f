"""One allocator in a session, and what a test may expect of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..backend_allocator import Machine, Pointer
from ..session import Handle, Session
from ..trace import Call, names_in

AWAITING = {"active_awaiting_free": "active_pending_free"}
Cut = tuple[int, str]
"""A block as size and state."""


def same(got: Any, want: Any) -> bool:
    """Return whether both are equal and of one type."""
    return bool(got == want) and type(got) is type(want)


class Ground:
    """A fresh allocator of the backend under test."""

    def __init__(self, s: Session, machine: Machine | None = None, made: Any = None) -> None:
        machine = machine or Machine()
        if machine.memory is not None:
            s.require("alloc.faults")
        if machine.config:
            s.require("alloc.caching.config")
        self.s = s
        self.allocator = s.call("allocator", machine) if made is None else made

    def malloc(self, size: int, stream: Any = None) -> Pointer:
        """The pointer, or a failure if the backend refuses."""
        extra = () if stream is None else (stream,)
        pointer: Pointer = self.s.call("malloc", self.allocator, size, *extra)
        return pointer

    def free(self, *pointers: Pointer) -> None:
        for pointer in pointers:
            self.s.call("free", self.allocator, pointer)

    def empty_cache(self) -> None:
        self.s.call("empty_cache", self.allocator)

    def stream(self) -> Any:
        return self.s.call("new_stream", self.allocator)

    def record(self, pointer: Pointer, stream: Any) -> None:
        self.s.call("record_stream", self.allocator, pointer, stream)

    def occupy(self, *streams: Any) -> None:
        for stream in streams:
            self.s.call("occupy", self.allocator, stream)

    def finish(self, *streams: Any) -> None:
        for stream in streams:
            self.s.call("finish", self.allocator, stream)

    def stats(self) -> Mapping[str, int]:
        found: Mapping[str, int] = self.s.call("memory_stats", self.allocator)
        return found

    def snapshot(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.s.call("memory_snapshot", self.allocator)
        return found

    def refused(self, size: int, stream: Any = None) -> Exception:
        """Expect the request to fail for want of memory; the exception."""
        extra = () if stream is None else (stream,)
        _, error = self.s.attempt("malloc", self.allocator, size, *extra)
        if isinstance(error, RuntimeError) and type(error).__name__ == "OutOfMemoryError":
            return error
        call = self.s.dialect.statement(self.s.steps().pop())  # type: ignore[arg-type]
        lines = ["try:", f"    {call}", "except RuntimeError as error:", "    got = type(error).__name__", "else:",
                 "    got = None", "assert got == 'OutOfMemoryError', got"]  # fmt: skip
        got = "no exception" if error is None else f"{type(error).__name__}: {error}"
        raise self.s.failure(f"a request that cannot be served: {got}", "OutOfMemoryError, a RuntimeError", got, lines,
                             set(names_in(self._last_arguments())), cause="malloc is not out of memory")  # fmt: skip

    def _last_arguments(self) -> Any:
        step = self.s.steps()[-1]
        return step.args if isinstance(step, Call) else ()

    def expect(self, got: Any, want: Any, what: str, expression: str) -> None:
        """Expect a value made of what the last call gave, which is ``{}`` in ``expression``."""
        if same(got, want):
            return
        name = _target(self.s.steps()[-1])
        self.s.expect(got, want, what, expression.replace("{}", name), [Handle(None, name)])

    def expect_figures(self, **wanted: int) -> None:
        """Expect figures by name: ``segment=1`` is ``segment.all.current``, and two underscores stand for a dot, as in
        ``active__small_pool`` and ``active__all__peak``."""
        stats = self.stats()
        for name, want in wanted.items():
            parts = name.split("__")
            ends = ("all", "current")[len(parts) - 1 :]
            if parts[0].startswith(("num_", "oversize_")):
                ends = ("current",) if parts[0].startswith("oversize_") else ()
            key = ".".join([*parts, *ends])
            self.expect(stats.get(key), want, f"figure {key}", f"{{}}.get({key!r})")

    def expect_blocks(self, *segments: Sequence[Cut], what: str = "blocks of the segments") -> None:
        """Expect the sizes and states of all blocks, segment by segment; a device may place segments in any order."""
        got = [[(b["size"], AWAITING.get(b["state"], b["state"])) for b in seg["blocks"]] for seg in self.snapshot()]
        state = f"{AWAITING!r}.get(b['state'], b['state'])"
        expression = f"sorted([(b['size'], {state}) for b in seg['blocks']] for seg in {{}})"
        self.expect(sorted(got), sorted(map(list, segments)), what, expression)

    def expect_blocks_of(self, **pools: Sequence[Sequence[Cut]]) -> None:
        """Expect the sizes and states of the blocks of each kind of segment, ``small`` and ``large``, in any order."""
        found = self.snapshot()
        for kind, want in pools.items():
            got = [[(b["size"], b["state"]) for b in g["blocks"]] for g in found if g["segment_type"] == kind]
            segments = f"for g in {{}} if g['segment_type'] == {kind!r}"
            text = f"sorted([(b['size'], b['state']) for b in g['blocks']] {segments})"
            self.expect(sorted(got), sorted(map(list, want)), f"blocks of {kind} segments", text)

    def names(self, *values: Any) -> list[Handle]:
        """What stands for the values in snippets."""
        return [Handle(None, self.s.name_of(value)) for value in values]

    def expect_distance(self, pointer: Pointer, base: Pointer, want: int, what: str) -> None:
        """Expect ``pointer`` so many bytes behind ``base``."""
        names = [self.s.name_of(p) for p in (pointer, base)]
        self.s.expect(int(pointer) - int(base), want, what, f"int({names[0]}) - int({names[1]})",
                      [Handle(None, name) for name in names])  # fmt: skip

    def expect_same(self, pointer: Pointer, base: Pointer, what: str = "address that is used again") -> None:
        self.expect_distance(pointer, base, 0, what)

    def expect_other(self, pointer: Pointer, base: Pointer, what: str) -> None:
        """Expect another address."""
        names = [self.s.name_of(p) for p in (pointer, base)]
        self.s.expect(int(pointer) != int(base), True, what, f"int({names[0]}) != int({names[1]})",
                      [Handle(None, name) for name in names])  # fmt: skip


def _target(step: Any) -> str:
    return step.targets[0] if isinstance(step, Call) and step.targets else "None"
