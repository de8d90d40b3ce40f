"""``gaugeblock allocator``: what it prints and writes, and how it ends."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock_tools.commands.allocator import command
from gaugeblock_tools.problem import ConfigProblem, SnapshotProblem
from gaugeblock_tools.trace_replay.trace import Trace
from gaugeblock_tools.trace_replay.trace_file import write_trace

DATA = Path(__file__).parent / "data" / "allocator"
RING = str(DATA / "torch_ring_buffer.pickle")
FRAGMENTS = str(DATA / "fragments.json")
MIB = 1 << 20


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="gaugeblock")
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def test_replay_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", RING) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "configuration          defaults"
    assert lines[1] == "device memory          without limit (--device-memory)"
    assert "failed when recorded   1, of which 1 are served here" in lines
    assert lines[-1].startswith("note: 3 blocks of 10.0 MiB held memory before the recording began")
    assert "events in" in printed.err


def test_replay_as_json(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert run("replay", FRAGMENTS, "--config", "expandable_segments:True", "--format", "json", "--out", str(out)) == 0
    value = json.loads(out.read_text())
    assert value["schema"] == "gaugeblock-allocator-report/1"
    assert value["config"] == "expandable_segments:True"
    assert value["events"] == 300
    assert value["out_of_memory"] == 0 and value["fits"] is True
    assert set(value["at_peak"]) >= {"reserved", "largest_free", "idle", "scattered", "rounded"}
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_trace_that_does_not_fit_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace()
    trace.alloc(100 * MIB)
    write_trace(trace, tmp_path / "trace.json")
    assert run("replay", str(tmp_path / "trace.json"), "--device-memory", "64MiB") == 1
    assert run("replay", str(tmp_path / "trace.json"), "--device-memory", "64MiB", "--sweep") == 1
    assert "none makes the trace fit either" in capsys.readouterr().out
    trace.device_memory = 64 * MIB
    write_trace(trace, tmp_path / "trace.json")
    assert run("replay", str(tmp_path / "trace.json")) == 1
    assert run("replay", str(tmp_path / "trace.json"), "--device-memory", "1GiB") == 0


def test_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", FRAGMENTS, "--sweep", "--device-memory", "8GiB") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "configuration peak reserved idle scattered mallocs retries failed".split()
    assert len([line for line in lines if line.endswith(" 0")]) == 18
    assert run("replay", FRAGMENTS, "--sweep", "--format", "json") == 0
    value = json.loads(capsys.readouterr().out)
    assert len(value["ranked"]) == 15 and len(value["left_out"]) == 3
    assert value["recommendation"]


def test_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert run("picture", RING, "--out", str(out)) == 0
    assert "at the snapshot" in out.read_text(encoding="utf-8")
    assert run("picture", RING, "--config", "", "--out", str(out)) == 0
    assert "when most was reserved" in out.read_text(encoding="utf-8")
    assert run("picture", FRAGMENTS, "--out", str(out)) == 0
    assert "Memory of a replay: fragments.json" in out.read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", RING) == 0
    assert capsys.readouterr().out.splitlines() == [
        "device, pool, stream, kind  segments  reserved  allocated   waiting      free  largest free",
        "0 stream 0 large                   2  80.0 MiB   67.9 MiB  3.00 MiB  9.09 MiB      8.09 MiB",
        "0 stream 0 small                   1  2.00 MiB   2.50 KiB       0 B  2.00 MiB      2.00 MiB",
        "",
        "82.0 MiB reserved, 17.2% of it idle; 11.1 MiB free in 3 blocks, 27.0% outside the largest",
        "entries recorded: 16, 0 (per device)",
        "",
        "in use, by the innermost line of the program:",
        "  forward (/home/u/model.py:40)  64.9 MiB  5 blocks",
        "  step (/home/u/train.py:61)     6.00 MiB  1 blocks",
        "  no stack                       1.00 KiB  1 blocks",
    ]
    assert run("show", RING, "--format", "json") == 0
    value = json.loads(capsys.readouterr().out)
    assert value["groups"][0] == {
        "device": 0,
        "pool": [0, 0],
        "stream": 0,
        "kind": "large",
        "segments": 2,
        "reserved": 80 * MIB,
        "allocated": 71_206_400,
        "waiting": 3 * MIB,
        "free": 9_533_952,
        "free_blocks": 2,
        "largest_free": 8_485_376,
    }


def test_one_line_for_each_mistake(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.pickle"
    hostile.write_bytes(b"cos\nsystem\n(S'touch executed'\ntR.")
    for words, message in (
        (("show", str(tmp_path / "none")), "none: cannot be read: No such file"),
        (("show", str(hostile)), "is refused at byte 0: GLOBAL names an object to import"),
        (("replay", str(hostile)), "is refused at byte 0"),
        (("picture", str(hostile), "--out", str(tmp_path / "x.html")), "is refused at byte 0"),
        (("replay", FRAGMENTS, "--sweep", "--config", "backend:native"), "--config is allowed without it"),
        (("picture", RING, "--out", str(tmp_path / "no" / "x.html")), "cannot be written: No such file"),
        (("picture", RING, "--out", ""), "cannot be written: Is a directory"),
        (("picture", RING, "--out", str(tmp_path)), "cannot be written: Is a directory"),
        (("picture", RING, "--out", str(tmp_path / "a\0b")), "cannot be written: embedded null"),
        (("picture", RING, "--out", str(tmp_path / ("x" * 300))), "cannot be written: File name too long"),
        (("show", str(tmp_path / "a\0b")), "cannot be read: embedded null"),
        (("replay", RING, "--device", "3"), "the snapshot has nothing of device 3; it has 0"),
    ):
        with pytest.raises(SnapshotProblem, match=message) as caught:
            run(*words)
        assert caught.value.exit_status == 2
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigProblem, match="max_split_size_mb:lots is not allowed") as wrong:
        run("replay", FRAGMENTS, "--config", "max_split_size_mb:lots")
    assert wrong.value.exit_status == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hostile.pickle"]


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", RING, "--device-memory", "24GB"),
        ("replay", RING, "--device", "x"),
        ("replay", RING, "--format", "xml"),
        ("replay", RING, "--mode", "other"),
        ("picture", RING),
        ("draw", RING),
    ],
)
def test_wrong_words_end_with_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2


def test_the_command_is_installed() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "gaugeblock_conformance", "allocator", "show", RING], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("device, pool, stream, kind")
    found = subprocess.run(
        [sys.executable, "-m", "gaugeblock_conformance", "allocator", "show", "absent"], capture_output=True, text=True
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "gaugeblock: absent: cannot be read: No such file or directory\n"
