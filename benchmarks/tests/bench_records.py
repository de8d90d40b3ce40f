"""Records of simulated runs: noise of rounds, passes and runs, as real ones have, and no clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CASES, CONTROLS, PASSES, ROUNDS = 120, 12, 4, 20
WITHIN, BETWEEN_PASSES, BETWEEN_RUNS = 0.03, 0.01, 0.015


def times(random: np.random.Generator, factor: float, heavy: bool) -> list[list[float]]:
    """Samples of one case in one run, whose true time is 1 us times `factor`."""

    def noise(size: Any = None) -> NDArray[np.float64]:
        drawn = random.standard_t(4, size) / 1.4 if heavy else random.standard_normal(size)
        return np.asarray(drawn)

    run = float(noise()) * BETWEEN_RUNS
    return [
        [1e-6 * factor * float(np.exp(run + between * BETWEEN_PASSES + sample * WITHIN)) for sample in noise(ROUNDS)]
        for between in noise(PASSES)
    ]


def record(
    seed: int, slower: dict[int, float] | None = None, drift: float = 1.0, heavy: bool = False
) -> dict[str, Any]:
    """A run in which the machine takes `drift` times as long, and some cases as much longer as `slower` says."""
    random = np.random.default_rng(seed)
    factors = slower or {}
    return {
        "schema": "gaugeblock-bench/1",
        "started": "2026-01-01T00:00:00+00:00",
        "options": {"threads": 1, "clock": "cpu"},
        "machine": {"cpu": "simulated"},
        "controls": [
            {"name": f"control {number}", "kind": "calls", "moved_bytes": 0, "blocks": times(random, drift, heavy),
             "yardstick": [[1e-6 * drift] * ROUNDS] * PASSES}
            for number in range(CONTROLS)
        ],
        "cases": [
            {
                "id": f"overhead/{number}",
                "moved_bytes": 64,
                "yardstick": [[1e-6 * drift] * ROUNDS] * PASSES,
                "results": [
                    {
                        "backend": "one",
                        "status": "measured",
                        "reason": "",
                        "blocks": times(random, drift * factors.get(number, 1.0), heavy),
                    }
                ],
            }
            for number in range(CASES)
        ],
    }
