"""The record of mutants: journalled, resumed, merged of shards, and told as text."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.journal import digest
from gaugeblock_conformance.mutants import __main__ as command
from gaugeblock_conformance.mutants import run
from gaugeblock_conformance.mutants.mutant import CLASSES, Mutant
from gaugeblock_conformance.mutants.record import build, classes, merged, must, read, schema, unproven
from gaugeblock_conformance.mutants.run import Children, HarnessProblem, Trials
from gaugeblock_conformance.mutants.scout import Scouted, key, scout, usable
from gaugeblock_conformance.mutants.table import table
from gaugeblock_conformance.mutants.text import classes as class_table
from gaugeblock_conformance.mutants.text import markdown
from gaugeblock_conformance.problem import UsageProblem

FACTS = {
    "base": "numpy", "version": "2", "budget": "quick", "seed": 0, "suite_version": "1", "spec_version": "1",
    "selection": "all", "platform": "x", "python": "3", "cpu": "x", "cores": 2, "started": "now",
}  # fmt: skip


def _row(name: str, status: str = "caught", examples: int = 3, requirements: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "name": name, "status": status, "verdict": "failed" if status == "caught" else "", "test": "views.t.t",
        "target": (requirements or (must()[0],))[0] if status == "caught" else "",
        "requirements": list(requirements or (must()[0],)), "examples": examples, "tried": 5, "seconds": 0.5,
        "text": "wrong",
    }  # fmt: skip


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Scouted]:
    """Every test of views holds for NumPy and calls ``t`` and ``transpose``, as far as children are told."""
    right = discovery.load(discovery.resolve("numpy"))
    called = frozenset({"t", "transpose.int"})
    found = {key(case): Scouted(True, called, 0.0, False) for _, case in usable(right, ("views",))}
    monkeypatch.setattr(run, "scout", lambda right, area, seed, at, risky=False: iter(found.items()))
    return found


def _mutants(*names: str) -> dict[str, Mutant]:
    breaks = (must()[0],)
    return {name: Mutant(name, CLASSES[k % 2], breaks, ("neg",), lambda c: c.right()) for k, name in enumerate(names)}


def test_record_counts_by_class_and_requirement() -> None:
    rows: list[Any] = [_row("a", examples=2), _row("b", "missed"), _row("c", examples=9), _row("gone")]
    rows.append(_row("d", "elsewhere", requirements=("views/flip-copies",)))
    rows.append({"requirement": must()[1], "mutant": "a", "named": True, "tried": 4})
    rows.append({"requirement": must()[2], "mutant": "", "named": False, "tried": 9})
    rows.append({"requirement": must()[3], "mutant": "c", "named": False, "tried": 7})
    record = build(FACTS, _mutants("a", "b", "c", "d", "e"), rows)
    jsonschema.validate(record, schema())
    assert record["classes"] == [
        {"class": CLASSES[0], "mutants": 2, "caught": 2, "median_examples": 5.5},
        {"class": CLASSES[1], "mutants": 2, "caught": 0, "median_examples": None},
    ]
    assert record["environment"]["complete"] is False
    assert [r["by"] for r in record["requirements"]] == ["first", "alone", "none", "other"]
    assert classes(record["mutants"]) == record["classes"]
    page = markdown(record)
    assert "4 of 5 in the table" in page
    assert f"- `b`, which breaks `{must()[0]}`: missed wrong" in page
    assert f"- `d`, which breaks `{must()[0]}`: by `views/flip-copies` alone wrong" in page
    assert f"- `{must()[2]}` (9 tried)" in page
    assert f"- `{must()[3]}`: `c`" in page
    assert "| all" in class_table(record)


def test_requirements_left_to_be_tried_alone() -> None:
    rows = [_row("a", requirements=("x/one",)), _row("b", "missed", requirements=("x/two",))]
    rows.append({"requirement": "x/three", "mutant": "", "named": False, "tried": 1})
    assert unproven(["x/one", "x/two", "x/three"], rows) == ["x/two"]


def test_shards_are_merged() -> None:
    mutants = _mutants("a", "b")
    alone: Any = [{"requirement": must()[1], "mutant": "", "named": False, "tried": 4}]
    found: Any = [{"requirement": must()[1], "mutant": "b", "named": True, "tried": 2}]
    first, second = build(FACTS, mutants, [_row("a"), *found]), build(FACTS, mutants, [_row("b"), *alone])
    record = merged([first, second], mutants)
    assert record["environment"]["complete"] is True
    assert [r["by"] for r in record["requirements"]] == ["first", "alone"]
    other = build({**FACTS, "seed": 1}, mutants, [])
    with pytest.raises(UsageProblem, match="seed is 0 and 1"):
        merged([first, other], mutants)


def test_command_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--base", "numpy", "--budget", "quick", "--jobs", "1", "--out", str(tmp_path)]
    names = ["--only", "transpose-copies", "--only", "select-is-off-by-one"]
    assert command.main([*given, *names, "--shard", "1/2"]) == 0
    record = read(tmp_path / "record.json")
    jsonschema.validate(record, schema())
    assert [row["name"] for row in record["mutants"]] == ["transpose-copies"]
    journal = tmp_path / "journal.jsonl"
    lines = journal.read_text().splitlines()
    first = json.loads(lines[0])
    del first["digest"]
    first["configuration"]["selection"] = ", ".join(names[1::2])
    journal.write_text("\n".join([json.dumps({**first, "digest": digest(first)}), *lines[1:]]) + "\n")
    capsys.readouterr()
    assert command.main([*given, *names, "--resume"]) == 0
    told = capsys.readouterr()
    assert "1/1 caught" in told.err
    assert "2 of 2 mutants caught by what they break" in told.out
    assert command.main([*given, "--resume"]) == 2
    journal.unlink()
    assert command.main([*given, *names, "--resume", "--shard", "1/2"]) == 2
    assert "it was run with selection" in capsys.readouterr().err
    assert command.main([*given, *names, "--resume"]) == 0
    assert "caught transpose" not in capsys.readouterr().err
    assert command.main(["--merge", str(tmp_path / "record.json"), "--out", str(tmp_path / "all")]) == 0
    assert len(read(tmp_path / "all" / "record.json")["mutants"]) == 2
    with pytest.raises(SystemExit):
        command.main(["--shard", "3/2"])


def test_death_in_a_known_test_is_a_verdict(
    die: Callable[[int], None], known: dict[str, Scouted], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks = ("views/transpose-permutes-metadata",)
    crashing = Mutant("crashing", CLASSES[0], breaks, ("t",), lambda c: die(signal.SIGABRT))
    monkeypatch.setitem(table(), "crashing", crashing)
    (result,) = Children(Trials("numpy", "quick", scouted_from=1), 1).run([crashing])
    assert (result.status, result.verdict) == ("caught", "crashed")
    assert result.target == "views/transpose-permutes-metadata"


def test_death_in_another_test_does_not_catch(
    die: Callable[[int], None], known: dict[str, Scouted], monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = Mutant("crashing", CLASSES[0], ("views/hash-is-identity",), ("t",), lambda c: die(signal.SIGABRT))
    monkeypatch.setitem(table(), "crashing", crashing)
    (result,) = Children(Trials("numpy", "quick", scouted_from=1), 1).run([crashing])
    assert (result.status, result.verdict, result.target) == ("elsewhere", "crashed", "")


def test_hang_in_a_known_test_is_a_verdict(known: dict[str, Scouted], monkeypatch: pytest.MonkeyPatch) -> None:
    breaks = ("views/transpose-permutes-metadata",)
    hanging = Mutant("hanging", CLASSES[0], breaks, ("t",), lambda c: time.sleep(60))
    monkeypatch.setitem(table(), "hanging", hanging)
    (result,) = Children(Trials("numpy", "quick", patience=2.0, scouted_from=1), 1).run([hanging])
    assert (result.status, result.verdict, result.text) == ("caught", "timeout", "no verdict in 2 s")


def test_death_of_the_right_backend_fails_the_session(
    die: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(right: Any, area: str, seed: int, at: Any, risky: bool = False) -> Iterator[tuple[str, Scouted]]:
        at(f"{area}.test_x.test_y")
        die(signal.SIGABRT)
        yield

    monkeypatch.setattr(run, "scout", dies)
    children = Children(Trials("numpy", "quick"), 1)
    with pytest.raises(HarnessProblem, match=r"numpy itself: views.test_x.test_y: the process ended by SIGABRT"):
        children.scout(["views"])


def test_requirement_is_proven_by_a_mutant(known: dict[str, Scouted]) -> None:
    (proof,) = Children(Trials("numpy", "quick"), 1).prove(["views/transpose-permutes-metadata"])
    assert proof.named
    assert "views/transpose-permutes-metadata" in table()[proof.mutant].breaks


def test_scout_hears_what_a_test_calls() -> None:
    right = discovery.load(discovery.resolve("numpy"))
    begun: list[str] = []
    name, scouted = next(scout(right, "views", 0, begun.append))
    assert begun == [name]
    assert name.startswith("views.test_")
    assert scouted.holds and scouted.operators and not scouted.sweeps


ROOT = Path(__file__).parents[2]


def test_readme_shows_the_kept_record() -> None:
    record = read(ROOT / "reports" / "mutants" / "record.json")
    jsonschema.validate(record, schema())
    assert class_table(record) in (ROOT / "README.md").read_text(encoding="utf-8"), class_table(record)
    assert (ROOT / "reports" / "mutants" / "mutants.md").read_text(encoding="utf-8") == markdown(record)


def test_kept_record_is_of_the_mutants_there_are() -> None:
    """A record of a part of them, whose rest is still to be tried, is told as such in the README."""
    record = read(ROOT / "reports" / "mutants" / "record.json")
    tried = [row["name"] for row in record["mutants"]]
    assert set(tried) <= set(table())
    assert {row["id"] for row in record["requirements"]} <= set(must())
    if not record["environment"]["complete"]:
        told = f"The record is of {len(tried):,} of the {len(table()):,} mutants"
        assert told in (ROOT / "README.md").read_text(encoding="utf-8"), told
        return
    how = "nox -s mutants -- --resume --proof --out reports/mutants"
    assert set(tried) == set(table()), f"{how} tries new mutants and forgets old ones"
    assert [row["name"] for row in record["mutants"] if row["status"] != "caught"] == []
