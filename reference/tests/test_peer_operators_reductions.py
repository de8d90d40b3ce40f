"""Reductions and scans of tensors compared with PyTorch: dtypes, dims, strides, NaN, error classes."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-4}
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, arguments) for name in ("sum", "mean", "nansum", "amax", "amin", "any", "all", "var", "std", "norm")
      for arguments in ((), (0,), (-1, True), ((0, 2),)) if name != "norm" or not arguments),
    *((name, arguments) for name in ("max", "min", "argmax", "argmin", "median", "prod", "count_nonzero")
      for arguments in ((), (0,), (-1,))),
    *((name, (dim,)) for name in ("cumsum", "cumprod", "cummax", "cummin", "softmax", "log_softmax", "logsumexp")
      for dim in (0, -1)),
]  # fmt: skip


def sample(dtype: str, *, nan: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    shape = (3, 4, 5)
    if dtype == "bool":
        array = torch.from_numpy(rng.integers(0, 2, shape).astype(bool))
    elif "int" in dtype:
        array = torch.from_numpy(rng.integers(0, 5, shape)).to(getattr(torch, dtype))
    else:
        array = torch.from_numpy(np.round(rng.standard_normal(shape), 1)).to(getattr(torch, dtype))
        if nan:
            array[1, 2, 3] = float("nan")
    return array, gb.tensor(array.tolist(), dtype=getattr(gb, dtype))


def plain(result: Any) -> list[tuple[str, Any]]:
    parts = result if isinstance(result, tuple) else (result,)
    wide = [p.float() if str(p.dtype).endswith("bfloat16") else p for p in parts]
    return [(str(p.dtype).split(".")[1], np.asarray(w.numpy())) for p, w in zip(parts, wide, strict=True)]


def outcome(tensor: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(getattr(tensor, name)(*arguments))
        except (RuntimeError, IndexError) as error:
            return type(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=str)
def test_reductions_agree(name: str, arguments: tuple[Any, ...], dtype: str) -> None:
    for nan in (False, True):
        theirs, ours = sample(dtype, nan=nan and dtype[0] in "fb" and dtype != "bool")
        for a, b in ((theirs, ours), (theirs.permute(2, 0, 1), ours.permute(2, 0, 1))):
            expected, got = outcome(a, name, arguments), outcome(b, name, arguments)
            if isinstance(expected, type):
                assert got is expected
                continue
            assert [(kind, array.shape) for kind, array in got] == [(kind, array.shape) for kind, array in expected]
            for (kind, array), (_, reference) in zip(got, expected, strict=True):
                bound = TOLERANCE.get(kind, 1e-9)
                np.testing.assert_allclose(array, reference, rtol=bound, atol=bound)
