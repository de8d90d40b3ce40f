"""PTX run on the host, instruction by instruction: slow, and meant for tests where there is no GPU.

What it runs is the text that a driver would be given, so nothing that LLVM's back end does is left out. It knows the
instructions that the kernels here consist of, and names any other.
"""

from __future__ import annotations

from .machine import Machine

__all__ = ["Machine"]
