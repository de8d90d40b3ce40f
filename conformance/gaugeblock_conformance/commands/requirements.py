"""``gaugeblock requirements [ID]``: what the spec asks, and which tests check it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gaugeblock_spec import requirements as spec
from gaugeblock_spec.requirements import Requirement

from .. import requirement as registry
from ..budget import BUDGETS
from ..problem import UsageProblem, unknown, unknown_requirement
from ..requirement import TestCase
from . import coverage
from .coverage import measured, told

SCHEMA = "gaugeblock-requirements/1"
FORMATS = ("text", "json")


class Requirements:
    """The subcommand."""

    help = "print requirements: sentence, level, capabilities, source and tests"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", metavar="ID", help="print these in full (default: a list of all)")
        parser.add_argument("--area", nargs="+", action="extend", default=[], metavar="A", help="only these areas")
        parser.add_argument(
            "--coverage", nargs="*", metavar="B",
            help="count the conditions that the drawn calls of an ID meet, such as layouts, at these budgets (all)",
        )  # fmt: skip
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the examples counted (0)")
        parser.add_argument("--format", default="text", metavar="F", help=f"{' or '.join(FORMATS)} (text)")

    def run(self, args: argparse.Namespace) -> int:
        if args.format not in FORMATS:
            raise unknown("format", args.format, FORMATS)
        known = spec.load()
        areas = list(dict.fromkeys(requirement.area for requirement in known.values()))
        for area in args.area:
            if area not in areas:
                raise unknown("area", area, areas)
        for identifier in args.ids:
            if identifier not in known:
                raise unknown_requirement(identifier, known, "all: gaugeblock requirements")
        registry.load_tests()
        if args.coverage is not None:
            return _coverage(args)
        wanted = [
            requirement
            for requirement in known.values()
            if (not args.ids or requirement.id in args.ids) and (not args.area or requirement.area in args.area)
        ]
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        if args.format == "json":
            document = {"schema": SCHEMA, "requirements": [facts(requirement) for requirement in wanted]}
            sys.stdout.write(json.dumps(document, indent=1) + "\n")
        elif args.ids:
            print("\n\n".join(describe(requirement, width) for requirement in wanted))
        else:
            print(listing(wanted, width))
        return 0


def _coverage(args: argparse.Namespace) -> int:
    """Print what the calls meet that the tests of each ID draw."""
    if not args.ids:
        raise UsageProblem("--coverage needs the id of a requirement: gaugeblock requirements ID --coverage")
    budgets = list(dict.fromkeys(args.coverage)) or list(BUDGETS)
    for name in budgets:
        if name not in BUDGETS:
            raise unknown("budget", name, BUDGETS)
    found = [measured(identifier, budgets, args.seed) for identifier in args.ids]
    if args.format == "json":
        document = {"schema": coverage.SCHEMA, "budgets": budgets, "requirements": found}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        print("\n\n".join(told(one, budgets) for one in found))
    return 0


def listing(requirements: Iterable[Requirement], width: int = 100) -> str:
    """One line each: id, level, capabilities, number of tests."""
    rows = list(requirements)
    lines: list[str] = []
    tests = registry.tests()
    column = max((len(requirement.id) for requirement in rows), default=0) + 2
    for area in dict.fromkeys(requirement.area for requirement in rows):
        group = [requirement for requirement in rows if requirement.area == area]
        lines.append(f"{area} ({len(group)})")
        for requirement in group:
            count = len(tests.get(requirement.id, []))
            checked = f"{count} test{'' if count == 1 else 's'}"
            text = f"{requirement.level:<7} {checked:<9}{', '.join(requirement.capabilities)}"
            lines.append(f"  {requirement.id:<{column}}{text}"[:width])
    return "\n".join(lines)


def describe(requirement: Requirement, width: int = 100) -> str:
    """Everything about one requirement."""
    lines = [requirement.id, *textwrap.wrap(requirement.sentence, width, initial_indent="  ", subsequent_indent="  ")]
    lines += ["", f"  level         {requirement.level}"]
    lines.append(f"  capabilities  {', '.join(requirement.capabilities)}")
    lines.append(f"  origin        {', '.join(requirement.origin)}")
    lines.append(f"  source        {requirement.source}")
    tests = registry.tests().get(requirement.id, [])
    for index, case in enumerate(tests):
        lines.append(f"  {'tests' if index == 0 else '':<12}  {location(case)}  {case.name}")
    if not tests:
        lines.append("  tests         none")
    for example in requirement.examples:
        lines += ["", textwrap.indent(example.strip(), "    ")]
    return "\n".join(lines)


def facts(requirement: Requirement) -> dict[str, Any]:
    """A requirement as JSON: what its chapter says of it, and its tests."""
    return {
        "id": requirement.id,
        "area": requirement.area,
        "section": requirement.section,
        "level": requirement.level,
        "sentence": requirement.sentence,
        "capabilities": list(requirement.capabilities),
        "origin": list(requirement.origin),
        "source": requirement.source,
        "examples": list(requirement.examples),
        "tests": [
            {"name": case.name, "module": case.module, "line": case.line, "needs": list(case.needs)}
            for case in registry.tests().get(requirement.id, [])
        ],
    }


def location(case: TestCase) -> str:
    """``path:line`` of a test, relative to the current folder where that is shorter."""
    module = sys.modules.get(case.module)
    path = Path(getattr(module, "__file__", None) or case.module)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{case.line}"


command = Requirements()
