"""A new pointwise operator is a row, a formula, an oracle and a derivative; nothing else is edited.

Three are added to a copy of the packages, one of them with numbers as arguments, and judged there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROWS = """
- schema: weighted_abs(Tensor self, Scalar weight=1) -> Tensor
  out: weighted_abs.out(Tensor self, Scalar weight=1, *, Tensor(a!) out) -> Tensor(a!)
  variants: [function, method]
  family: pointwise
  dtypes: float
  promotion: same
  result: input
  out_cast: exact
  ulp: {float16: 1, bfloat16: 1, float32: 2, float64: 2}

- schema: softsign(Tensor self) -> Tensor
  inplace: softsign_(Tensor(a!) self) -> Tensor(a!)
  out: softsign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  variants: [function, method]
  family: pointwise
  dtypes: float
  promotion: same
  result: input
  out_cast: exact
  ulp: {float16: 1, bfloat16: 1, float32: 2, float64: 2}

- schema: absolute_difference(Tensor self, Tensor other) -> Tensor
  out: absolute_difference.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  variants: [function, method]
  family: pointwise
  dtypes: float
  promotion: same
  result: common
  out_cast: can_cast
  ulp: {float16: 0, bfloat16: 0, float32: 0, float64: 0}
"""
DERIVATIVES = """
weighted_abs:
  self: grad * self.sgn() * weight
softsign:
  self: grad / (1 + self.abs()) ** 2
absolute_difference:
  self: grad * (self - other).sgn()
  other: -grad * (self - other).sgn()
"""
FORMULAS = """
        Formula("weighted_abs", lambda self, weight: abs(self) * weight, 2),
        Formula("softsign", lambda self: self / (abs(self) + 1.0), 1),
        Formula("absolute_difference", lambda self, other: abs(self - other), 2),
"""
ORACLES = """
    "weighted_abs": lambda x, weight: np.abs(x) * np.longdouble(weight),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "absolute_difference": lambda x, y: np.abs(x - y),
"""
NAMES = ("weighted_abs", "softsign", "absolute_difference")
PACKAGES = ("gaugeblock_spec", "gaugeblock", "gaugeblock_testing", "gaugeblock_tools", "gaugeblock_conformance",
            "gaugeblock_reports")  # fmt: skip


def insert(path: Path, before: str, text: str) -> None:
    """Put lines before the only line of a file that begins with `before`."""
    lines = path.read_text(encoding="utf-8").split("\n")
    [place] = [number for number, line in enumerate(lines) if line.startswith(before)]
    path.write_text("\n".join([*lines[:place], text.strip("\n"), *lines[place:]]), encoding="utf-8")


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the packages with three more operators."""
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder, text in ("operators", ROWS), ("derivatives", DERIVATIVES):
        with (tmp_path / "gaugeblock_spec" / folder / "activation.yaml").open("a", encoding="utf-8") as file:
            file.write(text)
    insert(tmp_path / "gaugeblock/operators/formulas/networks.py", '    Formula("hardshrink"', FORMULAS)
    insert(tmp_path / "gaugeblock_conformance/oracles/activations.py", '    "hardshrink": ', ORACLES)
    return tmp_path


def test_three_new_operators(extended: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(extended), "XDG_CACHE_HOME": str(extended / "cache")}
    code = "import gaugeblock as gb; x = gb.tensor([-2.0]); print([gb.weighted_abs(x, 3).item(), x.softsign().item()])"
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout == "[6.0, -0.6666666865348816]\n"
    command = [sys.executable, "-m", "gaugeblock_conformance", "validate", "reference", "--op", *NAMES]
    options = ["--budget", "quick", "--total", "none", "--out", "run"]
    done = subprocess.run([*command, *options], cwd=extended, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((extended / "run" / "record.json").read_text(encoding="utf-8"))
    requirements = {one["id"]: one for one in record["requirements"]}
    for requirement in (
        "operators/every-operator-gives-what-its-row-says", "operators/forms-agree-bit-for-bit",
        "autograd/declared-derivatives-are-there",
        "autograd/declared-derivatives-have-derivatives",
    ):  # fmt: skip
        judged = requirements[requirement]
        assert (judged["status"], judged["unsupported"]) == ("passed", {}), judged
        assert judged["examples"] >= len(NAMES)
