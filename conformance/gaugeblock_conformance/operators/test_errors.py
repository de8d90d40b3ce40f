"""The calls that rows list as errors, and what every refused call leaves behind."""

from __future__ import annotations

import builtins

import numpy as np
from gaugeblock_spec import operators

from ..requirement import requirement
from ..session import Session
from .calls import OperatorCall
from .drawing import draw
from .example import Example
from .spoiling import spoiled
from .sweep import sweep
from .test_forms import rows_with, version, writers

# A class of PyTorch's own, derived from RuntimeError.
_SINGULAR = "LinAlgError"
CASES = [(row.name, k) for row in operators.load().values() for k in range(len(row.errors))]


def _class(name: str) -> type[Exception]:
    found: type[Exception] = RuntimeError if name == _SINGULAR else getattr(builtins, name)
    return found


@requirement("operators/declared-errors-are-raised", "operators/refused-calls-change-nothing", slow=True)
def test_listed_errors(s: Session) -> None:
    def body(s: Session, name: str, number: int) -> None:
        row = operators.load()[name]
        case = row.errors[number]
        operator, args, kwargs = Example(s, row, case.example).outermost()
        s.expect_raises(_class(case.raises), operator, *args, **kwargs)

    s.table(_cases(s), body)


@requirement("operators/error-messages-fit-the-row", slow=True)
def test_listed_messages(s: Session) -> None:
    def body(s: Session, name: str, number: int) -> None:
        row = operators.load()[name]
        case = row.errors[number]
        operator, args, kwargs = Example(s, row, case.example).outermost()
        # What torch._C says is not what the public function says.
        match = None if case.example.startswith("_C.") else case.match
        s.expect_raises(_class(case.raises), operator, *args, match=match, **kwargs)

    s.table(_cases(s), body)


def _cases(s: Session) -> list[tuple[str, int]]:
    """Return the row and the number of each listed error that this device can see, with data or without."""

    def is_promised(name: str, number: int) -> bool:
        error = operators.load()[name].errors[number]
        return (s.has_data or not error.reads_elements) and (s.on_cpu or not error.cpu_only)

    return [case for case in CASES if is_promised(*case)]


@requirement("operators/declared-errors-are-raised")
def test_classes(s: Session) -> None:
    x, i = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), s.tensor([0, 1], "int64")
    s.expect_raises(RuntimeError, "add.Tensor", x, s.tensor([1.0, 2.0]))
    s.expect_raises(RuntimeError, "mm", x, x)
    s.expect_raises(RuntimeError, "view", x, (4, 2))
    s.expect_raises(IndexError, "sum.dim_IntList", x, [2])
    s.expect_raises(IndexError, "__getitem__", x, (0, 3))
    if s.has_data:
        s.expect_raises(IndexError, "index_select", x, 0, s.tensor([2], "int64"))
    s.expect_raises(RuntimeError, "gather", x, 0, i)
    s.expect_raises(ValueError, "__getitem__", x, slice(None, None, -1))
    s.expect_raises(TypeError, "sum.dim_IntList", x, "0")
    s.expect_raises(TypeError, "transpose.int", x, 0)


@requirement("operators/shape-errors-name-the-sizes")
def test_sizes_in_messages(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for operator, args, sizes in (
        ("add.Tensor", (x, s.tensor([1.0, 2.0, 3.0, 4.0, 5.0])), ("3", "5")),
        ("mm", (x, s.tensor([[1.0] * 7] * 5)), ("3", "5")),
        ("bmm", (s.tensor([[[1.0] * 3] * 2]), s.tensor([[[1.0] * 7] * 5])), ("3", "5")),
        ("dot", (s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0, 3.0])), ("2", "3")),
        ("cat", ([x, s.tensor([[1.0] * 7])],), ("3", "7")),
        ("stack", ([s.tensor([1.0, 2.0]), s.tensor([1.0, 2.0, 3.0])],), ("2", "3")),
        ("view", (x, (4, 2)), ("4", "6")),
        ("expand", (x, (2, 5)), ("3", "5")),
    ):
        for size in sizes:
            s.expect_raises(RuntimeError, operator, *args, match=rf"(?<!\d){size}(?!\d)")


@requirement("iteration/checks-come-before-writes", needs=("inplace",), slow=True)
def test_pointwise_writes_with_one_bad_argument(s: Session) -> None:
    rows = operators.load()
    sweep(s, [name for name in _writing() if rows[name].family == "pointwise"], _written, _refused, weight=0.03)


@requirement("operators/refused-calls-change-nothing", needs=("inplace",), slow=True)
def test_writes_with_one_bad_argument(s: Session) -> None:
    rows = operators.load()
    sweep(s, [name for name in _writing() if rows[name].family != "pointwise"], _written, _refused, weight=0.03)


@requirement("operators/refused-calls-change-nothing", needs=("inplace", "index.set"))
def test_indexed_writes_with_a_bad_place(s: Session) -> None:
    x, source = s.tensor([1.0, 2.0, 3.0]), s.tensor([4.0, 5.0])
    far = s.tensor([0, 3], "int64")
    for operator, args in (
        ("index_put_", ([far], source)), ("index_put_", ([far], source, True)), ("__setitem__", (far, source)),
        ("__setitem__", (s.tensor([True, False], "bool"), 5.0)), ("__setitem__", (slice(0, 2), s.tensor([1.0] * 3))),
    ):  # fmt: skip
        s.expect_raises((RuntimeError, IndexError), operator, x, *args)
        s.expect_values(x, [1.0, 2.0, 3.0])
    for operator in ("tril_", "triu_"):
        s.expect_raises(RuntimeError, operator, x)


def _writing() -> list[str]:
    return [name for name in (*rows_with("inplace"), *writers()) if operators.load()[name].family != "random"]


def _written(operator: str, code: bytes) -> OperatorCall:
    return draw(operator, code, writable=True)


def _refused(s: Session, call: OperatorCall) -> None:
    """Calls with one bad argument; the session watches what those that are refused leave of every tensor."""
    operator = call.row.inplace_name or call.operator
    for bad in spoiled(call) if s.own_rules.promised(operator, ()) else ():
        positional, keywords = bad.bind(s.build)
        before = version(s, positional[0])
        _, error = s.attempt(operator, *positional, **keywords)
        if error is not None and "version" in s.capabilities:
            s.expect_version(positional[0], before)


@requirement("operators/refused-calls-change-nothing", needs=("out", "strided"))
def test_out_of_a_refused_call(s: Session) -> None:
    x, out = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), s.tensor([7.0, 8.0, 9.0])
    cube, place = s.tensor(np.ones((1, 2, 3), np.float32)), s.tensor([[0]], "int64")
    for operator, args in (
        ("mm.out", (x, x)), ("add.out", (x, s.tensor([1.0, 2.0]))), ("cat.out", ([x, s.tensor([[1.0]])],)),
        ("index_select.out", (x, 0, s.tensor([5], "int64"))), ("cumsum.out", (x, 2)), ("sum.IntList_out", (x, [2])),
        ("bmm.out", (cube, cube)), ("stack.out", ([x, cube],)), ("gather.out", (x, 2, place)), ("take.out", (x, x)),
    ):  # fmt: skip
        s.expect_raises((RuntimeError, IndexError), operator, *args, out=out)
        s.expect_geometry(out, (3,), (1,), 0)
        s.expect_values(out, [7.0, 8.0, 9.0])
    whole = s.tensor([7, 8, 9], "int64")
    s.expect_raises(RuntimeError, "mean.out", x, [0], out=whole)
    s.expect_values(whole, [7, 8, 9], dtype="int64")
