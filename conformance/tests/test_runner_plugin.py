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


BACKENDS = """
import os, signal
from gaugeblock_conformance.backends.numpy import NumpyBackend

def row_to_four_rows(operator, args):
    return operator == "expand" and args[1] == (4, 3) and args[0].tolist() == [1, 2, 3]

class Crashes(NumpyBackend):
    def call(self, operator, *args, **kwargs):
        if row_to_four_rows(operator, args):
            os.kill(os.getpid(), signal.SIGFPE)
        return super().call(operator, *args, **kwargs)

class Literal(NumpyBackend):
    '''Wrong for one literal call alone.'''
    def call(self, operator, *args, **kwargs):
        result = super().call(operator, *args, **kwargs)
        return result.copy() if row_to_four_rows(operator, args) else result
"""
FILE = ("--pyargs", "gaugeblock_conformance.views.test_expand", "-v")
EXPAND = (*FILE, "-k", "views/expand-has-stride-zero", "--backend")
ENTRY = """
[[expected]]
requirement = "views/expand-has-stride-zero"
reason = "known"
evidence = "seen"
"""


@pytest.fixture
def backends(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(BACKENDS)
    return tmp_path


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Outcome of each test, by its name."""
    return dict(re.findall(r"::(\w+)\[[^\]]*\] (PASSED|FAILED|XFAIL|XPASS|SKIPPED|ERROR)", done.stdout))


def test_a_death_of_the_backend_is_a_failure(backends: Path) -> None:
    done = run(backends, *FILE, "--backend", "mine.py:Crashes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the process ended with signal SIGFPE" in done.stdout
    assert set(outcomes(done).values()) >= {"FAILED", "PASSED"}
    assert re.search(r"\d+ failed, \d+ passed.* in ", done.stdout.splitlines()[-1])


@pytest.mark.parametrize("more", [(), ("--gaugeblock-in-process",)])
def test_an_expectation_over_several_tests(backends: Path, more: tuple[str, ...]) -> None:
    (backends / "expected.toml").write_text(ENTRY)
    tests = {"test_row_to_four_rows", "test_expand_follows_the_rules"}
    done = run(backends, *EXPAND, "mine.py:Literal", *more)
    assert outcomes(done) == dict.fromkeys(tests, "PASSED") | {"test_row_to_four_rows": "FAILED"}, done.stdout
    assert "expand's result is not on the storage of x1" in done.stdout
    assert "y2 = np.broadcast_to(x1, (4, 3))" in done.stdout

    expect = ("--gaugeblock-expect", "expected.toml")
    done = run(backends, *EXPAND, "mine.py:Literal", *expect, *more)
    assert outcomes(done) == dict.fromkeys(tests, "PASSED") | {"test_row_to_four_rows": "XFAIL"}, done.stdout
    assert done.returncode == 0

    done = run(backends, *EXPAND, "numpy", *expect, *more)
    assert sorted(outcomes(done).values()) == ["FAILED", "PASSED"]
    held = "views/expand-has-stride-zero holds, and was expected to fail: known"
    assert f"{held}\ntake it out of expected.toml" in done.stdout
    done = run(backends, *EXPAND, "numpy", *expect, *more, "--deselect", "absent", "-k", "four_rows")
    assert outcomes(done) == {"test_row_to_four_rows": "PASSED"}

    (backends / "expected.toml").write_text(ENTRY + 'match = "another way"\n')
    done = run(backends, *EXPAND, "mine.py:Literal", *expect, *more)
    assert outcomes(done)["test_row_to_four_rows"] == "FAILED"
    assert "expected to fail in another way ('another way'): known" in done.stdout


def test_the_backend_has_one_option(tmp_path: Path) -> None:
    done = run(tmp_path, "--pyargs", "gaugeblock_conformance", "--help")
    assert "  --backend=BACKEND" in done.stdout
    assert "--gaugeblock-backend" not in done.stdout
    assert "--backend BACKEND)" in run(tmp_path, "--help").stdout


def test_a_bad_expectation_file(tmp_path: Path) -> None:
    done = run(tmp_path, *EXPAND, "numpy", "--gaugeblock-expect", "absent.toml")
    assert done.returncode == 4
    assert "expectation file absent.toml: No such file" in done.stderr + done.stdout


def test_in_this_process(tmp_path: Path) -> None:
    """A debugger stops where the test failed."""
    (tmp_path / "mine.py").write_text(BACKENDS)
    done = run(tmp_path, *EXPAND, "mine.py:Literal", "--gaugeblock-in-process", "--pdb")
    assert "entering PDB" in done.stdout
    assert "-> raise s.failure(" in done.stdout
