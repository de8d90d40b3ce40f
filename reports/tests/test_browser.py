"""The HTML page in a real browser: what a reader does with it, and that no text of a backend does anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Page, executable
from gaugeblock_reports import html
from gaugeblock_reports.comparison.changes import compare
from gaugeblock_reports.comparison.formats import FORMATS
from gaugeblock_reports.record import load_all, printable
from sample_records import failure, hostile, large, row, run

pytestmark = pytest.mark.skipif(executable() is None, reason="no chromium is installed")

SAMPLE = Path(__file__).parent / "data" / "bench_sample.json"
IDS = "[...document.querySelectorAll('.row')].map(row => row.id)"
OPEN = "[...document.querySelectorAll('.row.open')].map(row => row.id)"
FOCUSED = "document.activeElement.closest('.row')?.id"
COUNT = "document.getElementById('count').textContent"

Opener = Callable[..., Page]


def two_runs() -> list[dict[str, Any]]:
    told = failure(verdict="crashed", message="the process ended with signal SIGFPE", output="Fatal Python error")
    first = run(
        row("views/kept"),
        row("views/lost", "failed"),
        row("views/gone", "crashed", failure=told),
        row("dtypes/known", "xfailed", "SHOULD", reason="rounds twice", upstream="https://example.org/1"),
        row("dtypes/left", "skipped", "MAY", reason="missing capability half"),
    )
    second = run(*(row(entry["id"], "passed", entry["level"]) for entry in first["requirements"]), name="mine")
    return [first, second]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    runs = two_runs()
    made = {
        "two": html.render([*runs, *load_all(SAMPLE)]),
        "hostile": html.render([hostile(), hostile()]),
        "large": html.render([large()]),
        "changes": FORMATS["html"](compare(*map(printable, reversed(runs)))),
    }
    found = {name: folder / f"{name}.html" for name in made}
    for name, text in made.items():
        found[name].write_text(text, encoding="utf-8")
    return found


@pytest.fixture
def opened(browser: Browser, pages: dict[str, Path]) -> Iterator[Opener]:
    """Opens a page by name; when the test is over, no page may have complained."""
    contexts = []

    def show(name: str, address: str = "", **view: Any) -> Page:
        context = browser.page(f"{pages[name].as_uri()}{address}", **view)
        contexts.append(context)
        page = context.__enter__()
        shown.append(page)
        return page

    shown: list[Page] = []
    yield show
    complaints = [complaint for page in shown for complaint in page.complaints()]
    for context in contexts:
        context.__exit__(None, None, None)
    assert not complaints


def click(page: Page, selector: str) -> None:
    page.run(f"document.querySelector({selector!r}).click()")


def chip(page: Page, words: str) -> None:
    page.run(f"[...document.querySelectorAll('#chips button')].find(b => b.textContent.includes({words!r})).click()")


def test_the_page_loads_without_complaint(opened: Opener) -> None:
    page = opened("two")
    assert page.run("document.title") == "torch 2.13.0 · mine 2.13.0 · gaugeblock"
    assert page.run(IDS) == ["views/kept", "views/lost", "views/gone", "dtypes/known", "dtypes/left"]
    assert page.run(COUNT) == "5 requirements"
    assert page.run("document.querySelectorAll('.matrix tbody tr').length") == 2


def test_filters(opened: Opener) -> None:
    page = opened("two")
    chip(page, "broken")
    assert page.run(IDS) == ["views/lost"]
    chip(page, "crashed")
    assert page.run(IDS) == ["views/lost", "views/gone"]
    assert page.run(COUNT) == "2 of 5 requirements"
    assert page.run("location.hash") == "#only=failed,crashed"
    page.run("run.value = '1', run.dispatchEvent(new Event('change'))")
    assert page.run(IDS) == []
    assert page.run("document.querySelector('.empty').textContent") == "No requirement fits these filters."
    click(page, "#clear")
    assert page.run("document.querySelectorAll('.row').length") == 5
    page.run("level.value = 'MAY', level.dispatchEvent(new Event('change'))")
    assert page.run(IDS) == ["dtypes/left"]
    click(page, "#clear")
    chip(page, "held and broken")
    page.until(f"{IDS}.length === 3")
    assert page.run(IDS) == ["views/lost", "views/gone", "dtypes/known"]
    click(page, "#clear")
    page.run("area.value = 'dtypes', area.dispatchEvent(new Event('change'))")
    assert page.run(IDS) == ["dtypes/known", "dtypes/left"]


def test_search_reads_ids_sentences_and_messages(opened: Opener) -> None:
    page = opened("two")
    for words, found in (
        ("LOST", ["views/lost"]),
        ("sigfpe signal", ["views/gone"]),
        ("rounds twice", ["dtypes/known"]),
        ("sentence about", ["views/kept", "views/lost", "views/gone", "dtypes/known", "dtypes/left"]),
        ("not there at all", []),
    ):
        page.run(f"q.value = {words!r}, q.dispatchEvent(new Event('input'))")
        page.until(f"JSON.stringify({IDS}) === JSON.stringify({found})")


def test_cells_of_the_matrix_are_filters(opened: Opener) -> None:
    page = opened("two")
    click(page, ".matrix tbody tr:nth-child(2) td:nth-child(2) a")
    page.until(f"{IDS}.length === 2")
    assert page.run("[area.value, run.value]") == ["dtypes", "0"]


def test_a_link_opens_its_requirement(opened: Opener) -> None:
    page = opened("two", "#views/gone")
    page.until(f"{OPEN}.includes('views/gone') && document.querySelector('.row.open pre')")
    told = page.run("document.querySelector('.row.open .detail').innerText")
    for words in ("the process ended with signal SIGFPE", "import torch", "(1, 2)", "Tensor(float32", "Tensor Views"):
        assert words in told, words
    top = page.run("document.querySelector('.row.open').getBoundingClientRect().top")
    assert 0 <= top < 500


def test_a_link_wins_over_a_filter_that_hides_it(opened: Opener) -> None:
    page = opened("two", "#area=dtypes")
    assert page.run(IDS) == ["dtypes/known", "dtypes/left"]
    page.run("location.hash = '#views/lost'")
    page.until(f"{OPEN}.includes('views/lost')")
    assert page.run("area.value") == ""


def test_a_link_into_the_middle_of_ten_thousand_rows(opened: Opener) -> None:
    page = opened("large", "#iteration/requirement-number-6000-of-many")
    page.until(f"{OPEN}.length === 1")
    page.until("Math.abs(document.querySelector('.row.open').getBoundingClientRect().top - 200) < 250")
    assert page.run("document.querySelectorAll('.row').length") < 2000
    assert page.run(COUNT) == "10,000 requirements"


def test_ten_thousand_rows_are_filtered_at_once(opened: Opener) -> None:
    page = opened("large")
    page.run("q.value = 'number-777', q.dispatchEvent(new Event('input'))")
    page.until(COUNT + " === '11 of 10,000 requirements'")
    took = page.run("(() => { const begin = performance.now(); clear.click(); return performance.now() - begin; })()")
    assert took < 2000
    page.run("window.scrollTo(0, document.body.scrollHeight)")
    page.until("document.querySelectorAll('.row').length > 100")


def test_keys(opened: Opener) -> None:
    page = opened("two")
    page.key("/")
    assert page.run("document.activeElement.id") == "q"
    page.key("j")
    assert page.run("q.value") == "j"
    page.until(COUNT + ".startsWith('0 of')")
    page.key("Escape")
    assert page.run("document.activeElement.id") != "q"
    page.key("Escape")
    assert page.run(COUNT) == "5 requirements"
    for name, found in (
        ("j", "views/kept"),
        ("j", "views/lost"),
        ("ArrowDown", "views/gone"),
        ("ArrowUp", "views/lost"),
        ("k", "views/kept"),
        ("k", "views/kept"),
    ):
        page.key(name)
        assert page.run(FOCUSED) == found, name
    page.key("Enter")
    assert page.run(OPEN) == ["views/kept"]
    assert page.run("location.hash") == "#views/kept"
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.key("Enter")
    assert page.run(OPEN) == []
    page.key("?")
    assert page.run("document.getElementById('keys').open") is True
    page.key("Escape")
    assert page.run("document.getElementById('keys').open") is False


def test_theme(opened: Opener) -> None:
    page = opened("two")
    colour = "getComputedStyle(document.body).backgroundColor"
    system = page.run(colour)
    page.key("t")
    assert page.run(colour) == system
    page.key("t")
    assert page.run(colour) != system
    assert page.run("document.getElementById('theme').textContent") == "Theme: dark"
    page.key("t")
    assert page.run(colour) == system
    assert opened("two", dark=True).run(colour) != system


def test_snippets_are_copied_whole(opened: Opener) -> None:
    page = opened("two", "#views/lost")
    page.until("document.querySelector('.row.open .code button')")
    page.run("window.kept = null; document.execCommand = () => (window.kept = document.activeElement.value, true)")
    page.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async () => { throw 1; }}})")
    click(page, ".row.open .code button")
    page.until("document.querySelector('.row.open .code button').textContent === 'Copied'")
    assert page.run("window.kept") == two_runs()[0]["requirements"][1]["failure"]["snippet"]


def test_tests_are_shown(opened: Opener) -> None:
    page = opened("two", "#views/kept")
    page.until("document.querySelector('.row.open details')")
    page.run("document.querySelector('.row.open .detail > details:last-of-type').open = true")
    page.until("document.querySelector('.row.open .detail').innerText.includes('def test_it(s):')")


@pytest.mark.parametrize("status", ["broken", "known", "kept", "left"])
def test_hostile_texts_do_nothing(opened: Opener, status: str) -> None:
    page = opened("hostile", f"#views/{status}")
    page.until("document.querySelector('.row.open .detail') && !document.body.innerText.includes('Unpacking')")
    page.run("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    page.run("new Promise(done => setTimeout(done, 100))")
    assert "<script>window.hurt=1;alert(1)</script>" in page.run("document.querySelector('.row.open').innerText")
    assert page.run("window.hurt") is None
    assert page.run("document.querySelectorAll('script').length") == 3
    assert page.run("[...document.querySelectorAll('a')].filter(a => a.protocol === 'javascript:').length") == 0
    pictures = page.run("[...document.images].map(image => image.complete && image.naturalWidth)")
    assert pictures == ([] if status == "left" else [40, 40])


def test_hostile_addresses_do_nothing(opened: Opener) -> None:
    page = opened("hostile", "#<img src=x onerror=window.hurt=1>")
    page.run("location.hash = '#q=' + encodeURIComponent('<img src=x onerror=window.hurt=1>')")
    page.until("q.value.includes('<img')")
    page.run("location.hash = '#%'")
    page.run("location.hash = '#run=length&area=%E0%A4%A'")
    page.run("location.hash = '#run=__proto__&only=constructor,__proto__'")
    page.run("new Promise(done => setTimeout(done, 100))")
    assert page.run("window.hurt") is None


@pytest.mark.parametrize("name", ["two", "hostile", "changes"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_overflows_the_screen(opened: Opener, name: str, width: int) -> None:
    for address in ("", "#views/broken" if name == "hostile" else "#views/gone"):
        page = opened(name, address, width=width, height=844)
        page.run("document.querySelectorAll('details').forEach(node => { node.open = true; })")
        page.run("new Promise(done => setTimeout(done, 150))")
        assert page.run("[document.documentElement.scrollWidth, innerWidth]") == [width, width]


def test_a_comparison_shows_what_changed(opened: Opener) -> None:
    page = opened("changes")
    assert page.run(IDS) == ["views/lost", "views/gone", "dtypes/known", "dtypes/left"]
    assert page.run("[...document.querySelectorAll('.change')].map(node => node.textContent)") == [
        "newly broken", "newly broken", "newly broken", "newly skipped",
    ]  # fmt: skip
    chip(page, "newly skipped")
    assert page.run(COUNT) == "3 of 5 requirements"
    page.until(f"{IDS}.length === 3")


def test_it_can_be_printed(opened: Opener) -> None:
    page = opened("two")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(OPEN) == ["views/lost", "views/gone"]
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(OPEN) == []


def test_names_for_those_who_do_not_see(opened: Opener) -> None:
    page = opened("two", "#views/gone")
    page.until(f"{OPEN}.length === 1")
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]]
    buttons = [name for role, name in named if role == "button"]
    assert all(name.strip() for name in buttons)
    assert any("views/gone"[6:] in name and "torch 2.13.0: crashed" in name for name in buttons)
    for role in ("searchbox", "combobox", "main", "table", "heading", "list"):
        assert any(found == role for found, _ in named), role
    assert all(name for role, name in named if role in ("searchbox", "combobox", "image", "region"))
