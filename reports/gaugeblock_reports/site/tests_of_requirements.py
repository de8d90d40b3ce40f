"""Which tests of the suite check which requirement, read from the decorators in its source; nothing is imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaugeblock_spec import requirements

SUITE = "gaugeblock_conformance"


@dataclass(frozen=True)
class Test:
    """A test function: its module inside the suite ("views.test_expand"), its name, and its line."""

    __test__ = False

    module: str
    name: str
    line: int


@cache
def modules() -> dict[str, str]:
    """Module inside the suite -> its source, areas in reading order; empty where the suite is not installed."""
    spec = find_spec(SUITE)
    if spec is None or spec.origin is None:
        return {}
    root = Path(spec.origin).parent
    files = [path for area in requirements.AREAS for path in sorted((root / area).rglob("test_*.py"))]
    return {".".join(path.relative_to(root).with_suffix("").parts): path.read_text(encoding="utf-8") for path in files}


@cache
def tests() -> dict[str, list[Test]]:
    """Requirement id -> the tests that name it."""
    found: dict[str, list[Test]] = {}
    for module, source in modules().items():
        tree = ast.parse(source)
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for identifier in _named(node, constants):
                    found.setdefault(identifier, []).append(Test(module, node.name, node.lineno))
    return found


def _named(function: ast.FunctionDef, constants: dict[str, Any]) -> list[str]:
    found = []
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "requirement":
            for argument in mark.args:
                if isinstance(argument, ast.Starred):
                    found += [str(name) for name in _value(argument.value, constants) or ()]
                elif (name := _value(argument, constants)) is not None:
                    found.append(str(name))
    return found


def _value(node: ast.expr, constants: dict[str, Any]) -> Any:
    """The value of a literal, or of a constant of the same module or an entry of a table there, made of literals."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        table = constants.get(node.value.id)
        return table.get(node.slice.value) if isinstance(table, dict) else None
    return None


def _constants(tree: ast.Module) -> dict[str, Any]:
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found
