"""What a library's own documentation rules otherwise is asked instead, and told with its source."""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.backend import Backend
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.own_rules import KINDS, OPEN, OwnRule, checked
from gaugeblock_conformance.problem import BackendProblem
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_conformance.runner.run import Options, validate
from gaugeblock_conformance.runner.selection import Selection
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_reports import record as run_record
from gaugeblock_reports import terminal

PAGE = "https://own.example/docs"
TIES = "iteration/ties-give-the-first-index"


def rule(kind: str, operators: tuple[str, ...], holds: Any = ()) -> OwnRule:
    return OwnRule(kind, operators, holds, sentence="The page says so.", source=PAGE)


@pytest.fixture
def plain(fakes: Path) -> Backend:
    return _load("Plain")


@pytest.fixture
def ruled(fakes: Path) -> Backend:
    return _load("Ruled")


def _load(name: str) -> Backend:
    return discovery.load(discovery.resolve(f"own_rule_backends:{name}"))


def test_a_dtype_of_its_own_is_asked_and_told(plain: Backend, ruled: Backend) -> None:
    assert run_requirement(plain, TIES, QUICK, 0)["status"] == "failed"
    row = run_requirement(ruled, TIES, QUICK, 0)
    told = "argmax, argmin, max.dim[1], min.dim[1]: int32 for int64"
    assert row["status"] == "passed"
    assert row["reason"] == f"asked by its own rules: {told}"
    assert row["own_rules"][told] > 50


def test_the_rule_of_a_dtype_is_a_demand() -> None:
    """A library that documents int32 and gives int64 is wrong."""
    s = Session(_numpy(rule("dtypes", ("eq",), {"bool": "int32"})), QUICK)
    with pytest.raises(ConformanceError, match=r"wrong dtype of eq\.Tensor's result") as caught:
        s.expect_values(s.call("eq.Tensor", s.tensor([1.0]), s.tensor([1.0])), [True], dtype="bool")
    assert (caught.value.expected, caught.value.got) == ("int32", "bool")


def test_values_are_judged_in_the_dtype_of_its_own(ruled: Backend) -> None:
    s = Session(ruled, QUICK)
    y = s.call("argmax", s.tensor([1.0, 2.0]))
    s.expect_values(y, 1, dtype="int64")
    with pytest.raises(ConformanceError, match="wrong value"):
        s.expect_values(y, 0, dtype="int64")


def test_only_the_named_one_of_several_results_has_the_dtype(ruled: Backend) -> None:
    s = Session(ruled, QUICK)
    values, places = s.call("max.dim", s.tensor([3, 4], "int64"), 0)
    s.expect_values(values, 4, dtype="int64")
    s.expect_values(places, 1, dtype="int64")
    assert sum(s.outcome.own_rules.values()) == 1


def test_conditions_look_at_parts_of_drawn_operands() -> None:
    """The imaginary part of a drawn tensor is an operand like the tensor, what an earlier call computed is not."""

    class OpenAtNan(ReferenceBackend):
        rules = (rule("values", ("mul",), ("nan operand",)),)

    s = Session(OpenAtNan(), QUICK)
    one = s.tensor([1.0])
    part = s.call("imag", s.call("conj", s.tensor([complex(1.0, nan)], "complex64")))
    s.expect_values(s.call("mul.Tensor", part, one), [5.0])
    computed = s.call("sub.Tensor", s.tensor([inf]), s.tensor([inf]))
    with pytest.raises(ConformanceError, match=r"wrong value of mul\.Tensor's result"):
        s.expect_values(s.call("mul.Tensor", computed, one), [5.0])


def test_its_own_classes_stand_for_others(plain: Backend, ruled: Backend) -> None:
    for backend, status in ((plain, "failed"), (ruled, "passed")):
        row = run_requirement(backend, "iteration/empty-extrema-raise", QUICK, 0)
        assert row["status"] == status
    assert row["own_rules"] == {"all operators: NoPlace for IndexError": 8}


