"""``@forall``: a property over drawn inputs, searched with Hypothesis under a session's budget and seed."""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import Phase, errors
from hypothesis.strategies import DataObject, SearchStrategy

from .backend import MissingCapability
from .search import FLAKY, Found, GivenUp, drawn, each, explore, shrink
from .session import ConformanceError, Session
from .strategies.arguments import Arguments
from .strategies.parts import Unreadable

Body = Callable[..., None]

# A property whose first examples are all unsupported is given up: the backend does not offer its operator.
_HOPELESS = 40


def forall(*, weight: float = 1.0, **strategies: SearchStrategy[Any]) -> Callable[[Body], Callable[[Session], None]]:
    """Turn ``body(s, **drawn)`` into a test of one session.

    ``weight`` scales the number of examples that the session's budget gives, for bodies that cost much more or less
    than a few small calls.
    """

    def decorate(body: Body) -> Callable[[Session], None]:
        @functools.wraps(body)
        def test(s: Session) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    _search(s, body, max(1, round(s.budget.examples * weight)), strategies)
                except GivenUp:
                    pass
                except errors.FlakyFailure as flaky:
                    first = next((e for e in flaky.exceptions if isinstance(e, ConformanceError)), None)
                    if first is None:
                        raise
                    raise first.note(FLAKY) from None
            s.conclude()

        del test.__wrapped__
        test.body = body  # type: ignore[attr-defined]
        return test

    return decorate


class Recorded:
    """Records the values that a test draws inside its body, so that a failing example can run again."""

    def __init__(self, data: DataObject | None, values: Sequence[Any] = ()) -> None:
        self._data = data
        self.values = list(values)

    def draw(self, strategy: SearchStrategy[Any], label: Any = None) -> Any:
        """Draw a value and record it. Without ``data``, return the next recorded value."""
        if self._data is None:
            return self.values.pop(0)
        value = self._data.draw(strategy, label)
        self.values.append(value)
        return value

    def __repr__(self) -> str:
        return "data(...)"


def _replayed(given: dict[str, Any]) -> dict[str, Any]:
    """Return the same inputs; values that the body draws come from the record."""
    return {name: Recorded(None, one.values) if isinstance(one, Recorded) else one for name, one in given.items()}


def _search(s: Session, body: Body, count: int, strategies: dict[str, SearchStrategy[Any]]) -> None:
    number = zlib.crc32(f"{s.seed}/{body.__module__}/{body.__name__}".encode())
    before, tried, hopeless = s.outcome.examples, 0, min(_HOPELESS, max(10, count // 4))

    def run(values: dict[str, Any]) -> None:
        nonlocal tried
        given = {name: Recorded(value) if isinstance(value, DataObject) else value for name, value in values.items()}
        try:
            s.run_example(body, given)
        except ConformanceError as error:
            error.again = lambda other: other.run_example(body, _replayed(given))
            raise
        tried += 1
        if tried == hopeless and s.outcome.examples == before:
            raise GivenUp

    arguments = Arguments.of(strategies)
    if arguments is not None:
        try:
            if arguments.values <= count:
                each(run, arguments)
            else:
                explore(run, arguments, number, count)
            return
        except Found as found:
            if isinstance(found.error, MissingCapability) or not s.shrink:
                raise found.error from None
            shrink(run, arguments, number, found)
        except Unreadable:
            before, tried = s.outcome.examples, 0
    phases = (Phase.generate, Phase.shrink) if s.shrink else (Phase.generate,)
    drawn(run, strategies, number, count, phases)()
