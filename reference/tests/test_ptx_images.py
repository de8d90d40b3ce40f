"""Images of grid kernels: named by content, kept on disk, compiled anew when a file is damaged; ptxas's refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gaugeblock.core.dtype import float32, float64
from gaugeblock.cuda.ptx import assembler, image
from gaugeblock.cuda.ptx.grid_kernel import device_target, host_target
from gaugeblock.cuda.ptx.layout import Layout
from gaugeblock.cuda.ptx.routines import GridDeclarations
from gaugeblock.kernels.object_cache import ObjectCache
from gaugeblock.operators.launch import formula_kernel

TARGET = device_target((8, 0))
FLAT = Layout(32, 0, 4, (False,) * 3)
ADD = formula_kernel("add", (float32, float32), float32, float32)


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the kernels compiled from now on, with an empty cache."""
    found: list[str] = []
    before = image.assembly

    def counted(text: str, name: str, target: Any) -> str:
        found.append(name)
        return before(text, name, target)

    before("define void @k() {\n  ret void\n}\n", "k", TARGET)
    monkeypatch.setattr(image.back_end(), "cache", ObjectCache(tmp_path))
    monkeypatch.setattr(image, "assembly", counted)
    return found


def test_images_are_kept_by_content(compilations: list[str], tmp_path: Path) -> None:
    written = image.grid_text(ADD, FLAT, TARGET)
    first = image.compiled(written, TARGET)
    assert image.compiled(written, TARGET) == first
    assert compilations == [first.name]
    other = image.compiled(written, device_target((9, 0)))
    assert other.name != first.name
    assert other.data != first.data
    (place,) = [place for place in tmp_path.glob("*.o") if first.name.removeprefix("gb_") in place.name]
    place.write_bytes(place.read_bytes()[:-9])
    assert image.compiled(written, TARGET) == first
    assert len(compilations) == 3


def test_tables_lie_in_global_memory_of_the_device() -> None:
    pow64 = formula_kernel("pow", (float64, float64), float64, float64)
    device = image.grid_text(pow64, FLAT, TARGET).text
    assert "internal unnamed_addr addrspace(1) constant" in device
    assert "addrspace" not in image.grid_text(pow64, FLAT, host_target()).text
    assert ".global .align 64 .b8 gb_table" in image.assembly(device, "k", TARGET)


def test_routines_without_a_form_are_named() -> None:
    with pytest.raises(ValueError, match="'tgamma' has no form for a grid"):
        GridDeclarations(TARGET).routine("tgamma", "double", ["double"])


def test_a_missing_assembler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
    with pytest.raises(RuntimeError, match="install nvidia-cuda-nvcc-cu12"):
        assembler.assemble(b"")


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="ptxas is not installed (nvidia-cuda-nvcc-cu12 has it)")
def test_refusals_of_the_assembler_reach_the_caller() -> None:
    with pytest.raises(RuntimeError, match="ptxas refused the image"):
        assembler.assemble(b".version 7.5\n.target sm_80\nnonsense\0")
