"""The requirements that a mutant breaks, as they are written in the tables: ``area/slug`` or ``area/slug[operator]``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from gaugeblock_spec import operators as rows
from gaugeblock_spec import requirements as spec

from .mutant import Mutant


@dataclass(frozen=True)
class Target:
    """A requirement, or what it says of one ``operator``: a row's name, or the base name of several rows."""

    requirement: str
    operator: str = ""

    @property
    def judged(self) -> frozenset[str]:
        """The rows whose subresults count."""
        return _judged(self.operator)

    def __str__(self) -> str:
        return f"{self.requirement}[{self.operator}]" if self.operator else self.requirement


def parse(text: str) -> Target:
    """``area/slug[operator]`` as a target.

    Raises:
        ValueError: an id that the spec does not have, or an operator that the table of operators does not have.
    """
    requirement, bracket, rest = text.partition("[")
    operator = rest.removesuffix("]")
    if requirement not in spec.load():
        raise ValueError(f"{text!r}: no requirement {requirement!r} in the spec")
    if bracket and (not rest.endswith("]") or not _judged(operator)):
        raise ValueError(f"{text!r}: no operator {operator!r} in the spec")
    return Target(requirement, operator)


def targets(mutant: Mutant) -> tuple[Target, ...]:
    """What the mutant breaks. Raises ValueError if it names nothing, or something that the spec does not have."""
    if not mutant.breaks:
        raise ValueError(f"mutant {mutant.name!r} names no requirement that it breaks")
    try:
        return tuple(parse(text) for text in mutant.breaks)
    except ValueError as error:
        raise ValueError(f"mutant {mutant.name!r} breaks {error}") from None


def of_each(requirement: str, names: Iterable[str]) -> tuple[str, ...]:
    """``requirement[operator]`` for each of ``names`` that is an operator, an in-place form by the name of its row."""
    found = (name if _judged(name) else name.partition(".")[0].rstrip("_") for name in names)
    return tuple(dict.fromkeys(f"{requirement}[{name}]" for name in found if _judged(name)))


@cache
def _judged(operator: str) -> frozenset[str]:
    return frozenset(
        name for name, row in rows.load().items() if name == operator or (row.base_name == operator)
    )
