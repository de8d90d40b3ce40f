"""The Hogwild example: processes that share parameters lower the loss together, however they are started."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("hogwild.py")


@pytest.fixture(scope="module")
def hogwild() -> Any:
    spec = importlib.util.spec_from_file_location("hogwild_example", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_two_processes_train_one_net(hogwild: Any) -> None:
    before, after, taken = hogwild.trained(processes=2, steps=60, method="fork")
    assert taken == [60, 60]
    assert before > 0.8
    assert after < 0.5 * before


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_process_that_fails_is_told(hogwild: Any) -> None:
    with pytest.raises(RuntimeError, match="2 of 2 processes failed, the first with status 1"):
        hogwild.trained(processes=2, steps=1, rate=-1.0, method="fork")


def test_program_spawns() -> None:
    command = [sys.executable, str(PROGRAM), "--steps", "40", "--method", "spawn"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "after 80 steps of 2 processes: [40, 40]" in ran.stdout
