"""Reads one chapter: prose, sections, and requirements with their fact line, sentence and examples."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from .error import SpecError

LEVELS = ("MUST", "SHOULD", "MAY")
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FACTS = "LEVEL · capability, ... · ORIGIN-000, ... · source"
_CODE = re.compile(r"`[^`]*`")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True)
class Requirement:
    """One testable sentence of the spec; `area` is also the name of its chapter."""

    id: str
    area: str
    slug: str
    level: str
    capabilities: tuple[str, ...]
    origin: tuple[str, ...]
    source: str
    sentence: str
    examples: tuple[str, ...]
    section: str
    line: int

    @property
    def anchor(self) -> str:
        """Link target inside the folder of chapters."""
        return f"{self.area}.md#{self.slug}"


@dataclass(frozen=True)
class Section:
    """A `##` heading of a chapter, the prose under it (Markdown), and its requirements in order."""

    title: str
    prose: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Chapter:
    """One Markdown file of the spec: title, opening prose (Markdown) and sections."""

    area: str
    title: str
    prose: str
    sections: tuple[Section, ...]

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(requirement for section in self.sections for requirement in section.requirements)


Line = tuple[int, str]


def parse(area: str, text: str, capabilities: Collection[str], origins: Collection[str]) -> Chapter:
    """Chapter from its Markdown text. Raises SpecError naming file, line, what was found and what is allowed."""
    file = f"{area}.md"
    parts = _split(list(enumerate(text.splitlines(), 1)), "# ")
    if len(parts) != 2 or _text(parts[0]):
        raise SpecError(file, 1, f"{len(parts) - 1} headings of level 1", "exactly one, on the first line")
    (_, heading), *body = parts[1]
    opening, *rest = _split(body, "## ")
    sections = tuple(_section(area, file, part, capabilities, origins) for part in rest)
    chapter = Chapter(area, heading[2:].strip(), _text(opening), sections)
    lines: dict[str, int] = {}
    for requirement in chapter.requirements:
        if requirement.slug in lines:
            found = f"slug {requirement.slug!r} repeated (first on line {lines[requirement.slug]})"
            raise SpecError(file, requirement.line, found, "each slug once in a chapter")
        lines[requirement.slug] = requirement.line
    return chapter


def _section(area: str, file: str, part: list[Line], known: Collection[str], origins: Collection[str]) -> Section:
    (_, heading), *body = part
    title = heading[3:].strip()
    prose, *blocks = _split(body, "### ")
    requirements = tuple(_requirement(area, file, title, block, known, origins) for block in blocks)
    return Section(title, _text(prose), requirements)


def _requirement(
    area: str, file: str, section: str, block: list[Line], known: Collection[str], origins: Collection[str]
) -> Requirement:
    (number, heading), *body = block
    slug = heading[4:].strip()
    if not SLUG.fullmatch(slug):
        raise SpecError(file, number, f"slug {slug!r}", "lower-case words joined by single hyphens")
    paragraphs = _paragraphs(body)
    if len(paragraphs) < 2:
        raise SpecError(file, number, f"{len(paragraphs)} paragraphs under {slug!r}", "a line of facts and a sentence")
    facts, sentence, *rest = paragraphs
    level, capabilities, origin, source = _facts(file, facts, known, origins)
    examples = tuple(_example(file, paragraph) for paragraph in rest)
    words = _sentence(file, sentence)
    return Requirement(
        f"{area}/{slug}", area, slug, level, capabilities, origin, source, words, examples, section, number
    )


def _facts(
    file: str, paragraph: list[Line], known: Collection[str], origins: Collection[str]
) -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    number, text = paragraph[0]
    fields = [field.strip() for field in text.split("·")]
    if len(paragraph) != 1 or len(fields) != 4:
        raise SpecError(file, number, f"line of facts {text!r}", FACTS)
    level, source = fields[0], fields[3]
    if level not in LEVELS:
        raise SpecError(file, number, f"level {level!r}", LEVELS)
    capabilities = tuple(name.strip() for name in fields[1].split(","))
    for name in capabilities:
        if name not in known:
            raise SpecError(file, number, f"capability {name!r}", known)
    origin = tuple(row.strip() for row in fields[2].split(","))
    for row in origin:
        if row not in origins:
            raise SpecError(file, number, f"origin row {row!r}", "a row of origin_rows.csv")
    if not source:
        raise SpecError(file, number, "no source", "the document the rule comes from, or 'ruling'")
    return level, capabilities, origin, source


def _sentence(file: str, paragraph: list[Line]) -> str:
    number = paragraph[0][0]
    sentence = " ".join(text.strip() for _, text in paragraph)
    ends = [match.start() for match in _SENTENCE_END.finditer(_CODE.sub("`", sentence))]
    if len(ends) != 1 or not sentence.endswith("."):
        raise SpecError(file, number, f"{len(ends)} ends of a sentence in {sentence!r}", "one sentence, ended by a dot")
    return sentence


def _example(file: str, paragraph: list[Line]) -> str:
    number, first = paragraph[0]
    if first != "```python" or paragraph[-1][1] != "```":
        raise SpecError(file, number, f"paragraph {first!r} after the sentence", "```python blocks only")
    text = "\n".join(row for _, row in paragraph[1:-1]) + "\n"
    if not text.startswith(">>> "):
        raise SpecError(file, number, "example without a prompt", "lines that start with >>>")
    return text


def _split(lines: list[Line], prefix: str) -> list[list[Line]]:
    """Cut before each line with this prefix that stands outside code fences; the first part precedes them all."""
    parts: list[list[Line]] = [[]]
    fenced = False
    for number, text in lines:
        if text.startswith("```"):
            fenced = not fenced
        if not fenced and text.startswith(prefix):
            parts.append([])
        parts[-1].append((number, text))
    return parts


def _paragraphs(lines: list[Line]) -> list[list[Line]]:
    """Runs of lines between blank lines; a code fence is one paragraph, blank lines inside it included."""
    paragraphs: list[list[Line]] = [[]]
    fenced = False
    for number, text in lines:
        if not text.strip() and not fenced:
            if paragraphs[-1]:
                paragraphs.append([])
            continue
        paragraphs[-1].append((number, text))
        if text.startswith("```"):
            fenced = not fenced
    return [paragraph for paragraph in paragraphs if paragraph]


def _text(lines: list[Line]) -> str:
    return "\n".join(text for _, text in lines).strip()
