"""Calls that share memory between processes, for the capability ``shm``. It also needs ``share_memory_``, ``is_shared``
and ``sent``."""

from __future__ import annotations

CALLS: dict[str, str] = {
    "in_child": "(tensor) -> what another process that receives it finds: bytes of the storage, offset, sizes, "
    "strides, values as a list",
    "in_child_": "(tensor, value, other=None) fills the tensor in another process, and gives the values of the other, "
    "or of itself, there",
    "in_children_": "(tensor, actions) runs an action in each of as many processes at once: ('write', begin, step) "
    "writes to every step-th element its index from 1, ('add', times) adds 1 to the tensor again and again",
    "from_child": "(sizes, value) -> a float32 tensor that another process filled, sent and dropped, and that has "
    "ended since",
    "sharing_strategies": "() -> the names of the strategies, sorted",
    "sharing_strategy": "() -> the name of the one in use",
    "use_sharing_strategy": "(name)",
    "sharing_handle": "(tensor) -> (address of the manager, name of the object, size in bytes); it shares the tensor",
    "open_handle": "(address, name, size) -> a uint8 tensor over the whole storage",
    "left_by_killed": "(strategy) -> a list in words: objects and processes that are left by processes that shared a "
    "tensor and were killed",
}
"""Name -> arguments and answer."""
