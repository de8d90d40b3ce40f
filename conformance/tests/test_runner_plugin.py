"""The pytest plugin, in pytest processes of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = """
import sys
def test_nothing_is_loaded():
    heavy = {name for name in sys.modules if name.startswith("gaugeblock")}
    assert heavy <= {"gaugeblock_conformance", "gaugeblock_conformance.plugin"}, heavy
    assert not {"hypothesis.strategies", "numpy", "torch"} & set(sys.modules)
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rsx", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_inert_for_other_projects(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(MODULES)
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout


def test_other_projects_may_have_the_option(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--backend')\n")
    (tmp_path / "test_other.py").write_text(
        "def test_it(pytestconfig):\n    assert pytestconfig.getoption('--backend') == 'theirs'\n"
    )
    done = run(tmp_path, "--backend", "theirs")
    assert done.returncode == 0, done.stdout + done.stderr


def test_conformance_tests_need_a_backend(tmp_path: Path) -> None:
    done = run(tmp_path, "--pyargs", "gaugeblock_conformance")
    assert done.returncode == 4
    assert "the conformance tests need --backend NAME[:DEVICE]; known: " in done.stderr + done.stdout


@pytest.mark.parametrize("name", ["nonesuch", "no_such_module:Class"])
def test_backend_that_does_not_load(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "--pyargs", "gaugeblock_conformance", "--backend", name)
    assert done.returncode == 4
    assert f"backend {name!r}" in done.stderr + done.stdout


def test_conformance_tests_run(tmp_path: Path, fakes: Path) -> None:
    arguments = ("--pyargs", "gaugeblock_conformance", "--backend", "fake_backends:Healthy", "-k", "views", "-v")
    done = run(tmp_path, *arguments)
    assert re.search(r"test_\w+\.py::test_\w+\[views/[a-z0-9-]+", done.stdout), done.stdout + done.stderr
    assert "missing capability views" in done.stdout
    assert "error" not in done.stdout.splitlines()[-1]


def test_expected_failures_are_xfailed(tmp_path: Path, fakes: Path) -> None:
    arguments = ["--pyargs", "gaugeblock_conformance.views", "--backend", "numpy", "-k", "views/expand-", "-v"]
    first = run(tmp_path, *arguments)
    identifier = re.findall(r"\[(views/expand-[a-z0-9-]+)\] PASSED", first.stdout)[0]
    file = tmp_path / "expected.toml"
    file.write_text(f'[[expected]]\nrequirement = "{identifier}"\nreason = "known"\nevidence = "seen"\n')
    second = run(tmp_path, *arguments, "--gaugeblock-expect", str(file))
    assert f"[{identifier}] XPASS" in second.stdout, second.stdout + second.stderr
