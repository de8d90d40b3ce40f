"""The HTML page as text: self-contained, escaped, complete, small."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_reports import html, json_text
from gaugeblock_reports.html import excerpts
from gaugeblock_reports.record import BUNDLE, RecordError, load, load_all
from gaugeblock_spec import requirements
from markdown_it import MarkdownIt
from sample_records import HOSTILE, HOSTILE_SVG, hostile, large, row, run


class Outline(HTMLParser):
    """Elements with their attributes, and the text of scripts by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or "code"
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data


def index(text: str) -> Any:
    return json.loads(Outline(text).scripts["index"])


def details(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(Outline(text).scripts["details"])))


def test_nothing_is_fetched() -> None:
    text = html.render([run(row("views/a"))])
    for tag, attributes in Outline(text).elements:
        assert tag not in ("link", "iframe", "object", "base"), tag
        for name in ("src", "srcset", "action", "poster"):
            assert name not in attributes, (tag, name)
        assert not (attributes.get("href") or "#").startswith(("http", "//")), attributes
    assert not re.search(r"@import|url\(", text)
    assert text.count("<script>") == 1


def test_one_run() -> None:
    text = html.render([run(row("views/a"), row("views/b", "failed"), row("dtypes/c", "xfailed", "SHOULD"))])
    found = index(text)
    assert found["runs"] == ["torch 2.13.0"]
    assert [entry[0] for entry in found["rows"]] == ["views/a", "views/b", "dtypes/c"]
    assert [entry[3] for entry in found["rows"]] == ["p", "f", "k"]
    assert "<bdi>torch 2.13.0</bdi>: 1 of 2 MUST hold, 1 broken, 1 SHOULD or MAY not met." in text
    told = details(text)
    assert told["rows"][1]["cells"][0]["failures"][0]["snippet"].startswith("import torch\n")
    assert told["rows"][0]["tests"] == ["module:3 test_it"]
    assert told["tests"]["module:3 test_it"]["code"].startswith("def test_it(s):")


def test_several_runs_are_aligned() -> None:
    first, second = run(row("views/a"), row("views/b", "crashed")), run(row("views/b"), row("views/c"), name="mine")
    text = html.render([first, second])
    assert [entry[3] for entry in index(text)["rows"]] == ["p-", "cp", "-p"]
    assert "torch and mine side by side" in text


def test_the_chapter_is_quoted_where_it_says_the_same() -> None:
    known = requirements.load()["views/expand-has-stride-zero"]
    told = row(known.id, sentence=known.sentence)
    (found,) = details(html.render([run(told)]))["rows"]
    assert found["chapter"]["section"] == known.section
    (found,) = details(html.render([run(row(known.id))]))["rows"]
    assert "chapter" not in found


def test_links_to_chapters() -> None:
    assert index(html.render([run(row("views/a"))], chapters="https://example.org/spec/"))["chapters"] == (
        "https://example.org/spec"
    )
    with pytest.raises(RecordError, match="an address of https, http or file"):
        html.render([run(row("views/a"))], chapters="javascript:alert(1)")


def test_records_without_the_later_fields_are_read() -> None:
    record = run(row("views/a"))
    del record["tests"]
    assert details(html.render([record]))["tests"] == {}


def test_hostile_texts_are_neither_markup_nor_lost() -> None:
    text = html.render([hostile(), hostile()])
    text.encode("utf-8")
    outline = Outline(text)
    assert list(outline.scripts) == ["index", "details", "code"]
    assert all(tag not in ("img", "image") for tag, _ in outline.elements)
    assert all(not name.startswith("on") for _, attributes in outline.elements for name in attributes)
    for words in HOSTILE[:5]:
        assert words not in text, words
    assert "\u202e" not in text
    assert "\x1b" not in text
    told = details(text)["rows"][0]
    assert HOSTILE[0] in told["cells"][0]["failures"][0]["message"]
    assert r"\x1b[31mred" in told["cells"][0]["failures"][0]["message"]
    assert "upstream" not in told["cells"][0]


def test_pictures_are_images() -> None:
    told = details(html.render([hostile()]))["rows"][0]["cells"][0]["pictures"][0]
    kind, _, data = told["source"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == HOSTILE_SVG


def test_ten_thousand_rows(tmp_path: Path, record_property: Any) -> None:
    (tmp_path / "record.json").write_text(json.dumps(large()))
    begin = time.process_time()
    text = html.render([load(tmp_path)])
    seconds = time.process_time() - begin
    size = len(text.encode())
    record_property("seconds", round(seconds, 2))
    record_property("megabytes", round(size / 1e6, 2))
    print(f"10,000 rows: {size / 1e6:.2f} MB in {seconds:.2f} s of processor time")
    assert size < 5_000_000
    assert len(index(text)["rows"]) == 10_000
    assert len(details(text)["tests"]) == 10_000


def test_json_goes_round(tmp_path: Path) -> None:
    records = [hostile(), run(row("views/a"))]
    path = tmp_path / "both.json"
    path.write_text(json_text.render(records))
    assert json.loads(path.read_text())["schema"] == BUNDLE
    assert load_all(path) == records
    path.write_text(json_text.render(records[:1]))
    assert load(path) == records[0]
    path.write_text(json.dumps({"schema": BUNDLE, "records": []}))
    with pytest.raises(RecordError, match=r"\$\.records: a list of records is needed"):
        load_all(path)
    path.write_text(json.dumps({"schema": BUNDLE, "records": [{"schema": "x"}]}))
    with pytest.raises(RecordError, match=r"\$\.records\[0\]: schema is 'x'"):
        load_all(path)


def test_prose_of_the_spec_refers_to_no_other_file() -> None:
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=excerpts.SelfContained)
    text = made.render(
        "[rows](operator_rows.md), [far](https://example.org/) and ![a *picture*](pictures/expanded.svg) "
        "![gone](pictures/none.svg) ![out](../x.svg) <b>no markup</b>"
    )
    assert "<span>rows</span>" in text
    assert '<a href="https://example.org/" rel="noreferrer noopener">far</a>' in text
    assert re.search(r'<img alt="a \*picture\*" src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+">', text)
    assert " gone out &lt;b&gt;" in text
