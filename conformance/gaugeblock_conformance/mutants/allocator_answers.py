"""A right allocator that refuses, is configured, waits or remembers wrongly: single calls of it, changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..backend_allocator import Machine, Pointer
from .allocator_figures import nothing
from .mutant import Intercepted, Patch, rows

_MANY = 15_000


def _renamed(kind: type[Exception], text: str = "out of memory") -> Patch:
    """Refused requests as exceptions of another class."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":
                raise
            return c.refuse(kind, text)

    return patch


class OutOfMemoryError(RuntimeError):
    """Of the right class, and says nothing."""


def _null_when_refused(c: Intercepted) -> Any:
    try:
        return c.right()
    except RuntimeError:
        return Pointer(0)


def _key_error(c: Intercepted) -> Any:
    try:
        return c.right()
    except RuntimeError as error:
        c.refuse(KeyError, str(error))


def _moved(c: Intercepted) -> Any:
    """Addresses lie 8 bytes behind the blocks."""
    if c.operator == "malloc":
        pointer = c.right()
        return Pointer(int(pointer) + 8) if pointer else pointer
    allocator, pointer, *rest = c.args
    return c.do(c.operator, allocator, Pointer(int(pointer) - 8) if pointer else pointer, *rest)


def _absurd(c: Intercepted) -> Any:
    if c.args[1] >= 2**60:
        c.refuse(ValueError, "more than there can be")
    return c.right()


def _raises_when_empty(c: Intercepted) -> Any:
    if not c.do("bytes_held", *c.args):
        c.refuse(RuntimeError, "nothing is cached")
    return c.right()


def _emptying_resets_peaks(c: Intercepted) -> Any:
    """When there is nothing to give back."""
    before = c.do("bytes_held", *c.args)
    c.right()
    if before == c.do("bytes_held", *c.args):
        c.do("reset_peak_memory_stats", *c.args)


def _any_fraction(c: Intercepted) -> Any:
    try:
        return c.right()
    except (TypeError, ValueError):
        return None


def _fraction_type_error(c: Intercepted) -> Any:
    try:
        return c.right()
    except ValueError as error:
        c.refuse(TypeError, str(error))


def _any_configuration(c: Intercepted) -> Any:
    try:
        return c.right()
    except (RuntimeError, ValueError):
        return c.do("allocator", replace(c.args[0], config=""))


def _strict_configuration(c: Intercepted) -> Any:
    config = c.args[0].config
    if config != config.strip() or config.endswith(","):
        c.refuse(ValueError, "blanks and commas")
    return c.right()


def _without(key: str) -> Patch:
    """Configurations with ``key`` are read as though it were not there."""

    def patch(c: Intercepted) -> Any:
        machine: Machine = c.args[0]
        return c.do("allocator", replace(machine, config="") if key in machine.config else machine)

    return patch


def _waits_on_hits(c: Intercepted) -> Any:
    return (*c.right(), ("wait",))


def _slow_search(c: Intercepted) -> Any:
    """Requests take long while there are many blocks."""
    blocks: dict[int, int] = c.memory.setdefault("blocks", {})
    if c.operator == "allocator":
        made = c.right()
        blocks[id(made)] = 0
        return made
    number = id(c.args[0])
    blocks[number] = blocks.get(number, 0) + (1 if c.operator == "malloc" else -1)
    if c.operator == "malloc" and blocks[number] > _MANY:
        time.sleep(2e-4)
    return c.right()


def _races(c: Intercepted) -> Any:
    """Of two threads that ask at once for the same size both may get one block."""
    lock: threading.Lock = c.memory.setdefault("lock", threading.Lock())
    inside: dict[int, Any] = c.memory.setdefault("inside", {})
    size = c.args[1]
    with lock:
        shared = inside.get(size)
        if shared is None and threading.current_thread() is not threading.main_thread():
            inside[size] = shared = {"pointer": None, "ready": threading.Event()}
            first = True
        else:
            first = False
    if shared is None:
        return c.right()
    if first:
        try:
            shared["pointer"] = c.right()
            time.sleep(1e-4)
        finally:
            inside.pop(size, None)
            shared["ready"].set()
        return shared["pointer"]
    shared["ready"].wait(1.0)
    return shared["pointer"] if shared["pointer"] is not None else c.right()


def _one_for_all_devices(c: Intercepted) -> Any:
    return c.args[0]


def _released_early(c: Intercepted) -> Any:
    c.right()
    return c.do("release_pool", *c.args)


