"""Who may import whom among the packages, and among the packages of those of the engine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = {
    "gaugeblock_spec": set(),
    "gaugeblock": {"gaugeblock_spec"},
    "gaugeblock_testing": {"gaugeblock"},
    "gaugeblock_tools": {"gaugeblock", "gaugeblock_spec"},
    "gaugeblock_conformance": {"gaugeblock_spec"},
    "gaugeblock_benchmarks": {"gaugeblock_conformance", "gaugeblock_spec"},
    "gaugeblock_reports": {"gaugeblock_spec"},
}  # type: dict[str, set[str]]
# Layers of the engine, lowest first: a package imports from those before it.
LAYERS = (
    "core", "memory", "tensor", "dispatch", "iteration", "kernels", "operators", "calls", "sparse", "blocked",
    "autograd", "quantized", "bindings", "cuda", "multiprocessing", "interop", "nn", "array_api",
)  # fmt: skip
# And of its package cuda, where a module beside the folders is a package of its own.
CUDA_LAYERS = (
    "ptx", "driver", "allocator", "devices", "streams", "pinned_memory", "random", "operators", "engine", "memory",
    "graphs", "__init__",
)  # fmt: skip
# And of the packages beside the engine.
TESTING_LAYERS = ("ptxas", "host_grid", "ptx_emulator", "cuda_simulator", "__init__")
TOOLS_LAYERS = (
    "problem", "graph_picture", "stub", "trace_replay", "memory_viz", "stride_diagrams", "commands", "__init__",
)  # fmt: skip
LOADED = """
import sys
import gaugeblock
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"gaugeblock_testing", "gaugeblock_tools"}))
gaugeblock.cuda.use_driver("simulated")
(gaugeblock.ones(2, device="cuda") + 1).cpu()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"gaugeblock_testing", "gaugeblock_tools"}))
"""


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


def upwards(root: Path, layers: tuple[str, ...]) -> list[str]:
    """The imports of a folder whose packages, folders or modules, import from one that stands above them."""
    found = []
    for place, package in enumerate(layers):
        above = set(layers[place + 1 :])
        for path in [*(root / package).rglob("*.py"), *root.glob(f"{package}.py")]:
            depth = len(path.relative_to(root).parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = imported_at(node, depth)
                found += [f"{package}/{path.name} imports {name}" for name in names if name.split(".")[0] in above]
    return found


def imported_at(node: ast.AST, level: int) -> list[str]:
    """Names that a statement, or a call of import_module, imports from the package `level` packages up."""
    if isinstance(node, ast.ImportFrom) and node.level == level:
        return [node.module] if node.module else [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        name = ast.unparse(node.args[0]).lstrip("f").strip("\"'")
        bare = name.lstrip(".")
        return [bare] if len(name) - len(bare) == level else []
    return []


def test_packages_of_the_engine_import_downwards() -> None:
    assert upwards(Path(sources("gaugeblock")[0]).parent, LAYERS) == []


@pytest.mark.parametrize(
    ("package", "folder", "layers"),
    [
        ("gaugeblock", "cuda", CUDA_LAYERS),
        ("gaugeblock_testing", "", TESTING_LAYERS),
        ("gaugeblock_tools", "", TOOLS_LAYERS),
    ],
)
def test_layers_import_downwards_and_all_have_a_layer(package: str, folder: str, layers: tuple[str, ...]) -> None:
    root = Path(sources(package)[0]).parent / folder
    packages = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    packages |= {path.stem for path in root.glob("*.py")}
    assert packages == set(layers)
    assert upwards(root, layers) == []


def test_packages_of_the_engine_do_not_reach_up_for_the_public_module() -> None:
    root = Path(sources("gaugeblock")[0]).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for package in LAYERS[:-1]
        for path in (root / package).rglob("*.py")
        for node in run_nodes(path)
        if names_the_public_module(node)
    ]
    assert found == []


def names_the_public_module(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name == "gaugeblock" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and node.module == "gaugeblock"
    return isinstance(node, ast.Subscript) and ast.unparse(node) == "sys.modules['gaugeblock']"


def modules_of(package: str) -> dict[str, set[str]]:
    """The modules of a package, each with those that it imports at any depth of its code, but not for types alone."""
    root = Path(sources(package)[0]).parent
    names = {".".join((package, *path.relative_to(root).with_suffix("").parts)): path for path in sources(package)}
    paths = {name.removesuffix(".__init__"): path for name, path in names.items()}
    found = {}
    for name, path in paths.items():
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = {one for one in imports_within(path, inside) if one != name and one in paths}
    return found


def run_nodes(path: Path) -> list[ast.AST]:
    """The nodes of a file's code that are not there for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for statement in branch.body
        for node in ast.walk(statement)
    }
    return [node for node in ast.walk(tree) if id(node) not in typing]


def imports_within(path: Path, package: str) -> set[str]:
    """Return what a file of a package imports relatively: modules, and names, which may be modules too."""
    found = set()
    for node in run_nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            parent = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*parent, *([node.module] if node.module else [])])
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)} if node.module else {
                f"{module}.{alias.name}" for alias in node.names
            }
    return found


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """The modules on a path that leads back to its beginning, found by taking away those that import no other."""
    left = dict(graph)
    while ends := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in ends:
            del left[name]
    while starts := [name for name in left if not any(name in needed for needed in left.values())]:
        for name in starts:
            del left[name]
    return sorted(left)


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_no_imports_run_in_a_circle(package: str) -> None:
    assert circle_in(modules_of(package)) == []


def test_a_circle_of_imports_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set()}
    assert circle_in(graph) == ["b", "c"]
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_only_the_table_of_drivers_names_a_module_of_the_testing_package() -> None:
    module = re.compile(r"gaugeblock_(testing|tools)(\.\w+)+")
    naming = [
        (path.name, node.value)
        for path in sources("gaugeblock")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and module.fullmatch(node.value)
    ]
    assert naming == [("devices.py", "gaugeblock_testing.cuda_simulator.simulated_driver")]


def test_the_engine_loads_the_testing_package_when_asked_for_its_driver_and_the_tools_never() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["", "gaugeblock_testing"]