def test_another_class_is_still_wrong_and_its_snippet_knows_the_class(ruled: Backend) -> None:
    s = Session(ruled, QUICK)
    with pytest.raises(ConformanceError, match="raised RuntimeError instead of IndexError or NoPlace") as caught:
        s.expect_raises(IndexError, "mm", s.tensor([1.0]), s.tensor([1.0]))
    assert "from own_rule_backends import NoPlace\n" in caught.value.snippet


def test_a_refusal_that_is_not_promised_is_not_called(ruled: Backend) -> None:
    s = Session(ruled, QUICK)
    x, y = s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0, 3.0])
    s.expect_raises(RuntimeError, "add.Tensor", x, y)
    assert "add.Tensor" not in ruled.called  # type: ignore[attr-defined]
    assert s.outcome.left_out
    assert not s.own_rules.promised("add_.Tensor", ())
    assert s.own_rules.promised("add.Tensor", (IndexError,))
    with pytest.raises(ConformanceError, match="mm raised RuntimeError instead"):
        s.expect_raises(IndexError, "mm", x, y)


def test_a_test_of_which_nothing_was_asked_is_skipped_and_another_partial(ruled: Backend) -> None:
    from gaugeblock_conformance.requirement import TestCase

    def refuses(s: Session) -> None:
        s.expect_raises(RuntimeError, "add.Tensor", s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0, 3.0]))

    def refuses_and_adds(s: Session) -> None:
        refuses(s)
        s.expect_values(s.call("neg", s.tensor([1.0])), [-1.0])

    told = "asked by its own rules: add: RuntimeError is not promised"
    for function, status in ((refuses, "skipped"), (refuses_and_adds, "partial")):
        case = TestCase("one", function, "module", 1, (), ())
        row = run_requirement(ruled, TIES, QUICK, 0, tests=[case])
        assert (row["status"], row["reason"]) == (status, told)


def test_an_operator_of_which_nothing_was_asked_is_skipped(ruled: Backend) -> None:
    def refuses(s: Session, operator: str) -> None:
        s.expect_raises(RuntimeError, operator, s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0, 3.0]))

    s = Session(ruled, QUICK)
    s.table(["add.Tensor", "mul.Tensor"], refuses)
    assert s.outcome.judged == {"add.Tensor": 0, "mul.Tensor": 1}


def test_texts_of_errors_may_be_left_out(plain: Backend, ruled: Backend) -> None:
    for backend in (plain, ruled):
        s = Session(backend, QUICK)
        s.expect_raises(RuntimeError, "mm", s.tensor([1.0]), s.tensor([1.0]), match=r"2-?D|matri|vector|dim")
        if backend is plain:
            with pytest.raises(ConformanceError, match="the error does not say 'zebra'"):
                s.expect_raises(RuntimeError, "mm", s.tensor([1.0]), s.tensor([1.0]), match="zebra")
        else:
            s.expect_raises(RuntimeError, "mm", s.tensor([1.0]), s.tensor([1.0]), match="zebra")
            assert s.outcome.own_rules == {"all operators: texts of errors are not promised": 1}


OPENINGS: dict[str, tuple[Any, Any, bool]] = {
    # Condition: operands, what is wrongly expected of their sum, and whether it is open.
    "all": ([1.0, 2.0], [9.0, 9.0], True),
    "sign of zero": ([0.0, 2.0], [-0.0, 2.0], True),
    "rounding": ([1.0, 2.0], [1.0000002, 2.0], True),
    "subnormal": ([0.0, 2.0], [1e-40, 2.0], True),
    "subnormal operand": ([1e-40, 2.0], [0.5, 2.0], True),
    "nan": ([1.0, 2.0], [np.nan, 2.0], True),
    "infinity": ([1.0, 2.0], [np.inf, 2.0], True),
    "nan operand": ([1.0, np.nan], [9.0, np.nan], True),
    "infinite operand": ([1.0, -np.inf], [9.0, -np.inf], True),
    "integer divided by zero": ([1.0, 2.0], [9.0, 2.0], False),
    "last place": ([1.0, 2.0], [1.0000001, 2.0], True),
    "accumulation": ([1.0, 2.0], [1.000001, 2.0], True),
    "rounded to zero": ([0.0, 2.0], [-0.0, 2.0], False),
    "of a subnormal": ([1e-40, 2.0], [0.5, 2.0], True),
}


