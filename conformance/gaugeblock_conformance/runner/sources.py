"""Source text of the tests that rows name, for the readers of a run record."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypedDict

from .rows import Row


class Source(TypedDict):
    """Where a test stands, and its text with decorators."""

    file: str
    line: int
    code: str


def sources(rows: Iterable[Row]) -> dict[str, Source]:
    """The tests of ``rows`` under the names there (``module:line name``), each once; those without a file are left out.

    Nothing is imported but the packages around the test modules.
    """
    names = dict.fromkeys(name for row in rows for name in row["tests"])
    found = {name: _source(name) for name in names}
    return {name: source for name, source in found.items() if source is not None}


def _source(name: str) -> Source | None:
    place, _, function = name.partition(" ")
    module, _, number = place.rpartition(":")
    if not number.isdecimal():
        return None
    line = int(number)
    path, lines, spans = _functions(module)
    around = [(end - start, start, end) for start, end, called in spans if start <= line <= end and called == function]
    around = around or [(end - start, start, end) for start, end, _ in spans if start <= line <= end]
    if not around:
        return None
    _, start, end = min(around)
    return Source(file=path, line=start, code="\n".join(lines[start - 1 : end]) + "\n")


@cache
def _functions(module: str) -> tuple[str, list[str], list[tuple[int, int, str]]]:
    """Path of a module from its top package on, its lines, and first line, last line and name of its functions."""
    try:
        spec = importlib.util.find_spec(module)
        path = Path((spec.origin if spec else None) or "")
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (ImportError, ValueError, OSError, SyntaxError):
        return "", [], []
    spans = [
        (min([node.lineno, *(part.lineno for part in node.decorator_list)]), node.end_lineno or node.lineno, node.name)
        for node in _definitions(tree)
    ]
    shown = "/".join([*module.split(".")[:-1], path.name])
    return shown, text.splitlines(), spans


def _definitions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Every function of a module, also those inside other statements; expressions are not walked."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        stack.extend(part for name in ("body", "orelse") for part in getattr(node, name, []))
