"""``gaugeblock gradcheck``: right and wrong derivatives, its table and record, and one line for every bad input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import command, expectations
from gaugeblock_conformance.gradcheck.operators import ORDERS
from gaugeblock_conformance.gradcheck.rows import differentiable
from gaugeblock_conformance.gradcheck.suite import identifier, operator_of, slow
from gaugeblock_conformance.gradcheck.table import lines
from gaugeblock_conformance.runner import suite as suites
from gaugeblock_reports import record as run_record

Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def run(fakes: Path, tmp_path: Path) -> Run:
    """``run("Flipped", "--op", "mul")``: exit status and record."""

    def checked(backend: str, *options: str) -> tuple[int, dict[str, Any]]:
        name = backend if backend == "reference" else f"fake_gradients:{backend}"
        argv = ["gradcheck", name, "--jobs", "1", "--out", str(tmp_path), "--no-snippet-check", *options]
        return command.main(argv), run_record.load(tmp_path)

    return checked


ALL = ("--second-order", "--forward")


def test_right_derivatives(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, record = run("reference", "--op", "mul.Tensor", "sin", *ALL)
    assert status == 0
    found = lines(record)
    assert {line.operator for line in found} == {"mul.Tensor", "sin"}
    for line in found:
        assert line.status == dict.fromkeys(ORDERS, "passed")
        assert line.inputs >= 12
        assert line.worst is not None
        assert 0 < line.worst < 0.1
    assert "2 operators: 2 passed" in capsys.readouterr().out
    assert "\n| mul.Tensor" in (tmp_path / "gradcheck.md").read_text()


@pytest.mark.parametrize(
    ("backend", "broken"),
    [("Flipped", "first_order"), ("Forgets", "second_order"), ("Halved", "forward_mode")],
)
def test_wrong_derivatives(run: Run, backend: str, broken: str) -> None:
    status, record = run(backend, "--op", "mul.Tensor", *ALL)
    assert status == 1
    (line,) = lines(record)
    assert line.verdict == line.status[broken] == "failed"
    assert next(order for order in ORDERS if line.status[order] == "failed") == broken
    row = next(row for row in record["requirements"] if row["area"] == broken)
    assert "numerical" in row["failure"]["message"] or "not require grad" in row["failure"]["message"]
    assert row["failure"]["example"]["call"].startswith("mul.Tensor(self=Tensor(float64")


def test_gradients_of_functions(run: Run) -> None:
    status, record = run("OfFunctions", "--op", "mul.Tensor", "sin", "stack", "linalg_slogdet", *ALL)
    assert status == 0
    for line in lines(record):
        assert line.status == dict.fromkeys(ORDERS, "passed")
        assert line.inputs >= 8


def test_wrong_gradients_of_functions(run: Run) -> None:
    status, record = run("OfFlippedFunctions", "--op", "mul.Tensor", *ALL)
    assert status == 1
    (line,) = lines(record)
    assert line.status["first_order"] == "failed"
    assert line.status["forward_mode"] == "skipped"
    row = next(row for row in record["requirements"] if row["area"] == "first_order")
    assert "by input 1" in row["failure"]["message"]


def test_snippet_of_a_right_backend_holds(run: Run) -> None:
    _, record = run("Flipped", "--op", "mul.Tensor")
    snippet = record["requirements"][0]["failure"]["snippet"]
    assert snippet.startswith("import gaugeblock as gb\n")
    assert "gb.autograd.grad(f(x" in snippet
    assert len(snippet.splitlines()) <= 11
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_failure_is_told_with_its_call_and_slopes(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    _, record = run("Flipped", "--op", "mul.Tensor")
    failure = record["requirements"][0]["failure"]
    out = capsys.readouterr().out
    for name, text in (("call", failure["example"]["call"]), ("numerical", failure["expected"])):
        assert f"\n    {name:<12}{text}\n" in out
    assert f"\n    analytical  {failure['got']}\n    snippet\n        import gaugeblock as gb\n" in out
    assert out.endswith("1 operators: 1 failed; 0 calls differentiated\n")


def test_fast_mode_finds_the_entry(run: Run) -> None:
    status, record = run("Flipped", "--op", "mul.Tensor", "--fast")
    assert status == 1
    assert record["requirements"][0]["failure"]["expected"] is not None


def test_a_crash_is_told(run: Run) -> None:
    status, record = run("Aborts", "--op", "sin")
    assert status == 1
    (row,) = record["requirements"]
    assert row["status"] == "crashed"
    assert "SIGABRT" in row["failure"]["message"]
    assert "gb.autograd.grad(sum(r.abs().sum() for r in ys), [x0]" in row["failure"]["snippet"]
    assert "gaugeblock_conformance" not in row["failure"]["snippet"]


def test_what_cannot_be_checked_is_skipped_by_name(run: Run) -> None:
    status, record = run("WithoutSine", "--op", "sin", "cos", "exp")
    assert status == 0
    by_operator = {line.operator: line for line in lines(record)}
    assert {name: line.verdict for name, line in by_operator.items()} == {
        "sin": "skipped", "cos": "skipped", "exp": "passed",
    }  # fmt: skip
    assert "no cosine today" in by_operator["cos"].remarks[0]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["reference", "--op", "coss"], "unknown operator 'coss'; did you mean cross or cos"),
        (["reference", "--op", "argmax"], "operator 'argmax' has no derivative: the spec declares none for it"),
        (["nonesuch"], "unknown backend 'nonesuch'"),
        (["reference", "--jobs", "0"], "'0' is not a whole number from 1"),
        (["reference", "--timeout", "-1"], "'-1' is not a number of seconds above 0"),
        (["reference", "--op", "sin", "--expect", "nonesuch.toml"], "expectation file nonesuch.toml: No such file"),
    ],
)
def test_bad_input(argv: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    try:
        status = command.main(["gradcheck", *argv, "--out", str(tmp_path / "out")])
    except SystemExit as left:
        status = int(left.code or 0)
    assert status == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_backend_without_gradients_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["gradcheck", "numpy", "--out", str(tmp_path / "out"), "--jobs", "1"]) == 4
    out, err = capsys.readouterr()
    wanted = "numpy has no derivatives to check: it lists neither capability 'autograd' nor 'autograd.vjp'"
    assert (out, err) == ("", f"gaugeblock: {wanted}\n")
    assert not (tmp_path / "out").exists()


def test_every_requirement_stands_for_an_operator_and_an_order() -> None:
    requirements, operators = slow().requirements, operator_of()
    assert len(requirements) == len(ORDERS) * len(differentiable())
    assert set(operators.values()) == set(differentiable())
    assert operators[identifier("mul.Tensor", "first_order")] == "mul.Tensor"
    assert set(slow().tests()) == set(requirements)


def test_the_shipped_expectations_name_operators_that_are_checked() -> None:
    shipped = expectations.shipped("gradcheck-torch", "2.13.0+cpu")
    assert shipped is not None
    manifest = expectations.read(shipped, set(operator_of()), "cpu")
    assert manifest.expected["first_order/as-strided-scatter", None].covers("derivative of output 0")


def test_what_gradcheck_knows_of_torch_validate_knows() -> None:
    manifests = []
    for name, ids in (("gradcheck-torch", operator_of()), ("torch", suites.load(suites.STANDARD).requirements)):
        shipped = expectations.shipped(name, "2.13.0+cpu")
        assert shipped is not None
        manifests.append(expectations.read(shipped, set(ids), "cpu"))
    wrong = {operator_of()[row] for row, _ in manifests[0].expected if row.startswith("first_order/")}
    known = manifests[1].expected["autograd/declared-derivatives-are-there", None].operators
    assert {"sum", "mse_loss"} <= wrong <= set(known)


def test_a_constant_result_needs_no_gradient(run: Run) -> None:
    status, record = run("Detached", "--op", "vander", "sin", "--forward")
    assert status == 1
    assert {row["id"]: row["status"] for row in record["requirements"]} == {
        "first_order/sin": "failed", "forward_mode/sin": "failed",
        "first_order/vander": "passed", "forward_mode/vander": "passed",
    }  # fmt: skip
    message = record["requirements"][0]["failure"]["message"]
    assert "no result requires grad: output 0 does not require grad, but depends on" in message
