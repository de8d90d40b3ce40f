"""The static site: every link leads somewhere, every requirement has its anchor, no text of a record becomes markup."""

from __future__ import annotations

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import Browser, executable
from gaugeblock_conformance.command import main
from gaugeblock_reports.record import load_all, printable
from gaugeblock_reports.site import addresses, build, prose, tests_of_requirements
from gaugeblock_reports.site.inputs import Inputs, read
from gaugeblock_spec import operators, requirements
from sample_records import hostile, row, run

REPORTS = Path(__file__).parents[1]
BENCH = Path(__file__).parent / "data" / "bench_sample.json"
DEVIATIONS = {
    "README.md": "# Deviations\n\n[torch](torch-2/README.md) and [nowhere](../gone.md)\n",
    "torch-2/README.md": "# torch\n\n[one](views-x.md), `views/flip-copies`, erratum E-01\n",
    "torch-2/views-flip-copies.md": "# flip\n",
    "torch-2/views-x.md": "# x\n\n[chapter](../../../spec/gaugeblock_spec/views.md#flip-copies) "
    "<script>hurt()</script> [bad](javascript:hurt()) ![](http://127.0.0.1:9/x.png)\n\n[back](README.md)\n",
}


class Links(HTMLParser):
    """The targets of a page's links and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if found.get("id"):
            self.anchors.append(str(found["id"]))
        self.targets += [str(found[name]) for name in ("href", "src") if found.get(name) and tag != "use"]


def parsed(text: str) -> Links:
    links = Links()
    links.feed(text)
    return links


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    runs = [
        run(row("views/flip-copies"), row("views/expand-has-stride-zero", "xfailed"), name="torch"),
        run(row("views/flip-copies", "failed"), name="numpy"),
    ]
    return build.pages(Inputs(list(map(printable, runs)), load_all(BENCH), DEVIATIONS))


def check_links(site: dict[str, str]) -> None:
    """Every link that stays on the site leads to a page of it and, where it names one, to an anchor there."""
    pages = {path: parsed(text) for path, text in site.items() if path.endswith(".html")}
    for path, links in pages.items():
        assert len(links.anchors) == len(set(links.anchors)), f"{path} has an anchor twice"
        for target in links.targets:
            if target.startswith(("https:", "http:")) or path == addresses.REPORT:
                continue
            file, _, anchor = target.partition("#")
            found = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            assert found in site, f"{path} links to {target}"
            if anchor and found.endswith(".html") and found != addresses.REPORT:
                assert anchor in pages[found].anchors, f"{path} links to {target}"


def test_every_link_leads_to_a_page_and_an_anchor(site: dict[str, str]) -> None:
    check_links(site)


def test_links_of_the_pages_that_are_kept_with_the_project() -> None:
    folders = [REPORTS / name if (REPORTS / name).is_dir() else None for name in ("scoreboard", "deviations")]
    inputs = read(*folders)
    made = build.pages(inputs)
    check_links(made)
    for file in inputs.deviations:
        assert addresses.deviation(file) in made
        assert "<span>" not in made[addresses.deviation(file)].partition("<main")[2], f"{file} links to no page"


def test_every_requirement_has_its_anchor_its_sentence_and_its_tests(site: dict[str, str]) -> None:
    for identifier, requirement in requirements.load().items():
        page = site[addresses.chapter(requirement.area)]
        assert f'<article class="requirement" id="{requirement.slug}">' in page
        assert addresses.requirement(identifier) == f"spec/{requirement.area}.html#{requirement.slug}"
    found = tests_of_requirements.tests()
    assert set(found) == set(requirements.load())
    views = site["spec/views.html"]
    for test in found["views/flip-copies"]:
        assert f'href="../tests/{test.module}.html#L{test.line}"' in views
        assert f"def {test.name}(" in tests_of_requirements.modules()[test.module].splitlines()[test.line - 1]


def test_tests_that_are_found_are_those_that_the_suite_registers() -> None:
    from gaugeblock_conformance import requirement as registry

    registry.load_tests()
    registered = {name: {case.name for case in cases} for name, cases in registry.tests().items()}
    found = {name: {test.name for test in tests} for name, tests in tests_of_requirements.tests().items()}
    assert found == registered


def test_operators_and_errata(site: dict[str, str]) -> None:
    page = parsed(site[addresses.OPERATORS])
    assert set(operators.load()) <= set(page.anchors)
    assert "E-01" in parsed(site[addresses.ERRATA]).anchors
    assert 'href="errata.html#E-01"' in site["spec/views.html"]
    assert 'href="views.html#flip-copies"' in site[addresses.ERRATA]


def test_all_requirements_are_listed(site: dict[str, str]) -> None:
    page = site[addresses.REQUIREMENTS]
    assert page.count("data-words=") == len(requirements.load())
    assert page.count("data-group=") == len(requirements.chapters())
    assert set(parsed(page).targets) >= {addresses.requirement(identifier) for identifier in requirements.load()}


def test_pictures_stand_in_their_chapters(site: dict[str, str]) -> None:
    assert site["spec/views.html"].count('<svg xmlns="http://www.w3.org/2000/svg" class="gb-strides"') == 3
    assert "<img" not in "".join(site[path] for path in site if path.startswith("spec/"))
    assert prose.picture("pictures/../storage.md") is None and prose.picture("pictures/none.svg") is None


def test_runs_are_beside_their_requirements(site: dict[str, str]) -> None:
    views = site["spec/views.html"]
    assert '<li class="failed">failed: <bdi>numpy</bdi></li>' in views
    assert f'href="../{addresses.REPORT}#views/flip-copies"' in views
    assert '<a href="report.html#area=views' in site[addresses.SCOREBOARD]
    assert 'class="gb-chart"' in site[addresses.BENCHMARKS]


def test_deviations_are_pages(site: dict[str, str]) -> None:
    page = site["deviations/torch-2/views-x.html"]
    assert 'href="../../spec/views.html#flip-copies"' in page and 'href="index.html"' in page
    assert "javascript:" not in " ".join(parsed(page).targets) and "&lt;script&gt;hurt()" in page
    assert 'href="../../spec/errata.html#E-01"' in site["deviations/torch-2/index.html"]
    assert '<a href="../deviations/torch-2/views-flip-copies.html">torch-2</a>' in site["spec/views.html"]
    first = site[addresses.DEVIATIONS]
    assert ">nowhere<" in first and "gone" not in " ".join(parsed(first).targets)


def test_nothing_is_fetched_and_nothing_hostile_is_markup() -> None:
    made = build.pages(Inputs([printable(hostile())], [], {}))
    for path in ("spec/views.html", addresses.SCOREBOARD, addresses.INDEX):
        links = parsed(made[path])
        assert links.tags.count("script") == 1 and "img" not in links.tags
        assert not [target for target in links.targets if target.startswith(("javascript:", "http"))]
    outside = [path for path, text in made.items() if re.search(r'(?:src|href)="https?://', text)]
    assert not outside and "@import" not in made[addresses.STYLE] and "url(" not in made[addresses.STYLE]


def test_without_records_there_are_no_pages_about_them() -> None:
    made = build.pages(Inputs())
    assert not {addresses.SCOREBOARD, addresses.REPORT, addresses.BENCHMARKS, addresses.DEVIATIONS} & set(made)
    assert "Scoreboard" not in made[addresses.INDEX] and "Spec" in made[addresses.INDEX]


def test_command_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = tmp_path / "board" / "torch"
    board.mkdir(parents=True)
    (board / "record.json").write_text("{}")
    assert main(["site", "--out", str(tmp_path / "site"), "--scoreboard", str(tmp_path / "none")]) == 2
    assert main(["site", "--out", str(tmp_path / "site"), "--scoreboard", str(board.parent)]) == 2
    assert "schema is None" in capsys.readouterr().err
    (board / "record.json").unlink()
    arguments = ["--scoreboard", str(board.parent), "--bench", str(BENCH)]
    assert main(["site", "--out", str(tmp_path / "site"), *arguments]) == 0
    assert (tmp_path / "site" / "spec" / "views.html").is_file() and (tmp_path / "site" / "benchmarks.html").is_file()
    assert read(board.parent).runs == []
    (board / "bench.json").write_bytes(BENCH.read_bytes())
    assert len(read(board.parent).benches) == 1


def test_the_whole_report_has_the_charts_too(site: dict[str, str]) -> None:
    assert '<section id="benchmarks"' in site[addresses.REPORT] and "<figure" in site[addresses.REPORT]


@pytest.mark.skipif(executable() is None, reason="no Chromium is installed")
def test_pages_in_a_browser(site: dict[str, str], tmp_path: Path) -> None:
    for path, text in site.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    shown = (
        "index.html", "requirements.html", "spec/views.html", "operators.html", "scoreboard/index.html",
        "benchmarks.html", "deviations/torch-2/index.html", "tests/views.test_expand.html",
    )  # fmt: skip
    with Browser() as browser:
        for path in shown:
            for width in (390, 1280):
                with browser.page(f"file://{tmp_path / path}", width=width, dark=width == 390) as page:
                    assert page.complaints() == [], path
                    assert page.run("document.documentElement.scrollWidth") <= width, path
                    page.picture(tmp_path / "seen.png")
                    assert (tmp_path / "seen.png").stat().st_size > 5000
        with browser.page(f"file://{tmp_path / 'operators.html'}") as page:
            page.run("const form = document.getElementById('search'); form.q.value = 'add.tensor alpha'; 0")
            page.run("document.getElementById('search').dispatchEvent(new Event('input', {bubbles: true}))")
            seen = page.run("[...document.querySelectorAll('tbody tr:not([hidden]) summary')].map(s => s.textContent)")
            assert seen == ["add.Tensor"]
        with browser.page(f"file://{tmp_path / 'requirements.html'}") as page:
            page.run("const form = document.getElementById('search'); form.q.value = 'VIEW-012'; 0")
            page.run("form.kind.value = 'MUST'; form.dispatchEvent(new Event('input', {bubbles: true})); 0")
            seen = page.run("[...document.querySelectorAll('li:not([hidden]) a code')].map(one => one.textContent)")
            assert "flip-copies" in seen and len(seen) < 10
            assert page.run("document.querySelector('[data-group=storage]').hidden")
            assert page.run("document.querySelector('output').textContent").startswith(f"{len(seen)} of ")
        with browser.page(f"file://{tmp_path / 'spec/views.html'}#flip-copies") as page:
            assert page.run("document.querySelector(':target h3').textContent") == "flip-copies"
            before = page.run("getComputedStyle(document.body).backgroundColor")
            page.run("const theme = document.getElementById('theme'); theme.click(); theme.click(); 0")
            assert page.run("document.documentElement.dataset.theme") == "dark"
            assert page.run("getComputedStyle(document.body).backgroundColor") != before
