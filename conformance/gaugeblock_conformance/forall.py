"""``@forall``: a property over drawn inputs, run by Hypothesis under a session's budget and seed."""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, errors, given, seed, settings
from hypothesis.strategies import SearchStrategy

from .session import ConformanceError, Session
from .strategies.joined import Joined

Body = Callable[..., None]

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
# A property whose first examples are all unsupported is given up: the backend does not offer its operator.
_HOPELESS = 40


class _GivenUp(BaseException):
    """Ends a Hypothesis run without a verdict."""


def forall(*, weight: float = 1.0, **strategies: SearchStrategy[Any]) -> Callable[[Body], Callable[[Session], None]]:
    """Turn ``body(s, **drawn)`` into a test of one session.

    ``weight`` scales the number of examples that the session's budget gives, for bodies that cost much more or less
    than a few small calls.
    """

    def decorate(body: Body) -> Callable[[Session], None]:
        @functools.wraps(body)
        def test(s: Session) -> None:
            before, tried = s.outcome.examples, 0
            count = max(1, round(s.budget.examples * weight))
            hopeless = min(_HOPELESS, max(10, count // 4))
            joined = Joined(strategies, count)

            def example(**drawn: Any) -> None:
                nonlocal tried
                s.run_example(body, joined.arguments(drawn))
                tried += 1
                if tried == hopeless and s.outcome.examples == before:
                    raise _GivenUp

            example.__name__ = body.__name__
            run = settings(
                max_examples=count,
                deadline=None,
                database=None,
                phases=_PHASES if s.shrink else _PHASES[:-1],
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
                report_multiple_bugs=False,
                print_blob=False,
            )(given(**joined.strategies)(example))
            run = seed(zlib.crc32(f"{s.seed}/{body.__module__}/{body.__name__}".encode()))(run)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    run()
                except _GivenUp:
                    return
                except errors.FlakyFailure as flaky:
                    first = next((e for e in flaky.exceptions if isinstance(e, ConformanceError)), None)
                    if first is None:
                        raise
                    raise first.note("passed when run again: the backend is not deterministic") from None

        del test.__wrapped__
        test.body = body  # type: ignore[attr-defined]
        return test

    return decorate
