"""A new operator is a row, a formula or a planned kernel, an oracle and a derivative; nothing else is edited.

Three pointwise operators, one of them with numbers as arguments, and a pooling are added to copies of the packages
and judged there.
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
    "weighted_abs": lambda self, weight: abs(self) * weight,
    "softsign": lambda self: self / (abs(self) + 1.0),
    "absolute_difference": lambda self, other: abs(self - other),
"""
ORACLES = """
    "weighted_abs": lambda x, weight: np.abs(x) * np.longdouble(weight),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "absolute_difference": lambda x, y: np.abs(x - y),
"""
POOLING_ROW = """
- schema: sum_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[]) -> Tensor
  out: sum_pool1d.out(Tensor self, int[1] kernel_size, int[1] stride=[], *, Tensor(a!) out) -> Tensor(a!)
  variants: [function]
  family: network
  dtypes: float+int64
  promotion: same
  result: input
  out_cast: exact
  ulp: {float16: 1, bfloat16: 1, float32: 4, float64: 4}
  ulp_scale: terms
"""
POOLING_SAMPLES = """
sum_pool1d:
- {self: "n 7 | small", kernel_size: [[2], 3], stride: [[], [1], 3, null]}
- {self: "b n 5 | small", kernel_size: [2, 3], stride: [[2], 1]}
"""
POOLING_DERIVATIVE = """
sum_pool1d:
  self: avg_pool_back(grad * kernel_size[0], self.shape, kernel_size, stride, 0, False, True, None, 1)
  tangent: linear
"""
POOLING_KERNEL = """
@plannable
def sum_pool1d(self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = ()) -> Planned[Any]:
    meta = self.meta
    pool = pool_of("sum_pool1d", meta, 1, kernel_size, stride, (0,), (1,), False)
    check_dtype("sum_pool1d", self)

    def build() -> LoopPlan:
        result = suggested(meta, (*meta.sizes[:-1], *pool.counts))
        return _average_plan(meta, _regular(meta.sizes[-1:], pool), result, [], 1)

    return planned_loops(self, ("sum_pool1d", pool), build)
"""
POOLING_ORACLE = """
    "sum_pool1d": lambda x, kernel, stride: averaged(x, 1, kernel, stride, 0, False, False, 1),
"""
VALUES_AND_DERIVATIVES = {
    ("operators/every-operator-gives-what-its-row-says", "passed"),
    ("autograd/declared-derivatives-are-there", "passed"),
    ("autograd/declared-derivatives-have-derivatives", "passed"),
}
PACKAGES = ("gaugeblock_spec", "gaugeblock", "gaugeblock_testing", "gaugeblock_tools", "gaugeblock_conformance",
            "gaugeblock_reports")  # fmt: skip


def insert(path: Path, before: str, text: str) -> None:
    """Put lines before the only line of a file that begins with `before`."""
    lines = path.read_text(encoding="utf-8").split("\n")
    [place] = [number for number, line in enumerate(lines) if line.startswith(before)]
    path.write_text("\n".join([*lines[:place], text.strip("\n"), *lines[place:]]), encoding="utf-8")


def append(path: Path, text: str) -> None:
    """Put text at the end of a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with a copy of the packages."""
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def printed(packages: Path, code: str) -> str:
    """Return what a program prints that imports the copies."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment(packages), capture_output=True, text=True, check=True).stdout


def environment(packages: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(packages), "XDG_CACHE_HOME": str(packages / "cache")}


def judge(packages: Path, *names: str) -> dict[str, str]:
    """Validate operators of the copies; return the status of each requirement that asked of all, none unsupported."""
    command = [sys.executable, "-m", "gaugeblock_conformance", "validate", "reference", "--op", *names]
    options = ["--budget", "quick", "--total", "none", "--out", "run"]
    done = subprocess.run(
        [*command, *options], cwd=packages, env=environment(packages), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((packages / "run" / "record.json").read_text(encoding="utf-8"))
    return {
        one["id"]: one["status"]
        for one in record["requirements"]
        if one["status"] != "skipped" and one["examples"] >= len(names) and not one["unsupported"]
    }


def test_three_new_pointwise_operators(packages: Path) -> None:
    append(packages / "gaugeblock_spec/operators/activation.yaml", ROWS)
    append(packages / "gaugeblock_spec/derivatives/activation.yaml", DERIVATIVES)
    insert(packages / "gaugeblock/operators/formulas/networks.py", '    "hardtanh": clamp', FORMULAS)
    insert(packages / "gaugeblock_conformance/oracles/activations.py", '    "hardshrink": ', ORACLES)
    code = "import gaugeblock as gb; x = gb.tensor([-2.0]); print([gb.weighted_abs(x, 3).item(), x.softsign().item()])"
    assert printed(packages, code) == "[6.0, -0.6666666865348816]\n"
    judged = judge(packages, "weighted_abs", "softsign", "absolute_difference")
    assert judged.items() >= {*VALUES_AND_DERIVATIVES, ("operators/forms-agree-bit-for-bit", "passed")}


def test_a_new_pooling(packages: Path) -> None:
    append(packages / "gaugeblock_spec/operators/pooling.yaml", POOLING_ROW)
    append(packages / "gaugeblock_spec/samples/pooling.yaml", POOLING_SAMPLES)
    append(packages / "gaugeblock_spec/derivatives/pooling.yaml", POOLING_DERIVATIVE)
    append(packages / "gaugeblock/operators/networks/pooling.py", POOLING_KERNEL)
    kernels = packages / "gaugeblock/operators/deferred.py"
    table = kernels.read_text(encoding="utf-8")
    assert table.count('"networks.pooling": """') == 1
    kernels.write_text(table.replace('"networks.pooling": """', '"networks.pooling": """sum_pool1d '), encoding="utf-8")
    insert(packages / "gaugeblock_conformance/oracles/pooling.py", '    **{f"avg_pool', POOLING_ORACLE)
    code = "import gaugeblock as gb; print(gb.sum_pool1d(gb.tensor([[[1.0, 2, 3, 4, 5]]]), 2).tolist())"
    assert printed(packages, code) == "[[[3.0, 7.0]]]\n"
    assert judge(packages, "sum_pool1d").items() >= VALUES_AND_DERIVATIVES
