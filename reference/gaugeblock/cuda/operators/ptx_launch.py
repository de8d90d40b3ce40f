"""Launching the CPU's recorded loops on a device: as PTX for their iteration space, loaded once per driver.

A driver with a queue of its own (the simulated one) runs them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels.pointwise import Launch, PointwiseKernel
from ..devices.drivers import Runtime, runtime
from ..ptx import prepare
from ..streams import current_handle
from .deferred import defer_loop


def put_loop(index: int, operator: str, launch: Launch, values: list[Any], nbytes: int) -> None:
    """Put a loop over addresses and numbers, outputs first, on the current stream of a device."""
    if hasattr(runtime().driver, "enqueue"):
        defer_loop(index, operator, launch, values, nbytes, None)
    else:
        launch_loop(launch, values, index)


def launch_loop(launch: Launch, values: Sequence[Any], index: int) -> None:
    """Put a loop over device memory on the current stream; `values` are addresses and numbers, outputs first."""
    assert isinstance(launch.kernel, PointwiseKernel)
    found = runtime()
    properties = found.driver.properties(index)
    prepared = prepare(
        launch.kernel, launch.shape, tuple(launch.strides), properties.compute_capability, properties.multiprocessors
    )
    plan = prepared.plan(values)
    function = _function(found, index, plan.image, plan.name)
    stream = current_handle(index)
    found.driver.launch(index, function, plan.grid, plan.block, plan.shared_bytes, stream, plan.arguments)


def _function(found: Runtime, index: int, image: bytes, name: str) -> int:
    known = found.functions.get((index, name))
    if known is None:
        module = found.driver.module_load(index, image)
        known = found.functions[index, name] = found.driver.module_function(index, module, name)
    return known
