"""Reprs against PyTorch's, for a table of tensors that exercise every branch."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")

inf, nan = float("inf"), float("nan")

VALUES: list[tuple[Any, str | None]] = [
    (1.5, None),
    (3, None),
    (True, None),
    ([], None),
    ([[]], None),
    ([1.0, 2.0], None),
    ([1.0, 2.5, -3.25], None),
    ([1e-5, 1.0], None),
    ([1e9, 1.0], None),
    ([1e5, 1.5], None),
    ([1000.0, 1.0], None),
    ([1001.0, 1.0], None),
    ([nan, inf, -inf], None),
    ([nan, 1.0, inf], None),
    ([nan, 1.5, -inf], None),
    ([0.0, -0.0], None),
    ([1e-10, 0.0], None),
    ([1, -200, 3], None),
    ([1, 2], "int32"),
    ([1, 2], "uint8"),
    ([True, False], None),
    ([1.5, 2.0], "float64"),
    ([1.5, 2.0], "float16"),
    ([1.5, 2.0], "bfloat16"),
    ([1 + 2j, 3.5 - 4j], None),
    ([1 + 2j, 3 - 4j], None),
    ([1 + 2j, -3 - 4j], "complex128"),
    ([complex(nan, 1), complex(1e-7, inf)], None),
    (1 - 2j, None),
    (list(range(1500)), None),
    ([float(n) / 7 for n in range(40)], None),
    (list(range(60)), None),
    (np.arange(24).reshape(2, 3, 4).tolist(), None),
    (np.arange(16).reshape(2, 2, 2, 2).tolist(), "float64"),
    (np.arange(10000).reshape(100, 100).tolist(), "float32"),
    (np.arange(3000).reshape(1000, 3).tolist(), None),
    (np.arange(2048).reshape(2, 2, 512).tolist(), "int16"),
    (np.zeros((3, 0, 2)).tolist(), None),
    ([123456789.0, 0.5], "float64"),
    ([[0.0001, 100.0], [5.0, 6.5]], None),
]


@pytest.mark.parametrize("case", range(len(VALUES)))
def test_repr_is_that_of_torch(case: int) -> None:
    data, name = VALUES[case]
    ours = gb.tensor(data, dtype=getattr(gb, name) if name else None)
    theirs = torch.tensor(data, dtype=getattr(torch, name) if name else None)
    assert repr(ours) == repr(theirs).replace("torch.", "gaugeblock.")


def test_repr_of_lazy_grad_and_meta_tensors() -> None:
    pairs = [
        (lib.tensor([1.0, 2.0], requires_grad=True), lib.zeros(2, 3, device="meta"), lib.tensor([1 + 2j]).conj())
        for lib in (gb, torch)
    ]
    for ours, theirs in zip(*pairs, strict=True):
        assert repr(ours) == repr(theirs).replace("torch.", "gaugeblock.")


def test_format() -> None:
    for spec, data in ((".3f", 1.5), ("", [1.5]), ("", 2.5), ("d", 3)):
        assert format(gb.tensor(data), spec) == format(torch.tensor(data), spec)
    with pytest.raises(TypeError):
        format(gb.tensor([1.5]), ".3f")
