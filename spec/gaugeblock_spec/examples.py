"""Runs the examples of a requirement against a module whose names are torch's names."""

from __future__ import annotations

import builtins
import doctest
import io
import math
import re
from types import ModuleType

from .requirements import Requirement

FLAGS = doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
NAME = re.compile(r"\b[A-Za-z]\w*")


def scope(module: ModuleType, text: str) -> dict[str, object]:
    """The names in `text` that the module has, with `inf` and `nan`; Python's builtins are not hidden."""
    names = {name for name in NAME.findall(text) if not hasattr(builtins, name) and hasattr(module, name)}
    return {name: getattr(module, name) for name in names} | {"inf": math.inf, "nan": math.nan}


def run(requirement: Requirement, module: ModuleType) -> str:
    """Report on the examples that do not give what the chapter says; empty if all do."""
    report = io.StringIO()
    parser = doctest.DocTestParser()
    for text in requirement.examples:
        test = parser.get_doctest(text, scope(module, text), requirement.id, requirement.anchor, requirement.line)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write)
    return report.getvalue()
