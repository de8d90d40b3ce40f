"""copy, deepcopy, pickle, save and load keep sharing."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest


def _through_file(value: Any) -> Any:
    stream = io.BytesIO()
    gb.save(value, stream)
    stream.seek(0)
    return gb.load(stream)


ROUTES: list[Callable[[Any], Any]] = [
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),
    _through_file,
]


@pytest.mark.parametrize("route", range(len(ROUTES)))
def test_sharing_survives(route: int) -> None:
    x = gb.arange(12, dtype=gb.float64).view(3, 4)
    a, b, c = ROUTES[route]([x, x[0], gb.ones(2)])
    assert a.untyped_storage() == b.untyped_storage() != c.untyped_storage()
    assert a.untyped_storage() != x.untyped_storage()
    b.fill_(-1)
    assert a[0].tolist() == [-1.0] * 4 and x[0, 1].item() == 1.0


@pytest.mark.parametrize("route", range(len(ROUTES)))
def test_a_view_brings_its_whole_storage(route: int) -> None:
    x = gb.arange(100)[10:20:3]
    y = ROUTES[route](x)
    assert (y.tolist(), y.stride(), y.storage_offset()) == (x.tolist(), (3,), 10)
    assert y.untyped_storage().nbytes() == 800


@pytest.mark.parametrize("route", range(len(ROUTES)))
@pytest.mark.parametrize("name", ["bool", "uint16", "int64", "bfloat16", "float16", "complex64"])
def test_values_and_flags_survive(route: int, name: str) -> None:
    x = gb.tensor([[1, 0], [1, 1]], dtype=getattr(gb, name)).t()
    y = ROUTES[route](x)
    assert (y.dtype, y.stride(), y.tolist()) == (x.dtype, x.stride(), x.tolist())
    z = gb.tensor([1 + 2j], requires_grad=True)
    copied = ROUTES[route](z)
    assert copied.requires_grad and copied.tolist() == [1 + 2j]
    assert ROUTES[route](gb.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_meta_and_empty_tensors_survive() -> None:
    for route in ROUTES:
        assert route(gb.empty(2, 3, device="meta")).shape == (2, 3)
        assert route(gb.zeros(0, 3)).shape == (0, 3)


def test_containers_and_dtypes(tmp_path: Path) -> None:
    value = {
        "x": gb.ones(2),
        "dtype": gb.int8,
        "nested": [(1, 2.5, None, "text", 3j), {True}],
        "size": gb.ones(2).shape,
    }
    place = tmp_path / "value.gb"
    gb.save(value, place)
    loaded = gb.load(place)
    assert loaded["dtype"] is gb.int8
    assert loaded["nested"] == value["nested"]
    assert loaded["size"] == (2,)


class Hostile:
    """An object whose pickle would run code."""

    def __reduce__(self) -> Any:
        return print, ("run",)


def test_load_refuses_code() -> None:
    with pytest.raises(pickle.UnpicklingError, match="print"):
        _through_file([Hostile()])


def test_load_refuses_other_files(tmp_path: Path) -> None:
    place = tmp_path / "other"
    place.write_bytes(b"not a zip file")
    with pytest.raises(RuntimeError, match="not a file written by save"):
        gb.load(place)
    for members, message in (
        ({"format": "something/9"}, "something/9"),
        ({"other": ""}, "it has 0 members FOLDER/data.pkl, not 1"),
        ({"a/data.pkl": "N.", "b/data.pkl": "N."}, "it has 2 members FOLDER/data.pkl, not 1"),
        ({"a/data.pkl": "N."}, "no item named 'a/version'"),
        ({"a/data.pkl": "N.", "a/version": "11"}, "the file has version '11', this version reads 1 to 10"),
        ({"a/data.pkl": "N.", "a/version": "x"}, "the file has version 'x'"),
        ({"a/data.pkl": "N.", "a/version": "3", "a/constants.pkl": ""}, "is a TorchScript archive"),
        ({"a/data.pkl": "N.", "a/version": "3", "a/byteorder": "big"}, "the file has big-endian storages"),
    ):
        with zipfile.ZipFile(place, "w") as archive:
            for name, contents in members.items():
                archive.writestr(name, contents)
        with pytest.raises(RuntimeError, match=message):
            gb.load(place)


def test_load_refuses_tensors_outside_their_storage() -> None:
    stream = io.BytesIO()
    gb.save(gb.arange(4), stream)
    source = zipfile.ZipFile(stream)
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, b"short" if name == "archive/data/0" else source.read(name))
    changed.seek(0)
    with pytest.raises(RuntimeError, match="32 bytes came with 5"):
        gb.load(changed)


def test_copy_is_another_tensor_on_the_same_storage() -> None:
    x = gb.zeros(3)
    y = copy.copy(x)
    assert y is not x and y.is_set_to(x)


@pytest.fixture
def saved_on_cuda() -> Iterator[io.BytesIO]:
    gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 26)
    stream = io.BytesIO()
    x = gb.arange(6, device="cuda:1")
    gb.save({"x": x, "part": x[2:4], "host": gb.ones(2), "outline": gb.empty(3, device="meta")}, stream)
    stream.seek(0)
    yield stream
    gb.cuda.use_driver(None)


LOCATIONS: list[tuple[Any, str, str]] = [
    (None, "cuda:1", "cpu"), ("cpu", "cpu", "cpu"), (gb.device("cpu"), "cpu", "cpu"), ("cuda:0", "cuda:0", "cuda:0"),
    ("cuda", "cuda:0", "cuda:0"), ({"cuda:1": "cuda:0"}, "cuda:0", "cpu"), ({"cuda:0": "cpu"}, "cuda:1", "cpu"),
    ({"cpu": "cuda:1", "cuda:1": "cpu"}, "cpu", "cuda:1"), (lambda storage, place: storage, "cpu", "cpu"),
    (lambda storage, place: None, "cuda:1", "cpu"),
]  # fmt: skip


@pytest.mark.parametrize(("location", "cuda", "host"), LOCATIONS)
def test_storages_go_where_map_location_says(location: Any, cuda: str, host: str, saved_on_cuda: io.BytesIO) -> None:
    found = gb.load(saved_on_cuda, map_location=location)
    assert [str(found[name].device) for name in ("x", "part", "host", "outline")] == [cuda, cuda, host, "meta"]
    assert found["x"].tolist() == list(range(6)) and found["host"].tolist() == [1.0, 1.0]
    found["part"].fill_(-1)
    assert found["x"].tolist() == [0, 1, -1, -1, 4, 5]


def test_load_says_how_to_load_without_the_device(saved_on_cuda: io.BytesIO) -> None:
    gb.cuda.use_driver("simulated", devices=1)
    with pytest.raises(RuntimeError, match=r"load\(\): a storage lies on cuda:1: .*map_location='cpu'"):
        gb.load(saved_on_cuda)
    assert gb.load(saved_on_cuda, map_location="cpu")["x"].sum().item() == 15


def test_map_location_is_checked(saved_on_cuda: io.BytesIO) -> None:
    for location in (7, {"cuda:1": 7}):
        with pytest.raises(TypeError, match=r"load\(\): argument 'map_location' must name devices, got int"):
            gb.load(saved_on_cuda, map_location=location)
    with pytest.raises(TypeError, match="must give an UntypedStorage or None, got str"):
        gb.load(saved_on_cuda, map_location=lambda storage, place: "cpu")
    with pytest.raises(RuntimeError, match="map_location gave 8 bytes for a storage of 48"):
        gb.load(saved_on_cuda, map_location=lambda storage, place: gb.UntypedStorage(8))


def test_a_storage_of_another_device_may_be_given(saved_on_cuda: io.BytesIO) -> None:
    def placed(storage: Any, place: str) -> Any:
        return gb.empty(storage.nbytes(), dtype=gb.uint8, device="cuda:0").untyped_storage()

    assert str(gb.load(saved_on_cuda, map_location=placed)["x"].device) == "cuda:0"


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    gb.save(gb.ones(3), tmp_path / "tensors")
    code = (
        "import resource, sys, gaugeblock as gb; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "for name in ('tensors', 'new'):\n"
        "    try: gb.save(gb.ones(100_000), f'{sys.argv[1]}/{name}')\n"
        "    except OSError as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OSError", "OSError"]
    assert [one.name for one in tmp_path.iterdir()] == ["tensors"]
    assert gb.load(tmp_path / "tensors").tolist() == [1.0, 1.0, 1.0]
