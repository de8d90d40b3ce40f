"""A chapter as a page: prose, and each requirement with its facts, example, tests, and what runs made of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from gaugeblock_spec import capabilities, requirements
from gaugeblock_spec.requirements import Chapter, Requirement

from . import addresses, prose
from .tests_of_requirements import Test, tests


@dataclass(frozen=True)
class Evidence:
    """By requirement: name and status of each run that was made of it, and the files about deviations from it."""

    verdicts: dict[str, Sequence[tuple[str, str]]]
    deviations: dict[str, list[str]]


def page(chapter: Chapter, known: Collection[str], evidence: Evidence) -> str:
    """The body of the page."""
    path = addresses.chapter(chapter.area)
    counted = ", ".join(
        f"{count} {level}"
        for level in ("MUST", "SHOULD", "MAY")
        if (count := sum(requirement.level == level for requirement in chapter.requirements))
    )
    links = "".join(
        f'<li><a href="#{prose.anchor(section.title)}">{prose.sentence(section.title, path)}</a>'
        f"{f' <small>{len(section.requirements)}</small>' if section.requirements else ''}</li>"
        for section in chapter.sections
    )
    parts = [
        f'<section class="hero"><h1>{escape(chapter.title)}</h1><p class="note">{counted}</p></section>',
        f'<nav class="contents" aria-label="Sections"><ul>{links}</ul></nav>',
        f'<div class="text">{prose.render(chapter.prose, path, "spec", known)}</div>',
    ]
    for section in chapter.sections:
        title = prose.sentence(section.title, path, known)
        parts.append(f'<section class="part"><h2 id="{prose.anchor(section.title)}">{title}</h2>')
        parts.append(f'<div class="text">{prose.render(section.prose, path, "spec", known)}</div>')
        parts += [_requirement(one, path, known, evidence) for one in section.requirements]
        parts.append("</section>")
    return "\n".join([*parts, _neighbours(chapter.area, path)])


def _requirement(one: Requirement, path: str, known: Collection[str], evidence: Evidence) -> str:
    needs = ", ".join(
        f'<abbr title="{escape(capabilities.load()[name])}">{escape(name)}</abbr>' for name in one.capabilities
    )
    facts = [
        f'<b class="lv {one.level}">{one.level}</b>',
        f"<span>needs {needs}</span>",
        f"<span>{escape(', '.join(one.origin))}</span>",
        f"<span>{prose.sentence(one.source, path, known)}</span>",
    ]
    examples = "".join(f"<pre>{_session(example)}</pre>" for example in one.examples)
    return (
        f'<article class="requirement" id="{one.slug}"><h3><a href="#{one.slug}">{one.slug}</a></h3>'
        f'<p class="sentence">{prose.sentence(one.sentence, path, known)}</p>'
        f'<p class="facts">{"".join(facts)}</p>{examples}'
        f"{_checks(tests().get(one.id, []), path, known)}{_deviations(evidence.deviations.get(one.id, ()), path)}"
        f"{_runs(one, path, known, evidence.verdicts.get(one.id, ()))}</article>"
    )


def _neighbours(area: str, path: str) -> str:
    """Links to the chapters before and after."""
    place = requirements.AREAS.index(area)
    links = []
    for word, near in (("Before", place - 1), ("Next", place + 1)):
        if 0 <= near < len(requirements.AREAS):
            other = requirements.chapters()[requirements.AREAS[near]]
            link = addresses.relative(addresses.chapter(other.area), path)
            links.append(f'<a href="{link}"><small>{word}</small> {escape(other.title)}</a>')
    return f'<nav class="neighbours" aria-label="Chapters">{"".join(links)}</nav>'


def _session(example: str) -> str:
    """An example in which what Python answers is set apart from what is typed."""
    return "\n".join(
        escape(line) if line.startswith((">>>", "...")) else f'<span class="c">{escape(line)}</span>'
        for line in example.rstrip("\n").split("\n")
    )


def _checks(found: Sequence[Test], path: str, known: Collection[str]) -> str:
    links = []
    for test in found:
        page = addresses.tests(test.module)
        if page in known:
            link = addresses.relative(f"{page}#L{test.line}", path)
            links.append(f'<a href="{link}" title="{escape(test.module)}"><code>{escape(test.name)}</code></a>')
    if not links:
        return ""
    return f'<p class="checks">Checked by {", ".join(links)}</p>'


def _deviations(files: Sequence[str], path: str) -> str:
    links = [
        f'<a href="{escape(addresses.relative(addresses.deviation(file), path))}">{escape(file.partition("/")[0])}</a>'
        for file in files
    ]
    return f'<p class="checks">Deviates: {", ".join(links)}</p>' if links else ""


def _runs(one: Requirement, path: str, known: Collection[str], verdicts: Sequence[tuple[str, str]]) -> str:
    if not verdicts or addresses.REPORT not in known:
        return ""
    link = addresses.relative(f"{addresses.REPORT}#{one.id}", path)
    by_status: dict[str, list[str]] = {}
    for name, status in verdicts:
        by_status.setdefault(status, []).append(f"<bdi>{escape(name)}</bdi>")
    items = "".join(
        f'<li class="{escape(status)}">{escape(status)}: {", ".join(names)}</li>' for status, names in by_status.items()
    )
    return f'<div class="ran"><a href="{link}">Runs</a><ul>{items}</ul></div>'
