"""Runs side by side: counts, names, sentences."""

from __future__ import annotations

from gaugeblock_reports import markdown, terminal
from gaugeblock_reports.matrix import labels, matrix, sentence, short_labels
from markdown_it import MarkdownIt
from sample_records import hostile, row, run

A = run(row("views/a"), row("views/b", "failed"), row("views/c", level="SHOULD"), row("dtypes/d", "skipped"))
B = run(row("dtypes/d", "xfailed", reason="known"), row("storage/e", "crashed"), name="mine", version="1")


def test_cells() -> None:
    found = matrix([A, B])
    assert found.areas == ["views", "dtypes", "storage"]
    assert [cell.text for cell in found.cells["views", "MUST"]] == ["1/2 !1", ""]
    assert [cell.text for cell in found.cells["dtypes", "MUST"]] == ["-1", "0/1 ~1"]
    assert [cell.text for cell in found.total("MUST")] == ["1/2 !1 -1", "0/2 ~1 !1"]
    assert [cell.text for cell in found.total("SHOULD")] == ["1/1", ""]
    assert found.levels("views") == ["MUST", "SHOULD"]


def test_sentences() -> None:
    assert sentence(A) == "torch 2.13.0: 1 of 2 MUST hold, 1 broken, 1 skipped"
    assert sentence(B) == "mine 1: 0 of 2 MUST hold, 1 known not to, 1 broken"
    assert sentence(run(row("views/a", "skipped"))) == "torch 2.13.0: nothing was checked"
    assert sentence(run(row("views/a"), row("views/b", "xpassed"))) == (
        "torch 2.13.0: 2 of 2 MUST hold, 1 held against expectation"
    )
    assert "(an unfinished run)" in sentence(run(row("views/a"), unfinished=True))


def test_names_are_told_apart() -> None:
    assert labels([A, B]) == ["torch 2.13.0", "mine 1"]
    assert labels([A, run(device="cuda")]) == ["torch 2.13.0 cpu", "torch 2.13.0 cuda"]
    assert labels([A, run(budget="quick")]) == ["torch 2.13.0 standard", "torch 2.13.0 quick"]
    assert labels([run(name="n" * 99)]) == [f"{'n' * 31}… 2.13.0"]
    assert labels([A, A]) == ["torch 2.13.0 (1)", "torch 2.13.0 (2)"]
    assert short_labels([A, B]) == ["torch", "mine"]
    assert short_labels([A, run(version="2.14")]) == ["2.13.0", "2.14"]


def test_texts_show_several_runs_side_by_side() -> None:
    text = terminal.render([A, B])
    assert text.startswith("torch 2.13.0: 1 of 2 MUST hold")
    assert ["views", "MUST", "1/2", "!1"] in [line.split() for line in text.splitlines()]
    told = markdown.render([A, B])
    assert told.startswith("# Side by side\n")
    assert "| views | MUST | 1/2 !1 |  |" in told


def test_hostile_names_stay_text() -> None:
    text = terminal.render([hostile(), A])
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")
    told = markdown.render([hostile(), A])
    told.encode("utf-8")
    for token in MarkdownIt("commonmark", {"html": True}).parse(told):
        for part in (token, *(token.children or ())):
            assert part.type not in ("html_block", "html_inline"), part.content
            assert "javascript" not in str(part.attrs.get("href", ""))
