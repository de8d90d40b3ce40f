"""Runs the examples of a requirement against a module whose names are torch's names."""

from __future__ import annotations

import builtins
import doctest
import io
import math
from types import ModuleType

from .requirements import Requirement

FLAGS = doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE


def scope(module: ModuleType) -> dict[str, object]:
    """The names that examples see: the module's public ones, `inf` and `nan`; Python's builtins are not hidden."""
    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {name: value for name, value in names.items() if not hasattr(builtins, name)} | {
        "inf": math.inf,
        "nan": math.nan,
    }


def run(requirement: Requirement, module: ModuleType) -> str:
    """Report on the examples that do not give what the chapter says; empty if all do."""
    report = io.StringIO()
    parser = doctest.DocTestParser()
    for text in requirement.examples:
        test = parser.get_doctest(text, scope(module), requirement.id, requirement.anchor, requirement.line)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write)
    return report.getvalue()
