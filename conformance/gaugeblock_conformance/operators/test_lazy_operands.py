"""Tensors that are conjugated or negated lazily: read as their elements, and written through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..aliasing import changes_metadata
from ..backend import numpy_dtype
from ..case import TensorCase
from ..oracles.agreement import expect_pointwise
from ..oracles.near import Unjudged
from ..oracles.pointwise import has_oracle, operators_with_oracle
from ..oracles.promotion import WIDTH_TWIN
from ..requirement import requirement
from ..session import Handle, Session
from ..values import COMPLEX
from .calls import OperatorCall
from .coverage import swept
from .drawing import draw, drawable
from .judging import expected, judge
from .outs import blank, out_count, with_result
from .sweep import sweep
from .test_forms import rows_with

_LAZY = ("complex64", "float32", "complex128", "float64")
# Of no lazy tensor, and of no two that are written, as the noise is.
_REFUSED = ("view_as_real", "rrelu_with_noise")
# Their results tell the sign of NaN, which a negated NaN may have or not.
_TELL_SIGNS = ("signbit", "copysign")
Build = Callable[[TensorCase], Handle]


def _lazily(s: Session) -> Build:
    """Builds a complex tensor as the conjugate of one that holds the conjugates, a real one as the imaginary part of
    such a conjugate, which negates; any other as it is. Lazy ones are read, so that no operator is blamed for them."""

    def build(case: TensorCase) -> Handle:
        x = make(case)
        if case.dtype in _LAZY:
            s.expect_values(x, case.array)
        return x

    def make(case: TensorCase) -> Handle:
        if case.dtype in COMPLEX:
            x: Handle = s.call("conj", s.build(_holding(case, case.dtype, case.contents.conj())))
            return x
        if case.dtype not in _LAZY:
            return s.build(case)
        dtype = WIDTH_TWIN[case.dtype]
        pairs = np.zeros(case.storage, numpy_dtype(dtype))
        pairs.imag = -case.contents
        part: Handle = s.call("imag", s.call("conj", s.build(_holding(case, dtype, pairs))))
        return part

    return build


def _holding(case: TensorCase, dtype: str, contents: Any) -> TensorCase:
    return replace(case, dtype=dtype, literal=tuple(contents.tolist()))


def _without_nan(value: Any) -> Any:
    """A drawn tensor with 1 for NaN; anything else as it is."""
    if not isinstance(value, TensorCase) or value.dtype not in _LAZY:
        return value
    contents = value.contents
    return _holding(value, value.dtype, np.where(np.isnan(contents), contents.dtype.type(1), contents))


@cache
def _rows() -> tuple[str, ...]:
    """Rows that can be judged and take a dtype of which there are lazy tensors, draws from a generator left out."""
    names = [*swept(), *(name for name in operators_with_oracle() if drawable(name))]
    rows = [operators.load()[name] for name in names]
    kept = [row for row in rows if row.family != "random" and row.base_name not in _REFUSED]
    kept = [row for row in kept if not changes_metadata(row.name)]
    return tuple(row.name for row in kept if not set(_LAZY).isdisjoint(row.dtypes))


def _made(writable: bool) -> Callable[[str, bytes], OperatorCall | None]:
    def make(operator: str, code: bytes) -> OperatorCall | None:
        dtypes = [name for name in _LAZY if name in operators.load()[operator].dtypes]
        call = draw(operator, code, dtypes[code[0] % len(dtypes)], writable)
        if call.row.base_name in _TELL_SIGNS:
            call = replace(call, arguments={name: _without_nan(value) for name, value in call.arguments.items()})
        if not any(case.dtype in _LAZY for case in call.tensors):
            return None
        if has_oracle(operator):
            return call
        try:
            expected(call)
        except Unjudged:
            return None
        return call

    return make


def _judge(s: Session, call: OperatorCall, y: Any) -> None:
    if not has_oracle(call.operator):
        judge(s, call, y)
        return
    expect_pointwise(s, y, call.operator, call.arrays, call.dtype, **call.numbers)


@requirement("operators/lazy-operands-are-read-as-their-elements", slow=True)
def test_lazy_operands(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        positional, keywords = call.bind(_lazily(s))
        _judge(s, call, s.call(call.operator, *positional, **keywords))

    sweep(s, _rows(), _made(False), body, weight=0.03)


@requirement("operators/lazy-operands-are-read-as-their-elements", needs=("inplace",), slow=True)
def test_writes_through_lazy_tensors(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        positional, keywords = call.bind(_lazily(s))
        x = positional[0]
        if all(s.observe(what, x) == s.observe(what, y) for what in ("shape", "dtype")):
            _judge(s, call, s.call(str(call.row.inplace_name), *positional, **keywords))

    sweep(s, [name for name in rows_with("inplace") if name in _rows()], _made(True), body, weight=0.03, writable=True)


@requirement("operators/out-is-written-through-a-lazy-tensor", slow=True)
def test_lazy_outs(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        positional, keywords = call.bind(s.build)
        out = _lazily(s)(blank(s, y))
        _judge(s, call, s.call(str(call.row.out_name), *positional, out=out, **keywords))

    single = [name for name in rows_with("out") if name in _rows() and out_count(name) == 1]
    sweep(s, single, _made(False), body, weight=0.03)
