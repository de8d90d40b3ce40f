"""Cached operator rows: they round-trip, and damaged ones are rebuilt."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock.kernels.object_cache import CacheFolder
from gaugeblock.operators.rows import Row, packed, rows, unpacked

TABLE = [
    Row(
        "f", "f(Tensor self) -> Tensor", None, None, (), ("function",), "pointwise", ("int8",), "same", "input", None,
        "f", None, None,
    ),
    Row(
        "g.out", "g() -> ()", "g_()", "g.o()", ("h", "k"), ("nn",), "view", (), "none", "bool", "exact",
        "g", "g_", "g.o",
    ),
]  # fmt: skip
USE = "import gaugeblock as gb; print(gb.ones(2).tolist(), len(gb.operators.rows.rows()))"


def test_rows_round_trip() -> None:
    assert unpacked(packed(TABLE, "origin"), "origin") == TABLE
    everything = list(rows().values())
    kept = unpacked(packed(everything, "origin"), "origin")
    assert kept == everything
    assert len({id(row.dtypes) for row in kept}) == len({row.dtypes for row in kept}) < len(kept)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        packed(TABLE, "another"),
        packed(TABLE, "origin")[:-1],
        packed(TABLE[:1], "origin")[:-20],
        marshal.dumps("origin"),
        marshal.dumps(("origin", TABLE[0].name, ())),
        marshal.dumps(("origin", [TABLE[0][:-1]])),
        marshal.dumps(("origin", [(*TABLE[0], None)])),
        marshal.dumps(("origin", [1, 2])),
    ],
)
def test_malformed_bytes_are_not_read(data: bytes) -> None:
    assert unpacked(data, "origin") is None


def _flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :]


DAMAGE = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "digest": lambda data: _flip(data, 3),
    "bit": lambda data: _flip(data, len(data) // 2),
    "last": lambda data: _flip(data, len(data) - 1),
    # A list that claims 2**31 - 1 members: a reader that believes it asks for 16 GB.
    "hostile": lambda data: b"[\xff\xff\xff\x7f",
    "marshal": lambda data: marshal.dumps(("origin", [("f",) * 11])),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_rows_are_made_again(damage: str, tmp_path: Path) -> None:
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(tmp_path)}
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({8 << 30},) * 2); {USE}"
    command = [sys.executable, "-c", limited]

    def use() -> str:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout

    expected = use()
    (place,) = tmp_path.glob("operators-*.rows")
    content = CacheFolder(tmp_path).read(place.name)
    assert content is not None
    place.write_bytes(DAMAGE[damage](place.read_bytes()))
    assert use() == expected
    assert CacheFolder(tmp_path).read(place.name) == content
