"""The mutants' machinery: each patch changes something, right backends are not caught, trials end as they should."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.mutants import (
    acceptances,
    algebra,
    arrangements,
    bounds,
    computations,
    counting,
    indices,
    iteration,
    layouts,
    lazies,
    lengths,
    lifetimes,
    lookups,
    narrow_floats,
    operands,
    ranks,
    sharing,
    slopes,
    traces,
)
from gaugeblock_conformance.mutants.__main__ import main
from gaugeblock_conformance.mutants.mutant import CLASSES, Intercepted, Mutant, MutantBackend, MutantBroken, rows
from gaugeblock_conformance.mutants.probes import differs
from gaugeblock_conformance.mutants.record import must
from gaugeblock_conformance.mutants.run import Trials, run_all
from gaugeblock_conformance.mutants.table import named, table
from gaugeblock_conformance.mutants.trial import run_trial
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.requirement import AREA_PACKAGES

NUMPY = discovery.load(discovery.resolve("numpy"))
QUICK_ONES = ("select-is-off-by-one", "transpose-copies", "neg-of-zero-is-positive")

SEQUENCES = (
    "excluded-keys-count", "outer-mode-is-first", "removed-kernel-stays", "tail-is-skipped", "retain-graph-is-lost",
    "removed-hooks-run",
)  # fmt: skip

# A few of what is exchanged, accepted or special.
FOR_ONE = ("deep-copies-are-views", "slices-go-forwards-anyway", "medians-of-expanded-dims-are-zero")


def _mutant(patch: Any, *operators: str) -> Mutant:
    return Mutant("made-here", CLASSES[0], ("dtypes/signed-zeros",), operators, patch)


def test_every_class_has_mutants() -> None:
    mutants = table().values()
    assert len(mutants) >= 80
    assert {m.kind for m in mutants} == set(CLASSES)
    assert all(area in AREA_PACKAGES for m in mutants for area in m.areas)


def test_every_must_is_broken_by_a_mutant() -> None:
    broken = {target.requirement for mutant in table().values() for target in mutant.targets}
    assert [identifier for identifier in must() if identifier not in broken] == []


def _written(thing: Any) -> Any:
    """What a patch does, whatever its name: its code, and that of the functions and values that it holds."""
    if isinstance(thing, FunctionType):
        code, cells = thing.__code__, [cell.cell_contents for cell in thing.__closure__ or ()]
        constants = [constant for constant in code.co_consts if constant != thing.__doc__]
        return code.co_code, code.co_names, _written(constants), repr(thing.__defaults__), _written(cells)
    if isinstance(thing, CodeType):
        return thing.co_code, thing.co_names, _written(thing.co_consts)
    return tuple(_written(one) for one in thing) if isinstance(thing, (list, tuple)) else repr(thing)


def test_no_mutant_has_two_names() -> None:
    names: dict[Any, list[str]] = {}
    for mutant in table().values():
        names.setdefault((mutant.base, frozenset(mutant.operators), _written(mutant.patch)), []).append(mutant.name)
    assert [several for several in names.values() if len(several) > 1] == []


# Mutants of registries, modes, loops, autograd, allocators and exchange show in sequences of calls, those of operators
# of all families in arguments made for them: trials have both, probes do not.
UNPROBED = ("dispatcher", "kernels", "operators", "autograd", "allocator", "interop", "layouts")


# As do those written for one requirement each, or over a right backend of their own, and those of single operators.
WRITTEN_FOR_ONE = {
    m.name
    for module in (
        acceptances, algebra, arrangements, bounds, computations, counting, indices, iteration, layouts, lazies,
        lengths, lifetimes, lookups, narrow_floats, operands, ranks, sharing, slopes, traces,
    )
    for m in module.MUTANTS
} | {
    "order-of-dims-is-remembered-by-rank", "numbers-do-not-count-as-inputs", "bounds-count-as-inputs",
    "expanded-operands-are-copied", "kernels-of-refused-dtypes-are-not-named", "device-of-out-is-not-named",
    "changed-results-are-not-told", "missing-graph-is-told-by-backward-alone", "halves-are-filled-by-way-of-float32",
    "shapes-are-lists", "floats-are-cut-before-the-check", "quantized-dtypes-give-way", "half-powers-are-roots",
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind not in UNPROBED])
def test_every_patch_changes_something(kind: str) -> None:
    right = discovery.load(discovery.resolve("reference"))
    probed = [m for m in table().values() if m.kind == kind and m.name not in WRITTEN_FOR_ONE]
    same = [m.name for m in probed if not differs(m, right)]
    assert same == []


def test_right_backend_is_not_caught() -> None:
    breaks = tuple(identifier for identifier in must() if identifier.startswith(("views/", "iteration/")))
    right = Mutant("made-here", CLASSES[0], breaks, ("*",), lambda c: c.right())
    result = run_trial(NUMPY, right, QUICK, 0, elsewhere=False)
    assert result.status == "missed"
    assert result.tried > 1000


@pytest.mark.parametrize("name", QUICK_ONES)
def test_mutants_of_numpy_are_caught(name: str) -> None:
    result = run_trial(NUMPY, named(name), QUICK, 0)
    assert result.status == "caught", result
    assert result.target in named(name).breaks


@pytest.mark.parametrize("name", [*SEQUENCES, *FOR_ONE])
def test_mutants_of_registries_and_loops_are_caught(name: str) -> None:
    result = run_trial(discovery.load(discovery.resolve("reference")), named(name), QUICK, 0)
    assert result.status == "caught", result
    assert result.target in named(name).breaks


def test_mutants_have_right_backends_of_their_own() -> None:
    names = ("indexed-parts-leave-their-block", "copies-keep-the-block-of-the-whole")
    results = {r.name: r for r in run_all([named(name) for name in names], Trials("numpy", "quick"), 1)}
    assert {r.status for r in results.values()} == {"caught"}
    assert {r.target for r in results.values()} == {"allocator/view-keeps-the-whole-block"}


def test_defect_of_a_patch_is_no_verdict() -> None:
    def patch(c: Intercepted) -> Any:
        return c.args[7]

    with pytest.raises(MutantBroken, match="made-here on neg: IndexError"):
        MutantBackend(NUMPY, _mutant(patch, "neg")).call("neg", np.ones(2))
    assert run_trial(NUMPY, _mutant(patch, "neg"), QUICK, 0).status == "broken"


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        ((), "'made-here' names no requirement that it breaks"),
        (("dtypes/no-such",), "'made-here' breaks 'dtypes/no-such': the spec has no requirement 'dtypes/no-such'"),
        (("views/flip-copies[no_such]",), "the spec has no operator 'no_such'"),
    ],
)
def test_what_is_broken_is_in_the_spec(breaks: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        Mutant("made-here", CLASSES[0], breaks, ("neg",), lambda c: c.right())


def test_rows_of_a_table_break_what_stands_in_them_or_under_it() -> None:
    row = "operators/every-operator-gives-what-its-row-says"
    first, second = rows(
        CLASSES[0],
        ("first", f"views/flip-copies {row}[]", ("flip", "add_", "__add__"), lambda c: c.right()),
        ("second", ("sum.dim_IntList",), lambda c: c.right()),
        breaks=f"{row}[]",
    )
    assert first.breaks == ("views/flip-copies", f"{row}[flip]", f"{row}[add]")
    assert first.areas == ("views", "operators")
    assert second.breaks == (f"{row}[sum.dim_IntList]",)
    assert second.targets[0].rows == {"sum.dim_IntList"}
    assert {"add.Tensor", "add.Scalar"} <= first.targets[2].rows


def test_only_a_verdict_on_what_is_broken_catches() -> None:
    mutant = replace(named("neg-of-zero-is-positive"), breaks=("dtypes/nan-propagates", "dtypes/signed-zeros"))
    result = run_trial(NUMPY, mutant, QUICK, 0)
    assert (result.status, result.target) == ("caught", "dtypes/signed-zeros")
    result = run_trial(NUMPY, replace(mutant, breaks=("dtypes/nan-propagates",)), QUICK, 0)
    assert (result.status, result.target) == ("elsewhere", "")
    assert "dtypes/nan-propagates" not in result.requirements


def test_verdict_on_another_operator_does_not_catch() -> None:
    row = "operators/every-operator-gives-what-its-row-says"
    right = discovery.load(discovery.resolve("reference"))
    mutant = replace(named("flip-turns-one-dim"), breaks=(f"{row}[flip]",))
    result = run_trial(right, mutant, QUICK, 0)
    assert (result.status, result.target) == ("caught", f"{row}[flip]")
    assert run_trial(right, replace(mutant, breaks=(f"{row}[tril]",)), QUICK, 0).status == "elsewhere"


def test_refusals_pass_through() -> None:
    def refuse(c: Intercepted) -> Any:
        c.refuse(IndexError, "no")

    with pytest.raises(IndexError, match="neg: no"):
        MutantBackend(NUMPY, _mutant(refuse, "neg")).call("neg", np.ones(2))
    with pytest.raises(IndexError, match="out of range"):
        MutantBackend(NUMPY, _mutant(lambda c: c.right(), "select.int")).call("select.int", np.ones(2), 0, 9)


def test_one_process_each() -> None:
    mutants = [named(name) for name in QUICK_ONES]
    results = {r.name: r for r in run_all(mutants, Trials("numpy", "quick"), 2)}
    assert {r.status for r in results.values()} == {"caught"}


def test_crash_is_no_catch(die: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    breaks = ("views/transpose-permutes-metadata",)
    crashing = Mutant("crashing", CLASSES[0], breaks, ("t",), lambda c: die(signal.SIGABRT))
    monkeypatch.setitem(table(), "crashing", crashing)
    (result,) = run_all([crashing], Trials("numpy", "quick"), 1)
    assert (result.status, result.text) == ("crashed", "the process ended by SIGABRT")


def test_death_is_a_verdict_on_a_test_that_the_right_backend_survives() -> None:
    mutant = named("places-outside-kill-the-process")
    (result,) = run_all([mutant], Trials("reference", "quick"), 1)
    assert (result.status, result.verdict, result.target) == ("caught", "crashed", "storage/no-call-kills-the-process")
    assert "SIGSEGV" in result.text


def test_trial_of_own_tests_looks_no_further() -> None:
    mutant = replace(named("neg-of-zero-is-positive"), breaks=("dtypes/nan-propagates",))
    result = run_trial(NUMPY, mutant, QUICK, 0, elsewhere=False)
    assert (result.status, result.test) == ("missed", "")


def test_command_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "numpy", "--budget", "quick", "--only", "transpose-copies", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "transpose-copies" in shown
    assert "1 of 1 mutants caught by what they break" in shown
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(table())
    assert "transpose-copies (aliasing and purity): transpose t T breaks views/" in "\n".join(listed)
    assert main(["--only", "no-such"]) == 2
    assert main(["--class", "no such"]) == 2
    with pytest.raises(UsageProblem, match="unknown mutant"):
        named("no-such")
