"""Descriptions of kernels: what the cache knows by them, and when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import gaugeblock as gb
import pytest
from gaugeblock.core.dtype import BY_NAME, DType, float32
from gaugeblock.kernels import reduction_ops, rowwise, scan
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.object_cache import Described, Descriptions, source_state
from gaugeblock.operators.formulas import FORMULAS
from gaugeblock.operators.pointwise import formula_kernel

from .formula_facts import operand_count, result_dtype

CALLS = """
import gaugeblock as gb
from gaugeblock.kernels import pointwise, reduction
if {forbidden}:
    def written(*args):
        raise AssertionError("a loop is written that the cache knows")
    pointwise.record = reduction.record_reduction = pointwise.contiguous_entry = written
x = gb.arange(6.0).reshape(2, 3)
print((x + x).tolist(), x.exp().sum(1).tolist(), x.cumsum(0).tolist(), (x.t() * 2).tolist(), x.softmax(1).shape)
"""
KNOWN = Described("00ff", True, "16\nand more")


def _run(folder: Path, *, forbidden: bool) -> str:
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", CALLS.format(forbidden=forbidden)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_kernels_that_the_cache_knows_are_not_written_again(tmp_path: Path) -> None:
    first = _run(tmp_path, forbidden=False)
    assert first.startswith("[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]")
    assert _run(tmp_path, forbidden=True) == first


def test_kernels_whose_objects_are_lost_are_written_again(tmp_path: Path) -> None:
    first = _run(tmp_path, forbidden=False)
    for lost in tmp_path.glob("*.o"):
        lost.unlink()
    with pytest.raises(subprocess.CalledProcessError):
        _run(tmp_path, forbidden=True)
    assert _run(tmp_path, forbidden=False) == first


def test_descriptions_are_known_for_one_state_of_the_sources(tmp_path: Path) -> None:
    before = Descriptions("salt", tmp_path, "before")
    before.write("add float32", KNOWN)
    assert before.read("add float32") == KNOWN
    assert before.read("add float64") is None
    assert Descriptions("other salt", tmp_path, "before").read("add float32") is None
    after = Descriptions("salt", tmp_path, "after")
    assert after.read("add float32") is None
    after.write("add float32", KNOWN)
    assert (after.read("add float32"), before.read("add float32")) == (KNOWN, None)
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_described_without_sources(tmp_path: Path) -> None:
    state = source_state(str(tmp_path))
    assert state == ""
    nowhere = Descriptions("salt", tmp_path, state)
    nowhere.write("add float32", KNOWN)
    assert nowhere.read("add float32") is None
    assert list(tmp_path.iterdir()) == []


def test_the_state_of_the_sources_follows_each_file(tmp_path: Path) -> None:
    names = (
        "kernels/loops.py", "operators/formulas/special.py", "operators/pointwise.py", "core/dtype.py",
        "autograd/edge_code.py", "autograd/recorded_call_code.py",
    )  # fmt: skip
    places = [tmp_path / name for name in names]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x = 1\n")
    states = [source_state(str(tmp_path))]
    time.sleep(0.05)  # File times are told in steps of some milliseconds.
    for place in places:
        times = place.stat()
        place.write_text("x = 2\n")
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        states.append(source_state(str(tmp_path)))
    (tmp_path / "kernels" / "new.py").touch()
    states.append(source_state(str(tmp_path)))
    assert len(set(states)) == len(states) and "" not in states


SEVERAL = (
    "batch_statistics", "batch_scale", "running_statistics", "cross", "fake_quantize", "fake_quantize.single",
)  # fmt: skip
"""Formulas of several results."""


def test_loops_with_one_description_have_one_text() -> None:
    texts: dict[str, str] = {}
    for name in FORMULAS:
        if name.startswith("bitwise") or name in ("frexp", "log_softmax", *SEVERAL):
            continue
        for dtype in (float32, BY_NAME["float16"]):
            for last in (dtype, Immediate(dtype)):
                operands = (*(dtype,) * (operand_count(name) - 1), last)
                kernel = formula_kernel(name, operands, dtype, result_dtype(name, dtype))
                text = kernel.text(kernel.body())
                assert texts.setdefault(kernel.description, text) == text
    assert len(texts) == 4 * (len(FORMULAS) - 14)


def test_names_of_reductions_tell_their_arguments() -> None:
    def named(*built: reduction_ops.Reduction | scan.Phase | rowwise.RowProgram) -> set[str]:
        return {one.name for one in built}

    dtypes: list[DType] = [float32, gb.float64, gb.int64]
    made = named(
        *map(reduction_ops.sum_reduction, dtypes), *map(reduction_ops.mean_reduction, dtypes),
        *map(scan.running_sum, dtypes),
        *(reduction_ops.variance_reduction(float32, root, mean) for root in (False, True) for mean in (False, True)),
        *(reduction_ops.norm_reduction(float32, order) for order in ("p", "inf", "0")),
        rowwise.softmax(float32), rowwise.log_softmax(float32),
    )  # fmt: skip
    assert len(made) == 9 + 4 + 3 + 2
    assert reduction_ops.sum_reduction(float32) is reduction_ops.sum_reduction(float32)
