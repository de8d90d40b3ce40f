"""One operator of a backend: its derivatives of one order at several calls, and the verdict as the runner wants it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from gaugeblock_spec import operators

from .. import causes
from ..backend import Backend, MissingCapability, Unsupported
from ..dialect import Dialect
from ..failure import ConformanceError
from ..operators.drawing import drawable
from ..problem import one_line
from ..session import Session
from .check import Options, check
from .comparing import Tally
from .error import NOTHING_RECORDED, GradcheckError
from .examples import EXAMPLES
from .hints import hint_of
from .recorded import recording
from .second import check_second
from .subject import Subject
from .telling import snippet
from .trials import DTYPES, Trial, trials

FIRST, SECOND, FORWARD = "first_order", "second_order", "forward_mode"
ORDERS = (FIRST, SECOND, FORWARD)
NEEDS = {FIRST: ("autograd",), SECOND: ("autograd", "autograd.double"), FORWARD: ("autograd", "autograd.fwd")}
WANTED = {"float64": 6, "complex128": 4}
# Jacobians with more entries are checked by projections.
_ENTRIES = 800


def check_operator(
    session: Session, operator: str, order: str, fast: bool, wanted: Mapping[str, int] = WANTED
) -> None:
    """Check the derivatives of ``order`` of an operator, ``wanted`` calls of each dtype, and note examples and figures
    in the session's outcome.

    Raises:
        ConformanceError: a derivative is wrong, missing, or cannot be computed.
        Unsupported: no call of the operator can be checked; says why.
    """
    hint, outcome, backend = hint_of(operator), session.outcome, recording(session.backend)
    for name in NEEDS[order]:
        if name not in backend.capabilities:
            raise MissingCapability(name)
    if hint.skip:
        raise Unsupported(f"{operator}: {hint.skip}")
    if operator not in EXAMPLES and not drawable(operator):
        raise Unsupported(f"{operator}: its arguments cannot be drawn")
    if "threads" in backend.capabilities:
        backend.call("set_num_threads", 1)
    reasons: list[str] = []
    tally = Tally()
    for trial in _all_trials(operator, session.seed, wanted):
        if session.trace_sink is not None:
            session.trace_sink(snippet(_dialect(session, backend), trial, order, None))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                run_trial(backend, trial, order, fast, tally)
            except (_NotChecked, Unsupported) as reason:
                reasons.append(reason.reason if isinstance(reason, Unsupported) else str(reason))
                continue
            except MissingCapability:
                raise
            except Exception as error:
                raise _failure(_dialect(session, backend), trial, order, error) from error
        outcome.examples += 1
        outcome.calls += 1
        outcome.operators.add(operator)
        outcome.tensors += len(trial.inputs)
        outcome.noncontiguous += sum(not case.plain for case in trial.inputs)
    if tally.entries:
        outcome.figures = {"worst": tally.worst, "entries": float(tally.entries)}
    elif not outcome.examples:
        raise Unsupported(f"{operator}: {reasons[0] if reasons else 'no call has operands to differentiate by'}")


class _NotChecked(Exception):
    """The call stands for nothing that can be checked."""


def run_trial(backend: Backend, trial: Trial, order: str, fast: bool, tally: Tally) -> None:
    """Check one call.

    Raises:
        GradcheckError: a derivative is wrong, or there is none.
    """
    backend = recording(backend)
    function, leaves = trial.function(backend)
    results = _results(backend, trial, function, leaves)
    floating = [r for r in results if backend.dtype(r) in DTYPES]
    if not floating:
        raise _NotChecked("no result is a floating one")
    if not all(np.isfinite(backend.to_numpy(r)).all() for r in floating):
        raise _NotChecked("a result is not finite at the points drawn")
    subject = Subject(backend, function, leaves)
    if not any(backend.call("requires_grad", r) for r in floating):
        try:
            check(subject, Options())
        except GradcheckError as error:
            raise GradcheckError(f"{NOTHING_RECORDED}: {error.message}", error.entry, recorded=False) from None
        raise _NotChecked("no result depends on an operand")
    size = sum(math.prod(backend.shape(r)) for r in floating)
    large = trial.elements * (size + (trial.elements if order == SECOND else 0)) > _ENTRIES
    options = Options(
        check_backward_ad=order != FORWARD, check_forward_ad=order == FORWARD, fast_mode=fast or large
    )  # fmt: skip
    tally.add(check_second(subject, options) if order == SECOND else check(subject, options))


def _results(backend: Backend, trial: Trial, function: Any, leaves: list[Any]) -> list[Any]:
    """The tensors among the results; a call that the backend refuses is not checked."""
    kind = type(leaves[0])
    try:
        result = function(*leaves)
    except (Unsupported, MissingCapability):
        raise
    except Exception as error:
        raise _NotChecked(f"the calls drawn are refused: {one_line(error)[:200]}") from error
    return [r for r in (result if isinstance(result, list | tuple) else [result]) if isinstance(r, kind)]


def _all_trials(operator: str, seed: int, wanted: Mapping[str, int]) -> Iterator[Trial]:
    for dtype in DTYPES:
        if dtype in operators.load()[operator].dtypes and wanted.get(dtype, 0):
            yield from trials(operator, dtype, seed, wanted[dtype])


def _dialect(session: Session, backend: Any) -> Dialect:
    """The session's dialect, or where that is the adapter's own, that of the backend which takes the derivatives."""
    own = session.dialect is getattr(session.backend, "dialect", None)
    return cast("Dialect", (getattr(backend, "dialect", None) if own else None) or session.dialect)


def _failure(dialect: Dialect, trial: Trial, order: str, error: Exception) -> ConformanceError:
    name = trial.call.operator
    example = {"call": repr(trial.call)}
    recorded = not isinstance(error, GradcheckError) or error.recorded
    found = error.entry if isinstance(error, GradcheckError) and recorded else None
    text = snippet(dialect, trial, order if recorded else FIRST, found)
    what = order.replace("_", " ")
    if not isinstance(error, GradcheckError):
        message = f"{name}, {what}: raised {one_line(error)[:300]}"
        cause = causes.of_exception(name, error)
        return ConformanceError(message, "a derivative", type(error).__name__, example, text, cause)
    expected, got = (f"{found.numerical:.9g}", f"{found.analytical:.9g}") if found else ("", "")
    if not recorded:
        expected, got = "a result that requires grad", NOTHING_RECORDED
    cause = causes.of_failure(f"derivative of {name}")
    return ConformanceError(f"{name}, {what}: {error.message}", expected, got, example, text, cause)
