"""A CUDA driver in host memory: devices of any size, streams in virtual time, faults on demand.

    driver = SimulatedDriver(devices=2, total_memory=1 << 30, faults=Faults(out_of_memory_at=3))

It follows ``gaugeblock.cuda.driver.protocol.Driver``.
"""

from __future__ import annotations

from .faults import Faults
from .simulated_driver import SimulatedDriver

__all__ = ["Faults", "SimulatedDriver"]
