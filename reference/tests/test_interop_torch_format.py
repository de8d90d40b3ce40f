"""PyTorch's zip format: files that it wrote, what is written, mapped files, and files of other formats."""

from __future__ import annotations

import collections
import io
import pickle
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest

FILES = Path(__file__).parent / "data" / "files"


@pytest.fixture(scope="module")
def from_torch() -> Any:
    """What torch.save of PyTorch 2.13 wrote."""
    return gb.load(FILES / "torch_2.13.pt")


def test_tensors_of_torchs_file_share_their_storage(from_torch: Any) -> None:
    x, t = from_torch["x"], from_torch["t"]
    assert (x.dtype, x.tolist()) == (gb.float32, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert (t.stride(), t.shape) == ((1, 3), (3, 2))
    assert x.untyped_storage() == t.untyped_storage() != from_torch["bf"].untyped_storage()


@pytest.mark.parametrize(
    ("name", "dtype", "values"),
    [
        ("bf", gb.bfloat16, [1.5]), ("conj", gb.complex64, [1 - 2j]), ("neg", gb.float32, [-2.0]),
        ("wide", gb.uint16, [1, 65535]), ("named", gb.int8, [1]), ("empty", gb.float32, []), ("p", gb.float32, [1, 1]),
    ],
)  # fmt: skip
def test_dtypes_and_bits_of_torchs_file(name: str, dtype: Any, values: list[Any], from_torch: Any) -> None:
    assert (from_torch[name].dtype, from_torch[name].tolist()) == (dtype, values)


def test_flags_of_torchs_file(from_torch: Any) -> None:
    assert from_torch["conj"].is_conj() and from_torch["neg"].is_neg() and not from_torch["x"].is_conj()
    assert str(from_torch["scalar"].item()) == "-0.0" and from_torch["scalar"].shape == ()
    assert from_torch["empty"].shape == (0, 3)
    grad = from_torch["grad"]
    assert grad.requires_grad and grad.is_leaf and not from_torch["x"].requires_grad
    assert isinstance(from_torch["p"], gb.nn.Parameter) and from_torch["p"].requires_grad
    assert from_torch["named"].label == "y"
    assert (str(from_torch["meta"].device), from_torch["meta"].shape) == ("meta", (2, 3))


def test_plain_values_of_torchs_file(from_torch: Any) -> None:
    assert from_torch["plain"] == [(1, 2.5, None, "text", 3j, 2**70), {True}, b"b\xff", bytearray(b"c")]
    assert type(from_torch["plain"][3]) is bytearray
    assert type(from_torch["size"]) is gb.Size and from_torch["size"] == (2, 3)
    assert from_torch["dtype"] is gb.int8 and from_torch["layout"] is gb.strided
    assert from_torch["device"] == gb.device("cpu")
    assert from_torch["od"] == collections.OrderedDict(a=1) and type(from_torch["od"]) is collections.OrderedDict
    assert from_torch["counter"] == collections.Counter("aab")


def test_a_state_dict_of_torchs_file_fits_a_module(from_torch: Any) -> None:
    module = gb.nn.Linear(2, 1)
    module.load_state_dict(from_torch["state"])
    assert module(gb.tensor([10.0, 100.0])).tolist() == [213.0]
    assert from_torch["state"]._metadata == {"": {"version": 1}}


def test_files_of_the_first_format_are_read() -> None:
    found = gb.load(FILES / "first_format")
    x, t = found["x"], found["t"]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and x.untyped_storage() == t.untyped_storage()
    assert (found["bf"].dtype, found["bf"].tolist(), found["conj"].tolist()) == (gb.bfloat16, [1.5], [1 - 2j])
    assert isinstance(found["p"], gb.nn.Parameter) and found["named"].name == "y"
    assert (str(found["meta"].device), found["meta"].shape) == ("meta", (2, 3))
    assert found["plain"] == [(1, 2.5, None, "text", 3j), {True}, frozenset({2}), b"b"]
    assert (found["size"], found["dtype"], found["device"]) == ((2, 3), gb.int8, gb.device("cpu"))
    assert (found["layout"], found["format"], found["od"]) == (gb.strided, gb.channels_last, {"a": 1})


def test_a_storage_of_negative_size_in_the_first_format_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("format", "gaugeblock-tensors/1")
        archive.writestr("data.pkl", pickle.dumps(("storage", 0, -1, "cpu"), 4)[:-1] + b"Q.")
        archive.writestr("storage/0", b"")
    with pytest.raises(RuntimeError, match=r"the file is damaged: a storage is called \('storage', 0, -1, 'cpu'\)"):
        gb.load(tmp_path / "file")


def test_files_that_are_no_zip_files_are_refused_with_advice() -> None:
    with pytest.raises(RuntimeError, match=r"format before 1\.6, .* load it with torch\.load"):
        gb.load(FILES / "torch_legacy.pt")
    with pytest.raises(RuntimeError, match=r"format before 1\.6"), open(FILES / "torch_legacy.pt", "rb") as file:
        gb.load(file)


def _members(value: Any) -> dict[str, bytes]:
    stream = io.BytesIO()
    gb.save(value, stream)
    archive = zipfile.ZipFile(stream)
    return {name: archive.read(name) for name in archive.namelist()}


def test_members_of_a_file() -> None:
    members = _members([gb.tensor([1, 2], dtype=gb.int16), gb.tensor([3.0])])
    assert list(members) == [
        "archive/data.pkl", "archive/.format_version", "archive/.storage_alignment", "archive/byteorder",
        "archive/data/0", "archive/data/1", "archive/version",
    ]  # fmt: skip
    assert members["archive/data/0"] == b"\1\0\2\0" and members["archive/data/1"] == b"\0\0\x40\x40"
    assert members["archive/version"] == b"3\n" and members["archive/byteorder"] == b"little"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (gb.ones(2), "torch._utils _rebuild_tensor_v2, torch FloatStorage, collections OrderedDict"),
        (gb.ones(2, dtype=gb.uint16),
         "torch._utils _rebuild_tensor_v3, torch.storage UntypedStorage, collections OrderedDict, torch uint16"),
        (gb.nn.Parameter(gb.ones(2)), "torch._utils _rebuild_parameter, torch._utils _rebuild_tensor_v2, "
         "torch FloatStorage, collections OrderedDict"),
        (gb.empty(2, device="meta"), "torch._utils _rebuild_meta_tensor_no_storage, torch float32"),
        ([gb.Size([1]), gb.strided, gb.device("cpu"), {1}],
         "torch Size, torch.serialization _get_layout, torch device, __builtin__ set"),
    ],
)  # fmt: skip
def test_names_in_a_file_are_those_of_torch(value: Any, names: str) -> None:
    data = _members(value)["archive/data.pkl"]
    found = [argument for opcode, argument, _ in pickletools.genops(data) if opcode.name == "GLOBAL"]
    assert ", ".join(found) == names
    assert data[:2] == b"\x80\x02"


