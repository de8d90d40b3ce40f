"""Corrupt journals, expectation files and records: reported in a line with the file's name, or read correctly."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import expectations
from gaugeblock_conformance.journal import NAME, Journal, digest
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.runner.run import Options, once, validate
from gaugeblock_reports.record import RecordError, load

FAKES = Path(__file__).parents[1] / "conformance" / "tests" / "fakes"
JOURNALS, FILES, RECORDS, COMMANDS = 60, 30, 40, 12
LONGEST = 1000
"""Most characters of an error message."""
PATIENCE = 120
PROGRAM = (
    "import sys; from gaugeblock_conformance.commands import validate; validate.SUITE = 'fake_suite:fake'; "
    "from gaugeblock_conformance.command import main; sys.exit(main(sys.argv[1:]))"
)
DEEP = b"[" * 100_000
EXPECTED = b"""
[[expected]]
requirement = "views/neg"
reason = "a known deviation"
evidence = "seen on 1.2, 5 times"
devices = ["cpu"]

[[expected]]
requirement = "dtypes/negation"
reason = "another"
evidence = "seen too"
match = "wrong (value|dtype)"
"""

Corrupt = Callable[[bytes, random.Random], bytes]


class Nothing:
    """A reporter that prints nothing."""

    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def decided(self, row: Any) -> None: ...

    def finish(self) -> None: ...


def _flip(data: bytes, r: random.Random) -> bytes:
    place = r.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << r.randrange(8))]) + data[place + 1 :]


def _drop(data: bytes, r: random.Random) -> bytes:
    place = r.randrange(len(data))
    return data[:place] + data[place + r.randrange(1, 200) :]


def _insert(data: bytes, r: random.Random) -> bytes:
    place = r.randrange(len(data))
    return data[:place] + r.choice([b"\0" * 512, b"\xff", b"\n", b"{", b'"', b"\xef\xbb\xbf", DEEP]) + data[place:]


def _truncate(data: bytes, r: random.Random) -> bytes:
    return data[: r.randrange(len(data))]


def _repeat_line(data: bytes, r: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(r.randrange(len(lines) + 1), r.choice(lines))
    return b"".join(lines)


def _drop_line(data: bytes, r: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[r.randrange(len(lines))]
    return b"".join(lines)


def _shuffle_lines(data: bytes, r: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    r.shuffle(lines)
    return b"".join(lines)


def _number(data: bytes, r: random.Random) -> bytes:
    places = [match.span() for match in re.finditer(rb"\d+", data)]
    start, end = r.choice(places)
    return data[:start] + r.choice([b"7", b"-1", b"1e999", b"9" * 5000, b"NaN", b"true", b"[]"]) + data[end:]


def _word(data: bytes, r: random.Random) -> bytes:
    places = [match.span() for match in re.finditer(rb'"[^"\n]+"', data)]
    start, end = r.choice(places)
    return data[:start] + r.choice([b'""', b"null", b"3", b'"\\ud800"', b'"' + b"x" * 10**6 + b'"']) + data[end:]


CORRUPTIONS: tuple[Corrupt, ...] = (
    _flip, _drop, _insert, _truncate, _repeat_line, _drop_line, _shuffle_lines, _number, _word,
)  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run of the fake suite."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAKES))
        patch.setenv("PYTHONPATH", str(FAKES))
        options = Options("fake_backends:Wrong", folder, budget="quick", jobs=1, suite="fake_suite:fake")
        validate(options, Nothing())
    return folder


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """Return the requirements of the fake suite."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAKES))
        from fake_suite import fake

        return fake().requirements


def told(error: Exception, name: str) -> list[str]:
    """Return the faults of an error message, which must be one short line that names the file."""
    text = str(error)
    found = [] if name in text else [f"the file is not named: {text[:200]}"]
    return [*found, *([f"{len(text)} characters"] if len(text) > LONGEST else [])]


def test_journals(
    tmp_path: Path, scaled: Callable[[int], int], finished: Path, known: dict[str, Any]
) -> None:
    data = (finished / NAME).read_bytes()
    head, *lines = map(json.loads, data.splitlines())
    truth = [line["row"] for line in lines]
    found = []
    for seed in range(scaled(JOURNALS)):
        corrupt, r = CORRUPTIONS[seed % len(CORRUPTIONS)], random.Random(seed)
        (tmp_path / NAME).write_bytes(corrupt(data, r))
        what = f"{corrupt.__name__} {seed}"
        try:
            found += [f"{what}: the report: {lie}" for lie in _lies(load(tmp_path / NAME)["requirements"], truth)]
        except RecordError as error:
            found += [f"{what}: the report: {fault}" for fault in told(error, NAME)]
        try:
            with Journal.resume(tmp_path, head["configuration"], once(known)) as journal:
                found += [f"{what}: {lie}" for lie in _lies(journal.rows, truth)]
        except UsageProblem as error:
            found += [f"{what}: {fault}" for fault in told(error, NAME)]
    assert not found, "\n".join(found)


def _lies(rows: list[Any], truth: list[Any]) -> list[str]:
    found = [f"{row.get('id')} was not decided so" for row in rows if row not in truth]
    return [*found, *(["a row counts twice"] if len({row["id"] for row in rows}) < len(rows) else [])]


