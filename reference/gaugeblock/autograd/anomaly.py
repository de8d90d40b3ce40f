"""Anomaly mode: a NaN that a node returns is an error, and a failing node names the forward line that made it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..core.errors import type_error
from ..core.warn import warn
from ..dispatch.state import IN_PYTHON

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor
    from .node import Node

TRACE = "traceback_"
PARENT = "parent_"
"""What a node's metadata keeps while the mode is on."""


class _Anomaly:
    """Whether the mode is on, and whether NaN are looked for."""

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True
        self.running: list[Node] = []

    def set(self, enabled: bool, check_nan: bool) -> None:
        """Switch the mode."""
        if enabled and not self.enabled:
            IN_PYTHON.append(None)
        elif self.enabled and not enabled:
            IN_PYTHON.pop()
        self.enabled, self.check_nan = enabled, check_nan


ANOMALY = _Anomaly()


def note_origin(node: Node) -> None:
    """Keep in the node where the call that it records was made, and the node that is running now."""
    node.metadata[TRACE] = traceback.format_stack()[:-3]
    if ANOMALY.running:
        node.metadata[PARENT] = ANOMALY.running[-1]


@contextmanager
def explain_failure(node: Node) -> Iterator[None]:
    """While a node runs in the mode: when it fails, warn of where it was made."""
    ANOMALY.running.append(node)
    try:
        yield
    except Exception:
        tell_origin(node)
        raise
    finally:
        ANOMALY.running.pop()


def tell_origin(node: Node) -> None:
    """Warn of where the forward call of the node was made, and of the nodes that were running then."""
    trace = node.metadata.get(TRACE)
    if trace is None:
        warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information."
        )
        return
    text = "".join(trace)
    warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{text}")
    parent = node.metadata.get(PARENT)
    while parent is not None:
        text = "".join(parent.metadata.get(TRACE, ()))
        warn(
            f"Previous calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{text}"
        )
        parent = parent.metadata.get(PARENT)


def check_results(node: Node, results: Sequence[Tensor | None]) -> None:
    """RuntimeError for the first gradient with a NaN."""
    if not ANOMALY.check_nan:
        return
    for place, result in enumerate(results):
        if result is not None and bool((result != result).any()):  # type: ignore[attr-defined]
            tell_origin(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {place}th output.")


class set_detect_anomaly:
    """Sets the mode at once; as a context manager it puts the old one back at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if not isinstance(mode, bool):
            type_error("set_detect_anomaly", "mode", mode, "bool")
        self._before = ANOMALY.enabled, ANOMALY.check_nan
        ANOMALY.set(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        ANOMALY.set(*self._before)


class detect_anomaly(set_detect_anomaly):
    """``with detect_anomaly():`` raises at the first node that returns NaN, and tells where its forward call was."""

    def __init__(self, check_nan: bool = True) -> None:
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )
        self._wanted = check_nan

    def __enter__(self) -> None:
        super().__init__(True, self._wanted)
