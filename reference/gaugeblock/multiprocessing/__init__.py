"""multiprocessing, with tensors sent by handle: what one process writes the others see.

It has all names of the standard module. Queues, pipes, pools and the arguments of processes share the storages of the
tensors in them and send handles. Source: torch.multiprocessing.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing

from . import reductions as _reductions  # noqa: F401
from .context import DEFAULT as _DEFAULT
from .strategy import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy

globals().update({name: getattr(_DEFAULT, name) for name in _multiprocessing.__all__})
__all__ = [
    *_multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
]  # fmt: skip
