"""Right allocators are not accused, whatever they are made of; adapters answer all calls of the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backend_allocator import CALLS, NAMES, STATEFUL, Machine, Pointer
from gaugeblock_conformance.backends.allocator_calls import Allocating
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.backends.torch_allocator import CAPABILITIES, TorchAllocating
from gaugeblock_conformance.budget import Budget
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_spec import requirements

AREA = [r for r in requirements.load().values() if r.area == "allocator"]
FEW = Budget("few", examples=20, timeout=30.0)
# The naive allocator counts everything anew after each step.
TOO_SLOW = "allocator/search-is-sublinear"


def _verdicts(backend: Any, slow: bool = True) -> dict[str, str]:
    """Status of every requirement of the area, with the message where it is not fulfilled."""
    registry.load_tests()
    found = {}
    for requirement in AREA:
        if requirement.id == TOO_SLOW and not slow:
            continue
        row = run_requirement(backend, requirement, FEW, 0, tests=registry.tests()[requirement.id])
        message = row["failure"]["message"] if row["failure"] else ""
        found[requirement.id] = f"{row['status']} {message}".strip()
    return found


def _load(path: Path, name: str) -> Any:
    return discovery.load(discovery.resolve(f"{path}:{name}"))


def test_every_call_of_the_table_is_answered() -> None:
    answered = Allocating(__import__("gaugeblock"), "cpu")
    assert all(callable(answered.resolve(name)) for name in CALLS)
    assert set(CALLS) >= STATEFUL
    assert repr(Pointer(5)) == "Pointer(5)" and repr(Machine(config="a:1")) == "Machine(config='a:1')"


def test_one_device_has_no_other_beside_it() -> None:
    backend = ReferenceBackend()
    allocator = backend.call("allocator", Machine())
    assert type(backend.call("allocator_beside", allocator)) is type(allocator)
    allocator.driver.device_count = lambda: 1
    with pytest.raises(Unsupported, match="one device"):
        backend.call("allocator_beside", allocator)


def test_second_right_allocator_is_not_accused(fakes: Path) -> None:
    verdicts = _verdicts(_load(fakes / "fake_allocators.py", "NaiveBackend"), slow=False)
    assert {v for v in verdicts.values() if not v.startswith(("passed", "partial", "skipped"))} == set()
    assert sum(v in ("passed", "partial") for v in verdicts.values()) > 60


def test_pool_of_another_kind_is_not_accused(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", __import__("fake_cupy"))
    backend: Any = discovery.load(discovery.resolve("gaugeblock_conformance.backends.cupy:CupyBackend"))
    verdicts = _verdicts(backend)
    passed = [name for name, verdict in verdicts.items() if verdict in ("passed", "partial")]
    assert {v for v in verdicts.values() if not v.startswith(("passed", "partial", "skipped"))} == set()
    assert len(passed) == sum(set(r.capabilities) == {"alloc.reuse"} for r in AREA) >= 5
    with pytest.raises(ValueError, match="cupy has no device 'cpu'"):
        type(backend)("cpu")


class _Faithful(Allocating):
    """Allocators that fail where PyTorch's do."""

    def allocator(self, machine: Machine) -> Any:
        made = super().allocator(machine)
        return type(made)(made.driver, 0, machine.config, mode="faithful")


def test_known_defect_breaks_the_one_wish() -> None:
    backend = ReferenceBackend()
    backend._allocating = _Faithful(backend.module, "cpu")
    verdicts = _verdicts(backend, slow=False)
    failed = [name for name, verdict in verdicts.items() if not verdict.startswith(("passed", "partial", "skipped"))]
    assert failed == ["allocator/waiting-blocks-are-searched-before-giving-up"]


class _FakeTorchBackend(NumpyBackend):
    """NumPy's tensors, PyTorch's adapter for allocators."""

    def __init__(self) -> None:
        super().__init__("cpu")
        self.dialect = None  # type: ignore[assignment]
        self.torch = __import__("fake_torch").FakeTorch()
        self.allocating = TorchAllocating(self.torch, "cuda")
        self.capabilities = CAPABILITIES - {"alloc.tensors", "alloc.pools", "alloc.history"}

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator in CALLS:
            return self.allocating.resolve(operator)(*args, **kwargs)
        return super().call(operator, *args, **kwargs)


def test_adapter_of_torch_over_a_right_allocator_is_not_accused(fakes: Path) -> None:
    verdicts = _verdicts(_FakeTorchBackend(), slow=False)
    assert {v for v in verdicts.values() if not v.startswith(("passed", "partial", "skipped"))} == set()
    assert sum(v in ("passed", "partial") for v in verdicts.values()) > 45


def test_adapter_of_torch_empties_its_one_allocator(fakes: Path) -> None:
    backend = _FakeTorchBackend()
    first = backend.call("allocator", Machine())
    backend.call("malloc", first, 1000)
    stranger = backend.torch.empty(1000, "uint8", "cuda:0")
    with pytest.raises(NotImplementedError, match="memory is held that the suite did not ask for"):
        backend.call("allocator", Machine())
    del stranger
    again = backend.call("allocator", Machine())
    assert not any(backend.call("memory_stats", again)[name] for name in NAMES)


class CopyingViews(ReferenceBackend):
    """Indexing copies, so that the block goes with its first tensor."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return super().call("clone", result) if operator == "__getitem__" else result


def test_reference_on_a_simulated_device_has_all_of_it() -> None:
    backend: Any = discovery.load(discovery.resolve("reference:cuda"))
    assert "alloc.tensors" in backend.capabilities
    assert "alloc.tensors" not in ReferenceBackend("cpu").capabilities
    view = next(r for r in AREA if r.slug == "view-keeps-the-whole-block")
    registry.load_tests()
    assert run_requirement(backend, view, FEW, 0, tests=registry.tests()[view.id])["status"] == "passed"
    wrong = CopyingViews("cuda")
    wrong.dialect.adapter = backend.dialect.adapter
    row = run_requirement(wrong, view, FEW, 0, tests=registry.tests()[view.id])
    assert row["status"] == "failed" and row["failure"] is not None
    snippet = row["failure"]["snippet"]
    assert snippet is not None
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"
