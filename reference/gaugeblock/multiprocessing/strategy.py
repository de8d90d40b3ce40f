"""Sharing strategies: how a process keeps what leads to a segment that it has mapped.

With file_descriptor each process keeps a descriptor per shared storage. With file_system it keeps none: a manager
process knows the segment by a name. The semantics are the same.
"""

from __future__ import annotations

import sys

_STRATEGIES = frozenset({"file_descriptor", "file_system"})


class _Current:
    strategy = "file_system" if sys.platform == "darwin" else "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """Return the names of the strategies that there are. Source: torch.multiprocessing.get_all_sharing_strategies."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the strategy for storages shared from now on. Source: torch.multiprocessing.get_sharing_strategy."""
    return _Current.strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Use a strategy for storages shared from now on; those that are shared stay as they are. Raises AssertionError for
    an unknown one. Source: torch.multiprocessing.set_sharing_strategy."""
    if new_strategy not in _STRATEGIES:
        known = ", ".join(sorted(_STRATEGIES))
        raise AssertionError(f"set_sharing_strategy(): invalid sharing strategy {new_strategy!r}, expected {known}")
    _Current.strategy = new_strategy
