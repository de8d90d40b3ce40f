"""Snippets look at the backend, hold on a right one, and are not taken for the same failure when they are not."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, cast

import gaugeblock_conformance
import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.assertion import assert_value, looks_at_nothing, unbound
from gaugeblock_conformance.backend import MissingCapability, Unsupported
from gaugeblock_conformance.failure import NoReproducer, executable
from gaugeblock_conformance.requirement import TestCase
from gaugeblock_conformance.runner.rows import Failure, new_failure
from gaugeblock_conformance.runner.same_value import agrees
from gaugeblock_conformance.runner.snippets import check_rows, check_snippet
from gaugeblock_conformance.session import ConformanceError, Session
from telling_session import Site, Telling

SUITE = Path(gaugeblock_conformance.__file__).parent
EVERY = 16
"""Of so many tests one is told."""


def _told(cases: list[TestCase]) -> dict[Site, str]:
    backend = discovery.load(discovery.resolve("reference"))
    told: dict[Site, str] = {}
    for case in cases:
        session = Telling(backend, told)
        if set(case.needs) <= set(session.capabilities):
            try:
                case.function(session)
            except (MissingCapability, Unsupported):
                continue
    return told


def test_snippets_hold_on_the_reference() -> None:
    registry.load_tests()
    cases = {id(case): case for some in registry.tests().values() for case in some}.values()
    here = [case for case in cases if not case.may_crash and not case.slow]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {site: text for site, text in _told(here[::EVERY]).items() if executable(text)}
    assert len(told) > 100
    server = Path(__file__).parent / "helpers" / "snippet_server.py"
    command = [sys.executable, "-W", "ignore", str(server)]
    done = subprocess.run(command, input=json.dumps(list(told.values())), capture_output=True, text=True, check=True)
    said = zip(told.items(), json.loads(done.stdout), strict=True)
    wrong = [f"{site}\n{text}\n{problem}" for (site, text), problem in said if problem]
    assert not wrong, f"{len(wrong)} of {len(told)} do not hold:\n" + "\n".join(wrong)


def _expressions() -> list[tuple[str, ast.expr]]:
    found = []
    for path in sorted(SUITE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "expect":
                given = [*node.args[3:4], *(k.value for k in node.keywords if k.arg == "expression")]
                found += [(f"{path.name}:{node.lineno}", one) for one in given]
    return found


def test_no_expectation_of_the_suite_shows_a_constant() -> None:
    found = _expressions()
    assert len(found) > 100
    for place, one in found:
        built_in = isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "repr"
        assert not built_in, f"{place}: the text of a value shows nothing"
        if isinstance(one, ast.Constant) and one.value is not None:
            line = f"got = {one.value}".replace("{}", "x")
            assert not looks_at_nothing([line, "assert got"]), f"{place}: {one.value!r} is a constant"


@pytest.mark.parametrize("name", ["threads.py", "kernels/test_threads.py", "dispatch/test_cost.py"])
def test_measured_times_have_no_snippet(name: str) -> None:
    tree = ast.parse((SUITE / name).read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    lines = [ast.unparse(call.args[3]) for call in calls if cast("ast.Attribute", call.func).attr == "failure"]
    assert lines
    assert "[]" not in lines


@pytest.mark.parametrize("text", ["None", "'a text'", "1 > 2", "repr(None)", "inf", "'a' in ('b',)", "not a source"])
def test_constants_are_refused(text: str) -> None:
    session = Session(discovery.load(discovery.resolve("numpy")))
    session.tensor([1.0])
    with pytest.raises(ConformanceError) as caught:
        session.expect(1, True, "something", text)
    assert caught.value.snippet.startswith("# no stand-alone reproducer: ")
    assert not executable(caught.value.snippet)


def test_reasons_are_told_with_the_calls_before() -> None:
    told = NoReproducer("two times are compared").told("x = f()\nx.g()\n")
    assert told == "# no stand-alone reproducer: two times are compared\n# the calls before:\n# x = f()\n# x.g()\n"
    assert not executable(told)
    assert executable("# a remark\nf()\n")


def test_unbound_names() -> None:
    assert unbound("import a.b as c\nx = c.f()\nassert [y for y in x]\n") is None
    assert unbound("try:\n    f = lambda z: z\nexcept ValueError as e:\n    e\n") is None
    assert unbound("got = blob[0]\n") == "blob"
    assert unbound("y = x += 1\n") == "'y = x += 1'"


def test_complex_zeros_without_their_signs() -> None:
    assert assert_value(np.complex64(-3), 0, False) == ["assert got == (-3+0j), got"]
    assert assert_value(np.complex64(-3), 0, True) == ["assert repr(got) == '(-3+0j)', got"]


@pytest.mark.parametrize(
    ("shown", "got", "same"),
    [
        ("[2, 1, 1]", "(2, 2, 0)", False),
        ("(2, 2, 0)", "(2, 2, 0)", True),
        ("2.0", "3.0", False),
        ("0.1", "0.0999755859375", True),
        ("nan", "nan", True),
        ("nan", "1.0", False),
        ("(nan+nanj)", "nan+nanj", True),
        ("(1+2j)", "1+2j", True),
        ("(1+2j)", "(1+3j)", False),
        ("True", "1", False),
        ("8", "8 bytes", True),
        ("1000000", "1000001", False),
        ("torch.float64", "float64", True),
        ("torch.float64", "float32", False),
        ("text", "'text'", True),
        ("<object at 0x7f01>", "<object at 0x7f99>", True),
        ("tensor([1.])", "a tensor", True),
        ("", "another one", True),
        ("no RuntimeError", "no exception", True),
        ("12", "no exception", False),
        ("None", "(1,)", False),
    ],
)
def test_same_value(shown: str, got: str, same: bool) -> None:
    assert agrees(shown, got, "") is same


def _failure(snippet: str, got: str) -> Failure:
    return cast("Failure", {**new_failure("failed", "wrong stride"), "snippet": snippet, "got": got})


def test_another_value_is_another_failure() -> None:
    listed = check_snippet(_failure("got = [2, 1, 1]\nassert got == (2, 1, 1), got\n", "(2, 2, 0)"))
    assert (listed.same, listed.seen) == (False, "AssertionError: [2, 1, 1]")
    assert check_snippet(_failure("got = (2, 2, 0)\nassert got == (2, 1, 1), got\n", "(2, 2, 0)")).same


def test_first_line_of_a_long_text_is_seen() -> None:
    text = "got = 'one\\nTwoError: two'\nassert not got, got\n"
    assert check_snippet(_failure(text, "one\nTwoError: two")).seen == "AssertionError: one"


def test_comments_are_never_confirmed() -> None:
    failure = _failure(NoReproducer("why").told("f()\n"), "1")
    assert not check_snippet(failure).same
    row: Any = {"failure": failure, "further_failures": []}
    check_rows([row], 1)
    assert failure["snippet_checked"] is None
