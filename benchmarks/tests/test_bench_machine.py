"""The machine's description, its roof, shares of it, and what backends take at their peak."""

from __future__ import annotations

import math
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from gaugeblock_benchmarks.bench import peak
from gaugeblock_benchmarks.bench.device import device_roof
from gaugeblock_benchmarks.bench.expected import difference, expected
from gaugeblock_benchmarks.bench.seat import LocalSeat
from gaugeblock_benchmarks.bench.task import OperatorTask
from gaugeblock_benchmarks.bench.work_share import share
from gaugeblock_benchmarks.cases import OPERATORS, Case, shape_of
from gaugeblock_benchmarks.machine import description
from gaugeblock_benchmarks.machine.controls import Yardstick, controls, roof
from gaugeblock_benchmarks.machine.roof import bandwidth_at, flops_at
from gaugeblock_benchmarks.work import bytes_moved, operations, result_bytes
from gaugeblock_conformance.discovery import load, resolve

HERE = Path(__file__).parent
ROWS = {row.name: row for row in OPERATORS}


def task(name: str, size: int, layout: str = "contiguous") -> OperatorTask:
    return OperatorTask("memory", Case(ROWS[name], layout, size))


def test_description() -> None:
    found = description.describe()
    assert found["cpu"] and found["cores"] >= found["cores_allowed"] >= 1
    assert all(cache["bytes"] > 0 and cache["shared_by"] >= 1 for cache in found["caches"])


def test_a_machine_without_files_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "_read", lambda path: None)
    monkeypatch.setattr(description, "_CPU", Path("/nowhere"))
    found = description.describe()
    assert (found["caches"], found["governor"], found["memory_bytes"]) == ([], None, None)
    assert found["cpu"]


@pytest.mark.parametrize("threads", [1, 2])
def test_controls_run(threads: int) -> None:
    yardstick = Yardstick(process_time)
    for control in controls(threads, 1 << 15):
        own, beside = control.pass_over(process_time, yardstick)
        assert len(own) == len(beside) and all(value > 0 for value in (*own, *beside))


def test_roofs() -> None:
    held = controls(1, 1 << 22)
    found = roof([(control, 1e-3) for control in held])
    assert found["copy"][0] == {"moved_bytes": 1 << 16, "seconds": 1e-3, "bytes_per_second": (1 << 16) * 1e3}
    assert {row["dtype"] for row in found["product"]} == {"float32", "float64"}
    copied = [{"moved_bytes": 1 << 16, "bytes_per_second": 4e9}, {"moved_bytes": 1 << 20, "bytes_per_second": 1e9}]
    assert bandwidth_at(copied, 1 << 18) == pytest.approx(2e9)
    assert bandwidth_at(copied, 1 << 30) == pytest.approx(1e9)
    assert bandwidth_at(copied, 100) is None
    assert bandwidth_at([], 1 << 20) is None
    assert flops_at(found["product"], "bfloat16") is None


def test_shares() -> None:
    measured: dict[str, Any] = {
        "copy": [{"moved_bytes": 1 << 20, "bytes_per_second": 1e9}],
        "product": [{"dtype": "float32", "operations_per_second": 1e10}],
        "device": [{"backend": "gpu", "copy": [{"moved_bytes": 1 << 20, "bytes_per_second": 1e11}]}],
    }
    host, gpu, other = ({"label": label, "device": device} for label, device in
                        (("host", "cpu"), ("gpu", "cuda:0"), ("other", "cuda:1")))  # fmt: skip
    add, product = ({"moved_bytes": 10**8, "operations": count, "dtype": "float32"} for count in (0, 10**9))
    assert share(add, 0.2, host, measured) == {"roof": "copy", "share": pytest.approx(0.5)}
    assert share(add, 0.01, gpu, measured) == {"roof": "copy", "share": pytest.approx(0.1)}
    assert share(add, 0.01, other, measured) is None
    assert share(product, 0.2, host, measured) == {"roof": "product", "share": pytest.approx(0.5)}
    assert share(product, 0.2, gpu, measured) is None


