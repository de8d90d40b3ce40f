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
    figures = charts(record)
    assert list(by_kind(figures)) == ["ratios", "roof", "growth", "memory"]
    for figure in figures:
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


def case(suite: str, operator: str, times: dict[str, float], **facts: Any) -> dict[str, Any]:
    """A case of a record; a time of 0 stands for an operator that is not offered."""
    measured = [{"backend": name, "status": "measured", "reason": "", "median": time, "share": None}
                for name, time in times.items() if time]  # fmt: skip
    absent = [{"backend": name, "status": "unsupported", "reason": "no"} for name, time in times.items() if not time]
    ratio = times["b"] / times["a"]
    ratios = [{"backend": "b", "against": "a", "ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1}]
    return {
        "id": f"{suite}/{operator}", "suite": suite, "operator": operator, "call": operator, "family": "pointwise",
        "layout": "contiguous", "dtype": "float32", "size": 1000, "results": [*measured, *absent],
        "ratios": ratios if ratio else [], **facts,
    }  # fmt: skip


def made(**parts: Any) -> dict[str, Any]:
    """What charts read of a record of backends a and b."""
    backends = [{"label": name, "name": name, "version": "1"} for name in "ab"]
    return {"options": {"against": "a"}, "backends": backends, "cases": [], "growth": [], "memory": [], **parts}


def test_growth_has_a_point_for_each_size_and_the_fit_in_its_legend() -> None:
    points = [{"size": 10**n, "work": 12 * 10**n, "seconds": 1e-6 + 1.2e-9 * 10**n} for n in range(8)]
    both = {"operator": "add", "family": "pointwise", "unit": "bytes", "points": points}
    fitted = {**both, "backend": "a", "overhead_seconds": 7.26e-7, "rate": 4.56e10}
    flat = {**both, "backend": "b", "overhead_seconds": 1.2e-5, "rate": None, "points": points[:3]}
    absent = {**both, "operator": "exp", "backend": "b", "overhead_seconds": None, "rate": None, "points": []}
    (figure,) = charts(made(growth=[fitted, flat, absent]))
    root = ET.fromstring(figure.svg)
    assert (len(marks(root, "gb-line")), len(marks(root, "gb-fit"))) == (2, 1)
    titles = [one.text for one in root.findall(f"{SVG}g/{SVG}title")]
    assert len(titles) == 8 + 3 and titles[0] == "a, size 1: 1 µs" and titles[7] == "a, size 1e7: 12 ms"
    assert {"a: 726 ns + 45.6 GB/s", "b: 12 µs"} <= {one.text for one in root.iter(f"{SVG}text")}
    assert "Dotted" in figure.caption
    assert "does not depend on the size" in charts(made(growth=[flat]))[0].caption


def test_ratios_have_whiskers_around_one() -> None:
    times = {"add": (1e-6, 2e-6), "exp": (1e-6, 2.5e-7), "tan": (1e-6, 0.0)}
    cases = [case("overhead", name, {"a": a, "b": b}) for name, (a, b) in times.items()]
    (figure,) = charts(made(cases=cases))
    root = ET.fromstring(figure.svg)
    assert len(marks(root, "gb-whisker")) == len(marks(root, "gb-bar")) == 2
    assert len(marks(root, "gb-base")) == 1
    assert [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "end"] == ["exp, 1000", "add, 1000"]
    said = [one.text for one in root.findall(f"{SVG}g/{SVG}title")]
    assert said == ["exp, 1000: b 0.25 (0.23 to 0.28)", "add, 1000: b 2.00 (1.80 to 2.20)"]
    left, right = (float(box.get("x", 0)) for box in marks(root, "gb-bar"))
    assert left < right
    assert figure.caption.endswith("Not measured: 1 of b (unsupported).")


def test_all_operators_are_counted_by_octaves_and_the_slowest_named() -> None:
    ratios = [0.01, 0.3, 0.5, 0.9, 1.0, 1.1, 3.0, 40.0]
    cases = [case("operators", f"op{k}", {"a": 1e-6, "b": ratio * 1e-6}) for k, ratio in enumerate(ratios)]
    figures = by_kind(charts(made(cases=[*cases, case("operators", "many", {"a": 1e-6, "b": 2e-6}, size=10**6)])))
    assert list(figures) == ["distribution", "slowest"]
    thousand, million = (ET.fromstring(figure.svg) for figure in figures["distribution"])
    said = [str(one.text) for one in thousand.findall(f"{SVG}g/{SVG}title")]
    assert said == [
        "below 1/8: b: 12.5 % of 8 cases", "1/8 to 1/4: b: 0.0 % of 8 cases", "1/4 to 1/2: b: 12.5 % of 8 cases",
        "1/2 to 1: b: 25.0 % of 8 cases", "1 to 2: b: 25.0 % of 8 cases", "2 to 4: b: 12.5 % of 8 cases",
        "4 to 8: b: 0.0 % of 8 cases", "8 to 16: b: 0.0 % of 8 cases", "16 and more: b: 12.5 % of 8 cases",
    ]  # fmt: skip
    assert "Geometric mean: b 0.81" in figures["distribution"][0].caption
    assert "2 to 4: b: 100.0 % of 1 cases" in [one.text for one in million.findall(f"{SVG}g/{SVG}title")]
    slowest = ET.fromstring(figures["slowest"][0].svg)
    labels = [one.text for one in slowest.iter(f"{SVG}text") if one.get("class") == "end"]
    assert labels[:3] == ["op7, 1000", "op6, 1000", "many, 1e6"]


def test_roof_and_memory() -> None:
    one = case("throughput", "add", {"a": 1.0, "b": 2.0}, size=10**6)
    one["results"][0]["share"] = {"roof": "copy", "share": 0.8}
    one["results"][1]["share"] = {"roof": "product", "share": 1.3}
    held = [{"backend": "a", "status": "measured", "peak_bytes": 8_000_000, "least_bytes": 4_000_000}]
    held.append({"backend": "b", "status": "measured", "peak_bytes": None, "least_bytes": 4_000_000})
    kinds = by_kind(charts(made(cases=[one], memory=[{**one, "results": held}])))
    assert [figure.title for figure in kinds["roof"]] == [
        "Share of the machine's bandwidth of a copy", "Share of the machine's rate of a matrix product",
    ]  # fmt: skip
    assert "add, 1e6: a 80%" in kinds["roof"][0].svg and "add, 1e6: b 130%" in kinds["roof"][1].svg
    memory = ET.fromstring(kinds["memory"][0].svg)
    assert len(marks(memory, "gb-least")) == len(marks(memory, "gb-bar")) == 1
    assert memory.findall(f"{SVG}g/{SVG}title")[0].text == "add, 1e6: a 8 MB, result 4 MB"


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
    figures = charts(hostile)
    assert len(figures) >= 5
    for figure in figures:
        root = ET.fromstring(figure.html())
        assert not [one for one in root.iter() if one.tag.rpartition("}")[2] == "script"]
        assert "<script" not in figure.html() and "\x1b" not in figure.html()


def test_long_lists_are_cut_into_charts() -> None:
    long = made()
    long["cases"] = [case("throughput", f"operator{number}", {"a": 1.0, "b": 2.0}) for number in range(60)]
    titles = [figure.title for figure in charts(long)]
    assert titles == [f"Large tensors: time against a ({page} of 3)" for page in (1, 2, 3)]
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
