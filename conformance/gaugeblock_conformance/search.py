"""The search for an example that breaks a property, with Hypothesis where that pays.

A test case of Hypothesis costs several times what most examples do. Where all arguments of a property can be read off
bytes, long blocks of random ones are taken apart into as many examples as they hold; the bytes of the first one that
fails, and they alone, are then Hypothesis's, to be made smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NoReturn

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.database import ExampleDatabase, InMemoryExampleDatabase
from hypothesis.strategies import SearchStrategy, binary

from .failure import ConformanceError
from .strategies.arguments import Arguments
from .strategies.code import Digits, Odometer

Run = Callable[[dict[str, Any]], None]

FLAKY = "passed when run again: the backend is not deterministic"

_BLOCK = 1024
_USUAL = 32
# So many times the wanted examples may be read in vain, because they were tried before.
_REPEATED = 4


class GivenUp(BaseException):
    """Ends a search without a verdict."""


class Found(BaseException):
    """Ends a search with the code of an example and what it raised."""

    def __init__(self, code: bytes, error: BaseException) -> None:
        super().__init__()
        self.code = code
        self.error = error


def drawn(
    run: Run, strategies: dict[str, SearchStrategy[Any]], number: int, count: int,
    phases: tuple[Phase, ...], database: ExampleDatabase | None = None,
) -> Any:  # fmt: skip
    """``run`` as a test of Hypothesis over ``count`` test cases that ``number`` seeds."""

    def example(**arguments: Any) -> None:
        run(arguments)

    effort = settings(
        max_examples=count,
        deadline=None,
        database=database,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        print_blob=False,
    )
    # In this order: a seed takes the database away.
    return effort(seed(number)(given(**strategies)(example)))


def each(run: Run, arguments: Arguments) -> None:
    """Call ``run`` with every combination of choices, the simplest first, so that what fails first is the simplest."""
    digits = Odometer()
    while True:
        run(arguments.read(digits))
        if not digits.turn():
            return


def explore(run: Run, arguments: Arguments, number: int, count: int) -> None:
    """Call ``run`` with ``count`` examples, no two of one code, the simplest first.

    Raises:
        Found: the first that raised.
    """
    tried: set[bytes] = set()
    repeated = 0
    for code, values in _read_many(arguments, number, min(_BLOCK, _USUAL * count)):
        if code in tried:
            repeated += 1
            if repeated > _REPEATED * count:
                return
            continue
        tried.add(code)
        try:
            run(values)
        except GivenUp:
            return
        except (Exception, SystemExit, GeneratorExit) as error:
            raise Found(code, error) from None
        if len(tried) == count:
            return


def _read_many(arguments: Arguments, number: int, length: int) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Examples without an end and their codes: the simplest, then those of blocks of ``length`` random bytes."""
    random = Random(number)
    simplest = Digits(b"")
    values = arguments.read(simplest)
    yield bytes(simplest.taken), values
    while True:
        block, place = random.randbytes(length), 0
        while place < length:
            digits = Digits(block, place)
            values = arguments.read(digits)
            if digits.beyond and place:
                break
            place = digits.place
            yield bytes(digits.taken), values


def shrink(run: Run, arguments: Arguments, number: int, found: Found) -> NoReturn:
    """Raise what the simplest example raises that Hypothesis makes of ``found``."""
    codes = arguments.split(found.code)
    if not codes:
        raise found.error
    first: dict[str, Any] = {}

    def again(given: dict[str, Any]) -> None:
        first.update({} if first else given)
        run(arguments.read_each(given))

    strategies = {name: binary(min_size=len(code), max_size=len(code)) for name, code in codes.items()}
    test = drawn(again, strategies, number, 1, (Phase.reuse, Phase.shrink), InMemoryExampleDatabase())
    try:
        test.hypothesis.fuzz_one_input(b"".join(codes.values()))
    except (Exception, SystemExit, GeneratorExit) as error:
        if first != codes:
            raise found.error from None
        test()
        raise error from None
    if first == codes and isinstance(found.error, ConformanceError):
        raise found.error.note(FLAKY)
    raise found.error
