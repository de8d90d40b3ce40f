"""Charts of benchmark records: scales and ticks, what is drawn, and that no text gets out of its element."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_reports.charts import Figure, axes, charts, quantities
from gaugeblock_reports.charts.cases import pages
from gaugeblock_reports.charts.figure import WIDTH

SAMPLE = Path(__file__).parent / "data" / "bench_sample.json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SAMPLE.read_text())
    return loaded


def by_kind(figures: list[Figure]) -> dict[str, list[Figure]]:
    return {figure.kind: [one for one in figures if one.kind == figure.kind] for figure in figures}


def marks(root: ET.Element, kind: str) -> list[ET.Element]:
    return [one for one in root.iter() if kind in str(one.get("class", "")).split()]


def test_every_chart_is_a_named_picture_of_its_own(record: dict[str, Any]) -> None:
    made = charts(record)
    assert list(by_kind(made)) == ["ratios", "roof", "growth", "memory"]
    for figure in made:
        root = ET.fromstring(figure.svg)
        assert (root.tag, root.get("role"), root.get("aria-label")) == (f"{SVG}svg", "img", figure.title)
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None and title.text == figure.title
        assert description is not None and description.text
        width, height = map(float, str(root.get("viewBox")).split()[2:])
        assert width == WIDTH
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.get("x", 0)) <= width and 0 < float(text.get("y", 0)) <= height
        assert "http" not in figure.svg.replace("http://www.w3.org/2000/svg", "")
        ET.fromstring(figure.html())


def test_growth_has_a_point_for_each_size_and_the_fit_in_its_legend(record: dict[str, Any]) -> None:
    add = next(one for one in charts(record) if one.title == "add: time against size")
    root = ET.fromstring(add.svg)
    points = [len(line["points"]) for line in record["growth"] if line["operator"] == "add"]
    assert len(points) == len(marks(root, "gb-line")) == len(marks(root, "gb-fit")) == 2
    titles = [one.text for one in root.findall(f"{SVG}g/{SVG}title")]
    assert len(titles) == sum(points)
    assert "reference, size 1: 741 ns" in titles
    assert "reference: 726 ns + 45.6 GB/s" in [one.text for one in root.iter(f"{SVG}text")]
    assert not any(one.title.startswith("softmax") and "numpy" in one.svg for one in charts(record))


def test_ratios_have_whiskers_around_one(record: dict[str, Any]) -> None:
    small = ET.fromstring(by_kind(charts(record))["ratios"][0].svg)
    cases = [case for case in record["cases"] if case["suite"] == "overhead" and case["ratios"]]
    assert len(marks(small, "gb-whisker")) == len(marks(small, "gb-bar")) == len(cases)
    assert len(marks(small, "gb-base")) == 1
    labels = [one.text for one in small.iter(f"{SVG}text") if one.get("class") == "end"]
    assert set(labels) == {f"{case['operator']}, 16" for case in cases}
    assert "1 of numpy (unsupported)" in by_kind(charts(record))["ratios"][0].caption


def test_roof_and_memory(record: dict[str, Any]) -> None:
    kinds = by_kind(charts(record))
    assert [figure.title for figure in kinds["roof"]] == [
        "Share of the machine's bandwidth of a copy", "Share of the machine's rate of a matrix product",
    ]  # fmt: skip
    memory = ET.fromstring(kinds["memory"][0].svg)
    measured = sum(one.get("peak_bytes") is not None for case in record["memory"] for one in case["results"])
    assert len(marks(memory, "gb-least")) == len(marks(memory, "gb-bar")) == measured


def test_what_is_missing_has_no_chart(record: dict[str, Any]) -> None:
    empty = {**record, "cases": [], "growth": [], "memory": []}
    assert charts(empty) == []
    alone = copy.deepcopy(record)
    for case in alone["cases"]:
        case["ratios"] = []
        case["results"] = case["results"][:1]
    assert "ratios" not in by_kind(charts(alone)) and "growth" in by_kind(charts(alone))
    one_point = copy.deepcopy(record)
    for line in one_point["growth"]:
        line.update(points=line["points"][:1], overhead_seconds=None, rate=None)
    for line in one_point["growth"][:2]:
        line.update(points=[{"size": 0, "work": 0, "seconds": 1e-6}])
    for result in one_point["memory"][0]["results"]:
        del result["least_bytes"]
    assert all(ET.fromstring(figure.svg) is not None for figure in charts(one_point))


def test_hostile_texts_stay_text(record: dict[str, Any]) -> None:
    evil = "</title></style><script>alert(1)</script>\"'<![CDATA[\x1b[31m\u202e&amp;"
    hostile: dict[str, Any] = json.loads(json.dumps(record))
    hostile["options"]["against"] = evil
    for part in (*hostile["backends"], *hostile["growth"], *hostile["cases"], *hostile["memory"]):
        for name in ("label", "backend", "family", "operator", "layout", "dtype"):
            if name in part:
                part[name] = evil
        for result in (*part.get("results", ()), *part.get("ratios", ())):
            result.update(backend=evil)
    made = charts(hostile)
    assert len(made) >= 5
    for figure in made:
        root = ET.fromstring(figure.html())
        assert not [one for one in root.iter() if one.tag.rpartition("}")[2] == "script"]
        assert "<script" not in figure.html() and "\x1b" not in figure.html()


def test_long_lists_are_cut_into_charts(record: dict[str, Any]) -> None:
    long = copy.deepcopy(record)
    case = next(case for case in long["cases"] if case["suite"] == "throughput" and case["ratios"])
    long["cases"] = [{**case, "operator": f"operator{number}"} for number in range(60)]
    titles = [figure.title for figure in by_kind(charts(long))["ratios"]]
    assert titles == [f"Large tensors: time against reference ({page} of 3)" for page in (1, 2, 3)]
    assert [len(part) for _, part in pages(range(49))] == [16, 16, 17]
    assert [suffix for suffix, _ in pages(range(24))] == [""]


def test_scales() -> None:
    scale = axes.decades([7e-7, 2e-3], 0, 100)
    assert scale.ticks == pytest.approx([1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
    assert (scale(1e-7), scale(1e-2), scale(1e-9), scale(1.0)) == (0, 100, 0, 100)
    assert axes.decades([1.0], 0, 1).ticks == (1.0, 10.0)
    assert len(axes.decades([1e-12, 1e12], 0, 1).ticks) <= 8
    assert axes.doublings([0.4, 3.0], 0, 100).ticks == (0.25, 0.5, 1.0, 2.0, 4.0)
    assert axes.doublings([1.5], 0, 100)(1.0) == axes.doublings([1.5], 0, 100)(1.0)
    assert 1.0 in axes.doublings([1e-3, 1e5], 0, 100).ticks and len(axes.doublings([1e-3, 1e5], 0, 1).ticks) <= 10
    assert axes.linear(1.0, 0, 1, most=4).ticks == (0, 0.25, 0.5, 0.75, 1.0)
    assert axes.linear(0.0, 0, 1).high == 1.0
    assert axes.linear(4_033_312, 0, 1, most=4).ticks == (0, 2e6, 4e6, 6e6)


def test_quantities() -> None:
    assert [quantities.seconds(value) for value in (7.26e-7, 1e-6, 1.24e-5, 0.9999, 2.0, 3e-10)] == [
        "726 ns", "1 µs", "12.4 µs", "1 s", "2 s", "0.3 ns",
    ]  # fmt: skip
    assert [quantities.scaled(value, "B") for value in (0, 4, 1592, 4e6, 4.56e10)] == [
        "0 B", "4 B", "1.6 kB", "4 MB", "45.6 GB",
    ]  # fmt: skip
    assert [quantities.size(value) for value in (1, 1000, 1e6, 3e7)] == ["1", "1000", "1e6", "3e7"]
    assert [quantities.ratio(value) for value in (0.25, 0.45, 1, 16)] == ["1/4", "0.45", "1", "16"]