def test_storages_are_aligned_and_equal_values_give_equal_files() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    for stream in (first, second):
        gb.save({"key of some length": [gb.ones(n) for n in range(1, 9)]}, stream)
    assert first.getvalue() == second.getvalue()
    for info in zipfile.ZipFile(first).infolist():
        header = first.getvalue()[info.header_offset :][:30]
        begin = info.header_offset + 30 + header[26] + 256 * header[27] + header[28] + 256 * header[29]
        assert begin % 64 == 0


def test_storages_that_several_dtypes_share_stay_one() -> None:
    x = gb.arange(4.0)
    stream = io.BytesIO()
    gb.save([x, x.view(gb.int32), x.view(gb.uint8)[2:4].view(gb.int16), x.untyped_storage()], stream)
    stream.seek(0)
    a, b, c, storage = gb.load(stream)
    assert a.untyped_storage() == b.untyped_storage() == c.untyped_storage() == storage
    b[1] = 0
    assert (a.tolist(), b.dtype, c.dtype, c.tolist()) == ([0.0, 0.0, 2.0, 3.0], gb.int32, gb.int16, [0])
    assert sum(name.startswith("archive/data/") for name in _members([x, x.view(gb.int32)])) == 1


def test_gradients_are_asked_for_again() -> None:
    x = gb.ones(3)
    sparse = gb.eye(2).to_sparse().requires_grad_()
    values = [x.requires_grad_(), gb.ones(2, dtype=gb.float8_e5m2).requires_grad_(), sparse]
    values[1].label = "eight"
    stream = io.BytesIO()
    gb.save([*values, x.detach().view(gb.int32), gb.eye(2).to_sparse()], stream)
    stream.seek(0)
    found = gb.load(stream)
    assert [one.requires_grad for one in found] == [True, True, True, False, False]
    assert all(one.is_leaf for one in found) and found[1].label == "eight"


