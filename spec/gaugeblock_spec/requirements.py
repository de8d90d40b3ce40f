"""The requirements of the spec, read from its chapters."""

from __future__ import annotations

from functools import cache
from importlib import resources

from . import capabilities, origin_rows
from .chapter import LEVELS, Chapter, Requirement, Section, parse

__all__ = ["AREAS", "LEVELS", "Chapter", "Requirement", "Section", "chapters", "load"]

AREAS: tuple[str, ...] = (
    "storage", "views", "dtypes", "iteration", "dispatch", "operators", "kernels", "autograd", "allocator",
    "layouts", "interop",
)  # fmt: skip


@cache
def chapters() -> dict[str, Chapter]:
    """Area -> chapter, in reading order. Raises SpecError naming file, line, what was found and what is allowed."""
    folder = resources.files(__package__)
    known, origins = capabilities.load(), origin_rows.load()
    return {area: parse(area, (folder / f"{area}.md").read_text(encoding="utf-8"), known, origins) for area in AREAS}


@cache
def load() -> dict[str, Requirement]:
    """Requirement id -> requirement, in chapter order. Raises SpecError as `chapters` does."""
    return {requirement.id: requirement for chapter in chapters().values() for requirement in chapter.requirements}