@pytest.mark.parametrize("name", OPENINGS)
def test_elements_are_left_open_where_the_condition_says(name: str) -> None:
    given, want, is_open = OPENINGS[name]
    s = Session(_numpy(rule("values", ("clone",), (name,))), QUICK)
    y = s.call("clone", s.tensor(given))
    says = "any values" if name == "all" else f"any values where {name}"
    if is_open:
        s.expect_values(y, want)
        s.expect_close(y, np.asarray(want, np.float64), 0.0 if name != "sign of zero" else 1.0)
        assert s.outcome.own_rules == {f"clone: {says}": 1 if name == "sign of zero" else 2}
    else:
        with pytest.raises(ConformanceError, match="wrong value of clone"):
            s.expect_values(y, want)


def test_other_elements_and_operators_are_judged_beside_open_ones() -> None:
    s = Session(_numpy(rule("values", ("clone",), ("nan",))), QUICK)
    y = s.call("clone", s.tensor([5.0, 2.0]))
    with pytest.raises(ConformanceError, match=r"wrong value of clone's result at \(1,\)"):
        s.expect_values(y, [np.nan, 3.0])
    with pytest.raises(ConformanceError, match="wrong value of neg's result"):
        s.expect_values(s.call("neg", s.tensor([5.0])), [np.nan])


def test_division_of_integers_by_zero_is_told_from_other_divisions() -> None:
    by_zero = OPEN["integer divided by zero"]
    ints, floats = np.array([4, 5]), np.array([4.0, 5.0])
    assert by_zero(ints, ints, [ints, np.array([0, 1])])
    assert not by_zero(ints, ints, [ints, np.array([2, 1])])
    assert not by_zero(floats, floats, [floats, np.array([0.0, 1.0])])
    assert OPEN["empty operand"](ints, ints, [np.zeros((2, 0))])
    assert not OPEN["empty operand"](ints, ints, [ints])


def test_what_is_near_is_rounded_and_what_is_far_is_wrong() -> None:
    s = Session(_numpy(rule("values", ("clone",), ("rounding", "sign of zero"))), QUICK)
    y = s.call("clone", s.tensor([1.0, 0.0]))
    s.expect_values(y, [1.0000002, -0.0])
    for wrong in ([1.00001, 0.0], [1.0, 1e-6], [np.nan, 0.0]):
        with pytest.raises(ConformanceError, match="wrong value of clone"):
            s.expect_values(y, wrong)
    ints = s.call("clone", s.tensor([5, 0], "int64"))
    with pytest.raises(ConformanceError, match="wrong value of clone"):
        s.expect_values(ints, [6, 0], dtype="int64")


def test_a_neighbour_is_told_from_what_lies_beyond() -> None:
    near = OPEN["last place"]
    for dtype in (np.float16, np.float32, np.float64):
        one = np.ones(1, dtype)
        beside = np.nextafter(one, np.asarray(2, dtype))
        assert near(beside, one, []).all()
        assert not near(np.nextafter(beside, np.asarray(2, dtype)), one, []).any()
    assert not near(np.ones(1, np.int64), np.ones(1, np.int64), [])


def test_as_many_roundings_as_elements_are_accumulated() -> None:
    accumulated = OPEN["accumulation"]
    ones = np.ones(1000, np.float16)
    assert accumulated(np.float16([998]), np.float64([1000]), [ones]).all()
    assert not accumulated(np.float16([np.inf]), np.float64([1]), [ones]).any()
    assert not accumulated(np.float32([1001]), np.float64([1000]), [np.ones(10, np.float32)]).any()
    assert not accumulated(np.int64([998]), np.int64([1000]), [ones])
    assert not accumulated(np.float16([998]), np.float64([1000]), [])