def test_storages_are_saved_themselves() -> None:
    x = gb.arange(3, dtype=gb.int16)
    stream = io.BytesIO()
    gb.save([x.untyped_storage(), x], stream)
    stream.seek(0)
    storage, y = gb.load(stream)
    assert isinstance(storage, gb.UntypedStorage) and storage == y.untyped_storage()
    assert storage.tolist() == [0, 0, 1, 0, 2, 0]


def test_a_storage_with_a_remainder_is_kept_whole() -> None:
    x = gb.ones(5, dtype=gb.uint8)[:4].view(gb.int32)
    stream = io.BytesIO()
    gb.save(x, stream)
    stream.seek(0)
    y = gb.load(stream)
    assert (y.tolist(), y.untyped_storage().nbytes()) == ([16843009], 5)


def test_mapped_files_are_read_when_needed_and_written_in_this_process_only(tmp_path: Path) -> None:
    place = tmp_path / "tensors"
    x = gb.arange(6.0).view(2, 3)
    gb.save([x, x.t(), gb.ones(3, dtype=gb.int8), gb.zeros(0)], place)
    a, b, c, empty = gb.load(place, mmap=True)
    assert (a.tolist(), c.tolist(), empty.tolist()) == (x.tolist(), [1, 1, 1], [])
    assert not a.untyped_storage().resizable() and a.data_ptr() % 64 == 0
    a[0, 1] = 9
    assert b[1, 0].item() == 9 and gb.load(place)[0][0, 1].item() == 1
    del a, b
    assert c.tolist() == [1, 1, 1]
    moved = gb.load(place, "meta", mmap=True)
    assert str(moved[0].device) == "meta"
    with pytest.raises(ValueError, match=r"argument 'f' must be a path with mmap=True, got BytesIO"):
        gb.load(io.BytesIO(place.read_bytes()), mmap=True)


def test_headers_of_mapped_files_are_checked(tmp_path: Path) -> None:
    place = tmp_path / "tensors"
    gb.save(gb.arange(6.0), place)
    whole = place.read_bytes()
    begin = next(info.header_offset for info in zipfile.ZipFile(place).infolist() if info.filename == "archive/data/0")
    for at, byte in ((0, b"X"), (29, b"\xff")):
        place.write_bytes(whole[: begin + at] + byte + whole[begin + at + 1 :])
        with pytest.raises(RuntimeError, match=r"load\(\): the file is damaged: the header of 'data/0' is damaged"):
            gb.load(place, mmap=True)


def test_weights_only_makes_no_difference() -> None:
    for value in (True, False):
        stream = io.BytesIO()
        gb.save({"x": gb.ones(1)}, stream)
        stream.seek(0)
        assert gb.load(stream, weights_only=value)["x"].item() == 1.0


class Plain:
    """An object that load does not know."""


def test_other_objects_are_saved_and_not_loaded() -> None:
    stream = io.BytesIO()
    gb.save({"x": gb.ones(1), "other": Plain()}, stream)
    stream.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"names copy_reg\._reconstructor|names .*Plain"):
        gb.load(stream)


def test_a_shared_object_stays_one() -> None:
    inner = [gb.ones(1)]
    stream = io.BytesIO()
    gb.save({"a": inner, "b": inner, "c": inner[0]}, stream)
    stream.seek(0)
    found = gb.load(stream)
    assert found["a"] is found["b"] and found["a"][0] is found["c"]


