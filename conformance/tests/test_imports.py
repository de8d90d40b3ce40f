"""Who may import whom among the five packages."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = {
    "gaugeblock_spec": set(),
    "gaugeblock": {"gaugeblock_spec"},
    "gaugeblock_conformance": {"gaugeblock_spec"},
    "gaugeblock_benchmarks": {"gaugeblock_conformance"},
    "gaugeblock_reports": set(),
}  # type: dict[str, set[str]]
# Floors of the engine, lowest first: a room imports from those before it.
FLOORS = (
    "core", "memory", "tensor", "dispatch", "iteration", "kernels", "operators", "autograd", "cuda", "interop",
    "bindings", "nn",
)  # fmt: skip


def sources(package: str) -> list[Path]:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return sorted(Path(spec.origin).parent.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Absolute module names that a file imports, at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_packages_import_downwards(package: str) -> None:
    forbidden = set(PACKAGES) - PACKAGES[package] - {package}
    for path in sources(package):
        wrong = {name for name in imported(path) if name.split(".")[0] in forbidden}
        assert not wrong, f"{path.name} imports {', '.join(sorted(wrong))}"


def test_rooms_of_the_engine_import_downwards() -> None:
    root = Path(sources("gaugeblock")[0]).parent
    for room in FLOORS:
        above = set(FLOORS[FLOORS.index(room) + 1 :])
        for path in (root / room).rglob("*.py"):
            depth = len(path.relative_to(root).parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.level == depth and node.module:
                    target = node.module.split(".")[0]
                    assert target not in above, f"{room}/{path.name} imports {node.module}, which stands above it"
