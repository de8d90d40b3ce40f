"""What the calls of operators are drawn to meet: wishes, their plan, and the conditions met at each budget."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest
from gaugeblock_conformance import command
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.budget import QUICK, STANDARD, Budget
from gaugeblock_conformance.commands.backend_template import TemplateBackend
from gaugeblock_conformance.operators import plan as plans
from gaugeblock_conformance.operators.calls import OperatorCall, call_on, forms_of
from gaugeblock_conformance.operators.conditions import Condition, judged, met, possible, unmet
from gaugeblock_conformance.operators.coverage import swept
from gaugeblock_conformance.operators.drawing import draw
from gaugeblock_conformance.operators.tally import Tally, tally
from gaugeblock_conformance.operators.wishes import CODE_LENGTH, LEFT_OUT, MIXED, SHAPES, Wish, read
from gaugeblock_conformance.oracles.pointwise import operators_with_oracle
from gaugeblock_conformance.runner.execute import Scope, run_requirement
from gaugeblock_conformance.strategies.code import Digits
from gaugeblock_conformance.strategies.tensors import CLASSES, lay_as, layout_of

ROWS = "operators/every-operator-gives-what-its-row-says"
POINTWISE = "iteration/strided-inputs-give-the-same-values"
TWO_DIMS = SHAPES.index("2") + 1


def _drawn(operator: str, wish: Wish, seed: int = 1) -> OperatorCall:
    return draw(operator, random.Random(seed).randbytes(CODE_LENGTH) + wish.code(operator))


@cache
def _tallies(identifier: str, budget: Budget) -> list[Tally]:
    registry.load_tests()
    return tally(registry.tests()[identifier], budget, seed=0)


@pytest.mark.parametrize("layout", CLASSES)
def test_layouts_can_be_told_from_each_other(layout: str) -> None:
    code = random.Random(3)
    for dims in ((2, 3), (4, 2, 3), (2, 2, 2, 2), (3, 1, 2)):
        for _ in range(20):
            case = lay_as("float32", dims, layout, "distinct", 0, Digits(code.randbytes(16)))
            assert layout_of(case) == layout, case
            assert case.array.shape == dims


def test_layouts_of_one_dim_are_the_nearest_there_are() -> None:
    found = {layout: layout_of(lay_as("float32", (4,), layout, "hard", 0, Digits(b""))) for layout in CLASSES}
    assert found["permuted"] == "gapped"
    assert found["overlapping"] == "expanded"
    assert {layout_of(lay_as("int8", (), layout, "hard", 0, Digits(b""))) for layout in CLASSES[1:]} == {"offset"}


def test_wishes_are_read_back() -> None:
    wish = Wish(form=2, shape=3, dtype=MIXED, relation=1, turn=4, arguments={"self": 2, "alpha": LEFT_OUT})
    assert read("sub.Tensor", wish.code("sub.Tensor")) == Wish(2, 3, MIXED, 1, 4, {"self": 2, "other": 0, "alpha": 255})
    assert read("sub.Tensor", b"") == Wish()


@pytest.mark.parametrize("layout", CLASSES)
def test_wishes_are_met(layout: str) -> None:
    arguments = {"self": 1, "other": CLASSES.index(layout) + 1}
    for seed in range(10):
        call = _drawn("sub.Tensor", Wish(shape=TWO_DIMS, relation=1, arguments=arguments), seed)
        wanted = {("dims", "other", "2"), ("layout", "other", layout), ("layout", "self", "contiguous")}
        assert {Condition(*one) for one in (*wanted, ("sizes", "other", "equal"))} <= met(call), call


def test_a_call_without_wishes_is_that_of_zeros() -> None:
    code = random.Random(5).randbytes(CODE_LENGTH)
    for name in ("sub.Tensor", "conv2d", "matmul", "gather"):
        assert repr(draw(name, code)) == repr(draw(name, code + Wish().code(name)))


def test_conditions_that_samples_rule_out_are_not_possible() -> None:
    found = possible("conv2d")
    assert not any(one.kind == "dims" and one.argument == "weight" and one.value != "4" for one in found)
    written = possible("sub.Tensor", writable=True)
    assert Condition("layout", "self", "expanded") in possible("sub.Tensor") - written
    assert Condition("layout", "other", "expanded") in written


@pytest.mark.parametrize("identifier", [ROWS, POINTWISE])
def test_standard_meets_every_condition(identifier: str) -> None:
    missing = {one.operator: list(map(str, one.missing)) for one in _tallies(identifier, STANDARD) if one.missing}
    assert missing == {}


@pytest.mark.parametrize("identifier", [ROWS, POINTWISE])
def test_quick_meets_each_layout_and_dtype(identifier: str) -> None:
    judged_by_value = {*swept(), *operators_with_oracle()}
    missing = {
        one.operator: [str(condition) for condition in one.missing if condition.kind in ("layout", "dtype", "form")]
        for one in _tallies(identifier, QUICK) if one.operator in judged_by_value
    }  # fmt: skip
    assert {name: conditions for name, conditions in missing.items() if conditions} == {}


def test_what_is_ruled_out_is_met_by_no_call() -> None:
    """A line of ``unmet.txt`` that no longer holds is to be taken out."""
    tallies = _tallies(ROWS, STANDARD)
    stale = {
        one.operator: sorted(text for text in map(str, one.met) if text in one.ruled_out)
        for one in tallies if not one.met.isdisjoint(possible(one.operator) - one.wanted)
    }  # fmt: skip
    assert stale == {}


def test_reasons_are_given_for_what_is_ruled_out() -> None:
    empty = Condition("dims", "self", "empty")
    assert "no largest of no elements" in unmet("max", empty)
    assert empty in possible("max") - judged("max")
    assert unmet("sub.Tensor", empty) == ""


def test_many_calls_bring_most_pairs_of_levels_together() -> None:
    pairs: set[tuple[str, int, str, int]] = set()
    plan = plans.Plan("sub.Tensor", (0,), count=200)
    for seed in range(200):
        wish = plan.next()
        plan.note(_drawn("sub.Tensor", wish, seed))
        pairs.add(("dtype", wish.dtype, "other", wish.arguments["other"]))
    dtypes = len({dtype for _, dtype, _, _ in pairs})
    assert len(pairs) >= 0.9 * dtypes * len(CLASSES)


def test_plans_follow_their_seed() -> None:
    def wishes(seed: int) -> list[Wish]:
        plan = plans.Plan("where.self", (seed,), count=12)
        return [plan.next() for _ in range(12)]

    assert wishes(1) == wishes(1)
    assert wishes(1) != wishes(2)


def test_calls_know_their_form() -> None:
    for name in ("where.self", "conv1d", "matmul"):
        for place in range(len(forms_of(name))):
            assert Condition("form", "", str(place + 1)) in met(_drawn(name, Wish(form=place + 1)))


def test_tensors_in_the_order_of_the_schema() -> None:
    call = call_on("where.self", ["c", "x", "y"], {}, "float32")
    assert call.bind(lambda case: case) == (["c", "x", "y"], {})


def test_coverage_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["requirements", POINTWISE, "--coverage", "quick"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{POINTWISE}\n\nbudget")
    assert "sub.Tensor" in text
    assert "Not met at quick:" in text
    assert command.main(["requirements", POINTWISE, "--coverage", "quick", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "gaugeblock-coverage/1"
    [entry] = [one for one in document["requirements"][0]["operators"] if one["operator"] == "sub.Tensor"]
    assert entry["budgets"]["quick"]["met"] + len(entry["budgets"]["quick"]["missing"]) == entry["possible"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--coverage"], "needs the id of a requirement"),
        (["views/as-strided-copies", "--coverage"], "unknown requirement"),
        ([ROWS, "--coverage", "quik"], "unknown budget 'quik'"),
        (["views/expand-has-stride-zero", "--coverage", "quick"], "draw no calls of operators"),
    ],
)
def test_wrong_questions_for_coverage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["requirements", *arguments]) == 2
    assert message in capsys.readouterr().err


class _WrongMatrices(TemplateBackend):
    """Shows strides, builds no views, and negates no matrix."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return args[0] if operator == "neg" and args[0].ndim == 2 else result


def test_where_no_views_are_built_contiguous_operands_are_judged() -> None:
    backend = _WrongMatrices()
    assert "strided" in backend.capabilities
    assert "as_strided" not in backend.capabilities
    row = run_requirement(backend, POINTWISE, QUICK, 0, scope=Scope(only=("neg",)))
    assert row["failure"] is not None
    assert (row["status"], row["failure"]["operator"]) == ("failed", "neg")
    right = run_requirement(TemplateBackend(), POINTWISE, QUICK, 0, scope=Scope(only=("neg",)))
    assert right["failure"] is None
    assert right["examples"] >= 10