def _with_row(data: bytes, **fields: Any) -> bytes:
    """Return a journal with the row of a passed requirement changed and its digest made right."""
    head, *lines = data.splitlines(keepends=True)
    row = next(row for row in (json.loads(line)["row"] for line in lines) if row["status"] == "passed")
    line = {"row": {**row, **fields}}
    return head + json.dumps({**line, "digest": digest(line)}).encode() + b"\n"


LIES: tuple[dict[str, Any], ...] = (
    {"id": "views/nonesuch"}, {"id": None}, {"status": "perfect"}, {"status": "xpassed"}, {"status": "skipped"},
    {"level": "MAY"}, {"sentence": "Anything goes."}, {"examples": 0}, {"examples": -3}, {"examples": "many"},
    {"failure": {}}, {"further_failures": [3]}, {"seconds": None}, {"mood": "fine"}, {"tests": 3}, {"area": []},
)  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_false_rows_with_a_digest(tmp_path: Path, finished: Path, known: dict[str, Any], lie: dict[str, Any]) -> None:
    data = (finished / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(_with_row(data, **lie))
    with pytest.raises(UsageProblem, match=f"{NAME}:2: ") as caught:
        Journal.resume(tmp_path, json.loads(data.splitlines()[0])["configuration"], once(known))
    assert not told(caught.value, NAME)


def test_expectation_files(tmp_path: Path, scaled: Callable[[int], int], known: dict[str, Any]) -> None:
    file, found = tmp_path / "expected.toml", []
    for seed in range(scaled(FILES)):
        corrupt, r = CORRUPTIONS[seed % len(CORRUPTIONS)], random.Random(seed)
        file.write_bytes(corrupt(EXPECTED, r))
        try:
            expected = expectations.read(file, known, "cpu").expected
        except UsageProblem as error:
            found += [f"{corrupt.__name__} {seed}: {fault}" for fault in told(error, file.name)]
        else:
            found += [f"{corrupt.__name__} {seed}: {name} is expected" for name, _ in expected if name not in known]
    assert not found, "\n".join(found)


def test_records(tmp_path: Path, scaled: Callable[[int], int], finished: Path) -> None:
    data, found = (finished / "record.json").read_bytes(), []
    for seed in range(scaled(RECORDS)):
        corrupt, r = CORRUPTIONS[seed % len(CORRUPTIONS)], random.Random(seed)
        (tmp_path / "record.json").write_bytes(corrupt(data, r))
        try:
            load(tmp_path)
        except RecordError as error:
            found += [f"{corrupt.__name__} {seed}: {fault}" for fault in told(error, "record.json")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "perfect"), ("level", "WILL"), ("id", 3), ("examples", -1), ("failure", []), ("mood", "fine")],
)
def test_false_records(tmp_path: Path, finished: Path, field: str, value: Any) -> None:
    record = json.loads((finished / "record.json").read_bytes())
    record["requirements"][0][field] = value
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(RecordError, match=r"record\.json"):
        load(tmp_path)


def _command(arguments: list[str], folder: Path) -> list[str]:
    """Return the faults of how a command ends when it reads a corrupt file."""
    environment = {**os.environ, "PYTHONPATH": str(FAKES)}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, timeout=PATIENCE
    )
    last = done.stderr.decode().strip().splitlines()[-1:]
    found = [] if done.returncode in (0, 1, 2, 3) else [f"exit status {done.returncode}"]
    found += ["a traceback"] if b"Traceback" in done.stderr else []
    found += [f"{len(done.stderr)} bytes of errors"] if len(done.stderr) > 4 * LONGEST else []
    if done.returncode > 1 and not last[0].startswith("gaugeblock: "):
        found.append(f"no line of gaugeblock's: {last}")
    return [*found, *(["it hangs"] if time.monotonic() - started > PATIENCE / 2 else [])]


def test_commands(tmp_path: Path, scaled: Callable[[int], int], finished: Path) -> None:
    given = ["validate", "fake_backends:Wrong", "--budget", "quick", "--jobs", "1", "--no-snippet-check"]
    given += ["--out", "out"]
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "deep.toml").write_bytes(b"a = " + DEEP)
    found = []
    for name in ("deep.toml", "/dev/zero", "/dev/full", "out", "absent.toml"):
        found += [f"{name}: {fault}" for fault in _command([*given, "--expect", name], tmp_path)]
    for seed in range(scaled(COMMANDS)):
        corrupt, r = CORRUPTIONS[seed % len(CORRUPTIONS)], random.Random(1000 + seed)
        for name in (NAME, "record.json"):
            (out / name).write_bytes(corrupt((finished / name).read_bytes(), r))
        for arguments in ([*given, "--resume"], ["report", "out", "--format", "json"]):
            found += [f"{corrupt.__name__} {seed}: {arguments[0]}: {fault}" for fault in _command(arguments, tmp_path)]
    assert not found, "\n".join(found)


def test_records_that_list_a_requirement_twice(tmp_path: Path, finished: Path) -> None:
    record = json.loads((finished / "record.json").read_bytes())
    record["requirements"].append(record["requirements"][0])
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(RecordError, match="occurs twice"):
        load(tmp_path)
