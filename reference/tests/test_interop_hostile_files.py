"""Loading malicious files: memory is bounded by the size of the file, and errors name the fault."""

from __future__ import annotations

import copy
import io
import pickle
import random
import tracemalloc
import zipfile
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest

FILES = Path(__file__).parent / "data" / "files"


def _zip(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    stream.seek(0)
    return stream


def _file(data: bytes, *, compression: int = zipfile.ZIP_STORED, **members: bytes) -> io.BytesIO:
    """A file of PyTorch's format with the pickle `data` and members such as `data_0`."""
    named = {f"archive/{name.replace('_', '/')}": contents for name, contents in members.items()}
    return _zip({"archive/data.pkl": data, **named, "archive/version": b"3\n"}, compression)


def _first(data: bytes, **members: bytes) -> io.BytesIO:
    """A file of the first format."""
    named = {name.replace("_", "/"): contents for name, contents in members.items()}
    return _zip({"format": b"gaugeblock-tensors/1", "data.pkl": data, **named})


def test_compressed_members_are_refused() -> None:
    file = _file(pickle.dumps(3), compression=zipfile.ZIP_DEFLATED, data_0=bytes(10_000_000))
    assert len(file.getvalue()) < 20_000
    with pytest.raises(RuntimeError, match="in the file is compressed or encrypted; save does neither"):
        gb.load(file)


def test_overlapping_members_are_refused() -> None:
    whole = bytearray(_file(pickle.dumps(3), data_0=bytes(1000)).getvalue())
    place = whole.rindex(b"archive/data/0") - 46
    whole[place + 20 : place + 28] = (10**6).to_bytes(4, "little") * 2
    with pytest.raises(RuntimeError, match=r"load\(\): the file has \d+ bytes but declares \d+"):
        gb.load(io.BytesIO(bytes(whole)))


def test_containers_repeated_through_the_memo_are_refused() -> None:
    data = b"\x80\x04(" + b"".join(b"K" + bytes([n]) for n in range(250)) + b"t\x94"
    data += b"(" + b"cbuiltins\nset\nh\x00\x85R" * 5000 + b"l."
    assert len(data) < 120_000
    tracemalloc.start()
    with pytest.raises(pickle.UnpicklingError, match="containers with more members than it has bytes"):
        gb.load(_file(data))
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x80\x04ctorch\nSize\n)R}b.", "BUILD"),
        (b"\x80\x04ctorch\nfloat32\n}X\x08\0\0\0itemsizeK\x63sb.", "BUILD"),
        (b"\x80\x04ccollections\nOrderedDict\n)\x81.", "NEWOBJ"),
        (b"\x80\x04(ccollections\nOrderedDict\no.", "OBJ"),
        (b"(icollections\nOrderedDict\n.", "INST"),
        (b"\x80\x04]2.", "DUP"),
    ],
)
def test_pickles_that_set_attributes_are_refused(data: bytes, name: str) -> None:
    with pytest.raises(
        pickle.UnpicklingError, match=rf"the file has {name} at byte \d+.*, which is not allowed"
    ):
        gb.load(_file(data))
    assert gb.float32.itemsize == 4


def _persistent(pid: Any) -> bytes:
    """Return the pickle of a list of one object with this persistent id."""

    class Writer(pickle.Pickler):
        def persistent_id(self, item: Any) -> Any:
            return pid if item is Ellipsis else None

    stream = io.BytesIO()
    Writer(stream, 4).dump([...])
    return stream.getvalue()


@pytest.mark.parametrize("pid", [("storage", 0.0, 4, "cpu"), ("storage", "0", 4, "cpu"), ("storage", 0, 4, 5), (1, 2)])
def test_malformed_storage_names_are_refused(pid: Any) -> None:
    with pytest.raises(RuntimeError, match=r"load\(\): the file is damaged: "):
        gb.load(_first(_persistent(pid), storage_0=b"1234"))
    with pytest.raises(RuntimeError, match=r"load\(\): the file is damaged: a storage is called "):
        gb.load(_file(_persistent(pid), data_0=b"1234"))


def test_storages_that_are_not_in_the_file_are_not_allocated() -> None:
    huge = _first(_persistent(("storage", 0, 1 << 40, "cpu")), storage_0=b"1234")
    tracemalloc.start()
    with pytest.raises(RuntimeError, match=r"a storage of 1099511627776 bytes came with 4 bytes"):
        gb.load(huge)
    with pytest.raises(RuntimeError, match="no item named 'storage/0'"):
        gb.load(_first(_persistent(("storage", 0, 4, "cpu"))))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert gb.load(_first(_persistent(("storage", 0, 4, "cpu")), storage_0=b"1234"))[0].nbytes == 4


