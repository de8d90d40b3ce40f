"""Allocators that wait for the wrong work, give up too early or too late, or misread their configuration."""

from __future__ import annotations

from ..allocator.model import Model
from ..allocator.rules import LARGE_SEGMENT, Rules
from ..allocator.state import Block, Event, OutOfMemory
from .allocator_rules import OPERATORS, of_model, of_rules
from .mutant import rows


class _RecordsNothing(Model):
    def record_stream(self, address: int, stream: int) -> None:
        return


class _RecordsOwn(Model):
    def record_stream(self, address: int, stream: int) -> None:
        if address in self.live:
            self.live[address].uses.add(stream)


class _RecordsLast(Model):
    def record_stream(self, address: int, stream: int) -> None:
        if address in self.live:
            self.live[address].uses.clear()
        super().record_stream(address, stream)


class _WaitsForItsOwn(Model):
    def free(self, address: int) -> None:
        block = self.live.get(address)
        if block is not None and block.segment.stream in self.busy:
            block.uses.add(block.segment.stream)
        super().free(address)


class _OneSuffices(Model):
    def free(self, address: int) -> None:
        block = self.live.get(address)
        super().free(address)
        if block is not None and block.waits > 1:
            block.waits = 1


class _OneQueue(Model):
    def process_events(self) -> None:
        for place, (event, _) in enumerate(self.waiting):
            if not event.done:
                rest, self.waiting = self.waiting[place:], self.waiting[:place]
                super().process_events()
                self.waiting += rest
                return
        super().process_events()


class _ProcessesWhenEmptied(Model):
    def malloc(self, size: int, stream: int = 0) -> int:
        waiting, self.waiting = self.waiting, []
        try:
            return super().malloc(size, stream)
        finally:
            self.waiting = waiting + self.waiting


class _LaterWorkCounts(Model):
    def occupy(self, stream: int) -> None:
        super().occupy(stream)
        for event, _ in self.waiting:
            event.done = event.done and event.stream != stream


class _KeepsUses(Model):
    """What was recorded for a block holds for whoever has it next."""

    def free(self, address: int) -> None:
        block = self.live.get(address)
        uses = set(block.uses) if block is not None else set()
        super().free(address)
        if block is not None:
            block.uses = uses


class _EmptiesWithoutWaiting(Model):
    def empty_cache(self) -> None:
        self.process_events()
        self.release_free_segments()


class _WaitingIsInactive(Model):
    """Blocks count as inactive while they wait."""

    def free(self, address: int) -> None:
        super().free(address)
        done, self.waiting = self.waiting, []
        for event, block in done:
            block.waits = 1
            self.waiting.append((Event(event.stream, True), block))
        self.process_events()


class _GivesUp(Model):
    def new_block(self, rounded: int, stream: int) -> Block | None:
        return self.take_segment(rounded, stream)


class _RetriesUncounted(Model):
    def new_block(self, rounded: int, stream: int) -> Block | None:
        found = super().new_block(rounded, stream)
        self.figures.counts["num_alloc_retries"] = 0
        return found


class _RefusalsUncounted(Model):
    def malloc(self, size: int, stream: int = 0) -> int:
        try:
            return super().malloc(size, stream)
        except OutOfMemory:
            self.figures.counts["num_ooms"] = 0
            raise


class _LosesOnRefusal(Model):
    """A refused request leaves a free block marked as active."""

    def malloc(self, size: int, stream: int = 0) -> int:
        try:
            return super().malloc(size, stream)
        except OutOfMemory:
            for segment in self.segments:
                for block in segment.blocks:
                    if block.state == "inactive":
                        block.state = "active_pending_free"
            self.note()
            raise


class _DoesNotSearchAgain(Model):
    def new_block(self, rounded: int, stream: int) -> Block | None:
        self.searches_again = False
        return super().new_block(rounded, stream)


class _AsksTheDeviceFirst(Model):
    """The limit is looked at when the device has given the memory."""

    def take_segment(self, rounded: int, stream: int) -> Block | None:
        allowed, self.allowed = self.allowed, None
        block = super().take_segment(rounded, stream)
        self.allowed = allowed
        if block is not None and allowed is not None and self.reserved > allowed:
            self.release(block.segment)
            return None
        return block


class _NoLimit(Model):
    def set_memory_fraction(self, fraction: float) -> None:
        return


