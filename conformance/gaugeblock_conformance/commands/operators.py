"""``gaugeblock operators [NAME]``: the operator table of the spec, as text or as JSON."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gaugeblock_spec import derivatives
from gaugeblock_spec import operators as spec
from gaugeblock_spec.derivatives import Derivative
from gaugeblock_spec.operator_freedoms import open_conditions
from gaugeblock_spec.operators import Operator

from ..problem import unknown
from .arguments import words

SCHEMA = "gaugeblock-operators/1"
FORMATS = ("text", "json")
WIDEST = 100
_LABEL = 12


class Operators:
    """The subcommand."""

    help = "print operators: schema, forms, dtypes, promotion, error bound, calls that must raise, derivative"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("names", nargs="*", metavar="NAME", help="print these in full: add.Tensor, or all add (default: a list)")
        add("--family", nargs="+", action="extend", default=[], metavar="F", help="only these, such as pointwise")
        add("--format", default="text", metavar="F", help=f"{' or '.join(FORMATS)} (text)")

    def run(self, args: argparse.Namespace) -> int:
        if args.format not in FORMATS:
            raise unknown("format", args.format, FORMATS)
        wanted = chosen(args.names, words(args.family))
        width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
        if args.format == "json":
            document = {"schema": SCHEMA, "operators": [facts(operator) for operator in wanted]}
            sys.stdout.write(json.dumps(document, indent=1) + "\n")
        elif args.names:
            print("\n\n".join(describe(operator, width) for operator in wanted))
        else:
            print(listing(wanted, width))
        return 0


def chosen(names: Sequence[str], families: Sequence[str]) -> list[Operator]:
    """Return the operators of these names, of these families; of all where none is given.

    A name is that of an overload, of one of its forms, of all overloads together, or an alias.

    Raises:
        UsageProblem: a name or a family that the table does not have.
    """
    table = spec.load()
    of_name: dict[str, set[str]] = {}
    for operator in table.values():
        for name in _names(operator):
            of_name.setdefault(name, set()).add(operator.name)
    for name in names:
        if name not in of_name:
            raise unknown("operator", name, of_name, "all: gaugeblock operators")
    known = list(dict.fromkeys(operator.family for operator in table.values()))
    for family in families:
        if family not in known:
            raise unknown("family", family, known)
    asked = {full for name in names for full in of_name[name]}
    return [
        operator
        for operator in table.values()
        if (not names or operator.name in asked) and (not families or operator.family in families)
    ]


def _names(operator: Operator) -> Iterable[str]:
    for name in (operator.name, operator.inplace_name, operator.out_name):
        if name is not None:
            yield name
            yield name.partition(".")[0]
    yield from operator.aliases


def listing(operators: Iterable[Operator], width: int = WIDEST) -> str:
    """One line each, by family: name and arguments."""
    rows = list(operators)
    lines: list[str] = []
    for family in dict.fromkeys(operator.family for operator in rows):
        group = [operator for operator in rows if operator.family == family]
        lines.append(f"{family} ({len(group)})")
        column = max(len(operator.name) for operator in group) + 2
        for operator in group:
            text = f"  {operator.name:<{column}}{operator.schema.removeprefix(operator.name)}"
            lines.append(text if len(text) <= width else f"{text[: width - 2]} …")
    return "\n".join(lines)


def describe(operator: Operator, width: int = WIDEST) -> str:
    """Everything about one operator."""
    lines = [operator.name]
    table = [("schema", operator.schema), ("in place", operator.inplace), ("out=", operator.out)]
    table += [("aliases", ", ".join(operator.aliases)), ("variants", ", ".join(operator.variants))]
    table += [("family", operator.family), ("dtypes", " ".join(operator.dtypes))]
    table += [("promotion", operator.promotion), ("result", operator.result), ("out dtypes", operator.out_cast)]
    table += [("bound", _bound(operator)), ("drawn from", _domain(operator)), ("free", _free(operator))]
    table += [("open", " ".join(open_conditions()[name] for name in operator.open)), ("half floats", _half(operator))]
    table += [("note", operator.note)]
    table += [("derivative", _derivative(derivatives.find(operator.name, operator.file))), ("table", operator.file)]
    for label, text in table:
        if text:
            lines += _wrapped(label, text, width)
    for index, case in enumerate(operator.errors):
        told = f"{case.example}: {case.raises} matching {case.match!r} ({case.argument}: {case.when})"
        lines += _wrapped("" if index else "errors", told, width)
    return "\n".join(lines)


def facts(operator: Operator) -> dict[str, Any]:
    """The operator as JSON: the fields of its row, the names of its forms, and its derivative."""
    derivative = derivatives.find(operator.name, operator.file)
    return {
        "name": operator.name,
        "schema": operator.schema,
        "forms": {
            "functional": operator.name,
            "inplace": operator.inplace_name,
            "out": operator.out_name,
        },
        "inplace": operator.inplace,
        "out": operator.out,
        "aliases": list(operator.aliases),
        "variants": list(operator.variants),
        "family": operator.family,
        "dtypes": list(operator.dtypes),
        "promotion": operator.promotion,
        "result": operator.result,
        "out_cast": operator.out_cast,
        "ulp": dict(operator.ulp),
        "ulp_scale": operator.ulp_scale,
        "domain": {name: asdict(domain) for name, domain in operator.domain.items()},
        "overflow": operator.overflow,
        "signed_zero": operator.signed_zero,
        "ties": operator.ties,
        "dimless": operator.dimless,
        "bits": operator.bits,
        "out_from": operator.out_from,
        "without_data": operator.without_data,
        "open": {name: open_conditions()[name] for name in operator.open},
        "half": asdict(operator.half),
        "unoffered": list(operator.unoffered),
        "errors": [asdict(case) for case in operator.errors],
        "note": operator.note,
        "derivative": None if derivative is None else _derivative_facts(derivative),
        "file": operator.file,
    }


def _derivative_facts(derivative: Derivative) -> dict[str, Any]:
    return {
        "kind": derivative.kind,
        "formulas": [{"arguments": list(names), "expression": text} for names, text in derivative.formulas.items()],
        "nothing": list(derivative.nothing),
        "tangent": derivative.tangent,
        "follows": list(derivative.follows),
    }


def _bound(operator: Operator) -> str:
    if not operator.ulp:
        return "by its definition (operator_rows.md, Accuracy)"
    by_ulp: dict[float, list[str]] = {}
    for dtype, ulp in operator.ulp.items():
        by_ulp.setdefault(ulp, []).append(dtype)
    found = "; ".join(f"{ulp:g} ulp for {' '.join(dtypes)}" for ulp, dtypes in by_ulp.items())
    return f"{found}; of the {operator.ulp_scale}"


def _domain(operator: Operator) -> str:
    found = []
    for name, domain in operator.domain.items():
        low = "-inf" if domain.low is None else f"{domain.low:g}"
        high = "inf" if domain.high is None else f"{domain.high:g}"
        without = f" without {', '.join(f'{value:g}' for value in domain.exclude)}" if domain.exclude else ""
        found.append(f"{name} in [{low}, {high}]{without}")
    return "; ".join(found)


def _free(operator: Operator) -> str:
    """What differs from what holds for most operators."""
    told = {
        "the sign of zeros": operator.signed_zero == "free",
        "which of equal elements an index names": operator.ties == "any",
        "the last bits, which follow the memory under the operands": operator.bits == "free",
        "results where a step on the way overflows": operator.overflow != "terms",
        "whether an out= of another dtype is taken": operator.out_cast == "free",
        "whether an out= of another dtype holds the converted result or the converted operands":
            operator.out_from == "operands",
        "the strides of results without data": operator.without_data == "sizes",
        "results without data, since they depend on elements": operator.without_data == "nothing",
    }
    found = [text for text, is_free in told.items() if is_free]
    found += [f"the form {form}, which no public function offers" for form in operator.unoffered]
    return "; ".join(found)


def _half(operator: Operator) -> str:
    half, found = operator.half, []
    if half.argument:
        found.append(f"refused where {half.argument} is {' or '.join(map(str, half.values))}")
    if not half.results:
        found.append("no dtype for the result")
    if half.factors:
        found.append(f"results after the first are {half.factors}")
    if half.truncation == "free":
        found.append("a quotient may be rounded before it is cut")
    return "; ".join(found)


def _derivative(derivative: Derivative | None) -> str:
    if derivative is None or derivative.kind == "none":
        return "none"
    if derivative.kind == "composite":
        return "of the operators that it is made of"
    parts = [f"{', '.join(names)}: {text}" for names, text in derivative.formulas.items()]
    if derivative.nothing:
        parts.append(f"{', '.join(derivative.nothing)}: nothing")
    if derivative.tangent:
        parts.append(f"tangent: {derivative.tangent}")
    return "; ".join(" ".join(part.split()) for part in parts)


def _wrapped(label: str, text: str, width: int) -> list[str]:
    head = f"  {label:<{_LABEL}}"
    return textwrap.wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


command = Operators()
