"""The requirements that a mutant breaks: ``area/slug``, or ``area/slug[operator]`` for what one operator is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from gaugeblock_spec import operators as table
from gaugeblock_spec import requirements as spec

# What most operators are asked, each by itself.
ROW = "operators/every-operator-gives-what-its-row-says[]"
POINTWISE = f"iteration/strided-inputs-give-the-same-values[] {ROW}"
# What two of them are asked, for faults of the loop that all pointwise operators share.
LOOP = f"{POINTWISE.partition('[]')[0]}[add] {ROW.removesuffix('[]')}[relu6]"


@dataclass(frozen=True)
class Target:
    """A requirement, or what it asks of one ``operator``: a row of the operator table, or all rows of a base name."""

    requirement: str
    operator: str = ""

    @property
    def rows(self) -> frozenset[str]:
        """The rows whose subresults count; none where the requirement counts as a whole."""
        return _rows(self.operator)

    def __str__(self) -> str:
        return f"{self.requirement}[{self.operator}]" if self.operator else self.requirement


@cache
def parse(text: str) -> Target:
    """Return the target that ``text`` names.

    Raises:
        ValueError: it is no requirement of the spec, or the operator is none of its table.
    """
    requirement, bracket, rest = text.partition("[")
    operator = rest.removesuffix("]")
    if requirement not in spec.load():
        raise ValueError(f"{text!r}: the spec has no requirement {requirement!r}")
    if bracket and not (rest.endswith("]") and _rows(operator)):
        raise ValueError(f"{text!r}: the spec has no operator {operator!r}")
    return Target(requirement, operator)


def spelled_out(text: str, operators: Sequence[str]) -> tuple[str, ...]:
    """Return the targets in ``text``, those that end in ``[]`` once for each of ``operators``.

    An in-place form stands for its row; names that are no operators of the table are left out.
    """
    found: list[str] = []
    for word in text.split():
        if word.endswith("[]"):
            found += [f"{word.removesuffix('[]')}[{name}]" for name in _judged(operators)]
        else:
            found.append(word)
    return tuple(dict.fromkeys(found))


def rows_of(targets: Iterable[Target]) -> frozenset[str]:
    """Return the rows of the operator table that ``targets`` name; none if one of them counts as a whole."""
    given = tuple(targets)
    if not all(target.operator for target in given):
        return frozenset()
    return frozenset().union(*(target.rows for target in given))


def _judged(operators: Iterable[str]) -> list[str]:
    """The names under which verdicts on ``operators`` are told."""
    names = (name if _rows(name) else name.partition(".")[0].rstrip("_") for name in operators)
    return [name for name in dict.fromkeys(names) if _rows(name)]


@cache
def _rows(operator: str) -> frozenset[str]:
    return frozenset(name for name, row in table.load().items() if operator in (name, row.base_name))
