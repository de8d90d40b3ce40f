"""The programs of this folder print the same losses on gaugeblock and on PyTorch."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PRINTED = {
    "spirals.py": """\
step   0  loss 2.430  right 0.33
step  50  loss 0.258  right 0.82
step 100  loss 0.089  right 1.00
step 150  loss 0.026  right 1.00
step 200  loss 0.012  right 1.00
""",
    "stripes.py": """\
step  0  loss 0.710  right 0.50
step 10  loss 0.387  right 0.97
step 20  loss 0.053  right 1.00
step 30  loss 0.001  right 1.00
""",
    "next_letter.py": """\
epoch  0  loss 2.18
epoch  4  loss 0.86
epoch  8  loss 0.52
epoch 12  loss 0.36
""",
}


def printed(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", PRINTED)
def test_script_runs_on_gaugeblock(script: str) -> None:
    assert printed("-m", "gaugeblock.as_torch", str(FOLDER / script)) == PRINTED[script]


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("script", PRINTED)
def test_peer_prints_the_same(script: str) -> None:
    assert printed(str(FOLDER / script)) == PRINTED[script]