class _LimitsAllocated(Model):
    def take_segment(self, rounded: int, stream: int) -> Block | None:
        allowed = self.allowed
        if allowed is not None:
            self.allowed = allowed + self.reserved - self.figures.current["allocated_bytes.all"]
        try:
            return super().take_segment(rounded, stream)
        finally:
            self.allowed = allowed


class _LimitIsExclusive(Model):
    def set_memory_fraction(self, fraction: float) -> None:
        super().set_memory_fraction(fraction)
        if self.allowed is not None:
            self.allowed -= 1


class _OversizeLast(Model):
    def release_oversize(self, rounded: int, stream: int) -> bool:
        return False


class _OversizeAll(Model):
    def release_oversize(self, rounded: int, stream: int) -> bool:
        limit = self.rules.max_split
        found = [b for b in self.free_blocks(self.rules.is_small(rounded), stream) if limit and b.size >= limit]
        for block in found:
            self.release(block.segment)
        return bool(found)


class _LimitIgnored(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return Rules().splits(found, rounded)

    def serves(self, found: int, rounded: int) -> bool:
        return True


class _LargeServeSmall(Rules):
    def serves(self, found: int, rounded: int) -> bool:
        return super().serves(found, rounded) or (self.max_split is not None and rounded < self.max_split)


class _LimitInclusive(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return super().splits(found, rounded) or (rounded == self.max_split and found - rounded > 1 << 20)


class _RoundsWithoutLimit(Rules):
    def serves(self, found: int, rounded: int) -> bool:
        return self.max_split is None or (found >= self.max_split) == (rounded >= self.max_split)


class _RoundingInclusive(Rules):
    def serves(self, found: int, rounded: int) -> bool:
        return super().serves(found, rounded) or (
            self.max_split is not None and rounded >= self.max_split and found == rounded + self.rounding_limit
        )


class _NoDivisions(Rules):
    def divisions_for(self, size: int) -> int:
        return 0


class _TwiceTheDivisions(Rules):
    def divisions_for(self, size: int) -> int:
        return 2 * super().divisions_for(size)


class _FirstEntryIsForItself(Rules):
    def divisions_for(self, size: int) -> int:
        if isinstance(self.divisions, tuple):
            first = min(limit for limit, _ in self.divisions if isinstance(limit, int))
            return super().divisions_for(size) if size >= first << 20 else 0
        return super().divisions_for(size)


class _RestOfTheListIsIgnored(Rules):
    def divisions_for(self, size: int) -> int:
        if isinstance(self.divisions, tuple):
            last = max(limit for limit, _ in self.divisions if isinstance(limit, int))
            return super().divisions_for(size) if size < last << 21 else 0
        return super().divisions_for(size)


class _FixedSegments(Rules):
    def segment_size(self, rounded: int) -> int:
        found = super().segment_size(rounded)
        return LARGE_SEGMENT if found == self.large_segment and not self.is_small(rounded) else found


class _NoGarbage(Model):
    def collect_garbage(self) -> None:
        return


class _YoungGarbage(Model):
    def age(self, block: Block) -> int:
        return -super().age(block)


class _AllGarbage(Model):
    def age(self, block: Block) -> int:
        return 0


class _GarbageWithoutLimit(Model):
    def collect_garbage(self) -> None:
        if self.allowed is None and self.rules.threshold:
            self.allowed = self.device.memory
            super().collect_garbage()
            self.allowed = None
            return
        super().collect_garbage()


MUTANTS = rows(
    "allocator",
    ("recorded-streams-are-forgotten", "allocator/recorded-stream-delays-reuse", OPERATORS, of_model(_RecordsNothing)),
    ("own-stream-is-recorded-too", "allocator/own-stream-needs-no-recording", OPERATORS, of_model(_RecordsOwn)),
    ("last-recorded-stream-counts-alone", "allocator/every-recorded-stream-counts", OPERATORS, of_model(_RecordsLast)),
    ("own-blocks-wait-for-their-stream", "allocator/own-stream-reuses-at-once", OPERATORS, of_model(_WaitsForItsOwn)),
    ("one-finished-stream-suffices", "allocator/every-recorded-stream-counts", OPERATORS, of_model(_OneSuffices)),
    ("streams-wait-in-one-queue", "allocator/streams-do-not-hold-each-other-up", OPERATORS, of_model(_OneQueue)),
    ("finished-work-is-seen-when-emptied", "allocator/finished-work-releases-at-the-next-request", OPERATORS,
     of_model(_ProcessesWhenEmptied)),
    ("work-after-the-free-counts", "allocator/recorded-stream-delays-reuse", OPERATORS, of_model(_LaterWorkCounts)),
    ("recorded-streams-outlive-the-free", "allocator/recorded-stream-delays-reuse", OPERATORS, of_model(_KeepsUses)),
    ("emptying-does-not-wait", "allocator/empty-cache-waits-for-other-streams", OPERATORS,
     of_model(_EmptiesWithoutWaiting)),
    ("waiting-blocks-are-inactive", "allocator/waiting-blocks-are-active-not-allocated", OPERATORS,
     of_model(_WaitingIsInactive)),
    ("first-refusal-is-final", "allocator/cache-is-released-before-giving-up", OPERATORS, of_model(_GivesUp)),
    ("retries-are-not-counted", "allocator/cache-is-released-before-giving-up", OPERATORS, of_model(_RetriesUncounted)),
    ("refusals-are-not-counted", "allocator/out-of-memory-is-an-error-of-its-own", OPERATORS,
     of_model(_RefusalsUncounted)),
    ("refusals-lose-free-blocks", "allocator/refused-request-leaves-all-valid", OPERATORS, of_model(_LosesOnRefusal)),
    ("waiting-blocks-are-not-searched", "allocator/waiting-blocks-are-searched-before-giving-up", OPERATORS,
     of_model(_DoesNotSearchAgain)),
    ("limit-is-seen-too-late", "allocator/memory-fraction-is-a-limit", OPERATORS, of_model(_AsksTheDeviceFirst)),
    ("fraction-is-ignored", "allocator/memory-fraction-is-a-limit", OPERATORS, of_model(_NoLimit)),
    ("fraction-limits-allocated-bytes", "allocator/memory-fraction-is-a-limit", OPERATORS, of_model(_LimitsAllocated)),
    ("fraction-is-exclusive", "allocator/memory-fraction-is-a-limit", OPERATORS, of_model(_LimitIsExclusive)),
    ("oversize-blocks-go-last", "allocator/oversize-blocks-are-released-first", OPERATORS, of_model(_OversizeLast)),
    ("oversize-blocks-go-all", "allocator/oversize-blocks-are-released-first", OPERATORS, of_model(_OversizeAll)),
    ("largest-split-is-ignored", "allocator/max-split-size-keeps-large-blocks-whole", OPERATORS,
     of_rules(_LimitIgnored)),
    ("unsplit-blocks-serve-small-requests", "allocator/max-split-size-keeps-large-blocks-whole", OPERATORS,
     of_rules(_LargeServeSmall)),
    ("largest-split-is-inclusive", "allocator/max-split-size-keeps-large-blocks-whole", OPERATORS,
     of_rules(_LimitInclusive)),
    ("unsplit-blocks-round-without-limit", "allocator/rounding-of-unsplit-blocks-is-limited", OPERATORS,
     of_rules(_RoundsWithoutLimit)),
    ("rounding-limit-is-inclusive", "allocator/rounding-of-unsplit-blocks-is-limited", OPERATORS,
     of_rules(_RoundingInclusive)),
    ("divisions-are-ignored", "allocator/sizes-round-to-divisions-of-powers-of-two", OPERATORS, of_rules(_NoDivisions)),
    ("divisions-are-doubled", "allocator/sizes-round-to-divisions-of-powers-of-two", OPERATORS,
     of_rules(_TwiceTheDivisions)),
    ("first-division-is-not-inherited", "allocator/divisions-may-depend-on-the-size", OPERATORS,
     of_rules(_FirstEntryIsForItself)),
    ("last-division-is-ignored", "allocator/divisions-may-depend-on-the-size", OPERATORS,
     of_rules(_RestOfTheListIsIgnored)),
    ("large-segments-have-a-fixed-size", "allocator/large-segments-may-have-another-size", OPERATORS,
     of_rules(_FixedSegments)),
    ("garbage-is-not-collected", "allocator/garbage-is-collected-above-a-threshold", OPERATORS, of_model(_NoGarbage)),
    ("youngest-garbage-goes", "allocator/garbage-is-collected-above-a-threshold", OPERATORS, of_model(_YoungGarbage)),
    ("all-garbage-goes", "allocator/garbage-is-collected-above-a-threshold", OPERATORS, of_model(_AllGarbage)),
    ("garbage-goes-without-a-fraction", "allocator/garbage-is-collected-above-a-threshold", OPERATORS,
     of_model(_GarbageWithoutLimit)),
)
