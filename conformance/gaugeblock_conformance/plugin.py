"""The pytest plugin: ``pytest --pyargs gaugeblock_conformance --backend torch:cpu -k views``.

It is loaded in every pytest run of an environment that has gaugeblock, so that it does next to nothing until the tests
of this package or the benchmarks are asked for: only then it adds ``--backend`` (which another project may use for
itself), and when a test of the suite is collected it loads :mod:`gaugeblock_conformance.runner.items`, which does the
work.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PACKAGES = ("gaugeblock_conformance", "gaugeblock_benchmarks")
HOME = Path(__file__).parent
ABOUT = "gaugeblock: conformance of tensor backends (pytest --pyargs gaugeblock_conformance --backend BACKEND)"
BACKEND = "backend to check: NAME[:DEVICE], package.module:Class or path/to/file.py:Class"
OPTIONS = (
    ("--gaugeblock-budget", "B", "examples per property: quick, standard, thorough (default: quick)"),
    ("--gaugeblock-seed", "N", "seed of all drawn examples (default: 0)"),
    ("--gaugeblock-expect", "FILE", "file of expected failures, or none (default: the shipped one)"),
)
IN_PROCESS = "run the tests in this process, for a debugger (default: in a worker process, which may die)"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gaugeblock", ABOUT)
    for name, metavar, text in OPTIONS:
        group.addoption(name, metavar=metavar, help=text)
    group.addoption("--gaugeblock-in-process", action="store_true", help=IN_PROCESS)


def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    if any(_ours(argument) for argument in args):
        # Where another plugin has the option already, its value is taken.
        with suppress(ValueError):
            parser.getgroup("gaugeblock").addoption("--backend", metavar="BACKEND", help=BACKEND)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Wake the working half when the first test module of this package is collected."""
    manager = parent.config.pluginmanager
    if HOME in module_path.parents and not manager.has_plugin("gaugeblock-items"):
        from .runner import items

        manager.register(items.make(parent.config), "gaugeblock-items")


def _ours(argument: str) -> bool:
    path = argument.split("::")[0]
    return any(package in path for package in PACKAGES)
