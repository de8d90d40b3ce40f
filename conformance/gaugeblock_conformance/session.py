"""A session: one test's conversation with a backend, run example by example under a budget and a seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from gaugeblock_spec import operators as spec

from .backend import Backend, MissingCapability, Unsupported
from .budget import STANDARD, Budget
from .building import Misbuilt, fault_among
from .failure import ConformanceError
from .handle import Handle
from .judge import Judge
from .outcome import Outcome
from .trace import Call

__all__ = ["Budget", "ConformanceError", "Handle", "OperatorSession", "OtherOperators", "Outcome", "Session"]

SIMPLER = 1500
"""Number of examples that a session runs at most to make failures of single operators simpler."""


class OtherOperators(BaseException):
    """Raised in a test that does not judge the operators asked for; no test catches it by mistake."""


class Session(Judge):
    """Runs the checks of one test against ``backend``: what every test of the suite is given.

    ``budget`` says how many examples a property tries, ``seed`` which ones, ``shrink`` whether a failing one is made
    smaller before it is told. A test that goes over many operators tries those of ``foremost`` before the others,
    or, if ``narrow``, them alone; ``sweeps`` says afterwards whether it was such a test.

    With ``collect`` the failure of one operator is noted in the outcome and the other operators are judged too; else
    it is raised. ``only`` names the operators to judge, all if it is empty; those of ``avoided`` are left out.
    ``at_operator`` is told of each operator before it is judged.
    """

    def __init__(self, backend: Backend, budget: Budget = STANDARD, seed: int = 0) -> None:
        super().__init__(backend)
        self.budget = budget
        self.seed = seed
        self.shrink = True
        self.simpler = SIMPLER
        self.foremost: Collection[str] = ()
        self.narrow = False
        self.sweeps = False
        self.collect = False
        self.only: Collection[str] = ()
        self.avoided: Collection[str] = ()
        self.at_operator: Callable[[str], None] | None = None
        self._operator: str | None = None
        self._missed = False

    def in_order(self, operators: Iterable[str]) -> list[str]:
        """``operators`` with the foremost ones, whatever their overload or form, before the others."""
        self.sweeps = True
        first = {_base(name) for name in self.foremost}
        if self.narrow:
            return [name for name in operators if _base(name) in first]
        return sorted(operators, key=lambda name: _base(name) not in first)

    def each(self, operators: Iterable[str], body: Callable[[str], None]) -> None:
        """Run ``body(operator)`` for each of ``operators``, whose verdicts are subresults of the test."""
        self._judge_each(self.in_order(operators), body)
        self.conclude()

    def run_example(self, body: Callable[..., None], drawn: dict[str, Any]) -> None:
        """Run ``body(self, **drawn)`` as one example; an unsupported operator in it is noted and ends it.

        So does a tensor that is not built as asked, which is noted in ``outcome.misbuilt``.
        """
        self.begin(drawn)
        self._inside = True
        calls, left_out = self.outcome.calls, self.outcome.left_out
        self.outcome.left_out = False
        try:
            self.run_and_check_liveness(body, self, **drawn)
            self._purity.check_all(self)
        except Unsupported as missing:
            self._note(missing)
            return
        except ConformanceError as error:
            fault = self.misbuilt(error)
            if fault is None:
                raise
            self.outcome.misbuilt = self.outcome.misbuilt or fault
            self._missed = True
            return
        except (MissingCapability, MemoryError):
            raise
        except Exception as error:
            raised = self.raised_by_backend(error)
            if raised is None:
                raise
            raise raised from error
        finally:
            self._inside = False
            nothing_asked = self.outcome.left_out and self.outcome.calls == calls
            self.outcome.left_out |= left_out
        if nothing_asked:
            self._missed = True
        else:
            self.outcome.examples += 1

    def misbuilt(self, error: ConformanceError) -> ConformanceError | None:
        """The failure of a tensor that was not built as asked, if ``error`` is one or may come of one."""
        return error if isinstance(error, Misbuilt) else fault_among(self)

    def conclude(self) -> None:
        """Raise the failure of the first tensor that was not built as asked, if there was one."""
        if self.outcome.misbuilt is not None:
            raise self.outcome.misbuilt

    def table(self, rows: Iterable[Any], body: Callable[..., None]) -> None:
        """Run ``body(self, *row)`` for each row of a table, each an example of its own; its tensors are not drawn.

        If every row begins with the name of an operator, the verdicts of the operators are subresults of the test.
        """
        rows = list(rows)
        groups: dict[str, list[Any]] = {}
        for row in rows:
            groups.setdefault(_first_word(row), []).append(row)
        if groups.keys() <= spec.load().keys():
            self._judge_each(groups, lambda name: self._rows(groups[name], body))
        else:
            self._rows(rows, body)
        self.conclude()

    def _rows(self, rows: Iterable[Any], body: Callable[..., None]) -> None:
        self._from_table = True
        try:
            for row in rows:
                values = row if isinstance(row, tuple) else (row,)
                shown = {"row": _without_functions(row)}

                def once(s: Session, row: Any, values: tuple[Any, ...] = values) -> None:
                    body(s, *values)

                try:
                    self.run_example(once, shown)
                except ConformanceError as error:
                    error.again = lambda other, shown=shown: other.run_example(once, shown)
                    raise
        finally:
            self._from_table = False

    def _judge_each(self, operators: Iterable[str], body: Callable[[str], None]) -> None:
        wanted = {_base(name) for name in self.only}
        for name in operators:
            if name in self.avoided or (wanted and _base(name) not in wanted):
                continue
            if self.at_operator is not None:
                self.at_operator(name)
            self._operator = name
            before, self._missed = self.outcome.examples, False
            try:
                body(name)
            except Unsupported as missing:
                self._note(missing)
            except Misbuilt as error:
                self.outcome.misbuilt = self.outcome.misbuilt or error
                self._missed = True
            except ConformanceError as error:
                if not self.collect:
                    raise
                if not self.outcome.broken:
                    self.outcome.first_steps = list(self.steps())
                self.outcome.broken.setdefault(name, error)
            finally:
                self._operator = None
            tried = self.outcome.examples - before
            if tried or self._missed or name in self.outcome.broken:
                self.outcome.judged[name] = self.outcome.judged.get(name, 0) + tried

    def _note(self, missing: Unsupported) -> None:
        self.outcome.unsupported[f"{missing.operator}"] = f"{missing.reason}"
        self._missed = True


class OperatorSession(Session):
    """A session that judges the operators of ``only``: a test that does not go over operators is left at its start."""

    def _adopt(self, *args: Any) -> Handle:
        self._check_scope()
        return super()._adopt(*args)

    def _record(self, *args: Any) -> Call:
        self._check_scope()
        return super()._record(*args)

    def _check_scope(self) -> None:
        if self._operator is None:
            raise OtherOperators


def _without_functions(row: Any) -> Any:
    """Return a row of a table without its functions, of which a reader would see addresses only."""
    if not isinstance(row, tuple):
        return row
    kept = tuple([value for value in row if not callable(value)])
    return kept[0] if len(kept) == 1 else kept


def _first_word(row: Any) -> str:
    first = row[0] if isinstance(row, tuple) and row else row
    return first if isinstance(first, str) else ""


def _base(operator: str) -> str:
    """``add_.Tensor`` as ``add``."""
    return operator.partition(".")[0].rstrip("_")
