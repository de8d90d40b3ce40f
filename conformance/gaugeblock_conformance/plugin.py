"""The pytest plugin: ``pytest --pyargs gaugeblock_conformance --backend torch:cpu -k views``.

It is loaded in every pytest run of an environment that has gaugeblock, so that it does next to nothing until this
package's tests are asked for: only then it adds ``--backend`` (which another project may use for itself) and loads
:mod:`gaugeblock_conformance.runner.items`, which does the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PACKAGE = "gaugeblock_conformance"
HOME = Path(__file__).parent
OPTIONS = (
    ("--gaugeblock-backend", "BACKEND", "backend to check: NAME[:DEVICE] or package.module:Class"),
    ("--gaugeblock-budget", "B", "examples per property: quick, standard, thorough (default: quick)"),
    ("--gaugeblock-seed", "N", "seed of all drawn examples (default: 0)"),
    ("--gaugeblock-expect", "FILE", "file of expected failures, or none (default: the shipped one)"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gaugeblock", "gaugeblock: conformance of tensor backends")
    for name, metavar, text in OPTIONS:
        group.addoption(name, metavar=metavar, help=text)


def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    if not any(_ours(argument) for argument in args):
        return
    group = parser.getgroup("gaugeblock")
    try:
        group.addoption("--backend", dest="gaugeblock_backend", metavar="BACKEND", help="short: --gaugeblock-backend")
    except ValueError:
        early_config.issue_config_time_warning(
            UserWarning("another plugin has the option --backend: use --gaugeblock-backend"), stacklevel=2
        )


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Wake the working half when the first test module of this package is collected."""
    manager = parent.config.pluginmanager
    if HOME in module_path.parents and not manager.has_plugin("gaugeblock-items"):
        from .runner import items

        manager.register(items.make(parent.config), "gaugeblock-items")


def _ours(argument: str) -> bool:
    path = argument.split("::")[0]
    return PACKAGE in path