def test_recursive_values_are_kept() -> None:
    value: list[Any] = []
    value.append((value, {"self": value}))
    stream = io.BytesIO()
    gb.save(value, stream)
    stream.seek(0)
    found = gb.load(stream)
    assert found[0][0] is found and found[0][1]["self"] is found


def compressed_forms() -> tuple[dict[str, gb.Tensor], io.BytesIO]:
    """Return a tensor in each compressed layout, a batch, and a file of them."""
    dense = gb.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
    forms = {
        "csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(), "bsr": dense.to_sparse_bsr((1, 2)),
        "bsc": dense.to_sparse_bsc((2, 2)), "batch": gb.stack([dense, dense]).to_sparse_csr(),
    }  # fmt: skip
    stream = io.BytesIO()
    gb.save(forms, stream)
    stream.seek(0)
    return forms, stream


def test_compressed_tensors_are_saved() -> None:
    forms, stream = compressed_forms()
    for name, found in gb.load(stream).items():
        assert found.layout is forms[name].layout
        assert found.to_dense().tolist() == forms[name].to_dense().tolist()
        assert found.values().tolist() == forms[name].values().tolist()


def test_peer_reads_and_writes_compressed_tensors() -> None:
    torch = pytest.importorskip("torch")
    forms, stream = compressed_forms()
    read, again = torch.load(stream), io.BytesIO()
    torch.save(read, again)
    again.seek(0)
    for found in (read, gb.load(again)):
        for name, one in found.items():
            assert str(one.layout).partition(".")[2] == str(forms[name].layout).partition(".")[2]
            assert one.values().tolist() == forms[name].values().tolist()
            assert one.to_dense().tolist() == forms[name].to_dense().tolist()


def quantized_forms() -> dict[str, gb.Tensor]:
    """Return quantized tensors of all dtypes and both schemes, and views."""
    x = gb.arange(6.0).reshape(2, 3)
    tensor = gb.quantize_per_tensor(x, 0.5, 1, gb.qint8)
    channel = gb.quantize_per_channel(x, gb.tensor([0.5, 1.0]), gb.tensor([0, 1]), 0, gb.quint8)
    return {
        "tensor": tensor, "transposed": tensor.t(), "part": tensor[1:, 1:], "channel": channel, "row": channel[1],
        "columns": channel[:, 1:], "turned": channel.t(), "wide": gb.quantize_per_tensor(x, 0.25, -3, gb.qint32),
        "empty": gb.quantize_per_tensor(gb.ones(0, 2), 1.0, 0, gb.qint8),
    }  # fmt: skip


def test_quantized_tensors_are_saved() -> None:
    forms, stream = quantized_forms(), io.BytesIO()
    gb.save(forms, stream)
    stream.seek(0)
    found = gb.load(stream)
    for name, want in forms.items():
        one = found[name]
        assert (one.dtype, one.qscheme(), one.stride()) == (want.dtype, want.qscheme(), want.stride())
        assert one.int_repr().tolist() == want.int_repr().tolist()
        assert one.dequantize().tolist() == want.dequantize().tolist()
    assert found["part"].data_ptr() == found["tensor"].data_ptr() + 4  # one storage stays one storage
    mixed = gb.quantize_per_channel(gb.ones(2, 2), gb.tensor([0.5, 1.0]), gb.tensor([0, 1]), 0, gb.qint8)
    with pytest.raises(NotImplementedError, match="a view over several channels in one dim is not saved"):
        gb.save(mixed.as_strided((2, 2), (1, 1)), io.BytesIO())


def test_peer_reads_and_writes_quantized_tensors() -> None:
    torch = pytest.importorskip("torch")
    forms, stream, again = quantized_forms(), io.BytesIO(), io.BytesIO()
    gb.save(forms, stream)
    stream.seek(0)
    read = torch.load(stream)
    torch.save(read, again)
    again.seek(0)
    for found in (read, gb.load(again)):
        for name, want in forms.items():
            assert str(found[name].dtype).partition(".")[2] == want.dtype.name
            assert tuple(found[name].stride()) == want.stride()
            assert found[name].int_repr().tolist() == want.int_repr().tolist()
            assert found[name].dequantize().tolist() == want.dequantize().tolist()