def _entries(change: Callable[[list[dict[str, Any]]], Any]) -> Patch:
    return lambda c: change([dict(entry) for entry in c.right()])


def _always_records(c: Intercepted) -> Any:
    return None if not c.args[1] else c.right()


def _stale_zeros(c: Intercepted) -> Any:
    made = c.right()
    c.memory["zeros"] = c.memory.get("zeros", 0) + 1
    if c.is_tensor(made) and c.memory["zeros"] % 3 == 0 and c.array(made).size > 3:
        array = c.array(made)
        array.reshape(-1)[-1] = 1
        return c.put(made, array)
    return made


DEVICE = "reference:cuda"


MUTANTS = (
    *rows(
        "allocator",
        ("out-of-memory-is-a-memory-error", "allocator/out-of-memory-is-an-error-of-its-own", ("malloc",),
         _renamed(MemoryError)),
        ("out-of-memory-is-a-plain-runtime-error", "allocator/out-of-memory-is-an-error-of-its-own", ("malloc",),
         _renamed(RuntimeError)),
        ("out-of-memory-says-nothing", "allocator/out-of-memory-says-how-much", ("malloc",),
         _renamed(OutOfMemoryError)),
        ("refused-requests-yield-null", "allocator/out-of-memory-is-an-error-of-its-own", ("malloc",),
         _null_when_refused),
        ("addresses-are-moved", "allocator/live-memory-does-not-overlap", ("malloc", "free", "record_stream"), _moved),
        ("absurd-requests-are-value-errors", "allocator/absurd-request-is-out-of-memory", ("malloc",), _absurd),
        ("emptying-nothing-raises", "allocator/empty-cache-is-idempotent", ("empty_cache",), _raises_when_empty),
        ("emptying-resets-peaks", "allocator/empty-cache-frees-nothing-for-its-own-users", ("empty_cache",),
         _emptying_resets_peaks),
        ("double-free-is-a-key-error", "allocator/foreign-pointers-are-refused", ("free",), _key_error),
        ("any-fraction-is-taken", "allocator/memory-fraction-is-checked", ("set_memory_fraction",), _any_fraction),
        ("bad-fractions-are-type-errors", "allocator/memory-fraction-is-checked", ("set_memory_fraction",),
         _fraction_type_error),
        ("any-configuration-is-taken", "allocator/bad-configuration-is-refused", ("allocator",), _any_configuration),
        ("configurations-are-read-strictly", "allocator/configuration-is-a-list-of-pairs", ("allocator",),
         _strict_configuration),
        ("segments-never-grow", "allocator/expandable-segments-grow", ("allocator",),
         _without("expandable_segments:True")),
        ("hits-wait-for-the-device", "allocator/cached-path-does-not-wait", ("device_log",), _waits_on_hits),
        ("search-is-linear", "allocator/search-is-sublinear", ("malloc", "free", "allocator"), _slow_search),
        ("threads-share-blocks", "allocator/allocator-is-thread-safe", ("malloc",), _races),
        ("devices-share-an-allocator", "allocator/devices-have-their-own-allocators", ("allocator_beside",),
         _one_for_all_devices),
        ("private-pools-are-not-entered", "allocator/private-pool-keeps-to-itself", ("enter_pool", "leave_pool"),
         nothing),
        ("private-pools-go-when-left", "allocator/private-pool-outlives-the-cache", ("leave_pool",), _released_early),
        ("history-lacks-completed-frees", "allocator/history-tells-what-happened", ("memory_history",),
         _entries(lambda found: [e for e in found if e["action"] != "free_completed"])),
        ("history-comes-in-reverse", "allocator/history-tells-what-happened", ("memory_history",),
         _entries(lambda found: found[::-1])),
        ("history-rounds-sizes", "allocator/history-tells-what-happened", ("memory_history",),
         _entries(lambda found: [{**e, "size": -(-e["size"] // 512) * 512} for e in found])),
        ("history-cannot-be-switched-off", "allocator/history-can-be-switched-off", ("record_history",),
         _always_records),
        ("zeros-may-be-stale", "allocator/freed-memory-is-not-trusted iteration/results-ignore-old-memory[]",
         ("zeros",),
         _stale_zeros),
    ),
    *rows(
        "allocator",
        ("indexed-parts-leave-their-block", "allocator/view-keeps-the-whole-block", ("__getitem__",),
         lambda c: c.do("clone", c.right())),
        ("copies-keep-the-block-of-the-whole", "allocator/view-keeps-the-whole-block", ("clone",),
         lambda c: c.alias(c.args[0])),
        base=DEVICE,
    ),
)