def test_unavoidable_work() -> None:
    assert bytes_moved(Case(ROWS["add"], "contiguous", 1000)) == 12_000
    assert bytes_moved(Case(ROWS["add"], "row broadcast", 1000)) == 8000 + 4 * 40
    assert bytes_moved(Case(ROWS["add"], "bfloat16", 1000)) == 6000
    assert bytes_moved(Case(ROWS["where"], "contiguous", 1000)) == 13_000
    assert bytes_moved(Case(ROWS["gather"], "contiguous", 1000)) == 16_000
    assert bytes_moved(Case(ROWS["sum"], "contiguous", 1000)) == 4004
    assert bytes_moved(Case(ROWS["transpose"], "contiguous", 1000)) == 0
    assert result_bytes(Case(ROWS["cat"], "contiguous", 1000)) == 8000
    assert operations(Case(ROWS["matmul"], "contiguous", 10_000)) == 2 * 100**3
    assert operations(Case(ROWS["add"], "contiguous", 10_000)) == 0


@pytest.mark.parametrize("size", [1, 2, 7, 10, 100, 12_345, 10**6, 10**8])
def test_every_size_has_a_matrix(size: int) -> None:
    rows, columns = shape_of(size)
    assert rows * columns == size and rows <= columns
    assert math.prod(Case(ROWS["conv2d"], "contiguous", 10_000).image) == 10_000


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_the_engine_gives_what_is_expected(row: Any) -> None:
    seat = LocalSeat("reference", load(resolve("reference")), 1, "cpu")
    for layout in row.layouts:
        one = OperatorTask("overhead", Case(row, layout, max(row.smallest, 60)))
        outcome = seat.prepare(one)
        assert outcome.status == "measured", outcome.reason
        right = expected(one)
        assert right is not None and outcome.sample is not None
        assert difference(one.case.dtype, (outcome.shape, outcome.sample), right) == ""


def test_differences() -> None:
    right = ((3,), np.array([1.0, np.nan, 100.0]))
    assert difference("float32", right, right) == ""
    assert "shape (2,)" in difference("float32", ((2,), right[1][:2]), right)
    assert "2 where 1 is right" in difference("float32", ((3,), np.array([2.0, np.nan, 100.0])), right)
    assert "nan where 1 is right" in difference("float32", ((3,), np.array([np.nan, np.nan, 100.0])), right)
    assert difference("bfloat16", ((3,), np.array([2.0, np.nan, 100.0])), right) == ""
    endless = ((1,), np.array([np.inf]))
    assert difference("float32", endless, endless) == ""
    assert "-inf where inf is right" in difference("float32", ((1,), -endless[1]), endless)


@pytest.mark.parametrize(("name", "method"), [("reference", "allocator"), ("numpy", "tracemalloc")])
def test_peaks(name: str, method: str) -> None:
    backend = load(resolve(name))
    found = peak.of(task("add", 1_000_000), backend)
    assert found["method"] == method
    assert found["least_bytes"] == 4_000_000
    assert found["peak_bytes"] == pytest.approx(4_000_000, rel=0.01)


def test_temporary_memory_counts() -> None:
    backend: Any = load(resolve("numpy"))
    own = backend.function
    backend.function = lambda operator: (lambda x: np.exp(x + 1.0)) if operator == "exp" else own(operator)
    assert peak.of(task("exp", 1_000_000), backend)["peak_bytes"] == pytest.approx(8_000_000, rel=0.01)


def test_where_nobody_can_count_the_peak_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "_sees", lambda name, backend: False)
    found = peak.of(task("add", 1000), load(resolve("numpy")))
    assert (found["method"], found["peak_bytes"], found["least_bytes"]) == (None, None, 4000)


def test_the_roof_of_a_simulated_device() -> None:
    host = LocalSeat("reference", load(resolve("reference")), 1, "wall")
    assert device_roof(host) is None
    found = device_roof(LocalSeat("cuda", load(resolve("reference:cuda")), 1, "wall"))
    assert found is not None
    assert found["device"] == "cuda:0" and found["launch_seconds"] > 0 and len(found["copy"]) == 2


def test_results_are_waited_for() -> None:
    backend: Any = load(resolve(f"{HERE / 'bench_backends.py'}:Lazy"))
    seat = LocalSeat("lazy", backend, 1, "cpu")
    assert seat.prepare(task("add", 16)).status == "measured"
    before = backend.finished
    seat.round(5)
    assert backend.finished == before + 5


def test_an_array_library_is_timed_by_its_own_functions() -> None:
    seat = LocalSeat("library", load(resolve("array_api:numpy")), 1, "cpu")
    assert seat.adapter()["timed"] == "function"
    for name in ("add", "sum", "exp", "cat", "mean"):
        assert seat.prepare(task(name, 60)).status == "measured"
    assert seat.prepare(task("gelu", 60)).status == "unsupported"
