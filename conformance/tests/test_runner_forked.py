"""Snippets in forks of a process that has imported what they import are as alone as in an interpreter of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gaugeblock_conformance.runner import snippets
from gaugeblock_conformance.runner.forked import Prepared, common_modules, imported
from gaugeblock_conformance.runner.rows import Failure, new_failure, new_row
from gaugeblock_conformance.runner.snippets import check_rows, check_snippet
from gaugeblock_conformance.runner.supervised import death, output_file, tail
from gaugeblock_spec import requirements as spec

USE = "import numpy as np\n"


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    made = Prepared({"numpy"}, dict(os.environ))
    assert made.usable(USE), "NumPy with one thread of OpenBLAS starts no threads"
    yield made
    made.close()


def ran(prepared: Prepared, snippet: str, seconds: float = 60.0) -> tuple[int | None, str]:
    """The exit status of a snippet, None if it was ended, and what it printed."""
    with output_file() as errors:
        process = prepared.start(snippet, errors)
        ended = process.wait(seconds)
        process.end()
        return process.returncode() if ended else None, tail(errors).decode()


def test_it_is_the_main_module_in_a_folder_of_its_own(prepared: Prepared) -> None:
    told = "import os, sys\nprint(__name__, __file__, sys.argv, os.listdir('.'), sys.path[0] == os.getcwd())\n"
    assert ran(prepared, USE + told) == (0, "__main__ snippet.py ['snippet.py'] ['snippet.py'] True\n")


def test_modules_have_been_imported_before_and_those_of_the_suite_have_not(prepared: Prepared) -> None:
    told = "import sys\nprint('numpy' in sys.modules, [m for m in sys.modules if m.startswith('gaugeblock_conf')])\n"
    assert ran(prepared, told) == (0, "True []\n")


@pytest.mark.parametrize(
    ("snippet", "ending"),
    [
        ("import os\nos.abort()\n", "signal SIGABRT"),
        ("import ctypes\nctypes.string_at(0)\n", "signal SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGFPE)\n", "signal SIGFPE"),
        ("import sys\nsys.exit(3)\n", "exit status 3"),
        ("import os\nos._exit(4)\n", "exit status 4"),
        ("import atexit, os\natexit.register(os.abort)\n", "signal SIGABRT"),
        ("assert 1 == 2\n", "exit status 1"),
        ("syntax error\n", "exit status 1"),
        ("", "exit status 0"),
    ],
)
def test_it_ends_as_it_would_alone(prepared: Prepared, snippet: str, ending: str) -> None:
    status, _ = ran(prepared, snippet)
    assert status is not None
    assert death(status) == ending


def test_nothing_is_left_for_the_next(prepared: Prepared) -> None:
    spoil = "import numpy, os, sys\nnumpy.add = None\nos.environ['SPOILT'] = '1'\nsys.spoilt = True\nos.chdir('/')\n"
    assert ran(prepared, spoil)[0] == 0
    told = "import numpy, os, sys\nprint(numpy.add is None, 'SPOILT' in os.environ, hasattr(sys, 'spoilt'))\n"
    assert ran(prepared, told) == (0, "False False False\n")


def test_what_hangs_is_ended_with_what_it_started(prepared: Prepared, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = "import subprocess, time\np = subprocess.Popen(['sleep', '600'])\n"
    status, _ = ran(prepared, f"{child}open({str(note)!r}, 'w').write(str(p.pid))\ntime.sleep(600)\n", seconds=5.0)
    assert status is None
    limit = time.monotonic() + 10
    while Path(f"/proc/{note.read_text()}").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert not Path(f"/proc/{note.read_text()}").exists()


def test_its_folder_is_removed(prepared: Prepared) -> None:
    _, printed = ran(prepared, "import os\nprint(os.getcwd())\n")
    assert Path(printed.strip()).name.startswith("gaugeblock-snippet-")
    assert not Path(printed.strip()).exists()


def test_modules_with_threads_are_not_forked(tmp_path: Path) -> None:
    start = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    (tmp_path / "threaded.py").write_text(f"import threading, time\n{start}\n")
    made = Prepared({"threaded"}, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert not made.usable("import threaded\n")
    made.close()


def test_a_snippet_that_imports_less_is_not_forked(prepared: Prepared) -> None:
    assert prepared.usable("import numpy as np\nimport math\n")
    assert not prepared.usable("import math\n")
    assert not prepared.usable("def f():\n    import numpy\n")
    assert not prepared.usable("syntax error\n")


def test_modules_that_most_import() -> None:
    assert imported("import a.b as c, d\nfrom e.f import g\nfrom . import h\n") == {"a.b", "d", "e.f"}
    both = "import numpy as np\nimport torch\n"
    given = ["import torch\nimport math\n", both, both, "import torch\n", "x\n"]
    assert common_modules(given) == {"torch"}
    assert common_modules([]) == frozenset()


def test_a_failure_that_forking_does_not_show_is_looked_at_in_a_new_interpreter(prepared: Prepared) -> None:
    """OpenBLAS has one thread there; what needs the other is not called different for that."""
    # Python was started with -P there.
    failure = new_failure("failed", "m", got="2", snippet="import numpy, sys\nassert sys.flags.safe_path, 2\n")
    assert ran(prepared, failure["snippet"] or "")[0] == 0
    result = check_snippet(failure, prepared=prepared)
    assert result.same, result.seen


def test_every_failure_is_executed_and_the_shortest_of_each_cause_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def check(failure: Failure, *rest: object) -> snippets.SnippetResult:
        order.append(failure["message"])
        return snippets.SnippetResult(True, "seen")

    monkeypatch.setattr(snippets, "check_snippet", check)
    row = new_row(next(iter(spec.load().values())), "failed")
    facts = [("failed", "one", "b", None, 3), ("failed", "one", "a", None, 1), ("failed", "two", "c", "known", 1),
             ("crashed", "three", "d", None, 2)]  # fmt: skip
    made = [
        new_failure(verdict, message, cause=cause, known=known, snippet=lines * "f()\n")  # type: ignore[arg-type]
        for verdict, cause, message, known, lines in facts
    ]
    row["failure"], *row["further_failures"] = made
    check_rows([row], 1)
    assert order == ["d", "a", "c", "b"]
    assert all(failure["snippet_checked"] for failure in made)


def test_long_snippets_are_those_of_many_lines_or_bytes() -> None:
    assert not snippets._is_long("x\n" * 15)
    assert snippets._is_long("x\n" * 16)
    assert not snippets._is_long("x" * 4095 + "\n")
    assert snippets._is_long("x" * 4096 + "\n")
