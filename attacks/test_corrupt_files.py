"""Damaged files of every kind that the engine reads: none crashes it, hangs, exhausts memory or changes a result."""

from __future__ import annotations

import json
import os
import pickle
import resource
import runpy
import shutil
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import gaugeblock as gb
import pytest

FILES = 300
"""Damaged files of each kind at full scale."""
PROCESSES = 12
PROGRAM = Path(__file__).with_name("corrupt_files.py")
KINDS = runpy.run_path(str(PROGRAM))["KINDS"]
damaged = runpy.run_path(str(PROGRAM.with_name("corruption.py")))["damaged"]
DATA = Path(__file__).parents[1] / "reference" / "tests" / "data" / "allocator"
USE = """
import gaugeblock as gb
x = gb.arange(12, dtype=gb.float32).reshape(3, 4).requires_grad_()
(x.exp().sum() + (x @ x.T).sin().sum()).backward()
print(x.grad.tolist(), (gb.arange(5) * 3 % 4).tolist(), gb.sort(gb.tensor([3, 1, 2])).values.tolist())
"""
REFUSED = ("refused",)
REFUSED_OR_READ = ("refused", "read")


def use(cache: Path) -> str:
    """Return the results of a program whose cache is in a folder."""
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(cache)}
    limit = 8 << 30
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Return undamaged files of each kind."""
    folder = tmp_path_factory.mktemp("originals")
    cache = folder / "cache"
    use(cache)
    base = gb.arange(200, dtype=gb.float32)
    things = {"a": base[3:], "b": [base.view(10, 20).t(), gb.tensor([1 + 2j])], "c": (None, 5, "text", gb.float16)}
    gb.save(things, folder / "tensors")
    views = [base.view(20, 10)[::2], gb.ones(3, dtype=gb.int64), {"k": 1}]
    (folder / "tensors.pickle").write_bytes(pickle.dumps(views))
    return {
        "objects": sorted(cache.glob("*.o")),
        "rows": sorted(cache.glob("operators-*.rows")),
        "derivatives": sorted(cache.glob("derivatives-*.json")),
        "saved": [folder / "tensors"],
        "snapshots": [DATA / "torch_ring_buffer.pickle"],
        "traces": sorted(DATA.glob("*.json")),
        "pickles": [folder / "tensors.pickle"],
    }


Job = tuple[str, Path, Path]


def outcomes(jobs: list[Job]) -> Iterator[str]:
    """Yield the outcome of each job; after a job that ends its process, the rest run in a new one."""
    left = list(jobs)
    while left:
        given = "".join(json.dumps([kind, str(path), str(original)]) + "\n" for kind, path, original in left)
        done = subprocess.run([sys.executable, str(PROGRAM)], input=given, capture_output=True, text=True, timeout=1800)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found = [line["outcome"] for line in lines if "outcome" in line]
        yield from found
        left = left[len(found) :]
        if left:
            assert lines and "begun" in lines[-1], done.stderr[-2000:]
            yield f"the process ended with status {done.returncode}: {done.stderr[-300:]}"
            left = left[1:]


def judged(jobs: list[tuple[str, Job]], allowed: tuple[str, ...]) -> Counter[str]:
    """Return the count of each outcome; fail for one that is not allowed."""
    found = list(outcomes([job for _, job in jobs]))
    wrong = [f"{what}: {outcome}" for (what, _), outcome in zip(jobs, found, strict=True) if outcome not in allowed]
    assert not wrong, "\n".join(wrong)
    return Counter(found)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(
    kind: str, originals: dict[str, list[Path]], tmp_path: Path, scaled: Callable[[int], int]
) -> None:
    jobs: list[tuple[str, Job]] = []
    for number in range(scaled(FILES)):
        original = originals[kind][number % len(originals[kind])]
        damage, data = damaged(original.read_bytes(), f"{kind} {number}")
        path = tmp_path / str(number) / original.name
        path.parent.mkdir()
        path.write_bytes(data)
        path.chmod(0o600)
        jobs.append((f"{kind} {number}, {damage}", (kind, path, original)))
    found = judged(jobs, REFUSED if kind in ("objects", "rows", "derivatives") else REFUSED_OR_READ)
    assert found["refused"] > 0 or len(jobs) < 5


def test_a_damaged_cache_changes_no_result(
    originals: dict[str, list[Path]], tmp_path: Path, scaled: Callable[[int], int]
) -> None:
    cache = originals["objects"][0].parent
    expected = use(cache)
    for number in range(scaled(PROCESSES)):
        own = tmp_path / str(number)
        shutil.copytree(cache, own)
        names = sorted(path.name for path in own.iterdir())
        for name in names:
            (own / name).write_bytes(damaged((own / name).read_bytes(), f"{number} {name}")[1])
        assert use(own) == expected
        assert {path.name: path.read_bytes() for path in own.iterdir()} == {
            name: (cache / name).read_bytes() for name in names
        }


def test_objects_under_one_another_s_names_are_not_run(originals: dict[str, list[Path]], tmp_path: Path) -> None:
    objects = originals["objects"]
    shutil.copytree(objects[0].parent, tmp_path / "cache")
    for path, other in zip(objects, [*objects[1:], objects[0]], strict=True):
        (tmp_path / "cache" / path.name).write_bytes(other.read_bytes())
    assert use(tmp_path / "cache") == use(objects[0].parent)
    made_again = [(tmp_path / "cache" / path.name).read_bytes() for path in objects]
    assert made_again == [path.read_bytes() for path in objects]


def _zip(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("format", "gaugeblock-tensors/1")
        for name, data in members.items():
            archive.writestr(name, data)


def _storage(number: int, nbytes: int, place: str = "cpu") -> bytes:
    return pickle.dumps(("storage", number, nbytes, place), 4)[2:-1]


def _pickle(body: bytes) -> bytes:
    return b"\x80\x04" + body + b"."


def _overlapping(path: Path) -> None:
    """Write an archive with many members over the same bytes."""
    _zip(path, {"data.pkl": _pickle(b"N"), **{f"storage/{number}": b"" for number in range(100)}})
    data = bytearray(path.read_bytes())
    size = struct.pack("<I", 1 << 30)
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 20 : place + 28] = size * 2
        place = data.find(b"PK\x01\x02", place + 4)
    path.write_bytes(data)


CRAFTED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a bomb of zeros": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(b"N"), "storage/0": bytes(1 << 28)}, zipfile.ZIP_DEFLATED),
    ),
    "a pickle that is a bomb": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(b"\x8e" + struct.pack("<Q", 1 << 28) + bytes(1 << 28))}, 8),
    ),
    "a storage longer than its bytes": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(_storage(0, 1 << 40) + b"Q"), "storage/0": b"1234"}),
    ),
    "a storage of negative size": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(_storage(0, -1) + b"Q"), "storage/0": b""}),
    ),
    "members over one another": ("saved", _overlapping),
    "a memo of four thousand million places": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(b"Nr\xff\xff\xff\xffj\xfe\xff\xff\xff")}),
    ),
    "a text of 2**60 bytes": (
        "saved",
        lambda path: _zip(path, {"data.pkl": _pickle(b"\x8d" + struct.pack("<Q", 1 << 60) + b"abc")}),
    ),
    "a key that takes 2**60 steps to hash": (
        "saved",
        lambda path: _zip(
            path,
            {"data.pkl": _pickle(b")\x94" + b"".join(b"h%c\x86\x94" % number for number in range(60)) + b"}h\x3cNs")},
        ),
    ),
    "a snapshot of 2**60 bytes": (
        "snapshots",
        lambda path: path.write_bytes(_pickle(b"\x8e" + struct.pack("<Q", 1 << 60) + b"abc")),
    ),
    "a deep snapshot": ("snapshots", lambda path: path.write_bytes(_pickle(b"(" * 1_000_000))),
    "a deep trace": ("traces", lambda path: path.write_bytes(b"[" * 1_000_000)),
    "a long number": ("traces", lambda path: path.write_bytes(b'{"schema": ' + b"1" * 1_000_000 + b"}")),
    "a marshalled list of 2**31 rows": ("rows", lambda path: path.write_bytes(b"[\xff\xff\xff\x7f")),
    "a pipe": ("rows", lambda path: os.mkfifo(path, 0o600)),
    "an endless device": ("rows", lambda path: path.symlink_to("/dev/zero")),
    "a sparse file of a terabyte": ("objects", lambda path: (path.touch(0o600), os.truncate(path, 1 << 40))),
}
"""Malicious files: the kind they are read as, and a function that makes them."""


@pytest.mark.parametrize("name", CRAFTED)
def test_malicious_files(name: str, originals: dict[str, list[Path]], tmp_path: Path) -> None:
    kind, make = CRAFTED[name]
    original = originals[kind][0]
    path = tmp_path / original.name
    make(path)
    assert judged([(name, (kind, path, original))], REFUSED) == {"refused": 1}
