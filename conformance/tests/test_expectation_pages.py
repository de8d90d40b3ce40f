"""Pages of what peers do: the committed ones are those that the rows make, and every shipped row can be shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gaugeblock_conformance import command
from gaugeblock_conformance.expectations import manifest, pages, peers
from gaugeblock_conformance.expectations.snippets import same, show

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "reports" / "deviations"


@pytest.mark.parametrize("folder", peers.load())
def test_every_shipped_row_can_be_shown(folder: str) -> None:
    peer = peers.load()[folder]
    for row in peer.rows:
        assert row.snippet or row.see, f"{folder}: {row.requirement} has neither 'snippet' nor 'see'"
    for row in peer.shown:
        lines = (row.snippet or "").strip().splitlines()
        assert len(lines) <= 10, f"{folder}: the snippet of {row.requirement} has {len(lines)} lines"
        assert max(map(len, lines)) <= 120
        assert "gaugeblock" not in (row.snippet or "")
        assert all(version.startswith(peer.version) for version in row.tried)
        for link in filter(None, (row.upstream, row.source)):
            assert link.startswith("https://")


def test_slugs_are_names_of_files() -> None:
    for peer in peers.load().values():
        slugs = [row.slug for row in peer.shown]
        assert len(set(slugs)) == len(slugs)
        assert all(slug.replace("-", "").isalnum() for slug in slugs)


def test_committed_pages_are_the_generated_ones(tmp_path: Path) -> None:
    """After a change of rows: ``gaugeblock deviations --out reports/deviations``."""
    pages.write(tmp_path, peers.load().values())
    made = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.md")}
    found = {path.relative_to(COMMITTED): path.read_text() for path in COMMITTED.rglob("*.md")}
    assert sorted(found) == sorted(made)
    assert found == made


def test_links_of_pages_lead_somewhere() -> None:
    for path in COMMITTED.rglob("*.md"):
        prose = "".join(path.read_text().split("```")[::2])
        for part in prose.split("](")[1:]:
            target = part.split(")")[0]
            if not target.startswith("https://"):
                file, _, slug = target.partition("#")
                assert (path.parent / file).is_file(), f"{path}: {target}"
                assert not slug or f"\n### {slug}\n" in (path.parent / file).read_text(), f"{path}: {target}"


def test_readme_counts_the_deviations_of_torch() -> None:
    counted = pages.by_area(peers.named("torch-2.13")[0], "deviation")
    total = sum(counted.values())
    words = ", ".join(f"{area} {count}" for area, count in counted.items())
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"{total} deviations of PyTorch 2.13" in text
    assert f"({words})" in text


def test_the_command_lists_writes_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["deviations", "dask"]) == 0
    assert "deviation  views/zero-size-dims-are-legal: " in capsys.readouterr().out
    assert command.main(["deviations", "dask-2026.8", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "dask-2026.8"]
    assert command.main(["deviations", "daks-2026.8"]) == 2
    assert "unknown peer 'daks-2026.8'; did you mean dask-2026.8?" in capsys.readouterr().err


def test_hostile_text_stays_in_its_place() -> None:
    peer = peers.named("dask")[0]
    row = peer.shown[0]
    odd = type(row)(row.requirement, "a | b", "e", snippet="```", got="``", tried=("2",))
    hostile = peers.Peer("numpy", "2", (odd,))
    assert "````python\n```\n````" in pages.page(hostile, hostile.rows[0])
    assert "| a \\| b |" in pages.listing(hostile)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs processes that fork")
def test_what_a_snippet_shows() -> None:
    shown = show(
        [
            "print(1)\nprint('two')",
            "print(1)\nraise ValueError('no\\nmore')",
            "import os, signal\nprint(1)\nos.kill(os.getpid(), signal.SIGSEGV)",
            "import json\njson.loads('[')",
            "import json\njson.seen = 1",
            "import json\nprint(hasattr(json, 'seen'))",
            "import time\ntime.sleep(60)",
            "print(",
        ],
        seconds=3.0,
    )
    assert shown[:3] == ["1\ntwo", "1\nValueError: no", "1\nSIGSEGV"]
    assert shown[3].startswith("json.decoder.JSONDecodeError: Expecting value")
    assert shown[4:7] == ["", "False", "no end after 3 s"]
    assert shown[7] == "SyntaxError: '(' was never closed"


def test_got_may_leave_out_the_end_of_a_line() -> None:
    assert same("1\nRuntimeError: no...", "1\nRuntimeError: no memory\n")
    assert not same("RuntimeError: no...", "RuntimeError: none?\nmore")
    assert not same("1", "2")
    assert not same("", "SIGSEGV")


def test_stale_rows_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    row = peers.named("dask")[0].shown[0]
    fields = {name: getattr(row, name) for name in ("requirement", "reason", "evidence")}
    wrong = type(row)(**fields, snippet="print(2)", expected="1", got="1", tried=("9.9+cpu",))
    peer = peers.Peer("numpy", "9", (wrong,))
    monkeypatch.setattr(peers.metadata, "version", lambda name: "9.9")
    (found,) = peers.stale(peer)
    assert str(found) == f"{row.requirement}: expected\n1\nand saw\n2"
    monkeypatch.setattr(peers.metadata, "version", lambda name: "9.8")
    with pytest.raises(peers.UsageProblem, match=r"no row of numpy-9 was tried on numpy 9\.8"):
        peers.stale(peer)


def test_a_missing_page_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(COMMITTED, tmp_path / "pages")
    written = pages.write(tmp_path / "pages", peers.load().values())
    assert {path.relative_to(tmp_path / "pages") for path in written} == {
        path.relative_to(COMMITTED) for path in COMMITTED.rglob("*.md")
    }


FILES = sorted(path for path in Path(manifest.__file__).parent.glob("*.toml") if "gradcheck" not in path.name)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_two_rows_are_for_the_same(path: Path, device: str) -> None:
    expected = manifest.read(path, peers.requirements(), device).expected
    assert all(not one.devices or device in one.devices for one in expected.values())
