"""Programs that import torch run on gaugeblock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gaugeblock.as_torch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_script_sees_gaugeblock_as_torch(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import torch\nvalue = torch.ones(2)\n")
    script = tmp_path / "script.py"
    script.write_text(
        """
import sys
import gaugeblock
import torch
import torch.nn.functional as F
from torch import nn, Tensor
from torch.autograd import Function
from torch.utils._python_dispatch import TorchDispatchMode
import helper

assert __name__ == "__main__"
assert torch.Tensor is gaugeblock.Tensor is Tensor
assert F is gaugeblock.nn.functional is nn.functional
assert sys.modules["torch.nn.functional"] is sys.modules["gaugeblock.nn.functional"]
assert F.__spec__.name == "gaugeblock.nn.functional"
assert torch.__version__.startswith("2.13.0+gaugeblock.")
assert isinstance(helper.value, torch.Tensor)
print(sys.argv[1:], F.relu(torch.tensor([-1.0, 2.0])))
"""
    )
    done = run(str(script), "a", "--b")
    assert (done.returncode, done.stdout) == (0, "['a', '--b'] tensor([0., 2.])\n"), done.stderr


def test_star_import_gives_the_public_names(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from torch import *\nprint(ones(2) + tensor([1.0, 2.0]))\n")
    assert run(str(script)).stdout == "tensor([2., 3.])\n"


def test_pytest_runs_a_test_file(tmp_path: Path) -> None:
    test = tmp_path / "test_mine.py"
    test.write_text("import torch as t\ndef test_sum():\n    t.testing.assert_close(t.ones(3).sum(), t.tensor(3.0))")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(test), cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import torch\ntorch.compile_everything", "torch is gaugeblock here: module 'gaugeblock' has no attribute"),
        ("import torch.nowhere", "torch is gaugeblock here: there is no module 'gaugeblock.nowhere'"),
        ("import torch.fft.nowhere", "'torch.fft' is not a package"),
    ],
)
def test_missing_names_are_named(tmp_path: Path, code: str, message: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(code)
    done = run(str(script))
    assert done.returncode == 1 and message in done.stderr


@pytest.mark.parametrize("arguments", [(), ("-m",), ("--help-me",), ("nowhere.py",)])
def test_wrong_command_lines_end_with_status_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and "usage: python -m gaugeblock.as_torch" in done.stderr


def test_exit_status_and_exceptions_are_the_programs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(7)")
    assert run(str(script)).returncode == 7


def test_install_refuses_beside_the_real_torch() -> None:
    code = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import gaugeblock.as_torch as as_torch
try:
    as_torch.install()
except RuntimeError as error:
    print(error)
del sys.modules["torch"]
assert as_torch.install() is as_torch.install()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "install(): torch has been imported already, from None\n", done.stderr
