"""All pages of the site, by path."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gaugeblock_spec import requirements
from gaugeblock_spec.requirements import Chapter

from . import (
    addresses,
    benchmarks,
    chapters,
    documents,
    frame,
    home,
    operator_table,
    requirement_list,
    scoreboard,
    sources,
    tests_of_requirements,
)
from .inputs import Inputs

Body = Callable[[Collection[str]], str]
"""Makes the body of a page, given the paths that pages may link to."""


def pages(inputs: Inputs) -> dict[str, str]:
    """Path -> text of every file of the site."""
    bodies = {**_of_the_spec(inputs), **_of_tests(), **_of_deviations(inputs.deviations), **_of_records(inputs)}
    known = {*bodies, *([addresses.REPORT] if inputs.runs else [])}
    made = {path: frame.page(path, title, body(known), known) for path, (title, body) in bodies.items()}
    if inputs.runs:
        made[addresses.REPORT] = scoreboard.report([*inputs.runs, *inputs.benches])
    return {**made, addresses.STYLE: frame.style(), addresses.SCRIPT: frame.asset("site.js")}


def _of_the_spec(inputs: Inputs) -> dict[str, tuple[str, Body]]:
    verdicts = scoreboard.verdicts(inputs.runs) if inputs.runs else {}
    evidence = chapters.Evidence(verdicts, documents.deviations_by_requirement(inputs.deviations))
    found: dict[str, tuple[str, Body]] = {
        addresses.INDEX: ("Spec", lambda known: home.page(inputs, known)),
        addresses.REQUIREMENTS: ("Requirements", requirement_list.page),
        addresses.OPERATORS: ("Operators", lambda known: operator_table.page()),
    }
    for chapter in requirements.chapters().values():
        found[addresses.chapter(chapter.area)] = chapter.title, _chapter(chapter, evidence)
    for name, title in addresses.DOCUMENTS.items():
        found[addresses.chapter(name)] = title, _document(name)
    return found


def _of_tests() -> dict[str, tuple[str, Body]]:
    modules = tests_of_requirements.modules()
    return {addresses.tests(module): (module, _source(module, text)) for module, text in modules.items()}


def _of_deviations(texts: dict[str, str]) -> dict[str, tuple[str, Body]]:
    found: dict[str, tuple[str, Body]] = {
        addresses.deviation(file): (documents.title(text, file), _deviation(file, text)) for file, text in texts.items()
    }
    if found and addresses.DEVIATIONS not in found:
        found[addresses.DEVIATIONS] = "Deviations", lambda known: documents.deviations_list(texts)
    return found


def _of_records(inputs: Inputs) -> dict[str, tuple[str, Body]]:
    found: dict[str, tuple[str, Body]] = {}
    if inputs.runs:
        found[addresses.SCOREBOARD] = "Scoreboard", lambda known: scoreboard.page(inputs.runs)
    if inputs.benches:
        found[addresses.BENCHMARKS] = "Benchmarks", lambda known: benchmarks.page(inputs.benches)
    return found


def _chapter(chapter: Chapter, evidence: chapters.Evidence) -> Body:
    return lambda known: chapters.page(chapter, known, evidence)


def _document(name: str) -> Body:
    return lambda known: documents.page(name, known)


def _source(module: str, text: str) -> Body:
    return lambda known: sources.page(module, text, known)


def _deviation(file: str, text: str) -> Body:
    return lambda known: documents.deviation(file, text, known)
