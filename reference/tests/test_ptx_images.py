"""Images of grid kernels: named by content, kept on disk, compiled anew when a file is damaged; ptxas's refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gaugeblock.core.dtype import float32, float64
from gaugeblock.cuda.ptx import launching
from gaugeblock.cuda.ptx.layout import Layout
from gaugeblock.cuda.ptx.target import device_target
from gaugeblock.kernels.object_cache import CacheFolder
from gaugeblock.operators.pointwise import formula_kernel
from gaugeblock_testing import ptxas
from gaugeblock_testing.host_grid import host_target

TARGET = device_target((8, 0))
FLAT = Layout(32, 0, 4, (False,) * 3)
ADD = formula_kernel("add", (float32, float32), float32, float32)


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the kernels compiled from now on, with an empty cache."""
    found: list[str] = []
    before = launching.back_end().assembly

    def counted(text: str, name: str, target: Any) -> str:
        found.append(name)
        return before(text, name, target)

    before("define void @k() {\n  ret void\n}\n", "k", TARGET)
    monkeypatch.setattr(launching.back_end(), "cache", CacheFolder(tmp_path))
    monkeypatch.setattr(launching.back_end(), "assembly", counted)
    return found


def test_images_are_kept_by_content(compilations: list[str], tmp_path: Path) -> None:
    written = launching.grid_text(ADD, FLAT, TARGET)
    first = launching.compiled(written, TARGET)
    assert launching.compiled(written, TARGET) == first
    assert compilations == [first.name]
    other = launching.compiled(written, device_target((9, 0)))
    assert other.name != first.name
    assert other.data != first.data
    (place,) = [place for place in tmp_path.glob("*.o") if first.name.removeprefix("gb_") in place.name]
    place.write_bytes(place.read_bytes()[:-9])
    assert launching.compiled(written, TARGET) == first
    assert len(compilations) == 3


def test_tables_lie_in_global_memory_of_the_device() -> None:
    pow64 = formula_kernel("pow", (float64, float64), float64, float64)
    device = launching.grid_text(pow64, FLAT, TARGET).text
    assert "internal unnamed_addr addrspace(1) constant" in device
    assert "addrspace" not in launching.grid_text(pow64, FLAT, host_target()).text
    assert ".global .align 64 .b8 gb_table" in launching.back_end().assembly(device, "k", TARGET)


def test_a_missing_assembler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: None)
    with pytest.raises(RuntimeError, match="install nvidia-cuda-nvcc-cu12"):
        ptxas.assemble(b"")


@pytest.mark.skipif(ptxas.find_ptxas() is None, reason="ptxas is not installed (nvidia-cuda-nvcc-cu12 has it)")
def test_refusals_of_the_assembler_reach_the_caller() -> None:
    with pytest.raises(RuntimeError, match="ptxas refused the image"):
        ptxas.assemble(b".version 7.5\n.target sm_80\nnonsense\0")