def test_damaged_files_raise_an_error_that_says_so() -> None:
    draw = random.Random(7)
    stream = io.BytesIO()
    gb.save({"a": gb.arange(5), "b": [gb.ones(2, requires_grad=True), gb.Size([2]), {1, 2}]}, stream)
    whole = stream.getvalue()
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        if draw.random() < 0.3:
            del changed[draw.randrange(len(changed)) :]
        said = _refusal(bytes(changed))
        assert said is None or said.startswith(("load():", "pickle data", "unpickling", "invalid load", "could not"))


def _refusal(contents: bytes) -> str | None:
    """Return the message of the error that load raises; fail for an undocumented class."""
    try:
        gb.load(io.BytesIO(contents))
    except (RuntimeError, pickle.UnpicklingError) as error:
        return str(error)
    return None


def test_a_tensor_with_history_is_pickled_as_a_leaf_that_requires_grad() -> None:
    for x in (gb.ones(2, requires_grad=True) * 2, gb.ones(2, requires_grad=True)[:1]):
        y = pickle.loads(pickle.dumps(x))
        assert (y.requires_grad, y.is_leaf, y.tolist()) == (True, True, x.tolist())
        stream = io.BytesIO()
        gb.save(x, stream)
        stream.seek(0)
        assert gb.load(stream).requires_grad


def test_a_tensor_with_history_is_not_sent_to_another_process() -> None:
    leaf = gb.ones(2, requires_grad=True)
    assert pickle.loads(bytes(ForkingPickler.dumps([leaf])))[0].requires_grad
    for x in (leaf * 2, [leaf[:1]]):
        with pytest.raises(RuntimeError, match=r"cannot be sent to another process.*send tensor.detach\(\) instead"):
            ForkingPickler.dumps(x)
    assert not pickle.loads(bytes(ForkingPickler.dumps((leaf * 2).detach()))).requires_grad


class Named(gb.Tensor):
    """A subclass with attributes."""


def test_subclasses_keep_class_and_attributes() -> None:
    x = gb.ones(2).as_subclass(Named).requires_grad_()
    x.name = "weights"
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert (type(y), y.name, y.requires_grad, y.is_leaf) == (Named, "weights", True, True)
    assert copy.copy(x).data_ptr() == x.data_ptr() != copy.deepcopy(x).data_ptr()
    stream = io.BytesIO()
    gb.save(x, stream)
    stream.seek(0)
    loaded = gb.load(stream)
    assert (type(loaded), loaded.name) == (gb.Tensor, "weights")


def test_memo_indices_beyond_the_pickle_take_no_memory() -> None:
    tracemalloc.start()
    assert gb.load(_file(b"\x80\x04Nr\xff\xff\xff\xff.")) is None
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_directories_that_begin_before_the_file_are_refused(tmp_path: Path) -> None:
    whole = _file(pickle.dumps(3)).getvalue()
    path = tmp_path / "file"
    path.write_bytes(whole[:30] + whole[60:])
    with pytest.raises(RuntimeError, match="has a negative offset; the file is damaged"):
        gb.load(path)
    with pytest.raises(FileNotFoundError):
        gb.load(tmp_path / "missing")


def _tuples(depth: int, end: bytes) -> bytes:
    """Return a pickle that nests pairs of an empty tuple, then applies `end` to the outermost pair."""
    pairs = b"".join(b"h" + bytes([n]) + b"\x86\x94" if n else b"h\x00\x86\x94" for n in range(depth))
    return b"\x80\x04)\x94" + pairs + end


@pytest.mark.parametrize("end", [b"}h\x3cNs.", b"\x8f(h\x3c\x90.", b"(h\x3cN\x64.", b"(h\x3c\x91.", b"."])
def test_tuples_that_cannot_be_hashed_in_time_are_refused(end: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"tuples at byte \d+ that cannot be hashed in time"):
        gb.load(_file(_tuples(60, end)))


def test_tuples_that_share_members_are_loaded() -> None:
    found = gb.load(_file(_tuples(10, b"}h\x0aNs.")))
    (key,) = found
    assert len(key) == 2 and key[0] is key[1]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol_are_understood(protocol: int) -> None:
    shared = (1, "two", 3.0)
    members: list[Any] = [shared, [shared], {shared: shared, 2**70: None}]
    members += [2j, b"y" * 300, b"", {1, 2}, set(), frozenset({3}), bytearray(b"z")]
    value = (*members, shared, (), [], {}, True, False, -1, 256, 70000, 1.5, "x" * 300, [members] * 1000)
    assert repr(gb.load(_file(pickle.dumps(value, protocol)))) == repr(value)
