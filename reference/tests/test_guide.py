"""The code of the guide to kernels runs, block after block, and says the truth about messages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock import kernel_tools as tools

GUIDE = Path(__file__).parents[1] / "kernels.md"


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S):
        exec(compile(block, str(GUIDE), "exec"), scope)
    return scope


def test_the_operator_on_every_layout(guide: dict[str, Any]) -> None:
    x = np.random.default_rng(0).random((40, 50)).astype(np.float32) * 3 - 1
    t = np.clip(x, 0, 1)
    for tensor, values in ((gb.from_numpy(x), t), (gb.from_numpy(x).t(), t.T), (gb.from_numpy(x)[:, ::2], t[:, ::2])):
        found = gb.ops.guide.smooth_step(tensor, gb.zeros(1), gb.ones(1)).numpy()
        assert np.allclose(found, values * values * (3 - 2 * values), rtol=1e-6, atol=1e-7)


def test_the_message_that_the_guide_quotes(guide: dict[str, Any]) -> None:
    ints = gb.ones(2, dtype=gb.int64)
    with pytest.raises(RuntimeError) as caught:
        gb.ops.guide.smooth_step(ints, ints, ints)
    assert str(caught.value) in " ".join(GUIDE.read_text().split())
    with pytest.raises(RuntimeError, match="argument #1 'self'"):
        gb.ops.guide.row_ranges(gb.ones(3))


def test_map_into_refuses_what_it_cannot_do() -> None:
    with pytest.raises(RuntimeError, match="broadcast"):
        tools.map_into(gb.empty(2), lambda a, b: a + b, gb.ones(3, 2), gb.ones(2))
    with pytest.raises(RuntimeError, match="at least one input"):
        tools.map_into(gb.empty(2), lambda: 0)
    with pytest.raises(RuntimeError, match="on meta"):
        tools.map_into(gb.empty(2, device="meta"), lambda a: a, gb.ones(2))
    out = gb.empty(2, 3, dtype=gb.float64)
    version = out._version
    assert tools.map_into(out, lambda a, b: a * b, gb.ones(3, dtype=gb.int32), gb.full((2, 1), 1.5)).sum().item() == 9
    assert out._version == version + 1
