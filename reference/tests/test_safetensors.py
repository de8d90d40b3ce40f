"""gaugeblock.safetensors: round trips, the bytes of the format, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

library = pytest.importorskip("safetensors", minversion="0.8")

NAMES = """bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64
    float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz""".split()


def header(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return found


def test_bytes_of_a_file() -> None:
    data = gb.safetensors.save({"a": gb.tensor([[1, -2]], dtype=gb.int16)}, {"about": "text"})
    assert header(data) == {
        "__metadata__": {"about": "text"}, "a": {"dtype": "I16", "shape": [1, 2], "data_offsets": [0, 4]},
    }  # fmt: skip
    assert data.endswith(b"\x01\x00\xfe\xff")


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_is_kept(name: str, tmp_path: Path) -> None:
    x = gb.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(gb, name))
    tensors = {"x": x, "scalar": x[0, 0].clone(), "empty": gb.zeros(0, 3, dtype=x.dtype)}
    gb.safetensors.save_file(tensors, tmp_path / "file")
    for found in (gb.safetensors.load_file(tmp_path / "file"), gb.safetensors.load(gb.safetensors.save(tensors))):
        assert set(found) == set(tensors)
        assert found["x"].dtype is x.dtype and found["x"].tolist() == x.tolist()
        assert found["scalar"].shape == () and found["scalar"].item() == x[0, 0].item()
        assert found["empty"].shape == (0, 3) and found["empty"].dtype is x.dtype
        found["x"].fill_(0)
        assert not found["x"].any().item()
    assert gb.safetensors.load_file(tmp_path / "file")["x"].tolist() == x.tolist()


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(min_size=1), st.lists(st.floats(width=32))))
def test_floats_come_back_bit_for_bit(values: dict[str, list[float]]) -> None:
    values.pop("__metadata__", None)
    tensors = {name: gb.tensor(row, dtype=gb.float32) for name, row in values.items()}
    found = gb.safetensors.load(gb.safetensors.save(tensors))
    assert {name: bytes(one.untyped_storage()) for name, one in found.items()} == {
        name: bytes(one.untyped_storage()) for name, one in tensors.items()
    }


def test_lazy_bits_gradients_and_parts_of_storages_are_resolved() -> None:
    x = gb.tensor([1 + 2j, 3j])
    tensors = {"conj": x.conj(), "part": gb.arange(6)[2:4], "grad": gb.nn.Parameter(gb.ones(2))}
    data = gb.safetensors.save(tensors)
    found = gb.safetensors.load(data)
    assert found["conj"].tolist() == [1 - 2j, -3j] and not found["conj"].is_conj()
    assert found["part"].tolist() == [2, 3] and header(data)["part"]["data_offsets"][1] <= 48
    assert found["grad"].tolist() == [1.0, 1.0] and not found["grad"].requires_grad


def test_devices(tmp_path: Path) -> None:
    gb.cuda.use_driver("simulated")
    try:
        gb.safetensors.save_file({"x": gb.arange(3, device="cuda")}, tmp_path / "file")
        assert str(gb.safetensors.load_file(tmp_path / "file")["x"].device) == "cpu"
        x = gb.safetensors.load_file(tmp_path / "file", device="cuda")["x"]
        assert str(x.device) == "cuda:0" and x.tolist() == [0, 1, 2]
    finally:
        gb.cuda.use_driver(None)


BASE = gb.arange(6)


@pytest.mark.parametrize(
    ("tensors", "kind", "message"),
    [
        ({"a": BASE, "b": BASE[2:3]}, RuntimeError, r"save\(\): 'a' and 'b' share memory"),
        ({"a": BASE, "b": BASE}, RuntimeError, r"save\(\): 'a' and 'b' share memory"),
        ({"a": BASE.view(2, 3).t()}, ValueError, r"save\(\): 'a' is not contiguous"),
        ({"a": gb.ones(1, dtype=gb.complex128)}, TypeError, "'a' has dtype complex128, which the format lacks"),
        ({"a": gb.empty(2, device="meta")}, TypeError, "'a' is on the device meta and has no data"),
        ({"a": 5}, TypeError, "'a' must be a Tensor, not int"),
        ({5: BASE}, TypeError, "the names of tensors must be text, got 5"),
        ([BASE], TypeError, r"save\(\): argument 'tensors'"),
    ],
)  # fmt: skip
def test_what_the_format_does_not_hold_is_refused(tensors: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        gb.safetensors.save(tensors)


def test_parts_of_a_storage_that_do_not_overlap_are_saved() -> None:
    found = gb.safetensors.load(gb.safetensors.save({"b": BASE[3:], "a": BASE[:3], "none": BASE[2:2]}))
    assert (found["a"].tolist(), found["b"].tolist(), found["none"].tolist()) == ([0, 1, 2], [3, 4, 5], [])


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = gb.safetensors.save({"a": BASE})
    for wrong in (b"", data[:-1], data[:20], b"\xff" * 40, data + b"x", data.replace(b'"I64"', b'"I65"')):
        (tmp_path / "file").write_bytes(wrong)
        with pytest.raises(library.SafetensorError):
            gb.safetensors.load(wrong)
        with pytest.raises(library.SafetensorError):
            gb.safetensors.load_file(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        gb.safetensors.load_file(tmp_path / "missing")


def test_the_library_is_imported_when_it_is_needed() -> None:
    code = (
        "import sys, gaugeblock as gb; assert 'safetensors' not in sys.modules\n"
        "sys.modules['safetensors'] = None\n"
        "try: gb.safetensors.save\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install gaugeblock[safetensors]" in done.stdout


def test_peer_torch_reads_and_writes_the_same_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch")
    gb.safetensors.save_file({"x": gb.tensor([1.5, -0.0], dtype=gb.bfloat16), "y": BASE.view(2, 3)}, tmp_path / "ours")
    found = theirs.load_file(tmp_path / "ours")
    assert found["x"].dtype == torch.bfloat16 and found["x"].tolist() == [1.5, -0.0]
    theirs.save_file(found, tmp_path / "theirs")
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()
    assert gb.safetensors.load_file(tmp_path / "theirs")["y"].tolist() == [[0, 1, 2], [3, 4, 5]]