def test_what_overflows_is_told_from_what_an_integer_holds() -> None:
    overflows, want = OPEN["integer overflow"], np.int64([0])
    assert overflows(want, want, [np.int64([2**40, 2**30])])
    assert not overflows(want, want, [np.int64([2**30 - 1, 1 - 2**31])])
    assert overflows(np.int8([0]), np.int8([0]), [np.int8([100]), np.int8([100])])
    assert not overflows(want, want, [np.int8([100]), np.int8([100])])
    assert not overflows(np.float64([0]), np.float64([0]), [np.int64([2**40, 2**30])])
    assert not overflows(want, want, [])


def test_a_number_rounded_to_zero_is_told_from_a_zero() -> None:
    rounded, subnormal = OPEN["rounded to zero"], OPEN["of a subnormal"]
    zeros, signed = np.zeros(2, np.float32), np.float32([-0.0, -0.0])
    assert rounded(zeros, signed, [np.float32([-0.5, -0.0])]).tolist() == [True, False]
    assert not rounded(zeros, signed, [np.float32(-0.5)])
    assert subnormal(zeros, signed, [np.float32([1e-40, 1.0])]).tolist() == [True, False]
    assert not subnormal(zeros, signed, [])


@pytest.mark.parametrize(
    ("operator", "given", "arguments", "exact", "open_"),
    [
        # Elements of a pointwise operator at the place of a subnormal one.
        ("add.Tensor", [1e-40, 2.0, 3.0], ([[1.0], [2.0]],), [[1, 3, 4], [2, 4, 5]], [[1, 0, 0], [1, 0, 0]]),
        ("add.Tensor", [1.0, 2.0], ([[1.0], [1e-40]],), [[2, 3], [1, 2]], [[0, 0], [1, 1]]),
        ("__add__", [1e-40, 2.0], ([1.0, 1.0],), [1, 3], [1, 0]),
        # Sums of a line that has one, along the dims that the call names, or all.
        ("sum.dim_IntList", [[1e-40, 2.0], [3.0, 4.0]], ((1,),), [2, 7], [1, 0]),
        ("sum.dim_IntList", [[1e-40, 2.0], [3.0, 4.0]], ((-2,), True), [[3, 6]], [[1, 0]]),
        ("sum", [[1e-40, 2.0], [3.0, 4.0]], (), 9, 1),
        ("cumsum", [[1e-40, 2.0], [3.0, 4.0]], (1,), [[0, 2], [3, 7]], [[1, 1], [0, 0]]),
        # Of a matrix product any.
        ("mm", [[1e-40, 2.0], [3.0, 4.0]], ([[1.0, 0.0], [0.0, 1.0]],), [[0, 2], [3, 4]], [[1, 1], [1, 1]]),
    ],
)
def test_elements_that_a_subnormal_operand_does_not_reach_are_judged(
    operator: str, given: Any, arguments: tuple[Any, ...], exact: Any, open_: Any
) -> None:
    want, free = np.asarray(exact, np.float32), np.asarray(open_, bool)
    backend: Any = ReferenceBackend()
    backend.rules = (rule("values", ("*",), ("subnormal operand",)),)
    s = Session(backend, QUICK)
    # Lists are further tensors.
    y = s.call(operator, s.tensor(given), *[s.tensor(v) if isinstance(v, list) else v for v in arguments])
    s.expect_close(y, np.where(free, 99.0, want), 1e-6)
    for at in np.argwhere(np.atleast_1d(~free)):
        wrong = want.copy()
        wrong[tuple(at[: want.ndim])] = 99
        with pytest.raises(ConformanceError, match="wrong value of"):
            s.expect_close(y, wrong, 1e-6)


