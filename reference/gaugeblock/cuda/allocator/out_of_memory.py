"""Out of memory: the error, with the figures of that moment and what can be done about it."""

from __future__ import annotations

from typing import Any

from ...core.errors import check_int
from .allocator_config import EXBIBYTE, GIB, KIB, MIB, VARIABLE
from .block_store import BlockStore, Request


class OutOfMemoryError(RuntimeError):
    """The device has not got the memory that was asked for, cached blocks included.

    `figures` maps device, requested, rounded, segment_size, free, total, allowed (None for no limit), allocated,
    reserved, private, largest_free and stream to numbers, bytes where they are sizes.
    """

    def __init__(self, message: str, figures: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.figures = figures or {}


def format_size(size: int) -> str:
    """Bytes with two decimals of the unit that fits, such as 20.00 MiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size > unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} bytes"


def check_size(size: object) -> int:
    """`size` as an int. TypeError, RuntimeError if it is negative, OutOfMemoryError if no device has so many bytes."""
    number = check_int("malloc", "size", size)
    if number < 0:
        raise RuntimeError(f"malloc(): argument 'size' must not be negative, got {number}")
    if number >= EXBIBYTE:
        raise OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {number} bytes, more than 1 EiB: no device has so many. "
            "What to do: look for an overflow in a shape"
        )
    return number


def figures_of(store: BlockStore, request: Request, free: int, total: int) -> dict[str, Any]:
    """Return the state of the memory when a request could not be served."""
    private = sum(block.size for pool in store.pools() if pool.owner is not None for block in pool)
    return {
        "device": store.device, "requested": request.requested, "rounded": request.size,
        "segment_size": request.segment_size, "stream": request.home.stream, "free": free, "total": total,
        "allowed": store.allowed, "allocated": store.statistics.current("allocated_bytes"),
        "active": store.statistics.current("active_bytes"), "reserved": store.statistics.reserved, "private": private,
        "largest_free": max((block.size for block in request.home), default=0),
        "expandable_segments": store.config.expandable_segments,
    }  # fmt: skip


def message_of(figures: dict[str, Any]) -> str:
    """Say what was tried, what the device and the allocator hold, and what to do."""
    unused = figures["reserved"] - figures["allocated"] - figures["private"]
    allowed = "" if figures["allowed"] is None else f"{format_size(figures['allowed'])} allowed; "
    private = (
        f"with {format_size(figures['private'])} allocated in private pools (such as those of captured graphs), "
        if figures["private"]
        else ""
    )
    parts = [
        f"CUDA out of memory. Tried to allocate {format_size(figures['segment_size'])} "
        f"for a request of {format_size(figures['requested'])}.",
        f"GPU {figures['device']} has a total capacity of {format_size(figures['total'])} "
        f"of which {format_size(figures['free'])} is free.",
        f"This process holds {format_size(figures['reserved'])} through this allocator.",
        f"{allowed}Of the allocated memory {format_size(figures['allocated'] + figures['private'])} is allocated, "
        f"{private}and {format_size(max(unused, 0))} is reserved but unallocated; the largest free block for "
        f"stream {figures['stream']} has {format_size(figures['largest_free'])}.",
        _advice(figures, unused),
        "Documentation: spec/gaugeblock_spec/allocator.md",
    ]
    return " ".join(part for part in parts if part)


def _advice(figures: dict[str, Any], unused: int) -> str:
    """Say what to do first, by the figures."""
    advice = []
    waiting = figures["active"] - figures["allocated"]
    if figures["allowed"] is not None and figures["free"] >= figures["segment_size"]:
        advice.append("The memory fraction is the limit, not the device: raise it by set_memory_fraction")
    if waiting >= figures["rounded"]:
        advice.append(
            f"{format_size(waiting)} were given back but wait for other streams (record_stream): "
            "synchronise these first"
        )
    if unused >= figures["rounded"]:
        if figures["expandable_segments"]:
            advice.append(
                "What is unallocated lies in pieces, or with other streams and pools: memory_snapshot shows where"
            )
        else:
            advice.append(
                f"What is unallocated lies in pieces: try {VARIABLE}=expandable_segments:True, and "
                "`gaugeblock allocator replay` of a recorded trace tells what other settings would do"
            )
    if not advice:
        advice.append("Free tensors that are not needed, or ask for less at a time")
    return "What to do: " + "; ".join(advice) + "."
