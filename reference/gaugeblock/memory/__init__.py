"""Memory: allocators, storages, blobs.

`set_allocator` puts another allocator behind every host storage, `set_poison` fills what is freshly allocated.
"""

from .host_allocator import Allocator, HostAllocator, HostStatistics, host_allocator
from .storage import get_allocator, get_poison, set_allocator, set_poison

__all__ = [
    "Allocator", "HostAllocator", "HostStatistics", "get_allocator", "get_poison", "host_allocator", "set_allocator",
    "set_poison",
]  # fmt: skip