def test_strides_that_are_not_promised_are_not_asked() -> None:
    told = "clone: strides are not promised where there are no elements"
    s = Session(_numpy(rule("strides", ("clone",), ("no elements",)), rule("strides", ("neg",))), QUICK)
    s.expect_strides(s.call("clone", s.tensor(np.zeros((2, 0), np.float32))), (5, 5))
    s.expect_strides(s.call("neg", s.tensor([1.0])), (7,))
    assert s.outcome.own_rules == {told: 1, "neg: strides are not promised": 1}
    assert s.outcome.left_out
    with pytest.raises(ConformanceError, match="wrong stride of clone's result"):
        s.expect_strides(s.call("clone", s.tensor([1.0])), (7,))


def test_what_results_share_is_not_asked_where_it_is_not_promised() -> None:
    told = "clone: what results share is not promised"
    s = Session(_numpy(rule("sharing", ("clone",))), QUICK)
    x = s.tensor([1.0])
    y = s.call("clone", x)
    s.expect_same(y, x)
    s.expect_shares(y, x)
    assert s.outcome.own_rules == {told: 2}
    with pytest.raises(ConformanceError, match="neg's result does not share"):
        s.expect_shares(s.call("neg", x), x)


def test_addresses_that_are_not_promised_are_not_asked() -> None:
    def row(*rules: OwnRule) -> dict[str, Any]:
        backend = _numpy(*rules)
        backend.data_ptr = lambda tensor: 16  # type: ignore[method-assign]
        return dict(run_requirement(backend, "storage/allocation-is-64-byte-aligned", QUICK, 0))

    assert row()["status"] == "failed"
    assert row(rule("addresses", ("*",)))["own_rules"]["all operators: addresses are not promised"] > 1


def test_records_may_have_rules_of_every_kind() -> None:
    rules = json.dumps(run_record.schema())
    assert f'"kind": {{"enum": {json.dumps(list(KINDS))}}}' in rules


