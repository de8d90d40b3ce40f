"""One operator in one dtype: a few calls, and whether the backend takes them and gives what the row says."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from gaugeblock_spec import operators

from ..backend import Unsupported
from ..failure import ConformanceError
from ..operators.calls import OperatorCall
from ..operators.coverage import costly, shaped, swept
from ..operators.drawing import draw, drawable
from ..operators.judging import expected, judge
from ..operators.points import POINTED, judge_points
from ..operators.wishes import CODE_LENGTH
from ..oracles.agreement import expect_pointwise
from ..oracles.integers import DivisionByZero
from ..oracles.near import OracleFailed
from ..oracles.pointwise import expected as expected_elements
from ..oracles.pointwise import operators_with_oracle
from ..oracles.promotion import CORE
from ..session import Session
from .examples import EXAMPLES

# A call that can be made and judged.
Attempt = Callable[[Session], None]

CALLS = 3
_CODES = 12
# Rows whose numbers alone decide the dtype.
_OF_NUMBERS = ("where.Scalar",)
# Arguments that are counted from elements where they are left out, and so given where there are none.
_COUNTED = {"one_hot": ("num_classes", 5)}
# What NumPy calls the dtypes of Python's numbers.
_DEFAULTS = {"bool": np.bool_, "int64": np.int64, "float32": np.float64, "complex64": np.complex128}


def cells() -> list[tuple[str, str]]:
    """Every operator with each of its dtypes, in the order of the table."""
    return [(name, dtype) for name, row in operators.load().items() for dtype in CORE if dtype in row.dtypes]


def check(session: Session, operator: str, dtype: str) -> None:
    """Make some calls; the figure ``calls`` of the outcome says how many.

    Raises:
        ConformanceError: a result is wrong, or a call is refused although another is not.
        Unsupported: the backend takes none of the calls, or there is none that can be judged (``calls`` is 0).
    """
    refused: list[ConformanceError] = []
    calls = 0
    for attempt in _attempts(operator, dtype, session.seed):
        calls += 1
        try:
            session.run_example(attempt, {})
        except ConformanceError as error:
            if error.__cause__ is None:
                raise
            refused.append(error)
    session.outcome.figures["calls"] = calls
    session.outcome.operators = {operator}
    if session.outcome.examples:
        if refused:
            raise refused[0]
        return
    reasons = [error.message for error in refused] or list(session.outcome.unsupported.values())
    session.outcome.unsupported.clear()
    raise Unsupported(f"{operator}: {reasons[0] if reasons else 'no call of it can be judged'}")


def _attempts(operator: str, dtype: str, seed: int) -> Iterator[Attempt]:
    if operator in EXAMPLES:
        yield lambda s: EXAMPLES[operator](s, dtype)
    elif operator in costly() and dtype in POINTED:
        yield lambda s: judge_points(s, operator, dtype)
    elif operator in operators_with_oracle() and drawable(operator):
        yield from _pointwise(operator, dtype, seed)
    elif operator in swept() or operator in shaped():
        yield from _of_a_row(operator, dtype, seed)


def codes(operator: str, dtype: str, seed: int) -> Iterator[tuple[bytes, int]]:
    """Yield codes of calls, the simplest first, and how many dims * stands for in them at least."""
    random = np.random.default_rng((seed, zlib.crc32(f"support/{operator}/{dtype}".encode())))
    yield bytes(CODE_LENGTH), 1
    for _ in range(_CODES):
        yield random.bytes(CODE_LENGTH), 0


def _calls(operator: str, dtype: str, seed: int, defined: Callable[[OperatorCall], bool]) -> Iterator[OperatorCall]:
    """A few calls whose result is defined."""
    made = 0
    for code, least in codes(operator, dtype, seed):
        call = draw(operator, code, dtype, least=least)
        if made < CALLS and defined(call):
            made += 1
            yield call


def _of_a_row(operator: str, dtype: str, seed: int) -> Iterator[Attempt]:
    def attempt(s: Session, call: OperatorCall) -> None:
        if operator in _COUNTED and not s.has_data:
            call = call.with_argument(*_COUNTED[operator])
        positional, keywords = call.bind(s.build)
        judge(s, call, s.call(operator, *positional, **keywords))

    def defined(call: OperatorCall) -> bool:
        try:
            expected(call)
        except (LookupError, OracleFailed):
            return False
        return True

    for call in _calls(operator, dtype, seed, defined):
        yield partial(attempt, call=call)


def _pointwise(operator: str, dtype: str, seed: int) -> Iterator[Attempt]:
    def attempt(s: Session, call: OperatorCall) -> None:
        positional, keywords = call.bind(s.build)
        y = s.call(operator, *positional, **keywords)
        expect_pointwise(s, y, operator, call.arrays, call.dtype, **call.numbers)

    def defined(call: OperatorCall) -> bool:
        numbers = call.numbers
        try:
            expected_elements(operator, call.arrays, call.dtype, **numbers)
        except (DivisionByZero, LookupError, OracleFailed):
            return False
        natural = np.result_type(*map(type, numbers.values())) if numbers else None
        return operator not in _OF_NUMBERS or (dtype in _DEFAULTS and natural == _DEFAULTS[dtype])

    for call in _calls(operator, dtype, seed, defined):
        yield partial(attempt, call=call)
