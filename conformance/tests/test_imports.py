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
    "gaugeblock_reports": {"gaugeblock_spec"},
}  # type: dict[str, set[str]]
# Floors of the engine, lowest first: a room imports from those before it.
FLOORS = (
    "core", "memory", "tensor", "dispatch", "iteration", "kernels", "operators", "autograd", "cuda", "interop",
    "bindings", "nn", "pictures",
)  # fmt: skip
# And of its room cuda, where a module beside the folders is a room of its own.
CUDA_FLOORS = (
    "ptx", "driver", "streams", "allocator", "devices", "pinned", "random", "operators", "engine", "placing", "memory",
    "graphs", "replaying", "pictures", "allocator_command", "__init__",
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


def upwards(root: Path, floors: tuple[str, ...]) -> list[str]:
    """The imports of a folder whose rooms, folders or modules, import from one that stands above them."""
    found = []
    for place, room in enumerate(floors):
        above = set(floors[place + 1 :])
        for path in [*(root / room).rglob("*.py"), *root.glob(f"{room}.py")]:
            depth = len(path.relative_to(root).parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.level == depth:
                    names = [node.module] if node.module else [alias.name for alias in node.names]
                    found += [f"{room}/{path.name} imports {name}" for name in names if name.split(".")[0] in above]
    return found


def test_rooms_of_the_engine_import_downwards() -> None:
    assert upwards(Path(sources("gaugeblock")[0]).parent, FLOORS) == []


def test_rooms_of_cuda_import_downwards_and_all_have_a_floor() -> None:
    root = Path(sources("gaugeblock")[0]).parent / "cuda"
    rooms = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.stem for path in root.glob("*.py")}
    assert rooms == set(CUDA_FLOORS)
    assert upwards(root, CUDA_FLOORS) == []
