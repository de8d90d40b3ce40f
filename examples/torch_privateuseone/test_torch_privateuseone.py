"""The device of this folder, in processes of its own: PyTorch has one device from outside in a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

HERE = Path(__file__).parent
METADATA = "Metadata-Version: 2.1\nName: torch-ndarray\nVersion: 0.1.0\n"
ENTRY_POINT = "[torch.backends]\nndarray = torch_ndarray:register\n"
AUTOGRAD = """
import torch
x = torch.arange(6.0).view(2, 3).to("ndarray").requires_grad_()
y = (x * x + x.t().sum()).sum()
y.backward()
print(x.device, y.item(), x.grad.cpu().tolist())
"""
SHARING = """
import gc, torch
from torch_ndarray import memory
x = torch.zeros(2, 3).to("ndarray")
x.t()[1].fill_(7)
print(x.cpu().tolist(), x.t().untyped_storage().data_ptr() == x.data_ptr(), len(memory._MEMORY))
view = x[1]
del x
gc.collect()
print(view.cpu().tolist(), len(memory._MEMORY))
del view
gc.collect()
print(len(memory._MEMORY))
"""
REFUSALS = """
import torch
x = torch.ones(4, dtype=torch.int32).to("ndarray")
def told(call):
    try:
        call()
    except (RuntimeError, NotImplementedError) as error:
        print(type(error).__name__, str(error).splitlines()[0][:60])
told(lambda: torch.add(x[:3], x[:3], out=x[1:]))
told(lambda: x.add_(1.5))
told(lambda: x.expand(2, 4).add_(x))
told(lambda: x.float() & x)
told(lambda: x.sort())
"""
LAZY = """
import torch
x = torch.tensor([1 + 2j, 3 - 1j]).to("ndarray")
print(x.conj().clone().cpu().tolist(), x.conj().imag.cpu().tolist(), x.to("cpu", torch.complex128).tolist())
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables under which ``import torch`` finds the device, as it does where the package is installed."""
    facts = tmp_path / "torch_ndarray-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(METADATA)
    (facts / "entry_points.txt").write_text(ENTRY_POINT)
    found = [str(tmp_path), str(HERE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}


def _printed(code: str, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_peer_gradients_are_those_of_the_host(environment: dict[str, str]) -> None:
    assert _printed(AUTOGRAD, environment) == ["ndarray:0 145.0 [[6.0, 8.0, 10.0], [12.0, 14.0, 16.0]]"]


def test_peer_views_share_memory_and_release_it(environment: dict[str, str]) -> None:
    want = ["[[0.0, 7.0, 0.0], [0.0, 7.0, 0.0]] True 1", "[0.0, 7.0, 0.0] 1", "0"]
    assert _printed(SHARING, environment) == want


def test_peer_refusals_are_those_of_torch(environment: dict[str, str]) -> None:
    assert _printed(REFUSALS, environment) == [
        "RuntimeError unsupported operation: the written tensor and an operand ove",
        "RuntimeError result type Float can't be cast to the desired output type I",
        "RuntimeError unsupported operation: more than one element of the written-",
        "NotImplementedError \"bitwise_and\" not implemented for 'Float'",
        "NotImplementedError Could not run 'aten::sort.values_stable' with arguments from",
    ]


def test_peer_lazily_conjugated_tensors_are_copied(environment: dict[str, str]) -> None:
    assert _printed(LAZY, environment) == ["[(1-2j), (3+1j)] [-2.0, 1.0] [(1+2j), (3-1j)]"]


def test_peer_the_suite_validates_it(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "gaugeblock_conformance", "validate", "torch:ndarray", "--budget", "quick", "--jobs", "1",
        "--requirement", "views/expand-has-stride-zero", "views/conj-is-a-lazy-view",
        "operators/every-operator-gives-what-its-row-says", "--op", "mul.Tensor", "mm", "sort.stable",
        "--out", str(out), "--total", "none",
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((out / "record.json").read_text())
    found = record["environment"]
    assert found["device"] == "ndarray:0"
    assert {"autograd", "autograd.fwd", "dispatch.kernels", "wrapper", "inplace", "out"} <= set(found["capabilities"])
    assert {"sort", "rng", "resize", "numpy", "threads", "isa"} <= found["withdrawn"].keys()
    assert "Could not run 'aten::sort.values_stable'" in found["withdrawn"]["sort"]
    (row,) = (row for row in record["requirements"] if row["id"].startswith("operators/every"))
    assert row["subresults"] == {"mm": "passed", "sort": "skipped", "sort.stable": "skipped"}
