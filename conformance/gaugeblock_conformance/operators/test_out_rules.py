"""What ``out=`` may be: its sizes, its dtype, its device, its kind, and that it may be an operand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import DType, numpy_dtype
from ..failure import NoReproducer
from ..oracles.conversion import cast
from ..oracles.promotion import CORE, KIND
from ..requirement import requirement
from ..session import Handle, Session
from ..values import FLOATS
from .calls import OperatorCall
from .drawing import draw
from .outs import blank, out_count, result_of, with_result
from .sweep import sweep
from .test_forms import rows_with

_REFUSALS = (RuntimeError, TypeError)


def _single(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if out_count(name) == 1)


def _packed(operator: str, code: bytes) -> OperatorCall:
    """A call of which forms agree bit for bit."""
    return draw(operator, code).packed()


def _resized(s: Session, call: OperatorCall, sizes: tuple[int, ...], warned: bool) -> None:
    y = result_of(s, call)
    if y is None or tuple(s.observe("shape", y)) == sizes:
        return
    empty = 0 in s.observe("shape", y)
    dtype = str(s.observe("dtype", y))
    out = s.call("empty.memory_format", sizes, dtype=DType(dtype))
    if s.has_data and not empty:
        want = s.read(y).copy()
    positional, keywords = call.bind(s.build)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = s.call(str(call.row.out_name), *positional, out=out, **keywords)
    s.expect_same(result, out)
    s.expect_shape(out, tuple(s.observe("shape", y)))
    if s.has_data and not empty:
        s.expect_values(out, want)
    told = any(issubclass(w.category, UserWarning) and "resized" in str(w.message) for w in caught)
    if told is not warned:
        text = f"{call.operator}: {'a' if warned else 'no'} warning that out= is resized"
        s.expect(told, warned, text, NoReproducer("warnings are no results of calls"))


@requirement("operators/empty-out-is-resized-silently", slow=True)
def test_empty_outs(s: Session) -> None:
    sweep(s, _single(rows_with("out")), _packed, lambda s, call: _resized(s, call, (0,), False), weight=0.03)


@requirement("operators/full-out-is-resized-with-a-warning", slow=True)
def test_full_outs(s: Session) -> None:
    rows = [name for name in _single(rows_with("out")) if operators.load()[name].family != "factory"]
    sweep(s, rows, _packed, lambda s, call: _resized(s, call, (7, 3), True), weight=0.03)


@requirement("operators/out-that-cannot-grow-raises")
def test_out_over_foreign_memory(s: Session) -> None:
    x = s.tensor(np.ones((2, 3), np.float32))
    for operator, arguments in (("add.out", (x, x)), ("cat.out", ([x, x],)), ("sum.IntList_out", (x, [0]))):
        out = s.call("from_numpy", np.zeros(1, np.float32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s.expect_raises(RuntimeError, operator, *arguments, out=out)


def _allowed(call: OperatorCall, result: str, target: str) -> bool | None:
    """Return whether the row lets an ``out=`` of ``target`` take a result of dtype ``result``; None where it leaves
    that."""
    row = call.row
    if target == result:
        return True
    if row.out_cast == "free" or (row.out_cast == "floating" and call.dtype not in FLOATS):
        return None
    if row.result == "truth":
        return target in ("bool", "uint8")
    by_name = {
        "any": True,
        "number": target != "bool",
        "floating": target in FLOATS,
        "can_cast": KIND[result] <= KIND[target],
        "exact": False,
    }
    return by_name[str(row.out_cast)]


@requirement("operators/out-dtype-follows-the-row", slow=True)
def test_out_dtypes(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        target, result = CORE[call.choice % len(CORE)], str(s.observe("dtype", y))
        out = s.build(blank(s, y, target))
        positional, keywords = call.bind(s.build)
        allowed, form = _allowed(call, result, target), str(call.row.out_name)
        if allowed is None:
            _, error = s.attempt(form, *positional, out=out, **keywords)
            if error is not None:
                s.expect_refusal(error, _REFUSALS, f"{form} with out= of another dtype")
        elif allowed:
            s.call(form, *positional, out=out, **keywords)
        else:
            s.expect_raises(_REFUSALS, form, *positional, out=out, **keywords)
            return
        s.expect_dtype(out, target)
        if s.has_data and call.row.out_cast == "can_cast":
            got = s.read(y).copy()
            if KIND[target] >= KIND[result] and target in ("float64", "complex128", result):
                s.expect_values(out, cast(got, target), ulp=_slack(call, result), signed_zero=False)

    sweep(s, _castable(), _without_dtype, body, weight=0.05)


def _without_dtype(name: str, code: bytes) -> OperatorCall:
    call = draw(name, code).packed()
    return replace(call, arguments={k: v for k, v in call.arguments.items() if not isinstance(v, DType)})


def _slack(call: OperatorCall, result: str) -> float:
    """Return the tolerance in ulp: any, unless the row is exact, since a wider out may be computed more exactly."""
    return 0 if call.row.ulp.get(result) == 0 and call.row.out_from == "result" else float("inf")


def _castable() -> tuple[str, ...]:
    """Rows whose result has a dtype of its own, which that of ``out=`` is not."""
    rows = [operators.load()[name] for name in _single(rows_with("out"))]
    return tuple(row.name for row in rows if row.family not in ("factory", "random"))


@requirement("operators/out-on-another-device-raises")
def test_other_devices(s: Session) -> None:
    x, square = s.tensor([1.0, 2.0]), s.tensor([[1.0, 2.0], [3.0, 4.0]])
    calls: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [
        ("add.out", (x, x), (2,)), ("mm.out", (square, square), (2, 2)), ("cat.out", ([x, x],), (4,)),
        ("sum.IntList_out", (square, [0]), (2,)), ("index_select.out", (x, 0, s.tensor([0], "int64")), (1,)),
    ]  # fmt: skip
    for operator, arguments, sizes in calls:
        s.expect_raises(RuntimeError, operator, *arguments, out=s.call("empty.memory_format", sizes, device="meta"))


@requirement("operators/out-that-is-no-tensor-raises")
def test_other_kinds(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    others: tuple[Any, ...] = ("out", [1.0, 2.0], (x,), {})
    for out in others:
        s.expect_raises(TypeError, "add.out", x, x, out=out)
        s.expect_raises(TypeError, "sin.out", x, out=out)
        s.expect_raises(TypeError, "cumsum.out", x, 0, out=out)


@requirement("operators/out-over-its-own-operand-is-right-or-raises", slow=True)
def test_operand_as_out(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        if not call.tensors:
            return
        positional, keywords = call.bind(s.build)
        given = [value if isinstance(value, list) else [value] for value in (*positional, *keywords.values())]
        handles = [h for values in given for h in values if isinstance(h, Handle)]
        fitting = [h for h in handles if _like(s, h, y)]
        if not fitting:
            return
        out = fitting[call.choice % len(fitting)]
        _, error = s.attempt(str(call.row.out_name), *positional, out=out, **keywords)
        if error is None:
            s.expect_agreement(out, y) if s.has_data else s.expect_shape(out, s.observe("shape", y))
        elif not isinstance(error, RuntimeError):
            s.expect_refusal(error, RuntimeError, f"{call.operator} with an operand as out=")

    sweep(s, _single(rows_with("out")), lambda name, code: draw(name, code, writable=True).packed(), body, weight=0.03)


def _like(s: Session, x: Handle, y: Handle) -> bool:
    same = tuple(s.observe("shape", x)) == tuple(s.observe("shape", y))
    return same and numpy_dtype(str(s.observe("dtype", x))) == numpy_dtype(str(s.observe("dtype", y)))


@requirement("operators/out-does-not-record-gradients")
def test_no_gradients(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    s.call("requires_grad_", x)
    out = s.tensor([0.0, 0.0])
    s.expect_raises(RuntimeError, "sin.out", x, out=out)
    s.expect_raises(RuntimeError, "add.out", x, x, out=out)
    s.expect_values(out, [0.0, 0.0])