def test_a_rule_of_many_operators_names_a_few() -> None:
    names = tuple(f"{name}.Tensor" for name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge"))
    assert rule("texts", names).name.startswith("add.Tensor, sub.Tensor, ")
    assert rule("texts", names).name.endswith("le.Tensor and 2 more: texts of errors are not promised")


def test_right_values_use_no_rule(plain: Backend) -> None:
    s = Session(_numpy(rule("values", ("*",), ("all",))), QUICK)
    s.expect_values(s.call("clone", s.tensor([1.0])), [1.0])
    assert s.outcome.own_rules == {}
    assert run_requirement(plain, "views/clone-preserves-dense-strides", QUICK, 0)["own_rules"] == {}


def test_names_of_operators_cover_their_forms() -> None:
    add = rule("texts", ("add", "__getitem__", "max.dim[1]"))
    for operator in ("add.Tensor", "add_.Tensor", "add.out", "method:add.Scalar", "__getitem__"):
        assert add.covers(operator)
    for operator in ("addmm", "sub.Tensor", "__setitem__", "max.dim", "__radd__"):
        assert not add.covers(operator)
    assert add.covers("max.dim", 1)
    assert rule("texts", ("add.Tensor",)).covers("add.Tensor")
    assert not rule("texts", ("add.Tensor",)).covers("add.Scalar")


WRONG: list[tuple[Any, str]] = [
    ("texts", "rules must be a sequence of at most 200 OwnRule, not 'texts'"),
    (["argmax"], r"rules\[0\] must be an OwnRule, not 'argmax'"),
    ([OwnRule("texts", ("add",), sentence="", source=PAGE)], r"rules\[0\]: sentence must be what"),
    ([OwnRule("texts", ("add",), sentence="So.", source="docs")], "source must be the address.* not 'docs'"),
    ([rule("dtype", ("add",))], "unknown kind 'dtype'; did you mean dtypes"),
    ([rule("texts", ("argmx",))], "unknown operator 'argmx'; did you mean argmax"),
    ([rule("texts", ("__nothing__",))], "unknown operator '__nothing__'"),
    ([rule("texts", ())], r"operators must be a tuple of names, or \('\*',\), not \(\)"),
    ([rule("texts", ("add",), "x")], "holds must be left out, not 'x'"),
    ([rule("dtypes", ("add",), {"int64": "u32"})], "holds must be the spec's dtype -> the library's; dtypes: bool"),
    ([rule("exceptions", ("add",), {"IndexError": ValueError})], "must be the spec's class -> the library's class"),
    ([rule("refusals", ("add",), (int,))], r"holds must be a tuple of exception classes, \(\) for all"),
    ([rule("values", ("add",), ("sometimes",))], "holds must be a tuple of names, of all, sign of zero, rounded"),
    ([rule("strides", ("add",), ("all",))], r"holds must be left out, or \('no elements',\), not \('all',\)"),
    ([rule("sharing", ("add",), ("no elements",))], "holds must be left out"),
    ([rule("texts", ("add",)), rule("texts", ("add",))], r"rules\[1\] says again 'add: texts"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "says"), WRONG)
def test_a_wrong_rule_is_refused(rules: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        checked(rules)


@pytest.mark.parametrize(("name", "says"), [("NoSentence", "sentence must be"), ("NoSuchOperator", "operator 'argmx'")])
def test_a_backend_with_a_wrong_rule_is_not_loaded(fakes: Path, name: str, says: str) -> None:
    with pytest.raises(BackendProblem, match=rf"own_rule_backends:{name}': rules\[0\]: .*{says}") as caught:
        _load(name)
    assert caught.value.exit_status == 3


def test_a_run_tells_rules_and_what_held_only_by_them(fakes: Path, tmp_path: Path) -> None:
    class Quiet:
        def note(self, text: str) -> None: ...

        def start(self, total: int, done: int) -> None: ...

        def decided(self, row: object) -> None: ...

        def finish(self) -> None: ...

    wanted = Selection(requirements=(TIES, "views/flip-copies"))
    options = Options("own_rule_backends:Ruled", tmp_path / "out", wanted, budget="quick", jobs=1, expect="none")
    record = validate(options, Quiet())
    run_record.check(record)
    rules = {rule["kind"]: rule for rule in record["environment"]["own_rules"]}
    ties = next(row for row in record["requirements"] if row["id"] == TIES)
    assert rules.keys() == {"dtypes", "exceptions", "texts", "refusals"}
    assert rules["dtypes"]["used"] == sum(ties["own_rules"].values()) > 0
    assert rules["dtypes"]["requirements"] == [TIES]
    assert (rules["texts"]["used"], rules["texts"]["requirements"]) == (0, [])
    assert rules["dtypes"]["sentence"] == "Places are of dtype int32."
    text = " ".join(terminal.render([record]).split())
    assert "2 MUST held, 1 of them by its own rules" in text
    assert "\u201cPlaces are of dtype int32.\u201d https://own.example/docs/argmax.html" in text


def _numpy(*rules: OwnRule) -> NumpyBackend:
    backend = NumpyBackend()
    backend.rules = checked(rules)
    return backend


def test_subnormal_elements_that_count_as_zero_change_the_sizes_of_results() -> None:
    """A library that leaves subnormal numbers open may list one among the places of nonzero, or not."""
    flushing = rule("values", ("*",), ("subnormal operand",))
    for own, tells in (((flushing,), False), ((), True), ((rule("values", ("*",), ("subnormal",)),), True)):
        backend = ReferenceBackend()
        backend.rules = checked(own)
        s = Session(backend, QUICK)
        tiny, large = s.tensor([1e-40, 0.0]), s.tensor([2.0, 0.0])
        for operator in ("nonzero", "argwhere"):
            s.expect_values(s.call(operator, large), [[0]], dtype="int64")
            if tells:
                with pytest.raises(ConformanceError, match="wrong size"):
                    s.expect_values(s.call(operator, tiny), np.zeros((0, 1), np.int64))
            else:
                s.expect_values(s.call(operator, tiny), np.zeros((0, 1), np.int64))
