"""Every pointwise operator of the operator table: values against an oracle, inputs of any strides, all forms."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators

from ..backend import Array, Unsupported, numpy_dtype
from ..case import TensorCase, default_strides
from ..operators.calls import OperatorCall
from ..operators.drawing import draw
from ..operators.sweep import sweep
from ..oracles.agreement import expect_result
from ..oracles.integers import DivisionByZero
from ..oracles.pointwise import expected, operators_with_oracle, result_dtype
from ..requirement import requirement
from ..session import Handle, Session
from ..values import SIGNED

_SHARE = 0.12
# What the elements of operands are.
_KINDS = ("hard", "hard", "special")


def _draw(operator: str, code: bytes, writable: bool = False) -> OperatorCall:
    return draw(operator, code, writable=writable, kind=_KINDS[code[0] % len(_KINDS)])


def _draw_written(operator: str, code: bytes) -> OperatorCall:
    return _draw(operator, code, writable=True)


def _wanted(s: Session, x: OperatorCall, operator: str) -> Array | None:
    """The right result; None if the call is not to be judged here.

    One such is an integer division by zero, which a CPU must refuse unless there is no element to compute; another
    device may also give any elements. Without data no backend can tell.
    """
    if _smallest_by_minus_one(x):
        # Every backend is asked in a process that may die: by ``dtypes/smallest-int-by-minus-one`` and, for lcm, by
        # ``storage/no-call-kills-the-process``.
        return None
    try:
        return expected(x.operator, x.arrays, x.dtype, **x.numbers)
    except DivisionByZero:
        positional, keywords = x.bind(s.build)
        result = np.broadcast_shapes(*[case.sizes for case in x.tensors])
        if 0 in result:
            s.expect_shape(s.call(x.operator, *positional, **keywords), result)
        elif s.on_cpu and s.has_data:
            s.expect_raises(RuntimeError, x.operator, *positional, **keywords)
        else:
            given, error = s.attempt(x.operator, *positional, **keywords)
            if error is None:
                s.expect_shape(given, result)
        return None
    except LookupError:
        raise Unsupported(operator, f"no oracle for {x.dtype}") from None


def _smallest_by_minus_one(x: OperatorCall) -> bool:
    if x.operator == "lcm" and x.dtype in SIGNED:
        # Divides by the common divisor, which may come out as -1 if the absolute value of an operand overflows.
        return any((case.array == np.iinfo(numpy_dtype(case.dtype)).min).any() for case in x.tensors)
    if not x.operator.startswith(("div.", "floor_divide", "remainder", "fmod")) or x.dtype not in SIGNED:
        return False
    smallest = np.iinfo(numpy_dtype(x.dtype)).min
    divisors = [case.array for case in x.tensors[1:]] or [np.asarray(x.numbers.get("other", 0))]
    return bool((x.tensors[0].array == smallest).any()) and any((d == -1).any() for d in divisors)


def _judge(s: Session, x: OperatorCall, y: Handle, want: Array) -> None:
    expect_result(s, y, want, x.operator, x.arrays, x.dtype, **x.numbers)


def _functional(s: Session, x: OperatorCall) -> None:
    want = _wanted(s, x, x.operator)
    if want is not None:
        positional, keywords = x.bind(s.build)
        _judge(s, x, s.call(x.operator, *positional, **keywords), want)


def _inplace(s: Session, x: OperatorCall) -> None:
    """The in-place form writes the result into its first tensor, if that has room and dtype for it."""
    row = operators.load()[x.operator]
    first = x.tensors[0]
    fits = np.broadcast_shapes(*[c.sizes for c in x.tensors]) == first.sizes
    if not fits or result_dtype(x.operator, x.dtype) != first.dtype or row.inplace_name is None:
        return _functional(s, x)
    want = _wanted(s, x, row.inplace_name)
    if want is None:
        return None
    positional, keywords = x.bind(s.build)
    result = s.call(row.inplace_name, *positional, **keywords)
    s.expect_same(result, positional[0])
    return _judge(s, x, result, want)


def _out(s: Session, x: OperatorCall) -> None:
    """The form with ``out=`` writes the result into a tensor of any strides."""
    row = operators.load()[x.operator]
    want = None if row.out_name is None else _wanted(s, x, row.out_name)
    if row.out_name is None or want is None:
        return
    sizes = np.broadcast_shapes(*[c.sizes for c in x.tensors])
    strides = tuple(2 * step for step in reversed(default_strides(tuple(reversed(sizes)))))
    out = s.build(TensorCase(result_dtype(x.operator, x.dtype), sizes, strides, 1, -1, "small"))
    positional, keywords = x.bind(s.build)
    s.expect_same(s.call(row.out_name, *positional, out=out, **keywords), out)
    _judge(s, x, out, want)


@requirement("iteration/strided-inputs-give-the-same-values", slow=True)
def test_operators_on_strided_inputs(s: Session) -> None:
    sweep(s, operators_with_oracle(), _draw, _functional, _SHARE, whole=True)


@requirement("iteration/strided-inputs-give-the-same-values")
def test_strided_goldens(s: Session) -> None:
    x = s.tensor(np.arange(12, dtype=np.int64).reshape(3, 4))
    columns = s.call("t", s.call("slice.Tensor", x, 1, 0, 4, 2))
    s.expect_values(s.call("mul.Scalar", columns, 3), [[0, 12, 24], [6, 18, 30]], dtype="int64")
    row = s.call("expand", s.tensor([[1.0], [2.0]]), (2, 3))
    s.expect_values(s.call("neg", row), [[-1.0, -1.0, -1.0], [-2.0, -2.0, -2.0]])


@requirement("iteration/outputs-are-written-inputs-are-not", needs=("inplace",), slow=True)
def test_inplace_forms(s: Session) -> None:
    names = [name for name in operators_with_oracle() if operators.load()[name].inplace is not None]
    sweep(s, names, _draw_written, _inplace, _SHARE, writable=True)


@requirement("iteration/outputs-are-written-inputs-are-not", needs=("out",), slow=True)
def test_out_forms(s: Session) -> None:
    sweep(s, [name for name in operators_with_oracle() if operators.load()[name].out is not None], _draw, _out, _SHARE)
