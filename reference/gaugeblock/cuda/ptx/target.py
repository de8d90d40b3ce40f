"""What a grid kernel is written for: a generation of NVIDIA GPUs, or the host, which walks through the grid by itself.

Both have lanes of width 1 and none of the host's vector instructions. Only the spelling of a few things differs: the
address space of memory, how a kernel is declared, and where it finds the numbers of its thread.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ...kernels.isa import Level

Capability = tuple[int, int]
TRIPLE = "nvptx64-nvidia-cuda"
BLOCK = 256
"""Threads of a block."""

# Compute capability -> PTX version of the first toolkit that knows it, but 7.5 where that is older.
_PTX_VERSIONS: dict[Capability, int] = {
    (7, 0): 75, (7, 5): 75, (8, 0): 75, (8, 6): 75, (8, 9): 78, (9, 0): 78, (10, 0): 86, (12, 0): 87,
}  # fmt: skip
DEFAULT_CAPABILITY: Capability = (8, 0)


class Target(NamedTuple):
    """A processor: name ("sm_80" or "host"), PTX version (0 on the host), and the level that formulas are recorded for.

    `space` follows `ptr` where memory of the device is meant.
    """

    name: str
    ptx: int
    level: Level
    space: str

    @property
    def is_device(self) -> bool:
        return self.ptx > 0


@functools.cache
def device_target(capability: Capability = DEFAULT_CAPABILITY) -> Target:
    """The newest known target that runs on GPUs of a compute capability. Raises ValueError below 7.0."""
    known = [one for one in _PTX_VERSIONS if one <= capability]
    if not known:
        oldest = ".".join(map(str, min(_PTX_VERSIONS)))
        raise ValueError(f"ptx: expected a compute capability of {oldest} or above, got {capability}")
    chosen = max(known)
    name = f"sm_{chosen[0]}{chosen[1]}"
    return Target(name, _PTX_VERSIONS[chosen], Level(name, 1, "nounwind", frozenset(), True), " addrspace(1)")
