"""CuPy as a backend, over a stand-in: NumPy's functions under the names of array-api-compat's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import Unsupported, numpy_dtype
from gaugeblock_conformance.backend_allocator import Machine
from gaugeblock_conformance.backends.array_api import CAPABILITIES
from gaugeblock_conformance.backends.array_api_table import STANDARD
from gaugeblock_conformance.backends.cupy import COMPATIBLE, POOL, CupyBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.dialect import at_path
from gaugeblock_conformance.runner.execute import run_requirement


@pytest.fixture
def cupy(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if hasattr(sys.modules.get("cupy"), "_core"):
        pytest.skip("this process has imported CuPy itself, which other libraries then use")
    module = __import__("fake_cupy")
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, COMPATIBLE.partition(".")[0], module)
    monkeypatch.setitem(sys.modules, COMPATIBLE, module.standard())
    return module


@pytest.mark.parametrize(
    "requirement",
    ["iteration/broadcasting-aligns-from-the-right", "dtypes/round-is-half-to-even",
     "iteration/ties-give-the-first-index", "kernels/matmul-follows-the-ranks", "dtypes/integer-arithmetic-wraps"],
)  # fmt: skip
def test_arrays_through_the_standard(cupy: Any, requirement: str) -> None:
    row = run_requirement(CupyBackend(), requirement, QUICK, 0)
    assert row["status"] in ("passed", "partial"), row["failure"]
    assert cupy.asked


def test_arrays_and_pool_on_one_device(cupy: Any) -> None:
    backend = CupyBackend("cuda:1")
    assert cupy.used[-1] == 1 and (backend.device, backend.version) == ("cuda:1", "0.0")
    assert backend.capabilities == CAPABILITIES | POOL
    x = backend.from_numpy(np.arange(6, dtype=np.int16).reshape(2, 3).T)
    assert backend.dtype(x) == "int16" and backend.strides(x) == (1, 3)
    total = backend.call("sum", backend.call("add.Tensor", x, x))
    assert backend.to_numpy(total).item() == 30 and cupy.asked[-1] == () and backend.dtype(total) == "int64"
    waited = len(cupy.waits)
    backend.finish(total)
    assert len(cupy.waits) == waited + 1
    pool = backend.call("allocator", Machine())
    assert int(backend.call("malloc", pool, 100)) and backend.call("bytes_in_use", pool) == 512
    assert backend.dialect.imports("")[0] == "import array_api_compat.cupy as xp"
    assert [backend.dialect.whole("y"), backend.dialect.cell("y", 3), backend.dialect.element("y", (0, 1))] == [
        "y.get().tolist()", "y.get().reshape(-1)[3]", "y.get()[0, 1]",
    ]  # fmt: skip
    with pytest.raises(Unsupported, match="bfloat16"):
        backend.from_numpy(np.zeros(1, numpy_dtype("bfloat16")))
    with pytest.raises(Unsupported, match="gradients"):
        backend.from_numpy(np.ones(2), requires_grad=True)


def test_without_the_standard_there_is_the_pool(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, COMPATIBLE, None)
    backend = CupyBackend()
    assert backend.capabilities == POOL
    with pytest.raises(Unsupported, match="array-api-compat"):
        backend.call("sum", 1)
    row = run_requirement(backend, "dtypes/round-is-half-to-even", QUICK, 0)
    assert row["status"] == "skipped"


def test_a_device_that_is_not_there(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    monkeypatch.setattr(cupy.Device, "use", refuse)
    with pytest.raises(RuntimeError, match="cupy cannot use device 'cuda:3': cudaErrorNoDevice"):
        CupyBackend("cuda:3")


def test_cupy_has_the_functions_of_the_table() -> None:
    namespace = pytest.importorskip(COMPATIBLE)
    missing = [path for row in STANDARD.values() for path in row.functions if at_path(namespace, path) is None]
    assert missing == []
